"""A reranker in a local directory laid out as on Hugging Face: a cross-encoder exported to ONNX.

Query and text go in as one pair, as the directory's tokenizer joins them; out comes one logit, or two of which the
second is for "relevant". Nothing is downloaded, and no code of the directory is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderError, RerankerTimeout, RerankerUnavailable, ScoresRejected, msg
from wenyuan.core.ports import Deadline, ModelUse
from wenyuan.core.scoring.blending import checked_scores
from wenyuan.encoders.model_files import MODELS, first_file, input_types, load_tokenizer, model_sha256, most_tokens
from wenyuan.encoders.onnx_session import open_session, run_session
from wenyuan.runtime.cores import usable_cores

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
