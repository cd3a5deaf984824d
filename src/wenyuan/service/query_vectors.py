"""The vectors of queries: made once for all legs of a request, and remembered where that is set."""

from __future__ import annotations

import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from wenyuan.core.errors import EncoderTimeout, EncoderUnavailable
from wenyuan.core.ports import Deadline, Encoder
from wenyuan.core.vectors import checked_vectors
from wenyuan.service.cache import CacheCounts
from wenyuan.service.general import GENERAL, PASSAGES

__all__ = ["QueryVectors"]


class QueryVectors:
    """Embeds queries, and remembers the last `size` of them (none by default).

    Several legs that need the vector of one query at the same time have it made once.
    """

    def __init__(self, encoder: Encoder, size: int = 0) -> None:
        self.encoder = encoder
        self._size = size
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._making: dict[str, tuple[Future[Any], Deadline]] = {}
        self._lock = threading.Lock()
        self._means: dict[tuple[str, ...], Any] = {}
        self._asked = {"hits": 0, "misses": 0, "joined": 0}

    def counts(self) -> CacheCounts:
        """How often a vector was remembered, made, or being made for another leg; and what is held."""
        with self._lock:
            held = sum(vector.nbytes for vector in self._known.values())
            return CacheCounts(**self._asked, values=len(self._known), bytes=held)

    def general(self, script: str, deadline: Deadline) -> Any:
        """The mean vector of general questions in a script, (dim,) float32: what all questions have in common."""
        return self._mean(GENERAL[script], lambda texts: self.encoder.encode_queries(texts, deadline=deadline))

    def passages(self, script: str, deadline: Deadline) -> Any:
        """The mean vector of passages about everything in a script, (dim,) float32: what all passages have in common."""
        deadline.check("encoder")
        return self._mean(PASSAGES[script], self.encoder.encode_passages)

    def _mean(self, texts: tuple[str, ...], embed: Callable[[Sequence[str]], Any]) -> Any:
        if texts not in self._means:
            vectors = checked_vectors(embed(texts), len(texts), self.encoder.fingerprint.dimension, "encoder")
            self._means[texts] = vectors.mean(axis=0)
        return self._means[texts]

    def of(self, query: str, deadline: Deadline) -> Any:
        """The query's unit vector, (dim,) float32; raises an `EncoderError`."""
        return self.recalled(query, deadline)[0]

    def recalled(self, query: str, deadline: Deadline) -> tuple[Any, bool]:
        """The query's unit vector, and whether it was remembered; raises an `EncoderError`."""
        text = unicodedata.normalize("NFKC", query.strip())
        while True:
            with self._lock:
                if text in self._known:
                    self._asked["hits"] += 1
                    self._known.move_to_end(text)
                    return self._known[text], True
                mine = text not in self._making
                self._asked["misses" if mine else "joined"] += 1
                making, makers = self._making.setdefault(text, (Future(), deadline))
            if mine:
                self._make(text, making, deadline)
            try:
                return making.result(deadline.remaining()), False
            except EncoderTimeout:
                # Whoever makes it may have had less time: who joined fails at no deadline but its own.
                if mine or makers.remaining() > 0 or not deadline.remaining():
                    raise
            except TimeoutError as error:
                deadline.check("encoder")
                raise EncoderUnavailable("the query was not embedded in time", component="encoder") from error

    def _make(self, text: str, making: Future[Any], deadline: Deadline) -> None:
        try:
            answered = self.encoder.encode_queries([text], deadline=deadline)
            vector = checked_vectors(answered, 1, self.encoder.fingerprint.dimension, "encoder")[0]
        except BaseException as error:
            with self._lock:
                del self._making[text]
            making.set_exception(error)
            return
        with self._lock:
            del self._making[text]
            self._known[text] = vector
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        making.set_result(vector)
