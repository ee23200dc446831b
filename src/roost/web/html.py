"""HTML that cannot be injected into: text becomes markup by `element` alone, which escapes whatever is not markup yet."""

from html import escape

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Html(str):
    """Markup that is safe as it stands."""

    __slots__ = ()


def element(tag: str, *children: Html | str | int | None, **attributes: str | int | bool | None) -> Html:
    """`<tag …>…</tag>`. A child of None is nothing; an attribute of None or False is left out, of True has no value.

    `class_` and `for_` lose their underscore, others have it as a dash.
    """
    words = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Html(f"<{tag}{words}>")
    return Html(f"<{tag}{words}>{join(*children)}</{tag}>")


def join(*children: Html | str | int | None) -> Html:
    """Several in a row."""
    return Html("".join(_text(child) for child in children if child is not None))


def _text(child: Html | str | int) -> str:
    return child if isinstance(child, Html) else escape(str(child))


def _attribute(name: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
