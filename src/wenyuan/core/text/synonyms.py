"""Synonyms of a library: what people say for what its documents say; how a question is asked with them is `text.wordings`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.text.folding import fold

MOST_SYNONYMS = 10_000
"""Entries of one table."""
MOST_CHARS = 64
"""Of one side of an entry."""

_DIRECTIONS = ("both", "one_way")


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
    from wenyuan.core.text.analysis import placed_stems  # its grammars are large, and a list of synonyms needs none

    return tuple(stem for stem, _, _ in placed_stems(text)[1])


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
    from wenyuan.core.text.analysis import search_terms

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
