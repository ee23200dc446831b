"""The server's log: other programs' words in it steer nothing and make no lines of their own."""

from __future__ import annotations

import logging

from roost.server.main import LONGEST_MESSAGE, PlainFormatter

FORMAT = PlainFormatter("%(levelname)s %(name)s: %(message)s")


def _line(text: str, **how: object) -> str:
    return FORMAT.format(logging.LogRecord("roost", logging.INFO, "x.py", 1, "said: %s", (text,), how.get("error")))  # type: ignore[arg-type]


def test_a_message_is_one_line_that_steers_no_terminal() -> None:
    assert _line("\x1b[2J\nINFO roost: forged\r\x9b") == "INFO roost: said: \\x1b[2J INFO roost: forged \\x9b"
    assert _line("机器坏了") == "INFO roost: said: 机器坏了"


def test_a_message_is_not_longer_than_it_may_be() -> None:
    assert len(_line("y" * 10_000_000)) < LONGEST_MESSAGE + 100


def test_a_traceback_keeps_its_lines() -> None:
    try:
        raise ValueError("bad")
    except ValueError as error:
        text = _line("x", error=(type(error), error, error.__traceback__))
    assert text.splitlines()[1] == "Traceback (most recent call last):" and text.splitlines()[-1] == "ValueError: bad"
