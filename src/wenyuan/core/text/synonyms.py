"""Synonyms of a library: what people say for what its documents say, and the other wordings of a question that follow.

A term is found in a question as the analyser reads both: full width, case, Traditional characters and, of Latin words,
endings make no difference. Chinese terms stand anywhere in a run of characters, Latin ones are whole words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, product
from typing import Any, NamedTuple

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.model import MAX_QUERY_CHARS
from wenyuan.core.text.analysis import fold, has_han, placed_stems, search_terms

MOST_SYNONYMS = 10_000
"""Entries of one table."""
MOST_CHARS = 64
"""Of one side of an entry."""
MOST_WORDINGS = 8
"""Other wordings in which one question is asked, and terms of it that are replaced."""

_DIRECTIONS = ("both", "one_way")
_BETWEEN = re.compile(r"[\s\-_/'’]*|\.")
"""What may stand between two words of one term."""
_END = ""  # no stem is empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """An entry of the table: a question that says `term` is also asked with `synonym` in its place.

    Attributes:
        both: A question that says `synonym` is also asked with `term`.
        number: Given by the catalog, never twice; 0 for one that is not stored.
        actor: Id of the key, or ``local``, with which it was entered.
        at: When, in seconds since the epoch.
    """

    term: str
    synonym: str
    both: bool = True
    number: int = 0
    actor: str = ""
    at: float = 0.0

    @property
    def label(self) -> str:
        """As one line."""
        return f"{self.term} {'↔' if self.both else '→'} {self.synonym}"

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the analyser reads on both sides; of an entry for both directions the same either way round."""
        sides = stems(self.term), stems(self.synonym)
        return (min(sides), max(sides)) if self.both else sides

    def replaces(self, other: Synonym) -> bool:
        """Whether this entry takes the place of another one: the same two, unless each is one way and they differ."""
        mine, others = self.key, other.key
        return mine == others or ((self.both or other.both) and sorted(mine) == sorted(others))


@dataclass(frozen=True, slots=True, kw_only=True)
class SynonymsPut:
    """The result of adding synonyms.

    Attributes:
        entries: The new ones, and those that took the place of others, with their numbers.
    """

    added: int
    changed: int
    unchanged: int
    entries: tuple[Synonym, ...]


def stems(text: str) -> tuple[str, ...]:
    """What a term is found by: characters of Chinese, stems of Latin words."""
    return tuple(stem for stem, _, _ in placed_stems(text)[1])


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


# -- as people and programs write them ------------------------------------------------------------------------
def parse_synonym(value: Mapping[str, Any]) -> Synonym:
    """An entry from its wire form: ``term``, ``synonym`` and ``direction`` (``both``, unless said otherwise).

    Raises:
        InvalidRequest: listing every fault.
    """
    known = ("term", "synonym", "direction")
    faults = [
        Fault(str(name), msg("unknown{near}", near=did_you_mean(str(name), known)))
        for name in value
        if name not in known
    ]
    term, synonym = (_side(value, name, faults) for name in known[:2])
    direction = value.get("direction", _DIRECTIONS[0])
    if direction not in _DIRECTIONS:
        faults.append(Fault("direction", "must be 'both' or 'one_way'"))
    if not faults and stems(term) == stems(synonym):
        faults.append(Fault("synonym", "is read as the same as the term already"))
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return Synonym(term=term, synonym=synonym, both=direction == _DIRECTIONS[0])


def _side(value: Mapping[str, Any], name: str, faults: list[Fault]) -> str:
    given = value.get(name)
    text = " ".join(unicodedata.normalize("NFKC", given).split()) if isinstance(given, str) else ""
    if not 0 < len(text) <= MOST_CHARS:
        faults.append(Fault(name, msg("must be a string of 1 to {most_chars} characters", most_chars=MOST_CHARS)))
    elif any(unicodedata.category(c)[0] == "C" for c in text):
        faults.append(Fault(name, "must hold no control characters"))
    elif not search_terms(text) or not stems(text):
        faults.append(Fault(name, "must hold a word or a character to search for"))
    return text


def containing(entries: Iterable[Synonym], text: str) -> list[Synonym]:
    """The entries that hold a text on one of their sides, in any width and case; all of them for ``""``."""
    wanted = fold(text.strip())
    return [entry for entry in entries if wanted in fold(entry.term) or wanted in fold(entry.synonym)]


def synonym_to_wire(entry: Synonym) -> dict[str, Any]:
    """What `parse_synonym` reads."""
    return {"term": entry.term, "synonym": entry.synonym, "direction": _DIRECTIONS[0 if entry.both else 1]}


def described(entry: Synonym) -> dict[str, Any]:
    """An entry as JSON values."""
    return {"number": entry.number, **synonym_to_wire(entry), "actor": entry.actor, "at": entry.at}
