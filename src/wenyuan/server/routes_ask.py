"""Asking: the contract's one method, the knowledge service and the context service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.agents import Principal
from wenyuan.core.errors import NotPermitted
from wenyuan.core.model import RetrievalRequest, RetrievalResponse
from wenyuan.server.access import Handler
from wenyuan.server.desk import Desk, Question, missing
from wenyuan.server.seams import KnowledgeService, Service
from wenyuan.service.context import ContextRequest
from wenyuan.service.search import SearchRequest
from wenyuan.wire import governed, shapes

__all__ = ["Fragments", "Knowledge"]


class Fragments:
    """``retrieve_fragments``."""

    def __init__(self, service: Service, desk: Desk) -> None:
        self._service = service
        self._governed = service if isinstance(service, KnowledgeService) else None
        self._desk = desk
        self.handlers: Mapping[tuple[str, str], Handler] = {
            ("POST", "/v1/retrieve_fragments"): self.retrieve,
            ("POST", "/retrieve_fragments"): self.retrieve,
        }

    async def retrieve(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        return await self._desk.ask(
            request,
            Question(
                shapes.request_from_wire,
                lambda asked: shapes.response_to_wire(self._respond(asked, principal)),
                lambda why: shapes.response_to_wire(RetrievalResponse(status="FAILED", error_message=why)),
            ),
        )

    def _respond(self, asked: RetrievalRequest, principal: Principal) -> RetrievalResponse:
        if self._governed is not None:
            return self._governed.retrieve_fragments(asked, principal)
        if principal.agent_id is not None:
            raise NotPermitted("this service knows no agents")
        return self._service.retrieve_fragments(asked)


class Knowledge:
    """``search`` and ``context``."""

    def __init__(self, service: KnowledgeService, desk: Desk) -> None:
        self._service = service
        self._desk = desk
        self.handlers: Mapping[tuple[str, str], Handler] = {
            ("POST", "/v1/search"): self.search,
            ("POST", "/search"): self.search,
            ("POST", "/v1/context"): self.context,
        }

    async def search(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        question = Question(governed.search_from_wire, lambda asked: self._search(asked, principal), _no_passages)
        return await self._desk.ask(request, question)

    async def context(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        question = Question(governed.context_from_wire, lambda asked: self._context(asked, principal), _no_snippets)
        return await self._desk.ask(request, question)

    def _search(self, asked: SearchRequest, principal: Principal) -> Mapping[str, Any]:
        self._check(asked.agent_id, governed.domains_of(asked.knowledge_scope), principal)
        return governed.search_to_wire(self._service.find(asked, principal))

    def _context(self, asked: ContextRequest, principal: Principal) -> Mapping[str, Any]:
        self._check(asked.agent_id, governed.domains_of(None, asked.top_k), principal)
        return governed.context_to_wire(self._service.get_context(asked, principal))

    def _check(self, agent_id: str | None, domains: frozenset[str], principal: Principal) -> None:
        """Whether the agent is the caller's to speak for.

        To a key of an agent, a domain outside its scope and one that does not exist are refused alike.
        """
        if principal.agent_id is not None and agent_id not in (None, principal.agent_id):
            raise missing("agent")
        if agent_id is None and principal.agent_id is None:
            return
        try:
            agent = self._service.catalog.agent(agent_id or principal.agent_id or "")
        except NotPermitted as error:
            raise missing("agent") from error
        if principal.agent_id is not None and not domains <= governed.domains_of(agent.knowledge_scope):
            raise NotPermitted("the agent's knowledge scope does not hold every domain that the request names")


def _no_passages(why: str) -> Mapping[str, Any]:
    return {"status": "FAILED", "passages": [], "error_message": why}


def _no_snippets(why: str) -> Mapping[str, Any]:
    return {"status": "FAILED", "CONTEXT_DATA": {"knowledge_snippets": []}, "error_message": why}
