"""Many jobs from one text. Each line is options and a command, or JSON.

    # a comment
    -g 1 --name a  python train.py --seed 1
    -g 2  source venv/bin/activate && python train.py > log
    {"command": ["python", "t.py"], "gpus": 2}

Pure. Ten thousand lines take a few hundredths of a second: equal options are parsed once, and the slow parser runs only
on lines with quotes.
"""

from roost.cli.parse.job_options import FLAGS, JOB_OPTIONS, SPEC_KEYS, check_text, environment, spec_of
from roost.cli.parse.options import (
    Any,
    Args,
    HelpAsked,
    Iterator,
    Json,
    Mapping,
    Option,
    UsageError,
    Verb,
    blank,
    option_table,
    parse_options,
)
from roost.cli.parse.scripts import next_word
from roost.cli.parse.values import AUTO
from roost.client import jsontext

# A command with none of these characters needs no shell.
_SHELL = frozenset("|&;<>()$`\\\"'*?[]{}#~!\n")
_OWN_KEYS = ("command", "script", "cwd", "env", "umask", "mem_auto", "after", "after_any", "after_fail", "open")
JOB_KEYS = frozenset((*_OWN_KEYS, *FLAGS, *(key for _, key in SPEC_KEYS)))
"""Keys of a job as JSON."""

LINE_VERB = Verb("submit", "", options=JOB_OPTIONS)
LINE_OPTIONS = option_table(LINE_VERB)


class Bulk:
    """The jobs of a text: specs, their environments, and the line of each."""

    def __init__(self) -> None:
        self.jobs: list[Json] = []
        self.envs: list[dict[str, str]] = []
        self.lines: list[int] = []
        self.strange: list[str] = []


class BulkReader:
    """Reads lines into a `Bulk`. `defaults` are the options of the command line, `common` the keys that every job gets;
    directories are relative to `here`."""

    def __init__(
        self,
        table: "Mapping[str, Option]",
        defaults: Args,
        common: "Mapping[str, Any]",
        environ: "Mapping[str, str]",
        here: str = "",
    ) -> None:
        self._table = dict(table)
        self._defaults = defaults
        self._common = common
        self._environ = environ
        self._here = here
        self._seen: dict[tuple[str, ...], Json] = {}
        self._env_positions: dict[object, int] = {}
        self.bulk = Bulk()

    def read(self, text: str, name: str) -> Bulk:
        """Every job of the text. A UsageError names file and line."""
        for number, found in self.lines(text):
            if isinstance(found, UsageError):
                raise UsageError(f"{name}:{number}: {found.message}", found.hint)
            self.bulk.jobs.append(found)
            self.bulk.lines.append(number)
        return self.bulk

    def lines(self, text: str) -> "Iterator[tuple[int, Json | UsageError]]":
        """Every line that is one, with its number: its job, or what is wrong with it."""
        for number, line in enumerate(text.split("\n"), 1):
            stripped = line.strip()
            if not stripped or stripped[0] == "#":
                continue
            try:
                found: Json | UsageError = self._json_job(stripped) if stripped[0] == "{" else self._job(stripped)
            except UsageError as error:
                found = error
            except HelpAsked:
                found = UsageError("cli.help_in_line")
            except RecursionError:
                found = UsageError("cli.nested_line")
            except ValueError as error:
                found = UsageError(str(error))
            yield number, found

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
        spec = {**self._common, **spec_of(args, self._here)}
        check_text(spec)
        spec["env"] = self._env(args.export, tuple(args.env or ()))
        return spec

    def _env(self, export: str | None, assignments: tuple[str, ...]) -> int:
        key = (export, assignments)
        position = self._env_positions.get(key)
        if position is None:
            env, strange = environment(export, assignments, self._environ)
            position = self._env_positions[key] = len(self.bulk.envs)
            self.bulk.envs.append(env)
            self.bulk.strange.extend(strange)
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
            spec["env"] = {**self.bulk.envs[base["env"]], **own}
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


def options_of(job: "Mapping[str, Any]") -> tuple[Args, Json]:
    """A job's keys as the options that ask for the same, which a line may say again; and the keys that no option has."""
    args, rest = blank(LINE_VERB), {key: value for key, value in job.items() if key not in ("command", "script", "env")}
    given = args.__dict__
    if rest.get("stderr") == "stdout":
        given["merge"] = bool(rest.pop("stderr"))
    if rest.pop("mem_auto", False):
        rest["mem_mib"] = AUTO
    for name, key in (*SPEC_KEYS, ("cwd", "cwd")):
        if rest.get(key) not in (None, []) and (key, rest[key]) != ("gpus", 1):  # 1 is what `--gpu-id` may still change
            given[name] = rest.pop(key)
    for name in ("after", "after_any", "after_fail"):
        given[name] = [str(id) for id in rest.pop(name, None) or ()] or None
    for flag in FLAGS:
        given[flag] = bool(rest.pop(flag, False))
    if rest.get("open") in ("append", "overwrite"):
        given[rest.pop("open")] = True
    return args, rest
