"""The vectors of questions, remembered."""

from __future__ import annotations

import math
import threading
import unicodedata
from collections import OrderedDict
from concurrent.futures import Future
from typing import Any
from weakref import WeakKeyDictionary

from wenyuan.core.errors import EncoderTimeout, EncoderUnavailable
from wenyuan.core.ports import Deadline, Encoder
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.service.search.answer_cache import CacheCounts
from wenyuan.service.search.common_vectors import Of, general_vectors
from wenyuan.service.search.general_texts import SCRIPTS

# The vectors of queries: made once for all legs of a request, and remembered where that is set.

_GENERAL: WeakKeyDictionary[Encoder, dict[tuple[Of, str], tuple[Any, Any]]] = WeakKeyDictionary()
"""Vectors of general texts and their mean, by encoder: the same for each of its retrievers, as replays make them."""

_REQUESTS = 64
"""Vectors that are kept for other legs of the requests they were made for."""


class QueryVectors:
    """Embeds queries and caches the last `size` of them (none by default).

    The legs of one request, which share its deadline, have the vector of a query made once, whether they ask at the same time or not.
    """

    def __init__(self, encoder: Encoder, size: int = 0) -> None:
        self.encoder = encoder
        self._size = size
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._of_requests: OrderedDict[tuple[str, float], Any] = OrderedDict()
        self._making: dict[str, tuple[Future[Any], Deadline]] = {}
        self._lock = threading.Lock()
        self._general = _GENERAL.setdefault(encoder, {})
        self._asked = {"hits": 0, "misses": 0, "joined": 0}

    def counts(self) -> CacheCounts:
        """Cache statistics: remembered, computed, or shared with a concurrent computation."""
        with self._lock:
            held = sum(vector.nbytes for vector in self._known.values())
            return CacheCounts(**self._asked, values=len(self._known), bytes=held)

    def general(self, of: Of, script: str, deadline: Deadline) -> Any:
        """The vectors of general questions or passages in a script, (n, dim) float32."""
        return self._of_general(of, script, deadline)[0]

    def mean(self, of: Of, script: str, deadline: Deadline) -> Any:
        """Their mean, (dim,) float32; it is subtracted to centre vectors."""
        return self._of_general(of, script, deadline)[1]

    def _of_general(self, of: Of, script: str, deadline: Deadline) -> tuple[Any, Any]:
        known = self._general.get((of, script))
        if known is None:
            vectors = general_vectors(self.encoder, of, script, deadline)
            known = self._general[of, script] = vectors, vectors.mean(axis=0)
        return known

    def means(self, deadline: Deadline) -> None:
        """Embed what vectors are centred by, unless that is known; an encoder that none is shipped for takes a while.

        Raises:
            EncoderError: the texts cannot be embedded in time.
        """
        for script in SCRIPTS:
            self.mean("questions", script, deadline)
            self.mean("passages", script, deadline)

    def of(self, query: str, deadline: Deadline) -> tuple[Any, bool]:
        """The unit vector of a query, (dim,) float32, and whether it came from the cache; raises an `EncoderError`."""
        text = unicodedata.normalize("NFKC", query.strip())
        while True:
            with self._lock:
                if text in self._known:
                    self._asked["hits"] += 1
                    self._known.move_to_end(text)
                    return self._known[text], True
                if (text, deadline.at) in self._of_requests:
                    self._asked["joined"] += 1
                    return self._of_requests[text, deadline.at], False
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
            if math.isfinite(deadline.at):
                self._of_requests[text, deadline.at] = vector
            while len(self._of_requests) > _REQUESTS:
                self._of_requests.popitem(last=False)
            self._known[text] = vector
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        making.set_result(vector)
