"""All that the command line says to a person: key → (English, Chinese). One module for each area."""

from __future__ import annotations

from collections.abc import Mapping

from wenyuan.cli.messages import asking, connecting, governing, learning, rules, taking_in, testing

__all__ = ["AREAS", "MESSAGES"]

AREAS = (
    taking_in.MESSAGES,
    governing.MESSAGES,
    asking.MESSAGES,
    rules.MESSAGES,
    testing.MESSAGES,
    connecting.MESSAGES,
    learning.MESSAGES,
)
MESSAGES: Mapping[str, tuple[str, str]] = {key: said for area in AREAS for key, said in area.items()}
