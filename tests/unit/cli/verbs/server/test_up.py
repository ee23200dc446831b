"""What `roost up` says of the server that it started."""

from __future__ import annotations

from typing import Any, cast

import pytest

from roost.cli.verbs.server import up


class Server:
    """Answers with one status after another; the last one again and again."""

    def __init__(self, *gpus: dict[str, int]) -> None:
        self.gpus = list(gpus)

    def status(self) -> dict[str, Any]:
        about = {"url": "http://x", "home": "/h"}
        return {"server_pid": 7, "server": about, "gpus": self.gpus.pop(0) if self.gpus[1:] else self.gpus[0]}


@pytest.mark.parametrize(
    ("gpus", "said", "more"),
    [
        ([{"total": 2, "free": 2}], "2 GPUs, ", None),
        ([{"total": 2, "free": 1, "fault": 1}], "2 GPUs (1 at fault), ", None),
        ([{"total": 2, "fault": 2}], "2 GPUs (2 at fault), ", "no GPU works"),
        (
            [{"total": 1, "unknown": 1}, {"total": 1, "unknown": 1}, {"total": 1, "fault": 1}],
            "1 GPU (1 at fault)",
            "no GPU works",
        ),
        ([{"total": 0}], "0 GPUs, ", "no GPU found"),
    ],
)
def test_gpus_at_fault_are_said_once_they_were_read(gpus: list[dict[str, int]], said: str, more: str | None) -> None:
    lines = up.where(cast(Any, Server(*gpus)))
    assert said in lines[0]
    assert (more in lines[2]) if more else len(lines) == 2


def test_gpus_that_are_never_read_are_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "READ_S", 0.1)
    assert "1 GPU, " in up.where(cast(Any, Server({"total": 1, "unknown": 1})))[0]
