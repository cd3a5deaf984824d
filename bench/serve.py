"""What a request costs over HTTP: one caller, then many at once, beside a bare framework in the same run.

    python bench/serve.py --library FOLDER [--questions FILE.jsonl] [--clients 16] [--seconds 10] [--json]
    python bench/serve.py … --processes 1 2 --cases hybrid          # how much more two processes answer than one
    python bench/serve.py --corpus FILE.jsonl [--passages 100000] …      # makes a library with synthetic vectors

Each server is a process of its own, as `wenyuan serve` runs it (its audit on, no keys, loopback); this process is the
client. Client and server share the machine's cores, and what the client takes of them is printed.

    echo        bare Starlette on uvicorn: reads the JSON, answers with ten fragments by `JSONResponse`
    stub        our server before a service that has the same ten fragments at hand: the contract's path alone
    hybrid      a library, each query embedded anew
    remembered  the same with `search.query_vectors`, after every query was asked once
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import wenyuan
from search import TRAITS, Synthetic, Vectors, environment, fill, queries
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.model import Fragment, RetrievalRequest, RetrievalResponse
from wenyuan.core.ports import Deadline

CASES = ("echo", "stub", "hybrid", "remembered")
LIMIT = 10
QUERIES = 500
_TEXT = (
    "出差人员应当在返回后十五个工作日内提交报销单据，逾期不予受理；单据应当写明日期与金额，并由部门负责人签字。" * 4
)
FRAGMENTS = tuple(
    Fragment(
        source=f"file:///library/finance/travel-{n}.md#第三章-报销", content=_TEXT, retrieval_score=0.9 - n / 100,
        metadata={"source_id": "finance", "passage_id": f"finance#{n}", "title": "差旅费管理办法", "trust": 4,
                  "origin": "vector", "priority": 2, "sha256": "0" * 64, "scores": {"keyword": 0.8, "vector": 0.9}},
    )
    for n in range(LIMIT)
)  # fmt: skip


# --- the servers ------------------------------------------------------------------------------------------------
class Stub:
    """A service that has its answer at hand."""

    def retrieve_fragments(self, request: RetrievalRequest) -> RetrievalResponse:
        return RetrievalResponse(status="SUCCESS", fragments=FRAGMENTS[: request.max_results])

    def readiness(self) -> Any:
        raise KnowledgeError("a stub")

    def list_sources(self) -> Sequence[Any]:
        return ()


def serve_echo() -> None:
    """The least that answers the same: no validation, no threads, no names for requests, no headers of its own."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from wenyuan.wire.contract import response_to_wire

    async def echo(request: Request) -> Response:
        asked = await request.json()
        answer = response_to_wire(RetrievalResponse(status="SUCCESS", fragments=FRAGMENTS[: asked["max_results"]]))
        return JSONResponse(answer, headers={"X-Retrieval-Status": "SUCCESS"})

    app = Starlette(routes=[Route("/v1/retrieve_fragments", echo, methods=["POST"])])
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle on
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_config=None, lifespan="off")).run(sockets=[listener])


def vectored(library: wenyuan.Library, synthetic: bool) -> None:
    """Let questions have vectors like those of the rows, where these are synthetic."""
    if synthetic:
        own: Any = library._retriever._own._vectors
        own.encoder = Synthetic(own.encoder, Vectors().take(1_000))


def serve_case(case: str, library: str, threads: int, synthetic: bool, port: int, processes: int) -> None:
    from wenyuan.server.member import member_here
    from wenyuan.server.running import serve
    from wenyuan.server.supervisor import lead
    from wenyuan.settings import ServerSettings

    settings, member = ServerSettings(threads=threads), member_here()
    if member is None and processes > 1:  # as `wenyuan serve` with `server.processes`
        sys.exit(lead([sys.executable, *sys.argv], processes, "127.0.0.1", port, settings.grace))
    if case == "stub":
        serve(Stub(), port=port, settings=settings, shared_port=True, on_listening=lambda url: print(url, flush=True))
        return
    search = {"deadline": 30.0, "query_vectors": 0 if case == "hybrid" else 2 * QUERIES}
    with wenyuan.open(library, search=search) as found:
        vectored(found, synthetic)
        serve(
            found, port=port, settings=settings, shared_port=member is None, member=member,
            on_listening=lambda url: print(url, flush=True),
        )  # fmt: skip


# --- the client -------------------------------------------------------------------------------------------------
class Caller(asyncio.Protocol):
    """One connection that asks again as soon as it is answered, until the time is up."""

    def __init__(
        self, bodies: Sequence[bytes], first: int, until: float, done: asyncio.Future[None], path: str
    ) -> None:
        self._path = path
        self.times: list[float] = []
        self.errors = 0
        self._bodies, self._next, self._until, self._done = bodies, first, until, done
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._ask()

    def _ask(self) -> None:
        body = self._bodies[self._next % len(self._bodies)]
        self._next += 1
        self._begun = time.perf_counter()
        head = f"POST {self._path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, blank, body = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._buffer = b""
        self.times.append(time.perf_counter() - self._begun)
        self.errors += not (head.startswith(b"HTTP/1.1 200") and b'"status":"FAILED"' not in body[:40])
        if time.perf_counter() < self._until:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)


async def load(
    port: int, bodies: Sequence[bytes], clients: int, seconds: float, path: str = "/v1/retrieve_fragments"
) -> dict[str, float]:
    """Requests a second and times in ms of `clients` that ask for `seconds`."""
    loop = asyncio.get_running_loop()
    begun = time.perf_counter()
    callers: list[Caller] = []
    waits = []
    for number in range(clients):
        waits.append(done := loop.create_future())
        first = number * len(bodies) // clients
        _, caller = await loop.create_connection(
            lambda first=first, done=done: Caller(bodies, first, begun + seconds, done, path), "127.0.0.1", port
        )  # fmt: skip
        callers.append(caller)
    await asyncio.gather(*waits)
    took = time.perf_counter() - begun
    times = sorted(t * 1e3 for caller in callers for t in caller.times)
    at = {f"p{q}": round(times[min(len(times) - 1, len(times) * q // 100)], 2) for q in (50, 95, 99)}
    errors = sum(caller.errors for caller in callers)
    return {"requests/s": round(len(times) / took, 1), **at, "requests": len(times), "errors": errors}


def cpu_of(pid: int) -> float:
    """Seconds of processor time of a process and those that it has started, so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_of, map(int, children)))


def measure(case: str, options: argparse.Namespace, bodies: Sequence[bytes], processes: int = 1) -> dict[str, Any]:
    servers: list[subprocess.Popen[str]] = []
    port = 0
    try:
        for number in range(options.servers if case != "echo" else 1):
            pinned = ["taskset", "-c", str(number % (os.cpu_count() or 1))] if options.pinned else []
            command = [*pinned, sys.executable, __file__, "--serve", case, "--library", str(options.library), "--port", str(port),
                       "--threads", str(options.threads), "--processes", str(processes),
                       *["--synthetic"] * options.synthetic]  # fmt: skip
            servers.append(server := subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            assert server.stdout is not None
            for _ in range(processes):  # each says so, the first one first
                port = int(server.stdout.readline().strip().rpartition(":")[2])
        asyncio.run(load(port, bodies, 1, 0.5))  # warm
        if case == "remembered":
            asyncio.run(load(port, bodies, 8 * len(servers), max(2.0, len(bodies) / 25)))
        one = asyncio.run(load(port, bodies, 1, options.seconds / 2))
        server_before, client_before = sum(cpu_of(server.pid) for server in servers), time.process_time()
        many = asyncio.run(load(port, bodies, options.clients, options.seconds))
        spent = {
            "server": sum(cpu_of(server.pid) for server in servers) - server_before,
            "client": time.process_time() - client_before,
        }
        cpu = {name: round(seconds / many["requests"] * 1e3, 3) for name, seconds in spent.items()}
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait(30)
    return {"one caller": one, f"{options.clients} callers": many, "cpu ms a request": cpu}


def in_process(library: str, asked: Sequence[str], query_vectors: int, synthetic: bool) -> dict[str, float]:
    """The same questions asked of the library object itself, ms."""
    with wenyuan.open(library, search={"deadline": 30.0, "query_vectors": query_vectors}) as found:
        vectored(found, synthetic)
        for text in asked if query_vectors else asked[:20]:
            found.retrieve_fragments(RetrievalRequest(query=text, max_results=LIMIT))
        gc.collect()
        gc.freeze()  # as the server does
        times = []
        for text in asked:
            begun = time.perf_counter()
            answer = found.retrieve_fragments(RetrievalRequest(query=text, max_results=LIMIT))
            times.append((time.perf_counter() - begun) * 1e3)
            assert answer.status == "SUCCESS", answer.error_message
    times.sort()
    return {"p50": round(statistics.median(times), 2), "p99": round(times[len(times) * 99 // 100], 2)}


def made(options: argparse.Namespace) -> Path:
    """A library of real texts with synthetic vectors."""
    folder = Path(tempfile.mkdtemp(prefix="wenyuan-bench-")) / "library"
    with wenyuan.open(folder, create=True) as library:
        catalog: Any = library.catalog
        fill(catalog, options.corpus, options.passages)
        library.engine.sync(catalog, deadline=Deadline(time.monotonic() + 3600, time.monotonic))
        library.engine.checkpoint(always=True)  # type: ignore[attr-defined]
        assert library.encoder is not None
        catalog.set_value(
            "encoder", asdict(library.encoder.fingerprint)
        )  # as it were, else vectors are not looked at
        catalog.set_value("floor", TRAITS)
    return folder


def questions(options: argparse.Namespace) -> list[str]:
    if options.questions:
        with options.questions.open(encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        return random.Random(1).sample(texts, min(QUERIES, len(texts)))
    return [text for text in queries(options.corpus, QUERIES) if len(text) <= 100]


def options_for(description: str | None) -> argparse.ArgumentParser:
    """What says which library is asked what; see `made` and `questions`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--synthetic", action="store_true", help="the library's vectors are")
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> None:
    parser = options_for(__doc__)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--threads", type=int, default=8, help="of the server, as server.threads")
    parser.add_argument("--servers", type=int, default=1, help="processes that share the port")
    parser.add_argument(
        "--processes",
        type=int,
        nargs="+",
        default=[1],
        help="of each server, as server.processes; several: side by side",
    )
    parser.add_argument("--pinned", action="store_true", help="each of them on a core of its own")
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--cases", nargs="*", default=CASES, choices=CASES)
    parser.add_argument("--serve", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve == "echo":
        return serve_echo()
    if options.serve:
        return serve_case(
            options.serve,
            str(options.library),
            options.threads,
            options.synthetic,
            options.port,
            options.processes[0],
        )
    if options.library is None and {"hybrid", "remembered"} & set(options.cases):
        options.library, options.synthetic = made(options), True
    asked = questions(options)
    bodies = [json.dumps({"query": text, "max_results": LIMIT}, ensure_ascii=False).encode() for text in asked]
    result: dict[str, Any] = {"environment": environment()}
    for case in options.cases:
        if case in ("hybrid", "remembered"):
            result[f"{case} in process"] = in_process(
                options.library, asked, 0 if case == "hybrid" else 2 * QUERIES, options.synthetic
            )
        result[case] = measure(case, options, bodies, options.processes[0])
        for count in options.processes[1:] if case in ("hybrid", "remembered") else ():
            more = result[f"{case}, {count} processes"] = measure(case, options, bodies, count)
            name = f"{options.clients} callers"
            more["ratio"] = round(more[name]["requests/s"] / result[case][name]["requests/s"], 2)
        if not options.json:
            print(case, json.dumps({k: v for k, v in result.items() if k.startswith(case)}, indent=1), flush=True)
    if options.json:
        print(json.dumps(result, indent=1, ensure_ascii=False))
    return None


if __name__ == "__main__":
    main()
