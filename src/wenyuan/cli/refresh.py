"""``refresh`` and ``worker``: sources read again when they are due."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.ingest import note_keyword_only, show_report, with_content
from wenyuan.cli.options import EachOption, SourceArgument, ended_by_sigterm, opened, unlogged
from wenyuan.cli.progress import Bar
from wenyuan.cli.terminal import FAILED, OK, PARTLY, Terminal
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.service.library import Library
    from wenyuan.service.operations.refresh import RefreshOutcome, Worker


_REVIEW_SECONDS = 20.0
"""For each of what follows a refresh at most."""


def refresh(
    ctx: typer.Context,
    source: SourceArgument = None,
    every: EachOption = False,
    due: Annotated[bool, typer.Option("--due", help="Those whose cycle says so.")] = False,
) -> None:
    """Refresh sources: read again what has changed, and write down how that went.

    Example:
      wenyuan refresh policies
      wenyuan refresh --due
    """
    terminal: Terminal = ctx.obj
    if (source is not None) + every + due != 1:
        raise typer.BadParameter(terminal.text("refresh_which"))
    with opened(terminal) as found, unlogged(), ended_by_sigterm():  # failures are shown
        note_keyword_only(terminal, found)
        found.change_review.begin()
        outcomes = _refreshed(terminal, found, source, due=due)
        if not found.sources():
            terminal.say("no_sources")
        elif due and not outcomes:
            terminal.say("nothing_due")
        else:
            show_review(terminal, found)
    failed = any(outcome.failure for outcome in outcomes)
    terminal.document(
        {"status": "FAILED" if failed else "SUCCESS", "outcomes": [outcome_document(o) for o in outcomes]}
    )
    raise typer.Exit(exit_code(outcomes))


def _refreshed(terminal: Terminal, library: Library, source: str | None, *, due: bool) -> list[RefreshOutcome]:
    from wenyuan.core.errors import CatalogBusy
    from wenyuan.service.operations.refresh import RefreshOutcome, Worker

    worker = Worker(library)
    if due:
        return worker.run_once(tell=lambda outcome: show_outcome(terminal, outcome))
    outcomes = []
    for name in [source] if source is not None else [one.source_id for one in with_content(terminal, library)]:
        with Bar(terminal, embeds=library.encoder is not None) as bar:
            try:
                outcomes.append(worker.refresh(name, bar))
            except CatalogBusy as error:
                if source is not None:
                    raise
                outcomes.append(RefreshOutcome(source_id=name, failure=str(error)))
        show_outcome(terminal, outcomes[-1])
    return outcomes


def show_outcome(terminal: Terminal, outcome: RefreshOutcome) -> None:
    upcoming = local_time(outcome.next_refresh) or terminal.text("never")
    if outcome.failure:
        terminal.say("refresh_failed", source=outcome.source_id, why=terminal.own(outcome.failure))
        terminal.say("try_again", at=upcoming)
        return
    if outcome.report is not None:
        show_report(terminal, outcome.report)
    else:
        terminal.show(terminal.text("answers", source=outcome.source_id))
    terminal.show(terminal.text("due_again", at=upcoming))


def outcome_document(outcome: RefreshOutcome) -> dict[str, Any]:
    from wenyuan.service.operations.freshness import iso_time

    shown = asdict(outcome)
    return shown | {"next_refresh": outcome.next_refresh and iso_time(outcome.next_refresh)}


def show_review(terminal: Terminal, library: Library) -> None:
    """Look at what the refresh changed, and say which answers it touches, what contradicts now and which gaps are closed."""
    found = library.change_review.review(_REVIEW_SECONDS)
    if found is None:
        return
    if found.impact is not None and found.impact.resting:
        numbers = {name: getattr(found.impact, name) for name in ("resting", "same", "differs")}
        terminal.show(terminal.text("impact_resting", **numbers))
        if unknown := found.impact.unknown + found.impact.left:
            terminal.show(terminal.text("impact_unknown", count=unknown))
        terminal.say("impact_more")
    if found.conflicts is not None and found.conflicts[1] > 0:
        terminal.show(terminal.text("review_conflicts", new=found.conflicts[1], all=found.conflicts[0]))
    if found.closed:
        terminal.show(terminal.text("gaps_asked", count=len(found.closed)))
    for stage, failure in found.failures.items():
        terminal.say(f"review_failed_{stage}", why=terminal.own(failure))


def exit_code(outcomes: Sequence[RefreshOutcome]) -> int:
    if any(outcome.failure for outcome in outcomes):
        return FAILED
    return PARTLY if any(outcome.report and outcome.report.failed for outcome in outcomes) else OK


def worker(
    ctx: typer.Context,
    poll: Annotated[float, typer.Option(min=0.1, metavar="S", help="Seconds between two looks.")] = 30.0,
    once: Annotated[bool, typer.Option("--once", help="What is due now, then end.")] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, max=64, metavar="N", help="Threads that embed, for other workers, too.")
    ] = 1,
) -> None:
    """Refresh sources whenever they are due, until Ctrl-C or SIGTERM. Any number of workers may run, and share the work of a large source.

    Example:
      wenyuan worker
      wenyuan worker --jobs 4 --poll 5
    """
    from wenyuan.service.operations.refresh import Worker

    terminal: Terminal = ctx.obj
    outcomes: list[RefreshOutcome] = []
    counts = {"refreshed": 0, "failed": 0}

    def tell(outcome: RefreshOutcome) -> None:
        counts["failed" if outcome.failure else "refreshed"] += 1
        if once:
            outcomes.append(outcome)
        show_outcome(terminal, outcome)

    with opened(terminal) as found, _stopping() as stop, found.ingestion.embedding(jobs):
        note_keyword_only(terminal, found)
        made = Worker(found)
        found.change_review.begin()
        if once:
            with unlogged():
                made.run_once(stop, tell)
                show_review(terminal, found)
        else:
            found.watch_changes()
            _work(terminal, made, stop, poll, tell)
    terminal.document(
        {"status": "FAILED" if outcomes and counts["failed"] else "SUCCESS", **counts}
        | ({"outcomes": [outcome_document(outcome) for outcome in outcomes]} if once else {})
    )
    if not once:
        terminal.say("worker_stopped", **counts)
    raise typer.Exit(exit_code(outcomes))


def _work(terminal: Terminal, made: Worker, stop: threading.Event, poll: float, tell: Any) -> None:
    terminal.say("working", worker=made.name, due=len(made.due()), poll=f"{poll:g}")
    terminal.say("stop_hint")
    with unlogged("wenyuan.service.operations.refresh", logging.ERROR):  # a failed refresh is shown
        made.run_forever(stop, poll, tell)


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event set by SIGTERM and Ctrl-C; a second signal ends the process at once."""
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def handle(number: int, _frame: Any) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
