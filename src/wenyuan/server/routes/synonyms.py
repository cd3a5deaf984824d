"""Synonyms over HTTP: what people say for what documents say. Operators only: an agent neither sees nor changes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotFound
from wenyuan.core.text.synonyms import MOST_CHARS, MOST_SYNONYMS, containing, described
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.server.routes.registry import operator
from wenyuan.wire.synonyms import SynonymsQueryShape, synonyms_from_wire

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_MOST_DIGITS = 18  # of a number that a database can hold


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


def _report_members(**members: Mapping[str, Any]) -> Mapping[str, Any]:
    list_of = {"type": "array", "items": _HELD}
    return {
        "type": "object",
        "required": ["synonyms", *members],
        "properties": {"synonyms": list_of, **members},
    }


class SynonymRoutes:
    """``/v1/synonyms``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/synonyms",
        "registry",
        storage_operation(
            "The synonyms of the library",
            _report_members(count=_COUNT, next={"type": ["integer", "null"]}),
            query=SynonymsQueryShape,
        ),
    )
    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(lambda: self._list(request))

    @route(
        "POST",
        "/v1/synonyms",
        "registry",
        storage_operation(
            "Enter synonyms, all or none; answers change at once",
            _report_members(added=_COUNT, changed=_COUNT, unchanged=_COUNT),
            statuses=(200, 201),
            body={"oneOf": [_ENTRY, _ENTRIES]},
        ),
    )
    async def put(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        operator(principal)
        return await self._handler.work(request, lambda body: self._put(body, principal))

    @route(
        "DELETE",
        "/v1/synonyms/{number}",
        "registry",
        storage_operation(
            "Remove a synonym", {"type": "object", "required": ["number"], "properties": {"number": _COUNT}}
        ),
    )
    async def remove(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._remove(request))

    def _list(self, request: Request) -> Response:
        wanted = queried(request, SynonymsQueryShape)
        entries = containing(self._library.catalog.synonyms(), wanted.containing)
        page = [entry for entry in entries if entry.number > wanted.after][: wanted.limit]
        more = bool(page) and page[-1].number < entries[-1].number
        told = {"synonyms": [described(entry) for entry in page], "count": len(entries)}
        return json_response({**told, "next": page[-1].number if more else None})

    def _put(self, body: object, principal: Principal) -> Response:
        put = self._library.catalog.put_synonyms(synonyms_from_wire(body), principal.actor)
        counts = {"added": put.added, "changed": put.changed, "unchanged": put.unchanged}
        entries = [described(entry) for entry in put.entries]
        return json_response({**counts, "synonyms": entries}, 201 if put.added else 200)

    def _remove(self, request: Request) -> Response:
        text = request.path_params["number"]
        number = int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else 0
        if request.state.principal.agent_id is not None:
            raise missing("synonym")
        try:
            self._library.catalog.remove_synonyms([number])
        except NotFound as error:
            raise missing("synonym") from error
        return json_response({"number": number})
