"""Progress of long operations: a bar on a terminal, a line now and then elsewhere, nothing for short ones."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.service.ingest.progress import Progress


_QUIET = 1.0  # seconds before anything is shown
_EVERY = 10.0  # seconds between two lines where there is no terminal
_OF_STAGES = 5.0  # between two lines of a work that has stages and no bar
_STEPS = 3  # the start, and two steps of the work
_MUCH = 0.05  # of the work
_RECENT = 0.2  # of the time that has passed: its pace counts as much as that of the whole


class Bar:
    """Progress bar, a context manager to pass to `Library.add` as ``progress``.

    Args:
        embeds: Whether passages are embedded, which then takes nearly all of the time.
    """

    def __init__(self, terminal: Terminal, *, embeds: bool) -> None:
        self._terminal = terminal
        self._embeds = embeds
        self._begun = time.monotonic()
        self._line_at = self._begun + _QUIET
        self._bar: Any = None
        self._task: Any = None
        self._course = [(self._begun, 0.0)]  # times, and the shares of the work that were done then
        self._pages_of = (
            -1,
            0,
            0.0,
        )  # the file whose pages are recognised: its number; pages done, and when, at first

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, at: Progress) -> None:
        now = time.monotonic()
        if at.pages_total and self._pages_of[0] != at.files:
            self._pages_of = (at.files, at.pages, now)
        if now < self._begun + _QUIET:
            return
        key, values = self._told(at, now)
        if self._terminal.err.is_terminal:
            if self._bar is None:
                self._start()
            self._bar.update(self._task, completed=self._share(at), shown=self._terminal.text(key, **values))
        elif now >= self._line_at:
            self._line_at = now + _EVERY
            self._terminal.say(key, **values)

    def _told(self, at: Progress, now: float) -> tuple[str, dict[str, Any]]:
        """Message key and values for the progress; of a file under OCR, its pages."""
        if at.sentences_total:
            return "progress_sentences", {"done": at.sentences, "total": at.sentences_total}
        if at.pages < at.pages_total:
            _, first, begun = self._pages_of
            rate, left = _pages_pace(at.pages - first, at.pages_total - at.pages, now - begun)
            pages = {"page": at.pages, "pages": at.pages_total}
            place = {"files": at.files + 1, "total": at.files_total, **pages}
            if not rate:
                return "progress_pages_begun", place
            return "progress_pages", {**place, "rate": rate, "left": left}
        pace = (at.embedded if self._embeds else at.passages) / (now - self._begun)
        seconds = self._left(self._share(at, since=at.unchanged), now)
        if seconds is None or f"{pace:.1f}" == "0.0":
            return "progress_begun", _counts(at)
        return "progress", {**_counts(at), "rate": f"{pace:.1f}", "left": f"{seconds // 60}:{seconds % 60:02d}"}

    def _share(self, at: Progress, *, since: int = 0) -> float:
        """Share of the work done: passages are read long before they are embedded.

        Args:
            since: Files that took no work: what is left takes as long as the others did.
        """
        if at.sentences_total:
            return at.sentences / at.sentences_total
        files = (at.files + 1 - since) / max(1, at.files_total - since)
        return files * at.embedded / at.passages if self._embeds and at.passages else files

    def _left(self, share: float, now: float) -> int | None:
        """Seconds that are left as the geometric mean of what two paces give, of the whole course and of its recent part; None while unknown.

        The first step holds what is loaded at the start: alone it says something only if much of the work is done.
        """
        if not share:
            return None
        if share > self._course[-1][1]:
            self._course.append((now, share))
        if len(self._course) < _STEPS and share < _MUCH:
            return None
        since = now - _RECENT * (now - self._begun)
        at = max(0, bisect_right(self._course, (since, 2.0)) - 1)
        before, done = self._course[at]
        whole = (1.0 - share) * (now - self._begun) / share
        recent = (1.0 - share) * (now - before) / (share - done) if share > done else whole
        return round(math.sqrt(whole * recent))

    def _start(self) -> None:
        from rich import progress

        self._bar = progress.Progress(
            progress.BarColumn(bar_width=10),
            progress.TaskProgressColumn(),
            progress.TextColumn("{task.fields[shown]}", markup=False),
            console=self._terminal.err,
            transient=True,
        )
        self._task = self._bar.add_task("", total=1.0, shown="")
        self._bar.start()


def _pages_pace(done: int, left: int, seconds: float) -> tuple[str, str]:
    """Pages per second, and the remaining time as ``m:ss``; empty before the first page."""
    if done <= 0 or seconds <= 0:
        return "", ""
    more = round(left * seconds / done)
    return f"{done / seconds:.2f}", f"{more // 60}:{more % 60:02d}"


def _counts(at: Progress) -> dict[str, int]:
    return {"files": at.files + 1, "total": at.files_total, "passages": at.passages}


def confidence_text(terminal: Terminal, judged: Mapping[str, Any]) -> str:
    """How many passages a judge found sufficient, as an answer or a record says it."""
    if judged["state"] == "auto":
        return terminal.text("confidence_auto", k=judged["k"], reason=terminal.own(judged.get("reason", "")))
    bounds = {
        "threshold": f"{judged['threshold']:.3f}",
        "risk": f"{judged['risk']:.0%}",
        "questions": judged["questions"],
    }
    return terminal.text(f"confidence_{judged['state']}", k=judged["k"], **bounds)


def follow_up_text(terminal: Terminal, judged: Mapping[str, Any], query: str) -> str:
    """What came of asking the judge what is missing; ``""`` where it was not asked.

    Args:
        query: What was searched.
    """
    told = judged.get("follow_up")
    if told is None:
        return ""
    why = terminal.text(f"rewrite_left_{told['refused']}") if "refused" in told else ""
    error = terminal.own(told.get("error", ""))
    return terminal.text(
        f"follow_up_{told['state']}", query=printable(query), count=told.get("found", 0), why=why, error=error
    )


class ProgressLines:
    """Progress messages at intervals with the current stage; none with ``--json``.

    Args:
        prefix: Of the messages' names; the stage follows it.
    """

    def __init__(self, terminal: Terminal, prefix: str) -> None:
        self._terminal = terminal
        self._prefix = prefix
        self._line_at = time.monotonic() + _OF_STAGES

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._line_at and not self._terminal.as_json:
            self._line_at = now + _OF_STAGES
            self._terminal.say(f"{self._prefix}_{stage}", done=done, total=total)


def counted(terminal: Terminal, key: str) -> Callable[[int, int], None]:
    """Tells how much of a work is done, of how much, in a line now and then; `key` is that of its words."""
    said = time.monotonic()

    def tell(done: int, of: int) -> None:
        nonlocal said
        if time.monotonic() - said >= _OF_STAGES:
            said = time.monotonic()
            terminal.err.print(terminal.text(key, done=done, count=of))

    return tell
