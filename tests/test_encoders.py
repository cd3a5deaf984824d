"""Checks of vectors, the hashing double, and encoders from local model directories."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from wenyuan.core.errors import ConfigError, EncoderTimeout, EncoderUnavailable, VectorRejected
from wenyuan.core.ports import Deadline, Encoder
from wenyuan.encoders.checks import checked_vectors
from wenyuan.encoders.hashing import HashingEncoder
from wenyuan.encoders.onnx_dir import open_onnx_dir
from wenyuan.encoders.sessions import encode_each

# --- checks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "says"),
    [
        ([[1.0, float("nan")]], "NaN"),
        ([[1.0, float("inf")]], "infinity"),
        ([[1e300, 1e300]], "too large"),
        ([[0.0, 0.0]], "zero"),
        ([[1e-45, 0.0]], "zero"),
        ([[1.0, 2.0, 3.0]], "3 dimensions, expected 2"),
        ([[1.0]], "1 dimensions, expected 2"),
        ([[1.0, 0.0], [0.0, 1.0]], "1 texts went in, 2 vectors came out"),
        ([], "expected rows"),
        ([1.0, 2.0], "1 axes"),
        ([[1.0, 2.0], [1.0]], "different lengths"),
        ([["1.0", "2.0"]], "not numbers"),
        ([[1.0, None]], "not numbers"),
        ([[True, False]], "not numbers"),
        ([{"a": 1}], "not numbers"),
        ([[1j, 2.0]], "not numbers"),
        (None, "not numbers"),
        ("向量", "not numbers"),
    ],
)
def test_what_is_no_vector_is_rejected(array: Any, says: str) -> None:
    """NaN, infinity, zero, a wrong count or dimension, and what is no number are refused with the reason."""
    with pytest.raises(VectorRejected, match=says) as caught:
        checked_vectors(array, 1, 2, "encoder x")
    assert caught.value.component == "encoder x"


@given(hnp.arrays(np.float64, (3, 5), elements=st.floats(-1e6, 1e6)).filter(lambda a: (abs(a).max(1) > 1e-6).all()))
def test_checked_vectors_have_length_one_and_keep_their_direction(array: np.ndarray) -> None:
    """Rows come back as float32 of length 1 that point where they pointed."""
    rows = checked_vectors(array, 3, 5, "x")
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.allclose((rows * array).sum(1), np.linalg.norm(array, axis=1), rtol=1e-5)


def test_no_texts_make_no_rows() -> None:
    """An empty question has an empty answer of the right width."""
    assert checked_vectors([], 0, 7, "x").shape == (0, 7)


def test_a_model_that_says_always_the_same_is_found_out() -> None:
    """One vector for different texts is refused, and two of the texts are named."""
    with pytest.raises(VectorRejected, match=r"2 different texts.*报销.*travel"):
        checked_vectors([[1, 2]] * 2, 2, 2, "x", texts=["报销", "travel"])


@pytest.mark.parametrize(
    "texts",
    [
        ["报销", "报销"],
        ["报销？", "报销?"],
        ["ＡＢＣ", "abc"],
        ["café", "cafe"],
        ["？", "！"],
        ["长" * 300 + "甲", "长" * 300 + "乙"],
    ],
)
def test_texts_that_a_model_may_see_as_one_may_have_one_vector(texts: list[str]) -> None:
    """Width, case, accents, punctuation and what lies behind the cut do not make two texts different."""
    assert len(checked_vectors([[1, 2]] * 2, 2, 2, "x", texts=texts)) == 2


def test_different_vectors_of_different_texts_pass() -> None:
    """The test for a constant model lets a working one through."""
    assert len(checked_vectors([[1, 2], [2, 1]], 2, 2, "x", texts=["报销", "travel"])) == 2


# --- running ------------------------------------------------------------------------------------------------------


def one_hot(text: str) -> np.ndarray:
    row = np.zeros(4, np.float32)
    row[int(text)] = 2
    return row


@pytest.mark.parametrize("threads", [1, 3])
def test_vectors_come_back_in_the_order_of_their_texts(threads: int) -> None:
    """However many threads work, row i belongs to text i and progress adds up in the caller's thread."""
    told: list[tuple[int, int]] = []

    def slow_first(text: str) -> np.ndarray:
        time.sleep(0.02 if text == "0" else 0)
        return one_hot(text)

    rows = encode_each(
        slow_first,
        list("0123012"),
        dimension=4,
        threads=threads,
        component="x",
        progress=lambda n: told.append((n, threading.get_ident())),
    )
    assert rows.argmax(1).tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert told == [(1, threading.get_ident())] * 7


@pytest.mark.parametrize("threads", [1, 3])
def test_a_deadline_stops_the_work(threads: int) -> None:
    """Once the moment has passed no further text is encoded and the timeout is raised."""
    done: list[str] = []
    now = [0.0]

    def one(text: str) -> np.ndarray:
        done.append(text)
        now[0] += 1
        return one_hot(text)

    with pytest.raises(EncoderTimeout, match="x: the deadline passed"):
        encode_each(
            one,
            ["1"] * 50,
            dimension=4,
            threads=threads,
            component="x",
            deadline=Deadline(at=3.0, clock=lambda: now[0]),
        )
    assert 3 <= len(done) <= 3 + threads


@pytest.mark.parametrize("threads", [1, 3])
def test_one_bad_text_fails_all(threads: int) -> None:
    """A vector of another dimension or of zeros is never put between good ones."""
    for bad in (np.zeros(4, np.float32), np.ones(5, np.float32)):
        with pytest.raises(VectorRejected):
            encode_each(
                lambda t, bad=bad: bad if t == "2" else one_hot(t),
                list("0123"),
                dimension=4,
                threads=threads,
                component="x",
            )


# --- hashing ------------------------------------------------------------------------------------------------------


@given(st.text(), st.integers(8, 300))
def test_every_text_has_a_hashed_vector(text: str, dimension: int) -> None:
    """The double encodes whatever it is given, and always alike."""
    encoder = HashingEncoder(dimension)
    row = encoder.encode_queries([text])
    assert row.shape == (1, dimension)
    assert np.array_equal(row, encoder.encode_passages([text]))


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("差旅费如何报销", "差旅费报销须在十五日内提交单据", "脚手架搭设应当编制专项方案"),
        ("refund policy", "our refund policy for customers", "the scaffold must be inspected"),
        ("ＧＢ 50300 验收", "gb 50300 建筑工程验收", "annual leave of employees"),
    ],
)
def test_texts_that_share_words_are_nearer(query: str, near: str, far: str) -> None:
    """A text with words of the query has a higher cosine than one without, in Chinese and in English."""
    q, a, b = HashingEncoder().encode_passages([query, near, far])
    assert q @ a > q @ b + 0.1


def test_hashed_vectors_are_the_same_in_every_process() -> None:
    """The double does not depend on Python's salted hash."""
    code = (
        "from wenyuan.encoders.hashing import HashingEncoder;"
        "print(HashingEncoder(16).encode_queries(['知识 base']).round(4).tolist())"
    )
    here = HashingEncoder(16).encode_queries(["知识 base"]).round(4).tolist()
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(there.stdout) == here


def test_the_double_keeps_the_socket_s_promises() -> None:
    """It is an `Encoder`, tells progress, honours a deadline, and refuses a dimension too small."""
    encoder = HashingEncoder()
    told: list[int] = []
    assert isinstance(encoder, Encoder)
    assert encoder.encode_passages(["一", "two"], progress=told.append).shape == (2, 256)
    assert sum(told) == 2
    assert encoder.encode_queries([]).shape == (0, 256)
    with pytest.raises(EncoderTimeout):
        encoder.encode_queries(["late"], deadline=Deadline(at=1.0, clock=lambda: 2.0))
    with pytest.raises(ConfigError):
        HashingEncoder(4)


# --- model directories --------------------------------------------------------------------------------------------

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
