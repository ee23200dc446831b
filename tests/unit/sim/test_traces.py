"""Workloads as they are read: which rows, whose, squeezed and shaken; and what cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from roost.sim.traces import Arrival, TraceWindow, Unusable, Workload, from_history, parse_trace, read_trace, shaken

HEADER = "submit_time,duration,gpus,user,name,vc,status,req_time"
ROWS = ["0,100,1,ana,train,lab,,", "10,50.5,2,,eval,hall,COMPLETED,60", "20,7,8,bob,,lab,,"]


def parsed(rows: list[str], **wanted: object) -> Workload:
    return parse_trace([HEADER, *rows], TraceWindow(**wanted))  # type: ignore[arg-type]


def test_a_row_is_a_job() -> None:
    found = parsed(ROWS)
    assert found == Workload(
        (
            Arrival(0, 100_000, 1, "ana", "train"),
            Arrival(10_000, 50_500, 2, "-", "eval", 60),
            Arrival(20_000, 7000, 8, "bob"),
        ),
        start_ms=0,
    )


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_file_may_be_gzipped(tmp_path: Path, is_packed: bool) -> None:
    path, text = tmp_path / "trace", "\n".join([HEADER, *ROWS]).encode()
    path.write_bytes(gzip.compress(text) if is_packed else text)
    assert read_trace(str(path), TraceWindow()) == parsed(ROWS)


def test_the_user_is_the_user_or_else_the_virtual_cluster() -> None:
    assert [a.user for a in parsed(ROWS).arrivals] == ["ana", "-", "bob"]
    assert [a.user for a in parsed(ROWS[1:2]).arrivals] == ["hall"]
    assert [a.user for a in parsed(ROWS, user_column="vc").arrivals] == ["lab", "hall", "lab"]
    assert [a.user for a in parsed(ROWS, user_column="name").arrivals] == ["train", "eval", "-"]


def test_only_what_is_wanted() -> None:
    assert [a.gpus for a in parsed(ROWS, only=(("vc", "lab"),)).arrivals] == [1, 8]
    assert [a.gpus for a in parsed(ROWS, only=(("vc", "lab"), ("gpus", "8"))).arrivals] == [8]
    cut = parsed(ROWS, from_s=5, to_s=20)
    assert ([a.gpus for a in cut.arrivals], cut.start_ms) == ([2], 5000)


def test_columns_stand_anywhere_and_rows_in_any_order() -> None:
    found = parse_trace(["gpus,other,duration,submit_time", "2,x,5,9", "", "1,y,6,3"], TraceWindow())
    assert found == Workload((Arrival(3000, 6000, 1, "-"), Arrival(9000, 5000, 2, "-")), 3000)


def test_jobs_without_a_gpu_are_left_out_and_counted() -> None:
    found = parsed([*ROWS, "5,1,0,eve,,lab,,"])
    assert (len(found.arrivals), found.without_gpus) == (3, 1)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "t.csv has no columns; submit_time is required"),
        (["submit_time,gpus", "1,2"], "t.csv has no column duration; its columns: submit_time, gpus"),
        ([HEADER], "t.csv has no job in that window"),
        ([HEADER, "0,1,0,,,,,"], "t.csv has no job with a GPU in that window"),
        ([HEADER, ROWS[0], "1,2,3"], "t.csv, line 3: 3 fields, but the header has 8"),
        ([HEADER, "soon,1,1,,,,,"], "t.csv, line 2: submit_time must be seconds, not 'soon'"),
        ([HEADER, "0,,1,,,,,"], "t.csv, line 2: duration must be seconds, not ''"),
        ([HEADER, "0,-1,1,,,,,"], "t.csv, line 2: duration must be between 0 and 1e+11 seconds, not -1"),
        ([HEADER, "nan,1,1,,,,,"], "t.csv, line 2: submit_time must be between 0 and 1e+11 seconds, not nan"),
        ([HEADER, "0,1,0.5,,,,,"], "t.csv, line 2: gpus must be a whole number, not '0.5'"),
        ([HEADER, "0,1,inf,,,,,"], "t.csv, line 2: gpus must be a whole number, not 'inf'"),
        ([HEADER, "0,1,1,,,,,never"], "t.csv, line 2: req_time must be seconds, not 'never'"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(lines: list[str], said: str) -> None:
    with pytest.raises(Unusable) as caught:
        parse_trace(lines, TraceWindow(), "t.csv")
    assert str(caught.value) == said


def test_what_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    packed = gzip.compress("\n".join([HEADER, *ROWS]).encode())
    for data in (packed[:-12], b"\x1f\x8bnonsense", b"\xff\xfe\x00"):
        (tmp_path / "t").write_bytes(data)
        with pytest.raises(Unusable, match=r"cannot read .*/t: .|/t is not a CSV file"):
            read_trace(str(tmp_path / "t"), TraceWindow())
    with pytest.raises(Unusable, match="No such file"):
        read_trace(str(tmp_path / "none"), TraceWindow())


def test_squeezed_about_the_start_of_the_window() -> None:
    assert [at for at, _ in shaken(parsed(ROWS, from_s=0), 2.0, 0, 1)] == [0, 5000, 10_000]
    assert [at for at, _ in shaken(parsed(ROWS[1:], from_s=8), 2.0, 0, 1)] == [9000, 14_000]


def test_shaken_by_seed_in_order_and_never_before_the_window() -> None:
    workload = parsed([f"{at},1,1,ana,,,," for at in range(100, 200)], from_s=100)
    once, again, other = shaken(workload, 1, 30, 7), shaken(workload, 1, 30, 7), shaken(workload, 1, 30, 8)
    assert once == again != other
    assert [at for at, _ in once] == sorted(at for at, _ in once)
    assert once[0][0] == 100_000 and all(abs(at - job.submit_ms) <= 30_000 for at, job in once)
    assert {job.submit_ms for _, job in once} == {job.submit_ms for job in workload.arrivals}


def test_history_is_a_workload_and_a_further_attempt_comes_after_the_one_before() -> None:
    def row(job: int, submitted: int, started: int, ended: int, gpus: int = 1) -> dict[str, object]:
        times = {"submitted_at": submitted, "started_at": started, "ended_at": ended}
        moments = {key: f"1970-01-01T00:00:{at:02}.500Z" for key, at in times.items()}
        return {"job": job, "user": "ana", "work": "train", "gpus": gpus, "outcome": "failed", **moments}

    found = from_history([row(2, 4, 5, 9, gpus=0), row(1, 1, 12, 15), row(1, 1, 2, 10), row(3, 8, 20, 21, gpus=2)])
    assert found == Workload(
        (
            Arrival(1500, 8000, 1, "ana", "train"),
            Arrival(8500, 1000, 2, "ana", "train"),
            Arrival(10_500, 3000, 1, "ana", "train"),
        ),
        start_ms=1500,
        without_gpus=1,
    )
