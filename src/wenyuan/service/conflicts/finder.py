"""Finds statements in force that contradict one another, and keeps what owners decide about them.

Each statement of a passage that is new since the last time is searched by its words, and compared with those of the passages
found (`core.conflicts`): so a new document takes as long as it has statements, however large the library is.
"""

from __future__ import annotations

import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wenyuan.core.access import Principal
from wenyuan.core.conflicts.comparison import Contradiction, contradiction, is_form
from wenyuan.core.conflicts.record import (
    MOST_NOTE,
    STATES,
    ConflictDecision,
    ConflictSide,
    ConflictState,
    StatementConflict,
    StoredConflict,
    conflict_id,
)
from wenyuan.core.conflicts.statement import ComparedStatement, statements_of
from wenyuan.core.decisions import check_decision
from wenyuan.core.errors import InvalidRequest, NotFound, msg
from wenyuan.core.filters import Scope
from wenyuan.core.ownership import owned_sources
from wenyuan.core.principals import reading_as
from wenyuan.core.text.analysis import search_terms
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.search.candidates import allows
from wenyuan.service.search.searcher import LOCAL
from wenyuan.service.search.source_selection import registry_of

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.core.model import Passage
    from wenyuan.core.ports import Engine

COMPARED = "conflicts"
"""Key of the catalog's value that says up to which change, and on which day, passages were compared."""
VERSION = 1
"""Of the comparison; what another version found is compared anew."""
_CANDIDATES = 24  # passages that have most of a statement's words
_BATCH = 200  # passages whose conflicts are kept at once
_MANY = 1_000  # passages from which on reading all of them once before takes less time than searching all their statements
_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictUpdate:
    """What one comparison did.

    Attributes:
        passages: How many were compared with all others.
        conflicts: How many there are now.
    """

    passages: int
    conflicts: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Conflicts:
    """The statements of a library that contradict one another."""

    catalog: Catalog
    engine: Engine

    def find(
        self,
        *,
        anew: bool = False,
        today: date | None = None,
        seconds: float | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ConflictUpdate:
        """Compare what is new since the last time with everything.

        Args:
            anew: Compare everything, as after a change of the registry that makes other sources count.
            seconds: After so many the rest is left for the next time; None: all are compared.
            progress: Called with how far it is, in passages, and how many are to be compared.

        Raises:
            CatalogUnavailable, EngineUnavailable: the library cannot be read; what was kept before stays.
        """
        with reading_as(None):  # whatever the caller may see: what is kept is everybody's
            return self._find(today or date.today(), anew=anew, seconds=seconds, progress=progress)

    def _find(
        self, today: date, *, anew: bool, seconds: float | None, progress: Callable[[int, int], None] | None
    ) -> ConflictUpdate:
        ends = None if seconds is None else time.monotonic() + seconds
        upto = self.engine.sync(self.catalog, deadline=deadline_after(_SECONDS))
        fresh = anew or self._known().get("version") != VERSION
        numbers = self._new(upto, today, fresh=fresh)
        done = count = len(numbers)
        read = lru_cache(maxsize=20_000)(self._statements)
        scope = self._scope(today)
        step = progress or (lambda _done, _count: None)
        alike = self._alike(numbers, scope, step) if fresh and ends is None and count >= _MANY else None
        for at in range(0, count, _BATCH):
            part, reached = numbers[at : at + _BATCH], min(at + _BATCH, count)
            found: dict[str, StoredConflict] = {}
            for one in self._in_force(
                part if alike is None else [number for number in part if number in alike], scope
            ):
                if alike is None or hash(one.words) in alike[one.passage.passage_id]:
                    found.update(self._of(one, scope, read))
            self.catalog.keep_conflicts(list(found.values()), part)
            step(reached, count)
            if ends is not None and time.monotonic() > ends:
                done = reached
                break
        self._forget_gone()
        known = {"seq": upto, "day": today.isoformat(), "version": VERSION}
        self.catalog.set_value(COMPARED, known | ({"rest": numbers[done:]} if done < len(numbers) else {}))
        return ConflictUpdate(passages=done, conflicts=len(self.catalog.conflicts()))

    def listed(
        self, *, state: ConflictState | None = None, source_id: str | None = None, principal: Principal = LOCAL
    ) -> tuple[StatementConflict, ...]:
        """The conflicts between what is in force today and the caller may see, those without a decision first.

        Args:
            state: Only those in this state.
            source_id: Only those with a statement of this source.
            principal: Who looks; an owner of sources finds those with a statement of one of these, see `core.ownership`.

        Raises:
            InvalidRequest: an unknown state.
        """
        _check_state(state)
        owned = owned_sources(principal, self.catalog.sources())
        shown = (one for one in self._shown(self.catalog.conflicts().values()) if _concerns(one, owned))
        every = [one for one in shown if state in (None, one.state)]
        wanted = [one for one in every if source_id is None or source_id in _sources(one)]
        return tuple(
            sorted(wanted, key=lambda one: (STATES.index(one.state), one.first.passage.uri, one.first.start))
        )

    def conflict(self, name: str, principal: Principal = LOCAL) -> StatementConflict:
        """The conflict of an id; NotFound where there is none between passages that are in force, or it is none of an owner's."""
        stored = self.catalog.conflicts().get(name)
        owned = owned_sources(principal, self.catalog.sources())
        for one in self._shown([] if stored is None else [stored]):
            if _concerns(one, owned):
                return one
        raise NotFound(msg("there is no conflict {name}", name=repr(name)), hint="wenyuan conflicts list")

    def decide(
        self,
        name: str,
        state: ConflictState,
        *,
        note: str = "",
        decided_at: float | None = None,
        again: bool = False,
        principal: Principal = LOCAL,
    ) -> StatementConflict:
        """Decide which statement holds; ``open`` takes a decision back. Returns the conflict as it is now.

        Args:
            decided_at: When the decision was made that the caller has seen, `ConflictDecision.at`; None: he has seen none.
            again: Decide also where there is another decision.

        Raises:
            Conflict: somebody has decided something else, which the caller has not seen.
            InvalidRequest: an unknown state, or a note that is too long.
            NotFound: there is no such conflict any more.
        """
        _check_state(state)
        if len(note) > MOST_NOTE:
            raise InvalidRequest(
                msg("the note has {count} characters; at most {most}", count=len(note), most=MOST_NOTE)
            )
        self.conflict(name, principal)

        def check(found: ConflictDecision | None) -> None:
            if not again:
                check_decision(found, state, note, decided_at)

        self.catalog.decide_conflict(name, state, note, principal.actor, check)
        return self.conflict(name, principal)

    def behind(self) -> bool:
        """Whether passages were added or removed since the last comparison."""
        known = self._known()
        return known.get("seq") != self.catalog.seq() or known.get("version") != VERSION or bool(known.get("rest"))

    def _known(self) -> Mapping[str, Any]:
        return self.catalog.value(COMPARED) or {}

    def _alike(
        self, numbers: Sequence[int], scope: Scope, step: Callable[[int, int], None]
    ) -> Mapping[int, set[int]]:
        """Of all passages those that share the words of a statement with another: the hashes of these words, by passage.

        What stands in words of its own contradicts nothing, and need not be searched.
        """
        hashes, owners = array("q"), array("q")
        for at in range(0, len(numbers), _BATCH):
            for one in self._in_force(numbers[at : at + _BATCH], scope):
                hashes.append(hash(one.words))
                owners.append(one.passage.passage_id)
            step(0, len(numbers))
        words, places, counts = np.unique(np.array(hashes, np.int64), return_inverse=True, return_counts=True)
        shared = counts[places] > 1
        found: dict[int, set[int]] = defaultdict(set)
        for owner, word in zip(np.array(owners)[shared].tolist(), words[places[shared]].tolist(), strict=True):
            found[owner].add(word)
        return found

    def _in_force(self, numbers: Sequence[int], scope: Scope) -> Iterator[ComparedStatement]:
        """The statements of those of these passages that are in force."""
        for passage in self.catalog.passages(numbers).values():
            if allows(scope, passage):
                yield from statements_of(passage)

    def _new(self, upto: int, today: date, *, fresh: bool) -> list[int]:
        """The passages to be compared: all, or those added since the last time, or in force since then."""
        known = self._known()
        after = 0 if fresh else int(known["seq"])
        added = [one.passage_id for one in self.catalog.changes(after, upto, vectors=False) if one.row is not None]
        begun = [] if fresh else self.catalog.passages_beginning(date.fromisoformat(known["day"]), today)
        return list(dict.fromkeys([*([] if fresh else known.get("rest", [])), *added, *begun]))

    def _of(
        self, one: ComparedStatement, scope: Scope, read: Callable[[int], Sequence[ComparedStatement]]
    ) -> Iterator[tuple[str, StoredConflict]]:
        """The conflicts of a statement, by their ids."""
        found = self.engine.keyword(
            search_terms(one.text), scope=scope, limit=_CANDIDATES, deadline=deadline_after(_SECONDS)
        )
        alike = [
            other
            for hit in found.hits
            for other in read(hit.passage_id)
            if other.words == one.words
            and (other.passage.passage_id, other.start) != (one.passage.passage_id, one.start)
        ]
        form = is_form([one, *alike])
        for other in alike:
            first, second = sorted(
                (one, other), key=lambda side: (side.passage.uri, side.passage.passage_id, side.start)
            )
            differs = contradiction(first, second, form=form)
            if differs is not None:
                yield stored(first, second, differs)

    def _statements(self, number: int) -> tuple[ComparedStatement, ...]:
        """The statements of a passage; none where it was removed meanwhile."""
        return tuple(one for passage in self.catalog.passages([number]).values() for one in statements_of(passage))

    def open_count(self) -> int:
        """How many conflicts between what is in force today and the caller may see nobody has decided."""
        decided = {name for name, one in self.catalog.conflict_decisions().items() if one.state != "open"}
        every = [one for name, one in self.catalog.conflicts().items() if name not in decided]
        return sum(1 for _ in self._standing(every))

    def _standing(self, every: Iterable[StoredConflict]) -> Iterator[tuple[StoredConflict, Passage, Passage]]:
        """Those of which both passages are there, visible to the caller and in force today, with the passages."""
        kept = list(every)
        numbers = {number for one in kept for number in (one.first_passage, one.second_passage)}
        passages = self.catalog.passages(sorted(numbers))
        scope = self._scope(date.today())
        for one in kept:
            first, second = passages.get(one.first_passage), passages.get(one.second_passage)
            if first is not None and second is not None and allows(scope, first) and allows(scope, second):
                yield one, first, second

    def _shown(self, every: Iterable[StoredConflict]) -> Iterator[StatementConflict]:
        """Those that `_standing` gives, as people are shown them."""
        decisions = self.catalog.conflict_decisions()
        for one, first, second in self._standing(every):
            sides = (
                ConflictSide(first, one.first_start, one.first_end),
                ConflictSide(second, one.second_start, one.second_end),
            )
            differs = changes_between(*sides)
            yield StatementConflict(
                conflict_id=one.conflict_id, kind=one.kind, changes=() if differs is None else differs.changes,
                first=sides[0], second=sides[1], decision=decisions.get(one.conflict_id),
            )  # fmt: skip

    def _scope(self, today: date) -> Scope:
        """All sources of this library that are in force on a day."""
        registry = registry_of(self.catalog.sources())
        own, _ = registry.seen(None, min_trust=1, day=today)
        return Scope(sources=frozenset(own), as_of=today)

    def _forget_gone(self) -> None:
        """Forget conflicts of passages that are not there any more."""
        every = self.catalog.conflicts()
        numbers = {number for one in every.values() for number in (one.first_passage, one.second_passage)}
        live = self.catalog.passages(sorted(numbers))
        gone = [
            name for name, one in every.items() if one.first_passage not in live or one.second_passage not in live
        ]
        if gone:
            self.catalog.remove_conflicts(gone)


def changes_between(first: ConflictSide, second: ConflictSide) -> Contradiction | None:
    """What two statements say differently, read from the passages again, so that it is kept nowhere else."""
    one, other = (
        next((each for each in statements_of(side.passage) if each.start == side.start), None)
        for side in (first, second)
    )
    return None if one is None or other is None else contradiction(one, other)


def stored(first: ComparedStatement, second: ComparedStatement, differs: Contradiction) -> tuple[str, StoredConflict]:
    """A conflict as it is kept, with its id."""
    name = conflict_id((_document(first), first.text), (_document(second), second.text))
    return name, StoredConflict(
        conflict_id=name, kind=differs.kind, first_passage=first.passage.passage_id, first_start=first.start,
        first_end=first.end, second_passage=second.passage.passage_id, second_start=second.start,
        second_end=second.end,
    )  # fmt: skip


def _document(one: ComparedStatement) -> str:
    return one.passage.uri.partition("#")[0]


def _sources(one: StatementConflict) -> tuple[str, str]:
    return one.first.passage.source_id, one.second.passage.source_id


def _concerns(one: StatementConflict, owned: frozenset[str] | None) -> bool:
    return owned is None or not owned.isdisjoint(_sources(one))


def _check_state(state: str | None) -> None:
    if state is not None and state not in STATES:
        raise InvalidRequest(
            msg("{state} is no state of a conflict", state=repr(state)), hint=msg("one of {states}", states=", ".join(STATES))
        )  # fmt: skip
