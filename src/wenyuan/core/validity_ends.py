"""Until when versions are in force, given what supersedes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from wenyuan.core.errors import Fault, did_you_mean, msg
from wenyuan.core.validity import Validity
from wenyuan.core.validity_dates import validity_refuse


def effective_ends(items: Sequence[Validity], *, undated: date | None = None) -> dict[str, date | None]:
    """The last day on which each item is in force, by id; None: open.

    It is the earlier of its own end and the day before its first successor begins. An end before the item's
    own beginning means that it is never in force.

    Args:
        undated: The day from which a successor without ``effective_from`` counts; without it, that is a fault.

    Raises:
        InvalidRequest: listing every fault: an id twice, unknown ids, successors without a beginning, loops.
    """
    known = {item.id: item for item in items}
    validity_refuse([*_unclear(items, known, undated), *_loops(known)])
    ends = {item.id: item.effective_until for item in items}
    for item in items:
        begin = item.effective_from or undated
        if item.status == "draft" or begin is None:
            continue
        eve = begin - timedelta(days=1) if begin > date.min else begin
        for old in item.supersedes:
            ends[old] = min(eve, ends[old] or eve)
    return ends


def without_circles(items: Sequence[Validity]) -> tuple[list[Validity], frozenset[str]]:
    """The items without what supersedes itself, directly or by way of others, and the ids of those in such circles.

    Those that supersede nothing that is left, and those that nothing left supersedes, are taken away until none is:
    what remains is in a circle, or between two.
    """
    olds = {item.id: set(item.supersedes) for item in items}
    news: dict[str, set[str]] = {}
    for new, named in olds.items():
        for old in named:
            news.setdefault(old, set()).add(new)
    left = set(olds)
    for ways, back in ((olds, news), (news, olds)):
        count = {one: sum(other in left for other in ways.get(one, ())) for one in left}
        todo = [one for one, number in count.items() if not number]
        while todo:
            one = todo.pop()
            left.discard(one)
            for other in back.get(one, ()):
                if other in left:
                    count[other] -= 1
                    if not count[other]:
                        todo.append(other)
    kept = [
        replace(item, supersedes=tuple(old for old in item.supersedes if old not in left))
        if item.id in left
        else item
        for item in items
    ]
    return kept, frozenset(left)


def _unclear(items: Sequence[Validity], known: Mapping[str, Validity], undated: date | None) -> Iterator[Fault]:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            yield Fault(item.id, "stands twice in the list")
        seen.add(item.id)
        if item.effective_from and item.effective_until and item.effective_until < item.effective_from:
            yield Fault(item.id, "effective_until lies before effective_from")
        for old in item.supersedes:
            if old not in known:
                yield Fault(
                    item.id,
                    msg(
                        "supersedes {old}, which is unknown{near}",
                        old=repr(old),
                        near=did_you_mean(old, known.keys() - {item.id}),
                    ),
                )
        if item.supersedes and item.status != "draft" and not (item.effective_from or undated):
            yield Fault(
                item.id,
                msg("supersedes {supersedes}, but has no effective_from", supersedes=", ".join(item.supersedes)),
            )


def _loops(known: Mapping[str, Validity]) -> Iterator[Fault]:
    """One fault per loop, naming its members. Iterative depth-first search, since chains can be long."""
    done: set[str] = set()
    for root in known:
        path: list[str] = []
        place: dict[str, int] = {}
        todo = [(root, False)]
        while todo:
            at, leave = todo.pop()
            if leave:
                done.add(at)
                del place[path.pop()]
            elif at in place:
                loop = [*path[place[at] :], at]
                yield Fault(at, msg("supersedes itself: {loop}", loop=" → ".join(loop)))
            elif at in known and at not in done:
                place[at] = len(path)
                path.append(at)
                todo.append((at, True))
                todo += [(old, False) for old in reversed(known[at].supersedes)]
