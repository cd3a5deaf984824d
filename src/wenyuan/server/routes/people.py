"""``/v1/people``: what the ids of people in records stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.contract.bodies import QueryString
from wenyuan.core.errors import Fault, InvalidRequest, NotPermitted, listed, msg
from wenyuan.server.handling import RequestHandler, json_response
from wenyuan.server.openapi import storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_ID = re.compile(r"person-[0-9a-f]{20}")
_MOST_IDS = 200


class PeopleQueryShape(QueryString):
    """Which people are listed."""

    ids: str = Field("", max_length=_MOST_IDS * 28, description="Ids, with commas between them; none: all people.")
    after: str = Field("", max_length=64, description="The id behind which the list goes on.")
    limit: Annotated[int, Field(ge=1, le=500)] = 100


_TEXT, _MOMENT = {"type": "string"}, {"type": "number", "description": "Seconds since the epoch."}
_PERSON: Mapping[str, Any] = {
    "type": "object",
    "required": ["person_id", "issuer", "subject", "name", "first_seen", "named_at"],
    "properties": {
        "person_id": {**_TEXT, "description": "As records name them."}, "issuer": _TEXT,
        "subject": {**_TEXT, "description": "As the issuer names them, for good."},
        "name": {**_TEXT, "description": "What people call them, or nothing."},
        "first_seen": _MOMENT, "named_at": _MOMENT,
    },
}  # fmt: skip
_PEOPLE: Mapping[str, Any] = {
    "type": "object",
    "required": ["people", "next"],
    "properties": {
        "people": {"type": "array", "items": _PERSON},
        "next": {"type": ["string", "null"], "description": "`after` of the rest; null where there is none."},
    },
}


class PeopleRoutes:
    """``/v1/people``."""

    def __init__(self, catalog: Catalog, handler: RequestHandler) -> None:
        self._catalog, self._handler = catalog, handler

    @route(
        "GET",
        "/v1/people",
        "audit",
        storage_operation("The people whom the issuer has told", _PEOPLE, query=PeopleQueryShape),
    )
    async def list(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._list(request))

    def _list(self, request: Request) -> Response:
        wanted = queried(request, PeopleQueryShape)
        if wanted.ids:
            ids = wanted.ids.split(",")
            if len(ids) > _MOST_IDS or not all(_ID.fullmatch(one) for one in ids):
                why = msg("must be ids of people, at most {most}", most=_MOST_IDS)
                raise InvalidRequest(listed([Fault("ids", why)]), faults=(Fault("ids", why),))
            return json_response({"people": [asdict(one) for one in self._catalog.people(ids)], "next": None})
        if request.state.principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent learns of people by their ids alone")
        page = self._catalog.people(after=wanted.after, limit=wanted.limit + 1)
        more = len(page) > wanted.limit
        page = page[: wanted.limit]
        return json_response({"people": [asdict(one) for one in page], "next": page[-1].person_id if more else None})
