"""Finds what rests on a document, a passage or a rule: which recorded answers quoted it, and what the same questions are
answered now.

An answer rests on what is not there any more where one of the passages that it quoted was removed or reads otherwise, and no
passage of the same document has the same text. It reads the same where each sentence that was quoted and is nearest to the
question stands in what is given now; so a change of one sentence touches those who asked about that one.
"""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotFound, msg
from wenyuan.core.impact import (
    DAYS,
    MOST_ASKED,
    MOST_DAYS,
    MOST_SECONDS,
    AnswerOutcome,
    ImpactedAnswer,
    ImpactReport,
)
from wenyuan.core.model import RULE_IDS
from wenyuan.core.principals import reading_as
from wenyuan.core.records import AuditRecord
from wenyuan.core.text.analysis import search_terms
from wenyuan.core.text.boundaries import sentences
from wenyuan.service.audit.past_library import asked_of
from wenyuan.service.audit.request_entry import query_of
from wenyuan.service.gaps.audited_questions import AGAIN, records_since
from wenyuan.service.ingest.versions import series_of

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.audit.recorder import AuditRecorder
    from wenyuan.service.query import SearchAnswer
    from wenyuan.service.search.retriever import Retriever

MOST_RECORDS = 100_000
"""Audit records that are read at once, the newest."""
_DAY = 86_400.0
_SHOWN = 50  # documents that the report of a change names
_QUOTE = 300  # characters
_NUMBER = re.compile(r"#?([0-9]{1,18})")
_PASSAGE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.\-]{0,63})#([0-9]{1,18})")
_RULE = re.compile(r"(?:[^#]*#)?rule-([0-9]{1,15})")

Entry = Mapping[str, Any]
"""A fragment in an audit record, see `audit.retrieval_entry.fragment_entries`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What is asked about.

    Attributes:
        named: As a report names it.
        quotes: Whether a fragment of a record is of it.
        documents: The addresses of the documents concerned, by source; rules may rest on these.
        rules: Statements that it is itself.
    """

    named: str
    quotes: Callable[[Entry], bool]
    documents: Mapping[str, Collection[str]] = field(default_factory=dict)
    rules: tuple[int, ...] = ()


@dataclass(slots=True)
class _Asked:
    """Answers to one question of one caller, the newest record first, each with what it quoted and is not there any more."""

    records: list[AuditRecord]
    gone: list[Entry]


@dataclass(frozen=True, kw_only=True, eq=False)
class Impact:
    """Tells what rests on something. For whoever may read the audit."""

    catalog: Catalog
    recorder: AuditRecorder
    retriever: Retriever
    clock: Callable[[], float] = time.time

    def of(
        self,
        target: str,
        *,
        days: float = DAYS,
        seconds: float = MOST_SECONDS,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImpactReport:
        """What rests on a document (its number or address), a passage (``policies#57``, or its address) or a rule (``rule-12``).

        Args:
            days: How far back answers are looked at.
            seconds: Time for asking questions again; those for which there is none are counted.
            progress: Called with how many questions were asked again, and of how many.

        Raises:
            NotFound: there is nothing of that name.
            InvalidRequest: `days` or `seconds` is not in its bounds.
            KnowledgeError: the audit is switched off: nothing can be known.
        """
        if not 0 < days <= MOST_DAYS:
            raise InvalidRequest(msg("days is {days}; it must be above 0 and at most 36500", days=f"{days:g}"))
        if not 0 < seconds <= MOST_SECONDS:
            raise InvalidRequest(
                msg("seconds is {seconds}; it must be above 0 and at most {most}", seconds=f"{seconds:g}", most=f"{MOST_SECONDS:g}")
            )  # fmt: skip
        return self._report(self._target(target.strip()), days, seconds, progress)

    def of_changes(
        self,
        after: int,
        upto: int,
        *,
        days: float = DAYS,
        seconds: float = MOST_SECONDS,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImpactReport:
        """What rested on the passages that were removed between two changes of the library, under whatever number they were quoted:
        that is another one after each change of their document's details.

        Raises:
            KnowledgeError: the audit is switched off: nothing can be known.
        """
        removed = {one.passage_id for one in self.catalog.changes(after, upto, vectors=False) if one.row is None}
        texts = self.catalog.removed_texts(after, upto)
        places: dict[str, set[str]] = {}

        def quotes(entry: Entry) -> bool:
            told = entry["source_id"], _document(entry["uri"]), entry.get("sha256")
            if entry["passage_id"] not in removed and told not in texts:
                return False
            places.setdefault(entry["source_id"], set()).add(_document(entry["uri"]))
            return True

        target = _Target(named="", quotes=quotes, documents=places)
        report = self._report(target, days, seconds, progress)
        named = sorted(uri for uris in places.values() for uri in uris)
        return replace(report, target=" ".join(named[:_SHOWN]))

    def _target(self, name: str) -> _Target:
        if found := _RULE.fullmatch(name):
            number = int(found[1])
            if self.catalog.rules.statement_fate(number, date.today())["state"] == "never":
                raise NotFound(msg("there is no rule {number}", number=number), hint="wenyuan rules list")
            return _Target(
                named=f"rule-{number}", quotes=lambda entry: entry["passage_id"] == RULE_IDS - number, rules=(number,)
            )
        if found := _PASSAGE.fullmatch(name):
            return self._passage(name, int(found[2]))
        if found := _NUMBER.fullmatch(name):
            held = self.catalog.past_document(int(found[1]))
            if held is None:
                raise NotFound(
                    msg("there is no document {number}", number=found[1]),
                    hint="its number changes when it is read again: look for it in wenyuan document list",
                )
            return _of_document(held.source_id, held.uri)
        return self._address(name)

    def _passage(self, ref: str, number: int) -> _Target:
        fate = self.catalog.passage_fate(number)
        if fate["state"] == "never" or not ref.startswith(f"{fate['source_id']}#"):
            raise NotFound(msg("there is no passage {ref}", ref=ref), hint="wenyuan document show --passages")
        uri = fate["document_uri"]
        kept = self.catalog.passages_at([number], fate["added_seq"]).get(number)
        text = None if kept is None else kept.sha256

        def quotes(entry: Entry) -> bool:
            return entry["passage_id"] == number or (
                text is not None and entry["sha256"] == text and _document(entry["uri"]) == _document(uri)
            )

        return _Target(named=ref, quotes=quotes, documents={fate["source_id"]: {_document(uri)}})

    def _address(self, uri: str) -> _Target:
        """A document by its address, or a part of it, by the address that answers gave."""
        found = self.catalog.document_by_uri(_document(uri))
        if found is None:
            raise NotFound(msg("there is no document {number}", number=repr(uri)), hint="wenyuan document list")
        if "#" not in uri:
            return _of_document(found[1], uri)
        return _Target(
            named=uri, quotes=lambda entry: entry["uri"] == uri and entry["source_id"] == found[1],
            documents={found[1]: {_document(uri)}},
        )  # fmt: skip

    def _report(
        self, target: _Target, days: float, seconds: float, progress: Callable[[int, int], None] | None
    ) -> ImpactReport:
        log = self.recorder.log
        if log is None:
            raise KnowledgeError(
                "the audit is switched off, and only it knows what was asked", component="audit", hint="audit.enabled = true"
            )  # fmt: skip
        since = self.clock() - days * _DAY
        records, complete = records_since(log, since, None, MOST_RECORDS)
        cut = max((float(one.record["before"]) for one in log.list(kind="audit", limit=50)
                   if one.record.get("action") == "expire" and one.record.get("before")), default=0.0)  # fmt: skip
        if cut > since or not complete:
            since, complete = max(since, cut, records[0].at if records and not complete else 0.0), False
        agents: Counter[str] = Counter()
        tasks: Counter[str] = Counter()
        questions: set[str] = set()
        resting: dict[str, list[tuple[AuditRecord, list[Entry]]]] = {}
        stands = _Standing(self.catalog)
        for record in records:
            quoted = [one for one in _fragments(record) if target.quotes(one)]
            name = str(record.record.get("part_of") or record.audit_id)
            if not quoted:
                continue
            if name not in questions:
                questions.add(name)
                agents[record.record.get("agent") or ""] += 1
                if task := record.record.get("request", {}).get("task_id"):
                    tasks[str(task)] += 1
            if gone := [one for one in quoted if not stands.there(one)]:
                resting.setdefault(name, []).append((record, gone))
        answers, left = self._asked(_grouped(resting), seconds, progress)
        count: Counter[AnswerOutcome] = Counter()
        for one in answers:
            count[one.outcome] += one.count
        return ImpactReport(
            target=target.named, answers=len(questions), resting=len(resting), same=count["same"],
            differs=count["differs"], unknown=count["unknown"], left=left, agents=dict(agents.most_common()),
            tasks=dict(tasks.most_common()), rules=self._rules(target), since=since, complete=complete,
            examples=tuple(sorted(answers, key=lambda one: (_ORDER[one.outcome], -one.count, -one.at))),
        )  # fmt: skip

    def _rules(self, target: _Target) -> tuple[int, ...]:
        """The statements that cite the documents concerned."""
        found = set(target.rules)
        for source_id, uris in target.documents.items():
            for uri, every in self.catalog.cited(source_id).items():
                if uri in uris:
                    found.update(one.statement_id for one in every)
        return tuple(sorted(found))

    def _asked(
        self, groups: Sequence[_Asked], seconds: float, progress: Callable[[int, int], None] | None
    ) -> tuple[list[ImpactedAnswer], int]:
        """What the same questions are answered now; and how many answers were left, for want of time."""
        ends = time.monotonic() + seconds
        chosen = sorted(groups, key=lambda one: -len(one.records))[:MOST_ASKED]
        found: list[ImpactedAnswer] = []
        for at, one in enumerate(chosen):
            if time.monotonic() > ends:
                chosen = chosen[:at]
                break
            found.append(self._compared(one))
            if progress is not None:
                progress(at + 1, len(chosen))
        return found, sum(len(one.records) for one in groups) - sum(len(one.records) for one in chosen)

    def _compared(self, one: _Asked) -> ImpactedAnswer:
        record = one.records[0]
        outcome, was, now, why = self._outcome(record, one.gone)
        return ImpactedAnswer(
            audit_id=record.audit_id, at=record.at, count=len(one.records),
            question=str(record.record.get("preview", "")), agent=record.record.get("agent") or "",
            task=str(record.record.get("request", {}).get("task_id") or ""), outcome=outcome, was=was[:_QUOTE],
            now=now[:_QUOTE], why=why,
        )  # fmt: skip

    def _outcome(self, record: AuditRecord, gone: Sequence[Entry]) -> tuple[AnswerOutcome, str, str, str]:
        """Whether the sentences that were nearest to the question are given now; these; what is given first; why it is not
        known.
        """
        if record.query is None:
            return "unknown", "", "", "the question is not kept"
        text = str(record.query.get("query", ""))
        try:
            with reading_as(self.recorder.sight_of(record.audit_id)):
                answer = self._again(record)
        except NotFound as error:  # a source that it named is gone
            return "differs", "", "", str(error)
        except KnowledgeError as error:
            return "unknown", "", "", str(error)
        given = [answer.passages[hit.passage_id] for hit in answer.hits]
        now = nearest_sentences(given[0].text, text) if given else ""
        rules = {entry["passage_id"] for entry in gone if entry["passage_id"] <= RULE_IDS}
        texts = self.catalog.passages_at(
            [entry["passage_id"] for entry in gone if entry["passage_id"] > 0], record.record["generation"]
        )
        was = [nearest_sentences(one.text, text) for one in texts.values()]
        if len(texts) + len(rules) < len(gone):
            return "unknown", " ".join(was), now, "the text that was quoted is not kept"
        there = _plain("\n".join(one.text for one in given))
        kept = all(_plain(line) in there for told in was for line in told.splitlines())
        kept = kept and rules <= {one.passage_id for one in given}
        return "same" if kept else "differs", "\n".join(was), now, ""

    def _again(self, record: AuditRecord) -> SearchAnswer:
        query = query_of(record.query or {})
        return asked_of(self.retriever, record.record)(replace(query, as_of=query.as_of or date.today()))


class _Standing:
    """Whether what a record quoted is still there: under its own number, or as a passage of its document with the same text."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[int, bool] = {}

    def there(self, entry: Entry) -> bool:
        number = entry["passage_id"]
        if number not in self._known:
            self._known[number] = self._is_there(number)
        return self._known[number]

    def _is_there(self, number: int) -> bool:
        if number <= RULE_IDS:
            return bool(self._catalog.rules.statement_fate(RULE_IDS - number, date.today())["state"] == "live")
        if number <= 0:
            return True  # it was given by an outside source, which keeps no state here
        fate = self._catalog.passage_fate(number)
        heir = fate.get("replaced_by")
        return fate["state"] == "live" or bool(heir and heir["passage_id"])


_ORDER: Mapping[AnswerOutcome, int] = {"differs": 0, "unknown": 1, "same": 2}


def nearest_sentences(text: str, question: str) -> str:
    """The sentences of a text that share most with a question, one a line; all of them where none shares anything."""
    lines = [" ".join(text[start:end].split()) for start, end in sentences(text)]
    asked = set(search_terms(question))
    shared = [len(asked & set(search_terms(line))) for line in lines]
    most = max(shared, default=0)
    return "\n".join(line for line, count in zip(lines, shared, strict=True) if 2 * count >= most)


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _fragments(record: AuditRecord) -> Iterable[Entry]:
    """What a record's answer quoted; nothing of one that failed, or that was only asked again for an owner."""
    told = record.record
    if record.erasure or told.get("status") != "SUCCESS" or told.get("door") == AGAIN:
        return ()
    return [one for one in told.get("fragments", ()) if one.get("quoted_chars")]


def _grouped(resting: Mapping[str, Sequence[tuple[AuditRecord, list[Entry]]]]) -> list[_Asked]:
    """Answers with equal questions of the same caller together: they are answered alike now."""
    found: dict[str, _Asked] = {}
    for parts in resting.values():
        record, gone = max(parts, key=lambda part: len(part[1]))
        asked = record.query if record.query is not None else record.audit_id
        who = record.principal, record.record.get("agent"), record.record.get("on_behalf_of")
        name = json.dumps([asked, *who], sort_keys=True, default=str)
        one = found.setdefault(name, _Asked([], gone))
        one.records.append(record)
        if record.at >= one.records[0].at:
            one.records.remove(record)
            one.records.insert(0, record)
            one.gone = gone
    return list(found.values())


def _of_document(source_id: str, uri: str) -> _Target:
    series = series_of(uri)[0]
    return _Target(
        named=series, quotes=partial(_is_of, source_id, frozenset({_document(series), _document(uri)})),
        documents={source_id: {_document(series), _document(uri)}},
    )  # fmt: skip


def _is_of(source_id: str, uris: Collection[str], entry: Entry) -> bool:
    return entry["source_id"] == source_id and _document(entry["uri"]) in uris


def _document(uri: str) -> str:
    return uri.partition("#")[0]
