"""Searches that leave their record: what was given, what was kept back and why; or why there was no answer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from wenyuan.core.agents import Principal
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted
from wenyuan.core.snippets import Withheld
from wenyuan.service.answer import Answer, Query
from wenyuan.service.search import Found, Searcher, SearchRequest, SearchResult
from wenyuan.service.witness import Witness, one_question

__all__ = ["Bounds", "RecordedSearch"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a context was bounded by, and which passages did not come through.

    Attributes:
        doubted: Of one answer: what would have been in it, were it trusted more.
    """

    token_budget: int
    allow_low_trust: bool
    withheld: Sequence[Withheld]
    doubted: Sequence[Found] = ()


class RecordedSearch:
    """A searcher whose every answer and failure is in the audit.

    Args:
        witness: Writes the records.
    """

    def __init__(self, searcher: Searcher, witness: Witness) -> None:
        self._searcher = searcher
        self._witness = witness

    def find(self, request: SearchRequest, principal: Principal) -> SearchResult:
        """Search, and record what was found or why it failed."""
        with self.failures(request, principal, "search"):
            return self.attested(self._searcher.search(request, principal), request, principal, "search")

    def searches(
        self, requests: Sequence[SearchRequest], principal: Principal, door: str
    ) -> tuple[SearchResult, ...]:
        """Search for each within the time of one request, and record the first failure, which ends it.

        What was found is recorded by `attested`, when it is known what is given.
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
        bounds: Bounds | None = None,
    ) -> SearchResult:  # fmt: skip
        """A result with the ids of its records, one for each domain.

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be given either.
        """
        given = {found.hit.passage_id for found in result.passages}
        copies = {copy.passage_id for found in result.passages for copy in found.copies}
        more = {} if bounds is None else {"token_budget": bounds.token_budget}
        if bounds is not None and bounds.allow_low_trust:
            more["allow_low_trust"] = True
        ids = [
            self._witness.answered(
                query, answer, principal, door=door, agent_id=request.agent_id, cache_hit=result.cache_hit,
                withheld=_kept_back(query, answer, given, copies, bounds), bounds=more, copies=copies - given,
            )
            for query, answer in result.answers
        ]  # fmt: skip
        return replace(result, audit_ids=tuple(filter(None, ids)))

    @contextmanager
    def failures(self, request: SearchRequest, principal: Principal, door: str) -> Iterator[None]:
        """Record what fails inside, unless the request is at fault; it is raised in any case."""
        try:
            yield
        except (InvalidRequest, NotPermitted):
            raise
        except Exception as error:
            if isinstance(error, KnowledgeError):  # of anything else, who called tells the whole story
                log.error("search for agent %s failed: %s", request.agent_id or principal.agent_id, error)
            self.failed(self._searcher.whole(request, principal), error, principal, door, request.agent_id)
            raise

    def failed(
        self, query: Query, error: Exception, principal: Principal, door: str, agent_id: str | None = None
    ) -> None:
        """Record that a question got no answer."""
        try:
            self._witness.failed(query, error, principal, door=door, agent_id=agent_id)
        except KnowledgeError as second:  # the answer says FAILED as it is
            log.error("the failure could not be audited: %s", second)


def _kept_back(
    query: Query, answer: Answer, given: set[int], copies: set[int], bounds: Bounds | None
) -> Mapping[str, Mapping[str, int]]:
    """By reason, the passages of one answer that were kept back wholly or partly: characters by short address."""
    kept: dict[str, dict[str, int]] = {}
    doubted = (f.passage for f in (bounds.doubted if bounds is not None else ()))
    refs = {p.ref for p in doubted if query.sources is None or p.source_id in query.sources}
    for hit in answer.hits:
        passage = answer.passages[hit.passage_id]
        refs.add(passage.ref)
        if hit.passage_id not in given | copies:  # top_k was auto, and the scores said that it helps no more
            kept.setdefault("top_k", {})[passage.ref] = len(passage.text)
    for one in bounds.withheld if bounds is not None else ():
        if one.ref in refs:
            of_reason = kept.setdefault(one.reason, {})
            of_reason[one.ref] = of_reason.get(one.ref, 0) + one.characters
    return kept
