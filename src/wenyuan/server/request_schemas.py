"""Schemas of request bodies as strict JSON takes them: integers have bounds, and free values are `Json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wenyuan.contract.fields import MAX_INTEGER

REF = "#/components/schemas/"
JSON: Mapping[str, Any] = {"$ref": f"{REF}Json"}
"""The component of any value that `strict_json.loads` takes."""

_SAYS_NOTHING = frozenset(("title", "description", "default", "examples"))
_TEXT = {"type": "string", "pattern": r"^[^\u0000]*$"}
_NUMBERS = {"integer", "number"}
_BOUNDS = {"minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def any_json() -> dict[str, Any]:
    """The schema of `JSON`."""
    return {
        "title": "Json",
        "anyOf": [
            {"type": "null"},
            {"type": "boolean"},
            {"type": "number", "minimum": -MAX_INTEGER, "maximum": MAX_INTEGER},
            _TEXT,
            {"type": "array", "items": JSON},
            {"type": "object", "additionalProperties": JSON, "propertyNames": _TEXT},
        ],
    }


def as_strict_json(paths: Mapping[str, Any], schemas: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Paths and components of a document whose request bodies state what strict JSON refuses in any of them."""
    reached = {name: _strict(schemas[name]) for name in _reached(paths, schemas)}
    told = {
        path: {
            method: {**said, "requestBody": _strict_body(said["requestBody"])} if "requestBody" in said else said
            for method, said in methods.items()
        }
        for path, methods in paths.items()
    }
    return told, {**schemas, **reached}


def _reached(paths: Mapping[str, Any], schemas: Mapping[str, Any]) -> set[str]:
    """The components that request bodies are made of."""
    bodies = [said.get("requestBody") for methods in paths.values() for said in methods.values()]
    found: set[str] = set()
    todo = [name for body in bodies for name in _definition_name(body)]
    while todo:
        name = todo.pop()
        if name not in found and name != "Json" and name in schemas:
            found.add(name)
            todo.extend(_definition_name(schemas[name]))
    return found


def _definition_name(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(told := value.get("$ref"), str):
            yield told.removeprefix(REF)
        for inner in value.values():
            yield from _definition_name(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _definition_name(inner)


def _strict_body(body: Mapping[str, Any]) -> dict[str, Any]:
    content = {
        kind: {**told, "schema": _strict(told["schema"])} if kind == "application/json" else told
        for kind, told in body["content"].items()
    }
    return {**body, "content": content}


def _strict(schema: Any) -> Any:
    """A schema with bounds of its numbers, and `JSON` wherever it leaves open what a value is."""
    if schema is True or (isinstance(schema, Mapping) and schema.keys() <= _SAYS_NOTHING):
        return {**(schema if isinstance(schema, Mapping) else {}), **JSON}
    if not isinstance(schema, Mapping):
        return schema
    told = {name: [_strict(one) for one in value] if name in _LISTS else value for name, value in schema.items()}
    kind: Any = told.get("type", ())
    kinds: set[str] = {kind} if isinstance(kind, str) else set(kind)
    if kinds & _NUMBERS:
        told = {
            **{name: most for name, most in _BOUNDS.items() if f"exclusive{name.capitalize()}" not in told},
            **told,
        }
    return _with_members(told, kinds)


def _with_members(told: dict[str, Any], kinds: set[str]) -> dict[str, Any]:
    if "properties" in told:
        told["properties"] = {name: _strict(one) for name, one in told["properties"].items()}
    if "items" in told or "array" in kinds:
        told["items"] = _strict(told.get("items", True))
    if "additionalProperties" in told or ("object" in kinds and "properties" not in told):
        told["additionalProperties"] = _strict(told.get("additionalProperties", True))
    return told
