"""A library's own sense of its questions: a linear map on query vectors, learned from judged questions.

The encoder stays as it is and no passage is embedded again: what the vector leg looks for, ``q``, becomes
``unit(M · q + b)``. ``M`` and ``b`` are learned contrastively (temperature .02, as in van den Oord et al. 2018,
"Representation Learning with Contrastive Predictive Coding") against the collection's own passages, by Adam (Kingma &
Ba 2015) from the identity, and pulled back towards it. Every answer of a question is a target of its own, so that
an answer in another language or wording is not left behind the nearest one. What keywords find counts as found: the
map learns what they do not know.

A map changes the spread of cosines; `levelled` measures by how much, so that mapped cosines can be fused and
compared with floors as before.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import IndexCorrupt, msg

Array = NDArray[np.float32]
Answers = Sequence[Sequence[NDArray[np.int64]]]
"""By question, by answer: the row numbers of the passages that hold it."""
Words = Sequence[tuple[NDArray[np.int64], Array]]
"""By question: the row numbers of the passages that keywords find, each once, and their scores, 0..1."""
C = TypeVar("C", float, Array)

_MAGIC = {False: b"wenyuan query map 1\n", True: b"wenyuan query map 2\n"}  # by `QueryMap.aimed`
_COMPONENT = "tuning"
_MEND = "wenyuan tune --undo"
_BEST = 20  # cosines of a question that the spread is measured on: those that get into an answer
_MOST_LEVELLED = 128  # questions that it is measured on
_BLOCK = 64  # questions compared with all passages at once: 100,000 passages take 26 MB then


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnSettings:
    """Hyperparameters of `learn`. The defaults were found on four collections; see bench/tune.py.

    Attributes:
        pull: Weight of ``|M − 1|² + |b|²`` in the loss.
        words: What a keyword score of 1 counts as, as a cosine.
        batch: Questions in one step, at most.
        pool: Passages compared with, at most: those that the questions are nearest to, and by chance.
        chance: How many of `pool` are drawn by chance.
    """

    steps: int = 50
    rate: float = 3e-3
    temperature: float = 0.02
    pull: float = 0.1
    words: float = 0.05
    batch: int = 256
    pool: int = 4_000
    chance: int = 1_000
    seed: int = 7


LEARNING = LearnSettings()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryMap:
    """``q → unit(matrix · q + shift)``, and ``cosine → scale · cosine + offset`` after it.

    Attributes:
        matrix: ``(d, d)`` float32.
        shift: ``(d,)`` float32.
        aimed: It is applied to what is looked for without it, centred; else, as once, to the query as it was embedded.
    """

    matrix: Array
    shift: Array
    scale: float = 1.0
    offset: float = 0.0
    aimed: bool = True

    def apply(self, vectors: Array) -> Array:
        """Mapped unit vectors, of the given shape: ``(d,)`` or ``(n, d)``."""
        moved = vectors @ self.matrix.T + self.shift
        lengths = np.linalg.norm(moved, axis=-1, keepdims=True)
        # What is mapped to nothing has no direction of its own: it keeps the one it had.
        units: Array = np.where(lengths > 0, moved / np.maximum(lengths, np.finfo(np.float32).tiny), vectors)
        return units.astype(np.float32, copy=False)

    def level(self, cosine: C) -> C:
        """Map a cosine to a mapped query back to the scale of unmapped queries."""
        return self.scale * cosine + self.offset

    def weakened(self, strength: float) -> QueryMap:
        """The map interpolated with the identity: 0 is the identity, 1 this map; without a measured spread."""
        identity = np.eye(len(self.shift), dtype=np.float32)
        matrix = identity + np.float32(strength) * (self.matrix - identity)
        return QueryMap(matrix=matrix, shift=np.float32(strength) * self.shift, aimed=self.aimed)

    def to_bytes(self) -> bytes:
        """Serialise as numpy's ``npz`` format with a SHA-256 in front; deterministic."""
        held = io.BytesIO()
        np.savez(held, matrix=self.matrix, shift=self.shift, level=np.array([self.scale, self.offset]))
        content = held.getvalue()
        return _MAGIC[self.aimed] + hashlib.sha256(content).digest() + content

    @classmethod
    def from_bytes(cls, stored: bytes) -> QueryMap:
        """Inverse of `to_bytes`.

        Raises:
            IndexCorrupt: it is not that, or not all of it.
        """
        head = len(_MAGIC[True])
        start = head + hashlib.sha256().digest_size
        magic, digest, content = stored[:head], stored[head:start], stored[start:]
        if magic not in _MAGIC.values() or hashlib.sha256(content).digest() != digest:
            raise IndexCorrupt("the learned map does not match its checksum", component=_COMPONENT, hint=_MEND)
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                scale, offset = arrays["level"].tolist()
                matrix, shift, aimed = arrays["matrix"], arrays["shift"], magic == _MAGIC[True]
                return cls(matrix=matrix, shift=shift, scale=scale, offset=offset, aimed=aimed)
        except (OSError, ValueError, KeyError) as error:
            raise IndexCorrupt(
                msg("the learned map cannot be read: {error}", error=error), component=_COMPONENT, hint=_MEND
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuning:
    """The result of training on judged questions: a query map, a weight of the vector leg, or both.

    Attributes:
        weight: Of the vector leg.
        encoder: Key of the encoder with whose vectors it was learned, a weight alone as well; ``""`` for any.
        map: None: the vectors are used as they are.
    """

    weight: float
    encoder: str = ""
    map: QueryMap | None = None

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever scores could."""
        said = struct.pack("<d", self.weight) + self.encoder.encode() + (self.map.to_bytes() if self.map else b"")
        return hashlib.sha256(said).hexdigest()[:16]


def learn(
    queries: Array, answers: Answers, passages: Array, words: Words, settings: LearnSettings = LEARNING
) -> QueryMap:
    """Learn a query map; deterministic for the same input.

    Args:
        queries: ``(n, d)`` float32, unit rows.
        answers: Of each query, at least one, each of at least one passage.
        passages: ``(m, d)`` float32, unit rows; may be memory-mapped.
        words: Of each query; what is not among them has a keyword score of 0.

    Raises:
        ValueError: there is no query, or one without an answer, or without what keywords find of it.
    """
    told = len(queries) == len(answers) == len(words)
    if not len(queries) or not told or not all(answers) or not all(map(_held_positions, answers)):
        raise ValueError("every query needs an answer, and every answer a passage")
    rows = _pool(queries, answers, passages, settings)
    place = np.full(len(passages), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    lesson = _Lesson(
        queries,
        [[place[answer] for answer in own] for own in answers],
        np.asarray(passages[rows]),
        [(place[found], settings.words * scores) for found, scores in words],
    )
    return _adam(lesson, settings)


def _held_positions(answers: Sequence[NDArray[np.int64]]) -> bool:
    return all(len(answer) for answer in answers)


def levelled(learned: QueryMap, queries: Array, levels: Array, passages: Array) -> QueryMap:
    """The map with the `scale` and `offset` that restore the mean and spread of the best cosines of these queries.

    Args:
        levels: ``(n, 2)``: a cosine of a query counts as ``levels[i, 0] * cosine + levels[i, 1]`` without the map.
    """
    some = slice(None, None, max(1, len(queries) // _MOST_LEVELLED))
    queries, levels = queries[some][:_MOST_LEVELLED], levels[some][:_MOST_LEVELLED]
    best = np.concatenate([_top(block, passages) for block in _blocks(queries)])
    raw = levels[:, :1] * best + levels[:, 1:]
    mapped = np.concatenate([_top(learned.apply(block), passages) for block in _blocks(queries)], axis=None)
    spread = float(mapped.std())
    scale = float(raw.std()) / spread if spread > 0 else 1.0
    return replace(learned, scale=scale, offset=float(raw.mean()) - scale * float(mapped.mean()))


def _blocks(rows: Array) -> Iterator[Array]:
    for at in range(0, len(rows), _BLOCK):
        yield rows[at : at + _BLOCK]


def _top(queries: Array, passages: Array) -> Array:
    cosines = queries @ passages.T
    least = max(0, cosines.shape[1] - _BEST)
    best: Array = np.partition(cosines, least, axis=1)[:, least:]
    return best


def _pool(queries: Array, answers: Answers, passages: Array, settings: LearnSettings) -> NDArray[np.int64]:
    """Indices of the passages to contrast with: all answers, then the nearest passage of each query, then the second
    nearest …
    """
    if len(passages) <= settings.pool:
        return np.arange(len(passages))
    taken = np.zeros(len(passages), dtype=bool)
    taken[np.concatenate([rows for own in answers for rows in own])] = True
    hard = settings.pool - settings.chance
    depth = min(len(passages), max(10, 10 * hard // len(queries)))
    nearest = np.concatenate([_nearest(block, passages, depth) for block in _blocks(queries)])
    for rank in nearest.T:
        missing = hard - int(taken.sum())
        if missing <= 0:
            break
        taken[np.unique(rank)[:missing]] = True
    rest = np.flatnonzero(~taken)
    drawn = np.random.default_rng(settings.seed).choice(rest, min(settings.chance, len(rest)), replace=False)
    taken[drawn] = True
    return np.flatnonzero(taken)


def _nearest(queries: Array, passages: Array, depth: int) -> NDArray[np.int64]:
    cosines = queries @ passages.T
    found = np.argpartition(-cosines, depth - 1, axis=1)[:, :depth]
    order = np.argsort(-np.take_along_axis(cosines, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


class _Lesson:
    """Training queries and answers in flat arrays: pair ``i`` says that passage `target[i]` answers query `row[i]`.

    Args:
        words: Of each query, rows (below 0: none of these) and what is added to their cosines.
    """

    def __init__(self, queries: Array, answers: Answers, passages: Array, words: Words) -> None:
        self.queries = queries.astype(np.float32, copy=False)
        self.passages = np.ascontiguousarray(passages, dtype=np.float32)
        pairs = [
            (query, row, target)
            for query, own in enumerate(answers)
            for target, rows in enumerate(own)
            for row in rows
        ]
        self._query, self._row, local = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
        counts = np.array([len(own) for own in answers])
        self._target = local + (np.cumsum(counts) - counts)[self._query]
        self._share = (1.0 / counts)[self._query]
        self._words = [(rows[rows >= 0], scores[rows >= 0]) for rows, scores in words]

    def gradient(
        self, matrix: Array, shift: Array, batch: NDArray[np.int64], temperature: float
    ) -> tuple[Array, Array]:
        """Gradient of the mean batch loss with respect to matrix and shift.

        The loss of a query is the mean over its answers of −ln p(answer), p a softmax of cosines (and what keywords
        add to them) over all passages, summed over those that hold the answer.
        """
        queries = self.queries[batch]
        moved = queries @ matrix.T + shift
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        units = moved / lengths
        shares = units @ self.passages.T
        for share, query in zip(shares, batch.tolist(), strict=True):
            rows, scores = self._words[query]
            share[rows] += scores
        shares /= temperature
        shares -= shares.max(axis=1, keepdims=True)
        np.exp(shares, out=shares)
        self._wanted(shares, batch)
        by_unit = shares @ self.passages / np.float32(temperature * len(batch))
        by_moved = (by_unit - (by_unit * units).sum(axis=1, keepdims=True) * units) / lengths
        return by_moved.T @ queries, by_moved.sum(axis=0)

    def _wanted(self, shares: Array, batch: NDArray[np.int64]) -> None:
        """From exponentials to probabilities, less those that are wanted; in place."""
        place = np.full(len(self.queries), -1, dtype=np.int64)
        place[batch] = np.arange(len(batch))
        used = np.flatnonzero(place[self._query] >= 0)
        at = place[self._query[used]], self._row[used]
        held = shares[at].astype(np.float64) + np.finfo(np.float32).tiny  # far passages underflow to 0
        totals = np.bincount(self._target[used], held)
        shares /= shares.sum(axis=1, keepdims=True)
        # A passage may hold several answers of one question.
        np.subtract.at(shares, at, (self._share[used] * held / totals[self._target[used]]).astype(np.float32))


def _adam(lesson: _Lesson, settings: LearnSettings) -> QueryMap:
    """Adam with cosine decay of the learning rate to 0."""
    count, dimension = lesson.queries.shape
    identity = np.eye(dimension, dtype=np.float32)
    values = [identity.copy(), np.zeros(dimension, dtype=np.float32)]
    means, squares = [np.zeros_like(v) for v in values], [np.zeros_like(v) for v in values]
    batches = _batches(count, settings)
    for step in range(1, settings.steps + 1):
        by_matrix, by_shift = lesson.gradient(values[0], values[1], next(batches), settings.temperature)
        slopes = (
            by_matrix + np.float32(2 * settings.pull) * (values[0] - identity),
            by_shift + np.float32(2 * settings.pull) * values[1],
        )
        rate = settings.rate * 0.5 * (1 + np.cos(np.pi * step / settings.steps))
        for value, slope, mean, square in zip(values, slopes, means, squares, strict=True):
            _step(value, slope, mean, square, rate, step)
    return QueryMap(matrix=values[0], shift=values[1])


def _step(value: Array, slope: Array, mean: Array, square: Array, rate: float, step: int) -> None:
    mean += np.float32(0.1) * (slope - mean)
    square += np.float32(0.001) * (slope * slope - square)
    first, second = 1 - 0.9**step, 1 - 0.999**step
    value -= np.float32(rate / first) * mean / (np.sqrt(square / np.float32(second)) + np.float32(1e-8))


def _batches(count: int, settings: LearnSettings) -> Iterator[NDArray[Any]]:
    """Endless batches of query indices: every query once per epoch, as far as batch sizes allow."""
    if count <= settings.batch:
        while True:
            yield np.arange(count)
    draw = np.random.default_rng(settings.seed)
    while True:
        order = draw.permutation(count)
        for at in range(0, count - settings.batch + 1, settings.batch):
            yield np.sort(order[at : at + settings.batch])
