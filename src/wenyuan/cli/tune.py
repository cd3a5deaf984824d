"""``tune``: learn from questions whose answers are known, if questions gain that it was not learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import JsonOption, LangOption, LibraryOption, opened
from wenyuan.cli.progress import Lines
from wenyuan.cli.terminal import Terminal

if TYPE_CHECKING:
    from wenyuan.core.folds import Verdict
    from wenyuan.core.learned import KeptTuning
    from wenyuan.service.facade import Library
    from wenyuan.service.tuning import TuneReport

__all__ = ["tune"]

_WIDE = 30  # columns of a full bar
_EXAMPLES = 5


def tune(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    golden: Annotated[
        Path | None, typer.Option(metavar="FILE|DIR", help="Questions and their answers. 问题与答案出处")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="ID", help="Learn only from answers in it (repeatable). 只学习该来源的答案"),
    ] = None,
    feedback: Annotated[
        bool, typer.Option("--feedback/--no-feedback", help="Learn from feedback, too. 是否学习反馈")
    ] = True,
    same_documents: Annotated[
        bool,
        typer.Option("--same-documents", help="All questions are about these documents (FAQ). 问题都针对这批文档"),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Adopt nothing. 只试算")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg|.html", help="Before and after, drawn. 另存图形")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the tuning back. 撤销调优")] = False,
    status: Annotated[bool, typer.Option("--status", help="Which tuning counts. 查看调优")] = False,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn the library's domain from questions whose answers are known: a table with the columns question and
    uri, or a judged set (BEIR layout), and feedback on answers. It is adopted only where questions gain that are
    about other documents than it was learned from (--same-documents: other questions about the same ones); no
    passage is embedded again, and it can be taken back.

    从已知答案的问题学习本领域：表格（问题、来源两列）、BEIR 评测集与反馈；只在针对其他文档的问题上确有提升时采用
    （--same-documents：针对同一批文档的其他问题），可撤销。

    Example 示例:
      wenyuan tune --golden questions.csv
      wenyuan tune --golden questions.xlsx --dry-run --plot gain.svg
      wenyuan tune --undo
    """
    terminal: Terminal = ctx.obj
    learning = any((golden, source, dry_run, plot, same_documents))
    if undo + status + learning > 1:
        raise typer.BadParameter(terminal.text("tune_alone"))
    with opened(terminal) as found:
        if undo:
            _show_undone(terminal, found.undo_tuning())
        elif status:
            _show_status(terminal, found)
        else:
            ways = {"feedback": feedback, "same_documents": same_documents, "dry_run": dry_run}
            _learn(terminal, found, golden, source, plot, ways)


def _learn(
    terminal: Terminal,
    library: Library,
    golden: Path | None,
    source: list[str] | None,
    plot: Path | None,
    ways: Mapping[str, bool],
) -> None:
    from wenyuan.cli.tune_plot import check_plot, write_plot
    from wenyuan.readers.golden import read_golden

    if plot is not None:
        check_plot(plot)
    pairs = read_golden(golden) if golden is not None else ()
    report = library.tune(pairs, sources=source or None, step=Lines(terminal, "tune"), **ways)
    if plot is not None and report.verdict is not None:
        write_plot(plot, report.verdict, terminal.language)
    terminal.document({"status": "SUCCESS", "report": document_of(report)})
    if not terminal.as_json:
        _show_report(terminal, report)


def document_of(report: TuneReport) -> Mapping[str, Any]:
    """A report as JSON."""
    document = asdict(report)
    if report.verdict is not None:
        document["verdict"] |= {"gain": report.verdict.gain, "adopt": report.verdict.adopt}
    return document


def _show_report(terminal: Terminal, report: TuneReport) -> None:
    text = terminal.text
    pairs = ", ".join(text(f"tune_from_{name}", count=count) for name, count in report.pairs.items())
    terminal.show(text("tune_questions", count=report.questions, pairs=pairs))
    if report.unknown:
        terminal.show(text("tune_unknown", count=report.unknown))
        for address, where in report.examples[:_EXAMPLES]:
            terminal.show(f"    {where + ': ' if where else ''}{address}", wrap=False)
    if report.lost:
        terminal.show(text("tune_lost", count=report.lost))
    if report.verdict is not None:
        _show_verdict(terminal, report.verdict, "tune_held_out_same" if report.same_documents else "tune_held_out")
    if report.verdict is not None and report.across:
        terminal.show(text("tune_across", count=report.across))
    if report.error is not None:
        terminal.show(text("tune_error", before=f"{report.error[0]:.3f}", after=f"{report.error[1]:.3f}"))
    _show_outcome(terminal, report)


def _show_outcome(terminal: Terminal, report: TuneReport) -> None:
    from wenyuan.core.dealing import LEAST_GROUPS

    text, outcome = terminal.text, report.outcome.replace(" ", "_")
    told = {"needed": report.needed, "number": report.tuning_id, "seconds": report.seconds}
    apart = {"documents": report.documents, "least": LEAST_GROUPS, "largest": round(100 * report.largest)}
    apart["across"] = round(100 * report.across / max(1, report.questions))
    terminal.show(text(f"tune_{outcome}", **told, **apart))
    if report.outcome in ("no gain", "cannot tell") and not report.same_documents:
        terminal.show(text("tune_if_same"))
    if report.outcome in ("adopted", "would be adopted") and report.weight is not None and report.verdict is not None:
        before, after = (f"{weight:.2f}" for weight in report.weight)
        terminal.show(text("tune_how", strength=report.verdict.strength, before=before, after=after))
    if report.outcome == "adopted":
        terminal.show(text("tune_take_back"))


def _show_verdict(terminal: Terminal, verdict: Verdict, heading: str) -> None:
    """Before and after on held-out questions, fold by fold."""
    text = terminal.text
    terminal.show(text(heading))
    rows = [(text("tune_fold", number=n), *pair) for n, pair in enumerate(verdict.by_fold, 1)]
    for name, before, after in [*rows, (text("tune_all"), verdict.before, verdict.after)]:
        terminal.show(
            f"  {name}  {bar(before, after)}  {before:.3f} → {after:.3f}  {after - before:+.3f}", wrap=False
        )
    counts = {"better": verdict.better, "worse": verdict.worse}
    promised = {"gain": f"{verdict.gain:+.3f}", "lower": f"{verdict.lower:+.3f}", "upper": f"{verdict.upper:+.3f}"}
    terminal.show(text("tune_sure", **counts, **promised))
    for number in verdict.collapsed:
        terminal.show(text("tune_collapsed", number=number))


def bar(before: float, after: float, wide: int = _WIDE) -> str:
    """What both reach as full blocks, then what is gained (``▒``) or lost (``░``)."""
    low, high = sorted((round(before * wide), round(after * wide)))
    return ("█" * low + ("▒" if after >= before else "░") * (high - low)).ljust(wide)


def _show_undone(terminal: Terminal, kept: KeptTuning) -> None:
    terminal.document({"status": "SUCCESS", "undone": kept.tuning_id})
    terminal.show(terminal.text("tune_undone", number=kept.tuning_id))


def _show_status(terminal: Terminal, library: Library) -> None:
    from datetime import datetime

    from wenyuan.service.tuned import fits

    kept = library.tuning()
    counts = kept is not None and fits(kept, library.encoder)
    terminal.document({"status": "SUCCESS", "tuning": None if kept is None else {**asdict(kept), "counts": counts}})
    if kept is None:
        terminal.show(terminal.text("tune_none"))
        return
    since = datetime.fromtimestamp(kept.created_at).strftime("%Y-%m-%d %H:%M")
    if not counts:
        terminal.show(terminal.text("tune_ignored", number=kept.tuning_id, since=since))
        return
    terminal.show(terminal.text("tune_counts", number=kept.tuning_id, since=since, weight=f"{kept.weight:.2f}"))
    verdict = kept.report.get("verdict")
    if verdict:
        terminal.show(
            terminal.text(
                "tune_promised", questions=kept.report["questions"], before=f"{verdict['before']:.3f}",
                after=f"{verdict['after']:.3f}",
            )
        )  # fmt: skip
    terminal.show(terminal.text("tune_take_back"))
