"""Arguments as models write them: numbers as texts, other names for how many; and the schemas that tools publish."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.mcp.paging import PageShape

_INTEGER = re.compile(r"[-+]?[0-9]{1,15}")
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_TRUTH = {"true": True, "false": False}
_COUNTS = ("max_results", "limit", "top_k", "k", "n_results")
"""What models call how many results they want."""


def schema_of(takes: type[BaseModel]) -> dict[str, Any]:
    """The schema of a tool's arguments, without references, which some hosts do not follow."""
    whole = takes.model_json_schema()
    schema: dict[str, Any] = _inlined(whole, whole.pop("$defs", {}))
    page = PageShape.model_json_schema()["properties"]
    schema["properties"] = {**schema.get("properties", {}), **{name: _inlined(one, {}) for name, one in page.items()}}
    return schema


def _inlined(part: Any, known: Mapping[str, Any]) -> Any:
    """A part of a schema with what it refers to in its place, and without titles, which only repeat names."""
    if isinstance(part, list):
        return [_inlined(one, known) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        part = {
            **known[part["$ref"].rpartition("/")[2]],
            **{name: one for name, one in part.items() if name != "$ref"},
        }
    return {
        name: {inner: _inlined(one, known) for inner, one in value.items()}
        if name == "properties"
        else _inlined(value, known)
        for name, value in part.items()
        if name != "title" or not isinstance(value, str)
    }


def plain(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with numbers and truths where the schema has them, though they were written as texts; and how many under
    the name that the tool knows.

    Raises:
        InvalidRequest: two names say differently how many.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    found = dict(arguments)
    own = next((name for name in _COUNTS if name in properties), None)
    if own is not None:
        for name in _COUNTS:
            if name in properties or name not in found:
                continue
            value = found.pop(name)
            if own in found and found[own] != value:
                why = msg("differs from {name}", name=own)
                raise InvalidRequest(msg("{place} {fault}", place=name, fault=why), faults=(Fault(name, why),))
            found[own] = value
    return {name: _plain(value, properties.get(name, {})) for name, value in found.items()}


def _plain(value: Any, schema: Mapping[str, Any]) -> Any:
    kinds = {schema.get("type"), *(one.get("type") for one in schema.get("anyOf", ()))}
    if isinstance(value, Mapping) and "object" in kinds:
        shapes = (schema, *schema.get("anyOf", ()))
        inner: Mapping[str, Any] = next((one for one in shapes if one.get("properties")), {})
        return {name: _plain(one, inner.get("properties", {}).get(name, {})) for name, one in value.items()}
    if not isinstance(value, str) or "string" in kinds:
        return value
    text = value.strip()
    if "integer" in kinds and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text):
        return float(text)
    return _TRUTH.get(text.lower(), value) if "boolean" in kinds else value
