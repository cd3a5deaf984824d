"""Erasures that were cut off are gone on with by whoever has the library open for long."""

from __future__ import annotations

import logging
from collections.abc import Callable

from wenyuan.core.errors import CatalogBusy, KnowledgeError
from wenyuan.runtime.periodic import Periodic

log = logging.getLogger(__name__)

EVERY = 30.0
"""Seconds between two looks."""


class ErasureResumption:
    """A thread that goes on with unfinished erasures, and has this server's index files follow them, until it is stopped. What fails is logged once, and tried again.

    Args:
        resume: See `Erasures.resume`.
        follow: See `IndexCopies.follow`.
    """

    def __init__(
        self, resume: Callable[[], object], follow: Callable[[], object] = lambda: None, *, every: float = EVERY
    ) -> None:
        self._resume = resume
        self._follow = follow
        self._trouble = ""
        self._rounds = Periodic(self._look, name="wenyuan-erasures", every=every)
        self.start, self.stop = self._rounds.start, self._rounds.stop

    def _look(self) -> None:
        try:
            self._resume()
            self._follow()
            self._trouble = ""
        except CatalogBusy:
            return  # another process is at it
        except Exception as error:  # a thread that ended here would leave the erasure as it is
            if repr(error) != self._trouble:
                log.warning("an erasure does not go on: %s", error, exc_info=not isinstance(error, KnowledgeError))
            self._trouble = repr(error)
