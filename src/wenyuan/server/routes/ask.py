"""Query routes: the contract, search and context, answers, Dify, OpenAI's vector stores, and MCP."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from wenyuan import wire as shapes
from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotFound, NotPermitted, msg
from wenyuan.core.model import RetrievalRequest, RetrievalResponse
from wenyuan.core.ports import caller_gone
from wenyuan.server import KnowledgeService, Service
from wenyuan.server.access import route
from wenyuan.server.handling import GONE, STATUS_HEADER, Question, RequestHandler, Told, json_response, missing
from wenyuan.server.metrics import MCP, asked, foreign
from wenyuan.server.problems import DIFY, Problem
from wenyuan.server.routes.audit import queried
from wenyuan.service.context import ContextRequest
from wenyuan.service.fragments import EVERYTHING
from wenyuan.service.generation.answering import Tell
from wenyuan.service.generation.answers import AnswerRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.service.verification import VerifyRequest, as_data
from wenyuan.wire import search as governed
from wenyuan.wire import strict_json
from wenyuan.wire.answering import (
    AnswerRequestShape,
    AnswerShape,
    VerifyAnswerShape,
    VerifyRequestShape,
    answer_from_wire,
    failed_answer,
    failed_verification,
    verify_from_wire,
)
from wenyuan.wire.protocols import (
    DifyAnswerShape,
    DifyErrorShape,
    DifyRequestShape,
    Store,
    StoreErrorShape,
    StoreListShape,
    StorePageShape,
    StoreRequestShape,
    StoresQueryShape,
    dify_failure,
    dify_from_wire,
    dify_to_wire,
    store_from_wire,
    store_to_wire,
    stores_to_wire,
)

if TYPE_CHECKING:
    from wenyuan.service.library import Library


# Asking: the contract's one method, the knowledge service and the context service.


_CONTRACT = ("Fragments that answer a query, best first", shapes.RetrievalRequestShape, shapes.RetrievalResponseShape)
_SEARCH = ("Passages within a knowledge scope", governed.SearchRequestShape, governed.SearchAnswerShape, 404)
_CONTEXT = ("Knowledge snippets for a prompt", governed.ContextRequestShape, governed.ContextAnswerShape, 404)

_VERIFY = ("A verdict on every claim of an answer", VerifyRequestShape, VerifyAnswerShape, 404)


class Fragments:
    """``/v1/retrieve_fragments``."""

    def __init__(self, service: Service, handler: RequestHandler) -> None:
        self._service = service
        self._governed = service if isinstance(service, KnowledgeService) else None
        self._handler = handler

    @route("POST", "/v1/retrieve_fragments", "retrieve", asked("retrieve_fragments", *_CONTRACT))
    @route("POST", "/retrieve_fragments", "retrieve", asked("retrieve_fragments_unversioned", *_CONTRACT))
    async def retrieve(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        return await self._handler.ask(
            request,
            Question(
                shapes.request_from_wire,
                lambda asked: shapes.response_to_wire(self._respond(asked, principal)),
                lambda why: shapes.response_to_wire(RetrievalResponse(status="FAILED", error_message=why)),
                waits=lambda asked: (asked.context or {}).get("rewrite") is True,
            ),
        )

    def _respond(self, asked: RetrievalRequest, principal: Principal) -> RetrievalResponse:
        if self._governed is not None:
            return self._governed.retrieve_fragments(asked, principal)
        if principal.agent_id is not None:
            raise NotPermitted("this service knows no agents")
        return self._service.retrieve_fragments(asked)


class Knowledge:
    """``/v1/search``, ``/v1/context`` and ``/v1/verify``."""

    def __init__(self, service: KnowledgeService, handler: RequestHandler) -> None:
        self._service = service
        self._handler = handler

    @route("POST", "/v1/search", "search", asked("search", *_SEARCH))
    @route("POST", "/search", "search", asked("search_unversioned", *_SEARCH))
    async def search(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        question = Question(
            governed.search_from_wire, lambda asked: self._search(asked, principal), _no_passages, _asks_a_model
        )
        return await self._handler.ask(request, question)

    @route("POST", "/v1/context", "search", asked("get_context", *_CONTEXT))
    async def context(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        question = Question(
            governed.context_from_wire, lambda asked: self._context(asked, principal), _no_snippets, _asks_a_model
        )
        return await self._handler.ask(request, question)

    @route("POST", "/v1/verify", "search", asked("verify", *_VERIFY))
    async def verify(self, request: Request) -> Response:
        principal: Principal = request.state.principal

        def told(asked: VerifyRequest) -> Mapping[str, Any]:
            return {"status": "SUCCESS", **as_data(self._service.verify(asked, principal))}

        return await self._handler.ask(request, Question(verify_from_wire, told, failed_verification))

    def _search(self, asked: SearchRequest, principal: Principal) -> Mapping[str, Any]:
        self.check(asked.agent_id, governed.domains_of(asked.knowledge_scope), principal)
        return governed.search_to_wire(self._service.find(asked, principal))

    def _context(self, asked: ContextRequest, principal: Principal) -> Mapping[str, Any]:
        self.check(asked.agent_id, governed.domains_of(None, asked.top_k), principal)
        return governed.context_to_wire(self._service.get_context(asked, principal))

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
        if principal.agent_id is not None and not domains <= governed.domains_of(agent.knowledge_scope):
            raise NotPermitted("the agent's knowledge scope does not hold every domain that the request names")


def _asks_a_model(asked: SearchRequest | ContextRequest) -> bool:
    return asked.conversation is not None or asked.summary == "generated"


def _no_passages(why: str) -> Mapping[str, Any]:
    return shapes.failed_body(why, passages=[])


def _no_snippets(why: str) -> Mapping[str, Any]:
    return shapes.failed_body(why, CONTEXT_DATA={"knowledge_snippets": []})


# Dify's External Knowledge API: ``POST /retrieval``.


_RETRIEVAL = foreign(
    "dify_retrieval", "Dify's External Knowledge API", DifyRequestShape, DifyAnswerShape, DifyErrorShape
)


class Dify:
    """Dify's External Knowledge API. A failure is an HTTP error, or a record where the settings say so."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route("POST", DIFY, "retrieve", _RETRIEVAL)
    async def retrieval(self, request: Request) -> Response:
        principal = request.state.principal

        def answer(body: object) -> Told:
            given = self._library.fragments(dify_from_wire(body), principal)
            return Told(dify_to_wire(given), given.degraded)

        try:
            return await self._handler.tell(request, answer)
        except Problem as problem:
            if problem.status < 500 or not self._handler.settings.dify_failure_record:
                raise
            return self._handler.told(dify_failure(problem.detail), "FAILED")


# OpenAI's vector stores: ``GET /v1/vector_stores`` and ``POST /v1/vector_stores/{vector_store_id}/search``.


_STORES = foreign(
    "list_vector_stores",
    "OpenAI's list of vector stores",
    None,
    StoreListShape,
    StoreErrorShape,
    query=StoresQueryShape,
)
_STORE_SEARCH = foreign(
    "search_vector_store", "OpenAI's vector-store search", StoreRequestShape, StorePageShape, StoreErrorShape
)


class Stores:
    """OpenAI's vector stores: every knowledge domain is a store; ``all`` is the whole library."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route("GET", "/v1/vector_stores", "retrieve", _STORES)
    async def list(self, request: Request) -> Response:
        asked = queried(request, StoresQueryShape)
        principal = request.state.principal
        return await self._handler.pool.run(lambda: json_response(stores_to_wire(self._stores(principal), asked)))

    def _stores(self, principal: Principal) -> Sequence[Store]:
        """The stores with a source that the caller may read today, ``all`` among them."""
        held: dict[str, dict[str, None]] = {}
        for name, source in self._library.readable_sources(principal).items():
            held.setdefault(source.domain, {})[name] = None
            held.setdefault(EVERYTHING, {})
        every = [name for names in held.values() for name in names]
        # A source may have the name of all for its domain; then that domain is what the name stands for.
        sources = {domain: list(names) or every for domain, names in held.items()}
        since, counts = self._library.catalog.registered_at(), self._library.catalog.counts_by_source()
        return [
            Store(
                name=domain,
                created_at=min(since.get(name, 0.0) for name in names),
                documents=sum(counts.get(name, {}).get("documents", 0) for name in names),
                failures=sum(counts.get(name, {}).get("failures", 0) for name in names),
            )
            for domain, names in sources.items()
        ]

    @route("POST", "/v1/vector_stores/{vector_store_id}/search", "retrieve", _STORE_SEARCH)
    async def search(self, request: Request) -> Response:
        principal = request.state.principal
        store = request.path_params["vector_store_id"]

        def answer(body: object) -> Told:
            asked = store_from_wire(body, store)
            given = [self._library.fragments(wanted, principal) for wanted in asked]
            degraded = dict.fromkeys(name for one in given for name in one.degraded)
            return Told(store_to_wire(asked, given), tuple(degraded))

        return await self._handler.tell(request, answer)


# The Model Context Protocol over HTTP: ``POST /mcp``, stateless, for revision 2026-07-28 and older clients.


class Mcp:
    """MCP over HTTP, stateless."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler
        self._server: Any = None

    @route("POST", "/mcp", "retrieve", MCP)
    async def exchange(self, request: Request) -> Response:
        if self._server is None:
            self._server = self._make()
        from wenyuan.mcp.server import Exchange, refusal

        body = await self._handler.content(request)
        refused = await run_in_threadpool(refusal, body)
        if refused is not None:
            return json_response(refused.model_dump(by_alias=True, exclude_unset=True), 400)
        return Exchange(
            self._server, request, body, limit=self._handler.settings.max_body, status_header=STATUS_HEADER
        )

    def _make(self) -> Any:
        if find_spec("mcp") is None:
            raise Problem(
                501,
                "mcp_not_installed",
                "this server was installed without MCP; on its machine, `wenyuan mcp` says how to add it",
            )
        from wenyuan.mcp.server import make_server

        handler = self._handler
        return make_server(self._library, caller=_caller, run=handler.pool.run, waiting=handler.waiting.run)


def _caller(context: Any) -> Principal:
    """The principal of the HTTP request that carries an MCP request."""
    principal = context.request.state.principal
    if not isinstance(principal, Principal):
        raise NotPermitted("nobody is behind this request")
    return principal


# The route that answers with a language model, as one response or as server-sent events.

_log = logging.getLogger("wenyuan.server")
_ANSWER = ("An answer whose every claim is quoted", AnswerRequestShape, AnswerShape, 404)

_Event = tuple[str, Mapping[str, Any]]


class Answers:
    """``/v1/answer``; all of it waits for a model."""

    def __init__(self, service: KnowledgeService, handler: RequestHandler) -> None:
        self._service, self._handler = service, handler
        self._check = Knowledge(service, handler).check
        self._pool = handler.waiting

    @route("POST", "/v1/answer", "search", asked("answer", *_ANSWER))
    async def answer(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        content = await self._handler.content(request)
        wanted = await self._pool.run(lambda: answer_from_wire(strict_json.loads(content)))
        self._check(wanted.agent_id, governed.domains_of(wanted.knowledge_scope), principal)
        if wanted.stream:
            return StreamingResponse(self._events(wanted, principal, request), media_type="text/event-stream")
        question = Question(
            lambda _body: wanted, lambda one: self._told(one, principal, _nothing, caller_gone()), failed_answer,
            waits=lambda _asked: True,
        )  # fmt: skip
        return await self._handler.ask(request, question, content=content)

    def _told(
        self, wanted: AnswerRequest, principal: Principal, tell: Tell, gone: Callable[[], bool]
    ) -> Mapping[str, Any]:
        answered = self._service.answer(wanted, principal, tell=tell, gone=gone)
        return {"status": "SUCCESS", **governed.answer_to_wire(answered)}

    async def _events(self, wanted: AnswerRequest, principal: Principal, request: Request) -> AsyncIterator[str]:
        """Server-sent events: stages as they happen, claims once checked and recorded, finally the complete answer or
        FAILED.
        """
        loop, gone = asyncio.get_running_loop(), threading.Event()
        queue: asyncio.Queue[_Event] = asyncio.Queue()
        request_id: str = request.state.request_id
        request.state.said = GONE

        def put(name: str, told: Mapping[str, Any]) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, (name, told))

        def work() -> None:
            try:
                body = self._told(
                    wanted, principal, lambda stage, told: put("stage", {"stage": stage, **told}), gone.is_set
                )
                for claim in body["claims"]:
                    put("claim", claim)
                for dropped in body["dropped"]:
                    put("dropped", dropped)
            except Exception as error:
                body = _failed(error, request_id)
            put("answer", body)

        working = asyncio.create_task(self._pool.run(work))
        working.add_done_callback(lambda task: _ended(task, queue, request_id))
        try:
            name = ""
            while name != "answer":
                name, told = await queue.get()
                if name == "answer":
                    request.state.said = told["status"]
                yield f"event: {name}\ndata: {json.dumps(told, ensure_ascii=False, default=dict)}\n\n"
        finally:
            gone.set()


def _nothing(_stage: str, _told: Mapping[str, Any]) -> None:
    """Default callback: does nothing."""


def _failed(error: Exception, request_id: str) -> dict[str, Any]:
    """A failure as a stream event, since the HTTP status has already been sent."""
    if not isinstance(error, KnowledgeError | Problem):
        _log.error("answering failed: request_id=%s", request_id, exc_info=error)
    told = isinstance(error, KnowledgeError | InvalidRequest | NotPermitted | Problem)
    reason = str(error) if told else "internal error"
    return failed_answer(msg("{reason} (request {request_id})", reason=reason, request_id=request_id))


def _ended(task: asyncio.Task[None], queue: asyncio.Queue[_Event], request_id: str) -> None:
    """Report a task that failed before it began, e.g. on a full queue, as a failure in the stream."""
    if not task.cancelled() and (error := task.exception()) is not None:
        queue.put_nowait(("answer", _failed(error if isinstance(error, Exception) else Exception(), request_id)))
