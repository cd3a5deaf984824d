"""Source selection and request context: which sources a request may search, and what its context adds to the ranking."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from typing import Generic, Protocol, TypeVar

from wenyuan.core.access import TaskProfile, profile_of
from wenyuan.core.addresses import Holder, folder_of, path_words, readable
from wenyuan.core.errors import ConfigError, InvalidRequest, NotFound, UnknownDomain, did_you_mean
from wenyuan.core.messages import msg
from wenyuan.core.model import Label, LabelVector, Passage, Source
from wenyuan.core.ports import ChangeFeed, Deadline
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.scoring.fusion import Topic
from wenyuan.core.terms_of_use import Validity, effective_ends
from wenyuan.core.text import OWN, query_terms, terms
from wenyuan.core.text.synonyms import Synonym
from wenyuan.service.query import Query


class Record(ChangeFeed, Protocol):
    """The reads that a search needs, from the current catalog (`catalog.Catalog`) or from a past state of it
    (`audit.past.RecordAt`).
    """

    def sources(self, deadline: Deadline | None = None) -> tuple[Source, ...]: ...

    def passages(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Passage]: ...

    def labels(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Label]:
        """Title and headings of each passage, live or removed."""
        ...

    def label_vectors(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Sequence[LabelVector]:
        """Label vectors of the passages, live or removed, that have one."""
        ...

    def document_by_uri(
        self, uri: str, sources: Sequence[str] | None = None, deadline: Deadline | None = None
    ) -> tuple[int, str, str] | None: ...

    def holders(self, uris: Sequence[str], but: str = "") -> Mapping[str, Sequence[Holder]]:
        """Documents that have these addresses, in any source except `but`."""
        ...

    def floor(self, mode: str) -> Mapping[str, Mapping[str, float]]:
        """Measured collection traits by script (see `core.scoring.Traits`); empty until they are measured."""
        ...

    def tuning_at(self, seq: int, deadline: Deadline | None = None) -> Tuning | None:
        """The tuning that was in effect at a change; None without one."""
        ...

    def profiles_at(self, seq: int, deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        """The task profiles that were registered at a change."""
        ...

    def synonyms_version(self, seq: int, deadline: Deadline | None = None) -> int:
        """The number of the last synonym change up to a change of the catalog; 0 for none."""
        ...

    def synonyms_at(self, seq: int, deadline: Deadline | None = None) -> tuple[Synonym, ...]:
        """The synonym table at a change."""
        ...


T = TypeVar("T")


class PerChange(Generic[T]):
    """A value that depends on the state of the catalog: read once, and kept until the catalog is at another change.
    Thread-safe.

    Args:
        read: Reads it, given the change.
    """

    def __init__(self, read: Callable[[int, Deadline | None], T]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._at: tuple[int, T] | None = None

    def at(self, change: int, deadline: Deadline | None = None) -> T:
        with self._lock:
            if self._at is None or self._at[0] != change:
                self._at = (change, self._read(change, deadline))
            return self._at[1]


# Which sources a request may see: those asked for, trusted enough, and in force on its day.


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


# What a request's context says of what it is about: a document or a path, a task, and the profile of that task.


_UNKNOWN = "\ue000"
"""A term that no passage holds: the information of one."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a task contributes to a ranking. Tasks that contribute the same share cached answers.

    Attributes:
        profile: What an operator has registered for such tasks; None for nothing.
        words: Terms of its id that passages hold.
        strange: How many others there are: they tell nothing, and make what the others tell worth less.
    """

    profile: TaskProfile | None = None
    words: tuple[str, ...] = ()
    strange: int = 0


class TopicReader:
    """Builds the topic of a request from its context; cached data is reloaded after every change of the catalog.

    Args:
        information: Inverse document frequency by term.
    """

    def __init__(self, record: Record, information: Callable[[Sequence[str]], Mapping[str, float]]) -> None:
        self._record = record
        self._information = information
        self._profiles = PerChange(record.profiles_at)

    def told(self, task_id: str, change: int, deadline: Deadline) -> Told:
        """What a task id contributes, at the change that the index has reached."""
        profile = profile_of(self._profiles.at(change, deadline), task_id) if task_id else None
        if profile is not None or not task_id:
            return Told(profile=profile)
        words = set(_words(path_words(task_id)))
        found = self._information([*sorted(words), _UNKNOWN])
        held = tuple(sorted(word for word in words if found[word] != found[_UNKNOWN]))
        return Told(words=held, strange=len(words) - len(held))

    def of(self, query: Query, change: int, deadline: Deadline) -> Topic:
        """The topic that a request's context names.

        A document that the caller may not see is looked up nowhere: it tells what one that does not exist tells.
        """
        uri = readable(query.source_document_uri.partition("#")[0])
        known = self._record.document_by_uri(uri, query.seen, deadline) if uri else None
        told = self.told(query.task_id, change, deadline)
        profile = told.profile
        spoken = path_words(query.task_id) if profile is None else ""
        words = " ".join((known[2] if known else "", path_words(uri) if uri else "", spoken))
        asked = set(terms(query.text))
        return Topic(
            document_id=known[0] if known else None,
            folder=folder_of(uri) if known else "",
            weights=self._information([word for word in _words(words) if word not in asked]),
            domains=frozenset(profile.domains if profile else ()),
            themes=_themes(profile, asked),
        )


def _themes(profile: TaskProfile | None, asked: Set[str]) -> tuple[frozenset[str], ...]:
    """The profile's terms that are not in the question; those that are already count as the question's own words."""
    made = (frozenset(query_terms(term)) for term in (profile.terms if profile else ()))
    plain = (frozenset(word for word in theme if not word.startswith(OWN)) for theme in made)
    return tuple(theme for theme in plain if theme and not theme <= asked)


def _words(text: str) -> list[str]:
    """The terms of a text that are specific enough to tell a topic."""
    return [term for term in terms(text) if len(term) > 1]
