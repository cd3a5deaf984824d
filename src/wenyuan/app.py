"""Assembles a library from its settings: the only module that imports catalog, engines, encoders and readers
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from wenyuan.catalog.catalog import Catalog
from wenyuan.catalog.database import StoragePlace
from wenyuan.catalog.library_folder import place_of
from wenyuan.catalog.tasks import TaskLedger
from wenyuan.catalog.token_ledger import TokenLedger
from wenyuan.core.addresses import legible
from wenyuan.core.connectors import Connector
from wenyuan.core.engine_opening import EngineOpening
from wenyuan.core.errors import (
    CatalogUnavailable,
    ConfigError,
    EncoderMismatch,
    EncoderUnavailable,
    KnowledgeError,
    msg,
)
from wenyuan.core.fidelity import PICTURES
from wenyuan.core.model import Document, EncoderFingerprint, Source
from wenyuan.core.ports import Encoder, IndexSpec, Judge, LanguageModel, Outside, WritingJudge, until
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.core.scanning import Scanner
from wenyuan.core.text.analysis import ANALYZER
from wenyuan.core.vector_files import VectorRows, VectorTable
from wenyuan.encoders.selection import open_encoder, open_reranker
from wenyuan.engines.memory import MemoryEngine
from wenyuan.engines.selection import open_engine
from wenyuan.plugins import JUDGES
from wenyuan.runtime.cores import usable_cores
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.installation import install_command
from wenyuan.scanners.selection import open_scanner
from wenyuan.service.assembly import Models, Reading, Storage, assembled
from wenyuan.service.audit.change_entry import change_record
from wenyuan.service.erasure.standing import StandingRules
from wenyuan.service.governance import log_of, tasks_of
from wenyuan.service.ingest.ingester import ConnectorAccess
from wenyuan.service.ingest.quarantine import Quarantine
from wenyuan.service.ingest.question_redaction import Questions
from wenyuan.service.ingest.recognition import OcrReading
from wenyuan.service.ingest.redaction import Redactor, load_names
from wenyuan.service.ingest.scanning import behind_scanner
from wenyuan.service.library import Library
from wenyuan.service.library_key import KeyLoss, check_lost, marked_key, new_key
from wenyuan.service.search.answer_cache import CacheStore
from wenyuan.service.search.reranking import Reranking
from wenyuan.service.search.searcher import SearchResult
from wenyuan.service.search.sufficiency import Sufficiency
from wenyuan.service.search.traces import Traces
from wenyuan.settings import (
    EncoderSettings,
    LlmSettings,
    OcrSettings,
    Settings,
    SourcesSettings,
    TracingSettings,
    load_settings,
)

__all__ = [
    "IN_FOLDER",
    "create_library",
    "holds_library",
    "open_encoder",
    "open_library",
    "open_reranker",
    "renew_key",
]


_ASKED, _AGAIN = 5.0, 0.3  # seconds for asking what was erased: the first time, and where it is known from before

IN_FOLDER: dict[str, Any] = {"catalog": {"dsn": ""}}
"""Settings of a library that is for one purpose, and never the one on a server that the environment names."""


def create_library(folder: str | Path, **overrides: Any) -> Library:
    """Create an empty library in `folder` and open it.

    Raises:
        ConfigError: there is one already.
    """
    path = Path(folder)
    place = place_of(path, load_settings(path, **overrides).catalog)
    if _holds_library(place):
        place.close()
        raise ConfigError(
            msg("there is a library in {place} already", place=place), hint="open it, or choose another folder"
        )
    Catalog.create(place).close()
    return open_library(path, **overrides)


def open_library(folder: str | Path, *, create: bool = False, **overrides: Any) -> Library:
    """Open the library in `folder`.

    Args:
        folder: The library's folder.
        create: Create an empty library when there is none.
        overrides: Settings, e.g. ``engine="memory"`` or ``encoder={"kind": "none"}``.

    Raises:
        CatalogUnavailable, CatalogVersion, ConfigError, EncoderMismatch, EngineError
    """
    path = Path(folder)
    settings = load_settings(path, **overrides)
    place = place_of(path, settings.catalog)
    if create and not _holds_library(place):
        Catalog.create(place).close()
        place = place_of(path, settings.catalog)
    catalog = Catalog.open(place)
    with ExitStack() as opening:  # closes what is open where something cannot be
        opening.callback(catalog.close)
        library = _assembled(path, settings, place, catalog, opening)
        opening.pop_all()
    catalog.database.on_change = library.recorder.changed
    return library


def _assembled(path: Path, settings: Settings, place: StoragePlace, catalog: Catalog, opening: ExitStack) -> Library:
    """The parts of a library around its catalog; `opening` gets how each is closed."""
    reader = _Reader(path, settings.ocr)
    releasing = ExitStack()
    releasing.callback(reader.close)
    opening.callback(releasing.close)
    tasks = _tasks(path, place, catalog, releasing)
    questions = _questions(settings, catalog, path)
    encoder, note = _encoder(settings.encoder)
    recorded = catalog.encoder()
    encoder, spec, note, refusal = _agreed(catalog, encoder, recorded, note)
    reranking = Reranking(open_reranker(settings.reranker), settings.reranker)
    if reranking.reranker is not None:
        releasing.callback(reranking.reranker.close)
    llm, judge, scanner = (
        _llm(settings.llm, tasks, releasing), _judge(settings, tasks, releasing), open_scanner(settings.redaction, releasing),
    )  # fmt: skip
    judged = (reranking.fingerprint, judge and judge.fingerprint)
    answers = _answers(settings, catalog, encoder, judged, releasing)
    if encoder is not None:
        opening.callback(encoder.close)
    engine = open_engine(
        settings,
        EngineOpening(
            folder=path / "index", spec=spec, library_id=catalog.library_id(), indexing=catalog.indexing,
            writing=catalog.indexing_on_server, max_lag=settings.search.max_lag,
        ),
    )  # fmt: skip
    opening.callback(engine.close)
    traces = _traces(settings.tracing, catalog.library_id(), questions.text)
    audit = log_of(place, settings, catalog)
    if audit is not None:
        opening.callback(audit.close)
    return assembled(
        settings=settings,
        storage=Storage(
            folder=path,
            catalog=catalog,
            engine=engine,
            empty_engine=lambda: MemoryEngine(spec),
            tasks=tasks,
            audit=audit,
            answers=answers,
        ),
        models=Models(
            encoder=encoder,
            encoder_note=note,
            refusal=refusal,
            reranking=reranking,
            llm=llm,
            sufficiency=Sufficiency(
                judge=judge,
                settings=settings.judge,
                catalog=catalog,
                questions=questions,
                writer=judge if settings.judge.follow_up and isinstance(judge, WritingJudge) else None,
                traces=traces,
            ),
        ),
        reading=Reading(
            **_reading(reader, settings, scanner, Quarantine(folder=path / "quarantine", catalog=catalog)),
            readable=reader.readable,
            questions=questions,
            draw=reader.draw,
            drawable=reader.drawable,
            recognition=OcrReading(reader.watched, reader.settled, reader.recogniser()),
            scanner=scanner,
            vectors=reader,
        ),
        open_outside=_open_outside(spec, catalog.library_id(), settings.sources, traces),
        traces=traces,
        release=releasing.close,
    )


def renew_key(folder: str | Path, **overrides: Any) -> KeyLoss:
    """Give a library whose key is lost a new one; it is recorded in the audit, with what is lost.

    Raises:
        InvalidRequest: the key is there.
        CatalogError, ConfigError: the library cannot be opened or changed, or its audit not be written.
    """
    path = Path(folder)
    settings = load_settings(path, **overrides)
    place = place_of(path, settings.catalog)
    with closing(Catalog.open(place)) as catalog:
        check_lost(catalog, path)
        audit = log_of(place, settings, catalog)
        with ExitStack() as stack:
            if audit is not None:
                stack.callback(audit.close)
            actions = {source.source_id: Redactor.of(source).policy.actions for source in catalog.sources()}
            loss = new_key(
                catalog, path, [name for name, chosen in actions.items() if "pseudonym" in chosen.values()]
            )
            if audit is not None:
                audit.append(change_record("registry", "renewed", "pseudonym.key", None, loss))
                audit.flush()
    return loss


def holds_library(folder: Path) -> bool:
    """Whether there is a library at the location in a folder's settings; ConfigError when that cannot be determined."""
    place = place_of(folder, load_settings(folder).catalog)
    try:
        return _holds_library(place)
    finally:
        place.close()


def _holds_library(place: StoragePlace) -> bool:
    try:
        return place.found()
    except CatalogUnavailable as error:
        place.close()
        raise ConfigError(error.message, hint=error.hint) from error


def _answers(
    settings: Settings, catalog: Catalog, encoder: Encoder | None, judged: tuple[object, ...], releasing: ExitStack
) -> CacheStore[SearchResult] | None:
    """The shared answer cache outside of this process, if the settings name one."""
    url = settings.cache.url.get_secret_value()
    if not url or settings.cache.seconds <= 0:
        return None
    from wenyuan.core.version import VERSION
    from wenyuan.service.search.cache_redis import FORMAT, RedisStore, open_redis, result_from_json, result_to_json

    client = open_redis(url)
    releasing.callback(client.close)
    encoded = encoder.fingerprint.key if encoder is not None else ""
    # A copy of a library has its id, so where it lies counts too.
    place = (catalog.library_id(), catalog.lies())
    bearing = (settings.search.model_dump_json(), settings.judge.model_dump_json(), settings.rules, *judged)
    return RedisStore(
        client, prefix=repr((FORMAT, VERSION, ANALYZER, place, encoded, *bearing)), seconds=settings.cache.seconds,
        max_bytes=settings.cache.max_mb * 1_000_000, write=result_to_json, read=result_from_json,
    )  # fmt: skip


def _questions(settings: Settings, catalog: Catalog, folder: Path) -> Questions:
    """The redaction of documents and questions, with this library's key and the configured name recogniser."""
    names = load_names(settings.redaction.ner) if settings.redaction.ner else None
    key = catalog.pseudonym_key() or marked_key(catalog, folder)

    catalog.database.erased = StandingRules(catalog, lambda: key)
    known: list[ErasedValues] = []

    def redacting(source: Source) -> Redactor:
        try:
            with until(deadline_after(_AGAIN if known else _ASKED)):
                values = catalog.erased_values()
        except KnowledgeError:  # nothing is erased meanwhile either, as far as was known before
            if not known:
                raise
        else:
            if not known or known[0].values != values:
                known[:] = [ErasedValues(key, values)]
        return Redactor.of(source, key, names, known[0])

    return Questions(redacting, catalog.sources, settings.audit.sensitivity)


def _traces(settings: TracingSettings, library_id: str, shown: Callable[[str], str]) -> Traces | None:
    if not settings.enabled:
        return None
    try:
        from wenyuan.service.search.traces_otel import OtelTraces
    except ImportError as error:
        hint = install_command("otel")
        raise ConfigError("needs OpenTelemetry", component="tracing.enabled", hint=hint) from error
    return OtelTraces(library_id, content=settings.content, shown=shown)


def _open_outside(
    spec: IndexSpec, library_id: str, allowed: SourcesSettings, traces: Traces | None
) -> Callable[[Source], Outside]:
    scale = spec.encoder.scale if spec.encoder else (0.0, 1.0)
    traced = dict if traces is None else traces.carried

    def open_source(source: Source) -> Outside:
        if source.type == "api":
            from wenyuan.engines.external.contract_source import open_remote

            return open_remote(
                source, library_id=library_id, traced=traced, env_allowed=allowed.env_allowed,
                allow_private=allowed.allow_private,
            )  # fmt: skip
        if "collection" in source.settings:
            from wenyuan.engines.external.milvus import open_milvus

            return open_milvus(source, scale=scale, encoder=spec.encoder, lazy=True, env_allowed=allowed.env_allowed)
        try:
            from wenyuan.engines.external.postgres import open_attached
        except ImportError as error:
            raise ConfigError(
                "the driver of PostgreSQL is not installed",
                component=f"source {source.source_id}",
                hint=install_command("postgres"),
            ) from error
        return open_attached(source, scale=scale, encoder=spec.encoder, lazy=True, env_allowed=allowed.env_allowed)

    return open_source


def _reading(
    reader: _Reader, settings: Settings, scanner: Scanner | None, quarantine: Quarantine
) -> Mapping[str, Any]:
    """What reads files and what reads connectors, behind the scanner where there is one."""
    read, remote = behind_scanner(reader.read, _remote(reader, settings.sources), scanner, quarantine)
    return {"read": read, "remote": remote}


def _remote(reader: _Reader, allowed: SourcesSettings) -> ConnectorAccess:
    def connect(source: Source) -> Connector:
        from wenyuan.connectors.selection import open_connector

        return open_connector(
            source, readable=reader.readable, parse=reader.parse, env_allowed=allowed.env_allowed,
            allow_private=allowed.allow_private,
        )  # fmt: skip

    def known() -> Sequence[str]:
        from wenyuan.connectors.selection import schemes

        return schemes()

    return ConnectorAccess(connect=connect, schemes=known, read=reader.read_content)


def _tasks(folder: Path, place: StoragePlace, catalog: Catalog, releasing: ExitStack) -> TaskLedger:
    tasks = tasks_of(folder, place, catalog)
    releasing.callback(tasks.close)
    return tasks


def _llm(settings: LlmSettings, tasks: TaskLedger, releasing: ExitStack) -> LanguageModel | None:
    """The language model that the settings name; None where they name none."""
    if not settings.url.strip():
        return None
    from wenyuan.llm.chat_model import ChatModel

    model = ChatModel(settings, TokenLedger(tasks, most=settings.tokens_a_day))
    releasing.callback(model.close)
    return model


def _judge(settings: Settings, tasks: TaskLedger, releasing: ExitStack) -> Judge | None:
    """The judge that the settings name; None for ``none``. Its tokens count as those of the language model."""
    chosen = settings.judge
    if chosen.follow_up and chosen.dialect in ("none", "decisions", "systemone", "onnx_dir"):
        raise ConfigError(
            msg(
                "judge.follow_up is set, but judge.dialect is {dialect}: only a judge of the dialects logprobs and vote can "
                "say what is missing",
                dialect=chosen.dialect,
            ),
            component="settings",
        )
    if chosen.dialect == "none":
        return None
    budget = TokenLedger(tasks, most=settings.llm.tokens_a_day)
    judge: Judge | None = JUDGES.make(chosen.dialect, chosen, budget)
    if judge is not None:
        releasing.callback(judge.close)
        if chosen.follow_up and not isinstance(judge, WritingJudge):
            raise ConfigError(
                msg(
                    "judge.follow_up is set, but the judge {dialect} cannot say what is missing",
                    dialect=chosen.dialect,
                ),
                component="settings",
            )
        return judge
    if chosen.dialect == "onnx_dir":
        from wenyuan.encoders.cross_encoder import LocalJudge

        if chosen.path is None:
            raise ConfigError(
                msg("judge.dialect is {dialect}, but judge.{name} is not set", dialect="onnx_dir", name="path"),
                component="settings",
            )
        judge = LocalJudge(chosen.path, max_tokens=chosen.max_tokens, threads=chosen.threads)
    else:
        from wenyuan.llm.judge import HttpJudge

        judge = HttpJudge(chosen, budget)
    releasing.callback(judge.close)
    return judge


def _encoder(settings: EncoderSettings) -> tuple[Encoder | None, str]:
    """The encoder, or None with the reason. Only the built-in one may be missing: it is an optional package."""
    try:
        return open_encoder(settings), ""
    except EncoderUnavailable as error:
        if settings.kind != "builtin":
            raise
        return None, msg("keyword-only: {error}", error=error)


def _agreed(
    catalog: Catalog, encoder: Encoder | None, recorded: EncoderFingerprint | None, note: str
) -> tuple[Encoder | None, IndexSpec, str, str]:
    """Encoder and index specification for a library that may have been built with another encoder, or with none."""
    refusal = ""
    if encoder is not None and recorded is not None and encoder.fingerprint.key != recorded.key:
        raise EncoderMismatch(
            msg(
                "the library was built with {recorded}, the encoder is {fingerprint} now; their vectors "
                "cannot be compared",
                recorded=recorded.told_beside(encoder.fingerprint),
                fingerprint=encoder.fingerprint.told_beside(recorded),
            ),
            component="encoder",
            hint="set the encoder back, or embed the library anew: wenyuan reembed",
        )
    if recorded is None and encoder is not None and catalog.counts()["passages"]:
        note = "keyword-only: this library was built without an encoder; wenyuan reembed gives it vectors"
        encoder = None
    if encoder is None and recorded is not None:
        note = note or "keyword-only by setting"
        refusal = msg(
            "the library has vectors of {id}, which is not available: new documents would have none", id=recorded.id
        )
    fingerprint = encoder.fingerprint if encoder is not None else recorded
    return encoder, IndexSpec(analyzer=ANALYZER, encoder=fingerprint), note, refusal


_MOST_PAGES = 4  # that are recognised at one time where no setting says how many: a process takes .6 GB


class _Reader:
    """Access to the readers, which are imported when the first document is read."""

    def __init__(self, folder: Path, ocr: OcrSettings) -> None:
        self._folder = folder
        self._ocr = ocr
        self._watch: ContextVar[Any] = ContextVar("watch", default=None)
        self._pages: Any = None
        self._sandbox: Any = None
        # Separate processes, so that a page need not wait until a source has been read, nor a source for a listing.
        self._drawing: Any = None
        self._parsing: Any = None

    def close(self) -> None:
        """End the reading processes, if any were started."""
        for sandbox in (self._sandbox, self._drawing, self._parsing):
            if sandbox is not None:
                sandbox.close()

    def readable(self, name: str) -> bool:
        from wenyuan.readers.ocr.weights import missing
        from wenyuan.readers.selection import is_read, suffix_of

        return is_read(name) and not (suffix_of(name) in PICTURES and missing())

    @contextmanager
    def watched(self, told: Callable[[int, int], None], keep: Callable[[str], bool]) -> Iterator[None]:
        """Context that sets the callbacks for OCR in this thread; see `OcrReading`."""
        from wenyuan.readers.page_workers import Watch

        before = self._watch.set(Watch(told, keep))
        try:
            yield
        finally:
            self._watch.reset(before)

    def recogniser(self) -> str:
        """The version of the OCR; ``""`` where none is installed."""
        from wenyuan.readers.ocr.weights import VERSION, missing

        return "" if missing() else VERSION

    def settled(self) -> None:
        """Call when documents are stored: deletes their cached pages."""
        if self._pages is not None:
            self._pages.settled()

    def drawable(self, name: str) -> bool:
        from wenyuan.readers.ocr.drawing import has_pictures

        return has_pictures(name)

    def draw(self, content: bytes, *, name: str, page: int, width: int) -> bytes:
        if self._drawing is None:
            from wenyuan.readers.sandbox import Sandbox

            self._drawing = Sandbox()
        drawn: bytes = self._drawing.draw(content, name=name, page=page, width=width)
        return drawn

    def parse(self, function: str, content: bytes, arguments: Mapping[str, Any] = {}, **named: Any) -> Any:
        """See `core.connectors.Parse`."""
        if self._parsing is None:
            from wenyuan.readers.sandbox import Sandbox

            self._parsing = Sandbox()
        return self._parsing.call(function, content, arguments, **named)

    def describe(self, path: str, *, name: str) -> VectorTable:
        """See `core.vector_files.VectorFileReader`."""
        from wenyuan.readers.vector_table import TableReader

        return TableReader(self.parse).describe(path, name=name)

    def rows(self, path: str, *, uri: str, name: str, first: int, count: int) -> VectorRows:
        """See `core.vector_files.VectorFileReader`."""
        from wenyuan.readers.vector_table import TableReader

        return TableReader(self.parse).rows(path, uri=uri, name=name, first=first, count=count)

    def read(self, path: Path, uri: str) -> Sequence[Document]:
        name, watch = legible(path.name), self._watch.get()
        documents: Sequence[Document] = self._opened().read_file(path, uri=uri, name=name, watch=watch).documents
        return documents

    def read_content(self, content: bytes, uri: str, name: str) -> Sequence[Document]:
        watch = self._watch.get()
        documents: Sequence[Document] = self._opened().read(content, uri=uri, name=name, watch=watch).documents
        return documents

    def _opened(self) -> Any:
        if self._sandbox is None:
            from wenyuan.readers.sandbox import Sandbox

            self._pages = self._page_workers()
            self._sandbox = Sandbox(pages=self._pages)
        return self._sandbox

    def _page_workers(self) -> Any:
        """The OCR; None where it is not installed."""
        from wenyuan.readers.ocr.page_store import PageStore
        from wenyuan.readers.ocr.weights import VERSION, missing
        from wenyuan.readers.page_workers import PageWorkers

        if missing():
            return None
        workers = self._ocr.workers or min(usable_cores(), _MOST_PAGES)
        return PageWorkers(workers, PageStore(self._folder / "ocr", VERSION))
