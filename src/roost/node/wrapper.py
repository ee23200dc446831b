"""The few lines of POSIX sh around every job: they outlive the node program and keep the exit status.

Text only; `spawn.py` runs it. Builtins only, so a job costs one `sh` and its own command.

Called as `sh -c TEXT RUN_DIR CGROUP UMASK COMMAND...`. The positional parameters carry everything, because a shell
variable whose name stands in the job's environment would be exported into the job.

- Descriptors: 0 is the job's standard error, 1 its standard output, 2 is /dev/null for the wrapper's own noise
  ("Killed", a refused `wrapper` file), 9 the daemon's notice pipe, opened for reading and writing so that
  a daemon's death is no SIGPIPE here.
- `set -C` makes `>` exclusive: of two wrappers for one run the second ends itself, by a signal so that it cannot be
  taken for the job's status. `read` and `echo` are builtins: /proc/self is this shell, in the subshell the job's own
  process before it becomes the command.
- Only the job enters the cgroup. The wrapper stays outside, so `cgroup.kill` leaves it alive to note the 137.
- `trap :` and not `trap ''`: a caught signal is back at its default in the job, an ignored one would stay ignored.
- A full disk must not lose a status. The daemon, while it lives, learns it from wait(); otherwise try until it fits.
"""

from __future__ import annotations

from typing import Optional

SHELL = "/bin/sh"
NOTICE_FD = 9

_TEXT = """\
set -C
read -r ROOST_STAT </proc/self/stat && echo "$ROOST_STAT" >"$0/wrapper" || kill -9 $$
set +C
trap : HUP INT QUIT TERM USR1 USR2 ALRM XCPU
(
{limits}read -r ROOST_STAT </proc/self/stat
echo "$ROOST_STAT" >"$0/pid"
[ -z "$1" ] || echo 0 >"$1/cgroup.procs"
echo "${{0##*/}} ${{ROOST_STAT%% *}}" >&9
umask "$2"
shift 2
exec "$@" 2>&0 </dev/null 9>&-
)
set -- $?
until echo $1 >"$0/exit" || kill -0 $PPID || [ ! -d "$0" ]; do sleep 1; done
exit $1
"""


def wrapper_text(soft_files: Optional[int]) -> str:
    """The script; `soft_files` is the job's own soft limit on open files where the daemon raised its own."""
    limits = "" if soft_files is None else f"ulimit -S -n {soft_files}\n"
    return _TEXT.format(limits=limits)
