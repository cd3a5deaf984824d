"""What the adapters share: who is asked, and metadata in the forms that frameworks can hold."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from wenyuan.client.caller import Client
from wenyuan.client.context import Contract, asked_of
from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.model import Fragment, RetrievalRequest
from wenyuan.core.restrictions import given_restrictions, refuse_options, restricted


class Asker:
    """Queries a service by URL, client or object.

    Args:
        service: Its URL, a `Client` that is shared, or an object that keeps the contract.
        key: For a URL: the API key.
        domain, filter, min_trust: Restrict each query; see `Client.retrieve_fragments`.
        options: For a URL: ``timeout`` and ``retries`` of the `Client`.

    Raises:
        ConfigError: the service is none of these, or key and options are given beside one that is no URL.
    """

    def __init__(
        self,
        service: str | Client | Contract,
        *,
        key: str | None = None,
        domain: str | None = None,
        filter: Mapping[str, Any] | None = None,
        min_trust: int | None = None,
        **options: Any,
    ) -> None:
        self._restrictions = given_restrictions(domain=domain, filter=filter, min_trust=min_trust)
        if isinstance(service, str):
            made = Client(service, key=key, **options)
            self._service: Client | Contract = made
            weakref.finalize(self, made.close)  # frameworks have no word for closing
        elif hasattr(service, "retrieve_fragments"):
            refuse_options(service, {"key": key, **options})
            self._service = service
        else:
            raise ConfigError(
                msg("{kind} cannot be asked: it has no retrieve_fragments", kind=type(service).__name__),
                hint="give the URL of a service, a Client or a Library",
            )

    def __call__(
        self,
        query: str,
        max_results: int,
        context: Mapping[str, Any] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
    ) -> Sequence[Fragment]:
        """Fragments, best first; empty only when the service found nothing.

        Args:
            filter: Of this query; met besides the one for all queries.

        Raises:
            InvalidRequest, NotPermitted: the request.
            RetrievalFailed: there is no answer, or a restriction was not applied.
        """
        wanted = dict(self._restrictions)
        if filter is not None:
            wanted["filter"] = {"and": [wanted["filter"], dict(filter)]} if "filter" in wanted else filter
        request = RetrievalRequest(query=query, max_results=max_results, context=restricted(context, **wanted))
        return asked_of(self._service, request, tuple(wanted))


def told(fragment: Fragment) -> dict[str, Any]:
    """All metadata of a fragment, without its text."""
    return {"source": fragment.source, "retrieval_score": fragment.retrieval_score, **fragment.metadata}


def flat(metadata: Mapping[str, Any]) -> dict[str, str | int | float | bool | None]:
    """Metadata without nesting, which many stores refuse: ``scores.keyword``, and lists as JSON."""
    found: dict[str, Any] = {}
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{inner}": one for inner, one in flat(value).items()}
        elif isinstance(value, (str, int, float, bool, type(None))):
            found[name] = value
        else:
            found[name] = json.dumps(value, ensure_ascii=False, default=str)
    return found
