"""``eval``: the door to `wenyuan.evaluation`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from wenyuan.cli.options import JsonOption, LangOption
from wenyuan.cli.terminal import Terminal

__all__ = ["evaluation"]


def evaluation(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Judged sets (BEIR layout). 评测集目录")],
    qrels: Annotated[Path | None, typer.Option(metavar="FILE", help="Other judgements. 另一份标注")] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="Cut-off of the measures. 截断位置")] = 10,
    limit: Annotated[int | None, typer.Option(help="Ask only so many queries. 问题数上限")] = None,
    engine: Annotated[
        list[str] | None, typer.Option(metavar="keyword|vector|fused", help="Repeatable. 检索方式")
    ] = None,
    context: Annotated[bool, typer.Option("--context", help="Tell where a query was asked. 附带上下文")] = False,
    filter_by: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="For every query. 过滤条件")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also as a page. 另存网页")] = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure retrieval on sets of judged queries: nDCG, recall, MRR.

    用带标注的问题集评测检索质量。

    Example 示例:
      wenyuan eval ./my-set --limit 200
      wenyuan eval ./my-set -k 20 --engine keyword --html report.html
    """
    from wenyuan.evaluation.command import evaluate

    terminal: Terminal = ctx.obj
    if html is not None and len(folders) > 1:
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
        for folder in folders
    ]
    documents = [report.as_json() for report in reports]
    terminal.document(documents[0] if len(documents) == 1 else {"reports": documents})
