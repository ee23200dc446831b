"""The process that is the daemon of a state directory."""

from __future__ import annotations

import os
import signal
from typing import Callable

from roost.node.daemon.assembly import Options, assemble
from roost.node.runs.environment import log_in
from roost.node.state_dir import StateDir, listen, take_lock, write_text
from roost.node.system import libc

# Python ignores these two for itself, and gives them back to what it starts.
_LEFT_ALONE = (signal.SIGPIPE, signal.SIGXFSZ)


def serve(state: StateDir, options: Options, is_ready: Callable[[], None]) -> None:
    """Be the daemon of this prepared state directory until told to leave; raises `StateError` when that cannot be."""
    lock = take_lock(state)
    _take_default_signals()
    if options.identity is not None:
        log_in()
    libc.become_subreaper()
    daemon = assemble(state, options, listen(state))
    write_text(state.pid, f"{os.getpid()}\n")
    daemon.begin()
    is_ready()
    daemon.run()
    os.close(lock)


def _take_default_signals() -> None:
    """Who started us may have ignored or blocked signals; jobs must not inherit that."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.Signals:
        if number not in _LEFT_ALONE and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
