"""Which libraries a question has passed on its way, so that two that search each other do not ask in circles.

A question carries the ids of the libraries that it has passed; each adds its own before it asks further. One that
finds its own id there, or too many, refuses, and says so in the same header of its answer: so every library on the
way learns what happened, and can name it to whoever asked first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from wenyuan.core.errors import EngineUnavailable, Fault, InvalidRequest, msg

VIA = "X-Wenyuan-Via"
"""The header: library ids, separated by commas, the first asker first. On an answer: the way that was refused."""

MOST_HOPS = 4
"""Libraries that a question may pass; the last one answers from what it holds itself."""

_ID = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_HINT = "libraries name one another as a source: remove one of these sources"


@dataclass(slots=True)
class QuestionPath:
    """The path of libraries that the current question has passed through.

    Attributes:
        passed: The ids that it came with, as in the header.
        refused: The path, when a library refused to continue it: set in the thread of the leg that learns of it.
    """

    passed: str = ""
    refused: str = ""


JOURNEY: ContextVar[QuestionPath | None] = ContextVar("journey", default=None)
"""Set by a door for each question; a leg sees that of the request which it works for."""


def passed_here() -> str:
    """The path header of the question being answered; ``""`` if it came from no other library."""
    journey = JOURNEY.get()
    return journey.passed if journey is not None else ""


def arrived(library_id: str, received: str) -> QuestionPath:
    """Register an incoming question with its path header. A question in a loop has `QuestionPath.refused` set.

    Raises:
        InvalidRequest: what was received is no such header.
    """
    passed = _ids(received)
    journey = QuestionPath(",".join(passed))
    if library_id in passed or len(passed) > MOST_HOPS:
        journey.refused = ",".join([*passed, library_id][: MOST_HOPS + 2])
    return journey


def refused_path(way: str) -> EngineUnavailable:
    """The error for a refused path; it names the whole path."""
    ids = way.split(",")
    shown = " → ".join(ids)
    if ids[-1] in ids[:-1]:
        message = msg("the question goes round in a circle: {way}", way=shown)
    else:
        message = msg(
            "the question has passed {most} libraries and goes no further: {way}", most=MOST_HOPS, way=shown
        )
    return EngineUnavailable(message, component="sources of type api", hint=_HINT)


def via_header(library_id: str, received: str = "") -> str:
    """The path header to send on: the path so far, and this library's id.

    Args:
        library_id: Its own id.
        received: The header of the question that it is answering; ``""`` when there was none.

    Raises:
        EngineUnavailable: it stands in the way already, or the way is too long: the question goes round in circles.
        InvalidRequest: what was received is no such header.
    """
    passed = _ids(received)
    if library_id in passed or len(passed) >= MOST_HOPS:
        raise refused_path(_refuse([*passed, library_id]))
    return ",".join([*passed, library_id])


def refused_way(sent: str, answered: str) -> str:
    """The path that a response says was refused; ``""`` for any other response.

    Args:
        sent: What was sent with the question: another way is not believed.
        answered: The header of the answer.
    """
    try:
        ids, ours = _ids(answered), _ids(sent)
    except InvalidRequest:
        return ""
    if len(ids) <= len(ours) or ids[: len(ours)] != ours or len(ids) > MOST_HOPS + 2:
        return ""
    return _refuse(ids)


def _refuse(ids: Sequence[str]) -> str:
    way = ",".join(ids)
    journey = JOURNEY.get()
    if journey is not None:
        journey.refused = way
    return way


def _ids(header: str) -> list[str]:
    passed = [entry.strip() for entry in header.split(",") if entry.strip()]
    if not all(_ID.fullmatch(entry) for entry in passed):
        raise InvalidRequest(
            msg("{via} is no list of library ids", via=VIA), faults=(Fault(VIA, "is no list of library ids"),)
        )
    return passed
