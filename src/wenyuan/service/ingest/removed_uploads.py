"""The files that were uploaded to a source that is removed: they go with it, also where the removal is cut off.

A removal notes which registration it ends. What is still in the folder when that registration is over is nobody's: it is taken
away before another source of the id is read or uploaded to.
"""

from __future__ import annotations

import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.core.errors import SourceError, msg
from wenyuan.service.upload_journal import INCOMING

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_REMOVING = "removing/"
"""Beginning of the key, before a source's id, of the time of the registration that a removal ends."""


def note_removal(catalog: Catalog, source_id: str) -> None:
    """Note that a source is being removed, before it is."""
    if (registered := registrations(catalog).get(source_id)) is not None:
        catalog.set_value(_REMOVING + source_id, registered)


def take_away(catalog: Catalog, uploads: Path, source_id: str) -> None:
    """Delete what was uploaded to a source that was removed since, if its removal left it there.

    Raises:
        SourceError: it cannot be deleted.
    """
    registered = catalog.value(_REMOVING + source_id)
    if registered is None:
        return
    if (
        registrations(catalog).get(source_id) != registered
    ):  # it was removed, and perhaps another was registered since
        try:
            _delete(uploads / source_id, uploads / INCOMING)
        except OSError as error:
            told = msg(
                "the source is removed, but not the files in {path}: {strerror}",
                path=uploads / source_id,
                strerror=error.strerror or error,
            )
            raise SourceError(told, hint="delete that folder yourself") from error
    catalog.set_value(_REMOVING + source_id, None)


def registrations(catalog: Catalog) -> dict[str, float]:
    """When each source was registered."""
    return dict(catalog.registered_at())


def _delete(folder: Path, aside: Path) -> None:
    """Delete a folder; under another name first, so that its files are of no source from then on."""
    gone = aside / uuid.uuid4().hex
    with suppress(FileNotFoundError):
        aside.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.rename(gone)
        shutil.rmtree(gone)
