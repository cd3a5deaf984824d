"""Which sources a request may see: those asked for, trusted enough, and in force on its day."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from wenyuan.core.errors import ConfigError, InvalidRequest, NotFound, UnknownDomain, did_you_mean, msg
from wenyuan.core.model import Source
from wenyuan.core.validity import Validity
from wenyuan.core.validity_ends import effective_ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The sources that an agent may see now.

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
    """A snapshot of the source registry at one change of the catalog.

    Attributes:
        days: First and last day in force of each; the last is before the first where it never is.
        ends: The last day of each before its successor; None if none follows.
    """

    by_id: Mapping[str, Source]
    days: Mapping[str, tuple[date, date]]
    ends: Mapping[str, date | None]

    def in_force(self, source_id: str, day: date) -> bool:
        """Whether a source is in force on a day; a superseded source ends when its successor takes effect."""
        first, last = self.days[source_id]
        return first <= day <= last

    def last_day(self, source_id: str) -> date | None:
        """The last day on which a source is in force; None if it does not end."""
        own, succeeded = self.by_id[source_id].effective_until, self.ends[source_id]
        return min(filter(None, (own, succeeded)), default=None)

    def within(self, domains: Collection[str]) -> list[str]:
        """Ids of the sources in some domains; unknown domains give none."""
        return [s.source_id for s in self.by_id.values() if s.domain in domains]

    def of_domain(self, domain: str) -> list[str]:
        """Ids of the sources of a domain; raises UnknownDomain if no source has it."""
        found = self.within({domain})
        if not found:
            known = sorted({s.domain for s in self.by_id.values()})
            raise UnknownDomain(
                msg("there is no domain {domain}{near}", domain=repr(domain), near=did_you_mean(domain, known))
            )
        return found

    def seen(self, wanted: Sequence[str] | None, *, min_trust: int, day: date) -> tuple[list[str], list[Source]]:
        """The local sources (ids) and external sources that a request may search.

        Raises:
            NotFound: a source is asked for that does not exist.
        """
        for name in wanted or ():
            if name not in self.by_id:
                raise NotFound(msg("there is no source {name}", name=repr(name)), hint="wenyuan source list")
        names = self.by_id.keys() if wanted is None else wanted
        allowed = [self.by_id[n] for n in names if self.by_id[n].trust >= min_trust and self.in_force(n, day)]
        own = [s.source_id for s in allowed if s.type == "static_doc"]
        return own, [s for s in allowed if s.type != "static_doc"]


def lasts(sources: Sequence[Source]) -> Mapping[str, date | None]:
    """The last day in force of each source by id, with successors taken into account; a superseded source need not
    exist yet.

    Raises:
        InvalidRequest: sources that supersede one another in a loop.
    """
    known = {source.source_id for source in sources}
    items = [
        replace(v, supersedes=tuple(old for old in v.supersedes if old in known)) for v in map(_validity, sources)
    ]
    return effective_ends(items, undated=date.min)


def registry_of(listed: Sequence[Source]) -> Sources:
    """The registry, made of its sources; raises ConfigError for sources that supersede one another in a loop."""
    try:
        ends = lasts(listed)
    except InvalidRequest as error:  # the registry is at fault, not who asks
        raise ConfigError(error.message, component="sources", hint="correct their supersedes") from error
    days = {s.source_id: _validity(s).days(ends=ends[s.source_id]) for s in listed}
    return Sources({s.source_id: s for s in listed}, days, ends)


def _validity(source: Source) -> Validity:
    return Validity(
        id=source.source_id,
        effective_from=source.effective_from,
        effective_until=source.effective_until,
        status=source.status,
        supersedes=source.supersedes,
    )
