"""A corpus as a real library, kept in a cache: built once through the whole write path, then only opened."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from wenyuan.app import IN_FOLDER, open_encoder, open_library
from wenyuan.core.errors import SourceError, msg
from wenyuan.core.model import Document, Source
from wenyuan.core.text.analysis import ANALYZER
from wenyuan.evaluation.corpus import READ_AS, Corpus
from wenyuan.evaluation.pace import Pace
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.ingest.ingester import READING, Ingester
from wenyuan.service.ingest.progress import Progress
from wenyuan.service.library import Library
from wenyuan.settings import load_settings

SOURCE_ID = "eval"
_BUILT = "evaluation"
_UNHURRIED = 3_600.0  # seconds: an index that was lost is written anew before anything is measured
PATIENT = 60.0  # seconds: a slow answer is measured, not refused


def default_cache() -> Path:
    """``$XDG_CACHE_HOME/wenyuan/eval``, or the same below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wenyuan" / "eval"


def open_built(corpus: Corpus, cache: Path, err: TextIO, **overrides: Any) -> Library:
    """The library for a corpus; built or completed first, keeping what an earlier run stored.

    The folder's name covers the corpus, the encoder, the analyser and the versions of reading and cutting.

    Raises:
        KnowledgeError: as `open_library` and `Ingester.ingest`.
    """
    overrides = overrides | {"search": {"deadline": PATIENT} | dict(overrides.get("search", {}))}
    encoder = open_encoder(load_settings(**overrides).encoder)
    made_of = (corpus.sha256, encoder.fingerprint.key if encoder else "", ANALYZER, READING, READ_AS)
    if encoder is not None:
        encoder.close()
    digest = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
    library = open_library(cache / f"{corpus.name}-{digest}", create=True, **{**overrides, **IN_FOLDER})
    try:
        if library.catalog.value(_BUILT) is None:
            _build(library, corpus, err)
        library.engine.sync(library.catalog, deadline=deadline_after(_UNHURRIED))
        library.measure_collection()  # it may have been built by another version
    except BaseException:
        library.close()
        raise
    return library


def entries_of(library: Library, corpus: Corpus) -> Mapping[int, str]:
    """The corpus id of each passage's document, by passage id."""
    documents = library.catalog.live_documents(SOURCE_ID)
    entry_of = {documents[uri][0]: entry for entry, uri in corpus.uris.items()}
    changes = library.catalog.changes(0, library.catalog.seq(), vectors=False)
    return {c.passage_id: entry_of[c.row.document_id] for c in changes if c.row is not None}


def _build(library: Library, corpus: Corpus, err: TextIO) -> None:
    catalog, begun = library.catalog, time.monotonic()
    source = Source(source_id=SOURCE_ID, title=corpus.name, path=str(corpus.path.resolve()))
    if library.encoder is not None and catalog.value("encoder") is None:
        catalog.set_value("encoder", asdict(library.encoder.fingerprint))
    catalog.put_source(source)
    reading = _Reading(corpus, Pace(f"building {corpus.name}", len(corpus), "documents", err))
    ingester = Ingester(
        catalog=catalog,
        engine=library.engine,
        encoder=library.encoder,
        read=reading.read,
        readable=lambda name: name == corpus.path.name,
        uploads=library.folder / "uploads",
    )
    report = ingester.ingest(source, reading.told)
    reading.pace.close()
    if report.failed:
        raise SourceError(
            msg("{path} could not be taken in: {failed}", path=corpus.path, failed=next(iter(report.failed.values())))
        )
    library.engine.checkpoint(always=True)
    catalog.set_value(_BUILT, {"documents": len(corpus), "seconds": round(time.monotonic() - begun, 1)})


class _Reading:
    """Supplies the corpus as documents, and counts."""

    def __init__(self, corpus: Corpus, pace: Pace) -> None:
        self._corpus = corpus
        self._read = 0
        self.pace = pace

    def read(self, path: Path, uri: str) -> Iterator[Document]:
        for document in self._corpus.documents():
            yield document
            self._read += 1
            self.pace.at(self._read)

    def told(self, progress: Progress) -> None:
        """Progress callback: documents passed before the first embedding were stored by an earlier run."""
        if progress.embedded <= 1:
            self.pace.skip(self._read)
        self.pace.at(self._read)
