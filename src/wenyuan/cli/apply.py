"""``apply`` and ``source export``: the library as a registry file says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import DryRunOption, YesOption, interactive, opened
from wenyuan.cli.refresh import exit_code, outcome_document, show_outcome
from wenyuan.cli.terminal import FAILED, OK, Terminal

if TYPE_CHECKING:
    from wenyuan.core.registry import Plan
    from wenyuan.service.operations.refresh import RefreshOutcome


_KINDS = {"source": "kind_source", "agent": "kind_agent", "task": "kind_task", "group": "kind_group"}


def apply(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A registry in YAML.")],
    dry_run: DryRunOption = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what the file does not name.")] = False,
    yes: YesOption = False,
) -> None:
    """Make sources, agents and profiles of tasks what a registry file says. Reading is what a refresh does, but for sources with a
    higher sensitivity than before: those are read again at once.

    Example:
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
        terminal.show(terminal.text("made_next", command="wenyuan refresh --all"))
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
        Path | None, typer.Argument(metavar="[FILE]", help="Where to write; else standard output.")
    ] = None,
) -> None:
    """Write the registry file that describes this library; applied to it, it changes nothing.

    Example:
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
