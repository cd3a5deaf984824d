"""``eval``: the command for `wenyuan.evaluation`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from wenyuan.cli.golden import evaluate_own, list_runs
from wenyuan.cli.terminal import Terminal

_CUT = 10


def evaluation(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    folders: Annotated[list[Path] | None, typer.Argument(metavar="[DIR…]", help="Judged sets (BEIR layout).")] = None,
    golden: Annotated[
        Path | None,
        typer.Option(metavar="FILE|DIR", help="Ask your own library these questions."),
    ] = None,
    kept: Annotated[bool, typer.Option("--kept", help="Ask the golden questions that it keeps.")] = False,
    save: Annotated[bool, typer.Option("--save/--no-save", help="With --golden: keep it.")] = True,
    runs: Annotated[bool, typer.Option("--runs", help="What is kept.")] = False,
    qrels: Annotated[Path | None, typer.Option(metavar="FILE", help="Other judgements.")] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="Cut-off of the measures.")] = _CUT,
    limit: Annotated[int | None, typer.Option(help="Ask only so many queries.")] = None,
    engine: Annotated[list[str] | None, typer.Option(metavar="keyword|vector|fused", help="Repeatable.")] = None,
    context: Annotated[bool, typer.Option("--context", help="Tell where a query was asked.")] = False,
    filter_by: Annotated[str | None, typer.Option("--filter", metavar="JSON", help="For every query.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also as a page.")] = None,
) -> None:
    """Measure retrieval: on sets of judged queries, or of your own library by questions whose answers are known (a
    table with the columns question and uri). That is kept, and compared with the last time.

    Example:
      wenyuan eval --golden questions.csv
      wenyuan eval ./my-set --limit 200
      wenyuan eval ./my-set -k 20 --engine keyword --html report.html
    """
    terminal: Terminal = ctx.obj
    if (golden is not None) + kept + runs + bool(folders) != 1:
        raise typer.BadParameter(terminal.text("eval_what"))
    if golden is not None or kept or runs:
        if any((qrels, limit, engine, context, filter_by, html)) or k != _CUT:
            raise typer.BadParameter(terminal.text("eval_own"))
        list_runs(terminal) if runs else evaluate_own(terminal, golden, keep=save)
        return
    from wenyuan.evaluation.evaluate import evaluate

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
