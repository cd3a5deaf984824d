"""All that the command line says to a person: key → (English, Chinese). One module for each area."""

from __future__ import annotations

from collections.abc import Mapping

from wenyuan.cli.messages import asking, learning, taking_in

AREAS = (
    taking_in.MESSAGES,
    asking.MESSAGES,
    asking.ASKING_MESSAGES,
    taking_in.RULES_MESSAGES,
    learning.MESSAGES,
    asking.CONNECTING_MESSAGES,
    learning.LEARNING_MESSAGES,
)
MESSAGES: Mapping[str, tuple[str, str]] = {key: said for area in AREAS for key, said in area.items()}
