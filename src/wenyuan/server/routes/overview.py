"""What an owner looks at first, over HTTP. Operators only: these are everybody's questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, NotPermitted, msg
from wenyuan.core.question_outcomes import OUTCOMES
from wenyuan.core.records import KINDS
from wenyuan.runtime.local_time import zone_named
from wenyuan.server.handling import RequestHandler, json_response
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.wire.overview import OverviewQueryShape

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_QUESTIONS = object_of(
    name={**_TEXT, "description": "The day, or the id of agent or source; empty for none."},
    questions=_COUNT,
    outcomes=object_of(**dict.fromkeys(OUTCOMES, _COUNT)),
)
_COUNTS = {"type": "array", "items": _QUESTIONS}
_SLOW = object_of(audit_id=_TEXT, at=_NUMBER, ms=_NUMBER, preview=_TEXT, agent=_TEXT)
_CHANGE = object_of(
    audit_id=_TEXT, at=_NUMBER, kind={"enum": list(KINDS)}, action=_TEXT, object=_TEXT, principal=_TEXT
)


class OverviewRoutes:
    """``/v1/overview``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/overview",
        "audit",
        storage_operation(
            "What was asked in the last days, what became of it, what took longest, and what is open",
            object_of(
                total=_QUESTIONS,
                days=_COUNTS,
                agents=_COUNTS,
                sources=_COUNTS,
                slowest={"type": "array", "items": _SLOW},
                changes={"type": "array", "items": _CHANGE},
                open_conflicts=_COUNT,
            ),
            query=OverviewQueryShape,
        ),
    )
    async def show(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        if principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent sees no overview, which is of everybody's questions")
        return await self._handler.pool.run(lambda: self._show(request))

    def _show(self, request: Request) -> Response:
        wanted = queried(request, OverviewQueryShape)
        zone = None if wanted.zone is None else zone_named(wanted.zone)
        if wanted.zone is not None and zone is None:
            raise InvalidRequest(msg("{zone} is no time zone", zone=repr(wanted.zone)), hint="Asia/Shanghai, UTC")
        return json_response(self._library.overviews.overview(days=wanted.days, zone=zone).described())
