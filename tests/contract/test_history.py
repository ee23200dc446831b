"""Runs that ended, over the API: page by page, the newest first."""

from __future__ import annotations

import sqlite3

import pytest
from tests.contract.conftest import Api

RUN = {"job", "user", "work", "gpus", "outcome", "submitted_at", "started_at", "ended_at"}
INSERT = (
    "INSERT INTO history (job, user, work, gpus, limit_s, submitted_ms, started_ms, ended_ms, outcome)"
    " VALUES (?, 'ana', 'python t.py', 2, 0, ?, ?, ?, 'succeeded')"
)


def keep(api: Api, *jobs: int) -> None:
    """Runs of these jobs, each ended a second after the one before."""
    with sqlite3.connect(api.server.store.path) as db:
        db.executemany(INSERT, [(job, job * 1000 - 500, job * 1000, job * 1000 + 250) for job in jobs])
    db.close()


async def test_a_run(api: Api) -> None:
    keep(api, 7)
    page = await api.get("/history")
    assert set(page) == {"version", "history", "next"} and page["next"] is None
    (run,) = page["history"]
    assert set(run) == RUN
    assert (run["job"], run["user"], run["gpus"], run["outcome"]) == (7, "ana", 2, "succeeded")
    assert (run["submitted_at"], run["ended_at"]) == ("1970-01-01T00:00:06.500Z", "1970-01-01T00:00:07.250Z")


async def test_pages_the_newest_first(api: Api) -> None:
    keep(api, *range(1, 6))
    found, cursor = [], ""
    while True:
        page = await api.get(f"/history?limit=2{cursor}")
        found.append([run["job"] for run in page["history"]])
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert found == [[5, 4], [3, 2], [1]]


async def test_since(api: Api) -> None:
    keep(api, *range(1, 6))
    page = await api.get("/history?since=1970-01-01T00:00:04Z")
    assert [run["job"] for run in page["history"]] == [5, 4]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("limit=0", "limit must be at least 1, not 0"),
        ("limit=10001", "limit must be at most 10,000, not 10001"),
        ("cursor=-1", "cursor must be at least 1, not -1"),
        (f"cursor={1 << 70}", f"cursor must be at most {1 << 53:,}, not {1 << 70}"),
        ("since=lately", "not a time: 'lately'"),
    ],
)
async def test_what_makes_no_sense(api: Api, query: str, said: str) -> None:
    answer = await api.call("GET", f"/history?{query}")
    assert (answer.status, answer.json["error"]["message"]) == (400, said)


async def test_nothing_ended_yet(api: Api) -> None:
    assert await api.get("/history") == {"version": 1, "history": [], "next": None}
