"""Another encoder for a library: passages stay, and are given other vectors; what is derived from those follows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.ports import Encoder, Engine
from wenyuan.core.vectors import checked_vectors
from wenyuan.service.health import Readiness
from wenyuan.service.ingest import Ingester, vector_key

__all__ = ["PENDING", "ReembedDoor", "Shelf", "embed_anew"]

PENDING = "reembedded"
"""Value of a library whose passages have other vectors, while what is derived does not follow yet: ``{"from": key}``."""

_AT_ONCE = 192  # passages embedded, and then stored
Tell = Callable[[int, int], None]
"""``tell(done, total)``: passages."""


class Shelf(Protocol):
    """What is asked of the catalog."""

    def counts(self) -> Mapping[str, int]: ...

    def embedded_after(self, passage_id: int, limit: int) -> Sequence[tuple[int, str, str]]: ...

    def known_vectors(self, keys: Sequence[str]) -> set[str]: ...

    def keep_vectors(self, vectors: Mapping[str, Any]) -> None: ...

    def change_encoder(self, encoder: Mapping[str, Any], before: str, key_of: Callable[[str], str]) -> int: ...


def embed_anew(shelf: Shelf, encoder: Encoder, before: str, tell: Tell = lambda done, total: None) -> int:
    """Embed whatever has no vector of `encoder` yet, then change over to them at once; returns how many were embedded.

    Until that last step the library answers as before. What was embedded before an interruption is not embedded again.

    Args:
        before: Key of the encoder that made the vectors that are there; ``""`` for none.

    Raises:
        VectorsGone: passages came meanwhile.
        CatalogError, EncoderError
    """
    total, done, embedded, last = shelf.counts()["passages"], 0, 0, 0
    own = encoder.fingerprint.key
    while part := shelf.embedded_after(last, _AT_ONCE):
        embedded += _embed(shelf, encoder, {text for _, text, _ in part})
        _embed(shelf, encoder, {label for _, _, label in part if label})
        done += len(part)
        last = part[-1][0]
        tell(done, total)
    shelf.change_encoder(asdict(encoder.fingerprint), before, lambda text: vector_key(own, text))
    return embedded


def _embed(shelf: Shelf, encoder: Encoder, texts: Collection[str]) -> int:
    """Embed and store those of some texts that have no vector yet; returns how many those were."""
    keys = {vector_key(encoder.fingerprint.key, text): text for text in texts}
    known = shelf.known_vectors(list(keys))
    new = {key: text for key, text in keys.items() if key not in known}
    if new:
        asked = list(new.values())
        answered = encoder.encode_passages(asked)
        vectors = checked_vectors(answered, len(new), encoder.fingerprint.dimension, "encoder", texts=asked)
        shelf.keep_vectors(dict(zip(new, vectors, strict=True)))
    return len(new)


class ReembedDoor:
    """Mixed into `Library`."""

    catalog: Any
    engine: Engine
    encoder: Encoder | None
    _ingester: Ingester
    measure_collection: Callable[[], None]
    readiness: Callable[[], Readiness]

    def follow_reembedding(self) -> None:
        """After `embed_anew`: build the index, measure what depends on vectors, and see that all of it is there.

        Nothing to do where that has been done. May be broken off and begun again.

        Raises:
            KnowledgeError: the index does not hold what the catalog does, or cannot be built.
        """
        pending = self.catalog.value(PENDING)
        if not pending or self.encoder is None:
            return
        for source in self.catalog.sources():  # or every document would be read anew: its stamp names the encoder
            before, after = (
                self._ingester.reading(source, key) for key in (pending["from"], self.encoder.fingerprint.key)
            )
            self.catalog.renew_stamps(source.source_id, before, after)
        self._ingester.follow()
        self.measure_collection()
        checkpoint = getattr(self.engine, "checkpoint", None)
        if checkpoint is not None:
            checkpoint(always=True)
        readiness = self.readiness()
        if not readiness.ready:
            failed = "; ".join(str(part["detail"]) for part in readiness.parts.values() if part["state"] == "failed")
            raise KnowledgeError(failed, component="re-embedding", hint="wenyuan doctor")
        self.catalog.set_value(PENDING, None)
