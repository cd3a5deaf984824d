"""What a server sends beyond the response that was asked for is never taken for the next one's."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator

import httpx2
import pytest

from wenyuan.client import Client
from wenyuan.client.async_client import AsyncClient
from wenyuan.connectors.http_client import HttpClient
from wenyuan.core.connectors import Opening
from wenyuan.core.model import Source
from wenyuan.encoders.http import ENCODER
from wenyuan.runtime.json_endpoint import JsonEndpoint


def reply(said: str) -> bytes:
    fragment = {"source": said, "content": said, "retrieval_score": 0.9, "metadata": {}}
    body = json.dumps({"status": "SUCCESS", "fragments": [fragment]}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Twice:
    """Answers each request with its number, and the first request once more."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.asked = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            while lines.readline():
                length = 0
                while (line := lines.readline().strip().lower()) != b"":
                    length = int(line.partition(b":")[2]) if line.startswith(b"content-length:") else length
                lines.read(length)
                self.asked += 1
                connection.sendall(reply(f"{self.asked}") + (reply("surplus") if self.asked == 1 else b""))


@pytest.fixture
def server() -> Iterator[Twice]:
    server = Twice()
    yield server
    server.listener.close()


def by_client(url: str) -> list[str]:
    with Client(url) as client:
        return [client.retrieve_fragments("a")[0].content for _ in range(3)]


def by_async_client(url: str) -> list[str]:
    async def ask() -> list[str]:
        async with AsyncClient(url) as client:
            return [(await client.retrieve_fragments("a"))[0].content for _ in range(3)]

    return asyncio.run(ask())


def by_endpoint(url: str) -> list[str]:
    endpoint = JsonEndpoint(ENCODER, "m", httpx2.URL(f"{url}/v1/embeddings"), key="", timeout=10)
    found = [endpoint.ask({}, None)["fragments"][0]["content"] for _ in range(3)]
    endpoint.close()
    return found


def by_connector(url: str) -> list[str]:
    source = Source(source_id="site", path=f"{url}/", settings={"allow_private": True})
    opening = Opening(
        source=source, settings={}, secret=str, readable=bool, parse=lambda *_, **__: None, allow_private=True
    )
    client = HttpClient(opening)
    found = [json.loads(client.get(f"{url}/", 10_000).body)["fragments"][0]["content"] for _ in range(3)]
    client.close()
    return found


@pytest.mark.parametrize("ask", [by_client, by_async_client, by_endpoint, by_connector])
def test_each_question_has_its_own_answer(server: Twice, ask: Callable[[str], list[str]]) -> None:
    """A server, or a proxy, that answers once too often shifts nothing: clients, models and connectors alike."""
    assert ask(server.url) == ["1", "2", "3"]
