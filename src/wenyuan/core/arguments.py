"""Arguments of public calls, checked against their annotations: a caller's mistake is told as one, and named."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache, wraps
from types import FunctionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from wenyuan.core.errors import Fault, InvalidRequest, listed, msg

T = TypeVar("T")
_EMPTY = inspect.Parameter.empty
_VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
_NUMBERS: Mapping[Any, tuple[type, ...]] = {int: (int,), float: (int, float)}
_COUNTS = ("limit", "width")
"""Parameters that say how many: from 1."""
_LARGEST = 2**63 - 1
_SHOWN = 120


def checking_arguments(*but: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: public methods, those of its bases too, raise `InvalidRequest` for an argument of a wrong type.

    Args:
        but: Methods that are left as they are.
    """

    def checked(cls: type[T]) -> type[T]:
        for name in dir(cls):
            found = inspect.getattr_static(cls, name)
            if isinstance(found, FunctionType) and not name.startswith("_") and name not in but:
                setattr(cls, name, _checking(found))
        return cls

    return checked


def checking_fields(cls: type[T]) -> type[T]:
    """Class decorator of a dataclass: it cannot be made with a value of a wrong type."""
    cls.__init__ = _checking(cls.__init__, cls)  # type: ignore[method-assign]
    return cls


def _checking(call: Callable[..., Any], owner: type | None = None) -> Callable[..., Any]:
    @cache
    def known() -> tuple[inspect.Signature, Mapping[str, Any]]:  # not at import: annotations name what is loaded late
        signature = inspect.signature(call)
        return signature, _hints(call, signature, owner)

    @wraps(call)
    def checked(self: Any, *given: Any, **named: Any) -> Any:
        signature, hints = known()
        try:
            bound = signature.bind(self, *given, **named).arguments
        except TypeError:
            return call(self, *given, **named)  # says which argument is missing, unknown or given twice
        faults = [
            Fault(name, msg("must be {kinds}, not {given}", kinds=_annotation_text(hints[name]), given=_kind(value)))
            for name, value in bound.items()
            if name in hints and not fits(value, hints[name])
        ]
        faults += [
            Fault(name, msg("must be at least {limit}", limit=1))
            for name in _COUNTS
            if name in hints and type(value := bound.get(name)) is int and value < 1
        ]
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))
        return call(self, *given, **named)

    return checked


def _hints(call: Callable[..., Any], signature: inspect.Signature, owner: type | None) -> Mapping[str, Any]:
    """The annotations of a call's parameters, without those of names that are imported for type checkers alone."""
    scope = vars(inspect.getmodule(owner)) if owner is not None else inspect.unwrap(call).__globals__
    found = {}
    for name, parameter in signature.parameters.items():
        if parameter.annotation is _EMPTY or parameter.kind in _VARIADIC:
            continue
        try:
            text = parameter.annotation
            found[name] = eval(text, dict(scope)) if isinstance(text, str) else text  # noqa: S307 - our own annotations
        except (NameError, AttributeError, TypeError):
            continue
    return found


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of an annotated type; what cannot be decided fits."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if origin is typing.Annotated:
        return fits(value, parts[0])
    return _fits_plain(value, hint) if origin is None else _fits_generic(value, origin, parts)


def _fits_plain(value: object, hint: Any) -> bool:
    if hint in (Any, object) or isinstance(hint, (TypeVar, str, typing.ForwardRef)):
        return True
    if hint is None:
        return value is None
    if hint in _NUMBERS:
        number = isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
        return number and abs(value) <= _LARGEST  # type: ignore[arg-type]  # NaN is not within either
    if hint is date and isinstance(value, datetime):
        return False
    try:
        return isinstance(value, hint)
    except TypeError:  # a protocol that is for type checkers alone
        return True


def _fits_generic(value: object, origin: Any, parts: Sequence[Any]) -> bool:
    if not isinstance(origin, type):
        return True
    if not isinstance(value, origin) or (isinstance(value, (str, bytes)) and not issubclass(origin, (str, bytes))):
        return False
    if isinstance(value, Mapping) and len(parts) == 2:
        return all(fits(name, parts[0]) and fits(one, parts[1]) for name, one in value.items())
    if isinstance(value, tuple) and origin is tuple and parts[-1:] != (...,):
        return len(value) == len(parts) and all(map(fits, value, parts))
    if issubclass(origin, Iterable) and isinstance(value, Collection) and parts:
        return all(fits(one, parts[0]) for one in value)
    return True


def _annotation_text(hint: Any) -> str:
    """An annotation as it is written."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return "None" if hint is type(None) else hint.__name__
    parts = get_args(hint)
    if get_origin(hint) is typing.Annotated:
        return _annotation_text(parts[0])
    if get_origin(hint) in (Union, types.UnionType):
        return " | ".join(map(_annotation_text, parts))
    if get_origin(hint) is Literal:
        return " | ".join(map(repr, parts))
    if isinstance(get_origin(hint), type) and parts:
        return (
            f"{get_origin(hint).__name__}[{', '.join('…' if one is ... else _annotation_text(one) for one in parts)}]"
        )
    return str(hint).rpartition(".")[2][:_SHOWN]


def _kind(value: object) -> str:
    """What was given: its type, and of texts and numbers the value where it is short."""
    shown = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else ""
    return shown if 0 < len(shown) <= 40 else type(value).__name__
