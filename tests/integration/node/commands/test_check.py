"""`check` as the server runs it: one JSON object, soon, whatever the machine is like; and nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gpu.fake_nvml import fake_nvml
from tests.integration.node.harness import SRC, Node, alive, oldest_python, wait_until

from roost.node.build import build
from roost.node.system.home_dir import look_at_home
from roost.node.system.host import boot_id
from roost.server.nodes.account_checks import Own
from roost.server.nodes.machine_facts import Home
from roost.server.nodes.node_check import Contact, Known, checks

SYSTEM_PYTHON = "/usr/bin/python3"
Json = dict[str, Any]
# `check` with less patience than it has: what hangs shall not hold up the tests.
IMPATIENT = (
    "import sys, roost.node.commands.check as c; c.LIMIT_S = 1.5; from roost.node.main import main; main(sys.argv[1:])"
)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that every account can look into."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


def ask(command: list[str], state: Path, *options: str, **how: Any) -> Json:
    line = [*command, "check", "--state", str(state), *options]
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(SRC), **how.pop("env", {})}
    done = subprocess.run(line, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **how)
    assert (done.returncode, done.stderr) == (0, b"")
    (only,) = done.stdout.splitlines()
    told: Json = json.loads(only)
    return told


@pytest.mark.parametrize("which", ["this Python", "the oldest"])
def test_it_tells_of_this_machine_and_leaves_nothing(which: str, tmp_path: Path) -> None:
    python = sys.executable if which == "this Python" else oldest_python()
    if python is None:
        pytest.skip("NOT TESTED, needs a Python 3.8: that check runs on the oldest one it promises")
    state = tmp_path / "not" / "there"
    told = ask([python, build(str(tmp_path)).path], state, "--sim", "2x24G,1x80G")
    assert told["uid"] == os.geteuid() and told["boot"] == boot_id()
    assert told["python"].startswith("3.8." if which == "the oldest" else f"3.{sys.version_info.minor}.")
    assert [gpu["mem_mib"] for gpu in told["gpus"]["gpus"]] == [24576, 24576, 81920]
    assert (told["disk"]["path"], told["disk"]["error"]) == (str(state), None)
    assert told["began_ms"] <= told["at_ms"]
    assert isinstance(told["cgroups"], bool)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".pyz"] == []
    assert not list(Path("/sys/fs/cgroup").glob("roost-check-*"))


def test_the_server_understands_every_part_of_it(tmp_path: Path) -> None:
    """What one end prints and what the other reads are the same words; this machine shares its homes with itself."""
    told = ask([sys.executable, "-m", "roost.node"], tmp_path, "--accounts", "daemon,nosuchaccount")
    known = Known("SHA256:x", boot_id(), {"daemon": Own(1, Home(**look_at_home("/usr/sbin"))), "nosuchaccount": Own()})
    found = {check.name: check for check in checks(Contact("n", "n", 0, "", told, told["began_ms"], told["at_ms"]), known)}
    assert not [check for check in found.values() if check.text.code in ("check.invalid_part", "check.no_sense")]
    assert all(found[name].ok for name in ("reachable", "host key", "login", "python", "disk", "clock"))
    if os.geteuid() == 0:
        assert (found["accounts"].ok, str(found["accounts"].text)) == (False, "no account there for nosuchaccount")


def test_homes_are_looked_at_with_the_rights_of_their_owner(tmp_path: Path) -> None:
    told = ask([sys.executable, "-m", "roost.node"], tmp_path, "--accounts", "daemon,root,nosuchaccount,../x")["accounts"]
    assert told["daemon"]["exists"] and told["daemon"]["home"]["inode"] == os.stat("/usr/sbin").st_ino
    assert {name: told[name]["exists"] for name in ("root", "nosuchaccount", "../x")} == dict.fromkeys(
        ("root", "nosuchaccount", "../x"), False
    )


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(SYSTEM_PYTHON, os.X_OK),
    reason="NOT TESTED, needs root and a system Python: other accounts",
)
def test_an_ordinary_login_is_told_what_it_can_do(open_place: Path) -> None:
    archive = build(str(open_place)).path
    told = ask(
        [SYSTEM_PYTHON, "-I", archive], open_place / "state", "--accounts", "daemon", user="nobody", group="nogroup", cwd="/"
    )
    assert told["login"] == "nobody"
    assert told["disk"]["error"] == f"permission denied: {open_place}"
    assert told["accounts"]["daemon"]["exists"]


def test_a_driver_that_hangs_is_said_and_holds_up_nothing(tmp_path: Path) -> None:
    """The process that hangs in it is ended, or at least holds nothing of ours: the output ends."""
    (tmp_path / "pynvml.py").write_text(
        "import os, time\nclass NVMLError(Exception): pass\n"
        f"def nvmlInit():\n    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
    )
    told = ask([sys.executable, "-c", IMPATIENT], tmp_path / "state", env={"PYTHONPATH": f"{tmp_path}:{SRC}"})
    assert told["gpus"] == {"error": "no answer within 1.5 s"}
    assert told["disk"]["error"] is None
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not alive(pid), "the process that asked the driver ends")


def test_nvidia_smi_where_nvml_says_no(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("raise ImportError('none here')\n")
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho '0, GPU-1, Tesla T4, 15360'\n")
    smi.chmod(0o755)
    env = {"PYTHONPATH": f"{tmp_path}:{SRC}", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    told = ask([sys.executable, "-m", "roost.node"], tmp_path / "state", env=env)["gpus"]
    assert (told["source"], told["gpus"]) == ("nvidia-smi", [{"model": "Tesla T4", "mem_mib": 15360, "mig": False}])
    assert told["error"] == "no NVML bindings: none here"


NO_NVML = "raise ImportError('none here')\n"
SMI = "#!/bin/sh\necho '0, GPU-1, Tesla T4, 15360'\n"


@pytest.mark.parametrize(
    ("cards", "has_bindings", "has_smi", "found"),
    [
        ("0,2", True, True, [("NVIDIA Fake", False), *[("NVIDIA Fake MIG 1g.10gb", True)] * 2]),
        ("fail", True, True, [("Tesla T4", False)]),
        ("fail", True, False, []),
        ("0", False, True, [("Tesla T4", False)]),
        ("0", False, False, []),
    ],
)
def test_the_check_and_the_node_program_find_the_same_gpus(
    tmp_path: Path,
    make_node: Callable[..., Node],
    cards: str,
    has_bindings: bool,
    has_smi: bool,
    found: list[tuple[str, bool]],
) -> None:
    env = fake_nvml(tmp_path, cards) | {"PYTHONPATH": f"{tmp_path}:{SRC}", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    if not has_bindings:
        (tmp_path / "pynvml.py").write_text(NO_NVML)
    if has_smi:
        (tmp_path / "nvidia-smi").write_text(SMI)
        (tmp_path / "nvidia-smi").chmod(0o755)
    told = ask([sys.executable, "-m", "roost.node"], tmp_path / "check", env=env)["gpus"]
    assert [(gpu["model"], gpu["mig"]) for gpu in told["gpus"]] == found
    hello = make_node(env=env).hello
    assert hello["gpus_known"]
    assert [(gpu["model"], gpu["mig"]) for gpu in hello["gpus"]] == found


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    told = ask([sys.executable, "-m", "roost.node"], Path("/proc/nosuch/state"))
    assert told["disk"]["error"].endswith(": /proc")
