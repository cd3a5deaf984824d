"""Folders of object stores, file servers and archives, through the file systems of fsspec.

A file's version is its etag, checksum or generation, or else its size and time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import PurePosixPath
from typing import Any, TypeVar

from wenyuan.connectors.archives import Archive, ListingBounds
from wenyuan.connectors.file_systems import DRIVERS, chain, file_link, for_fsspec, options_of, protocol, scheme_of
from wenyuan.connectors.files_settings import FilesSettings, Secrets
from wenyuan.core.connectors import LIBRARY_SETTINGS, Entry, Known, ListingCut, Opening
from wenyuan.core.errors import ConfigError, DocumentRejected, KnowledgeError, SourceError, msg
from wenyuan.runtime.bounded_calls import BoundedCalls, CallTimedOut
from wenyuan.runtime.installation import install_command, own_pip
from wenyuan.settings import declared

T = TypeVar("T")
_VERSIONS = ("ETag", "etag", "e_tag", "checksum", "md5Hash", "content_md5", "generation", "sha", "CRC", "chksum")
_TIMES = ("LastModified", "last_modified", "mtime", "modified", "modify", "updated", "created")
_MOST_DEPTH = 50
_ENTRIES_OF_A_FILE = 10


def open_folder(opening: Opening) -> Folder | Archive:
    """Open a folder or an archive; it connects only when that is listed.

    Raises:
        ConfigError: a setting is wrong, or a library is not installed.
    """
    settings = declared(FilesSettings, opening.source, apart=LIBRARY_SETTINGS)
    names = (settings.key_env, settings.secret_env, settings.token_env, settings.password_env)
    secrets = Secrets(*(opening.secret(name) if name else "" for name in names))
    for part in chain(opening.url):
        scheme = scheme_of(part)
        if scheme not in DRIVERS and not (scheme == "file" and opening.url != part):
            raise ConfigError(
                msg("{scheme}:// cannot stand in an address of a source", scheme=scheme), component=opening.component
            )
    try:
        import fsspec

        for part in chain(opening.url):
            fsspec.get_filesystem_class(protocol(part))
    except ImportError as error:
        raise _missing(opening, error) from error
    if scheme_of(opening.url) in ("zip", "tar"):
        return _archive(opening, settings, secrets)
    return Folder(opening, settings, secrets)


def _archive(opening: Opening, settings: FilesSettings, secrets: Secrets) -> Archive:
    inner, *_, place = chain(for_fsspec(opening.url))
    local = scheme_of(place) == "file"
    lies = replace(opening, source=replace(opening.source, path=place))
    return Archive(
        opening,
        place.removeprefix("file://") if local else Folder(lies, settings, secrets),
        kind=scheme_of(inner),
        below=inner.partition("://")[2],
        left_out=partial(_left_out, settings),
        shown=lambda name: file_link(opening, settings, name, name),
        bounds=ListingBounds(max_files=settings.max_files, max_mb=settings.max_mb, max_minutes=settings.max_minutes),
    )


def _missing(opening: Opening, error: ImportError) -> ConfigError:
    if error.name in ("fsspec", None) and "fsspec" in str(error):
        return ConfigError(
            "reading this address needs fsspec, which is not installed",
            component=opening.component,
            hint=install_command("connectors"),
        )
    needed = " ".join(dict.fromkeys(filter(None, (DRIVERS.get(scheme_of(part), "") for part in chain(opening.url)))))
    return ConfigError(
        msg("reading {scheme}:// needs a driver that is not installed", scheme=scheme_of(opening.url)),
        component=opening.component,
        hint=" ".join((*own_pip(), "install", needed)),
    )


class Folder:
    """The files below an fsspec address; made by `open_folder`."""

    def __init__(self, opening: Opening, settings: FilesSettings, secrets: Secrets) -> None:
        self._opening, self._settings, self._secrets = opening, settings, secrets
        self._component = opening.component
        self._calls = BoundedCalls(4, "wenyuan-files")
        self._opened: tuple[Any, str] | None = None

    def list(self, known: Known) -> Iterator[Entry]:
        """The files, folder by folder, without hidden ones."""
        fs, root = self._open()
        told = self._call(lambda: fs.info(root))
        if told.get("type") == "file":
            yield self._entry(fs, root, PurePosixPath(root).name, told)
            return
        listed, too_deep, seen, until = 0, "", 0, time.monotonic() + self._settings.max_minutes * 60
        todo = [(root, 0)]
        while todo:
            folder, depth = todo.pop()
            if time.monotonic() > until:
                told = msg(
                    "stopped after {count} minutes (settings.max_minutes)", count=f"{self._settings.max_minutes:g}"
                )
                raise ListingCut(told, component=self._component)
            found = self._call(partial(fs.ls, folder, detail=True))
            for info in sorted(found, key=lambda one: str(one["name"])):
                name = str(info["name"])
                seen += 1
                below = name.removeprefix(root).strip("/")
                if not below or name.rstrip("/") == folder.rstrip("/") or _left_out(self._settings, below):
                    continue
                if info.get("type") == "directory" and seen <= _ENTRIES_OF_A_FILE * self._settings.max_files:
                    if depth < _MOST_DEPTH:
                        todo.append((name, depth + 1))
                    else:
                        too_deep = below
                    continue
                if listed >= self._settings.max_files or seen > _ENTRIES_OF_A_FILE * self._settings.max_files:
                    raise ListingCut(
                        msg("stopped after {count} files (settings.max_files)", count=listed),
                        component=self._component,
                    )
                listed += 1
                yield self._entry(fs, name, below, info)
        if too_deep:
            raise ListingCut(
                msg(
                    "folders more than {depth} deep were not looked into, {name} for one",
                    depth=_MOST_DEPTH,
                    name=too_deep,
                ),
                component=self._component,
            )

    def fetch(self, entry: Entry, most: int) -> bytes:
        """The content of a file, of which at most `most` bytes are read."""
        fs, root = self._open()
        path = (
            root
            if entry.key == PurePosixPath(root).name and self._is_file(fs, root)
            else f"{root.rstrip('/')}/{entry.key}"
        )

        def read() -> bytes:
            with fs.open(path, "rb") as file:
                found: bytes = file.read(most + 1)
                return found

        try:
            content = self._calls.run(read, self._settings.timeout)
        except (FileNotFoundError, KeyError) as error:
            raise DocumentRejected("it is no longer there", component=entry.name) from error
        except PermissionError as error:
            raise DocumentRejected("reading it is not permitted", component=entry.name) from error
        except CallTimedOut as error:
            raise DocumentRejected("no answer in time", component=entry.name) from error
        except KnowledgeError:
            raise
        except Exception as error:
            told = msg("it cannot be fetched ({kind})", kind=type(error).__name__)
            raise DocumentRejected(told, component=entry.name) from error
        if len(content) > most:
            raise DocumentRejected(msg("it is larger than {most} bytes", most=f"{most:,}"), component=entry.name)
        return content

    def version(self) -> str:
        """Of the file at this address; ``""`` where none is known."""
        fs, path = self._open()
        return _version(self._call(lambda: fs.info(path)))

    def pieces(self, size: int) -> Iterator[bytes]:
        """The bytes of the file at this address."""
        fs, path = self._open()
        file = self._call(lambda: fs.open(path, "rb"))
        try:
            while piece := self._call(lambda: file.read(size)):
                yield bytes(piece)
        finally:
            self._call(file.close)

    def close(self) -> None:
        self._opened = None

    def _open(self) -> tuple[Any, str]:
        if self._opened is None:
            import fsspec

            url, options = self._opening.url, {}
            for part in chain(url):
                options[protocol(part)] = options_of(part, self._opening, self._settings, self._secrets)
            self._opened = self._call(lambda: _open_file_system(fsspec, url, options))
        return self._opened

    def _call(self, call: Callable[[], T]) -> T:
        """The result of a file system call. Its exceptions may contain credentials, so only their type is reported."""
        try:
            return self._calls.run(call, self._settings.timeout)
        except KnowledgeError:
            raise
        except FileNotFoundError as error:
            raise SourceError(
                msg("there is nothing at {url}", url=self._opening.url), component=self._component
            ) from error
        except PermissionError as error:
            raise SourceError("reading it is not permitted", component=self._component) from error
        except CallTimedOut as error:
            raise SourceError("no answer in time", component=self._component) from error
        except Exception as error:
            raise SourceError(
                msg("it cannot be listed ({kind})", kind=type(error).__name__), component=self._component
            ) from error

    def _is_file(self, fs: Any, path: str) -> bool:
        return bool(self._call(lambda: fs.info(path)).get("type") == "file")

    def _entry(self, fs: Any, path: str, key: str, info: Mapping[str, Any]) -> Entry:
        size = info.get("size")
        return Entry(
            key=key,
            uri=file_link(self._opening, self._settings, path, key),
            name=PurePosixPath(key).name,
            version=_version(info),
            size=size if isinstance(size, int) else None,
        )


def _left_out(settings: FilesSettings, path: str) -> bool:
    hidden = any(part.startswith(".") and part != ".." for part in path.split("/"))
    return hidden or any(fnmatchcase(path, pattern) for pattern in settings.exclude)


def _open_file_system(fsspec: Any, url: str, options: Mapping[str, Mapping[str, Any]]) -> tuple[Any, str]:
    """The file system of an address and the path in it, not shared with fsspec's instance cache."""
    fs, root = fsspec.core.url_to_fs(for_fsspec(url), **options, skip_instance_cache=True, use_listings_cache=False)
    return fs, str(root)


def _version(info: Mapping[str, Any]) -> str:
    for name in _VERSIONS:
        if info.get(name) not in (None, "", b""):
            return f"{name} {info[name]}"[:300]
    for name in _TIMES:
        at = info.get(name)
        if isinstance(at, (datetime, date)):
            return f"{info.get('size')} {at.isoformat()}"
        if isinstance(at, (int, float, str)) and at != "":
            return f"{info.get('size')} {at}"
    if "date_time" in info:
        return f"{info.get('size')} {info['date_time']}"
    return ""
