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
