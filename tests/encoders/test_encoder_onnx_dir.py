"""Encoders from local model directories, with tiny models made here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from wenyuan.core.errors import EncoderUnavailable, VectorRejected
from wenyuan.core.ports import Encoder
from wenyuan.encoders.model_files import load_tokenizer
from wenyuan.encoders.onnx_encoder import open_onnx_dir
from wenyuan.runtime.installation import install_command

WORDS = ["[CLS]", "[SEP]", "[UNK]", "报", "销", "travel", "cost", "知", "识", "Q", "P", "An", "away"]


def make_model(
    folder: Path,
    *,
    pooled: bool = False,
    kind: int = TensorProto.INT64,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    table: np.ndarray | None = None,
    output: str = "last_hidden_state",
    at: str = "model.onnx",
) -> np.ndarray:
    """A model that looks every token up in a table of 3 dimensions; returns the table."""
    rows = np.random.default_rng(1).normal(size=(len(WORDS), 3)) if table is None else table
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    if pooled:
        nodes.append(helper.make_node("ReduceMax", ["states"], [output], axes=[1], keepdims=0))
    else:
        nodes.append(helper.make_node("Identity", ["states"], [output]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, [1, "t"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(rows.astype(np.float32), "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / at).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / at)
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    tokenizer.enable_padding(length=32)  # stored settings of the file must not add padding to the mean
    tokenizer.save(str(folder / "tokenizer.json"))
    return rows.astype(np.float32)


def unit(row: np.ndarray) -> np.ndarray:
    return row / np.linalg.norm(row)


def write(folder: Path, name: str, content: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


POOLINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mean": lambda states: states.mean(0),
    "cls": lambda states: states[0],
    "last": lambda states: states[-1],
}


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
def test_token_states_are_pooled_as_asked(tmp_path: Path, pooling: Any, kind: int) -> None:
    """The mean, the first or the last state becomes the vector, without padding, for both kinds of integers."""
    # Marks at both ends would be the first and the last state of every text.
    table = make_model(tmp_path, kind=kind)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    if pooling != "mean":
        tokenizer.post_processor = TemplateProcessing(single="$A", special_tokens=[])
        tokenizer.save(str(tmp_path / "tokenizer.json"))
    encoder = open_onnx_dir(tmp_path, pooling=pooling)
    ids = [0, 3, 4, 5, 1] if pooling == "mean" else [3, 4, 5]
    got = encoder.encode_passages(["报 销 travel", "cost"])
    assert np.allclose(got[0], unit(POOLINGS[pooling](table[ids])), atol=1e-6)
    assert encoder.fingerprint.pooling == pooling
    assert isinstance(encoder, Encoder)


def test_a_graph_that_pools_by_itself_is_taken_as_it_is(tmp_path: Path) -> None:
    """An output of one row per text is the vector, whatever the pooling says."""
    table = make_model(tmp_path, pooled=True, output="sentence_embedding", at="onnx/model_quantized.onnx")
    got = open_onnx_dir(tmp_path, pooling="cls").encode_queries(["报 cost"])
    assert np.allclose(got[0], unit(table[[0, 3, 6, 1]].max(0)), atol=1e-6)


def test_the_directory_says_pooling_prompts_and_length(tmp_path: Path) -> None:
    """What sentence-transformers wrote beside the model is followed."""
    table = make_model(tmp_path, inputs=("input_ids", "attention_mask", "token_type_ids", "position_ids"))
    write(tmp_path, "1_Pooling/config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})
    write(tmp_path, "config_sentence_transformers.json", {"prompts": {"query": "Q ", "document": "P "}})
    write(tmp_path, "sentence_bert_config.json", {"max_seq_length": 4})
    write(tmp_path, "modules.json", [{"type": "sentence_transformers.models.Transformer"}])
    encoder = open_onnx_dir(tmp_path)
    assert encoder.max_tokens == 4
    for got, ids in (
        (encoder.encode_queries(["报 销 报 销"]), [0, 9, 3, 1]),
        (encoder.encode_passages(["报 销 报 销"]), [0, 10, 3, 1]),
    ):
        assert np.allclose(got[0], unit(table[ids].mean(0)), atol=1e-6)
    assert (encoder.fingerprint.query_prefix, encoder.fingerprint.passage_prefix) == ("Q ", "P ")
    assert open_onnx_dir(tmp_path, query_prefix="").fingerprint.query_prefix == ""


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"max_position_embeddings": 514, "model_type": "xlm-roberta"}, 512),
        ({"max_position_embeddings": 256, "model_type": "bert"}, 256),
        ({}, 512),
    ],
)
def test_the_length_limit_comes_from_the_model(tmp_path: Path, config: dict[str, Any], limit: int) -> None:
    """Positions that the model has limit the tokens; RoBERTa's lose the two that padding takes."""
    make_model(tmp_path)
    write(tmp_path, "config.json", config)
    write(tmp_path, "tokenizer_config.json", {"model_max_length": 10**30})
    assert open_onnx_dir(tmp_path).max_tokens == limit


def test_a_changed_model_has_another_fingerprint(tmp_path: Path) -> None:
    """The hash of the model file stands in the fingerprint, so that two models are never mixed."""
    make_model(tmp_path / "a")
    make_model(tmp_path / "b", table=np.eye(len(WORDS), 3) + 1)
    one, other = open_onnx_dir(tmp_path / "a", name="m"), open_onnx_dir(tmp_path / "b", name="m")
    assert one.fingerprint.key != other.fingerprint.key
    (tmp_path / "a/model.onnx_data").write_bytes(b"weights that lie apart")
    assert open_onnx_dir(tmp_path / "a", name="m").fingerprint.key != one.fingerprint.key


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("tokenizer.json", "{", "tokenizer.json"),
        ("model.onnx", "no model", "refuses the model"),
        ("config.json", "[1", "config.json cannot be read"),
        ("config.json", [], "no JSON object"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling by pooling_mode_max_tokens"),
        ("1_Pooling/config.json", {"pooling_mode": "weightedmean"}, "pooling by weightedmean"),
        (
            "1_Pooling/config.json",
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
            "pooling_mode_mean_tokens and",
        ),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "module Dense"),
        ("config_sentence_transformers.json", {"prompts": {"query": 3}}, "prompts"),
    ],
)
def test_a_directory_that_cannot_be_followed_is_refused(
    tmp_path: Path, name: str, content: object, says: str
) -> None:
    """What is broken, or asks for more than the encoder does, is refused and named."""
    make_model(tmp_path)
    write(tmp_path, name, content)
    with pytest.raises(EncoderUnavailable, match=says):
        open_onnx_dir(tmp_path)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_directory_with_a_part_missing_is_refused(tmp_path: Path, missing: str) -> None:
    """The file that is missing is named, with a hint."""
    make_model(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(EncoderUnavailable, match=missing) as caught:
        open_onnx_dir(tmp_path)
    assert caught.value.hint


def test_a_graph_with_an_unknown_input_is_refused(tmp_path: Path) -> None:
    """A graph that wants what a text cannot give is not fed with zeros."""
    make_model(tmp_path, inputs=("input_ids", "pixel_values"))
    with pytest.raises(EncoderUnavailable, match="pixel_values"):
        open_onnx_dir(tmp_path)


@pytest.mark.parametrize(
    ("table", "says"),
    [(np.ones((13, 3)), "same vector"), (np.zeros((13, 3)), "zero"), (np.full((13, 3), np.nan), "NaN")],
)
def test_a_model_that_says_nothing_is_refused_at_once(tmp_path: Path, table: np.ndarray, says: str) -> None:
    """A constant, zero or NaN model is found out when it is opened, not when an index is full of it."""
    make_model(tmp_path, table=table)
    with pytest.raises(VectorRejected, match=says):
        open_onnx_dir(tmp_path)


def test_a_run_that_fails_is_an_error(tmp_path: Path) -> None:
    """An id outside the model's table raises; it does not become a vector."""
    make_model(tmp_path)
    tokenizer = Tokenizer(WordLevel({"[UNK]": 2, "报": 99}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(VectorRejected, match="same vector"):
        open_onnx_dir(tmp_path)  # both probes are unknown words: no tokenizer for this model
    tokenizer = Tokenizer(WordLevel({"[UNK]": 2, "An": 11, "报": 99}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    encoder = open_onnx_dir(tmp_path)
    with pytest.raises(EncoderUnavailable, match="the model failed"):
        encoder.encode_passages(["An", "报"])
    with pytest.raises(VectorRejected, match="leaves nothing"):
        encoder.encode_queries([" "])


@pytest.mark.parametrize(("operator", "axes"), [("Unsqueeze", 4), ("Squeeze", 1)])
def test_an_output_of_another_shape_is_refused(tmp_path: Path, operator: str, axes: int) -> None:
    """An output that is neither a row per text nor a row per token says how many axes it has."""
    make_model(tmp_path)
    model = onnx.load(tmp_path / "model.onnx")
    if operator == "Squeeze":  # the mean of everything, one number per text
        changed = helper.make_node("ReduceMean", ["states"], ["last_hidden_state"], axes=[1, 2], keepdims=0)
    else:
        model.graph.initializer.append(numpy_helper.from_array(np.array([3]), "last"))
        changed = helper.make_node("Unsqueeze", ["states", "last"], ["last_hidden_state"])
    model.graph.node[1].CopyFrom(changed)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(EncoderUnavailable, match=f"{axes} axes, 2 or 3 expected"):
        open_onnx_dir(tmp_path)


def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package `tokenizers` is missing, the error names the extra that has it."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(EncoderUnavailable, match="package tokenizers") as caught:
        load_tokenizer(tmp_path / "tokenizer.json", 10, "encoder")
    assert caught.value.hint == install_command("onnx")
