"""What an adapter inside the encoder would give: low-rank changes of its last layers, learned from judged questions.

    python bench/adapter.py DIR[:LEARN] … [--general] [--cache DIR] [--layers 4] [--rank 8] [--epochs 10] [--rate 1e-3] [--seed 1]

Needs jax (`pip install jax==0.10.2`), which nothing else here does: PyTorch's wheel for Linux brings three gigabytes of CUDA.
DIR is a judged set in BEIR layout; LEARN is how many of its questions are learned from, as many others are asked, drawn as
by bench/tune.py. Only questions go through the adapter: what is stored of passages stays as it is, and so a library would
not be embedded anew. The loss is that of `wenyuan tune`: softmax over the passages, temperature .02, of the centred query.

Of each set: nDCG@10 of the unseen questions without floor, as shipped and with the adapter, by the whole score and by vectors
alone; the cosines of adapted questions are given the mean and the spread that they had. With `--general` each set is asked
with an adapter that was learned from the questions of all the others. What was found: docs/tune.md.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import math
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from scoring import Step, opened, worth
from wenyuan.encoders import weights
from wenyuan.encoders.graph import EPSILON, HEADS, HIDDEN, LAYERS, information
from wenyuan.encoders.tokenizer import Tokenizer
from wenyuan.encoders.weights import unpack
from wenyuan.evaluation.built_library import default_cache, entries_of
from wenyuan.evaluation.questions import JudgedQuery, JudgedSet, read_judged
from wenyuan.service.search.general_texts import script_of
from wenyuan.service.search.legs import Aim

jax: Any = importlib.import_module("jax")
jnp: Any = importlib.import_module("jax.numpy")

TOKENS, BATCH, TEMPERATURE = 64, 32, 0.02
LEVELLED = 64  # questions that tell how far cosines have moved
DRAWN = 4_000  # passages that a question is compared with


class Model:
    """The encoder in float32; its last `layers` are those that can be adapted, the others run once a question."""

    def __init__(self, layers: int) -> None:
        self.file = weights.read_weights(weights.find_weights())
        self.tokenizer, self.shares = Tokenizer(self.file), information(self.file)
        self.first = LAYERS - layers
        self.weights = [self._layer(i) for i in range(LAYERS)]
        self._lower = jax.jit(lambda x, seen: self.run(x, seen, range(self.first), None))
        self.slope = jax.jit(jax.value_and_grad(self._loss))

    def _layer(self, number: int) -> dict[str, Any]:
        p, file = f"l{number}.", self.file
        wide = {
            n: unpack(file.blocks(f"{p}{n}.w", 1536 if n == "fo" else HIDDEN)).T
            for n in ("q", "k", "v", "ao", "fi", "fo")
        }
        flat = {n: file.floats(p + n) for n in (*(f"{n}.b" for n in wide), "aln.w", "aln.b", "oln.w", "oln.b")}
        return {name: jnp.asarray(value) for name, value in (wide | flat).items()}

    def lower(self, texts: Sequence[str]) -> tuple[Any, Any, Any]:
        """States below the adapter ``(n, TOKENS, 384)``, which tokens there are, and what each says."""
        ids = [self.tokenizer(f"query: {text}", TOKENS) for text in texts]
        padded = np.array([row + [self.file.pad] * (TOKENS - len(row)) for row in ids])
        seen = np.array([[1.0] * len(row) + [0.0] * (TOKENS - len(row)) for row in ids], np.float32)
        words = unpack(self.file.blocks("emb.word", HIDDEN)[padded.ravel()]).reshape(len(ids), TOKENS, HIDDEN)
        places = self.file.floats("emb.pos").reshape(-1, HIDDEN)[:TOKENS] + self.file.floats("emb.type")[:HIDDEN]
        x = normal(words + places, self.file.floats("emb.ln.w"), self.file.floats("emb.ln.b"))
        states = [
            np.asarray(self._lower(x[at : at + BATCH], seen[at : at + BATCH])) for at in range(0, len(ids), BATCH)
        ]
        return np.concatenate(states), seen, self.shares[padded] * seen

    def run(self, x: Any, seen: Any, layers: Sequence[int], adapter: Any) -> Any:
        for number in layers:
            w = self.weights[number]
            own = None if adapter is None else adapter[number - self.first]

            def linear(value: Any, name: str, w: Any = w, own: Any = own) -> Any:
                out = value @ w[name] + w[f"{name}.b"]
                return out + value @ own[f"{name}.a"] @ own[f"{name}.b"] if own and f"{name}.a" in own else out

            def heads(value: Any) -> Any:
                return value.reshape(*value.shape[:2], HEADS, -1).swapaxes(1, 2)

            q, k, v = (heads(linear(x, name)) for name in "qkv")
            scores = q @ k.swapaxes(2, 3) / math.sqrt(HIDDEN // HEADS) + (seen[:, None, None, :] - 1) * 1e9
            mixed = (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape)
            x = normal(x + linear(mixed, "ao"), w["aln.w"], w["aln.b"])
            x = normal(x + linear(jax.nn.gelu(linear(x, "fi"), approximate=False), "fo"), w["oln.w"], w["oln.b"])
        return x

    def vectors(self, adapter: Any, below: tuple[Any, Any, Any]) -> Any:
        states, seen, shares = below
        return unit(jnp.einsum("nt,nth->nh", shares, self.run(states, seen, range(self.first, LAYERS), adapter)))

    def _loss(self, adapter: Any, below: Any, common: Any, passages: Any, right: Any) -> Any:
        likeness = unit(self.vectors(adapter, below) - common) @ passages.T / TEMPERATURE
        best = jax.nn.logsumexp(jnp.where(right, likeness, -jnp.inf), axis=1)
        return (jax.nn.logsumexp(likeness, axis=1) - best).mean()

    def unchanged(self, rank: int, seed: int) -> list[dict[str, Any]]:
        """An adapter that changes nothing yet: of the queries, values and what follows attention."""
        draw, names = np.random.default_rng(seed), ("q", "v", "ao")
        down = lambda: jnp.asarray(draw.standard_normal((HIDDEN, rank)) / math.sqrt(HIDDEN), jnp.float32)  # noqa: E731
        return [
            {**{f"{n}.a": down() for n in names}, **{f"{n}.b": jnp.zeros((rank, HIDDEN)) for n in names}}
            for _ in range(self.first, LAYERS)
        ]


def normal(x: Any, w: Any, b: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + EPSILON) ** 0.5 * w + b


def unit(x: Any) -> Any:
    return x / (x * x).sum(-1, keepdims=True) ** 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lessons:
    """Questions to learn from, below the adapter, and what they are compared with.

    Attributes:
        common: Of each question, what is taken off its vector.
        passages: ``(DRAWN, 384)``, zeros where the set has fewer, so that all sets have one shape.
        right: ``(n, DRAWN)``, which are answers.
    """

    below: tuple[Any, Any, Any]
    common: Any
    passages: Any
    right: Any


class Told:
    """An encoder that gives these vectors for these questions."""

    def __init__(self, encoder: Any, vectors: dict[str, Any]) -> None:
        self._encoder, self._vectors, self.fingerprint = encoder, vectors, encoder.fingerprint
        self.works_here = True

    def encode_queries(self, texts: Sequence[str], **more: Any) -> Any:
        if all(text in self._vectors for text in texts):
            return np.stack([self._vectors[text] for text in texts])
        return self._encoder.encode_queries(texts, **more)


class Set:
    """A judged set with its library, which stays open."""

    def __init__(self, named: str, cache: Path, seed: int) -> None:
        folder, _, learn = named.partition(":")
        self.corpus, self.library = opened(Path(folder), cache)
        judged = read_judged(Path(folder), self.corpus.uris)
        lot = {q.query_id: hashlib.sha256(f"{seed}/{q.query_id}".encode()).hexdigest() for q in judged.questions}
        drawn = sorted(judged.questions, key=lambda q: lot[q.query_id])
        count = int(learn) if learn else len(drawn) // 2
        self.learn, self.unseen, self.qrels = drawn[:count], drawn[count : 2 * count], judged.qrels
        self.entries = entries_of(self.library, self.corpus)
        self.vectors: Any = self.library._retriever._own._vectors
        self.encoder = self.vectors.encoder

    def lessons(self, model: Model) -> Lessons:
        view: Any = self.library.engine._view  # type: ignore[attr-defined]
        every = view.scan.rows(np.arange(len(view.columns.passage_ids)))
        of = np.array([self.entries.get(i, "") for i in view.columns.passage_ids.tolist()])
        wanted = [np.isin(of, [e for e, g in self.qrels[q.query_id].items() if g > 0]) for q in self.learn]
        right = np.flatnonzero(np.any(wanted, axis=0))
        others = np.setdiff1d(np.random.default_rng(1).permutation(len(of)), right, assume_unique=True)
        rows = np.concatenate([right, np.random.default_rng(1).permutation(others)])[:DRAWN]
        passages, answers = np.zeros((DRAWN, HIDDEN), np.float32), np.zeros((len(wanted), DRAWN), bool)
        passages[: len(rows)], answers[:, : len(rows)] = every[rows], np.array(wanted)[:, rows]
        return Lessons(
            below=model.lower([q.text for q in self.learn]),
            common=self.common(self.learn),
            passages=jnp.asarray(passages),
            right=jnp.asarray(answers),
        )

    def common(self, questions: Sequence[JudgedQuery]) -> Any:
        centre = self.library._retriever.floors()["han"].get("centre", 0.0)
        deadline = self.library._retriever.deadline()
        return np.stack([centre * self.vectors.mean("questions", script_of(q.text), deadline) for q in questions])

    def put(self, questions: Sequence[JudgedQuery], vectors: Any, level: tuple[float, float] = (1.0, 0.0)) -> None:
        """These questions have these vectors from now on; their cosines count as ``level[0] * cosine + level[1]``."""
        texts = [unicodedata.normalize("NFKC", q.text.strip()) for q in questions]
        self.vectors.encoder = Told(self.encoder, dict(zip(texts, vectors, strict=True)))
        self.vectors._known.clear()
        own: Any = self.library._retriever._own
        aim, (scale, offset) = type(own).aim, level

        def levelled(*asked: Any) -> Aim:
            found = aim(own, *asked)
            return replace(found, scale=scale * found.scale, offset=scale * found.offset + offset)

        own.aim = levelled

    def best(self) -> Any:
        """The best cosines of some questions to learn from, as they count."""
        view: Any = self.library.engine._view  # type: ignore[attr-defined]
        rows = view.scan.rows(np.arange(len(view.columns.passage_ids)))
        found = []
        for question in self.learn[:LEVELLED]:
            aim = self.library._retriever.aim(
                question.text, self.vectors.of(question.text, self.library._retriever.deadline())[0]
            )
            found.append(np.sort(aim.level(rows @ aim.vector))[-20:])
        return np.concatenate(found)

    def asked(self, told: Any = None, unseen: Any = None) -> dict[str, float]:
        """nDCG@10 of the unseen questions, by the whole score and by vectors alone.

        Args:
            told, unseen: Vectors of both halves of the questions; those of the first tell how far cosines have moved.
        """
        self.put((), ())
        if told is not None:
            before = self.best()
            self.put(self.learn, told)
            after = self.best()
            scale = float(before.std() / after.std())
            self.put(self.unseen, unseen, (scale, float(before.mean() - scale * after.mean())))
        judged = JudgedSet(
            questions=tuple(self.unseen), qrels={q.query_id: self.qrels[q.query_id] for q in self.unseen}
        )
        steps = {"score": Step(), "vectors": Step(weight=1.0)}
        found = {n: worth(self.library, self.entries, self.corpus, judged, step) for n, step in steps.items()}
        return {name: round(sum(each) / len(each), 4) for name, each in found.items()}


def learned(model: Model, lessons: Sequence[Lessons], given: argparse.Namespace) -> Any:
    """An adapter of all these lessons, by Adam."""
    adapter = model.unchanged(given.rank, given.seed)
    first = second = jax.tree.map(jnp.zeros_like, adapter)
    draw, step = np.random.default_rng(given.seed), 0
    for epoch in range(given.epochs):
        told = []
        batches = [
            (those, batch[:BATCH])
            for those in lessons
            for batch in np.array_split(draw.permutation(len(those.common)), max(1, len(those.common) // BATCH))
        ]
        for those, batch in (batches[i] for i in draw.permutation(len(batches))):
            step += 1
            below = tuple(part[batch] for part in those.below)
            value, grad = model.slope(adapter, below, those.common[batch], those.passages, those.right[batch])
            first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grad)
            second = jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g * g, second, grad)
            rate = given.rate * math.sqrt(1 - 0.99**step) / (1 - 0.9**step)
            adapter = jax.tree.map(
                lambda a, m, v, rate=rate: a - rate * m / (jnp.sqrt(v) + 1e-8), adapter, first, second
            )
            told.append(float(value))
        print(json.dumps({"epoch": epoch, "loss": round(sum(told) / len(told), 4)}), flush=True)
    return adapter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="DIR[:LEARN]")
    parser.add_argument("--general", action="store_true")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    model = Model(given.layers)
    sets = [Set(named, given.cache, given.seed) for named in given.sets]
    lessons = {one.corpus.name: one.lessons(model) for one in sets}
    for one in sets:
        begun, name = time.monotonic(), one.corpus.name
        chosen = [those for other, those in lessons.items() if (other != name) == given.general]
        adapter = learned(model, chosen, given)
        seconds = time.monotonic() - begun
        below = [model.lower([q.text for q in half]) for half in (one.learn, one.unseen)]
        adapted = [np.asarray(model.vectors(adapter, half)) for half in below]
        row = {
            "set": name,
            "learned": sum(len(those.common) for those in chosen),
            "unseen": len(one.unseen),
            "seconds": round(seconds),
        }
        row |= {"shipped": one.asked(), "adapted": one.asked(*adapted)}
        print(json.dumps(row, ensure_ascii=False), flush=True)
    for one in sets:
        one.library.close()


if __name__ == "__main__":
    main()
