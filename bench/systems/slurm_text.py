"""The configuration of the private Slurm, as text.

Pure. The values follow Slurm's own guide to high throughput: no accounting, no completion records, short-lived job
records, first-in-first-out scheduling with plain priorities, quiet logs; and the intervals are set for starting soon
rather than for collecting, because one small node is all there is.

So tuned, Slurm 22.05 still looks at its queue once a second: a job whose step is gone when the controller asks for its
end is answered "already complete", and that answer only marks the queue for the loop of one second. With any epilog at
all the node reports the end of the epilog instead, and that report starts the scheduler at once: sixteen times the
jobs. No guide says so; it is measured as a system of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Site:
    """Where the private Slurm lives."""

    work: Path
    host: str
    controller_port: int
    node_port: int


SCHEDULER = {
    "batch_sched_delay": "0",  # default 3 s: wait for more batch jobs before looking at them
    "sched_min_interval": "0",  # default 2 µs: least time between two looks at the queue
    "sched_interval": "1",  # default 60 s: the periodic look, here only a safety net
    "sched_max_job_start": "0",
    "default_queue_depth": "100",
}

TUNED = {
    "SchedulerType": "sched/builtin",
    "SchedulerParameters": ",".join(f"{name}={value}" for name, value in SCHEDULER.items()),
    "PriorityType": "priority/basic",
    "AccountingStorageType": "accounting_storage/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "JobCompType": "jobcomp/none",
    "MinJobAge": "2",
    "CompleteWait": "0",
    "EpilogMsgTime": "0",
    "MaxJobCount": "100000",
    "MaxArraySize": "10001",
    "MessageTimeout": "30",
    "SlurmctldDebug": "error",
    "SlurmdDebug": "error",
    "ProctrackType": "proctrack/pgid",
    "TaskPlugin": "task/none",
    "SwitchType": "switch/none",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_CPU",
}


def slurm_conf(site: Site, slots: int, with_epilog: bool, nodes: int = 1) -> str:
    """slurm.conf for nodes n1, n2, … that claim so many CPUs each, whatever the machine has; their ports follow another."""
    paths = {
        "ClusterName": "bench",
        "SlurmctldHost": f"{site.host}(127.0.0.1)",
        "SlurmctldPort": str(site.controller_port),
        "SlurmUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={site.work}/munge.sock",
        "CredType": "cred/munge",
        "StateSaveLocation": f"{site.work}/state",
        "SlurmdSpoolDir": f"{site.work}/spool/%n",
        "SlurmctldPidFile": f"{site.work}/slurmctld.pid",
        "SlurmdPidFile": f"{site.work}/slurmd-%n.pid",
        "SlurmctldLogFile": f"{site.work}/slurmctld.log",
        "SlurmdLogFile": f"{site.work}/slurmd-%n.log",
        "SlurmdParameters": "config_overrides",
        "ReturnToService": "2",
        "MailProg": "/bin/true",
    }
    names, ports = node_names(nodes), _range(site.node_port, nodes)
    node = f"NodeName={names} NodeHostname={site.host} NodeAddr=127.0.0.1 Port={ports} CPUs={slots} State=UNKNOWN"
    partition = f"PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO"
    epilog = {"Epilog": "/bin/true"} if with_epilog else {}
    settings = [f"{name}={value}" for name, value in {**paths, **TUNED, **epilog}.items()]
    return "\n".join([*settings, node, partition, ""])


def node_names(nodes: int) -> str:
    """All nodes, as Slurm names several: `n[1-50]`."""
    return f"n{_range(1, nodes)}"


def _range(first: int, count: int) -> str:
    return str(first) if count == 1 else f"[{first}-{first + count - 1}]"


def batch_script(line: str) -> str:
    """A job array's script: the job and nothing else."""
    return f"#!/bin/sh\nexec {line}\n"
