"""The built-in model as onnxruntime runs it: what the graph template asks for, made from the weight file.

The template (``builtin.onnx``, made by ``scripts/make_encoder_graph.py``) holds the operations; the weights are handed
over at load. Projections are `DynamicQuantizeMatMul` on 8-bit weights of which 7 bits are used (−63 … 63), with one
scale per output: without VNNI the processor adds pairs of products in 16 bits, where full 8-bit weights saturate.

All inputs of a projection share one 8-bit scale, so a few loud channels would leave the others a handful of steps. They
are divided by a power of two before, and their weights multiplied with it (SmoothQuant, Xiao et al. 2023, for the loud
ones only): the vectors are less than half as far from those of the float32 model.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.encoders.onnx_session import open_session, run_session
from wenyuan.encoders.weights import COMPONENT, WeightFile, unpack

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


class EncoderGraph:
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
