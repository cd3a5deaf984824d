"""Questions that were not answered well, over HTTP. For operators, and for owners of sources what concerns these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotFound, NotPermitted
from wenyuan.core.gaps import ANSWERED, REASONS, STATES
from wenyuan.core.ownership import check_sees_questions
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.service.gaps.finder import NO_GAP
from wenyuan.wire.gaps import (
    GapAnswerShape,
    GapDecisionShape,
    GapPassageShape,
    GapsAskShape,
    GapsQueryShape,
    GapSynonymShape,
)
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_TEXTS = {"type": "array", "items": _TEXT}
_DAY = {"type": ["string", "null"]}
_DECISION = {
    **object_of(digest=_TEXT, state={"enum": [*STATES, ANSWERED]}, note=_TEXT, actor=_TEXT, at=_NUMBER, until=_DAY),
    "type": ["object", "null"],
}
_CLOSING = {
    **object_of(digest=_TEXT, at=_NUMBER, audit_id=_TEXT, source_id=_TEXT, uri=_TEXT, title=_TEXT, score=_NUMBER),
    "type": ["object", "null"],
}
_GAP = object_of(
    gap_id=_TEXT, question=_TEXT, wordings=_TEXTS, count=_COUNT, state={"enum": list(STATES)},
    reasons={"type": "object", "propertyNames": {"enum": list(REASONS)}, "additionalProperties": _COUNT},
    agents=_TEXTS, first_at=_NUMBER, last_at=_NUMBER, score=_NUMBER, address=_TEXT, source_id=_TEXT,
    audit_ids=_TEXTS, decision=_DECISION, owner=_TEXT, closing=_CLOSING,
)  # fmt: skip
_SETTLED = object_of(gap=_GAP, closed={"type": "boolean"}, source_id=_TEXT, uri=_TEXT, why=_TEXT)
_ANSWERED = object_of(question=_TEXT, closing=_CLOSING)
_REVIEW = object_of(
    digest=_TEXT, question=_TEXT, source_id=_TEXT, uri=_TEXT, author=_TEXT, at=_NUMBER, review_on=_DAY,
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
                gaps={"type": "array", "items": _GAP}, total=_COUNT, failed={"type": "array", "items": _FAILED}, failures=_COUNT, questions=_COUNT,
                closed=_COUNT, since=_NUMBER, complete={"type": "boolean"},
                answered={"type": "array", "items": _ANSWERED}, reviews={"type": "array", "items": _REVIEW},
            ),
            query=GapsQueryShape,
        ),
        instead="registry",
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
        instead="registry",
    )
    async def ask(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.work(request, lambda body: self._ask(body, request.state.principal))

    @route(
        "POST",
        "/v1/gaps/{gap_id}",
        "audit",
        storage_operation("Decide about a gap, all its wordings at once", _GAP, body=GapDecisionShape),
        instead="registry",
    )
    async def decide(self, request: Request) -> Response:
        if request.state.principal.agent_id is None:
            check_sees_questions(request.state.principal)
        return await self._settled(request, self._decide)

    @route(
        "POST",
        "/v1/gaps/{gap_id}/answer",
        "ingest",
        storage_operation("Write an answer to a gap, and ask it again", _SETTLED, body=GapAnswerShape),
    )
    async def answer(self, request: Request) -> Response:
        return await self._settled(request, self._answer)

    @route(
        "POST",
        "/v1/gaps/{gap_id}/passage",
        "ingest",
        storage_operation("Say which passage answers a gap, and ask it again", _SETTLED, body=GapPassageShape),
    )
    async def passage(self, request: Request) -> Response:
        return await self._settled(request, self._passage)

    @route(
        "POST",
        "/v1/gaps/{gap_id}/synonym",
        "registry",
        storage_operation(
            "Say what documents say for a word of a gap, and ask it again", _SETTLED, body=GapSynonymShape
        ),
    )
    async def synonym(self, request: Request) -> Response:
        return await self._settled(request, self._synonym)

    async def _settled(
        self, request: Request, settle: Callable[[str, object, Principal], Mapping[str, Any]]
    ) -> Response:
        """The answer to what is said of a gap; one that the caller does not see is not there."""
        principal = request.state.principal
        if principal.agent_id is not None:
            raise missing("gap")
        name = request.path_params["gap_id"]

        def work(body: object) -> Response:
            try:
                return json_response(settle(name, body, principal))
            except NotFound as error:
                raise missing("gap" if error.hint == NO_GAP else "passage") from error

        return await self._handler.work(request, work)

    def _list(self, request: Request) -> Response:
        wanted = queried(request, GapsQueryShape)
        report = self._library.gaps.find(
            days=wanted.days, agent=wanted.agent, state=wanted.state, limit=wanted.limit,
            principal=request.state.principal,
        )  # fmt: skip
        return json_response(report.described())

    def _ask(self, body: object, principal: Principal) -> Response:
        closed = self._library.gaps.ask_again(days=checked(GapsAskShape, body).days, principal=principal)
        return json_response({"closed": [gap.described() for gap in closed]})

    def _decide(self, name: str, body: object, principal: Principal) -> Mapping[str, Any]:
        wanted = checked(GapDecisionShape, body)
        return self._library.gaps.decide(
            name, wanted.state, note=wanted.note, days=wanted.days, until=wanted.until, decided_at=wanted.decided_at,
            again=wanted.again, principal=principal,
        ).described()  # fmt: skip

    def _answer(self, name: str, body: object, principal: Principal) -> Mapping[str, Any]:
        wanted = checked(GapAnswerShape, body).request()
        return self._library.gap_answers.answer(name, wanted, principal=principal).described()

    def _passage(self, name: str, body: object, principal: Principal) -> Mapping[str, Any]:
        wanted = checked(GapPassageShape, body)
        return self._library.gap_answers.point_out(
            name, wanted.ref, days=wanted.days, decided_at=wanted.decided_at, again=wanted.again, principal=principal
        ).described()

    def _synonym(self, name: str, body: object, principal: Principal) -> Mapping[str, Any]:
        wanted = checked(GapSynonymShape, body)
        return self._library.gap_answers.add_synonym(
            name, wanted.term, wanted.synonym, days=wanted.days, decided_at=wanted.decided_at, again=wanted.again,
            principal=principal,
        ).described()  # fmt: skip


def _check_operator(principal: Principal) -> None:
    if principal.agent_id is not None:
        raise NotPermitted("a key that is bound to an agent sees no gaps, which are everybody's questions")
    check_sees_questions(principal)
