"""Searches that leave their record: what was given, what was kept back and why; or why there was no answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted
from wenyuan.core.prompt_parts import Withheld
from wenyuan.service.audit.recorder import AuditRecorder, one_question
from wenyuan.service.query import Query, SearchAnswer
from wenyuan.service.search.searcher import ResultPassage, Searcher, SearchRequest, SearchResult

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLimits:
    """The limits on a context, and the passages that they excluded.

    Attributes:
        doubted: Of one answer: what would have been in it, were it trusted more.
    """

    token_budget: int
    allow_low_trust: bool
    withheld: Sequence[Withheld]
    doubted: Sequence[ResultPassage] = ()


class RecordedSearch:
    """A searcher that records every answer and failure in the audit.

    Args:
        recorder: Writes the records.
    """

    def __init__(self, searcher: Searcher, recorder: AuditRecorder) -> None:
        self._searcher = searcher
        self.recorder = recorder

    def find(self, request: SearchRequest, principal: Principal) -> SearchResult:
        """Search, and record the result or failure."""
        with self.failures(request, principal, "search"):
            return self.attested(self._searcher.search(request, principal), request, principal, "search")

    def answered(
        self, query: Query, ask: Callable[[Query], SearchAnswer], principal: Principal, door: str
    ) -> SearchAnswer:
        """The answer to a query with its record id. Failures are recorded, except for invalid requests."""
        try:
            answer = ask(query)
        except (InvalidRequest, NotPermitted):
            raise
        except KnowledgeError as error:
            self.failed(query, error, principal, door)
            raise
        return self.recorder.attested(query, answer, principal, door=door)

    def searches(
        self, requests: Sequence[SearchRequest], principal: Principal, door: str
    ) -> tuple[SearchResult, ...]:
        """Run several searches within one request's time; the first failure ends them and is recorded.

        Results are recorded by `attested`, once it is known what is given.
        """
        found = []
        with self.failures(requests[0], principal, door):
            begun = self._searcher.searches(requests, principal)
        for request, result in zip(requests, begun, strict=True):
            with self.failures(request, principal, door):
                found.append(result())
        return tuple(found)

    @one_question()
    def attested(
        self, result: SearchResult, request: SearchRequest, principal: Principal, door: str,
        bounds: ContextLimits | None = None,
    ) -> SearchResult:  # fmt: skip
        """A result with record ids, one per domain.

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be given either.
        """
        given = {found.hit.passage_id for found in result.passages}
        copies = {copy.passage_id for found in result.passages for copy in found.copies}
        more = {} if bounds is None else {"token_budget": bounds.token_budget}
        if bounds is not None and bounds.allow_low_trust:
            more["allow_low_trust"] = True
        ids = [
            self.recorder.answered(
                query, answer, principal, door=door, agent_id=request.agent_id, cache_hit=result.cache_hit,
                withheld=_kept_back(query, answer, given, copies, bounds), bounds=more, copies=copies - given,
            )
            for query, answer in result.answers
        ]  # fmt: skip
        return replace(result, audit_ids=tuple(filter(None, ids)))

    @contextmanager
    def failures(self, request: SearchRequest, principal: Principal, door: str) -> Iterator[None]:
        """Context that records failures, except for invalid requests, and re-raises them."""
        try:
            yield
        except (InvalidRequest, NotPermitted):
            raise
        except Exception as error:
            if isinstance(error, KnowledgeError):  # for other exceptions the caller reports the details
                log.error("search for agent %s failed: %s", request.agent_id or principal.agent_id, error)
            with self._searcher.in_time():  # a catalog that hangs made it fail, and is asked for what it searched
                self.failed(self._searcher.whole(request, principal), error, principal, door, request.agent_id)
            raise

    def failed(
        self, query: Query, error: Exception, principal: Principal, door: str, agent_id: str | None = None
    ) -> None:
        """Record a failed query, within the time of one request."""
        try:
            with self._searcher.in_time():
                self.recorder.failed(query, error, principal, door=door, agent_id=agent_id)
        except KnowledgeError as second:  # the answer has status FAILED anyway
            log.critical(
                "the failure could not be audited: %s", second
            )  # told where failures are shown otherwise, too


def _kept_back(
    query: Query, answer: SearchAnswer, given: set[int], copies: set[int], bounds: ContextLimits | None
) -> Mapping[str, Mapping[str, int]]:
    """Withheld passages of one answer: reason → short address → characters."""
    kept: dict[str, dict[str, int]] = {}
    doubted = (f.passage for f in (bounds.doubted if bounds is not None else ()))
    refs = {p.ref for p in doubted if query.sources is None or p.source_id in query.sources}
    for hit in answer.hits:
        passage = answer.passages[hit.passage_id]
        refs.add(passage.ref)
        if hit.passage_id not in given | copies:  # cut off by scores or a judge (top_k auto or confidence)
            kept.setdefault("top_k", {})[passage.ref] = len(passage.text)
    for one in bounds.withheld if bounds is not None else ():
        if one.ref in refs:
            of_reason = kept.setdefault(one.reason, {})
            of_reason[one.ref] = of_reason.get(one.ref, 0) + one.characters
    return kept
