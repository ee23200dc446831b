"""The rules about words, each on texts that keep it and on texts that break it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tools import words


def people(text: str, name: str = "docs/a.md") -> list[str]:
    """The breaches in one file, without lists."""
    return list(words.words({name: text}, {}))


# --- words ---


@pytest.mark.parametrize(
    "text",
    [
        "he may", "(He may)", "his job", "his_job = 1", "my_his = 1", "hisJobs", "tell him", "himself", "whoever asks",
        "Whoever", "for whom", "whomever", "he's", "-- his --", "_his",
    ],
)  # fmt: skip
def test_a_word_for_one_sex_is_found(text: str) -> None:
    assert len(people(text)) == 1


@pytest.mark.parametrize(
    "text", ["they may", "this", "history", "the", "chime", "hello", "whose", "cache", "Whispered", "HEAD"]
)
def test_other_words_are_not(text: str) -> None:
    assert people(text) == []


def test_a_breach_names_its_line() -> None:
    assert people("one\ntwo\nhe is\n") == ["docs/a.md:3: 'he': write they, their or them"]


@pytest.mark.parametrize("text", ["a number is meant", "a number is\nmeant", "# a number is\n# meant", "Is meant"])
def test_is_meant_is_found(text: str) -> None:
    assert people(text) == ["docs/a.md:1: 'is meant': write must be, or expected"]


def test_what_means_or_is_mean_is_not() -> None:
    assert people("this means that; the mean is 3") == []


def test_a_file_may_be_allowed_only_while_it_needs_to_be() -> None:
    allowed = {"a.txt": "not ours"}
    assert list(words.words({"a.txt": "he", "b.txt": "they"}, allowed)) == []
    assert list(words.words({"a.txt": "they"}, allowed)) == ["ALLOWED lists a.txt, which does not need it"]


# --- glossary ---


def test_a_key_stands_once_in_the_glossary() -> None:
    table = "| word | is |\n|---|---|\n| **job** | one |\n| **node** | two |\n"
    assert words.glossary(table) == []
    assert words.glossary(f"{table}| **job** (of a sweep) | three |\n") == ["docs/reference/glossary.md: two rows for 'job'"]


# --- catalogues ---


def catalogues(english: str, chinese: str) -> list[str]:
    return list(
        words.catalogues(
            {"src/roost/messages/en/job.txt": english, "src/roost/messages/zh/job.txt": chinese, "job.txt": "job.z"}
        )
    )


def test_catalogues_with_the_same_codes_and_parameters_pass() -> None:
    assert catalogues("# Jobs.\njob.a = {n:job|jobs}, {{n}}\n\njob.b = b\n", "job.b = 乙\njob.a = {n} 个\n") == []


@pytest.mark.parametrize(
    ("english", "chinese", "breach"),
    [
        ("job.a = a", "", "no sentence for job.a"),
        ("", "job.a = 甲", "src/roost/messages/en: no sentence for job.a"),
        ("job.a = {n} a", "job.a = 甲", "has the parameters [], in English ['n']"),
        ("job.a = a", "job.a = {n} 甲", "has the parameters ['n'], in English []"),
        ("job.a = a\njob.a = b", "job.a = 甲", "job.a stands there twice"),
        ("node.a = a", "", "expected `job.CODE = sentence`"),
        ("job.a", "", "expected `job.CODE = sentence`"),
        ("job.a = ", "", "expected `job.CODE = sentence`"),
    ],
)
def test_catalogues_that_differ_are_found(english: str, chinese: str, breach: str) -> None:
    assert [line for line in catalogues(english, chinese) if breach in line]


def test_a_topic_that_a_language_lacks_is_found() -> None:
    files = {"src/roost/messages/en/job.txt": "job.a = a", "src/roost/messages/zh/node.txt": "node.a = 甲"}
    assert list(words.catalogues(files)) == [
        "src/roost/messages/zh: no sentence for job.a",
        "src/roost/messages/en: no sentence for node.a",
    ]


# --- names of modules ---


def names(*paths: str, shared: dict[str, str] | None = None) -> list[str]:
    return list(words.names(dict.fromkeys(paths, ""), {"api/routes": "routes"}, shared or {}))


def test_a_file_name_is_used_once_unless_a_list_says_why() -> None:
    pair = ("src/roost/store/usage.py", "src/roost/node/usage.py")
    assert names(*pair) == ["usage.py is in src/roost/store and src/roost/node: rename one"]
    assert names(*pair, shared={"usage.py": "the same thing"}) == []
    assert names(pair[0], shared={"usage.py": "the same thing"}) == ["SHARED lists usage.py, which no two modules share"]


def test_layers_and_other_trees_share_names() -> None:
    assert names("src/roost/store/usage.py", "src/roost/api/routes/usage.py", "tests/usage.py", "web/src/usage.ts") == []


# --- the command ---


def test_texts_are_those_that_git_knows(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("ignored\n")
    (tmp_path / "ignored").write_text("he")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff")
    (tmp_path / "中.md").write_text("they")
    (tmp_path / "gone.md").write_text("he")
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    (tmp_path / "gone.md").unlink()
    assert words.texts(tmp_path) == {".gitignore": "ignored\n", "中.md": "they"}


def test_the_command_fails_on_a_breach(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "new.md").write_text("he")
    assert words.main([str(tmp_path)]) == 1
    assert "words: new.md:1: 'he'" in capsys.readouterr().out
