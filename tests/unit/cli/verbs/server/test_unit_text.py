"""The unit as text, and what systemd's own reader says of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roost.cli.verbs.server.unit_text import MARK, exec_line, quoted, unit_text
from roost.client.server_process import server_command

NASTY = "/srv/my jobs/100%/a$b\"c\\d'e;ü"
COMMAND = server_command("/var/lib/roost", ("--sim", "4x24G"))


def lines(text: str) -> set[str]:
    return set(text.splitlines())


def test_the_unit_of_the_system() -> None:
    text = unit_text(COMMAND, {}, is_system=True)
    assert text.startswith(MARK)
    assert f"ExecStart={sys.executable} -P -m roost.server.main --home /var/lib/roost --sim 4x24G" in lines(text)
    assert {"Type=notify", "KillMode=process", "Delegate=yes", "OOMPolicy=continue", "Restart=on-failure"} < lines(text)
    assert {"RestartPreventExitStatus=2 75", "ExecReload=/bin/kill -HUP $MAINPID"} < lines(text)
    assert {"StateDirectory=roost", "StateDirectoryMode=0711", "WantedBy=multi-user.target"} < lines(text)
    assert {"RuntimeDirectory=roost", "RuntimeDirectoryMode=0755", "RuntimeDirectoryPreserve=yes"} < lines(text)


def test_the_unit_of_a_user() -> None:
    text = unit_text(COMMAND, {}, is_system=False)
    assert {"Type=notify", "KillMode=process", "Delegate=yes", "WantedBy=default.target"} < lines(text)
    assert not [
        line for line in lines(text) if line.startswith(("StateDirectory", "RuntimeDirectory", "LimitMEMLOCK", "After"))
    ]


def test_nothing_that_jobs_would_inherit_is_locked_away() -> None:
    for is_system in (True, False):
        settings = [line for line in unit_text(COMMAND, {}, is_system=is_system).splitlines() if not line.startswith("#")]
        shy = ("Protect", "Private", "NoNewPrivileges", "ReadOnly", "Restrict", "SystemCall", "OOMScore", "Capability")
        assert not [line for line in settings if line.startswith(shy)]


def test_a_home_of_its_own_is_all_of_it() -> None:
    text = unit_text(COMMAND, {"ROOST_HOME": "/data/my roost"}, is_system=True)
    assert 'Environment="ROOST_HOME=/data/my roost"' in lines(text)
    assert "StateDirectory" not in text


def test_words_are_quoted_as_systemd_reads_them() -> None:
    assert quoted("/plain/word-1.2_x:y,[::1]") == "/plain/word-1.2_x:y,[::1]"
    assert quoted("100%") == "100%%"
    assert quoted("") == '""'
    assert quoted('a "b" \\ c\n') == '"a \\"b\\" \\\\ c\\n"'
    assert exec_line(["/a$b/python", "$HOME", "x y"]) == '/a$b/python $$HOME "x y"'


@pytest.mark.parametrize("is_system", [True, False])
@pytest.mark.parametrize("home", ["/var/lib/roost", NASTY])
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path, is_system: bool, home: str) -> None:
    text = unit_text(server_command(home, ("--host", "::")), {"PYTHONPATH": NASTY}, is_system=is_system)
    said = verified(tmp_path, text, is_system)
    assert said == ""
    assert "kill mode" in verified(tmp_path, text.replace("KillMode=process", "KillMode=proces"), is_system)


def verified(directory: Path, text: str, is_system: bool) -> str:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("NOT TESTED: the unit by systemd itself; the package systemd has systemd-analyze")
    (directory / "roost.service").write_text(text)
    ran = subprocess.run(
        ["systemd-analyze", *([] if is_system else ["--user"]), "verify", str(directory / "roost.service")],
        capture_output=True,
        text=True,
        timeout=60,
        env={"XDG_RUNTIME_DIR": str(directory), "PATH": "/usr/bin:/bin", "HOME": str(directory)},
    )
    return "\n".join(line for line in ran.stderr.splitlines() if "roost.service" in line)
