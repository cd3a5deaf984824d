"""``registry``, ``refresh`` and ``worker``."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.library import note_keyword_only, show_report, with_content
from wenyuan.cli.options import ended_by_sigterm, interactive, opened, unlogged
from wenyuan.cli.terminal import FAILED, OK, PARTLY, Bar, Terminal

if TYPE_CHECKING:
    from wenyuan.core.registry import Plan
    from wenyuan.service.library import Library
    from wenyuan.service.operations.refresh import RefreshOutcome, Worker


# ``refresh`` and ``worker``: sources read again when they are due.


def refresh(
    ctx: typer.Context,
    source: Annotated[str | None, typer.Argument(help="A registered source. 已登记的来源")] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them. 全部来源")] = False,
    due: Annotated[bool, typer.Option("--due", help="Those whose cycle says so. 到期的来源")] = False,
) -> None:
    """Refresh sources: read again what has changed, and write down how that went.

    刷新来源：重新读取有变化的文档并记录结果；外部来源则检查其是否应答。

    Example 示例:
      wenyuan refresh policies
      wenyuan refresh --due
    """
    terminal: Terminal = ctx.obj
    if (source is not None) + every + due != 1:
        raise typer.BadParameter(terminal.text("refresh_which"))
    with opened(terminal) as found, unlogged(), ended_by_sigterm():  # failures are shown
        note_keyword_only(terminal, found)
        outcomes = _refreshed(terminal, found, source, due=due)
        if not found.sources():
            terminal.say("no_sources")
        elif due and not outcomes:
            terminal.say("nothing_due")
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
    upcoming = _local(outcome.next_refresh) or terminal.text("never")
    if outcome.failure:
        terminal.say("refresh_failed", source=outcome.source_id, why=terminal.own(outcome.failure))
        terminal.say("try_again", at=upcoming)
        return
    if outcome.report is not None:
        show_report(terminal, outcome.report)
    else:
        terminal.show(terminal.text("answers", source=outcome.source_id))
    terminal.show(terminal.text("due_again", at=upcoming))


def _local(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at).astimezone().isoformat(" ", "seconds")


def outcome_document(outcome: RefreshOutcome) -> dict[str, Any]:
    shown = asdict(outcome)
    return shown | {"next_refresh": _local(outcome.next_refresh).replace(" ", "T") or None}


def exit_code(outcomes: Sequence[RefreshOutcome]) -> int:
    if any(outcome.failure for outcome in outcomes):
        return FAILED
    return PARTLY if any(outcome.report and outcome.report.failed for outcome in outcomes) else OK


def worker(
    ctx: typer.Context,
    poll: Annotated[float, typer.Option(min=0.1, metavar="S", help="Seconds between two looks. 检查间隔")] = 30.0,
    once: Annotated[bool, typer.Option("--once", help="What is due now, then end. 只运行一轮")] = False,
) -> None:
    """Refresh sources whenever they are due, until Ctrl-C or SIGTERM. Any number of workers may run.

    持续刷新到期的来源，按 Ctrl-C 停止；可同时运行多个。

    Example 示例:
      wenyuan worker
      wenyuan worker --poll 5
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

    with opened(terminal) as found, _stopping() as stop:
        note_keyword_only(terminal, found)
        made = Worker(found)
        if once:
            with unlogged():
                made.run_once(stop, tell)
        else:
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


# ``apply`` and ``source export``: the library as a registry file says.


_KINDS = {"source": "kind_source", "agent": "kind_agent", "task": "kind_task"}


def apply(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A registry in YAML. 注册表文件")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change. 只显示差异")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what the file does not name. 移除文件中没有的")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. 不再确认")] = False,
) -> None:
    """Make sources, agents and profiles of tasks what a registry file says. Reading is what a refresh does, but for sources with a
    higher sensitivity than before: those are read again at once.

    按注册表文件登记来源、智能体与任务画像；文档内容由 refresh 或 worker 读取，敏感级别提高的来源则立即重新读取。

    Example 示例:
      wenyuan apply registry.yaml --dry-run
      wenyuan apply registry.yaml
    """
    from wenyuan.service.ingest.registry import apply as carry_out
    from wenyuan.service.ingest.registry import plan, read_registry

    terminal: Terminal = ctx.obj
    outcomes: Sequence[RefreshOutcome] = ()
    with opened(terminal) as found:
        made = plan(found, read_registry(found, file, prune=prune))
        _show(terminal, made, prune=prune)
        if not dry_run:
            if prune and made.missing and not yes and interactive():
                typer.confirm(terminal.text("really_prune", count=len(made.missing)), abort=True, err=True)
            outcomes = carry_out(found, made, prune=prune)
    code = exit_code(outcomes)
    terminal.document(
        {
            "status": "FAILED" if code == FAILED else "SUCCESS",
            "dry_run": dry_run,
            "pruned": prune and not dry_run,
            "refreshed": [outcome_document(outcome) for outcome in outcomes],
            **_document(made),
        }
    )
    counts = {
        "added": len(made.added),
        "changed": len(made.changed_entries),
        "unchanged": len(made.unchanged),
        "missing": len(made.missing),
    }
    terminal.show(terminal.text("would_apply" if dry_run else "applied", **counts))
    if not dry_run and any(entry.kind == "source" for entry in (*made.added, *made.changed_entries)):
        terminal.show(terminal.text("made_next", command="wenyuan refresh --due"))
    for outcome in outcomes:
        show_outcome(terminal, outcome)
    raise typer.Exit(code)


def _document(made: Plan) -> dict[str, Any]:
    return {
        name: [asdict(entry) for entry in getattr(made, name)]
        for name in ("added", "changed", "unchanged", "missing")
    }


def _show(terminal: Terminal, made: Plan, *, prune: bool) -> None:
    for entry in made.added:
        terminal.show(f"+ {terminal.text(_KINDS[entry.kind])} {entry.id}", wrap=False)
    for entry in made.changed_entries:
        terminal.show(f"~ {terminal.text(_KINDS[entry.kind])} {entry.id}", wrap=False)
        for change in made.changed:
            if (change.kind, change.id) == (entry.kind, entry.id):
                old, new = _spoken(change.old), _spoken(change.new)
                terminal.show(f"    {change.field}: {old} → {new}", wrap=False)
    for entry in made.missing:
        note = terminal.text("removed_by_prune" if prune else "left_alone")
        sign = "-" if prune else "?"
        terminal.show(f"{sign} {terminal.text(_KINDS[entry.kind])} {entry.id}  {note}", wrap=False)


def _spoken(value: Any) -> str:
    """A field's value on one line; a dash for none."""
    if isinstance(value, list):
        return ", ".join(_spoken(item) for item in value) or "–"
    if isinstance(value, dict):
        return " ".join(f"{key}={_spoken(item)}" for key, item in value.items()) or "–"
    return "–" if value in ("", None) else str(value).replace("\n", " ")


def export(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to write; else standard output. 输出文件")
    ] = None,
) -> None:
    """Write the registry file that describes this library; applied to it, it changes nothing.

    导出描述当前知识库的注册表文件。

    Example 示例:
      wenyuan source export registry.yaml
    """
    from wenyuan.service.ingest.registry import export as describe

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        text = describe(found)
        count = len(found.sources())
    if file is not None:
        file.write_text(text, "utf-8")
        terminal.show(terminal.text("wrote_registry", count=count, file=file), wrap=False)
    elif not terminal.as_json:
        typer.echo(text, nl=False)
    terminal.document({"status": "SUCCESS", "file": file, "sources": count, "registry": text})
    raise typer.Exit(OK)
