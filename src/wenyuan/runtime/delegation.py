"""Objects that are made of parts, and hand on what callers ask of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

Given = ParamSpec("Given")
Result = TypeVar("Result")


def delegate(
    part: str, method: Callable[Concatenate[Any, Given], Result]
) -> Callable[Concatenate[Any, Given], Result]:
    """Make a method of a part available on its owner, with signature and docstring: a function, as decorators of classes
    know it.

    Args:
        part: The object's attribute that is the part.
    """

    @wraps(method)
    def called(owner: Any, /, *given: Given.args, **named: Given.kwargs) -> Result:
        return method(getattr(owner, part), *given, **named)

    return called


def method_of(
    part: str, method: Callable[Concatenate[Any, Given], Result]
) -> Callable[Concatenate[Any, Given], Result]:
    """As `delegate`, for an owner whose parts stay the same: it calls the part's own method, with nothing between."""
    return cast(Callable[Concatenate[Any, Given], Result], _PartMethod(part, delegate(part, method), method))


class _PartMethod:
    """Of the class it is the function that `delegate` makes; an owner is given the part's method with the first use."""

    def __init__(self, part: str, function: Callable[..., Any], method: Callable[..., Any]) -> None:
        self._part, self._function, self._method = part, function, method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Callable[..., Any]:
        if owner is None:
            return self._function
        bound = owner.__dict__[self._name] = MethodType(self._method, getattr(owner, self._part))
        return bound
