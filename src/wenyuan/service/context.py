"""The context service: ranking → trust gate → merge → copyright → budget → knowledge_snippets.

It takes any implementation of the contract's idea of an answer: on a failure nothing is injected, the error
goes up to the caller, logged and recorded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wenyuan.core.agents import Agent, DomainScope, Principal
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.snippets import ContextBuild, ContextPolicy, ScoredPassage, build_context
from wenyuan.service.recorded import Bounds, RecordedSearch
from wenyuan.service.search import LOCAL, Found, Searcher, SearchRequest, SearchResult

__all__ = ["Context", "ContextRequest", "ContextService"]

MAX_EXTRA_QUERIES = 8
_TASKS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What an agent needs to know now.

    Attributes:
        top_k: By domain, another number than the agent's scope has; ``"auto"`` as the scores say.
        extra_queries: Asked besides; the answers are merged.
        allow_low_trust: Let passages of trust below 3 in, whatever the agent's own setting; it is audited.
        token_budget: At most the agent's own.
        task_id: Copyright limits count over all contexts of one task of the agent; see `ContextService`.
    """

    retrieval_query: str
    agent_id: str | None = None
    extra_queries: tuple[str, ...] = ()
    top_k: Mapping[str, int | str] | None = None
    allow_low_trust: bool | None = None
    token_budget: int | None = None
    task_id: str = ""
    source_document_uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What was built, from which results."""

    build: ContextBuild
    results: tuple[SearchResult, ...]
    agent_id: str | None

    @property
    def degraded(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for result in self.results for name in result.degraded))


class ContextService:
    """Builds contexts, and remembers what each task of each agent has been given of every document.

    What was given is counted in this process, for the last 10,000 tasks: of several server processes each counts
    for itself, and a restart forgets. To have the limits hold for a task, let one process serve it. A limit of one
    context holds in any case. Counting in the catalog would make every context wait for the library's writer.

    Args:
        searcher: Knows whose scope counts.
        document_chars: Length in characters of documents, by id: what a share of a document is measured with.
        recorded: Searches, and writes down what came of it.
    """

    def __init__(
        self,
        searcher: Searcher,
        document_chars: Callable[[set[int]], Mapping[int, int]],
        recorded: RecordedSearch,
    ) -> None:
        self._searcher = searcher
        self._recorded = recorded
        self._document_chars = document_chars
        self._given: OrderedDict[tuple[str | None, str], Mapping[str, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get_context(self, request: ContextRequest, principal: Principal = LOCAL) -> Context:
        """Search and build.

        Raises:
            InvalidRequest, NotPermitted: the request.
            KnowledgeError: the search failed; nothing is injected.
        """
        if len(request.extra_queries) > MAX_EXTRA_QUERIES:
            raise InvalidRequest(
                f"extra_queries has {len(request.extra_queries)} entries; at most {MAX_EXTRA_QUERIES}"
            )
        agent = self._searcher.agent_of(request.agent_id, principal)
        agent_id = agent.agent_id if agent else None
        scope = _scope(agent, request)
        policy = _policy(request, agent)
        asked = [
            SearchRequest(
                query=query,
                agent_id=agent_id,
                knowledge_scope=scope,
                min_trust=policy.least_trust,  # else what is left out below would take others' places
                task_id=request.task_id,
                source_document_uri=request.source_document_uri,
                rules="beside",  # they have a share of the budget of their own
            )
            for query in (request.retrieval_query, *request.extra_queries)
        ]
        results = tuple(self._recorded.search(one, principal, "context") for one in asked)
        with self._recorded.failures(asked[0], principal, "context"):
            build = self._build(policy, results, (agent_id, request.task_id))
            bounds = Bounds(
                token_budget=policy.token_budget,
                allow_low_trust=policy.allow_low_trust,
                withheld=build.details,
            )
            results = tuple(
                self._recorded.attested(result, one, principal, "context", bounds)
                for one, result in zip(asked, results, strict=True)
            )
        return Context(build=build, results=results, agent_id=agent_id)

    def _build(
        self, policy: ContextPolicy, results: Sequence[SearchResult], task: tuple[str | None, str]
    ) -> ContextBuild:
        found = _best(results)
        scored = [
            ScoredPassage(passage=f.passage, score=f.hit.score, origin=f.hit.origin, summary=f.summary) for f in found
        ]
        chars = self._document_chars({f.passage.document_id for f in found if f.passage.document_id > 0})
        with self._lock:  # two contexts of one task must not both be given the last characters
            before = self._given.get(task, {})
            build = build_context(scored, policy, document_chars=chars, used=before)
            if task[1]:
                self._given[task] = build.used
                self._given.move_to_end(task)
                while len(self._given) > _TASKS:
                    self._given.popitem(last=False)
        return build


def _scope(agent: Agent | None, request: ContextRequest) -> tuple[DomainScope, ...] | None:
    if not request.top_k:
        return None
    held = {scope.domain: scope for scope in agent.knowledge_scope} if agent else {}
    unknown = [domain for domain in request.top_k if agent is not None and domain not in held]
    if unknown:
        raise InvalidRequest(f"top_k names {unknown[0]!r}, which is not in the agent's knowledge scope")
    changed = {d: DomainScope(domain=d, top_k=k) for d, k in request.top_k.items()}  # type: ignore[arg-type]
    return tuple((held | changed).values())


def _policy(request: ContextRequest, agent: Agent | None) -> ContextPolicy:
    return ContextPolicy(
        token_budget=_budget(request, agent),
        min_trust=agent.min_trust if agent else 1,
        allow_low_trust=_low_trust(request, agent),
    )


def _budget(request: ContextRequest, agent: Agent | None) -> int:
    most = agent.token_budget if agent else 2_000
    return min(most, request.token_budget) if request.token_budget is not None else most


def _low_trust(request: ContextRequest, agent: Agent | None) -> bool:
    if request.allow_low_trust is not None:
        return request.allow_low_trust
    return agent.allow_low_trust if agent else False


def _best(results: Sequence[SearchResult]) -> list[Found]:
    """Each passage once, with its best score of all queries."""
    best: dict[int, Found] = {}
    for found in (f for result in results for f in result.passages):
        known = best.get(found.passage.passage_id)
        if known is None or found.hit.score > known.hit.score:
            best[found.passage.passage_id] = replace(found)
    return sorted(best.values(), key=lambda f: (-f.hit.score, f.passage.passage_id))
