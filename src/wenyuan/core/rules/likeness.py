"""Names that are nearly what a text says: candidates from pairs of characters, compared over their best window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from wenyuan.core.rules.spelling import whole_words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_TEXT_CHARS = 256  # of a text that names nothing exactly, only its beginning is compared
_POSTINGS = 60_000
_POOL = 50
_PLACES = 3  # of one pair in the text
_SLACK = 1.5  # a window may be longer than the name by half, for words put in between


@dataclass(frozen=True, slots=True)
class Likeness:
    """A fuzzy match: which name, where (in the normalised text), and its similarity (0..1).

    ``common`` is the number of their common pairs.
    """

    form: int
    start: int
    end: int
    common: int
    score: float


def likeness(common: int, name: int, part: int) -> float:
    """Dice coefficient of a name and a part of a text, from their common character pairs and lengths.

    A part shorter than the name counts as long as the name: cut short, it would look more alike than it is.
    """
    return 2 * common / (name - 1 + max(name, part) - 1)


class Alike:
    """An inverted index of character pairs of names, for fuzzy matching.

    Latin words count as wholes, and numbers are never guessed: C35 is not nearly C30.

    Args:
        forms: The folded names; a name is known by its place among them. An empty one is never found.
    """

    def __init__(self, forms: Sequence[str]) -> None:
        import numpy as np

        self._forms = forms
        sizes = np.fromiter(map(len, forms), np.int64, len(forms))
        lengths = np.maximum(sizes - 1, 0)
        pairs, ends = _alike_pairs("".join(forms)), np.cumsum(sizes)
        within = np.ones(len(pairs), bool)
        within[ends[(ends > 0) & (ends <= len(pairs))] - 1] = False  # the last of one name with the first of the next
        pairs = pairs[within]
        order = np.argsort(pairs).astype(np.int32)
        pairs.sort()
        self._owners = np.repeat(np.arange(len(forms), dtype=np.int32), lengths)[order]
        starts = np.flatnonzero(np.diff(pairs, prepend=-1))
        self._keys = pairs[starts]
        self._starts = np.append(starts, len(pairs))
        self._lengths = np.maximum(lengths, 1).astype(np.int32)

    def find(self, text: str, *, threshold: float, allowed: npt.NDArray[np.bool_] | None = None) -> list[Likeness]:
        """Up to 50 names with at least `threshold` similarity to some part of `text`, most similar first.

        Its time is bounded: only the beginning of a long text is compared, by its rarest pairs.

        Args:
            allowed: For each name whether it may be found; None: all.
        """
        text = text[:_TEXT_CHARS]
        places: dict[str, list[int]] = {}
        for at, (left, right) in enumerate(pairwise(text)):
            same = places.setdefault(left + right, [])
            if len(same) < _PLACES:
                same.append(at)
        found = []
        for form in self._pool(text, threshold, allowed):
            start, end, common = _best_window(self._forms[form], places, threshold)
            if not common:
                continue
            start, end = whole_words(text, start, end)
            score = likeness(common, len(self._forms[form]), end - start)
            if score >= threshold and _digits(text[start:end]) == _digits(self._forms[form]):
                found.append(Likeness(form, start, end, common, score))
        return sorted(found, key=lambda like: (-like.score, like.start, like.form))

    def _pool(self, text: str, threshold: float, allowed: npt.NDArray[np.bool_] | None) -> list[int]:
        """The names that share the largest fraction of their pairs with the text."""
        import numpy as np

        pairs = np.unique(_alike_pairs(text))
        places = np.searchsorted(self._keys, pairs)
        places = places[places < len(self._keys)]
        places = places[np.isin(self._keys[places], pairs)]
        sizes = self._starts[places + 1] - self._starts[places]
        order = np.argsort(sizes, kind="stable")
        if not len(order):
            return []
        rare = places[order][: max(1, int(np.searchsorted(np.cumsum(sizes[order]), _POSTINGS, "right")))]
        hits = np.concatenate([self._owners[self._starts[at] : self._starts[at + 1]] for at in rare])
        shares = np.bincount(hits, minlength=len(self._forms)) / self._lengths
        if allowed is not None:
            shares[~allowed] = 0.0
        # A pair of frequent characters may have been left out, hence half: the comparison itself is strict.
        likely = np.flatnonzero(shares >= threshold / 2)
        return [int(form) for form in likely[np.argsort(-shares[likely], kind="stable")][:_POOL]]


def _alike_pairs(text: str) -> npt.NDArray[np.int64]:
    """Pairs of neighbouring characters of a text, each encoded as one number."""
    import numpy as np

    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    pairs = points[:-1] << 21
    pairs |= points[1:]
    return pairs


def _best_window(form: str, places: dict[str, list[int]], threshold: float) -> tuple[int, int, int]:
    """The part of the text that is most similar to a name, among parts that begin and end with one of its pairs.

    Returns start, end and the number of common pairs; 0 where none can reach the threshold.
    """
    own = {left + right for left, right in pairwise(form)} & places.keys()
    m = len(form) - 1
    best, best_score = (0, 0, 0), 0.0
    if len(own) < threshold * m:
        return best
    hits = sorted((at, pair) for pair in own for at in places[pair])
    widest = max(int(m * _SLACK), m + 1)
    for first, (start, _) in enumerate(hits):
        common: set[str] = set()
        for at, pair in hits[first:]:
            width = at - start + 1
            if width > widest:
                break
            common.add(pair)
            score = likeness(len(common), m + 1, width + 1)
            if score > best_score:
                best, best_score = (start, at + 2, len(common)), score
    return best


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
