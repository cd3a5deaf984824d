"""``/v1/audit``: records, verification and replay.

A key that is bound to an agent sees the answers that its agent was given; to it, what is another's is not there. What
has left the agent's scope since is not asked again for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.contract.bodies import QueryString, Strict
from wenyuan.core.access import Principal
from wenyuan.core.errors import Fault, InvalidRequest, NotFound, NotPermitted, listed
from wenyuan.core.question_outcomes import ANY, OUTCOMES
from wenyuan.core.records import KINDS, AuditRecord
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.request_body import Body
from wenyuan.server.route import route
from wenyuan.wire import strict_json
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library


S = TypeVar("S", bound=BaseModel)

_MOST = 1_000  # records of one page, as the log has it


class AuditQueryShape(QueryString):
    """Which records are wanted, newest first."""

    kind: str | None = Field(None, json_schema_extra={"enum": list(KINDS)})
    principal: str | None = Field(None, description="Id of the key that asked; `local` where none was needed.")
    agent: str | None = Field(None, description="Only answers that this agent was given.")
    since: float | None = Field(None, description="Seconds since the epoch.")
    until: float | None = Field(None, description="Seconds since the epoch, exclusive.")
    limit: Annotated[int, Field(ge=1, le=_MOST)] = 50
    outcome: str | None = Field(
        None,
        json_schema_extra={"enum": [ANY, *OUTCOMES]},
        description="Only questions of which this became; each once.",
    )
    source: str | None = Field(None, description="Only questions with a fragment of this source at the top.")
    before: str | None = Field(None, description="Id of a record: go on with those that are older.")


class AuditVerifyShape(Strict):
    """How the audit is to be verified."""

    head: str | None = Field(None, description="`seq:hash`, kept elsewhere: the chain must hold it.")


class ReplayRequestShape(Strict):
    """How a question is to be asked again."""

    exact: bool = Field(False, description="Of the library as it was, instead of as it is.")


# --- for the OpenAPI document ---------------------------------------------------------------------------------
_TEXT, _NUMBER, _TRUTH = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
_OR_NULL = {"type": ["string", "null"]}
_RECORD = object_of(
    audit_id=_TEXT, seq={"type": "integer"}, at=_NUMBER, kind={"enum": list(KINDS)}, principal=_TEXT,
    record={"type": "object"}, hash=_TEXT, query_state={"enum": ["kept", "erased", "not kept", "none"]},
)  # fmt: skip
_FAULT = {**object_of(seq={"type": "integer"}, what=_TEXT), "type": ["object", "null"]}


class Audit:
    """``/v1/audit``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/audit",
        "audit",
        storage_operation(
            "Audit records, newest first",
            object_of(records={"type": "array", "items": _RECORD}, next=_OR_NULL),
            query=AuditQueryShape,
        ),
    )
    async def list(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._list(request))

    @route(
        "GET",
        "/v1/audit/{audit_id}",
        "audit",
        storage_operation(
            "An audit record, with what was asked where that is kept",
            {"allOf": [_RECORD, object_of(query={"type": ["object", "null"]})]},
        ),
    )
    async def show(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: json_response(_described(self._found(request), with_query=True)))

    @route(
        "POST",
        "/v1/audit/verify",
        "audit",
        storage_operation(
            "Whether the audit is whole",
            object_of(ok=_TRUTH, records={"type": "integer"}, head=_TEXT, first_fault=_FAULT),
            body=AuditVerifyShape,
            required=False,
        ),
    )
    async def verify(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent cannot verify the audit, which is everybody's")
        return await self._work(request, self._verify)

    @route(
        "POST",
        "/v1/audit/{audit_id}/replay",
        "audit",
        storage_operation(
            "A recorded question asked again, and why the answer differs, or why it cannot be asked",
            object_of(
                audit_id=_TEXT,
                exact=_TRUTH,
                identical=_TRUTH,
                asked=_TRUTH,
                differences={"type": "array", "items": object_of(what=_TEXT, detail=_TEXT, ref=_TEXT)},
            ),
            body=ReplayRequestShape,
            required=False,
        ),
    )
    async def replay(self, request: Request) -> Response:
        return await self._work(request, lambda body: self._replay(request, body))

    async def _work(self, request: Request, call: Callable[[object], Response]) -> Response:
        """As `RequestHandler.work`, but a missing body counts as ``{}``, since all members have defaults."""
        body: Body = request.state.body
        if body.finished:
            return await self._handler.pool.run(lambda: call({}))
        content = await self._handler.content(request)
        return await self._handler.pool.run(lambda: call(strict_json.loads(content)))

    def _found(self, request: Request) -> AuditRecord:
        return self._visible(request.path_params["audit_id"], request.state.principal)

    def _visible(self, audit_id: str, principal: Principal) -> AuditRecord:
        try:
            return self._library.audit.show(audit_id, agent=principal.agent_id)
        except NotFound as error:
            raise missing("audit record") from error

    def _list(self, request: Request) -> Response:
        wanted = queried(request, AuditQueryShape)
        principal: Principal = request.state.principal
        if wanted.before is not None:
            self._visible(wanted.before, principal)
        if principal.agent_id is not None:
            if wanted.agent not in (None, principal.agent_id):
                raise missing("agent")
            wanted = wanted.model_copy(update={"agent": principal.agent_id})
        found = self._library.audit.list(**wanted.model_dump())
        full = len(found) == wanted.limit
        return json_response(
            {"records": [_described(record) for record in found], "next": found[-1].audit_id if full else None}
        )

    def _verify(self, body: object) -> Response:
        found = self._library.audit.verify(checked(AuditVerifyShape, body).head)
        return json_response(asdict(found))

    def _replay(self, request: Request, body: object) -> Response:
        record, wanted = self._found(request), checked(ReplayRequestShape, body)
        if record.kind not in ("retrieval", "answer", "verification"):
            raise InvalidRequest("only records of retrievals, answers and verifications can be replayed")
        found = self._library.replay(record.audit_id, exact=wanted.exact, principal=request.state.principal)
        return json_response({"audit_id": record.audit_id, "exact": wanted.exact, **asdict(found)})


def queried(request: Request, shape: type[S]) -> S:
    """The query parameters as `shape`; InvalidRequest lists every fault."""
    given = request.query_params.multi_items()
    names = [name for name, _ in given]
    faults = tuple(Fault(name, "stands twice") for name in dict.fromkeys(names) if names.count(name) > 1)
    if faults:
        raise InvalidRequest(listed(faults), faults=faults)
    return checked(shape, dict(given))


def _described(record: AuditRecord, *, with_query: bool = False) -> dict[str, Any]:
    described = asdict(record)
    query = described.pop("query")
    return described | ({"query": query} if with_query else {})
