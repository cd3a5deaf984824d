"""A server of embeddings on this machine that misbehaves on demand; the tests of the HTTP encoder ask it."""

from __future__ import annotations

import http.server
import json
import socket
import time
from typing import Any

from wenyuan.encoders.checking import HashingEncoder

KEY = "sk-secret-0815"
MODEL = HashingEncoder(16)


class Server(http.server.ThreadingHTTPServer):
    """Answers with hashed vectors of 16 dimensions, or as `fault` says; `faults` is used up first."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.fault = ""
        self.faults: list[str] = []
        self.slow: dict[str, float] = {}  # seconds that a request takes whose first text holds a word
        self.seen: list[tuple[str, str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        """Keep the test's output quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, self.headers.get("authorization", ""), body))
        fault = self.server.faults.pop(0) if self.server.faults else self.server.fault
        time.sleep(sum(seconds for word, seconds in self.server.slow.items() if word in body["input"][0]))
        rows = MODEL.encode_passages(body["input"]).tolist()
        data: Any = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        match fault:
            case "shuffled":
                data = data[::-1]
            case "nan":
                data[-1]["embedding"][3] = float("nan")
            case "infinity":
                data[-1]["embedding"][3] = float("inf")
            case "null":
                data[0]["embedding"][0] = None
            case "string":
                data[0]["embedding"] = ["1"] * 16
            case "base64":
                data[0]["embedding"] = "AACAPwAAgD8="
            case "zero":
                data[0]["embedding"] = [0.0] * 16
            case "constant":
                data = [entry | {"embedding": [1.0] * 16} for entry in data]
            case "wrong dimension":
                data = [entry | {"embedding": entry["embedding"][:7]} for entry in data]
            case "too few":
                data = data[:-1]
            case "too many":
                data.append(data[0])
            case "same index":
                data = [entry | {"index": 0} for entry in data]
            case "no index":
                data = [{"embedding": row} for row in rows]
            case "bool index":
                data[0]["index"] = False
            case "data is no list":
                data = {"0": rows}
            case "entries are no objects":
                data = rows
        self.answer(fault, {"object": "list", "data": data, "model": body["model"]})

    def answer(self, fault: str, content: object) -> None:
        text = json.dumps(content).encode()
        if fault == "html":
            return self.send(200, b"<html>Welcome to the portal</html>", {"content-type": "text/html"})
        if fault == "deep":
            return self.send(200, b"[" * 200_000)
        if fault == "list":
            return self.send(200, b"[1, 2]")
        if fault == "redirect":
            return self.send(307, b"", {"location": f"{self.server.url}/v1/elsewhere"})
        if fault == "retry later":
            return self.send(429, b"{}", {"retry-after": "3600"})
        if fault.isdigit():
            return self.send(int(fault), f"Incorrect key: {KEY}".encode())
        if fault == "slow":
            time.sleep(0.6)
        if fault == "drip":
            return self.drip(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n".encode(), text)
        if fault == "drip head":
            return self.drip(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 40)
        if fault == "still at it":
            return self.drip(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 40, 29)
        if fault == "cut":
            self.send_response(200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text[:40])
            return None
        if fault == "hang up":
            return self.connection.shutdown(socket.SHUT_RDWR)
        return self.send(200, text)

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

    def drip(self, first: bytes, then: bytes, drop: int = 1) -> None:
        try:
            self.wfile.write(first)
            for i in range(0, 400 * drop, drop):  # 20 s, unless the client goes
                self.wfile.write(then[i % len(then) :][:drop])
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            return
