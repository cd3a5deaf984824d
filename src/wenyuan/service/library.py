"""`Library`: what callers hold. The one place where an error becomes an answer that says FAILED."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path, PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import Principal, secret_faults
from wenyuan.core.addresses import local_path
from wenyuan.core.errors import (
    EncoderUnavailable,
    IndexCorrupt,
    InvalidRequest,
    KnowledgeError,
    NotPermitted,
    SourceError,
    refusal,
    refusing_once_closed,
)
from wenyuan.core.filters import Filter
from wenyuan.core.model import Document, RetrievalRequest, RetrievalResponse, Source
from wenyuan.core.ports import ChangeFeed, Encoder, Engine, Outside
from wenyuan.core.scoring import BRIDGE, LAW
from wenyuan.core.sources import described_anew, parse_cycle
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.core.text import OWN
from wenyuan.runtime import Rounds, deadline_after
from wenyuan.service.answer import Answer, Query
from wenyuan.service.audit.recorder import RecordedSearch, Witness
from wenyuan.service.audit.replay import Replay
from wenyuan.service.context import Context, ContextRequest, ContextService
from wenyuan.service.fragments import FetchDoor, Fields, WideDoor, asked, fragments_of
from wenyuan.service.ingest import Ingester, IngestReport, Progress
from wenyuan.service.ingest.redaction import Questions, Redactor
from wenyuan.service.ingest.registry import ReembedDoor
from wenyuan.service.learning.evaluation import QualityDoor
from wenyuan.service.operations import Freshness
from wenyuan.service.operations.health import HealthDoor, Readiness, listed_sources
from wenyuan.service.operations.refresh import HiredWorker
from wenyuan.service.rules.derive import Deriver
from wenyuan.service.rules.door import RuleDoor
from wenyuan.service.rules.names import names_of
from wenyuan.service.rules.quotes import CitedPlaces
from wenyuan.service.search import lasts
from wenyuan.service.search.analysis import SCRIPTS
from wenyuan.service.search.cache import Store
from wenyuan.service.search.external import Reranking
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import LOCAL, Searcher, SearchRequest, SearchResult
from wenyuan.service.search.traces import NO_TRACES, Traces
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog
    from wenyuan.catalog.audit.log import AuditLog
    from wenyuan.catalog.tasks import TaskLedger

__all__ = ["Follower", "Library", "Readiness"]


# An index that follows what others write, so that no question has to wait for it.


log = logging.getLogger(__name__)

EVERY = 0.3
"""Seconds between two looks."""
_NO_HURRY = 3_600.0
_AS_FAR = 60.0  # seconds: less than a rebuilding takes, so whoever else writes is followed as far as they have come


class Follower:
    """Brings an engine up to the catalog a moment after anybody's commit, in a thread of its own, until it is stopped.

    An engine with files of its own is asked, too, to see that they are as it left them (``look``). A failure is logged once
    and tried again: a question that needs the change meets it, too, and says so.
    """

    def __init__(self, feed: ChangeFeed, engine: Engine, *, every: float = EVERY) -> None:
        self._feed = feed
        self._engine = engine
        self._rounds = Rounds(self._follow, name="wenyuan-follower", every=every)
        self._look: Callable[[ChangeFeed], None] | None = getattr(engine, "look", None)
        self._seen, self._trouble = -1, ""
        self.start, self.stop = self._rounds.start, self._rounds.stop

    def _sync(self, seconds: float) -> int:
        return self._engine.sync(self._feed, deadline=deadline_after(seconds))

    def _follow(self) -> None:
        try:
            if self._feed.seq() != self._seen:
                try:
                    self._seen = self._sync(_AS_FAR)
                except IndexCorrupt:  # to build it anew takes its time
                    self._seen = self._sync(_NO_HURRY)
            if self._look is not None:
                self._look(self._feed)
            self._trouble = ""
        except Exception as error:  # a thread that ended here would leave all that follows to the questions
            if repr(error) != self._trouble:
                log.warning("the index does not follow: %s", error, exc_info=not isinstance(error, KnowledgeError))
            self._trouble = repr(error)


_MEASURE = 8  # version of what is measured of a library: what another one measured is measured anew
_SAMPLE = 400  # passages that tell which languages there are
_BOTH = 0.05  # share of them that the rarer language must have
_FIRST_ARTICLES = tuple(f"{OWN}article:{number}" for number in range(1, 6))  # every law has some of them


def _no_engine() -> Engine:
    raise KnowledgeError("this library cannot be asked about its past", component="audit")


@refusing_once_closed("retrieve_fragments")
class Library(RuleDoor, QualityDoor, HealthDoor, WideDoor, FetchDoor, ReembedDoor):
    """A library that is open. Made by `wenyuan.open`; a context manager; safe to share between threads."""

    catalog: Catalog
    _closed = False

    def __init__(  # noqa: PLR0913  (the wiring of a library, called in one place)
        self,
        *,
        folder: Path,
        settings: Settings,
        catalog: Catalog,
        engine: Engine,
        encoder: Encoder | None,
        read: Callable[[Path, str], Sequence[Document]],
        readable: Callable[[str], bool],
        tasks: TaskLedger,
        release: Callable[[], None] = lambda: None,
        encoder_note: str = "",
        may_write: str = "",
        redacting: Callable[[Source], Redactor] = Redactor.of,
        open_outside: Callable[[Source], Outside] | None = None,
        traces: Traces = NO_TRACES,
        audit: AuditLog | None = None,
        empty_engine: Callable[[], Engine] = _no_engine,
        answers: Store[SearchResult] | None = None,
        reranking: Reranking | None = None,
        questions: Questions | None = None,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.catalog = catalog
        self.engine = engine
        self.encoder = encoder
        self._release = release
        self._encoder_note = encoder_note
        self._may_write = may_write
        self._ingester = Ingester(
            catalog=catalog, engine=engine, encoder=encoder, read=read, readable=readable, redacting=redacting
        )
        asked = questions or Questions(redacting, catalog.sources, settings.audit.sensitivity)
        self.witness = Witness(audit, settings, encoder, reranking or Reranking(), asked)
        names = names_of(encoder, catalog, settings.search)
        self.cited = CitedPlaces(catalog)
        self._deriver = Deriver(
            catalog.rules, self.rules.schema, most=settings.rules.max_rules, names=names, cites=self.cited.now
        )
        self._retriever = Retriever(
            catalog, engine, encoder, settings.search, open_outside, Freshness(catalog).stale, self._deriver,
            settings.rules, reranking=reranking, traces=traces,
        )  # fmt: skip
        self._searcher = Searcher(self._retriever, catalog, settings.cache, answers, settings.search)
        self._recorded = RecordedSearch(self._searcher, self.witness)
        self._contexts = ContextService(self._searcher, catalog.document_chars, self._recorded, tasks)
        self._fields = Fields(catalog)
        self._empty_engine = empty_engine
        self._follower: Follower | None = None

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of everything; may be called twice. Whatever is asked afterwards raises `Closed`."""
        if self.worker is not None:
            self.worker.stop()
        if self._follower is not None:
            self._follower.stop()
        if self.warmth is not None:
            self.warmth.join()
        self._closed = True  # not before: what they are about ends properly
        self._retriever.close()
        self._deriver.close()
        self._release()
        if self.encoder is not None:
            self.encoder.close()
        self.engine.close()
        try:
            if self.witness.log is not None:
                self.witness.log.close()
        finally:  # the audit says so when its last records could not be written
            self.catalog.close()

    def hire(self, poll: float) -> None:
        """Refresh sources when they are due, in a thread of this process, until the library is closed.

        Args:
            poll: Seconds between two looks for what is due.
        """
        self._check_may_write()
        self.worker = HiredWorker(self, poll=poll)
        self.worker.start()

    def follow(self) -> None:
        """Bring the index up to what others write as they do, in a thread, until the library is closed."""
        self._follower = Follower(self.catalog, self.engine)
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
        query = asked(request, self.settings.rules)
        try:
            query = self._searcher.bounded(query, principal)
            answer = self._retriever.retrieve(query)
            answer = self.witness.attested(query, answer, principal, door="retrieve_fragments")
            return RetrievalResponse(status="SUCCESS", fragments=fragments_of(answer))
        except (InvalidRequest, NotPermitted):
            raise
        except KnowledgeError as error:
            log.error("retrieval failed: %s", error)
            self._record_failure(query, error, principal, "retrieve_fragments")
            return RetrievalResponse(status="FAILED", error_message=str(error))
        except Exception as error:
            log.exception("retrieval failed")
            self._record_failure(query, error, principal, "retrieve_fragments")
            return RetrievalResponse(status="FAILED", error_message=f"internal error: {type(error).__name__}")

    def _record_failure(
        self, query: Query, error: Exception, principal: Principal, door: str, agent_id: str | None = None
    ) -> None:
        self._recorded.failed(query, error, principal, door, agent_id)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        sources: Sequence[str] | None = None,
        filter: Filter | None = None,
        as_of: date | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Answer:
        """As `retrieve_fragments`, with all that is known about the answer; raises instead of answering FAILED."""
        wanted = asked(RetrievalRequest(query=query, max_results=limit, context=context), self.settings.rules)
        wanted = replace(wanted, filter=filter, sources=None if sources is None else tuple(sources))
        wanted = wanted if as_of is None else replace(wanted, as_of=as_of)
        try:
            answer = self._retriever.retrieve(wanted)
        except (InvalidRequest, NotPermitted):
            raise
        except KnowledgeError as error:
            self._record_failure(wanted, error, LOCAL, "search")
            raise
        return self.witness.attested(wanted, answer, LOCAL, door="search")

    # -- the knowledge service and the context service ------------------------------------------------

    def find(self, request: SearchRequest, principal: Principal = LOCAL) -> SearchResult:
        """The knowledge service: passages within the scope of an agent. Raises what made it fail, and records it."""
        return self._recorded.find(request, principal)

    def replay(self, audit_id: str, *, exact: bool = False, principal: Principal = LOCAL) -> Replay:
        """Ask an audited question again, of the library as it is, or (`exact`) as it was; for an agent, in its scope now.

        Raises:
            NotPermitted: there is no such record.
            KnowledgeError: the audit is off, or the question cannot be asked again.
        """
        allowed = self._searcher.allowed(principal)
        return self.witness.replay(audit_id, self._retriever, self.catalog, self._empty_engine, allowed, exact=exact)

    @property
    def audit(self) -> AuditLog:
        """The audit log: ``list``, ``show``, ``verify``, ``export``; KnowledgeError when it is switched off."""
        if self.witness.log is None:
            raise KnowledgeError("the audit is switched off", component="audit", hint="audit.enabled = true")
        return self.witness.log

    def get_context(self, request: ContextRequest, principal: Principal = LOCAL) -> Context:
        """The context service: ``knowledge_snippets`` for a prompt. Raises what made it fail."""
        return self._contexts.get_context(request, principal)

    # -- sources ------------------------------------------------------------------------------------

    def sources(self) -> tuple[Source, ...]:
        return self.catalog.sources()

    def list_sources(self) -> list[dict[str, object]]:
        """Each source, what the library holds of it, and how fresh that is."""
        return listed_sources(self.catalog)

    def add(self, source: Source, progress: Callable[[Progress], None] | None = None) -> IngestReport:
        """Register a source and take it in; one that is registered already must have the same path.

        Of a source that is registered already, what `source` leaves at its default stays as it is described: to take a
        value away, describe it anew (``wenyuan source set``, ``PATCH /v1/sources/{id}``).

        Raises:
            InvalidRequest: the id is taken by another path, or sources would supersede one another in a loop.
            SourceError: nothing could be taken in; then nothing is registered.
        """
        self._check_may_write()
        _check_described(source)
        local_path(PurePath(source.path))
        if source.type != "static_doc":
            raise InvalidRequest(
                f"a source of type {source.type} is searched where it is; there is nothing to take in",
                hint="register it: wenyuan apply FILE",
            )
        registered = {s.source_id: s for s in self.sources()}
        lasts(tuple((registered | {source.source_id: source}).values()))
        known = registered.get(source.source_id)
        if known is not None and known.path != source.path:
            raise InvalidRequest(
                f"the source id {source.source_id!r} is taken"
                + (f": it reads {known.path}" if known.path else " by a source without a path"),
                hint="choose another --source, or remove that one: wenyuan source remove " + source.source_id,
            )
        if known is not None:
            source = described_anew(known, source)
        self.catalog.put_source(source)
        try:
            report = self.ingest(source.source_id, progress)
            if known is None and report.failed and not (report.added or report.unchanged):
                raise SourceError(_all_failed(report), hint="see the reasons above")
        except SourceError:
            if known is None:
                self.catalog.remove_source(source.source_id)
            raise
        return report

    def ingest(self, source_id: str, progress: Callable[[Progress], None] | None = None) -> IngestReport:
        """Read a registered source again; only what changed is read, embedded and indexed anew."""
        self._check_may_write()
        source = self.catalog.source(source_id)
        if source.type != "static_doc":
            raise InvalidRequest(f"source {source_id!r} is searched where it is; there is nothing to take in")
        if self.encoder is not None and self.catalog.value("encoder") is None:
            self.catalog.set_value("encoder", asdict(self.encoder.fingerprint))
        report = self._ingester.ingest(source, progress)
        self._settle()
        return report

    def behind(self, source: Source) -> bool:
        """Whether a source must be read again, since more is to be taken out of its texts than was before."""
        return source.type == "static_doc" and self._ingester.behind(source)

    def _check_may_write(self) -> None:
        if self._may_write:
            raise EncoderUnavailable(self._may_write, component="encoder", hint="wenyuan doctor")

    def remove(self, source_id: str) -> int:
        """Remove a source and all that came from it; returns the number of documents."""
        gone = self.catalog.remove_source(source_id)
        self._ingester.purge()
        self._settle()
        return gone

    def _settle(self) -> None:
        """After a change: look at what the library is like, and make the next start quick."""
        self.measure_collection()
        self.engine.checkpoint()

    def measure_collection(self) -> None:
        """Keep what the library is like, where that changed: whether it has both languages, and articles."""
        known, now = self.catalog.value("floor"), self.collection_under(self.curve_under(self._retriever.tuning()))
        if known != now:
            self.catalog.set_value("floor", now)

    def collection_under(self, curve: Mapping[str, float]) -> Mapping[str, Any]:
        """What the library is like, with a curve that was learned of it (``{}`` for none), by mode and script: see `Traits`."""
        passages, mode = self.catalog.some_passages(_SAMPLE), self._retriever.mode
        chinese = sum(passage.language == "zh" for passage in passages)
        both = bool(passages) and min(chinese, len(passages) - chinese) >= _BOTH * len(passages)
        law = LAW if self.engine.information(_FIRST_ARTICLES) else 0.0
        labels = float(self.encoder is not None and bool(passages) and not self.catalog.unlabelled())
        traits = {
            "bridge": BRIDGE if both and self.encoder is not None else 0.0, "law": law, "labels": labels, **curve
        }  # fmt: skip
        known = self.catalog.value("floor") or {}
        others = known if known.get("measure") == _MEASURE else {}
        return {**others, mode: dict.fromkeys(SCRIPTS, traits), "measure": _MEASURE}


def _check_described(source: Source) -> None:
    """What a source says of itself must be understood before it counts; InvalidRequest when it is not."""
    parse_copyright(source.copyright)
    parse_cycle(source.refresh_cycle)
    Redactor.of(source)
    if faults := secret_faults(source.settings):
        raise InvalidRequest("; ".join(f"{f.path} {f.message}" for f in faults), faults=faults)


def _all_failed(report: IngestReport) -> str:
    uri, reason = next(iter(report.failed.items()))
    more = f" (and {len(report.failed) - 1} more)" if len(report.failed) > 1 else ""
    return f"nothing could be taken in: {uri}: {reason}{more}"
