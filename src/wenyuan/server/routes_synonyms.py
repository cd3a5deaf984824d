"""Synonyms over HTTP: what people say for what documents say. Operators only: an agent neither sees nor changes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.agents import Principal
from wenyuan.core.errors import NotPermitted
from wenyuan.core.synonyms import MOST_CHARS, MOST_SYNONYMS, containing, described
from wenyuan.server.access import Handler
from wenyuan.server.desk import Desk, json_response, missing
from wenyuan.server.routes_audit import parameters_of, queried
from wenyuan.server.routes_registry import operator
from wenyuan.service.governed import governed
from wenyuan.wire.synonyms import SynonymsQueryShape, synonyms_from_wire

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["SYNONYMS_DESCRIBED", "Synonyms"]

_MOST_DIGITS = 18  # of a number that a database can hold


class Synonyms:
    """``/v1/synonyms``."""

    def __init__(self, library: Library, desk: Desk) -> None:
        self._library = library
        self._desk = desk
        self.handlers: Mapping[tuple[str, str], Handler] = {
            ("GET", "/v1/synonyms"): self.list,
            ("POST", "/v1/synonyms"): self.put,
            ("DELETE", "/v1/synonyms/{number}"): self.remove,
        }

    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._desk.pool.run(lambda: self._list(request))

    async def put(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        operator(principal)
        return await self._desk.work(request, lambda body: self._put(body, principal))

    async def remove(self, request: Request) -> Response:
        return await self._desk.pool.run(lambda: self._remove(request))

    def _list(self, request: Request) -> Response:
        wanted = queried(request, SynonymsQueryShape)
        entries = containing(governed(self._library).synonyms(), wanted.containing)
        page = [entry for entry in entries if entry.number > wanted.after][: wanted.limit]
        more = bool(page) and page[-1].number < entries[-1].number
        told = {"synonyms": [described(entry) for entry in page], "count": len(entries)}
        return json_response({**told, "next": page[-1].number if more else None})

    def _put(self, body: object, principal: Principal) -> Response:
        put = governed(self._library).put_synonyms(synonyms_from_wire(body), principal.key_id)
        counts = {"added": put.added, "changed": put.changed, "unchanged": put.unchanged}
        entries = [described(entry) for entry in put.entries]
        return json_response({**counts, "synonyms": entries}, 201 if put.added else 200)

    def _remove(self, request: Request) -> Response:
        text = request.path_params["number"]
        number = int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else 0
        if request.state.principal.agent_id is not None:
            raise missing("synonym")
        try:
            governed(self._library).remove_synonyms([number])
        except NotPermitted as error:
            raise missing("synonym") from error
        return json_response({"number": number})


_SIDE = {"type": "string", "minLength": 1, "maxLength": MOST_CHARS}
_COUNT: Mapping[str, Any] = {"type": "integer"}
_ENTRY: Mapping[str, Any] = {
    "type": "object",
    "required": ["term", "synonym"],
    "additionalProperties": False,
    "properties": {
        "term": {**_SIDE, "description": "What people say."},
        "synonym": {
            **_SIDE,
            "description": "What documents say: questions that say the term are asked with it, too.",
        },
        "direction": {"enum": ["both", "one_way"], "description": "Whether it counts the other way round as well."},
    },
}
_HELD: Mapping[str, Any] = {
    "type": "object",
    "required": ["number", "term", "synonym", "direction", "actor", "at"],
    "properties": {
        **_ENTRY["properties"], "number": _COUNT, "actor": {"type": "string"}, "at": {"type": "number"},
    },
}  # fmt: skip
_ENTRIES: Mapping[str, Any] = {
    "type": "object",
    "required": ["synonyms"],
    "additionalProperties": False,
    "properties": {"synonyms": {"type": "array", "minItems": 1, "maxItems": MOST_SYNONYMS, "items": _ENTRY}},
}


def _told(**members: Mapping[str, Any]) -> Mapping[str, Any]:
    list_of = {"type": "array", "items": _HELD}
    return {
        "type": "object",
        "required": ["synonyms", *members],
        "properties": {"synonyms": list_of, **members},
    }


SYNONYMS_DESCRIBED: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("GET", "/v1/synonyms"): {
        "summary": "The synonyms of the library",
        "answer": _told(count=_COUNT, next={"type": ["integer", "null"]}),
        "parameters": parameters_of(SynonymsQueryShape),
    },
    ("POST", "/v1/synonyms"): {
        "summary": "Enter synonyms, all or none; answers change at once",
        "statuses": (200, 201),
        "answer": _told(added=_COUNT, changed=_COUNT, unchanged=_COUNT),
        "requestBody": {"required": True, "content": {"application/json": {"schema": {"oneOf": [_ENTRY, _ENTRIES]}}}},
    },
    ("DELETE", "/v1/synonyms/{number}"): {
        "summary": "Remove a synonym",
        "answer": {"type": "object", "required": ["number"], "properties": {"number": _COUNT}},
    },
}
"""What the OpenAPI document says of the routes."""
