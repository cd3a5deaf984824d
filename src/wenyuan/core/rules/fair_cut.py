"""A cut that leaves something for everyone: what is kept of ordered rules when there are more than may be given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar, cast

from wenyuan.core.rules.model import StatementStatus

T = TypeVar("T")


def kept_fairly(
    ordered: Sequence[T], most: int, *, statement: Callable[[T], int], owners: Callable[[T], Collection[int]]
) -> frozenset[int]:
    """At most `most` statements: each owner's first ones up to an equal share, then the remaining ones in order.

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


def next_status(before: str, said: str, *, withheld: bool, differs: bool, mine: bool) -> StatementStatus:
    """The status of an existing statement after its pack was imported again.

    What people decided stays until the wording changes; then they are asked again, however often the pack says it.

    Args:
        before: Its status, or the one that it had before it lost its evidence.
        said: The status that the pack gives it.
        withheld: It waits for a review whatever its author says.
        differs: The pack gives it another wording.
        mine: The wording is this pack's.
    """
    status = before
    if said in ("rejected", "retired") and (mine or not withheld):
        status = said if mine else before
    elif withheld or (differs and before in ("rejected", "retired")):
        status = "proposed"
    elif differs or before == "proposed":
        status = said
    return cast("StatementStatus", status)
