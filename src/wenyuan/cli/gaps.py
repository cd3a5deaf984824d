"""``gaps list``, ``show``, ``decide`` and ``ask``: what was asked and not answered well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import SCREEN, AgainOption, AllOption, Commands, add_commands, opened
from wenyuan.cli.progress import counted
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.core.gaps import DAYS
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.gaps import KnowledgeGap

_HELP = """See what was asked and not answered well, and settle it.

The audit knows: questions with nothing given, with nothing probable, withheld, called wrong, or asked again in other words.

\b
Example:
  wenyuan gaps list --days 7
  wenyuan gaps decide 3f2a… --as out_of_scope --note "not ours"
  wenyuan gaps ask
"""
app = group(_HELP, "See what was not answered.")
_Days = Annotated[float, typer.Option("--days", metavar="N", help="How far back.")]
_Gap = Annotated[str, typer.Argument(metavar="GAP", help="Its id.@gap")]
_MOST_SHOWN = 200  # characters of a question or an address in a line
_State = Literal["open", "later", "out_of_scope"]


def list_all(
    ctx: typer.Context,
    days: _Days = DAYS,
    agent: Annotated[str | None, typer.Option("--agent", metavar="ID", help="Only its questions.")] = None,
    state: Annotated[
        Literal["open", "later", "out_of_scope", "all"], typer.Option("--state", help="Which.")
    ] = "open",
    everything: AllOption = False,
) -> None:
    """List what was not answered well, asked most often first; failures apart.

    Example:
      wenyuan gaps list --days 7
      wenyuan gaps list --agent hotline --state all
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        report = found.gaps.find(days=days, agent=agent, progress=counted(terminal, "gaps_progress"))
    wanted = [gap for gap in report.gaps if state in ("all", gap.state)]
    terminal.document({"status": "SUCCESS", **report.described(None if state == "all" else state)})
    if terminal.as_json:
        return
    terminal.show(
        terminal.text("gaps_read", questions=report.questions, since=local_time(report.since), count=len(wanted))
    )
    shown = wanted if everything else wanted[:SCREEN]
    for gap in shown:
        _line(terminal, gap)
    if len(wanted) > len(shown):
        terminal.show(terminal.text("gaps_more", count=len(wanted) - len(shown)))
    if report.closed:
        terminal.show(terminal.text("gaps_closed", count=report.closed))
    if report.failed:
        terminal.show(terminal.text("gaps_failed", count=len(report.failed)))
    if not report.complete:
        terminal.show(terminal.text("gaps_incomplete", since=local_time(report.since)))


def show(ctx: typer.Context, gap_id: _Gap, days: _Days = DAYS) -> None:
    """Show a gap: its wordings, who asked and when, and what lies nearest now.

    Example:
      wenyuan gaps show 3f2a91c0de77b410
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        gap = found.gaps.gap(gap_id, days=days)
        near = found.gaps.nearest(gap).passages
    nearest = [
        {"ref": one.passage.ref, "uri": one.passage.uri, "title": one.passage.title, "score": one.hit.score,
         "text": one.passage.text[:200]}
        for one in near
    ]  # fmt: skip
    terminal.document({"status": "SUCCESS", "gap": gap.described(), "now": nearest})
    if terminal.as_json:
        return
    _line(terminal, gap)
    for text in gap.wordings:
        terminal.show(f"    {printable(text)}")
    terminal.show(terminal.text("gap_asked", agents=_agents(terminal, gap), first=local_time(gap.first_at), last=local_time(gap.last_at)))  # fmt: skip
    terminal.show(terminal.text("gap_answers", ids=", ".join(gap.audit_ids[:3])), wrap=False)
    terminal.show(terminal.text("gap_nearest_now" if nearest else "gap_nothing_now"))
    for one in nearest:
        terminal.show(f"    {one['score']:.2f}  {printable(str(one['title']))}  {printable(str(one['text'])[:60])}")


def decide(
    ctx: typer.Context,
    gap_id: _Gap,
    state: Annotated[_State, typer.Option("--as", help="What it is.")],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.@gap")] = "",
    days: _Days = DAYS,
    again: AgainOption = False,
) -> None:
    """Decide about a gap, all its wordings at once; open takes a decision back.

    Example:
      wenyuan gaps decide 3f2a91c0de77b410 --as out_of_scope --note "asked of the wrong desk"
      wenyuan gaps decide 3f2a91c0de77b410 --as open
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        gap = found.gaps.decide(gap_id, state, note=note, days=days, again=again)
    terminal.document({"status": "SUCCESS", "gap": gap.described()})
    terminal.show(
        terminal.text("gap_decided", question=printable(gap.question), state=terminal.text(f"gap_{gap.state}"))
    )


def ask(ctx: typer.Context, days: _Days = DAYS) -> None:
    """Ask the open gaps again; those that are answered well now are closed.

    Example:
      wenyuan gaps ask
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        closed = found.gaps.ask_again(days=days, progress=counted(terminal, "gaps_progress"))
    terminal.document({"status": "SUCCESS", "closed": [gap.described() for gap in closed]})
    for gap in closed:
        terminal.show(f"  {printable(gap.question)}")
    terminal.show(terminal.text("gaps_asked", count=len(closed)))


def _line(terminal: Terminal, gap: KnowledgeGap) -> None:
    why = terminal.text("comma").join(terminal.text(f"gap_{reason}") for reason in gap.reasons)
    terminal.show(f"{gap.gap_id}  ×{gap.count}  {printable(gap.question[:_MOST_SHOWN])}", wrap=False)
    near = f" · {gap.score:.2f} {gap.address[:_MOST_SHOWN]}" if gap.address else ""
    terminal.show(
        f"    {terminal.text(f'gap_{gap.state}')} · {why} · {local_time(gap.last_at)}{printable(near)}", wrap=False
    )


def _agents(terminal: Terminal, gap: KnowledgeGap) -> str:
    return terminal.text("comma").join(agent or terminal.text("gap_no_agent") for agent in gap.agents)


_COMMANDS: Commands = {
    "list": (list_all, "List them.@gaps"),
    "show": (show, "Show one."),
    "decide": (decide, "Decide about one."),
    "ask": (ask, "Ask them again."),
}
add_commands(app, _COMMANDS)
