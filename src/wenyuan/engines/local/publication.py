"""The atomic publication of the keyword index's files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wenyuan.core.errors import EngineUnavailable, IndexCorrupt, msg
from wenyuan.engines.local.columns import OpenFile, Signature, signature
from wenyuan.runtime.durability import flush
from wenyuan.runtime.full_disk import next_step
from wenyuan.runtime.regular import IrregularFile, open_regular, read_regular

# The files of the keyword index: published in the library's folder, read from copies that nobody else can reach.
#
# tantivy maps its files into memory, and the system ends a process (SIGBUS) that reads a mapped page which somebody has
# cut off the file. So nothing that has a name in the folder is mapped. A process copies what was published into files
# without a name, compares them with the hashes of the manifest while it does, and lets tantivy map these. A writer works
# in a folder of its own, which holds links to the copies; what it has made is moved in place, then the manifest.
#
# The manifest, ``watermark.json``, is one file, replaced as a whole: what tantivy says of its segments, the size and
# SHA-256 of each file, the change of the catalog as of which they were made, and what tells that change from one of that
# number in another catalog (`ChangeFeed.stamp`).


COMPONENT = "engine local/keyword"
_MANIFEST = "watermark.json"
_MOST_MANIFEST = 1 << 26  # bytes
_META = "meta.json"  # tantivy's own list of its segments
_BLOCK = 1 << 20
_TRIES = 20  # each time because another process has published anew meanwhile


@dataclass(frozen=True, slots=True)
class _Copy:
    """An unlinked copy of a file, and the original's state when it was copied."""

    file: OpenFile
    size: int
    sha256: str
    source: Signature | None

    def content(self) -> bytes:
        return os.pread(self.file.handle, self.size, 0)

    def made_of(self, content: bytes) -> bool:
        return len(content) == self.size and hashlib.sha256(content).hexdigest() == self.sha256


@dataclass(frozen=True, slots=True)
class State:
    """The last published state of the index; empty before the first time.

    Attributes:
        seq: The change of the catalog that it holds.
        stamp: What tells that change from another catalog's.
        meta: What tantivy says of its segments.
        raw: The manifest, as it stands in its file.
    """

    seq: int = 0
    stamp: str = ""
    meta: str = ""
    copies: Mapping[str, _Copy] = field(default_factory=dict)
    raw: bytes = b""


class Segments:
    """The folder of a keyword index.

    Args:
        key: What the index was made for; one that was made for anything else is not read.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, key
        self._manifest = folder / _MANIFEST
        self._seen: dict[str, Signature | None] = {}  # the files as they were when they were read or written
        self.state = State()
        _made(folder)

    # -- reading --------------------------------------------------------------------------------------

    def read(self) -> State:
        """The published state, copying files that are not held yet. Takes effect with `hold`.

        Raises:
            IndexCorrupt: a file is missing, or is not the one that was published.
            EngineUnavailable: it cannot be copied.
        """
        for _ in range(_TRIES):
            raw = self._read_manifest()
            if raw == self.state.raw:
                return self.state
            try:
                return self._state_of(raw)
            except IndexCorrupt:
                if raw == self._read_manifest():
                    raise
        raise EngineUnavailable("it is published again and again while it is read", component=COMPONENT)

    def hold(self, state: State) -> None:
        """Set the held state."""
        self.state = state
        self._seen = {name: copy.source for name, copy in state.copies.items()}
        self._seen[_MANIFEST] = signature(self._manifest)

    def _read_manifest(self) -> bytes:
        try:
            return read_regular(self._manifest, _MOST_MANIFEST)
        except FileNotFoundError as error:
            if self.state.raw or (self._folder.is_dir() and any(self._folder.glob("*.idx"))):
                raise IndexCorrupt("the index has no watermark", component=COMPONENT) from error
            return b""
        except OSError as error:
            raise IndexCorrupt(
                msg("{manifest}: {strerror}", manifest=_MANIFEST, strerror=error.strerror), component=COMPONENT
            ) from error

    def _state_of(self, raw: bytes) -> State:
        said = _manifest_of(raw)
        if said["key"] != self._key:
            raise IndexCorrupt("the watermark belongs to another index", component=COMPONENT)
        copies = {}
        for name, (size, digest) in said["files"].items():
            held = self.state.copies.get(name)
            if held is None or held.sha256 != digest:
                held = self._copied(self._folder / name)
                if (held.size, held.sha256) != (size, digest):
                    raise IndexCorrupt(
                        msg("{name} is not the file that was published", name=name), component=COMPONENT
                    )
            copies[name] = held
        return State(said["seq"], said["stamp"], said["meta"], copies, raw)

    def _copied(self, path: Path) -> _Copy:
        digest, size = hashlib.sha256(), 0
        with _disk_error(msg("copying {path}", path=path)):
            copy = _nameless(self._folder)
            try:
                origin = OpenFile(open_regular(path))
            except FileNotFoundError as error:
                raise IndexCorrupt(msg("{name} is missing", name=path.name), component=COMPONENT) from error
            except IrregularFile as error:
                raise IndexCorrupt(msg("{path} is not a regular file", path=path), component=COMPONENT) from error
            source = origin.signature()
            while block := os.read(origin.handle, _BLOCK):
                digest.update(block)
                size += os.write(copy.handle, block)
        return _Copy(copy, size, digest.hexdigest(), source)

    @contextmanager
    def opened(self, state: State) -> Iterator[Path]:
        """A folder in which tantivy finds the copies; what it has opened by the end stays open."""
        with _scratch("wenyuan-index-") as made:
            _link(made, state)
            yield made

    # -- writing (only while the library's writer lock is held) -----------------------------------------

    @contextmanager
    def written(self, seq: int, stamp: str) -> Iterator[Path]:
        """A folder for tantivy to write in; at the end, what it has committed is published as of change `seq`."""
        with _scratch(".writing-", self._folder) as made:
            _link(made, self.state)
            yield made
            self._publish(made, seq, stamp)

    def _publish(self, made: Path, seq: int, stamp: str) -> None:
        meta = (made / _META).read_text("utf-8")
        copies = {}
        for name in _names(meta, made):
            if (made / name).is_symlink():
                copies[name] = self.state.copies[name]
                continue
            copies[name] = self._copied(made / name)
            (made / name).replace(self._folder / name)
            self._seen[name] = signature(self._folder / name)
        self._record(State(seq, stamp, meta, copies))

    def mark(self, seq: int, stamp: str) -> None:
        """Record that what is published holds everything up to change `seq`."""
        self._record(State(seq, stamp, self.state.meta, self.state.copies))

    def _record(self, state: State) -> None:
        files = {name: [copy.size, copy.sha256] for name, copy in sorted(state.copies.items())}
        said = {"seq": state.seq, "stamp": state.stamp, "key": self._key, "meta": state.meta, "files": files}
        raw = json.dumps(said | {"sha256": _hash(said)}).encode()
        part = self._manifest.with_suffix(".part")
        with _disk_error(f"writing {self._manifest}"):
            flush(self._folder)
            with part.open("wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._manifest)
        self.state = State(state.seq, state.stamp, state.meta, state.copies, raw)
        self._seen = {name: self._seen[name] for name in state.copies}
        self._seen[_MANIFEST] = signature(self._manifest)
        self._tidy()

    def _tidy(self) -> None:
        """Remove what no manifest names: segments that were merged, and what a writer that was ended left behind."""
        for path in self._folder.iterdir():
            if path.name == _MANIFEST or path.name in self.state.copies:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    # -- watching -------------------------------------------------------------------------------------

    def changed(self) -> bool:
        """Whether a file differs from the one read or written, by its metadata."""
        return any(signature(self._folder / name) != seen for name, seen in self._seen.items())

    def restore(self) -> list[str]:
        """Write what is held over what is published and is not that, while the writer lock is held; the names of these."""
        _made(self._folder)
        restored = [name for name in self.state.copies if self._restored(name)]
        if self.state.raw and (restored or _content(self._manifest) != self.state.raw):
            restored.append(_MANIFEST)
            self._record(self.state)
        self._seen[_MANIFEST] = signature(self._manifest)
        return restored

    def _restored(self, name: str) -> bool:
        copy, path = self.state.copies[name], self._folder / name
        now = signature(path)
        if now == self._seen[name]:
            return False
        same = now is not None and copy.made_of(_content(path))
        if not same:
            part = path.with_name(name + ".part")
            with _disk_error(f"writing {path}"):
                part.write_bytes(copy.content())
                part.replace(path)
        self._seen[name] = signature(path)
        return not same


def _manifest_of(raw: bytes) -> Any:
    """The parsed manifest; IndexCorrupt if it is damaged or of an earlier version."""
    try:
        said = json.loads(raw)
        digest = said.pop("sha256")
        if digest != _hash(said):
            raise ValueError("its hash is another")
        return said
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{_MANIFEST} holds no watermark of this version: {error}"
        raise IndexCorrupt(why, component=COMPONENT) from error


def _hash(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _names(meta: str, made: Path) -> list[str]:
    """Names of the segment files that tantivy lists."""
    deleted = {_stem(s): s["deletes"] and s["deletes"]["opstamp"] for s in json.loads(meta)["segments"]}
    found = []
    for path in made.iterdir():
        stem, _, kind = path.name.partition(".")
        if stem not in deleted or kind.endswith("temp"):
            continue
        if not kind.endswith("del") or kind == f"{deleted[stem]}.del":
            found.append(path.name)
    return found


def _stem(segment: Mapping[str, Any]) -> str:
    return str(segment["segment_id"]).replace("-", "")


@contextmanager
def _scratch(prefix: str, folder: Path | None = None) -> Iterator[Path]:
    """A folder for tantivy, removed at the end.

    Whatever opens an index there starts a thread that looks for commits, and makes a lock file when it first looks: on a
    busy machine while the folder is being removed, which is then not empty.
    """
    made = tempfile.mkdtemp(prefix=prefix, dir=folder)
    try:
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree(made, ignore_errors=True)  # what came while the first one removed the rest


def _link(folder: Path, state: State) -> None:
    if state.meta:
        (folder / _META).write_text(state.meta, "utf-8")
    for name, copy in state.copies.items():
        (folder / name).symlink_to(f"/proc/self/fd/{copy.file.handle}")


def _nameless(near: Path) -> OpenFile:
    """An unlinked temporary file: in the folder, or where that is read-only, in the system's temporary folder."""
    for folder in (near, None):
        with suppress(OSError), tempfile.TemporaryFile(dir=folder) as made:
            return OpenFile(os.dup(made.fileno()))
    raise EngineUnavailable(
        msg("cannot make a file in {near} or {tempfile}", near=near, tempfile=tempfile.gettempdir()),
        component=COMPONENT,
    )


def _content(path: Path) -> bytes:
    """Nothing, where it cannot be read."""
    try:
        return read_regular(path)
    except OSError:
        return b""


def _made(folder: Path) -> None:
    with _disk_error(msg("making {folder}", folder=folder)):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)


@contextmanager
def _disk_error(doing: str) -> Iterator[None]:
    """What the disk does not take is no damage: nothing is rebuilt for it."""
    try:
        yield
    except OSError as error:
        raise EngineUnavailable(
            msg("{doing}: {strerror}", doing=doing, strerror=error.strerror),
            component=COMPONENT,
            hint=next_step(error),
        ) from error
