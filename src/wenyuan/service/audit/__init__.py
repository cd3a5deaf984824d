"""Builds audit records of retrievals and changes, which `catalog.audit.log` stores.

A record holds what shows later which passages were given, and why: their ids, hashes, scores and trust; the scope,
the settings, the encoder and the state of the library. It holds no text of passages, of the query only a preview
without numbers and addresses, and no secret. The query itself is handed to the log apart (`request_of`).
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date
from types import MappingProxyType
from typing import Any, Literal

from wenyuan.core.access import HIDDEN, Key, Principal, scrubbed
from wenyuan.core.answering import REWRITING_PROMPT_VERSION
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope, parse_filter
from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit
from wenyuan.service import Answer, Confidence, FollowUp, LegReport, Query, Rewriting

PREVIEW_CHARS = 80
_ERROR_CHARS = 300
_MOST_SOURCES = 64  # named in one record; beyond, their digest stands for them

_MAIL = re.compile(r"[^\s@,;:，。；：、()（）<>《》\"']{1,64}@[^\s@,;:，。；：、()（）<>《》\"']{1,255}")
_TOKEN = re.compile(r"[A-Za-z0-9_+/=\-]{20,}")
_MASKED = re.compile(r"[^\W_]*\*{2,}[^\W_]*")
_NUMBER = re.compile(r"[0-9](?:[ .\-·_/]{0,2}[0-9]){4,}")


# --- requests -----------------------------------------------------------------------------------------------
def preview_of(text: str, most: int = PREVIEW_CHARS) -> str:
    """The beginning of a query or of an error, at most `most` characters, with personal data and secrets masked.

    Numbers of five digits or more (with or without separators), e-mail addresses and long tokens are masked.
    """
    plain = unicodedata.normalize("NFKC", text)
    if not (plain.isascii() and plain.isprintable()):
        plain = plain.translate({ord(c): shown for c in set(plain) if (shown := _shown(c)) != c})
    plain = _MASKED.sub(HIDDEN, _MAIL.sub(HIDDEN, plain))
    plain = _NUMBER.sub(HIDDEN, _TOKEN.sub(_hide_mixed, plain)).strip()
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _shown(c: str) -> str:
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
    }


def synonyms_of(answer: Answer) -> list[int]:
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


# --- retrievals ---------------------------------------------------------------------------------------------
_SHOWN_OF_REQUEST = ("limit", "max_results", "agent_id", "task_id", "min_trust", "top_k", "as_of", "token_budget",
                     "allow_low_trust")  # fmt: skip
_FRAGMENT = ("ref", "passage_id", "sha256", "score", "trust", "quoted_chars", "source_id", "uri")


def fragment_entry(hit: Hit, passage: Passage, quoted_chars: int | None = None) -> dict[str, Any]:
    """The entry of one returned passage; `quoted_chars` is all of its text by default."""
    return {
        "ref": passage.ref,
        "passage_id": passage.passage_id,
        "sha256": passage.sha256,
        "score": hit.score,
        "trust": passage.trust,
        "quoted_chars": len(passage.text) if quoted_chars is None else quoted_chars,
        "source_id": passage.source_id,
        "uri": passage.uri,
    }


def retrieval_record(  # noqa: PLR0913  (the fields of a record)
    *,
    principal: Principal,
    request: Mapping[str, Any],
    scope: Scope,
    generation: int,
    settings_digest: str,
    encoder_key: str,
    legs: Iterable[LegReport] = (),
    fragments: Iterable[Mapping[str, Any]] = (),
    nearest: Iterable[Mapping[str, Any]] = (),
    withheld: Any = None,
    status: Literal["SUCCESS", "FAILED"] = "SUCCESS",
    error: str = "",
    error_code: str = "",
    cache_hit: bool = False,
    degraded: Sequence[str] = (),
    trusts: Mapping[str, int] | None = None,
    floor: Mapping[str, float] | None = None,
    door: str = "retrieve_fragments",
    tuning: str = "",
    derivation: int = 0,
    synonyms: Sequence[int] = (),
    judge: Mapping[str, Any] = MappingProxyType({}),
    redacted: Mapping[str, int] = MappingProxyType({}),
    rewriting: Rewriting | None = None,
) -> dict[str, Any]:
    """A record of kind ``retrieval``, for `AuditLog.append`.

    Args:
        request: As asked, with the text under ``query``; of the rest, bounds and ids are recorded.
        scope: What was searched in the end; its filter is in the kept query.
        generation: The change of the catalog that was searched.
        settings_digest: `digest_of` all settings that bear on the answer.
        encoder_key: Of the encoder's fingerprint; ``""`` without one.
        error_code: The kind of failure, as answers name it.
        fragments: See `fragment_entry`; other keys, such as a text, are left out.
        nearest: Likewise of the passage that was shown as the nearest where nothing was given; it is no fragment.
        withheld: What was found and not given: by reason, characters by short address.
        trusts: Trust of the scope's sources, by id: an exact replay needs it.
        floor: What the library was like, and what an answer had to reach (see `Answer.floors`), for the same reason.
        tuning: Fingerprint of what was learned from judged questions and counted; ``""`` for nothing.
        derivation: `core.rules.inference.REVISION`, where rules were derived; 0 where none were asked for.
        synonyms: See `synonyms_of`.
        judge: See `judge_entry`; empty where no judge was to say how many passages suffice.
        redacted: How many values of each kind were taken out of the question.
        rewriting: What came of asking for other wordings; these are kept with the question.
    """
    text = str(request.get("query", ""))
    record: dict[str, Any] = {
        "kind": "retrieval",
        "principal": principal.key_id,
        "door": door,
        "agent": principal.agent_id or request.get("agent_id"),
        "preview": preview_of(text),
        "query_chars": len(text),
        "request": {n: _plain(request[n]) for n in _SHOWN_OF_REQUEST if request.get(n) not in (None, "")},
        "scope": _scope_entry(scope, trusts or {}),
        "legs": [_leg(leg) for leg in legs],
        "generation": generation,
        "settings": settings_digest,
        "encoder": encoder_key,
        "fragments": list(map(_kept_of, fragments)),
        "status": status,
        "cache_hit": cache_hit,
    }
    optional = {
        "nearest": list(map(_kept_of, nearest)),
        "error": error and preview_of(error, _ERROR_CHARS),
        "error_code": error_code,
        "degraded": list(degraded),
        "withheld": _plain(withheld),
        "floor": _plain(floor),
        "tuning": tuning,
        "derivation": derivation,
        "synonyms": list(synonyms),
        "judge": dict(judge),
        "redacted": dict(redacted),
        "rewriting": None if rewriting is None else _rewriting_entry(rewriting),
    }
    return record | {name: value for name, value in optional.items() if value}


def _kept_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with the keys that are recorded."""
    return {name: entry[name] for name in _FRAGMENT if name in entry} | {"score": round(entry["score"], 9)}


def judge_entry(found: Confidence, question: str) -> dict[str, Any]:
    """What a judge said of an answer: raw and calibrated numbers, for a replay to read; the question as a hash only."""
    entry: dict[str, Any] = {"question": digest_of(question), "state": found.state, "k": found.k}
    if found.state == "auto":
        return entry | {"reason": preview_of(found.reason, _ERROR_CHARS)}
    return entry | {
        "model": found.judge, "calibration": found.calibration, "threshold": found.threshold, "risk": found.risk,
        "questions": found.questions, "asked": [list(one) for one in found.asked],
        **({} if found.follow_up is None else {"follow_up": _follow_up_entry(found.follow_up)}),
    }  # fmt: skip


def _follow_up_entry(one: FollowUp) -> dict[str, Any]:
    """What came of asking the judge what is missing; its query is kept with the question."""
    entry = {
        "state": one.state,
        "found": one.found,
        "refused": one.refused,
        "error": preview_of(one.error, _ERROR_CHARS),
    }
    return {name: value for name, value in entry.items() if value}


def _rewriting_entry(one: Rewriting) -> dict[str, Any]:
    entry = {
        "model": one.model, "prompt": REWRITING_PROMPT_VERSION, "wordings": len(one.wordings), "left_out": dict(one.left_out),
        "tokens_in": one.tokens_in, "tokens_out": one.tokens_out, "cost": one.cost,
    }  # fmt: skip
    return entry | ({"error": preview_of(one.error, _ERROR_CHARS)} if one.error else {})


def _leg(leg: LegReport) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": leg.name, "state": leg.state, "ms": round(leg.ms, 1), "hits": leg.hits}
    also = {"withheld": leg.withheld, "remembered": leg.remembered}
    return entry | {name: value for name, value in also.items() if value}


def _scope_entry(scope: Scope, trusts: Mapping[str, int]) -> dict[str, Any]:
    names = sorted(scope.sources)
    entry: dict[str, Any] = {"as_of": scope.as_of.isoformat(), "count": len(names)}
    if len(names) <= _MOST_SOURCES:
        return entry | {"sources": {name: trusts.get(name) for name in names}}
    return entry | {"sha256": digest_of(names)}


def digest_of(value: Any) -> str:
    """16 hexadecimal digits that identify a value (settings, for example)."""
    said = json.dumps(_plain(value), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def fetch_record(ref: str, uri: str, chars: int, principal: Principal, door: str) -> dict[str, Any]:
    """The audit record of reading a document, for `AuditLog.append`."""
    return {
        "kind": "fetch", "principal": principal.key_id, "agent": principal.agent_id, "door": door, "action": "read",
        "object": ref, "uri": uri, "quoted_chars": chars,
    }  # fmt: skip


def verification_record(
    claims: Sequence[Mapping[str, Any]], bounds: Mapping[str, Any], principal: Principal, door: str
) -> dict[str, Any]:
    """The audit record of a verification, for `AuditLog.append`; the claims themselves are stored separately, as
    queries are.

    Args:
        claims: Of each its verdict, its findings, and the passages that these rest on.
        bounds: The day, the trust that was asked for, and the change of the catalog that was looked at.
    """
    return {
        "kind": "verification", "principal": principal.key_id, "agent": principal.agent_id, "door": door,
        "action": "verify", "claims": [_plain(claim) for claim in claims], **bounds,
    }  # fmt: skip


def answer_record(
    said: Mapping[str, Any],
    principal: Principal,
    door: str,
    action: Literal["answer", "summarize", "link"] = "answer",
) -> dict[str, Any]:
    """The audit record of a model's answer, for `AuditLog.append`; question and model output are stored separately.

    Args:
        said: What was shown, claimed, dropped and withheld, by which model, at what cost; texts only as hashes.
    """
    return {
        "kind": "answer", "principal": principal.key_id, "agent": principal.agent_id, "door": door, "action": action,
        **_plain(said),
    }  # fmt: skip


# --- changes ------------------------------------------------------------------------------------------------
_OF_A_KEY = frozenset(f.name for f in fields(Key))

Changed = Literal[
    "registry",
    "agent",
    "key",
    "rule",
    "task",
    "refresh",
    "tuning",
    "feedback",
    "evaluation",
    "synonym",
    "correction",
    "document",
]


def change_record(
    kind: Changed,
    action: str,
    object_id: str,
    before: Any = None,
    after: Any = None,
    principal: Principal | None = None,
) -> dict[str, Any]:
    """The audit record of a change, for `AuditLog.append`: actor, object and differences.

    Args:
        before, after: Values of `core` or mappings; None for an object that was not there, or is no more. Only
            fields that differ are recorded; of keys only what `core.access.Key` has; secrets never.
        principal: Who did it; None for a caller of the Python object.
    """
    old, new = _described(kind, before), _described(kind, after)
    changes = {
        name: [old.get(name), new.get(name)]
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }
    return {
        "kind": kind,
        "principal": (principal or Principal()).key_id,
        "action": action,
        "object": object_id,
        "changes": {name: scrubbed(name, pair) for name, pair in changes.items()},
    }


def _described(kind: Changed, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    plain = _plain(value)
    if not isinstance(plain, dict):
        plain = {"value": plain}
    return {n: v for n, v in plain.items() if n in _OF_A_KEY} if kind == "key" else plain


def _plain(value: Any) -> Any:
    """A value as JSON; TypeError for unsupported types."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Set):
        return sorted(_plain(item) for item in value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be recorded")
