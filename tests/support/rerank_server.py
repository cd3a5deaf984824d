"""A server of rerankers on this machine, in both dialects, that misbehaves on demand."""

from __future__ import annotations

import http.server
import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from listening import listening

KEY = "jina_secret_0815"


def overlap(query: str, text: str) -> float:
    """The share of the query's letters that the text has: what this server takes for relevance."""
    letters = set(query.lower()) - {" "}
    return len(letters & set(text.lower())) / len(letters)


class Server(http.server.ThreadingHTTPServer):
    """Answers ``…/v1/rerank`` and ``…/v2/rerank`` as Jina and Cohere, ``/rerank`` as TEI; or as `fault` says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.fault = ""
        self.favourite = ""
        self.seen: list[tuple[str, str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def score(self, query: str, text: str) -> float:
        if self.favourite:
            return 1.0 if self.favourite in text else 0.0
        return overlap(query, text)


class Answer(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        """Keep the test's output quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, self.headers.get("authorization", ""), body))
        tei = "texts" in body
        scores: list[Any] = [self.server.score(body["query"], t) for t in body["texts" if tei else "documents"]]
        if body.get("raw_scores") or self.server.fault == "logits":
            scores = [8 * score - 4 for score in scores]
        name = "score" if tei else "relevance_score"
        entries: list[Any] = [{"index": i, name: score} for i, score in enumerate(scores)]
        entries.sort(key=lambda entry: -entry[name])
        content = self.spoilt(entries, name)
        self.answer(content if tei or not isinstance(content, list) else {"id": "1", "results": content})

    def spoilt(self, entries: list[Any], name: str) -> Any:
        match self.server.fault:
            case "too few":
                return entries[:-1]
            case "too many":
                return [*entries, {"index": len(entries), name: 0.5}]
            case "twice":
                entries[0]["index"] = entries[1]["index"]
            case "unknown":
                entries[0]["index"] = 99
            case "negative":
                entries[0]["index"] = -1
            case "bool":
                next(e for e in entries if e["index"] == 1)["index"] = True
            case "nan":
                entries[0][name] = math.nan
            case "infinity":
                entries[0][name] = math.inf
            case "null":
                entries[0][name] = None
            case "text":
                entries[0][name] = "0.9"
            case "no score":
                del entries[0][name]
            case "above one":
                entries[0][name] = 1.5
            case "huge":
                entries[0][name] = 10**400
            case "no objects":
                return [1, 2]
            case "no list":
                return "ok"
        return entries

    def answer(self, content: object) -> None:
        text = json.dumps(content).encode()
        match self.server.fault:
            case "html":
                self.send(200, b"<html>Welcome to the portal</html>")
            case "deep":
                self.send(200, b"[" * 200_000)
            case "redirect":
                self.send(307, b"", {"location": f"{self.server.url}/elsewhere"})
            case "slow":
                time.sleep(0.8)
                self.send(200, text)
            case fault if fault.isdigit():
                self.send(int(fault), f"Incorrect key: {KEY}".encode())
            case _:
                self.send(200, text)

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            for name, value in (headers or {"content-type": "application/json"}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            return  # the client did not wait


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    with listening(server):
        yield server
