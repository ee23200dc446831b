"""The few lines of POSIX sh around every job: they outlive the node program and keep the exit status.

Text only; `spawn.py` runs it. Builtins only, so a job costs one `sh` and its own command.

Called as `sh -c TEXT RUN_DIR TRACE CGROUP UMASK RECORD OUT ERR COMMAND...`. The positional parameters carry everything,
because a shell variable whose name stands in the job's environment would be exported into the job. All three streams
are /dev/null (a shell says "Killed" when its child was); 9 is the daemon's notice pipe, opened for reading and writing
so that a daemon's death is no SIGPIPE here.

- The trace tells the run's story in four lines: the wrapper's pid, the record, the job's pid, the exit status. `set -C`
  makes the first `>` exclusive: of two wrappers for one run the second ends itself, by a signal so that it cannot be
  taken for the job's status. After the end the trace moves into the run's directory, hence the look there.
- The job's pid comes from a glob, in the subshell, of its own /proc/self/task: `$$` is the parent's there, and `read` of
  /proc/self/stat takes a system call for every byte (half a millisecond).
- Only the job enters the cgroup. The wrapper stays outside, so `cgroup.kill` leaves it alive to note the 137. A job that
  cannot enter must not run: nobody could find all of it again. Where only root can put a process there, the wrapper is put
  in whole: CGROUP is `gate`, and it waits on that descriptor before it does anything.
- `trap :` and not `trap ''`: a caught signal is back at its default in the job, an ignored one would stay ignored.
- A job whose pid cannot be noted does not start: the next daemon would not find it.
- The notice is the last thing before the command: without it the job has not started.
- A full disk must not lose a status. The daemon, while it lives, learns it from wait(); otherwise try until it fits, on a
  line of its own: what was tried before may have been cut, by a disk that took a part of it.
  A daemon that is dead and that nobody has waited for can still be signalled, but has no `exe`.
"""

from __future__ import annotations

import os
import signal
from typing import Dict, List, Optional

from roost.node.system.shell import quoted

NOTICE_FD, GATE_FD = 9, 7
GATE = "gate"
# Python ignores these two for itself; what it starts gets them back.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

_TEXT = """\
[ "$2" != gate ] || {{ read -r ROOST_PID <&7 && exec 7<&-; }} || exit 125
set -C
[ ! -e "$0/trace" ] && printf '%s\\n%s\\n' $$ "$4" >"$1" || kill -9 $$
set +C
trap : HUP INT QUIT TERM USR1 USR2 ALRM XCPU
(
{limits}for ROOST_PID in /proc/self/task/*; do :; done
echo "${{ROOST_PID##*/}}" >>"$1" || kill -9 $$
[ -z "$2" ] || [ "$2" = gate ] || echo 0 >"$2/cgroup.procs" || exit
exec >>"$5" 2>>"$6"
umask "$3"
echo "${{0##*/}} ${{ROOST_PID##*/}}" >&9
shift 6
exec "$@" 9>&-
)
set -- $? "$1"
echo $1 >>"$2" || until [ -e /proc/$PPID/exe ] || [ ! -e "$2" ] || printf '\\n%s\\n' $1 >>"$2"; do sleep 1; done
exit $1
"""


# In a subshell `$$` is the runner: killing it says that this run is not its own, and ends nothing of the subshell itself.
_RUN_TEXT = """\
cd {cwd} || exit 126
set -C
[ ! -e {run_dir}/trace ] && printf '%s\\n%s\\n' $$ {record} >{trace} || {{ kill -9 $$; exit 125; }}
set +C
{limits}for ROOST_PID in /proc/self/task/*; do :; done
echo "${{ROOST_PID##*/}}" >>{trace} || {{ kill -9 $$; exit 125; }}
set -- "{name} ${{ROOST_PID##*/}}"
unset OLDPWD ROOST_PID ROOST_FD ROOST_RUN
{exports}exec >>{out} 2>>{err}
umask {umask}
echo "$1" >&9
exec {argv} 8<&- 9>&-
"""


def run_script(
    name: str, umask: str, soft_files: Optional[int], words: Dict[str, str], env: Dict[str, str], argv: List[str]
) -> bytes:
    """The same few lines for a runner's subshell: every word that comes from a person is quoted. `words` are `run_dir`,
    `trace`, `record`, `cwd`, `out` and `err`. Raises ValueError for what no process can be given."""
    text = _RUN_TEXT.format(
        name=name,
        umask=umask,
        limits=_limits(soft_files),
        exports="".join(f"export {name}={quoted(value)}\n" for name, value in env.items()),
        argv=" ".join(map(quoted, argv)),
        **{key: quoted(word) for key, word in words.items()},
    )
    data = os.fsencode(text)
    if b"\0" in data:
        raise ValueError("embedded null byte")
    return data


def _limits(soft_files: Optional[int]) -> str:
    return "" if soft_files is None else f"ulimit -S -n {soft_files}\n"


def wrapper_text(soft_files: Optional[int]) -> str:
    """The script; `soft_files` is the job's own soft limit on open files where the daemon raised its own."""
    return _TEXT.format(limits=_limits(soft_files))
