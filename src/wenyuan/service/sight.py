"""Which sources a request may see: those asked for, trusted enough, and in force on its day."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from wenyuan.core.errors import ConfigError, InvalidRequest, NotPermitted, UnknownDomain
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.core.suggest import did_you_mean
from wenyuan.core.validity import Validity, effective_ends
from wenyuan.service.record import Record

__all__ = ["Allowed", "Sight", "Sources", "lasts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What an agent may see now.

    Attributes:
        sources: Ids of the sources of its domains, in force or not.
        trusted: Those among them that it trusts enough.
        min_trust: How much trust that takes, of evidence, too.
    """

    sources: frozenset[str]
    trusted: frozenset[str]
    min_trust: int


@dataclass(frozen=True, slots=True)
class Sources:
    """The registry at one change of the catalog."""

    by_id: Mapping[str, Source]
    validity: Mapping[str, Validity]
    ends: Mapping[str, date | None]

    def in_force(self, source_id: str, day: date) -> bool:
        """Whether a source counts on a day; one that is superseded ends where its successor begins."""
        return self.validity[source_id].in_force_on(day, ends=self.ends[source_id])

    def within(self, domains: Collection[str]) -> list[str]:
        """Ids of the sources of some domains; none of one that no source has."""
        return [s.source_id for s in self.by_id.values() if s.domain in domains]

    def of_domain(self, domain: str) -> list[str]:
        """Ids of a domain's sources; UnknownDomain when no source has that domain."""
        found = self.within({domain})
        if not found:
            known = sorted({s.domain for s in self.by_id.values()})
            raise UnknownDomain(f"there is no domain {domain!r}{did_you_mean(domain, known)}")
        return found


class Sight:
    """The registry as the record has it, read anew after every change of the catalog."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lock = threading.Lock()
        self._at: tuple[int, Sources] | None = None

    def sources(self, change: int, deadline: Deadline) -> Sources:
        """The registry as of `change` or later."""
        with self._lock:
            if self._at is None or self._at[0] != change:
                self._at = (change, _registry(self._record.sources(deadline)))
            return self._at[1]

    def seen(
        self, sources: Sources, wanted: Sequence[str] | None, *, min_trust: int, day: date
    ) -> tuple[list[str], list[Source]]:
        """Our own sources (ids) and outside ones that a request may see.

        Raises:
            NotPermitted: a source is asked for that does not exist.
        """
        for name in wanted or ():
            if name not in sources.by_id:
                raise NotPermitted(f"there is no source {name!r}", hint="wenyuan source list")
        names = sources.by_id.keys() if wanted is None else wanted
        allowed = [
            sources.by_id[n] for n in names if sources.by_id[n].trust >= min_trust and sources.in_force(n, day)
        ]
        own = [s.source_id for s in allowed if s.type == "static_doc"]
        return own, [s for s in allowed if s.type != "static_doc"]


def lasts(sources: Sequence[Source]) -> Mapping[str, date | None]:
    """The last day of each source by id, its successors considered; what it replaces may not be there yet.

    Raises:
        InvalidRequest: sources that supersede one another in a loop.
    """
    known = {source.source_id for source in sources}
    items = [
        replace(v, supersedes=tuple(old for old in v.supersedes if old in known)) for v in map(_validity, sources)
    ]
    return effective_ends(items, undated=date.min)


def _registry(listed: Sequence[Source]) -> Sources:
    try:
        ends = lasts(listed)
    except InvalidRequest as error:  # the registry is at fault, not who asks
        raise ConfigError(error.message, component="sources", hint="correct their supersedes") from error
    return Sources({s.source_id: s for s in listed}, {s.source_id: _validity(s) for s in listed}, ends)


def _validity(source: Source) -> Validity:
    return Validity(
        id=source.source_id,
        effective_from=source.effective_from,
        effective_until=source.effective_until,
        status=source.status,
        supersedes=source.supersedes,
    )
