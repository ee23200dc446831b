"""Attempts with the programs and processes that are a user's own: what they say of others is nobody's word.

The program that works as an account can be ended by it and replaced. `tests/impostor.py` is such a replacement.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.accounts import PATH, needs_root
from tests.box import process, until
from tests.impostor import Impostor, hello, impostor
from tests.lab import Lab, Person, laboratory

pytestmark = needs_root("that an account's own program is believed nothing about others")
FAR = 1 << 53


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with laboratory() as made:
        yield made


class Victims:
    """Runs of others that must not be touched."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.hers = lab.ana.submit("-g", 1, "--", "sleep", "600")
        self.roots = int(lab.root("submit", "-q", "-g", 0, "--", "sleep", "600"))
        for job in (self.hers, self.roots):
            lab.box.comes_to(job, "running")
        self.before = self._seen()

    @property
    def runs(self) -> list[str]:
        return [f"{self.hers}.1", f"{self.roots}.1"]

    def _seen(self) -> list[Any]:
        keys = ("state", "started_at", "attempts", "error")
        return [[self.lab.box.job(job)[key] for key in keys] for job in (self.hers, self.roots)]

    def are_untouched(self) -> None:
        assert self._seen() == self.before
        status = self.lab.box.http("GET", "/status").json
        assert not [line for line in status["health"] if "round failed" in line], status["health"]
        assert status["gpus"]["total"] == 4 and status["nodes"][0]["state"] == "up"


@pytest.fixture(scope="module")
def victims(lab: Lab) -> Victims:
    return Victims(lab)


@pytest.fixture
def evil(lab: Lab, victims: Victims) -> Iterator[Impostor]:
    """In bob's place, attached."""
    with attached(lab) as made:
        yield made


@contextlib.contextmanager
def attached(lab: Lab, first: dict[str, Any] | None = None, **how: Any) -> Iterator[Impostor]:
    lab.bob.http("GET", f"/jobs/{_some_job(lab)}/log")  # bob's program runs now, so it can be replaced
    with impostor(lab.bob, first, **how) as made:
        made.heard("attached")
        yield made


def _some_job(lab: Lab) -> int:
    found = lab.bob.http("GET", "/jobs?all=true&user=" + lab.bob.name).json["jobs"]
    return int(found[0]["id"]) if found else lab.bob.sh("true")[0]


def exchange(evil: Impostor) -> None:
    """The server has read all that was said before."""
    evil.say({"op": "exited", "run": "0.1", "at_ms": 0})
    evil.heard("forget", runs=["0.1"])


# -- about others' runs ---------------------------------------------------------------------------------------------------

SAYINGS: dict[str, dict[str, Any]] = {
    "exited": {"op": "exited", "at_ms": 1, "status": 0},
    "lost": {"op": "exited", "at_ms": 1, "why": "lost"},
    "out-of-memory": {"op": "exited", "at_ms": 1, "why": "oom", "memory": "gpu"},
    "preempted": {"op": "exited", "at_ms": 1, "why": "preempt", "status": 0},
    "started-again": {"op": "started", "at_ms": 1, "pid": 1},
    "refused": {"op": "refused", "reason": "no"},
    "refused-as-claimed": {"op": "refused", "reason": "no", "claimed": True},
    "gone": {"op": "gone"},
    "paused": {"op": "paused", "at_ms": 1},
    "resumed": {"op": "resumed", "at_ms": 1},
}


@pytest.mark.parametrize("name", SAYINGS)
def test_a_word_about_anothers_run(lab: Lab, victims: Victims, evil: Impostor, name: str) -> None:
    evil.say(*({**SAYINGS[name], "run": run} for run in victims.runs))
    exchange(evil)
    victims.are_untouched()


def test_a_hello_that_names_others_runs(lab: Lab, victims: Victims) -> None:
    runs = [{"op": "exited", "run": run, "at_ms": 1, "status": 0} for run in victims.runs]
    runs += [{"op": "started", "run": run, "at_ms": 1, "pid": 1, "paused": True} for run in victims.runs]
    with attached(lab, hello(*runs)) as evil:
        exchange(evil)
        victims.are_untouched()


def test_an_inventory_and_a_sample_of_gpus_that_are_not_there(lab: Lab, victims: Victims) -> None:
    gpu = {"uuid": "GPU-evil", "index": 0, "model": "x", "mem_mib": 1}
    with attached(lab, hello(gpus=[gpu])) as evil:
        sample = {"uuid": lab.box.gpu(0)["uuid"], "fault": "broken", "procs": []}
        host = {"mem_available_mib": 0, "mem_mib": 1}
        evil.say({"op": "inventory", "gpus": []}, {"op": "sample", "at_ms": 1, "host": host, "gpus": [sample]})
        exchange(evil)
        victims.are_untouched()
        assert {g["state"] for g in lab.box.json("gpus")["gpus"]} <= {"free", "used"}


# -- nonsense -------------------------------------------------------------------------------------------------------------

NONSENSE = {
    "no-json": "hello?\n",
    "a-list": "[]\n",
    "no-op": "{}\n",
    "an-unknown-op": '{"op":"\x1b]0;root\x07cannot run as "}\n',
    "a-number-past-the-store": '{"op":"started","run":"1.1","pid":99999999999,"at_ms":1}\n',
    "a-time-before-all": '{"op":"started","run":"1.1","pid":1,"at_ms":-99999999999999}\n',
    "a-number-of-a-million-digits": '{"op":"pong","id":' + "9" * 1_000_000 + "}\n",
    "a-text-of-a-megabyte": '{"op":"refused","run":"1.1","reason":"' + "x" * 1_000_000 + '"}\n',
    "a-run-named-like-a-path": '{"op":"exited","run":"../../../../etc/passwd","at_ms":1}\n',
    "a-run-that-is-no-number": '{"op":"started","run":"\u0661.1","pid":1,"at_ms":1}\n',
    "a-nul": '{"op":"refused","run":"1.1","reason":"\\u0000"}\n',
    "a-lone-surrogate": '{"op":"refused","run":"1.1","reason":"\\ud800"}\n',
    "bytes-that-are-no-text": '{"op":"refused","run":"1.1","reason":"\udcff"}\n',
    "a-hundred-thousand-brackets": '{"op":"gone","run":"1.1","x":' + "[" * 100_000 + "]" * 100_000 + "}\n",
    "a-second-hello": json.dumps(hello()) + "\n",
    "a-line-of-ten-megabytes": '{"op":"refused","reason":"' + "x" * 10_000_000,
    "base64-that-is-none": '{"op":"log","id":1,"data":"%%%","offset":0,"size":0,"eof":true}\n',
    "an-answer-nobody-asked-for": '{"op":"log","id":99999,"data":"","offset":0,"size":0,"eof":true}\n',
    "an-error-with-a-forged-line": '{"op":"error","message":"\\n2026-01-01 INFO roost: all is well"}\n',
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_from_an_accounts_program(lab: Lab, victims: Victims, evil: Impostor, name: str) -> None:
    evil.raw(NONSENSE[name])
    victims.are_untouched()
    assert lab.ana.http("GET", "/jobs").status == 200
    log = (lab.box.home / "server.log").read_text()
    assert "\n2026-01-01 INFO" not in log and "\x1b" not in log and "data_received" not in log


def test_a_hundred_megabytes_without_an_end(lab: Lab, victims: Victims, evil: Impostor) -> None:
    before = _rss_mib(lab.box.server.pid)
    assert evil.raw("x" * 1_000_000, times=100) == "cut"
    victims.are_untouched()
    assert _rss_mib(lab.box.server.pid) < before + 100


def test_ends_in_the_far_future_and_more_memory_than_there_is(lab: Lab, victims: Victims) -> None:
    job = lab.bob.submit("-g", 1, "--", "sleep", "600")
    lab.box.comes_to(job, "running")
    with attached(lab, hello({"op": "started", "run": f"{job}.1", "pid": 1, "at_ms": FAR})) as evil:
        far = {"at_ms": FAR, "started_ms": FAR, "peak_mem_mib": FAR, "util_mean": 1e300, "peak_rss_mib": FAR, "cpu_ms": FAR}
        evil.say({"op": "exited", "run": f"{job}.1", "status": 0, "why": "preempt", **far})
        ended = lab.box.ends(job)
    last = ended["attempts"][-1]
    assert ended["ended_at"] < "2100" and last["started_at"] < "2100" and last["peak_mem_mib"] <= 24 * 1024
    assert last["util_mean"] <= 100 and ended["outcome"] == "killed"
    victims.are_untouched()


def test_a_flood_keeps_nobody_else_waiting(lab: Lab, victims: Victims, evil: Impostor) -> None:
    before = _rss_mib(lab.box.server.pid)
    mine = f"{_some_job(lab)}.7"
    lines = [{"op": "exited", "run": mine, "at_ms": 1}, {"op": "started", "run": mine, "at_ms": 1, "pid": 1}]
    lines += [{"op": "error", "message": "x" * 1000}, {"op": "gone", "run": victims.runs[0]}]
    evil.begin("".join(json.dumps(line) + "\n" for line in lines), seconds=60)
    for _ in range(3):
        assert lab.ana.sh("id -u")[1].strip() == str(lab.ana.account.uid)
    assert _rss_mib(lab.box.server.pid) < before + 150
    victims.are_untouched()


def test_a_program_that_reads_nothing_does_not_keep_the_server(lab: Lab) -> None:
    with attached(lab, deaf=True):
        spec = {"command": ["true"], "gpus": 0, "script": "#" * 1_000_000}
        ids = lab.bob.http("POST", "/jobs", {"jobs": [spec] * 4}).json["ids"]
        assert lab.ana.sh("echo here")[1] == "here\n"
        server = lab.box.server
        lab.root("down")
        until("the server has left", lambda: not server.is_alive)
        lab.box.up()
        lab.root("kill", *ids)
        assert lab.ana.sh("echo here")[1] == "here\n"
    with lab.set(job__evict_s=1, job__grace_s=0):
        for job in ids:
            lab.box.ends(job, "killed")


def _rss_mib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 >> 20


# -- not ending what it must end ------------------------------------------------------------------------------------------

HIDING = "import ctypes,time\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nopen('PATH','w').close()\nwhile True: time.sleep(1)"


@pytest.mark.parametrize("how", ["plain", "hidden"])
def test_a_stop_that_its_program_does_not_obey_is_carried_out_by_root(lab: Lab, how: str) -> None:
    """Also of a process that has closed its files in /proc; and of nothing else of that user's."""
    mark = lab.bob.account.home / f"hides-{how}"
    script = (
        HIDING.replace("PATH", str(mark)) if how == "hidden" else HIDING.replace("4, 0", "4, 1").replace("PATH", str(mark))
    )
    job = lab.bob.submit("-g", 1, "--", lab.bob.reach.python, "-c", script)
    other = lab.bob.submit("-g", 0, "--", "sleep", "600")
    lab.box.comes_to(job, "running")
    until("it hides", mark.exists)
    pids = {number: lab.box.comes_to(number, "running")["attempts"][-1]["pid"] for number in (job, other)}
    runs = [{"op": "started", "run": f"{number}.1", "pid": pid, "at_ms": 1} for number, pid in pids.items()]
    with lab.set(job__evict_s=1, job__grace_s=0), attached(lab, hello(*runs)) as evil:
        lab.root("kill", job)
        evil.heard("stop", run=f"{job}.1")
        assert "ended by the server" in lab.box.ends(job, "killed")["error"]
        until("nothing of it is left", lambda: process(pids[job]) is None)
        index = lab.box.job(job)["attempts"][-1]["gpu_indices"][0]
        assert lab.box.gpu_comes_to(index, "free")["jobs"] == []
        assert lab.box.state(other) == "running" and process(pids[other]) is not None
    lab.root("kill", other)
    lab.box.ends(other)


def test_a_log_that_another_program_answers_for(lab: Lab, victims: Victims) -> None:
    job = _some_job(lab)
    with attached(lab) as evil:
        for answer in (
            {"op": "pong"},
            {"op": "log", "data": "!", "offset": 0, "size": 0, "eof": True},
            {"op": "error", "message": "\x1b[2J"},
        ):
            agent = lab.bob.account.popen(
                [lab.bob.reach.python, "-I", "-c", _ASK, str(lab.box.home / "roost.sock"), f"/api/v1/jobs/{job}/log"]
            )
            asked = evil.heard("read_log")
            evil.say({**answer, "id": asked["id"]})
            out, _ = agent.communicate(timeout=60)
            assert out.split()[1] in ("404", "503"), out
            if answer["op"] == "log":  # that cut the link
                evil.heard("attached")
        victims.are_untouched()


_ASK = """\
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(f"GET {sys.argv[2]} HTTP/1.0\\r\\n\\r\\n".encode())
print(connection.makefile().read())
"""


def test_the_last_words_of_a_program_are_a_terabyte(lab: Lab, victims: Victims) -> None:
    """Its errors go to a file of root's, whose descriptor it has."""
    script = (
        "import ctypes,os,signal,sys\nlibc=ctypes.CDLL(None,use_errno=True)\npid=int(sys.argv[1])\n"
        "fd=libc.syscall(438, os.pidfd_open(pid), 2, 0)\nassert fd >= 0, ctypes.get_errno()\n"
        "os.ftruncate(fd, 1 << 40)\nos.kill(pid, signal.SIGKILL)"
    )
    _some_job(lab)
    lab.bob.sh("true")
    before, found = _rss_mib(lab.box.server.pid), [p for p in lab.bob.account.processes() if _is_attach(p)]
    ran = lab.bob.python(script, str(found[0]))
    if "PermissionError" in ran.err or "assert" in ran.err or "OSError" in ran.err:
        pytest.skip(
            f"NOT TESTED, on this kernel processes of one user are closed to each other, or files too short: {ran.err[-80:]}"
        )
    assert lab.bob.sh("echo back")[1] == "back\n"
    assert _rss_mib(lab.box.server.pid) < before + 100
    victims.are_untouched()


def _is_attach(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"\0attach\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


# -- processes on GPUs that say whose they are ----------------------------------------------------------------------------


@contextlib.contextmanager
def squatter(lab: Lab, person: Person, tag: str, index: int) -> Iterator[int]:
    """A process outside Roost on a simulated GPU, which carries the tag of some run."""
    script = (
        "import json,os,sys,time\npid=os.getpid(); start=open('/proc/self/stat').read().rpartition(')')[2].split()[19]\n"
        "use=dict(pid=pid,starttime=int(start),gpu=sys.argv[2],mem_mib=9000,util=90)\n"
        "open(f'{sys.argv[1]}/{pid}-{start}-0.json','w').write(json.dumps(use))\nprint(pid,flush=True)\ntime.sleep(600)"
    )
    uuid = lab.box.gpu(index)["uuid"]
    argv = [person.reach.python, "-I", "-c", script, str(lab.box.home / "sim" / "procs"), uuid]
    with person.account.popen(argv, env={"ROOST_RUN": tag, "PATH": PATH}) as made:
        try:
            assert made.stdout is not None
            yield int(made.stdout.readline())
        finally:
            made.kill()


@pytest.mark.parametrize("whose", ["hers", "roots", "nobodys", "no-number", "own-old-run"])
def test_a_process_on_a_gpu_that_calls_itself_anothers_run(lab: Lab, victims: Victims, whose: str) -> None:
    identity = (lab.box.home / "node" / "state_id").read_text().strip()
    names = {"hers": victims.runs[0], "roots": victims.runs[1], "nobodys": "999999.1", "no-number": "x.1"}
    run = names.get(whose) or f"{_some_job(lab)}.1"
    free = next(gpu["index"] for gpu in lab.box.json("gpus")["gpus"] if gpu["state"] == "free")
    with squatter(lab, lab.bob, f"{identity}:{run}", free) as pid:
        found = lab.box.gpu_comes_to(free, "foreign")
        assert [(p["pid"], p["user"], p["job"]) for p in found["procs"]] == [(pid, lab.bob.name, None)]
        assert lab.ana.http("GET", "/gpus").status == 200
    lab.box.gpu_comes_to(free, "free")


SIM_FILES = {
    "endless-numbers": '{"pid": PID, "starttime": START, "gpu": "GPU", "mem_mib": Infinity, "util": 1}',
    "more-memory-than-the-store-holds": '{"pid": PID, "starttime": START, "gpu": "GPU", "mem_mib": 1e40, "util": 1}',
    "less-than-none": '{"pid": PID, "starttime": START, "gpu": "GPU", "mem_mib": -5000, "util": -5}',
    "anothers-process": '{"pid": HERS, "starttime": HER_START, "gpu": "GPU", "mem_mib": 9000, "util": 1}',
    "a-thousand-brackets": "[" * 4000,
    "a-gigabyte": None,
    "a-pipe": None,
    "a-link-to-the-store": None,
}


@pytest.mark.parametrize("name", SIM_FILES)
def test_a_file_of_simulated_use(lab: Lab, victims: Victims, name: str) -> None:
    free = next(gpu for gpu in lab.box.json("gpus")["gpus"] if gpu["state"] == "free")
    file = lab.box.home / "sim" / "procs" / f"{name}.json"
    hers = process(lab.box.job(victims.hers)["attempts"][-1]["pid"])
    own = lab.bob.account.popen(["sleep", "600"])
    mine = process(own.pid)
    assert hers is not None and mine is not None
    try:
        text = SIM_FILES[name]
        if text is not None:
            for word, value in (
                ("HERS", hers.pid),
                ("HER_START", hers.starttime),
                ("PID", mine.pid),
                ("START", mine.starttime),
                ("GPU", free["uuid"]),
            ):
                text = text.replace(word, str(value))
            assert lab.bob.python("import sys; open(sys.argv[1],'w').write(sys.argv[2])", str(file), text).code == 0
        else:
            how = {"a-gigabyte": f"truncate -s 1G {file}", "a-pipe": f"mkfifo {file}"}
            assert lab.bob.shell(how.get(name, f"ln -s {lab.box.home}/roost.db {file}")).code == 0
        _next_sample(lab)
        gpu = lab.box.gpu(free["index"])
        assert (gpu["state"], gpu["procs"], gpu["mem_used_mib"]) == ("free", [], 0)
        victims.are_untouched()
    finally:
        own.kill()
        own.communicate()
        file.unlink(missing_ok=True)


def _next_sample(lab: Lab) -> None:
    """Wait until what a process does on another GPU is seen, and its end too: the samples go on."""
    last = lab.box.json("gpus")["gpus"][-1]
    with squatter(lab, lab.ana, "", last["index"]):
        lab.box.gpu_comes_to(last["index"], "foreign")
    lab.box.gpu_comes_to(last["index"], "free")


def test_the_node_programs_own_verbs_for_root_do_nothing_for_others(lab: Lab, victims: Victims) -> None:
    archive = next((lab.box.home / "program").glob("*.pyz"))
    identity = (lab.box.home / "node" / "state_id").read_text().strip()
    base = [lab.bob.reach.python, "-I", str(archive)]
    evicted = lab.bob.account.run(
        [*base, "evict", "--account", lab.ana.name, "--identity", identity, "--run", victims.runs[0]]
    )
    became = lab.bob.account.run(
        [*base, "become", "--account", lab.ana.name, "--state", str(lab.ana.state), "--identity", identity]
    )
    attached = lab.bob.account.run([*base, "attach", "--state", str(lab.ana.state)])
    assert 0 not in (evicted.code, became.code, attached.code)
    victims.are_untouched()
