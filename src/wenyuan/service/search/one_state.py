"""Answers about several domains, as of one state of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wenyuan.core.ports import Deadline, Hit
from wenyuan.service.query import SearchAnswer

_AGAIN = 3  # times that domains are asked again whose answers are of an earlier state
_SHARE = 0.5  # of the time that was left at the beginning; with less, nobody is asked again

Part = tuple[SearchAnswer, list[Hit]]


def of_one_state(calls: Sequence[Callable[[], Part]], deadline: Deadline) -> list[Part]:
    """What domains answer, one after the other; again, if the catalog has changed between them.

    Each answer is of one state, and together they may be of none: a clause that was moved from one domain to another would be in
    both, or in neither. Where others write without a pause, what is still apart says by its `generation` how far it is behind.
    """
    enough = deadline.remaining() * _SHARE
    found = [call() for call in calls]
    for _ in range(_AGAIN):
        newest = max((answer.generation for answer, _ in found), default=0)
        behind = [number for number, (answer, _) in enumerate(found) if answer.generation < newest]
        if not behind or deadline.remaining() < enough:
            break
        for number in behind:
            found[number] = calls[number]()
    return found
