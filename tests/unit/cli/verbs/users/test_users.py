"""Users on the command line: shown at 80 columns, ruled, and told when no more may wait."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer, error

from roost.cli.text.output import Screen, listed, width_of
from roost.cli.verbs.users import usage, users


def user(name: str, **more: Any) -> dict[str, Any]:
    rules = {"weight": 1.0, "max_gpus": None, "max_jobs": None, "max_queued": None}
    return {"user": name, "gpus": 0, "running": 0, "queued": 0, "account": True, **rules, **more}


ANA = user("ana", weight=2.0, max_gpus=4, max_jobs=8, max_queued=100, gpus=3, running=2, queued=98)


def test_users_with_what_they_have_and_may_have() -> None:
    others = [user("bob", queued=1_000_000), user("zoe\x1b[31m", weight=-0.5, account=False)]
    assert listed(users.COLUMNS, [ANA, *others], Screen(80)) == [
        "USER         WEIGHT  GPUS  RUNNING     QUEUED",
        "ana               2   3/4      2/8     98/100",
        "bob               1     0        0  1,000,000",
        "zoe\\x1b[31m    -0.5     0        0          0  no account here",
    ]
    assert (
        max(width_of(line) for line in listed(users.COLUMNS, [user("x" * 64, **dict(list(ANA.items())[1:]))], Screen(60)))
        <= 60
    )


def test_a_user_is_shown_and_ruled(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /users/ana"] = {"version": 1, **ANA}
    text = "user ana\n  weight: 2\n  GPUs:   3 in use, at most 4\n  jobs:   2 running, at most 8\n"
    assert roost("user", "show", "ana") == (0, text + "  queue:  98 waiting, at most 100\n", "")
    assert json.loads(roost("user", "show", "ana", "--json").out) == {"version": 1, **ANA}
    server.routes["PATCH /users/eve"] = {"version": 1, **user("eve", account=False)}
    shown = roost("user", "set", "eve", "--weight", "-1.5", "--max-gpus", "none", "--max-queued", "0")
    assert (shown.code, shown.err) == (0, "roost: eve has no account on this machine yet\n")
    assert server.bodies("PATCH /users/eve") == [{"weight": -1.5, "max_gpus": None, "max_queued": 0}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("set ana", "nothing to set: pass --weight, --max-gpus, --max-jobs, --max-queued or --unix"),
        ("set ana bob --unix lab", "a UNIX account can be linked to one user only"),
        ("set --weight 2", "NAME is missing"),
        ("show ana --weight 2", "unknown option --weight"),
        ("set a/b --weight 2", "invalid user name: 'a/b'"),
        ("set ana --weight nan", "--weight nan: must be between -1,000,000 and 1,000,000"),
        ("set ana --weight=-inf", "--weight -inf: must be between -1,000,000 and 1,000,000"),
        ("set ana --weight much", "--weight much: must be a number, like 2 or 0.5"),
        ("set ana --max-jobs -1", "--max-jobs -1: must not be negative"),
        ("give ana", "no such verb: user give"),
        ("add", "no user given"),
        ("add -- -x", "invalid user name: '-x'"),
        ("lock ana a/b", "invalid user name: 'a/b'"),
    ],
)
def test_a_user_cannot_be_ruled_like_that(roost: Roost, server: FakeServer, words: str, said: str) -> None:
    shown = roost("user", *words.split())
    assert (shown.code, shown.out, shown.err.splitlines()[0]) == (2, "", f"roost: {said}")


def test_a_quota_is_said_in_one_line(roost: Roost, server: FakeServer) -> None:
    message = "ana has 98 jobs waiting, 100 are allowed: 5 more are too many"
    server.routes["POST /jobs"] = lambda _q, _b: (429, error("over_quota", message, "roost user show ana"))
    assert roost("submit", "true") == (2, "", f"roost: {message}\nhint: roost user show ana\n")


def test_nobody_yet(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /users"] = {"version": 1, "users": []}
    assert roost("users").out == "" and json.loads(roost("users", "--json").out) == {"version": 1, "users": []}


USAGE: dict[str, Any] = {
    "version": 1,
    "weeks": [f"2026-W{n}" for n in range(41, 47)],
    "users": [
        {
            "user": "ana",
            "gpu_hours": [100.0, 2.0, 0.0, 0.001, 9.5, 1234.56],
            "jobs": [1, 0, 0, 2, 3, 4],
            "waited_s_mean": 75,
        },
        {"user": "bob", "gpu_hours": [0.0] * 6, "jobs": [0] * 6, "waited_s_mean": None},
    ],
}


def test_usage_has_the_newest_weeks_by_themselves_and_fits() -> None:
    assert usage.lines(USAGE, Screen(80)) == [
        "USER  EARLIER  2026-W43  2026-W44  2026-W45  2026-W46    TOTAL  JOBS  WAITED",
        "ana     102.0         0     <0.01      9.50   1,234.6  1,346.1    10   1m15s",
        "bob         0         0         0         0         0        0     0       -",
    ]
    short = {**USAGE, "weeks": USAGE["weeks"][-1:], "users": [{**user, "gpu_hours": [1.0]} for user in USAGE["users"]]}
    assert usage.lines(short, Screen(80))[0] == "USER  2026-W46  TOTAL  JOBS  WAITED"


def test_usage_asks_for_what_was_typed(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /usage"] = USAGE
    assert json.loads(roost("usage", "--weeks", "6", "--user", "ana", "--json").out) == USAGE
    assert server.asked[-1][:2] == ("GET /usage", {"weeks": "6", "user": "ana"})
    server.routes["GET /usage"] = {**USAGE, "users": []}
    assert roost("usage") == (0, "", "no GPU usage in this time\n")
