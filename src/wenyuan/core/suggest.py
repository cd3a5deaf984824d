"""A word that a person may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean"]


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """``"; did you mean 'allow'?"``, or ``""`` when nothing known is near: at least `cutoff` alike, 0..1."""
    near = get_close_matches(word[:64].lower(), sorted(known), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""
