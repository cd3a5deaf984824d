"""Writes down what was asked, what was answered and what was changed, and asks again when it is doubted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from wenyuan.core.agents import Principal
from wenyuan.core.audited import AuditProgress, AuditRecord, Verification
from wenyuan.core.errors import KnowledgeError, NotPermitted
from wenyuan.core.filters import Scope
from wenyuan.core.model import RULE_IDS
from wenyuan.core.ports import Encoder, Engine
from wenyuan.core.rules.inference import REVISION
from wenyuan.service.answer import Answer, Query
from wenyuan.service.audit import (
    Changed,
    change_record,
    digest_of,
    fetch_record,
    fragment_entry,
    query_of,
    request_of,
    retrieval_record,
    synonyms_of,
)
from wenyuan.service.past import Archive, rerun_at
from wenyuan.service.questions import UNREADABLE, Questions
from wenyuan.service.replay import Replay, Rerun, replay, rerun_of
from wenyuan.service.rerank import Reranking
from wenyuan.service.retrieve import Retriever
from wenyuan.service.sight import Allowed
from wenyuan.settings import Settings

__all__ = ["ACTING", "Log", "Witness", "one_question"]


ACTING: ContextVar[Principal] = ContextVar("acting", default=Principal())  # noqa: B039  (it is frozen)
"""On whose behalf this thread works; doors that know set it, for the audit of changes."""
_RECORDED: ContextVar[list[str] | None] = ContextVar("recorded", default=None)


@contextmanager
def one_question() -> Iterator[None]:
    """What is recorded inside is of one question: every record but the first names that one in ``part_of``.

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


class Log(Protocol):
    """Where records are kept, listed, verified and exported; `catalog.audit_log.AuditLog` is one."""

    def append(self, record: Mapping[str, Any], query: Mapping[str, Any] | None = None) -> str: ...

    def flush(self, timeout: float = 30.0) -> None: ...

    def check(self) -> None: ...

    def close(self) -> None: ...

    def show(self, audit_id: str) -> AuditRecord: ...

    def list(
        self,
        *,
        kind: str | None = None,
        principal: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> tuple[AuditRecord, ...]: ...

    def verify(self, expected_head: str | None = None) -> Verification: ...

    def renew_head(self, *, principal: str = "local") -> str: ...

    def export(self, path: Path, *, with_queries: bool = False) -> str: ...

    def progress(self) -> AuditProgress: ...

    def head(self) -> str: ...


class Past(Archive, Protocol):
    """The catalog, as far as it remembers."""

    @property
    def rules(self) -> Any: ...

    def passage_fate(self, passage_id: int) -> Mapping[str, Any]: ...


class Witness:
    """The audit of a library; with no log (switched off) it writes nothing and gives no ids."""

    def __init__(
        self, log: Log | None, settings: Settings, encoder: Encoder | None, reranking: Reranking, questions: Questions
    ) -> None:
        self.log = log
        self.questions = questions
        self._settings = settings
        self._encoder = encoder
        self._reranking = reranking
        rules = settings.rules.model_dump(mode="json", exclude_defaults=True)
        more = {"rules": rules, "reranker": reranking.fingerprint}
        bearing = settings.search.model_dump(mode="json") | {name: value for name, value in more.items() if value}
        self._digest = digest_of(bearing)
        self._encoder_key = encoder.fingerprint.key if encoder is not None else ""

    def answered(  # noqa: PLR0913  (an answer, and what became of it)
        self, query: Query, answer: Answer, principal: Principal, *, door: str, agent_id: str | None = None,
        cache_hit: bool = False, withheld: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
        bounds: Mapping[str, Any] = MappingProxyType({}), copies: Set[int] = frozenset(),
    ) -> str:  # fmt: skip
        """Record an answer; returns the record's id (``""`` when the audit is off).

        Args:
            withheld: By reason, characters of passages that were found and not given, by short address.
            bounds: What else bounded what is given: ``token_budget``, ``allow_low_trust``.
            copies: Passages that were found and are not given, since another domain's that say the same are: nothing
                is quoted of them.

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be answered either.
        """
        if self.log is None or answer.scope is None:
            return ""
        asked = request_of(query)
        if answer.wordings:
            asked["wordings"] = [[f"{a} → {b}" for a, b in wording.replaced] for wording in answer.wordings]
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
            fragments=[
                fragment_entry(
                    hit, passage, 0 if hit.passage_id in copies else max(0, len(passage.text) - lost[passage.ref])
                )
                for hit, passage in zip(answer.hits, given, strict=True)
            ],
            withheld=withheld,
            cache_hit=cache_hit,
            degraded=answer.degraded,
            trusts=answer.trusts,
            floor=answer.floors,
            tuning=answer.tuning,
            synonyms=synonyms_of(answer),
            derivation=0 if answer.derived is None else REVISION,
            door=door,
            redacted=redacted,
        )
        return _appended(self.log, record, None if UNREADABLE in redacted else request)

    def attested(self, query: Query, answer: Answer, principal: Principal, *, door: str) -> Answer:
        """An answer with the id of its record; raises as `answered` does."""
        return replace(answer, audit_id=self.answered(query, answer, principal, door=door))

    def failed(
        self, query: Query, error: Exception, principal: Principal, *, door: str, agent_id: str | None = None
    ) -> str:
        """Record a question that got no answer; of an error that is no `KnowledgeError` only its kind is told."""
        if self.log is None:
            return ""
        scope = Scope(sources=frozenset(query.sources or ()), as_of=query.as_of or date.today())
        request, redacted = self.questions.kept(request_of(query))
        kind = type(error).__name__
        code, told = "internal_error", f"internal error: {kind}"
        if isinstance(error, KnowledgeError):
            code, told = error.code, self.questions.text(str(error))
        record = retrieval_record(
            principal=principal, request={**request, "agent_id": agent_id}, scope=scope, generation=0,
            settings_digest=self._digest, encoder_key=self._encoder_key, status="FAILED", door=door,
            error=told, error_code=code, redacted=redacted,
        )  # fmt: skip
        return _appended(self.log, record, None if UNREADABLE in redacted else request)

    def fetched(self, ref: str, uri: str, chars: int, principal: Principal, *, door: str) -> str:
        """Record that a document was given to read; returns the record's id (``""`` when the audit is off).

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be given either.
        """
        if self.log is None:
            return ""
        return self.log.append(fetch_record(ref, uri, chars, principal, door))

    def changed(self, kind: Changed, action: str, name: str, before: Any, after: Any) -> None:
        """Record a change of the registry, an agent or a key, by whoever is `ACTING`."""
        if self.log is not None:
            self.log.append(change_record(kind, action, name, before, after, ACTING.get()))

    def replay(
        self, audit_id: str, retriever: Retriever, past: Past, make_engine: Callable[[], Engine],
        allowed: Allowed | None = None, *, exact: bool,
    ) -> Replay:  # fmt: skip
        """Ask a recorded question again: of the library as it is, or (`exact`) as it was.

        Args:
            allowed: What whoever wants to know may see now: nothing else is asked, nor told; None: everything.

        Raises:
            NotPermitted: there is no such record.
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
                answer = _asked_of(retriever, kept.record)(replace(query, as_of=day))
            except NotPermitted as error:  # a source that it names is gone: that is what differs
                return Rerun(
                    fragments=[], generation=0, settings_digest=self._digest, encoder_key=self._encoder_key,
                    sources=frozenset(), as_of=day, status="FAILED", error=str(error),
                )  # fmt: skip
            scope = answer.scope or Scope(sources=frozenset(), as_of=date.today())
            return rerun_of(
                answer, settings_digest=self._digest, encoder_key=self._encoder_key,
                sources=scope.sources, as_of=scope.as_of,
            )  # fmt: skip

        def then(request: Mapping[str, Any]) -> Rerun:
            return rerun_at(
                kept.record, request, archive=past, make_engine=make_engine, encoder=self._encoder,
                settings=self._settings.search, settings_digest=self._digest, united=self._settings.rules,
                reranking=self._reranking,
            )  # fmt: skip

        def fate(passage_id: int) -> Mapping[str, Any]:
            if passage_id > RULE_IDS:
                return past.passage_fate(passage_id)
            told: Mapping[str, Any] = past.rules.statement_fate(RULE_IDS - passage_id, date.today())
            return told if allowed is None else _fate_within(told, allowed)

        def again(request: Mapping[str, Any]) -> Rerun:
            within = request if allowed is None else _request_within(request, allowed)
            return then(within) if exact else now(within)

        visible = None if allowed is None else allowed.trusted
        return replay(kept.record, kept.query, rerun=again, describe_passage=fate, visible=visible)


def _appended(log: Log, record: dict[str, Any], query: Mapping[str, Any] | None) -> str:
    recorded = _RECORDED.get()
    if recorded is None:
        return log.append(record, query)
    recorded.append(log.append(record | ({"part_of": recorded[0]} if recorded else {}), query))
    return recorded[-1]


def _request_within(request: Mapping[str, Any], allowed: Allowed) -> Mapping[str, Any]:
    """A recorded request, no wider than what is allowed now."""
    named = request["sources"]
    sources = sorted(allowed.sources if named is None else allowed.sources.intersection(named))
    near, trust = request.get("seen"), max(request["min_trust"], allowed.min_trust)
    seen = sorted(allowed.trusted if near is None else allowed.trusted.intersection(near))
    return {**request, "sources": sources, "seen": seen, "min_trust": trust}


def _fate_within(fate: Mapping[str, Any], allowed: Allowed) -> Mapping[str, Any]:
    """What became of a statement, without who decided what, and without sources elsewhere."""
    lost = [one for one in fate.get("lost", ()) if one["source_id"] in allowed.sources]
    return {**fate, "reason": "", "reviews": (), "lost": lost}


def _asked_of(retriever: Retriever, record: Mapping[str, Any]) -> Callable[[Query], Answer]:
    """What a recorded question was asked of: rules alone, or all that the library has."""
    return retriever.derive if record.get("door") == "infer_rules" else retriever.retrieve
