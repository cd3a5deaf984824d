"""What a service's reply means: fragments, or which exception. Nothing is taken on trust."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest, NotPermitted, RetrievalFailed
from wenyuan.core.model import Fragment, RetrievalResponse

__all__ = ["Reply", "read_reply", "says_failed"]

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
    """The fragments of a successful reply, best first.

    Raises:
        InvalidRequest: the service refused the request (400, 413, 415, 422), with the faults it named.
        NotPermitted: 401 or 403.
        RetrievalFailed: it said FAILED, answered with another status, or with what is no RetrievalResponse.
    """
    if reply.status in REFUSED:
        problem = _problem(reply.content)
        raise InvalidRequest(_why(problem, f"refused with HTTP {reply.status}"), faults=_faults(problem))
    if reply.status in FORBIDDEN:
        why = _why(_problem(reply.content), f"refused with HTTP {reply.status}")
        raise NotPermitted(why, component=component)
    if failure := says_failed(reply):
        raise RetrievalFailed(failure, component=component)
    if reply.status != 200:
        raise RetrievalFailed(_unexpected(reply), component=component)
    try:
        return _fragments(_object(reply.content), max_results)
    except (ValueError, RecursionError) as error:
        raise RetrievalFailed(f"the answer breaks the contract: {error}", component=component) from error


def says_failed(reply: Reply) -> str:
    """The reason, when the body is a RetrievalResponse that says FAILED (whatever the HTTP status); else ``""``."""
    try:
        body = _object(reply.content)
    except (ValueError, RecursionError):
        return ""
    if body.get("status") != "FAILED":
        return ""
    reason = body.get("error_message")
    return reason if isinstance(reason, str) and reason.strip() else "the service failed and gave no reason"


def _unexpected(reply: Reply) -> str:
    if 300 <= reply.status < 400:
        return f"the service answered with a redirect (HTTP {reply.status}), which is not followed"
    return _why(_problem(reply.content), f"the service answered with HTTP {reply.status}")


def _fragments(body: Mapping[str, Any], max_results: int) -> tuple[Fragment, ...]:
    if body.get("status") != "SUCCESS":
        raise ValueError(f"status is {_shown(body.get('status'))}")
    if body.get("error_message") is not None:
        raise ValueError("SUCCESS beside an error_message")
    members = body.get("fragments")
    if not isinstance(members, list):
        raise ValueError("fragments is no array")
    if len(members) > max_results:
        raise ValueError(f"{len(members)} fragments where {max_results} were asked for")
    fragments = tuple(_fragment(member, f"fragments[{at}]") for at, member in enumerate(members))
    return RetrievalResponse(status="SUCCESS", fragments=fragments).fragments


def _fragment(member: object, path: str) -> Fragment:
    if not isinstance(member, dict):
        raise ValueError(f"{path} is no object")
    source, content, score = (member.get(key) for key in ("source", "content", "retrieval_score"))
    metadata = member.get("metadata")
    if not isinstance(source, str) or not source:
        raise ValueError(f"{path}.source is no string")
    if not isinstance(content, str):
        raise ValueError(f"{path}.content is no string")
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
        raise ValueError(f"{path}.retrieval_score is {_shown(score)}, no number in 0..1")
    if not isinstance(metadata, (dict, type(None))):
        raise ValueError(f"{path}.metadata is no object")
    return Fragment(source=source, content=content, retrieval_score=float(score), metadata=metadata or {})


def _object(content: bytes) -> dict[str, Any]:
    """Strict JSON (RFC 8259): UTF-8, no NaN, no member twice, an object at the top."""
    body = json.loads(
        content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite
    )
    if not isinstance(body, dict):
        raise ValueError("the body is no JSON object")
    return body


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("the body has a member twice")
    return members


def _no_number(name: str) -> float:
    raise ValueError(f"the body holds {name}, which is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("the body holds a number that is too large")
    return number


def _problem(content: bytes) -> Mapping[str, Any]:
    """The members of an error body; none when it is no JSON object."""
    try:
        return _object(content)
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


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
