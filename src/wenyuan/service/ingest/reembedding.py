"""Another encoder for a library: passages stay, and are given other vectors; what is derived from those follows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from wenyuan.core.ports import Encoder
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.service.ingest.embedding import vector_key

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


PENDING = "reembedded"
"""Value of a library whose passages have other vectors, while what is derived does not follow yet: ``{"from": key}``."""

_AT_ONCE = 192  # passages embedded, and then stored
Tell = Callable[[int, int], None]
"""``tell(done, total)``: passages."""


def embed_anew(catalog: Catalog, encoder: Encoder, before: str, tell: Tell = lambda done, total: None) -> int:
    """Embed everything without a vector of `encoder`, then switch over in one step; returns the number embedded.

    Until that last step the library answers as before. What was embedded before an interruption is not embedded again.

    Args:
        before: Key of the encoder that made the vectors that are there; ``""`` for none.

    Raises:
        VectorsGone: passages came meanwhile.
        CatalogError, EncoderError
    """
    total, done, embedded, last = catalog.counts()["passages"], 0, 0, 0
    own, was = partial(vector_key, encoder.fingerprint.key), partial(vector_key, before)
    while part := catalog.embedded_after(last, _AT_ONCE, was):
        embedded += _embed(catalog, encoder, {text for _, text, _ in part})
        _embed(catalog, encoder, {label for _, _, label in part if label})
        done += len(part)
        last = part[-1][0]
        tell(done, total)
    catalog.change_encoder(asdict(encoder.fingerprint), before, own, was)
    return embedded


def _embed(catalog: Catalog, encoder: Encoder, texts: Collection[str]) -> int:
    """Embed and store the texts without vectors; returns how many."""
    keys = {vector_key(encoder.fingerprint.key, text): text for text in texts}
    known = catalog.known_vectors(list(keys))
    new = {key: text for key, text in keys.items() if key not in known}
    if new:
        asked = list(new.values())
        answered = encoder.encode_passages(asked)
        vectors = checked_vectors(answered, len(new), encoder.fingerprint.dimension, "encoder", texts=asked)
        catalog.keep_vectors(dict(zip(new, vectors, strict=True)))
    return len(new)
