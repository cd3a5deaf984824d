"""Files of a model folder as on Hugging Face: read, checked, hashed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wenyuan.core.errors import EncoderUnavailable, msg
from wenyuan.runtime.installation import install_command
from wenyuan.runtime.regular import read_regular

MODELS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MOST_TOKENS = 8_192
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet"}
"""Model types whose positions begin behind the padding id, so that two of them cannot be used."""


def first_file(folder: Path, names: Sequence[str], component: str) -> Path:
    """The first of these files that exists; EncoderUnavailable if none does."""
    for name in names:
        if (path := folder / name).is_file():
            return path
    raise EncoderUnavailable(
        msg("the directory {folder} has no {names}", folder=folder, names=" or ".join(names)),
        component=component,
        hint="name a directory with a model exported to ONNX and its tokenizer.json",
    )


def read_json(folder: Path, name: str, component: str) -> Any:
    """The parsed file, or an empty object if it does not exist."""
    try:
        return json.loads(read_regular(folder / name).decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EncoderUnavailable(msg("{name} cannot be read as JSON", name=name), component=component) from error


def read_object(folder: Path, name: str, component: str) -> dict[str, Any]:
    """As `read_json`; the file must hold an object."""
    parsed = read_json(folder, name, component)
    if not isinstance(parsed, dict):
        raise EncoderUnavailable(msg("{name} holds no JSON object", name=name), component=component)
    return parsed


def load_tokenizer(path: Path, most: int, component: str) -> Any:
    """The tokenizer of a file, without padding, truncating at `most` tokens."""
    try:
        import tokenizers
    except ImportError as error:
        raise EncoderUnavailable(
            "models in a directory need the package tokenizers",
            component=component,
            hint=install_command("onnx"),
        ) from error
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.enable_truncation(most)
    except Exception as error:  # the driver raises plain Exception
        raise EncoderUnavailable(
            msg("tokenizer.json cannot be used: {error}", error=str(error)[:200]), component=component
        ) from error
    return tokenizer


def input_types(session: Any, component: str) -> dict[str, Any]:
    """The numpy type of each model input; inputs that a tokenizer cannot provide are refused."""
    known = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
    types: dict[str, Any] = {}
    for wanted in session.get_inputs():
        if wanted.name not in known:
            raise EncoderUnavailable(
                msg(
                    "the model wants an input {name}; known are {known}",
                    name=repr(wanted.name),
                    known=", ".join(sorted(known)),
                ),
                component=component,
            )
        types[wanted.name] = np.int32 if wanted.type == "tensor(int32)" else np.int64
    return types


def most_tokens(folder: Path, component: str) -> int:
    """The model's maximum sequence length according to its directory; 512 by default."""
    config = read_object(folder, "config.json", component)
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _OFFSET_POSITIONS:
        positions -= 2
    said = (
        positions,
        read_object(folder, "sentence_bert_config.json", component).get("max_seq_length"),
        read_object(folder, "tokenizer_config.json", component).get("model_max_length"),
    )
    limits = [limit for limit in said if isinstance(limit, int) and 0 < limit <= _MOST_TOKENS]
    return min(limits, default=512)


def model_sha256(model: Path) -> str:
    """SHA-256 of the model file and its external weights."""
    digest = hashlib.sha256()
    for path in (model, model.with_name(model.name + "_data"), model.with_name(model.name + ".data")):
        if path.is_file():
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()
