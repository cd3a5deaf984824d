"""Assembles a library: which part asks which other one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.core.model import Document, Source
from wenyuan.core.ports import Encoder, Engine, LanguageModel, Outside
from wenyuan.core.scanning import Scanner
from wenyuan.core.vector_files import VectorFileReader
from wenyuan.service.audit.recorded_search import RecordedSearch
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.conflicts.finder import Conflicts
from wenyuan.service.conflicts.task import ComparisonTask
from wenyuan.service.context import ContextService
from wenyuan.service.document_details import DetailsDesk
from wenyuan.service.document_history import DocumentHistory
from wenyuan.service.document_move import DocumentMove
from wenyuan.service.documents import DocumentDesk
from wenyuan.service.erasure.eraser import Eraser
from wenyuan.service.erasure.erasures import Erasures
from wenyuan.service.erasure.index_copies import IndexCopies
from wenyuan.service.erasure.own_files import OwnFiles
from wenyuan.service.erasure.resumption import ErasureResumption
from wenyuan.service.fragment_search import Fields, FragmentSearch
from wenyuan.service.gaps.answers import GapAnswers
from wenyuan.service.gaps.finder import Gaps
from wenyuan.service.generation.answering import Answerer
from wenyuan.service.generation.context_sentences import ContextSentences
from wenyuan.service.generation.model_desk import ModelDesk
from wenyuan.service.generation.proposals import Proposer
from wenyuan.service.generation.rewriter import Rewriter
from wenyuan.service.generation.summarizer import Summarizer
from wenyuan.service.impact.finder import Impact
from wenyuan.service.impact.task import ImpactReports
from wenyuan.service.ingest.corrections import CorrectionDesk
from wenyuan.service.ingest.embedding_workers import EmbeddingWorkers
from wenyuan.service.ingest.ingester import ConnectorAccess, Ingester
from wenyuan.service.ingest.ingestion import Ingestion
from wenyuan.service.ingest.preview import Previews
from wenyuan.service.ingest.quarantine import Quarantine
from wenyuan.service.ingest.question_redaction import Questions
from wenyuan.service.ingest.recognition import OcrReading
from wenyuan.service.learning.evaluation import Evaluator
from wenyuan.service.learning.feedback import Feedback
from wenyuan.service.learning.golden_desk import GoldenDesk
from wenyuan.service.learning.sufficiency import JudgeTuner
from wenyuan.service.learning.tuning import Tuner
from wenyuan.service.operations.backups import Backups
from wenyuan.service.operations.change_review import ChangeReview, ReviewThread
from wenyuan.service.operations.health import Health
from wenyuan.service.operations.index_follower import IndexFollower
from wenyuan.service.operations.source_health import Freshness
from wenyuan.service.originals import Draw, Originals
from wenyuan.service.overview import Overviews
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
from wenyuan.service.search.searcher import CollectionTraits, Searcher, SearchResult
from wenyuan.service.search.sufficiency import Sufficiency
from wenyuan.service.search.traces import Traces
from wenyuan.service.tree.knowledge_tree import KnowledgeTree
from wenyuan.service.tree.places import ANSWERED_WITHIN, PathFinder
from wenyuan.service.uploads import Uploads
from wenyuan.service.verification import Verifier
from wenyuan.service.version_restore import VersionRestore
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.tasks import TaskLedger

from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.agent_search import AgentSearch
from wenyuan.service.library import Library
from wenyuan.service.replays import Replays
from wenyuan.service.task_counts import TaskCounts


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
    vectors: VectorFileReader | None = None


def assembled(
    *,
    settings: Settings,
    storage: Storage,
    models: Models,
    reading: Reading,
    open_outside: Callable[[Source], Outside],
    traces: Traces | None,
    release: Callable[[], None],
) -> Library:
    """A library of these; `release` gives back what else was opened for it, when it is closed."""
    catalog, engine, encoder, llm = storage.catalog, storage.engine, models.encoder, models.llm
    questions, sufficiency = reading.questions, models.sufficiency
    recorder = AuditRecorder(storage.audit, settings, encoder, models.reranking, questions)
    changed = partial(recorder.changed, "rule")
    # What questions are asked of.
    rules = Rulebook(catalog, changed, refuse_unverified=settings.rules.unverified_quotes == "refuse")
    cited, names = CitedPlaces(catalog), name_vectors_of(encoder, catalog, settings.search)
    deriver = Deriver(catalog.rules, rules.schema, most=settings.rules.max_rules, names=names, cites=cited.now)
    retriever = Retriever(
        catalog, engine, encoder, settings.search, open_outside, Freshness(catalog).stale, deriver, settings.rules,
        reranking=models.reranking, traces=traces,
    )  # fmt: skip
    searcher = Searcher(retriever, catalog, settings.cache, storage.answers, settings.search, sufficiency=sufficiency)
    # Who asks.
    rewriter = Rewriter(llm=llm, settings=settings.llm, questions=questions)
    recorded = RecordedSearch(searcher, recorder)
    fragment_search = FragmentSearch(
        settings=settings, catalog=catalog, retriever=retriever, searcher=searcher, recorded=recorded,
        fields=Fields(catalog), rewriter=rewriter,
    )  # fmt: skip
    chooser = NameChooser(
        catalog=catalog, rulebook=rules, retriever=retriever, searcher=searcher, recorder=recorder, llm=llm,
        settings=settings.llm,
    )  # fmt: skip
    rule_search = RuleSearch(
        settings=settings, catalog=catalog, rulebook=rules, retriever=retriever, searcher=searcher, deriver=deriver,
        recorded=recorded, chooser=chooser,
    )  # fmt: skip
    verifier = Verifier(
        catalog=catalog, engine=engine, retriever=retriever, searcher=searcher, recorder=recorder,
        seconds=settings.search.deadline,
    )  # fmt: skip
    answerer = Answerer(
        catalog=catalog, retriever=retriever, searcher=searcher, recorded=recorded, verifier=verifier,
        tasks=storage.tasks, llm=llm, settings=settings.llm, rewriter=rewriter,
    )  # fmt: skip
    summarizer = Summarizer(answerer=answerer)
    # Documents, as they are read and as they come in.
    access = DocumentAccess(catalog=catalog, recorder=recorder, cited=cited, retriever=retriever, searcher=searcher)
    uploaded = storage.folder / "uploads"
    originals = Originals(
        catalog=catalog, access=access, recorder=recorder, draw=reading.draw, drawable=reading.drawable,
        readable=reading.readable, redacting=questions.redacting, uploads=uploaded,
        connect=reading.remote.connect if reading.remote else None,
    )  # fmt: skip
    traits = CollectionTraits(catalog, engine, encoder, retriever)
    health = Health(
        catalog=catalog, engine=engine, encoder=encoder, encoder_note=models.encoder_note, recorder=recorder,
        retriever=retriever, searcher=searcher, deriver=deriver, llm=llm, sufficiency=sufficiency,
        check_tasks=storage.tasks.check,
    )  # fmt: skip
    ingester = Ingester(
        catalog=catalog, engine=engine, encoder=encoder, read=reading.read, readable=reading.readable,
        uploads=uploaded, redacting=questions.redacting, remote=reading.remote, scanner=reading.scanner,
        recognition=reading.recognition,
        contexts=ContextSentences(catalog=catalog, llm=llm, settings=settings.llm),
        workers=EmbeddingWorkers(catalog, encoder), vectors=reading.vectors,
    )  # fmt: skip
    ingestion = Ingestion(ingester=ingester, traits=traits, health=health, refusal=models.refusal)
    uploads = Uploads(catalog=catalog, ingestion=ingestion, keep=settings.uploads.keep_versions)
    corrections, gaps = (
        CorrectionDesk(ingestion=ingestion),
        Gaps(catalog=catalog, recorder=recorder, encoder=encoder, recorded=recorded),
    )
    conflicts, impact = (
        Conflicts(catalog=catalog, engine=engine),
        Impact(catalog=catalog, recorder=recorder, retriever=retriever),
    )
    review = ChangeReview(catalog=catalog, recorder=recorder, gaps=gaps, conflicts=conflicts, impact=impact)
    erasures = _erasures(storage, reading, ingestion, searcher, originals)
    return Library(
        folder=storage.folder,
        settings=settings,
        catalog=catalog,
        engine=engine,
        encoder=encoder,
        recorder=recorder,
        fragment_search=fragment_search,
        agent_search=AgentSearch(rewriter=rewriter, recorded=recorded, summarizer=summarizer),
        contexts=ContextService(searcher, catalog.document_chars, recorded, storage.tasks, summarizer, rewriter),
        rewriter=rewriter,
        rule_search=rule_search,
        cited=cited,
        verifier=verifier,
        answerer=answerer,
        summarizer=summarizer,
        proposer=Proposer(
            catalog=catalog, rulebook=rules, answerer=answerer, changed=changed, llm=llm, settings=settings.llm
        ),
        ingestion=ingestion,
        uploads=uploads,
        correction_desk=corrections,
        details_desk=DetailsDesk(ingestion=ingestion),
        previews=Previews(ingester=ingester),
        document_access=access,
        originals=originals,
        reader_lists=ReaderLists(catalog=catalog),
        desk=DocumentDesk(catalog=catalog, access=access),
        tree=KnowledgeTree(
            catalog=catalog, access=access, recorder=recorder,
            paths=PathFinder(
                catalog=catalog, uploads=uploaded, limit=partial(deadline_after, ANSWERED_WITHIN)
            ),
        ),
        past=DocumentHistory(catalog=catalog, recorder=recorder),
        replays=Replays(
            catalog=catalog, recorder=recorder, retriever=retriever, searcher=searcher, answerer=answerer,
            verifier=verifier, sufficiency=sufficiency, empty_engine=storage.empty_engine,
        ),
        traits=traits,
        feedback=Feedback(catalog=catalog, recorder=recorder),
        erasures=erasures,
        gaps=gaps,
        gap_answers=GapAnswers(catalog=catalog, gaps=gaps, uploads=uploads, corrections=corrections),
        conflicts=conflicts,
        overviews=Overviews(recorder=recorder, conflicts=conflicts),
        comparison=ComparisonTask(conflicts),
        version_restore=VersionRestore(catalog=catalog, uploads=uploads),
        document_move=DocumentMove(catalog=catalog, uploads=uploads, details=DetailsDesk(ingestion=ingestion)),
        impact=impact,
        impact_reports=ImpactReports(impact),
        backups=Backups(storage.folder, catalog),
        change_review=review,
        tuner=Tuner(
            settings=settings, catalog=catalog, engine=engine, encoder=encoder, recorder=recorder, retriever=retriever,
            traits=traits,
        ),
        judge_tuner=JudgeTuner(
            settings=settings, catalog=catalog, recorder=recorder, retriever=retriever, sufficiency=sufficiency
        ),
        evaluator=Evaluator(
            settings=settings, catalog=catalog, encoder=encoder, recorder=recorder, retriever=retriever
        ),
        model_desk=ModelDesk(llm=llm, settings=settings.llm, tasks=storage.tasks, questions=questions),
        golden_desk=GoldenDesk(catalog=catalog, recorder=recorder, passages=corrections),
        task_counts=TaskCounts(ledger=storage.tasks, recorder=recorder),
        health=health,
        _rulebook=rules,
        _retriever=retriever,
        _searcher=searcher,
        _deriver=deriver,
        _follower=IndexFollower(catalog, engine),
        _resumption=ErasureResumption(erasures.resume, erasures.copies.follow),
        _watch=ReviewThread(review),
        _release=release,
    )  # fmt: skip


def _erasures(
    storage: Storage, reading: Reading, ingestion: Ingestion, searcher: Searcher, originals: Originals
) -> Erasures:
    """What erases persons, documents and sources from all of a library."""
    redacting = reading.questions.redacting

    def forget_answers() -> None:
        searcher.forget_answers()
        originals.pictures.clear()

    files = OwnFiles(
        folder=storage.folder, catalog=storage.catalog, redacting=redacting, read=reading.read, readable=reading.readable,
        quarantine=Quarantine(folder=storage.folder / "quarantine", catalog=storage.catalog),
    )  # fmt: skip
    eraser = Eraser(
        catalog=storage.catalog, ingestion=ingestion, files=files, log=storage.audit,
        key=redacting(Source(source_id="questions")).key, forget_answers=forget_answers,
    )  # fmt: skip
    copies = IndexCopies(
        catalog=storage.catalog, folder=storage.folder, engine=ingestion.ingester.engine.name, purge=ingestion.ingester.purge,
    )  # fmt: skip
    return Erasures(catalog=storage.catalog, eraser=eraser, redacting=redacting, copies=copies)
