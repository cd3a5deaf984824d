"""Which libraries a question has passed on its way, so that two that search each other do not ask in circles."""

from __future__ import annotations

import re

from wenyuan.core.errors import EngineUnavailable, Fault, InvalidRequest

__all__ = ["VIA", "via_header"]

VIA = "X-Wenyuan-Via"
"""The header, on questions and on answers: library ids, separated by commas, the first asker first."""

MOST_HOPS = 8
_ID = re.compile(r"[A-Za-z0-9_.\-]{1,64}")


def via_header(library_id: str, received: str = "") -> str:
    """What a library sends on: the way that a question has come, and its own id at the end.

    Args:
        library_id: Its own id.
        received: The header of the question that it is answering; ``""`` when there was none.

    Raises:
        EngineUnavailable: it stands in the way already, or the way is too long: the question goes round in circles.
        InvalidRequest: what was received is no such header.
    """
    passed = [entry.strip() for entry in received.split(",") if entry.strip()]
    if not all(_ID.fullmatch(entry) for entry in passed):
        raise InvalidRequest(f"{VIA} is no list of library ids", faults=(Fault(VIA, "is no list of library ids"),))
    if library_id in passed or len(passed) >= MOST_HOPS:
        raise EngineUnavailable(
            "the question has come round to a library that it had passed" if library_id in passed
            else f"the question has passed {len(passed)} libraries and goes no further",
            component="sources of type api",
            hint="two libraries name each other as a source: remove one of the two",
        )  # fmt: skip
    return ",".join([*passed, library_id])
