"""The built-in encoder.

384 dimensions, 512 tokens. On one core (``bench/encoder.py``) a query takes 3-5 ms, a passage of 200 tokens 43-60 ms;
the model adds 200 MB. Vectors alone reach nDCG@10 .95 on XQuAD-zh. Cosines of unrelated texts lie in .69-.86, so a
raw cosine is never a threshold: see ``fingerprint.scale``.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderUnavailable, msg
from wenyuan.core.model import BELOW, EncoderFingerprint, as_written
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.core.text.folding import has_han
from wenyuan.encoders.graph import HIDDEN, MAX_TOKENS, SHORT, EncoderGraph
from wenyuan.encoders.onnx_session import encode_each
from wenyuan.encoders.tokenizer import Tokenizer
from wenyuan.encoders.weights import COMPONENT, SHA256, find_weights, read_weights, verify
from wenyuan.runtime.cores import usable_cores

GUARD_TEXTS = (
    "差旅费报销应当在返回后十五个工作日内提交单据。",
    "Employees must wear protective equipment on the construction site.",
    "依據 GB 50300-2013 第３.０.６条, check the acceptance record ①",
)
"""Encoded at load (as passages) and compared with ``builtin_guard.npy``, which a plain float32 model computed."""
GUARD_COSINE = 0.99

_QUERY, _PASSAGE = "query: ", "passage: "
_UNLIKELY_PIECE, _UNLIKELY_LETTER = -12.8, -5.0  # mean log-probability; hardly a real question has less
_ENOUGH_LETTERS = 6  # ``KYC`` is as unlikely as nonsense is
_lock = threading.RLock()


class BuiltinEncoder:
    """The built-in encoder; made by `load_builtin`. Thread-safe."""

    max_tokens = MAX_TOKENS
    works_here = True
    fingerprint = EncoderFingerprint(
        id="multilingual-e5-small",
        sha256=SHA256,
        dimension=HIDDEN,
        query_prefix=_QUERY,
        passage_prefix=_PASSAGE,
        pooling="information",
        quantisation="q4-int7-damped",
        script="simplified",
        scale=(0.70, 1.0),
    )

    def __init__(self, model: Callable[[], tuple[Tokenizer, EncoderGraph]], threads: int) -> None:
        self._load, self._threads = model, threads

    def ready(self) -> tuple[Tokenizer, EncoderGraph]:
        """The model; loaded, unless it is."""
        with _lock:
            return self._load()

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        """Unit vectors of queries; EncoderTimeout where the deadline passed before a text, EncoderUnavailable."""
        return self._encode(_QUERY, texts, deadline=deadline)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        """Unit vectors of passages, truncated at 512 tokens (see `count_tokens`)."""
        return self._encode(_PASSAGE, texts, progress=progress)

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage with prefix and marks, before truncation at `max_tokens`."""
        return len(self.ready()[0](_PASSAGE + as_written(text)))

    def unlikely(self, text: str) -> bool:
        """Whether a text is no text in any of the model's hundred languages, judged by its vocabulary.

        A sentence takes a few long pieces. Letters at random take a piece for every one or two of them; characters at
        random are rare ones. docs/explanation/scoring.md gives its rate on real questions.
        """
        a_piece, a_character = self.ready()[0].likelihood(text)
        if has_han(text):
            return a_piece < _UNLIKELY_PIECE
        return a_character < _UNLIKELY_LETTER and sum(c.isalnum() for c in text) >= _ENOUGH_LETTERS

    def close(self) -> None:
        """No-op: the model is shared, and stays loaded for the life of the process."""

    def _encode(
        self,
        prefix: str,
        texts: Sequence[str],
        *,
        deadline: Deadline | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> NDArray[np.float32]:
        self.ready()
        return encode_each(
            lambda text: self._vector(prefix, text),
            texts,
            dimension=HIDDEN,
            threads=self._threads,
            component=COMPONENT,
            deadline=deadline,
            progress=progress,
        )

    def _vector(self, prefix: str, text: str) -> NDArray[np.float32]:
        heading, mark, own = text.partition(BELOW)
        tokenizer, graph = self.ready()
        ids = tokenizer(prefix + as_written(text), MAX_TOKENS)
        if not mark:
            return graph(ids)
        # White space begins a new piece, so that a heading has the same pieces alone, but for the mark of the end.
        below, short = graph(ids, len(tokenizer(prefix + heading)) - 1), tokenizer(prefix + own)
        if "\n" not in heading or len(short) > SHORT:
            return below
        both: NDArray[np.float32] = checked_vectors((below, graph(short)), 2, HIDDEN, COMPONENT).sum(axis=0)
        return both


def load_builtin(*, threads: int = 0) -> BuiltinEncoder:
    """As `open_builtin`, loaded. EncoderUnavailable also where the model gives other vectors on this machine."""
    encoder = open_builtin(threads=threads)
    encoder.ready()
    return encoder


def open_builtin(*, threads: int = 0) -> BuiltinEncoder:
    """The built-in encoder, whose model is loaded with the first text, or by `BuiltinEncoder.ready`; all share one.

    Args:
        threads: For many texts at once; 0: every core the process may use.

    Raises:
        EncoderUnavailable: the weights are not there, or others.
    """
    verify(find_weights())
    return BuiltinEncoder(_model, threads or usable_cores())


@lru_cache(maxsize=1)
def _model() -> tuple[Tokenizer, EncoderGraph]:
    path = find_weights()
    verify(path)
    file = read_weights(path)
    # Both are native; loaded by two threads at once they have crashed in the collector of garbage.
    import onnxruntime  # noqa: F401
    import sentencepiece  # noqa: F401

    with ThreadPoolExecutor(1) as pool:  # half of the time of each is spent outside the interpreter's lock
        loading = pool.submit(Tokenizer, file)
        graph = EncoderGraph(file)
        tokenizer = loading.result()
    _guard(BuiltinEncoder(lambda: (tokenizer, graph), threads=1))
    return tokenizer, graph


def _guard(encoder: BuiltinEncoder) -> None:
    """Refuse a model that computes other vectors on this machine than where it was built: wrong vectors look like
    right ones.
    """
    with importlib.resources.files(__package__).joinpath("builtin_guard.npy").open("rb") as stream:
        expected = np.load(stream, allow_pickle=False)
    got = checked_vectors(encoder.encode_passages(GUARD_TEXTS), len(GUARD_TEXTS), HIDDEN, COMPONENT)
    worst = float((got * expected).sum(axis=1).min())
    if not worst > GUARD_COSINE:
        raise EncoderUnavailable(
            msg("the model gives other vectors than it must on this machine (cosine {worst}, at least {guard_cosine} expected)", worst=f"{worst:.3f}", guard_cosine=GUARD_COSINE),
            component=COMPONENT,
            hint="try another version of onnxruntime, or name another encoder in the settings",
        )  # fmt: skip
