"""Objects that are made of parts, and hand on what callers ask of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def delegate(
    part: str, method: Callable[Concatenate[Any, Given], Result]
) -> Callable[Concatenate[Any, Given], Result]:
    """Make a method of a part available on its owner, with signature and docstring.

    Args:
        part: The object's attribute that is the part.
    """

    @wraps(method)
    def called(owner: Any, /, *given: Given.args, **named: Given.kwargs) -> Result:
        return method(getattr(owner, part), *given, **named)

    return called
