"""``source list``, ``show`` and ``remove``; with them, ``set`` and ``export``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.apply import export
from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, YesOption, add_commands, interactive, opened, opened_record
from wenyuan.cli.source_set import describe
from wenyuan.cli.terminal import OK, Terminal
from wenyuan.core.errors import msg
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.service.governance import GovernanceDesk


_HELP = """Look at the sources of a library, describe them, or remove one.

\b
Example:
  wenyuan source list
  wenyuan source show policies
"""
app = group(_HELP, "List, show, set or remove sources.")
_SHOWN = (
    "source_id", "title", "type", "domain", "trust", "language", "collection", "path", "copyright", "status",
    "effective_from", "effective_until", "supersedes", "refresh_cycle", "owner", "sensitivity", "tags",
    "documents", "passages", "vectors", "failures",
)  # fmt: skip
_Id = Annotated[str, typer.Argument(metavar="ID", help="The source.")]


def stars(trust: int) -> str:
    """Trust 1..5 as stars."""
    return "★" * trust + "☆" * (5 - trust)


def list_all(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also those without documents that rules quote.")] = False,
) -> None:
    """List the sources; those that a pack of rules only quotes, and that hold no document, are counted.

    Example:
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

    Example:
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
    from wenyuan.service.operations.freshness import describe_state

    catalog = library.catalog
    return describe_state(catalog.source_states().get(source), catalog.source(source), time.time())


def _failures(library: GovernanceDesk, source: str) -> Mapping[str, str]:
    failures: Mapping[str, str] = library.catalog.failures(source)
    return failures


def remove(
    ctx: typer.Context,
    source: _Id,
    yes: YesOption = False,
) -> None:
    """Remove a source and all that came from it from the library; the original files stay.

    Example:
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
    "list": (list_all, "List all sources."),
    "show": (show, "Show one.@source"),
    "set": (describe, "Describe one anew."),
    "export": (export, "Write the registry file."),
    "remove": (remove, "Remove one from the library."),
}
add_commands(app, _COMMANDS)
