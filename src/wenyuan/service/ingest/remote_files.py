"""Remote files: listed and fetched by a connector."""

from __future__ import annotations

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.catalog.listings import Remembered
from wenyuan.core.connectors import MOST_BYTES, Connector, Entry, Known, ListingCut
from wenyuan.core.errors import DocumentRejected, KnowledgeError, SourceError, msg
from wenyuan.core.model import Document, Source
from wenyuan.core.remote_addresses import leads_up
from wenyuan.service.ingest.local_files import nothing_to_read

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.ingest.redaction import Redactor


log = logging.getLogger(__name__)


ReadContent = Callable[[bytes, str, str], Iterable[Document]]
"""Bytes, their URI and the name of the file → documents; raises `DocumentRejected`."""


class RemoteFile:
    """An entry listed by a connector; see `Holding`. It is fetched on first use, once."""

    def __init__(self, entry: Entry, connector: Connector, read: ReadContent) -> None:
        self.entry = entry
        self.uri = entry.uri
        self._connector = connector
        self._read = read
        self._content: bytes | None = None

    def digest(self) -> str:
        return hashlib.sha256(self._fetched()).hexdigest()

    def documents(self) -> Iterable[Document]:
        for document in self._read(self._fetched(), self.uri, self.entry.name):
            yield replace(document, metadata={**self.entry.facts, **document.metadata})

    def _fetched(self) -> bytes:
        if self._content is None:
            if leads_up(self.entry.key) or leads_up(self.entry.name):
                raise DocumentRejected("its key or name holds a step '..'", component=self.entry.name)
            if self.entry.size is not None and self.entry.size > MOST_BYTES:
                raise DocumentRejected(_too_large(self.entry.size), component=self.entry.name)
            with _blamed(DocumentRejected, self.entry.name):
                content = self._connector.fetch(self.entry, MOST_BYTES)
            if len(content) > MOST_BYTES:
                raise DocumentRejected(_too_large(len(content)), component=self.entry.name)
            self._content = content
        return self._content


def _too_large(size: int) -> str:
    return msg("it has {size} bytes; at most {limit} are read", size=f"{size:,}", limit=f"{MOST_BYTES:,}")


class RemoteHoldings:
    """The entries of a connector in listing order; see `Holdings`.

    Raises:
        SourceError: while it is gone through: it cannot be listed to its end, or there is nothing that can be read.
    """

    def __init__(
        self, source: Source, connector: Connector, known: Known, readable: Callable[[str], bool], read: ReadContent
    ) -> None:
        self.total, self.cut = 0, ""
        self._skipped: Counter[str] = Counter()
        self._source, self._connector, self._known = source, connector, known
        self._readable, self._read = readable, read

    @property
    def skipped(self) -> Mapping[str, int]:
        return dict(self._skipped)

    def __iter__(self) -> Iterator[RemoteFile]:
        try:
            with _blamed(SourceError, f"source {self._source.source_id}"):
                found = iter(self._connector.list(self._known))
            while (entry := self._next(found)) is not None:
                if self._readable(entry.name):
                    self.total += 1
                    yield RemoteFile(entry, self._connector, self._read)
                else:
                    self._skipped[Path(entry.name).suffix.lower() or "(no suffix)"] += 1
        except ListingCut as cut:
            if not self.total:  # that it stopped is not that it is empty
                raise
            self.cut = cut.message
        if not self.total:
            raise nothing_to_read(self._source.path, self._skipped)

    def _next(self, found: Iterator[Entry]) -> Entry | None:
        with _blamed(SourceError, f"source {self._source.source_id}"):
            return next(found, None)


@contextmanager
def _blamed(kind: type[SourceError], component: str) -> Iterator[None]:
    """Turns unexpected exceptions of a connector into an error that names it; details go to the log."""
    try:
        yield
    except KnowledgeError:
        raise
    except Exception as error:
        log.exception("a connector failed")
        raise kind(msg("its connector failed ({kind})", kind=type(error).__name__), component=component) from error


class Memory:
    """The remembered entries of a source during one run.

    An entry counts as unchanged when its version is the same, it was read in the same way, and all its documents are
    live. Nothing is kept of an entry that names a value which the source's redaction takes out, nor of one whose key or
    address is longer than the catalog can index: such an entry is fetched at each run.
    """

    def __init__(self, catalog: Catalog, source_id: str, how: str, redactor: Redactor) -> None:
        self._catalog, self._source_id, self._how, self._redactor = catalog, source_id, how, redactor
        held = catalog.listed(source_id)
        self._held = {key: one for key, one in held.items() if one.how == how}
        catalog.forget_listed(source_id, sorted(held.keys() - self._held.keys()))
        self._complete = bool(catalog.value(_key(source_id))) and held.keys() == self._held.keys()
        self._met: set[str] = set()
        self._new: list[Remembered] = []
        self._unkept = 0
        self._named: set[str] = set()

    @property
    def known(self) -> Known:
        return Known(entries={key: one.entry for key, one in self._held.items()}, complete=self._complete)

    def begin(self) -> None:
        """Mark the remembered entries as incomplete until `end`."""
        if self._complete or self._catalog.value(_key(self._source_id)) is None:
            self._catalog.set_value(_key(self._source_id), False)

    def documents_of(self, entry: Entry) -> Sequence[str]:
        """The URIs of the documents that an entry gave when it was last read."""
        held = self._held.get(entry.key)
        return held.documents if held is not None else ()

    def as_before(self, entry: Entry) -> bool:
        """Whether an entry need not be fetched, according to its listing."""
        held = self._held.get(entry.key)
        return held is not None and bool(entry.version) and held.entry.version == entry.version

    def note(self, entry: Entry, documents: Sequence[str], *, named: bool = False) -> None:
        """Remember an entry at the next `keep`; without documents, it could not be read.

        Args:
            named: Whether its documents show that it names a value.
        """
        self._met.add(entry.key)
        held = self._held.get(entry.key)
        one = Remembered(entry=entry, how=self._how, documents=tuple(documents))
        if one == held and not named:
            return
        if not named and self._keepable(entry):
            self._new.append(one)
            return
        self._unkept += 1
        if named:
            self._named |= {entry.key, entry.uri}
        if held is not None:
            self._catalog.forget_listed(self._source_id, [entry.key])

    def _keepable(self, entry: Entry) -> bool:
        most = self._catalog.database.place.longest_key
        if most is not None and max(len(text.encode("utf-8", "replace")) for text in (entry.key, entry.uri)) > most:
            return False
        named = all(self._redactor.uri(text) == text for text in (entry.key, entry.uri, entry.name))
        return (
            named and self._redactor.text(entry.note) == entry.note
        )  # a version holds no words, and digits by chance

    def noted(self) -> list[Remembered]:
        """Hand over the entries noted since the last time, to be kept after their documents were committed."""
        new, self._new = self._new, []
        return new

    def keep(self, entries: Sequence[Remembered]) -> None:
        """Store noted entries."""
        self._catalog.keep_listed(self._source_id, entries)

    def without(self, entries: Sequence[Remembered], uris: Set[str]) -> list[Remembered]:
        """Entries but for those of documents that were not committed, which are fetched again at the next run."""
        lost = [one.entry.key for one in entries if not uris.isdisjoint(one.documents)] if uris else []
        self._unkept += len(lost)
        self._catalog.forget_listed(self._source_id, [key for key in lost if key in self._held])
        return [one for one in entries if one.entry.key not in lost]

    def end(self, *, whole: bool) -> None:
        """End of the run: delete entries that are gone, if the listing was complete, and those that speak of one that
        names a value.
        """
        self.keep(self.noted())
        if self._named:
            speaks = re.compile("|".join(map(re.escape, sorted(self._named))))
            telling = [
                key
                for key, one in self._catalog.listed(self._source_id).items()
                if any(map(speaks.search, (key, one.entry.uri, one.entry.note)))
            ]
            self._unkept += len(telling)
            self._catalog.forget_listed(self._source_id, telling)
        if whole:
            self._catalog.forget_listed(self._source_id, sorted(self._held.keys() - self._met))
            self._catalog.set_value(_key(self._source_id), self._unkept == 0)


def _key(source_id: str) -> str:
    return f"listed/{source_id}"
