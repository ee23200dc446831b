"""What people may ask, each as a value. What comes of each, `handlers` says."""

from typing import Any

import msgspec

from roost.core.accounts import SERVER_ACCOUNT, Account
from roost.core.model import Access, Login
from roost.core.results import Result
from roost.core.spec import JobSpec
from roost.core.sweeps.points import Design
from roost.server.rounds.turn import Owner


class Who(msgspec.Struct, frozen=True):
    """Who asks, what they may do, and from where: for permissions and for the audit."""

    name: str = ""
    is_admin: bool = True
    via: str = "server"
    address: str = ""
    account: Account = SERVER_ACCOUNT
    """The UNIX account that their jobs run as."""

    @property
    def is_local(self) -> bool:
        """Whether it is the server's own account or root on the machine itself, or the server."""
        return self.is_admin and self.account == SERVER_ACCOUNT and self.via in ("socket", "server")

    def may_run_as(self, account: Account) -> bool:
        """Whether they may say what runs as that account: their own; an administrator, any but the server's own."""
        return account == self.account or (self.is_admin and account != SERVER_ACCOUNT)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    by: Who = Who()
    """Unless somebody asks, it is the server itself, which may do everything and is not in the audit."""


class Command(_Asked, frozen=True):
    """Something asked of the controller, by somebody."""

    actor: str


class Submit(Command, frozen=True):
    """Queue these jobs, all or none. Answers with their ids."""

    jobs: list[JobSpec]
    envs: list[dict[str, str]] = []
    home: str = "/"
    key: str | None = None
    """Twice under one key is once: a client whose answer was lost asks again."""
    accounts: dict[str, Account] = {}
    """The UNIX account that each user's jobs run as; who is not in it runs as the server's own."""

    def owner(self, spec: JobSpec) -> Owner:
        """Whose job that is."""
        user = spec.user or self.actor
        return Owner(user, self.accounts.get(user, SERVER_ACCOUNT))


class MakeSweep(Submit, frozen=True, kw_only=True):
    """Queue these points, all or none; into a sweep that is there, those that it does not have. Answers with the ids."""

    design: Design
    max_running: int | None = None
    sweep: int | None = None
    """The sweep to extend; None: a new one."""
    dry_run: bool = False


class LimitSweep(Command, frozen=True):
    """Let at most so many jobs of a sweep run at once; None: any number."""

    sweep: int
    max_running: int | None


class Report(Command, frozen=True):
    """A job says how it went: numbers and short texts by name."""

    job: int
    results: dict[str, Result]
    attempt: int | None = None


class Act(Command, frozen=True):
    """Do that to these jobs, each for itself. Answers with what was done and what was not, and why."""

    action: str
    ids: list[int]
    changes: dict[str, Any] = {}
    grace_s: int | None = None
    signal: str | None = None
    position: int | None = None
    gpu_ids: list[str] = []
    home: str = "/"
    accounts: dict[str, Account] = {}
    """As of `Submit`, for a clone that is to be another's."""


class RuleGpus(Command, frozen=True):
    """Disable, drain, rename GPUs, or change their slots."""

    action: str
    gpus: list[str]
    slots: int | None = None
    alias: str | None = None


class RuleUser(Command, frozen=True):
    """Change a user's weight and quotas. Answers with their rules."""

    user: str
    changes: dict[str, Any]
    """Fields of `UserRules`; what is not named stays."""


class Drain(Command, frozen=True):
    """Let nothing new start on these nodes or GPUs, or open them again."""

    targets: list[str]
    undrain: bool = False


class KnowNode(Command, frozen=True):
    """A node was added; with `again`, how it is reached has changed."""

    node: str
    access: Access
    again: bool = False


class EmptyNode(Command, frozen=True):
    """Nothing new starts on a node that is to be removed; its runs are lost, and told to end. Answers with their jobs."""

    node: str


class RemoveNode(Command, frozen=True):
    """Forget a node; with `force` its runs are lost. Answers with their jobs."""

    node: str
    force: bool = False


class LoseNode(Command, frozen=True):
    """Give up what runs on a node that cannot be reached. Answers with its jobs."""

    node: str
    error: str


class SetLogin(Command, frozen=True):
    """Let a user's jobs run on a node through a login of their own; None: no longer."""

    node: str
    user: str
    login: Login | None


class ChangeSettings(Command, frozen=True, tag="set"):
    """Change settings, all or none."""

    values: dict[str, Any]


class SwitchScheduling(Command, frozen=True):
    paused: bool


class KnowAccounts(Command, frozen=True):
    """Which UNIX accounts may run jobs now: the server has asked."""

    states: dict[Account, str]


class Ask(Command, frozen=True):
    """Would these start? Nothing is queued."""

    jobs: list[JobSpec]
