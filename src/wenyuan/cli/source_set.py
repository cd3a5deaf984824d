"""``source set``: another description for a source that is registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import CollectionOption, OwnerOption, TagsOption, TitleOption, opened
from wenyuan.cli.refresh import exit_code, outcome_document, show_outcome
from wenyuan.cli.source_options import NOTHING, source_options
from wenyuan.cli.terminal import FAILED, Terminal
from wenyuan.core.errors import joined

if TYPE_CHECKING:
    from wenyuan.core.model import Source
    from wenyuan.service.library import Library
    from wenyuan.service.operations.refresh import RefreshOutcome


@source_options(
    title=TitleOption,
    trust=Annotated[int | None, typer.Option(help="1 (hearsay) to 5 (binding).")],
    domain=Annotated[str | None, typer.Option(help="Knowledge domain.")],
    refresh_cycle=Annotated[str | None, typer.Option(metavar="CYCLE", help="never, daily, PT6H, '30 2 * * 1-5'.")],
    copyright=Annotated[str | None, typer.Option(help="deny, excerpt<=200, CC-BY-4.0 …")],
    owner=OwnerOption,
    sensitivity=Annotated[str | None, typer.Option(help="public, internal, confidential, restricted.")],
    tags=TagsOption,
    status=Annotated[str | None, typer.Option(help="in_force, draft, retired.")],
    effective_from=Annotated[str | None, typer.Option(metavar="DATE", help="In force from.")],
    effective_until=Annotated[str | None, typer.Option(metavar="DATE", help="In force until.")],
    supersedes=Annotated[str | None, typer.Option(metavar="A,B", help="What it replaces.")],
    collection=CollectionOption,
    language=Annotated[str | None, typer.Option(help="zh, en …")],
)
def describe(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="ID", help="The source.")],
    described: Mapping[str, Any] = NOTHING,
    context: Annotated[
        bool | None, typer.Option("--context/--no-context", help="Context sentences by the model.")
    ] = None,
) -> None:
    """Change how a source is described; what is not named stays, and "" takes a value away.

    A higher sensitivity makes it be read again at once.

    Example:
      wenyuan source set policies --trust 5 --refresh-cycle daily
      wenyuan source set policies --effective-until ""
      wenyuan source set policies --context && wenyuan ingest policies
    """
    from wenyuan.core.source_entries import with_context_wanted

    terminal: Terminal = ctx.obj
    changes = dict(described)
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
    from wenyuan.core.registry import Registry
    from wenyuan.core.registry_diff import diff
    from wenyuan.core.source_entries import parse_source, source_to_wire
    from wenyuan.service.ingest.registry import apply as carry_out

    known = library.catalog.source(source_id)
    wanted = parse_source(source_to_wire(known) | changes)
    _check_supersession(library, wanted)
    made = diff(Registry(sources=(known,)), Registry(sources=(wanted,)))
    outcomes = carry_out(library, made)
    return [change.field for change in made.changed], outcomes


def _check_supersession(library: Library, wanted: Source) -> None:
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.source_entries import supersession_faults

    faults = supersession_faults([wanted], library.sources())
    if faults:
        raise InvalidRequest(joined(f.message for f in faults), faults=faults)
