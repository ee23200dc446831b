"""`backup`, `restore`, `archive` and `migrate` with a fault at every call that they make: nothing that was there is gone.

    env LD_PRELOAD=… python -m tests.faults.operations NAME DIRECTORY [--sample N] [--seed N]

Runs inside the shim. Every case is a child of its own; prints a JSON object: how many calls there are, what was
injected, and what was violated.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import random
import shutil
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.builders import NOW, job
from tests.faults.shim import BYTE, FAIL, KILL, SHORT, Call, Fault, Faults, nth
from tests.old_databases import content, put, upgraded, versions

from roost.core import events as ev
from roost.core.model import Conditions
from roost.core.spec import JobSpec
from roost.core.states import Outcome
from roost.server.logs.copies import Copies, Kept, Note
from roost.server.rounds.submit import kept
from roost.store import files, reads
from roost.store.restore import back_up, finish, restore
from roost.store.store import Store
from roost.store.writes import Batch

LINES = b'{"id":1}\n{"id":2}\n'
DONE, REFUSED, KILLED = "done", "refused", "killed"


class Operation(NamedTuple):
    """What is done in a directory that was prepared, and what must be true of it afterwards, however it ended."""

    prepare: Callable[[Path], None]
    act: Callable[[Path], None]
    check: Callable[[Path, str], None]


# -- what is there before


def make_store(path: Path, *ids: int) -> None:
    """A database with these jobs; the odd ones have ended."""
    store = Store(path)
    store.commit(
        Batch(
            [ev.Submitted(i, NOW, job(i), Conditions(), False) for i in ids],
            {i: kept(JobSpec("true"), None) for i in ids},
            last_job=max(ids),
        )
    )
    store.commit(Batch([ev.Ended(i, NOW, Outcome.KILLED) for i in ids if i % 2]))
    store.close()


def ids_of(path: Path) -> list[int]:
    """The jobs of a database that a server could start from."""
    store = Store(path)
    try:
        return sorted(store.read(reads.jobs, list(range(1, 100))))
    finally:
        store.close()


# -- backup


def prepare_backup(place: Path) -> None:
    make_store(place / "roost.db", 1, 2, 3)


def act_backup(place: Path) -> None:
    back_up(place / "roost.db", place / "copy.db")


def check_backup(place: Path, how: str) -> None:
    assert ids_of(place / "roost.db") == [1, 2, 3]
    if how == DONE:
        assert (place / "copy.db").exists()
    if (place / "copy.db").exists():
        assert ids_of(place / "copy.db") == [1, 2, 3], "a file of that name is a whole backup"
    if how == REFUSED:
        left = {path.name for path in place.iterdir()} - {"roost.db", "copy.db"}
        assert not left or (place / "copy.db").exists(), left


# -- restore


def prepare_restore(place: Path) -> None:
    make_store(place / "copy.db", 1, 2, 3)
    make_store(place / "roost.db", 1, 2, 3, 4, 5)
    shutil.copyfile(place / "roost.db", place / "before.db")
    _leave_log(place / "roost.db")


def _leave_log(path: Path) -> None:
    """As after `kill -9`: the newest job is in the write-ahead log alone."""
    if (pid := os.fork()) == 0:
        store = Store(path)
        store.commit(
            Batch([ev.Submitted(6, NOW, job(6), Conditions(), False)], {6: kept(JobSpec("true"), None)}, last_job=6)
        )
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert path.with_name(path.name + "-wal").stat().st_size


def act_restore(place: Path) -> None:
    restore(place / "copy.db", place / "roost.db", lambda store: store.set_meta("last_job", "77"))


def check_restore(place: Path, how: str) -> None:
    target, former = place / "roost.db", {1, 2, 3, 4, 5, 6}
    if how == REFUSED and not (place / "roost.db.restored").exists():
        assert set(ids_of(target)) == former
        return
    finish(target)
    found = ids_of(target)
    assert found == [1, 2, 3] or set(found) == former, found
    assert how != DONE or found == [1, 2, 3]
    if found == [1, 2, 3]:
        (kept_db,) = (path for path in place.glob("roost.db.replaced-*") if not path.name.endswith(("-wal", "-shm")))
        assert set(ids_of(kept_db)) == former, "what was there is kept"
    assert ids_of(place / "copy.db") == [1, 2, 3]


# -- archive


def prepare_archive(place: Path) -> None:
    make_store(place / "roost.db", 1, 2, 3)
    (place / "archive.jsonl").write_bytes(LINES)


def act_archive(place: Path) -> None:
    files.append(place / "archive.jsonl", b'{"id":3,"text":"%s"}\n' % (b"x" * 3000))
    store = Store(place / "roost.db")
    store.commit(Batch([ev.Removed(3, NOW, Outcome.KILLED)]))
    store.close()


def check_archive(place: Path, how: str) -> None:
    text = (place / "archive.jsonl").read_bytes()
    assert text.startswith(LINES), text[:100]
    whole = set()
    for line in text.splitlines():
        with contextlib.suppress(ValueError):  # a half line of a process that was killed
            whole.add(json.loads(line)["id"])
    assert {1, 2} <= whole
    assert {*ids_of(place / "roost.db"), *whole} >= {1, 2, 3}, "in the database or whole in the file"
    assert how != REFUSED or text in (LINES, text[: text.rindex(b"\n") + 1]), "no half line after a refusal"


# -- copies of the logs of other nodes

LOG = b"a line of the log\n" * 500


def make_copy(place: Path, attempt: int) -> None:
    """As the collector does it."""
    copies = Copies(place)
    try:
        part = copies.begin(1, attempt, "out")
        try:
            part.write(LOG[:5000], 0)
            part.write(LOG[5000:], 5000)
            part.end(len(LOG))
        finally:
            part.close()
        copies.keep(1, attempt, Note(out=Kept(len(LOG)), merged=True), NOW)
    except OSError:
        copies.give_up(1, attempt)
        raise


def check_copies(place: Path, how: str) -> None:
    for attempt in (1, 2):
        found = Copies(place).read(1, attempt, {"offset": 0, "limit": 1 << 20})
        if found is None:
            assert attempt == 2 and how != DONE
        else:
            assert found.data == LOG, "what is said to be a copy is whole"
    make_copy(place, 2)
    assert Copies(place).remove(1) > 0 and Copies(place).note(1, 1) is None


# -- migrate


def migration(version: str) -> Operation:
    """An upgrade from that schema."""

    def check(place: Path, how: str) -> None:
        Store(place / "roost.db").close()
        assert content(place / "roost.db") == upgraded(version)

    return Operation(lambda place: void(put(place / "roost.db", version)), open_and_close, check)


def void(_: object) -> None:
    """Nothing."""


def open_and_close(place: Path) -> None:
    Store(place / "roost.db").close()


OPERATIONS = {
    "backup": Operation(prepare_backup, act_backup, check_backup),
    "restore": Operation(prepare_restore, act_restore, check_restore),
    "archive": Operation(prepare_archive, act_archive, check_archive),
    "copies": Operation(lambda place: make_copy(place, 1), lambda place: make_copy(place, 2), check_copies),
    **{f"migrate-{version}": migration(version) for version in versions()[:-1]},
}


# -- the cases


def faults_at(number: int, call: Call) -> list[Fault]:
    """All that can go wrong there."""
    found = [nth(number, errno.EIO), nth(number, 0, KILL)]
    if call.what == "room":
        found += [nth(number, errno.ENOSPC, lasts=True), nth(number, errno.ENOSPC)]
    if call.call == "write":
        found += [nth(number, errno.ENOSPC, BYTE, lasts=True), nth(number, 0, SHORT), nth(number, errno.EINTR, FAIL)]
    return found


def run(operation: Operation, place: Path, faults: Faults, fault: Fault | None) -> tuple[str, str]:
    """How the operation ended, in a directory like the one that was prepared, and what it said."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(place.with_name("prepared"), place, ignore=shutil.ignore_patterns("*-shm"))
    reader, writer = os.pipe()
    faults.plan(fault)
    if (pid := os.fork()) == 0:
        said, code = "", 3
        try:
            operation.act(place)
            code = 0
        except Exception as error:
            said, code = f"{type(error).__name__}: {error}", 1
        finally:
            os.write(writer, said.encode())
            os._exit(code)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        said = file.read()
    _, status = os.waitpid(pid, 0)
    faults.heal()
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        return KILLED, said
    return (DONE if os.WEXITSTATUS(status) == 0 else REFUSED), said


def main() -> int:
    """Go through the cases of one operation."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=14)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # the child of a process with threads
    operation, place = OPERATIONS[options.name], options.directory / "place"
    prepared = options.directory / "prepared"
    prepared.mkdir()
    operation.prepare(prepared)
    faults = Faults(place, options.directory)
    how, said = run(operation, place, faults, None)
    assert how == DONE, said
    calls = faults.calls()
    operation.check(place, how)
    cases = [fault for number, call in enumerate(calls, 1) for fault in faults_at(number, call)]
    if options.sample is not None:
        cases = random.Random(options.seed).sample(cases, min(options.sample, len(cases)))
    report: dict[str, Any] = {"calls": len(calls), "cases": len(cases), "violations": []}
    ends: Counter[str] = Counter()
    sayings: Counter[str] = Counter()
    for fault in cases:
        how, said = run(operation, place, faults, fault)
        ends[how] += 1
        sayings[said.replace(str(place), "")] += 1
        try:
            assert faults.has_fired, "nothing was injected"
            assert (how == KILLED) == (fault.how == KILL), how
            operation.check(place, how)
        except BaseException as error:
            report["violations"].append(f"{fault} ({calls[fault.nth - 1]}), {how} {said}: {type(error).__name__}: {error}")
    print(json.dumps({**report, "ends": ends, "said": sayings}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
