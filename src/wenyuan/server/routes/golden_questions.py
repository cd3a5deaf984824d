"""Golden questions that are kept in the library, over HTTP. Operators only: they are questions that people asked."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotFound
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.registry import operator
from wenyuan.wire.golden_questions import GoldenQuestionShape, golden_question_from_wire

if TYPE_CHECKING:
    from wenyuan.service.library import Library

_TEXT = {"type": "string"}
_GOLDEN = object_of(
    digest=_TEXT, question=_TEXT, answer=_TEXT, actor=_TEXT, origin={"enum": ["gap", "closed", "said", "liked"]},
    at={"type": "number"},
)  # fmt: skip
_LIST = {"type": "array", "items": _GOLDEN}


class GoldenQuestionRoutes:
    """``/v1/evaluations/questions``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/evaluations/questions",
        "registry",
        storage_operation(
            "The golden questions that are kept in the library, oldest first", object_of(questions=_LIST)
        ),
    )
    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(self._listed)

    @route(
        "POST",
        "/v1/evaluations/questions",
        "registry",
        storage_operation(
            "Keep a question with the address of its answer; or those whose answers somebody called right",
            object_of(kept=_LIST, unusable={"type": "integer"}),
            statuses=(201,),
            body=GoldenQuestionShape,
        ),
    )
    async def keep(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, lambda body: self._kept(body, request.state.principal))

    @route(
        "DELETE",
        "/v1/evaluations/questions/{digest}",
        "registry",
        storage_operation("Forget a golden question", _GOLDEN),
    )
    async def remove(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise missing("golden question")
        return await self._handler.pool.run(lambda: self._removed(request.path_params["digest"]))

    def _listed(self) -> Response:
        return json_response({"questions": [asdict(one) for one in self._library.golden_desk.golden_questions()]})

    def _kept(self, body: object, principal: Principal) -> Response:
        wanted = golden_question_from_wire(body)
        if wanted.liked:
            kept, unusable = self._library.golden_desk.keep_liked(principal=principal)
        else:
            try:
                one = self._library.golden_desk.keep(wanted.question or "", wanted.answer, principal=principal)
            except NotFound as error:
                raise missing("passage") from error
            kept, unusable = (one,), 0
        return json_response({"kept": [asdict(one) for one in kept], "unusable": unusable}, 201)

    def _removed(self, digest: str) -> Response:
        try:
            return json_response(asdict(self._library.golden_desk.remove(digest)))
        except NotFound as error:
            raise missing("golden question") from error
