"""``source``, ``apply``, ``refresh`` and ``worker``: the sources of a library, and when they are read."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.library import note_keyword_only, show_report, with_content
from wenyuan.cli.options import (
    Commands,
    add_commands,
    ended_by_sigterm,
    interactive,
    opened,
    opened_record,
    unlogged,
    words,
)
from wenyuan.cli.terminal import FAILED, OK, PARTLY, Bar, Terminal
from wenyuan.core.errors import joined, msg
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.model import Source
    from wenyuan.core.registry import Plan
    from wenyuan.service.governance import GovernanceDesk
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
    from wenyuan.service.operations import iso_time

    shown = asdict(outcome)
    return shown | {"next_refresh": outcome.next_refresh and iso_time(outcome.next_refresh)}


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
                old, new = _on_one_line(change.old), _on_one_line(change.new)
                terminal.show(f"    {change.field}: {old} → {new}", wrap=False)
    for entry in made.missing:
        note = terminal.text("removed_by_prune" if prune else "left_alone")
        sign = "-" if prune else "?"
        terminal.show(f"{sign} {terminal.text(_KINDS[entry.kind])} {entry.id}  {note}", wrap=False)


def _on_one_line(value: Any) -> str:
    """A field's value on one line; a dash for none."""
    if isinstance(value, list):
        return ", ".join(_on_one_line(item) for item in value) or "–"
    if isinstance(value, dict):
        return " ".join(f"{key}={_on_one_line(item)}" for key, item in value.items()) or "–"
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


# ``source set``: another description for a source that is registered.


def describe(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="ID", help="The source. 来源标识")],
    title: Annotated[str | None, typer.Option(help="What people call it. 标题")] = None,
    trust: Annotated[int | None, typer.Option(help="1 (hearsay) to 5 (binding). 可信度")] = None,
    domain: Annotated[str | None, typer.Option(help="Knowledge domain. 知识领域")] = None,
    refresh_cycle: Annotated[
        str | None, typer.Option(metavar="CYCLE", help="never, daily, PT6H, '30 2 * * 1-5'. 更新周期")
    ] = None,
    copyright: Annotated[str | None, typer.Option(help="deny, excerpt<=200, CC-BY-4.0 … 版权")] = None,
    owner: Annotated[str | None, typer.Option(help="Who answers for it. 负责人")] = None,
    sensitivity: Annotated[
        str | None, typer.Option(help="public, internal, confidential, restricted. 敏感级别")
    ] = None,
    tags: Annotated[str | None, typer.Option(metavar="A,B", help="Tags. 标签")] = None,
    status: Annotated[str | None, typer.Option(help="in_force, draft, retired. 状态")] = None,
    effective_from: Annotated[str | None, typer.Option(metavar="DATE", help="In force from. 生效日期")] = None,
    effective_until: Annotated[str | None, typer.Option(metavar="DATE", help="In force until. 失效日期")] = None,
    supersedes: Annotated[str | None, typer.Option(metavar="A,B", help="What it replaces. 取代的来源")] = None,
    collection: Annotated[str | None, typer.Option(help="A name to filter by. 集合")] = None,
    language: Annotated[str | None, typer.Option(help="zh, en … 语言")] = None,
    context: Annotated[
        bool | None, typer.Option("--context/--no-context", help="Context sentences by the model. 语境句")
    ] = None,
) -> None:
    """Change how a source is described; what is not named stays, and "" takes a value away.

    A higher sensitivity makes it be read again at once.

    修改来源的说明；未给出的字段不变，空字符串表示清除；提高敏感级别会立即重新读取。

    Example 示例:
      wenyuan source set policies --trust 5 --refresh-cycle daily
      wenyuan source set policies --effective-until ""
      wenyuan source set policies --context && wenyuan ingest policies
    """
    given = {
        "title": title,
        "trust_level": trust,
        "domain": domain,
        "refresh_cycle": refresh_cycle,
        "copyright": copyright,
        "owner": owner,
        "sensitivity": sensitivity,
        "tags": words(tags),
        "status": status,
        "effective_from": effective_from,
        "effective_until": effective_until,
        "supersedes": words(supersedes),
        "collection": collection,
        "language": language,
    }
    from wenyuan.core.sources import with_context_wanted

    terminal: Terminal = ctx.obj
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not changes and context is None:
        raise typer.BadParameter(terminal.text("set_what"))
    with opened(terminal) as found:
        if context is not None:
            changes["settings"] = with_context_wanted(found.catalog.source(source), context)
        changed, outcomes = _set(found, source, changes)
    code = exit_code(outcomes)
    terminal.document(
        {
            "status": "FAILED" if code == FAILED else "SUCCESS",
            "source_id": source,
            "changed": changed,
            "refreshed": [outcome_document(outcome) for outcome in outcomes],
        }
    )
    terminal.show(
        terminal.text(
            "set_done" if changed else "set_same", source=source, fields=", ".join(map(terminal.label, changed))
        )
    )
    for outcome in outcomes:
        show_outcome(terminal, outcome)
    raise typer.Exit(code)


def _set(library: Library, source_id: str, changes: dict[str, Any]) -> tuple[list[str], Sequence[RefreshOutcome]]:
    """Change a source; returns the changed fields, and the outcome of a required re-read."""
    from wenyuan.core.registry import Registry, diff
    from wenyuan.core.sources import parse_source, source_to_wire
    from wenyuan.service.ingest.registry import apply as carry_out

    known = library.catalog.source(source_id)
    wanted = parse_source(source_to_wire(known) | changes)
    _check_supersession(library, wanted)
    made = diff(Registry(sources=(known,)), Registry(sources=(wanted,)))
    outcomes = carry_out(library, made)
    return [change.field for change in made.changed], outcomes


def _check_supersession(library: Library, wanted: Source) -> None:
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.sources import supersession_faults

    faults = supersession_faults([wanted], library.sources())
    if faults:
        raise InvalidRequest(joined(f.message for f in faults), faults=faults)


# ``source list``, ``show`` and ``remove``; with them, ``set`` and ``export``.


_HELP = """Look at the sources of a library, describe them, or remove one.

查看、修改或移除来源。

\b
Example 示例:
  wenyuan source list
  wenyuan source show policies
"""
app = typer.Typer(help=_HELP, short_help="List, show, set or remove sources. 管理来源", no_args_is_help=True)
_SHOWN = (
    "source_id", "title", "type", "domain", "trust", "language", "collection", "path", "copyright", "status",
    "effective_from", "effective_until", "supersedes", "refresh_cycle", "owner", "sensitivity", "tags",
    "documents", "passages", "vectors", "failures",
)  # fmt: skip
_Id = Annotated[str, typer.Argument(metavar="ID", help="The source. 来源标识")]


def stars(trust: int) -> str:
    """Trust 1..5 as stars."""
    return "★" * trust + "☆" * (5 - trust)


def list_all(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those without documents that rules quote. 含规则引用而无文档者")
    ] = False,
) -> None:
    """List the sources; those that a pack of rules only quotes, and that hold no document, are counted.

    列出来源；规则包仅引用而没有文档的来源只计数。

    Example 示例:
      wenyuan source list
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        listed = found.list_sources()
    terminal.document({"status": "SUCCESS", "sources": listed})
    if not listed:
        terminal.say("no_sources")
    elif not terminal.as_json:
        shown = listed if everything else [one for one in listed if not _only_quoted(one)]
        if shown:
            rows = (
                (one["source_id"], stars(int(str(one["trust"]))), one["documents"], one["passages"], one["failures"],
                 one["title"])
                for one in shown
            )  # fmt: skip
            headers = ("col_source", "col_trust", "col_documents", "col_passages", "col_failures", "col_title")
            terminal.table(rows, *headers, right=(2, 3, 4), whole=(0,))
        if len(shown) < len(listed):
            terminal.show(terminal.text("sources_quoted", count=len(listed) - len(shown)))
        for overdue in (entry for entry in listed if entry["stale_since"]):
            since = f"{terminal.text('state_stale_since')}: {local_time(str(overdue['stale_since']))}"
            terminal.show(f"{overdue['source_id']}: {since}", wrap=False)


def _only_quoted(source: Mapping[str, object]) -> bool:
    """Whether a source exists only because rules quote it, without ingested documents."""
    return source["type"] == "static_doc" and not source["path"] and not source["documents"]


def show(
    ctx: typer.Context,
    source: _Id,
) -> None:
    """Show a source: how it is described, what the library holds of it, how it is doing, and what failed.

    查看一个来源的说明、数量、更新状况与失败的文档。

    Example 示例:
      wenyuan source show policies
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        described = asdict(found.catalog.source(source)) | dict(found.catalog.counts(source))
        state = _state(found, source)
        failures = _failures(found, source)
    described.pop("settings")
    terminal.document({"status": "SUCCESS", "source": described, "state": state, "failed": failures})
    for key in _SHOWN:
        if described[key] not in ("", None, ()):
            terminal.show(f"{terminal.text(key)}: {_spoken(terminal, key, described[key])}", wrap=False)
    for key, value in state.items():
        if value not in ("", None, 0):
            shown = terminal.own(value) if key == "reason" else local_time(value) if key in _TIMES else value
            terminal.show(f"{terminal.text(f'state_{key}')}: {shown}", wrap=False)
    for uri, reason in failures.items():
        terminal.show(f"  {uri}: {terminal.own(reason)}", wrap=False)


_TIMES = ("last_success", "last_failure", "next_refresh", "stale_since")


def _spoken(terminal: Terminal, key: str, value: Any) -> str:
    if key == "trust":
        return stars(value)
    if key == "status":
        return terminal.text(f"state_{value}")
    if key in ("type", "sensitivity", "refresh_cycle") and (known := terminal.known(f"{key}_{value}")):
        return known
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _state(library: GovernanceDesk, source: str) -> dict[str, Any]:
    from wenyuan.service.operations import describe_state

    catalog = library.catalog
    return describe_state(catalog.source_states().get(source), catalog.source(source), time.time())


def _failures(library: GovernanceDesk, source: str) -> Mapping[str, str]:
    failures: Mapping[str, str] = library.catalog.failures(source)
    return failures


def remove(
    ctx: typer.Context,
    source: _Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. 不再确认")] = False,
) -> None:
    """Remove a source and all that came from it from the library; the original files stay.

    从知识库移除来源及其全部内容，原始文件不变。

    Example 示例:
      wenyuan source remove policies
    """
    from wenyuan.core.errors import InvalidRequest

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        counts = found.catalog.counts(found.catalog.source(source).source_id)
        question = terminal.text("really", source=source, **counts)
        if not yes and not interactive():
            raise InvalidRequest(
                msg(
                    "nobody can be asked whether the source {source} is to go (documents: {documents})",
                    source=repr(source),
                    documents=counts["documents"],
                ),
                hint=msg("wenyuan source remove {source} --yes", source=source),
            )
        if not yes and not typer.confirm(question, err=True):
            terminal.say("not_removed")
            raise typer.Exit(OK)
        gone = found.remove(source)
    terminal.document({"status": "SUCCESS", "source_id": source, "documents": gone})
    terminal.show(terminal.text("removed", source=source, documents=gone))


_COMMANDS: Commands = {
    "list": (list_all, "List all sources. 列出来源"),
    "show": (show, "Show one. 查看来源"),
    "set": (describe, "Describe one anew. 修改来源"),
    "export": (export, "Write the registry file. 导出注册表"),
    "remove": (remove, "Remove one from the library. 移除来源"),
}
add_commands(app, _COMMANDS)
