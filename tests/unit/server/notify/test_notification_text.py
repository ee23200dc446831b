"""What a message says, and what it must not carry."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.states import Outcome
from roost.messages import Message
from roost.server.notify.notification_text import MAX_LOG, MAX_SUBJECT, Facts, body, last_lines, subject

FAILED = Facts(
    "failed",
    12,
    1,
    "train.py",
    "ada",
    "lab7",
    (0, 3),
    1,
    "it broke",
    61_000,
    3_700_000,
    peak_mem_mib=20_480,
    peak_rss_mib=700,
)


def test_a_failure_in_english() -> None:
    assert subject(FAILED, "en") == "Roost: job 12 train.py failed (exit code 1) on lab7"
    assert body(FAILED, "en", ["last words"]).splitlines() == [
        "job: 12",
        "name: train.py",
        "user: ada",
        "node: lab7, GPU 0,3",
        "waited: 1 min 1 s",
        "ran: 1 h 1 min",
        "exit code: 1",
        "error: it broke",
        "peak GPU memory: 20 GiB",
        "peak RAM: 700 MiB",
        "full log: roost log 12",
        "",
        "Last 1 line of the log:",
        "last words",
    ]


def test_a_failure_in_chinese() -> None:
    assert subject(FAILED, "zh") == "Roost：任务 12 train.py 运行失败（退出码 1），节点 lab7"
    assert "排队：1 分钟 1 秒\n运行：1 小时 1 分钟" in body(FAILED, "zh", [])


def test_an_error_with_a_code_is_in_the_language_of_the_target() -> None:
    facts = Facts("failed", 1, 1, error=Message("job.not_found", job=7).as_text())
    assert "error: there is no job 7" in body(facts, "en", []) and "错误：没有任务 7" in body(facts, "zh", [])


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("kind", [*(o.value for o in Outcome), "start", "idle", "gpu_free", "more", "test"])
def test_every_kind_has_words(kind: str, lang: str) -> None:
    facts = Facts(kind, 1, 2, "x", "ada", "n1", (0,), where=(("n1", 0), ("n1", 2), ("n2", 1)), count=137, idle_ms=1_800_000)
    text = subject(facts, lang) + body(facts, lang, ["line"])
    assert "Roost" in text and "{" not in text and "notify." not in text


def test_free_gpus_are_named_node_by_node() -> None:
    facts = Facts("gpu_free", where=(("n1", 0), ("n1", 2), ("n2", 1)))
    assert subject(facts, "en") == "Roost: GPUs free: n1: GPU 0,2; n2: GPU 1"


@given(st.text(), st.text(), st.text())
def test_nothing_of_a_job_breaks_a_line_or_turns_it(name: str, error: str, node: str) -> None:
    facts = Facts("failed", 1, 1, name, "ada", node, error=error)
    line = subject(facts, "en")
    assert len(line) <= MAX_SUBJECT and len(line.splitlines()) == 1
    lines = body(facts, "en", []).split("\n")
    assert len(lines) <= 8
    assert not [c for text in (line, *lines) for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]


def test_a_name_with_a_header_in_it_stays_a_name() -> None:
    facts = Facts("failed", 1, 1, "x\r\nBcc: all@lab.org\r\n\r\nhello", "ada", "n1")
    assert subject(facts, "en") == "Roost: job 1 x  Bcc: all@lab.org    hello failed on n1"


def test_chinese_and_emoji_survive() -> None:
    facts = Facts("succeeded", 1, 1, "训练 🚀 family 👩‍👩‍👧", "ada", "n1")
    assert "训练 🚀 family 👩‍👩‍👧" in subject(facts, "zh")


def test_the_end_of_a_log_errors_last() -> None:
    assert last_lines(b"a\nb\nc\n", b"oops\n", 3) == ["b", "c", "oops"]
    assert last_lines(b"a\nb\n", b"a\nb\n", 3) == ["a", "b"]  # both streams are one file
    assert last_lines(b"a\nb", b"", 1) == ["b"]
    assert last_lines(b"", b"", 20) == []


def test_a_progress_bar_is_as_it_stood_at_the_end() -> None:
    assert last_lines(b"\r 10%\r 20%\r 30%\nready\r\n", b"", 5) == ["30%", "ready"]


def test_colours_and_control_characters_go() -> None:
    assert last_lines(b"\x1b[1;31mred\x1b[0m \x07\x1b]0;title\x07plain\n", b"", 5) == ["red  plain"]


def test_a_log_is_bounded() -> None:
    kept = last_lines(b"\n".join(b"%d " % i + b"x" * 1000 for i in range(50)), b"", 50)
    assert sum(map(len, kept)) <= MAX_LOG and kept[-1].startswith("49 ")
    assert last_lines(b"x" * 100_000, b"", 20)[0].endswith("…")
