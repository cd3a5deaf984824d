"""``tune``: learn from judged questions; adopted if held-out questions gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import opened
from wenyuan.cli.progress import ProgressLines
from wenyuan.cli.terminal import Terminal
from wenyuan.cli.tune_plot import check_plot, write_plot
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.learning_records import KeptTuning
    from wenyuan.core.scoring.cross_validation import TuningVerdict
    from wenyuan.service.learning.sufficiency import JudgeReport
    from wenyuan.service.learning.tuning import TuneReport
    from wenyuan.service.library import Library


_WIDE = 30  # columns of a full bar
_EXAMPLES = 5


def tune(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    golden: Annotated[Path | None, typer.Option(metavar="FILE|DIR", help="Questions and their answers.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="ID", help="Learn only from answers in it (repeatable)."),
    ] = None,
    feedback: Annotated[bool, typer.Option("--feedback/--no-feedback", help="Learn from feedback, too.")] = True,
    same_documents: Annotated[
        bool,
        typer.Option("--same-documents", help="All questions are about these documents (FAQ)."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Adopt nothing.")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg|.html", help="Before and after, drawn.")] = None,
    judge: Annotated[bool, typer.Option("--judge", help="Calibrate the judge of top_k confidence instead.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the tuning back.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Which tuning counts.")] = False,
) -> None:
    """Learn the library's domain from questions whose answers are known: a table with the columns question and
    uri, or a judged set (BEIR layout), and feedback on answers. It is adopted only where questions gain that are
    about other documents than it was learned from (--same-documents: other questions about the same ones); no
    passage is embedded again, and it can be taken back.

    Example:
      wenyuan tune --golden questions.csv
      wenyuan tune --golden questions.xlsx --dry-run --plot gain.svg
      wenyuan tune --judge --golden questions.csv
      wenyuan tune --undo
    """
    terminal: Terminal = ctx.obj
    learning = any((golden, source, dry_run, plot, same_documents))
    if undo + status + learning > 1:
        raise typer.BadParameter(terminal.text("tune_alone"))
    if judge and (plot or same_documents or not (golden or undo or status)):
        raise typer.BadParameter(terminal.text("judge_wants"))
    with opened(terminal) as found:
        if judge:
            judge_door(terminal, found, golden, source, dry_run=dry_run, undo=undo, status=status)
            return
        if undo:
            _show_undone(terminal, found.undo_tuning())
        elif status:
            _show_status(terminal, found)
        else:
            ways = {"feedback": feedback, "same_documents": same_documents, "dry_run": dry_run}
            _learn(terminal, found, golden, source, plot, ways)


def judge_door(
    terminal: Terminal, library: Library, golden: Path | None, source: list[str] | None, *, dry_run: bool, undo: bool,
    status: bool,
) -> None:  # fmt: skip
    """Calibrate the judge, take its calibration back, or say which one counts."""
    if undo:
        kept = library.undo_judge()
        terminal.document({"status": "SUCCESS", "undone": kept.calibration_id})
        if not terminal.as_json:
            terminal.show(terminal.text("judge_undone", number=kept.calibration_id))
    elif status:
        _show_judge(terminal, library)
    elif golden is not None:
        from wenyuan.readers.golden import read_golden

        pairs = read_golden(golden)
        report = library.tune_judge(
            pairs, sources=source or None, dry_run=dry_run, step=ProgressLines(terminal, "judge")
        )
        terminal.document({"status": "SUCCESS", "report": asdict(report)})
        if not terminal.as_json:
            _show_judge_report(terminal, report)


def _show_judge(terminal: Terminal, library: Library) -> None:
    kept = library.judge_calibration()
    if kept is None:
        terminal.document({"status": "SUCCESS", "calibration": None})
        if not terminal.as_json:
            terminal.show(terminal.text("judge_none"))
        return
    fit, counts = kept.calibration, library.judge_tuner.sufficiency.calibration(library.catalog.seq()) is not None
    told = {
        "calibration_id": kept.calibration_id, "judge": fit.judge, "threshold": fit.threshold, "risk": fit.risk,
        "questions": fit.questions, "steps": list(fit.steps), "counts": counts,
    }  # fmt: skip
    terminal.document({"status": "SUCCESS", "calibration": told})
    if not terminal.as_json:
        key = "judge_counts" if counts else "judge_ignored"
        shown = {"threshold": f"{fit.threshold:.3f}", "risk": f"{fit.risk:.0%}", "questions": fit.questions}
        terminal.show(terminal.text(key, number=kept.calibration_id, judge=fit.judge, **shown))


def _show_judge_report(terminal: Terminal, report: JudgeReport) -> None:
    text = terminal.text
    terminal.show(text("judge_questions", count=report.questions, judge=report.judge))
    if report.unknown:
        terminal.show(text("tune_unknown", count=report.unknown))
        for address, where in report.examples[:_EXAMPLES]:
            terminal.show(f"    {where + ': ' if where else ''}{address}", wrap=False)
    if report.compared is not None:
        own, usual = report.compared.error
        errors = {"raw": f"{report.compared.raw_error:.3f}", "own": f"{own:.3f}", "usual": f"{usual:.3f}"}
        terminal.show(text("judge_error", **errors))
        gain = report.compared.change
        terminal.show(
            text("judge_gain", gain=f"{gain.mean:+.4f}", lower=f"{gain.lower:+.4f}", upper=f"{gain.upper:+.4f}")
        )
    if report.threshold is not None:
        before, after = report.passages
        was, now = (f"{share:.1%}" for share in report.sufficient)
        shown = {"threshold": f"{report.threshold:.3f}", "lost": report.lost, "allowed": report.allowed}
        terminal.show(text("judge_threshold", **shown, risk=f"{report.risk:.0%}"))
        terminal.show(text("judge_given", before=f"{before:.1f}", after=f"{after:.1f}", was=was, now=now))
    key = report.outcome.replace(" ", "_")
    terminal.show(
        text(
            f"judge_{key}",
            number=report.calibration_id,
            needed=report.needed,
            risk=f"{report.risk:.0%}",
            seconds=report.seconds,
        )
    )


def _learn(
    terminal: Terminal,
    library: Library,
    golden: Path | None,
    source: list[str] | None,
    plot: Path | None,
    ways: Mapping[str, bool],
) -> None:
    from wenyuan.readers.golden import read_golden

    if plot is not None:
        check_plot(plot)
    pairs = read_golden(golden) if golden is not None else ()
    report = library.tune(pairs, sources=source or None, step=ProgressLines(terminal, "tune"), **ways)
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
    from wenyuan.core.scoring.folds import LEAST_GROUPS

    text, outcome = terminal.text, report.outcome.replace(" ", "_")
    told = {"needed": report.needed, "number": report.tuning_id, "seconds": report.seconds}
    apart = {"documents": report.documents, "least": LEAST_GROUPS, "largest": round(100 * report.largest)}
    if report.brier is not None:
        terminal.show(text("tune_brier", before=f"{report.brier[0]:.3f}", after=f"{report.brier[1]:.3f}"))
    apart["across"] = round(100 * report.across / max(1, report.questions))
    terminal.show(text(f"tune_{outcome}", **told, **apart))
    if report.outcome in ("no gain", "cannot tell") and not report.same_documents:
        terminal.show(text("tune_if_same"))
    if report.outcome in ("adopted", "would be adopted") and report.weight is not None and report.verdict is not None:
        before, after = (f"{weight:.2f}" for weight in report.weight)
        terminal.show(text("tune_how", strength=report.verdict.strength, before=before, after=after))
    if report.outcome in ("adopted", "curve adopted"):
        terminal.show(text("tune_take_back"))


def _show_verdict(terminal: Terminal, verdict: TuningVerdict, heading: str) -> None:
    """Metrics before and after on held-out questions, by fold."""
    text = terminal.text
    terminal.show(text(heading))
    folds = [(text("tune_fold", number=n), *pair) for n, pair in enumerate(verdict.by_fold, 1)]
    rows = (
        (name, bar(before, after), f"{before:.3f} → {after:.3f}", f"{after - before:+.3f}")
        for name, before, after in [*folds, (text("tune_all"), verdict.before, verdict.after)]
    )
    terminal.table(rows)
    counts = {"better": verdict.better, "worse": verdict.worse}
    promised = {"gain": f"{verdict.gain:+.3f}", "lower": f"{verdict.lower:+.3f}", "upper": f"{verdict.upper:+.3f}"}
    terminal.show(text("tune_sure", **counts, **promised))
    for number in verdict.collapsed:
        terminal.show(text("tune_collapsed", number=number))


def bar(before: float, after: float, wide: int = _WIDE) -> str:
    """A bar of full blocks up to the lower value, then the gain (``▒``) or loss (``░``)."""
    low, high = sorted((round(before * wide), round(after * wide)))
    return ("█" * low + ("▒" if after >= before else "░") * (high - low)).ljust(wide)


def _show_undone(terminal: Terminal, kept: KeptTuning) -> None:
    terminal.document({"status": "SUCCESS", "undone": kept.tuning_id})
    terminal.show(terminal.text("tune_undone", number=kept.tuning_id))


def _show_status(terminal: Terminal, library: Library) -> None:
    from wenyuan.service.search.collection_profile import fits

    kept = library.tuning()
    counts = kept is not None and fits(kept, library.encoder)
    terminal.document({"status": "SUCCESS", "tuning": None if kept is None else {**asdict(kept), "counts": counts}})
    if kept is None:
        terminal.show(terminal.text("tune_none"))
        return
    since = local_time(kept.created_at)
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
