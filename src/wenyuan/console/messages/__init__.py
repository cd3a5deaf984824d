"""All that the console says: key → (English, Chinese). One module for each area."""

from __future__ import annotations

from collections.abc import Mapping

from wenyuan.console.messages import asking, keeping, measuring, minding, ruling

__all__ = ["AREAS", "MESSAGES"]

AREAS = (asking.MESSAGES, keeping.MESSAGES, ruling.MESSAGES, minding.MESSAGES, measuring.MESSAGES)
MESSAGES: Mapping[str, tuple[str, str]] = {key: said for area in AREAS for key, said in area.items()}
