"""Source selection, request context and analysis of the question: which sources a request may search, what its context
adds to the ranking, and whether the question looks like a text.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

from wenyuan.core.access import TaskProfile, profile_of
from wenyuan.core.addresses import Holder, folder_of, path_words, readable
from wenyuan.core.errors import ConfigError, EngineTimeout, InvalidRequest, NotFound, UnknownDomain, did_you_mean, msg
from wenyuan.core.model import Label, LabelVector, Passage, Source
from wenyuan.core.ports import ChangeFeed, Deadline, Encoder
from wenyuan.core.records import KeptTuning
from wenyuan.core.scoring import Traits
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.scoring.fusion import Fusion, Reference, Topic, reference_of
from wenyuan.core.scoring.probability import Curve
from wenyuan.core.scoring.spelling import respelled
from wenyuan.core.terms_of_use import Validity, effective_ends
from wenyuan.core.text import OWN, has_han, query_terms, terms
from wenyuan.core.text.introductions import without_introduction
from wenyuan.core.text.synonyms import Synonym, SynonymTable, Wordings
from wenyuan.service import Query
from wenyuan.service.search.general_texts import script_of


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
        """The value at `change`.

        Raises:
            EngineTimeout: another caller was still reading it at the deadline.
        """
        if not self._lock.acquire(timeout=-1 if deadline is None else deadline.remaining()):
            raise EngineTimeout("the deadline passed", component="catalog")
        try:
            if self._at is None or self._at[0] != change:
                self._at = (change, self._read(change, deadline))
            return self._at[1]
        finally:
            self._lock.release()


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


# The question.


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedQuery:
    """A query after analysis, shared by all stages of a retrieval.

    Attributes:
        text: As it was asked.
        subject: Without introduction and thanks (see `core.text.introductions`): what is embedded and looked for.
        wordings: Its terms, and those of its other wordings by the library's synonyms.
        script: ``han`` or ``latin``; see `script_of`.
        names: Whether it has identifiers (see `core.text.identifiers`): a clause, a standard, a code.
        reference: The place that it names; None where it names none.
    """

    text: str
    subject: str
    wordings: Wordings
    script: str
    names: bool
    reference: Reference | None


def analysed(
    text: str, synonyms: SynonymTable, information: Callable[[Sequence[str]], Mapping[str, float]] | None = None
) -> AnalysedQuery:
    """Analyse a query, with the library's synonyms.

    Args:
        information: Inverse document frequency by term, by which words are told that are spelled wrongly.
    """
    subject = without_introduction(text)
    wordings = synonyms.wordings(subject)
    if information is not None and (meant := respelled(wordings.words, information)):
        wordings = wordings.with_terms(meant)
    names = any(word.startswith("#") for word in wordings.words)
    return AnalysedQuery(
        text=text,
        subject=subject,
        wordings=wordings,
        script=script_of(text),
        names=names,
        reference=reference_of(text),
    )


class SynonymReader:
    """Reads the synonym table of a record; it is rebuilt only when its version changes."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._version = 0
        self._table = SynonymTable()

    def __call__(self, change: int, deadline: Deadline | None) -> SynonymTable:
        """The synonyms in effect at a change; not thread-safe."""
        version = self._record.synonyms_version(change, deadline)
        if version != self._version:
            self._table = SynonymTable(self._record.synonyms_at(change, deadline))
            self._version = version
        return self._table


# The collection.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CollectionProfile:
    """Properties of a library at one change that scoring depends on; read once per request.

    Attributes:
        traits: Languages, laws and labels.
        curve: How scores become probabilities.
        fusion: How the scores of the legs become one.
        tuning: What was learned from judged questions; None for nothing.
        copies: Copies of passages are given, too, as answers of a former version did.
        recorded: All of this that an answer's record holds, by name.
    """

    traits: Traits
    curve: Curve
    fusion: Fusion
    tuning: Tuning | None
    copies: bool
    recorded: Mapping[str, float]


def fits(tuning: Tuning | KeptTuning, encoder: Encoder | None) -> bool:
    """Whether a tuning was learned with this encoder; vectors of different encoders are not comparable."""
    return encoder is not None and tuning.encoder in ("", encoder.fingerprint.key)


# Nonsense: how a query is told that looks like no text, and queries of that kind to try a library with.


_REPEATED, _UNIT = 4, 8  # times, and characters
_TURNS = 4  # at least, and more than that share of the letters; hardly a real question has so many
_TURNING = 0.35
_CONSONANTS = "bcdfghjklmnpqrstvwxz"
_RARE = "龘靐齉爩鱻麤龗灪籲鸞讟钃厵虋癵驫飝饢麷鬻齾龖爨纛鼗黼"
_COMMON = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面"


def junk_queries(script: str, count: int = 48, seed: int = 13) -> tuple[str, ...]:
    """Meaningless queries of several kinds in one script (``han`` or ``latin``), the same at every call."""
    draw = random.Random(f"{script}{seed}")  # noqa: S311  (not a secret: it must be repeatable)
    kinds = (_rare, _shuffled, _mixed) if script == "han" else (_letters, _keyboard, _digits, _syllables)
    return tuple(kinds[i % len(kinds)](draw) for i in range(count))


def strange(query: str, encoder: Any) -> bool:
    """Whether a query looks like gibberish: repetition, Chinese and Latin letters alternating, or text that the
    encoder's language model finds unlikely.

    That is one thing over and over, Chinese and Latin mixed letter by letter, or what the encoder calls unlikely.

    Args:
        encoder: Asked if it can tell (`unlikely`).
    """
    chinese = [has_han(c) for c in query if c.isalpha()]
    turns = sum(one != other for one, other in pairwise(chinese))  # more than in any real text
    if repeats(query) or (turns >= _TURNS and turns > _TURNING * len(chinese)):
        return True
    unlikely = getattr(encoder, "unlikely", None)
    return unlikely is not None and bool(unlikely(query))


def repeats(query: str) -> bool:
    """Whether a query repeats a few characters over and over: ``呵呵呵呵``, ``asdf asdf asdf asdf``."""
    text = "".join(query.split())
    return any(text[size:] == text[:-size] for size in range(1, min(_UNIT, len(text) // _REPEATED) + 1))


def _word(draw: random.Random, alphabet: str, low: int, high: int) -> str:
    return "".join(draw.choice(alphabet) for _ in range(draw.randint(low, high)))


def _letters(draw: random.Random) -> str:
    return " ".join(_word(draw, _CONSONANTS, 3, 8) for _ in range(draw.randint(1, 4)))


def _keyboard(draw: random.Random) -> str:
    return " ".join(_word(draw, "asdfghjklqwertyuiopzxcvbnm", 4, 10) for _ in range(draw.randint(1, 3)))


def _syllables(draw: random.Random) -> str:
    """Pronounceable words without meaning: ``wuggle florp``."""
    words = ("".join(_word(draw, _CONSONANTS, 1, 2) + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))
             for _ in range(draw.randint(2, 4)))  # fmt: skip
    return " ".join(words)


def _rare(draw: random.Random) -> str:
    return _word(draw, _RARE, 2, 8)


def _shuffled(draw: random.Random) -> str:
    return _word(draw, _COMMON, 5, 14)


def _mixed(draw: random.Random) -> str:
    return f"{_letters(draw)} {_rare(draw)}"


def _digits(draw: random.Random) -> str:
    return f"{_word(draw, _CONSONANTS, 2, 4)}{draw.randint(10**4, 10**9)} {_word(draw, '!@#%^&*~?', 2, 6)}"
