"""A cross-encoder made of the built-in encoder's body: learned from some judged sets, to be tried on others.

    python bench/reranking.py gather DIR … --keep FOLDER             # what the product finds
    python bench/cross_encoder.py NAME … --keep FOLDER [--minutes 60]
    python bench/reranking.py measure NAME … --keep FOLDER           # on sets that nothing was learned from

The built-in encoder's lower eight layers read question and passage each by itself, as they do when they make vectors; they
stay as they are. Its upper four read both together and are trained, from where the encoder has them. How well the two
fit is the cosine of the question's and the passage's states, added up by their information, and what a linear head, 0 at
first, says of the first state. A softmax over an answer and five wrong passages of the product's own ranking is to choose
the answer (cross-entropy). Of a long passage its beginning is read, and the part that has most of the question's pieces.

It is stored every two minutes, and can be stopped. Learning needs PyTorch, which is for development only and in none of
the lock files; judging needs the product's onnxruntime, and `onnx`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx.utils
from onnxruntime import OrtValue

from wenyuan.encoders import builtin, graph
from wenyuan.encoders import weights as encoders_weights
from wenyuan.encoders.graph import EPSILON, FFN, HEADS, HIDDEN, LAYERS, information
from wenyuan.encoders.onnx_session import open_session, run_session
from wenyuan.encoders.tokenizer import Tokenizer
from wenyuan.encoders.weights import read_weights, unpack

SPLIT = 8
"""Layers that read question and passage each by itself."""
BETWEEN = f"l{SPLIT - 1}.oln.out"
TOKENS, LONG, ASKED, OPENING, STEP = 160, 384, 48, 24, 16
"""Pieces of a pair, of a passage, of a question, of a passage's beginning, and from one window of a passage to the next."""
WRONG, BATCH = 5, 8
"""Wrong passages of a question, and questions of a step."""
ASIDE = 40
"""Questions of a set from which nothing is learned."""
RATE, HEAD_RATE, WARM = 5e-5, 1e-3, 0.05
NEAR = 300.0
"""What a cosine counts: those of states that have read one another lie close together."""
KEPT: list[Any] = []
"""Weights that onnxruntime reads where they lie."""

Asked = Mapping[str, Any]
Pair = tuple[Any, Any]


def read(keep: Path, name: str) -> tuple[list[Asked], dict[int, str]]:
    told = json.loads((keep / f"{name}.json").read_text())
    return told["questions"], {int(number): text for number, text in told["texts"].items()}


class Reader:
    """Texts → states of their pieces behind the encoder's lower layers, each text by itself; pairs are made of those."""

    def __init__(self) -> None:
        file = read_weights(encoders_weights.find_weights())
        self._pieces, self._worth = Tokenizer(file), information(file)
        self._words, self._places = file.blocks("emb.word", HIDDEN), floats(file)["places"]
        self._session = session(graph.graph_weights(file), ["states"], BETWEEN)
        self._known: dict[str, tuple[list[int], Any]] = {}

    def pair(self, question: str, passage: str) -> Pair:
        """States ``(pieces, 384)``, and what to add up of them ``(3, pieces)``: the first, the question's, the passage's."""
        asked, first = self._read(f"query: {question}", ASKED)
        said, states = self._read(f"passage: {passage}", LONG)
        room, places = TOKENS - len(asked) - OPENING, np.arange(len(said))
        if len(said) > OPENING + room:
            wanted = set(asked)
            gains = np.cumsum([0.0, *(self._worth[piece] * (piece in wanted) for piece in said[OPENING:])])
            starts = np.arange(0, len(gains) - room, STEP)
            at = OPENING + int(starts[np.argmax(gains[starts + room] - gains[starts])])
            places = np.append(places[:OPENING], places[at : at + room])
        shares = np.zeros((3, len(asked) + len(places)), np.float32)
        shares[0, 0] = 1.0
        shares[1, : len(asked)] = self._worth[asked]
        shares[2, len(asked) :] = self._worth[np.array(said)[places]]
        return np.concatenate((first, states[places])), shares

    def forget(self) -> None:
        self._known.clear()

    def _read(self, text: str, most: int) -> tuple[list[int], Any]:
        if text not in self._known:
            ids = self._pieces(text, most)
            states = unpack(self._words[ids]) + self._places[: len(ids)]
            states = run_session(self._session, None, {"states": states[None]}, "the lower layers")[0]
            self._known[text] = ids, states.astype(np.float16)
        return self._known[text]


def session(arrays: Mapping[str, Any], inputs: list[str], output: str) -> Any:
    """A part of the built-in encoder's graph, quantised as it is, with these weights."""
    whole = onnx.load_from_string(Path(builtin.__file__).with_name("builtin.onnx").read_bytes())
    between = onnx.helper.make_tensor_value_info(BETWEEN, onnx.TensorProto.FLOAT, [1, "tokens", HIDDEN])
    whole.graph.value_info.append(between)
    part = onnx.utils.Extractor(whole).extract_model(inputs, [output])
    for value in (*part.graph.input, *part.graph.output):  # three sums, where the encoder makes one
        if value.name in ("shares", "pooled"):
            value.type.tensor_type.shape.dim[0 if value.name == "shares" else 1].dim_param = "sums"
    names = [tensor.name for tensor in part.graph.initializer if tensor.name in arrays]
    KEPT.append(weights := {n: OrtValue.ortvalue_from_numpy(np.ascontiguousarray(arrays[n])) for n in names})
    return open_session(part.SerializeToString(), component=output, weights=weights)


def floats(file: encoders_weights.WeightFile) -> dict[str, Any]:
    """The upper layers in single precision, matrices as (out, in), and what is added to a piece for its place."""
    found = {"places": file.floats("emb.pos").reshape(-1, HIDDEN) + file.floats("emb.type")[:HIDDEN]}
    for layer in (f"l{i}." for i in range(SPLIT, LAYERS)):
        for part in ("q", "k", "v", "ao", "fi", "fo"):
            columns = FFN if part == "fo" else HIDDEN
            found[f"{layer}{part}.w"] = unpack(file.blocks(f"{layer}{part}.w", columns)).reshape(-1, columns)
            found[f"{layer}{part}.b"] = file.floats(f"{layer}{part}.b").copy()
        for name in ("aln.w", "aln.b", "oln.w", "oln.b"):
            found[layer + name] = file.floats(layer + name).copy()
    return found


def sums(weights: Mapping[str, Any], pairs: Sequence[Pair]) -> Any:
    """``(pairs, 3, 384)``: the last layer's states, added up. Only attention pads, products do not."""
    import torch
    from torch.nn import functional as f

    batch = [states for states, _ in pairs]
    sizes = torch.tensor([len(states) for states in batch])
    begins, longest = torch.cumsum(sizes, 0) - sizes, int(sizes.max())
    row = torch.repeat_interleave(torch.arange(len(batch)), sizes)
    flat = row * longest + torch.arange(int(sizes.sum())) - begins[row]
    seen = (torch.arange(longest)[None] < sizes[:, None])[:, None, None]

    def normed(x: Any, name: str) -> Any:
        return f.layer_norm(x, (HIDDEN,), weights[f"{name}.w"], weights[f"{name}.b"], EPSILON)

    x = torch.from_numpy(np.concatenate(batch)).float()
    for p in (f"l{i}." for i in range(SPLIT, LAYERS)):

        def heads(part: str, x: Any = x, p: str = p) -> Any:
            wide = f.linear(x, weights[f"{p}{part}.w"], weights[f"{p}{part}.b"])
            padded = wide.new_zeros(len(batch) * longest, HIDDEN).index_copy(0, flat, wide)
            return padded.view(len(batch), longest, HEADS, -1).transpose(1, 2)

        looked = f.scaled_dot_product_attention(*map(heads, "qkv"), attn_mask=seen)
        looked = looked.transpose(1, 2).reshape(-1, HIDDEN)[flat]
        x = normed(x + f.linear(looked, weights[f"{p}ao.w"], weights[f"{p}ao.b"]), f"{p}aln")
        wide = f.gelu(f.linear(x, weights[f"{p}fi.w"], weights[f"{p}fi.b"]))
        x = normed(x + f.linear(wide, weights[f"{p}fo.w"], weights[f"{p}fo.b"]), f"{p}oln")
    shares = torch.from_numpy(np.concatenate([shares for _, shares in pairs], axis=1))
    found = [torch.zeros(len(batch), HIDDEN).index_add(0, row, x.float() * share[:, None]) for share in shares]
    return torch.stack(found, 1)


class Learned:
    """The weight file with what was learned in place of its own matrices, as `graph.graph_weights` asks for them."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._file, self._arrays = read_weights(encoders_weights.find_weights()), arrays

    def floats(self, name: str) -> Any:
        return self._arrays[name] if name in self._arrays else self._file.floats(name)

    def blocks(self, name: str, columns: int) -> Any:
        return self._arrays[name] if name in self._arrays else unpack(self._file.blocks(name, columns))


class Judge:
    """(question, passages) → logits, quantised, with two threads."""

    def __init__(self, path: Path) -> None:
        learned = np.load(path)
        self.names, self._head = learned["names"].tolist(), learned["head"]
        with patch.object(graph, "unpack", np.copy):
            arrays = graph.graph_weights(Learned(learned))  # type: ignore[arg-type]
        self._session, self._pool = session(arrays, [BETWEEN, "shares"], "pooled"), ThreadPoolExecutor(2)
        self.reader = Reader()

    def __call__(self, question: str, passages: Sequence[str]) -> list[float]:
        return list(self._pool.map(lambda passage: self._one(self.reader.pair(question, passage)), passages))

    def _one(self, pair: Pair) -> float:
        feed = {BETWEEN: pair[0][None].astype(np.float32), "shares": pair[1]}
        first, asked, said = run_session(self._session, None, feed, "the upper layers")[0]
        return float(first @ self._head + NEAR * (asked @ said) / (np.linalg.norm(asked) * np.linalg.norm(said)))


def lessons(questions: Sequence[Asked]) -> list[Asked]:
    """Questions of which something was found that answers, and enough that does not."""
    return [
        q
        for q in questions
        if any(grade > 0 for *_, grade in q["found"]) and sum(grade <= 0 for *_, grade in q["found"]) >= WRONG
    ]


def drawn(sets: Sequence[tuple[list[Asked], dict[int, str]]], draw: random.Random) -> Iterator[tuple[str, list[str]]]:
    """Without end: a question, and six passages of which the first answers. Large sets come more often, by their roots."""
    votes = [len(questions) ** 0.5 for questions, _ in sets]
    left: list[list[Asked]] = [[] for _ in sets]
    while True:
        at = draw.choices(range(len(sets)), votes)[0]
        questions, texts = sets[at]
        if not left[at]:
            left[at] = draw.sample(questions, len(questions))
        one = left[at].pop()
        right = [number for number, *_, grade in one["found"] if grade > 0]
        wrong = [number for number, *_, grade in one["found"] if grade <= 0]
        near = draw.sample(wrong[:8], min(3, WRONG))
        others = draw.sample([number for number in wrong[:20] if number not in near], WRONG - len(near))
        yield one["text"], [texts[number] for number in (draw.choice(right[:3]), *near, *others)]


def train(names: Sequence[str], keep: Path, minutes: float) -> None:
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)
    reader, read_sets = Reader(), [read(keep, name) for name in names]
    sets = [(lessons(questions)[ASIDE:], texts) for questions, texts in read_sets]
    weights = {
        name: torch.from_numpy(array) for name, array in floats(read_weights(encoders_weights.find_weights())).items()
    }
    del weights["places"]
    weights["head"] = torch.zeros(HIDDEN)
    learned = [w.requires_grad_(True) for w in weights.values()]
    print(
        f"{platform.machine()}, {platform.python_version()}, torch {torch.__version__}, load {os.getloadavg()[0]:.0f}"
    )
    print(f"{', '.join(names)}: {sum(len(questions) for questions, _ in sets)} questions", flush=True)
    groups = [{"params": learned[:-1], "most": RATE}, {"params": learned[-1:], "most": HEAD_RATE}]
    optimiser = torch.optim.AdamW(groups, lr=RATE, weight_decay=0.01)
    questions, begun, stored, done, losses = drawn(sets, random.Random(1)), time.monotonic(), 0.0, 0, list[float]()

    def logits(batch: Sequence[Any]) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            found = sums(weights, batch)
        return found[:, 0] @ weights["head"] + NEAR * torch.cosine_similarity(found[:, 1], found[:, 2])

    def half(chosen: Sequence[tuple[str, list[str]]]) -> tuple[Any, float]:
        """Gradients and loss of some questions."""
        batch = [reader.pair(text, passage) for text, passages in chosen for passage in passages]
        loss = -torch.log_softmax(logits(batch).view(len(chosen), -1), 1)[:, 0].mean()
        return torch.autograd.grad(loss, learned), float(loss.detach())

    def store() -> None:
        arrays = {name: w.detach().numpy() for name, w in weights.items()}
        np.savez(keep / "learning.npz", names=np.array(names), **arrays)
        (keep / "learning.npz").replace(keep / "model.npz")
        took = time.monotonic() - begun
        print(f"{took:.0f} s, {done} pairs, loss {np.mean(losses[-60:]):.3f}", flush=True)

    with ThreadPoolExecutor(2, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        while (share := (time.monotonic() - begun) / (60 * minutes)) < 1:
            for group in optimiser.param_groups:
                group["lr"] = group["most"] * min(1.0, share / WARM) * (1 - share)
            chosen = [next(questions) for _ in range(BATCH)]
            found = list(pool.map(half, (chosen[::2], chosen[1::2])))
            for w, *gradients in zip(learned, *(gradients for gradients, _ in found), strict=True):
                w.grad = sum(gradients) / len(gradients)
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimiser.step()
            losses.append(float(np.mean([loss for _, loss in found])))
            done += BATCH * (1 + WRONG)
            if time.monotonic() - begun - stored >= 120:
                stored = time.monotonic() - begun
                store()
    store()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="NAME")
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args()
    train(given.sets, given.keep, given.minutes)


if __name__ == "__main__":
    main()
