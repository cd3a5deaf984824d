"""Frozen values as JSON values, and what their JSON schema says beside their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import date
from typing import Any


def as_json(value: Any) -> Any:
    """A value as JSON values: dataclasses as objects, sequences as arrays, days in ISO form.

    A field with a default is left out while it holds it; one with a default factory, or without a default, is always there.
    """
    if is_dataclass(value):
        told = {one.name: (one.default, getattr(value, one.name)) for one in fields(value)}
        return {
            name: as_json(held) for name, (default, held) in told.items() if default is MISSING or held != default
        }
    if isinstance(value, Mapping):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, slots=True)
class SchemaPart:
    """A part of a field's JSON schema that its type does not say, for ``Annotated``; it checks nothing."""

    members: tuple[tuple[str, Any], ...]

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), **dict(self.members)}


def described(text: str) -> SchemaPart:
    """What the OpenAPI document says of a field."""
    return SchemaPart((("description", text),))


def between(low: float, high: float) -> SchemaPart:
    """The least and the largest value of a number."""
    return SchemaPart((("minimum", low), ("maximum", high)))


def one_of(*texts: str) -> SchemaPart:
    """The texts that a field may have."""
    return SchemaPart((("enum", list(texts)),))
