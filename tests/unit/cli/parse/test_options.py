"""The quick parser and argparse read the same table; they must read the same command lines."""

from __future__ import annotations

import argparse
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.cli.parse import values
from roost.cli.parse.help_text import parser_of
from roost.cli.parse.options import COMMAND, FLAG, MANY, ONE, TAIL, HelpAsked, Operand, Option, UsageError, Verb, parse
from roost.cli.parse.verb_table import VERBS, load
from roost.cli.verbs.jobs import ls

SUBMIT = load("submit").VERB
SAMPLES = {
    values.count: "3",
    values.port: "7171",
    values.since: "2026-11-20",
    values.integer: "-5",
    values.percent: "30",
    values.shared_memory: "8G",
    values.least_memory: "40G",
    values.alternatives: "A100|H100",
    values.weight: "-0.5",
    values.quota: "none",
    values.seconds: "2h30m",
    values.items: "a,b",
    values.ids: "10-20,@",
    values.assignment: "A=b c",
    values.begin: "2026-11-20 08:00",
    values.simulated: "4x24G",
    values.file: "key.pem",
    values.file_or_off: "off",
    ls.order: "name",
    None: "some text",
}


def spellings(option: Option) -> list[list[str]]:
    """Every way to give an option its sample value."""
    if option.kind is FLAG:
        return [[name] for name in option.names]
    value = SAMPLES[option.convert]  # type: ignore[index]
    found = []
    for name in option.names:
        found.append([name, value])
        found.append([f"{name}={value}"])
        if not name.startswith("--"):
            found.append([name + value])
    return found


def by_argparse(verb: Verb, words: list[str]) -> dict[str, Any]:
    parser = parser_of(verb, 80)
    parser.exit_on_error = False
    if verb.operands and verb.operands[-1].count is COMMAND:
        found = vars(parser.parse_args(words))
        if found["command"][:1] == ["--"]:  # argparse leaves the mark in what remains
            found["command"] = found["command"][1:]
    else:
        found = vars(parser.parse_intermixed_args(words))
    return found


def by_us(verb: Verb, words: list[str]) -> dict[str, Any]:
    found = dict(vars(parse(verb, words)))
    del found["argv"]
    if all(option.dest != "json" for option in verb.options):
        del found["json"]
    return found


def operand_words(verb: Verb) -> list[str]:
    words: list[str] = []
    for operand in verb.operands:
        if operand.count == "1":
            words.append(operand.choices[0] if operand.choices else "7")
        elif operand.count in ("*", "+"):
            words += ["7", "9"]
        elif operand.count is COMMAND:
            words += ["python", "t.py", "--lr", "0.1", "-g", "9"]
    return words


@pytest.mark.parametrize("name", VERBS)
def test_both_read_every_option_alike(name: str) -> None:
    verb = load(name).VERB
    rest = operand_words(verb)
    assert by_us(verb, rest) == by_argparse(verb, rest)
    for option in verb.options:
        for words in spellings(option):
            line = [*words, *rest]
            assert by_us(verb, line) == by_argparse(verb, line), line


@pytest.mark.parametrize("name", VERBS)
def test_no_two_options_of_a_verb_share_a_name(name: str) -> None:
    names = [spelling for option in load(name).VERB.options for spelling in option.names]
    assert len(names) == len(set(names))
    dests = [option.dest for option in load(name).VERB.options] + [operand.dest for operand in load(name).VERB.operands]
    assert len(dests) == len(set(dests))


@given(st.data())
def test_both_read_any_mixture_of_options_alike(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(SUBMIT.options), max_size=6))
    words = [word for option in chosen for word in data.draw(st.sampled_from(spellings(option)))]
    if data.draw(st.booleans()):
        words.append("--")
    words += data.draw(st.sampled_from([["true"], ["python", "-c", "x", "-g", "3", "--"], []]))
    assert by_us(SUBMIT, words) == by_argparse(SUBMIT, words)


@pytest.mark.parametrize(
    "words",
    [["--gpuss", "1"], ["-Z"], ["--gpus"], ["--gpus", "x"], ["--name", "--hold", "x"], ["--hold=1"], ["-g", "-q", "x"]],
)
def test_both_refuse_the_same(words: list[str]) -> None:
    with pytest.raises(UsageError):
        by_us(SUBMIT, words)
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        by_argparse(SUBMIT, words)


def test_one_dash_too_few_is_seen() -> None:
    with pytest.raises(UsageError) as caught:
        parse(SUBMIT, ["-gpu", "2", "x"])
    assert caught.value.hint == "did you mean --gpus?"


def test_what_follows_the_command_belongs_to_it() -> None:
    args = parse(SUBMIT, ["-g", "2", "python", "t.py", "--lr", "0.1", "-g", "3", "--help", "--", "--name"])
    assert args.gpus == 2
    assert args.command == ["python", "t.py", "--lr", "0.1", "-g", "3", "--help", "--", "--name"]
    assert args.name is None


def test_dashes_end_the_options() -> None:
    assert parse(SUBMIT, ["-g2", "--", "-odd", "--name"]).command == ["-odd", "--name"]


def test_flags_may_be_bundled_with_a_value_at_the_end() -> None:
    args = parse(SUBMIT, ["-nqg2", "x"])
    assert (args.dry_run, args.quiet, args.gpus) == (True, True, 2)


def test_a_negative_number_is_a_value() -> None:
    assert parse(SUBMIT, ["-p", "-5", "x"]).priority == -5


def test_repeated_options_add_up_and_others_are_replaced() -> None:
    args = parse(SUBMIT, ["-l", "a,b", "--label", "c", "-g1", "-g2", "x"])
    assert (args.label, args.gpus) == (["a", "b", "c"], 2)


def test_operands_and_options_may_be_mixed() -> None:
    args = parse(load("wait").VERB, ["12", "--timeout", "5s", "13", "-q"])
    assert (args.ids, args.timeout, args.quiet) == (["12", "13"], 5, True)


def test_a_command_behind_dashes_is_apart_from_the_ids() -> None:
    args = parse(load("edit").VERB, ["12", "-p1", "13", "--", "python", "-x"])
    assert (args.ids, args.priority, args.command) == (["12", "13"], 1, ["python", "-x"])


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["-g", "1", "--help", "x"], ["-qh"]])
def test_help_is_noticed_among_the_options(words: list[str]) -> None:
    with pytest.raises(HelpAsked):
        parse(SUBMIT, words)


@pytest.mark.parametrize(
    ("verb", "words", "said"),
    [
        ("submit", ["--gpuss", "1"], "unknown option --gpuss"),
        ("submit", ["-gx", "a"], "--gpus x: must be a whole number"),
        ("submit", ["-g", "-1", "a"], "--gpus -1: must not be negative"),
        ("submit", ["--mem", "8", "a"], "--mem 8: expected a size like 8G"),
        ("submit", ["--time"], "--time needs a value: TIME"),
        ("submit", ["-qZ"], "unknown option -Z in -qZ"),
        ("move", ["12"], "PLACE is missing"),
        ("gpu", ["burn", "2"], "burn: must be one of disable"),
        ("backup", ["a", "b"], "too many arguments: b"),
    ],
)
def test_mistakes_are_named(verb: str, words: list[str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(load(verb).VERB, words)
    assert said in caught.value.message


def test_a_near_miss_is_recognised() -> None:
    with pytest.raises(UsageError) as caught:
        parse(SUBMIT, ["--piority", "1", "x"])
    assert caught.value.hint == "did you mean --priority?"


def test_a_required_operand_behind_any_number_gets_its_word() -> None:
    verb = Verb("x", "x", operands=(Operand("a", "*", "A", ""), Operand("b", "1", "B", "")))
    assert vars(parse(verb, ["1", "2", "3"]))["a"] == ["1", "2"]
    assert vars(parse(verb, ["1"])) == {"json": False, "argv": ["1"], "a": [], "b": "1"}


def test_parsing_a_submit_is_quick() -> None:
    words = ["-g", "2", "--mem", "8G", "--time", "2h", "--name", "x", "python", "train.py", "--lr", "0.1"]
    began = time.perf_counter()
    for _ in range(200):
        parse(SUBMIT, words)
    assert (time.perf_counter() - began) / 200 < 0.005


def test_kinds_are_told_apart_by_identity() -> None:
    assert len({id(kind) for kind in (FLAG, ONE, MANY, COMMAND, TAIL)}) == 5
