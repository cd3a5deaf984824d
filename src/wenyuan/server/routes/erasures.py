"""Erasures, certificates and legal holds over HTTP. For who has the right to erase, and all of the library before their eyes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.erasure import KINDS, STEPS, ErasureTarget
from wenyuan.core.errors import InvalidRequest, NotFound, NotPermitted
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.problems import Problem
from wenyuan.server.route import route
from wenyuan.wire.erasures import ErasureCheckShape, ErasureNothingShape, ErasureShape, ErasureTargetShape, HoldShape
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_TEXT, _NUMBER, _COUNT, _FLAG = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}
_TEXTS, _COUNTS = {"type": "array", "items": _TEXT}, {"type": "object", "additionalProperties": _COUNT}
_TIME = {"type": ["number", "null"]}
_HOLD = object_of(
    hold_id=_TEXT, kind={"enum": list(KINDS)}, source_id=_TEXT, uri=_TEXT, reason=_TEXT, actor=_TEXT, at=_NUMBER,
    lifted_by=_TEXT, lifted_at=_TIME,
)  # fmt: skip
_PLAN = object_of(
    kind={"enum": list(KINDS)}, digest=_TEXT, places=_COUNTS, documents=_COUNTS, left=_TEXTS, warnings=_TEXTS,
    holds={"type": "array", "items": _HOLD}, common=_FLAG,
)  # fmt: skip
_ERASURE = object_of(
    erasure_id=_TEXT, kind={"enum": list(KINDS)}, digest=_TEXT, reference=_TEXT, actor=_TEXT, begun_at=_NUMBER,
    done_at=_TIME, state={"enum": ["done", "failed", "running"]}, step={"enum": list(STEPS)}, problem=_TEXT, places=_COUNTS,
    left=_TEXTS,
)  # fmt: skip
_ERASURES = object_of(erasures={"type": "array", "items": _ERASURE})
_CERTIFICATE = object_of(
    erasure_id=_TEXT, kind={"enum": list(KINDS)}, digest=_TEXT, values=_TEXTS, reference=_TEXT, actor=_TEXT,
    begun_at=_NUMBER, done_at=_NUMBER, places=_COUNTS, left=_TEXTS, seal=_TEXT,
)  # fmt: skip
_CHECK = object_of(name=_TEXT, ok=_FLAG, detail=_TEXT)
_CHECKS = object_of(ok=_FLAG, checks={"type": "array", "items": _CHECK})


class ErasureRoutes:
    """``/v1/erasures`` and ``/v1/holds``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route("GET", "/v1/erasures", "erase", storage_operation("The erasures, the newest first", _ERASURES))
    async def list(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.pool.run(lambda: json_response(self._listed()))

    @route(
        "POST",
        "/v1/erasures/plan",
        "erase",
        storage_operation(
            "Where something stands, by counts alone, and what stays; nothing is changed",
            _PLAN,
            body=ErasureTargetShape,
        ),
    )
    async def plan(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.work(request, self._plan)

    @route(
        "POST",
        "/v1/erasures",
        "erase",
        storage_operation(
            "Erase for good; answered when it is done. What is cut off goes on by itself", _ERASURE, body=ErasureShape
        ),
    )
    async def erase(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.work(request, lambda body: self._erase(body, request.state.principal))

    @route(
        "POST",
        "/v1/erasures/resume",
        "erase",
        storage_operation("Go on with erasures that did not come to their end", _ERASURES, body=ErasureNothingShape),
    )
    async def resume(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.work(request, self._resume)

    @route(
        "GET",
        "/v1/erasures/{erasure_id}/certificate",
        "erase",
        storage_operation("The certificate of an erasure that is done", _CERTIFICATE),
    )
    async def certificate(self, request: Request) -> Response:
        name = request.path_params["erasure_id"]
        return await self._named(request, missing("erasure"), lambda: self._library.erasures.certificate(name))

    @route(
        "POST",
        "/v1/erasures/{erasure_id}/verify",
        "erase",
        storage_operation(
            "Check a certificate: its seal, the audit, and that nothing of it is found now",
            _CHECKS,
            body=ErasureCheckShape,
        ),
    )
    async def verify(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise missing("erasure")
        name = request.path_params["erasure_id"]
        return await self._handler.work(request, lambda body: self._verify(name, body))

    @route(
        "GET",
        "/v1/holds",
        "erase",
        storage_operation("The holds that stand", object_of(holds={"type": "array", "items": _HOLD})),
    )
    async def holds(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.pool.run(
            lambda: json_response({"holds": [one.described() for one in self._library.erasures.holds()]})
        )

    @route(
        "POST",
        "/v1/holds",
        "erase",
        storage_operation("Hold something: neither erasure nor retention touches it", _HOLD, body=HoldShape),
    )
    async def hold(self, request: Request) -> Response:
        _check_operator(request.state.principal)
        return await self._handler.work(request, lambda body: self._hold(body, request.state.principal))

    @route("POST", "/v1/holds/{hold_id}/lift", "erase", storage_operation("Lift a hold", _HOLD))
    async def lift(self, request: Request) -> Response:
        name, principal = request.path_params["hold_id"], request.state.principal
        return await self._named(
            request, missing("hold"), lambda: self._library.erasures.lift(name, principal).described()
        )

    def _listed(self) -> dict[str, Any]:
        return {"erasures": [one.described() for one in self._library.erasures.list_all()]}

    def _plan(self, body: object) -> Response:
        return json_response(self._library.erasures.plan(self._target(checked(ErasureTargetShape, body))).described())

    def _erase(self, body: object, principal: Principal) -> Response:
        wanted = checked(ErasureShape, body)
        if not wanted.confirm:
            raise InvalidRequest(
                "nothing was erased: confirm must be true", hint="POST /v1/erasures/plan shows where it stands"
            )
        done = self._library.erasures.erase(
            self._target(wanted), reference=wanted.reference, common=wanted.common, principal=principal
        )
        return json_response(done.described())

    def _resume(self, body: object) -> Response:
        checked(ErasureNothingShape, body)
        return json_response({"erasures": [one.described() for one in self._library.erasures.resume()]})

    def _verify(self, name: str, body: object) -> Response:
        wanted = checked(ErasureCheckShape, body)
        try:
            checks = self._library.erasures.verify(name, wanted.values)
        except NotFound as error:
            raise missing("erasure") from error
        told = [{"name": one.name, "ok": one.ok, "detail": one.detail} for one in checks]
        return json_response({"ok": all(one.ok for one in checks), "checks": told})

    def _hold(self, body: object, principal: Principal) -> Response:
        wanted = checked(HoldShape, body)
        return json_response(self._library.erasures.hold(self._target(wanted), wanted.reason, principal).described())

    def _target(self, wanted: ErasureTargetShape) -> ErasureTarget:
        erasures = self._library.erasures
        if wanted.kind == "person":
            return erasures.person(wanted.values, stays=wanted.stays, whole=wanted.documents)
        if wanted.kind == "source":
            return erasures.source(wanted.source_id)
        if wanted.document_id is not None:
            return erasures.document_numbered(wanted.document_id)
        return erasures.document(wanted.source_id, wanted.uri)

    async def _named(self, request: Request, none: Problem, gives: Callable[[], Mapping[str, Any]]) -> Response:
        """The answer to a request about one thing by its id; an agent is told that there is none."""
        if request.state.principal.agent_id is not None:
            raise none

        def answer() -> Response:
            try:
                return json_response(gives())
            except NotFound as error:
                raise none from error

        return await self._handler.pool.run(answer)


def _check_operator(principal: Principal) -> None:
    if principal.agent_id is not None:
        raise NotPermitted("a key that is bound to an agent erases nothing")
