"""What a service's reply means: fragments, or which exception. Nothing is taken on trust."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from wenyuan.core.contract import failure, read_fragments, read_nearest, read_object, reason_of
from wenyuan.core.errors import TRANSLATABLE, Fault, InvalidRequest, NotPermitted, RetrievalFailed, msg
from wenyuan.core.model import Fragment

T = TypeVar("T")

SHOWN_CHARS = 500
REFUSED = frozenset((400, 413, 415, 422))
FORBIDDEN = frozenset((401, 403))


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete HTTP reply.

    Attributes:
        retry_after: The header's text, ``""`` when absent.
    """

    status: int
    content: bytes
    retry_after: str = ""


class Fragments(tuple[Fragment, ...]):
    """The fragments found, best first.

    Attributes:
        nearest: Where there are none and ``context`` has ``nearest``: the nearest passage, which is no answer and no evidence.
    """

    nearest: Fragment | None = None


def read_reply(reply: Reply, *, max_results: int, component: str) -> Fragments:
    """The fragments of a successful reply, best first; raises as `read_answer`."""

    def read(body: Mapping[str, Any]) -> Fragments:
        found = Fragments(read_fragments(body, max_results=max_results))
        found.nearest = read_nearest(body)
        return found

    return read_answer(reply, read, component=component)


def read_answer(reply: Reply, read: Callable[[Mapping[str, Any]], T], *, component: str) -> T:
    """The result of `read` on the body of a successful reply; `read` raises ValueError when the body breaks the
    contract.

    Raises:
        InvalidRequest: the service refused the request (400, 413, 415, 422), with the faults it named.
        NotPermitted: 401 or 403.
        RetrievalFailed: it said FAILED, answered with another status, or with what is no such answer.
    """
    _check_status(reply, component)
    if reason := says_failed(reply):
        raise RetrievalFailed(reason, component=component)
    try:
        return read(read_object(reply.content))
    except (ValueError, RecursionError) as error:
        raise RetrievalFailed(
            msg("the answer breaks the contract: {error}", error=error), component=component
        ) from error


def read_file(reply: Reply, *, component: str) -> bytes:
    """The body of a successful reply, unchanged; raises as `read_answer`."""
    _check_status(reply, component)
    return reply.content


def _check_status(reply: Reply, component: str) -> None:
    if reply.status in REFUSED:
        problem = _problem(reply.content)
        raise InvalidRequest(_refused(reply, problem), faults=_faults(problem))
    if reply.status in FORBIDDEN:
        raise NotPermitted(_refused(reply, _problem(reply.content)), component=component)
    if reply.status != 200 and (reason := says_failed(reply)):
        raise RetrievalFailed(reason, component=component)
    if reply.status != 200:
        raise RetrievalFailed(_unexpected(reply), component=component)


def says_failed(reply: Reply) -> str:
    """The error message when the body is a response with status FAILED, whatever the HTTP status; else ``""``."""
    return failure(_problem(reply.content))


def may_have_begun(reply: Reply) -> bool:
    """Whether a 503 may stand for work that goes on: one that ends a server, or of a proxy; not one of a full queue."""
    return reply.status == 503 and _problem(reply.content).get("code") != "overloaded"


def _refused(reply: Reply, problem: Mapping[str, Any]) -> str:
    return _why(problem, msg("refused with HTTP {status}", status=reply.status))


def _unexpected(reply: Reply) -> str:
    if 300 <= reply.status < 400:
        return msg("the service answered with a redirect (HTTP {status}), which is not followed", status=reply.status)
    return _why(_problem(reply.content), msg("the service answered with HTTP {status}", status=reply.status))


def _problem(content: bytes) -> Mapping[str, Any]:
    """The members of an error body; empty when it is no JSON object."""
    try:
        return read_object(content)
    except (ValueError, RecursionError):
        return {}


def _why(problem: Mapping[str, Any], otherwise: str) -> str:
    for key in ("detail", "title", "message"):
        text = problem.get(key)
        if isinstance(text, str) and text.strip():
            return msg("{what}: {why}", what=otherwise, why=_shown(reason_of(text, problem.get(TRANSLATABLE))))
    return otherwise


def _faults(problem: Mapping[str, Any]) -> tuple[Fault, ...]:
    errors = problem.get("errors")
    return tuple(
        Fault(
            _shown(reason_of(str(error.get("path", "")), None)),
            _shown(reason_of(error["message"], error.get(TRANSLATABLE))),
        )
        for error in (errors if isinstance(errors, list) else ())
        if isinstance(error, dict) and isinstance(error.get("message"), str)
    )


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


__all__ = ["Fragments", "Reply", "read_answer", "read_reply", "says_failed"]
