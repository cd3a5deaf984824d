"""``encoder check``: how a model in a local directory is to be used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import add_commands, without
from wenyuan.cli.progress import ProgressLines
from wenyuan.cli.terminal import Terminal
from wenyuan.core.errors import msg

if TYPE_CHECKING:
    from wenyuan.encoders.checking import EncoderCheck, Tried


_HELP = """Find out how an embedding model in a local directory is to be used.

\b
Example:
  wenyuan encoder check ./models/bge-m3
"""
app = group(_HELP, "Check an embedding model.")


@without("library")
def check(
    ctx: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="With model.onnx and tokenizer.json.", show_default=False),
    ],
) -> None:
    """Embed a small set of questions and answers in both languages with every pooling (first token, mean, last
    token) and the usual prefixes, say which is right, and print the settings for wenyuan.toml. Nothing is changed.

    Example:
      wenyuan encoder check ./models/bge-m3
      wenyuan encoder check ./models/granite-97m --json
    """
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.encoders.checking import check_folder

    terminal: Terminal = ctx.obj
    if not folder.is_dir():
        raise InvalidRequest(msg("there is no folder {folder}", folder=folder), hint="wenyuan encoder check FOLDER")
    stage = ProgressLines(terminal, "encoder")
    checked = check_folder(folder, lambda done, total: stage("text", done, total))
    terminal.document({"status": "SUCCESS", **document_of(checked)})
    if not terminal.as_json:
        _show(terminal, checked)


def document_of(checked: EncoderCheck) -> Mapping[str, Any]:
    """The results as JSON values."""
    ahead = checked.ahead
    return {
        "folder": str(checked.folder),
        "dimension": checked.dimension,
        "pooling_stated": checked.says,
        "settings": settings_of(checked),
        "best": _use_text(checked.best),
        "as_stated": _use_text(checked.stated),
        "ahead_of_next_pooling": ahead and {"mean": ahead.mean, "lower": ahead.lower, "upper": ahead.upper},
        "sure": ahead is None or ahead.verdict == "better",
        "languages_not_known": list(checked.foreign),
        "tried": [_use_text(way) for way in checked.tried],
    }


def _use_text(way: Tried) -> Mapping[str, Any]:
    return {
        "pooling": way.pooling, "query_prefix": way.query_prefix, "passage_prefix": way.passage_prefix,
        "found": dict(way.found), "margin": round(way.margin, 3), "unrelated": round(way.unrelated, 3),
        "identical": round(way.identical, 3),
    }  # fmt: skip


def settings_of(checked: EncoderCheck) -> Mapping[str, Any]:
    """The section ``[encoder]`` of the settings, with pooling only where the model graph does not pool."""
    best = checked.best
    return {
        "kind": "onnx_dir",
        "path": str(checked.folder),
        **({"pooling": best.pooling} if best.pooling else {}),
        "query_prefix": best.query_prefix,
        "passage_prefix": best.passage_prefix,
        "scale": list(checked.scale),
    }


def _show(terminal: Terminal, checked: EncoderCheck) -> None:
    text, best, stated = terminal.text, checked.best, checked.stated
    terminal.show(text("encoder_model", folder=checked.folder.name, dimension=checked.dimension))
    seen: dict[str, Tried] = {}
    for way in (best, *checked.tried):
        seen.setdefault(way.pooling, way)
    rows = (
        (
            text(f"encoder_pooling_{pooling or 'own'}"),
            f"{way.found['zh']:.0%}",
            f"{way.found['en']:.0%}",
            f"{way.margin:+.2f}",
        )
        for pooling, way in seen.items()
    )
    terminal.table(rows, "col_pooling", "col_zh", "col_en", "col_margin", right=(1, 2, 3))
    if checked.ahead is not None:
        sure = "encoder_sure" if checked.ahead.verdict == "better" else "encoder_unsure"
        terminal.show(text(sure, pooling=best.pooling, ahead=f"{checked.ahead.mean:+.2f}"))
    for language in checked.foreign:
        terminal.show(text(f"encoder_foreign_{language}"))
    if best is not stated:
        query, passage = (json.dumps(way, ensure_ascii=False) for way in (stated.query_prefix, stated.passage_prefix))
        used = {"pooling": stated.pooling or "–", "query": query, "passage": passage}
        terminal.show(text("encoder_otherwise", **used, margin=f"{stated.margin:+.2f}"))
    terminal.show(text("encoder_paste"))
    lines = [
        "[encoder]",
        *(f"{name} = {json.dumps(v, ensure_ascii=False)}" for name, v in settings_of(checked).items()),
    ]
    terminal.show("\n".join(lines), wrap=False)
    terminal.show(text("encoder_next"))


add_commands(app, {"check": (check, "Which pooling and prefixes are right.")})
