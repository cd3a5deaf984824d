"""``conflicts list``, ``show``, ``find`` and ``decide``: statements in force that contradict one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import SCREEN, AgainOption, AllOption, Commands, add_commands, opened
from wenyuan.cli.progress import counted
from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.core.conflicts.record import ConflictSide, StatementConflict

_HELP = """See which statements contradict one another, and say which one holds.

Found are statements in force that say the same with another number, unit, date, duty or negation.

\b
Example:
  wenyuan conflicts list
  wenyuan conflicts decide 3f2a… --as first --note "the policy counts, not the FAQ"
"""
app = group(_HELP, "See what contradicts.")
_Conflict = Annotated[str, typer.Argument(metavar="CONFLICT", help="Its id.@conflict")]


def list_all(
    ctx: typer.Context,
    state: Annotated[
        Literal["open", "first", "second", "both", "later", "all"], typer.Option("--state", help="Which.@conflicts")
    ] = "open",
    source: Annotated[str | None, typer.Option("--source", metavar="ID", help="Only with a statement of it.")] = None,
    everything: AllOption = False,
) -> None:
    """List what contradicts; what is new since the last time is compared first.

    Example:
      wenyuan conflicts list --source policies
      wenyuan conflicts list --state all --json
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        if found.conflicts.behind():
            found.conflicts.find(progress=counted(terminal, "conflicts_progress"))
        wanted = found.conflicts.listed(state=None if state == "all" else state, source_id=source)
    terminal.document({"status": "SUCCESS", "conflicts": [one.described() for one in wanted]})
    if terminal.as_json:
        return
    for one in wanted if everything else wanted[:SCREEN]:
        _tell(terminal, one)
    if len(wanted) > SCREEN and not everything:
        terminal.show(terminal.text("conflicts_more", count=len(wanted) - SCREEN))
    terminal.show(terminal.text("conflicts_listed", count=len(wanted)))


def show(ctx: typer.Context, conflict_id: _Conflict) -> None:
    """Show both statements where they stand, and what differs.

    Example:
      wenyuan conflicts show 3f2a91c0de77b410
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        one = found.conflicts.conflict(conflict_id)
    terminal.document({"status": "SUCCESS", "conflict": one.described()})
    if terminal.as_json:
        return
    _tell(terminal, one)
    for side in (one.first, one.second):
        terminal.show(f"    {printable(side.passage.uri)}", wrap=False)
        terminal.show(f"    {printable(side.passage.text)}")
    if one.decision is not None and one.decision.note:
        terminal.show(f"    {printable(one.decision.note)}")


def find(
    ctx: typer.Context,
    anew: Annotated[bool, typer.Option("--anew", help="Compare everything once more.")] = False,
) -> None:
    """Compare what is new since the last time with everything.

    Example:
      wenyuan conflicts find
      wenyuan conflicts find --anew
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        update = found.conflicts.find(anew=anew, progress=counted(terminal, "conflicts_progress"))
        undecided = len(found.conflicts.listed(state="open"))
    terminal.document(
        {"status": "SUCCESS", "passages": update.passages, "conflicts": update.conflicts, "open": undecided}
    )
    terminal.show(terminal.text("conflicts_found", passages=update.passages, count=undecided))


def decide(
    ctx: typer.Context,
    conflict_id: _Conflict,
    state: Annotated[
        Literal["open", "first", "second", "both", "later"], typer.Option("--as", help="Which one holds.")
    ],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.@conflict")] = "",
    again: AgainOption = False,
) -> None:
    """Decide which statement holds: first, second, or both, where they are about different things; open takes it back.

    Example:
      wenyuan conflicts decide 3f2a91c0de77b410 --as second --note "the FAQ is older"
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        one = found.conflicts.decide(conflict_id, state, note=note, again=again)
    terminal.document({"status": "SUCCESS", "conflict": one.described()})
    terminal.show(
        terminal.text("conflict_decided", name=one.conflict_id, state=terminal.text(f"conflict_{one.state}"))
    )


def _tell(terminal: Terminal, one: StatementConflict) -> None:
    holds, why = one.verdict
    told = terminal.text(f"conflict_by_{why}" if why else "conflict_by_nobody")
    terminal.show(f"{one.conflict_id}  {terminal.text(f'conflict_{one.kind}')} · {terminal.text(f'conflict_{one.state}')} · {told}", wrap=False)  # fmt: skip
    for name, side in (("first", one.first), ("second", one.second)):
        mark = "*" if holds == name else " "
        terminal.show(f"  {mark} {terminal.text(f'conflict_side_{name}')} {printable(_place(side))}", wrap=False)
        terminal.show(f"      {printable(side.quote)}")


def _place(side: ConflictSide) -> str:
    since = side.passage.effective_from
    day = f" · {since.isoformat()}" if since else ""
    return f"{side.passage.source_id} · {' > '.join((side.passage.title, *side.passage.headings))}{day}"


_COMMANDS: Commands = {
    "list": (list_all, "List them.@conflicts"),
    "show": (show, "Show one.@conflict"),
    "find": (find, "Compare what is new."),
    "decide": (decide, "Say which one holds."),
}
add_commands(app, _COMMANDS)


def disputed(terminal: Terminal, told: Mapping[str, Any]) -> str:
    """What contradicts a passage, in a line, and which of both holds as far as that is known."""
    said = {"other": told["other"], "title": told["other_title"]}
    if not told["holds"]:
        return terminal.text("verify_disputed", **said)
    return terminal.text(f"verify_disputed_{told['holds']}", **said, why=terminal.text(f"conflict_by_{told['why']}"))
