"""A copy of a library in a folder, made while it is in use."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from wenyuan.catalog.audit_chain import HeadFile
from wenyuan.catalog.audit_log import AuditLog
from wenyuan.catalog.connect import copy_database
from wenyuan.catalog.place import Files, place_of
from wenyuan.catalog.store import Catalog
from wenyuan.core.errors import CatalogError, CatalogUnavailable, InvalidRequest
from wenyuan.paths import exists, is_dir, is_file
from wenyuan.settings import load_settings

__all__ = ["back_up"]

# The head before the audit: a head that is behind is right, one that is ahead says that records are missing. The catalog
# last: no record is of a change that the copy does not have.
_FILES = ("wenyuan.toml", "pseudonym.key", "audit.head")
_DATABASES = ("audit.db", "tasks.db", "catalog.db")


def back_up(folder: Path, to: Path) -> int:
    """Copy all that a library in a folder consists of, each database in one state; returns the bytes.

    The index is left out: it is built again. What is begun and broken off leaves ``<to>.partial``, which the next
    attempt begins anew.

    Raises:
        InvalidRequest: the library lies on a PostgreSQL, or `to` is taken.
        CatalogError: it cannot be read or written, its catalog was emptied, or its audit ends too early.
    """
    with closing(place_of(folder, load_settings(folder).catalog)) as place:
        if not isinstance(place, Files):
            raise InvalidRequest(
                f"the library lies in {place}", hint="pg_dump --schema=…, see docs/postgres.md#backup-and-restore"
            )
        if not place.found():
            raise CatalogUnavailable(f"there is no library in {folder}", component="catalog")
        Catalog(place).check_not_emptied()
    partial = to.with_name(f"{to.name}.partial")
    try:
        if exists(to) and not (is_dir(to) and not any(to.iterdir())):
            raise InvalidRequest(f"{to} is there already", hint="name a folder that is new")
        if exists(partial):
            shutil.rmtree(partial)
        partial.mkdir(parents=True, mode=0o700)
        for name in _FILES:
            if is_file(folder / name):
                shutil.copy2(folder / name, partial / name)
        for name in _DATABASES:
            if is_file(folder / name):
                copy_database(folder / name, partial / name)
        _check_audit(partial)
        size = sum(file.stat().st_size for file in partial.iterdir())
        partial.replace(to)
    except OSError as error:
        raise CatalogError(
            f"cannot copy the library to {to}: {error.filename or partial}: {error.strerror}",
            component="catalog",
            hint="what was begun can be removed: " + str(partial),
        ) from error
    return size


def _check_audit(folder: Path) -> None:
    """A copy that would be refused when it is needed is none."""
    if HeadFile(folder / "audit.head").text():
        with closing(AuditLog(folder)) as audit:
            audit.head()
