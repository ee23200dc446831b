"""Tables and wrapped text for terminals; Chinese characters count as two columns.

Pure except for `screen`. Names and commands of jobs pass through `clean`, so they cannot send control codes.
"""

import os
import sys

from roost.cli.parse.options import Any, Args, Callable, Json, Mapping, Sequence
from roost.client.jsontext import dumps

_COLOURS = {"green": "32", "red": "31", "yellow": "33", "blue": "34", "cyan": "36", "dim": "2", "bold": "1"}
_NARROWEST = 40
_LAST_COLUMN = 30  # other columns shrink until the last one has this width


class Screen:
    """The width of the output, and whether it shows colour."""

    __slots__ = ("colour", "width")

    def __init__(self, width: int = 80, colour: bool = False) -> None:
        self.width = width
        self.colour = colour

    def paint(self, text: str, colour: str) -> str:
        """The text in a colour, where there are colours."""
        if not self.colour or not colour:
            return text
        return f"\033[{_COLOURS[colour]}m{text}\033[0m"


def screen(is_wide: bool = False) -> Screen:
    """The standard output: a terminal's width, or 80 columns without colour; unlimited if `is_wide`."""
    if is_wide:
        return Screen(100_000)
    if not sys.stdout.isatty():
        columns = os.environ.get("COLUMNS", "")
        return Screen(int(columns) if columns.isdigit() else 80)
    try:
        width = os.get_terminal_size(1).columns or 80
    except OSError:
        width = 80
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Screen(max(width, _NARROWEST), not plain)


def clean(text: object) -> str:
    """One line, with control characters shown as escapes."""
    string = str(text)
    if string.isprintable():
        return string
    return "".join(char if char.isprintable() else " " if char in "\n\t\r" else ascii(char)[1:-1] for char in string)


def width_of(text: str) -> int:
    """Columns on a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata

    total = 0
    for char in text:
        if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Me", "Mn"):
            continue
        total += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return total


def cut(text: str, width: int) -> str:
    """Cut to the width; … marks the cut."""
    if width_of(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    if text.isascii():
        return text[: width - 1] + "…"
    kept = ""
    for char in text:
        if width_of(kept + char) > width - 1:
            break
        kept += char
    return kept + "…"


def cut_inside(text: str, width: int) -> str:
    """Cut in the middle: for names that differ at their end, like node names."""
    if not text.isascii() or len(text) <= width or width < 5:
        return cut(text, width)
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


class Column:
    """A column: title, cell text, alignment, maximum width, minimum width. `inside` cuts long texts in the middle."""

    __slots__ = ("inside", "least", "most", "of", "right", "title")

    def __init__(
        self,
        title: str,
        of: "Callable[[Any], str | Cell]" = str,
        *,
        right: bool = False,
        most: int = 0,
        least: int = 0,
        inside: bool = False,
    ) -> None:
        self.title = title
        self.of = of
        self.right = right
        self.most = most
        self.least = least
        self.inside = inside


class Cell:
    """A text with a colour."""

    __slots__ = ("colour", "text")

    def __init__(self, text: str, colour: str = "") -> None:
        self.text = text
        self.colour = colour


def listed(columns: "Sequence[Column]", things: "Sequence[object]", screen: Screen) -> list[str]:
    """A table with a row for each thing."""
    return table(columns, [[column.of(thing) for column in columns] for thing in things], screen)


def table(columns: "Sequence[Column]", rows: "Sequence[Sequence[str | Cell]]", screen: Screen) -> list[str]:
    """A table that fits the screen: the last column gets the remaining width."""
    cells = [[cell if isinstance(cell, Cell) else Cell(clean(cell)) for cell in row] for row in rows]
    widths = []
    for at, column in enumerate(columns):
        widest = max([width_of(column.title), *(width_of(row[at].text) for row in cells)])
        widths.append(min(widest, column.most) if column.most else widest)
    _squeeze(columns, widths, screen.width)
    title = [Cell(column.title, "dim") for column in columns]
    return [_line(columns, row, widths, screen) for row in [title, *cells]]


def _squeeze(columns: "Sequence[Column]", widths: list[int], width: int) -> None:
    """Narrow the columns that allow it, then give the rest of the width to the last one."""
    used = sum(widths[:-1]) + 2 * (len(widths) - 1)
    missing = used + min(widths[-1], _LAST_COLUMN) - width
    for at, column in enumerate(columns[:-1]):
        if column.least and missing > 0:
            given = min(missing, max(widths[at] - column.least, 0))
            widths[at] -= given
            used -= given
            missing -= given
    widths[-1] = max(min(widths[-1], width - used), 1)


def _line(columns: "Sequence[Column]", row: "Sequence[Cell]", widths: list[int], screen: Screen) -> str:
    parts = []
    last = len(columns) - 1
    for at, (column, cell, width) in enumerate(zip(columns, row, widths, strict=True)):
        text = (cut_inside if column.inside else cut)(cell.text, width)
        space = " " * (width - width_of(text))
        painted = screen.paint(text, cell.colour) if text.strip() else text
        if column.right:
            parts.append(space + painted)
        else:
            parts.append(painted + (space if at < last else ""))
    line = "  ".join(parts)
    return line if screen.colour else line.rstrip()


def bar(used: float, kept: float, whole: float, width: int = 10) -> str:
    """`[##==------]`: used, reserved, free. Anything above zero shows at least one cell."""
    filled = _cells(used, whole, width)
    marked = max(_cells(used + kept, whole, width) - filled, 1 if kept > 0 and filled < width else 0)
    return "[" + "#" * filled + "=" * marked + "-" * (width - filled - marked) + "]"


def _cells(part: float, whole: float, width: int) -> int:
    if not whole or part <= 0:
        return 0
    return max(round(width * min(part, whole) / whole), 1)


def fields(pairs: "Sequence[tuple[str, str]]", indent: str = "", width: int = 0) -> list[str]:
    """A line for each label and value, values aligned, wrapped if a width is given; empty values are skipped."""
    from roost.messages.terminal import say

    shown = [(say(f"shown.label_{name}"), value) for name, value in pairs if value]
    widest = max((width_of(label) for label, _ in shown), default=0)
    found = []
    for label, value in shown:
        head = f"{indent}{label}:{' ' * (widest - width_of(label))} "
        found += wrap(value, width, head, " " * width_of(head)) if width else [(head + value).rstrip()]
    return found


def wrap(text: str, width: int, head: str = "", indent: str = "") -> list[str]:
    """Wrap text at spaces: the first line begins with `head`, the others with `indent`.

    A word longer than a line is not broken: it is probably a path or an address to copy. Chinese is broken between
    characters.
    """
    found = []
    line = head
    empty = True
    for word in text.split(" "):
        space = "" if empty else " "
        for piece in _pieces(word):
            if not empty and width_of(line) + len(space) + width_of(piece) > width:
                found.append(line.rstrip())
                line, space = indent, ""
            line += space + piece
            space, empty = "", False
    found.append(line.rstrip())
    return found


_CLOSING, _OPENING = "，。、：；！？）】》」』”’", "（【《「『“‘"


def _pieces(word: str) -> list[str]:
    """The unbreakable pieces of a word: the whole word, or single characters in Chinese unless it is a path."""
    if word.isascii() or word.lstrip("'\"")[:1] in ("/", "~"):
        return [word]
    import unicodedata

    found: list[str] = []
    was_wide = True
    for char in word:
        is_wide = unicodedata.east_asian_width(char) in "WF"
        if found and (char in _CLOSING or found[-1][-1] in _OPENING or not (is_wide or was_wide)):
            found[-1] += char
        else:
            found.append(char)
        was_wide = is_wide
    return found


def print_json(value: object) -> None:
    """A value as JSON: indented on a terminal, else one line."""
    if sys.stdout.isatty():
        import json

        print(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        print(dumps(value))


def note(text: str) -> None:
    """A line on stderr, after everything printed so far."""
    sys.stdout.flush()
    print(text, file=sys.stderr)


def phrases(parts: "Sequence[str]") -> str:
    """Parts of a sentence, with the comma of the terminal's language between them."""
    from roost.messages.terminal import say

    return say("shown.phrases", phrases=parts)


def note_of(code: str, /, **params: object) -> None:
    """A message of the catalogue on stderr, after everything printed so far."""
    from roost.messages.terminal import say

    note(say(code, **params))


def announce(code: str, /, **params: object) -> None:
    """The same with the program's name before it."""
    from roost.messages.terminal import say

    note(f"roost: {say(code, **params)}")


def print_answer(args: "Args", answer: "Mapping[str, object]", text: str) -> int:
    """Print an answer as JSON, or `text`. Returns exit code 0."""
    if args.json:
        print_json({"version": 1, **answer})
    else:
        print(text)
    return 0


def print_shown(args: "Args", answer: "Json", lines: "Callable[[Screen], list[str]]") -> int:
    """Print an answer as JSON, or as lines followed by the notice in it."""
    if args.json:
        print_json(answer)
    else:
        write(lines(screen()))
        tell_notice(answer.get("notice"))
    return 0


def print_list(args: "Args", name: str, found: "Sequence[object]", columns: "Sequence[Column]", nothing: str) -> int:
    """Print a list as JSON or as a table; if it is empty, the message `nothing` on stderr."""
    if args.json:
        print_json({"version": 1, name: found})
    elif found:
        write(listed(columns, found, screen(args.given("wide"))))
    else:
        note_of(nothing)
    return 0


def print_each(args: "Args", name: str, found: "Sequence[Mapping[str, object]]", lines: "Callable[[Any], list[str]]") -> int:
    """Print the named things as JSON (a single one without a list) or as text with blank lines between."""
    if args.json:
        print_json({"version": 1, **found[0]} if len(found) == 1 else {"version": 1, name: found})
        return 0
    for position, each in enumerate(found):
        write(([""] if position else []) + lines(each))
    return 0


def notice_line(notice: "Json") -> str:
    """The administrator's notice and its author."""
    return f"{clean(notice['text'])} ({clean(notice['by'])})"


def tell_notice(notice: "Json | None") -> None:
    """Print the notice to stderr, if there is one."""
    if notice is not None:
        from roost.messages.terminal import say

        note(say("shown.notice", text=notice_line(notice)))


def write(lines: "Sequence[str]") -> None:
    """Print lines to stdout; characters that the locale lacks are escaped."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    sys.stdout.write("".join(line + "\n" for line in lines))
