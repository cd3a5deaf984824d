"""Recognises the pages of a file in parallel, each in its own reading process; cached pages are not recognised again."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.frames import encode_json
from wenyuan.readers.ocr.page_store import PageStore
from wenyuan.readers.process import Died, ReadingLimits, ReadingProcess

PAGE_LIMITS = ReadingLimits(memory=1_200_000_000, cpu_seconds=90.0, wall_seconds=600.0)
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

    def __init__(self, most: int, store: PageStore | None = None, *, limits: ReadingLimits = PAGE_LIMITS) -> None:
        self._most = most
        self._store = store
        self._limits = limits
        self._lock = threading.Lock()
        self._idle: list[ReadingProcess] = []
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
        workers: set[ReadingProcess] = set()

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

    def _recognised(self, content: bytes, name: str, page: int, workers: set[ReadingProcess]) -> dict[str, Any]:
        request = encode_json({"recognise": page, "name": name})
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or ReadingProcess(self._limits)
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
