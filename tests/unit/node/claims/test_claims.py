"""Claims of several Roosts on one machine, each a `Claims` of its own over the same directory."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.node.claims import holders
from roost.node.claims.claims import Claims, Refused
from roost.node.claims.holders import Claimant, Names, parse_locks
from roost.node.claims.modes import EACH, NONE, STANDING, UNDER
from roost.node.gpus.driver import Gpu
from roost.node.system.procfs import user_of

GPUS = [Gpu(f"SIM-lab-{index}", index, "Simulated", 1024, False) for index in range(4)]
Making = Callable[..., Claims]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Making]:
    monkeypatch.setenv("ROOST_CLAIMS", str(tmp_path))
    made: list[Claims] = []

    def one(mode: str = EACH, report: Callable[[str], None] = lambda text: None) -> Claims:
        made.append(Claims(mode, report))
        return made[-1]

    yield one
    for claims in made:
        for holder in list(claims._held):
            claims.release(holder)


def is_free(claims: Claims, index: int) -> bool:
    try:
        claims.take("probe", [GPUS[index]])
    except Refused:
        return False
    claims.release("probe")
    return True


def test_what_one_has_claimed_no_other_gets(make: Making) -> None:
    ana, bo = make(), make()
    ana.take("1.1", GPUS[:2])
    me = f"claimed by {user_of(os.getpid())}'s Roost (pid {os.getpid()})"
    with pytest.raises(Refused, match=re.escape(f"GPU 1 is {me}")):
        bo.take("7.1", [GPUS[1]])
    bo.take("7.2", GPUS[2:])
    ana.release("1.1")
    bo.take("7.1", GPUS[:2])


def test_all_or_none(make: Making) -> None:
    ana, bo, third = make(), make(), make()
    ana.take("1.1", [GPUS[2]])
    with pytest.raises(Refused, match="GPU 2"):
        bo.take("1.1", GPUS)
    assert [is_free(third, index) for index in range(4)] == [True, True, False, True]


def test_runs_of_one_roost_share_and_the_last_one_frees_it(make: Making) -> None:
    ana, bo = make(), make()
    ana.take("1.1", [GPUS[0]])
    ana.take("2.1", [GPUS[0]])
    ana.release("1.1")
    assert not is_free(bo, 0)
    ana.release("2.1")
    assert is_free(bo, 0)
    ana.release("2.1")  # twice is once


def test_others_claims_are_shown_with_their_holder_and_ones_own_are_not(make: Making) -> None:
    ana, bo = make(), make()
    ana.take("1.1", [GPUS[3]])
    claimant = {"user": user_of(os.getpid()), "pid": os.getpid()}
    assert bo.others(GPUS) == {"SIM-lab-3": {"claimed_by": claimant}}
    assert ana.others(GPUS) == {}
    ana.release("1.1")
    assert bo.others(GPUS) == {}


def test_a_claim_that_the_kernel_hides_is_remembered_until_it_is_free(make: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.node.claims.claims.read_locks", dict)
    ana, bo = make(), make()
    ana.take("1.1", [GPUS[0]])
    assert bo.others(GPUS) == {}
    with pytest.raises(Refused, match=r"GPU 0 is claimed by somebody's Roost$"):
        bo.take("1.1", [GPUS[0]])
    assert bo.others(GPUS) == {"SIM-lab-0": {"claimed_by": {"user": "somebody", "pid": None}}}
    ana.release("1.1")
    assert bo.others(GPUS) == {}


def test_a_standing_claim_takes_what_is_free_and_later_the_rest(make: Making) -> None:
    ana, root = make(), make(STANDING)
    ana.take("1.1", [GPUS[1]])
    root.tick(GPUS)
    assert set(root.others(GPUS)) == {"SIM-lab-1"}
    assert set(ana.others(GPUS)) == {"SIM-lab-0", "SIM-lab-2", "SIM-lab-3"}
    root.take("9.1", [GPUS[0]])
    root.release("9.1")
    assert not is_free(ana, 0)
    ana.release("1.1")
    root.tick(GPUS)
    assert root.others(GPUS) == {}
    assert not is_free(ana, 1)


def test_under_another_a_run_holds_too(make: Making) -> None:
    root, account, ana = make(STANDING), make(UNDER), make()
    root.tick(GPUS)
    account.take("1.1", [GPUS[0]])
    assert account.others(GPUS) == {}
    root.leave()  # its claims die with it
    assert not is_free(ana, 0)
    assert is_free(ana, 1)
    account.release("1.1")
    assert is_free(ana, 0)


def test_none_claims_nothing(make: Making) -> None:
    ana, nobody = make(), make(NONE)
    ana.take("1.1", GPUS)
    nobody.take("1.1", GPUS)
    assert nobody.descriptors("1.1") == []
    assert (nobody.others(GPUS), nobody.spare(GPUS), nobody.lend("1.1", {})) == ({}, {}, True)


def test_a_runner_holds_what_it_is_lent(make: Making) -> None:
    ana, bo = make(), make()
    spare = ana.spare(GPUS)
    ana.take("1.1", [GPUS[2]])
    assert ana.lend("1.1", spare)
    for fd in ana.descriptors("1.1"):
        os.close(os.dup(fd))
    own = [lock for lock in ana._held["1.1"] if not lock.is_lent]
    os.close(own[0].fd)  # as when the daemon dies: what is left is the runner's
    ana._held["1.1"].remove(own[0])
    assert not is_free(bo, 2)
    ana.release("1.1")
    assert is_free(bo, 2)
    for fd in spare.values():
        os.close(fd)


def test_a_runner_with_a_file_that_was_replaced_is_not_lent_to(make: Making, tmp_path: Path) -> None:
    ana = make()
    spare = ana.spare(GPUS)
    (tmp_path / "roost-gpu-SIM-lab-2.lock").unlink()
    ana.take("1.1", [GPUS[2]])
    assert not ana.lend("1.1", spare)
    assert not ana.lend("1.1", {})
    for fd in spare.values():
        os.close(fd)


def test_a_file_that_is_deleted_is_claimed_again(make: Making, tmp_path: Path) -> None:
    ana, bo = make(), make()
    ana.take("1.1", [GPUS[0]])
    (tmp_path / "roost-gpu-SIM-lab-0.lock").unlink()
    ana.tick(GPUS)
    assert not is_free(bo, 0)
    ana.release("1.1")
    assert is_free(bo, 0)


def test_ones_own_run_on_a_deleted_file_is_no_proof_for_the_new_one(make: Making, tmp_path: Path) -> None:
    ana, bo = make(), make()
    ana.take("1.1", [GPUS[0]])
    (tmp_path / "roost-gpu-SIM-lab-0.lock").unlink()
    bo.take("1.1", [GPUS[0]])
    with pytest.raises(Refused):
        ana.take("2.1", [GPUS[0]])


def _job(claims: Claims, holder: str) -> subprocess.Popen[bytes]:
    """A process that holds the claims of that run, and ends when it is told."""
    return subprocess.Popen(["/bin/sh", "-c", "read x"], stdin=subprocess.PIPE, pass_fds=claims.descriptors(holder))


def test_an_adopted_run_still_has_its_gpu_and_may_be_shared(make: Making) -> None:
    dead, new, bo = make(), make(), make()
    dead.take("1.1", [GPUS[0]])
    job = _job(dead, "1.1")
    for lock in dead._held.pop("1.1"):
        os.close(lock.fd)  # the daemon is gone: no unlock
    new.adopt("1.1", ["SIM-lab-0"], [job.pid])
    assert new.others(GPUS) == {}
    new.take("2.1", [GPUS[0]])
    job.communicate(b"\n")
    new.release("1.1")
    assert not is_free(bo, 0)  # the run that shares holds it alone now
    new.release("2.1")
    assert is_free(bo, 0)


def test_a_run_that_does_not_hold_its_gpu_proves_nothing(make: Making) -> None:
    said: list[str] = []
    ana, bo = make(), make(report=said.append)
    ana.take("1.1", [GPUS[0]])
    bo.adopt("5.1", ["SIM-lab-0", "SIM-lab-1"], [os.getppid()])
    assert said == ["run 5.1 goes on, but another Roost has claimed its GPU SIM-lab-0"]
    assert not is_free(ana, 1)  # nobody had it: it is claimed for the run now
    ana.release("1.1")
    assert is_free(ana, 0)


def test_an_unsafe_directory_is_said_aloud_and_nothing_is_claimed(make: Making, tmp_path: Path) -> None:
    said: list[str] = []
    ana = make(report=said.append)
    tmp_path.chmod(0o777)
    for _ in range(2):
        ana.tick(GPUS)
    assert len(said) == 1
    assert "ROOST_CLAIMS" in said[0]
    with pytest.raises(Refused, match=r"GPU claims cannot be made: .*not sticky"):
        ana.take("1.1", [GPUS[0]])
    faults = {uuid: list(found) for uuid, found in ana.others(GPUS).items()}
    assert faults == {gpu.uuid: ["fault"] for gpu in GPUS}
    tmp_path.chmod(0o700)
    assert ana.others(GPUS) == {}


def test_a_bad_file_sets_its_gpu_aside_and_no_other(make: Making, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "roost-gpu-SIM-lab-2.lock")
    ana = make()
    found: dict[str, Any] = ana.others(GPUS)
    assert list(found) == ["SIM-lab-2"]
    assert "delete it" in found["SIM-lab-2"]["fault"]
    with pytest.raises(Refused):
        ana.take("1.1", GPUS)
    ana.take("1.1", [GPUS[0], GPUS[1], GPUS[3]])


def test_a_leaving_program_removes_its_files_but_not_those_in_use(make: Making, tmp_path: Path) -> None:
    ana, bo = make(), make()
    ana.take("1.1", [GPUS[0]])
    bo.spare(GPUS)
    bo.leave()
    assert [path.name for path in tmp_path.iterdir()] == ["roost-gpu-SIM-lab-0.lock"]


def test_a_mig_slice_of_an_old_driver_has_a_file_too(make: Making, tmp_path: Path) -> None:
    make().take("1.1", [Gpu("MIG-GPU-1/2/0", 0, "slice", 1, True)])
    assert [path.name for path in tmp_path.iterdir()] == ["roost-gpu-MIG-GPU-1_2_0.lock"]


def test_the_kernels_table_of_locks_is_read() -> None:
    text = (
        "1: FLOCK  ADVISORY  READ  4711 00:1a:99 0 EOF\n"
        "2: POSIX  ADVISORY  WRITE 4712 00:1a:99 0 EOF\n"
        "2: -> FLOCK  ADVISORY  WRITE 4713 00:1a:99 0 EOF\n"
        "3: FLOCK  ADVISORY  READ  4714 00:1a:99 0 EOF\n"
        "4: FLOCK  ADVISORY  WRITE -1 fe:00:7 0 EOF\n"
        "nonsense\n5: FLOCK ADVISORY WRITE 1 x:y:z 0 EOF\n"
    )
    assert parse_locks(text) == {(0, 26, 99): [4711, 4714], (254, 0, 7): [-1]}


def test_a_holders_name_outlives_their_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    living = {7: "ana"}
    monkeypatch.setattr(holders, "user_of", living.get)
    names, file = Names(), (0, 26, 99)
    assert names.claimant(file, [7]) == Claimant("ana", 7)
    living.clear()
    assert names.claimant(file, [7]) == Claimant("ana", 7)
    names.keep_only({})
    assert names.claimant(file, [7]) == Claimant("somebody", None)
