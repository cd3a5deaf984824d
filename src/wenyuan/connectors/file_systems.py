"""Which file systems there are, and what each is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from wenyuan.connectors.connector_settings import check_host
from wenyuan.connectors.files_settings import FilesSettings, Secrets
from wenyuan.core.addresses import escaped_path
from wenyuan.core.connectors import Opening
from wenyuan.core.errors import ConfigError, SourceError, msg

DRIVERS = {
    "s3": "s3fs", "oss": "ossfs", "gs": "gcsfs", "az": "adlfs", "sftp": "paramiko", "webdav": "webdav4[fsspec]",
    "webdavs": "webdav4[fsspec]", "smb": "smbprotocol", "github": "requests", "ftp": "", "zip": "", "tar": "",
    "memory": "",
}  # fmt: skip
"""Schemes, and the package that each needs beside fsspec."""

SCHEMES = tuple(DRIVERS)
_PORTS = {"sftp": 22, "ftp": 21, "smb": 445, "webdav": 80, "webdavs": 443, "http": 80, "https": 443}


def chain(url: str) -> Sequence[str]:
    return url.split("::")


def scheme_of(part: str) -> str:
    return part.partition("://")[0].lower()


def protocol(part: str) -> str:
    return "webdav" if scheme_of(part) in ("webdav", "webdavs") else scheme_of(part)


def for_fsspec(url: str) -> str:
    """The address as fsspec takes it: ``zip:///srv/a.zip`` is ``zip://::file:///srv/a.zip`` there."""
    scheme, _, rest = url.partition("://")
    if scheme in ("zip", "tar") and "::" not in url:
        archive, _, inner = rest.partition("!")
        return f"{scheme}://{inner.strip('/')}::file://{archive}"
    return url


def options_of(part: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> dict[str, Any]:
    """Options for a file system; hosts are checked before it connects to them."""
    maker = _MAKERS.get(scheme_of(part))
    return maker(part, opening, settings, secrets) if maker else {}


def _s3(_: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> dict[str, Any]:
    _check_endpoint(opening, settings)
    client = {"endpoint_url": settings.endpoint or None, "region_name": settings.region or None}
    return {
        "anon": not secrets.key, "key": secrets.key or None, "secret": secrets.secret or None,
        "token": secrets.token or None, "client_kwargs": {name: value for name, value in client.items() if value},
    }  # fmt: skip


def _oss(_: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> dict[str, Any]:
    _check_endpoint(opening, settings)
    return {"key": secrets.key, "secret": secrets.secret, "token": secrets.token, "endpoint": settings.endpoint}


def _gs(_: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> dict[str, Any]:
    if not secrets.token:
        return {"token": "anon"}
    try:
        return {"token": json.loads(secrets.token)}
    except ValueError as error:
        raise ConfigError(
            "the variable of token_env must hold a service account as JSON", component=opening.component
        ) from error


def _az(_: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> dict[str, Any]:
    said = {"account_name": settings.account, "account_key": secrets.key, "sas_token": secrets.token}
    return {name: value for name, value in said.items() if value} | {"anon": not (secrets.key or secrets.token)}


def _hosted(part: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> dict[str, Any]:
    scheme, parts = scheme_of(part), urlsplit(part)
    port = parts.port or _PORTS[scheme]
    _check_password(scheme, opening, settings, secrets)
    check_host(opening, parts.hostname or "", port, settings.timeout)
    said = {"host": parts.hostname, "port": port, "username": settings.user, "password": secrets.password}
    own_keys = {"allow_agent": False, "look_for_keys": False} if scheme == "sftp" else {}  # of whoever runs this
    return {name: value for name, value in said.items() if value} | own_keys


def _webdav(part: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> dict[str, Any]:
    scheme, parts = scheme_of(part), urlsplit(part)
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


def _github(part: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> dict[str, Any]:
    owner, _, repo = part.partition("://")[2].strip("/").partition("/")
    said = {
        "org": owner, "repo": repo.partition("/")[0], "sha": settings.branch, "username": settings.user or "git",
        "token": secrets.token,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value and (secrets.token or name != "username")}


_MAKERS: Mapping[str, Callable[[str, Opening, FilesSettings, Secrets], dict[str, Any]]] = {
    "s3": _s3, "oss": _oss, "gs": _gs, "az": _az, "sftp": _hosted, "ftp": _hosted, "smb": _hosted,
    "webdav": _webdav, "webdavs": _webdav, "github": _github,
}  # fmt: skip


def _check_password(scheme: str, opening: Opening, settings: FilesSettings, secrets: Secrets) -> None:
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


def file_link(opening: Opening, settings: FilesSettings, path: str, key: str) -> str:
    """The address of a file, as a link that people can open where one exists."""
    url = opening.url
    scheme = scheme_of(url)
    if scheme in ("zip", "tar"):
        inner = escaped_path(path.lstrip("/"))
        rest = for_fsspec(url).partition("::")[2]
        return f"{scheme}://{inner}::{rest}"
    base = url.rstrip("/")
    if not base.endswith(f"/{key}"):
        base = f"{base}/{key}"
    whole = f"{scheme}://{escaped_path(base.partition('://')[2])}"
    if scheme == "github":
        owner, repo, *steps = whole.partition("://")[2].split("/")
        return f"https://github.com/{owner}/{repo}/blob/{settings.branch or 'HEAD'}/{'/'.join(steps)}"
    return {"webdavs": "https", "webdav": "http"}.get(scheme, scheme) + whole[len(scheme) :]
