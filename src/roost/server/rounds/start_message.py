"""The words with which a node is told to start a run. Pure: a row and a cluster in, a message out."""

import posixpath
import re
from typing import Any

import msgspec

from roost.core.accounts import NODE_CHANNEL, Channel
from roost.core.cluster import Cluster
from roost.core.spec import JobSpec
from roost.server.clock import rfc3339
from roost.server.rounds.turn import StartRun
from roost.store.rows import JobRow


class Where(msgspec.Struct, frozen=True):
    """Which program is told, whether on the server's own machine, and where the server listens there."""

    channel: Channel = NODE_CHANNEL
    is_here: bool = True
    socket: str = ""


def start_message(cluster: Cluster, start: StartRun, row: JobRow, env: bytes, now_ms: int, where: Where) -> dict[str, Any]:
    """The `start` message of an attempt; `env` is the environment, encoded already."""
    spec = row.decoded()
    active = cluster.active[start.job]
    limit_s = spec.time_limit_s
    warn_s = spec.warn_s if spec.warn_s is not None else int(cluster.number("job.warn_s"))
    grace_s = spec.grace_s if spec.grace_s is not None else int(cluster.number("job.grace_s"))
    cwd = spec.cwd or "/"
    return {
        "op": "start",
        "run": active.run,
        "nonce": active.nonce,
        "spec": {
            **_command(spec),
            "cwd": cwd,
            "env": msgspec.Raw(env),
            "vars": {
                **_variables(row, start, spec, cwd, now_ms - cluster.nodes[start.node].skew_ms),
                **({"ROOST_SOCKET": where.socket} if where.socket and where.is_here else {}),
            },
            "gpus": active.gpus,
            "fill": spec.fill,
            "stdout": _output(spec.stdout, cwd, row, start, now_ms),
            "stderr": "stdout" if spec.stderr == "stdout" else _output(spec.stderr, cwd, row, start, now_ms),
            "open": _open(spec, row, start),
            # An account's own program knows the umask of its login.
            "umask": 0o022 if spec.umask is None and not where.channel else spec.umask,
            "time_limit_ms": None if limit_s is None else limit_s * 1000,
            "warn_ms": warn_s * 1000,
            "warn_signal": spec.warn_signal,
            "grace_ms": grace_s * 1000,
            "log_max_bytes": int(cluster.number("log.max_mib")) << 20,
            "enforce_devices": bool(cluster.settings["job.enforce_devices"]),
            "max_processes": int(cluster.number("job.max_processes")) or None,
            "no_new_privs": bool(cluster.settings["job.no_new_privs"]),
        },
    }


def _command(spec: JobSpec) -> dict[str, Any]:
    if spec.script is not None:
        return {"script": spec.script, "args": list(spec.command[1:])}
    return {"shell": spec.command} if isinstance(spec.command, str) else {"argv": spec.command}


def _open(spec: JobSpec, row: JobRow, start: StartRun) -> str:
    """How its output files are opened: a job that is tried again of itself adds to what it wrote before."""
    is_again = row.retried or row.oom_retried or (spec.preemptible and start.attempt > 1)
    return "append" if is_again and spec.open == "new" else spec.open


def _variables(row: JobRow, start: StartRun, spec: JobSpec, cwd: str, now_ms: int) -> dict[str, str]:
    """What a run finds in its environment about itself; a value of a sweep's point that is null is not there."""
    variables = {
        "ROOST_JOB_ID": str(row.id),
        "ROOST_JOB_NAME": row.name,
        "ROOST_NODE": start.node,
        "ROOST_ATTEMPT": str(start.attempt),
        "ROOST_RESTART_COUNT": str(start.attempt - 1),
        "ROOST_SUBMIT_DIR": cwd,
    }
    if spec.time_limit_s is not None:
        variables["ROOST_END_TIME"] = str(rfc3339(now_ms + spec.time_limit_s * 1000))
    if spec.labels:
        variables["ROOST_LABELS"] = ",".join(spec.labels)
    for name, value in (spec.point or {}).items():
        if value is not None:
            variables[f"ROOST_PARAM_{name.upper()}"] = str(value)
    if spec.sweep is not None:
        variables["ROOST_SWEEP_ID"] = str(spec.sweep)
    return variables


def _output(pattern: str | None, cwd: str, row: JobRow, start: StartRun, now_ms: int) -> str | None:
    """An output file's absolute path: `%j` job, `%x` name, `%a` attempt, `%t` time, `%%` a percent sign."""
    if pattern is None:
        return None
    moment = (rfc3339(now_ms) or "")[:19].replace("-", "").replace(":", "")
    known = {"j": str(row.id), "x": row.name.replace("/", "_"), "a": str(start.attempt), "t": moment, "%": "%"}
    text = re.sub("%(.?)", lambda found: known.get(found[1], found[0]), pattern)
    return posixpath.normpath(posixpath.join(cwd, text))
