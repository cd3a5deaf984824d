"""What is asked for somebody reads documents with their eyes, whatever part of the library reads them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from wenyuan.core.access import Principal
from wenyuan.core.principals import seeing_as

T = TypeVar("T")


def reading_for_principals(cls: type[T]) -> type[T]:
    """Class decorator: public methods that take a ``principal`` read with the eyes of the one that they are given.

    See `core.principals.seeing_as`.
    """
    for name in dir(cls):
        found = inspect.getattr_static(cls, name)
        if isinstance(found, FunctionType) and not name.startswith("_"):
            names = list(inspect.signature(found).parameters)
            if "principal" in names:
                setattr(cls, name, _reading(found, names.index("principal") - 1))
    return cls


def _reading(call: Callable[..., Any], place: int) -> Callable[..., Any]:
    """A method that takes its principal by name or as the argument at a place, counted without ``self``."""

    @wraps(call)
    def asked(self: Any, *given: Any, **named: Any) -> Any:
        principal = named.get("principal", given[place] if len(given) > place else None)
        with seeing_as(principal.sight if isinstance(principal, Principal) else None):
            return call(self, *given, **named)

    return asked
