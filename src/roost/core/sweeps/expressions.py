"""`--where`: an expression over the parameters of a point, parsed by Python's grammar and evaluated here.

Pure, and safe with any text: numbers, texts, names, arithmetic, comparisons, `and or not in`; no calls, no
attributes, no subscripts, nothing that grows without bound.
"""

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from roost.core.errors import BadRequest
from roost.messages import MessageError, plain

Value = str | int | float | bool | None
MAX_LENGTH = 1000
MAX_EXPONENT = 100
MAX_NUMBER = 1 << 400

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_CONSTANTS: dict[str, Value] = {"null": None, "true": True, "false": False}
_ALLOWED = "numbers, 'texts', parameters, + - * / // % **, == != < <= > >= in, and or not, ( )"


class _NoAnswer(MessageError):
    """The expression has no value for these parameters."""


class Condition:
    """An expression that was checked: it uses known parameters and allowed operations only."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        if len(text) > MAX_LENGTH:
            raise BadRequest("points.where_too_long", count=len(text), most=MAX_LENGTH)
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
            _check(self._tree, names)
        except (SyntaxError, ValueError, MemoryError):
            raise BadRequest("points.where_not_an_expression", text=text, allowed=_ALLOWED) from None
        except RecursionError:
            raise BadRequest("points.where_too_deep") from None

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether it is true for these values; raises `BadRequest` when it cannot be evaluated."""
        try:
            return bool(_evaluated(self._tree, values))
        except (_NoAnswer, TypeError, ArithmeticError, ValueError, RecursionError) as error:
            point = " ".join(f"{name}={value}" for name, value in values.items())
            why = error.said if isinstance(error, _NoAnswer) else plain(str(error))
            raise BadRequest("points.where_fails", point=point, why=why) from None


def number_or_text(text: str | None) -> Value:
    """A value as an expression sees it: a number where it is one, else the text."""
    if text is None:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _check(node: ast.expr, names: Collection[str]) -> None:
    """Raise unless every part is allowed."""
    match node:
        case ast.Constant(value=str() | int() | float() | None):
            return
        case ast.Name(id=name):
            if name not in names and name not in _CONSTANTS:
                raise BadRequest("points.where_no_parameter", name=name, known=list(names))
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            for part in parts:
                _check(part, names)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd(), operand=part):
            _check(part, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            _check(left, names)
            _check(right, names)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARISONS for op in ops):
            for part in (left, *others):
                _check(part, names)
        case _:
            raise BadRequest("points.where_not_allowed", text=ast.unparse(node)[:60], allowed=_ALLOWED)


def _evaluated(node: ast.expr, values: Mapping[str, Value]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name] if name in values else _CONSTANTS[name]
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_evaluated(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_evaluated(part, values) for part in parts)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return tuple(_evaluated(part, values) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return not _evaluated(part, values)
        case ast.UnaryOp(op=op, operand=part):
            found = _number(_evaluated(part, values))
            return -found if isinstance(op, ast.USub) else found
        case ast.BinOp(left=left, op=op, right=right):
            return _computed(op, _number(_evaluated(left, values)), _number(_evaluated(right, values)))
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compared(_evaluated(left, values), ops, [_evaluated(other, values) for other in others])
        case _:
            raise TypeError("not understood")


def _number(value: Any) -> int | float:
    if isinstance(value, (int, float)):
        return value
    raise _NoAnswer("points.where_not_a_number", value=_shown(value))


def _computed(op: ast.operator, left: int | float, right: int | float) -> int | float:
    if isinstance(op, ast.Pow) and abs(right) > MAX_EXPONENT:
        raise _NoAnswer("points.where_exponent", most=MAX_EXPONENT)
    found = _ARITHMETIC[type(op)](left, right)
    if isinstance(found, complex):
        raise _NoAnswer("points.where_not_real", left=left, right=right)
    if isinstance(found, int) and abs(found) > MAX_NUMBER:
        raise _NoAnswer("points.where_too_large")
    return found  # type: ignore[no-any-return]


def _compared(left: Any, ops: list[ast.cmpop], others: list[Any]) -> bool:
    for op, right in zip(ops, others, strict=True):
        are_texts = isinstance(left, str) and isinstance(right, str)
        if isinstance(op, (ast.In, ast.NotIn)) and not (isinstance(right, tuple) or are_texts):
            raise _NoAnswer("points.where_in")
        try:
            if not _COMPARISONS[type(op)](left, right):
                return False
        except TypeError:
            raise _NoAnswer("points.where_no_order", left=_shown(left), right=_shown(right)) from None
        left = right
    return True


def _shown(value: Any) -> str:
    return "null" if value is None else repr(value)
