"""Many jobs from one text: a job a line, options and then the command, or JSON.

    # a comment
    -g 1 --name a  python train.py --seed 1
    -g 2  source venv/bin/activate && python train.py > log
    {"command": ["python", "t.py"], "gpus": 2}

Pure: text in, JobSpecs out. Ten thousand lines take some hundredths of a second, because options that were seen before
are not parsed again and quotes are only looked for where there are some.
"""

from roost.cli.parse.job_options import FLAGS, SPEC_KEYS, check_text, environment, spec_of
from roost.cli.parse.options import Any, Args, HelpAsked, Json, Mapping, Option, UsageError, parse_options
from roost.cli.parse.scripts import next_word
from roost.client import jsontext

# A command with none of these means the same with and without a shell.
_SHELL = frozenset("|&;<>()$`\\\"'*?[]{}#~!\n")
_OWN_KEYS = ("command", "script", "cwd", "env", "umask", "mem_auto", "after", "after_any", "after_fail", "open")
JOB_KEYS = frozenset((*_OWN_KEYS, *FLAGS, *(key for _, key in SPEC_KEYS)))
"""What a job as JSON may have: what the options of a submit can say, and the command."""


class Bulk:
    """The jobs of a text: specs, the environments they point into, and the line that each came from."""

    def __init__(self) -> None:
        self.jobs: list[Json] = []
        self.envs: list[dict[str, str]] = []
        self.lines: list[int] = []
        self.strange: list[str] = []


class BulkReader:
    """Reads lines into a `Bulk`. `defaults` are the options of the command line, `common` what every job has."""

    def __init__(
        self,
        table: "Mapping[str, Option]",
        defaults: Args,
        common: "Mapping[str, Any]",
        environ: "Mapping[str, str]",
    ) -> None:
        self._table = dict(table)
        self._defaults = defaults
        self._common = common
        self._environ = environ
        self._seen: dict[tuple[str, ...], Json] = {}
        self._env_positions: dict[object, int] = {}
        self._bulk = Bulk()

    def read(self, text: str, name: str) -> Bulk:
        """Every job of the text. A UsageError names file and line."""
        bulk = self._bulk
        number = 0
        try:
            for number, line in enumerate(text.split("\n"), 1):
                stripped = line.strip()
                if not stripped or stripped[0] == "#":
                    continue
                bulk.jobs.append(self._json_job(stripped) if stripped[0] == "{" else self._job(stripped))
                bulk.lines.append(number)
        except UsageError as error:
            raise UsageError(f"{name}:{number}: {error.message}", error.hint) from None
        except HelpAsked:
            raise UsageError(f"{name}:{number}: --help has no place here") from None
        except ValueError as error:
            raise UsageError(f"{name}:{number}: {error}") from None
        return bulk

    def _job(self, line: str) -> Json:
        if "\0" in line:
            raise UsageError("a NUL byte")
        if line[0] != "-":
            options: tuple[str, ...] = ()
            rest = line
        else:
            options, rest = self._split(line)
        spec = self._seen.get(options)
        if spec is None:
            spec = self._seen[options] = self._spec(options)
        return {**spec, "command": command_of(rest)}

    def _split(self, line: str) -> tuple[tuple[str, ...], str]:
        """The option words and the rest of the line as it stands."""
        if '"' in line or "'" in line or "\\" in line:
            return self._split_quoted(line)
        words = line.split()
        at = 0
        while at < len(words) and words[at][0] == "-":
            at += 1
            if words[at - 1] == "--":
                break
            at += self._takes_next(words[at - 1])
        if at >= len(words):
            raise UsageError("the command is missing")
        return tuple(words[:at]), line.split(None, at)[at]

    def _split_quoted(self, line: str) -> tuple[tuple[str, ...], str]:
        """The same where there are quotes. Those of the command are left alone: a shell will read them."""
        words: list[str] = []
        rest = line
        value_next = False
        while rest and (value_next or rest[0] == "-"):
            word, at = next_word(rest, 0)
            words.append(word)
            rest = rest[at:].lstrip()
            if not value_next and word == "--":
                break
            value_next = not value_next and self._takes_next(word)
        if not rest:
            raise UsageError("the command is missing")
        return tuple(words), rest

    def _takes_next(self, word: str) -> bool:
        """True when the word behind this option is its value. What is no option is found when it is parsed."""
        option = self._table.get(word)
        if option is not None:
            return option.kind != "flag"
        if word[:2] == "--":
            return False
        for at in range(1, len(word)):  # -qg 2
            option = self._table.get("-" + word[at])
            if option is None or option.kind != "flag":
                return option is not None and at + 1 == len(word)
        return False

    def _spec(self, options: tuple[str, ...]) -> Json:
        args = Args()
        args.__dict__.update(self._defaults.__dict__)
        parse_options(self._table, options, args)
        spec = {**self._common, **spec_of(args)}
        check_text(spec)
        spec["env"] = self._env(args.export, tuple(args.env or ()))
        return spec

    def _env(self, export: str | None, assignments: tuple[str, ...]) -> int:
        key = (export, assignments)
        position = self._env_positions.get(key)
        if position is None:
            env, strange = environment(export, assignments, self._environ)
            position = self._env_positions[key] = len(self._bulk.envs)
            self._bulk.envs.append(env)
            self._bulk.strange.extend(strange)
        return position

    def _json_job(self, line: str) -> Json:
        given = jsontext.loads(line)
        unknown = sorted(set(given) - JOB_KEYS)
        if unknown:
            raise UsageError(f"unknown key {unknown[0]}", "the keys of a job are in docs/reference/api.md")
        if "command" not in given:
            raise UsageError("the command is missing")
        base = self._seen.get(())
        if base is None:
            base = self._seen[()] = self._spec(())
        spec = {**base, **given}
        if isinstance(own := given.get("env"), dict):
            spec["env"] = {**self._bulk.envs[base["env"]], **own}
        return spec


def command_of(text: str) -> "str | list[str]":
    """The command part of a line: an argv where no shell is needed, else a shell line."""
    if _SHELL.isdisjoint(text):
        words = text.split()
        if "=" not in words[0]:
            return words
        return text
    quote = text[0]
    if quote in "'\"" and text.find(quote, 1) == len(text) - 1 and "\\" not in text:
        return text[1:-1]
    return text
