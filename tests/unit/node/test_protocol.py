"""Lines and messages, specs and traces: what comes in whole, in halves and broken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.node.protocol import BadMessage, LineBuffer, LineTooLong, decode, encode, is_run_name
from roost.node.runs.run_dir import Record, parse_trace, record_text
from roost.node.runs.run_spec import BadSpec, parse_spec, signal_number

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no failure


@unhurried
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_lines_do_not_depend_on_how_the_stream_was_cut(data: bytes, cuts: list[int]) -> None:
    buffer, lines, last = LineBuffer(), [], 0
    for cut in [*sorted(cuts), len(data)]:
        lines += buffer.feed(data[last:cut] if cut > last else b"")
        last = max(last, cut)
    assert lines == data.split(b"\n")[:-1]


def test_a_line_without_end_is_refused() -> None:
    buffer = LineBuffer(limit=10)
    assert buffer.feed(b"12345\n12345") == [b"12345"]
    with pytest.raises(LineTooLong):
        buffer.feed(b"678901")


def test_a_message_is_one_ascii_line() -> None:
    line = encode({"op": "x", "text": "名字\n"})
    assert line.isascii() and line.count(b"\n") == 1
    assert decode(line) == {"op": "x", "text": "名字\n"}


@pytest.mark.parametrize("line", [b"", b"x", b"[]", b"{}", b'{"op":1}', b"\xff", b"[" * 10_000])
def test_what_is_no_message(line: bytes) -> None:
    with pytest.raises(BadMessage):
        decode(line)


def test_run_names() -> None:
    assert all(is_run_name(name) for name in ("1.1", "12.34", "a_b-c.1"))
    assert not any(is_run_name(name) for name in ("", ".", "..", "../x", "a/b", "-x", "1.1\n", "x" * 200, 5, None))


def test_signals_by_any_name() -> None:
    assert [signal_number(name) for name in ("USR1", "SIGUSR1", "usr1", 10)] == [10, 10, 10, 10]
    for name in ("X", "", 0, 99, None, True):
        with pytest.raises(BadSpec):
            signal_number(name)


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
JSON = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
KEYS = st.sampled_from(["argv", "shell", "cwd", "env", "gpus", "umask", "open", "time_limit_ms", "warn_signal", "stdout"])


@unhurried
@given(st.dictionaries(KEYS, JSON) | JSON)
def test_any_spec_is_taken_or_refused(raw: Any) -> None:
    try:
        spec = parse_spec(raw)
    except BadSpec as problem:
        assert str(problem)
    else:
        assert (spec.argv is not None) != (spec.shell is not None)


def test_defaults_of_a_spec() -> None:
    spec = parse_spec({"argv": ["true"], "umask": "027"})
    assert (spec.cwd, spec.open, spec.umask, spec.gpus) == ("/", "new", 0o27, [])
    assert (spec.grace_ms, spec.warn_signal) == (30_000, 12)


RECORD = Record("boot", 5, 6, None, ("GPU-a",), "/o", "/e", 1000, 0, 12, 30_000, None)


def test_a_trace_grows_line_by_line() -> None:
    spec = parse_spec({"argv": ["echo", "x" * 5000], "env": {"SECRET": "hush"}})
    text = record_text(RECORD, spec)
    assert "hush" not in text and len(text) < 3000
    whole = f"100\n{text}\n101\n137\n"
    assert parse_trace(whole, 9) == (100, RECORD, 101, 137, None, 9)
    assert parse_trace(whole.rsplit("\n", 2)[0] + "\n", 9).status is None
    assert parse_trace(f"100\n{text[:50]}", 9) == (100, None, None, None, None, 9)
    assert parse_trace("", 9) == (None, None, None, None, None, 9)
    assert parse_trace(f"100\n{text}\n101\n13", 9).status is None, "cut by a disk that took a part of it"
    assert parse_trace(f"100\n{text}\n101\n\n13\n137\n", 9) == (100, RECORD, 101, 137, None, 9)
    assert parse_trace(f"100\n{text}\n10\n0\n", 9).status == 0, "the pid was cut"
    assert parse_trace(f"100\n{text}\n10", 9).main_pid is None
    problem = {"why": "cannot_start", "error": "no"}
    assert parse_trace(json.dumps(problem) + "\n", 9).problem == problem


@unhurried
@given(st.text(max_size=300))
def test_any_text_is_some_trace(text: str) -> None:
    assert parse_trace(text, 9).at_ms == 9
