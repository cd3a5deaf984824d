"""How far a long work is: a bar on a terminal, a line now and then elsewhere, and nothing for what is quick."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wenyuan.cli.terminal import Terminal

if TYPE_CHECKING:
    from wenyuan.service.ingest import Progress

__all__ = ["Bar", "Lines"]

_QUIET = 1.0  # seconds before anything is shown
_EVERY = 10.0  # seconds between two lines where there is no terminal
_OF_STAGES = 5.0  # between two lines of a work that has stages and no bar


class Bar:
    """A context manager to give to `Library.add` as its ``progress``.

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

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, at: Progress) -> None:
        now = time.monotonic()
        if now < self._begun + _QUIET:
            return
        rate, left = self._pace(at, now - self._begun)
        if self._terminal.err.is_terminal:
            self._draw(at, rate, left)
        elif now >= self._line_at:
            self._line_at = now + _EVERY
            self._terminal.say("progress", **_counts(at), rate=rate, left=left)

    def _draw(self, at: Progress, rate: str, left: str) -> None:
        if self._bar is None:
            self._start()
        shown = self._terminal.text("progress", **_counts(at), rate=rate, left=left)
        self._bar.update(self._task, completed=self._share(at), shown=shown)

    def _share(self, at: Progress, *, since: int = 0) -> float:
        """How much of the work is done: passages are read long before they are embedded.

        Args:
            since: Files that took no work: what is left takes as long as the others did.
        """
        files = (at.files + 1 - since) / max(1, at.files_total - since)
        return files * at.embedded / at.passages if self._embeds and at.passages else files

    def _pace(self, at: Progress, seconds: float) -> tuple[str, str]:
        """Passages a second, and the time left as ``m:ss`` (``?`` while nothing can be said)."""
        rate = f"{(at.embedded if self._embeds else at.passages) / seconds:.1f}"
        share = self._share(at, since=at.unchanged)
        if not share:
            return rate, "?"
        left = round(seconds * (1 - share) / share)
        return rate, f"{left // 60}:{left % 60:02d}"

    def _start(self) -> None:
        from rich import progress

        self._bar = progress.Progress(
            progress.BarColumn(bar_width=20),
            progress.TaskProgressColumn(),
            progress.TextColumn("{task.fields[shown]}", markup=False),
            console=self._terminal.err,
            transient=True,
        )
        self._task = self._bar.add_task("", total=1.0, shown="")
        self._bar.start()


def _counts(at: Progress) -> dict[str, int]:
    return {"files": at.files + 1, "total": at.files_total, "passages": at.passages}


class Lines:
    """Says now and then at which stage a work is; what reads JSON is told nothing.

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
