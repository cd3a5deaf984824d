"""``init``, ``add`` and ``ingest``: what comes into a library."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import (
    EachOption,
    NewSourceOption,
    SourceArgument,
    UnaskedOption,
    day,
    ended_by_sigterm,
    interactive,
    opened,
    place,
    setting,
)
from wenyuan.cli.progress import Bar
from wenyuan.cli.reader_options import DenyOption, ReadersOption, given_access
from wenyuan.cli.source_options import NOTHING, new_source_options
from wenyuan.cli.terminal import FAILED, OK, PARTLY, Terminal
from wenyuan.core.errors import msg

if TYPE_CHECKING:
    from wenyuan.core.model import Source
    from wenyuan.core.principals import AccessList
    from wenyuan.service.ingest.progress import IngestReport
    from wenyuan.service.library import Library


_SHOWN_FAILURES = 10
_SHOWN_TWINS = 3


def init(ctx: typer.Context) -> None:
    """Make an empty library.

    Example:
      wenyuan init
      wenyuan init --library ~/knowledge
    """
    from wenyuan.app import create_library

    terminal: Terminal = ctx.obj
    with create_library(terminal.folder) as made:
        note_keyword_only(terminal, made)
    terminal.document({"status": "SUCCESS", "library": str(terminal.folder.absolute())})
    terminal.show(terminal.text("made", folder=terminal.folder.absolute()), wrap=False)
    where = f" --library {quote(str(terminal.library))}" if terminal.library else ""
    terminal.show(terminal.text("made_next", command=f"wenyuan add PATH --source ID{where}"), wrap=False)


@new_source_options(
    effective_from=Annotated[date | None, typer.Option(parser=day, metavar="DATE", help="In force from that day.")],
    effective_until=Annotated[date | None, typer.Option(parser=day, metavar="DATE", help="In force until that day.")],
    status=Annotated[str | None, typer.Option(help="in_force, draft, retired.  [default: in_force]")],
    refresh_cycle=Annotated[
        str | None,
        typer.Option(metavar="CYCLE", help="never, daily, PT6H, '30 2 * * 1-5'.  [default: never]"),
    ],
)
def add(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(parser=place, metavar="PATH", help="File, folder or URL.")],
    source: NewSourceOption,
    described: Mapping[str, Any] = NOTHING,
    settings: Annotated[
        list[Any] | None,
        typer.Option("--set", parser=setting, metavar="NAME=VALUE", help="A setting of its connector."),
    ] = None,
    allow: ReadersOption = None,
    deny: DenyOption = None,
    yes: UnaskedOption = False,
) -> None:
    """Register a source and take its documents in. Of a known one, what is not given stays.

    Where there is no library yet, an empty one is made.

    With --readers and --deny its documents are for those alone; more is said by settings.readers.

    Example:
      wenyuan add ./policies --source policies --title "Company policies" --trust 5
      wenyuan add faq.csv --source faq --effective-from 2026-01-01
      wenyuan add ./salaries --source salaries --readers group:hr --deny user:wu
      wenyuan add https://docs.example.com/guide/ --source guide --set max_pages=200
    """
    terminal: Terminal = ctx.obj
    given = {**described, "settings": dict(settings)} if settings else described
    take_in(terminal, source, path, given, given_access(allow, deny), yes=yes)


def take_in(
    terminal: Terminal,
    source: str,
    path: str,
    given: Mapping[str, Any],
    access: AccessList | None,
    *,
    yes: bool,
) -> None:
    """Register a source, or describe a known one anew by what is given, and take its documents in. Ends the command."""
    from wenyuan.core.source_entries import parse_source

    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    whole = parse_source(
        {"source_id": source, "path": path, **said}
    )  # what is wrong with it is told before anything is made
    path = whole.path
    if whole.settings:
        said["settings"] = dict(whole.settings)
    with _opened_or_made(terminal, path, source) as found:
        note_keyword_only(terminal, found)
        known = {one.source_id: one for one in found.sources()}.get(source)
        if access is not None:
            said["settings"] = _with_readers(access, known, said.get("settings"))
        made = parse_source({"source_id": source, "path": path, **said})
        if known is not None and known.path == made.path:
            made = _described_anew(terminal, found, known, said, yes=yes)
        report = _watched(terminal, found, source, partial(found.add, made))
        twins = {other: count for _, other, count in found.catalog.same_contents(source)}
    terminal.document({"status": "SUCCESS", "report": asdict(report), "same_as": twins})
    show_report(terminal, report)
    _note_twins(terminal, source, twins)
    raise typer.Exit(PARTLY if report.failed else OK)


@contextmanager
def _opened_or_made(terminal: Terminal, path: str, source: str) -> Iterator[Library]:
    """The library that the caller means; where nothing is there yet, and there is something to take in, an empty one."""
    from wenyuan.app import create_library
    from wenyuan.connectors.selection import check_scheme
    from wenyuan.core.remote_addresses import connector_scheme, is_remote
    from wenyuan.service.ingest.place_check import check_place

    if not _is_new(terminal.folder):
        with opened(terminal) as found:
            yield found
        return
    check_place(path)
    if is_remote(path):
        check_scheme(connector_scheme(path), f"source {source}")
    with create_library(terminal.folder) as made:
        terminal.say("made", folder=terminal.folder.absolute())
        yield made


def _is_new(folder: Path) -> bool:
    """Whether nothing is there but settings: what remains of a lost library is no place for another."""
    from wenyuan.app import holds_library

    there = {one.name for one in folder.iterdir()} if folder.is_dir() else set[str]()
    return not folder.is_file() and there <= {"wenyuan.toml"} and not holds_library(folder)


def _with_readers(access: AccessList, known: Source | None, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings in which all documents of a source have one list of readers.

    Raises:
        InvalidRequest: the source says already who may read, which this would replace.
    """
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.source_readers import READERS

    held = dict(settings if settings is not None else known.settings if known is not None else {})
    if READERS in held or (known is not None and READERS in known.settings):
        raise InvalidRequest(
            "the source says already who may read it, in settings.readers",
            hint="change it there: wenyuan source export registry.yaml, then wenyuan apply registry.yaml",
        )
    return {**held, READERS: {"documents": [{"path": "**", **access.written()}]}}


def _note_twins(terminal: Terminal, source: str, twins: Mapping[str, int]) -> None:
    """Print which other sources hold the same documents."""
    for other, count in list(twins.items())[:_SHOWN_TWINS]:
        terminal.say("same_as", source=source, other=other, count=count)
    if len(twins) > _SHOWN_TWINS:
        terminal.say("same_as_more", count=len(twins) - _SHOWN_TWINS)
    if twins:
        terminal.say("same_as_next", source=source)


def _described_anew(
    terminal: Terminal, library: Library, known: Source, said: dict[str, Any], *, yes: bool
) -> Source:
    """A registered source with the given fields, after confirmation of what that changes.

    Raises:
        InvalidRequest: it changes something, and no confirmation can be asked for.
    """
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.registry import Registry
    from wenyuan.core.registry_diff import diff
    from wenyuan.core.source_entries import parse_source, source_to_wire

    wanted = parse_source(source_to_wire(known) | said)
    changes = diff(Registry(sources=(known,)), Registry(sources=(wanted,))).changed
    if not changes:
        terminal.say("add_known", source=known.source_id)
        return wanted
    name, lines = known.source_id, [terminal.text("add_change", field=c.field, old=c.old, new=c.new) for c in changes]
    if not yes and not interactive():
        raise InvalidRequest(
            msg(
                "the source {name} is there already, and would change: {changes}",
                name=repr(name),
                changes="; ".join(f"{c.field} {c.old} → {c.new}" for c in changes),
            ),
            hint=msg(
                "to change it: --yes, or wenyuan source set {name}; without these options it stays as it is",
                name=name,
            ),
        )
    terminal.say("add_changes", source=name)
    for line in lines:
        terminal.err.print(line, markup=False, highlight=False, soft_wrap=True)
    if any(change.field == "domain" for change in changes):
        terminal.say("add_domain")
    if not yes and not typer.confirm(terminal.text("really_change", source=name), err=True):
        terminal.say("not_changed")
        raise typer.Exit(OK)
    library.catalog.put_source(wanted)
    return wanted


def ingest(
    ctx: typer.Context,
    source: SourceArgument = None,
    every: EachOption = False,
) -> None:
    """Read sources again; only what has changed is taken in anew.

    Example:
      wenyuan ingest policies
      wenyuan ingest --all
    """
    from wenyuan.core.errors import InvalidRequest, KnowledgeError

    terminal: Terminal = ctx.obj
    if every == (source is not None):
        raise typer.BadParameter(terminal.text("ingest_which"))
    reports: list[IngestReport] = []
    errors: dict[str, str] = {}
    with opened(terminal) as found:
        note_keyword_only(terminal, found)
        readable = with_content(terminal, found) if every else []
        names = [source] if source is not None else [one.source_id for one in readable if one.type == "static_doc"]
        if source is not None and found.catalog.source(source).type != "static_doc":
            raise InvalidRequest(
                msg("the source {source} is searched where it is; there is nothing to take in", source=repr(source)),
                hint=msg("wenyuan refresh {source}", source=source),
            )
        for name in names:
            try:
                reports.append(_watched(terminal, found, name, partial(found.ingest, name)))
                show_report(terminal, reports[-1])
            except KnowledgeError as error:
                if not every:
                    raise
                errors[name] = str(error)  # one source that cannot be read does not keep the others from it
                terminal.complain(name, error)
        if not found.sources():
            terminal.say("no_sources")
    terminal.document(
        {
            "status": "FAILED" if errors else "SUCCESS",
            "reports": [asdict(report) for report in reports],
            "errors": errors,
        }
    )
    raise typer.Exit(FAILED if errors else PARTLY if any(report.failed for report in reports) else OK)


def _watched(terminal: Terminal, library: Library, source: str, call: Callable[[Any], IngestReport]) -> IngestReport:
    """Run `call` with a progress bar. Ctrl-C or SIGTERM ends it with a message on what is kept; the outcome is
    recorded.
    """
    from wenyuan.core.errors import SourceError
    from wenyuan.service.operations.refresh import Worker

    begun = time.time()
    try:
        with ended_by_sigterm(), Bar(terminal, embeds=library.encoder is not None) as bar:
            report = call(bar)
        Worker(library).record(source, begun)
        return report
    except SourceError as error:
        if any(known.source_id == source for known in library.sources()):
            Worker(library).record(source, begun, str(error))
        raise
    except KeyboardInterrupt:
        counts = library.catalog.counts(source)
        kept = terminal.text("kept", source=source, documents=counts["documents"], passages=counts["passages"])
        raise typer.Exit(terminal.interrupted(kept, f"wenyuan ingest {source}")) from None


def with_content(terminal: Terminal, library: Library) -> list[Source]:
    """All sources that can be read or queried; sources without a path, which only rules quote, are reported."""
    found = library.sources()
    uploads = library.uploads.home
    without = [o.source_id for o in found if o.type == "static_doc" and not o.path and not uploads(o).is_dir()]
    if without:
        terminal.say("without_path", count=len(without), sources=", ".join(without))
    return [one for one in found if one.source_id not in without]


def note_keyword_only(terminal: Terminal, library: Library) -> None:
    """Print a note when the library has no encoder."""
    if library.encoder is None:
        why = str(library.readiness().parts["encoder"]["detail"])
        terminal.say("keyword_only", why=terminal.own(why.removeprefix("keyword-only: ")))


def show_report(terminal: Terminal, report: IngestReport) -> None:
    """Print the report of a run."""
    text = terminal.text
    counts = asdict(report)
    terminal.show(text("report", source=report.source_id, seconds=f"{report.seconds:.1f}"))
    terminal.show(text("report_documents", **counts))
    terminal.show(text("report_passages", **counts))
    if report.vectors_given or report.vectors_made:
        terminal.show(text("report_vectors", **counts))
    if report.held_back:
        terminal.show(text("report_held_back", **counts))
    if report.evidences_lost:
        terminal.show(text("report_rules", **counts))
    if report.corrections_lost:
        terminal.show(text("report_corrections", count=sum(map(len, report.corrections_lost.values()))))
    _show_context(terminal, report)
    if report.skipped:
        kinds = ", ".join(f"{count} × {suffix}" for suffix, count in sorted(report.skipped.items()))
        terminal.show(text("report_skipped", kinds=kinds))
    if report.notes:
        count = sum(map(len, report.notes.values()))
        terminal.show(text("report_notes", count=count, documents=len(report.notes)))
    if report.failed:
        terminal.show(text("report_failed", count=len(report.failed)))
        shown = list(report.failed.items())[:_SHOWN_FAILURES]
        for name, (uri, reason) in zip(_told_apart([uri for uri, _ in shown]), shown, strict=True):
            own = uri.rpartition("/")[2]
            terminal.show(f"    {name}: {terminal.own(reason.removeprefix(own + ': '))}", wrap=False)
        if len(report.failed) > _SHOWN_FAILURES:
            terminal.show(text("more", count=len(report.failed) - _SHOWN_FAILURES))


def _told_apart(uris: Sequence[str]) -> list[str]:
    """The names of files, with as many folders before them as tell them apart."""
    steps = [uri.split("/") for uri in uris]
    most = max(map(len, steps))
    number = next((n for n in range(1, most) if len({tuple(each[-n:]) for each in steps}) == len(steps)), most)
    return ["/".join(each[-number:]) for each in steps]


def _show_context(terminal: Terminal, report: IngestReport) -> None:
    """What came of asking a language model where passages stand."""
    text, counts = terminal.text, asdict(report)
    if report.context_sentences or report.context_left_out or report.context_waiting:
        left_out = sum(report.context_left_out.values())
        terminal.show(text("report_context", **{**counts, "left_out": left_out}))
    if report.context_left_out:
        why = ", ".join(
            f"{text('left_out_' + one)} {count}" for one, count in sorted(report.context_left_out.items())
        )
        terminal.show(text("report_context_left_out", why=why))
    if report.context_error:
        terminal.show(text("report_context_waiting", why=terminal.own(report.context_error), source=report.source_id))
    if report.context_removed:
        terminal.show(text("report_context_removed", **counts))
