"""Rules follow what they quote: an evidence whose words a document no longer has is withdrawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from wenyuan.core.rules.quotes import plain

__all__ = ["Citations", "Lost", "follow_quotes"]


class _Cited(Protocol):
    @property
    def row_id(self) -> int: ...

    @property
    def statement_id(self) -> int: ...

    @property
    def quote(self) -> str: ...

    @property
    def until(self) -> int: ...


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

    def withdraw_evidence(self, source_id: str, lost: Mapping[str, Mapping[int, int]]) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class Lost:
    """How many evidences were withdrawn, and how many rules were retired since nothing else supports them."""

    evidences: int = 0
    rules: int = 0


def follow_quotes(catalog: Citations, source_id: str, today: date) -> Lost:
    """Compare what is cited of a source with its documents, as far as these have changed since the last time.

    Evidence is withdrawn when its document was removed, has ended, or no longer has the words. One that is imported
    again after that has been looked at by its author, and stays until the document changes again. Documents that the
    library has never held say nothing.
    """
    cited = catalog.cited(source_id)
    if not cited:
        return Lost()
    key = f"rules/quotes/{source_id}"
    known = catalog.value(key) or {"seq": 0, "day": 0}
    seen = {"seq": catalog.seq(), "day": today.toordinal()}
    lost: dict[str, dict[int, int]] = {}
    for uri, standing in catalog.standings(source_id, cited).items():
        reason, gone = _gone(catalog, source_id, uri, cited[uri], standing, known, seen["day"])
        if gone:
            lost[reason] = {one.row_id: one.statement_id for one in gone}
    found = Lost(*catalog.withdraw_evidence(source_id, lost)) if lost else Lost()
    if seen != known:
        catalog.set_value(key, seen)
    return found


def _gone(
    catalog: Citations, source_id: str, uri: str, cited: Iterable[_Cited], standing: _Standing,
    known: Mapping[str, int], today: int,
) -> tuple[str, list[_Cited]]:  # fmt: skip
    """Why evidence is lost, and which."""
    news = standing.since > known["seq"]
    if standing.until == 0:
        return f"the document {uri} was removed", list(cited) if news else []
    if standing.until < today:
        ended = news or standing.until >= known["day"]
        # A rule that ends with the document, or before, was right as long as it was valid.
        return f"the document {uri} is no longer in force", [
            c for c in cited if c.until > standing.until
        ] if ended else []
    if not news:
        return "", []
    words = plain(catalog.document_words(source_id, uri) or "")
    return f"the document {uri} no longer says it", [c for c in cited if plain(c.quote) not in words]
