"""The vectors of general texts: of questions about nothing in particular, of passages about everything and about daily life.

Their means are what all questions, and all passages, of a script have in common; how near a question is to the general passages
tells how near it is to anything. They depend on the encoder alone. Those of the built-in encoder are shipped, so that no process embeds the texts again;
another encoder embeds them at its first question.
"""

from __future__ import annotations

import hashlib
import importlib.resources
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline, Encoder
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.service.search.general_texts import EVERYDAY, GENERAL, PASSAGES

Of = Literal["questions", "passages", "everyday"]

_BY_KIND: Mapping[Of, Mapping[str, tuple[str, ...]]] = {
    "questions": GENERAL,
    "passages": PASSAGES,
    "everyday": EVERYDAY,
}

FILE = "common_vectors.npz"
"""Vectors by `key_of`, written by ``scripts/make_common_vectors.py``."""


def key_of(fingerprint: EncoderFingerprint, of: Of, script: str) -> str:
    """A name that differs whenever the encoder or the texts do."""
    said = "\0".join((fingerprint.key, of, *_texts(of, script)))
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def general_vectors(encoder: Encoder, of: Of, script: str, deadline: Deadline) -> Any:
    """The vectors of general texts of a kind in a script, (n, dim) float32.

    Raises:
        EncoderError: they are not shipped for this encoder, and the texts cannot be embedded in time.
    """
    shipped = _shipped().get(key_of(encoder.fingerprint, of, script))
    return embedded(encoder, of, script, deadline) if shipped is None else shipped


def embedded(encoder: Encoder, of: Of, script: str, deadline: Deadline) -> Any:
    """The vectors, made anew."""
    deadline.check("encoder")
    texts = _texts(of, script)
    made = encoder.encode_queries(texts, deadline=deadline) if of == "questions" else encoder.encode_passages(texts)
    return checked_vectors(made, len(texts), encoder.fingerprint.dimension, "encoder")


def _texts(of: Of, script: str) -> tuple[str, ...]:
    return _BY_KIND[of][script]


@lru_cache(maxsize=1)
def _shipped() -> Mapping[str, Any]:
    with (
        importlib.resources.files(__package__).joinpath(FILE).open("rb") as stream,
        np.load(stream, allow_pickle=False) as file,
    ):
        return dict(file)
