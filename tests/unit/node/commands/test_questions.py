"""Questions that hang, die or talk nonsense cost their own answer only. Asked in a process of its own, which forks."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import roost.node


def answers(questions: str, limit_s: float = 20.0) -> Any:
    """What `ask` gives for the questions, written as a Python dictionary."""
    script = f"""
        import json, os, signal, sys, time
        sys.path.insert(0, {str(roost.node.__file__).partition("/roost/")[0]!r})
        from roost.node.commands.questions import ask
        def deaf():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        def fail(): raise OSError(5, "driver says no")
        def die(): os._exit(3)
        print(json.dumps(ask({questions}, {limit_s})))
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, check=True, timeout=60
    )
    return json.loads(done.stdout)


def test_each_gives_its_answer() -> None:
    assert answers('{"a": lambda: [1, "ü"], "b": lambda: None, "big": lambda: "x" * 300000}') == {
        "a": [1, "ü"],
        "b": None,
        "big": "x" * 300000,
    }


def test_one_that_hangs_or_fails_or_dies_spoils_no_other() -> None:
    found = answers('{"deaf": deaf, "fail": fail, "die": die, "good": lambda: 1}', 2.0)
    assert found == {
        "deaf": {"error": "no answer within 2 s"},
        "fail": {"error": "[Errno 5] driver says no"},
        "die": {"error": "it died before it answered"},
        "good": 1,
    }


def test_one_that_hangs_holds_none_of_our_streams() -> None:
    """A process that no signal ends must not keep ssh waiting for the end of the output."""
    found = answers('{"fds": lambda: [os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)]}')
    assert found == {"fds": ["/dev/null"] * 3}
