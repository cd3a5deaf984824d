"""What a library is made of, one part for each thing that callers ask of it, and how the parts are closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from wenyuan.core.ports import Encoder, Engine
from wenyuan.service.agent_search import AgentSearch
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.conflicts.finder import Conflicts
from wenyuan.service.conflicts.task import ComparisonTask
from wenyuan.service.context import ContextService
from wenyuan.service.document_details import DetailsDesk
from wenyuan.service.document_history import DocumentHistory
from wenyuan.service.document_move import DocumentMove
from wenyuan.service.documents import DocumentDesk
from wenyuan.service.erasure.erasures import Erasures
from wenyuan.service.erasure.resumption import ErasureResumption
from wenyuan.service.fragment_search import FragmentSearch
from wenyuan.service.gaps.answers import GapAnswers
from wenyuan.service.gaps.finder import Gaps
from wenyuan.service.generation.answering import Answerer
from wenyuan.service.generation.model_desk import ModelDesk
from wenyuan.service.generation.proposals import Proposer
from wenyuan.service.generation.rewriter import Rewriter
from wenyuan.service.generation.summarizer import Summarizer
from wenyuan.service.governance import checked_log
from wenyuan.service.impact.finder import Impact
from wenyuan.service.impact.task import ImpactReports
from wenyuan.service.ingest.corrections import CorrectionDesk
from wenyuan.service.ingest.ingestion import Ingestion
from wenyuan.service.ingest.preview import Previews
from wenyuan.service.ingest.quarantine import Quarantine
from wenyuan.service.learning.evaluation import Evaluator
from wenyuan.service.learning.feedback import Feedback
from wenyuan.service.learning.golden_desk import GoldenDesk
from wenyuan.service.learning.sufficiency import JudgeTuner
from wenyuan.service.learning.tuning import Tuner
from wenyuan.service.operations.backups import Backups
from wenyuan.service.operations.change_review import ChangeReview, ReviewThread
from wenyuan.service.operations.health import Health
from wenyuan.service.operations.index_follower import IndexFollower
from wenyuan.service.originals import Originals
from wenyuan.service.overview import Overviews
from wenyuan.service.reader_lists import ReaderLists
from wenyuan.service.reading import DocumentAccess
from wenyuan.service.replays import Replays
from wenyuan.service.rules.cited_places import CitedPlaces
from wenyuan.service.rules.derive import Deriver
from wenyuan.service.rules.rulebook import Rulebook
from wenyuan.service.rules.search import RuleSearch
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import CollectionTraits, Searcher
from wenyuan.service.task_counts import TaskCounts
from wenyuan.service.tree.knowledge_tree import KnowledgeTree
from wenyuan.service.uploads import Uploads
from wenyuan.service.verification import Verifier
from wenyuan.service.version_restore import VersionRestore
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog
    from wenyuan.catalog.catalog import Catalog


@dataclass(kw_only=True, eq=False, repr=False)
class LibraryParts:
    """The parts of a library; `assembly.assembled` makes them.

    Attributes:
        encoder: None: it is searched by keywords only.
        _release: Gives back what was opened for the library beside its parts.
    """

    folder: Path
    settings: Settings
    catalog: Catalog
    engine: Engine
    encoder: Encoder | None
    recorder: AuditRecorder
    fragment_search: FragmentSearch
    agent_search: AgentSearch
    contexts: ContextService
    rewriter: Rewriter
    rule_search: RuleSearch
    cited: CitedPlaces
    verifier: Verifier
    answerer: Answerer
    summarizer: Summarizer
    proposer: Proposer
    ingestion: Ingestion
    uploads: Uploads
    correction_desk: CorrectionDesk
    details_desk: DetailsDesk
    previews: Previews
    document_access: DocumentAccess
    originals: Originals
    reader_lists: ReaderLists
    desk: DocumentDesk
    tree: KnowledgeTree
    past: DocumentHistory
    replays: Replays
    traits: CollectionTraits
    feedback: Feedback
    gaps: Gaps
    gap_answers: GapAnswers
    impact: Impact
    impact_reports: ImpactReports
    backups: Backups
    change_review: ChangeReview
    erasures: Erasures
    conflicts: Conflicts
    overviews: Overviews
    comparison: ComparisonTask
    version_restore: VersionRestore
    document_move: DocumentMove
    tuner: Tuner
    judge_tuner: JudgeTuner
    evaluator: Evaluator
    golden_desk: GoldenDesk
    model_desk: ModelDesk
    task_counts: TaskCounts
    health: Health
    _rulebook: Rulebook
    _retriever: Retriever
    _searcher: Searcher
    _deriver: Deriver
    _follower: IndexFollower
    _resumption: ErasureResumption
    _watch: ReviewThread
    _release: Callable[[], None]

    _closed = False

    @property
    def rules(self) -> Rulebook:
        """The rules as people keep them: import, review, export."""
        return self._rulebook

    @property
    def audit(self) -> AuditLog:
        """The audit log: ``list``, ``show``, ``verify``, ``export``; KnowledgeError when it is switched off."""
        return checked_log(self.recorder.log)

    @property
    def quarantine(self) -> Quarantine:
        """The files that a scanner had set aside."""
        return Quarantine(folder=self.folder / "quarantine", catalog=self.catalog)

    def follow(self) -> None:
        """Bring the index up to what others write as they do, and go on with erasures that were cut off, in threads, until the
        library is closed.
        """
        self._follower.start()
        self._resumption.start()

    def watch_changes(self) -> None:
        """Look at what each change touches, contradicts and answers, in a thread, until the library is closed."""
        self._watch.start()

    def __enter__(self) -> Self:
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
        self._resumption.stop()
        self._watch.stop()
        self.comparison.stop()
        self.impact_reports.stop()
        self.backups.stop()
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
