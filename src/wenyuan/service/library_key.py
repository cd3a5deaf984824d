"""The library's key for pseudonyms and for identities of addresses: made, known to the catalog by a hash, renewed when lost."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.catalog.identity import mark_of
from wenyuan.core.errors import ConfigError, InvalidRequest, msg
from wenyuan.runtime.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wenyuan.catalog.catalog import Catalog

_NAME = "pseudonym.key"
_LOST = "restore it from a backup; or, if there is none, go on with a new key: wenyuan doctor --new-key"


def library_key(folder: Path) -> bytes:
    """The library's pseudonym key: 32 random bytes in ``pseudonym.key``, created on first use, readable by the owner
    only.

    The file is there whole or not at all, wherever its making is cut off; of several processes that make it one wins.

    Raises:
        ConfigError: it cannot be written, or is damaged.
    """
    path = folder / _NAME
    if not path.exists():
        try:
            _make_key(path)
        except OSError as error:
            raise ConfigError(msg("cannot write {path}: {strerror}", path=path, strerror=error.strerror)) from error
    try:
        key = read_regular(path, 1 << 20)
    except OSError as error:
        raise ConfigError(
            msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror), hint=_LOST
        ) from error
    if len(key) != 32:
        raise ConfigError(
            msg("{path} is damaged: {count} bytes, not 32", path=path, count=len(key)),
            hint=_LOST,
        )
    return key


def marked_key(catalog: Catalog, folder: Path) -> bytes:
    """As `library_key`, for a library: its catalog knows the key by a hash, so that none is put in its place.

    Raises:
        ConfigError: as `library_key`; or the key with which documents were taken in is gone, or is another one.
    """
    mark = catalog.key_mark()
    path = folder / _NAME
    if mark and not os.path.lexists(path):
        raise ConfigError(msg("{path} is missing", path=path), component="redaction", hint=_LOST)
    key = library_key(folder)
    found = mark_of(key)
    if mark and mark != found:
        raise ConfigError(
            msg("{path} is not the key that the catalog knows: one of them is another library's", path=path),
            component="redaction",
            hint=_LOST,
        )
    if not mark:
        catalog.mark_key(found)
    return key


def _make_key(path: Path, *, over: bool = False) -> None:
    """Make the key; `over`: in the place of what is there."""
    handle, made = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)  # for the owner alone
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        if over:
            Path(made).replace(path)
        else:
            with suppress(FileExistsError):  # another process was first
                os.link(made, path)
    finally:
        Path(made).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLoss:
    """What a library cannot do any more once its key was renewed.

    Attributes:
        sources: Whose texts hold pseudonyms of the former key. They are read again at their next refresh; until then, and
            where their files are gone, one value has two pseudonyms.
        addresses: Documents whose address redaction changes. What is stored of it is mostly made with the key, so they
            are taken in anew under another one at the next refresh.
        corrections: Of these documents; they are of addresses that will not come again.
    """

    sources: tuple[str, ...]
    addresses: int
    corrections: int


def check_lost(catalog: Catalog, folder: Path) -> None:
    """Raise InvalidRequest unless the key that the catalog knows is gone, damaged or another one."""
    if catalog.pseudonym_key():
        raise InvalidRequest("the key of this library lies in its database, and is there")
    mark = catalog.key_mark()
    with suppress(OSError):
        key = read_regular(folder / _NAME, 1 << 20)
        if not mark or (len(key) == 32 and mark_of(key) == mark):
            raise InvalidRequest("the key is the one that the catalog knows: nothing is to be renewed")


def new_key(catalog: Catalog, folder: Path, sources: Sequence[str]) -> KeyLoss:
    """Put a new key in the place of one that is lost.

    Args:
        sources: Whose texts hold pseudonyms.

    Raises:
        ConfigError: it cannot be written.
        CatalogError: the catalog cannot be changed; the next attempt makes another key.
    """
    path = folder / _NAME
    with catalog.indexing(), catalog.writing():  # nobody takes a source in with the former key
        try:
            _make_key(path, over=True)
        except OSError as error:
            raise ConfigError(msg("cannot write {path}: {strerror}", path=path, strerror=error.strerror)) from error
        addresses, corrections = catalog.renew_key_mark(mark_of(library_key(folder)))
    return KeyLoss(sources=tuple(sources), addresses=addresses, corrections=corrections)
