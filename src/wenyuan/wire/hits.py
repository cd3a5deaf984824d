"""What every door tells of a hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wenyuan.core.copies import also_in
from wenyuan.core.model import ORIGIN_PRIORITY, Passage
from wenyuan.core.ranking import Hit

__all__ = ["hit_to_wire", "staleness"]


def hit_to_wire(
    hit: Hit, passage: Passage, stale: Mapping[str, str], copies: Sequence[Passage] = ()
) -> dict[str, Any]:
    """What every door tells of a hit besides its address, its words and its score.

    Args:
        stale: Since when each overdue source is, by its id.
        copies: Passages that say the same, which are not given themselves.
    """
    place = {"page": passage.page, "line": passage.line, "cell": passage.cell}
    force = {"effective_from": passage.effective_from, "effective_until": passage.effective_until}
    return {
        "source_id": passage.source_id,
        "title": passage.title,
        "heading": " > ".join(passage.headings),
        "trust": passage.trust,
        "origin": hit.origin,
        "priority": ORIGIN_PRIORITY[hit.origin],
        "sha256": passage.sha256,
        "copyright": passage.copyright,
        "language": passage.language,
        "scores": {name: round(value, 6) for name, value in hit.parts.items()},
        **{name: value for name, value in place.items() if value is not None},
        **{name: day.isoformat() for name, day in force.items() if day is not None},
        **staleness(passage.source_id, stale),
        **({"also_in": also_in(copies)} if copies else {}),
    }


def staleness(source_id: str, stale: Mapping[str, str]) -> dict[str, str]:
    """The member that says since when a source is overdue; nothing while it is not."""
    return {"stale_since": stale[source_id]} if source_id in stale else {}
