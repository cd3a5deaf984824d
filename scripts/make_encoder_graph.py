"""Make what the built-in encoder ships beside its code: the graph template, the guard vectors and the damping.

    python scripts/make_encoder_graph.py

`builtin.onnx` has the operations and no weights: every initializer is declared external and handed over at load.
`builtin_guard.npy` comes from the plain float32 model below, which shares nothing with onnxruntime's kernels.
`builtin_damping.npy` says which inputs of a projection are loud, as that model has them for the texts of `encoder_sample` and the
general questions: those that come to more than three times what is usual among them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from wenyuan.encoders import builtin
from wenyuan.encoders import graph as encoders_graph
from wenyuan.encoders import weights as encoders_weights
from wenyuan.encoders.graph import DAMPED, EPSILON, FFN, HEADS, HIDDEN, LAYERS, PROJECTIONS, information
from wenyuan.encoders.tokenizer import Tokenizer
from wenyuan.encoders.weights import WeightFile, unpack
from wenyuan.service.search.general_texts import GENERAL

FOLDER = Path(builtin.__file__).parent
SAMPLE = Path(__file__).parent / "encoder_sample"
MICROSOFT = "com.microsoft"
LOUD = 3.0
ERF = np.array([math.erf(place / 2_000) for place in range(-12_000, 12_001)], np.float32)
STEPS = np.diff(ERF, append=ERF[-1])  # between two places it is straight to 3e-8


class Template:
    """Collects nodes and the weights that they will want."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[TensorProto] = []

    def weight(self, name: str, *shape: int, kind: int = TensorProto.FLOAT) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="handed-over-at-load")
        self.weights.append(tensor)
        return name

    def node(self, op: str, inputs: list[str], *outputs: str, domain: str = MICROSOFT, **options: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **options))
        return outputs[0]

    def project(self, x: str, name: str, rows: int, columns: int, *, bias: bool) -> str:
        if name.rpartition(".")[2] in DAMPED:
            x = self.node("Mul", [x, self.weight(f"{name}.d", rows)], f"{name}.damped", domain="")
        inputs = [
            x,
            self.weight(f"{name}.w", rows, columns, kind=TensorProto.INT8),
            self.weight(f"{name}.s", columns),
        ]
        biases = self.weight(f"{name}.b", columns)
        return self.node("DynamicQuantizeMatMul", [*inputs, "", biases] if bias else inputs, f"{name}.out")

    def add_and_normalise(self, x: str, residual: str, name: str) -> str:
        """Not as one `SkipLayerNormalization`, which takes longer: see `sessions`."""
        total = self.node("Add", [x, residual], f"{name}.in", domain="")
        ends = [self.weight(f"{name}.w", HIDDEN), self.weight(f"{name}.b", HIDDEN)]
        return self.node("LayerNormalization", [total, *ends], f"{name}.out", domain="", axis=-1, epsilon=EPSILON)

    def layer(self, x: str, p: str) -> str:
        """Attention and feed-forward; a bias goes into the operation that can add it on its way."""
        parts = [f"{p}q.in", f"{p}k.in", f"{p}v.in"]
        qkv = self.project(x, f"{p}qkv", HIDDEN, len(PROJECTIONS["qkv"]) * HIDDEN, bias=True)
        self.node("Split", [qkv, "thirds"], *parts, domain="", axis=2)
        seen = self.node("MultiHeadAttention", parts, f"{p}seen", num_heads=HEADS)
        x = self.add_and_normalise(self.project(seen, f"{p}ao", HIDDEN, HIDDEN, bias=True), x, f"{p}aln")
        wide = self.project(x, f"{p}fi", HIDDEN, FFN, bias=False)
        wide = self.node("BiasGelu", [wide, f"{p}fi.b"], f"{p}gelu")
        return self.add_and_normalise(self.project(wide, f"{p}fo", FFN, HIDDEN, bias=True), x, f"{p}oln")


def make_graph() -> onnx.ModelProto:
    """``states (1, tokens, 384)`` and ``shares (1, tokens)`` → ``pooled (1, 1, 384)``, not normalised."""
    t = Template()
    ends = [t.weight("ln.w", HIDDEN), t.weight("ln.b", HIDDEN)]
    x = t.node("LayerNormalization", ["states", *ends], "x", domain="", axis=-1, epsilon=EPSILON)
    for i in range(LAYERS):
        x = t.layer(x, f"l{i}.")
    t.node("MatMul", ["shares", x], "pooled", domain="")
    thirds = numpy_helper.from_array(np.array([HIDDEN] * 3, np.int64), "thirds")
    graph = helper.make_graph(
        t.nodes,
        "multilingual-e5-small",
        [
            helper.make_tensor_value_info("states", TensorProto.FLOAT, [1, "tokens", HIDDEN]),
            helper.make_tensor_value_info("shares", TensorProto.FLOAT, [1, "tokens"]),
        ],
        [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, [1, 1, HIDDEN])],
        [thirds, *t.weights],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="wenyuan")


def make_guard() -> np.ndarray:
    """Vectors of the guard texts, ``(3, 384)`` float32 unit rows, from the model written out in numpy."""
    file = encoders_weights.read_weights(encoders_weights.find_weights())
    tokenizer = Tokenizer(file)
    rows = [_forward(file, tokenizer(f"passage: {text}")) for text in builtin.GUARD_TEXTS]
    return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)


def make_damping() -> np.ndarray:
    """``(layers, inputs of all of `DAMPED`)`` uint8: by which power of two each input is divided."""
    file = encoders_weights.read_weights(encoders_weights.find_weights())
    tokenizer = Tokenizer(file)
    loudest: dict[str, Any] = defaultdict(float)

    def watch(name: str, x: np.ndarray) -> None:
        loudest[name] = np.maximum(loudest[name], np.abs(x).max(axis=0))

    for text in sample():
        _forward(file, tokenizer(text, encoders_graph.MAX_TOKENS), watch)

    def exponents(name: str) -> np.ndarray:
        ratio = loudest[name] / (LOUD * np.median(loudest[name]))
        return np.rint(np.log2(np.maximum(1, ratio))).astype(np.uint8)

    return np.stack([np.concatenate([exponents(f"l{i}.{name}") for name in DAMPED]) for i in range(LAYERS)])


def sample() -> Iterator[str]:
    """What the model is to be shown: questions and passages of both languages."""
    yield from (f"query: {question}" for questions in GENERAL.values() for question in questions)
    for file in sorted(SAMPLE.rglob("*.*")):
        yield from (f"passage: {part.strip()}" for part in file.read_text("utf-8").split("\n\n") if part.strip())


_UNPACKED: dict[str, np.ndarray] = {}
"""Matrices of the one file of weights there is: to unpack one takes longer than to multiply a text's states by it."""


def _matrix(file: WeightFile, name: str, width: int) -> np.ndarray:
    if name not in _UNPACKED:
        _UNPACKED[name] = unpack(file.blocks(name, width))
    return _UNPACKED[name]


def _forward(file: WeightFile, ids: list[int], watch: Callable[[str, np.ndarray], None] | None = None) -> np.ndarray:
    """A BERT encoder (Devlin et al. 2019), post-norm, exact GELU; the last states by their information.

    Args:
        watch: Told what goes into each projection, by its name in the graph.
    """

    def gelu(x: np.ndarray) -> np.ndarray:
        at = np.clip(x / math.sqrt(2), -6, 6) * 2_000 + 12_000
        before = np.floor(at)
        place = before.astype(np.int32)
        return 0.5 * x * (1 + ERF[place] + (at - before) * STEPS[place])

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        if watch is not None:
            watch(name.replace(".q", ".qkv"), x)
        return x @ _matrix(file, f"{name}.w", x.shape[1]).T + file.floats(f"{name}.b")

    def normal(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + EPSILON)
        return x * file.floats(f"{name}.w") + file.floats(f"{name}.b")

    def heads(x: np.ndarray) -> np.ndarray:
        return x.reshape(len(x), HEADS, -1).swapaxes(0, 1)

    x = unpack(file.blocks("emb.word", HIDDEN)[ids])
    x = x + file.floats("emb.pos").reshape(-1, HIDDEN)[: len(ids)] + file.floats("emb.type")[:HIDDEN]
    x = normal(x, "emb.ln")
    for p in (f"l{i}." for i in range(LAYERS)):
        q, k, v = (heads(linear(x, p + part)) for part in "qkv")
        weights = np.exp(q @ k.swapaxes(1, 2) / math.sqrt(HIDDEN // HEADS))
        seen = (weights / weights.sum(2, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), HIDDEN)
        x = normal(x + linear(seen, p + "ao"), p + "aln")
        x = normal(x + linear(gelu(linear(x, p + "fi")), p + "fo"), p + "oln")
    return information(file)[ids] @ x


def main() -> None:
    model = make_graph()
    (FOLDER / "builtin.onnx").write_bytes(model.SerializeToString(deterministic=True))
    np.save(FOLDER / "builtin_guard.npy", make_guard())
    np.save(FOLDER / "builtin_damping.npy", make_damping())
    for name in ("builtin.onnx", "builtin_guard.npy", "builtin_damping.npy"):
        print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
