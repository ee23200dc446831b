"""Many jobs from one text. Each line is options and a command, or JSON.

    # a comment
    -g 1 --name a  python train.py --seed 1
    -g 2  source venv/bin/activate && python train.py > log
    {"command": ["python", "t.py"], "gpus": 2}

Pure. Ten thousand lines take a few hundredths of a second: equal options are parsed once, and the slow parser runs only
on lines with quotes.
"""

from roost.cli.parse.job_options import FLAGS, SPEC_KEYS, check_text, environment, spec_of
from roost.cli.parse.options import Any, Args, HelpAsked, Json, Mapping, Option, UsageError, parse_options
from roost.cli.parse.scripts import next_word
from roost.client import jsontext

# A command with none of these characters needs no shell.
_SHELL = frozenset("|&;<>()$`\\\"'*?[]{}#~!\n")
_OWN_KEYS = ("command", "script", "cwd", "env", "umask", "mem_auto", "after", "after_any", "after_fail", "open")
JOB_KEYS = frozenset((*_OWN_KEYS, *FLAGS, *(key for _, key in SPEC_KEYS)))
"""Keys of a job as JSON."""


class Bulk:
    """The jobs of a text: specs, their environments, and the line of each."""

    def __init__(self) -> None:
        self.jobs: list[Json] = []
        self.envs: list[dict[str, str]] = []
        self.lines: list[int] = []
        self.strange: list[str] = []


class BulkReader:
    """Reads lines into a `Bulk`. `defaults` are the options of the command line, `common` the keys that every job gets."""

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
            raise UsageError("cli.help_in_line", name=name, number=number) from None
        except ValueError as error:
            raise UsageError(f"{name}:{number}: {error}") from None
        return bulk

    def _job(self, line: str) -> Json:
        if "\0" in line:
            raise UsageError("cli.bulk_nul")
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
        """The options as words, and the rest of the line unchanged."""
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
            raise UsageError("cli.no_command")
        return tuple(words[:at]), line.split(None, at)[at]

    def _split_quoted(self, line: str) -> tuple[tuple[str, ...], str]:
        """`_split` for lines with quotes. Quotes in the command stay: the shell reads them."""
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
            raise UsageError("cli.no_command")
        return tuple(words), rest

    def _takes_next(self, word: str) -> bool:
        """Whether the next word is this option's value. Unknown options are reported by the parser."""
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
            raise UsageError("cli.unknown_key", unknown=unknown[0])
        if "command" not in given:
            raise UsageError("cli.no_command")
        base = self._seen.get(())
        if base is None:
            base = self._seen[()] = self._spec(())
        spec = {**base, **given}
        if isinstance(own := given.get("env"), dict):
            spec["env"] = {**self._bulk.envs[base["env"]], **own}
        return spec


def command_of(text: str) -> "str | list[str]":
    """The command of a line: an argv if no shell is needed, else a shell line."""
    if _SHELL.isdisjoint(text):
        words = text.split()
        if "=" not in words[0]:
            return words
        return text
    quote = text[0]
    if quote in "'\"" and text.find(quote, 1) == len(text) - 1 and "\\" not in text:
        return text[1:-1]
    return text
