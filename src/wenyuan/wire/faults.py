"""What is wrong with a value, in our words: pydantic tells the kind of a fault and the limits that it breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

__all__ = ["NO_NUL", "SAID_OF_NUL", "said_of", "unbranched"]

NO_NUL = r"^[^\u0000]*$"
"""A pattern that every text matches but one with NUL."""
SAID_OF_NUL = "must not contain NUL"

_MESSAGES: Mapping[str, str] = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",  # arrays and objects: one entry is all that is ever asked for
    "too_long": "must have at most {max_length} entries",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
}


def said_of(error: ErrorDetails) -> str:
    """What is wrong, without the place and without repeating the value; what has no words here says it in pydantic's."""
    limits = error.get("ctx", {})
    if limits.get("pattern") == NO_NUL:
        return SAID_OF_NUL
    words = _MESSAGES.get(error["type"])
    return error["msg"] if words is None else words.format(**limits)


Step = str | int
Told = tuple[tuple[Step, ...], str, str]
"""Place, kind and words of a fault."""


def unbranched(details: Sequence[ErrorDetails], payload: object) -> list[Told]:
    """The faults of a value, as whoever wrote the value sees it.

    Where a value may be of several kinds, pydantic tells what is wrong with it as each of them. Told here is what is
    wrong with it as the kind that it is; where it is none of them, once, what it may be.
    """
    found: list[Told] = [(error["loc"], error["type"], said_of(error)) for error in details]
    while any(_branch(steps, kind, payload) is not None for steps, kind, _ in found):
        found = _merged(found, payload)
    return found


def _merged(told: Sequence[Told], payload: object) -> list[Told]:
    """The same with one step less in each place that has a step too many."""
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
    """Which step of a place is no member of the value but one of the kinds that it may be of; None: none is."""
    for at, step in enumerate(steps):
        named = isinstance(value, Mapping)
        if not (step in value if named else isinstance(step, int) and isinstance(value, list) and step < len(value)):
            return None if named and kind == "missing" and at == len(steps) - 1 else at
        value = value[step]
    return None
