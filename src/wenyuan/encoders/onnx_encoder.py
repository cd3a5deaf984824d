"""Any embedding model in a local directory laid out as on Hugging Face: nothing is downloaded, no code in it is run.

What is read: ``model.onnx`` (or ``onnx/model.onnx``, or ``model_quantized.onnx`` in either place) and
``tokenizer.json``; where they are, also ``config.json``, ``tokenizer_config.json``, ``modules.json``,
``1_Pooling/config.json``, ``sentence_bert_config.json`` and ``config_sentence_transformers.json``. What they ask for
and this encoder cannot do is refused: a model that runs half would give vectors that look right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderUnavailable, VectorRejected, msg
from wenyuan.core.model import EncoderFingerprint, as_written
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.encoders.model_files import (
    MODELS,
    first_file,
    input_types,
    load_tokenizer,
    model_sha256,
    most_tokens,
    read_json,
    read_object,
)
from wenyuan.encoders.onnx_session import encode_each, open_session, run_session
from wenyuan.runtime.cores import usable_cores

Pooling = Literal["mean", "cls", "last"]

_POOLING_MODES: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
    "mean": "mean",
    "cls": "cls",
    "lasttoken": "last",
}
_PROBES = ("知识服务的第一条规定", "An apple a day keeps the doctor away")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    model: Path
    tokenizer: Path
    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    max_tokens: int
    component: str


def open_onnx_dir(
    path: str | Path,
    *,
    name: str = "",
    pooling: Pooling | None = None,
    query_prefix: str | None = None,
    passage_prefix: str | None = None,
    max_tokens: int = 0,
    threads: int = 0,
    scale: tuple[float, float] = (0.0, 1.0),
) -> OnnxEncoder:
    """An encoder from a model directory.

    Args:
        path: The directory.
        name: The model's id in fingerprints; the directory's name by default.
        pooling: How token states become one vector; by default what the directory says, else the mean.
        query_prefix: Put before queries; by default the directory's prompt of that name, else nothing.
        passage_prefix: Likewise for passages (prompt ``passage`` or ``document``).
        max_tokens: Cut texts here; by default what the directory says.
        threads: For many texts; 0 means every core the process may use.
        scale: Cosines of this model from unrelated to identical texts (see `EncoderFingerprint`).

    Raises:
        EncoderUnavailable: something is missing, unreadable, or asks for what cannot be done.
        VectorRejected: the model answers two different texts with no, or with the same, vector.
    """
    folder = Path(path).expanduser()
    component = f"encoder {folder.name}"
    prompts = _prompts(folder, component)
    layout = _Layout(
        model=first_file(folder, MODELS, component),
        tokenizer=first_file(folder, ("tokenizer.json",), component),
        pooling=pooling or _pooling(folder, component) or "mean",
        query_prefix=prompts.get("query", "") if query_prefix is None else query_prefix,
        passage_prefix=(
            prompts.get("passage", prompts.get("document", "")) if passage_prefix is None else passage_prefix
        ),
        max_tokens=max_tokens or most_tokens(folder, component),
        component=component,
    )
    _check_modules(folder, component)
    return OnnxEncoder(layout, name or folder.name, threads or usable_cores(), scale)


class OnnxEncoder:
    """Text → vectors with a local ONNX model; made by `open_onnx_dir`. Thread-safe."""

    works_here = True

    def __init__(self, layout: _Layout, name: str, threads: int, scale: tuple[float, float]) -> None:
        self._layout, self._threads = layout, threads
        self._tokenizer = load_tokenizer(layout.tokenizer, layout.max_tokens, layout.component)
        self._session = open_session(str(layout.model), component=layout.component)
        self._inputs = input_types(self._session, layout.component)
        names = [output.name for output in self._session.get_outputs()]
        self._output = next((n for n in ("sentence_embedding", "last_hidden_state") if n in names), names[0])
        probes = [self._vector(text) for text in _PROBES]
        dimension = len(probes[0])
        checked_vectors(probes, len(_PROBES), dimension, layout.component, texts=_PROBES)
        self.fingerprint = EncoderFingerprint(
            id=name,
            sha256=model_sha256(layout.model),
            dimension=dimension,
            query_prefix=layout.query_prefix,
            passage_prefix=layout.passage_prefix,
            pooling=layout.pooling,
            scale=scale,
        )

    @property
    def max_tokens(self) -> int:
        """Maximum sequence length; longer texts are truncated."""
        return self._layout.max_tokens

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        """Unit vectors of queries.

        Raises:
            EncoderTimeout: the deadline passed; it is looked at before every text.
            EncoderUnavailable: the model failed.
            VectorRejected: it answered with something that is no vector.
        """
        return self._encode(self._layout.query_prefix, texts, deadline, None)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        return self._encode(self._layout.passage_prefix, [as_written(text) for text in texts], None, progress)

    def close(self) -> None:
        """No-op: the session is freed with the encoder."""

    def _encode(
        self,
        prefix: str,
        texts: Sequence[str],
        deadline: Deadline | None,
        progress: Callable[[int], None] | None,
    ) -> NDArray[np.float32]:
        return encode_each(
            lambda text: self._vector(prefix + text),
            texts,
            dimension=self.fingerprint.dimension,
            threads=self._threads,
            component=self._layout.component,
            deadline=deadline,
            progress=progress,
        )

    def _vector(self, text: str) -> NDArray[np.float32]:
        """``(dimension,)``, neither normalised nor validated."""
        states = self.states(text)
        return states if states.ndim == 1 else pooled(states, self._layout.pooling)

    def states(self, text: str) -> NDArray[np.float32]:
        """Raw model output for a text without prefix: ``(tokens, dimension)``; ``(dimension,)`` if the graph pools.

        Raises:
            EncoderUnavailable: the model failed, or its output has another shape.
            VectorRejected: the tokenizer leaves nothing of the text.
        """
        tokens = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        columns = {
            "input_ids": tokens.ids,
            "attention_mask": [1] * len(tokens.ids),
            "token_type_ids": tokens.type_ids,
            "position_ids": range(len(tokens.ids)),
        }
        feed = {name: np.array([columns[name]], kind) for name, kind in self._inputs.items()}
        if not tokens.ids:
            raise VectorRejected("the tokenizer leaves nothing of a text", component=self._layout.component)
        states: NDArray[np.float32] = run_session(self._session, [self._output], feed, self._layout.component)[0]
        if states.ndim not in (1, 2):
            raise EncoderUnavailable(
                msg("the model's output has {ndim} axes, 2 or 3 expected", ndim=states.ndim + 1),
                component=self._layout.component,
            )
        return states


def pooled(states: NDArray[np.float32], pooling: Pooling) -> NDArray[np.float32]:
    """Pool token states into one vector: ``(tokens, dimension)`` → ``(dimension,)``; there is no padding."""
    if pooling == "mean":
        states = states.mean(axis=0, dtype=np.float32, keepdims=True)
    row: NDArray[np.float32] = states[-1 if pooling == "last" else 0]
    return row


def stated(folder: Path, component: str) -> tuple[Pooling | None, tuple[str, str]]:
    """What the directory itself specifies: pooling (None if unspecified), prefixes of queries and of passages.

    Raises:
        EncoderUnavailable: it cannot be read, or asks for what cannot be done.
    """
    prompts = _prompts(folder, component)
    passage = prompts.get("passage", prompts.get("document", ""))
    return _pooling(folder, component), (prompts.get("query", ""), passage)


def _pooling(folder: Path, component: str) -> Pooling | None:
    settings = read_object(folder, "1_Pooling/config.json", component)
    asked = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
    if isinstance(settings.get("pooling_mode"), str):  # the newer spelling: one name
        asked.append(settings["pooling_mode"])
    if not asked:
        return None
    if len(asked) > 1 or asked[0] not in _POOLING_MODES:
        raise EncoderUnavailable(
            msg("pooling by {asked} is not supported", asked=" and ".join(asked)), component=component
        )
    return _POOLING_MODES[asked[0]]


def _prompts(folder: Path, component: str) -> dict[str, str]:
    prompts = read_object(folder, "config_sentence_transformers.json", component).get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(p, str) for p in prompts.values()):
        raise EncoderUnavailable(
            "the prompts in config_sentence_transformers.json are not texts", component=component
        )
    return prompts


def _check_modules(folder: Path, component: str) -> None:
    modules = read_json(folder, "modules.json", component) or []
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules if isinstance(module, dict)]
    if unknown := sorted(set(kinds) - {"Transformer", "Pooling", "Normalize"}):
        raise EncoderUnavailable(
            msg("its module {unknown} is not supported", unknown=", ".join(unknown)),
            component=component,
            hint="export the whole model, so that the graph gives the final vectors, and remove modules.json",
        )
