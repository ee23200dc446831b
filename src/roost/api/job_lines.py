"""Many jobs from a text, by the parser of the command line: what a page shows is what `roost submit --from` would queue."""

import asyncio
from typing import Any

import msgspec

from roost.answers.jobs import JobLine, JobLines
from roost.api.calls import Call
from roost.cli.parse.bulk import LINE_OPTIONS, BulkReader, options_of
from roost.cli.parse.options import UsageError
from roost.cli.parse.values import expand
from roost.core.errors import BadRequest, RoostError
from roost.core.spec import JobSpec, check
from roost.messages import Message
from roost.server.views.selection import Select

Json = dict[str, Any]


MAX_DEPENDENCIES = 200_000
"""So many jobs the lines of one text may wait for in all."""


async def read_job_lines(call: Call, text: str, job: Json) -> JobLines:
    """The jobs of the text; keys of `job` are the options that every line has unless it says otherwise."""
    try:
        spec = msgspec.json.decode(msgspec.json.encode({"command": "true", **job}), type=JobSpec)
    except msgspec.ValidationError as error:
        raise BadRequest("request.lines_job", why=str(error)) from None
    check(spec)
    call.server.people.accounts_for(call.caller, {spec.user})
    env = own if isinstance(own := job.get("env"), dict) else {}  # a number would be that of an environment sent beside it
    read, reader = await asyncio.to_thread(_read, text, job, env, call.caller.home)
    dependencies = Dependencies(call)
    return JobLines(lines=[await _line(dependencies, number, found) for number, found in read], envs=reader.bulk.envs)


def _read(text: str, job: Json, env: dict[str, str], home: str) -> tuple[list[tuple[int, Json | UsageError]], BulkReader]:
    args, common = options_of(job)
    reader = BulkReader(LINE_OPTIONS, args, common, env, args.cwd or home)
    return list(reader.lines(text)), reader


class Dependencies:
    """The jobs that `12`, `10-20`, `@~2` or a name mean, as far as a request may ask for them."""

    def __init__(self, call: Call) -> None:
        self._call, self._left = call, MAX_DEPENDENCIES

    async def numbers(self, items: list[Any]) -> list[int]:
        words = list(map(str, items))
        if all(word[:1].isdecimal() for word in words):
            found = expand(words, self._left)
        else:
            found = [
                id for word in words for id in await self._call.server.selector.ids(self._call.caller, Select(ids=word))
            ]
        self._left = max(0, self._left - len(found))
        return found


async def _line(dependencies: Dependencies, number: int, found: Json | UsageError) -> JobLine:
    try:
        if isinstance(found, UsageError):
            raise found
        for key in ("after", "after_any", "after_fail"):
            if isinstance(items := found.get(key), list) and any(isinstance(item, str) for item in items):
                found[key] = await dependencies.numbers(items)
    except RoostError as error:
        return JobLine(line=number, job=None, problem=error.said)
    except UsageError as error:
        code, params = error.said or ("request.line", {"why": error.message})
        return JobLine(line=number, job=None, problem=Message(code, **params))
    except ValueError as error:
        return JobLine(line=number, job=None, problem=Message("request.line", why=str(error)))
    return JobLine(line=number, job=found, problem=None)
