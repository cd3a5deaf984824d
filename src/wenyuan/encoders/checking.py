"""How a model in a local directory is to be used: found by asking it questions whose answers are known.

A directory does not always say how token states become a vector, and never which cosines of its model mean "unrelated"; wrong
settings give vectors that look right. Questions of a small probe set, in both languages, are embedded with every pooling and
the usual prefixes, and each looks for its answer among those of the others and some that answer nothing.

`HashingEncoder`, an encoder without a model, stands here, too: tests use it.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import importlib.resources
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import ConfigError, EncoderUnavailable, VectorRejected, msg
from wenyuan.core.model import EncoderFingerprint, as_written
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.evaluation import PairedDifference, changed
from wenyuan.core.scoring.vector_checks import check_deadline, checked_vectors
from wenyuan.encoders.onnx_encoder import OnnxEncoder, Pooling, open_onnx_dir, pooled, stated
from wenyuan.runtime.cores import usable_cores

PREFIXES: tuple[tuple[str, str], ...] = (
    ("", ""),
    ("query: ", "passage: "),
    ("search_query: ", "search_document: "),
    ("Represent this sentence for searching relevant passages: ", ""),
    ("为这个句子生成表示以用于检索相关文章：", ""),
    ("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", ""),
)
"""What models were trained with: nothing, E5, Nomic, BGE in English and Chinese, and instructions of Qwen3 Embedding."""
_POOLINGS: tuple[Pooling, ...] = ("cls", "mean", "last")
_LEAST_FOUND = 0.5
"""The share of questions that must find their answers in one language at least: else these are no vectors of meaning."""
_BLOCK = 16  # texts between two reports

Vectors = NDArray[np.float32]
Prefixes = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Probe:
    """A test question and its answer; without a question, a distractor text."""

    language: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tried:
    """The results of one way to use a model.

    Attributes:
        pooling: ``""`` where the graph pools by itself.
        found: The share of questions whose answer came first, by language.
        margins: Of each question: by how far its answer is nearer than the nearest other text, in standard deviations of
            the cosines of texts that do not answer it; negative where one of these is nearer.
        unrelated: The cosine that one in twenty lies below, of questions and what does not answer them.
        identical: The median cosine of a text as a query and the same text as a passage.
    """

    pooling: str
    query_prefix: str
    passage_prefix: str
    found: Mapping[str, float]
    margins: tuple[float, ...]
    unrelated: float
    identical: float

    @property
    def margin(self) -> float:
        return float(np.mean(self.margins))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncoderCheck:
    """The result of a check.

    Attributes:
        stated: As the directory says, or as it is used where that says nothing.
        says: The pooling that the directory names; ``""`` for none.
        best: What to use: as the directory says, unless another way is better for certain.
        next_pooling: The best way with another pooling; None where the graph pools by itself.
        ahead: By how far `best` is ahead of that, in margins.
        tried: All, the best first.
    """

    folder: Path
    dimension: int
    stated: Tried
    says: str
    best: Tried
    next_pooling: Tried | None
    ahead: PairedDifference | None
    tried: tuple[Tried, ...]

    @property
    def foreign(self) -> tuple[str, ...]:
        """The languages in which most test questions do not find their answers."""
        return tuple(sorted(language for language, share in self.best.found.items() if share < _LEAST_FOUND))

    @property
    def scale(self) -> tuple[float, float]:
        """For the setting `encoder.scale`: the range of cosines from unrelated to identical."""
        return round(self.best.unrelated, 2), round(max(self.best.identical, self.best.unrelated + 0.01), 2)


def probes() -> tuple[Probe, ...]:
    """The test set: 24 questions with answers and 8 distractors, in each language."""
    text = importlib.resources.files(__package__).joinpath("probes.tsv").read_text("utf-8")
    return tuple(Probe(*row) for row in csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def check_folder(folder: Path, tell: Callable[[int, int], None] = lambda done, total: None) -> EncoderCheck:
    """Check the model in a directory.

    Args:
        tell: Told how far it is: ``(texts done, of how many)``.

    Raises:
        EncoderUnavailable: as `open_onnx_dir`; or questions do not find their answers, however they are embedded.
        VectorRejected: the model gives no vectors, or the same for different texts.
    """
    component = f"encoder {folder.name}"
    says, own = stated(folder, component)
    known = probes()
    with _Reading(open_onnx_dir(folder, pooling="mean", query_prefix="", passage_prefix=""), tell) as reading:
        ways = list(dict.fromkeys([own, *PREFIXES]))
        reading.expect(known, ways)
        tried = [way for prefixes in ways for way in _try_poolings(reading, known, prefixes)]
        dimension = reading.encoder.fingerprint.dimension
    usual = next(t for t in tried if (t.query_prefix, t.passage_prefix) == own and t.pooling in (says or "mean", ""))
    # What says the same of every text has no margin, and finds nothing: it is the last.
    tried.sort(key=lambda way: (not any(way.found.values()), -way.margin))
    best = tried[0] if changed(usual.margins, tried[0].margins).verdict == "better" else usual
    if max(best.found.values()) < _LEAST_FOUND:
        shown = ", ".join(f"{language} {share:.0%}" for language, share in sorted(best.found.items()))
        raise EncoderUnavailable(
            msg("questions do not find their answers, however they are embedded (at best: {shown})", shown=shown),
            component=component,
            hint="name a directory with a model for sentence embeddings, exported to ONNX with its own tokenizer.json",
        )
    other = next((way for way in tried if way.pooling != best.pooling), None)
    return EncoderCheck(
        folder=folder.resolve(),
        dimension=dimension,
        stated=usual,
        says=says or "",
        best=best,
        next_pooling=other,
        ahead=changed(other.margins, best.margins) if other else None,
        tried=tuple(tried),
    )


class _Reading:
    """Vectors of texts under every pooling; the model reads each text once."""

    def __init__(self, encoder: OnnxEncoder, tell: Callable[[int, int], None]) -> None:
        self.encoder = encoder
        self._tell = tell
        self._threads = ThreadPoolExecutor(usable_cores())
        self._known: dict[str, Mapping[str, Vectors]] = {}
        self._total = 0

    def __enter__(self) -> _Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        self.encoder.close()

    def expect(self, known: Sequence[Probe], ways: Sequence[Prefixes]) -> None:
        """Announce the texts that will be encoded, for progress."""
        texts = {query + probe.question for query, _ in ways for probe in known if probe.question}
        self._total = len(texts | {before + probe.answer for way in ways for before in way for probe in known})

    def vectors(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """By pooling (``""`` alone where the graph pools): unit vectors, ``(n, d)``."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for at in range(0, len(new), _BLOCK):
            some = new[at : at + _BLOCK]
            self._known |= dict(zip(some, self._threads.map(self._read, some), strict=True))
            self._tell(len(self._known), self._total)
        return {pooling: np.stack([self._known[t][pooling] for t in texts]) for pooling in self._known[texts[0]]}

    def _read(self, text: str) -> Mapping[str, Vectors]:
        states = self.encoder.states(text)
        found = {"": states} if states.ndim == 1 else {pooling: pooled(states, pooling) for pooling in _POOLINGS}
        return {pooling: self._unit(vector) for pooling, vector in found.items()}

    def _unit(self, vector: Vectors) -> Vectors:
        if not np.isfinite(vector).all():
            raise VectorRejected("a vector is not finite", component=f"encoder {self.encoder.fingerprint.id}")
        # A pooling that leaves nothing of a text is no fault of the model: it finds nothing.
        return vector / max(np.float32(np.linalg.norm(vector)), np.finfo(np.float32).tiny)


def _try_poolings(reading: _Reading, known: Sequence[Probe], prefixes: Prefixes) -> list[Tried]:
    """Results of the given prefixes under each pooling."""
    query, passage = prefixes
    asked = [number for number, probe in enumerate(known) if probe.question]
    questions = reading.vectors([query + known[number].question for number in asked])
    passages = reading.vectors([passage + probe.answer for probe in known])
    same = reading.vectors([query + probe.answer for probe in known])
    languages = np.array([probe.language for probe in known])
    return [
        _measured(pooling, prefixes, asked, languages, questions[pooling] @ passages[pooling].T,
                  float(np.median((same[pooling] * passages[pooling]).sum(axis=1))))
        for pooling in questions
    ]  # fmt: skip


def _measured(
    pooling: str, prefixes: Prefixes, asked: Sequence[int], languages: NDArray[np.str_], cosines: Vectors, same: float
) -> Tried:
    """A `Tried` from the cosines of the questions, ``(questions, texts)``; each question is ranked within its own
    language.
    """
    margins: list[float] = []
    others: list[float] = []
    found: dict[str, list[bool]] = {}
    for row, number in zip(cosines.astype(np.float64), asked, strict=True):
        language = languages[number]
        wrong = row[(languages == language) & (np.arange(len(row)) != number)]
        margins.append(float((row[number] - wrong.max()) / max(wrong.std(), 1e-9)))
        others += wrong.tolist()
        found.setdefault(str(language), []).append(bool(row[number] > wrong.max()))
    return Tried(
        pooling=pooling,
        query_prefix=prefixes[0],
        passage_prefix=prefixes[1],
        found={language: sum(hits) / len(hits) for language, hits in found.items()},
        margins=tuple(margins),
        unrelated=float(np.quantile(others, 0.05)),
        identical=same,
    )


# A test double: texts that share words are near each other; there is no model and nothing to learn.
#
# Words and, for Chinese, characters with their bigrams are hashed to a few signed dimensions each
# (feature hashing: Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning").

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(f"[{_HAN}]+|[^\\W_{_HAN}]+")
_HAN_START = re.compile(f"[{_HAN}]")
_DIMENSIONS_PER_TERM = 8
"""More than one, so that two terms can hardly cancel each other out."""


class HashingEncoder:
    """Deterministic vectors without a model.

    Args:
        dimension: Of the vectors, at least 8.

    Raises:
        ConfigError: the dimension is too small.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < _DIMENSIONS_PER_TERM:
            raise ConfigError(
                msg(
                    "the hashing encoder needs at least {dimensions_per_term} dimensions",
                    dimensions_per_term=_DIMENSIONS_PER_TERM,
                )
            )
        self.fingerprint = EncoderFingerprint(id="hashing", sha256="", dimension=dimension, pooling="sum")

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        check_deadline(deadline, "encoder hashing")
        return self._encode(texts)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        rows = self._encode([as_written(text) for text in texts])
        if progress and texts:
            progress(len(texts))
        return rows

    def close(self) -> None:
        """No-op."""

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        dimension = self.fingerprint.dimension
        rows = np.zeros((len(texts), dimension))
        for row, text in zip(rows, texts, strict=True):
            row[:] = _summed(text, dimension)
        return checked_vectors(rows, len(texts), dimension, "encoder hashing")


@functools.lru_cache(maxsize=4_096)  # each new library asks for the vectors of the same general questions
def _summed(text: str, dimension: int) -> NDArray[np.float64]:
    row = np.zeros(dimension)
    for term, times in Counter(_terms(text)).items():
        for at, sign in _places(term, dimension):
            row[at] += sign * math.sqrt(times)
    return row


def _terms(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    yield "\0"  # one place for every text, so that even an empty one has a vector
    for run in _RUN.findall(folded):
        if _HAN_START.match(run):
            yield from run
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        else:
            yield run


def _places(term: str, dimension: int) -> Iterator[tuple[int, int]]:
    digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=4 * _DIMENSIONS_PER_TERM).digest()
    for i in range(_DIMENSIONS_PER_TERM):
        number = int.from_bytes(digest[4 * i : 4 * i + 4], "little")
        yield (number >> 1) % dimension, 1 if number & 1 else -1
