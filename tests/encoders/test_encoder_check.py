"""`wenyuan encoder check`: a model is tried, and the settings that are right for it are printed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Sequence, Split, Whitespace
from tokenizers.processors import TemplateProcessing

from command_line import run
from wenyuan.app import open_encoder
from wenyuan.core.errors import EncoderUnavailable, VectorRejected
from wenyuan.core.text.analysis import query_terms
from wenyuan.encoders.checking import PREFIXES, check_folder, probes
from wenyuan.settings import EncoderSettings

WIDE = 48
MARKS = ("[CLS]", "[SEP]", "[UNK]")


def make_model(folder: Path, pooling: str, *, prefixed: bool = False, senseless: str = "") -> Path:
    """A model that knows the probes by heart: each word points to what it is about.

    Args:
        pooling: The only place where a text's meaning stands: ``mean``, ``cls``, ``last``, or ``""``: the graph pools.
        prefixed: It stands there only behind ``query: `` and ``passage: ``; else it is drowned by noise.
        senseless: Languages whose words point anywhere.
    """
    folder.mkdir()
    words = Sequence([Whitespace(), Split(Regex("[\u3400-\u9fff]"), "isolated")])
    draw = np.random.default_rng(3)
    meaning: dict[str, Any] = {word: np.zeros(WIDE) for word in (*MARKS, "query", "passage", ":")}
    for probe in probes():
        about = draw.normal(size=WIDE)
        for word, _ in words.pre_tokenize_str(f"{probe.question} {probe.answer}"):
            pointed = draw.normal(size=WIDE) if probe.language in senseless else about
            meaning[word] = meaning.get(word, 0.01 * draw.normal(size=WIDE)) + pointed
    vocabulary = {word: number for number, word in enumerate(meaning)}
    table = np.stack([row / max(1.0, np.linalg.norm(row) ** 1.5) for row in meaning.values()])
    noise = draw.normal(size=table.shape) * (1.0 if prefixed else 0.0)
    onnx.save(_graph(pooling, vocabulary, table, noise, draw.normal(size=table.shape)), folder / "model.onnx")
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = words
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def _graph(pooling: str, vocabulary: dict[str, int], table: Any, noise: Any, elsewhere: Any) -> Any:
    """States are meanings (and noise, unless a prefix is there); or their mean in one place, and anything elsewhere."""

    def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> Any:
        return helper.make_node(kind, inputs, [output], **attributes)

    first, rest = ("mean", "others") if pooling == "cls" else ("others", "mean")
    ends = (1, 2**31) if pooling == "cls" else (0, -1)
    output = {"mean": "pointed", "": "pooled"}.get(pooling, "placed")
    nodes = [
        *(node("Equal", ["input_ids", f"{name}_id"], f"is_{name}") for name in ("query", "passage")),
        node("Or", ["is_query", "is_passage"], "is_prefix"),
        node("Cast", ["is_prefix"], "prefix", to=TensorProto.FLOAT),
        node("ReduceMax", ["prefix"], "given", axes=[1], keepdims=1),
        node("Sub", ["one", "given"], "open"),
        node("Unsqueeze", ["open", "last_axis"], "gate"),
        node("Gather", ["noise", "input_ids"], "noises"),
        node("Mul", ["noises", "gate"], "heard"),
        node("Gather", ["table", "input_ids"], "meanings"),
        node("Add", ["meanings", "heard"], "pointed"),
        node("ReduceMean", ["pointed"], "mean", axes=[1], keepdims=1),
        node("ReduceMean", ["pointed"], "pooled", axes=[1], keepdims=0),
        node("Gather", ["elsewhere", "input_ids"], "anything"),
        node("Slice", ["anything", "from", "to", "one_axis"], "others"),
        node("Concat", [first, rest], "placed", axis=1),
        node("Identity", [output], "last_hidden_state"),
    ]
    held = {
        "table": table.astype(np.float32), "noise": noise.astype(np.float32),
        "elsewhere": elsewhere.astype(np.float32), "one": np.ones(1, np.float32), "last_axis": np.array([2]),
        "from": np.array([ends[0]]), "to": np.array([ends[1]]), "one_axis": np.array([1]),
        "query_id": np.array([vocabulary["query"]]), "passage_id": np.array([vocabulary["passage"]]),
    }  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "probes",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "t"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_the_probe_set_is_as_large_in_both_languages() -> None:
    """Twenty-four questions and eight texts that answer none, in each; no two say the same."""
    known = probes()
    for language in ("zh", "en"):
        own = [probe for probe in known if probe.language == language]
        assert (sum(bool(probe.question) for probe in own), len(own)) == (24, 32)
    assert len({probe.answer for probe in known}) == len({*known}) == 64
    shared = [set(query_terms(p.question)) & set(query_terms(p.answer)) for p in known if p.question]
    assert sum(len(words) <= 3 for words in shared) >= 40  # words alone do not find the answers


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_the_right_pooling_is_found(tmp_path: Path, pooling: str) -> None:
    """Whatever the directory says, or where it says nothing: it is ahead of the others for certain."""
    folder = make_model(tmp_path / "model", pooling)
    wrong = "mean" if pooling == "cls" else "cls"
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"pooling_mode": wrong.replace("last", "lasttoken")})
    )
    checked = check_folder(folder)
    assert (checked.best.pooling, checked.says, checked.dimension) == (pooling, wrong, WIDE)
    assert min(checked.best.found.values()) > 0.9
    assert checked.next_pooling is not None and checked.next_pooling.pooling != pooling
    assert checked.ahead is not None and checked.ahead.verdict == "better"
    assert (checked.best.query_prefix, checked.best.passage_prefix) == ("", "")  # no prefix is no worse for it


def test_prefixes_that_a_model_needs_are_found(tmp_path: Path) -> None:
    """A model that was trained behind ``query: `` and ``passage: `` finds nothing without them."""
    checked = check_folder(make_model(tmp_path / "model", "mean", prefixed=True))
    assert (checked.best.query_prefix, checked.best.passage_prefix) == PREFIXES[1]
    assert checked.best.margin > checked.stated.margin


def test_a_graph_that_pools_by_itself_has_no_pooling_to_choose(tmp_path: Path) -> None:
    """Only prefixes are tried then, and the settings name no pooling."""
    checked = check_folder(make_model(tmp_path / "model", ""))
    assert {way.pooling for way in checked.tried} == {""}
    assert (checked.next_pooling, checked.ahead) == (None, None)


def test_the_printed_settings_are_those_of_the_right_encoder(tmp_path: Path) -> None:
    """They are TOML that the program reads, and the encoder they open has pooling, prefixes and scale of them."""
    folder = make_model(tmp_path / "模型 a", "cls")
    shown = run("encoder", "check", folder, "--lang", "en")
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    at = lines.index("[encoder]")
    section = tomllib.loads("\n".join(lines[at : at + 7]))
    encoder = open_encoder(EncoderSettings(**section["encoder"]))
    assert encoder is not None
    fingerprint = encoder.fingerprint
    assert (fingerprint.pooling, fingerprint.query_prefix) == ("cls", "")
    low, high = fingerprint.scale
    assert (low, high) == tuple(section["encoder"]["scale"])
    assert -0.6 < low < 0.3 and high == 1.0
    assert max(map(len, shown.stdout.split("[encoder]")[0].splitlines())) <= 80
    told = json.loads(run("encoder", "check", folder, "--json").stdout)
    assert told["settings"] == section["encoder"]
    assert (told["status"], told["sure"], len(told["tried"])) == ("SUCCESS", True, 3 * len(PREFIXES))


def test_it_is_said_in_chinese(tmp_path: Path) -> None:
    """What is wrong with the directory's own word, and what to do next."""
    folder = make_model(tmp_path / "model", "last")
    shown = run("encoder", "check", folder, "--lang", "zh")
    assert shown.exit_code == 0, shown.output
    for words in ("末词元", "粘贴", "wenyuan reembed"):
        assert words in shown.stdout


def test_a_language_that_a_model_does_not_know_is_told(tmp_path: Path) -> None:
    """Of a model for English the settings are printed, with what it is no good for."""
    folder = make_model(tmp_path / "model", "mean", senseless="zh")
    assert check_folder(folder).foreign == ("zh",)
    assert "不懂中文" in run("encoder", "check", folder, "--lang", "zh").stdout
    assert "does not know Chinese" in run("encoder", "check", folder, "--lang", "en").stdout


def test_a_model_that_finds_nothing_is_refused(tmp_path: Path) -> None:
    """No settings are printed for what is no model of meaning."""
    folder = make_model(tmp_path / "model", "mean", senseless="zh en")
    with pytest.raises(EncoderUnavailable, match="do not find their answers"):
        check_folder(folder)
    shown = run("encoder", "check", folder, "--lang", "zh")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "找不到答案" in shown.output


@pytest.mark.parametrize(
    ("left", "told", "code"),
    [
        ("nothing", "there is no folder", 2),
        ("empty", "has no model.onnx", 1),
        ("no tokenizer", "has no tokenizer.json", 1),
        ("broken", "tokenizer.json cannot be used", 1),
    ],
)
def test_a_wrong_folder_is_told_with_what_to_do(tmp_path: Path, left: str, told: str, code: int) -> None:
    """What is missing or broken is named, and what is needed."""
    folder = tmp_path / "model"
    if left == "empty":
        folder.mkdir()
    elif left != "nothing":
        make_model(folder, "mean")
        (folder / "tokenizer.json").unlink()
        if left == "broken":
            (folder / "tokenizer.json").write_text("{}")
    shown = run("encoder", "check", folder, "--lang", "en")
    assert shown.exit_code == code
    flat = " ".join(shown.output.split())
    assert told in flat
    if left != "broken":
        assert "wenyuan encoder check FOLDER" in flat or "exported to ONNX" in flat


@pytest.mark.parametrize("scale", [(0.7, 0.7), (0.9, 0.2), (0.2, 1.5)])
def test_a_scale_that_does_not_rise_is_no_setting(scale: tuple[float, float]) -> None:
    """Two cosines, the smaller one first."""
    with pytest.raises(ValueError, match="scale is two cosines"):
        EncoderSettings(kind="onnx_dir", scale=scale)


def test_a_model_whose_numbers_are_none_is_refused(tmp_path: Path) -> None:
    """One that gives infinity or no number for a text finds nothing that could be measured."""
    folder = make_model(tmp_path / "model", "mean")
    model = onnx.load(folder / "model.onnx")
    for one in model.graph.initializer:
        values = numpy_helper.to_array(one)
        if values.ndim == 2 and values.shape[1] == WIDE:
            told = values.copy()
            told[-1] = np.nan  # of the last word alone, which a first look does not meet
            one.CopyFrom(numpy_helper.from_array(told, one.name))
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(VectorRejected, match="not finite"):
        check_folder(folder)
