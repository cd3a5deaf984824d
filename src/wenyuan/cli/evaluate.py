"""``eval`` and ``tune``: measuring retrieval quality, and tuning on judged questions."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import opened
from wenyuan.cli.terminal import Lines, Terminal, printable
from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.records import Evaluation, KeptTuning, WholeEvaluation
    from wenyuan.core.scoring.evaluation import Change, Verdict
    from wenyuan.service.learning.sufficiency import JudgeReport
    from wenyuan.service.learning.tuning import TuneReport
    from wenyuan.service.library import Library


# ``eval --golden``: the user's own library asked questions whose answers are known, now and before.


_WORST = 5
_SHARES = ("answered", "answer_refused", "refused")


def evaluate_own(terminal: Terminal, golden: Path, *, keep: bool) -> None:
    """Run an evaluation, store it, and compare it with the last one of the same questions."""
    from wenyuan.readers.golden import read_golden

    pairs = read_golden(golden)
    with opened(terminal) as library:
        whole = library.evaluate(pairs, name=golden.name, step=Lines(terminal, "eval_at"), keep=keep)
        former = _former(library, whole.evaluation)
        change = None if former is None else library.compared(whole, former)
    document: dict[str, Any] = {"status": "SUCCESS", "evaluation": asdict(whole.evaluation)}
    document |= {"asked": [asdict(one) for one in whole.asked], "in_vain": [asdict(one) for one in whole.in_vain]}
    if former is not None and change is not None:
        document |= {"against": former.evaluation.evaluation_id, "change": asdict(change)}
    terminal.document(document)
    if not terminal.as_json:
        _show(terminal, whole, None if former is None or change is None else (former.evaluation, change))


def list_runs(terminal: Terminal) -> None:
    """List the stored evaluations, newest first."""
    with opened(terminal) as library:
        found = library.evaluations()
    terminal.document({"status": "SUCCESS", "evaluations": [asdict(one) for one in found]})
    if not found:
        terminal.say("eval_none")
        return
    rows = (
        (one.evaluation_id, local_time(one.at), *(f"{one.figures[name]:.3f}" for name in ("ndcg@10", "answered", "refused")),
         one.questions, one.name)
        for one in found
    )  # fmt: skip
    headers = ("col_number", "col_when", "eval_ndcg", "eval_answered", "col_refused", "col_questions", "col_name")
    terminal.table(rows, *headers, right=(0, 2, 3, 4, 5), whole=(1,))


def _former(library: Library, own: Evaluation) -> WholeEvaluation | None:
    """The previous evaluation of the same questions; None without one."""
    found = library.evaluations(200, own.evaluation_id or None)
    number = next((one.evaluation_id for one in found if one.set_id == own.set_id), None)
    return None if number is None else library.evaluation(number)


def _show(terminal: Terminal, whole: WholeEvaluation, since: tuple[Evaluation, Change] | None) -> None:
    own, text = whole.evaluation, terminal.text
    terminal.show(text("eval_asked", name=own.name, questions=own.questions, seconds=own.seconds))
    if own.figures.get("no_answer"):
        terminal.show(text("eval_no_answer", count=int(own.figures["no_answer"] or 0)))
    if own.unknown:
        terminal.show(text("eval_unknown", count=own.unknown))
    if own.examples:  # an address that is wrong may stand beside one that is right
        terminal.show(text("eval_astray"))
        for address, where in own.examples[:_WORST]:
            terminal.show(f"    {where + ': ' if where else ''}{address}", wrap=False)
    before = since[0].figures if since else {}
    in_vain = ("no_answer_refused", "no_answer_first") if "no_answer" in own.figures else ()
    names = ("ndcg@10", "recall@10", "mrr@10", "hit@1", *_SHARES, *in_vain, "ece", "p50_ms", "p95_ms")
    rows = [(text("eval_" + name.partition("@")[0]), *_said(name, own.figures, before)) for name in names]
    terminal.table(rows, right=(1, 2))
    _show_places(terminal, own)
    for key, found in (("eval_wrongly_refused", whole.refused), ("eval_wrongly_answered", whole.answered_in_vain)):
        if found:
            terminal.show(text(key, count=len(found)))
        for one in found[:_WORST]:
            score = "" if one.score is None else f"{one.score:.3f}  "
            terminal.show(f"    {score}{printable(one.question)}", wrap=False)
    if since is not None:
        former, change = since
        told = {"lower": f"{change.lower:+.3f}", "upper": f"{change.upper:+.3f}", "mean": f"{change.mean:+.3f}"}
        key = "eval_" + change.verdict.replace(" ", "_")
        terminal.show(text(key, number=former.evaluation_id, day=local_time(former.at), **told))
        terminal.show(text("eval_gained", gained=change.gained, lost=change.lost))
    if own.evaluation_id:
        terminal.show(text("eval_kept", number=own.evaluation_id))


def _show_places(terminal: Terminal, own: Evaluation) -> None:
    """Print how far scores are probabilities, of what people look at: the first fragment, and the two behind it."""
    for name, found in own.places.items():
        if not found.count:
            continue
        area = "–" if found.auc is None else f"{found.auc:.3f}"
        said = {"score": f"{found.score:.3f}", "right": f"{found.right:.3f}", "ece": f"{found.ece:.3f}"}
        terminal.show(terminal.text(f"eval_{name}", count=found.count, **said, brier=f"{found.brier:.3f}", auc=area))
        rows = ((f"{one.score:.2f}", f"{one.relevant:.2f}", one.count) for one in found.bins)
        terminal.table(rows, "eval_score_said", "eval_score_right", "col_questions", right=(0, 1, 2))


def _said(name: str, now: Mapping[str, float | None], before: Mapping[str, float | None]) -> tuple[str, str]:
    """A metric and its difference to the evaluation before; ``""`` where there is none."""
    value, former = now.get(name), before.get(name)
    if value is None:
        return "–", ""
    digits = 1 if name.endswith("_ms") else 3
    return f"{value:.{digits}f}", f"{value - former:+.{digits}f}" if former is not None else ""


# ``eval``: the command for `wenyuan.evaluation`.


_CUT = 10


def evaluation(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR…]", help="Judged sets (BEIR layout). 评测集目录")
    ] = None,
    golden: Annotated[
        Path | None,
        typer.Option(metavar="FILE|DIR", help="Ask your own library these questions. 用标准问题评测自己的知识库"),
    ] = None,
    save: Annotated[bool, typer.Option("--save/--no-save", help="With --golden: keep it. 是否保存结果")] = True,
    runs: Annotated[bool, typer.Option("--runs", help="What is kept. 列出已保存的评测")] = False,
    qrels: Annotated[Path | None, typer.Option(metavar="FILE", help="Other judgements. 另一份标注")] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="Cut-off of the measures. 截断位置")] = _CUT,
    limit: Annotated[int | None, typer.Option(help="Ask only so many queries. 问题数上限")] = None,
    engine: Annotated[
        list[str] | None, typer.Option(metavar="keyword|vector|fused", help="Repeatable. 检索方式")
    ] = None,
    context: Annotated[bool, typer.Option("--context", help="Tell where a query was asked. 附带上下文")] = False,
    filter_by: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="For every query. 过滤条件")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also as a page. 另存网页")] = None,
) -> None:
    """Measure retrieval: on sets of judged queries, or of your own library by questions whose answers are known (a
    table with the columns question and uri). That is kept, and compared with the last time.

    评测检索质量：用带标注的评测集，或用已知答案的问题评测自己的知识库；结果会保存，并与上次比较。

    Example 示例:
      wenyuan eval --golden questions.csv
      wenyuan eval ./my-set --limit 200
      wenyuan eval ./my-set -k 20 --engine keyword --html report.html
    """
    terminal: Terminal = ctx.obj
    if (golden is not None) + runs + bool(folders) != 1:
        raise typer.BadParameter(terminal.text("eval_what"))
    if golden is not None or runs:
        if any((qrels, limit, engine, context, filter_by, html)) or k != _CUT:
            raise typer.BadParameter(terminal.text("eval_own"))
        list_runs(terminal) if golden is None else evaluate_own(terminal, golden, keep=save)
        return
    from wenyuan.evaluation import evaluate

    if html is not None and len(folders or ()) > 1:
        raise typer.BadParameter(terminal.text("one_page"))
    reports = [
        evaluate(
            folder,
            qrels=qrels,
            k=k,
            limit=limit,
            engines=engine or (),
            context=context,
            filter=filter_by,
            html=html,
            out=io.StringIO() if terminal.as_json else sys.stdout,
        )
        for folder in folders or ()
    ]
    documents = [report.as_json() for report in reports]
    terminal.document(documents[0] if len(documents) == 1 else {"reports": documents})


# ``tune``: learn from judged questions; adopted if held-out questions gain.


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
    judge: Annotated[
        bool, typer.Option("--judge", help="Calibrate the judge of top_k confidence instead. 改为校准裁判")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the tuning back. 撤销调优")] = False,
    status: Annotated[bool, typer.Option("--status", help="Which tuning counts. 查看调优")] = False,
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


# ``tune --judge``: calibrate the judge, if it tells more than the library's own probability.


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
        report = library.tune_judge(pairs, sources=source or None, dry_run=dry_run, step=Lines(terminal, "judge"))
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
    from wenyuan.core.scoring.evaluation import LEAST_GROUPS

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


def _show_verdict(terminal: Terminal, verdict: Verdict, heading: str) -> None:
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
    from wenyuan.service.search import fits

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


# Before and after on questions that nothing was learned from, fold by fold, as an SVG drawing or a page with it.


_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 640, 70, 130, 28, 56  # SVG units
_WORDS = {
    "en": ("nDCG@10 on questions that nothing was learned from", "fold {}", "all", "before", "after"),
    "zh": ("未参与学习的问题上的 nDCG@10", "第 {} 折", "全部", "调优前", "调优后"),
}
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:currentColor}.n{font-variant-numeric:tabular-nums}"
    ".axis{stroke:#8886}.gain{stroke:#2a7d5f;stroke-width:4}.loss{stroke:#b9603c;stroke-width:4}"
    ".before{fill:#8a8f98}.after{fill:#2a7d5f}"
)


def check_plot(path: Path) -> None:
    """Raise InvalidRequest for a file that is neither ``.svg`` nor ``.html``, or in no folder: before all the work."""
    if path.suffix.lower() not in (".svg", ".html"):
        raise InvalidRequest(msg("{name} is neither .svg nor .html", name=path.name), hint="--plot gain.svg")
    if not path.parent.is_dir():
        raise InvalidRequest(msg("cannot write {path}: {os}", path=path, os=os.strerror(errno.ENOENT)))


def write_plot(path: Path, verdict: Verdict, language: str) -> None:
    """Write the drawing as SVG or in an HTML page, by the file's suffix.

    Raises:
        InvalidRequest: it cannot be written.
    """
    svg = drawing(verdict, language)
    if path.suffix.lower() == ".html":
        svg = (
            f"<!doctype html><html lang='{language}'><meta charset='utf-8'><title>{escape(_WORDS[language][0])}"
            f"</title><style>:root{{color-scheme:light dark}}body{{margin:2rem}}</style>{svg}</html>\n"
        )
    try:
        path.write_text(svg, "utf-8")
    except OSError as error:
        raise InvalidRequest(msg("cannot write {path}: {strerror}", path=path, strerror=error.strerror)) from error


def drawing(verdict: Verdict, language: str) -> str:
    """An SVG with a line per fold from before to after on an axis from 0 to 1, and one for all questions."""
    title, fold, whole, before, after = _WORDS[language]
    rows = [(fold.format(n), *pair) for n, pair in enumerate(verdict.by_fold, 1)]
    rows.append((whole, verdict.before, verdict.after))
    height = _TOP + _ROW * len(rows) + 12
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' role='img'>",
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f"<text x='{_LEFT}' y='18'>{escape(title)}</text>",
        f"<circle class='before' cx='{_LEFT}' cy='34' r='5'/><text x='{_LEFT + 10}' y='38'>{before}</text>",
        f"<circle class='after' cx='{_LEFT + 90}' cy='34' r='5'/><text x='{_LEFT + 100}' y='38'>{after}</text>",
    ]
    for number, (name, low, high) in enumerate(rows):
        parts += _row(name, low, high, _TOP + _ROW * number + _ROW // 2)
    return "".join([*parts, "</svg>\n"])


def _row(name: str, before: float, after: float, y: int) -> Iterator[str]:
    start, end = (round(_LEFT + value * (_WIDTH - _LEFT - _RIGHT), 1) for value in (before, after))
    yield f"<text x='0' y='{y + 4}'>{escape(name)}</text>"
    yield f"<line class='axis' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y}' y2='{y}'/>"
    yield f"<line class='{'gain' if after >= before else 'loss'}' x1='{start}' x2='{end}' y1='{y}' y2='{y}'/>"
    yield f"<circle class='before' cx='{start}' cy='{y}' r='5'/><circle class='after' cx='{end}' cy='{y}' r='5'/>"
    yield f"<text class='n' x='{_WIDTH - _RIGHT + 10}' y='{y + 4}'>{before:.3f} → {after:.3f}</text>"
