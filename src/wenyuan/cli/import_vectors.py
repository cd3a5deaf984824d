"""``import-vectors``: passages that were cut and embedded elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wenyuan.cli.library import take_in
from wenyuan.cli.options import (
    CollectionOption,
    CopyrightOption,
    DomainOption,
    LanguageOption,
    NewSourceOption,
    OwnerOption,
    SensitivityOption,
    TagsOption,
    TitleOption,
    TrustOption,
    UnaskedOption,
    words,
)
from wenyuan.cli.reader_options import DenyOption, ReadersOption, given_access
from wenyuan.cli.terminal import Terminal


def import_vectors(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Parquet or Arrow, or a folder of such.")],
    source: NewSourceOption,
    encoder: Annotated[str | None, typer.Option(help="What made the vectors; else the file says it.")] = None,
    title: TitleOption = None,
    trust: TrustOption = None,
    domain: DomainOption = None,
    collection: CollectionOption = None,
    language: LanguageOption = None,
    copyright: CopyrightOption = None,
    owner: OwnerOption = None,
    sensitivity: SensitivityOption = None,
    tags: TagsOption = None,
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
    settings: dict[str, Any] = {"format": FORMAT} | ({ENCODER: encoder} if encoder else {})
    given = {
        "title": title,
        "trust_level": trust,
        "domain": domain,
        "collection": collection,
        "language": language,
        "copyright": copyright,
        "owner": owner,
        "sensitivity": sensitivity,
        "tags": words(tags),
        "settings": settings,
    }
    take_in(terminal, source, str(file.expanduser().absolute()), given, given_access(allow, deny), yes=yes)
