"""How a local model runs: one onnxruntime session, one text at a time, several threads.

One text per run, never a padded batch: dynamic quantisation takes its scale from the whole input, so that in a
batch the neighbours and the padding would move a text's vector (cosine .997 with itself, measured). On a CPU a batch
gains nothing at 200 tokens, a tenth at 30 and a quarter at 12. So a text has one vector, whatever it is encoded with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderUnavailable, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.vector_checks import check_deadline, checked_vectors

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
