"""Strict JSON parsing, and validation faults in plain words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic_core import ErrorDetails

from wenyuan.contract.fields import MAX_INTEGER, NO_NUL, SAID_OF_NUL
from wenyuan.core.errors import Fault, InvalidRequest, listed, msg

# JSON as RFC 8259 means it: what two readers could take differently is refused, before any value is used.
#
# The standard reader accepts ``NaN``, numbers that overflow, repeated keys and lone surrogates, and its
# recursion ends in a `RecursionError`. Here each of them is an `InvalidRequest` that says where, and never
# repeats what was sent.


MAX_DEPTH = 32
MAX_FAULTS = 100

ROOT = "$"
"""The path of the whole document in a `Fault`."""

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)  # an unterminated one runs to the end
_NOT_BRACKET = re.compile(r"[^\[\]{}]+")
_PAIRS = str.maketrans("[{]}", "(())")
# Only an escape can bring in a surrogate or a NUL: UTF-8 has no surrogates, and a raw NUL is no JSON.
_SUSPECT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_UNPAIRED = re.compile(r"[\x00\ud800-\udfff]")
_SHOWABLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,39}")

Place = tuple["Place", str | int] | None
"""Where a value stands in a tree: the place of what holds it and its key or index; None is the tree."""


class _Refused:
    """Placeholder in the parsed tree for a forbidden value, until `walk` finds its path."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


class _Marks:
    """Parser hooks of one `loads` call; `found` tells whether any value was refused."""

    def __init__(self) -> None:
        self.found = False

    def refuse(self, message: str) -> _Refused:
        self.found = True
        return _Refused(message)

    def constant(self, _name: str) -> object:
        return self.refuse("must not be NaN or Infinity")

    def integer(self, digits: str) -> object:
        # The length first: converting a million digits takes quadratic time.
        if len(digits) <= 17 and abs(int(digits)) <= MAX_INTEGER:
            return int(digits)
        return self.refuse("must be an integer from -2^53 to 2^53")

    def number(self, digits: str) -> object:
        value = float(digits)
        return value if math.isfinite(value) else self.refuse("must fit in a 64-bit float")

    def members(self, pairs: list[tuple[str, object]]) -> object:
        members = dict(pairs)
        if len(members) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    members[key] = self.refuse("must occur only once in its object")
                seen.add(key)
        return members


def safe_key(key: str) -> str:
    """A key for an error message: itself if it looks like an identifier, else ``?``."""
    return key if _SHOWABLE_KEY.fullmatch(key) else "?"


def walk(tree: object) -> Iterator[tuple[Place, int, object]]:
    """Every value of a tree with its place (see `path_of`) and depth, the tree itself at depth 0.

    A key comes as a value of its own, right before what it names, at the same place.
    """
    pending: list[tuple[Place, int, object]] = [(None, 0, tree)]
    while pending:
        place, depth, value = pending.pop()
        yield place, depth, value
        if isinstance(value, dict):
            for key, member in reversed(value.items()):
                pending += (((place, key), depth + 1, member), ((place, key), depth + 1, key))
        elif isinstance(value, list):
            pending += [((place, i), depth + 1, value[i]) for i in range(len(value) - 1, -1, -1)]


def path_of(place: Place) -> str:
    """The path of a place: ``context.tags[0]``, or `ROOT` for the tree itself."""
    parts: list[str] = []
    while place:
        place, step = place
        parts.append(f"[{step}]" if isinstance(step, int) else f".{safe_key(step)}")
    path = "".join(reversed(parts))
    return path[1:] if path.startswith(".") else f"{ROOT}{path}"


def _refuse(message: str) -> InvalidRequest:
    return InvalidRequest(msg("the body {message}", message=message), faults=(Fault(ROOT, message),))


def _decode(body: bytes) -> str:
    if body.startswith(b"\xef\xbb\xbf"):
        raise _refuse("must not start with a byte order mark")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refuse(msg("is not UTF-8 at byte {start}", start=error.start)) from error
    if not text.strip(" \t\r\n"):
        raise _refuse("is empty")
    return text


def _check_depth(text: str) -> None:
    """Refuse what is nested too deep, without recursion and in time linear in the text.

    Each round removes the innermost brackets, so the rounds count the depth.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    brackets = _NOT_BRACKET.sub("", _STRING.sub("", text)).translate(_PAIRS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace("()", "")
        if not brackets:
            return
    raise _refuse(msg("is nested deeper than {max_depth}, or its brackets do not match", max_depth=MAX_DEPTH))


def _faults(tree: object) -> Iterator[Fault]:
    for place, _, value in walk(tree):
        if isinstance(value, _Refused):
            yield Fault(path_of(place), value.message)
        elif isinstance(value, str) and _UNPAIRED.search(value):
            yield Fault(path_of(place), "must not contain NUL or half of a surrogate pair")


def option(text: str, name: str, hint: str) -> Any:
    """Parse JSON typed by a user, as strictly as `loads`; `name` is its name in messages.

    Raises:
        InvalidRequest: with the hint.
    """
    try:
        return loads(text.encode("utf-8", "surrogatepass"))
    except InvalidRequest as error:
        why = error.message.removeprefix("the body ")
        told = msg("{place} {fault}", place=name, fault=why)
        if why == error.message:
            told = msg("{place}: {fault}", place=name, fault=why)
        raise InvalidRequest(told, faults=error.faults, hint=hint) from error


def loads(body: bytes) -> object:
    """Parse a JSON text strictly.

    Args:
        body: UTF-8 without a byte order mark.

    Returns:
        None, bool, int (magnitude at most 2^53), finite float, str (whole code points, no NUL), list or
        dict (no key twice), at most `MAX_DEPTH` deep.

    Raises:
        InvalidRequest: anything else; `faults` names the place, never the content.
    """
    text = _decode(body)
    _check_depth(text)
    marks = _Marks()
    try:
        tree = json.loads(
            text,
            parse_constant=marks.constant,
            parse_int=marks.integer,
            parse_float=marks.number,
            object_pairs_hook=marks.members,
        )
    except json.JSONDecodeError as error:
        raise _refuse(
            msg("is not JSON: error at line {lineno}, column {colno}", lineno=error.lineno, colno=error.colno)
        ) from error
    if marks.found or _SUSPECT.search(text):
        faults = tuple(islice(_faults(tree), MAX_FAULTS))
        if faults:
            raise InvalidRequest(listed(faults[:3]), faults=faults)
    return tree


# What is wrong with a value, in our words: pydantic tells the kind of a fault and the limits that it breaks.


_DAY = "must be a date such as 2024-05-20"
_MESSAGES: Mapping[str, str] = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_from_float": "must be an integer",
    "date_type": _DAY,
    "date_parsing": _DAY,
    "date_from_datetime_parsing": _DAY,
    "date_from_datetime_inexact": _DAY,
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be an array",
    "tuple_type": "must be an array",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "dataclass_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",  # arrays and objects: one entry is all that is ever asked for
    "too_long": "must have at most {max_length} entries",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "string_pattern_mismatch": "must match {pattern}",
}


def said_of(error: ErrorDetails) -> str:
    """The fault's message without its place and value; in pydantic's words if we have none."""
    limits = error.get("ctx", {})
    if isinstance(said := limits.get("said"), str):
        return said
    if limits.get("pattern") == NO_NUL:
        return SAID_OF_NUL
    words = _MESSAGES.get(error["type"])
    if words is None:
        return error["msg"]
    return msg(words, **{name: _plain_number(limit) for name, limit in limits.items()})


def _plain_number(limit: object) -> object:
    """A limit as people write it: 0 instead of 0.0."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


Step = str | int
Told = tuple[tuple[Step, ...], str, str]
"""Place, kind and words of a fault."""


def unbranched(details: Sequence[ErrorDetails], payload: object) -> list[Told]:
    """Faults of a value that may have one of several types, reported once for the type it most likely is.

    Where a value may be of several kinds, pydantic tells what is wrong with it as each of them. Told here is what is
    wrong with it as the kind that it is; where it is none of them, once, what it may be.
    """
    found: list[Told] = [(error["loc"], error["type"], said_of(error)) for error in details]
    while any(_branch(steps, kind, payload) is not None for steps, kind, _ in found):
        found = _merged(found, payload)
    return found


def _merged(told: Sequence[Told], payload: object) -> list[Told]:
    """Faults whose place has a step for the union's branch, with that step removed."""
    found: list[Told] = []
    branches: dict[tuple[Step, ...], list[Told]] = {}
    for steps, kind, said in told:
        at = _branch(steps, kind, payload)
        if at is None:
            found.append((steps, kind, said))
        else:
            branches.setdefault(steps[:at], []).append((steps[at + 1 :], kind, said))
    for place, faults in branches.items():
        meant = [one for one in faults if one[0] or not one[1].endswith("_type")]
        if meant:
            found += [((*place, *rest), kind, said) for rest, kind, said in meant]
        else:
            *others, last = dict.fromkeys(said.removeprefix("must be ") for _, _, said in faults)
            found.append(
                (place, faults[0][1], f"must be {', '.join(others)} or {last}" if others else f"must be {last}")
            )
    return found


def _branch(steps: Sequence[Step], kind: str, value: Any) -> int | None:
    """Index of the step in a place that names a union's branch instead of a member; None without one."""
    for at, step in enumerate(steps):
        named = isinstance(value, Mapping)
        if not (step in value if named else isinstance(step, int) and isinstance(value, list) and step < len(value)):
            return None if named and kind == "missing" and at == len(steps) - 1 else at
        value = value[step]
    return None
