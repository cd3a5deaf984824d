"""Where the words that a rule rests on are opened: in the passage of the library that has them, else in their source."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from wenyuan.core.anchors import parted, passages_at
from wenyuan.core.model import Passage
from wenyuan.core.principals import reading_as
from wenyuan.core.rules.quotes import plain

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


_MOST_PASSAGES = 2_000  # of one document or, where that is not here, of its source: beyond, nothing is looked for
_MOST_KEPT = 64  # documents


class QuotedEvidence(Protocol):
    """Evidence, from the catalog or from a derivation."""

    @property
    def source_id(self) -> str: ...

    @property
    def uri(self) -> str: ...

    @property
    def clause(self) -> str: ...

    @property
    def quote(self) -> str: ...

    @property
    def verified(self) -> bool: ...

    @property
    def address(self) -> str: ...


Cite = Callable[[QuotedEvidence], str]
"""The address at which an evidence is opened."""


def elsewhere(evidence: QuotedEvidence) -> str:
    """The address of evidence in a source that the library does not hold."""
    return evidence.address


@dataclass(slots=True)
class _Read:
    """A document prepared for finding quotes.

    Attributes:
        seq: The change as of which it is known to be the same.
        words: Its text in the form that quotes are compared in; ``begins[i]``: where passage i begins in it.
        passages: In order, without their texts.
        found: By clause and quote, the addresses that were found; ``""``: none.
    """

    seq: int
    words: str
    begins: list[int]
    passages: list[Passage]
    found: dict[tuple[str, str], str] = field(default_factory=dict)

    def address(self, clause: str, quote: str) -> str:
        if (clause, quote) not in self.found:
            self.found[clause, quote] = self._sought(clause, plain(quote))
        return self.found[clause, quote]

    def holding(self, quote: str) -> Passage | None:
        """The passage in which a quote, in the form of `plain`, begins."""
        at = self.words.find(quote) if quote else -1
        return self.passages[bisect_right(self.begins, at) - 1] if at >= 0 else None

    def _sought(self, clause: str, quote: str) -> str:
        holding = self.holding(quote)
        if holding is not None:
            return holding.uri
        named = passages_at(self.passages, clause) if clause else []
        return named[0].uri if named else ""


class CitedPlaces:
    """Finds the passages that contain the quotes of evidence. Thread-safe.

    A document is read once, and again when its source has changed.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._kept: OrderedDict[tuple[str, str | None], _Read] = OrderedDict()
        self._lock = threading.Lock()

    def now(self) -> Cite:
        """Finds addresses in the current library."""
        seq = self._catalog.seq()
        return lambda evidence: self._address(evidence, seq)

    def places(self) -> Callable[[QuotedEvidence], int | None]:
        """Finds the numbers of the passages that have quotes in the current library."""
        seq = self._catalog.seq()
        return lambda evidence: self._passage(evidence, seq) if evidence.verified else None

    def _passage(self, evidence: QuotedEvidence, seq: int) -> int | None:
        document = parted(evidence.uri)[0]
        for uri in (*filter(None, (document,)), *self._anywhere(evidence)):
            found = self._read(evidence.source_id, uri, seq).holding(plain(evidence.quote))
            if found is not None:
                return found.passage_id
        return None

    def _address(self, evidence: QuotedEvidence, seq: int) -> str:
        document, fragment, _ = parted(evidence.uri)
        anywhere = self._anywhere(evidence) if evidence.quote and evidence.verified else ()
        for uri in (*filter(None, (document,)), *anywhere):
            found = self._read(evidence.source_id, uri, seq).address(evidence.clause or fragment, evidence.quote)
            if found:
                return found
        return elsewhere(evidence)

    def _anywhere(self, evidence: QuotedEvidence) -> tuple[None, ...]:
        """Whether a quote is looked for in all of its source: not where some of that is hidden from the caller."""
        hidden = self._catalog.hidden()
        return () if hidden is not None and evidence.source_id in hidden.sources else (None,)

    def _read(self, source_id: str, uri: str | None, seq: int) -> _Read:
        with self._lock:
            known = self._kept.get((source_id, uri))
        if known is not None and (known.seq >= seq or not self._catalog.source_changed(source_id, known.seq)):
            known.seq = max(known.seq, seq)
            return known
        numbers = self._catalog.cited_passages(source_id, uri, _MOST_PASSAGES + 1)
        with reading_as(None):  # it is kept for others, too
            held = self._catalog.passages(numbers) if len(numbers) <= _MOST_PASSAGES else {}
        passages = [held[number] for number in numbers if number in held]
        forms = [plain(passage.text) for passage in passages]
        begins = [0, *accumulate(map(len, forms))][:-1]
        read = _Read(seq, "".join(forms), begins, [replace(passage, text="") for passage in passages])
        with self._lock:
            self._kept[source_id, uri] = read
            self._kept.move_to_end((source_id, uri))
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return read
