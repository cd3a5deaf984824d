"""The context service on top of any implementation of the contract: from its fragments to snippets for a prompt.

>>> from wenyuan.client import get_context_from
>>> knowledge = get_context_from("http://127.0.0.1:8000", "客户投诉多久响应")  # doctest: +SKIP
>>> prompt = {"CONTEXT_DATA": knowledge.context_data}  # doctest: +SKIP

The policy is that of our own context service (`core.prompt`): trust gate, repeats, copyright, budget, rules first; of
long passages the extract that answers the query, neighbours together. So a library's own context and one over the
contract are the same. What a fragment's metadata does not say is taken carefully: a missing trust is 3 and flagged
``trust-assumed``, terms of copyright that cannot be understood allow no excerpt, a share of a document is measured by the
end of the passage, and without ``char_start`` and ``char_end`` a fragment has no neighbours.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from itertools import pairwise
from typing import Any, Protocol
from urllib.parse import unquote

from wenyuan.client.caller import Client
from wenyuan.client.replies import Knowledge
from wenyuan.core.contract import failure, read_fragments, required_query
from wenyuan.core.errors import InvalidRequest, NotPermitted, RetrievalFailed, msg
from wenyuan.core.model import MAX_RESULTS, ORIGIN_PRIORITY, RULE_IDS, Fragment, Passage, RetrievalRequest
from wenyuan.core.prompt import ContextPolicy, ScoredPassage, Snippet, build_context, document_key
from wenyuan.core.restrictions import check_applied, named, refuse_options, restricted
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.core.text.summaries import summarize

__all__ = ["ASSUMED_TRUST", "Contract", "asked_of", "get_context_from"]


ASSUMED_TRUST = 3
"""Of a fragment that does not say its own: enough to enter a context, below what is called reliable."""
_RULE = "kg_rule"
_REF = re.compile(r".+#(rule-)?([0-9]{1,18})", re.DOTALL)
_log = logging.getLogger("wenyuan.client")


class Contract(Protocol):
    """A Python object that implements the contract: SUCCESS or FAILED, never an empty answer for a failure."""

    def retrieve_fragments(self, request: RetrievalRequest) -> Any: ...


def get_context_from(  # noqa: PLR0913 - each is said by its name
    service: str | Client | Contract,
    retrieval_query: str | None = None,
    *,
    query: str | None = None,
    extra_queries: Sequence[str] = (),
    max_results: int = 10,
    context: Mapping[str, Any] | None = None,
    policy: ContextPolicy | None = None,
    domain: str | None = None,
    filter: Mapping[str, Any] | None = None,
    **options: Any,
) -> Knowledge:
    """Snippets allowed in a prompt, from any service that has only ``retrieve_fragments``.

    Args:
        service: Its URL, a `Client` that is shared, or a Python object. A `wenyuan.Library` is such an object too.
        query: The same as `retrieval_query`; one of them is required.
        extra_queries: Asked besides; each fragment counts once, with its best score.
        max_results: Of each query, 1-100. Rules do not count, nor what is trusted too little: where such fragments took
            the places of others, the query is asked again, for 100 and with ``min_trust`` in its context.
        context: Passed on with each query.
        policy: Trust and budget; 2,000 tokens and trust from 3 by default.
        domain, filter: See `Client.retrieve_fragments`; a service that does not say that it applied them gives no answer.
        options: For the `Client` that is made for a URL: ``key``, ``timeout``, ``retries``.

    Raises:
        InvalidRequest, NotPermitted: the request, as found here or by the service.
        RetrievalFailed: any of the queries got no answer; nothing is to be injected.
    """
    texts = (required_query("retrieval_query", retrieval_query, query), *extra_queries)
    context = restricted(context, domain=domain, filter=filter)
    wanted = tuple(named(domain=domain, filter=filter))
    queries = [RetrievalRequest(query=text, max_results=max_results, context=context) for text in texts]
    policy = policy or ContextPolicy()
    if isinstance(service, str):
        with Client(service, **options) as made:
            found = [_found(made, asked, policy.least_trust, wanted) for asked in queries]
    else:
        refuse_options(service, options)
        found = [_found(service, asked, policy.least_trust, wanted) for asked in queries]
    return _knowledge(
        [(text, one) for text, fragments in zip(texts, found, strict=True) for one in fragments], policy
    )


def _found(
    service: Client | Contract, request: RetrievalRequest, least_trust: int, wanted: Sequence[str]
) -> list[Fragment]:
    """The fragments for a query: rules, up to `max_results` others, and those of too little trust."""
    most = request.max_results
    fragments = asked_of(service, request, wanted)
    if len(fragments) == most < MAX_RESULTS and any(_is_rule(one) for one in fragments):
        fragments = asked_of(service, replace(request, max_results=MAX_RESULTS), wanted)
    others = [one for one in fragments if not _is_rule(one)]
    doubted = [one for one in others[:most] if _trusted(one) < least_trust]
    if doubted:  # asked for what is trusted alone, a service may judge what is an answer otherwise
        context = {**(request.context or {}), "min_trust": least_trust}
        fragments = asked_of(service, replace(request, max_results=MAX_RESULTS, context=context), wanted)
    rules = [one for one in fragments if _is_rule(one)]
    others = [one for one in fragments if not _is_rule(one) and _trusted(one) >= least_trust]
    return [*rules, *others[:most], *doubted]


def _is_rule(fragment: Fragment) -> bool:
    return _origin(fragment.metadata) == _RULE


def _trusted(fragment: Fragment) -> int:
    return _trust(fragment.metadata) or ASSUMED_TRUST


def asked_of(
    service: Client | Contract, request: RetrievalRequest, restrictions: Sequence[str] = ()
) -> Sequence[Fragment]:
    """The fragments that a service or object returns for a request, best first.

    Args:
        restrictions: Keys of the request's context that the answer has to say were applied.

    Raises:
        InvalidRequest, NotPermitted: the request.
        RetrievalFailed: there is no answer, whatever was raised or returned instead of one; or a restriction was ignored.
    """
    found = _fragments(service, request)
    check_applied(found, restrictions, component=type(service).__name__)
    return found


def _fragments(service: Client | Contract, request: RetrievalRequest) -> Sequence[Fragment]:
    if isinstance(service, Client):
        return service.retrieve_fragments(request.query, max_results=request.max_results, context=request.context)
    name = type(service).__name__
    try:
        return _answered(service.retrieve_fragments(request), request.max_results, name)
    except (InvalidRequest, NotPermitted):
        raise
    except RetrievalFailed as error:
        _log.error("%s", error)
        raise
    except Exception as error:  # whatever another's code raises, there is no answer
        _log.error("%s: %s", name, type(error).__name__)
        raise RetrievalFailed(
            msg("{kind}: {error}", kind=type(error).__name__, error=error), component=name
        ) from error


def _answered(response: Any, max_results: int, name: str) -> Sequence[Fragment]:
    """The fragments of an object's response, validated as strictly as a response over HTTP."""
    body = _plain(response)
    if not isinstance(body, dict):
        raise RetrievalFailed("the answer breaks the contract: it is no RetrievalResponse", component=name)
    if reason := failure(body):
        raise RetrievalFailed(reason, component=name)
    try:
        return read_fragments(body, max_results=max_results)
    except ValueError as error:
        raise RetrievalFailed(msg("the answer breaks the contract: {error}", error=error), component=name) from error


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = {name: getattr(value, name) for name in type(value).__dataclass_fields__}
    elif hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


# --- fragments → passages → snippets ----------------------------------------------------------------------
def _knowledge(found: Iterable[tuple[str, Fragment]], policy: ContextPolicy) -> Knowledge:
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
            score=fragment.retrieval_score,
            origin=_origin(fragment.metadata),
            summary=summarize(passage.text, query, language=passage.language).text,
            answers=fragment.metadata.get("answers") is True,
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
        trust=_trust(said) or ASSUMED_TRUST,
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
    assumed = any(_trust(fragments[ref].metadata) is None for ref in snippet.refs)
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


def _trust(said: Mapping[str, Any]) -> int | None:
    trust = said.get("trust")
    return trust if type(trust) is int and 1 <= trust <= 5 else None


def _origin(said: Mapping[str, Any]) -> str:
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
