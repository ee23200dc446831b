"""Options from `#ROOST` and `#SBATCH` lines of script files.

Only `read_script` touches the disk. Directives are read from the comment block at the top, as sbatch does. Options on
the command line override them, and `#ROOST` overrides `#SBATCH`, in whatever order they stand.
"""

import os

from roost.cli.parse.options import UsageError
from roost.cli.parse.values import InvalidValue

_HEAD = 65536
_MOST = 8 << 20


def read_script(path: str) -> str | None:
    """The text of a script with directives; None for any other file."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _MOST:
            return None
        with open(path, "rb") as file:
            head = file.read(_HEAD)
            if (b"#ROOST" not in head and b"#SBATCH" not in head) or b"\0" in head:
                return None
            data = head + file.read()
    except OSError:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("cli.script_utf8", path=path) from None
    return text if _directives(text) else None


class Directives:
    """The options of a script as words: its own, those for Slurm, and the Slurm options that Roost ignores."""

    def __init__(self) -> None:
        self.own: list[str] = []
        self.slurm: list[str] = []
        self.ignored: list[str] = []


def directives(text: str, path: str) -> Directives:
    """The options of a script."""
    script = Directives()
    for number, kind, line in _directives(text):
        try:
            found = split_words(line)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}") from None
        if kind == "#ROOST":
            script.own.extend(found)
        else:
            understood, unknown = sbatch_options(found)
            script.slurm.extend(understood)
            script.ignored.extend(name for name in unknown if name not in script.ignored)
    return script


def split_words(line: str) -> list[str]:
    """Split a line by the shell's quoting rules, up to a comment."""
    words: list[str] = []
    at, end = 0, len(line)
    while True:
        while at < end and line[at] in " \t\r\n":
            at += 1
        if at >= end or line[at] == "#":
            return words
        word, at = next_word(line, at)
        words.append(word)


def next_word(line: str, at: int) -> tuple[str, int]:
    """The word that starts at `at`, unquoted, and the position after it. Raises ValueError for an unclosed quote."""
    parts: list[str] = []
    end = len(line)
    while at < end and line[at] not in " \t\r\n":
        char = line[at]
        if char == "'":
            close = line.find("'", at + 1)
            if close < 0:
                raise InvalidValue("cli.single_quote")
            parts.append(line[at + 1 : close])
            at = close + 1
        elif char == '"':
            text, at = _double_quoted(line, at + 1)
            parts.append(text)
        elif char == "\\":
            parts.append(line[at + 1 : at + 2])
            at += 2
        else:
            parts.append(char)
            at += 1
    return "".join(parts), at


def _double_quoted(line: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    while at < len(line):
        char = line[at]
        if char == '"':
            return "".join(parts), at + 1
        if char == "\\" and line[at + 1 : at + 2] in ('"', "\\", "$", "`"):
            at += 1
            char = line[at]
        parts.append(char)
        at += 1
    raise InvalidValue("cli.double_quote")


def _directives(text: str) -> "list[tuple[int, str, str]]":
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break
        for kind in ("#ROOST", "#SBATCH"):
            if stripped.startswith(kind) and stripped[len(kind) : len(kind) + 1] in (" ", "\t"):
                found.append((number, kind, stripped[len(kind) :]))
    return found


_SBATCH = {
    "-J": "--name", "--job-name": "--name",
    "-o": "--output", "--output": "--output",
    "-e": "--error", "--error": "--error",
    "-t": "--time", "--time": "--time",
    "-G": "gpus", "--gpus": "gpus", "--gres": "gres", "--gpus-per-node": "gpus",
    "-D": "--cwd", "--chdir": "--cwd",
    "-d": "dependency", "--dependency": "dependency",
    "-b": "--begin", "--begin": "--begin",
    "-w": "nodelist", "--nodelist": "nodelist",
    "-C": "constraint", "--constraint": "constraint",
    "--comment": "--desc",
    "--open-mode": "open-mode",
    "-H": "--hold", "--hold": "--hold",
    "--requeue": "--preemptible",
}  # fmt: skip
_SBATCH_FLAGS = ("-H", "--hold", "--requeue")
# Models that drivers report by the same name. Other types and features are specific to a Slurm site and are ignored.
_MODELS = frozenset((
    *("k80", "p4", "p40", "p100", "v100", "t4", "a2", "a10", "a16", "a30", "a40", "a100", "a800", "a4000", "a5000"),
    *("a6000", "l4", "l20", "l40", "l40s", "h20", "h100", "h200", "h800", "gh200", "b100", "b200", "b300", "gb200"),
    *("mi100", "mi210", "mi250", "mi250x", "mi300a", "mi300x", "mi325x"),
))  # fmt: skip
_AFTER = {"afterok": "--after", "afterany": "--after-any", "afternotok": "--after-fail"}


def sbatch_options(words: list[str]) -> tuple[list[str], list[str]]:
    """Slurm options as Roost options, and those that Roost ignores."""
    understood: list[str] = []
    unknown: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-"):
            continue  # the value of an option that is ignored
        name, equals, value = word.partition("=")
        if not word.startswith("--") and len(word) > 2:
            name, equals, value = word[:2], "=", word[2:].removeprefix("=")
        if name not in _SBATCH:
            unknown.append(name)
            continue
        if name in _SBATCH_FLAGS:
            understood.append(_SBATCH[name])
            continue
        if not equals:
            value = words[at] if at < len(words) else ""
            at += 1
        translated = _sbatch_value(_SBATCH[name], value)
        understood.extend(translated)
        if not translated:
            unknown.append(f"{name}={value}")
    return understood, unknown


def _sbatch_value(option: str, value: str) -> list[str]:
    """One option; nothing if the value is not supported."""
    if option == "gpus":
        kind, _, number = value.rpartition(":")
        return [f"--gpus={number}", *_model(kind)]
    if option == "gres":
        counts = [part.split(":") for part in value.split(",")]
        gpus = [fields for fields in counts if fields[0] == "gpu"]
        last = gpus[0][-1] if gpus else ""
        return [f"--gpus={last if last.isdecimal() else 1}", *_model(gpus[0][1] if len(gpus[0]) > 1 else "")] if gpus else []
    if option == "dependency":
        return _dependencies(value)
    if option == "nodelist":
        return [f"--node={name}" for name in expand_nodes(value)]
    if option == "constraint":
        words = value.strip("[]").split("|")
        return ["--gpu-model=" + "|".join(words)] if all(word.lower() in _MODELS for word in words) else []
    if option == "open-mode":
        return ["--append"] if value == "append" else ["--overwrite"] if value == "truncate" else []
    return [f"{option}={value}"]


def _model(kind: str) -> list[str]:
    return [f"--gpu-model={kind}"] if kind.lower() in _MODELS else []


def expand_nodes(text: str, most: int = 1000) -> list[str]:
    """`lab[1-3,07],box` as names; nothing if it cannot be parsed."""
    names: list[str] = []
    while text:
        head, bracket, rest = text.partition("[")
        *plain, prefix = head.split(",")
        names += [name for name in plain if name]
        if not bracket:
            return [*names, prefix] if prefix else names
        inside, close, text = rest.partition("]")
        suffix, _, text = text.partition(",")
        numbers = _numbers(inside, most)
        if not close or "[" in suffix or not numbers:
            return []
        names += [f"{prefix}{number}{suffix}" for number in numbers]
    return names


def _numbers(inside: str, most: int) -> list[str]:
    """`1-3,07` as texts with their leading zeros; nothing if it cannot be parsed or there are too many."""
    found: list[str] = []
    for part in inside.split(","):
        low, dash, high = part.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            return []
        first, last = int(low), int(high if dash else low)
        if last - first >= most:
            return []
        found += [f"{number:0{len(low)}}" for number in range(first, last + 1)]
    return found


def _dependencies(value: str) -> list[str]:
    found: list[str] = []
    for part in value.split(","):
        kind, _, jobs = part.partition(":")
        if kind not in _AFTER or not jobs:
            return []
        found.append(f"{_AFTER[kind]}={jobs.replace(':', ',')}")
    return found
