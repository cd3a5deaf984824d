"""``eval --golden``: the user's own library asked questions whose answers are known, now and before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wenyuan.cli.options import opened
from wenyuan.cli.progress import ProgressLines
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.evaluation_records import Evaluation, WholeEvaluation
    from wenyuan.core.scoring.evaluation import PairedDifference
    from wenyuan.service.library import Library


_WORST = 5
_SHARES = ("answered", "answer_refused", "refused")


def evaluate_own(terminal: Terminal, golden: Path | None, *, keep: bool) -> None:
    """Run an evaluation, store it, and compare it with the last one of the same questions.

    Args:
        golden: A file with the questions; None: those that are kept in the library.
    """
    from wenyuan.readers.golden import read_golden

    pairs = None if golden is None else read_golden(golden)
    with opened(terminal) as library:
        step = ProgressLines(terminal, "eval_at")
        if golden is None or pairs is None:
            whole = library.evaluate_kept(step=step)
        else:
            whole = library.evaluate(pairs, name=golden.name, step=step, keep=keep)
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


def _show(terminal: Terminal, whole: WholeEvaluation, since: tuple[Evaluation, PairedDifference] | None) -> None:
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
    rows = [(text("eval_" + name.partition("@")[0]), *_metric_text(name, own.figures, before)) for name in names]
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


def _metric_text(name: str, now: Mapping[str, float | None], before: Mapping[str, float | None]) -> tuple[str, str]:
    """A metric and its difference to the evaluation before; ``""`` where there is none."""
    value, former = now.get(name), before.get(name)
    if value is None:
        return "–", ""
    digits = 1 if name.endswith("_ms") else 3
    return f"{value:.{digits}f}", f"{value - former:+.{digits}f}" if former is not None else ""
