"""A minimal service of the contract that knows nothing of ours, and its answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from listening import listening

QUERY = "客户投诉多久响应"
FAILED = {"status": "FAILED", "fragments": [], "error_message": "数据库连接失败"}


def fragment(source: str, content: str, score: float = 0.9, **metadata: Any) -> dict[str, Any]:
    """A fragment as the contract has it."""
    return {"source": source, "content": content, "retrieval_score": score, "metadata": metadata}


@contextmanager
def foreign(*answers: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The service, which gives these answers in turn, the last for all that follow: its URL, and the bodies it was sent."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(answers[min(len(asked), len(answers)) - 1]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url, asked


def success(*fragments: dict[str, Any]) -> dict[str, Any]:
    """The answer that found these fragments."""
    return {"status": "SUCCESS", "fragments": list(fragments)}
