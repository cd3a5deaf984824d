"""Finds what was asked of a library and not answered well, decides about it, and asks it again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wenyuan.core.access import Principal
from wenyuan.core.decisions import check_decision
from wenyuan.core.errors import (
    CatalogError,
    EncoderError,
    EngineError,
    InvalidRequest,
    KnowledgeError,
    NotFound,
    msg,
)
from wenyuan.core.filters import And, Filter, In, parse_filter
from wenyuan.core.gaps import (
    DAYS,
    MOST_DAYS,
    MOST_NOTE,
    STATES,
    GapDecision,
    GapReport,
    GapState,
    KnowledgeGap,
    UnansweredQuestion,
    digest_of,
)
from wenyuan.core.ports import Deadline
from wenyuan.core.principals import reading_as
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.gaps.audited_questions import AGAIN, asked_questions, failed_questions, records_since, unanswered
from wenyuan.service.gaps.grouping import gaps_of, groups_of
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
"""Distinct questions that are grouped by meaning, those asked most recently; older ones stand for themselves."""
_DAY = 86_400.0
_BATCH = 64
_SECONDS = 600.0


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

    def find(
        self, *, days: float = DAYS, agent: str | None = None, progress: Callable[[int, int], None] | None = None
    ) -> GapReport:
        """What was not answered well in the last days.

        Args:
            agent: Only what this agent asked; None: everybody.
            progress: Called with the number of questions compared, and of all.

        Raises:
            InvalidRequest: `days` is not above 0.
            KnowledgeError: the audit is switched off: nothing can be known.
            CatalogUnavailable, EncoderUnavailable: the audit or the encoder cannot be read.
        """
        return self._read(days, agent, progress)[1]

    def nearest(self, gap: KnowledgeGap) -> SearchResult:
        """What is found now for a gap's question, with all rights; it does not count as asked."""
        request = SearchRequest(query=gap.question, limit=3, summary=False)
        (found,) = self.recorded.searches([request], LOCAL, AGAIN)
        return self.recorded.attested(found, request, LOCAL, AGAIN)

    def _read(
        self, days: float, agent: str | None, progress: Callable[[int, int], None] | None
    ) -> tuple[list[UnansweredQuestion], GapReport]:
        if not 0 < days <= MOST_DAYS:
            raise InvalidRequest(msg("days is {days}; it must be above 0 and at most 36500", days=f"{days:g}"))
        since = self.clock() - days * _DAY
        records, complete = records_since(self._log(), since, agent, MOST_RECORDS)
        asked = asked_questions(records)
        questions, closed = unanswered(asked, self._judged_bad())
        texts = {digest_of(question.text): question.text for question in questions}
        decisions = self.catalog.gap_decisions()
        number_of = self._groups(texts, progress)
        return questions, GapReport(
            gaps=tuple(gaps_of(questions, number_of, decisions)),
            failed=failed_questions(asked),
            questions=sum(not one.again for one in asked),
            closed=closed,
            since=since if complete or not records else records[0].at,
            complete=complete,
        )

    def gap(self, gap_id: str, *, days: float = DAYS) -> KnowledgeGap:
        """The gap of that id, or with a wording of that id; NotFound where there is none."""
        for gap in self.find(days=days).gaps:
            if gap_id in {gap.gap_id, *map(digest_of, gap.wordings)}:
                return gap
        raise NotFound(msg("there is no gap {gap_id}", gap_id=repr(gap_id)), hint="wenyuan gaps list")

    def decide(
        self,
        gap_id: str,
        state: GapState,
        *,
        note: str = "",
        days: float = DAYS,
        decided_at: float | None = None,
        again: bool = False,
        principal: Principal = LOCAL,
    ) -> KnowledgeGap:
        """Decide about a gap, all its wordings at once; returns it as it is now. ``open`` takes a decision back.

        Args:
            decided_at: When the decision was made that the caller has seen, `GapDecision.at`; None: he has seen none.
            again: Decide also where there is another decision.

        Raises:
            Conflict: somebody has decided something else, which the caller has not seen.
            InvalidRequest: an unknown state, or a note that is too long.
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
        gap = self.gap(gap_id, days=days)
        digests = list(dict.fromkeys([gap.gap_id, *map(digest_of, gap.wordings)]))

        def check(found: GapDecision | None) -> None:
            if not again:
                check_decision(found, state, note, decided_at)

        self.catalog.decide_gap(digests, state, note, principal.actor, check)
        return replace(gap, decision=self.catalog.gap_decisions().get(gap.gap_id))

    def ask_again(
        self, *, days: float = DAYS, progress: Callable[[int, int], None] | None = None
    ) -> tuple[KnowledgeGap, ...]:
        """Ask the open gaps again, for the agents and with the eyes of those who asked; returns the gaps that closed by it.

        Each answer is recorded under who asked first, by the door ``gaps``, and does not count as asked. What is known no
        more, the question, its agent or with whose eyes it was, is not asked; that and what fails leaves its gap open.
        """
        questions, report = self._read(days, None, None)
        before = [gap for gap in report.gaps if gap.state == "open"]
        wordings = {digest_of(text) for gap in before for text in gap.wordings}
        known = {agent.agent_id for agent in self.catalog.agents()}
        asked = {(digest_of(one.text), one.agent, one.caller, one.person): one for one in questions}
        meant = [
            one for key, one in asked.items()
            if key[0] in wordings and one.asked is not None and (not one.agent or one.agent in known)
        ]  # fmt: skip
        self.recorder.changed("gap", "asked", f"{len(meant)} questions", None, None)
        for at, one in enumerate(meant):
            self._ask(one)
            if progress is not None:
                progress(at + 1, len(meant))
        after = {digest_of(text) for gap in self.find(days=days).gaps for text in gap.wordings}
        return tuple(gap for gap in before if after.isdisjoint(map(digest_of, gap.wordings)))

    def _ask(self, one: UnansweredQuestion) -> None:
        """Ask a question for whoever asked it, and record the answer."""
        kept = one.asked or {}
        request = SearchRequest(
            query=one.text, agent_id=one.agent or None, min_trust=kept.get("min_trust", 1), filter=_bounds(one),
            summary=False,
        )  # fmt: skip
        principal = Principal(key_id=one.caller, on_behalf_of=frozenset({one.person} - {""}))
        try:
            with reading_as(self.recorder.sight_of(one.audit_id)):
                (found,) = self.recorded.searches([request], principal, AGAIN)
                self.recorded.attested(found, request, principal, AGAIN)
        except (CatalogError, EngineError, EncoderError):
            raise
        except KnowledgeError as error:
            log.warning("a gap was not asked again: %s", error)

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
        digests = list(texts)
        compared = digests[-MOST_EMBEDDED:]
        vectors = self.vectors([texts[digest] for digest in compared], progress)
        numbers = groups_of([texts[digest] for digest in compared], vectors)
        found = dict(zip(compared, numbers, strict=True))
        rest = digests[: len(digests) - len(compared)]
        return found | {digest: len(digests) + at for at, digest in enumerate(rest)}

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
