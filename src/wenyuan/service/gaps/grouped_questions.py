"""Which questions mean the same, kept from one look at them to the next, which then compares only new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import numpy as np

from wenyuan.service.gaps.grouping import QuestionGroups

_OVER = 2  # times the questions that are compared at least, from which on all are compared anew


class GroupedQuestions:
    """Groups questions; safe to share between threads.

    Args:
        least: Distinct questions that are compared at least, the newest; older ones stand for themselves.
    """

    def __init__(self, least: int) -> None:
        self._least = least
        self._lock = Lock()
        self._number_of: dict[str, int] = {}
        self._groups: QuestionGroups | None = None
        self._last: tuple[Mapping[str, str], dict[str, int]] | None = (
            None  # those texts, which nobody changes, and their groups
        )

    def numbers(
        self, texts: Mapping[str, str], vectors: Callable[[Sequence[str]], np.ndarray | None]
    ) -> dict[str, int]:
        """The group of each question, by digest.

        Args:
            texts: By digest, the oldest first.
            vectors: Makes vectors of texts, centred and of length 1; None where there is no encoder.
        """
        with self._lock:
            if self._last is not None and self._last[0] is texts:
                return self._last[1]
        digests = list(texts)
        recent = digests[-self._least :]
        with self._lock:
            new = [digest for digest in recent if digest not in self._number_of]
            if self._groups is None or len(self._number_of) + len(new) > _OVER * self._least:
                self._number_of, new = {}, recent
                self._groups = QuestionGroups()
            if new:
                added = [texts[digest] for digest in new]
                numbers = self._groups.add(added, vectors(added))
                self._number_of |= dict(zip(new, numbers, strict=True))
            found = {digest: self._number_of[digest] for digest in digests if digest in self._number_of}
        alone = -1
        for digest in digests:
            if digest not in found:
                found[digest], alone = alone, alone - 1
        with self._lock:
            self._last = texts, found
        return found
