"""Finds what was asked of a library and not answered well, decides about it, and asks it again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from wenyuan.core.access import Principal
from wenyuan.core.decisions import check_decision
from wenyuan.core.errors import (
    CatalogError,
    EncoderError,
    EngineError,
    Fault,
    InvalidRequest,
    KnowledgeError,
    NotFound,
    listed,
    msg,
)
from wenyuan.core.filters import And, Filter, In, parse_filter
from wenyuan.core.gaps import (
    ANSWERED,
    DAYS,
    MOST_DAYS,
    MOST_NOTE,
    STATES,
    ClosedGap,
    FailedQuestion,
    GapClosing,
    GapDecision,
    GapReport,
    GapState,
    KnowledgeGap,
    UnansweredQuestion,
    WrittenAnswer,
    digest_of,
)
from wenyuan.core.learning_records import GoldenQuestion
from wenyuan.core.ownership import check_sees_questions, owned_sources
from wenyuan.core.ports import Deadline
from wenyuan.core.principals import reading_as
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.gaps.audited_questions import AGAIN, failed_questions
from wenyuan.service.gaps.grouped_questions import GroupedQuestions
from wenyuan.service.gaps.grouping import gaps_of
from wenyuan.service.gaps.open_questions import OpenQuestions
from wenyuan.service.gaps.remembered_questions import RememberedQuestions
from wenyuan.service.search.general_texts import script_of
from wenyuan.service.search.query_vectors import QueryVectors
from wenyuan.service.search.searcher import LOCAL, SearchRequest, SearchResult

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.core.ports import Encoder
    from wenyuan.service.audit.recorded_search import RecordedSearch

log = logging.getLogger(__name__)

MOST_RECORDS = 100_000
"""Audit records that are read at once, the newest."""
MOST_EMBEDDED = 2_000
"""Distinct questions that are grouped by meaning at least, those asked most recently; older ones stand for themselves."""
_DAY = 86_400.0
_BATCH = 64
_LOOKS = 8  # of different people, agents and days, whose questions are kept while none is added
_SPANS = 2  # numbers of days for which what came of questions is kept
_SECONDS = 600.0
NO_GAP = "wenyuan gaps list"
"""The hint where there is no such gap."""
_LAST = "gaps/asked"
"""Key of the catalog's value that says which question was asked again last, where there was no time for all."""
_MOST_ANSWERED = 50
SURE = 0.9
"""From which probability on an answer that nobody has looked at may say what is right: evaluations are held against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Questions:
    """The questions of some days, as far as somebody may see them.

    Attributes:
        texts: Of the open ones, by digest.
        owned: The sources that he answers for; None: all.
    """

    open: list[UnansweredQuestion]
    texts: dict[str, str]
    closed: list[UnansweredQuestion]
    failed: tuple[FailedQuestion, ...]
    questions: int
    since: float
    complete: bool
    owned: frozenset[str] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaps:
    """The questions of the audit that were not answered well.

    Attributes:
        recorded: Asks a gap again, with a record of its own.
    """

    catalog: Catalog
    recorder: AuditRecorder
    encoder: Encoder | None
    recorded: RecordedSearch
    clock: Callable[[], float] = time.time
    _read_before: RememberedQuestions = field(default_factory=lambda: RememberedQuestions(MOST_RECORDS), repr=False)
    _last: dict[Any, _Questions] = field(default_factory=dict, repr=False)
    _open: dict[float, OpenQuestions] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)
    _grouped: GroupedQuestions = field(default_factory=lambda: GroupedQuestions(MOST_EMBEDDED), repr=False)

    def find(
        self,
        *,
        days: float = DAYS,
        agent: str | None = None,
        state: GapState | None = None,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
        principal: Principal = LOCAL,
    ) -> GapReport:
        """What was not answered well in the last days.

        Args:
            agent: Only what this agent asked; None: everybody.
            state: Only those in this state; None: all.
            limit: At most so many gaps, and failures; the rest is counted.
            progress: Called with the number of questions compared, and of all.
            principal: Who looks; an owner of sources finds what concerns these, see `core.ownership`.

        Raises:
            InvalidRequest: `days` is not above 0.
            NotPermitted: the caller may not see what was asked.
            KnowledgeError: the audit is switched off: nothing can be known.
            CatalogUnavailable, EncoderUnavailable: the audit or the encoder cannot be read.
        """
        check_sees_questions(principal)
        return self._found(days, agent, progress, principal, state=state, limit=limit)

    def _found(
        self,
        days: float,
        agent: str | None,
        progress: Callable[[int, int], None] | None,
        principal: Principal,
        *,
        state: GapState | None = None,
        limit: int | None = None,
        wanted: str = "",
    ) -> GapReport:
        found = self._read(days, agent, principal)
        owners = {source.source_id: source.owner for source in self.catalog.sources()}
        today = self._today()
        decisions = {name: one for name, one in self.catalog.gap_decisions().items() if one.counts(today)}
        gaps, total = gaps_of(
            found.open,
            self._groups(found.texts, progress),
            decisions,
            owners,
            state=state,
            limit=limit,
            wanted=wanted,
        )
        return GapReport(
            gaps=tuple(gaps),
            total=total,
            failed=found.failed if limit is None else found.failed[:limit],
            failures=len(found.failed),
            questions=found.questions,
            closed=len(found.closed),
            since=found.since,
            complete=found.complete,
            reviews=self._reviews(found.owned, today),
            answered=self._answered(found),
        )

    def nearest(self, gap: KnowledgeGap) -> SearchResult:
        """What is found now for a gap's question, with all rights; it does not count as asked."""
        request = SearchRequest(query=gap.question, limit=3, summary=False)
        (found,) = self.recorded.searches([request], LOCAL, AGAIN)
        return self.recorded.attested(found, request, LOCAL, AGAIN)

    def gap(self, gap_id: str, *, days: float = DAYS, principal: Principal = LOCAL) -> KnowledgeGap:
        """The gap of that id, or with a wording of that id; NotFound where there is none, or it is none of an owner's."""
        for gap in self._found(days, None, None, principal, wanted=gap_id).gaps:
            return gap
        raise NotFound(msg("there is no gap {gap_id}", gap_id=repr(gap_id)), hint=NO_GAP)

    def decide(
        self,
        gap_id: str,
        state: GapState,
        *,
        note: str = "",
        days: float = DAYS,
        until: date | None = None,
        decided_at: float | None = None,
        again: bool = False,
        principal: Principal = LOCAL,
    ) -> KnowledgeGap:
        """Decide about a gap, all its wordings at once; returns it as it is now. ``open`` takes a decision back.

        Args:
            until: Of ``later``: the day on which it is open again; None: never by itself.
            decided_at: When the decision was made that the caller has seen, `GapDecision.at`; None: he has seen none.
            again: Decide also where there is another decision.

        Raises:
            Conflict: somebody has decided something else, which the caller has not seen.
            InvalidRequest: an unknown state, a note that is too long, or a day that is over or has no meaning.
            NotFound: there is no such gap.
        """
        if state not in STATES:
            raise InvalidRequest(
                msg("{state} is no state of a gap", state=repr(state)), hint=msg("one of {states}", states=", ".join(STATES))
            )  # fmt: skip
        if len(note) > MOST_NOTE:
            raise InvalidRequest(
                msg("the note has {count} characters; at most {most}", count=len(note), most=MOST_NOTE)
            )
        if until is not None and (state != "later" or until <= self._today()):
            raise refused_field("until", "must be a day that is to come, and says when what is put off is open again")
        gap = self.gap(gap_id, days=days, principal=principal)

        def check(found: GapDecision | None) -> None:
            counting = found if found is not None and found.counts(self._today()) else None
            if not again and not answered_by(counting, principal):
                check_decision(counting, state, note, decided_at)

        self.catalog.decide_gap(digests_of(gap), state, note, principal.actor, check, until)
        return replace(gap, decision=self.catalog.gap_decisions().get(gap.gap_id))

    def ask_again(
        self,
        *,
        days: float = DAYS,
        progress: Callable[[int, int], None] | None = None,
        gap: KnowledgeGap | None = None,
        seconds: float | None = None,
        principal: Principal = LOCAL,
    ) -> tuple[KnowledgeGap, ...]:
        """Ask the open gaps again, for the agents and with the eyes of those who asked; returns the gaps that closed by it,
        each with what answers it. Their questions are kept as golden questions where that is sure.

        Each answer is recorded under who asked first, by the door ``gaps``, and does not count as asked. What is known no
        more, the question, its agent or with whose eyes it was, is not asked; that and what fails leaves its gap open.

        Args:
            gap: Only this one; None: all that are open.
            seconds: After so many the rest is left for the next time, which begins there; None: all are asked.
        """
        found = self._read(days, None, principal)
        every = (gap,) if gap is not None else self._found(days, None, None, principal).gaps
        before = [one for one in every if one.state == "open"]
        wordings = {digest for one in before for digest in digests_of(one)}
        known = {agent.agent_id for agent in self.catalog.agents()}
        asked = {(one.digest, one.agent, one.caller, one.person): one for one in found.open}
        meant = [
            one for key, one in asked.items()
            if key[0] in wordings and one.kept and (not one.agent or one.agent in known)
        ]  # fmt: skip
        if not meant:
            return ()
        self.recorder.changed("gap", "asked", msg("{count} questions", count=len(meant)), None, None)
        closings = self._closings(meant, progress, seconds)
        left = self._read(days, None, principal).texts.keys()
        closed = [_closed(one, closings) for one in before if left.isdisjoint(digests_of(one))]
        self._keep(closed, principal)
        return tuple(closed)

    def _closings(
        self,
        meant: Sequence[UnansweredQuestion],
        progress: Callable[[int, int], None] | None,
        seconds: float | None,
    ) -> dict[str, GapClosing]:
        """The best that is found now for questions, by their digests."""
        ends = None if seconds is None else time.monotonic() + seconds
        rest = list(meant)
        if ends is not None:
            last = str(self.catalog.value(_LAST) or "")
            rest.sort(key=lambda one: (one.digest <= last, one.digest))
        best: dict[str, GapClosing] = {}
        for at, one in enumerate(rest):
            made = self._ask(one)
            if made is not None and (made.digest not in best or best[made.digest].score < made.score):
                best[made.digest] = made
            if progress is not None:
                progress(at + 1, len(rest))
            if ends is not None and time.monotonic() > ends:
                self.catalog.set_value(_LAST, one.digest)
                break
        return best

    def _keep(self, closed: Sequence[KnowledgeGap], principal: Principal) -> None:
        """Keep what answers gaps that closed; and their questions as golden questions, where somebody or the score is sure."""
        answers = [(gap, gap.closing) for gap in closed if gap.closing is not None]
        if not answers:
            return
        self.catalog.keep_gap_closings(
            [replace(closing, digest=digest) for gap, closing in answers for digest in digests_of(gap)]
        )
        self.catalog.keep_golden_questions([
            GoldenQuestion(
                digest=digest_of(gap.question), question=self.recorder.questions.text(gap.question), answer=closing.uri, actor=principal.actor,
                origin="gap" if gap.decision is not None else "closed", at=closing.at,
            )
            for gap, closing in answers
            if gap.decision is not None or closing.score >= SURE
        ])  # fmt: skip

    def _ask(self, one: UnansweredQuestion) -> GapClosing | None:
        """Ask a question for whoever asked it, and record the answer; returns the first fragment, None without one."""
        kept = one.asked or {}
        request = SearchRequest(
            query=one.text, agent_id=one.agent or None, min_trust=kept.get("min_trust", 1), filter=_bounds(one),
            summary=False,
        )  # fmt: skip
        principal = Principal(key_id=one.caller, on_behalf_of=frozenset({one.person} - {""}))
        try:
            with reading_as(self.recorder.sight_of(one.audit_id)):
                (found,) = self.recorded.searches([request], principal, AGAIN)
                answer = self.recorded.attested(found, request, principal, AGAIN)
        except (CatalogError, EngineError, EncoderError):
            raise
        except KnowledgeError as error:
            log.warning("a gap was not asked again: %s", error)
            return None
        if not answer.passages:
            return None
        first = answer.passages[0]
        return GapClosing(
            digest=one.digest, at=self.clock(), audit_id=next(iter(answer.audit_ids), ""),
            source_id=first.passage.source_id, uri=first.passage.uri, title=first.passage.title, score=first.hit.score,
        )  # fmt: skip

    def _read(self, days: float, agent: str | None, principal: Principal) -> _Questions:
        """The questions of the last days that the caller may see."""
        if not 0 < days <= MOST_DAYS:
            raise InvalidRequest(msg("days is {days}; it must be above 0 and at most 36500", days=f"{days:g}"))
        owned = owned_sources(principal, self.catalog.sources())
        since = self.clock() - days * _DAY
        read = self._read_before.read(self._log(), since)
        bad = self._judged_bad()
        key = read.version, agent, owned, frozenset(bad.items())
        with self._lock:
            kept = self._last.get(key)
        if kept is not None:
            return replace(kept, since=read.since, complete=read.complete)
        found, closed = self._opened(days).found(read, bad)
        asked = read.questions
        if agent is not None:
            asked = [one for one in asked if one.agent == agent]
            found, closed = ([one for one in of if one.agent == agent] for of in (found, closed))
        mine = found if owned is None else [one for one in found if concerns(one, owned)]
        made = _Questions(
            open=mine,
            texts={one.digest: one.text for one in mine},
            closed=closed if owned is None else [one for one in closed if concerns(one, owned)],
            failed=failed_questions(asked) if owned is None else (),
            questions=sum(not one.again for one in asked),
            since=read.since,
            complete=read.complete,
            owned=owned,
        )
        with self._lock:
            if next(iter(self._last), key)[0][0] != read.version[0] or len(self._last) >= _LOOKS:
                self._last.clear()
            self._last[key] = made
        return made

    def _opened(self, days: float) -> OpenQuestions:
        """What is kept of looks at so many days."""
        with self._lock:
            if days not in self._open and len(self._open) >= _SPANS:
                self._open.pop(next(iter(self._open)))
            return self._open.setdefault(days, OpenQuestions())

    def _answered(self, found: _Questions) -> tuple[ClosedGap, ...]:
        """The questions that are no gaps any more, those closed last first."""
        closings = self.catalog.gap_closings()
        texts = {one.digest: one.text for one in found.closed}
        every = [
            ClosedGap(question=text, closing=closings.get(name))
            for name, text in texts.items()
            if name not in found.texts
        ]
        return tuple(sorted(every, key=lambda one: -(one.closing.at if one.closing else 0.0))[:_MOST_ANSWERED])

    def _reviews(self, owned: frozenset[str] | None, today: date) -> tuple[WrittenAnswer, ...]:
        due = [one for one in self.catalog.written_answers() if one.review_on is not None and one.review_on <= today]
        seen = [one for one in due if owned is None or one.source_id in owned]
        return tuple(sorted(seen, key=lambda one: one.review_on or today))

    def _today(self) -> date:
        return date.fromtimestamp(self.clock())

    def _log(self) -> AuditLog:
        if self.recorder.log is None:
            raise KnowledgeError(
                "the audit is switched off, and only it knows what was asked", component="audit", hint="audit.enabled = true"
            )  # fmt: skip
        return self.recorder.log

    def _judged_bad(self) -> dict[str, bool]:
        """By audit id: whether everything that was judged of the answer was judged wrong."""
        bad: dict[str, bool] = {}
        for judgement in self.catalog.feedback():
            bad[judgement.audit_id] = bad.get(judgement.audit_id, True) and not judgement.good
        return bad

    def _groups(self, texts: dict[str, str], progress: Callable[[int, int], None] | None) -> dict[str, int]:
        """The group of each question, by digest."""
        return self._grouped.numbers(texts, lambda new: self.vectors(new, progress))

    def vectors(self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None) -> np.ndarray | None:
        """Vectors of questions, less the mean of general ones in their script, of length 1; None without an encoder."""
        if self.encoder is None or not texts:
            return None
        deadline = Deadline(time.monotonic() + _SECONDS, time.monotonic)
        general = QueryVectors(self.encoder)
        made = []
        for at in range(0, len(texts), _BATCH):
            part = texts[at : at + _BATCH]
            raw = self.encoder.encode_queries(part, deadline=deadline)
            made.append(raw - np.stack([general.mean("questions", script_of(text), deadline) for text in part]))
            if progress is not None:
                progress(min(at + _BATCH, len(texts)), len(texts))
        vectors = np.concatenate(made)
        unit: np.ndarray = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return unit


def _bounds(one: UnansweredQuestion) -> Filter | None:
    """The filter of a question, and the sources that were chosen for it; an agent's sources are those that it has now."""
    kept = one.asked or {}
    chosen = None if one.agent else kept.get("sources")
    tests = [] if kept.get("filter") is None else [parse_filter(kept["filter"])]
    if chosen is not None:
        tests.append(In("source_id", tuple(chosen)))
    return And(tuple(tests)) if len(tests) > 1 else tests[0] if tests else None


def answered_by(found: GapDecision | None, principal: Principal) -> bool:
    """Whether the decision says that this caller has answered a gap, which is open all the same: he knows of that one."""
    return found is not None and found.state == ANSWERED and found.actor == principal.actor


def digests_of(gap: KnowledgeGap) -> list[str]:
    """The digests of all wordings of a gap."""
    return list(dict.fromkeys([gap.gap_id, *map(digest_of, gap.wordings)]))


def concerns(one: UnansweredQuestion, owned: frozenset[str] | None) -> bool:
    """Whether a question is for the owner of some sources: what lay nearest is theirs, or nothing was found where all that
    was searched is theirs. None: it is for everybody.
    """
    if owned is None or one.source_id:
        return owned is None or one.source_id in owned
    return bool(one.searched) and owned.issuperset(one.searched)


def refused_field(name: str, why: str) -> InvalidRequest:
    """The refusal of one member of a request."""
    return InvalidRequest(listed([Fault(name, why)]), faults=(Fault(name, why),))


def _closed(gap: KnowledgeGap, closings: Mapping[str, GapClosing]) -> KnowledgeGap:
    found = [closings[digest] for digest in digests_of(gap) if digest in closings]
    return replace(gap, closing=max(found, key=lambda one: one.score, default=None))
