"""Folders of object stores, file servers and archives, through the file systems of fsspec.

A file's version is its etag, checksum or generation, or else its size and time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import PurePosixPath
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

from wenyuan.connectors import ConnectorSettings, check_host
from wenyuan.connectors.archives import Archive, Bounds
from wenyuan.core.addresses import escaped_path
from wenyuan.core.connectors import LIBRARY_SETTINGS, Entry, Known, ListingCut, Opening
from wenyuan.core.errors import ConfigError, DocumentRejected, KnowledgeError, SourceError, msg
from wenyuan.runtime import BoundedCalls, CallTimedOut, install_command, own_pip
from wenyuan.settings import VariableName, declared

T = TypeVar("T")
_VERSIONS = ("ETag", "etag", "e_tag", "checksum", "md5Hash", "content_md5", "generation", "sha", "CRC", "chksum")
_TIMES = ("LastModified", "last_modified", "mtime", "modified", "modify", "updated", "created")
_MOST_DEPTH = 50
_ENTRIES_OF_A_FILE = 10


class FilesSettings(ConnectorSettings):
    """Settings of a folder read through fsspec. Names that end in ``_env`` name environment variables.

    Attributes:
        key_env, secret_env: Of ``s3``, ``oss`` and ``az``: the access key and its secret; of ``az`` the key alone. Without
            them, what is public is read, and no credentials of this machine are used.
        token_env: A session token, a service account as JSON (``gs``), a SAS token (``az``), a token (``github``).
        user, password_env: Of ``sftp``, ``ftp``, ``webdav``, ``smb``.
        insecure: Allow sending a password to an unauthenticated server: ``ftp`` and ``webdav`` are not encrypted, and
            the driver of ``sftp`` takes whatever host key it is shown.
        endpoint: The address of another store that speaks the same protocol (``s3``, ``oss``).
        account, region, branch: Of ``az``; of ``s3``; of ``github``.
        exclude: Patterns of paths that are left out.
        max_files: Files that are listed in one run; ten times as many entries of folders are looked at.
        max_mb: Megabytes that an archive may have which is fetched from elsewhere.
        max_minutes: Minutes that one listing may take.
    """

    key_env: VariableName | None = None
    secret_env: VariableName | None = None
    token_env: VariableName | None = None
    user: str = ""
    password_env: VariableName | None = None
    insecure: bool = False
    endpoint: str = ""
    account: str = ""
    region: str = ""
    branch: str = ""
    exclude: list[str] = Field(default_factory=list, max_length=1_000)
    max_files: int = Field(default=100_000, ge=1, le=1_000_000)
    max_mb: int = Field(default=500, ge=1, le=10_000)
    max_minutes: float = Field(default=120.0, gt=0, le=1_440)


@dataclass(frozen=True, slots=True)
class _Secrets:
    """The values of the environment variables named in the settings; ``""`` where none is named."""

    key: str = ""
    secret: str = ""
    token: str = ""
    password: str = ""


def open_folder(opening: Opening) -> Folder | Archive:
    """Open a folder or an archive; it connects only when that is listed.

    Raises:
        ConfigError: a setting is wrong, or a library is not installed.
    """
    settings = declared(FilesSettings, opening.source, apart=LIBRARY_SETTINGS)
    names = (settings.key_env, settings.secret_env, settings.token_env, settings.password_env)
    secrets = _Secrets(*(opening.secret(name) if name else "" for name in names))
    for part in _chain(opening.url):
        scheme = _scheme(part)
        if scheme not in _DRIVERS and not (scheme == "file" and opening.url != part):
            raise ConfigError(
                msg("{scheme}:// cannot stand in an address of a source", scheme=scheme), component=opening.component
            )
    try:
        import fsspec

        for part in _chain(opening.url):
            fsspec.get_filesystem_class(_protocol(part))
    except ImportError as error:
        raise _missing(opening, error) from error
    if _scheme(opening.url) in ("zip", "tar"):
        return _archive(opening, settings, secrets)
    return Folder(opening, settings, secrets)


def _archive(opening: Opening, settings: FilesSettings, secrets: _Secrets) -> Archive:
    inner, *_, place = _chain(_for_fsspec(opening.url))
    local = _scheme(place) == "file"
    lies = replace(opening, source=replace(opening.source, path=place))
    return Archive(
        opening,
        place.removeprefix("file://") if local else Folder(lies, settings, secrets),
        kind=_scheme(inner),
        below=inner.partition("://")[2],
        left_out=partial(_left_out, settings),
        shown=lambda name: _shown(opening, settings, name, name),
        bounds=Bounds(max_files=settings.max_files, max_mb=settings.max_mb, max_minutes=settings.max_minutes),
    )


def _missing(opening: Opening, error: ImportError) -> ConfigError:
    if error.name in ("fsspec", None) and "fsspec" in str(error):
        return ConfigError(
            "reading this address needs fsspec, which is not installed",
            component=opening.component,
            hint=install_command("connectors"),
        )
    needed = " ".join(dict.fromkeys(filter(None, (_DRIVERS.get(_scheme(part), "") for part in _chain(opening.url)))))
    return ConfigError(
        msg("reading {scheme}:// needs a driver that is not installed", scheme=_scheme(opening.url)),
        component=opening.component,
        hint=" ".join((*own_pip(), "install", needed)),
    )


class Folder:
    """The files below an fsspec address; made by `open_folder`."""

    def __init__(self, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> None:
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
            for part in _chain(url):
                options[_protocol(part)] = _options(part, self._opening, self._settings, self._secrets)
            self._opened = self._call(lambda: _opened(fsspec, url, options))
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
            uri=_shown(self._opening, self._settings, path, key),
            name=PurePosixPath(key).name,
            version=_version(info),
            size=size if isinstance(size, int) else None,
        )


def _left_out(settings: FilesSettings, path: str) -> bool:
    hidden = any(part.startswith(".") and part != ".." for part in path.split("/"))
    return hidden or any(fnmatchcase(path, pattern) for pattern in settings.exclude)


def _opened(fsspec: Any, url: str, options: Mapping[str, Mapping[str, Any]]) -> tuple[Any, str]:
    """The file system of an address and the path in it, not shared with fsspec's instance cache."""
    fs, root = fsspec.core.url_to_fs(_for_fsspec(url), **options, skip_instance_cache=True, use_listings_cache=False)
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


# Which file systems there are, and what each is told.


_DRIVERS = {
    "s3": "s3fs", "oss": "ossfs", "gs": "gcsfs", "az": "adlfs", "sftp": "paramiko", "webdav": "webdav4[fsspec]",
    "webdavs": "webdav4[fsspec]", "smb": "smbprotocol", "github": "requests", "ftp": "", "zip": "", "tar": "",
    "memory": "",
}  # fmt: skip
"""Schemes, and the package that each needs beside fsspec."""

SCHEMES = tuple(_DRIVERS)
_PORTS = {"sftp": 22, "ftp": 21, "smb": 445, "webdav": 80, "webdavs": 443, "http": 80, "https": 443}


def _chain(url: str) -> Sequence[str]:
    return url.split("::")


def _scheme(part: str) -> str:
    return part.partition("://")[0].lower()


def _protocol(part: str) -> str:
    return "webdav" if _scheme(part) in ("webdav", "webdavs") else _scheme(part)


def _for_fsspec(url: str) -> str:
    """The address as fsspec takes it: ``zip:///srv/a.zip`` is ``zip://::file:///srv/a.zip`` there."""
    scheme, _, rest = url.partition("://")
    if scheme in ("zip", "tar") and "::" not in url:
        archive, _, inner = rest.partition("!")
        return f"{scheme}://{inner.strip('/')}::file://{archive}"
    return url


def _options(part: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> dict[str, Any]:
    """Options for a file system; hosts are checked before it connects to them."""
    maker = _MAKERS.get(_scheme(part))
    return maker(part, opening, settings, secrets) if maker else {}


def _s3(_: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> dict[str, Any]:
    _check_endpoint(opening, settings)
    client = {"endpoint_url": settings.endpoint or None, "region_name": settings.region or None}
    return {
        "anon": not secrets.key, "key": secrets.key or None, "secret": secrets.secret or None,
        "token": secrets.token or None, "client_kwargs": {name: value for name, value in client.items() if value},
    }  # fmt: skip


def _oss(_: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> dict[str, Any]:
    _check_endpoint(opening, settings)
    return {"key": secrets.key, "secret": secrets.secret, "token": secrets.token, "endpoint": settings.endpoint}


def _gs(_: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> dict[str, Any]:
    if not secrets.token:
        return {"token": "anon"}
    try:
        return {"token": json.loads(secrets.token)}
    except ValueError as error:
        raise ConfigError(
            "the variable of token_env must hold a service account as JSON", component=opening.component
        ) from error


def _az(_: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> dict[str, Any]:
    said = {"account_name": settings.account, "account_key": secrets.key, "sas_token": secrets.token}
    return {name: value for name, value in said.items() if value} | {"anon": not (secrets.key or secrets.token)}


def _hosted(part: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> dict[str, Any]:
    scheme, parts = _scheme(part), urlsplit(part)
    port = parts.port or _PORTS[scheme]
    _check_password(scheme, opening, settings, secrets)
    check_host(opening, parts.hostname or "", port, settings.timeout)
    said = {"host": parts.hostname, "port": port, "username": settings.user, "password": secrets.password}
    own_keys = {"allow_agent": False, "look_for_keys": False} if scheme == "sftp" else {}  # of whoever runs this
    return {name: value for name, value in said.items() if value} | own_keys


def _webdav(part: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> dict[str, Any]:
    scheme, parts = _scheme(part), urlsplit(part)
    _check_password(scheme, opening, settings, secrets)
    check_host(opening, parts.hostname or "", parts.port or _PORTS[scheme], settings.timeout)
    secure = "https" if scheme == "webdavs" else "http"
    auth = (settings.user, secrets.password) if settings.user else None
    base = f"{secure}://{parts.netloc}"

    def stay(request: Any) -> None:
        """Refuse redirects, which the driver would follow to any host."""
        if _server(str(request.url)) != _server(base):
            raise SourceError(
                msg("it leads to {target}, on another host, which is refused", target=request.url),
                component=opening.component,
            )

    return {"base_url": base, "auth": auth, "trust_env": False, "event_hooks": {"request": [stay]}}


def _server(url: str) -> tuple[str, str, int | None]:
    """Protocol, host and port in normal form."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return (
        parts.scheme,
        host if host.isascii() else host.encode("idna").decode(),
        parts.port or _PORTS.get(parts.scheme),
    )


def _github(part: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> dict[str, Any]:
    owner, _, repo = part.partition("://")[2].strip("/").partition("/")
    said = {
        "org": owner, "repo": repo.partition("/")[0], "sha": settings.branch, "username": settings.user or "git",
        "token": secrets.token,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value and (secrets.token or name != "username")}


_MAKERS: Mapping[str, Callable[[str, Opening, FilesSettings, _Secrets], dict[str, Any]]] = {
    "s3": _s3, "oss": _oss, "gs": _gs, "az": _az, "sftp": _hosted, "ftp": _hosted, "smb": _hosted,
    "webdav": _webdav, "webdavs": _webdav, "github": _github,
}  # fmt: skip


def _check_password(scheme: str, opening: Opening, settings: FilesSettings, secrets: _Secrets) -> None:
    """Refuse to send a password to an unauthenticated server, unless the settings allow it."""
    if secrets.password and scheme in ("sftp", "ftp", "webdav") and not settings.insecure:
        raise ConfigError(
            msg("over {scheme}:// nothing proves that the password goes to the right server", scheme=scheme),
            component=opening.component, hint="set insecure: true where the network is trusted, or use webdavs:// or smb://",
        )  # fmt: skip


def _check_endpoint(opening: Opening, settings: FilesSettings) -> None:
    if settings.endpoint:
        parts = urlsplit(settings.endpoint)
        check_host(opening, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443), settings.timeout)


def _shown(opening: Opening, settings: FilesSettings, path: str, key: str) -> str:
    """The address of a file, as a link that people can open where one exists."""
    url = opening.url
    scheme = _scheme(url)
    if scheme in ("zip", "tar"):
        inner = escaped_path(path.lstrip("/"))
        rest = _for_fsspec(url).partition("::")[2]
        return f"{scheme}://{inner}::{rest}"
    base = url.rstrip("/")
    if not base.endswith(f"/{key}"):
        base = f"{base}/{key}"
    whole = f"{scheme}://{escaped_path(base.partition('://')[2])}"
    if scheme == "github":
        owner, repo, *steps = whole.partition("://")[2].split("/")
        return f"https://github.com/{owner}/{repo}/blob/{settings.branch or 'HEAD'}/{'/'.join(steps)}"
    return {"webdavs": "https", "webdav": "http"}.get(scheme, scheme) + whole[len(scheme) :]
