"""Which folder holds the uploaded files of a library that several servers share: one of them, and no other takes any in."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import CatalogBusy, SourceError, msg
from wenyuan.runtime.full_disk import next_step
from wenyuan.runtime.regular import read_regular

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

# Each server on one PostgreSQL has a folder of its own, or shares one. What was uploaded at one of them is not in the folder of
# another, which would hold it for lost, or bring an older file of the same name back in place of a newer one.

_MARK = ".home"
_KEY = "uploads/home"
_MOST = 100  # bytes of a mark


class UploadsElsewhere(CatalogBusy):
    """The uploaded files of this library lie in another server's folder."""


def check_home(catalog: Catalog, uploads: Path, *, begin: bool = False) -> None:
    """Refuse what would read or change uploaded files in another folder than that which holds them.

    Args:
        begin: Whether files are about to be put there: the first folder that they are put into is theirs from then on.

    Raises:
        UploadsElsewhere: they lie in another folder.
        SourceError: the folder's mark cannot be read or written.
    """
    if not catalog.database.place.shared:
        return
    held = catalog.value(_KEY)
    try:
        if held is None and (begin or _has_files(uploads)):
            held = _begin(catalog, uploads)
        elsewhere = held is not None and held["id"] != _mark(uploads)
    except OSError as error:
        raise SourceError(
            msg("{name} cannot be kept: {strerror}", name=_MARK, strerror=error.strerror), hint=next_step(error)
        ) from error
    if elsewhere:
        raise UploadsElsewhere(
            msg("the uploaded files of this library lie at {place}, and this server has another folder", place=held["place"]),
            component="uploads",
            hint=msg(
                "ask that server, or let all servers have that folder at the same path; if it is lost, write {id} into {mark}",
                id=held["id"],
                mark=uploads / _MARK,
            ),
        )  # fmt: skip


def _begin(catalog: Catalog, uploads: Path) -> Any:
    """Make this folder that of the library, unless another server was first."""
    if not (own := _mark(uploads)):
        uploads.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = uploads / f"{_MARK}-{secrets.token_hex(8)}"
        part.write_text(secrets.token_hex(16), "ascii")
        with suppress(FileExistsError):
            os.link(part, uploads / _MARK)  # of several processes of this folder one makes it
        part.unlink()
        own = _mark(uploads)
    with catalog.writing():
        held = catalog.value(_KEY)
        if held is None:
            held = {"id": own, "place": f"{socket.gethostname()}:{uploads.absolute()}"}
            catalog.set_value(_KEY, held)
    return held


def _mark(uploads: Path) -> str:
    try:
        return read_regular(uploads / _MARK, _MOST).decode("ascii", "replace")
    except FileNotFoundError:
        return ""


def _has_files(uploads: Path) -> bool:
    """Whether a server of a former version has put files there."""
    if not uploads.is_dir():
        return False
    return any(one.is_dir() and any(one.iterdir()) for one in uploads.iterdir() if not one.name.startswith("."))
