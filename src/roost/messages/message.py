"""A message: a code and parameters, and how it becomes a sentence of a language.

A sentence holds its parameters in braces, with what they are after a colon:

    {job}  {names}             a text, a number, a message; a list becomes `a, b, c`
    {jobs:job|jobs}            a count and its noun: `1 job`, `3 jobs`; {jobs:?is|are}: the word alone
    {n:,}  {mib:size}  {s:span}               1,000 · 8 GiB · 2 h 10 min
    {names:or}  {reasons:;}  {phrases:,}      `a, b or c` · `a; b; c` · `a, b, c` as parts of a sentence
    {state:word}               a word of the catalogue: `word.queued`
    {{lr}}                     braces themselves

Nothing that comes from elsewhere can make rendering fail: a missing parameter stays as `{name}`, an unknown code is shown
with its parameters.
"""

from __future__ import annotations

from roost.messages.catalog import TYPE_CHECKING, Language, sentence

if TYPE_CHECKING:
    from typing import Any

PLAIN = "text.plain"
"""The code of a text that has no code: what a driver, ssh or an older node said."""

MAX_DEPTH = 8
_UNCOUNTABLE = float("inf")
_UNITS = {
    "en": (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)),
    "zh": (("天", 86_400), ("小时", 3_600), ("分钟", 60), ("秒", 1)),
}


class Message:
    """What is said, without its language. Parameters are numbers, texts, lists of them, or messages."""

    __slots__ = ("code", "params")
    code: str
    params: dict[str, Any]

    def __init__(self, code: str, /, **params: Any) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "params", params)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a message does not change: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.code == other.code and self.params == other.params

    def __hash__(self) -> int:
        return hash((self.code, repr(self.params)))

    def __repr__(self) -> str:
        return f"Message({self.code!r}, {self.params!r})"

    def __str__(self) -> str:
        """In English: for logs and printed exceptions."""
        return render(self, "en")

    def as_data(self) -> dict[str, Any]:
        """The message as JSON has it: `{"code": …, "params": {…}}`."""
        return {"code": self.code, "params": {name: _as_data(value) for name, value in self.params.items()}}

    def as_text(self) -> str:
        """The message as one text, for a column of the store; a plain text is itself."""
        import json

        return str(self) if self.code == PLAIN else json.dumps(self.as_data(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of_text(cls, text: str) -> Message:
        """The message that `as_text` gave, or a text of before messages had codes."""
        if text.startswith('{"code":'):
            import json

            try:
                return cls.of_data(json.loads(text))
            except ValueError:
                pass
        return plain(text)

    @classmethod
    def of_data(cls, data: Any) -> Message:
        """The message that JSON had: what `as_data` gave, or a text of one that had no codes yet."""
        if isinstance(data, dict) and isinstance(data.get("code"), str) and isinstance(data.get("params", {}), dict):
            message = cls(data["code"])
            message.params.update({str(name): _of_data(value) for name, value in data.get("params", {}).items()})
            return message
        return plain(data if isinstance(data, str) else repr(data))


class MessageError(Exception):
    """An exception that says a message: `MessageError("job.not_found", job=12)`. Its text is the English one."""

    def __init__(self, message: str | Message, /, **params: Any) -> None:
        self.said = message if isinstance(message, Message) else message_of(message, params)
        super().__init__(self.said)


def message_of(text: str, params: dict[str, Any]) -> Message:
    """A message of that code; a text that is no code is said as it stands."""
    return Message(text, **params) if is_code(text) else plain(text)


def plain(text: str) -> Message:
    """A text that has no code."""
    return Message(PLAIN, text=text)


def from_column(text: str | None) -> Message | None:
    """The message of a column that may be empty."""
    return None if text is None else Message.of_text(text)


def is_code(text: str) -> bool:
    """Whether that is a code of a catalogue, not a text."""
    return "." in text and " " not in text and sentence(text, "en") is not None


def hint_of(message: Message) -> Message | None:
    """What to do about it, if its catalogue has an advice."""
    code = f"{message.code}.hint"
    if sentence(code, "en") is None:
        return None
    hint = Message(code)
    hint.params.update(message.params)
    return hint


def render(message: Message, language: Language, depth: int = 0) -> str:
    """The message in that language."""
    if message.code == PLAIN:
        return str(message.params.get("text", ""))
    template = sentence(message.code, language)
    if template is None or depth > MAX_DEPTH:
        shown = ", ".join(f"{name}={value}" for name, value in message.params.items() if not isinstance(value, Message))
        return f"{message.code} ({shown})" if shown else message.code
    return template.format_map(_Params(message.params, language, depth))


class _Params(dict):  # type: ignore[type-arg]  # a subscript would need typing at run time
    """The parameters of a message, each as something that can be put into a sentence."""

    def __init__(self, params: dict[str, Any], language: Language, depth: int) -> None:
        super().__init__({name: _Param(value, language, depth) for name, value in params.items()})

    def __missing__(self, name: str) -> _Param:
        return _Param(f"{{{name}}}", "en", 0)


class _Param:
    """A value that `format` renders: what stands after the colon says how."""

    __slots__ = ("depth", "language", "value")

    def __init__(self, value: Any, language: Language, depth: int) -> None:
        self.value = value
        self.language = language
        self.depth = depth

    def __format__(self, form: str) -> str:
        return _value(self.value, form, self.language, self.depth)


def size(mib: int) -> str:
    """`512 MiB`, `8 GiB`, `23.5 GiB`."""
    if mib < 1024:
        return f"{mib} MiB"
    return f"{mib // 1024} GiB" if mib % 1024 == 0 else f"{mib / 1024:.1f} GiB"


def span(seconds: int, language: Language = "en") -> str:
    """`40 s`, `5 min`, `2 h 10 min`, `3 d 4 h`: the two units that matter."""
    parts = []
    for unit, length in _UNITS[language]:
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or f"0 {_UNITS[language][-1][0]}"


def _as_data(value: Any) -> Any:
    if isinstance(value, Message):
        return value.as_data()
    return [_as_data(one) for one in value] if isinstance(value, list | tuple) else value


def _of_data(value: Any) -> Any:
    if isinstance(value, dict):
        return Message.of_data(value)
    return [_of_data(one) for one in value] if isinstance(value, list) else value


def _value(value: Any, form: str, language: Language, depth: int) -> str:
    if isinstance(value, Message):
        return render(value, language, depth + 1)
    if isinstance(value, list | tuple):
        return _listed([_value(one, "", language, depth) for one in value], form, language)
    if form == "word":
        return sentence(f"word.{value}", language) or str(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _UNCOUNTABLE:
        return _number(value, form, language)
    return str(value)


def _number(value: int | float, form: str, language: Language) -> str:
    if form == "size":
        return size(int(value))
    if form == "span":
        return span(int(value), language)
    if form == ",":
        return f"{value:,}"
    one, bar, many = form.removeprefix("?").partition("|")
    if not bar:
        return str(value)
    word = one if value == 1 else many
    return word if form.startswith("?") else f"{value:,} {word}"


def _listed(texts: list[str], form: str, language: Language) -> str:
    if form == ";":
        return ("；" if language == "zh" else "; ").join(texts)
    if form == ",":
        return ("，" if language == "zh" else ", ").join(texts)
    comma = "、" if language == "zh" else ", "
    if form == "or" and len(texts) > 1:
        return comma.join(texts[:-1]) + ("或" if language == "zh" else " or ") + texts[-1]
    return comma.join(texts)
