"""``search``: one query, and the evidence for its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import JsonOption, LangOption, LibraryOption, day, opened
from wenyuan.cli.sources import stars
from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.cli.snippet import Piece
    from wenyuan.core.filters import Filter
    from wenyuan.core.model import Passage
    from wenyuan.core.ranking import Hit
    from wenyuan.service.answer import Answer, LegReport

__all__ = ["answer_document", "search", "show_answer"]

_BAR = 10
_INDENT = "    "
_PART = re.compile(r"[a-z]{3,}|at most")


def search(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="A question or some words. 问题或关键词")],
    limit: Annotated[int, typer.Option("-k", "--limit", help="Passages at most, 1 to 100. 最多几个段落")] = 5,
    source: Annotated[
        list[str] | None, typer.Option("--source", metavar="ID", help="Only these sources (repeatable). 限定来源")
    ] = None,
    as_of: Annotated[
        date | None, typer.Option(parser=day, metavar="DATE", help="What was in force that day. 按日期生效")
    ] = None,
    filter_by: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="Conditions on fields. 过滤条件")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="How each score came about. 解释得分")] = False,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the library. To find nothing is an answer, too: it comes with its reason.

    检索知识库；没有结果时会说明原因。

    Example 示例:
      wenyuan search "投诉多久答复" -k 3
      wenyuan search "carry over leave" --source handbook --explain
      wenyuan search 深基坑 --filter '{"language": "zh"}' --json
    """
    terminal: Terminal = ctx.obj
    condition = _condition(filter_by)
    with opened(terminal) as found:
        answer = found.search(query, limit=limit, sources=source or None, filter=condition, as_of=as_of)
    terminal.document(answer_document(query, answer, answer.weight, explain=explain))
    if not terminal.as_json:
        show_answer(terminal, query, answer, answer.weight, explain=explain)


def _condition(text: str | None) -> Filter | None:
    from wenyuan.core.filters import parse_filter
    from wenyuan.wire.strict_json import option

    if text is None:
        return None
    hint = """--filter '{"language": "zh", "metadata.year": {"ge": 2024}}'"""
    return parse_filter(option(text, "the filter", hint))


def answer_document(query: str, answer: Answer, weight: float, *, explain: bool = False) -> Mapping[str, Any]:
    """An answer as JSON: the contract's names, then all that is known about each passage."""
    from wenyuan.core.copies import also_in
    from wenyuan.core.fuse import explain as explained

    fragments = []
    for rank, hit in enumerate(answer.hits, 1):
        passage = answer.passages[hit.passage_id]
        known = {key: value for key, value in asdict(passage).items() if key not in ("uri", "text")}
        since = answer.stale.get(passage.source_id)
        known |= {} if since is None else {"stale_since": since}
        copies = answer.copies.get(hit.passage_id, ())
        known |= {"also_in": also_in(copies)} if copies else {}
        entry = {
            "rank": rank,
            "source": passage.uri,
            "content": passage.text,
            "retrieval_score": hit.score,
            "metadata": known | {"passage_id": passage.ref, "origin": hit.origin, "scores": dict(hit.parts)},
        }
        if explain:
            entry |= {"explanation": explained(hit, weight, answer.curve), "wording": answer.wording_of(hit) or query}
        fragments.append(entry)
    return {
        "status": "SUCCESS",
        "query": query,
        "fragments": fragments,
        "reason": answer.reason,
        "mode": answer.mode,
        "floor": answer.floor,
        "answerable": answer.answerable,
        "legs": [asdict(leg) for leg in answer.legs],
        "ms": dict(answer.ms),
        "stale_by": round(answer.stale_by, 1),
        "audit_id": answer.audit_id,
    }


def show_answer(terminal: Terminal, query: str, answer: Answer, weight: float, *, explain: bool = False) -> None:
    """An answer for a person, on 80 columns."""
    seen = {"mode": terminal.text(f"mode_{answer.mode}"), "ms": f"{answer.ms.get('total', 0.0):.0f}"}
    likely = [hit for hit in answer.hits if round(hit.score, 2) > 0]
    if likely:
        seen["count"] = str(len(likely))
    terminal.show(terminal.text("found" if likely else "found_none", **seen))
    if answer.mode == "keyword-only" and not answer.hits:
        terminal.say("try_doctor")
    if not answer.hits:
        terminal.show(terminal.text("reason", reason=terminal.own(answer.reason)))
    if answer.stale_by:
        terminal.show(terminal.text("stale_by", seconds=ceil(answer.stale_by)))
    for rank, hit in enumerate(likely, 1):
        terminal.show("")
        copies = answer.copies.get(hit.passage_id, ())
        _show_hit(terminal, query, rank, hit, answer.passages[hit.passage_id], copies)
        if explain:
            _show_why(terminal, answer, hit, weight)
    if unlikely := len(answer.hits) - len(likely):
        terminal.show("")
        terminal.show(terminal.text("found_unlikely", count=unlikely))
    if explain:
        _show_grounds(terminal, answer)


def in_words(terminal: Terminal, formula: str) -> str:
    """How a score came about, its parts called as people call them; what has no other name keeps its own."""
    return _PART.sub(lambda part: terminal.known(f"part_{part[0]}") or part[0], formula)


def _show_why(terminal: Terminal, answer: Answer, hit: Hit, weight: float) -> None:
    """How a score came about, and the other wording of the question that it rests on."""
    from wenyuan.core.fuse import explain as explained

    terminal.show(f"{_INDENT}= {in_words(terminal, explained(hit, weight, answer.curve))}", wrap=False)
    if wording := answer.wording_of(hit):
        terminal.show(f"{_INDENT}{terminal.text('in_wording', text=printable(wording))}")


def _show_grounds(terminal: Terminal, answer: Answer) -> None:
    """What an answer as a whole rests on."""
    terminal.show("")
    for wording in answer.wordings:
        terminal.show(terminal.text("wording", text=printable(wording.text)))
    if answer.answerable is not None:
        terminal.show(terminal.text("floor", floor=f"{answer.floor:.2f}", answerable=f"{answer.answerable:.3f}"))
    for leg in answer.legs:
        _show_leg(terminal, leg)


def _show_leg(terminal: Terminal, leg: LegReport) -> None:
    kind, _, source = leg.name.partition(" ")
    named = {"source": "leg_source", "rules": "leg_rules", "reranker": "leg_reranker"}.get(kind, kind)
    state = terminal.text("leg_failed" if leg.state == "failed" else leg.state)
    line = terminal.text(
        "leg", name=terminal.text(named, name=source), state=state, hits=leg.hits, ms=f"{leg.ms:.1f}"
    )
    if leg.withheld:
        line += terminal.text("leg_withheld", count=leg.withheld)
    if leg.remembered:
        line += terminal.text("leg_remembered")
    terminal.show(line)
    if leg.error:
        terminal.show("  " + terminal.own(leg.error))


def _show_hit(
    terminal: Terminal, query: str, rank: int, hit: Hit, passage: Passage, copies: Sequence[Passage]
) -> None:
    from rich.text import Text

    from wenyuan.cli.snippet import body, snippet

    full = round(hit.score * _BAR)
    line = Text(f"{rank:>2}  ")
    line.append("█" * full, style="green").append("░" * (_BAR - full), style="dim")
    line.append(f" {hit.score:.2f}  {stars(passage.trust)}  {passage.source_id}")
    terminal.show(line)
    path = " › ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part))
    _show_wrapped(terminal, [(path, False)], plain="bold")
    # Not cut and not broken: a terminal wraps it, and it can still be copied and clicked.
    terminal.show(Text(f"    {printable(passage.uri)}", style="cyan"), wrap=False)
    if in_force := _in_force(terminal, passage):
        terminal.show(Text(f"    {in_force}", style="dim"))
    for copy in copies:
        terminal.show(Text(f"    {terminal.text('also_in', uri=printable(copy.uri))}", style="dim"), wrap=False)
    _show_wrapped(terminal, snippet(body(passage.text, passage.headings), query))


def _in_force(terminal: Terminal, passage: Passage) -> str:
    since, until = passage.effective_from, passage.effective_until
    if since and until:
        return terminal.text("in_force", since=since, until=until)
    if since:
        return terminal.text("in_force_since", since=since)
    return terminal.text("in_force_until", until=until) if until else ""


def _show_wrapped(terminal: Terminal, pieces: Sequence[Piece], plain: str = "") -> None:
    """Indented lines; words of the query are yellow, or between asterisks where there is no colour."""
    from rich.text import Text

    from wenyuan.cli.snippet import wrapped

    colour = terminal.out.color_system is not None
    shown = [
        (f"*{p}*" if marked and not colour else p, marked) for p, marked in ((printable(p), m) for p, m in pieces)
    ]
    for line in wrapped(shown, terminal.out.width - len(_INDENT) - 2):
        text = Text(_INDENT)
        for piece, marked in line:
            text.append(piece, style="bold yellow" if marked else plain)
        text.rstrip()
        terminal.show(text, wrap=False)
