"""Embedding models and rerankers from a local Hugging Face folder, run by onnxruntime."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import (
    EncoderError,
    EncoderUnavailable,
    RerankerTimeout,
    RerankerUnavailable,
    ScoresRejected,
    VectorRejected,
    msg,
)
from wenyuan.core.model import EncoderFingerprint, as_written
from wenyuan.core.ports import Deadline, ModelUse
from wenyuan.core.scoring import check_deadline, checked_vectors
from wenyuan.core.scoring.rerank import checked_scores
from wenyuan.runtime import install_command, usable_cores
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


# How a local model runs: one onnxruntime session, one text at a time, several threads.
#
# One text per run, never a padded batch: dynamic quantisation takes its scale from the whole input, so that in a
# batch the neighbours and the padding would move a text's vector (cosine .997 with itself, measured). On a CPU a batch
# gains nothing at 200 tokens, a tenth at 30 and a quarter at 12. So a text has one vector, whatever it is encoded with.


_SLOWER = "SkipLayerNormFusion"
"""Makes one operation of an addition and a normalisation, which takes longer than both do (onnxruntime 1.31)."""


def open_session(model: str | bytes, *, component: str, weights: Mapping[str, Any] | None = None) -> Any:
    """An onnxruntime session on the CPU, with one thread per run: callers bring the threads.

    Args:
        model: Path or bytes of the graph.
        component: Who asks, for the message.
        weights: `OrtValue` by the name of the graph's external initializer. The session reads the memory of
            their arrays, so the caller must keep them as long as the session.

    Raises:
        EncoderUnavailable: onnxruntime refuses the model.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_mem_pattern = False  # every length is another shape: plans for each would only pile up
    options.log_severity_level = 4  # what goes wrong is raised; stderr belongs to the program
    try:
        if weights:
            options.add_external_initializers(list(weights), list(weights.values()))
        return onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"], disabled_optimizers=[_SLOWER]
        )
    except Exception as error:  # the driver's classes have no common parent
        raise EncoderUnavailable(
            msg("onnxruntime refuses the model: {error}", error=_reason(error)), component=component
        ) from error


def run_session(session: Any, outputs: list[str] | None, feed: Mapping[str, Any], component: str) -> Any:
    """The model's first output.

    Raises:
        EncoderUnavailable: the run failed.
    """
    try:
        return session.run(outputs, feed)[0]
    except Exception as error:  # the driver's classes have no common parent
        raise EncoderUnavailable(
            msg("the model failed: {error}", error=_reason(error)), component=component
        ) from error


def encode_each(
    encode: Callable[[str], NDArray[np.float32]],
    texts: Sequence[str],
    *,
    dimension: int,
    threads: int,
    component: str,
    deadline: Deadline | None = None,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float32]:
    """Checked unit vectors of `texts`, in their order.

    Args:
        encode: One text → ``(dimension,)``; called from up to `threads` threads at once.
        dimension: Of the vectors.
        threads: At most so many; a single text stays in the caller's thread.
        component: Who encodes, for the messages.
        deadline: Looked at before every text.
        progress: Called in the caller's thread with 1 after every text.

    Raises:
        EncoderTimeout: the deadline passed.
        EncoderUnavailable: the model failed.
        VectorRejected: the model answered with something that is no vector.
    """

    def timely(text: str) -> NDArray[np.float32]:
        check_deadline(deadline, component)
        return encode(text)

    rows = np.empty((len(texts), dimension), np.float32)
    pool = ThreadPoolExecutor(threads, "encode") if threads > 1 and len(texts) > 1 else None
    try:
        for at, row in enumerate(pool.map(timely, texts) if pool else map(timely, texts)):
            if row.shape != (dimension,):
                checked_vectors(row[None], 1, dimension, component)
            rows[at] = row
            if progress:
                progress(1)
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
    return checked_vectors(rows, len(texts), dimension, component)


def _reason(error: Exception) -> str:
    """The first line of the driver's message; the rest is its stack."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


# Any embedding model in a local directory laid out as on Hugging Face: nothing is downloaded, no code in it is run.
#
# What is read: ``model.onnx`` (or ``onnx/model.onnx``, or ``model_quantized.onnx`` in either place) and
# ``tokenizer.json``; where they are, also ``config.json``, ``tokenizer_config.json``, ``modules.json``,
# ``1_Pooling/config.json``, ``sentence_bert_config.json`` and ``config_sentence_transformers.json``. What they ask for
# and this encoder cannot do is refused: a model that runs half would give vectors that look right.


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


# A reranker in a local directory laid out as on Hugging Face: a cross-encoder exported to ONNX.
#
# Query and text go in as one pair, as the directory's tokenizer joins them; out comes one logit, or two of which the
# second is for "relevant". Nothing is downloaded, and no code of the directory is run.

_PAIR_PROBES = (("年假有几天", "员工每年有五天年假。"), ("annual leave", "The lift is inspected every year."))


class CrossEncoder:
    """(query, text) → probability, with a local ONNX model. Thread-safe.

    Args:
        path: The directory: ``model.onnx`` and ``tokenizer.json``; ``config.json`` where it is.
        name: The model's id in fingerprints; the directory's name by default.
        max_tokens: Cut pairs here, the longer of the two first; by default what the directory says.
        threads: For several texts; 0 means every core the process may use.
        logits: What comes out are logits; False when the graph ends with its own sigmoid.
        role: How messages call it.

    Raises:
        RerankerUnavailable: something is missing, unreadable, or asks for what cannot be done.
        ScoresRejected: the model answers with something that is no score.
    """

    def __init__(
        self, path: str | Path, *, name: str = "", max_tokens: int = 0, threads: int = 0, logits: bool = True,
        role: Literal["reranker", "judge"] = "reranker",
    ) -> None:  # fmt: skip
        folder = Path(path).expanduser()
        self.component = f"{role} {folder.name}"
        self._threads, self._logits = threads or usable_cores(), logits
        with _translated(self.component):
            model = first_file(folder, MODELS, self.component)
            tokenizer = first_file(folder, ("tokenizer.json",), self.component)
            most = max_tokens or most_tokens(folder, self.component)
            self._tokenizer = load_tokenizer(tokenizer, most, self.component)
            self._session = open_session(str(model), component=self.component)
            self._inputs = input_types(self._session, self.component)
            sha256 = model_sha256(model)
        names = [output.name for output in self._session.get_outputs()]
        self._output = "logits" if "logits" in names else names[0]
        probes = [self._score(*pair) for pair in _PAIR_PROBES]
        checked_scores(probes, len(probes), self.component, logits=logits)
        if probes[0] == probes[1]:
            raise ScoresRejected("the model gives different pairs the same score", component=self.component)
        kind = "logit" if logits else "probability"
        self.fingerprint = f"onnx_dir|{name or folder.name}|{sha256[:16]}|{most}|{kind}"

    def rerank(self, query: str, texts: Sequence[str], *, deadline: Deadline) -> Sequence[float]:
        """The probability of each text that it answers the query.

        Raises:
            RerankerTimeout: the deadline passed; it is looked at before every text.
            RerankerUnavailable: the model failed.
            ScoresRejected: it answered with something that is no score.
        """

        def timely(text: str) -> float:
            if deadline.remaining() <= 0:
                raise RerankerTimeout("the deadline passed", component=self.component)
            return self._score(query, text)

        pool = ThreadPoolExecutor(self._threads, "rerank") if self._threads > 1 and len(texts) > 1 else None
        try:
            scores = list(pool.map(timely, texts) if pool else map(timely, texts))
        finally:
            if pool:
                pool.shutdown(cancel_futures=True)
        return checked_scores(scores, len(texts), self.component, logits=self._logits)

    def close(self) -> None:
        """No-op: the session is freed with the reranker."""

    def _score(self, query: str, text: str) -> float:
        """One pair a run, never a padded batch: in a batch the neighbours would move a score (see `sessions`)."""
        pair = self._tokenizer.encode(*(part.encode("utf-8", "replace").decode("utf-8") for part in (query, text)))
        columns = {
            "input_ids": pair.ids,
            "attention_mask": [1] * len(pair.ids),
            "token_type_ids": pair.type_ids,
            "position_ids": range(len(pair.ids)),
        }
        if not pair.ids:
            raise ScoresRejected("the tokenizer leaves nothing of query and text", component=self.component)
        feed = {name: np.array([columns[name]], kind) for name, kind in self._inputs.items()}
        with _translated(self.component):
            out: NDArray[np.float32] = run_session(self._session, [self._output], feed, self.component)
        return self._single(np.asarray(out).reshape(-1))

    def _single(self, out: NDArray[np.float32]) -> float:
        """The one number that counts. Of two logits it is their distance: its sigmoid is their softmax."""
        if out.size == 1:
            return float(out[0])
        if out.size == 2:
            return float(out[1] - out[0]) if self._logits else float(out[1])
        raise RerankerUnavailable(
            msg("the model gives {size} numbers for a pair, 1 or 2 expected", size=out.size),
            component=self.component,
            hint="is it a cross-encoder, exported for the classification of sequences?",
        )


class LocalJudge:
    """A classifier of (question, passages) in a folder, whose probability of "relevant" is read as "these suffice".

    Args:
        path, max_tokens, threads: See `CrossEncoder`. What lies beyond `max_tokens` is not read.
    """

    local: bool = True

    def __init__(self, path: str | Path, *, max_tokens: int = 0, threads: int = 0) -> None:
        self._model = CrossEncoder(path, max_tokens=max_tokens, threads=threads, role="judge")
        self.model, self.fingerprint = Path(path).expanduser().name, self._model.fingerprint

    def sufficiency(self, question: str, passages: Sequence[str], *, deadline: Deadline) -> float:
        """See `core.ports.Judge`; all passages are read as one text."""
        return self._model.rerank(question, ["\n\n".join(passages)], deadline=deadline)[0]

    def use(self) -> ModelUse:
        """See `core.ports.Judge`."""
        return ModelUse()

    def close(self) -> None:
        """Release the model."""
        self._model.close()


@contextmanager
def _translated(component: str) -> Iterator[None]:
    """Translate errors of the shared helpers, which name an encoder, into errors of this reranker."""
    try:
        yield
    except EncoderError as error:
        raise RerankerUnavailable(error.message, component=component, hint=error.hint) from error
