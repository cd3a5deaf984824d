"""Source definitions, their state, and refresh cycles."""

from __future__ import annotations

from dataclasses import dataclass

# State of a source: when it was last read, the result, and which worker reads it.


LONGEST_CLAIM = 600.0
"""Seconds: a worker claims for less, and clocks may differ by the rest. A claim beyond was made by a wrong clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """Refresh state of a source. Times in seconds since the epoch, None for never.

    Attributes:
        failure: Why the last refresh failed; ``""`` when it did not.
        failures: How many failed in a row.
        claimed_by: The worker that holds its claim, until ``claimed_until``.
    """

    source_id: str
    last_success: float | None = None
    last_failure: float | None = None
    failure: str = ""
    failures: int = 0
    next_refresh: float | None = None
    claimed_by: str = ""
    claimed_until: float | None = None

    def held_by(self, now: float) -> str:
        """The worker that holds the source's claim at a moment; ``""`` for none."""
        return self.claimed_by if now < (self.claimed_until or 0.0) <= now + LONGEST_CLAIM else ""
