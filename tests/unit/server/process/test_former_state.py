"""No number that was printed is printed again, whatever database a home begins with."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.unit.store.test_commit import submitted

from roost.core import events as ev
from roost.core.model import Access, Login, Recall
from roost.server.process.former_state import MAX_FORGED, Given, begin_again, given_by, keep_ids, used_ids
from roost.store.store import Store
from roost.store.writes import Batch


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def lay(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True)


def backup(path: Path, last: int) -> Store:
    store = Store(path)
    store.commit(submitted(1))
    store.set_meta("last_job", str(last))
    store.set_meta("local_node", "here")
    store.commit(Batch([ev.NodeKnown("far", Access("ssh://far")), ev.LoginSet("far", "ada", Login("ssh://far", "ada"))]))
    return store


def recalled(store: Store) -> Recall:
    return msgspec.json.decode(store.meta()["recall"], type=Recall)


def test_runs_and_logs_in_a_home_say_which_ids_were_given(home: Path) -> None:
    assert used_ids(home) == 0
    lay(home / "node/runs/12.1", home / "node/active/14.2", home / "logs/13", home / "logs/rubbish", home / "node/runs/x.1")
    assert used_ids(home) == 14
    lay(home / "accounts/ada/runs/20.1", home / f"accounts/eve/runs/{20 + MAX_FORGED + 1}.1")
    assert used_ids(home) == 20, "a user's own directory is not believed without limit"


def test_a_database_says_which_numbers_it_gave(tmp_path: Path) -> None:
    store = backup(tmp_path / "roost.db", 17)
    server = store.server_id()
    store.close()
    assert given_by(tmp_path / "roost.db") == Given(17, 0, server)
    (tmp_path / "rubbish").write_bytes(b"rubbish" * 1000)
    assert given_by(tmp_path / "rubbish") is None and given_by(tmp_path / "nothing") is None


def test_where_the_replaced_database_is_of_the_same_server_nothing_is_unknown(home: Path, tmp_path: Path) -> None:
    store = backup(tmp_path / "copy.db", 40)
    begin_again(store, home, Given(90, 7, store.server_id()))
    meta = store.meta()
    assert (meta["last_job"], meta["last_sweep"]) == ("90", "7")
    assert recalled(store) == Recall(40, (("far", ""), ("far", "@ada"), ("here", "")), is_moved=False)  # type: ignore[arg-type]
    store.close()


@pytest.mark.parametrize("former", [None, Given(90, 7, "another")])
def test_elsewhere_more_ids_are_passed_over_than_may_have_been_given(
    home: Path, tmp_path: Path, former: Given | None
) -> None:
    store = backup(tmp_path / "copy.db", 12_345)
    begin_again(store, home, former)
    assert int(store.meta()["last_job"]) == 25_000 and int(store.meta()["last_sweep"]) >= 100
    assert recalled(store) == Recall(12_345, (("far", ""), ("far", "@ada")), is_moved=True)  # type: ignore[arg-type]
    store.close()


def test_a_new_database_where_runs_lie_takes_the_place_of_a_lost_one(home: Path, tmp_path: Path) -> None:
    first, second = Store(tmp_path / "first.db"), Store(tmp_path / "second.db")
    keep_ids(first, home)
    assert "last_job" not in first.meta(), "a new home begins with 1"
    lay(home / "node/runs/700.1")
    keep_ids(second, home)
    keep_ids(second, home)
    assert second.meta()["last_job"] == "11000"
    first.close()
    second.close()
