"""Asking: the contract's one method, the knowledge service and the context service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotFound, NotPermitted
from wenyuan.core.model import RetrievalRequest, RetrievalResponse
from wenyuan.server.handling import RequestHandler, RequestKind, missing
from wenyuan.server.openapi import question_operation
from wenyuan.server.route import route
from wenyuan.server.service_port import KnowledgeService, Service
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.service.verification import VerifyRequest, as_data
from wenyuan.wire import contract, search_answers, search_requests
from wenyuan.wire import search as governed
from wenyuan.wire.verification import VerifyAnswerShape, VerifyRequestShape, failed_verification, verify_from_wire

_CONTRACT = (
    "Fragments that answer a query, best first",
    contract.RetrievalRequestShape,
    contract.RetrievalResponseShape,
)
_SEARCH = ("Passages within a knowledge scope", governed.SearchRequestShape, governed.SearchAnswerShape, 404)
_CONTEXT = ("Knowledge snippets for a prompt", governed.ContextRequestShape, governed.ContextAnswerShape, 404)

_VERIFY = ("A verdict on every claim of an answer", VerifyRequestShape, VerifyAnswerShape, 404)


class FragmentRoutes:
    """``/v1/retrieve_fragments``."""

    def __init__(self, service: Service, handler: RequestHandler) -> None:
        self._service = service
        self._governed = service if isinstance(service, KnowledgeService) else None
        self._handler = handler

    @route("POST", "/v1/retrieve_fragments", "retrieve", question_operation("retrieve_fragments", *_CONTRACT))
    @route(
        "POST", "/retrieve_fragments", "retrieve", question_operation("retrieve_fragments_unversioned", *_CONTRACT)
    )
    async def retrieve(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        return await self._handler.ask(
            request,
            RequestKind(
                contract.request_from_wire,
                lambda asked: contract.response_to_wire(self._respond(asked, principal)),
                lambda why: contract.response_to_wire(RetrievalResponse(status="FAILED", error_message=why)),
                waits=lambda asked: (asked.context or {}).get("rewrite") is True,
            ),
        )

    def _respond(self, asked: RetrievalRequest, principal: Principal) -> RetrievalResponse:
        if self._governed is not None:
            return self._governed.retrieve_fragments(asked, principal)
        if principal.agent_id is not None:
            raise NotPermitted("this service knows no agents")
        return self._service.retrieve_fragments(asked)


class KnowledgeRoutes:
    """``/v1/search``, ``/v1/context`` and ``/v1/verify``."""

    def __init__(self, service: KnowledgeService, handler: RequestHandler) -> None:
        self._service = service
        self._handler = handler

    @route("POST", "/v1/search", "search", question_operation("search", *_SEARCH))
    @route("POST", "/search", "search", question_operation("search_unversioned", *_SEARCH))
    async def search(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        question = RequestKind(
            search_requests.search_from_wire,
            lambda asked: self._search(asked, principal),
            _no_passages,
            _asks_a_model,
        )
        return await self._handler.ask(request, question)

    @route("POST", "/v1/context", "search", question_operation("get_context", *_CONTEXT))
    async def context(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        question = RequestKind(
            search_requests.context_from_wire,
            lambda asked: self._context(asked, principal),
            _no_snippets,
            _asks_a_model,
        )
        return await self._handler.ask(request, question)

    @route("POST", "/v1/verify", "search", question_operation("verify", *_VERIFY))
    async def verify(self, request: Request) -> Response:
        principal: Principal = request.state.principal

        def told(asked: VerifyRequest) -> Mapping[str, Any]:
            return {"status": "SUCCESS", **as_data(self._service.verify(asked, principal))}

        return await self._handler.ask(request, RequestKind(verify_from_wire, told, failed_verification))

    def _search(self, asked: SearchRequest, principal: Principal) -> Mapping[str, Any]:
        self.check(asked.agent_id, search_requests.domains_of(asked.knowledge_scope), principal)
        return search_answers.search_to_wire(self._service.find(asked, principal))

    def _context(self, asked: ContextRequest, principal: Principal) -> Mapping[str, Any]:
        self.check(asked.agent_id, search_requests.domains_of(None, asked.top_k), principal)
        return search_answers.context_to_wire(self._service.get_context(asked, principal))

    def check(self, agent_id: str | None, domains: frozenset[str], principal: Principal) -> None:
        """Refuse an agent id or domains that the caller may not use.

        To a key of an agent, a domain outside its scope and one that does not exist are refused alike.
        """
        if principal.agent_id is not None and agent_id not in (None, principal.agent_id):
            raise missing("agent")
        if agent_id is None and principal.agent_id is None:
            return
        try:
            agent = self._service.catalog.agent(agent_id or principal.agent_id or "")
        except NotFound as error:
            raise missing("agent") from error
        if principal.agent_id is not None and not domains <= search_requests.domains_of(agent.knowledge_scope):
            raise NotPermitted("the agent's knowledge scope does not hold every domain that the request names")


def _asks_a_model(asked: SearchRequest | ContextRequest) -> bool:
    return asked.conversation is not None or asked.summary == "generated"


def _no_passages(why: str) -> Mapping[str, Any]:
    return contract.failed_body(why, passages=[])


def _no_snippets(why: str) -> Mapping[str, Any]:
    return contract.failed_body(why, CONTEXT_DATA={"knowledge_snippets": []})
