"""What the doors of other protocols ask of a library: the contract's fragments, within a domain and conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from wenyuan.core.access import Principal
from wenyuan.core.arguments import checking_fields
from wenyuan.core.conditions import Conditions, FieldComparison, compiled, of_sources
from wenyuan.core.errors import InvalidRequest, NotPermitted, UnknownDomain, did_you_mean, msg
from wenyuan.core.filters import Filter
from wenyuan.core.model import Facet, Fragment, RetrievalRequest, RetrievalResponse
from wenyuan.core.ports import Deadline
from wenyuan.core.principals import reading_as
from wenyuan.core.restrictions import Restrictions, restricted, restrictions_of
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.audit.recorded_search import RecordedSearch
from wenyuan.service.fragments import fragments_of, nearest_of
from wenyuan.service.queries import both, narrowing, query_of
from wenyuan.service.query import Query, SearchAnswer
from wenyuan.service.search.change_cache import PerChange
from wenyuan.service.search.retriever import WITHHELD, Retriever
from wenyuan.service.search.searcher import LOCAL, Searcher
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.generation.rewriter import Rewriter


EVERYTHING = "all"
"""The domain that stands for all that the caller may see, unless a source has it for its own."""


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentsRequest:
    """A request for fragments, in any protocol.

    Attributes:
        request: As the contract has it.
        domain: A knowledge domain, or `EVERYTHING`.
        least_score: Fragments below are left out.
        door: By which protocol, for the audit.
    """

    request: RetrievalRequest
    domain: str = EVERYTHING
    conditions: FieldComparison | Conditions | None = None
    least_score: float = 0.0
    door: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentsAnswer:
    """The fragments found, best first, as ``retrieve_fragments`` finds them, with details.

    Attributes:
        degraded: Names of the legs that failed though they were allowed to.
        reason: Why there are no fragments.
        nearest: See `Answer.nearest`.
        searched: Number of sources.
        stale_by: See `Answer`.
    """

    fragments: tuple[Fragment, ...]
    degraded: tuple[str, ...] = ()
    reason: str = ""
    searched: int = 0
    stale_by: float = 0.0
    nearest: Fragment | None = None


P = TypeVar("P")


def _as_it_is(query: Query) -> Query:
    return query


def _response(answer: SearchAnswer, applied: tuple[str, ...]) -> RetrievalResponse:
    return RetrievalResponse(
        status="SUCCESS",
        fragments=fragments_of(answer, applied),
        nearest=nearest_of(answer, applied),
        reason=answer.reason if answer.reason == WITHHELD else None,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class FragmentSearch:
    """Searches for fragments with more options and details than the contract has."""

    settings: Settings
    catalog: Catalog
    retriever: Retriever
    searcher: Searcher
    recorded: RecordedSearch
    fields: Fields
    rewriter: Rewriter

    def fragments(self, wanted: FragmentsRequest, principal: Principal = LOCAL) -> FragmentsAnswer:
        """The fragments of ``retrieve_fragments``, restricted to the request's domain and least score.

        Raises:
            UnknownDomain: there is no such domain, or none that the caller may ask.
            InvalidRequest, NotPermitted: the request.
            KnowledgeError: a leg that had to answer did not; never an empty answer instead.
        """
        narrow = partial(self._narrowed, wanted=wanted)
        return self._presented(
            wanted.request, principal, wanted.door, narrow, partial(self._fragments_answer, wanted=wanted)
        )

    def _fragments_answer(
        self, answer: SearchAnswer, applied: tuple[str, ...], *, wanted: FragmentsRequest
    ) -> FragmentsAnswer:
        given = fragments_of(answer, applied)
        found = tuple(f for f in given if f.retrieval_score >= wanted.least_score)
        too_low = f"all that was found scores below {wanted.least_score:g}" if answer.hits and not found else ""
        return FragmentsAnswer(
            fragments=found,
            degraded=answer.degraded,
            reason=too_low or answer.reason,
            searched=len(answer.scope.sources) if answer.scope else 0,
            stale_by=answer.stale_by,
            nearest=nearest_of(answer, applied),
        )

    def response(self, request: RetrievalRequest, principal: Principal) -> RetrievalResponse:
        """The contract's answer: SUCCESS with the fragments found. Raises what made it fail, see `answer`."""
        return self._presented(request, principal, "retrieve_fragments", _as_it_is, _response)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        sources: Sequence[str] | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        as_of: date | str | None = None,
        context: Mapping[str, Any] | None = None,
        domain: str | None = None,
        min_trust: int | None = None,
    ) -> SearchAnswer:
        """As `retrieve_fragments`, with all that is known about the answer; raises instead of answering FAILED.

        Args:
            sources: Ids of the sources to search; an unknown one is refused.
            filter: Of `core.filters`, or as JSON has it: ``{"metadata.year": {"ge": 2024}}``.
            as_of: A day, or its ISO form.
            domain, min_trust: As in `context`.

        Raises:
            InvalidRequest: an argument, named in its `faults`.
            KnowledgeError: there is no answer.
        """
        narrowed = narrowing(limit=limit, sources=sources, filter=filter, as_of=as_of)
        context = restricted(context, domain=domain, min_trust=min_trust)
        request = RetrievalRequest(query=query, max_results=limit, context=context)
        return self.answer(
            request, LOCAL, "search", lambda bounded: narrowed.of(bounded, self.retriever.registry().by_id)
        )

    def answer(
        self, request: RetrievalRequest, principal: Principal, door: str, narrow: Callable[[Query], Query]
    ) -> SearchAnswer:
        """The answer to a request with the id of its record; see `_presented`."""
        return self._presented(request, principal, door, narrow, lambda answer, _: answer)

    def _presented(
        self, request: RetrievalRequest, principal: Principal, door: str, narrow: Callable[[Query], Query],
        present: Callable[[SearchAnswer, tuple[str, ...]], P],
    ) -> P:  # fmt: skip
        """Ask for a request: read → bound by the caller's rights → narrow → reword → retrieve → record → present.

        A failure is recorded, too, unless the request itself is at fault.

        Args:
            door: By which it came, for the audit.
            narrow: Restricts the query further, after the caller's rights did.
            present: Makes what the caller gets of the answer, which has the id of its record, and of the names of the
                request's restrictions, which were applied.

        Raises:
            InvalidRequest, NotPermitted: the request itself is at fault; it was not executed.
            KnowledgeError: a leg that had to answer did not, or the audit cannot be written.
        """
        query, wanted = query_of(request, self.settings.rules), restrictions_of(request.context)
        try:
            query, principal = self._bounded(query, wanted, principal)
            query = self.rewriter.reworded(narrow(query))
            answer = self.retriever.retrieve(query)
            return present(self.recorded.recorder.attested(query, answer, principal, door=door), wanted.names)
        except (InvalidRequest, NotPermitted):
            raise
        except Exception as error:
            self.recorded.failed(query, error, principal, door)
            raise

    def _bounded(self, query: Query, wanted: Restrictions, principal: Principal) -> tuple[Query, Principal]:
        """A query within what the caller may see and the request's restrictions allow, and on whose behalf it is asked.

        Raises:
            NotFound: there is no such agent, or the caller may not ask for it.
            UnknownDomain: there is no such domain, or none that the caller may ask.
        """
        self.retriever.check_strictness(query.abstain, principal)
        if wanted.agent_id:
            agent = self.searcher.agent_of(wanted.agent_id, principal)
            principal = principal if agent is None else replace(principal, agent_id=agent.agent_id)
        query = self.searcher.bounded(query, principal)
        return self._within(query, wanted.domain) if wanted.domain else query, principal

    def _within(self, query: Query, domain: str) -> Query:
        """A query of the sources of a domain alone."""
        sources = self.retriever.registry()
        names = set(sources.by_id if query.sources is None else query.sources)
        inside = {name for name in names if sources.by_id[name].domain == domain}
        if not inside and domain != EVERYTHING:
            known = {sources.by_id[name].domain for name in names}  # to an agent, others' domains are not there
            why = msg("there is no domain {domain}", domain=repr(domain[:64]))
            raise UnknownDomain(
                why + did_you_mean(domain, known),
                hint=msg("{everything} asks every domain", everything=repr(EVERYTHING)),
            )
        return replace(query, sources=tuple(sorted(inside))) if inside else query

    def _narrowed(self, query: Query, wanted: FragmentsRequest) -> Query:
        query = self._within(query, wanted.domain)
        if wanted.conditions is None:
            return query
        sources = self.retriever.registry()
        names = set(sources.by_id if query.sources is None else query.sources)
        held = self.fields.held(self.catalog, self.settings.search.deadline)
        day = query.as_of or date.today()
        seen = [s for n in sorted(names) if sources.in_force(n, day) for s in (sources.by_id[n],)]
        chosen = compiled(wanted.conditions, of_sources([s for s in seen if s.trust >= query.min_trust], held))
        return replace(query, filter=both(query.filter, chosen))


class Fields:
    """Filterable fields of each source's documents with their values; read again after a change of the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._fields = PerChange(lambda _, deadline: _all_fields(catalog, deadline))

    def held(self, catalog: Catalog, seconds: float) -> Mapping[str, Mapping[str, Sequence[Facet]]]:
        """The fields of what the caller may see; a `KnowledgeError` when reading takes longer than `seconds`."""
        deadline = deadline_after(seconds)
        if catalog.hidden(deadline) is not None:  # what is kept is the same for all
            return catalog.field_values(deadline)
        return self._fields.at(catalog.seq(), deadline)


def _all_fields(catalog: Catalog, deadline: Deadline | None) -> Mapping[str, Mapping[str, Sequence[Facet]]]:
    with reading_as(None):
        return catalog.field_values(deadline)
