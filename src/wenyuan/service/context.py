"""The context service: search → trust → merge → copyright → budget → snippets.

It takes any implementation of the contract's idea of an answer: on a failure nothing is injected, the error
goes up to the caller, logged and recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from wenyuan.core.access import TOKEN_BUDGET, Agent, DomainScope, Principal
from wenyuan.core.arguments import checking_fields
from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.prompt import build_context
from wenyuan.core.prompt_parts import ContextBuild, ContextPolicy
from wenyuan.core.query_rewriting import Turn
from wenyuan.core.scoring.copies import limited as is_limited
from wenyuan.core.text.excerpts import ScoredPassage, document_key
from wenyuan.service.audit.recorded_search import ContextLimits, RecordedSearch
from wenyuan.service.audit.recorder import one_question
from wenyuan.service.search.placement import ASIDE
from wenyuan.service.search.searcher import LOCAL, ResultPassage, Searcher, SearchRequest, SearchResult

if TYPE_CHECKING:
    from wenyuan.catalog.tasks import TaskLedger
    from wenyuan.service.generation.rewriter import Rewriter
    from wenyuan.service.generation.summarizer import Summarizer

MAX_EXTRA_QUERIES = 8


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """A request for prompt context.

    Attributes:
        top_k: By domain, another number than the agent's scope has; ``"auto"`` as the scores say, ``"confidence"`` as a judge does.
        extra_queries: Asked besides; the answers are merged.
        allow_low_trust: Let passages of trust below 3 in, whatever the agent's own setting; it is audited.
        token_budget: At most the agent's own.
        task_id: Copyright limits count over all contexts of one task of the agent, whatever process gives them.
        summary: What is given of a passage: its extract, or (``generated``) sentences that a language model chooses.
        conversation: See `SearchRequest`; of `retrieval_query` alone.
    """

    retrieval_query: str
    agent_id: str | None = None
    extra_queries: tuple[str, ...] = ()
    top_k: Mapping[str, int | str] | None = None
    allow_low_trust: bool | None = None
    token_budget: int | None = None
    task_id: str = ""
    source_document_uri: str = ""
    summary: Literal["extractive", "generated"] = "extractive"
    conversation: tuple[Turn, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The snippets, and the search results they come from."""

    build: ContextBuild
    results: tuple[SearchResult, ...]
    agent_id: str | None

    @property
    def degraded(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for result in self.results for name in result.degraded))


class ContextService:
    """Builds contexts, with copyright limits counted per task and document.

    Args:
        searcher: Knows whose scope counts.
        document_chars: Length in characters of documents, by id: what a share of a document is measured with.
        recorded: Searches and records the results.
        ledger: Counts what tasks were given, for all processes.
        summarizer: Makes summaries whose sentences a language model chooses.
        rewriter: Has questions said in other words.
    """

    def __init__(
        self,
        searcher: Searcher,
        document_chars: Callable[[set[int]], Mapping[int, int]],
        recorded: RecordedSearch,
        ledger: TaskLedger,
        summarizer: Summarizer,
        rewriter: Rewriter,
    ) -> None:
        self._searcher = searcher
        self._recorded = recorded
        self._document_chars = document_chars
        self._ledger = ledger
        self._summarizer = summarizer
        self._rewriter = rewriter

    @one_question()
    def get_context(self, request: ContextRequest, principal: Principal = LOCAL) -> Context:
        """Search and build a context.

        Raises:
            InvalidRequest, NotPermitted: the request.
            KnowledgeError: the search failed; nothing is injected.
        """
        if len(request.extra_queries) > MAX_EXTRA_QUERIES:
            raise InvalidRequest(
                msg(
                    "extra_queries has {count} entries; at most {max_extra_queries}",
                    count=len(request.extra_queries),
                    max_extra_queries=MAX_EXTRA_QUERIES,
                )
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
        asked[0] = self._rewriter.searched(replace(asked[0], conversation=request.conversation))
        # Passages below the trust limit are searched too, to be counted as withheld: otherwise the caller would not
        # learn that they exist.
        below = [replace(one, own=True) for one in asked] if policy.least_trust > policy.min_trust else []
        below = [replace(one, min_trust=policy.min_trust) for one in below]
        if below and min(self._searcher.trusts(below[0], principal), default=5) >= policy.least_trust:
            below = []
        found = self._recorded.searches([*asked, *below], principal, "context")
        results: tuple[SearchResult, ...] = found[: len(asked)]
        if request.summary == "generated":
            results = self._summarizer.summarized(results, asked, principal, door="context")
        doubted = [_below(policy.least_trust, result) for result in found[len(asked) :]]
        with self._recorded.failures(asked[0], principal, "context"):
            build = self._build(policy, [*results, *doubted], (agent_id, request.task_id))
            bounds = ContextLimits(
                token_budget=policy.token_budget,
                allow_low_trust=policy.allow_low_trust,
                withheld=build.details,
            )
            results = tuple(
                self._recorded.attested(
                    result, one, principal, "context", replace(bounds, doubted=low.passages if low else ())
                )
                for one, result, low in zip_longest(asked, results, doubted)
            )
        return Context(build=build, results=results, agent_id=agent_id)

    def _build(
        self, policy: ContextPolicy, results: Sequence[SearchResult], task: tuple[str | None, str]
    ) -> ContextBuild:
        found = _best(results)
        scored = [
            ScoredPassage(
                passage=f.passage,
                score=f.hit.score,
                origin=f.hit.origin,
                summary=f.summary,
                answers=_answers(f),
            )
            for f in found
        ]
        chars = self._document_chars({f.passage.document_id for f in found if f.passage.document_id > 0})
        agent_id, task_id = task
        limited = {document_key(f.passage) for f in found if is_limited(f.passage.copyright)}
        if not task_id or not limited:
            return build_context(scored, policy, document_chars=chars)
        with self._ledger.reserved(agent_id, task_id, limited) as given:
            build = build_context(scored, policy, document_chars=chars, used=given)
            given.update(build.used)
        return build


def _answers(found: ResultPassage) -> bool | None:
    """Whether a rule answers; False where passages do instead of it, None for passages and where nothing was asked for."""
    if ASIDE in found.hit.parts:
        return False
    return True if found.derivation.get("answers") else None


def _below(least: int, result: SearchResult) -> SearchResult:
    """The part of a result with trust below `least`."""
    return replace(result, passages=tuple(f for f in result.passages if f.passage.trust < least))


def _scope(agent: Agent | None, request: ContextRequest) -> tuple[DomainScope, ...] | None:
    if not request.top_k:
        return None
    held = {scope.domain: scope for scope in agent.knowledge_scope} if agent else {}
    unknown = [domain for domain in request.top_k if agent is not None and domain not in held]
    if unknown:
        raise InvalidRequest(
            msg("top_k names {unknown}, which is not in the agent's knowledge scope", unknown=repr(unknown[0]))
        )
    changed = {d: DomainScope(domain=d, top_k=k) for d, k in request.top_k.items()}  # type: ignore[arg-type]
    return tuple((held | changed).values())


def _policy(request: ContextRequest, agent: Agent | None) -> ContextPolicy:
    return ContextPolicy(
        token_budget=_budget(request, agent),
        min_trust=agent.min_trust if agent else 1,
        allow_low_trust=_low_trust(request, agent),
    )


def _budget(request: ContextRequest, agent: Agent | None) -> int:
    most = agent.token_budget if agent else TOKEN_BUDGET
    return min(most, request.token_budget) if request.token_budget is not None else most


def _low_trust(request: ContextRequest, agent: Agent | None) -> bool:
    if request.allow_low_trust is not None:
        return request.allow_low_trust
    return agent.allow_low_trust if agent else False


def _best(results: Sequence[SearchResult]) -> list[ResultPassage]:
    """Each passage once, with its best score over all queries."""
    best: dict[int, ResultPassage] = {}
    for found in (f for result in results for f in result.passages):
        known = best.get(found.passage.passage_id)
        if known is None or found.hit.score > known.hit.score:
            best[found.passage.passage_id] = replace(found)
    return sorted(best.values(), key=lambda f: (-f.hit.score, f.passage.passage_id))
