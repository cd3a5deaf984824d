"""With whose eyes something was asked, in an audit record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.principals import EVERYONE, Sight, sight_now

SIGHT = "sight"
"""Member of a record: the names of the caller, and of whom it acted for; or how many there were, where these are too many."""
MOST_NAMES = 200


def sight_entry() -> dict[str, Any]:
    """What a record of what this thread answers has besides: nothing where it reads with all rights."""
    sight = sight_now()
    if sight is None:
        return {}
    names = [sorted(some - {EVERYONE}) for some in sight.all_of]
    return {SIGHT: names if sum(map(len, names)) <= MOST_NAMES else [[f"{len(some)}"] for some in names]}


def recorded_sight(record: Mapping[str, Any]) -> Sight | None:
    """The eyes that a record has; None: all rights.

    Raises:
        KnowledgeError: it was somebody with more names than a record keeps.
    """
    told = record.get(SIGHT)
    if told is None:
        return None
    if any(name.isdecimal() for names in told for name in names):
        raise KnowledgeError(
            "it was asked with more names than a record keeps: what they may see is not known any more",
            component="audit",
        )
    return Sight.of(*told)
