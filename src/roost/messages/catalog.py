"""The catalogues: which languages there are, and the sentence of a code in one of them.

`LANGUAGE/TOPIC.txt` has a line for each code of a topic: `code = sentence`. A line break within a sentence is `\\n`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    Language = Literal["en", "zh"]
else:
    Language = str
LANGUAGES: "tuple[Language, ...]" = ("en", "zh")
_HERE = __file__.rpartition("/")[0]
_topics: "dict[tuple[str, str], dict[str, str]]" = {}

MAX_ACCEPTED = 500
"""Characters of an Accept-Language header that are read."""


def sentence(code: str, language: "Language") -> str | None:
    """The sentence of that code; English where the language has none; None for a code that no catalogue knows."""
    name = code.partition(".")[0]
    found = topic(language, name).get(code)
    return found if found is not None or language == "en" else topic("en", name).get(code)


def topic(language: "Language", name: str) -> "Mapping[str, str]":
    """All sentences of a topic: lines of `code = sentence`. Codes may come from a node: only our own files are read."""
    found = _topics.get((language, name))
    if found is None:
        found = _read(f"{_HERE}/{language}/{name}.txt") if name.isidentifier() else {}
        if found:
            _topics[language, name] = found
    return found


def _read(path: str) -> "dict[str, str]":
    try:
        with open(path, "rb") as file:
            lines = file.read().decode().splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition(" = ") for line in lines if line and line[0] != "#")
    return {code: text.replace("\\n", "\n") for code, _, text in pairs}


def language_of(environment: "Mapping[str, str]") -> "Language":
    """The language of a terminal: ROOST_LANG, else the locale as every program reads it."""
    for name in ("ROOST_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if wish := environment.get(name):
            return "zh" if wish.lower().startswith("zh") else "en"
    return "en"


def languages_accepted(header: str) -> "Language":
    """The first of our languages in an `Accept-Language` header, by weight."""
    ranked: list[tuple[float, int, str]] = []
    for at, part in enumerate(header[:MAX_ACCEPTED].split(",")):
        name, _, weight = part.strip().partition(";q=")
        try:
            ranked.append((-float(weight or 1), at, name.strip().lower()))
        except ValueError:
            continue
    for _, _, name in sorted(ranked):
        for language in LANGUAGES:
            if name.partition("-")[0] == language:
                return language
    return "en"
