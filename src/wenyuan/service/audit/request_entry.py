"""The request in an audit record."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from typing import Any

from wenyuan.core.filters import And, Filter, In, Not, Or, Range, parse_filter
from wenyuan.core.secret_settings import HIDDEN
from wenyuan.service.query import Query, Rewriting, SearchAnswer

_PREVIEW_CHARS = 80
_MAIL = re.compile(r"[^\s@,;:，。；：、()（）<>《》\"']{1,64}@[^\s@,;:，。；：、()（）<>《》\"']{1,255}")
_TOKEN = re.compile(r"[A-Za-z0-9_+/=\-]{20,}")
_MASKED = re.compile(r"[^\W_]*\*{2,}[^\W_]*")
_NUMBER = re.compile(r"[0-9](?:[ .\-·_/]{0,2}[0-9]){4,}")


def preview_of(text: str, most: int = _PREVIEW_CHARS) -> str:
    """The beginning of a query or of an error, at most `most` characters, with personal data and secrets masked.

    Numbers of five digits or more (with or without separators), e-mail addresses and long tokens are masked.
    """
    plain = unicodedata.normalize("NFKC", text)
    if not (plain.isascii() and plain.isprintable()):
        plain = plain.translate({ord(c): shown for c in set(plain) if (shown := _masked_character(c)) != c})
    plain = _MASKED.sub(HIDDEN, _MAIL.sub(HIDDEN, plain))
    plain = _NUMBER.sub(HIDDEN, _TOKEN.sub(_hide_mixed, plain)).strip()
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _masked_character(c: str) -> str:
    """A character in the form that the masking rules expect: ASCII digits, nothing for invisible characters."""
    category = unicodedata.category(c)
    if category == "Nd":
        return str(unicodedata.decimal(c))
    if category[0] == "Z" or c in "\t\n\r":
        return " "
    return "" if category[0] == "C" else c


def _hide_mixed(match: re.Match[str]) -> str:
    return HIDDEN if any(c.isdigit() for c in match[0]) else match[0]


def request_of(query: Query) -> dict[str, Any]:
    """A query as JSON values, as kept for replay; the inverse of `query_of`."""
    return {
        "query": query.text,
        "limit": query.limit,
        "sources": None if query.sources is None else list(query.sources),
        "min_trust": query.min_trust,
        "filter": None if query.filter is None else _filter_to_wire(query.filter),
        "as_of": None if query.as_of is None else query.as_of.isoformat(),
        "source_document_uri": query.source_document_uri,
        "task_id": query.task_id,
        # Older records, and those of who may see everything, do not have it.
        **({"seen": list(query.seen)} if query.seen is not None and query.source_document_uri else {}),
        # Nor what concerns rules, unless it is asked for.
        **({"rules": query.rules} if query.rules != "within" else {}),
        **({"engineering_type": query.engineering_type} if query.engineering_type else {}),
        **({"processes": list(query.processes)} if query.processes is not None else {}),
        **({"parameters": dict(query.parameters)} if query.parameters else {}),
        **({} if query.rewriting is None else {"rewritten": list(query.rewriting.wordings)}),
        **({"follows": True} if query.rewriting is not None and query.rewriting.follows else {}),
        **({"follow_up": query.follow_up} if query.follow_up else {}),
        **({"nearest": True} if query.nearest else {}),
        **({"abstain": query.abstain} if query.abstain else {}),
    }


def synonyms_of(answer: SearchAnswer) -> list[int]:
    """Numbers of the synonyms used for a question's other wordings."""
    return sorted({number for wording in answer.wordings for number in wording.entries})


def query_of(request: Mapping[str, Any]) -> Query:
    """Inverse of `request_of`."""
    return Query(
        text=request["query"],
        limit=request["limit"],
        sources=None if request["sources"] is None else tuple(request["sources"]),
        seen=None if request.get("seen") is None else tuple(request["seen"]),
        min_trust=request["min_trust"],
        filter=None if request["filter"] is None else parse_filter(request["filter"]),
        as_of=None if request["as_of"] is None else date.fromisoformat(request["as_of"]),
        source_document_uri=request["source_document_uri"],
        task_id=request["task_id"],
        rules=request.get("rules", "within"),
        engineering_type=request.get("engineering_type", ""),
        processes=None if request.get("processes") is None else tuple(request["processes"]),
        parameters=request.get("parameters", {}),
        rewriting=_rewriting_of(request),
        follow_up=request.get("follow_up", ""),
        nearest=request.get("nearest", False),
        abstain=request.get("abstain", ""),
    )


def _rewriting_of(request: Mapping[str, Any]) -> Rewriting | None:
    if "rewritten" not in request:
        return None
    return Rewriting(wordings=tuple(request["rewritten"]), follows=request.get("follows", False))


def _filter_to_wire(test: Filter) -> dict[str, Any]:
    match test:
        case In():
            return {test.field: list(test.values)}
        case Range():
            return {test.field: {k: v for k, v in (("ge", test.ge), ("le", test.le)) if v is not None}}
        case And():
            return {"and": [_filter_to_wire(part) for part in test.parts]}
        case Or():
            return {"or": [_filter_to_wire(part) for part in test.parts]}
        case Not():
            return {"not": _filter_to_wire(test.part)}
