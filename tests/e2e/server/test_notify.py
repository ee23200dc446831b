"""Being told, with everything real: server, sender, a mail server and a webhook on loopback."""

from __future__ import annotations

import os
import pwd
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.box import Box, until
from tests.sinks import Mailbox, Webhook, text_of

SECRET = "s3cret"
SLOW = ("sh", "-c", "echo begun; while [ ! -e go ]; do sleep 0.02; done")


@pytest.fixture
def hook() -> Iterator[Webhook]:
    made = Webhook()
    yield made
    made.hangs.set()
    made.down()


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    made = Mailbox()
    yield made
    made.down()


def add(box: Box, url: str, *options: str) -> int:
    """A new target, its URL off the command line."""
    box.do("set", "notify.retry_s", "0.05")
    return int(re.findall(r"\d+", box.do("notify", "add", *options, "-", text=url + "\n"))[0])


def arrive(sink: Webhook | Mailbox, count: int = 1) -> list[str]:
    """Wait for that many messages; their subjects."""
    return until(
        f"{count} messages arrive",
        lambda: sink.subjects if len(sink.subjects) >= count else None,
        shown=lambda: sink.subjects,
    )


def test_success_and_failure_by_mail_and_webhook(own: Box, hook: Webhook, mailbox: Mailbox) -> None:
    add(own, hook.url)
    add(own, mailbox.url, "--lang", "zh")
    own.do("set", "node.sample_ms", "100")
    good = own.submit("--name", "good", "roost", "sim-job", "--mem", "6G", "--seconds", "2")
    own.ends(good, "succeeded")
    node = own.job(good)["node"]
    assert arrive(hook) == [f"Roost: job {good} good succeeded on {node}"]
    assert arrive(mailbox) == [f"Roost：任务 {good} good 运行成功，节点 {node}"]
    bad = own.submit("--name", "训练 🚀", "sh", "-c", "for i in $(seq 50); do echo line $i; done; echo 出错 ⚠ >&2; exit 3")
    own.ends(bad, "failed")
    assert arrive(hook, 2)[1] == f"Roost: job {bad} 训练 🚀 failed (exit code 3) on {node}"
    assert arrive(mailbox, 2)[1] == f"Roost：任务 {bad} 训练 🚀 运行失败（退出码 3），节点 {node}"

    first, second = hook.got
    assert (first["type"], second["type"]) == ("success", "failure")
    attempt = own.job(good)["attempts"][0]
    assert ("peak RAM: " in first["message"]) == (attempt["peak_rss_mib"] is not None)
    assert attempt["peak_mem_mib"] == 6144 and "peak GPU memory: 6 GiB" in first["message"]
    lines = second["message"].splitlines()
    me = pwd.getpwuid(os.getuid()).pw_name
    assert {f"job: {bad}", "name: 训练 🚀", f"user: {me}", "exit code: 3", f"full log: roost log {bad}"} <= set(lines)
    assert any(re.fullmatch(rf"node: {node}, GPU \d", line) for line in lines) and "ran: 0 s" in lines
    assert lines[-20:] == [*(f"line {i}" for i in range(32, 51)), "出错 ⚠"]
    assert "line 31" not in lines
    told = text_of(mailbox.mails[1])
    assert "名称：训练 🚀" in told and "出错 ⚠" in told and f"roost log {bad}" in told
    assert set(mailbox.to) == {"ada@lab.org"} and mailbox.logins[0] == "me s3cret-word"


def test_start_kill_timeout_and_what_a_job_asks_for(own: Box, hook: Webhook) -> None:
    add(own, hook.url, "--on", "start,kill,timeout")
    slow = own.submit("--name", "slow", *SLOW)
    assert re.fullmatch(rf"Roost: job {slow} slow started on \S+", arrive(hook)[0])
    own.do("kill", slow)
    assert f"Roost: job {slow} slow was killed" in arrive(hook, 2)[1]
    late = own.submit("--name", "late", "--time", "1s", "--grace", "0s", "--warn", "0s", *SLOW)
    assert f"Roost: job {late} late reached its time limit" in arrive(hook, 4)[3]
    own.ends(own.submit("--name", "silent", "--notify", "none", "true"), "succeeded")
    own.ends(own.submit("--name", "also silent", "--notify", "fail", "true"), "succeeded")
    asked = own.submit("--name", "asked", "--notify", "end,fail", "true")
    assert [s.partition(" on ")[0] for s in arrive(hook, 5)[4:]] == [f"Roost: job {asked} asked succeeded"]


def test_idle_and_free_gpus(own: Box, hook: Webhook) -> None:
    own.do("set", "notify.idle_min", "0.03")
    own.do("set", "notify.free_s", "0")
    own.do("set", "node.sample_ms", "100")
    add(own, hook.url, "--on", "idle,gpu_free")
    busy = own.submit("--name", "busy", "roost", "sim-job", "--seconds", "60", "--util", "50")
    idle = own.submit("--name", "idle", "roost", "sim-job", "--seconds", "60", "--util", "0")
    index = own.comes_to(idle, "running")["attempts"][0]["gpu_indices"][0]
    assert re.fullmatch(rf"Roost: job {idle} idle is not using its GPUs on \S+", arrive(hook)[0])
    assert hook.got[0]["type"] == "warning" and f"GPU {index}" in hook.got[0]["message"]
    node = own.job(idle)["node"]
    own.do("kill", idle)
    assert arrive(hook, 2)[1] == f"Roost: GPUs free: {node}: GPU {index}"
    assert own.state(busy) == "running" and len(hook.got) == 2


def test_what_cannot_be_sent_is_listed_tried_again_and_arrives(own: Box, hook: Webhook, mailbox: Mailbox) -> None:
    hook.down()
    mailbox.down()
    add(own, hook.url)
    add(own, mailbox.url)
    ids = [own.submit("--name", f"job{i}", "true") for i in range(3)]
    for job in ids:
        own.ends(job, "succeeded")

    def listed() -> list[Any] | None:
        found = own.json("notify", "failures")["failures"]
        return found if {each["target"] for each in found} == {1, 2} and max(e["tries"] for e in found) > 1 else None

    found = until("both failures are listed", listed, shown=lambda: own.json("notify", "failures"))
    assert {each["error"] for each in found} == {"connection refused"} and not found[0]["given_up"]
    shown = own.do("notify", "failures")
    assert "connection refused" in shown and "json://***@127.0.0.1" in shown and "mailto://***@localhost" in shown
    assert all(each["waiting"] == 3 and each["error"] for each in own.json("notify")["targets"])
    assert own.run("notify", "test", "1").code == 1
    hook.up()
    mailbox.up()
    for sink in (hook, mailbox):
        assert sorted(re.findall(r"job(\d)", " ".join(arrive(sink, 3)))) == ["0", "1", "2"]
    until("nothing is left", lambda: not own.json("notify", "failures")["failures"])
    assert [each["waiting"] for each in own.json("notify")["targets"]] == [0, 0]
    assert len(hook.got) == 3 and len(mailbox.mails) == 3


def test_killed_between_the_end_and_the_sending_it_tells_once(own: Box, hook: Webhook) -> None:
    add(own, hook.url)
    hook.down()
    own.do("set", "notify.retry_s", "1")
    first = own.submit("true")
    own.ends(first, "succeeded")
    second = own.submit(*SLOW)
    own.comes_to(second, "running")
    own.kill_server()
    own.file("go").touch()
    own.up()
    own.ends(second, "succeeded")
    own.kill_server()
    hook.up()
    own.up()
    arrive(hook, 2)
    until("all is settled", lambda: own.json("notify")["targets"][0]["waiting"] == 0)
    own.do("down")
    own.up()
    last = own.submit("true")
    arrive(hook, 3)
    assert sorted(int(re.findall(r"job (\d+)", subject)[0]) for subject in hook.subjects) == [first, second, last]


def test_a_service_that_hangs_holds_up_nobody(own: Box, hook: Webhook, mailbox: Mailbox) -> None:
    add(own, hook.url)
    add(own, mailbox.url)
    hook.hangs.clear()
    for count in (1, 2, 3):
        own.ends(own.submit("true"), "succeeded")
        arrive(mailbox, count)
    assert hook.got == []


def test_no_secret_is_anywhere_but_in_the_database(own: Box, hook: Webhook, mailbox: Mailbox) -> None:
    hook.status = 403
    add(own, hook.url)
    add(own, mailbox.url)
    mailbox.down()
    own.ends(own.submit("sh", "-c", "exit 1"), "failed")
    until("both failed", lambda: len(own.json("notify", "failures")["failures"]) == 2)
    shown = [
        own.do(*words)
        for words in (("notify",), ("notify", "ls", "--json"), ("notify", "failures"), ("show", "@", "--json"))
    ]
    shown += [own.http("GET", path).body.decode() for path in ("/notify", "/notify/failures", "/settings", "/status")]
    shown += [ran.out + ran.err for ran in (own.run("notify", "test", i) for i in (1, 2))]
    shown.append(own.http("GET", "/log/server").body.decode())
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_text() + Path(f"/proc/{pid}/environ").read_text()
        except OSError:
            continue
        if int(pid) != os.getpid():
            shown.append(line)
    for path in own.home.rglob("*"):
        if path.is_file() and not path.name.startswith("roost.db"):
            shown.append(path.read_text(errors="replace"))
    assert not [text for text in shown if SECRET in text]
    assert "the service rejected the mess" in shown[2]  # the column is as wide as the terminal
    assert any(SECRET in path.read_bytes().decode(errors="replace") for path in own.home.glob("roost.db*"))
    assert _sender_of(own) is not None
    if os.getuid() == 0:
        status = Path(f"/proc/{_sender_of(own)}/status").read_text()
        nobody = pwd.getpwnam("nobody")
        assert re.findall(r"^Uid:\s+(.*)$", status, re.M) == ["\t".join([str(nobody.pw_uid)] * 4)]
        assert re.findall(r"^Gid:\s+(.*)$", status, re.M) == ["\t".join([str(nobody.pw_gid)] * 4)]
        assert re.findall(r"^NoNewPrivs:\s+(.*)$", status, re.M) == ["1"]
        assert re.findall(r"^Groups:[ \t]*(.*)$", status, re.M)[0].strip() == ""


def _sender_of(box: Box) -> int | None:
    """The sender's process: a child of the server."""
    server = box.server.pid
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == server and "sender.py" in Path(f"/proc/{pid}/cmdline").read_text():
                return int(pid)
        except OSError:
            continue
    return None


def test_the_sender_may_die_and_another_takes_over(own: Box, hook: Webhook) -> None:
    add(own, hook.url)
    own.do("notify", "test", "1")
    first = _sender_of(own)
    assert first is not None
    os.kill(first, signal.SIGKILL)
    own.ends(own.submit("true"), "succeeded")
    arrive(hook, 2)
    own.do("down")
    until("no sender is left", lambda: not Path(f"/proc/{first}").exists())


def test_without_targets_there_is_no_sender(own: Box) -> None:
    own.ends(own.submit("true"), "succeeded")
    assert _sender_of(own) is None
    assert "no targets; add one: roost notify add" in own.run("notify").err


def test_refusals_are_one_line_and_a_hint(own: Box) -> None:
    for words in (
        ("notify", "add", "dbus://"),
        ("notify", "add", "nonsense"),
        ("notify", "add", "bogus://x"),
        ("notify", "add", "--on", "finish", "json://x"),
        ("notify", "rm", "7"),
        ("notify", "test", "seven"),
        ("submit", "--notify", "gpu_free", "true"),
    ):
        said = own.refused(2, *words).splitlines()
        assert said[0].startswith("roost: ") and len(said) <= 2, said


def test_without_the_package_add_says_what_to_install(own: Box, tmp_path: Path, new_box: Callable[..., Box]) -> None:
    hidden = new_box()
    (tmp_path / "apprise").mkdir()
    (tmp_path / "apprise" / "__init__.py").write_text("raise ImportError('hidden')")
    hidden.env["PYTHONPATH"] = f"{tmp_path}:{hidden.env.get('PYTHONPATH', '')}"
    hidden.up()
    said = hidden.refused(69, "notify", "add", "json://x")
    assert said.splitlines() == [
        "roost: apprise is not installed on the server",
        "hint: pip install 'roost[notify]' there, then try again",
    ]
    assert hidden.run("notify").code == 0 and hidden.run("notify", "failures").code == 0


def test_the_language_is_that_of_the_shell(own: Box, hook: Webhook) -> None:
    own.do("notify", "add", hook.url, env={"LC_ALL": "zh_CN.UTF-8"})
    own.do("notify", "add", hook.url)
    assert [each["lang"] for each in own.json("notify")["targets"]] == ["zh", "en"]
    own.do("notify", "rm", "1")
    assert [each["id"] for each in own.json("notify", "ls")["targets"]] == [2]


def test_a_sweep_tells_of_its_jobs(own: Box, hook: Webhook) -> None:
    add(own, hook.url, "--on", "gpu_free")
    own.do("sweep", "-g", "0", "-p", "x=1,2", "--notify", "fail", "sh -c 'exit {x}'")
    assert all("failed (exit" in subject for subject in arrive(hook, 2))


def test_nothing_of_a_job_becomes_a_header(own: Box, mailbox: Mailbox) -> None:
    add(own, mailbox.url)
    name = "x%0d%0aBcc: eve@lab.org"
    job = own.http("POST", "/jobs", {"jobs": [{"command": ["true"], "gpus": 0, "name": "x\r\nBcc: eve@lab.org"}]})
    assert job.status == 400  # a name with a line break is no name at all
    own.submit(
        "-g",
        "0",
        "--name",
        name,
        "printf 'a\\r\\nBcc: eve@lab.org\\r\\n\\r\\nhi\\r\\n.\\r\\nRCPT TO:<eve@lab.org>\\r\\n'; false",
    )
    arrive(mailbox)
    (mail,) = mailbox.mails
    assert mail["Bcc"] is None and mailbox.to == ["ada@lab.org"] and name in mail["Subject"]
    assert "RCPT TO:<eve@lab.org>" in text_of(mail)


def test_turned_off_nothing_is_kept_or_sent(own: Box, hook: Webhook) -> None:
    add(own, hook.url)
    own.do("set", "notify.enabled", "false")
    own.ends(own.submit("--name", "unheard", "true"), "succeeded")
    own.do("set", "notify.enabled", "true")
    own.ends(own.submit("--name", "heard", "true"), "succeeded")
    assert [" heard " in subject for subject in arrive(hook)] == [True]


def test_a_job_that_is_removed_at_once_is_told_without_its_log(own: Box, hook: Webhook) -> None:
    add(own, hook.url)
    job = own.submit(*SLOW)
    own.comes_to(job, "running")
    own.do("rm", job)
    assert f"job {job} " in arrive(hook)[0] and "was killed" in hook.subjects[0]
