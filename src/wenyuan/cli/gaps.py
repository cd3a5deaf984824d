"""``gaps list``, ``show``, ``decide`` and ``ask``, and what settles a gap: what was asked and not answered well."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import SCREEN, AgainOption, AllOption, Commands, add_commands, day, opened
from wenyuan.cli.progress import counted
from wenyuan.cli.reader_options import DenyOption, ReadersOption, given_access
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.core.gaps import DAYS
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.gaps import GapReport, KnowledgeGap
    from wenyuan.service.gaps.answers import GapSettlement

_HELP = """See what was asked and not answered well, and settle it.

The audit knows: questions with nothing given, with nothing probable, withheld, called wrong, or asked again in other words.

\b
Example:
  wenyuan gaps list --days 7
  wenyuan gaps answer 3f2a… "The canteen opens at seven."
  wenyuan gaps decide 3f2a… --as out_of_scope --note "not ours"
  wenyuan gaps ask
"""
app = group(_HELP, "See what was not answered.")
_Days = Annotated[float, typer.Option("--days", metavar="N", help="How far back.")]
_Gap = Annotated[str, typer.Argument(metavar="GAP", help="Its id.@gap")]
_MOST_SHOWN = 200  # characters of a question or an address in a line
_ANSWERED = 5
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
        report = found.gaps.find(
            days=days, agent=agent, state=None if state == "all" else state,
            progress=counted(terminal, "gaps_progress"),
        )  # fmt: skip
    wanted = report.gaps
    terminal.document({"status": "SUCCESS", **report.described()})
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
    _show_answered(terminal, report, len(report.answered) if everything else _ANSWERED)
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
    until: Annotated[
        date | None, typer.Option(parser=day, metavar="YYYY-MM-DD", help="Of later: open again from this day on.")
    ] = None,
    days: _Days = DAYS,
    again: AgainOption = False,
) -> None:
    """Decide about a gap, all its wordings at once; open takes a decision back.

    Example:
      wenyuan gaps decide 3f2a91c0de77b410 --as out_of_scope --note "asked of the wrong desk"
      wenyuan gaps decide 3f2a91c0de77b410 --as later --until 2027-03-01
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        gap = found.gaps.decide(gap_id, state, note=note, days=days, until=until, again=again)
    terminal.document({"status": "SUCCESS", "gap": gap.described()})
    terminal.show(
        terminal.text("gap_decided", question=printable(gap.question), state=terminal.text(f"gap_{gap.state}"))
    )


def answer(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    gap_id: _Gap,
    text: Annotated[str, typer.Argument(metavar="ANSWER", help="The answer.@gap")],
    beside: Annotated[
        str, typer.Option("--beside", metavar="SOURCE", help="Whose domain, sensitivity and owner it has.")
    ] = "",
    trust: Annotated[int | None, typer.Option("--trust", min=1, max=5, help="Its trust.@gap")] = None,
    author: Annotated[str, typer.Option("--author", metavar="NAME", help="Who answers for it.@gap")] = "",
    review_on: Annotated[
        date | None, typer.Option(parser=day, metavar="YYYY-MM-DD", help="When somebody should look at it again.")
    ] = None,
    allow: ReadersOption = None,
    deny: DenyOption = None,
    days: _Days = DAYS,
    again: AgainOption = False,
) -> None:
    """Write the answer to a gap into a source of the library's own, and ask the gap again.

    The source is made when it is first needed: answers-ID beside the source of what lies nearest.

    Example:
      wenyuan gaps answer 3f2a91c0de77b410 "The canteen opens at seven." --author "Li Wei"
      wenyuan gaps answer 3f2a91c0de77b410 "食堂七点开门。" --beside office --review-on 2027-06-01
    """
    from wenyuan.service.gaps.answers import GapAnswerRequest

    terminal: Terminal = ctx.obj
    access = given_access(allow, deny)
    wanted = GapAnswerRequest(
        answer=text,
        beside=beside,
        trust=trust,
        author=author,
        review_on=review_on,
        access=access,
        days=days,
        again=again,
    )
    with opened(terminal) as found:
        settled = found.gap_answers.answer(gap_id, wanted)
    _show_settled(terminal, settled)


def passage(
    ctx: typer.Context,
    gap_id: _Gap,
    ref: Annotated[str, typer.Argument(metavar="REF", help="As search shows it.@gap")],
    days: _Days = DAYS,
    again: AgainOption = False,
) -> None:
    """Say which passage has the answer: it is found by the gap's wordings from now on; and ask the gap again.

    Example:
      wenyuan gaps passage 3f2a91c0de77b410 office#12
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        settled = found.gap_answers.point_out(gap_id, ref, days=days, again=again)
    _show_settled(terminal, settled)


def synonym(
    ctx: typer.Context,
    gap_id: _Gap,
    term: Annotated[str, typer.Argument(metavar="TERM", help="A word of the question.")],
    other: Annotated[str, typer.Argument(metavar="SYNONYM", help="What documents say for it.")],
    days: _Days = DAYS,
    again: AgainOption = False,
) -> None:
    """Say what documents say for a word of the gap, for all questions; and ask the gap again.

    Example:
      wenyuan gaps synonym 3f2a91c0de77b410 canteen cafeteria
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        settled = found.gap_answers.add_synonym(gap_id, term, other, days=days, again=again)
    _show_settled(terminal, settled)


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
        closing = gap.closing
        line = _by(terminal, gap.question, closing.title, closing.uri) if closing else printable(gap.question)
        terminal.show(f"  {line}", wrap=False)
    terminal.show(terminal.text("gaps_asked", count=len(closed)))


def _line(terminal: Terminal, gap: KnowledgeGap) -> None:
    why = terminal.text("comma").join(terminal.text(f"gap_{reason}") for reason in gap.reasons)
    terminal.show(f"{gap.gap_id}  ×{gap.count}  {printable(gap.question[:_MOST_SHOWN])}", wrap=False)
    near = f" · {gap.score:.2f} {gap.address[:_MOST_SHOWN]}" if gap.address else ""
    terminal.show(
        f"    {terminal.text(f'gap_{gap.state}')} · {why} · {local_time(gap.last_at)}{printable(near)}", wrap=False
    )


def _show_answered(terminal: Terminal, report: GapReport, most: int) -> None:
    """Say what has been answered well since, by what, and which written answers somebody should look at again."""
    if report.closed:
        terminal.show(terminal.text("gaps_closed", count=report.closed))
    for one in report.answered[:most]:
        if one.closing is not None:
            terminal.show("    " + _by(terminal, one.question, one.closing.title, one.closing.uri), wrap=False)
    if report.reviews:
        terminal.show(terminal.text("gaps_reviews", count=len(report.reviews)))
        for due in report.reviews:
            terminal.show(
                f"    {due.review_on}  {printable(due.question[:_MOST_SHOWN])}  {printable(due.author)}", wrap=False
            )


def _show_settled(terminal: Terminal, settled: GapSettlement) -> None:
    """Say where the answer stands, and whether those who asked are answered by it; the command fails where they are not."""
    terminal.document({"status": "SUCCESS", **settled.described()})
    closing = settled.gap.closing
    if settled.uri:
        terminal.show(terminal.text("gap_written", source=settled.source_id, uri=printable(settled.uri)), wrap=False)
    if closing is not None:
        terminal.show(terminal.text("gap_answered_now", score=f"{closing.score:.2f}", title=printable(closing.title)))
        return
    terminal.show(terminal.text("gap_still_open"))
    if settled.why:
        terminal.show("  " + terminal.own(settled.why))


def _by(terminal: Terminal, question: str, title: str, uri: str) -> str:
    text = terminal.text("gap_by", question=question[:_MOST_SHOWN], title=title or uri[:_MOST_SHOWN])
    return printable(text)


def _agents(terminal: Terminal, gap: KnowledgeGap) -> str:
    return terminal.text("comma").join(agent or terminal.text("gap_no_agent") for agent in gap.agents)


_COMMANDS: Commands = {
    "list": (list_all, "List them.@gaps"),
    "show": (show, "Show one."),
    "answer": (answer, "Answer one."),
    "passage": (passage, "Say which passage has it."),
    "synonym": (synonym, "Say what documents call it."),
    "decide": (decide, "Decide about one."),
    "ask": (ask, "Ask them again."),
}
add_commands(app, _COMMANDS)
