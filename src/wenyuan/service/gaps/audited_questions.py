"""What the audit knows of questions: which were answered well, which were not and why, and which failed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wenyuan.core.gaps import REPEAT_SECONDS, FailedQuestion, GapReason, UnansweredQuestion, digest_of
from wenyuan.core.likelihood import LIKELY
from wenyuan.core.records import AuditRecord
from wenyuan.core.text.analysis import search_terms
from wenyuan.service.audit.asker_entry import person_of

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog

_PAGE = 1_000
_AT = attrgetter("at")
_SHARED = 0.5
"""Share of its terms that a question has in common with the one before it, where that is asked again in other words."""
Wording = tuple[str, str, str, str]
"""The digest of a question, the agent, the caller and the person that it was asked for."""
AGAIN = "gaps"
"""The door by which open gaps are asked again, for those who asked."""
_OF_PROCESSES = "infer_rules"
"""The door whose questions are names of processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedQuestion:
    """One question as the audit has it, its parts united.

    Attributes:
        kept: The request as it is kept (`request_entry.request_of`), as JSON; "" where it is not.
        digest: Of its text, see `core.gaps.digest_of`.
        again: Whether it was asked for its owner, to see whether it is answered well now; then it does not count.
        lacking: What it lacks by itself: nothing was given, it was withheld, or it is improbable; None where it was answered.
        score: Probability of the first fragment; 0 without one.
        sha256: Of the first fragment's text.
        searched: The sources that were searched; empty where they were too many to be recorded.
    """

    audit_id: str
    at: float
    text: str
    digest: str
    kept: str
    agent: str
    caller: str
    person: str
    again: bool
    failed: bool
    code: str
    error: str
    lacking: GapReason | None
    score: float
    address: str
    source_id: str
    sha256: str
    searched: tuple[str, ...]


def records_since(audit: AuditLog, since: float, agent: str | None, most: int) -> tuple[list[AuditRecord], bool]:
    """Records of retrievals from a time on, oldest first, at most the `most` newest; and whether these are all."""
    found: list[AuditRecord] = []
    before: str | None = None
    while len(found) < most:
        page = audit.list(
            kind="retrieval", agent=agent, since=since, limit=min(_PAGE, most - len(found)), before=before
        )
        found += page
        if len(page) < _PAGE:
            return found[::-1], len(found) < most or not page
        before = page[-1].audit_id
    return found[::-1], not audit.list(kind="retrieval", agent=agent, since=since, limit=1, before=before)


def asked_questions(records: Iterable[AuditRecord]) -> list[AuditedQuestion]:
    """The questions of records, oldest first; records of one question's parts are one question."""
    parts: dict[str, list[AuditRecord]] = {}
    for record in records:
        if not record.erasure and record.record.get("door") != _OF_PROCESSES and not _was_strict(record.record):
            parts.setdefault(record.record.get("part_of") or record.audit_id, []).append(record)
    return [_united(of) for of in parts.values()]


def _was_strict(record: Mapping[str, Any]) -> bool:
    """Whether nothing was given to a request that was stricter than the library is: that says nothing of what it lacks."""
    reached = record.get("floor") or {}
    return not record.get("fragments") and reached.get("least", 0.0) > reached.get("usual", 1.0)


def _united(records: Sequence[AuditRecord]) -> AuditedQuestion:
    first = records[0]
    fragments = [fragment for record in records for fragment in record.record.get("fragments", ())]
    best: Mapping[str, Any] = max(fragments, key=lambda one: one.get("score", 0.0), default={})
    failed = next((record.record for record in records if record.record.get("status") != "SUCCESS"), None)
    text = str((first.query.get("query") if first.query else None) or first.record.get("preview", ""))
    score, address = float(best.get("score", 0.0)), best.get("uri", "")
    given = sum(fragment.get("quoted_chars", 0) for fragment in fragments)
    withheld = address or any(record.record.get("withheld") for record in records)
    return AuditedQuestion(
        audit_id=first.audit_id,
        at=first.at,
        text=text,
        digest=digest_of(text),
        kept="" if first.query is None else json.dumps(first.query, ensure_ascii=False),
        agent=first.record.get("agent") or "",
        caller=first.principal,
        person=person_of(first.record),
        again=first.record.get("door") == AGAIN,
        failed=failed is not None,
        code=(failed or {}).get("error_code", ""),
        error=(failed or {}).get("error", ""),
        lacking=("weak" if score < LIKELY else None) if given else "withheld" if withheld else "nothing",
        score=score,
        address=address,
        source_id=best.get("source_id", ""),
        sha256=best.get("sha256", ""),
        searched=_searched(records),
    )


def _searched(records: Sequence[AuditRecord]) -> tuple[str, ...]:
    """The sources of all parts of a question; none where one part has too many of them."""
    parts = [record.record.get("scope", {}).get("sources") for record in records]
    return () if None in parts else tuple(sorted({name for part in parts for name in part}))


def failed_questions(asked: Iterable[AuditedQuestion]) -> tuple[FailedQuestion, ...]:
    """Those whose answer was FAILED, newest first."""
    return tuple(
        FailedQuestion(
            audit_id=one.audit_id, at=one.at, text=one.text, agent=one.agent, code=one.code, error=one.error
        )
        for one in reversed(list(asked))
        if one.failed
    )


def unanswered(
    asked: Sequence[AuditedQuestion], bad: Mapping[str, bool], repeated: frozenset[str]
) -> tuple[list[UnansweredQuestion], list[UnansweredQuestion]]:
    """The questions that were not answered well, oldest first, and the last one of each that has been answered well since.

    What counts is the last answer to equal words of the same caller, for the same agent: others may see other documents.

    Args:
        asked: Oldest first; failed ones are passed over.
        bad: By audit id, whether what was judged of an answer was judged wrong only.
        repeated: Ids of those that were asked again in other words.
    """
    of_wording: dict[Wording, list[AuditedQuestion]] = defaultdict(list)
    for one in asked:
        of_wording[wording_of(one)].append(one)
    every = [judged(of, bad, repeated) for of in of_wording.values()]
    found = [one for open_ones, _ in every for one in open_ones]
    closed = [one for _, one in every if one is not None]
    return sorted(found, key=_AT), sorted(closed, key=_AT)


def wording_of(one: AuditedQuestion) -> Wording:
    """What questions share that are judged together."""
    return one.digest, one.agent, one.caller, one.person


def judged(
    asked: Iterable[AuditedQuestion], bad: Mapping[str, bool], repeated: frozenset[str]
) -> tuple[list[UnansweredQuestion], UnansweredQuestion | None]:
    """Of the questions of one wording: those that were not answered well, where it still is not; else the last one, None where it
    always was.

    Args:
        asked, bad, repeated: As of `unanswered`.
    """
    last: tuple[AuditedQuestion, GapReason | None] | None = None
    earlier: list[tuple[AuditedQuestion, GapReason]] = []
    for one in asked:
        if one.failed:
            continue
        reason = one.lacking
        if reason in (None, "weak"):
            reason = _reason(one, bad, repeated)
        if reason is None and last is not None and _is_as_before(one, *last, bad):
            continue  # the same answer, which did not do
        last = one, reason
        if reason and not one.again:
            earlier.append((one, reason))
    if last is None or not earlier:
        return [], None
    return ([_question(*pair) for pair in earlier], None) if last[1] else ([], _question(*earlier[-1]))


def _is_as_before(
    one: AuditedQuestion, before: AuditedQuestion, reason: GapReason | None, bad: Mapping[str, bool]
) -> bool:
    """Whether an answer is the one before it once more, which did not do: asked again for its owner, or by a caller who had called
    it wrong, as a page does that is shown again after that, and says nothing else of it now.
    """
    called_wrong = reason == "marked_bad" and bad.get(one.audit_id) is None
    return (one.again or called_wrong) and one.sha256 == before.sha256


def _reason(one: AuditedQuestion, bad: Mapping[str, bool], repeated: frozenset[str]) -> GapReason | None:
    """Why a question to which something was given counts as not answered well; None where it was answered well."""
    if bad.get(one.audit_id):
        return "marked_bad"
    if one.lacking is not None:
        return one.lacking
    return "asked_again" if one.audit_id in repeated and bad.get(one.audit_id) is not False else None


def _question(one: AuditedQuestion, reason: GapReason) -> UnansweredQuestion:
    return UnansweredQuestion(
        audit_id=one.audit_id, at=one.at, text=one.text, digest=one.digest, kept=one.kept, reason=reason, agent=one.agent,
        caller=one.caller, person=one.person, score=one.score, address=one.address, source_id=one.source_id,
        searched=one.searched,
    )  # fmt: skip


class AskedAgain:
    """Which questions the same caller asked again in other words soon after, as far as they were taken in."""

    def __init__(self) -> None:
        self._found: set[str] = set()
        self._last: dict[tuple[str, str, str], AuditedQuestion] = {}

    def take(self, questions: Iterable[AuditedQuestion]) -> None:
        """Take in questions, which are later than those before."""
        self._found |= self._among(questions, self._last)

    def with_more(self, questions: Iterable[AuditedQuestion]) -> frozenset[str]:
        """The ids of all of them, and of later ones that are not taken in yet."""
        return frozenset(self._found | self._among(questions, {}))

    def _among(
        self, questions: Iterable[AuditedQuestion], last: dict[tuple[str, str, str], AuditedQuestion]
    ) -> set[str]:
        """The ids of those that are asked again among questions; `last` is kept."""
        found = set()
        for one in questions:
            if one.again:
                continue
            key = one.caller, one.person, one.agent
            before = last.get(key) or self._last.get(key)
            if (
                before is not None
                and one.at - before.at <= REPEAT_SECONDS
                and before.digest != one.digest
                and _alike(before.text, one.text)
            ):
                found.add(before.audit_id)
            last[key] = one
        return found


def _alike(text: str, other: str) -> bool:
    terms, others = set(search_terms(text)), set(search_terms(other))
    return bool(terms) and len(terms & others) >= _SHARED * min(len(terms), len(others))
