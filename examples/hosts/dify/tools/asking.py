"""One question to the server: its fragments, or `Failed`."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

LONGEST = 8_000_000


class Failed(Exception):
    """There is no answer; that is not the same as an empty one."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to nobody else."""

    def redirect_request(self, *_):
        return None


def fragments(credentials: Mapping[str, Any], query: str, max_results: int, domain: str = "") -> list[dict[str, Any]]:
    """The fragments, best first.

    Raises:
        Failed: the server said FAILED, refused, cannot be reached or answered with something else.
    """
    asked: dict[str, Any] = {"query": query, "max_results": max_results}
    if domain:
        asked["context"] = {"domain": domain}
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if credentials.get("key"):
        headers["Authorization"] = f"Bearer {credentials['key']}"
    address = f"{str(credentials.get('url', '')).rstrip('/')}/v1/retrieve_fragments"
    if not address.startswith(("http://", "https://")):
        raise Failed("the address must begin with http:// or https://")
    try:
        request = urllib.request.Request(address, json.dumps(asked).encode(), headers)  # noqa: S310
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=30) as answer:
            told = json.loads(answer.read(LONGEST))
        if told["status"] != "SUCCESS":
            raise Failed(str(told.get("error_message") or "the service failed and gave no reason"))
        found: list[dict[str, Any]] = [
            {"source": one["source"], "content": one["content"], "retrieval_score": one["retrieval_score"]}
            for one in told["fragments"]
        ]
    except urllib.error.HTTPError as error:
        raise Failed(f"HTTP {error.code}{_detail(error.read(LONGEST))}") from error
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise Failed(f"no answer of the service: {type(error).__name__}") from error
    return found


def _detail(body: bytes) -> str:
    try:
        told = json.loads(body)
        why = str(told.get("detail") or told.get("error_message") or "")[:500]
    except (ValueError, AttributeError):
        return ""
    return f": {why}" if why else ""
