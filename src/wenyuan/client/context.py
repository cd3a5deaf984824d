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

import logging
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, Protocol

from wenyuan.client.caller import Client
from wenyuan.client.context_replies import Knowledge
from wenyuan.client.snippets import ASSUMED_TRUST, knowledge, origin_of, trust_of
from wenyuan.core.contract import failure, read_fragments, required_query
from wenyuan.core.errors import InvalidRequest, NotPermitted, RetrievalFailed, msg
from wenyuan.core.model import MAX_RESULTS, Fragment, RetrievalRequest
from wenyuan.core.prompt_parts import ContextPolicy
from wenyuan.core.restrictions import check_applied, given_restrictions, refuse_options, restricted

_RULE = "kg_rule"
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
    wanted = tuple(given_restrictions(domain=domain, filter=filter))
    queries = [RetrievalRequest(query=text, max_results=max_results, context=context) for text in texts]
    policy = policy or ContextPolicy()
    if isinstance(service, str):
        with Client(service, **options) as made:
            found = [_found(made, asked, policy.least_trust, wanted) for asked in queries]
    else:
        refuse_options(service, options)
        found = [_found(service, asked, policy.least_trust, wanted) for asked in queries]
    return knowledge([(text, one) for text, fragments in zip(texts, found, strict=True) for one in fragments], policy)


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
    return origin_of(fragment.metadata) == _RULE


def _trusted(fragment: Fragment) -> int:
    return trust_of(fragment.metadata) or ASSUMED_TRUST


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


__all__ = ["Contract", "asked_of", "get_context_from"]
