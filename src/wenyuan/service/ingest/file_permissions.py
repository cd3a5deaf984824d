"""Who may read the files of a source, as the place says where they lie: sidecar files, the permissions of files and folders,
and those that a connector knows.

What cannot be read lets nobody read, says so, and is tried again at the next run.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from wenyuan.core.addresses import file_uri
from wenyuan.core.connectors import Connector, Entry
from wenyuan.core.declared_readers import said_twice
from wenyuan.core.errors import ConfigError, InvalidRequest, KnowledgeError, msg
from wenyuan.core.model import Source
from wenyuan.core.principals import EVERYONE, NOBODY, AccessList, parse_access_list, parse_name
from wenyuan.core.source_readers import PERMISSIONS, readers_of
from wenyuan.runtime.regular import open_regular
from wenyuan.service.ingest.holdings import Holding
from wenyuan.service.ingest.local_files import LocalFile

SIDECAR = ".readers.yaml"
"""A file in a folder that says who may read what lies in it and below."""
ORIGINS = ("sidecar/", "permissions/")
"""What the origins of the lists that are read here begin with."""
MOST_BYTES = 32_768
"""Of a sidecar."""
_ACL = "system.posix_acl_access"
_FILE = (stat.S_IRUSR, stat.S_IRGRP, stat.S_IROTH)
_FOLDER = (stat.S_IXUSR, stat.S_IXGRP, stat.S_IXOTH)

Lists = Mapping[str, tuple[AccessList, str]]
"""By origin, a list, and why nobody may read, where it could not be read."""
Fail = Callable[[str, str], None]
"""``fail(address, reason)`` of what could not be read."""


class LocalPermissions:
    """The lists of files in a folder.

    Args:
        root: The source's folder or file: sidecars and folders above it say nothing.
        fail: Called once for each sidecar or file of which the permissions cannot be read.
    """

    def __init__(self, source: Source, root: Path, fail: Fail) -> None:
        self._root = root if root.is_dir() else root.parent
        self._permissions = PERMISSIONS in readers_of(source).origins
        self._fail = fail
        self._known: dict[Path, dict[str, tuple[AccessList, str]]] = {}

    def of(self, holding: Holding) -> Lists:
        """The lists of a file: its own, and those of the folders above it."""
        if not isinstance(holding, LocalFile):
            return {}
        found: dict[str, tuple[AccessList, str]] = {}
        for number, folder in enumerate(self._folders(holding.path)):
            found |= {f"{origin}{number}": told for origin, told in self._folder(folder).items()}
        if self._permissions:
            found["permissions/file"] = self._told(holding.path, lambda: permitted(holding.path, _FILE))
        return found

    def _folders(self, file: Path) -> Sequence[Path]:
        inner = Path(os.path.relpath(file.parent, self._root)).parts
        return (
            [self._root.joinpath(*inner[:count]) for count in range(len(inner) + 1)]
            if ".." not in inner
            else [self._root]
        )

    def _folder(self, folder: Path) -> Mapping[str, tuple[AccessList, str]]:
        if folder not in self._known:
            found = self._known[folder] = {}
            sidecar = folder / SIDECAR
            if os.path.lexists(sidecar):
                found["sidecar/"] = self._told(sidecar, lambda: read_sidecar(_content(sidecar)))
            if self._permissions:
                found["permissions/"] = self._told(folder, lambda: permitted(folder, _FOLDER))
        return self._known[folder]

    def _told(self, path: Path, read: Callable[[], AccessList]) -> tuple[AccessList, str]:
        try:
            return read(), ""
        except OSError as error:
            why = error.strerror or type(error).__name__
        except InvalidRequest as error:
            why = error.message[:300]
        said = msg("who may read it cannot be told, so nobody may: {why}", why=why)
        self._fail(file_uri(path.absolute()), said)
        return NOBODY, said


class ConnectorPermissions:
    """The lists of what a connector lists, as it knows them.

    Raises:
        ConfigError: on construction, where the connector knows none.
    """

    def __init__(self, source: Source, connector: Connector, fail: Fail) -> None:
        self._ask: Callable[[Entry], AccessList] | None = getattr(connector, "permissions", None)
        if self._ask is None:
            check_no_permissions(source)
        elif PERMISSIONS not in readers_of(source).origins:
            self._ask = None
        self._fail = fail

    def of(self, holding: Holding) -> Lists:
        """The lists of an entry."""
        if self._ask is None or holding.entry is None:
            return {}
        try:
            return {"permissions/file": (self._ask(holding.entry), "")}
        except KnowledgeError as error:
            why = error.message[:300]
        except Exception as error:
            why = type(error).__name__
        said = msg("who may read it cannot be told, so nobody may: {why}", why=why)
        self._fail(holding.uri, said)
        return {"permissions/file": (NOBODY, said)}


def check_no_permissions(source: Source) -> None:
    """Refuse a source that asks for permissions where nothing knows any.

    Raises:
        ConfigError: it does.
    """
    if PERMISSIONS in readers_of(source).origins:
        raise ConfigError(
            "nothing knows who may read what is listed there, so that settings.readers.from cannot be applied",
            component=f"source {source.source_id}",
            hint="leave permissions out of settings.readers.from, and say readers by settings.readers.documents",
        )


def _content(path: Path) -> bytes:
    with os.fdopen(open_regular(path), "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InvalidRequest(msg("it has more than {limit} bytes", limit=f"{MOST_BYTES:,}"))
    return content


def read_sidecar(content: bytes) -> AccessList:
    """The list that a sidecar file says: YAML with ``readers`` and ``deny``.

    Raises:
        InvalidRequest: it says none.
    """
    import yaml

    try:
        text = content.decode("utf-8-sig")
        if (
            any(mark in text for mark in ("&", "*", "{", "<", "!", "- -")) or text.count("[") > 2
        ):  # nothing expands or nests
            raise ValueError("it holds more than two lists")
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        raise InvalidRequest(msg("it is no list of readers: {why}", why=why)) from error
    if said_twice(text):
        raise InvalidRequest(msg("it is no list of readers: {why}", why="it says readers or deny twice"))
    if not isinstance(value, dict) or not value:
        raise InvalidRequest(msg("it is no list of readers: {why}", why="it has neither readers nor deny"))
    if any(one is None for one in value.values()):  # it was begun, and says nobody
        value = {key: [] if one is None else one for key, one in value.items()}
    return parse_access_list(value)


def permitted(path: Path, bits: tuple[int, int, int]) -> AccessList:
    """Who may read a file, or reach what is in a folder, by its owner, its group and its mode.

    Raises:
        OSError: that cannot be read.
        InvalidRequest: it has an access control list, which says more than that.
    """
    found = path.stat()
    try:
        if os.getxattr(path, _ACL):
            raise InvalidRequest("it has an access control list of its own, which is not read")
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.ENOTSUP):
            raise
    names = f"user:{_name_of_user(found.st_uid)}", f"group:{_name_of_group(found.st_gid)}", EVERYONE
    readers = set()
    for bit, name in zip(bits, names, strict=True):
        if found.st_mode & bit:
            try:
                readers.add(parse_name(name))
            except InvalidRequest:  # no key can be made for somebody of that name
                continue
    return AccessList(readers=frozenset(readers))


def _name_of_user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid-{number}"


def _name_of_group(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return f"gid-{number}"
