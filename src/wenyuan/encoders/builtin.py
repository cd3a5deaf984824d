"""The built-in encoder: multilingual-e5-small on a plain CPU, offline (384 dimensions, 512 tokens).

Measured on one core (``bench/encoder.py``): a query takes 3-5 ms, a passage of 200 tokens 43-60 ms; the model adds
200 MB. Vectors alone reach nDCG@10 .95 on XQuAD-zh. Cosines of unrelated texts lie in .69-.86, so a raw cosine is
never a threshold: see ``fingerprint.scale``.
"""

from __future__ import annotations

import importlib.resources
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.cores import usable_cores
from wenyuan.core.errors import EncoderUnavailable
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline
from wenyuan.core.text import has_han
from wenyuan.core.vectors import checked_vectors
from wenyuan.encoders import builtin_weights
from wenyuan.encoders.builtin_graph import HIDDEN, MAX_TOKENS, Graph
from wenyuan.encoders.builtin_tokens import Tokenizer
from wenyuan.encoders.builtin_weights import COMPONENT
from wenyuan.encoders.sessions import encode_each

__all__ = ["GUARD_TEXTS", "BuiltinEncoder", "load_builtin"]

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
_lock = threading.Lock()


class BuiltinEncoder:
    """Text → vectors with the built-in model; made by `load_builtin`. Safe to use from several threads."""

    max_tokens = MAX_TOKENS
    works_here = True
    fingerprint = EncoderFingerprint(
        id="multilingual-e5-small",
        sha256=builtin_weights.SHA256,
        dimension=HIDDEN,
        query_prefix=_QUERY,
        passage_prefix=_PASSAGE,
        pooling="information",
        quantisation="q4-int7-damped",
        script="simplified",
        scale=(0.70, 1.0),
    )

    def __init__(self, tokenizer: Tokenizer, graph: Graph, threads: int) -> None:
        self._tokenizer, self._graph, self._threads = tokenizer, graph, threads

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        """Vectors of queries.

        Raises:
            EncoderTimeout: the deadline passed; it is looked at before every text.
            EncoderUnavailable: the model failed.
        """
        return self._encode(_QUERY, texts, deadline=deadline)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        """Vectors of passages; what lies behind the 512th token of one does not count (see `count_tokens`)."""
        return self._encode(_PASSAGE, texts, progress=progress)

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage as the model would see it, with prefix and marks, before it is cut at `max_tokens`."""
        return len(self._tokenizer(_PASSAGE + text))

    def unlikely(self, text: str) -> bool:
        """Whether a text is none in any of the model's hundred languages, as its vocabulary has it.

        A sentence takes a few long pieces. Letters at random take a piece for every one or two of them; characters at
        random are rare ones. docs/explanation/scoring.md says of how many real questions it says so.
        """
        a_piece, a_character = self._tokenizer.likelihood(text)
        if has_han(text):
            return a_piece < _UNLIKELY_PIECE
        return a_character < _UNLIKELY_LETTER and sum(c.isalnum() for c in text) >= _ENOUGH_LETTERS

    def close(self) -> None:
        """Nothing: the model is shared by all who loaded it, and stays for the life of the process."""

    def _encode(
        self,
        prefix: str,
        texts: Sequence[str],
        *,
        deadline: Deadline | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> NDArray[np.float32]:
        return encode_each(
            lambda text: self._graph(self._tokenizer(prefix + text, MAX_TOKENS)),
            texts,
            dimension=HIDDEN,
            threads=self._threads,
            component=COMPONENT,
            deadline=deadline,
            progress=progress,
        )


def load_builtin(*, threads: int = 0) -> BuiltinEncoder:
    """The built-in encoder. The first call loads the model (under a second); later ones share it.

    Args:
        threads: For `encode_passages` and for many queries at once; 0 means every core the process may use.

    Raises:
        EncoderUnavailable: the weights are not installed or not the expected ones, or the model does not give
            the vectors it must give on this machine.
    """
    with _lock:
        tokenizer, graph = _model()
    return BuiltinEncoder(tokenizer, graph, threads or usable_cores())


@lru_cache(maxsize=1)
def _model() -> tuple[Tokenizer, Graph]:
    path = builtin_weights.find_weights()
    builtin_weights.verify(path)
    file = builtin_weights.read_weights(path)
    with ThreadPoolExecutor(1) as pool:  # half of the time of each is spent outside the interpreter's lock
        loading = pool.submit(Tokenizer, file)
        graph = Graph(file)
        tokenizer = loading.result()
    _guard(BuiltinEncoder(tokenizer, graph, threads=1))
    return tokenizer, graph


def _guard(encoder: BuiltinEncoder) -> None:
    """Refuse a model that computes something else here: wrong vectors look like right ones."""
    with importlib.resources.files(__package__).joinpath("builtin_guard.npy").open("rb") as stream:
        expected = np.load(stream, allow_pickle=False)
    got = checked_vectors(encoder.encode_passages(GUARD_TEXTS), len(GUARD_TEXTS), HIDDEN, COMPONENT)
    worst = float((got * expected).sum(axis=1).min())
    if not worst > GUARD_COSINE:
        raise EncoderUnavailable(
            f"the model gives other vectors than it must on this machine (cosine {worst:.3f}, "
            f"at least {GUARD_COSINE} expected)",
            component=COMPONENT,
            hint="try another version of onnxruntime, or name another encoder in the settings",
        )
