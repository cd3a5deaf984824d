"""``connect``: what to paste where, so that another program uses the library."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from wenyuan.cli.connections import RECIPES, Here, PasteText
from wenyuan.cli.mcp import can_start
from wenyuan.cli.options import web_address
from wenyuan.cli.terminal import Terminal
from wenyuan.core.errors import KnowledgeError

Target = Literal["claude", "cursor", "dify", "coze", "langchain", "llamaindex", "haystack", "openai"]
_KEY = "YOUR_KEY"


def connect(
    ctx: typer.Context,
    target: Annotated[Target, typer.Argument(help="What to connect.")],
    url: Annotated[
        str | None,
        typer.Option(parser=web_address, metavar="URL", help="Of the server.  [default: as the settings say]"),
    ] = None,
    key: Annotated[str, typer.Option(metavar="KEY", help="The API key to fill in.")] = _KEY,
) -> None:
    """Print what connects an agent, an editor or a framework to the library, ready to paste.

    What would start this program is printed only when it can start; with --url the rest is printed without it.

    Example:
      wenyuan connect claude
      wenyuan connect dify --url http://192.168.1.5:8765
    """
    terminal: Terminal = ctx.obj
    here = Here(
        url=(url or _own_url(terminal)).rstrip("/"),
        program=_program(),
        library=str(terminal.folder.absolute()),
        key=key,
    )
    pieces = RECIPES[target](here)
    if (why := _cannot_start(terminal, pieces)) is not None:
        if url is None:
            raise why
        pieces = tuple(piece for piece in pieces if not piece.starts)
    left_out = {"message": why.message, "hint": why.hint} if why is not None else None
    shown = [asdict(piece) for piece in pieces]
    terminal.document({"status": "SUCCESS", "target": target, "url": here.url, "pieces": shown, "left_out": left_out})
    if why is not None:
        terminal.say("connect_left_out", why=terminal.own(why.message), hint=terminal.own(why.hint))
    for piece in pieces:
        terminal.show(f"# {terminal.text(f'connect_{piece.where}')}", wrap=False)
        terminal.show(piece.text + "\n", wrap=False)
    if any(key in piece.text for piece in pieces):
        terminal.say("connect_any_key" if target == "openai" else "connect_key", word=key)
    if any(here.url in piece.text for piece in pieces):
        terminal.say("connect_serve", url=here.url)


def _own_url(terminal: Terminal) -> str:
    from wenyuan.settings import load_settings

    server = load_settings(terminal.folder).server
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(server.host, server.host)  # noqa: S104  (not listened on here)
    return f"http://{host}:{server.port}"


def _cannot_start(terminal: Terminal, pieces: Sequence[PasteText]) -> KnowledgeError | None:
    """The error with which the started program would end at once; None when it would not, or nothing is started."""
    if not any(piece.starts for piece in pieces):
        return None
    try:
        can_start(terminal)
    except KnowledgeError as error:
        return error
    return None


def _program() -> tuple[str, ...]:
    """The command that starts this program from anywhere: the one that was checked, not another one on the path."""
    found = shutil.which("wenyuan")
    mine = found is not None and Path(found).resolve().parent == Path(sys.executable).absolute().parent
    return (found,) if found and mine else (sys.executable, "-m", "wenyuan.cli")
