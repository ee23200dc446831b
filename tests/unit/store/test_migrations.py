"""The schema and its migrations are the same, and databases of earlier releases open."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from roost.core.settings import RENAMED
from roost.core.states import State
from roost.store import listing, reads, schema
from roost.store.load import load
from roost.store.rows import Filter
from roost.store.store import Store
from roost.store.store_errors import WrongVersion

DATA = Path(__file__).parents[2] / "data"
RELEASES = sorted(DATA.glob("roost-*.db"))


def test_the_newest_migration_is_the_version_that_the_store_expects() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == schema.VERSION


def test_the_migrations_make_what_the_schema_says(tmp_path: Path) -> None:
    Store(tmp_path / "migrated.db").close()
    engine = create_engine(f"sqlite:///{tmp_path / 'declared.db'}", poolclass=NullPool)
    schema.metadata.create_all(engine)
    migrated, declared = _tables(tmp_path / "migrated.db"), _tables(tmp_path / "declared.db")
    assert migrated.pop("alembic_version")
    assert migrated == declared


def _tables(path: Path) -> dict[str, list[str]]:
    """Every table and index, by the words that made it, whatever their order and spacing."""
    with sqlite3.connect(path) as db:
        made = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    db.close()
    return {name: sorted(words.replace(",", " ").replace("(", " ").replace(")", " ").split()) for name, words in made}


def test_a_database_of_a_newer_release_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    db.close()
    before = path.read_bytes()
    with pytest.raises(WrongVersion, match="written by a newer Roost"):
        Store(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    path.write_bytes(b"hello" * 1000)
    with pytest.raises(Exception, match="not a database"):
        Store(path)


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_a_database_of_an_earlier_release_opens_with_all_that_is_in_it(release: Path, tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    shutil.copyfile(release, path)
    store = Store(path)
    here = load(store)
    states = {job: here.state_of(job) for job in (*here.jobs, *here.active)}
    assert states == {1: State.RUNNING, 3: State.HELD, 4: State.QUEUED}
    row = store.read(reads.jobs, [2])[2]
    assert (row.outcome, row.exit_code, row.name, store.environment(row.env)) == (
        "failed",
        3,
        "train.py",
        {"HOME": "/home/ada"},
    )
    assert here.conditions[4].after[0].job == 1 and here.settings["job.grace_s"] == 7
    with sqlite3.connect(path) as db:
        kept = db.execute("SELECT id, gpus, node, text FROM jobs JOIN texts ON job = id ORDER BY id").fetchall()
    db.close()
    assert [row[:3] for row in kept] == [(1, 1, "n1"), (2, 1, "n1"), (3, 1, None), (4, 1, None)]
    assert [store.read(listing.ids, Filter(search=word), 9) for word in ("ADA", "night", "train")] == [
        [1, 2, 3, 4],
        [2],
        [2],
    ]
    store.close()


def test_settings_keep_their_values_under_their_new_names(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    shutil.copyfile(RELEASES[0], path)
    with sqlite3.connect(path) as db:
        db.executemany("INSERT INTO settings VALUES (?, ?)", [(old, "0.25") for old in ("policy.alpha", "policy.purse")])
    db.close()
    store = Store(path)
    settings = load(store).settings
    store.close()
    assert (settings["policy.wait_factor"], settings["policy.idle_allowance"]) == (0.25, 0.25)
    assert not RENAMED.keys() & settings.keys()


def test_every_release_has_left_a_database() -> None:
    assert [path.stem for path in RELEASES] == ["roost-0.1"]
