"""Questions that were not answered well, over HTTP. Operators only: they are everybody's questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotFound, NotPermitted
from wenyuan.core.gaps import REASONS, STATES
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.wire.gaps import GapDecisionShape, GapsAskShape, GapsQueryShape
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_TEXTS = {"type": "array", "items": _TEXT}
_DECISION = {
    **object_of(digest=_TEXT, state={"enum": list(STATES)}, note=_TEXT, actor=_TEXT, at=_NUMBER),
    "type": ["object", "null"],
}
_GAP = object_of(
    gap_id=_TEXT, question=_TEXT, wordings=_TEXTS, count=_COUNT, state={"enum": list(STATES)},
    reasons={"type": "object", "propertyNames": {"enum": list(REASONS)}, "additionalProperties": _COUNT},
    agents=_TEXTS, first_at=_NUMBER, last_at=_NUMBER, score=_NUMBER, address=_TEXT, source_id=_TEXT,
    audit_ids=_TEXTS, decision=_DECISION,
)  # fmt: skip
_FAILED = object_of(audit_id=_TEXT, at=_NUMBER, text=_TEXT, agent=_TEXT, code=_TEXT, error=_TEXT)


class GapRoutes:
    """``/v1/gaps``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/gaps",
        "audit",
        storage_operation(
            "What was asked and not answered well, asked most often first; failures apart",
            object_of(
                gaps={"type": "array", "items": _GAP}, failed={"type": "array", "items": _FAILED}, questions=_COUNT,
                closed=_COUNT, since=_NUMBER, complete={"type": "boolean"},
            ),
            query=GapsQueryShape,
        ),
    )  # fmt: skip
    async def list(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.pool.run(lambda: self._list(request))

    @route(
        "POST",
        "/v1/gaps/ask",
        "audit",
        storage_operation(
            "Ask the open gaps again; those that are answered well now are closed",
            object_of(closed={"type": "array", "items": _GAP}),
            body=GapsAskShape,
        ),
    )
    async def ask(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.work(request, self._ask)

    @route(
        "POST",
        "/v1/gaps/{gap_id}",
        "audit",
        storage_operation("Decide about a gap, all its wordings at once", _GAP, body=GapDecisionShape),
    )
    async def decide(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise missing("gap")
        name = request.path_params["gap_id"]
        return await self._handler.work(request, lambda body: self._decide(name, body, request.state.principal))

    def _list(self, request: Request) -> Response:
        wanted = queried(request, GapsQueryShape)
        report = self._library.gaps.find(days=wanted.days, agent=wanted.agent)
        return json_response(report.described(wanted.state))

    def _ask(self, body: object) -> Response:
        closed = self._library.gaps.ask_again(days=checked(GapsAskShape, body).days)
        return json_response({"closed": [gap.described() for gap in closed]})

    def _decide(self, name: str, body: object, principal: Principal) -> Response:
        wanted = checked(GapDecisionShape, body)
        try:
            gap = self._library.gaps.decide(
                name, wanted.state, note=wanted.note, days=wanted.days, decided_at=wanted.decided_at,
                again=wanted.again, principal=principal,
            )  # fmt: skip
        except NotFound as error:
            raise missing("gap") from error
        return json_response(gap.described())


def _check_operator(principal: Principal) -> None:
    if principal.agent_id is not None:
        raise NotPermitted("a key that is bound to an agent sees no gaps, which are everybody's questions")
