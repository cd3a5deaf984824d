"""``eval --golden``: the user's own library asked questions whose answers are known, now and before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wenyuan.cli.options import opened
from wenyuan.cli.progress import Lines
from wenyuan.cli.terminal import Terminal

if TYPE_CHECKING:
    from wenyuan.core.evaluated import Evaluation, WholeEvaluation
    from wenyuan.core.measures import Change
    from wenyuan.service.facade import Library

__all__ = ["evaluate_own", "list_runs"]

_WORST = 5
_SHARES = ("answered", "refused")


def evaluate_own(terminal: Terminal, golden: Path, *, keep: bool) -> None:
    """Ask, keep, and compare with the last evaluation of the same questions, if there is one."""
    from wenyuan.readers.golden import read_golden

    pairs = read_golden(golden)
    with opened(terminal) as library:
        whole = library.evaluate(pairs, name=golden.name, step=Lines(terminal, "eval_at"), keep=keep)
        former = _former(library, whole.evaluation)
        change = None if former is None else library.compared(whole, former)
    document: dict[str, Any] = {"status": "SUCCESS", "evaluation": asdict(whole.evaluation)}
    document |= {"asked": [asdict(one) for one in whole.asked]}
    if former is not None and change is not None:
        document |= {"against": former.evaluation.evaluation_id, "change": asdict(change)}
    terminal.document(document)
    if not terminal.as_json:
        _show(terminal, whole, None if former is None or change is None else (former.evaluation, change))


def list_runs(terminal: Terminal) -> None:
    """The evaluations that are kept, newest first."""
    with opened(terminal) as library:
        found = library.evaluations()
    terminal.document({"status": "SUCCESS", "evaluations": [asdict(one) for one in found]})
    if not found:
        terminal.say("eval_none")
    for one in found:
        told = {name: f"{one.figures[name]:.3f}" for name in ("ndcg@10", "answered", "refused")}
        terminal.show(
            terminal.text(
                "eval_run", number=one.evaluation_id, day=_day(one.at), name=one.name, questions=one.questions,
                ndcg=told["ndcg@10"], answered=told["answered"], refused=told["refused"],
            ),
            wrap=False,
        )  # fmt: skip


def _former(library: Library, own: Evaluation) -> WholeEvaluation | None:
    """The last one of the same questions before this one."""
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
    for name in ("ndcg@10", "recall@10", "mrr@10", "hit@1", *_SHARES, *in_vain, "ece", "p50_ms", "p95_ms"):
        terminal.show(f"  {text('eval_' + name.partition('@')[0])}  {_said(name, own.figures, before)}", wrap=False)
    if since is not None:
        former, change = since
        told = {"lower": f"{change.lower:+.3f}", "upper": f"{change.upper:+.3f}", "mean": f"{change.mean:+.3f}"}
        key = "eval_" + change.verdict.replace(" ", "_")
        terminal.show(text(key, number=former.evaluation_id, day=_day(former.at), **told))
        terminal.show(text("eval_gained", gained=change.gained, lost=change.lost))
    if own.evaluation_id:
        terminal.show(text("eval_kept", number=own.evaluation_id))


def _said(name: str, now: Mapping[str, float | None], before: Mapping[str, float | None]) -> str:
    """A figure, and by how much it is another than before."""
    value, former = now[name], before.get(name)
    if value is None:
        return "–"
    digits = 1 if name.endswith("_ms") else 3
    moved = f"  {value - former:+.{digits}f}" if former is not None else ""
    return f"{value:.{digits}f}{moved}"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
