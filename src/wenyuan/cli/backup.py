"""``backup`` and ``reembed``: a copy of a library that is in use, and another encoder for one."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from wenyuan.cli.doctor_checks import human
from wenyuan.cli.options import ended_by_sigterm, opened
from wenyuan.cli.progress import ProgressLines
from wenyuan.cli.terminal import Terminal


def backup(
    ctx: typer.Context,
    to: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is new.", show_default=False)],
) -> None:
    """Copy a library in a folder, while servers and workers go on: record, audit, keys, settings, uploads.

    Example:
      wenyuan backup ./library-2026-11-22
    """
    from wenyuan.catalog.backup import back_up

    terminal: Terminal = ctx.obj
    size = back_up(terminal.folder, to)
    terminal.document({"status": "SUCCESS", "folder": str(to), "bytes": size})
    terminal.show(terminal.text("backed_up", size=human(size), to=to), wrap=False)


def reembed(
    ctx: typer.Context,
) -> None:
    """Give all passages vectors of the encoder that the settings name now, and build the index.

    Until all are embedded the library stays as it is; an interrupted run is continued. Do it in a copy where servers
    are to go on answering: docs/re-embedding.md.

    Example:
      wenyuan backup ./library-new
      WENYUAN_ENCODER__KIND=http wenyuan --library ./library-new reembed
    """
    terminal: Terminal = ctx.obj
    begun = time.monotonic()
    stage = ProgressLines(terminal, "reembed")
    try:
        with ended_by_sigterm():
            done = _embedded(terminal, partial(stage, "text"))
            with opened(terminal) as found:
                counts, encoder = found.catalog.counts(), found.encoder
                stage("index", 0, counts["passages"])
                found.follow_reembedding()
    except KeyboardInterrupt:
        raise typer.Exit(terminal.interrupted(command="wenyuan reembed")) from None
    assert encoder is not None
    said = {"encoder": encoder.fingerprint.id, "dimension": encoder.fingerprint.dimension}
    told = {"status": "SUCCESS", **said, "passages": counts["passages"], "vectors": counts["vectors"]}
    embedded, changed = done or (0, False)
    terminal.document({**told, "embedded": embedded, "changed": changed})
    if done is None:
        terminal.show(terminal.text("reembed_same", **said))
        return
    took = {"passages": counts["passages"], "seconds": f"{time.monotonic() - begun:.1f}"}
    if not changed:
        terminal.show(terminal.text("reembed_labels", **said, **took))
        return
    terminal.show(terminal.text("reembedded", **said, **took, embedded=embedded))
    terminal.show(terminal.text("reembed_next"))


def _embedded(terminal: Terminal, tell: Callable[[int, int], None]) -> tuple[int, bool] | None:
    """Embed and switch over; returns the number of passages, and whether the encoder changed. None when there was
    nothing to do.
    """
    from wenyuan.app import open_encoder
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.library_folder import place_of
    from wenyuan.core.errors import ConfigError
    from wenyuan.service.ingest.reembedding import embed_anew
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
        return embed_anew(catalog, encoder, before, tell), before != encoder.fingerprint.key
