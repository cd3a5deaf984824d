"""Comparison of a book's quotes with held documents: found, not in their source, or undecidable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from wenyuan.core.errors import msg
from wenyuan.core.rules.book import BookFault
from wenyuan.core.rules.model import Evidence
from wenyuan.core.rules.quotes import plain
from wenyuan.service.rules.withdrawn_evidence import said_in

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


_SHOWN = 40  # characters of a quote


class Quotes:
    """Verifies quotes against the documents of their sources.

    A quote is looked for in the document that its evidence names. Where the library does not hold that one, or none is
    named, it is looked for in every document of the source.

    Args:
        usual: By source, the document that a book declares for evidence that names none: it need not be here.
        refuse: What cannot be compared is refused.
    """

    def __init__(self, catalog: Catalog, usual: Mapping[str, str], *, refuse: bool) -> None:
        self._catalog, self._usual, self._refuse = catalog, usual, refuse
        self._held: dict[tuple[str, str], str | None] = {}
        self._elsewhere: dict[str, frozenset[str] | None] = {}
        self._wrong: list[BookFault] = []
        self._open: dict[tuple[str, str], int] = {}

    def compare(self, evidences: Iterable[Evidence]) -> None:
        """Read the documents needed: those that are named, else all of the source, each once."""
        loose: dict[str, set[str]] = {}
        for evidence in evidences:
            if evidence.quote and self._words(evidence) is None:
                loose.setdefault(evidence.source_id, set()).add(evidence.quote)
        for source_id, quotes in loose.items():
            self._elsewhere[source_id] = said_in(self._catalog.texts_of(source_id), quotes)

    def marked(self, evidence: Evidence) -> Evidence | None:
        """The evidence marked as *verified* or not; None if it is refused. Call `compare` first."""
        if not evidence.quote:
            return evidence
        document = evidence.uri.partition("#")[0]
        words = self._words(evidence)
        if words is not None:
            if plain(evidence.quote) in words:
                return replace(evidence, verified=True)
            return self._refuse_one("quote_not_found", "the quote {quote} is not in {where}", evidence, document)
        said = self._elsewhere.get(evidence.source_id)
        if said is not None and evidence.quote in said:
            return replace(evidence, verified=True)
        if said is not None and document != (self._usual.get(evidence.source_id) or None):
            message = "the quote {quote} is not in the source {where}"
            return self._refuse_one("quote_not_found", message, evidence, evidence.source_id)
        where = document or evidence.source_id
        if self._refuse:
            message = "the quote {quote} cannot be compared: the source {where} is not in the library"
            if document:
                message = "the quote {quote} cannot be compared: {where} is not in the library"
            return self._refuse_one("quote_unverified", message, evidence, where)
        message = "the source {where} is not in the library: {count} quotes are marked as not verified"
        if document:
            message = "{where} is not in the library: {count} quotes are marked as not verified"
        self._open[message, where] = self._open.get((message, where), 0) + 1
        return replace(evidence, verified=False)

    def _words(self, evidence: Evidence) -> str | None:
        at = evidence.source_id, evidence.uri.partition("#")[0]
        if at not in self._held:
            text = self._catalog.document_words(*at) if at[1] else None
            self._held[at] = None if text is None else plain(text)
        return self._held[at]

    def _refuse_one(self, code: str, message: str, evidence: Evidence, where: str) -> Evidence | None:
        said = msg(message, quote=repr(evidence.quote[:_SHOWN]), where=where)
        self._wrong.append(BookFault(code, said, evidence.place))
        return None

    def report(self) -> list[BookFault]:
        """The refused quotes, and the number of unverified ones by missing document."""
        notes = [
            BookFault("quote_unverified", msg(message, where=where, count=count), severity="note")
            for (message, where), count in self._open.items()
        ]
        return [*self._wrong, *notes]
