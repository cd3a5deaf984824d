"""The reading process: ``python -m wenyuan.readers.worker``, and the service's side of it: starting one, exchanging
requests and answers, several for the pages of a file.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import hashlib
import json
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import MISSING, asdict, dataclass, fields
from datetime import date
from typing import Any, BinaryIO

from wenyuan.core.errors import DocumentRejected, NoDocument, SourceError, msg
from wenyuan.core.fidelity import Fidelity, Line, Uncertain
from wenyuan.core.model import Block, Document
from wenyuan.readers import PagesWanted, call_guarded, read_guarded, unpack_guarded
from wenyuan.readers.archive import Part, Unpacked
from wenyuan.readers.ocr.pages import PageStore, draw_page

# The reading process: ``python -m wenyuan.readers.worker``, started only by `readers.sandbox.Sandbox`.
#
# It receives file bytes on standard input and sends documents on standard output. It has no network access where the
# system can remove it, writes no file, and is killed at its limits: a hostile file costs one process.

# What passes between the service and its reading process: frames of JSON and bytes, never pickles.


HEADER = struct.Struct(">Q")
_BLOCK_FIELDS: Mapping[str, Any] = {f.name: None if f.default is MISSING else f.default for f in fields(Block)}
"""The fields of a block, in order, with what each is where nothing is said."""
_PAIRS = ("cells", "refused")
_DATES = ("effective_from", "effective_until")


def frame(payload: bytes) -> bytes:
    """A payload preceded by its length, 8 bytes big-endian."""
    return HEADER.pack(len(payload)) + payload


def read_frame(read: Callable[[int], bytes]) -> bytes | None:
    """The next payload from a blocking, buffered stream; None at its end."""
    header = read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    payload = read(size)
    return payload if len(payload) == size else None


def encode_json(value: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8. NaN and infinity raise ValueError; lone surrogates are preserved."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def decode_json(payload: bytes) -> dict[str, Any]:
    """Inverse of `encode_json`; raises ValueError for anything but an object."""
    value = json.loads(payload.decode("utf-8", "surrogatepass"))
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def encode_documents(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Documents as JSON values: blocks as columns, dates in ISO 8601."""
    encoded = []
    for document in documents:
        record = {f.name: getattr(document, f.name) for f in fields(Document)}
        record["blocks"] = dict(_columns(document.blocks))
        record["notes"] = list(document.notes)
        record |= {key: [list(each) for each in record[key]] for key in _PAIRS}
        record["metadata"] = dict(document.metadata)
        record |= {key: record[key] and record[key].isoformat() for key in _DATES}
        record["fidelity"] = document.fidelity and asdict(document.fidelity)
        encoded.append(record)
    return encoded


def _columns(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Any]]]:
    """The values of blocks by field, without the fields that are the default in all of them: where a text is a
    million short paragraphs, a list for each would take more memory than all else.
    """
    for name, default in _BLOCK_FIELDS.items():
        column = [getattr(block, name) for block in blocks]
        if any(value != default for value in column):
            yield name, column


def _blocks(columns: Mapping[str, list[Any]]) -> Iterator[Block]:
    """Inverse of `_columns`."""
    count = len(columns["start" if "start" in columns else "end"]) if columns else 0
    values = [columns.get(name) or [default] * count for name, default in _BLOCK_FIELDS.items()]
    for row in zip(*values, strict=True):
        block = dict(zip(_BLOCK_FIELDS, row, strict=True))
        yield Block(**block | {"kind": sys.intern(block["kind"]), "inner": tuple(map(tuple, block["inner"]))})


def encode_unpacked(unpacked: Unpacked) -> dict[str, Any]:
    """A container's content as JSON values, the bytes of its parts in Base64."""
    return {
        "documents": encode_documents(unpacked.documents),
        "parts": [
            {"uri": part.uri, "name": part.name, "content": base64.b64encode(part.content).decode(),
             "metadata": dict(part.metadata)}
            for part in unpacked.parts
        ],
        "refused": [list(each) for each in unpacked.refused],
        "notes": list(unpacked.notes),
    }  # fmt: skip


def decode_unpacked(answer: Mapping[str, Any]) -> Unpacked:
    """Inverse of `encode_unpacked`."""
    return Unpacked(
        documents=decode_documents(answer["documents"]),
        parts=tuple(Part(**{**part, "content": base64.b64decode(part["content"])}) for part in answer["parts"]),
        refused=tuple((address, reason) for address, reason in answer["refused"]),
        notes=tuple(answer["notes"]),
    )


def decode_documents(records: Sequence[Mapping[str, Any]]) -> tuple[Document, ...]:
    """Inverse of `encode_documents`; the values check themselves and raise TypeError or ValueError."""
    documents = []
    for record in records:
        values = dict(record)
        values["blocks"] = tuple(_blocks(values["blocks"]))
        values["notes"] = tuple(values["notes"])
        values |= {key: tuple(map(tuple, values[key])) for key in _PAIRS}
        values |= {key: values[key] and date.fromisoformat(values[key]) for key in _DATES}
        values["lines"] = tuple(
            Line(start, end, page, tuple(box), sure) for start, end, page, box, sure in values["lines"]
        )
        values["uncertain"] = tuple(Uncertain(*row) for row in values["uncertain"])
        if values["fidelity"]:
            told = values["fidelity"]
            values["fidelity"] = Fidelity(**told | {"warnings": tuple(told["warnings"])})
        documents.append(Document(**values))
    return tuple(documents)


_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_OPEN_FILES = 256


def main() -> int:
    """Answer requests until standard input ends; the first one holds the limits and is answered with "ready"."""
    source = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    first = read_frame(source.read)
    if first is None:
        return 1
    limits = decode_json(first)
    _confine(limits["memory"])
    answers.write(frame(encode_json({"ready": True})))
    answers.flush()
    _silence()
    while True:
        header, content = read_frame(source.read), read_frame(source.read)
        if header is None or content is None:
            return 0
        request = decode_json(header)
        _allow_seconds(request.get("seconds") or limits["cpu_seconds"])
        if not _answer(request, content, answers):
            return 0


def _confine(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    give_up_network()


def give_up_network() -> None:
    """Remove this process's network access where the system allows it; the parsers open no sockets anyway."""
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare and unshare(_CLONE_NEWNET) != 0:
        unshare(_CLONE_NEWUSER | _CLONE_NEWNET)


def _silence() -> None:
    """Redirect the output of native libraries, away from the answers and the service's terminal."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _allow_seconds(seconds: float) -> None:
    """Limit the processor time for the next document; the process is killed beyond it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _done(request: dict[str, Any], content: bytes) -> dict[str, Any]:
    """Carry out a request: call a function, draw a page, recognise a page, unpack a file, or read one."""
    name = request["name"]
    if "function" in request:
        return {"result": call_guarded(content, request["arguments"], name=name, function=request["function"])}
    if "page" in request:
        drawn = draw_page(content, name=name, page=request["page"], width=request["width"])
        return {"png": base64.b64encode(drawn).decode()}
    if "recognise" in request:
        from wenyuan.readers.ocr.pages import recognised

        return {"recognised": recognised(content, name=name, page=request["recognise"])}
    if "reader" not in request:
        return encode_unpacked(unpack_guarded(content, uri=request["uri"], name=name))
    pages = request["recognised"]
    documents = read_guarded(
        content,
        uri=request["uri"],
        name=name,
        reader=request["reader"],
        recognised=None if pages is None else {int(page): told for page, told in pages.items()},
    )
    if (blocks := sum(len(document.blocks) for document in documents)) > request["blocks"]:
        reason = msg(
            "it has {count} parts; at most {limit} are read", count=f"{blocks:,}", limit=f"{request['blocks']:,}"
        )
        raise DocumentRejected(reason, component=name)
    return {"documents": encode_documents(documents)}


def _answer(request: dict[str, Any], content: bytes, answers: BinaryIO) -> bool:
    """Carry out a request and send the answer; False when the process should be replaced."""
    sound = True
    try:
        answer = encode_json(_done(request, content))
    except PagesWanted as wanted:
        answer = encode_json({"wanted": list(wanted.pages)})
    except DocumentRejected as error:
        sound = not isinstance(error.__cause__, MemoryError)
        no_document = isinstance(error, NoDocument)
        told = {"rejected": error.message, "hint": error.hint, "retires": not sound, "no_document": no_document}
        answer = encode_json(told)
    except MemoryError:
        answer, sound = encode_json({"rejected": "it needs more memory than is allowed", "retires": True}), False
    answers.write(frame(answer))
    answers.flush()
    return sound


if __name__ == "__main__":
    raise SystemExit(main())


# One reading process, from the service's side: start it, exchange requests and answers, end it.

_START_SECONDS = 60.0
_PIPE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits for reading one document.

    Attributes:
        max_bytes: Size of the file.
        memory: Address space of the worker, bytes.
        cpu_seconds: Processor time; `wall_seconds` is elapsed time.
        answer_bytes: Maximum size of the worker's answer.
        in_process_bytes: Plain formats up to this size are read without a worker: the worst text of it takes a
            quarter of a second.
        blocks: Blocks of all documents of one file.
        documents_per_worker: Documents after which a worker is replaced.
    """

    max_bytes: int = 50_000_000
    memory: int = 1_500_000_000
    cpu_seconds: float = 20.0
    wall_seconds: float = 20.0
    answer_bytes: int = 256_000_000
    in_process_bytes: int = 32_000
    blocks: int = 1_000_000
    documents_per_worker: int = 500


class Died(Exception):
    """The worker process ended; the message is the reason reported for the document.

    Attributes:
        by_itself: It was not killed by the service, so state left by an earlier document may be the cause.
    """

    by_itself = False


class _Ended(Died):
    by_itself = True


class Worker:
    """One reading process. `ask` exchanges a request for an answer within the limits, or raises `Died`.

    Raises:
        SourceError: the process does not start.
    """

    def __init__(self, limits: Limits) -> None:
        self.served = 0
        self._limits = limits
        with tempfile.TemporaryFile() as words:  # a file, since a pipe that nobody reads would block the child
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-P", "-m", "wenyuan.readers.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                bufsize=0,
                cwd="/",
                env=environment(),
                start_new_session=True,
            )
            assert self._process.stdin and self._process.stdout
            self._to, self._from = self._process.stdin, self._process.stdout
            os.set_blocking(self._to.fileno(), False)
            os.set_blocking(self._from.fileno(), False)
            hello = frame(encode_json({"memory": limits.memory, "cpu_seconds": limits.cpu_seconds}))
            try:
                self._exchange(hello, _START_SECONDS)
            except Died as death:
                self.end()
                words.seek(0)
                last = words.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
                raise SourceError(msg("the reading process does not start: {last}", last=last or death)) from death

    def ask(self, request: bytes, content: bytes, *, seconds: float | None = None) -> dict[str, Any]:
        """The worker's answer to one request.

        Args:
            seconds: How long it may take, where that is not `Limits.wall_seconds`.
        """
        self.served += 1
        return self._exchange(frame(request) + frame(content), seconds or self._limits.wall_seconds)

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process; a thread that waits in `ask` gets `Died`."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process if it is running, and wait for it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._to, self._from):
            with contextlib.suppress(OSError):
                pipe.close()

    def _exchange(self, outgoing: bytes, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        left = memoryview(outgoing)
        incoming = bytearray()
        while True:
            if len(incoming) >= HEADER.size:
                (size,) = HEADER.unpack_from(incoming)
                if size > self._limits.answer_bytes:
                    raise Died(f"its text is larger than {self._limits.answer_bytes:,} bytes")
                if len(incoming) >= HEADER.size + size:
                    return self._decoded(bytes(incoming[HEADER.size :]))
            ready = self._ready(deadline, seconds, writing=bool(left))
            if self._to.fileno() in ready and left:
                left = self._written(left)
            if self._from.fileno() in ready:
                chunk = os.read(self._from.fileno(), _PIPE_BYTES)
                if not chunk:
                    raise self._death()
                incoming += chunk

    def _ready(self, deadline: float, seconds: float, *, writing: bool) -> set[int]:
        """The file descriptors that are ready for reading or writing before the deadline."""
        poll = select.poll()
        poll.register(self._from.fileno(), select.POLLIN)
        if writing:
            poll.register(self._to.fileno(), select.POLLOUT)
        remaining = deadline - time.monotonic()
        ready = {descriptor for descriptor, _ in poll.poll(max(remaining, 0) * 1_000)}
        if not ready:
            raise Died(f"reading it took longer than {seconds:g} s")
        return ready

    def _written(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._to.fileno(), left[:_PIPE_BYTES]) :]
        except BrokenPipeError:
            return left[:0]  # it died during the request: reading its answer reports that next

    def _decoded(self, payload: bytes) -> dict[str, Any]:
        try:
            return decode_json(payload)
        except (ValueError, RecursionError) as error:
            raise Died(msg("the reader's answer is not valid: {error}", error=error)) from error

    def _death(self) -> Died:
        """A `Died` with the reason why the process ended."""
        code = self._process.wait(timeout=5)
        if code >= 0:
            return _Ended(f"the reader ended with code {code}")
        name = signal.Signals(-code).name
        if name == "SIGXCPU":
            return Died("reading it took more processor time than is allowed (SIGXCPU)")
        return _Ended(f"the reader was ended by {name}: a crash, or memory ran out")


def environment() -> dict[str, str]:
    """Environment variables for the child: Python's module paths, and no secrets of the service."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LANG": "C.UTF-8", "PATH": os.defpath}


# Recognises the pages of a file in parallel, each in its own reading process; cached pages are not recognised again.

PAGE_LIMITS = Limits(memory=1_200_000_000, cpu_seconds=90.0, wall_seconds=600.0)
"""What one page may cost: a page of small print takes 10 s of processor time, and a process .6 GB."""

_EVERY = 1.0  # seconds between two progress callbacks
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks for the recognition of a file's pages.

    Attributes:
        told: Called with the pages done and in total, in the reading thread; an exception from it ends the reading.
        keep: Whether a page with this text may be kept until the document is stored.
    """

    told: Told = lambda _done, _pages: None
    keep: Callable[[str], bool] = lambda _text: False


class PageWorkers:
    """Recognises pages in worker processes; safe to share between threads.

    Args:
        most: Maximum number of processes at a time for one file.
        store: Where recognised pages are kept; None to keep none.
    """

    def __init__(self, most: int, store: PageStore | None = None, *, limits: Limits = PAGE_LIMITS) -> None:
        self._most = most
        self._store = store
        self._limits = limits
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._read: set[str] = set()

    def recognise(
        self, content: bytes, *, name: str, pages: Sequence[int], watch: Watch
    ) -> dict[int, dict[str, Any]]:
        """Recognised pages by number; a page that failed has the reason as ``failed``.

        Raises:
            DocumentRejected: the model files are not in order.
            SourceError: no process can be started.
        """
        store = self._store
        sha256 = hashlib.sha256(content).hexdigest()
        done = {page: told for page, told in store.pages(sha256).items() if page in set(pages)} if store else {}
        left = [page for page in pages if page not in done]
        watch.told(len(done), len(pages))
        for page, told in self._side_by_side(content, name, left, lambda: watch.told(len(done), len(pages))):
            done[page] = told
            if store and "failed" not in told and all(map(watch.keep, _texts(told))):
                store.keep(sha256, page, told)
            watch.told(len(done), len(pages))
        if store:
            with self._lock:
                self._read.add(sha256)
        return done

    def settled(self) -> None:
        """Call when the documents are stored: deletes the cached pages and ends the processes."""
        with self._lock:
            read, self._read = self._read, set()
        if self._store is not None:
            for sha256 in read:
                self._store.drop(sha256)
        self.close()

    def close(self) -> None:
        """End the idle processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def _side_by_side(
        self, content: bytes, name: str, pages: Sequence[int], beat: Callable[[], None]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        if not pages:
            return
        stopping = threading.Event()
        workers: set[Worker] = set()

        def read(page: int) -> dict[str, Any]:
            return {} if stopping.is_set() else self._recognised(content, name, page, workers)

        pool = ThreadPoolExecutor(min(self._most, len(pages)), thread_name_prefix="wenyuan-page")
        try:
            waiting: dict[Future[dict[str, Any]], int] = {pool.submit(read, page): page for page in pages}
            while waiting:
                finished, _ = wait(waiting, timeout=_EVERY, return_when=FIRST_COMPLETED)
                beat()
                for future in finished:
                    yield waiting.pop(future), future.result()
        finally:
            stopping.set()
            with self._lock:
                for worker in workers:  # still working: the callback has stopped the run
                    worker.kill()
            pool.shutdown(cancel_futures=True)

    def _recognised(self, content: bytes, name: str, page: int, workers: set[Worker]) -> dict[str, Any]:
        request = encode_json({"recognise": page, "name": name})
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or Worker(self._limits)
        with self._lock:
            workers.add(worker)
        try:
            answer = worker.ask(request, content)
        except Died as death:
            worker.end()
            return {"failed": str(death)}
        except BaseException:
            worker.end()
            raise
        finally:
            with self._lock:
                workers.discard(worker)
        if answer.get("retires"):
            worker.end()
        else:
            with self._lock:
                self._idle.append(worker)
        if answer.get("hint"):  # the page is not at fault
            raise DocumentRejected(str(answer["rejected"]), component=name, hint=str(answer["hint"]))
        return {"failed": str(answer["rejected"])} if "rejected" in answer else dict(answer["recognised"])


def _texts(page: Mapping[str, Any]) -> tuple[str, str]:
    """The text of a page, once with line breaks and once joined."""
    lines = ["".join(part["text"] for part in row) for row in page["rows"]]
    return "\n".join(lines), "".join(lines)
