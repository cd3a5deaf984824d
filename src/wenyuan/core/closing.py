"""What was closed says so: no method of it answers any more, or waits for what is gone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from wenyuan.core.errors import Closed

__all__ = ["refusal", "refusing_once_closed"]

T = TypeVar("T")
_AFTERWARDS = ("close", "__exit__")  # may be called again


def refusal(thing: object) -> Closed:
    """What whoever asks a closed thing is told."""
    return Closed(f"this {type(thing).__name__} is closed, and answers nothing any more", hint="open it again")


def refusing_once_closed(*but: str) -> Callable[[type[T]], type[T]]:
    """A class all of whose public methods and properties raise `Closed` once an object's ``_closed`` is true.

    Those of its bases too; ``close`` sets it, and may be called twice.

    Args:
        but: Methods that say so themselves, in another way.
    """

    def guarded(cls: type[T]) -> type[T]:
        for name in dir(cls):
            found = inspect.getattr_static(cls, name)
            if name in (*_AFTERWARDS, *but) or (name.startswith("_") and name != "__enter__"):
                continue
            if isinstance(found, FunctionType):
                setattr(cls, name, _refusing(found))
            elif isinstance(found, property) and found.fget is not None:
                setattr(cls, name, property(_refusing(found.fget), found.fset, found.fdel, found.__doc__))
        return cls

    return guarded


def _refusing(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def asked(self: Any, *given: Any, **named: Any) -> Any:
        if self._closed:
            raise refusal(self)
        return call(self, *given, **named)

    return asked
