"""What a retrieval gave, in an audit record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, Literal

from wenyuan.core.access import Principal
from wenyuan.core.filters import Scope
from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit
from wenyuan.core.query_rewriting import REWRITING_PROMPT_VERSION
from wenyuan.service.audit.asker_entry import asker_entry
from wenyuan.service.audit.change_entry import plain_value
from wenyuan.service.audit.request_entry import preview_of
from wenyuan.service.query import Confidence, FollowUp, LegReport, Rewriting

_ERROR_CHARS = 300
_MOST_SOURCES = 64  # named in one record; beyond, their digest stands for them
_SHOWN_OF_REQUEST = ("limit", "max_results", "agent_id", "task_id", "min_trust", "top_k", "as_of", "token_budget",
                     "allow_low_trust", "abstain")  # fmt: skip
_FRAGMENT = ("ref", "passage_id", "sha256", "score", "trust", "quoted_chars", "source_id", "uri")


def fragment_entries(
    given: Iterable[tuple[Hit, Passage]],
    unquoted: Mapping[str, int] = MappingProxyType({}),
    copies: Set[int] = frozenset(),
) -> list[dict[str, Any]]:
    """The entries of returned passages, each with the characters that were quoted of it: all of its text by default.

    Args:
        unquoted: By short address, how many characters were kept back.
        copies: Numbers of passages of which nothing is quoted.
    """
    pairs = list(given)
    refs = [passage.ref for _, passage in pairs]
    return [
        {
            "ref": ref,
            "passage_id": passage.passage_id,
            "sha256": passage.sha256,
            "score": hit.score,
            "trust": passage.trust,
            "quoted_chars": 0 if hit.passage_id in copies else max(0, len(passage.text) - unquoted.get(ref, 0)),
            "source_id": passage.source_id,
            "uri": passage.uri,
        }
        for (hit, passage), ref in zip(pairs, refs, strict=True)
    ]


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
        fragments: See `fragment_entries`; other keys, such as a text, are left out.
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
        **asker_entry(principal),
        "door": door,
        "agent": principal.agent_id or request.get("agent_id"),
        "preview": preview_of(text),
        "query_chars": len(text),
        "request": {n: plain_value(request[n]) for n in _SHOWN_OF_REQUEST if request.get(n) not in (None, "")},
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
        "withheld": plain_value(withheld),
        "floor": plain_value(floor),
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
    said = json.dumps(plain_value(value), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def fetch_record(ref: str, uri: str, chars: int, principal: Principal, door: str) -> dict[str, Any]:
    """The audit record of reading a document, for `AuditLog.append`."""
    return {
        "kind": "fetch", **asker_entry(principal), "agent": principal.agent_id, "door": door, "action": "read",
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
        "kind": "verification", **asker_entry(principal), "agent": principal.agent_id, "door": door,
        "action": "verify", "claims": [plain_value(claim) for claim in claims], **bounds,
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
        "kind": "answer", **asker_entry(principal), "agent": principal.agent_id, "door": door, "action": action,
        **plain_value(said),
    }  # fmt: skip
