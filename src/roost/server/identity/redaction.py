"""Private mode: what of others' jobs is hidden from somebody who is no administrator. Pure: views in, views out."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.server.identity.people import Caller
from roost.store.rows import Filter

Json = dict[str, Any]
HIDDEN = "(private)"
NOBODY = "?"
_TEXTS = ("name", "command_line")
_BRIEF: Json = {"name": HIDDEN, "command_line": HIDDEN, "error": None, "labels": []}
_NOTHING = ("desc", "cwd", "stdout", "stderr", "point", "error", "retry")


class Veil:
    """What one caller is shown."""

    def __init__(self, caller: Caller, is_private: bool) -> None:
        self._name = caller.name
        self.is_down = is_private and not caller.is_admin

    @property
    def viewer(self) -> str | None:
        """Whose labels alone are shown; None: everybody's."""
        return self._name if self.is_down else None

    def hides(self, user: str | None) -> bool:
        """Whether what that user does is hidden."""
        return self.is_down and user != self._name

    def job(self, view: Json) -> Json:
        """A job, whole or as the point of a sweep."""
        if not self.is_down:
            return view
        view = {**view, "reasons": [self._reason(reason) for reason in view.get("reasons", [])]}
        if view.get("user") == self._name:
            return view
        shut: Json = {key: HIDDEN for key in _TEXTS if key in view}
        shut |= {key: None for key in _NOTHING if key in view}
        shut |= {key: [] for key in ("command", "labels", "story") if key in view}
        shut |= {key: {} for key in ("results",) if key in view}
        if "attempts" in view:
            shut["attempts"] = [{**attempt, "error": None} for attempt in view["attempts"]]
        return {**view, **shut}

    def brief(self, view: Json, user: str) -> Json:
        """A job in brief, or a part of that."""
        if not self.is_down:
            return view
        if view.get("reason") is not None:
            view = {**view, "reason": self._reason(view["reason"])}
        if user == self._name:
            return view
        return {**view, **{key: value for key, value in _BRIEF.items() if key in view}}

    def gpus(self, view: Json) -> Json:
        """Every GPU: the jobs and processes on it."""
        if not self.is_down:
            return view
        return {**view, "gpus": [self.tile(gpu) for gpu in view["gpus"]]}

    def tile(self, gpu: Json) -> Json:
        """A GPU, or a part of one."""
        if not self.is_down:
            return gpu
        shut: Json = {}
        if "jobs" in gpu:
            shut["jobs"] = [{**job, "name": HIDDEN} if self.hides(job["user"]) else job for job in gpu["jobs"]]
        if "procs" in gpu:
            shut["procs"] = [self._process(process) for process in gpu["procs"]]
        return {**gpu, **shut}

    def _process(self, process: Json) -> Json:
        return {**process, "command": HIDDEN} if self.hides(process.get("user")) else process

    def _reason(self, reason: Json) -> Json:
        """A reason names processes: what they run is their users' own business."""
        procs = reason.get("procs")
        if not procs:
            return reason
        text = reason["text"]
        for process in procs:
            if self.hides(process.get("user")) and process.get("command"):
                text = text.replace(process["command"], HIDDEN)
        return {**reason, "text": text, "procs": [self._process(process) for process in procs]}

    def why(self, view: Json, user: str) -> Json:
        """Why a job waits. Of another's, only that it does."""
        if not self.is_down:
            return view
        reasons = [self._reason(reason) for reason in view["reasons"]] if not self.hides(user) else []
        text = "; ".join(reason["text"] for reason in reasons) or (view["text"] if not self.hides(user) else HIDDEN)
        return {**view, "reasons": reasons, "text": text}

    def planned(self, view: Json) -> Json:
        """What would become of a job: the reasons name others' processes."""
        if not self.is_down or "reasons" not in view:
            return view
        return {**view, "reasons": [self._reason(reason) for reason in view["reasons"]]}

    def ended(self, view: Json, user: str) -> Json:
        """How a job that was waited for has ended."""
        return {**view, "error": None} if self.hides(user) else view

    def filter(self, wanted: Filter) -> Filter:
        """What he asks for, as far as he may know of it: others' labels and the words in their names are hidden too."""
        if not self.is_down:
            return wanted
        wanted = msgspec.structs.replace(wanted, viewer=self._name)
        if not wanted.labels:
            return wanted
        users = tuple(user for user in wanted.users if user == self._name) if wanted.users else (self._name,)
        return msgspec.structs.replace(wanted, users=users or (NOBODY,))

    def event(self, data: Json, user: str | None) -> Json:
        """Something that happened to a job."""
        if not self.hides(user):
            return data
        return {key: data[key] for key in ("type", "id", "at_ms", "attempt", "outcome", "node", "gpus") if key in data}

    def sweep(self, view: Json) -> Json:
        """A sweep, with its points where they are in it."""
        if not self.hides(view["user"]):
            return view
        shut: Json = {"name": HIDDEN}
        shut |= {key: HIDDEN for key in ("command_line",) if key in view}
        shut |= {key: None for key in ("where", "dir") if key in view}
        shut |= {key: [] for key in ("params", "keys", "points") if key in view}
        return {**view, **shut}

    def run(self, view: Json) -> Json:
        """A run that ended, of the history."""
        return {**view, "work": HIDDEN} if self.hides(view["user"]) else view
