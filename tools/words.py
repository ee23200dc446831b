#!/usr/bin/env python3
"""Check the words of the repository: `tools/words.py [ROOT]`.

Checked, with one line and exit status 1 for each breach:

- people: no he, his, him, himself, whoever or whom in any text that git knows, alone or in a name (`his_job`). Write "they".
- phrases: no "is meant". Write "must be" or "expected".
- glossary: no key of docs/reference/glossary.md stands there twice.
- catalogues: every code of src/roost/messages is in every language once, under its topic, with the same parameters.
- names: no two modules of src/roost have the same file name, except those that LAYERS or SHARED explain.

That every code in the source has a sentence, and every sentence a use, is tested in tests/unit/messages.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter

GLOSSARY = "docs/reference/glossary.md"
CATALOGUES = "src/roost/messages"
SOURCE = "src/roost"

PEOPLE = re.compile(r"(?<![A-Za-z])([Hh]e|[Hh]is|[Hh]im|[Hh]imself|[Ww]ho(?:so)?ever|[Ww]hom(?:ever)?)(?![a-z])")
PHRASES = re.compile(r"\bis\s+(?:(?:#|//|\*)\s*)?meant\b", re.IGNORECASE)

# Texts that are not ours, or that must contain the words: each with the reason. An entry that is not needed is a breach.
ALLOWED: Mapping[str, str] = {
    "LICENSE": "not our words",
    "tools/words.py": "names the words",
    "tests/unit/tools/test_words.py": "shows that each rule can fail",
}

# Folders of modules that are named after what they serve, so that the same name in two of them is the same thing.
LAYERS: Mapping[str, str] = {
    "answers": "the answers about a resource, named after it",
    "api/routes": "the routes of a resource, named after it",
    "cli/verbs": "a verb, named after it",
    "client": "the calls about a resource, named after it",
}

# File names that two modules outside LAYERS share, and why. An entry that is not needed is a breach.
SHARED: Mapping[str, str] = {
    "__init__.py": "Python's name",
    "__main__.py": "Python's name",
    "main.py": "where a program starts: the server, and the node program",
    "facets.py": "what filters can be set to: read from the store, kept for a moment by the server",
    "job_actions.py": "acting on selected jobs: asked by the command line, done by the server",
    "link.py": "the link between server and node: its two ends",
    "people.py": "users, tokens and sessions: what the server decides, and how it is stored",
    "reader.py": "logs, read by offset: on the node, and by the server through it",
    "results.py": "results that a job reports: checked by the same rules on the node and by the server",
    "selection.py": "which jobs a request selects: written by the command line, read by the server",
}


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1]
    found = breaches(texts(root))
    for line in found:
        print(f"words: {line}")
    return 1 if found else 0


def breaches(files: Mapping[str, str]) -> list[str]:
    """One line for each breach in these files: texts by path."""
    return [*words(files), *glossary(files.get(GLOSSARY, "")), *catalogues(files), *names(files)]


def texts(root: Path) -> dict[str, str]:
    """Every text of the repository by path: what git tracks, and what it would if it were added."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True, stdout=subprocess.PIPE
    )
    found = {}
    for name in sorted(set(listed.stdout.decode().split("\0")) - {""}):
        try:
            found[name] = (root / name).read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
            continue  # deleted but not yet in a commit, or a picture
    return found


# --- words ---


def words(files: Mapping[str, str], allowed: Mapping[str, str] = ALLOWED) -> Iterator[str]:
    """Words for people and phrases that Roost does not use."""
    needed = set()
    for name, text in files.items():
        for line, breach in _words_of(text):
            if name in allowed:
                needed.add(name)
            else:
                yield f"{name}:{line}: {breach}"
    yield from (f"ALLOWED lists {name}, which does not need it" for name in allowed if name not in needed)


def _words_of(text: str) -> Iterator[tuple[int, str]]:
    """Line and breach of each word that is not ours."""
    for match in PEOPLE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, f"{match[0]!r}: write they, their or them"
    for match in PHRASES.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, "'is meant': write must be, or expected"


# --- glossary ---


def glossary(text: str) -> list[str]:
    """Keys that stand in the glossary more than once. What a key's row says of its context in parentheses does not count."""
    keys = re.findall(r"^\| \*\*(.+?)\*\*", text, re.MULTILINE)
    return [f"{GLOSSARY}: two rows for {key!r}" for key in sorted({key for key in keys if keys.count(key) > 1})]


# --- catalogues ---


def catalogues(files: Mapping[str, str]) -> Iterator[str]:
    """Sentences that a language lacks, has twice, or has with other parameters than English."""
    languages: dict[str, dict[str, str]] = defaultdict(dict)
    for name, text in files.items():
        if match := re.fullmatch(rf"{CATALOGUES}/(\w+)/(\w+)\.txt", name):
            yield from _collect(name, text, match[2], languages[match[1]])
    english = languages.get("en", {})
    for language, sentences in languages.items():
        yield from (f"{CATALOGUES}/{language}: no sentence for {code}" for code in english if code not in sentences)
        yield from (f"{CATALOGUES}/en: no sentence for {code}" for code in sentences if code not in english)
        for code in english.keys() & sentences.keys():
            ours, theirs = parameters(english[code]), parameters(sentences[code])
            if ours != theirs:
                yield f"{CATALOGUES}/{language}: {code} has the parameters {sorted(theirs)}, in English {sorted(ours)}"


def _collect(name: str, text: str, topic: str, into: dict[str, str]) -> Iterator[str]:
    """Add the sentences of a file; yield what is wrong with its lines."""
    for number, line in enumerate(text.splitlines(), start=1):
        code, equals, sentence = line.partition(" = ")
        if not line or line.startswith("#"):
            continue
        if not equals or not sentence.strip() or not code.startswith(f"{topic}."):
            yield f"{name}:{number}: expected `{topic}.CODE = sentence`"
        elif code in into:
            yield f"{name}:{number}: {code} stands there twice"
        else:
            into[code] = sentence


def parameters(sentence: str) -> set[str]:
    """The names in braces."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


# --- names of modules ---


def names(files: Mapping[str, str], layers: Mapping[str, str] = LAYERS, shared: Mapping[str, str] = SHARED) -> Iterator[str]:
    """File names that two modules have for no reason that is listed; and reasons that nothing needs."""
    folders = defaultdict(list)
    for path in files:
        folder, _, name = path.rpartition("/")
        below = folder.removeprefix(SOURCE).lstrip("/")
        if (
            folder.startswith(SOURCE)
            and name.endswith(".py")
            and not f"{below}/".startswith(tuple(f"{one}/" for one in layers))
        ):
            folders[name].append(folder)
    twice = {name: where for name, where in folders.items() if len(where) > 1}
    yield from (f"{name} is in {' and '.join(where)}: rename one" for name, where in twice.items() if name not in shared)
    yield from (f"SHARED lists {name}, which no two modules share" for name in shared if name not in twice)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
