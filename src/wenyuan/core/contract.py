"""Strict parsing of contract responses; error messages never repeat their content."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import MOST_CHARS, TRANSLATABLE, Fault, InvalidRequest, msg, received
from wenyuan.core.model import Fragment, RetrievalResponse


def read_object(content: bytes) -> dict[str, Any]:
    """Parse strict JSON (RFC 8259): UTF-8, no NaN, no duplicate member, no lone surrogate, an object at the top.

    Raises:
        ValueError, RecursionError: it is anything else.
    """
    body = json.loads(
        content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite
    )
    if not isinstance(body, dict):
        raise ValueError("the body is no JSON object")
    if b"\\u" in content and _unpaired(body):
        raise ValueError("the body holds half of a surrogate pair")
    return body


def check_success(body: Mapping[str, Any]) -> None:
    """Refuse what does not say, in this word, that it is a success.

    Raises:
        ValueError: ``status`` is missing or another value, or an ``error_message`` stands beside it.
    """
    if body.get("status") != "SUCCESS":
        raise ValueError("status is neither SUCCESS nor FAILED")
    if body.get("error_message") is not None:
        raise ValueError("SUCCESS beside an error_message")


def reason_of(text: str, parts: object) -> str:
    """A reason that a service gives, as `received`; on one line and without what a terminal or a log would obey."""
    from wenyuan.core.text.injection import visible

    clean = " ".join(visible(text).split())
    return received(text, parts) if clean == text else clean


def failure(body: Mapping[str, Any]) -> str:
    """The error message when a body is a response with status FAILED, as a `Message` where its parts came with it, and cut
    where it has no end; else ``""``.
    """
    if body.get("status") != "FAILED":
        return ""
    reason = body.get("error_message")
    if not isinstance(reason, str) or not reason.strip():
        return "the service failed and gave no reason"
    if len(reason) > MOST_CHARS:
        return reason_of(reason[: MOST_CHARS - 1], None) + "…"
    return reason_of(reason, body.get(TRANSLATABLE))


def read_fragments(body: Mapping[str, Any], *, max_results: int) -> tuple[Fragment, ...]:
    """The fragments of a response with status SUCCESS, best first.

    Raises:
        ValueError: it says something else or breaks the contract: too many fragments, members that are missing or
            of a wrong type, scores outside 0..1 or rising.
    """
    check_success(body)
    members = body.get("fragments")
    if not isinstance(members, list):
        raise ValueError("fragments is no array")
    if len(members) > max_results:
        raise ValueError(f"{len(members)} fragments where {max_results} were asked for")
    fragments = tuple(_fragment(member, f"fragments[{at}]") for at, member in enumerate(members))
    return RetrievalResponse(status="SUCCESS", fragments=fragments).fragments


def read_nearest(body: Mapping[str, Any]) -> Fragment | None:
    """The nearest passage of a response with status SUCCESS and without fragments; None where there is none.

    Raises:
        ValueError: it breaks the contract, or stands beside fragments.
    """
    if body.get("nearest") is None:
        return None
    found = _fragment(body["nearest"], "nearest")
    if body.get("fragments"):
        raise ValueError("nearest stands beside fragments")
    return found


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
        raise ValueError(f"{path}.retrieval_score is no number in 0..1")
    if not isinstance(metadata, (dict, type(None))):
        raise ValueError(f"{path}.metadata is no object")
    return Fragment(source=source, content=content, retrieval_score=float(score), metadata=metadata or {})


def _unpaired(body: dict[str, Any]) -> bool:
    """Whether a value contains a lone surrogate, which cannot be stored, hashed or written."""
    try:
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


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


# One argument that goes by two names: the question, which every call takes as ``query`` beside its own name.


def named_twice(name: str, value: str | None, query: str | None) -> str | None:
    """The text given as `name` or as its alias ``query``; None when neither is given.

    Raises:
        InvalidRequest: two texts that differ.
    """
    if value is not None and query is not None and value != query:
        why = "and query are given and differ: they mean the same, and one is enough"
        raise InvalidRequest(
            msg("{place} {fault}", place=name, fault=why),
            faults=(Fault(name, why), Fault("query", msg("differs from {name}", name=name))),
        )
    return query if value is None else value


def required_query(name: str, value: str | None, query: str | None) -> str:
    """As `named_twice`, but one of them must be given.

    Raises:
        InvalidRequest: two texts that differ, or none.
    """
    found = named_twice(name, value, query)
    if found is None:
        why = "is required, or query"
        raise InvalidRequest(msg("{place} {fault}", place=name, fault=why), faults=(Fault(name, why),))
    return found
