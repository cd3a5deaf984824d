"""``import-vectors``: passages that were cut and embedded elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from wenyuan.cli.ingest import take_in
from wenyuan.cli.options import NewSourceOption, UnaskedOption
from wenyuan.cli.reader_options import DenyOption, ReadersOption, given_access
from wenyuan.cli.source_options import NOTHING, new_source_options
from wenyuan.cli.terminal import Terminal


@new_source_options()
def import_vectors(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Parquet or Arrow, or a folder of such.")],
    source: NewSourceOption,
    encoder: Annotated[str | None, typer.Option(help="What made the vectors; else the file says it.")] = None,
    described: Mapping[str, Any] = NOTHING,
    allow: ReadersOption = None,
    deny: DenyOption = None,
    yes: UnaskedOption = False,
) -> None:
    """Take passages in that were cut and embedded elsewhere, with their vectors.

    A row is a passage: text, vector, and what a line of JSON Lines has (id, title, url, metadata …). The vectors must be of the
    library's own encoder. What was taken in is left as it is when the command runs again.

    Example:
      wenyuan import-vectors passages.parquet --source wiki --encoder bge-m3
      wenyuan import-vectors ./parts --source wiki --trust 2 --json
    """
    from wenyuan.core.vector_files import ENCODER, FORMAT

    terminal: Terminal = ctx.obj
    given = {**described, "settings": {"format": FORMAT} | ({ENCODER: encoder} if encoder else {})}
    take_in(terminal, source, str(file.expanduser().absolute()), given, given_access(allow, deny), yes=yes)
