"""What `install` and `uninstall` tell systemd, and when they refuse. A stand-in writes down what it is told."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer

from roost.cli.verbs.server import install, systemd

SYSTEMCTL = """#!/bin/sh
echo "$(basename "$0") $*" >>"{said}"
case "$*" in
  *is-active*) cat "{active}" 2>/dev/null || echo inactive;;
  *MainPID*) cat "{pid}" 2>/dev/null || echo 0;;
esac
if [ -e "{fails}" ] && echo "$*" | grep -q -f "{fails}"; then
  echo "some noise" >&2
  echo "Job for roost.service failed." >&2
  exit 1
fi
exit 0
"""


class Systemd:
    """A machine that systemd has started, as far as `roost install` can tell."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.units = directory / "units"
        self.own_units = directory / "config" / "systemd" / "user"
        self.active, self.fails, self.pid = (directory / name for name in ("active", "fails", "pid"))
        self._said = directory / "said"
        (directory / "bin").mkdir()
        (directory / "booted").mkdir()
        for name in ("systemctl", "loginctl"):
            program = directory / "bin" / name
            program.write_text(SYSTEMCTL.format(said=self._said, active=self.active, pid=self.pid, fails=self.fails))
            program.chmod(0o755)

    def said(self) -> list[str]:
        """What it was told since the last time, without questions."""
        lines = self._said.read_text().splitlines() if self._said.exists() else []
        self._said.unlink(missing_ok=True)
        return [line for line in lines if "is-active" not in line and "MainPID" not in line]


@pytest.fixture
def machine(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    made = Systemd(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PYTHONPATH", str(Path(systemd.__file__).parents[4]))
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr(systemd, "BOOTED", str(tmp_path / "booted"))
    monkeypatch.setattr(systemd, "SYSTEM_UNITS", str(made.units))
    monkeypatch.setattr(install, "LINGERING", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return made


ALL = ["systemctl daemon-reload", "systemctl enable roost.service", "systemctl restart roost.service"]
OWN = [line.replace("systemctl", "systemctl --user") for line in ALL]


def test_written_enabled_and_started(roost: Roost, machine: Systemd, home: Path) -> None:
    ran = roost("install", "--sim", "4x24G", "--host", "::", "--host", "0.0.0.0", "--port", "7667")
    assert (ran.code, ran.out) == (0, "")
    assert f"roost.service is installed and running; state in {home}, unit in {machine.units}/roost.service" in ran.err
    assert machine.said() == ALL
    text = (machine.units / "roost.service").read_text()
    assert f"--home {home} --sim 4x24G --host :: --host 0.0.0.0 --port 7667\n" in text
    assert f"Environment=ROOST_HOME={home}\n" in text
    assert (machine.units / "roost.service").stat().st_mode & 0o777 == 0o644


def test_again_restarts_only_when_something_changed(roost: Roost, machine: Systemd) -> None:
    roost("install", "--sim", "4x24G")
    machine.active.write_text("active\n")
    machine.said()
    assert "has not changed" in roost("install", "--sim", "4x24G").err
    assert machine.said() == ["systemctl enable roost.service"]
    assert "has not changed" not in roost("install", "--sim", "2x24G").err
    assert machine.said() == ALL
    machine.active.write_text("failed\n")
    roost("install", "--sim", "2x24G")
    assert machine.said() == ALL


def test_for_one_user(roost: Roost, machine: Systemd) -> None:
    ran = roost("install", "--user")
    assert (ran.code, machine.said()) == (0, OWN)
    assert "warning: server and jobs end when you log out" in ran.err
    assert (machine.own_units / "roost.service").exists()
    assert not machine.units.exists()
    ran = roost("install", "--user", "--linger")
    assert "warning" not in ran.err
    assert machine.said()[0] == "loginctl enable-linger"


def test_uninstall_takes_away_what_install_made_and_no_more(roost: Roost, machine: Systemd, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "roost.db").write_text("state")
    for user in ((), ("--user",)):
        roost("install", *user)
        machine.said()
        ran = roost("uninstall", *user)
        assert ran.code == 0
        assert f"jobs continue, state and logs stay in {home}" in ran.err
        prefix = " ".join(["systemctl", *user])
        assert machine.said() == [
            f"{prefix} disable --now roost.service",
            f"{prefix} daemon-reload",
            f"{prefix} reset-failed roost.service",
        ]
        again = roost("uninstall", *user)
        assert (again.code, machine.said()) == (0, [])
        assert "nothing to do" in again.err
    assert list(machine.units.iterdir()) == list(machine.own_units.iterdir()) == []
    assert (home / "roost.db").exists()


def test_a_dry_run_does_nothing_and_needs_nothing(roost: Roost, machine: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(systemd, "BOOTED", "/no/such/directory")
    ran = roost("install", "--dry-run")
    assert ran.code == 0 and all(line.startswith("roost: warning: ") for line in ran.err.splitlines())
    assert "KillMode=process\n" in ran.out
    assert [line.removeprefix("# then: ") for line in ran.out.splitlines() if "# then: " in line] == ALL
    assert "# then: loginctl enable-linger\n" in roost("install", "--user", "--linger", "--dry-run").out
    gone = roost("uninstall", "--dry-run").out.splitlines()
    assert gone == ["systemctl disable --now roost.service", f"rm {machine.units}/roost.service", "systemctl daemon-reload"]
    assert machine.said() == []
    assert not machine.units.exists()


def test_it_takes_root(roost: Roost, machine: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    ran = roost("install")
    assert ran.code == 77
    assert ran.err.splitlines()[1] == "hint: sudo roost install, or only for you: roost install --user"
    assert roost("uninstall").code == 77
    assert machine.said() == []
    assert roost("install", "--user").code == 0


def test_without_systemd_the_way_to_do_without(roost: Roost, machine: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd, "BOOTED", "/no/such/directory")
    for words in (("install",), ("install", "--user"), ("uninstall",)):
        ran = roost(*words)
        assert ran.code == 69
        assert ran.err.startswith("roost: this machine does not run systemd\nhint: use roost up --detach")
        assert "@reboot" in ran.err
    assert not machine.units.exists()


@pytest.mark.parametrize("step", ["daemon-reload", "enable", "restart"])
def test_a_step_that_fails_is_shown_and_the_next_try_does_all(roost: Roost, machine: Systemd, step: str) -> None:
    machine.fails.write_text(f"{step}\n")
    ran = roost("install")
    assert ran.code == 1
    first, hint = ran.err.splitlines()[-2:]
    assert first.startswith(f"roost: systemctl {step}")
    assert first.endswith(": Job for roost.service failed.")
    assert hint == "hint: systemctl status roost; journalctl -u roost -n 20"
    machine.fails.unlink()
    machine.said()
    assert roost("install").code == 0
    assert machine.said() == ALL


def test_a_unit_that_cannot_be_stopped_stays(roost: Roost, machine: Systemd) -> None:
    roost("install")
    machine.fails.write_text("disable\n")
    assert roost("uninstall").code == 1
    assert (machine.units / "roost.service").exists()


def test_a_unit_of_somebody_else_is_not_touched(roost: Roost, machine: Systemd) -> None:
    machine.units.mkdir()
    unit = machine.units / "roost.service"
    unit.write_text("[Service]\nExecStart=/usr/bin/rooster\n")
    for verb in ("install", "uninstall"):
        ran = roost(verb)
        assert ran.code == 1
        assert "was not written by roost install" in ran.err
    assert unit.read_text() == "[Service]\nExecStart=/usr/bin/rooster\n"
    assert machine.said() == []


def test_a_server_that_systemd_did_not_start_is_in_the_way(roost: Roost, machine: Systemd, server: FakeServer) -> None:
    server.routes["GET /status"] = {"server_pid": 4711}
    ran = roost("install")
    assert ran.code == 75
    assert "(pid 4711)\nhint: run `roost down`, then this command again; jobs continue" in ran.err
    assert machine.said() == []
    machine.pid.write_text("4711\n")
    assert roost("install").code == 0


def test_what_the_server_would_refuse_is_refused_at_once(roost: Roost, machine: Systemd) -> None:
    ran = roost("install", "--tls-cert", "/no/such.pem", "--tls-key", "/no/such.key")
    assert ran.code == 2
    assert ran.err.startswith("roost: cannot read /no/such.pem: No such file or directory\nhint: ")
    assert roost("install", "--linger").code == 2
    assert machine.said() == []


def test_a_python_that_does_not_find_roost_is_refused(
    roost: Roost, machine: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(machine.directory / "bin" / "loginctl"))
    monkeypatch.delenv("PYTHONPATH")
    ran = roost("install")
    assert ran.code == 1
    assert "cannot import Roost in a clean environment" in ran.err
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert "cannot run /no/such/python: No such file or directory" in roost("install").err
    assert not machine.units.exists()


def test_with_sudo_a_unit_of_one_s_own_is_a_mistake(roost: Roost, machine: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "ana")
    assert roost("install", "--user").code == 2
    assert roost("install").code == 0


@pytest.mark.skipif(os.getuid() != 0, reason="files of root and of others are needed")
def test_places_that_are_unwise_are_named(tmp_path: Path) -> None:
    closed, loose = tmp_path / "closed", tmp_path / "loose"
    closed.mkdir(mode=0o700)
    loose.mkdir()
    loose.chmod(0o777)
    tmp_path.chmod(0o755)
    for at in (closed, loose):
        (at / "python").write_text("")
    assert install._closed(str(closed / "python")) is not None
    assert install._loose(str(loose / "python")) == str(loose)
    loose.chmod(0o755)
    os.chown(loose, 12345, 0)
    assert install._loose(str(loose / "python")) == str(loose)
    assert install._closed("/usr/bin") is None
    assert install._loose("/usr/bin") is None
