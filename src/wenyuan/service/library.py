"""`Library`: what callers hold. The one place where an error becomes an answer that says FAILED."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import Principal
from wenyuan.core.arguments import checking_arguments
from wenyuan.core.errors import (
    InvalidRequest,
    KnowledgeError,
    NotPermitted,
    msg,
    refusal,
    refusing_once_closed,
)
from wenyuan.core.filters import Filter
from wenyuan.core.model import Document, RetrievalRequest, RetrievalResponse, Source
from wenyuan.core.ports import Encoder, Engine, LanguageModel, Outside
from wenyuan.core.principals import reading_as
from wenyuan.core.restrictions import restricted
from wenyuan.core.scanning import Scanner
from wenyuan.runtime.delegation import delegate
from wenyuan.runtime.shortage import is_shortage, tell_shortage
from wenyuan.service.audit.recorded_search import RecordedSearch
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.audit.replay import fates_within
from wenyuan.service.audit.rerun import Replay
from wenyuan.service.callers_eyes import reading_for_principals
from wenyuan.service.context import Context, ContextRequest, ContextService
from wenyuan.service.document_history import DocumentHistory
from wenyuan.service.documents import DocumentDesk
from wenyuan.service.fragment_search import Fields, FragmentSearch
from wenyuan.service.gaps.finder import Gaps
from wenyuan.service.generation.answering import Answerer
from wenyuan.service.generation.context_sentences import ContextSentences
from wenyuan.service.generation.proposals import Proposer
from wenyuan.service.generation.rewriter import Rewriter
from wenyuan.service.generation.summarizer import Summarizer
from wenyuan.service.governance import checked_log
from wenyuan.service.ingest.corrections import CorrectionDesk
from wenyuan.service.ingest.ingester import ConnectorAccess, Ingester
from wenyuan.service.ingest.ingestion import Ingestion
from wenyuan.service.ingest.quarantine import Quarantine
from wenyuan.service.ingest.question_redaction import Questions
from wenyuan.service.ingest.recognition import OcrReading
from wenyuan.service.learning.evaluation import Evaluator
from wenyuan.service.learning.feedback import Feedback
from wenyuan.service.learning.sufficiency import JudgeTuner
from wenyuan.service.learning.tuning import Tuner
from wenyuan.service.operations.background_refresh import BackgroundRefresh
from wenyuan.service.operations.health import Health, Readiness
from wenyuan.service.operations.index_follower import IndexFollower
from wenyuan.service.operations.source_health import Freshness, listed_sources
from wenyuan.service.originals import Draw, Originals
from wenyuan.service.queries import narrowing
from wenyuan.service.query import SearchAnswer
from wenyuan.service.reader_lists import ReaderLists
from wenyuan.service.reading import DocumentAccess
from wenyuan.service.rules.cited_places import CitedPlaces
from wenyuan.service.rules.derive import Deriver
from wenyuan.service.rules.name_vectors import name_vectors_of
from wenyuan.service.rules.rulebook import Rulebook
from wenyuan.service.rules.search import NameChooser, RuleSearch
from wenyuan.service.search.answer_cache import CacheStore
from wenyuan.service.search.reranking import Reranking
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import LOCAL, CollectionTraits, Searcher, SearchRequest, SearchResult
from wenyuan.service.search.source_selection import Allowed
from wenyuan.service.search.sufficiency import Sufficiency
from wenyuan.service.search.traces import Traces
from wenyuan.service.uploads import Uploads
from wenyuan.service.verification import Verifier
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.tasks import TaskLedger

__all__ = ["Library", "Models", "Readiness", "Reading", "Storage"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where a library keeps what it holds, what is derived from that, and what it writes down.

    Attributes:
        empty_engine: Creates an empty index, for replays of an earlier state.
        tasks: Counts what tasks were given of documents.
        audit: None: switched off.
        answers: Where answers are kept outside of this process; None: in it.
    """

    folder: Path
    catalog: Catalog
    engine: Engine
    empty_engine: Callable[[], Engine]
    tasks: TaskLedger
    audit: AuditLog | None
    answers: CacheStore[SearchResult] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of a library.

    Attributes:
        encoder: None: it is searched by keywords only.
        encoder_note: Why there is no encoder; ``""``: by setting.
        refusal: Why nothing may be ingested with it; ``""`` where it may.
        llm: The language model; None: none is set up.
        sufficiency: What says whether passages suffice.
    """

    encoder: Encoder | None
    encoder_note: str
    refusal: str
    reranking: Reranking
    sufficiency: Sufficiency
    llm: LanguageModel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files become documents, and what is taken out of these and of questions; see `Ingester`, `Questions` and `Originals`."""

    read: Callable[[Path, str], Sequence[Document]]
    readable: Callable[[str], bool]
    questions: Questions
    draw: Draw
    drawable: Callable[[str], bool]
    recognition: OcrReading
    remote: ConnectorAccess | None = None
    scanner: Scanner | None = None


@refusing_once_closed("retrieve_fragments")
@checking_arguments()
@reading_for_principals
class Library:
    """A library that is open. Made by `wenyuan.open`; a context manager; safe to share between threads."""

    _closed = False

    def __init__(
        self,
        *,
        settings: Settings,
        storage: Storage,
        models: Models,
        reading: Reading,
        open_outside: Callable[[Source], Outside],
        traces: Traces | None,
        release: Callable[[], None],
    ) -> None:
        catalog, engine, encoder = storage.catalog, storage.engine, models.encoder
        self.folder, self.settings = storage.folder, settings
        self.catalog, self.engine, self.encoder = catalog, engine, encoder
        self._release, self._empty_engine, self._tasks = release, storage.empty_engine, storage.tasks
        self.recorder = recorder = AuditRecorder(
            storage.audit, settings, encoder, models.reranking, reading.questions
        )
        self._rulebook = Rulebook(
            catalog, partial(recorder.changed, "rule"), refuse_unverified=settings.rules.unverified_quotes == "refuse"
        )
        self.cited, self.rewriter = (
            CitedPlaces(catalog), Rewriter(llm=models.llm, settings=settings.llm, questions=reading.questions),
        )  # fmt: skip
        names = name_vectors_of(encoder, catalog, settings.search)
        self._deriver = deriver = Deriver(
            catalog.rules, self._rulebook.schema, most=settings.rules.max_rules, names=names, cites=self.cited.now
        )
        self._retriever = retriever = Retriever(
            catalog, engine, encoder, settings.search, open_outside, Freshness(catalog).stale, deriver,
            settings.rules, reranking=models.reranking, traces=traces,
        )  # fmt: skip
        self._searcher = searcher = Searcher(
            retriever, catalog, settings.cache, storage.answers, settings.search, sufficiency=models.sufficiency
        )
        self._recorded = recorded = RecordedSearch(searcher, recorder)
        self.fragment_search = FragmentSearch(
            settings=settings, catalog=catalog, retriever=retriever, searcher=searcher, recorded=recorded,
            fields=Fields(catalog), rewriter=self.rewriter,
        )  # fmt: skip
        self.rule_search = RuleSearch(
            settings=settings, catalog=catalog, rulebook=self._rulebook, retriever=retriever, searcher=searcher,
            deriver=deriver, recorded=recorded,
            chooser=NameChooser(
                catalog=catalog, rulebook=self._rulebook, retriever=retriever, searcher=searcher, recorder=recorder,
                llm=models.llm, settings=settings.llm,
            ),
        )  # fmt: skip
        self.document_access = DocumentAccess(
            catalog=catalog, recorder=recorder, cited=self.cited, retriever=retriever, searcher=searcher
        )
        self.originals = Originals(
            catalog=catalog, access=self.document_access, recorder=recorder, draw=reading.draw,
            drawable=reading.drawable, readable=reading.readable, redacting=reading.questions.redacting,
            uploads=storage.folder / "uploads", connect=reading.remote.connect if reading.remote else None,
        )  # fmt: skip
        self.desk, self.past = (
            DocumentDesk(catalog=catalog, access=self.document_access), DocumentHistory(catalog=catalog),
        )  # fmt: skip
        self.verifier = Verifier(
            catalog=catalog, engine=engine, retriever=retriever, searcher=searcher, recorder=recorder,
            seconds=settings.search.deadline,
        )  # fmt: skip
        self.answerer = Answerer(
            catalog=catalog, retriever=retriever, searcher=searcher, recorded=recorded, verifier=self.verifier,
            tasks=storage.tasks, llm=models.llm, settings=settings.llm, rewriter=self.rewriter,
        )  # fmt: skip
        self.summarizer, self.proposer = (
            Summarizer(answerer=self.answerer),
            Proposer(
                catalog=catalog, rulebook=self._rulebook, answerer=self.answerer,
                changed=partial(recorder.changed, "rule"), llm=models.llm, settings=settings.llm,
            ),
        )  # fmt: skip
        self._contexts = ContextService(
            searcher, catalog.document_chars, recorded, storage.tasks, self.summarizer, self.rewriter
        )
        self.traits = CollectionTraits(catalog, engine, encoder, retriever)
        self.feedback, self.gaps = (
            Feedback(catalog=catalog, recorder=recorder),
            Gaps(catalog=catalog, recorder=recorder, encoder=encoder, recorded=recorded),
        )  # fmt: skip
        self.tuner, self.judge_tuner = (
            Tuner(
                settings=settings, catalog=catalog, engine=engine, encoder=encoder, recorder=recorder,
                retriever=retriever, traits=self.traits,
            ),
            JudgeTuner(
                settings=settings, catalog=catalog, recorder=recorder, retriever=retriever, sufficiency=models.sufficiency
            ),
        )  # fmt: skip
        self.evaluator = Evaluator(
            settings=settings, catalog=catalog, encoder=encoder, recorder=recorder, retriever=retriever
        )
        self.health = Health(
            catalog=catalog, engine=engine, encoder=encoder, encoder_note=models.encoder_note, recorder=recorder,
            retriever=retriever, searcher=searcher, deriver=deriver, llm=models.llm, sufficiency=models.sufficiency,
            check_tasks=storage.tasks.check,
        )  # fmt: skip
        ingester = Ingester(
            catalog=catalog, engine=engine, encoder=encoder, read=reading.read, readable=reading.readable,
            uploads=storage.folder / "uploads", redacting=reading.questions.redacting, remote=reading.remote,
            scanner=reading.scanner,
            recognition=reading.recognition,
            contexts=ContextSentences(catalog=catalog, llm=models.llm, settings=settings.llm),
        )  # fmt: skip
        self.ingestion = Ingestion(ingester=ingester, traits=self.traits, health=self.health, refusal=models.refusal)
        self.uploads, self.correction_desk = (
            Uploads(catalog=catalog, ingestion=self.ingestion, keep=settings.uploads.keep_versions), CorrectionDesk(ingestion=self.ingestion),
        )  # fmt: skip
        self._follower, self.reader_lists = IndexFollower(catalog, engine), ReaderLists(catalog=catalog)

    @property
    def quarantine(self) -> Quarantine:
        """The files that a scanner had set aside."""
        return Quarantine(folder=self.folder / "quarantine", catalog=self.catalog)

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release all resources; may be called twice. Later calls raise `Closed`."""
        if self.health.worker is not None:
            self.health.worker.stop()
        self._follower.stop()
        if self.health.warmth is not None:
            self.health.warmth.join()
        self._closed = True  # not before: what they are about ends properly
        self._retriever.close()
        self._deriver.close()
        self._release()
        if self.encoder is not None:
            self.encoder.close()
        self.engine.close()
        try:
            if self.recorder.log is not None:
                self.recorder.log.close()
        finally:  # the audit says so when its last records could not be written
            self.catalog.close()

    def hire(self, poll: float) -> None:
        """Refresh sources when they are due, in a thread of this process, until the library is closed.

        Args:
            poll: Seconds between two looks for what is due.
        """
        self.ingestion.check_may_write()
        self.health.worker = BackgroundRefresh(self, poll=poll)
        self.health.worker.start()

    def follow(self) -> None:
        """Bring the index up to what others write as they do, in a thread, until the library is closed."""
        self._follower.start()

    # -- the contract -------------------------------------------------------------------------------

    def retrieve_fragments(self, request: RetrievalRequest, principal: Principal = LOCAL) -> RetrievalResponse:
        """The contract's one method: SUCCESS with what was found (perhaps nothing), or FAILED and why.

        Args:
            request: What is asked.
            principal: Who asks; one that is bound to an agent sees what that agent may see.

        Raises:
            InvalidRequest, NotPermitted: the request itself is at fault; it was not executed.
        """
        if self._closed:  # and with it the audit, which would have to know
            return RetrievalResponse(status="FAILED", error_message=str(refusal(self)))
        try:
            return self.fragment_search.response(request, principal)
        except (InvalidRequest, NotPermitted):
            raise
        except KnowledgeError as error:
            log.error("retrieval failed: %s", error)
            return RetrievalResponse(status="FAILED", error_message=str(error))
        except Exception as error:
            if is_shortage(error):
                tell_shortage()
            else:
                log.exception("retrieval failed")
            return RetrievalResponse(
                status="FAILED", error_message=msg("internal error: {kind}", kind=type(error).__name__)
            )

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        sources: Sequence[str] | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        as_of: date | str | None = None,
        context: Mapping[str, Any] | None = None,
        domain: str | None = None,
        min_trust: int | None = None,
    ) -> SearchAnswer:
        """As `retrieve_fragments`, with all that is known about the answer; raises instead of answering FAILED.

        Args:
            sources: Ids of the sources to search; an unknown one is refused.
            filter: Of `core.filters`, or as JSON has it: ``{"metadata.year": {"ge": 2024}}``.
            as_of: A day, or its ISO form.
            domain, min_trust: As in `context`.

        Raises:
            InvalidRequest: an argument, named in its `faults`.
            KnowledgeError: there is no answer.
        """
        narrowed = narrowing(limit=limit, sources=sources, filter=filter, as_of=as_of)
        context = restricted(context, domain=domain, min_trust=min_trust)
        request = RetrievalRequest(query=query, max_results=limit, context=context)
        return self.fragment_search.answer(
            request, LOCAL, "search", lambda bounded: narrowed.of(bounded, self._retriever.registry().by_id)
        )[0]

    def find(self, request: SearchRequest, principal: Principal = LOCAL) -> SearchResult:
        """The knowledge service: passages within the scope of an agent. Raises what made it fail, and records it."""
        request = self.rewriter.searched(request)
        result = self._recorded.find(request, principal)
        if request.summary == "generated":
            (result,) = self.summarizer.summarized([result], [request], principal)
        return result

    def get_context(self, request: ContextRequest, principal: Principal = LOCAL) -> Context:
        """The context service: ``knowledge_snippets`` for a prompt. Raises what made it fail."""
        return self._contexts.get_context(request, principal)

    verify = delegate("verifier", Verifier.verify)
    answer = delegate("answerer", Answerer.answer)
    fragments = delegate("fragment_search", FragmentSearch.fragments)

    # -- rules, and cases beside them -----------------------------------------------------------------

    @property
    def rules(self) -> Rulebook:
        """The rules as people keep them: import, review, export."""
        return self._rulebook

    retrieve = delegate("rule_search", RuleSearch.retrieve)
    find_cases = delegate("rule_search", RuleSearch.find_cases)
    infer_rules = delegate("rule_search", RuleSearch.infer_rules)
    rules_around = delegate("rule_search", RuleSearch.rules_around)
    rule_neighbors = delegate("rule_search", RuleSearch.rule_neighbors)
    rule_entities = delegate("rule_search", RuleSearch.rule_entities)
    embed_names = delegate("rule_search", RuleSearch.embed_names)
    propose_rules = delegate("proposer", Proposer.propose)

    # -- sources and documents ------------------------------------------------------------------------

    def sources(self) -> tuple[Source, ...]:
        return self.catalog.sources()

    def list_sources(self) -> list[dict[str, object]]:
        """Each source, what the library holds of it, and how fresh that is."""
        return listed_sources(self.catalog)

    add = delegate("ingestion", Ingestion.add)
    ingest = delegate("ingestion", Ingestion.ingest)
    upload = delegate("uploads", Uploads.upload)
    replace_document = delegate("uploads", Uploads.replace)
    delete_document = delegate("uploads", Uploads.delete)
    remove = delegate("ingestion", Ingestion.remove)
    behind = delegate("ingestion", Ingestion.behind)
    follow_reembedding = delegate("ingestion", Ingestion.follow_reembedding)
    measure_collection = delegate("traits", CollectionTraits.keep)
    collection_under = delegate("traits", CollectionTraits.under)
    fetch = delegate("document_access", DocumentAccess.fetch)
    documents = delegate("document_access", DocumentAccess.documents)
    original_state = delegate("originals", Originals.original_state)
    original = delegate("originals", Originals.original)
    page_picture = delegate("originals", Originals.page_picture)
    correct = delegate("correction_desk", CorrectionDesk.correct)
    undo_correction = delegate("correction_desk", CorrectionDesk.undo)
    corrections = delegate("correction_desk", CorrectionDesk.corrections)
    readers = delegate("reader_lists", ReaderLists.readers)
    set_readers = delegate("reader_lists", ReaderLists.set_readers)
    reader_counts = delegate("reader_lists", ReaderLists.reader_counts)
    list_documents = delegate("desk", DocumentDesk.list_documents)
    document = delegate("desk", DocumentDesk.document)
    document_history = delegate("past", DocumentHistory.history)
    document_passages = delegate("desk", DocumentDesk.passages)
    place_of_passage = delegate("desk", DocumentDesk.place_of)
    readable_sources = delegate("document_access", DocumentAccess.readable_sources)
    readable_rules = delegate("document_access", DocumentAccess.readable_rules)

    # -- what it answered, how well, and what it learns from that ----------------------------------------

    @property
    def audit(self) -> AuditLog:
        """The audit log: ``list``, ``show``, ``verify``, ``export``; KnowledgeError when it is switched off."""
        return checked_log(self.recorder.log)

    def replay(self, audit_id: str, *, exact: bool = False, principal: Principal = LOCAL) -> Replay:
        """Ask an audited question again, of the library as it is, or (`exact`) as it was; for an agent, in its scope now.

        Raises:
            NotFound: there is no such record.
            InvalidRequest: `exact`, and the record is of no retrieval.
            NotPermitted: documents are hidden from the caller.
            KnowledgeError: the audit is off, or the question cannot be asked again, as the names of who asked are not known.
        """
        if self.catalog.hidden() is not None:
            raise NotPermitted("documents are hidden from the caller: what was answered from them is not asked again")
        allowed = self._searcher.allowed(principal)
        with reading_as(self.recorder.sight_of(audit_id)):
            return self._replayed(audit_id, allowed, exact=exact, principal=principal)

    def _replayed(self, audit_id: str, allowed: Allowed | None, *, exact: bool, principal: Principal) -> Replay:
        if self.recorder.log is not None:
            self.recorder.log.flush()
            kept = self.recorder.log.show(audit_id)
            if exact and kept.kind != "retrieval":
                raise InvalidRequest("only a retrieval can be replayed on the library as it was")
            fate = fates_within(self.catalog.passage_fate, None if allowed is None else allowed.trusted)
            if kept.kind == "answer":
                return self.answerer.replayed(kept, fate, principal)
            if kept.kind == "verification":
                return self.verifier.replayed(kept, fate, principal)
        return self.recorder.replay(
            audit_id, self._retriever, self.catalog, self._empty_engine, allowed, exact=exact,
            sufficiency=self.judge_tuner.sufficiency,
        )  # fmt: skip

    give_feedback = delegate("feedback", Feedback.give_feedback)
    tune = delegate("tuner", Tuner.tune)
    undo_tuning = delegate("tuner", Tuner.undo_tuning)
    tuning = delegate("tuner", Tuner.tuning)
    tune_judge = delegate("judge_tuner", JudgeTuner.tune_judge)
    undo_judge = delegate("judge_tuner", JudgeTuner.undo_judge)
    judge_calibration = delegate("judge_tuner", JudgeTuner.judge_calibration)
    evaluate = delegate("evaluator", Evaluator.evaluate)
    evaluate_again = delegate("evaluator", Evaluator.evaluate_again)
    compared = delegate("evaluator", Evaluator.compared)
    evaluations = delegate("evaluator", Evaluator.evaluations)
    evaluation = delegate("evaluator", Evaluator.evaluation)
    remove_evaluation = delegate("evaluator", Evaluator.remove_evaluation)

    def renew_counts(self) -> None:
        """Go on with the counts of tasks that are there, or with none, though others are missing; it is recorded.

        Raises:
            InvalidRequest: none are missing.
            CatalogUnavailable: they cannot be read or written.
        """
        self._tasks.renew()
        self.recorder.changed("registry", "renewed", "tasks.db", None, None)

    # -- whether it can answer --------------------------------------------------------------------------

    readiness = delegate("health", Health.readiness)
    vitals = delegate("health", Health.vitals)
    warm_up = delegate("health", Health.warm_up)
