"""What a serving process makes of bytes that no HTTP client sends: nothing is hidden in a request, and it goes on serving."""

from __future__ import annotations

import json
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import patience
import wenyuan

_STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3}) ")
_BODY = json.dumps({"query": "客户投诉多久响应", "max_results": 1}).encode()
_POST = b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
_LAST = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
_HIDDEN = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@dataclass
class Serving:
    """A process that serves a library, and what it said."""

    process: subprocess.Popen[bytes]
    place: tuple[str, int]
    log: Path

    def sent(self, *parts: bytes, half: bool = False, pause: float = 0.0) -> bytes:
        """What comes back for these bytes until the server closes, or is silent for a while."""
        with socket.create_connection(self.place, timeout=patience.HANGS) as client:
            with suppress(ConnectionError):
                for part in parts:
                    client.sendall(part)
                    time.sleep(pause)
                if half:
                    client.shutdown(socket.SHUT_WR)
            client.settimeout(2.0)
            got = b""
            with suppress(TimeoutError, ConnectionError):
                while block := client.recv(1 << 16):
                    got += block
            return got

    def statuses(self, *parts: bytes, half: bool = False) -> list[int]:
        return [int(found) for found in _STATUS.findall(self.sent(*parts, half=half))]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("raw")
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# 投诉\n\n客户投诉应当在两个工作日内响应。\n", "utf-8")
    with wenyuan.open(folder / "library", create=True) as library:
        library.add(wenyuan.Source(source_id="a", path=str(folder / "docs")))
    log = folder / "log"
    with log.open("wb") as said:
        command = [sys.executable, "-m", "wenyuan.cli", "--library", str(folder / "library"), "serve", "--port", "0"]
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        try:
            until = time.monotonic() + patience.HANGS
            while not (found := re.search(r"http://[0-9.]+:[0-9]+", log.read_text("utf-8"))):
                assert process.poll() is None, log.read_text("utf-8")
                assert time.monotonic() < until
                time.sleep(0.1)
            parts = urlsplit(found[0])
            yield Serving(process, (str(parts.hostname), int(parts.port or 0)), log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(patience.HANGS)
    assert "Traceback" not in log.read_text("utf-8")


def _length(size: int) -> bytes:
    return b"Content-Length: %d\r\n" % size


SMUGGLED = {
    "two lengths": _POST + _length(len(_BODY)) + _length(0) + b"\r\n" + _BODY,
    "length and chunks": _POST + _length(4) + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks with a space before the colon": _POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "chunks after a tab": _POST + b"Transfer-Encoding:\tchunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "chunks by another name": _POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks twice": _POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "chunks within gzip": _POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a folded header": _POST + b"Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "a length with a sign": _POST + b"Content-Length: +5\r\n\r\n{}   ",
    "a negative length": _POST + b"Content-Length: -1\r\n\r\n",
    "a length in hexadecimal": _POST + b"Content-Length: 0x5\r\n\r\n{}   ",
    "a list of lengths": _POST + b"Content-Length: 5, 6\r\n\r\n{}   ",
    "a length with an underscore": _POST + b"Content-Length: 1_0\r\n\r\n{}        ",
    "a length beyond all": _POST + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n{}",
    "a chunk of a negative size": _POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
    "a chunk size that is none": _POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "a chunk size beyond all": _POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n{}",
    "a chunk size with 0x": _POST + b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "a chunk that is longer than it says": _POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}}\r\n0\r\n\r\n",
    "a bare line feed in a header": _POST.replace(b"\r\n", b"\n") + b"Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n",
    "a carriage return in a header": _POST + b"X: a\rContent-Length: 5\r\n\r\n",
    "a null byte in a header": _POST + b"X: a\x00b\r\n\r\n",
    "a header without a name": _POST + b": x\r\n\r\n",
    "a header without a colon": _POST + b"nonsense\r\n\r\n",
    "two hosts": b"GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "no host": b"GET /livez HTTP/1.1\r\n\r\n",
    "another version": b"GET /livez HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a handshake of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "no HTTP": b"\x00\xff" * 64 + b"\r\n\r\n",
    "a request line of 100,000 bytes": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a header of 100,000 bytes": b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    "20,000 headers": b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(SMUGGLED))
def test_what_is_ambiguous_is_refused_and_hides_nothing(serving: Serving, what: str) -> None:
    """One refusal, or silence; the request behind it is not answered, and the next connection is."""
    found = serving.statuses(SMUGGLED[what] + _HIDDEN)
    assert len(found) <= 1 and all(400 <= status < 500 or status == 501 for status in found), found
    assert serving.statuses(_LAST) == [200]


@pytest.mark.parametrize(("head", "statuses"), [
    (b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {400, 404, 405}), (b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {200, 204, 400, 404, 405}),
    (b"GET http://elsewhere.example/livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {200, 400, 404}), (b"TRACE / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {404, 405}),
    (b"GET //livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {404}), (b"GET /%2e%2e/livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {404}),
    (b"GET /livez%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {404}), (b"GET /%ff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {404}),
    (b"GET \xe6\x96\x87 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {400, 404}), (b"get /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {400, 405}),
    (b"GET /livez HTTP/1.1\r\nHost: 127\xe3\x80\x820\xe3\x80\x820\xe3\x80\x821\r\n\r\n", {200, 400, 403, 421}),
])  # fmt: skip
def test_other_forms_of_a_request_have_a_documented_answer(serving: Serving, head: bytes, statuses: set[int]) -> None:
    """Methods and targets of proxies, encoded paths, odd hosts: never a fault of the server."""
    found = serving.statuses(head)
    assert len(found) <= 1 and set(found) <= statuses, found


def test_requests_in_one_piece_are_answered_in_order(serving: Serving) -> None:
    """Twenty-one of them, and as many bytes of each body as it says."""
    request = _POST + _length(len(_BODY)) + b"\r\n" + _BODY
    assert serving.statuses((request + _HIDDEN) * 10 + _LAST) == [200] * 21


def test_half_closed_connections_end(serving: Serving) -> None:
    """Who closes the sending side has left, as with most servers: an answer under way may come, and nothing else does."""
    request = _POST + _length(len(_BODY)) + b"\r\n" + _BODY
    assert serving.statuses(request, half=True) in ([], [200])
    for cut in (5, 30, len(_POST), len(request) - 1):
        assert all(status >= 400 for status in serving.statuses(request[:cut], half=True))


def test_whoever_leaves_early_costs_nothing(serving: Serving) -> None:
    """Two hundred connections that are cut anywhere, also with a reset; then all answer as before."""
    draw = random.Random(3)
    request = _POST + _length(len(_BODY)) + b"\r\n" + _BODY
    for _ in range(200):
        client = socket.create_connection(serving.place, timeout=patience.HANGS)
        if draw.random() < 0.5:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        client.sendall(request[: draw.randint(1, len(request))])
        client.close()
    assert serving.statuses(request) == [200]


def test_slow_senders_hold_nobody_up(serving: Serving) -> None:
    """A hundred heads and bodies that do not end stand open while others are answered."""
    slow = []
    for number in range(100):
        client = socket.create_connection(serving.place, timeout=patience.HANGS)
        head = _POST + _length(len(_BODY)) + b"\r\n"
        client.sendall(head + _BODY[:3] if number % 2 else head[:40])
        slow.append(client)
    try:
        for _ in range(5):
            assert serving.statuses(_LAST) == [200]
        request = _POST + _length(len(_BODY)) + b"\r\n" + _BODY
        assert serving.statuses(request) == [200]
    finally:
        for client in slow:
            client.close()


def test_random_bytes_and_flips_have_no_fault_of_the_server(serving: Serving) -> None:
    """A good request with bytes changed, doubled, left out: refused or answered, never 500, and the process lives."""
    draw = random.Random(17)
    request = _POST + _length(len(_BODY)) + b"\r\n" + _BODY
    for _ in range(150):
        bad = bytearray(request)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(bad))
            change = draw.randrange(3)
            if change == 0:
                bad[at] = draw.randrange(256)
            elif change == 1:
                del bad[at : at + draw.randint(1, 8)]
            else:
                bad[at:at] = bad[max(0, at - 6) : at]
        found = serving.statuses(bytes(bad), half=True)
        assert len(found) <= 2 and all(status != 500 for status in found), (bytes(bad), found)
    assert serving.process.poll() is None
