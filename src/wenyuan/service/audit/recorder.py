"""Writes audit records of searches, answers and changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from wenyuan.core.access import Principal
from wenyuan.core.claims import Claim
from wenyuan.core.errors import KnowledgeError, NotFound, msg
from wenyuan.core.filters import Scope
from wenyuan.core.model import RULE_IDS
from wenyuan.core.ports import Encoder, Engine
from wenyuan.core.principals import Sight
from wenyuan.core.rules.inference import REVISION
from wenyuan.service.audit.change_entry import Changed, change_record
from wenyuan.service.audit.past_library import asked_of, rerun_at
from wenyuan.service.audit.replay import replay
from wenyuan.service.audit.request_entry import query_of, request_of, synonyms_of
from wenyuan.service.audit.rerun import Replay, Rerun, rerun_of
from wenyuan.service.audit.retrieval_entry import (
    answer_record,
    digest_of,
    fetch_record,
    fragment_entries,
    judge_entry,
    retrieval_record,
    verification_record,
)
from wenyuan.service.audit.sight_entry import recorded_sight, sight_entry
from wenyuan.service.ingest.question_redaction import UNREADABLE, Questions
from wenyuan.service.query import Query, SearchAnswer
from wenyuan.service.search.reranking import Reranking
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.source_selection import Allowed
from wenyuan.service.search.sufficiency import Sufficiency, k_again
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog
    from wenyuan.catalog.catalog import Catalog


# Writes down what was asked, what was answered and what was changed, and asks again when it is doubted.


ACTING: ContextVar[Principal] = ContextVar("acting", default=Principal())  # noqa: B039  (it is frozen)
"""On whose behalf this thread works; doors that know set it, for the audit of changes."""
_RECORDED: ContextVar[list[str] | None] = ContextVar("recorded", default=None)


@contextmanager
def one_question() -> Iterator[None]:
    """Context for records of one question: all but the first name the first one in ``part_of``.

    Each part is a record of its own, since each is asked of its own scope, and replayed so.
    """
    if _RECORDED.get() is not None:
        yield
        return
    token = _RECORDED.set([])
    try:
        yield
    finally:
        _RECORDED.reset(token)


class AuditRecorder:
    """Writes audit records; without a log (audit switched off) it does nothing and returns empty ids."""

    def __init__(
        self,
        log: AuditLog | None,
        settings: Settings,
        encoder: Encoder | None,
        reranking: Reranking,
        questions: Questions,
    ) -> None:
        self.log = log
        self.questions = questions
        self._settings = settings
        self._encoder = encoder
        self._reranking = reranking
        rules = settings.rules.model_dump(mode="json", exclude_defaults=True)
        more = {"rules": rules, "reranker": reranking.fingerprint}
        searching = settings.search.model_dump(mode="json", exclude={"withhold_disputed", "shared_statistics"})
        if settings.search.withhold_disputed:  # records of before know nothing of it
            searching["withhold_disputed"] = True
        if settings.search.shared_statistics:
            searching["shared_statistics"] = True
        bearing = searching | {name: value for name, value in more.items() if value}
        self._digest = digest_of(bearing)
        self._encoder_key = encoder.fingerprint.key if encoder is not None else ""

    def answered(  # noqa: PLR0913  (an answer, and what became of it)
        self, query: Query, answer: SearchAnswer, principal: Principal, *, door: str, agent_id: str | None = None,
        cache_hit: bool = False, withheld: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
        bounds: Mapping[str, Any] = MappingProxyType({}), copies: Set[int] = frozenset(),
    ) -> str:  # fmt: skip
        """Record an answer; returns the record's id (``""`` when the audit is off).

        Args:
            withheld: By reason, characters of passages that were found and not given, by short address.
            bounds: What else bounded what is given: ``token_budget``, ``allow_low_trust``.
            copies: Passages found but not given, since equal ones of another domain are; nothing is quoted from them.

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be answered either.
        """
        if self.log is None or answer.scope is None:
            return ""
        asked = request_of(query)
        if replaced := [wording.replaced for wording in answer.wordings if wording.entries]:
            asked["wordings"] = [[f"{a} → {b}" for a, b in pairs] for pairs in replaced]
        request, redacted = self.questions.kept(asked, answer.generation)
        lost: Counter[str] = Counter()
        for of_reason in withheld.values():
            lost.update(of_reason)
        given = [answer.passages[hit.passage_id] for hit in answer.hits]
        record = retrieval_record(
            principal=principal,
            request={**request, **bounds, "agent_id": agent_id},
            scope=answer.scope,
            generation=answer.generation,
            settings_digest=self._digest,
            encoder_key=self._encoder_key,
            legs=answer.legs,
            fragments=fragment_entries(zip(answer.hits, given, strict=True), lost, copies),
            nearest=fragment_entries(filter(None, [answer.nearest])),
            withheld=withheld,
            cache_hit=cache_hit,
            degraded=answer.degraded,
            trusts=answer.trusts,
            floor=answer.floors,
            tuning=answer.tuning,
            synonyms=synonyms_of(answer),
            judge={} if answer.confidence is None else judge_entry(answer.confidence, str(request["query"])),
            derivation=0 if answer.derived is None else REVISION,
            door=door,
            redacted=redacted,
            rewriting=query.rewriting,
        )
        return _appended(self.log, record, None if UNREADABLE in redacted else request)

    def attested(self, query: Query, answer: SearchAnswer, principal: Principal, *, door: str) -> SearchAnswer:
        """Record an answer; returns it with the record's id. Raises as `answered`."""
        return replace(answer, audit_id=self.answered(query, answer, principal, door=door))

    def failed(
        self, query: Query, error: Exception, principal: Principal, *, door: str, agent_id: str | None = None
    ) -> str:
        """Record a failed query. Of an exception that is no `KnowledgeError` only the type is recorded."""
        if self.log is None:
            return ""
        scope = Scope(sources=frozenset(query.sources or ()), as_of=query.as_of or date.today())
        request, redacted = self.questions.kept(request_of(query))
        kind = type(error).__name__
        code, told = "internal_error", msg("internal error: {kind}", kind=kind)
        if isinstance(error, KnowledgeError):
            code, told = error.code, self.questions.text(str(error))
        record = retrieval_record(
            principal=principal, request={**request, "agent_id": agent_id}, scope=scope, generation=0,
            settings_digest=self._digest, encoder_key=self._encoder_key, status="FAILED", door=door,
            error=told, error_code=code, redacted=redacted, rewriting=query.rewriting,
        )  # fmt: skip
        return _appended(self.log, record, None if UNREADABLE in redacted else request)

    def fetched(self, ref: str, uri: str, chars: int, principal: Principal, *, door: str) -> str:
        """Record that a document was read; returns the record's id (``""`` when the audit is off).

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be given either.
        """
        if self.log is None:
            return ""
        return self.log.append(fetch_record(ref, uri, chars, principal, door) | sight_entry())

    def verified(
        self, claims: Sequence[Mapping[str, Any]], said: Sequence[Claim], citations: Mapping[str, str],
        bounds: Mapping[str, Any], principal: Principal, *, door: str,
    ) -> str:  # fmt: skip
        """Record a verification; returns the record's id (``""`` when the audit is off).

        Args:
            claims, bounds: See `verification_record`.
            said: The claims; they and what they cite are redacted as questions are, and kept where these are.
            citations: What marks of sources stand for.

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be given either.
        """
        if self.log is None:
            return ""
        redacted, counts = self._redacting(bounds["generation"])
        query = {
            "claims": [redacted(claim.text) for claim in said],
            "sources": [[redacted(source) for source in claim.sources] for claim in said],
            "citations": {redacted(mark): redacted(source) for mark, source in citations.items()},
        }
        record = verification_record(claims, bounds, principal, door) | ({"redacted": counts} if counts else {})
        record |= sight_entry()
        return self.log.append(record, None if UNREADABLE in counts else query)

    def written(
        self, said: Mapping[str, Any], question: str, output: Sequence[Sequence[str]], principal: Principal, *,
        door: str, action: Literal["answer", "summarize", "link"] = "answer",
    ) -> str:  # fmt: skip
        """Record an answer by a model; returns the record's id (``""`` when the audit is off).

        Args:
            said: See `answer_record`.
            output: The model's output, stored with the question and redacted like it, since a replay does not ask the
                model again.

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be given either.
        """
        if self.log is None:
            return ""
        redacted, counts = self._redacting(said.get("generation", 0))
        kept = {
            "query": redacted(question),
            "output": [[redacted(text), passage, redacted(first), redacted(last)] for text, passage, first, last in output],
        }  # fmt: skip
        record = answer_record({**said, "redacted": counts}, principal, door, action) | sight_entry()
        return self.log.append(record, None if UNREADABLE in counts else kept)

    def sight_of(self, audit_id: str) -> Sight | None:
        """With whose eyes a recorded question was asked; None: with all rights.

        Raises:
            NotFound: there is no such record.
            KnowledgeError: that is not known any more.
        """
        if self.log is None:
            return None
        self.log.flush()
        return recorded_sight(self.log.show(audit_id).record)

    def _redacting(self, change: int) -> tuple[Callable[[str], str], Counter[str]]:
        """What redacts the texts of one record, and how many values of each kind it has taken out so far."""
        counts: Counter[str] = Counter()

        def redacted(text: str) -> str:
            one, found = self.questions.kept({"query": text}, change)
            counts.update(found)
            return str(one["query"])

        return redacted, counts

    def changed(self, kind: Changed, action: str, name: str, before: Any, after: Any) -> None:
        """Record a change of the registry, an agent or a key, by the principal in `ACTING`."""
        if self.log is not None:
            self.log.append(change_record(kind, action, name, before, after, ACTING.get()))

    def replay(
        self, audit_id: str, retriever: Retriever, catalog: Catalog, make_engine: Callable[[], Engine],
        allowed: Allowed | None = None, *, exact: bool, sufficiency: Sufficiency,
    ) -> Replay:  # fmt: skip
        """Repeat a recorded query, on the present library or (`exact`) as of then.

        Args:
            allowed: What the caller may see now: nothing else is searched or returned; None: everything.

        Raises:
            NotFound: there is no such record.
            KnowledgeError: it cannot be asked again.
        """
        if self.log is None:
            raise KnowledgeError("the audit is switched off", component="audit", hint="audit.enabled = true")
        self.log.flush()
        kept = self.log.show(audit_id)

        def now(request: Mapping[str, Any]) -> Rerun:
            query = query_of(request)
            day = query.as_of or date.today()
            try:
                answer = asked_of(retriever, kept.record)(replace(query, as_of=day))
            except NotFound as error:  # a source that it names is gone: that is the difference
                return Rerun(
                    fragments=[], generation=0, settings_digest=self._digest, encoder_key=self._encoder_key,
                    sources=frozenset(), as_of=day, status="FAILED", error=str(error),
                )  # fmt: skip
            scope = answer.scope or Scope(sources=frozenset(), as_of=date.today())
            return rerun_of(
                answer, settings_digest=self._digest, encoder_key=self._encoder_key,
                sources=scope.sources, as_of=scope.as_of,
            )  # fmt: skip

        def judged(rerun: Rerun) -> Rerun:
            """With where the recorded numbers of the judge lead; it is not asked again."""
            said = kept.record.get("judge")
            if said is None or rerun.status == "FAILED":
                return rerun
            at = catalog.calibration_at if exact else sufficiency.calibration
            calibrated = at(rerun.generation)
            return replace(rerun, sufficed=k_again(said, calibrated.calibration if calibrated else None))

        def then(request: Mapping[str, Any]) -> Rerun:
            return rerun_at(
                kept.record, request, catalog=catalog, make_engine=make_engine, encoder=self._encoder,
                settings=self._settings.search, settings_digest=self._digest, united=self._settings.rules,
                reranking=self._reranking,
            )  # fmt: skip

        def fate(passage_id: int) -> Mapping[str, Any]:
            if passage_id > RULE_IDS:
                return catalog.passage_fate(passage_id)
            told: Mapping[str, Any] = catalog.rules.statement_fate(RULE_IDS - passage_id, date.today())
            return told if allowed is None else _fate_within(told, allowed)

        def again(request: Mapping[str, Any]) -> Rerun:
            within = request if allowed is None else _request_within(request, allowed)
            return judged(then(within) if exact else now(within))

        visible = None if allowed is None else allowed.trusted
        return replay(kept.record, kept.query, rerun=again, describe_passage=fate, visible=visible)


def _appended(log: AuditLog, record: dict[str, Any], query: Mapping[str, Any] | None) -> str:
    recorded, record = _RECORDED.get(), record | sight_entry()
    if recorded is None:
        return log.append(record, query)
    recorded.append(log.append(record | ({"part_of": recorded[0]} if recorded else {}), query))
    return recorded[-1]


def _request_within(request: Mapping[str, Any], allowed: Allowed) -> Mapping[str, Any]:
    """A recorded request narrowed to what is allowed now."""
    named = request["sources"]
    sources = sorted(allowed.sources if named is None else allowed.sources.intersection(named))
    near, trust = request.get("seen"), max(request["min_trust"], allowed.min_trust)
    seen = sorted(allowed.trusted if near is None else allowed.trusted.intersection(near))
    return {**request, "sources": sources, "seen": seen, "min_trust": trust}


def _fate_within(fate: Mapping[str, Any], allowed: Allowed) -> Mapping[str, Any]:
    """A statement's fate without reviewers, and without sources outside what is allowed."""
    lost = [one for one in fate.get("lost", ()) if one["source_id"] in allowed.sources]
    return {**fate, "reason": "", "reviews": (), "lost": lost}
