"""``answer``: an answer by the library's language model, every claim of which is quoted and checked."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from wenyuan.cli.options import HistoryOption, RewriteOption, day, history_in, opened, unlogged
from wenyuan.cli.retrieve import indented
from wenyuan.cli.search import show_rewriting
from wenyuan.cli.sources import stars
from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.service.generation.answers import AnswerClaim, Answered, DroppedClaim


def answer(
    ctx: typer.Context,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What is to be answered.")],
    limit: Annotated[int, typer.Option("-k", "--limit", help="Passages that the model is shown, 1 to 20.")] = 8,
    min_trust: Annotated[int, typer.Option(help="Trust below which nothing counts, 1 to 5.")] = 3,
    as_of: Annotated[
        date | None, typer.Option(parser=day, metavar="YYYY-MM-DD", help="In force on this day.")
    ] = None,
    rewrite: RewriteOption = False,
    history: HistoryOption = None,
    extract: Annotated[bool, typer.Option("--extract", help="Where the model fails, answer with extracts.")] = False,
) -> None:
    """Answer a question with the language model that is set up (llm.url, llm.model).

    Nothing that the model says is believed: each claim stands in a passage, or is left out and shown as such.

    Example:
      wenyuan answer "How soon are complaints answered?"
      wenyuan answer "客户投诉多久响应？" --min-trust 4 --extract
      wenyuan answer "那周末呢？" --rewrite --history conversation.json
    """
    from wenyuan.core.query_rewriting import conversation
    from wenyuan.service.generation.answers import AnswerRequest, as_data

    terminal: Terminal = ctx.obj
    request = AnswerRequest(
        query=question, limit=limit, min_trust=min_trust, as_of=as_of, on_failure="extract" if extract else "fail",
        conversation=conversation(history_in(history), wanted=rewrite),
    )  # fmt: skip
    with opened(terminal) as found, unlogged("wenyuan.service.audit"):  # a failure is shown
        answered = found.answer(request)
    terminal.document({"status": "SUCCESS", **as_data(answered)})
    if terminal.as_json:
        return
    _show_answer(terminal, answered)


def _show_answer(terminal: Terminal, answered: Answered) -> None:
    show_rewriting(terminal, answered.found.rewriting)
    if answered.reason:
        heading = "answer_extracts" if answered.claims else "answer_none"
        terminal.show(terminal.text(heading, reason=terminal.own(answered.reason)))
    for number, claim in enumerate(answered.claims, 1):
        _show_claim(terminal, number, claim)
    if answered.missing:
        terminal.show(terminal.text("answer_missing", missing=printable(answered.missing)))
    if answered.dropped:
        terminal.show("")
        terminal.show(terminal.text("answer_dropped", count=len(answered.dropped)))
    for dropped in answered.dropped:
        _show_dropped(terminal, dropped)
    for why, refs in answered.withheld.items():
        terminal.show(terminal.text("answer_withheld", count=len(refs), why=terminal.text(f"kept_from_{why}")))
    if answered.rules_left:
        terminal.show(terminal.text("answer_rules_left", count=answered.rules_left))


def _show_claim(terminal: Terminal, number: int, claim: AnswerClaim) -> None:
    one = claim.citation
    terminal.show(f"{number}. {printable(claim.text)}")
    where = " ".join(filter(None, (one.title or one.source_id, one.clause)))
    about = f"{terminal.text(f'words_{claim.origin}')} · {where} {stars(one.trust)} <{one.source}>"
    indented(terminal, printable(about))


def _show_dropped(terminal: Terminal, dropped: DroppedClaim) -> None:
    terminal.show(f"- [{terminal.text(f'verdict_{dropped.reason}')}] {printable(dropped.text)}")
    for change in dropped.changes:
        indented(terminal, terminal.text("verify_change", was=change.was or "—", said=change.said or "—"))
    if dropped.rule is not None:
        rule = dropped.rule
        indented(terminal, terminal.text("verify_rule", rule=rule.text, clause=rule.clause, ref=rule.id))
    if dropped.replaced:
        indented(terminal, terminal.text("answer_replaced"))
