"""The quotes of a book beside the documents that the library holds: found, nowhere in their source, or not to be told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from wenyuan.core.rules.book import BookFault
from wenyuan.core.rules.model import Evidence
from wenyuan.core.rules.quotes import plain
from wenyuan.service.quotes import said_in

__all__ = ["Quotes"]

_SHOWN = 40  # characters of a quote


class _Documents(Protocol):
    def document_words(self, source_id: str, uri: str) -> str | None: ...

    def texts_of(self, source_id: str) -> Iterator[str]: ...


class Quotes:
    """Compares quotes with what the library holds of their sources.

    A quote is looked for in the document that its evidence names. Where the library does not hold that one, or none is
    named, it is looked for in every document of the source.

    Args:
        usual: By source, the document that a book declares for evidence that names none: it need not be here.
        refuse: What cannot be compared is refused.
    """

    def __init__(self, documents: _Documents, usual: Mapping[str, str], *, refuse: bool) -> None:
        self._documents, self._usual, self._refuse = documents, usual, refuse
        self._held: dict[tuple[str, str], str | None] = {}
        self._elsewhere: dict[str, frozenset[str] | None] = {}
        self._wrong: list[BookFault] = []
        self._open: dict[str, int] = {}

    def compare(self, evidences: Iterable[Evidence]) -> None:
        """Read what is needed to judge them: each document that is named, else each source, once."""
        loose: dict[str, set[str]] = {}
        for evidence in evidences:
            if evidence.quote and self._words(evidence) is None:
                loose.setdefault(evidence.source_id, set()).add(evidence.quote)
        for source_id, quotes in loose.items():
            self._elsewhere[source_id] = said_in(self._documents.texts_of(source_id), quotes)

    def marked(self, evidence: Evidence) -> Evidence | None:
        """The evidence, marked as *verified* or not; None when it is refused. To be called after `compare`."""
        if not evidence.quote:
            return evidence
        document = evidence.uri.partition("#")[0]
        words = self._words(evidence)
        if words is not None:
            if plain(evidence.quote) in words:
                return replace(evidence, verified=True)
            return self._refuse_one("quote_not_found", "{} is not in {}", evidence, document)
        said = self._elsewhere.get(evidence.source_id)
        if said is not None and evidence.quote in said:
            return replace(evidence, verified=True)
        if said is not None and document != (self._usual.get(evidence.source_id) or None):
            where = f"the source {evidence.source_id}"
            return self._refuse_one("quote_not_found", "{} is not in {}", evidence, where)
        where = document or f"the source {evidence.source_id}"
        if self._refuse:
            message = "{} cannot be compared: {} is not in the library"
            return self._refuse_one("quote_unverified", message, evidence, where)
        self._open[where] = self._open.get(where, 0) + 1
        return replace(evidence, verified=False)

    def _words(self, evidence: Evidence) -> str | None:
        at = evidence.source_id, evidence.uri.partition("#")[0]
        if at not in self._held:
            text = self._documents.document_words(*at) if at[1] else None
            self._held[at] = None if text is None else plain(text)
        return self._held[at]

    def _refuse_one(self, code: str, message: str, evidence: Evidence, where: str) -> Evidence | None:
        said = message.format(f"the quote {evidence.quote[:_SHOWN]!r}", where)
        self._wrong.append(BookFault(code, said, evidence.place))
        return None

    def report(self) -> list[BookFault]:
        """The quotes that are refused, and how many were not compared, by the document that is not here."""
        notes = [
            BookFault(
                "quote_unverified",
                f"{where} is not in the library: {count} quotes are marked as not verified",
                severity="note",
            )
            for where, count in self._open.items()
        ]
        return [*self._wrong, *notes]
