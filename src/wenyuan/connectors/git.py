"""A Git repository at a branch: each file is an entry; its version is the id of its blob.

Nothing is fetched while the branch is at the commit of the last run. Else its newest commit is fetched alone, without
history, into a temporary folder. A local repository is read in place.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field

from wenyuan.connectors.connector_settings import ConnectorSettings, guarded_socket
from wenyuan.connectors.git_faults import check_id
from wenyuan.connectors.objects import ENTRIES_OF_A_FILE
from wenyuan.core.addresses import escaped_path, legible
from wenyuan.core.connectors import LIBRARY_SETTINGS, Entry, Known, ListingCut, Opening
from wenyuan.core.errors import ConfigError, DocumentRejected, KnowledgeError, SourceError, msg
from wenyuan.runtime.installation import install_command
from wenyuan.settings import VariableName, declared

_OBJECTS = "wenyuan.connectors.objects"
_MOST_REFS = 20  # megabytes of the answer that names the branches
_UNPACKED = 10  # how many times max_mb all objects together may unpack to
_PAGES = {
    "github.com": "/blob/{branch}/{path}",
    "gitee.com": "/blob/{branch}/{path}",
    "gitlab.com": "/-/blob/{branch}/{path}",
    "bitbucket.org": "/src/{branch}/{path}",
    "codeberg.org": "/src/branch/{branch}/{path}",
}
"""Where well-known sites show a file."""


class GitSettings(ConnectorSettings):
    """Settings of a Git repository.

    Attributes:
        token_env: The environment variable of a token or password; sent to the repository's host alone.
        user: The name beside it; most sites take any.
        web: The address of a file for people, with ``{branch}``, ``{commit}`` and ``{path}``.
        exclude: Patterns of paths that are left out.
        max_files: Files that are listed in one run; ten times as many entries of trees are looked at.
        max_mb: Megabytes that the newest commit may take, and each object of it unpacked; all of them ten times as much.
        max_minutes: Minutes that asking for it, fetching and checking it may take together.
    """

    token_env: VariableName | None = None
    user: str = "git"
    web: str = Field(default="", max_length=2_000, pattern=r"^$|^https?://([^{}]|\{(branch|commit|path)\})+$")
    exclude: list[str] = Field(default_factory=list, max_length=1_000)
    max_files: int = Field(default=100_000, ge=1, le=1_000_000)
    max_mb: int = Field(default=500, ge=1, le=10_000)
    max_minutes: float = Field(default=30.0, gt=0, le=600)


def open_repository(opening: Opening) -> Repository:
    """A repository; its address is ``git+https://host/repo.git#branch=main&path=docs``.

    Raises:
        ConfigError: a setting is wrong, or dulwich is not installed.
    """
    try:
        import dulwich  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            "reading Git repositories needs dulwich, which is not installed",
            component=opening.component,
            hint=install_command("git"),
        ) from error
    settings = declared(GitSettings, opening.source, apart=LIBRARY_SETTINGS)
    token = opening.secret(settings.token_env) if settings.token_env else ""
    return Repository(opening, settings, token)


class Repository:
    """The files of a branch; made by `open_repository`."""

    def __init__(self, opening: Opening, settings: GitSettings, token: str) -> None:
        self._opening, self._settings, self._token = opening, settings, token
        self._component = opening.component
        parts = urlsplit(opening.url)
        said = dict(parse_qsl(parts.fragment))
        unknown = said.keys() - {"branch", "path"}
        if unknown:
            raise ConfigError(
                msg("behind # stand branch= and path=, not {names}", names=", ".join(sorted(unknown))),
                component=self._component,
            )
        self._branch, self._below = said.get("branch", ""), said.get("path", "").strip("/")
        self._local = parts.scheme == "git+file"
        self._host, self._path = parts.netloc, unquote(parts.path)
        self._url = f"{parts.scheme.removeprefix('git+')}://{parts.netloc}{parts.path}"
        self._kept: dict[str, tempfile.TemporaryDirectory[str]] = {}  # by the commit that was fetched
        self._until = 0.0

    def list(self, known: Known) -> Iterator[Entry]:
        """The files of the branch's newest commit; the known entries, where that commit was read in the last run."""
        commit, branch = self._newest()
        if self._as_before(known, commit):
            yield from known.entries.values()
            return
        told = self._looked(
            "files_of", folder=self._folder(commit), commit=commit, branch=branch, below=self._below, exclude=self._settings.exclude,
            most=self._settings.max_files,
        )  # fmt: skip
        found = [(PurePosixPath(legible(path)), sha) for path, sha in told["files"]]
        unread = sorted({path.suffix.lower() for path, _ in found if not self._opening.readable(path.name)})[:200]
        note = json.dumps({"commit": commit, "choice": self._choice(), "unread": unread})
        for path, sha in found:
            whole = f"{self._below}/{path}".lstrip("/")
            yield Entry(
                key=str(path), uri=self._shown(whole, branch, commit), name=path.name, version=sha, note=note,
                facts={"commit": commit},
            )  # fmt: skip
        if told["cut"]:
            raise ListingCut(
                msg("stopped after {count} files (settings.max_files)", count=len(found)), component=self._component
            )

    def fetch(self, entry: Entry, most: int) -> bytes:
        """The content of a file at the listed commit."""
        commit = json.loads(entry.note)["commit"] if entry.note else self._newest()[0]
        asked = {"folder": self._folder(commit), "sha": entry.version, "path": entry.key, "most": most}
        content = self._opening.parse(f"{_OBJECTS}:blob_of", b"", asked, name=entry.name)
        return base64.b64decode(content)

    def close(self) -> None:
        for kept in self._kept.values():
            kept.cleanup()
        self._kept.clear()

    # -- what is listed ----------------------------------------------------------------------------------

    def _choice(self) -> str:
        """Identifies the path and excludes; when these change, all files are listed anew."""
        said = json.dumps([self._opening.url, self._settings.exclude, self._settings.web])
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def _as_before(self, known: Known, commit: str) -> bool:
        notes = {entry.note for entry in known.entries.values()}
        if not known.complete or len(notes) != 1:
            return False
        note = json.loads(notes.pop())
        kinds = (f"x{suffix}" for suffix in note["unread"])
        return (note["commit"], note["choice"]) == (commit, self._choice()) and not any(
            map(self._opening.readable, kinds)
        )

    def _shown(self, path: str, branch: str, commit: str) -> str:
        where = {"branch": escaped_path(branch), "commit": commit, "path": escaped_path(path)}
        if self._settings.web:
            return self._settings.web.format(**where)
        bare = self._url.removesuffix("/").removesuffix(".git")
        if page := _PAGES.get(self._host.lower()):
            return bare + page.format(**where)
        return f"git+{escaped_path(self._url)}@{where['branch']}/{where['path']}"

    # -- the repository ----------------------------------------------------------------------------------

    def _newest(self) -> tuple[str, str]:
        """The branch's newest commit, and the branch's name."""
        self._until = time.monotonic() + self._settings.max_minutes * 60
        if self._local:
            told = self._looked("branches", folder=self._path)
            refs, head = told["refs"], told["head"]
        else:
            limit = self._limit(_MOST_REFS)
            with _Translated(self._component):
                named = self._client(limit).get_refs(self._path.encode())
            refs = {name.decode("utf-8", "surrogateescape"): sha.decode() for name, sha in named.refs.items() if sha}
            head = named.symrefs.get(b"HEAD", b"").decode("utf-8", "surrogateescape")
        name = f"refs/heads/{self._branch}" if self._branch else head or "HEAD"
        sha = refs.get(name)
        if sha is None:
            raise SourceError(
                msg("the repository has no branch {branch}", branch=repr(self._branch or "HEAD")),
                component=self._component,
            )
        try:
            check_id(sha, name, self._path if self._local else "")
        except DocumentRejected as error:
            raise SourceError(error.message, component=self._component, hint=error.hint) from error
        return sha, name.removeprefix("refs/heads/")

    def _folder(self, commit: str) -> str:
        """The folder of a repository that has a commit; what is not of this machine is fetched first."""
        if self._local:
            return self._path
        if commit not in self._kept:
            from dulwich.repo import Repo

            kept = tempfile.TemporaryDirectory(prefix="wenyuan-git-")
            try:
                with closing(Repo.init_bare(kept.name)) as empty:
                    self._fetch_commit(Path(kept.name, "objects", "pack"), commit.encode(), empty.get_graph_walker())
            except BaseException:
                kept.cleanup()
                raise
            self._kept[commit] = kept
        return self._kept[commit].name

    def _fetch_commit(self, folder: Path, commit: bytes, nothing: Any) -> None:
        """Put a commit's pack and its index into a folder; `nothing` walks what is here already."""
        limit = self._limit(self._settings.max_mb)
        largest = self._settings.max_mb * 1_000_000
        pack = folder / "pack-fetched.pack"
        with _Translated(self._component), pack.open("wb") as file:
            self._client(limit).fetch_pack(
                self._path.encode(), lambda *_, **__: [commit], nothing, file.write, depth=1
            )
        index = self._looked(
            "index_of", pack=str(pack), objects=ENTRIES_OF_A_FILE * self._settings.max_files, largest=largest,
            total=_UNPACKED * largest, seconds=max(0.0, self._seconds_left()), minutes=self._settings.max_minutes,
        )  # fmt: skip
        pack.with_suffix(".idx").write_bytes(base64.b64decode(index))

    def _looked(self, function: str, **asked: Any) -> Any:
        """What a function of `connectors.objects` finds.

        Raises:
            SourceError: it refuses, or goes beyond a limit.
        """
        try:
            return self._opening.parse(
                f"{_OBJECTS}:{function}", b"", asked, name=self._component, seconds=max(1.0, self._seconds_left())
            )
        except DocumentRejected as error:
            raise SourceError(error.message, component=self._component, hint=error.hint) from error

    def _seconds_left(self) -> float:
        """Seconds until the time of this run is over; it begins with the first question, whatever that is."""
        now = time.monotonic()
        self._until = self._until or now + self._settings.max_minutes * 60
        return self._until - now

    def _limit(self, most_mb: int) -> _Limit:
        self._seconds_left()
        return _Limit(most_mb, self._until, self._settings, self._component)

    def _client(self, limit: _Limit) -> Any:
        from dulwich.client import HttpGitClient

        class BoundedGitClient(HttpGitClient):  # type: ignore[misc]
            """A client that takes no more of an answer than its limit."""

            def _http_request(self, *args: Any, **named: Any) -> Any:
                answer, read = super()._http_request(*args, **named)
                return answer, limit.counted(read)

        parts = urlsplit(self._url)
        base = f"{parts.scheme}://{parts.netloc}/"
        user, password = (self._settings.user, self._token) if self._token else (None, None)
        return BoundedGitClient(
            base, pool_manager=_pools(self._opening, self._settings.timeout), username=user, password=password,
            quiet=True,
        )  # fmt: skip


class _Limit:
    """Limits on size and time of one answer."""

    def __init__(self, most_mb: int, until: float, settings: GitSettings, component: str) -> None:
        self._most, self._left, self._until = most_mb, most_mb * 1_000_000, until
        self._settings, self._component = settings, component

    def counted(self, read: Callable[..., bytes]) -> Callable[..., bytes]:
        """The function that reads the answer, of which each byte counts."""

        def counting(size: int | None = None) -> bytes:
            self.check(0)
            data = read(self._left + 1 if size is None or size < 0 else size)
            self.check(len(data))
            return data

        return counting

    def check(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            if self._most == self._settings.max_mb:
                told = msg("the newest commit is larger than {count} MB (settings.max_mb)", count=self._most)
            else:
                told = msg("the answer that names the branches is larger than {count} MB", count=self._most)
            raise SourceError(told, component=self._component)
        if time.monotonic() > self._until:
            told = msg(
                "fetching took longer than {count} minutes (settings.max_minutes)",
                count=f"{self._settings.max_minutes:g}",
            )
            raise SourceError(told, component=self._component)


class _Translated:
    """Context that turns exceptions of dulwich and urllib3 into `SourceError`. Their texts may contain credentials
    and are dropped.
    """

    def __init__(self, component: str) -> None:
        self._component = component

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None or isinstance(error, KnowledgeError) or not isinstance(error, Exception):
            return
        from dulwich.client import HTTPUnauthorized
        from dulwich.errors import NotGitRepository

        if isinstance(error, HTTPUnauthorized):
            told = "the repository asks for a token, or refuses the one it was given"
        elif isinstance(error, NotGitRepository):
            told = "there is no Git repository at this address"
        else:
            told = msg("the repository cannot be read ({kind})", kind=type(error).__name__)
        raise SourceError(told, component=self._component) from error


def _pools(opening: Opening, timeout: float) -> Any:
    """urllib3 connections whose target addresses are checked, also after redirects; proxies are not used."""
    import urllib3
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    class Plain(HTTPConnection):  # type: ignore[misc]
        def _new_conn(self) -> Any:
            return guarded_socket(opening, self.host, int(self.port), timeout)

    class Secure(HTTPSConnection):  # type: ignore[misc]
        def _new_conn(self) -> Any:
            return guarded_socket(opening, self.host, int(self.port), timeout)

    class PlainPool(HTTPConnectionPool):  # type: ignore[misc]
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):  # type: ignore[misc]
        ConnectionCls = Secure

    manager = urllib3.PoolManager(timeout=urllib3.Timeout(connect=timeout, read=timeout), retries=False)
    manager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
    return manager
