"""``search``: one query, and the evidence for its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.conflicts import disputed
from wenyuan.cli.options import HistoryOption, RewriteOption, day, history_in, opened
from wenyuan.cli.sources import stars
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.cli.wrapping import Piece, wrapped
from wenyuan.core.likelihood import SHOWN, likelihood, percent
from wenyuan.core.text.bodies import body

if TYPE_CHECKING:
    from wenyuan.core.filters import Filter
    from wenyuan.core.model import Passage
    from wenyuan.core.ports import Hit
    from wenyuan.service.query import LegReport, Rewriting, SearchAnswer


_BAR = 10
_INDENT = "    "
_PART = re.compile(r"[a-z]{3,}|at most")


def search(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="A question or some words.")],
    limit: Annotated[int, typer.Option("-k", "--limit", help="Passages at most, 1 to 100.")] = 5,
    source: Annotated[
        list[str] | None, typer.Option("--source", metavar="ID", help="Only these sources (repeatable).")
    ] = None,
    as_of: Annotated[
        date | None, typer.Option(parser=day, metavar="DATE", help="What was in force that day.")
    ] = None,
    filter_by: Annotated[str | None, typer.Option("--filter", metavar="JSON", help="Conditions on fields.")] = None,
    strictness: Annotated[
        str | None,
        typer.Option(
            "--abstain",
            metavar="STRICTNESS",
            help="How likely there must be an answer: off, lenient, normal, strict.",
        ),
    ] = None,
    rewrite: RewriteOption = False,
    history: HistoryOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="How each score came about.")] = False,
) -> None:
    """Search the library. To find nothing is an answer, too: it comes with its reason, and with the nearest passage as such.

    Example:
      wenyuan search "投诉多久答复" -k 3
      wenyuan search "carry over leave" --source handbook --explain
      wenyuan search 深基坑 --filter '{"language": "zh"}' --json
    """
    from wenyuan.core.query_rewriting import conversation

    terminal: Terminal = ctx.obj
    condition = _condition(filter_by)
    turns = conversation(history_in(history), wanted=rewrite)
    context: dict[str, Any] = {"nearest": True}
    if strictness is not None:
        context["abstain"] = strictness
    if turns is not None:
        context |= {"rewrite": True, "history": [turn._asdict() for turn in turns]}
    with opened(terminal) as found:
        answer = found.search(
            query, limit=limit, sources=source or None, filter=condition, as_of=as_of, context=context
        )
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


def answer_document(query: str, answer: SearchAnswer, weight: float, *, explain: bool = False) -> Mapping[str, Any]:
    """An answer as JSON values: the contract's members, then all metadata of each passage."""
    from wenyuan.core.scoring.fusion import explain as explained
    from wenyuan.service.fragments import beside_hit
    from wenyuan.service.generation.answers import rewritten

    def entry(hit: Hit, passage: Passage) -> dict[str, Any]:
        known = {
            key: value
            for key, value in asdict(passage).items()
            if key not in ("uri", "text", "recognition", "corrected")
        }
        known |= beside_hit(passage, answer.stale, answer.copies.get(hit.passage_id, ()))
        told = {
            "source": passage.uri,
            "content": passage.text,
            "retrieval_score": hit.score,
            "metadata": known | {"passage_id": passage.ref, "origin": hit.origin, "scores": dict(hit.parts)},
        }
        if explain:
            told |= {"explanation": explained(hit, weight, answer.curve), "wording": answer.wording_of(hit) or query}
        return told

    return {
        "status": "SUCCESS",
        "query": query,
        "fragments": [
            {"rank": rank, **entry(hit, answer.passages[hit.passage_id])} for rank, hit in enumerate(answer.hits, 1)
        ],
        "reason": answer.reason,
        **({"nearest": entry(*answer.nearest)} if answer.nearest else {}),
        "mode": answer.mode,
        "floor": answer.floor,
        "answerable": answer.answerable,
        "missing_terms": list(answer.missing_terms),
        "legs": [asdict(leg) for leg in answer.legs],
        "ms": dict(answer.ms),
        "stale_by": round(answer.stale_by, 1),
        "audit_id": answer.audit_id,
        **rewritten(answer.rewriting),
    }


def show_rewriting(terminal: Terminal, rewriting: Rewriting | None) -> None:
    """In which other words a question was asked, which may not be, and why there are none."""
    if rewriting is None:
        return
    for text in rewriting.wordings:
        terminal.show(terminal.text("wording", text=printable(text)))
    for why, count in rewriting.left_out.items():
        terminal.show(terminal.text("rewrite_left", count=count, why=terminal.text(f"rewrite_left_{why}")))
    if rewriting.error:
        terminal.show(terminal.text("rewrite_failed", error=terminal.own(rewriting.error)))


def show_answer(
    terminal: Terminal, query: str, answer: SearchAnswer, weight: float, *, explain: bool = False
) -> None:
    """Print an answer in 80 columns."""
    seen = {"mode": terminal.text(f"mode_{answer.mode}"), "ms": f"{answer.ms.get('total', 0.0):.0f}"}
    show_rewriting(terminal, answer.rewriting)
    likely = [hit for hit in answer.hits if hit.score >= SHOWN]
    if likely:
        seen |= {"count": str(len(likely)), "best": percent(hit.score for hit in likely)}
    terminal.show(terminal.text(f"found_{likelihood(hit.score for hit in likely)}", **seen))
    if answer.mode == "keyword-only" and not answer.hits:
        terminal.say("try_doctor")
    if not answer.hits:
        terminal.show(terminal.text("reason", reason=terminal.own(answer.reason)))
    _show_nearest(terminal, query, answer)
    if answer.stale_by:
        terminal.show(terminal.text("stale_by", seconds=ceil(answer.stale_by)))
    for note in answer.derived.notes if answer.derived is not None else ():
        terminal.show(terminal.own(note))
    for rank, hit in enumerate(likely, 1):
        terminal.show("")
        copies = answer.copies.get(hit.passage_id, ())
        _show_hit(terminal, query, str(rank), hit, answer.passages[hit.passage_id], copies)
        if explain:
            _show_why(terminal, answer, hit, weight)
    if unlikely := len(answer.hits) - len(likely):
        terminal.show("")
        terminal.show(terminal.text("found_unlikely", count=unlikely))
    if explain:
        _show_grounds(terminal, answer)


def _show_nearest(terminal: Terminal, query: str, answer: SearchAnswer) -> None:
    """Print the passage that is nearest to a question without an answer, as what it is."""
    if answer.nearest:
        hit, passage = answer.nearest
        terminal.show("")
        terminal.show(terminal.text("nearest"))
        _show_hit(terminal, query, "", hit, passage, answer.copies.get(hit.passage_id, ()))


def in_words(terminal: Terminal, formula: str) -> str:
    """The formula of a score with the common names of its components."""
    return _PART.sub(lambda part: terminal.known(f"part_{part[0]}") or part[0], formula)


def _show_why(terminal: Terminal, answer: SearchAnswer, hit: Hit, weight: float) -> None:
    """Print how a score was computed, and the other wording of the question that matched."""
    from wenyuan.core.scoring.fusion import explain as explained

    told = in_words(terminal, explained(hit, weight, answer.curve))
    for number, line in enumerate(wrapped([(told, False)], terminal.out.width - len(_INDENT) - 2)):
        begin = f"{_INDENT}  " if number else f"{_INDENT}= "
        terminal.show(begin + "".join(piece for piece, _ in line).rstrip(), wrap=False)
    if wording := answer.wording_of(hit):
        terminal.show(f"{_INDENT}{terminal.text('in_wording', text=printable(wording))}")


def _show_grounds(terminal: Terminal, answer: SearchAnswer) -> None:
    """Print what the answer as a whole is based on: wordings, floor and legs."""
    terminal.show("")
    for wording in (one for one in answer.wordings if one.entries):  # the others are shown before all hits
        terminal.show(terminal.text("wording", text=printable(wording.text)))
    if answer.answerable is not None:
        terminal.show(terminal.text("floor", floor=f"{answer.floor:.2f}", answerable=f"{answer.answerable:.3f}"))
    if answer.missing_terms:
        terminal.show(terminal.text("missing_terms", codes=printable(", ".join(answer.missing_terms))))
    for leg in answer.legs:
        _show_leg(terminal, leg)


def _show_leg(terminal: Terminal, leg: LegReport) -> None:
    kind, _, source = leg.name.partition(" ")
    named = {"source": "leg_source", "rules": "leg_rules", "reranker": "leg_reranker", "llm": "leg_llm"}.get(
        kind, kind
    )
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
    terminal: Terminal, query: str, rank: str, hit: Hit, passage: Passage, copies: Sequence[Passage]
) -> None:
    from rich.text import Text

    from wenyuan.cli.snippets import snippet

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
    for told in passage.disputes:
        said = disputed(terminal, told)
        terminal.show(Text(f"    {printable(said)}", style="yellow"), wrap=False)
    _show_wrapped(terminal, snippet(body(passage.text, (passage.title, *passage.headings)), query))


def _in_force(terminal: Terminal, passage: Passage) -> str:
    since, until = passage.effective_from, passage.effective_until
    if since and until:
        return terminal.text("in_force", since=since, until=until)
    if since:
        return terminal.text("in_force_since", since=since)
    return terminal.text("in_force_until", until=until) if until else ""


def _show_wrapped(terminal: Terminal, pieces: Sequence[Piece], plain: str = "") -> None:
    """Print indented lines; query words are yellow, or between asterisks without colour."""
    from rich.text import Text

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
