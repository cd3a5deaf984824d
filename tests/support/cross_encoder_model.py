"""A tiny cross-encoder made here: its logit grows with the words that query and text share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SPECIAL = ("[CLS]", "[SEP]", "[UNK]")
BIAS = -3.0


def make_cross_encoder(
    folder: Path, words: Sequence[str], *, outputs: int = 1, scale: float = 1.0, output: str = "logits"
) -> None:
    """Write ``model.onnx`` and ``tokenizer.json`` for a vocabulary.

    The logit is `scale` × (pairs of equal tokens, one of the query and one of the text, and one pair of marks) + `BIAS`.

    Args:
        words: Others are unknown; an unknown word equals every other unknown word.
        outputs: Numbers for a pair: with 2 the first is 0, with 3 the others too.
    """
    nodes = [
        helper.make_node("Cast", ["token_type_ids"], ["text"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["one", "text"], ["query"]),
        helper.make_node("Unsqueeze", ["input_ids", "axis1"], ["row"]),
        helper.make_node("Unsqueeze", ["input_ids", "axis2"], ["column"]),
        helper.make_node("Equal", ["column", "row"], ["equal"]),
        helper.make_node("Cast", ["equal"], ["same"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["query", "axis1"], ["query_row"]),
        helper.make_node("Unsqueeze", ["text", "axis2"], ["text_column"]),
        helper.make_node("MatMul", ["query_row", "same"], ["met"]),
        helper.make_node("MatMul", ["met", "text_column"], ["pairs"]),
        helper.make_node("Mul", ["pairs", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "bias"], ["logit"]),
        helper.make_node("Reshape", ["logit", "shape"], ["single"]),
        helper.make_node("Pad", ["single", "pads"], [output]),
    ]
    constants = {
        "one": np.array(1.0, np.float32),
        "scale": np.array(scale, np.float32),
        "bias": np.array(BIAS, np.float32),
        "axis1": np.array([1]),
        "axis2": np.array([2]),
        "shape": np.array([1, 1]),
        "pads": np.array([0, outputs - 1, 0, 0]),
    }
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(n, TensorProto.INT64, [1, "t"]) for n in ("input_ids", "token_type_ids")],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()  # it sets Chinese characters apart
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    tokenizer.enable_padding(length=64)  # stored settings of the file must not add padding
    tokenizer.save(str(folder / "tokenizer.json"))
