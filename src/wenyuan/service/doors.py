"""What the doors of other protocols ask of a library: the contract's fragments, within a domain and conditions."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from wenyuan.core.agents import Principal
from wenyuan.core.conditions import Condition, Conditions, compiled, of_sources
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted, UnknownDomain
from wenyuan.core.filters import And, Filter
from wenyuan.core.model import Facet, Fragment, RetrievalRequest
from wenyuan.core.ports import Deadline
from wenyuan.core.suggest import did_you_mean
from wenyuan.service.answer import Query
from wenyuan.service.asked import asked
from wenyuan.service.fragments import fragments_of
from wenyuan.service.retrieve import Retriever
from wenyuan.service.search import LOCAL, Searcher
from wenyuan.service.witness import Witness
from wenyuan.settings import Settings

__all__ = ["EVERYTHING", "FieldValues", "Fields", "Given", "Wanted", "WideDoor"]

EVERYTHING = "all"
"""The domain that stands for all that the caller may see, unless a source has it for its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked, in any protocol.

    Attributes:
        request: As the contract has it.
        domain: A knowledge domain, or `EVERYTHING`.
        least_score: Fragments below are left out.
        door: By which protocol, for the audit.
    """

    request: RetrievalRequest
    domain: str = EVERYTHING
    conditions: Condition | Conditions | None = None
    least_score: float = 0.0
    door: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was found, best first: exactly what ``retrieve_fragments`` finds.

    Attributes:
        degraded: Names of the legs that failed though they were allowed to.
        reason: Why there are no fragments.
        searched: Number of sources.
        stale_by: See `Answer`.
    """

    fragments: tuple[Fragment, ...]
    degraded: tuple[str, ...] = ()
    reason: str = ""
    searched: int = 0
    stale_by: float = 0.0


class WideDoor:
    """Answers in more words than the contract has. Mixed into `Library`."""

    settings: Settings
    catalog: Any
    witness: Witness
    _retriever: Retriever
    _searcher: Searcher
    _fields: Fields

    if TYPE_CHECKING:

        def _record_failure(self, query: Query, error: KnowledgeError, principal: Principal, door: str) -> None: ...

    def fragments(self, wanted: Wanted, principal: Principal = LOCAL) -> Given:
        """The fragments that ``retrieve_fragments`` would give, narrowed.

        Raises:
            UnknownDomain: there is no such domain, or none that the caller may ask.
            InvalidRequest, NotPermitted: the request.
            KnowledgeError: a leg that had to answer did not; never an empty answer instead.
        """
        query = asked(wanted.request, self.settings.rules)
        try:
            query = self._narrowed(self._searcher.bounded(query, principal), wanted)
            answer = self._retriever.retrieve(query)
        except (InvalidRequest, NotPermitted):
            raise
        except KnowledgeError as error:
            self._record_failure(query, error, principal, wanted.door)
            raise
        answer = self.witness.attested(query, answer, principal, door=wanted.door)
        found = tuple(f for f in fragments_of(answer) if f.retrieval_score >= wanted.least_score)
        too_low = f"all that was found scores below {wanted.least_score:g}" if answer.hits and not found else ""
        return Given(
            fragments=found,
            degraded=answer.degraded,
            reason=too_low or answer.reason,
            searched=len(answer.scope.sources) if answer.scope else 0,
            stale_by=answer.stale_by,
        )

    def _narrowed(self, query: Query, wanted: Wanted) -> Query:
        sources = self._retriever.registry()
        names = set(sources.by_id if query.sources is None else query.sources)
        inside = {name for name in names if sources.by_id[name].domain == wanted.domain}
        if not inside and wanted.domain != EVERYTHING:
            known = {sources.by_id[name].domain for name in names}  # to an agent, others' domains are not there
            why = f"there is no domain {wanted.domain[:64]!r}"
            raise UnknownDomain(why + did_you_mean(wanted.domain, known), hint=f"{EVERYTHING!r} asks every domain")
        if inside:
            names = inside
            query = replace(query, sources=tuple(sorted(names)))
        if wanted.conditions is None:
            return query
        held = self._fields.held(self.catalog.seq(), self.settings.search.deadline)
        day = query.as_of or date.today()
        seen = [s for n in sorted(names) if sources.in_force(n, day) for s in (sources.by_id[n],)]
        chosen = compiled(wanted.conditions, of_sources([s for s in seen if s.trust >= query.min_trust], held))
        return replace(query, filter=_both(query.filter, chosen))


def _both(one: Filter | None, other: Filter) -> Filter:
    return other if one is None else And((one, other))


class FieldValues(Protocol):
    """Where documents are kept."""

    def field_values(self, deadline: Deadline | None = None) -> Mapping[str, Mapping[str, Sequence[Facet]]]: ...


class Fields:
    """Which fields the documents of each source have, with their values; read anew after a change of the catalog."""

    def __init__(self, catalog: FieldValues) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._at: tuple[int, Mapping[str, Mapping[str, Sequence[Facet]]]] | None = None

    def held(self, change: int, seconds: float) -> Mapping[str, Mapping[str, Sequence[Facet]]]:
        """As of `change` or later; a `KnowledgeError` when that takes longer than `seconds`."""
        with self._lock:
            if self._at is None or self._at[0] != change:
                deadline = Deadline(time.monotonic() + seconds, time.monotonic)
                self._at = (change, self._catalog.field_values(deadline))
            return self._at[1]
