"""Messages: what a sentence may contain, and that nothing which comes from elsewhere makes rendering fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.core.errors import NotFound
from roost.messages import LANGUAGES, Message, catalog, hint_of, language_of, languages_accepted, plain, render


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    """Catalogues of a test's own."""
    made: dict[str, dict[str, str]] = {"en": {"word.queued": "queued"}, "zh": {"word.queued": "排队中"}}
    monkeypatch.setattr(catalog, "topic", lambda language, topic: made[language])
    return made


@pytest.mark.parametrize(
    ("sentence", "params", "text"),
    [
        ("job {job}", {"job": 3}, "job 3"),
        ("{jobs:job|jobs}", {"jobs": 1}, "1 job"),
        ("{jobs:job|jobs}", {"jobs": 3000}, "3,000 jobs"),
        ("{jobs:?is|are} ahead", {"jobs": 2}, "are ahead"),
        ("{mib:size} of {all:size}", {"mib": 512, "all": 8192}, "512 MiB of 8 GiB"),
        ("in {left:span}", {"left": 7800}, "in 2 h 10 min"),
        ("{names}", {"names": ["a", "b"]}, "a, b"),
        ("{names:or}", {"names": ("a", "b", "c")}, "a, b or c"),
        ("it is {state:word}", {"state": "queued"}, "it is queued"),
        ("it is {state:word}", {"state": "unheard-of"}, "it is unheard-of"),
        ("{{lr}} stays", {}, "{lr} stays"),
        ("{why}", {"why": Message("a.inner", job=1)}, "job 1 inside"),
        ("{missing} stays", {}, "{missing} stays"),
    ],
)
def test_a_sentence_takes_its_parameters(
    said: dict[str, dict[str, str]], sentence: str, params: dict[str, Any], text: str
) -> None:
    said["en"] |= {"a.b": sentence, "a.inner": "job {job} inside"}
    assert render(Message("a.b", **params), "en") == text


def test_each_language_has_its_own_words_and_english_stands_in_for_what_is_missing(said: dict[str, dict[str, str]]) -> None:
    said["en"] |= {"a.b": "{names} are {state:word} for {s:span}", "a.only": "only English"}
    said["zh"] |= {"a.b": "{names} {state:word} {s:span}"}
    message = Message("a.b", names=["x", "y"], state="queued", s=90)
    assert render(message, "zh") == "x、y 排队中 1 分钟 30 秒"
    assert str(message) == "x, y are queued for 1 min 30 s"
    assert render(Message("a.only"), "zh") == "only English"


@pytest.mark.parametrize(
    "data",
    [
        {"code": "no.such.code", "params": {"n": 1}},
        {"code": "../../etc/passwd"},
        {"code": "job.not_found", "params": {"job": [{"code": "job.not_found"}]}},
        {"code": "job.not_found", "params": None},
        {"code": 7},
        "a line of an older node: {job}",
        None,
    ],
)
def test_whatever_a_node_sends_can_be_shown(data: object) -> None:
    message = Message.of_data(data)
    for language in LANGUAGES:
        assert render(message, language)


def test_a_message_survives_json() -> None:
    message = Message("job.not_found", job=7, why=Message("job.not_found", job=8), names=["a", plain("b")])
    assert Message.of_data(json.loads(json.dumps(message.as_data()))) == message
    for one in (message, plain("exit code 1"), plain('{"code": broken')):
        assert Message.of_text(one.as_text()) == one


def test_messages_within_messages_end() -> None:
    message = plain("the core")
    for _ in range(50):
        message = Message("job.not_found", job=message)
    assert len(str(message)) < 1000


def test_an_error_has_the_sentence_and_the_hint_of_its_code() -> None:
    error = NotFound("job.not_found", job=12)
    assert (error.message, error.hint) == ("there is no job 12", "see them all: roost ls --all")
    assert render(error.said, "zh") == "没有任务 12"
    assert hint_of(plain("anything")) is None


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LC_ALL": "C", "ROOST_LANG": "zh"}, "zh"),
    ],
)
def test_the_language_of_a_terminal(environment: dict[str, str], language: str) -> None:
    assert language_of(environment) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("de,en;q=0.5,zh;q=0.4", "en"),
        ("fr;q=x, zh;q=0.1", "zh"),
        (",;q=", "en"),
    ],
)
def test_the_language_of_a_browser(header: str, language: str) -> None:
    assert languages_accepted(header) == language
