"""Reading /proc: odd names, dead processes, tags, and kinship where no cgroup helps."""

from __future__ import annotations

import os
import subprocess
import sys

from roost.node.system import procfs
from roost.node.system.procfs import Kinship, Stat, Tags, find_members, parse_stat

TAIL = "1 2 3 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 1 0 777 1000 200"


def test_a_name_with_blanks_and_brackets() -> None:
    stat = parse_stat(f"42 (a (b) c) S {TAIL}")
    assert stat is not None
    assert (stat.pid, stat.comm, stat.state, stat.ppid, stat.starttime) == (42, "a (b) c", "S", 1, 777)


def test_what_is_no_stat_line() -> None:
    for text in ("", "42", "42 (a", "42 (a) S 1 2", "x (a) S " + TAIL, f"42 (a) S {TAIL}".replace("777", "x")):
        assert parse_stat(text) is None


def test_a_zombie_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    stat = None
    while stat is None or stat.state != "Z":
        stat = procfs.read_stat(child.pid)
    assert not procfs.is_alive(stat.id)
    child.wait()
    assert procfs.read_stat(child.pid) is None


def test_a_process_is_its_pid_and_its_start_time() -> None:
    me = procfs.read_stat(os.getpid())
    assert me is not None
    assert procfs.is_alive(me.id)
    assert not procfs.is_alive((me.pid, me.starttime + 1))
    assert procfs.watch((me.pid, me.starttime + 1)) is None
    fd = procfs.watch(me.id)
    assert fd is not None
    os.close(fd)


def test_the_tag_is_read_from_the_environment_at_the_start() -> None:
    for env in ({"ROOST_RUN": "x:1.1"}, {"A": "1", "ROOST_RUN": "x:1.1", "B": ""}):
        assert _tag_with(env) == "x:1.1"
    assert _tag_with({"NOT_ROOST_RUN": "x:1.1"}) is None
    assert procfs.read_tag(2**22 + 1) is None


def _tag_with(env: dict[str, str]) -> str | None:
    with subprocess.Popen(["cat"], env=env, stdin=subprocess.PIPE) as child:
        while procfs.is_becoming(child.pid):
            pass
        return procfs.read_tag(child.pid)


def test_the_command_is_cut_for_people() -> None:
    assert procfs.command_of(os.getpid()) != "?"
    assert len(procfs.command_of(os.getpid(), 10)) <= 10
    assert procfs.command_of(2**22 + 1) == "?"


def _stat(pid: int, ppid: int, session: int, start: int = 10) -> Stat:
    return Stat(pid, "x", "S", ppid, session, session, start)


def test_members_by_session_descent_and_memory() -> None:
    table = {
        s.pid: s
        for s in (
            _stat(10_000_100, 1, 10_000_100),  # the wrapper
            _stat(10_000_101, 10_000_100, 10_000_100),  # its job
            _stat(10_000_102, 10_000_101, 10_000_102),  # a child with a session of its own
            _stat(10_000_103, 10_000_102, 10_000_102),  # and its child
            _stat(10_000_104, 1, 10_000_104),  # seen before
            _stat(10_000_105, 1, 10_000_105),  # a stranger
            _stat(10_000_106, 10_000_101, 10_000_100, 5),  # older than the run: a number come round
        )
    }
    kin = Kinship("x:1.1", 10_000_100, 10, {(10_000_104, 10)})
    found = [stat.pid - 10_000_000 for stat in find_members(table, kin, [10_000_100], Tags())]
    assert found == [101, 102, 103, 104]


def test_who_would_survive_a_signal() -> None:
    script = "trap : USR1; trap '' USR2; echo; read x"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert [procfs.survives(child.pid, number) for number in (10, 12, 15)] == [True, True, False]
        child.kill()
