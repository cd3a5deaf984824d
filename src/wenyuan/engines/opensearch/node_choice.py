"""Which node is asked: for one piece of work the same one, as long as it answers.

A node that is cut off from the others knows an earlier state, and does not know that it does. What it gives is whole, as of that
state; a mark that it gave, and rows of another node, from which some were deleted since, would be a ranking that is short.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from typing import Any


class NodeChoice:
    """Chooses connections for the driver; threads do not share a choice.

    Args:
        options: The driver's; not needed.
    """

    def __init__(self, options: Mapping[Any, Any] | None = None) -> None:
        self._turn = itertools.count()
        self._of_thread = threading.local()

    def begin(self) -> None:
        """Let this thread's next question choose anew."""
        self._of_thread.node, self._of_thread.chosen = None, 0

    def select(self, connections: Sequence[Any]) -> Any:
        """The node of this thread, or the next one, where that is among those that are away."""
        mine = self._of_thread
        node = getattr(mine, "node", None)
        if not any(one is node for one in connections):
            mine.node, mine.chosen = connections[next(self._turn) % len(connections)], self.chosen + 1
        return mine.node

    @property
    def chosen(self) -> int:
        """How many nodes this thread has chosen since it began, or since `forget`."""
        return int(getattr(self._of_thread, "chosen", 0))

    def forget(self) -> None:
        """Go on with the node of now, as if there had been no other."""
        self._of_thread.chosen = 1
