"""A cut that leaves something for everyone: what is kept of ordered rules when there are more than may be given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

__all__ = ["kept_fairly"]

T = TypeVar("T")


def kept_fairly(
    ordered: Sequence[T], most: int, *, statement: Callable[[T], int], owners: Callable[[T], Collection[int]]
) -> frozenset[int]:
    """Which statements are kept, at most `most`: of every owner the first ones up to an equal share, then the first ones.

    Args:
        ordered: Rules, the most important ones first. Several may give the same statement, which counts once.
        owners: For whom a rule holds: the nodes that were asked about. What several own fills the share of each.
    """
    names = {owner for one in ordered for owner in owners(one)}
    share = max(1, most // max(1, len(names)))
    kept: set[int] = set()
    has: Counter[int] = Counter()
    for one in ordered:
        if statement(one) not in kept and (len(kept) >= most or all(has[owner] >= share for owner in owners(one))):
            continue
        kept.add(statement(one))
        has.update(owners(one))
    for one in ordered:
        if len(kept) >= most:
            break
        kept.add(statement(one))
    return frozenset(kept)
