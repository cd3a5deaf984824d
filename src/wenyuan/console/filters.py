"""What templates do with values: days and times, numbers, and words of a query made visible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

__all__ = ["FILTERS"]


def moment(seconds: float | str | None) -> str:
    """Seconds since the epoch, or a time in ISO form, as ``2026-11-22 06:21 UTC``; nothing for none."""
    if not seconds:
        return ""
    at = datetime.fromisoformat(seconds) if isinstance(seconds, str) else datetime.fromtimestamp(seconds, UTC)
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def stars(trust: int | None) -> str:
    """Trust 1..5 as stars."""
    return "★" * (trust or 0) + "☆" * (5 - (trust or 0))


def pieces(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """A text in pieces, each with whether it is one of the spans."""
    reached = 0
    for start, end in spans:
        yield text[reached:start], False
        yield text[start:end], True
        reached = end
    yield text[reached:], False


def grouped(number: float) -> str:
    """A number with its thousands apart."""
    return f"{number:,}"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "moment": moment, "stars": stars, "pieces": pieces, "grouped": grouped,
}  # fmt: skip
