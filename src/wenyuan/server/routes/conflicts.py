"""Statements that contradict one another, over HTTP. For operators, and for owners of sources those with one of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.conflicts.record import STATES
from wenyuan.core.errors import NotFound, NotPermitted
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.wire.conflicts import ConflictDecisionShape, ConflictsFindShape, ConflictsQueryShape
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_SIDE = object_of(
    quote=_TEXT, passage_id=_TEXT, uri=_TEXT, title=_TEXT, heading=_TEXT, source_id=_TEXT, trust=_COUNT,
    effective_from={"type": ["string", "null"]},
)  # fmt: skip
_DECISION = {
    **object_of(conflict_id=_TEXT, state={"enum": list(STATES)}, note=_TEXT, actor=_TEXT, at=_NUMBER),
    "type": ["object", "null"],
}
_CONFLICT = object_of(
    conflict_id=_TEXT, kind=_TEXT, state={"enum": list(STATES)},
    changes={"type": "array", "items": object_of(was=_TEXT, said=_TEXT)}, first=_SIDE, second=_SIDE,
    holds={"enum": ["first", "second", ""]}, why={"enum": ["decision", "trust", "date", ""]}, decision=_DECISION,
)  # fmt: skip


_COMPARISON = object_of(
    running={"type": "boolean"}, passages=_COUNT, total=_COUNT, conflicts=_COUNT, failure=_TEXT,
)  # fmt: skip
_PATIENCE = 10.0
"""Seconds for which a request waits for a comparison, which then goes on by itself."""


class ConflictRoutes:
    """``/v1/conflicts``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/conflicts",
        "registry",
        storage_operation(
            "Statements in force that contradict one another, those without a decision first",
            object_of(
                conflicts={"type": "array", "items": _CONFLICT}, behind={"type": "boolean"}, comparison=_COMPARISON
            ),
            query=ConflictsQueryShape,
        ),
    )
    async def list(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.pool.run(lambda: self._list(request))

    @route(
        "POST",
        "/v1/conflicts/find",
        "registry",
        storage_operation(
            "Compare what is new since the last time with everything; what takes long goes on by itself",
            _COMPARISON,
            body=ConflictsFindShape,
        ),
    )
    async def find(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.work(request, self._find, waits=True)

    @route(
        "POST",
        "/v1/conflicts/{conflict_id}",
        "registry",
        storage_operation("Decide which of two statements holds", _CONFLICT, body=ConflictDecisionShape),
    )
    async def decide(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise missing("conflict")
        name = request.path_params["conflict_id"]
        return await self._handler.work(request, lambda body: self._decide(name, body, request.state.principal))

    def _list(self, request: Request) -> Response:
        wanted = queried(request, ConflictsQueryShape)
        found = self._library.conflicts.listed(
            state=wanted.state, source_id=wanted.source, principal=request.state.principal
        )
        return json_response({
            "conflicts": [one.described() for one in found], "behind": self._library.conflicts.behind(),
            "comparison": self._library.comparison.state.described(),
        })  # fmt: skip

    def _find(self, body: object) -> Response:
        anew = checked(ConflictsFindShape, body).anew
        return json_response(self._library.comparison.compare(anew=anew, wait=_PATIENCE).described())

    def _decide(self, name: str, body: object, principal: Principal) -> Response:
        wanted = checked(ConflictDecisionShape, body)
        try:
            one = self._library.conflicts.decide(
                name,
                wanted.state,
                note=wanted.note,
                decided_at=wanted.decided_at,
                again=wanted.again,
                principal=principal,
            )
        except NotFound as error:
            raise missing("conflict") from error
        return json_response(one.described())


def _check_operator(principal: Principal) -> None:
    if principal.agent_id is not None:
        raise NotPermitted("a key that is bound to an agent sees no conflicts, which are everybody's documents")
