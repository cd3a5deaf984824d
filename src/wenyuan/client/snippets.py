"""From a service's fragments to snippets for a prompt."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from math import prod
from typing import Any
from urllib.parse import unquote

from wenyuan.client.context_replies import Knowledge
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import ORIGIN_PRIORITY, RULE_IDS, Fragment, Passage
from wenyuan.core.prompt import build_context
from wenyuan.core.prompt_parts import ContextPolicy, Snippet
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.core.text.excerpts import ScoredPassage, document_key
from wenyuan.core.text.summaries import summarize

_log = logging.getLogger("wenyuan.client")


ASSUMED_TRUST = 3
"""Of a fragment that does not say its own: enough to enter a context, below what is called reliable."""


_ASIDE = "aside"
"""Part of a rule's score that says: it stands behind the passages that probably answer."""
_REF = re.compile(r".+#(rule-)?([0-9]{1,18})", re.DOTALL)


def knowledge(found: Iterable[tuple[str, Fragment]], policy: ContextPolicy) -> Knowledge:
    best: dict[tuple[str, str], tuple[str, Fragment]] = {}
    degraded: dict[str, None] = {}
    stale_by = 0.0
    for query, fragment in found:
        degraded |= dict.fromkeys(_names(fragment.metadata.get("degraded")))
        stale_by = max(stale_by, _seconds(fragment.metadata.get("stale_by")))
        known = best.get((fragment.source, fragment.content))
        if known is None or fragment.retrieval_score > known[1].retrieval_score:
            best[fragment.source, fragment.content] = query, fragment
    numbers = _numbers([fragment for _, fragment in best.values()])
    made = _placed([_passage(fragment, at) for at, (_, fragment) in zip(numbers, best.values(), strict=True)])
    scored = [
        ScoredPassage(
            passage=passage,
            score=_score(fragment),
            origin=origin_of(fragment.metadata),
            summary=summarize(passage.text, query, language=passage.language).text,
            answers=_answers(fragment),
        )
        for passage, (query, fragment) in zip(made, best.values(), strict=True)
    ]
    build = build_context(scored, policy)
    told = {passage.ref: fragment for passage, (_, fragment) in zip(made, best.values(), strict=True)}
    return Knowledge(
        snippets=tuple(_snippet(snippet, told) for snippet in build.snippets),
        withheld={str(reason): count for reason, count in build.withheld.items()},
        tokens=build.tokens,
        degraded=tuple(degraded),
        stale_by=stale_by,
    )


def _parts(fragment: Fragment) -> Mapping[str, Any]:
    """What a rule's score is made of; empty for passages and where the service does not say so."""
    told = fragment.metadata.get("scores")
    return told if origin_of(fragment.metadata) == "kg_rule" and isinstance(told, Mapping) else {}


def _score(fragment: Fragment) -> float:
    """The score of a fragment; a rule's own, the product of its parts, which its place among passages does not change."""
    parts = [part for part in _parts(fragment).values() if isinstance(part, (int, float)) and 0 <= part <= 1]
    return prod(parts) if parts else fragment.retrieval_score


def _answers(fragment: Fragment) -> bool | None:
    """Whether a rule answers; False where passages do instead of it, None where the service says neither."""
    if _ASIDE in _parts(fragment):
        return False
    return True if fragment.metadata.get("answers") is True else None


def _numbers(fragments: Sequence[Fragment]) -> list[int]:
    """Passage numbers of fragments from our own service, which order equal scores; otherwise 1, 2, 3 …"""
    told = [_REF.fullmatch(_text(one.metadata, "passage_id")) for one in fragments]
    numbers = [RULE_IDS - int(ref[2]) if ref[1] else int(ref[2]) for ref in told if ref]
    return numbers if len(set(numbers)) == len(fragments) else list(range(1, len(fragments) + 1))


def _passage(fragment: Fragment, number: int) -> Passage:
    """A fragment as a `Passage`. Without character offsets it is adjacent to no other."""
    said = fragment.metadata
    heading, strength = _text(said, "heading"), _text(said, "strength")
    start, end = said.get("char_start"), said.get("char_end")
    if type(start) is not int or type(end) is not int or start < 0 or end - start != len(fragment.content):
        start = end = 0
    return Passage(
        passage_id=number,
        source_id=_text(said, "source_id") or "service",
        document_id=number,
        uri=fragment.source,
        title=_text(said, "title") or _last_part(fragment.source),
        headings=tuple(part for part in heading.split(" > ") if part),
        text=fragment.content,
        sha256=hashlib.sha256(fragment.content.encode()).hexdigest(),
        start=start,
        end=end,
        language=_text(said, "language"),
        trust=trust_of(said) or ASSUMED_TRUST,
        copyright=_terms(said.get("copyright")),
        facets={"strength": strength} if strength else {},
    )


def _placed(passages: Sequence[Passage]) -> list[Passage]:
    """Passages with one number per document; offsets are dropped where they contradict each other.

    Two that overlap must have the same characters there. Otherwise offsets probably count from each passage or page,
    and merging by them would lose text.
    """
    documents: dict[tuple[str, str], list[Passage]] = {}
    for passage in passages:
        documents.setdefault((passage.source_id, document_key(passage)), []).append(passage)
    placed: dict[int, Passage] = {}
    for same in documents.values():
        ordered = sorted((one for one in same if one.start < one.end), key=lambda one: (one.start, one.end))
        told = all(_agree(first, second) for first, second in pairwise(ordered))
        for one in same:
            placed[one.passage_id] = (
                replace(one, document_id=same[0].passage_id) if told else replace(one, start=0, end=0)
            )
    return [placed[passage.passage_id] for passage in passages]


def _agree(first: Passage, second: Passage) -> bool:
    """Whether two passages (the first starts first) have equal text where they overlap."""
    at = second.start - first.start
    return all(a == b for a, b in zip(first.text[at:], second.text, strict=False))


def _snippet(snippet: Snippet, fragments: Mapping[str, Fragment]) -> Mapping[str, Any]:
    """A snippet in the format of our context service, with the source address given by its service."""
    assumed = any(trust_of(fragments[ref].metadata) is None for ref in snippet.refs)
    return {
        **asdict(snippet),
        "source": _address(fragments[snippet.source]),
        "refs": [_address(fragments[ref]) for ref in snippet.refs],
        "flags": [*snippet.flags, *(["trust-assumed"] if assumed else [])],
        "priority": snippet.priority,
        "tokens": snippet.tokens,
    }


def _address(fragment: Fragment) -> str:
    return _text(fragment.metadata, "passage_id") or fragment.source


def trust_of(said: Mapping[str, Any]) -> int | None:
    trust = said.get("trust")
    return trust if type(trust) is int and 1 <= trust <= 5 else None


def origin_of(said: Mapping[str, Any]) -> str:
    origin = said.get("origin")
    return origin if isinstance(origin, str) and origin in ORIGIN_PRIORITY else "vector"


def _terms(said: object) -> str:
    """Copyright terms; unknown ones allow no excerpt."""
    if said in (None, ""):
        return ""
    try:
        return parse_copyright(said if isinstance(said, (str, Mapping)) else json.dumps(said)).short()
    except InvalidRequest as error:
        _log.warning("terms of copyright are not understood, so nothing is quoted: %s", error)
        return "deny"


def _names(said: object) -> Sequence[str]:
    if isinstance(said, str):
        return [name for name in said.split(", ") if name]
    return [name for name in said if isinstance(name, str)] if isinstance(said, (list, tuple)) else ()


def _seconds(said: object) -> float:
    """A number of seconds; 0 for anything that is no number."""
    return float(said) if isinstance(said, (int, float)) and not isinstance(said, bool) and said > 0 else 0.0


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _last_part(uri: str) -> str:
    return unquote(uri.partition("#")[0].rstrip("/").rpartition("/")[2]) or uri
