"""From what a contact gave to what a person reads."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from roost.server.nodes.account_checks import Own
from roost.server.nodes.machine_facts import Home
from roost.server.nodes.node_check import Contact, Known, checks

NAMES = ["reachable", "host key", "login", "python", "gpus", "disk", "clock", "accounts", "shared home"]
NAMES += ["cgroups", "GPU access", "logout"]
NOW = 1_700_000_000_000
GIB = 1024
Json = dict[str, Any]


def home(inode: int | None = 7, **other: Any) -> Json:
    whole = {"path": "/home/ana", "exists": True, "inode": inode, "ctime_ns": 5, "device": 1, "fs": "nfs4", "error": None}
    return {**whole, **other}


def account(**other: Any) -> Json:
    return {"exists": True, "uid": 1001, "gid": 1001, "home": home(), "python": "/usr/bin/python3", "error": None, **other}


def told(**other: Any) -> Json:
    """What a good node says, and what is to be different about it."""
    a100 = {"model": "NVIDIA A100", "mem_mib": 40 * GIB, "mig": False}
    good: Json = {
        "version": 1,
        "program": "x",
        "python": "3.8.18",
        "python_path": "/usr/bin/python3",
        "uid": 0,
        "host": "lab3",
        "boot": "another",
        "cpus": 64,
        "load": 3.25,
        "login": "root",
        "gpus": {"source": "nvml", "gpus": [a100, a100], "driver": "535.104", "cards": 2, "error": None},
        "disk": {"path": "/var/lib/roost-node/1", "free_mib": 71 * GIB, "free_inodes": 10**6, "error": None},
        "cgroups": True,
        "devices": "",
        "logout": {"systemd": True, "kills": False, "remove_ipc": False},
        "max_sessions": 10,
        "accounts": {"ana": account()},
        "began_ms": NOW + 300,
        "at_ms": NOW + 400,
    }
    return {**good, **other}


ANA = Own(1001, Home("/home/ana", True, 7, 5, 2, "nfs4"))
KNOWN = Known("SHA256:abc", "here", {"ana": ANA})


def look(answer: Any, known: Known = KNOWN, exit_code: int | None = 0, stderr: str = "") -> dict[str, Json]:
    """The checks by their names, which always come whole and in their order."""
    found = checks(Contact("lab3", "ssh://root@10.0.0.3", exit_code, stderr, answer, NOW, NOW + 500), known)
    assert [check.name for check in found] == NAMES
    said = (msgspec.structs.asdict(check) for check in found)
    return {c["name"]: {**c, "text": str(c["text"]), "hint": None if c["hint"] is None else str(c["hint"])} for c in said}


def words(check: Json) -> tuple[bool | None, str]:
    return check["ok"], check["text"]


def test_a_node_where_all_is_well() -> None:
    found = look(told())
    assert {name: words(check) for name, check in found.items()} == {
        "reachable": (True, "lab3 answered in 0.5 s, load 3.2 on 64 cores"),
        "host key": (True, "SHA256:abc"),
        "login": (True, "root: every job runs as its user's own account"),
        "python": (True, "3.8.18, /usr/bin/python3"),
        "gpus": (True, "2 × NVIDIA A100 40 GiB, driver 535.104"),
        "disk": (True, "71 GiB free for /var/lib/roost-node/1"),
        "clock": (True, "agrees with this server's"),
        "accounts": (True, "ana: exist"),
        "shared home": (True, "the same as on this server: ana"),
        "cgroups": (True, "every run has its own"),
        "GPU access": (True, "the kernel lets a job open only the GPUs that it was given"),
        "logout": (True, "jobs continue when the session ends"),
    }
    assert not any(check["hint"] for check in found.values())


@pytest.mark.parametrize(
    ("stderr", "failed", "text"),
    [
        (
            "ssh: connect to host 10.0.0.3 port 22: Connection refused",
            0,
            "ssh: connect to host 10.0.0.3 port 22: Connection refused",
        ),
        ("Host key verification failed.", 1, "the host key of lab3 is not the confirmed one"),
        ("root@10.0.0.3: Permission denied (publickey).", 2, "root@10.0.0.3: Permission denied (publickey)."),
        ("no Python 3.8 or later", 3, "no Python 3.8 or later"),
        ("something new", 0, "something new"),
    ],
)
def test_what_fails_at_a_step_has_passed_those_before_it(stderr: str, failed: int, text: str) -> None:
    found = look(None, exit_code=255, stderr=stderr)
    assert words(found[NAMES[failed]]) == (False, text)
    assert found[NAMES[failed]]["hint"]
    assert all(found[name]["ok"] is True for name in NAMES[:failed])
    rest = {words(found[name]) for name in NAMES[failed + 1 :]}
    assert rest == {(None, f"not known: {NAMES[failed]} failed")}


def test_what_the_other_side_failed_at_is_not_sshs() -> None:
    found = look(None, exit_code=1, stderr="ImportError: no zlib")
    assert words(found["python"]) == (False, "ImportError: no zlib")
    assert words(look(None, exit_code=3)["python"]) == (
        False,
        "the program there ended with exit code 3 and no error message",
    )
    assert words(look(None, exit_code=None)["reachable"])[1].startswith("no answer within")
    assert words(look({"hello": 1})["python"]) == (False, "its answer is not valid")


@pytest.mark.parametrize(
    ("gpus", "ok", "text", "hint"),
    [
        ({"error": "no answer within 8 s"}, False, "the driver does not answer: no answer within 8 s", "dmesg"),
        (
            {"source": None, "gpus": [], "cards": 0, "error": "NVML: NVML Shared Library Not Found"},
            None,
            "none: no NVIDIA card and no driver (NVML: NVML Shared Library Not Found)",
            "no GPU",
        ),
        (
            {"source": None, "gpus": [], "cards": 4, "error": "NVML: NVML Shared Library Not Found"},
            False,
            "4 NVIDIA cards found, but none can be used: NVML: NVML Shared Library Not Found",
            "nvidia-smi",
        ),
        (
            {"source": None, "gpus": [], "cards": 1, "driver": "535", "error": "NVML: Driver/library version mismatch"},
            False,
            "NVML: Driver/library version mismatch",
            "reboot",
        ),
        (
            {"source": "nvml", "gpus": [], "cards": 1},
            False,
            "1 NVIDIA card found, but none can be used: the driver lists none",
            "nvidia-smi",
        ),
        (
            {
                "source": "nvidia-smi",
                "gpus": [{"model": "T4", "mem_mib": 15 * GIB}],
                "driver": "470",
                "error": "no NVML bindings",
            },
            True,
            "1 × T4 15 GiB, driver 470, through nvidia-smi",
            "no NVML bindings",
        ),
        ({"source": "sim", "gpus": [{"model": "simulated", "mem_mib": 24 * GIB}] * 4}, True, "4 × simulated 24 GiB", None),
        ({"source": 7}, False, None, "dmesg"),
    ],
)
def test_gpus(gpus: Json, ok: bool | None, text: str | None, hint: str | None) -> None:
    check = look(told(gpus=gpus))["gpus"]
    assert check["ok"] is ok
    assert text is None or check["text"] == text
    assert check["hint"] is None if hint is None else hint in check["hint"]


@pytest.mark.parametrize(
    ("disk", "text"),
    [
        ({"path": "/d", "free_mib": 312, "error": None}, "312 MiB free for /d"),
        (
            {"path": "/d", "free_mib": 10**6, "free_inodes": 3, "error": None},
            "only 3 more files fit in the file system of /d",
        ),
        (
            {"path": "/d", "free_mib": 10**6, "error": "read-only file system: /"},
            "not writable: read-only file system: /",
        ),
        ({"error": "no answer within 8 s"}, "the file system does not answer: no answer within 8 s"),
    ],
)
def test_disks_that_will_not_do(disk: Json, text: str) -> None:
    check = look(told(disk=disk))["disk"]
    assert words(check) == (False, text)
    assert check["hint"]


@pytest.mark.parametrize(
    ("skew_ms", "text"),
    [
        (-3200, "3.2 s behind this server"),
        (86_400_000, "86400.0 s ahead of this server"),
        (900, None),
        (-900, None),
    ],
)
def test_clocks(skew_ms: int, text: str | None) -> None:
    check = look(told(began_ms=NOW + 100 + skew_ms, at_ms=NOW + 400 + skew_ms))["clock"]
    if text is None:
        assert check["ok"] is True
    else:
        assert words(check) == (False, text)
        assert check["hint"] == "set up NTP there: timedatectl set-ntp true"


def test_a_slow_answer_is_no_wrong_clock() -> None:
    """Between the server's two looks any time is right: a node at load 500 takes its time."""
    contact = Contact("lab3", "lab3", 0, "", told(began_ms=NOW + 9000, at_ms=NOW + 17_000), NOW, NOW + 30_000)
    assert checks(contact, KNOWN)[6].ok is True


def test_accounts_that_are_not_there() -> None:
    known = Known(None, "here", {"ana": ANA, "bo": Own(1002), "cy": Own()})
    gone = {"exists": False, "error": "cannot run as bo: this machine has no such account"}
    found = look(told(accounts={"ana": account(), "bo": gone, "cy": gone}), known)
    assert words(found["shared home"]) == (True, "the same as on this server: ana")
    check = found["accounts"]
    assert words(check) == (False, "no account there for bo, cy")
    assert "useradd -m -u 1002 bo" in check["hint"]


@pytest.mark.parametrize(
    ("found", "ok", "text"),
    [
        (account(python=None), False, "ana cannot run /usr/bin/python3"),
        (account(home=home(exists=False, inode=None)), False, "no home there for ana: /home/ana"),
        (account(uid=1009), False, "ana has uid 1009 there and 1001 here, with the same home"),
        (account(uid=1009, home=home(8)), True, "ana: exist"),
        ({"error": "no answer within 8 s"}, None, "ana: no answer within 8 s"),
        (
            account(home=home(inode=None, exists=None, error="stale file handle")),
            None,
            "ana cannot see /home/ana: stale file handle",
        ),
    ],
)
def test_accounts_that_cannot_work(found: Json, ok: bool | None, text: str) -> None:
    check = look(told(accounts={"ana": found}))["accounts"]
    assert words(check) == (ok, text)
    assert (check["hint"] is None) is (ok is True)


def test_an_ordinary_login_runs_everything_as_itself() -> None:
    found = look(told(uid=1005, login="lab", cgroups=False))
    assert words(found["login"]) == (True, "lab: every job runs as that account")
    assert words(found["accounts"]) == (True, "all jobs there run as lab")
    assert found["cgroups"]["ok"] is None
    assert words(look(told(), Known())["accounts"]) == (None, "no users to check yet")


@pytest.mark.parametrize(
    ("there", "boot", "ok"),
    [
        (home(), "another", True),
        (home(8), "another", None),
        (home(ctime_ns=6), "another", None),
        (home(fs="ext4"), "another", True),
        (home(path="/u/ana"), "another", None),
        (home(8, device=2), "here", None),
        (home(ctime_ns=6, device=2), "here", True),
        (home(device=3), "here", None),
    ],
)
def test_shared_homes(there: Json, boot: str, ok: bool | None) -> None:
    assert look(told(accounts={"ana": account(home=there)}, boot=boot))["shared home"]["ok"] is ok


def test_two_disks_of_their_own_are_not_shared_though_one_is_a_copy_of_the_other() -> None:
    known = Known(None, "here", {"ana": Own(1001, Home("/home/ana", True, 7, 5, 1, "ext4"))})
    check = look(told(accounts={"ana": account(home=home(fs="xfs"))}), known)["shared home"]
    assert words(check) == (None, "not shared with this server: the home of ana")
    assert "--cwd" in check["hint"]


def test_what_a_logout_does() -> None:
    kills = look(told(logout={"systemd": True, "kills": True, "remove_ipc": False}))["logout"]
    assert words(kills) == (False, "jobs would be killed when the ssh session ends (KillUserProcesses)")
    ipc = {"systemd": True, "kills": False, "remove_ipc": True}
    assert "RemoveIPC=no" in look(told(logout=ipc))["logout"]["hint"]
    assert look(told(logout=ipc, uid=1001))["logout"]["ok"] is True


def test_few_sessions_and_much_load_are_hints() -> None:
    found = look(told(max_sessions=2, load=900.0))
    assert found["login"]["ok"] and "MaxSessions" in found["login"]["hint"]
    assert found["reachable"]["ok"] and "busy" in found["reachable"]["hint"]


@pytest.mark.parametrize("key", sorted(told()))
@pytest.mark.parametrize(
    "value", [None, "x\x1b[2J" * 999, -1, 10**400, [[[[[[[[[[1]]]]]]]]]], {"error": "\x1b]0;x\x07"}, {"ana": {}}]
)
def test_nonsense_in_any_part_is_contained(key: str, value: Any) -> None:
    found = look(told(**{key: value}))
    text = json.dumps(list(found.values()), ensure_ascii=False)
    assert text.isprintable() and len(text) < 10_000


@pytest.mark.parametrize(
    ("devices", "text", "hint"),
    [
        ("not_root", "not enforced: the login is not root", None),
        ("no_cgroup", "not enforced: no cgroup v2 there", "mount -t cgroup2"),
        ("unknown", "not enforced: the driver does not tell the device files of its GPUs", None),
        ("EPERM", "not enforced: the kernel refuses a device filter (EPERM)", "CAP_BPF"),
        (
            {"error": "no answer within 8 s"},
            "not enforced: the kernel refuses a device filter (no answer within 8 s)",
            "CAP_BPF",
        ),
    ],
)
def test_a_job_that_can_open_every_gpu_is_no_failure_and_is_said(devices: Any, text: str, hint: str | None) -> None:
    found = look(told(devices=devices))["GPU access"]
    assert words(found) == (None, text)
    assert found["hint"] is None if hint is None else hint in found["hint"]
