"""How much of what a question says its passages say, by words that are rare in general text, and by words that say nearly the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from operator import mul

from wenyuan.core.model import Passage
from wenyuan.core.scoring.answerable import ACROSS, FIRST
from wenyuan.core.scoring.content_words import content_words, share_in
from wenyuan.core.scoring.probability import WordMatch
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.core.scoring.word_neighbours import Neighbour, neighbours
from wenyuan.core.text.folding import fold
from wenyuan.service.search.candidates import Ranked

_TITLED, _LEAST = 0.7, 0.15
_NAMED = 3.0
"""What a word says at least that names a thing."""


class Coverage:
    """The content words of a question, and the share of what they say that passages have.

    Args:
        script: Of the question, ``han`` or ``latin``.
        meant: What stands for stems of it that are spelled wrongly.

    Attributes:
        things: Those of its words that name something.
        total: What all its words say together.
    """

    def __init__(self, question: str, script: str, meant: Mapping[str, str] | None = None) -> None:
        self._script = script
        self.words = content_words(question, meant)
        self.things = tuple(word for word in self.words if word.thing and word.says >= _NAMED)
        self.total = sum(word.says for word in self.words)
        self._folded: dict[int, str] = {}
        self._says = [word.says for word in self.words]
        self._shares: dict[int, Sequence[float]] = {}

    def among(self, passages: Sequence[Passage], language: str) -> float:
        """The largest share of what the question's words say that one of the passages has, 0..1; words that say nearly the same
        count in part (see `core.scoring.word_neighbours`).

        Args:
            language: Of the best passage; `ACROSS` where it is not the question's, or no word of the question says anything.
        """
        if self._is_foreign(language) or not self.total:
            return ACROSS
        most = 0.0
        for one in passages:
            most = self._in_any_words(one, most)
        return most

    def of(self, passage: Passage) -> float | None:
        """The share that a passage has; None where words do not tell: it is in another language."""
        return None if self._is_foreign(passage.language) or not self.total else self._whole(passage)

    def compare(self, passages: Sequence[Passage]) -> None:
        """Compare the words with these passages now, with all of them at once, where words tell."""
        told = [one for one in passages if self.total and not self._is_foreign(one.language)]
        texts = [whole_text(one) for one in told]
        self._folded.update(zip((one.passage_id for one in told), map(fold, texts), strict=True))
        for one in told:
            folded = self._folded[one.passage_id]
            self._shares[one.passage_id] = [share_in(word.text, folded) for word in self.words]

    def groups(self, passages: Sequence[Passage]) -> Sequence[Hashable]:
        """Of each passage its title and headings, if they alone have most of what it has of the question; else None.

        Passages of one such group, as the answers under a question of a FAQ, are no rivals of each other; the rows of a table are.
        """
        if not self.total:
            return [None] * len(passages)
        headings = [None if one.cell else (one.title, *one.headings) for one in passages]
        different = [heading for heading in dict.fromkeys(headings) if heading is not None]
        folded = [fold("\n".join(heading)) for heading in different]
        shares = {
            heading: sum(word.says * share_in(word.text, text) for word in self.words) / self.total
            for heading, text in zip(different, folded, strict=True)
        }
        return [
            heading
            if heading and shares[heading] > _LEAST and shares[heading] >= _TITLED * self._whole(one)
            else None
            for one, heading in zip(passages, headings, strict=True)
        ]

    def _is_foreign(self, language: str) -> bool:
        return (language == CHINESE) != (self._script == "han")

    def folded(self, passage: Passage) -> str:
        """What a passage is found by, as it is compared."""
        number = passage.passage_id
        if number not in self._folded:
            self._folded[number] = fold(whole_text(passage))
        return self._folded[number]

    def _whole(self, passage: Passage) -> float:
        return float(sum(map(mul, self._says, self._stands(passage)))) / self.total

    def _stands(self, passage: Passage) -> Sequence[float]:
        """How much of each word a passage has, 0..1."""
        number = passage.passage_id
        if number not in self._shares:
            folded = self.folded(passage)
            self._shares[number] = [share_in(word.text, folded) for word in self.words]
        return self._shares[number]

    def _in_any_words(self, passage: Passage, least: float) -> float:
        """The share that a passage says in the question's words or in neighbouring ones, or `least` where it says no more."""
        stands = self._stands(passage)
        if sum(map(mul, self._says, map(max, stands, self._nearest))) / self.total <= least:
            return least
        folded, shares = self.folded(passage), []
        for word, share, nearest in zip(self.words, stands, self._nearest, strict=True):
            if share < nearest:  # what the nearest neighbour that stands there counts, if that is more
                closer = takewhile(lambda near: near.counts > share, self._neighbours[word.text])  # noqa: B023
                shares.append(next((near.counts for near in closer if share_in(near.text, folded) == 1.0), share))
            else:
                shares.append(share)
        return max(least, float(sum(map(mul, self._says, shares))) / self.total)

    @cached_property
    def _nearest(self) -> Sequence[float]:
        """What the nearest neighbour of each word counts; 0 where it has none."""
        return [max((near.counts for near in self._neighbours[word.text]), default=0.0) for word in self.words]

    @cached_property
    def _neighbours(self) -> Mapping[str, Sequence[Neighbour]]:
        return {word.text: neighbours(word.text) for word in self.words}

    def stands_as_neighbour(self, word: str, folded: str) -> bool:
        """Whether a neighbour of one of the question's words stands in a text."""
        return any(share_in(near.text, folded) == 1.0 for near in self._neighbours[word])


def word_matches(ranked: Ranked, coverage: Coverage) -> Mapping[int, WordMatch]:
    """How the words of each of the first passages match the question, by passage id."""
    first = [passage for _, passage in ranked[:FIRST]]
    groups = coverage.groups(first)
    return {one.passage_id: WordMatch(coverage.of(one), group) for one, group in zip(first, groups, strict=True)}


def whole_text(passage: Passage) -> str:
    """What a passage is found by: title, headings, lead and text."""
    return "\n".join((passage.title, *passage.headings, passage.lead, passage.text))
