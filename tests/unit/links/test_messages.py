"""The node protocol as it is read: strict in what is known, open for what is new."""

from __future__ import annotations

import msgspec
import pytest

from roost.links import messages as m
from roost.node import protocol


def test_an_unknown_key_is_ignored() -> None:
    line = b'{"op":"started","run":"1.1","pid":7,"at_ms":5,"colour":"red"}'
    assert m.decode(line) == m.RunStarted("1.1", 7, 5)


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"op":"started"}', b'{"op":"dance"}', b'{"op":"exited","run":1,"at_ms":2}']
)
def test_a_line_that_is_not_the_protocol_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        m.decode(line)


@pytest.mark.parametrize(
    "results",
    [
        '{"a":true}',
        '{"a":null}',
        '{"a":[1]}',
        '{"a":NaN}',
        '{"a":"' + "x" * 201 + '"}',
        '{"' + "k" * 65 + '":1}',
        "[]",
        '"x"',
        "{" + ",".join(f'"{n}":1' for n in range(65)) + "}",
    ],
)
def test_results_are_few_and_short(results: str) -> None:
    assert m.decode(b'{"op":"reported","run":"1.1","results":{"a":1,"b":0.5,"c":"x"}}') == m.RunReported(
        "1.1", {"a": 1, "b": 0.5, "c": "x"}
    )
    with pytest.raises(msgspec.MsgspecError):
        m.decode(f'{{"op":"reported","run":"1.1","results":{results}}}'.encode())


def test_what_is_unknown_is_none() -> None:
    exited = m.decode(b'{"op":"exited","run":"1.1","at_ms":2}')
    assert isinstance(exited, m.RunExited) and exited.status is None and exited.peak_mem_mib is None


def test_both_sides_speak_the_same_version() -> None:
    assert m.PROTOCOL == protocol.PROTOCOL


def test_a_message_is_one_line() -> None:
    line = m.encode({"op": "start", "spec": {"shell": "a\nb", "env": msgspec.Raw(b'{"A":"1"}')}})
    assert line.count(b"\n") == 1 and line.endswith(b"\n") and b'"env":{"A":"1"}' in line
