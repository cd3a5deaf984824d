"""What rests on documents and rules, over HTTP. Operators only: it tells what others asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotFound, NotPermitted
from wenyuan.core.impact import OUTCOMES
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.wire.impact import ImpactShape, ReportPageShape
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_COUNTS = {"type": "object", "additionalProperties": _COUNT}
_ANSWER = object_of(
    audit_id=_TEXT, at=_NUMBER, count=_COUNT, question=_TEXT, agent=_TEXT, task=_TEXT,
    outcome={"enum": list(OUTCOMES)}, was=_TEXT, now=_TEXT, why=_TEXT,
)  # fmt: skip
_REPORT = object_of(
    target=_TEXT, answers=_COUNT, resting=_COUNT, same=_COUNT, differs=_COUNT, unknown=_COUNT, left=_COUNT,
    agents=_COUNTS, tasks=_COUNTS, rules={"type": "array", "items": _COUNT},
    examples={"type": "array", "items": _ANSWER}, since=_NUMBER, complete={"type": "boolean"},
)  # fmt: skip
_STATE = object_of(
    report_id=_TEXT, running={"type": "boolean"}, asked=_COUNT, total=_COUNT, failure=_TEXT,
    report={**_REPORT, "type": ["object", "null"]}, next={"type": ["integer", "null"]},
)  # fmt: skip
_PATIENCE = 10.0
"""Seconds for which a request waits for a report, which then goes on by itself."""


class ImpactRoutes:
    """``/v1/impact``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/impact",
        "audit",
        storage_operation(
            "What the last changes of the library touched, newest first",
            object_of(reports={"type": "array", "items": _REPORT}, behind={"type": "boolean"}),
        ),
    )
    async def list(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.pool.run(self._list)

    @route(
        "POST",
        "/v1/impact",
        "audit",
        storage_operation(
            "Which answers quoted a document, a passage or a rule, and what the same questions are answered now; what takes long goes on by itself",
            _STATE,
            body=ImpactShape,
        ),
    )
    async def of(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.work(request, self._of, waits=True)

    @route(
        "GET",
        "/v1/impact/{report_id}",
        "audit",
        storage_operation("How far a report is, and a page of its answers", _STATE, query=ReportPageShape),
    )
    async def report(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        wanted = queried(request, ReportPageShape)
        try:
            found = self._library.impact_reports.state(request.path_params["report_id"])
        except NotFound as error:
            raise missing("report") from error
        return json_response(found.described(wanted.after, wanted.limit))

    def _list(self) -> Response:
        review = self._library.change_review
        return json_response({"reports": review.reports(), "behind": review.behind()})

    def _of(self, body: object) -> Response:
        wanted = checked(ImpactShape, body)
        try:
            found = self._library.impact_reports.begin(
                wanted.target, days=wanted.days, seconds=wanted.seconds, wait=_PATIENCE
            )
        except NotFound as error:
            raise missing("document") from error
        return json_response(found.described())


def _check_operator(principal: Principal) -> None:
    if principal.agent_id is not None:
        raise NotPermitted("a key that is bound to an agent is not told what others asked")
