"""What a service's reply means: fragments, or which exception. Nothing is taken on trust."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from wenyuan.core.errors import Fault, InvalidRequest, NotPermitted, RetrievalFailed
from wenyuan.core.model import Fragment
from wenyuan.core.reply import failure, read_fragments, read_object

__all__ = ["Reply", "read_answer", "read_reply", "says_failed"]

T = TypeVar("T")

SHOWN_CHARS = 500
REFUSED = frozenset((400, 413, 415, 422))
FORBIDDEN = frozenset((401, 403))


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole HTTP reply.

    Attributes:
        retry_after: The header's text, ``""`` when absent.
    """

    status: int
    content: bytes
    retry_after: str = ""


def read_reply(reply: Reply, *, max_results: int, component: str) -> tuple[Fragment, ...]:
    """The fragments of a successful reply, best first; raises as `read_answer`."""
    return read_answer(reply, lambda body: read_fragments(body, max_results=max_results), component=component)


def read_answer(reply: Reply, read: Callable[[Mapping[str, Any]], T], *, component: str) -> T:
    """What `read` makes of the body of a successful reply; it raises ValueError for what breaks the contract.

    Raises:
        InvalidRequest: the service refused the request (400, 413, 415, 422), with the faults it named.
        NotPermitted: 401 or 403.
        RetrievalFailed: it said FAILED, answered with another status, or with what is no such answer.
    """
    if reply.status in REFUSED:
        problem = _problem(reply.content)
        raise InvalidRequest(_why(problem, f"refused with HTTP {reply.status}"), faults=_faults(problem))
    if reply.status in FORBIDDEN:
        why = _why(_problem(reply.content), f"refused with HTTP {reply.status}")
        raise NotPermitted(why, component=component)
    if reason := says_failed(reply):
        raise RetrievalFailed(reason, component=component)
    if reply.status != 200:
        raise RetrievalFailed(_unexpected(reply), component=component)
    try:
        return read(read_object(reply.content))
    except (ValueError, RecursionError) as error:
        raise RetrievalFailed(f"the answer breaks the contract: {error}", component=component) from error


def says_failed(reply: Reply) -> str:
    """The reason, when the body is a RetrievalResponse that says FAILED (whatever the HTTP status); else ``""``."""
    return failure(_problem(reply.content))


def _unexpected(reply: Reply) -> str:
    if 300 <= reply.status < 400:
        return f"the service answered with a redirect (HTTP {reply.status}), which is not followed"
    return _why(_problem(reply.content), f"the service answered with HTTP {reply.status}")


def _problem(content: bytes) -> Mapping[str, Any]:
    """The members of an error body; none when it is no JSON object."""
    try:
        return read_object(content)
    except (ValueError, RecursionError):
        return {}


def _why(problem: Mapping[str, Any], otherwise: str) -> str:
    for key in ("detail", "title", "message"):
        text = problem.get(key)
        if isinstance(text, str) and text.strip():
            return f"{otherwise}: {_shown(text)}"
    return otherwise


def _faults(problem: Mapping[str, Any]) -> tuple[Fault, ...]:
    errors = problem.get("errors")
    return tuple(
        Fault(str(error.get("path", "")), _shown(error["message"]))
        for error in (errors if isinstance(errors, list) else ())
        if isinstance(error, dict) and isinstance(error.get("message"), str)
    )


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
