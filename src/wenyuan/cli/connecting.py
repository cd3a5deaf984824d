"""``connect``: what to paste where, so that another program uses the library."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from typing import Annotated, Literal

import typer

from wenyuan.cli.options import JsonOption, LangOption, LibraryOption, web_address
from wenyuan.cli.recipes import RECIPES, Here
from wenyuan.cli.terminal import Terminal

__all__ = ["connect"]

Target = Literal["claude", "cursor", "dify", "coze", "langchain", "llamaindex", "haystack", "openai"]
_KEY = "YOUR_KEY"


def connect(
    ctx: typer.Context,
    target: Annotated[Target, typer.Argument(help="What to connect. 接入对象")],
    url: Annotated[
        str | None,
        typer.Option(
            parser=web_address, metavar="URL", help="Of the server. 服务地址  [default: as the settings say]"
        ),
    ] = None,
    key: Annotated[str, typer.Option(metavar="KEY", help="The API key to fill in. 要填入的密钥")] = _KEY,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what connects an agent, an editor or a framework to the library, ready to paste.

    打印接入配置，可直接粘贴到智能体、编辑器或框架中。

    Example 示例:
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
    terminal.document(
        {"status": "SUCCESS", "target": target, "url": here.url, "pieces": [asdict(piece) for piece in pieces]}
    )
    for piece in pieces:
        terminal.show(f"# {terminal.text(f'connect_{piece.where}')}", wrap=False)
        terminal.show(piece.text + "\n", wrap=False)
    if any(key in piece.text for piece in pieces):
        terminal.say("connect_key", word=key)
    if any(here.url in piece.text for piece in pieces):
        terminal.say("connect_serve", url=here.url)


def _own_url(terminal: Terminal) -> str:
    from wenyuan.settings import load_settings

    server = load_settings(terminal.folder).server
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(server.host, server.host)  # noqa: S104  (not listened on here)
    return f"http://{host}:{server.port}"


def _program() -> tuple[str, ...]:
    """This program as others can start it, wherever they are."""
    found = shutil.which("wenyuan")
    return (found,) if found else (sys.executable, "-m", "wenyuan.cli")
