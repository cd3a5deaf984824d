"""Rules whose quotes a document no longer has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from wenyuan.core.errors import msg
from wenyuan.core.rules.quotes import plain

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.rules.evidence import Cited, DocumentStanding


# Rules follow what they quote: an evidence whose words a document no longer has is withdrawn.


@dataclass(frozen=True, slots=True)
class WithdrawnEvidence:
    """How many evidences were withdrawn, and how many rules were retired for lack of evidence."""

    evidences: int = 0
    rules: int = 0


def follow_quotes(catalog: Catalog, source_id: str, today: date) -> WithdrawnEvidence:
    """Re-verify the evidence that cites a source, as far as its documents changed since the last time.

    Evidence is withdrawn when its document was removed, has ended, or no longer has the words. One that is imported
    again after that has been looked at by its author, and stays until the document changes again. Of a document that
    the library has never held nothing is withdrawn: whether another one of the source has the words is noted.
    """
    cited = catalog.cited(source_id)
    if not cited:
        return WithdrawnEvidence()
    key = f"rules/quotes/{source_id}"
    known = catalog.value(key) or {"seq": 0, "day": 0}
    seen = {"seq": catalog.seq(), "day": today.toordinal()}
    lost: dict[str, dict[int, int]] = {}
    verified: dict[int, bool] = {}
    standings = catalog.standings(source_id, cited)
    for uri, standing in standings.items():
        reason, gone = _withdrawn(catalog, source_id, uri, cited[uri], standing, known, seen["day"], verified)
        if gone:
            lost[reason] = {one.row_id: one.statement_id for one in gone}
    loose = [one for uri in cited if uri not in standings for one in cited[uri] if one.quote]
    if loose and catalog.source_changed(source_id, known["seq"]):
        said = said_in(catalog.texts_of(source_id), {one.quote for one in loose}) or frozenset()
        verified |= {one.row_id: one.quote in said for one in loose if one.verified != (one.quote in said)}
    found = WithdrawnEvidence(*catalog.withdraw_evidence(source_id, lost)) if lost else WithdrawnEvidence()
    if verified:
        catalog.mark_quotes(source_id, verified)
    if seen != known:
        catalog.set_value(key, seen)
    return found


def said_in(texts: Iterable[str], quotes: Collection[str]) -> frozenset[str] | None:
    """The quotes that occur in any of the texts; None without any text."""
    missing = {quote: plain(quote) for quote in quotes}
    held = False
    for text in texts:
        held = True
        words = plain(text)
        missing = {quote: form for quote, form in missing.items() if form not in words}
        if not missing:
            break
    return frozenset(quotes) - missing.keys() if held else None


def _withdrawn(
    catalog: Catalog, source_id: str, uri: str, cited: Collection[Cited], standing: DocumentStanding,
    known: Mapping[str, int], today: int, verified: dict[int, bool],
) -> tuple[str, list[Cited]]:  # fmt: skip
    """Why evidence is withdrawn, and which; newly verified evidence is added to `verified`."""
    news = standing.since > known["seq"]
    if standing.until == 0:
        return msg("the document {uri} was removed", uri=uri), list(cited) if news else []
    if standing.until < today:
        ended = news or standing.until >= known["day"]
        # A rule that ends with the document, or before, was right as long as it was valid.
        return msg("the document {uri} is no longer in force", uri=uri), [
            c for c in cited if c.until > standing.until
        ] if ended else []
    if not news and all(c.verified or not c.quote for c in cited):
        return "", []
    words = plain(catalog.document_words(source_id, uri) or "")
    said = {c.row_id for c in cited if plain(c.quote) in words}
    verified.update((c.row_id, True) for c in cited if c.row_id in said and c.quote and not c.verified)
    return msg("the document {uri} no longer says it", uri=uri), [
        c for c in cited if c.row_id not in said
    ] if news else []
