"""Nodes, what works on them, and users' own logins there."""

from typing import Literal

import msgspec

from roost.answers.values import Time, Versioned
from roost.messages import Message


class Node(msgspec.Struct, kw_only=True):
    """A node.

    `target` is how the server reaches it, null: it is the server's own machine. `runs_as` is the account of the jobs there:
    `each` the account with the user's name, `login` the account that the server logs in with, unless a user has
    their own login there. `drained`: nothing new starts on it, said also while it is unreachable. `since`: since when it
    cannot be reached; `clock_ms`: how far its clock is ahead of the server's. `enforces_gpus`: whether the kernel lets a job
    open only the GPUs that it was given, null: not known; `gpu_access`: the same in words, and why not.
    `hostname`: what the machine calls itself, as far as it was ever heard.
    """

    name: str
    state: Literal["up", "drained", "unreachable"]
    drained: bool
    reason: str | None
    pid: int | None
    program: str | None
    python: str | None
    boot: str | None
    state_dir: str | None
    sim_dir: str | None
    gpus: int
    cpus: int
    mem_mib: int
    mem_available_mib: int | None
    load: float | None
    jobs: int
    hostname: str | None
    target: str | None
    runs_as: Literal["each", "login"]
    clock_ms: int
    since: Time | None
    host_key: str | None
    enforces_gpus: bool | None
    gpu_access: Message | None


class Nodes(Versioned):
    """Every node."""

    nodes: list[Node]


class NodeShown(Versioned):
    """One node."""

    node: Node


class NodeCheck(msgspec.Struct):
    """One thing that a node needs: there, missing, or not known; and what to do about it."""

    name: str
    ok: bool | None
    text: Message
    hint: Message | None


class NodeChecked(Versioned):
    """What works on a node, and what is missing; `ok`: nothing is."""

    node: str
    ok: bool
    checks: list[NodeCheck]


class NodeLost(Versioned):
    """The jobs that were lost with a node."""

    node: str
    lost: list[int]


class NodeLogin(msgspec.Struct):
    """A user's own login on a node; `key` is the file of their private key on the server's machine, which stays there."""

    user: str
    node: str
    target: str
    key: str | None


class NodeLogins(Versioned):
    """The caller's own logins; for an administrator, everybody's."""

    logins: list[NodeLogin]


class NodeLoginShown(Versioned):
    """One login."""

    login: NodeLogin
