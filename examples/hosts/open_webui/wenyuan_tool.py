"""title: Wenyuan
description: Fragments of a governed library, each with its source; a failure is told as one, and never as nothing found.
version: 0.2.0
license: Apache-2.0
"""

import http.client
import json
import urllib.error
import urllib.request

from pydantic import BaseModel, Field

LONGEST = 8_000_000


class Tools:
    class Valves(BaseModel):
        url: str = Field("http://127.0.0.1:8765", description="Of the server, without a path.")
        key: str = Field(
            "", description="wenyuan key create --agent NAME --rights retrieve; empty where the server needs none."
        )
        max_results: int = Field(5, ge=1, le=100)
        seconds: float = Field(20, gt=0, le=300)

    def __init__(self) -> None:
        self.valves = self.Valves()

    def search_library(self, query: str) -> str:
        """Search the library of documents. Quote what it gives, and name each source that you use.

        :param query: The question, in whole words, in the language that it was asked in.
        """
        body = json.dumps({"query": query, "max_results": self.valves.max_results}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.valves.key:
            headers["Authorization"] = f"Bearer {self.valves.key}"
        if not self.valves.url.startswith(("http://", "https://")):
            return _failed("the address must begin with http:// or https://")
        address = f"{self.valves.url.rstrip('/')}/v1/retrieve_fragments"
        request = urllib.request.Request(address, body, headers)  # noqa: S310
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=self.valves.seconds) as answer:
                told = json.loads(answer.read(LONGEST))
            if told["status"] != "SUCCESS":
                return _failed(told.get("error_message") or "no reason was given")
            found = [f"[{one['source']}]\n{one['content']}" for one in told["fragments"]]
        except urllib.error.HTTPError as error:
            return _failed(f"HTTP {error.code}: {_detail(error.read(LONGEST))}")
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            return _failed(type(error).__name__)
        return "\n\n".join(found) or "The library was searched and has nothing on this."


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to nobody else."""

    def redirect_request(self, *_):
        return None


def _detail(body: bytes) -> str:
    try:
        told = json.loads(body)
        return str(told.get("detail") or told.get("error_message") or "")[:500]
    except (ValueError, AttributeError):
        return ""


def _failed(reason: str) -> str:
    return f"THE SEARCH FAILED: {reason}. Say that the library could not be searched; do not answer from memory."
