"""``rules propose``: a language model reads a source for rules; proposals that pass the checks wait for review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from wenyuan.cli.options import SCREEN, ended_by_sigterm, opened
from wenyuan.cli.retrieve import indented
from wenyuan.cli.terminal import OK, PARTLY, Lines, Terminal, exit_code

if TYPE_CHECKING:
    from wenyuan.core.rules.proposals import Judged
    from wenyuan.core.rules.schema import Schema
    from wenyuan.service.generation.proposals import ProposalReport


def propose(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A registered source. 已登记的来源")],
    limit: Annotated[
        int | None, typer.Option("-k", "--limit", min=1, metavar="N", help="Clauses to read at most. 最多读几个条款")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens to use at most. 最多使用的 token 数")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask the model, keep nothing. 只询问模型，不保存")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what was refused, and why. 列出被拒绝的提议")
    ] = False,
) -> None:
    """Have the language model that is set up (llm.url, llm.model) read a source for rules, clause by clause.

    Nothing that it says is believed: every proposal is held against its clause, the schema and the rules that there are. What
    passes is proposed, and serves nobody before you approve it with `wenyuan rules review`. Run it again to go on.

    由语言模型逐条阅读来源并提出规则；每条提议都与原文、模式和现有规则核对，通过的进入待审核队列，批准前不会生效。可随时中断，再次运行即继续。

    Example 示例:
      wenyuan rules propose building-code --limit 50
      wenyuan rules propose retention-policy --tokens 200000 --explain
      wenyuan rules propose 深基坑规定 --dry-run
    """
    from wenyuan.service.generation.proposals import ProposeRequest
    from wenyuan.wire.rules import proposals_to_wire

    terminal: Terminal = ctx.obj
    request = ProposeRequest(source_id=source, limit=limit, tokens=tokens, dry_run=dry_run)
    lines = Lines(terminal, "propose")
    try:
        with ended_by_sigterm(), opened(terminal) as found:
            report = found.propose_rules(request, tell=lambda done, total: lines("reading", done, total))
            schema = found.rules.schema()
    except KeyboardInterrupt:
        command = f"wenyuan rules propose {source}"
        raise typer.Exit(terminal.interrupted(terminal.text("propose_kept"), command)) from None
    failure = report.failure
    terminal.document(proposals_to_wire(report))
    if not terminal.as_json:
        _show(terminal, report, schema, explain=explain)
    if failure is not None:
        terminal.complain(terminal.command, failure)
        raise typer.Exit(exit_code(failure))
    raise typer.Exit(PARTLY if report.unreadable else OK)


def _show(terminal: Terminal, report: ProposalReport, schema: Schema, *, explain: bool) -> None:
    text = terminal.text
    used = f"{report.tokens_in + report.tokens_out:,}"
    terminal.show(text("propose_read", source=report.source_id, count=report.read, model=report.model, tokens=used))
    heading = "propose_would" if report.dry_run else "propose_waiting" if report.proposed else "propose_none"
    terminal.show(text(heading, count=len(report.proposed)))
    for number, one in report.proposed[:SCREEN]:
        _show_one(terminal, one, schema, number)
    if len(report.proposed) > SCREEN:
        terminal.show(text("more", count=len(report.proposed) - SCREEN))
    _show_refused(terminal, report, schema, explain=explain)
    _show_unread(terminal, report)
    if report.refused and not explain:
        terminal.say("propose_explain")
    if report.proposed and not report.dry_run:
        terminal.say("propose_next")


def _show_refused(terminal: Terminal, report: ProposalReport, schema: Schema, *, explain: bool) -> None:
    text = terminal.text
    if report.refused:
        terminal.show(text("propose_refused", count=len(report.refused)))
    for reason, count in report.counts.items():
        terminal.show(f"  {count:>4}  {text(f'verdict_{reason}')}")
        for one in report.refused if explain else ():
            if one.reason == reason:
                _show_one(terminal, one, schema, 0)


def _show_unread(terminal: Terminal, report: ProposalReport) -> None:
    """Print which parts of the source were not read, and why."""
    text = terminal.text
    for why, count in report.withheld.items():
        terminal.show(text("propose_withheld", count=count, why=text(f"kept_from_{why}")))
    if report.unreadable:
        terminal.show(text("propose_unreadable", count=len(report.unreadable)))
    if report.stopped and report.failure is None:
        terminal.show(terminal.own(report.stopped))
    if report.left:
        terminal.show(text("propose_left", count=report.left))


def _show_one(terminal: Terminal, one: Judged, schema: Schema, number: int) -> None:
    """Print a proposal with its quote; for a refused one, the exact fault."""
    from wenyuan.core.rules.names import condition_label, relation_labels

    said, held = one.proposal, one.statement
    relation, condition = said.relation, said.condition
    if held is not None:
        relation = relation_labels(schema, held.rel)[terminal.language]
        condition = condition_label(held.condition, schema.parameters, terminal.language) if held.condition else ""
    ends = f"{said.src} —{relation}→ {said.dst}" + (f" [{condition}]" if condition else "")
    head = f"{number:>4}  " if number else " " * 6
    indented(terminal, f"{ends} · {terminal.text(said.strength)}", hanging=" " * 8, first=head)
    clause = held.evidences[0].clause if held is not None else said.passage
    if one.quote:
        indented(terminal, f"{clause}: {one.quote}" if clause else one.quote, hanging=" " * 8)
    if one.reason:
        detail = terminal.own(one.detail) if one.detail else ""
        rival = terminal.text("propose_rival", number=one.rival) if one.rival else ""
        why = " · ".join(filter(None, (detail, rival)))
        if why and why != one.quote:
            indented(terminal, why, hanging=" " * 8)
