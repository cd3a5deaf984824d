"""The other wordings of a question, which follow from the synonyms of a library.

A term is found in a question as the analyser reads both: full width, case, Traditional characters and, of Latin words,
endings make no difference. Chinese terms stand anywhere in a run of characters, Latin ones are whole words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, product
from typing import Any, NamedTuple

from wenyuan.core.model import MAX_QUERY_CHARS
from wenyuan.core.text.analysis import placed_stems, search_terms
from wenyuan.core.text.folding import has_han
from wenyuan.core.text.synonyms import Synonym, stems

MOST_WORDINGS = 8
"""Other wordings in which one question is asked, and terms of it that are replaced."""
_BETWEEN = re.compile(r"[\s\-_/'’]*|\.")
"""What may stand between two words of one term."""
_END = ""  # no stem is empty


@dataclass(frozen=True, slots=True)
class Wording:
    """A question in other words.

    Attributes:
        text: For people.
        words: Terms for the keyword leg.
        entries: Numbers of the synonyms that were used.
        replaced: What stands for what in it, as the table has both: it tells nothing else of the question.
    """

    text: str
    words: list[str]
    entries: tuple[int, ...]
    replaced: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Wordings:
    """A question as the legs are asked: by its text, by its terms, and by those of its other wordings."""

    text: str
    words: list[str]
    others: tuple[Wording, ...] = ()

    @property
    def each(self) -> Iterator[list[str]]:
        """Terms for the keyword leg: the question's own, then those of each other wording."""
        return chain([self.words], (other.words for other in self.others))

    def with_terms(self, meant: Mapping[str, str]) -> Wordings:
        """The same with other terms in the place of some."""
        others = tuple(replace(other, words=_put(other.words, meant)) for other in self.others)
        return replace(self, words=_put(self.words, meant), others=others)


def _put(words: Sequence[str], meant: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(meant.get(word, word) for word in words))


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a question says a term: places as offsets, and what may stand there as well."""

    places: tuple[tuple[int, int], ...]
    others: tuple[_Other, ...]


class _Other(NamedTuple):
    """What may stand for a term: both as the table has them, and the number of the entry."""

    term: str
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class SynonymTable:
    """Finds the terms of a table in questions. It does not change, so any number of threads may use it.

    Args:
        entries: In the order in which their wordings are asked.
    """

    entries: Sequence[Synonym] = ()
    _words: dict[str, Any] = field(init=False, default_factory=dict, repr=False, compare=False)
    """Tree of stems; under `_END` what may stand in place of those on the way there."""

    def __post_init__(self) -> None:
        for entry in self.entries:
            self._add(entry.term, entry.synonym, entry.number)
            if entry.both:
                self._add(entry.synonym, entry.term, entry.number)

    def _add(self, term: str, other: str, number: int) -> None:
        node = self._words
        for stem in stems(term):
            node = node.setdefault(stem, {})
        node.setdefault(_END, []).append(_Other(term, other, number))

    def wordings(self, text: str) -> Wordings:
        """The wordings of a question: its own, and at most `MOST_WORDINGS` others."""
        words = search_terms(text)
        if not self._words or not words:
            return Wordings(text, words)
        read, places = placed_stems(text)
        found = self._found(read, places)
        if not found:
            return Wordings(text, words)
        made = {tuple(words)}
        others = []
        for choice in _choices([len(one.others) for one in found]):
            wording = _with_synonyms(read, found, choice)
            if wording is not None and tuple(wording.words) not in made:
                made.add(tuple(wording.words))
                others.append(wording)
        return Wordings(text, words, tuple(others))

    def _found(self, read: str, places: Sequence[tuple[str, int, int]]) -> list[_Found]:
        """The terms that a question says, the longest first where they lie in one another; each once, with all its places."""
        matches: list[tuple[int, int, list[_Other]]] = []
        for first, (_, start, last) in enumerate(places):
            node, end = self._words, last
            for stem, begins, ends in islice(places, first, None):
                below = node.get(stem)
                if below is None or (begins > end and not _BETWEEN.fullmatch(read, end, begins)):
                    break
                node, end = below, ends
                if _END in node:
                    matches.append((start, end, node[_END]))
        taken = bytearray(len(read))
        by_term: dict[int, list[tuple[int, int]]] = {}
        meant: dict[int, list[_Other]] = {}
        for start, end, others in sorted(matches, key=lambda m: (m[0] - m[1], m[0])):
            if not any(taken[start:end]):
                taken[start:end] = b"\x01" * (end - start)
                meant[id(others)] = others
                by_term.setdefault(id(others), []).append((start, end))
        found = [_Found(tuple(where), tuple(meant[term])) for term, where in by_term.items()]
        return sorted(found[:MOST_WORDINGS], key=lambda one: one.places)


def _choices(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Which wordings of some terms to ask: 0 leaves a term as it is, n takes its n-th synonym.

    All terms in other words come first, then one at a time, then the rest.
    """
    together = (tuple(min(n, count) for count in counts) for n in range(1, max(counts, default=0) + 1))
    alone = (
        tuple(n if at == place else 0 for at in range(len(counts)))
        for place, count in enumerate(counts)
        for n in range(1, count + 1)
    )
    rest = product(*(range(count + 1) for count in counts))
    seen: set[tuple[int, ...]] = {(0,) * len(counts)}
    for choice in chain(together, alone, rest):
        if choice not in seen:
            seen.add(choice)
            yield choice
        if len(seen) > MOST_WORDINGS:
            return


def _with_synonyms(read: str, found: Sequence[_Found], choice: Sequence[int]) -> Wording | None:
    """A question with the synonyms of a choice; None where that is longer than a question may be."""
    taken = [(one, one.others[n - 1]) for one, n in zip(found, choice, strict=True) if n]
    parts = sorted((place, other.text) for one, other in taken for place in one.places)
    made, end = "", 0
    for (start, stop), text in parts:
        made, end = _joined(_joined(made, read[end:start]), text), stop
    made = _joined(made, read[end:])
    if len(made) > MAX_QUERY_CHARS:
        return None
    entries = tuple(dict.fromkeys(other.number for _, other in taken))
    return Wording(made, search_terms(made), entries, tuple((other.term, other.text) for _, other in taken))


def _joined(left: str, right: str) -> str:
    """Join two pieces of a text, with a space between two words."""
    apart = left[-1:].isalnum() and right[:1].isalnum() and not has_han(left[-1] + right[0])
    return f"{left} {right}" if apart else left + right
