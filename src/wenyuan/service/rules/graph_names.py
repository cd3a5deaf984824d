"""The names of the rules graph, and what a text may mean of them where it says none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from wenyuan.core.rules.graph import Graph, LexiconEntry, StatementSaid
from wenyuan.core.rules.linking import Linker
from wenyuan.core.rules.questions import IntentReader
from wenyuan.core.rules.schema import Schema
from wenyuan.core.rules.sentences import statement_sentence
from wenyuan.core.scoring.word_frequencies import terms_of, weights
from wenyuan.core.text.folding import has_han
from wenyuan.service.rules.name_vectors import LATIN, NameVectors, SayingText

MOST_SAID = 10_000
"""Statements of a graph whose sentences are compared by meaning; of a larger graph, names are."""
_LANGUAGES = ("zh", "en")
_SAYS = 1.5
"""What words that a text shares with a name say at least; see `core.scoring.word_frequencies`."""
_MOST_OF_NAME = 0.6
_SURELY = 1.06  # times the likeness that a start needs: an end is further from what a question says


@dataclass(frozen=True, slots=True)
class KnownGraph:
    """The graph's names and schema at one of its versions.

    Attributes:
        named: The names that are compared by meaning; none while that is not asked for.
        ends: The nodes of these that rules lead to and do not start at.
        said: The statements that are compared by meaning; none where there are too many.
        sentences: Each of them as it is said, in every language.
    """

    version: int
    linker: Linker
    schema: Schema
    named: tuple[LexiconEntry, ...]
    ends: frozenset[int]
    asks: IntentReader
    said: tuple[StatementSaid, ...] = ()
    sentences: tuple[SayingText, ...] = ()


def read_known(version: int, graph: Graph, schema: Schema, *, keep: bool) -> KnownGraph:
    graph.check(tuple(schema.relations))
    kinds = {pattern.start for pattern in schema.patterns.values()}
    starts: list[LexiconEntry] = []
    ends: set[int] = set()

    def entries() -> Iterator[LexiconEntry]:
        for entry in graph.lexicon():
            if keep and entry.type != "code":
                starts.append(entry)
                if entry.kind not in kinds:
                    ends.add(entry.node_id)
            yield entry

    linker = Linker(entries())
    said = tuple(graph.said(MOST_SAID)) if keep else ()
    return KnownGraph(
        version,
        linker,
        schema,
        tuple(starts),
        frozenset(ends),
        IntentReader(schema),
        said,
        tuple(_sentences(said, schema)),
    )


def _sentences(said: Iterable[StatementSaid], schema: Schema) -> Iterator[SayingText]:
    for one in said:
        texts = (statement_sentence(one.sentence, one.rel, one.src, one.dst, schema, tag) for tag in _LANGUAGES)
        yield from (SayingText(one.statement_id, text) for text in dict.fromkeys(texts))


@dataclass(slots=True, eq=False)
class Guess:
    """Guesses nodes by embedding similarity, without those hidden from the caller; `notes` says if names are not
    embedded yet.
    """

    names: NameVectors | None
    known: KnownGraph
    embed: Callable[[], Any] | None
    notes: tuple[str, ...] = ()
    without: Set[int] = frozenset()

    def __call__(self, text: str) -> Sequence[tuple[int, float]]:
        """The nodes that rules start at and that a text may mean."""
        return [one for one in self.likely(text) if one[0] not in self.known.ends]

    def ends(self, text: str) -> Mapping[int, float]:
        """The nodes that rules lead to and that a text may mean; asked where it means none that they start at."""
        found = [one for one in self.likely(text) if one[0] in self.known.ends]
        least = _SURELY * self.names.threshold * (1.0 if has_han(text) else LATIN) if self.names is not None else 1.0
        return {node: likeness for node, likeness in found if likeness >= least}

    def _worded(self, text: str) -> Callable[[int], bool]:
        """Whether a text has most of what a name says, and that says something."""

        def worded(at: int) -> bool:
            said = weights(terms_of(self.known.named[at].text))
            shared = sum(weight for term, weight in said.items() if term in terms)
            return shared >= max(_SAYS, _MOST_OF_NAME * sum(said.values()))

        terms = frozenset(terms_of(text))
        return worded

    def likely(self, text: str) -> Sequence[tuple[int, float]]:
        """All nodes that a text may mean, best first; none while names are not embedded."""
        if self.names is None or self.embed is None:
            return ()
        found = self.names.likely(
            self.known.version, self.known.named, self.embed, self.without, latin=not has_han(text),
            worded=self._worded(text),
        )  # fmt: skip
        if isinstance(found, str):
            self.notes = (found,)
            return ()
        return found
