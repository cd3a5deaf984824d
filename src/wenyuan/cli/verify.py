"""``verify``: a verdict on every claim of an answer, by whomever it was written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wenyuan.cli.conflicts import disputed
from wenyuan.cli.options import day, opened
from wenyuan.cli.retrieve import FILE_NAME, SHOWN, indented
from wenyuan.cli.sources import stars
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.core.conflicts.record import disputes_of
from wenyuan.core.errors import InvalidRequest, msg

if TYPE_CHECKING:
    from wenyuan.service.verification import JudgedClaim


def verify(
    ctx: typer.Context,
    answer: Annotated[
        str, typer.Argument(metavar="ANSWER|FILE|-", help="The answer, a file with it, or - for standard input.")
    ],
    cite: Annotated[
        list[str] | None,
        typer.Option("--cite", metavar="MARK=SOURCE", help="What a mark stands for: 1=policies#12 (repeatable)."),
    ] = None,
    min_trust: Annotated[int, typer.Option(help="Trust below which evidence is too little, 1 to 5.")] = 1,
    as_of: Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="In force on this day.")] = None,
) -> None:
    """Say of every claim of an answer how it stands in the library. No model is asked.

    A claim is verbatim, or what was changed is shown; a paraphrase is found, not judged.

    Example:
      wenyuan verify "Complaints are answered within 48 hours [policies]."
      wenyuan verify answer.md --cite 1=policies#12 --min-trust 3
    """
    from wenyuan.core.claims import claims_of
    from wenyuan.service.verification import VerifyRequest, as_data

    terminal: Terminal = ctx.obj
    request = VerifyRequest(
        claims=tuple(claims_of(_read_answer(answer))),
        citations=dict(_citation(each) for each in cite or ()),
        min_trust=min_trust,
        as_of=day(as_of) if as_of else None,
    )
    with opened(terminal) as found:
        verified = found.verify(request)
    terminal.document({"status": "SUCCESS", **as_data(verified)})
    if terminal.as_json:
        return
    counts = (f"{count} {terminal.text(f'verdict_{name}')}" for name, count in verified.counts.items())
    terminal.show(terminal.text("verified", count=len(verified.claims), verdicts=terminal.text("comma").join(counts)))
    for number, claim in enumerate(verified.claims, 1):
        terminal.show("")
        _show_verdict(terminal, number, claim)


def _read_answer(answer: str) -> str:
    if answer == "-":
        return sys.stdin.read()
    path = Path(answer)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):  # a text that is too long for a name, or has what no name has
        is_file = False
    if not is_file and FILE_NAME.fullmatch(answer):  # it would be judged as a claim of one word
        raise InvalidRequest(
            msg("there is no file {path}", path=repr(answer)), hint="check the path, or give the text itself"
        )
    return path.read_text("utf-8") if is_file else answer


def _citation(text: str) -> tuple[str, str]:
    mark, parted, source = text.partition("=")
    if not parted or not mark or not source:
        raise typer.BadParameter(msg("{text} is not MARK=SOURCE like 1=policies#12", text=repr(text)))
    return mark, source


def _show_verdict(terminal: Terminal, number: int, one: JudgedClaim) -> None:
    names = terminal.text("comma").join(terminal.text(f"verdict_{name}") for name in one.findings)
    terminal.show(f"{number}. [{names}] {printable(one.claim.text)}")
    for change in one.changes:
        indented(terminal, terminal.text("verify_change", was=change.was or "—", said=change.said or "—"))
    if one.rule is not None:
        indented(terminal, terminal.text("verify_rule", rule=one.rule.text, clause=one.rule.clause, ref=one.rule.id))
    for quoted in one.evidence:
        passage, quote = quoted.passage, quoted.quote[:SHOWN]
        indented(terminal, f"「{printable(quote)}」" if terminal.language == "zh" else f"“{printable(quote)}”")
        indented(terminal, printable(f"{passage.title or passage.source_id} {stars(passage.trust)} <{passage.uri}>"))
        for told in disputes_of(passage, quoted.start, quoted.end):
            said = disputed(terminal, told)
            indented(terminal, printable(said))
    if one.verdict == "not_judged":
        indented(terminal, terminal.text("verify_nearest"))
    if one.unknown:
        indented(terminal, terminal.text("verify_unknown", sources=", ".join(one.unknown)))
