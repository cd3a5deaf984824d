"""``backup`` and ``reembed``: a copy of a library that is in use, and another encoder for one."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from wenyuan.cli.checks import human
from wenyuan.cli.options import JsonOption, LangOption, LibraryOption, ended_by_sigterm, opened
from wenyuan.cli.progress import Lines
from wenyuan.cli.terminal import Terminal

__all__ = ["backup", "reembed"]


def backup(
    ctx: typer.Context,
    to: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is new. 新目录", show_default=False)],
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a library in a folder, while servers and workers go on: record, audit, keys and settings.

    在服务运行期间复制目录中的知识库：目录库、审计、密钥与设置。

    Example 示例:
      wenyuan backup ./library-2026-11-22
    """
    from wenyuan.catalog.backing import back_up

    terminal: Terminal = ctx.obj
    size = back_up(terminal.folder, to)
    terminal.document({"status": "SUCCESS", "folder": str(to), "bytes": size})
    terminal.show(terminal.text("backed_up", size=human(size), to=to), wrap=False)


def reembed(
    ctx: typer.Context,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give all passages vectors of the encoder that the settings name now, and build the index.

    Until all are embedded the library is as it was; what was interrupted is gone on with. Do it in a copy where servers
    are to go on answering: docs/re-embedding.md.

    用设置中的新编码器为全部段落重新计算向量，建立索引并测定门槛。完成前知识库不变，中断后可继续。

    Example 示例:
      wenyuan backup ./library-new
      WENYUAN_ENCODER__KIND=http wenyuan --library ./library-new reembed
    """
    terminal: Terminal = ctx.obj
    begun = time.monotonic()
    stage = Lines(terminal, "reembed")
    try:
        with ended_by_sigterm():
            embedded = _embedded(terminal, partial(stage, "text"))
            with opened(terminal) as found:
                counts, encoder = found.catalog.counts(), found.encoder
                stage("index", 0, counts["passages"])
                found.follow_reembedding()
    except KeyboardInterrupt:
        raise typer.Exit(terminal.interrupted(command="wenyuan reembed")) from None
    assert encoder is not None
    said = {"encoder": encoder.fingerprint.id, "dimension": encoder.fingerprint.dimension}
    told = {"status": "SUCCESS", **said, "passages": counts["passages"], "vectors": counts["vectors"]}
    terminal.document({**told, "embedded": embedded or 0, "changed": embedded is not None})
    if embedded is None:
        terminal.show(terminal.text("reembed_same", **said))
        return
    seconds = f"{time.monotonic() - begun:.1f}"
    terminal.show(
        terminal.text("reembedded", **said, passages=counts["passages"], embedded=embedded, seconds=seconds)
    )
    terminal.show(terminal.text("reembed_next"))


def _embedded(terminal: Terminal, tell: Callable[[int, int], None]) -> int | None:
    """Embed and change over; how many passages that were, None where the library is of this encoder already."""
    from wenyuan.app import open_encoder
    from wenyuan.catalog import Catalog
    from wenyuan.catalog.place import place_of
    from wenyuan.core.errors import ConfigError
    from wenyuan.service.reembed import embed_anew
    from wenyuan.settings import load_settings

    settings = load_settings(terminal.folder)
    encoder = open_encoder(settings.encoder)
    if encoder is None:
        raise ConfigError("encoder.kind is none", component="settings", hint="name the new encoder: docs/settings.md")
    with closing(encoder), closing(Catalog.open(place_of(terminal.folder, settings.catalog))) as catalog:
        former = catalog.encoder()
        before = "" if former is None else former.key
        if before == encoder.fingerprint.key and not catalog.unlabelled():
            return None
        return embed_anew(catalog, encoder, before, tell)
