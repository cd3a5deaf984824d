"""Decisions of owners: nobody takes another's place unseen."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from wenyuan.core.errors import Conflict, msg


class Decision(Protocol):
    """What was decided, by whom and when, in seconds since the epoch."""

    @property
    def state(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def actor(self) -> str: ...
    @property
    def at(self) -> float: ...


def check_decision(there: Decision | None, state: str, note: str, decided_at: float | None) -> None:
    """Conflict where a decision takes the place of another, and whoever makes it has not seen that one.

    Args:
        there: The decision that there is; None: none, or it was taken back.
        decided_at: When the decision was made that he saw; None: he saw none.
    """
    if there is None:
        if decided_at is None or state == "open":
            return
        said = "the decision was taken back meanwhile"
    elif (
        decided_at == there.at
        or (there.state, there.note) == (state, note)
        or (decided_at is None and state == "open")
    ):
        return
    else:
        said = msg(
            "it was decided about already: {state}, by {actor}, at {at}",
            state=there.state,
            actor=there.actor,
            at=datetime.fromtimestamp(there.at, UTC).isoformat(timespec="seconds"),
        )
    raise Conflict(said, hint="look at it again; to decide all the same: --again, over HTTP again: true")
