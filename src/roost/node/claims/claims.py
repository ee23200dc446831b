"""GPU claims: a GPU that one Roost of this machine has given out is given out by no other.

A claim is a kernel lock on the GPU's file (`lock_files.py`), one for each run and GPU. The wrapper and the job inherit it,
so it lives as long as they do and dies with them, whatever becomes of this daemon. The first run must lock the
file alone; further runs of the same daemon share it. Knows locks and names of runs; starts and ends nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter, defaultdict
from typing import Any, Callable, DefaultDict, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set

from roost.node.claims import lock_files as files
from roost.node.claims.holders import SOMEBODY, Claimant, FileId, Names, file_system, hold_lock, read_locks
from roost.node.claims.lock_files import Inode, Unusable
from roost.node.claims.modes import NONE, STANDING, UNDER
from roost.node.gpus.driver import Gpu

# A runner has every GPU's file open, ready to be locked; on a node with more GPUs than this, none.
_MAX_FOR_RUNNERS = 64
_TRIES = 5
_FOR_GOOD = ""  # the holder of standing claims: no run has this name


class Refused(Exception):
    """A GPU cannot be claimed now; the text says which and why."""


class _Lock(NamedTuple):
    uuid: str
    fd: int
    inode: Inode
    is_lent: bool  # through a runner's descriptor: it need not be inherited


class Claims:
    def __init__(self, mode: str, report: Callable[[str], None], directory: Optional[str] = None) -> None:
        self.mode = mode
        self.is_lending = mode != NONE
        """Whether runners can hold claims here."""
        self._report = report
        self._named = directory or os.environ.get("ROOST_CLAIMS")
        self._is_alone = directory is not None
        """Whether no other Roost looks for claims where ours are."""
        self._held: Dict[str, List[_Lock]] = {}
        self._files: DefaultDict[str, Counter[Inode]] = defaultdict(Counter)
        self._names = Names()
        self._unseen: Set[str] = set()
        self._used: Set[str] = set()
        self._problem: Optional[str] = None

    def take(self, holder: str, gpus: Sequence[Gpu]) -> None:
        """Claim all of these for a run, or raise `Refused` and claim none."""
        if self.mode == NONE or not gpus or holder in self._held:
            return
        try:
            with files.opened(self._directory()) as directory:
                for gpu in sorted(gpus, key=lambda gpu: gpu.uuid):  # in one order: two Roosts must not have half each
                    self._take(directory, holder, gpu)
        except Unusable as problem:
            self.release(holder)
            raise Refused(f"GPU claims cannot be made: {problem}") from None
        except Refused:
            self.release(holder)
            raise

    def descriptors(self, holder: str) -> List[int]:
        """What a wrapper must inherit to hold the run's claims."""
        return [lock.fd for lock in self._held.get(holder, ()) if not lock.is_lent]

    def lend(self, holder: str, spare: Dict[str, int]) -> bool:
        """Let a runner hold the run's claims too, through descriptors that it has had from its beginning."""
        for lock in list(self._held.get(holder, ())):
            fd = spare.get(lock.uuid)
            if fd is None or files.inode(fd) != lock.inode or not files.lock_beside(fd):
                return False
            self._keep(holder, lock.uuid, files.copy(fd), is_lent=True)
        return True

    def spare(self, gpus: Sequence[Gpu]) -> Dict[str, int]:
        """For a new runner: every GPU's lock file, opened and not locked. Empty where that cannot be."""
        found: Dict[str, int] = {}
        self.is_lending = self.mode != NONE and len(gpus) <= _MAX_FOR_RUNNERS
        if not self.is_lending:
            return found
        try:
            with files.opened(self._directory()) as directory:
                for gpu in gpus:
                    found[gpu.uuid] = files.open_lock(directory, self._name(gpu.uuid))
        except (Unusable, OSError):
            for fd in found.values():
                os.close(fd)
            return {}
        return found

    def release(self, holder: str) -> None:
        """The run has ended, or has not begun."""
        for lock in self._held.pop(holder, ()):
            self._files[lock.uuid] -= Counter([lock.inode])
            files.unlock(lock.fd)
            os.close(lock.fd)

    def adopt(self, holder: str, uuids: Iterable[str], pids: Sequence[int]) -> None:
        """Share the claims of a run that another daemon started: its own processes hold them, and show it."""
        if self.mode == NONE or holder in self._held:
            return
        for uuid in uuids:
            try:
                with files.opened(self._directory()) as directory:
                    fd = files.open_lock(directory, self._name(uuid))
                    is_ours = self._adopt_one(directory, fd, uuid, pids)
            except Unusable as problem:
                self._report(f"run {holder} goes on without its claim of GPU {uuid}: {problem}")
                continue
            if is_ours:
                self._keep(holder, uuid, fd)
            else:
                os.close(fd)
                self._report(f"run {holder} goes on, but another Roost has claimed its GPU {uuid}")

    def tick(self, gpus: Sequence[Gpu]) -> None:
        """Now and then: what should stand and does not is claimed, what was deleted under us is claimed again."""
        if self.mode == NONE:
            return
        try:
            with files.opened(self._directory()) as directory:
                self._mend(directory)
                if self.mode == STANDING:
                    self._stand(directory, gpus)
            self._problem = None
        except Unusable as problem:
            if str(problem) != self._problem:
                self._report(f"GPU claims cannot be made: {problem}")
            self._problem = str(problem)

    def others(self, gpus: Sequence[Gpu]) -> Dict[str, Dict[str, Any]]:
        """What samples must say of GPUs that cannot be claimed: `claimed_by` somebody, or a `fault` of the files."""
        if self.mode in (UNDER, NONE) or not gpus or (self._is_alone and not self._unseen):
            return {}
        try:
            with files.opened(self._directory()) as directory:
                return self._look(directory, [gpu.uuid for gpu in gpus if not self._files[gpu.uuid]])
        except Unusable as problem:
            return {gpu.uuid: {"fault": f"GPU claims cannot be made: {problem}"} for gpu in gpus}

    def leave(self) -> None:
        """At the daemon's end: let go of what stands, and delete the files of ours that nobody needs. Runs keep theirs."""
        self.release(_FOR_GOOD)
        if not self._used:
            return
        with contextlib.suppress(Unusable), files.opened(self._directory()) as directory:  # why not was said before
            for name in self._used:
                files.remove_if_unused(directory, name)

    # -- one GPU

    def _take(self, directory: int, holder: str, gpu: Gpu) -> None:
        fd = self._lock(directory, gpu.uuid)
        if fd is None:
            raise Refused(f"GPU {gpu.index} is {claimed_words(self._who(directory, gpu.uuid))}")
        self._keep(holder, gpu.uuid, fd)

    def _lock(self, directory: int, uuid: str) -> Optional[int]:
        """A descriptor that holds the GPU for us; None when another has it."""
        name = self._name(uuid)
        for _ in range(_TRIES):
            fd = files.open_lock(directory, name)
            is_ours = self.mode == UNDER or files.inode(fd) in self._files[uuid]
            if not (files.lock_beside(fd) if is_ours else files.lock_alone(fd)):
                os.close(fd)
                self._unseen.add(uuid)
                return None
            if files.is_current(directory, name, fd):
                self._unseen.discard(uuid)
                return fd if is_ours or not files.is_anothers(fd) else self._replace(directory, name, fd)
            os.close(fd)  # it was deleted in this moment
        raise Unusable(f"{files.where(directory, name)} is replaced again and again: who does that?")

    def _replace(self, directory: int, name: str, fd: int) -> int:
        try:
            return files.replace(directory, name)
        finally:
            os.close(fd)

    def _adopt_one(self, directory: int, fd: int, uuid: str, pids: Sequence[int]) -> bool:
        inode = files.inode(fd)
        if files.lock_beside(fd):
            # First the lock, then the look: while the run's own lock is there, nobody else can have come.
            is_ours = self.mode == UNDER or inode in self._files[uuid]
            if is_ours or hold_lock(pids, (*file_system(directory), inode[1])):
                return True
            files.unlock(fd)
        return files.lock_alone(fd)

    def _stand(self, directory: int, gpus: Sequence[Gpu]) -> None:
        held = {lock.uuid for lock in self._held.get(_FOR_GOOD, ())}
        for gpu in gpus:
            if gpu.uuid not in held:
                fd = self._lock(directory, gpu.uuid)
                if fd is not None:
                    self._keep(_FOR_GOOD, gpu.uuid, fd)

    def _mend(self, directory: int) -> None:
        """A file that was deleted, by its owner or a tidy administrator, keeps nobody out: claim the new one as well."""
        for holder, locks in list(self._held.items()):
            current = {lock.uuid for lock in locks if files.is_current(directory, self._name(lock.uuid), lock.fd)}
            for uuid in sorted({lock.uuid for lock in locks} - current):
                fd = self._lock(directory, uuid)
                if fd is not None:
                    self._keep(holder, uuid, fd)

    # -- the others

    def _look(self, directory: int, uuids: List[str]) -> Dict[str, Dict[str, Any]]:
        found: Dict[str, Dict[str, Any]] = {}
        locks: Optional[Dict[FileId, List[int]]] = None
        system = file_system(directory)
        for uuid in uuids:
            try:
                inode = files.inode_of(directory, self._name(uuid))
                if inode is not None and locks is None:  # the kernel takes its time: some 10 ms, in which nothing starts
                    locks = read_locks()
                    self._names.keep_only(locks)
                pids = locks.get((*system, inode[1])) if inode is not None and locks is not None else None
                if inode is not None and pids:
                    found[uuid] = {"claimed_by": self._names.claimant((*system, inode[1]), pids)._asdict()}
                elif self._is_held_unseen(directory, uuid):
                    found[uuid] = {"claimed_by": Claimant(SOMEBODY, None)._asdict()}
            except Unusable as problem:
                found[uuid] = {"fault": f"it cannot be claimed: {problem}"}
        return found

    def _is_held_unseen(self, directory: int, uuid: str) -> bool:
        """A lock that the kernel hides from us (its taker is dead, or in another container) is found by trying."""
        if uuid not in self._unseen:
            return False
        fd = self._lock(directory, uuid)
        if fd is None:
            return True
        files.unlock(fd)
        os.close(fd)
        return False

    def _who(self, directory: int, uuid: str) -> Claimant:
        said = self._look(directory, [uuid]).get(uuid, {}).get("claimed_by")
        return Claimant(**said) if said else Claimant(SOMEBODY, None)

    # -- the books

    def _directory(self) -> str:
        return files.find_directory(self._named)

    def _name(self, uuid: str) -> str:
        name = f"roost-gpu-{uuid.replace('/', '_')}.lock"
        self._used.add(name)
        return name

    def _keep(self, holder: str, uuid: str, fd: int, is_lent: bool = False) -> None:
        inode = files.inode(fd)
        self._held.setdefault(holder, []).append(_Lock(uuid, fd, inode, is_lent))
        self._files[uuid][inode] += 1


def claimed_words(who: Claimant) -> str:
    """`claimed by ana's Roost (pid 4711)`."""
    return f"claimed by {who.user}'s Roost" + (f" (pid {who.pid})" if who.pid is not None else "")
