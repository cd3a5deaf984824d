"""What all questions and all passages have in common is shipped for the built-in encoder, and made for any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from wenyuan.core.ports import Deadline
from wenyuan.encoders.builtin import BuiltinEncoder, load_builtin
from wenyuan.service.search import common_vectors
from wenyuan.service.search.common_vectors import embedded, general_vectors, key_of
from wenyuan.service.search.general_texts import SCRIPTS

UNLIMITED = Deadline(1e12, lambda: 0.0)


class Counting:
    """The built-in encoder, which counts the texts that it embeds."""

    def __init__(self, encoder: BuiltinEncoder) -> None:
        self.fingerprint, self.texts, self._encoder = encoder.fingerprint, 0, encoder

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        self.texts += len(texts)
        return self._encoder.encode_queries(texts, deadline=deadline)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        self.texts += len(texts)
        return self._encoder.encode_passages(texts, progress=progress)

    def close(self) -> None: ...


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("of", get_args(common_vectors.Of))
def test_shipped_vectors_are_those_of_the_texts(of: common_vectors.Of, script: str) -> None:
    """After a change of the texts or of the encoder, scripts/make_common_vectors.py has to be run."""
    encoder = Counting(load_builtin())
    shipped = general_vectors(encoder, of, script, UNLIMITED)
    assert encoder.texts == 0
    made = embedded(encoder, of, script, UNLIMITED)
    assert encoder.texts > 0
    assert shipped.dtype == np.float32
    assert np.vecdot(shipped, made).min() > 0.9999
    assert abs(shipped - made).max() < 0.01


def test_another_encoder_makes_its_own() -> None:
    """What is shipped is found under the fingerprint alone: of another model nothing is."""
    encoder = Counting(load_builtin())
    encoder.fingerprint = replace(encoder.fingerprint, sha256="0" * 64)
    general_vectors(encoder, "questions", "han", UNLIMITED)
    assert encoder.texts > 0


def test_names_differ_by_texts_encoder_and_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector of former texts is never taken for one of the present ones."""
    own = load_builtin().fingerprint
    names = {key_of(own, of, script) for of in ("questions", "passages") for script in SCRIPTS}
    names.add(key_of(replace(own, quantisation="none"), "questions", "han"))
    monkeypatch.setitem(common_vectors.GENERAL, "han", ("换了一句？",))
    names.add(key_of(own, "questions", "han"))
    assert len(names) == 6
