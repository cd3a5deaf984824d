"""MCP messages that are none, or that could be read in two ways: answered with an error, over HTTP and stdio."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import foreign_library, served
from http_door import JSON, call
from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest
from wenyuan.mcp.messages import refusal, wants_answer
from wenyuan.mcp.tools import TOOLS
from wenyuan.wire import strict_json

PARSE, INVALID = -32700, -32600
PING = b'{"jsonrpc":"2.0","id":"p","method":"ping"}'
HEADERS = {**JSON, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


def asking(arguments: bytes) -> bytes:
    head = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"retrieve_fragments","arguments":'
    return head + arguments + b"}}"


AMBIGUOUS = {
    "half a surrogate pair": asking(rb'{"query":"c\ud800"}'),
    "NUL": asking(rb'{"query":"c\u0000"}'),
    "NUL in a key": asking(rb'{"query":"c","context":{"a\u0000":1}}'),
    "NUL in a task": asking(rb'{"query":"c","context":{"task_id":"a\u0000b"}}'),
    "NaN": asking(b'{"query":"c","context":{"x":NaN}}'),
    "overflow": asking(b'{"query":"c","context":{"x":1e999}}'),
    "a key twice": asking(b'{"query":"zzz","query":"c"}'),
    "no UTF-8": asking(b'{"query":"\xff"}'),
    "too many digits": asking(b'{"query":"c","context":{"x":' + b"9" * 5000 + b"}}"),
    "too deep": asking(b'{"query":"c","context":{"x":' + b"[" * 5000 + b"]" * 5000 + b"}}"),
    "a mark in front": b"\xef\xbb\xbf" + asking(b'{"query":"c"}'),
    "cut off": asking(b'{"id":"of a passage", "query":"c')[:-2],
}
NO_REQUESTS = [b"hello", b"[]", b"null", b"{}", b'{"id":', b"\xef\xbb\xbf{}", b"[" * 100_000]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("mcp")) as found:
        yield found


class Spoken:
    """``wenyuan mcp``, spoken to line by line."""

    def __init__(self, folder: Path) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "WENYUAN_ENCODER__KIND": "hashing"}
        command = [sys.executable, "-m", "wenyuan.cli", "mcp", "--library", str(folder)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment)
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def heard(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.lines.get(timeout=30))
        return found

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(60)
        self.thread.join(5)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def test_over_stdio_nobody_waits_for_ever(tmp_path: Path) -> None:
    """Each line that is no message is answered, in its turn; notifications and blank lines are not."""
    with foreign_library(tmp_path) as library:
        folder = library.folder
    spoken = Spoken(folder)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    spoken.say(json.dumps(start).encode())
    assert spoken.heard()["result"]["serverInfo"]["name"] == "wenyuan"
    for line in AMBIGUOUS.values():
        spoken.say(line)
        answer = spoken.heard()
        assert (answer["id"], answer["error"]["code"]) == (7, PARSE)
    for line in NO_REQUESTS:
        spoken.say(line)
        answer = spoken.heard()
        assert answer["id"] is None
        assert answer["error"]["code"] in (PARSE, INVALID)
    silent = (
        b"",
        b" ",
        rb'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\ud800"}}',
        b'{"error":NaN,"id":1}',
    )
    for line in (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', *silent, PING):
        spoken.say(line)
    assert spoken.heard() == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert spoken.end() == 0
    assert spoken.lines.empty()


def test_over_http_the_same_is_refused(library: Any) -> None:
    """With status 400, the error that stdio gives, and the request's id."""
    with served(library) as url:
        for line in AMBIGUOUS.values():
            answer = call(url, "POST", "/mcp", line, HEADERS)
            assert (answer.status, answer.json["id"], answer.json["error"]["code"]) == (400, 7, PARSE)
        assert call(url, "POST", "/mcp", asking(b'{"query":"c"}'), HEADERS).json["result"]["isError"] is False


def test_a_tool_keeps_the_schema_that_it_publishes(library: Any) -> None:
    """NUL is refused where no reader of JSON stands before the tool, too."""
    tool = {tool.name: tool for tool in TOOLS}["retrieve_fragments"]
    for arguments, path in (
        ({"query": "c\0"}, "query"),
        ({"query": "c", "domain": "\0"}, "domain"),
        ({"query": "c", "context": {"task_id": "a\0b"}}, "context.task_id"),
    ):
        with pytest.raises(InvalidRequest, match=f"{path} must not contain NUL"):
            tool(library, arguments, Principal())


VALUES = st.recursive(st.none() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v))
IDS = st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)


@given(IDS, VALUES, st.data())
def test_the_id_is_that_of_the_request_or_null(known: int | str, value: Any, data: st.DataObject) -> None:
    """However a request is cut or spoiled, its answer never names an id that stands deeper inside, or another's."""
    message = {"jsonrpc": "2.0", "params": {"id": "inner", "x": [{"id": 5.5}, value]}, "method": "m", "id": known}
    text = json.dumps(message, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "replace")
    cut = text[: data.draw(st.integers(0, len(text)))] + data.draw(st.sampled_from([b"", b"\xff", b"}", b"{"]))
    refused = refusal(cut)
    if refused is not None:
        assert refused.id in (None, known)
    else:
        strict_json.loads(cut)
    spoiled = refusal(text[:-1] + b', "a": NaN}')
    assert spoiled is not None
    assert spoiled.id == known


def test_what_never_ends_takes_no_longer() -> None:
    """Looking for the id takes time by the length of a message, not by its square: this would have taken an hour."""
    refused = refusal(b'\\"' * 250_000 + b'"id": 1,')
    assert refused is not None and refused.id is None


def test_who_waits() -> None:
    """A request does, and what nobody can read; a notification and an answer do not."""
    waiting = (PING, b'{"id":1}', b"garbage", b"[]", b'{"method":"m","id":NaN}')
    assert all(map(wants_answer, waiting))
    assert not any(map(wants_answer, (b'{"method":"m"}', b'{"id":1,"result":{}}', b'{"id":1,"error":NaN}')))
