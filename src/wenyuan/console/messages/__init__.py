"""All that the console says: key → (English, Chinese). One module for each area."""

from __future__ import annotations

from collections.abc import Mapping

from wenyuan.console.messages import asking, minding

AREAS = (
    asking.ASKING_MESSAGES,
    asking.KEEPING_MESSAGES,
    minding.MESSAGES,
    minding.MINDING_MESSAGES,
    asking.MESSAGES,
)
MESSAGES: Mapping[str, tuple[str, str]] = {key: said for area in AREAS for key, said in area.items()}
