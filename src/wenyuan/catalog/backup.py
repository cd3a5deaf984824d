"""Backing up a library in use."""

from __future__ import annotations

import os
import shutil
from contextlib import closing, suppress
from pathlib import Path

from wenyuan.catalog.anchor import anchored, put_back
from wenyuan.catalog.audit.chain import Head
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.audit.tables import AuditFiles, audit_gone, check_continues, continues, last_head, ours
from wenyuan.catalog.catalog import Catalog
from wenyuan.catalog.library_folder import Files, place_of
from wenyuan.catalog.sql import connect_writer, copy_database, reading, translated
from wenyuan.catalog.task_anchor import check_file, put_task_anchor, state_of, task_anchor
from wenyuan.core.errors import CatalogError, CatalogUnavailable, InvalidRequest, msg
from wenyuan.runtime.presence import exists, is_dir, is_file
from wenyuan.runtime.regular import open_regular
from wenyuan.settings import load_settings

# A copy of a library in a folder, made while it is in use.


# The head before the audit: a head that is behind is right, one that is ahead says that records are missing. The catalog
# last: no record is of a change that the copy does not have.
_FILES = ("wenyuan.toml", "pseudonym.key", "audit.head")
_FOLDERS = ("uploads", "quarantine")
_DATABASES = ("audit.db", "tasks.db", "catalog.db")


def back_up(folder: Path, to: Path) -> int:
    """Copy the library in a folder, each database as a consistent snapshot; returns the size in bytes.

    The index is left out, since it can be rebuilt. An interrupted backup leaves ``<to>.partial``, which the next
    attempt overwrites.

    Raises:
        InvalidRequest: the library is on PostgreSQL, or `to` exists.
        CatalogError: it cannot be read or written, its catalog was emptied, or its audit ends too early.
    """
    settings = load_settings(folder)
    with closing(place_of(folder, settings.catalog)) as place:
        if not isinstance(place, Files):
            raise InvalidRequest(
                msg("the library lies in {place}", place=place),
                hint="pg_dump --schema=…, see docs/postgres.md#backup-and-restore",
            )
        if not place.found():
            raise CatalogUnavailable(msg("there is no library in {folder}", folder=folder), component="catalog")
        Catalog(place).check_not_emptied()
    partial = to.with_name(f"{to.name}.partial")
    try:
        if exists(to) and not (is_dir(to) and not any(to.iterdir())):
            raise InvalidRequest(msg("{to} is there already", to=to), hint="name a folder that is new")
        if exists(partial):
            shutil.rmtree(partial)
        partial.mkdir(parents=True, mode=0o700)
        _copy(folder, partial, audited=settings.audit.enabled)
        size = sum(file.stat().st_size for file in partial.rglob("*") if file.is_file())
        partial.replace(to)
    except OSError as error:
        raise CatalogError(
            msg(
                "cannot copy the library to {to}: {filename}: {strerror}",
                to=to,
                filename=error.filename or partial,
                strerror=error.strerror,
            ),
            component="catalog",
            hint=msg("what was begun can be removed: {partial}", partial=partial),
        ) from error
    return size


def _copy(folder: Path, to: Path, *, audited: bool) -> None:
    for name in _FILES:
        if is_file(folder / name):
            shutil.copy2(folder / name, to / name)
    for name in _DATABASES:
        if is_file(folder / name):
            copy_database(folder / name, to / name)
    _check_audit(to)
    _settle_anchor(folder, to, audited=audited)
    _settle_counts(folder, to)
    for name in _FOLDERS:
        _copy_folder(folder / name, to / name)


def _copy_folder(folder: Path, to: Path) -> None:
    """Copy uploads, or what was set aside, after the catalog; a file added meanwhile is ingested at the next refresh.
    Hidden files and folders are incomplete, and are left out.
    """
    if is_dir(folder):
        hidden = shutil.ignore_patterns(".*")
        shutil.copytree(folder, to, ignore=hidden, copy_function=_copied)


def _copied(file: str, to: str) -> None:
    with suppress(FileNotFoundError):  # deleted since it was listed
        os.close(open_regular(file))
        shutil.copy2(file, to)


def _check_audit(folder: Path) -> None:
    """Check that the copied audit log would be accepted when the copy is opened."""
    if HeadFile(folder / "audit.head").text():
        with closing(AuditLog(folder)) as audit:
            audit.head()


def _settle_anchor(folder: Path, copy: Path, *, audited: bool) -> None:
    """Set the head of the audit that the copied catalog knows to the end of the copied audit, which was copied earlier.

    Raises:
        CatalogUnavailable: the library's own audit is gone, or does not continue that head.
    """
    if not audited:
        return
    writer = connect_writer(copy / "catalog.db")
    try:
        with translated("copying the head of the audit"), writer.begin() as connection:
            known = anchored(connection)
            if known is None:
                return
            end = _continued(folder, known), _continued(copy, known, whole=False)
            put_back(connection, end[1] or known)
    finally:
        writer.dispose()


def _settle_counts(folder: Path, copy: Path) -> None:
    """Set the state of the counts that the copied catalog knows to that of the copied counts, which were copied earlier.

    Raises:
        CatalogUnavailable: the library's own counts are gone, or are others than it knows.
    """
    writer = connect_writer(copy / "catalog.db")
    try:
        with translated("copying the state of the counts"), writer.begin() as connection:
            known = task_anchor(connection)
            if known is None:
                return
            check_file(folder / "tasks.db", known)
            if not is_file(copy / "tasks.db"):  # made since
                put_task_anchor(connection, None)
                return
            counts = connect_writer(copy / "tasks.db")
            try:
                with reading(counts, "copying the state of the counts") as copied:
                    put_task_anchor(connection, state_of(copied))
            finally:
                counts.dispose()
    finally:
        writer.dispose()


def _continued(folder: Path, known: Head, *, whole: bool = True) -> Head | None:
    """The last record of the audit in a folder where it comes before a known one, else None; with `whole`,
    CatalogUnavailable instead.
    """
    place = AuditFiles(folder)
    try:
        if place.gone():
            raise audit_gone(known)
        with ours("reading the audit"), reading(place.reader, "reading the audit") as connection:
            if not whole and not continues(connection, known):
                return last_head(connection)
            check_continues(connection, known, "the catalog")
    finally:
        place.close()
    return None
