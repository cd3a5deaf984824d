"""Rules follow what they quote: an evidence whose words a document no longer has is withdrawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from wenyuan.core.rules.quotes import plain

__all__ = ["Citations", "Lost", "follow_quotes", "said_in"]


class _Cited(Protocol):
    @property
    def row_id(self) -> int: ...

    @property
    def statement_id(self) -> int: ...

    @property
    def quote(self) -> str: ...

    @property
    def until(self) -> int: ...

    @property
    def verified(self) -> bool: ...


class _Standing(Protocol):
    @property
    def since(self) -> int: ...

    @property
    def until(self) -> int: ...


class Citations(Protocol):
    """The part of the catalog that knows what is cited of a source; see `catalog.rules_quotes`."""

    def seq(self) -> int: ...

    def value(self, key: str) -> Any: ...

    def set_value(self, key: str, value: Any) -> None: ...

    def cited(self, source_id: str) -> Mapping[str, Any]: ...

    def standings(self, source_id: str, uris: Iterable[str]) -> Mapping[str, Any]: ...

    def document_words(self, source_id: str, uri: str) -> str | None: ...

    def texts_of(self, source_id: str) -> Iterator[str]: ...

    def source_changed(self, source_id: str, since: int) -> bool: ...

    def mark_quotes(self, source_id: str, verified: Mapping[int, bool]) -> None: ...

    def withdraw_evidence(self, source_id: str, lost: Mapping[str, Mapping[int, int]]) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class Lost:
    """How many evidences were withdrawn, and how many rules were retired since nothing else supports them."""

    evidences: int = 0
    rules: int = 0


def follow_quotes(catalog: Citations, source_id: str, today: date) -> Lost:
    """Compare what is cited of a source with its documents, as far as these have changed since the last time.

    Evidence is withdrawn when its document was removed, has ended, or no longer has the words. One that is imported
    again after that has been looked at by its author, and stays until the document changes again. Of a document that
    the library has never held nothing is withdrawn: whether another one of the source has the words is noted.
    """
    cited = catalog.cited(source_id)
    if not cited:
        return Lost()
    key = f"rules/quotes/{source_id}"
    known = catalog.value(key) or {"seq": 0, "day": 0}
    seen = {"seq": catalog.seq(), "day": today.toordinal()}
    lost: dict[str, dict[int, int]] = {}
    verified: dict[int, bool] = {}
    standings = catalog.standings(source_id, cited)
    for uri, standing in standings.items():
        reason, gone = _gone(catalog, source_id, uri, cited[uri], standing, known, seen["day"], verified)
        if gone:
            lost[reason] = {one.row_id: one.statement_id for one in gone}
    loose = [one for uri in cited if uri not in standings for one in cited[uri] if one.quote]
    if loose and catalog.source_changed(source_id, known["seq"]):
        said = said_in(catalog.texts_of(source_id), {one.quote for one in loose}) or frozenset()
        verified |= {one.row_id: one.quote in said for one in loose if one.verified != (one.quote in said)}
    found = Lost(*catalog.withdraw_evidence(source_id, lost)) if lost else Lost()
    if verified:
        catalog.mark_quotes(source_id, verified)
    if seen != known:
        catalog.set_value(key, seen)
    return found


def said_in(texts: Iterable[str], quotes: Collection[str]) -> frozenset[str] | None:
    """Which of the quotes stand in one of the texts; None when there is no text."""
    missing = {quote: plain(quote) for quote in quotes}
    held = False
    for text in texts:
        held = True
        words = plain(text)
        missing = {quote: form for quote, form in missing.items() if form not in words}
        if not missing:
            break
    return frozenset(quotes) - missing.keys() if held else None


def _gone(
    catalog: Citations, source_id: str, uri: str, cited: Collection[_Cited], standing: _Standing,
    known: Mapping[str, int], today: int, verified: dict[int, bool],
) -> tuple[str, list[_Cited]]:  # fmt: skip
    """Why evidence is lost, and which; what is found for the first time is added to `verified`."""
    news = standing.since > known["seq"]
    if standing.until == 0:
        return f"the document {uri} was removed", list(cited) if news else []
    if standing.until < today:
        ended = news or standing.until >= known["day"]
        # A rule that ends with the document, or before, was right as long as it was valid.
        return f"the document {uri} is no longer in force", [
            c for c in cited if c.until > standing.until
        ] if ended else []
    if not news and all(c.verified or not c.quote for c in cited):
        return "", []
    words = plain(catalog.document_words(source_id, uri) or "")
    said = {c.row_id for c in cited if plain(c.quote) in words}
    verified.update((c.row_id, True) for c in cited if c.row_id in said and c.quote and not c.verified)
    return f"the document {uri} no longer says it", [c for c in cited if c.row_id not in said] if news else []
