"""Entity linking without a model: which names of the graph occur in a text, and where.

All names, labels, aliases and codes are looked for in one pass (Aho, Corasick 1975), in the folded form of
`spelling`. Of names that lie within one another the longest counts; names that merely overlap count both
(``基坑开挖支护`` says 基坑开挖 and 开挖支护), which leftmost-longest search would not give. One character, or a
bare number, is a name only when it is the whole text. Where nothing is found, names that are nearly written so,
and then those that mean nearly the same, are guessed, with lower scores.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import ahocorasick
import numpy as np
import numpy.typing as npt

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.rules.graph import LexiconEntry
from wenyuan.core.rules.likeness import Alike, likeness
from wenyuan.core.rules.spelling import Spelling, form_of, only_as_whole, spell

NOTHING_RECOGNISED = "no entity recognised"
Similar = Callable[[str], Sequence[tuple[int, float]]]
"""Nodes whose names mean about what a text says: node_id and likeness (0..1), best first."""

_TYPE_FACTORS = {"pref": 1.0, "alt": 0.97, "abbr": 0.9, "typo": 0.85, "code": 1.0}
_GUESSED = 0.7  # factor of a score that rests on likeness
_LIKE_IN_TEXT = 0.7
_LIKE_AS_NAME = 0.8
_MAX_GUESSES = 5  # candidates of one guessed span


@dataclass(frozen=True, slots=True)
class NodeCandidate:
    """A node that may be meant; ``score`` (0..1] is the confidence."""

    node_id: int
    kind: str
    score: float

    def __post_init__(self) -> None:
        if not 0.0 < self.score <= 1.0:
            raise ValueError(f"the score of node {self.node_id} is {self.score!r}; it must be above 0, at most 1")


@dataclass(frozen=True, slots=True)
class Span:
    """A mention in the text.

    Attributes:
        start, end: Offsets in the text as it was given; ``text`` is what stands there.
        candidates: Best first; several where the name is that of several nodes.
        by: ``name``: written so; ``spelling``: nearly so; ``meaning``: the text as a whole means about this.
    """

    start: int
    end: int
    text: str
    candidates: tuple[NodeCandidate, ...]
    by: Literal["name", "spelling", "meaning"] = "name"


@dataclass(frozen=True, slots=True)
class Linked:
    """The mentions of a text in order; ``reason`` says why there are none."""

    spans: tuple[Span, ...]
    reason: str = ""


class Linker:
    """Finds mentions of nodes in texts.

    It is built once for a version of the graph; it does not change after, so any number of threads may use it.

    Args:
        entries: Every way to write every node.

    Raises:
        InvalidRequest: an entry has an unknown type, or a weight that is not above 0 and at most 1.
    """

    def __init__(self, entries: Iterable[LexiconEntry]) -> None:
        self._nodes = array("q")
        self._scores = array("d")
        self._classes = array("i")  # of each entry: which kind and scope
        self._kinds: list[tuple[str, frozenset[str]]] = []
        self._forms: list[str] = []
        places = array("i")  # of each entry: which form it has
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        classes: dict[tuple[str, tuple[str, ...]], int] = {}
        for entry in entries:
            form = form_of(entry.text)
            if form:
                places.append(self._place(form))
                self._add(entry, classes)
        self._automaton.make_automaton()
        self._alike = Alike(["" if only_as_whole(form) else form for form in self._forms])
        forms = np.frombuffer(places, np.int32) if places else np.empty(0, np.int32)
        self._form_of = forms
        self._by_form = np.argsort(forms, kind="stable")  # the entries, those of one form together
        self._firsts = np.searchsorted(forms[self._by_form], np.arange(len(self._forms) + 1))

    def _place(self, form: str) -> int:
        """The index of a name form; new forms are added to the automaton."""
        at: int | None = self._automaton.get(form, None)
        if at is None:
            at = len(self._forms)
            self._automaton.add_word(form, at)
            self._forms.append(form)
        return at

    def _add(self, entry: LexiconEntry, classes: dict[tuple[str, tuple[str, ...]], int]) -> None:
        if entry.type not in _TYPE_FACTORS or not 0.0 < entry.weight <= 1.0:
            raise InvalidRequest(
                msg(
                    "the name {text} has type {type} and weight {weight}; the type must be one of "
                    "{type_factors}, the weight above 0, at most 1",
                    text=repr(entry.text),
                    type=repr(entry.type),
                    weight=repr(entry.weight),
                    type_factors=", ".join(_TYPE_FACTORS),
                )
            )
        number = classes.setdefault((entry.kind, entry.scope), len(classes))
        if number == len(self._kinds):
            self._kinds.append((entry.kind, frozenset(map(form_of, entry.scope))))
        self._nodes.append(entry.node_id)
        self._scores.append(entry.weight * _TYPE_FACTORS[entry.type])
        self._classes.append(number)

    def names(self, node_ids: Collection[int]) -> Mapping[int, tuple[str, ...]]:
        """All names of these nodes, in the form of `spelling`."""
        nodes = np.frombuffer(self._nodes, np.int64) if self._nodes else np.empty(0, np.int64)
        found: dict[int, list[str]] = {}
        for entry in np.flatnonzero(np.isin(nodes, np.fromiter(node_ids, np.int64, len(node_ids)))).tolist():
            found.setdefault(self._nodes[entry], []).append(self._forms[self._form_of[entry]])
        return {node: tuple(dict.fromkeys(forms)) for node, forms in found.items()}

    def link(
        self,
        text: str,
        *,
        kinds: Collection[str] | None = None,
        scope: str | None = None,
        similar: Similar | None = None,
        without: Set[int] = frozenset(),
    ) -> Linked:
        """Find the mentions in a text; linear in its length.

        Args:
            text: In any spelling.
            kinds: Only nodes of these kinds; None: of all.
            scope: The engineering type (or whatever limits nodes) in question: nodes limited to others are left out.
            similar: Asked when no name is found, nor one nearly written so.
            without: Nodes that are not there for who asks: their names hide no other name.
        """
        allowed = _Allowed(self._kinds, kinds, form_of(scope) if scope else "", without)
        spelling = spell(text)
        spans = self._exact_mentions(text, spelling, allowed)
        if not spans:
            spans = self._nearly(text, spelling, allowed)
        if not spans and similar is not None and text.strip() and (likely := similar(text)):
            spans = self._similar_names(text, likely, allowed)
        return Linked(spans, "" if spans else NOTHING_RECOGNISED)

    def resolve(
        self,
        name: str,
        *,
        kinds: Collection[str] | None = None,
        scope: str | None = None,
        without: Set[int] = frozenset(),
    ) -> tuple[NodeCandidate, ...]:
        """Candidates for a name given by the caller, best first; empty if it is unknown.

        A name that is only nearly known counts when the likeness of the whole is at least .8.
        """
        allowed = _Allowed(self._kinds, kinds, form_of(scope) if scope else "", without)
        spelling = spell(name)
        form = self._automaton.get(spelling.text, None) if spelling.text else None
        exact = self._candidates(form, allowed) if form is not None else ()
        if exact or not spelling.text:
            return exact
        alike = self._alike.find(spelling.text, threshold=_LIKE_AS_NAME, allowed=self._mask(allowed))
        whole = [(a.form, likeness(a.common, len(self._forms[a.form]), len(spelling.text))) for a in alike]
        likely = [(at, _GUESSED * score) for at, score in whole if score >= _LIKE_AS_NAME]
        return self._best(likely, allowed)

    def _exact_mentions(self, text: str, spelling: Spelling, allowed: _Allowed) -> tuple[Span, ...]:
        """Exact mentions, without those inside longer ones; of matches with the same end, the longest."""
        form = spelling.text
        found: list[tuple[int, int, tuple[NodeCandidate, ...]]] = []
        known: dict[int, tuple[NodeCandidate, ...]] = {}
        done = -1
        for last, at in self._automaton.iter(form) if self._forms else ():
            if last == done:
                continue  # of names with the same end, the search gives the longest first
            if at not in known:
                whole = len(self._forms[at]) == len(form)
                known[at] = self._candidates(at, allowed) if whole or not only_as_whole(self._forms[at]) else ()
            start = last + 1 - len(self._forms[at])
            if known[at] and (end := spelling.is_word(start, last + 1)):
                done = last
                found.append((start, end, known[at]))
        spans: list[Span] = []
        reached = 0
        for start, end, candidates in sorted(found, key=lambda match: (match[0], -match[1])):
            if end > reached:
                reached = end
                first, last = spelling.original(start, end)
                spans.append(Span(first, last, text[first:last], candidates))
        return tuple(spans)

    def _nearly(self, text: str, spelling: Spelling, allowed: _Allowed) -> tuple[Span, ...]:
        """Fuzzy mentions; of overlapping ones, the most similar, with the others as candidates."""
        spans: list[Span] = []
        rest = self._alike.find(spelling.text, threshold=_LIKE_IN_TEXT, allowed=self._mask(allowed))
        while rest:
            best = rest[0]
            same = [like for like in rest if like.start < best.end and best.start < like.end]
            rest = [like for like in rest if like.start >= best.end or best.start >= like.end]
            guesses = self._best([(like.form, _GUESSED * like.score) for like in same], allowed)
            first, last = spelling.original(best.start, best.end)
            spans.append(Span(first, last, text[first:last], guesses, "spelling"))
        return tuple(sorted(spans, key=lambda span: span.start))

    def _similar_names(self, text: str, similar: Sequence[tuple[int, float]], allowed: _Allowed) -> tuple[Span, ...]:
        nodes = np.frombuffer(self._nodes, np.int64) if self._nodes else np.empty(0, np.int64)
        scores: dict[tuple[int, str], float] = {}
        for node_id, score in similar:
            for entry in np.flatnonzero(nodes == node_id)[:1]:
                if allowed(self._classes[entry]) and node_id not in allowed.without:
                    scores[node_id, self._kinds[self._classes[entry]][0]] = _GUESSED * score
        candidates = _ranked(scores)[:_MAX_GUESSES]
        return (Span(0, len(text), text, candidates, "meaning"),) if candidates else ()

    def _mask(self, allowed: _Allowed) -> npt.NDArray[np.bool_] | None:
        """For each form, whether any of its entries is allowed."""
        if not (allowed.kinds is not None or allowed.scope or allowed.without) or not self._forms:
            return None
        of_class = np.fromiter(map(allowed, range(len(self._kinds))), bool, len(self._kinds))
        of_entry = of_class[np.frombuffer(self._classes, np.int32)[self._by_form]]
        if allowed.without:
            of_entry &= ~np.isin(np.frombuffer(self._nodes, np.int64)[self._by_form], list(allowed.without))
        return np.asarray(np.logical_or.reduceat(of_entry, self._firsts[:-1]))

    def _candidates(self, form: int, allowed: _Allowed) -> tuple[NodeCandidate, ...]:
        return self._best([(form, 1.0)], allowed, len(self._nodes))

    def _best(
        self, forms: Iterable[tuple[int, float]], allowed: _Allowed, most: int = _MAX_GUESSES
    ) -> tuple[NodeCandidate, ...]:
        """The nodes of forms, each with its best score times the form's factor."""
        scores: dict[tuple[int, str], float] = {}
        for form, factor in forms:
            for entry in self._by_form[self._firsts[form] : self._firsts[form + 1]].tolist():
                number = self._classes[entry]
                if allowed(number) and self._nodes[entry] not in allowed.without:
                    node = self._nodes[entry], self._kinds[number][0]
                    scores[node] = max(scores.get(node, 0.0), self._scores[entry] * factor)
        return _ranked(scores)[:most]


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The entries that a request allows: by kind and scope (as it is spelled), without the nodes hidden from it."""

    classes: Sequence[tuple[str, frozenset[str]]]
    kinds: Collection[str] | None
    scope: str
    without: Set[int]

    def __call__(self, number: int) -> bool:
        kind, scopes = self.classes[number]
        return (self.kinds is None or kind in self.kinds) and (not self.scope or not scopes or self.scope in scopes)


def _ranked(scores: dict[tuple[int, str], float]) -> tuple[NodeCandidate, ...]:
    found = (NodeCandidate(node_id, kind, score) for (node_id, kind), score in scores.items())
    return tuple(sorted(found, key=lambda candidate: (-candidate.score, candidate.node_id)))
