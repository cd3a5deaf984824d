"""`Library`: what callers hold, as a table of contents. The one place where an error becomes an answer that says FAILED."""

from __future__ import annotations

from wenyuan.core.access import Principal
from wenyuan.core.arguments import checking_arguments
from wenyuan.core.errors import InvalidRequest, NotPermitted, refusal, refusing_once_closed
from wenyuan.core.model import RetrievalRequest, RetrievalResponse, Source
from wenyuan.runtime.delegation import delegate
from wenyuan.service.agent_search import AgentSearch
from wenyuan.service.callers_eyes import reading_for_principals
from wenyuan.service.context import ContextService
from wenyuan.service.document_history import DocumentHistory
from wenyuan.service.documents import DocumentDesk
from wenyuan.service.failed_response import failed_response
from wenyuan.service.fragment_search import FragmentSearch
from wenyuan.service.generation.answering import Answerer
from wenyuan.service.generation.proposals import Proposer
from wenyuan.service.ingest.corrections import CorrectionDesk
from wenyuan.service.ingest.ingestion import Ingestion
from wenyuan.service.learning.evaluation import Evaluator
from wenyuan.service.learning.feedback import Feedback
from wenyuan.service.learning.sufficiency import JudgeTuner
from wenyuan.service.learning.tuning import Tuner
from wenyuan.service.library_parts import LibraryParts
from wenyuan.service.operations.background_refresh import BackgroundRefresh
from wenyuan.service.operations.health import Health, Readiness
from wenyuan.service.operations.source_health import listed_sources
from wenyuan.service.originals import Originals
from wenyuan.service.reader_lists import ReaderLists
from wenyuan.service.reading import DocumentAccess
from wenyuan.service.replays import Replays
from wenyuan.service.rules.search import RuleSearch
from wenyuan.service.search.searcher import LOCAL, CollectionTraits
from wenyuan.service.task_counts import TaskCounts
from wenyuan.service.uploads import Uploads
from wenyuan.service.verification import Verifier

__all__ = ["Library", "Readiness"]


@refusing_once_closed("retrieve_fragments")
@checking_arguments()
@reading_for_principals
class Library(LibraryParts):
    """A library that is open. Made by `wenyuan.open`; a context manager; safe to share between threads."""

    # -- questions

    def retrieve_fragments(self, request: RetrievalRequest, principal: Principal = LOCAL) -> RetrievalResponse:
        """The contract's one method: SUCCESS with what the principal may see of what was found, or FAILED and why.

        Raises:
            InvalidRequest, NotPermitted: the request itself is at fault; it was not executed.
        """
        if self._closed:  # and with it the audit, which would have to know
            return RetrievalResponse(status="FAILED", error_message=str(refusal(self)))
        try:
            return self.fragment_search.response(request, principal)
        except (InvalidRequest, NotPermitted):
            raise
        except Exception as error:
            return failed_response(error)

    search = delegate("fragment_search", FragmentSearch.search)
    fragments = delegate("fragment_search", FragmentSearch.fragments)
    find = delegate("agent_search", AgentSearch.find)
    get_context = delegate("contexts", ContextService.get_context)
    verify = delegate("verifier", Verifier.verify)
    answer = delegate("answerer", Answerer.answer)

    # -- rules, and cases beside them

    retrieve = delegate("rule_search", RuleSearch.retrieve)
    find_cases = delegate("rule_search", RuleSearch.find_cases)
    infer_rules = delegate("rule_search", RuleSearch.infer_rules)
    rules_around = delegate("rule_search", RuleSearch.rules_around)
    rule_neighbors = delegate("rule_search", RuleSearch.rule_neighbors)
    rule_entities = delegate("rule_search", RuleSearch.rule_entities)
    embed_names = delegate("rule_search", RuleSearch.embed_names)
    propose_rules = delegate("proposer", Proposer.propose)

    # -- sources and documents

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

    # -- what it answered, how well, and what it learns from that

    replay = delegate("replays", Replays.replay)
    give_feedback = delegate("feedback", Feedback.give_feedback)
    tune = delegate("tuner", Tuner.tune)
    undo_tuning = delegate("tuner", Tuner.undo_tuning)
    tuning = delegate("tuner", Tuner.tuning)
    tune_judge = delegate("judge_tuner", JudgeTuner.tune_judge)
    undo_judge = delegate("judge_tuner", JudgeTuner.undo_judge)
    judge_calibration = delegate("judge_tuner", JudgeTuner.judge_calibration)
    evaluate = delegate("evaluator", Evaluator.evaluate)
    evaluate_again = delegate("evaluator", Evaluator.evaluate_again)
    evaluate_kept = delegate("evaluator", Evaluator.evaluate_kept)
    compared = delegate("evaluator", Evaluator.compared)
    evaluations = delegate("evaluator", Evaluator.evaluations)
    evaluation = delegate("evaluator", Evaluator.evaluation)
    remove_evaluation = delegate("evaluator", Evaluator.remove_evaluation)

    # -- how it fares, and until when

    renew_counts = delegate("task_counts", TaskCounts.renew_counts)
    readiness = delegate("health", Health.readiness)
    vitals = delegate("health", Health.vitals)
    warm_up = delegate("health", Health.warm_up)

    def hire(self, poll: float) -> None:
        """Refresh sources when they are due, looking every `poll` seconds in a thread, until the library is closed."""
        self.ingestion.check_may_write()
        self.health.worker = BackgroundRefresh(self, poll=poll)
        self.health.worker.start()
