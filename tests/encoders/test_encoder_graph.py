"""What the built-in encoder ships beside its code, against the plain float model of the script that makes it."""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

from wenyuan.encoders import graph as encoders_graph
from wenyuan.encoders import weights
from wenyuan.encoders.builtin import GUARD_TEXTS, BuiltinEncoder, load_builtin
from wenyuan.encoders.graph import DAMPED, LAYERS, EncoderGraph, damping, information

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_encoder_graph", ROOT / "scripts/make_encoder_graph.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_shipped_graph_is_what_the_script_makes(script: ModuleType) -> None:
    """The template in the package has the script's graph, holds no weights and is small."""
    path = script.FOLDER / "builtin.onnx"
    assert onnx.load(path, load_external_data=False).graph == script.make_graph().graph
    assert path.stat().st_size < 100_000


def test_the_guard_vectors_come_from_a_plain_float_model(script: ModuleType) -> None:
    """The model written out in numpy gives the shipped vectors, which the fast one must come near to."""
    shipped = np.load(script.FOLDER / "builtin_guard.npy", allow_pickle=False)
    assert np.allclose(script.make_guard(), shipped, atol=1e-4)
    assert np.allclose(np.linalg.norm(shipped, axis=1), 1, atol=1e-5)


def test_the_shipped_damping_is_what_the_script_makes(script: ModuleType) -> None:
    """Loud channels of the plain model; an exponent at the edge of two may be either on another processor."""
    shipped = np.load(script.FOLDER / "builtin_damping.npy", allow_pickle=False).astype(int)
    made = script.make_damping().astype(int)
    assert shipped.shape == made.shape == (LAYERS, sum(DAMPED.values()))
    assert np.abs(shipped - made).max() <= 1
    assert (shipped != made).mean() < 0.001
    assert (shipped >= 3).any(axis=1).sum() > LAYERS // 2


def test_damping_brings_the_vectors_nearer_to_the_plain_model(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half the distance at least, on texts that it was not made from."""
    encoder = load_builtin()
    tokenizer, graph = encoder.ready()
    file = weights.read_weights(weights.find_weights())
    texts = [f"passage: {text}" for text in GUARD_TEXTS] + [
        "query: 工伤认定要多长时间？",
        "query: how do I roll back?",
    ]
    plain = [unit(script._forward(file, tokenizer(text))) for text in texts]
    damped = [unit(graph(tokenizer(text))) for text in texts]
    quiet = {name: np.ones_like(by) for name, by in damping().items()}
    monkeypatch.setattr(encoders_graph, "damping", lambda: quiet)
    loud = [unit(EncoderGraph(file)(tokenizer(text))) for text in texts]

    def distance(vectors: list[Any]) -> float:
        return 1 - float(np.mean([a @ b for a, b in zip(vectors, plain, strict=True)]))

    assert distance(damped) < 0.002 < distance(loud)
    assert distance(damped) < distance(loud) / 2


def test_rare_words_count_more_than_commas(script: ModuleType) -> None:
    """States are added up by what their pieces say, in the fast model as in the plain one; marks say nothing."""
    encoder = load_builtin()
    tokenizer, graph = encoder.ready()
    file = weights.read_weights(weights.find_weights())
    told = information(file)
    assert told[[file.bos, file.eos, file.pad]].max() == 0
    assert told[file.unk] == told.max()
    comma, helmet = (told[tokenizer._pieces.piece_to_id(piece)] for piece in (",", "安全"))
    assert 0 < comma < helmet / 2
    ids = tokenizer("passage: , , , , , , , , , , 安全帽, , , , , , , , , ,")
    (plain, fast, equal) = (unit(v) for v in (script._forward(file, ids), graph(ids), evenly(encoder, ids)))
    assert plain @ fast > plain @ equal + 0.0005  # states of one text are near to one another


def evenly(encoder: BuiltinEncoder, ids: list[int]) -> Any:
    """The mean of the states."""
    graph = copy.copy(encoder.ready()[1])
    graph._information = np.ones_like(graph._information)
    return graph(ids)


def unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)
