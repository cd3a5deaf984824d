"""Collects the texts and labels of passages to be embedded, each once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from wenyuan.core.model import NewPassage, embedded_text, heading_text, indexed_headings, label_text, shown_title
from wenyuan.core.ports import Encoder
from wenyuan.core.text.leads import label_as_embedded, with_lead

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


def vector_key(encoder: str, text: str) -> str:
    """The key under which the vector of a text is stored.

    Args:
        encoder: The key of its fingerprint.
    """
    return hashlib.sha256(f"{encoder}\x00{text}".encode()).hexdigest()


class Embedding:
    """Collects what must be embedded for passages about to be stored."""

    def __init__(self, catalog: Catalog, encoder: Encoder | None) -> None:
        self._catalog = catalog
        self._encoder = encoder
        self._texts: dict[str, str] = {}  # vector key → what is embedded
        self._labels: dict[str, str] = {}  # of labels

    def keyed(self, passage: NewPassage, title: str, lead: str) -> NewPassage:
        """A passage with its vector keys, using title and lead of its document."""
        if self._encoder is None:
            return passage
        questions = () if passage.corrected is None else passage.corrected.questions
        text = with_lead(lead, passage.text, questions)
        headings = indexed_headings(passage.headings, passage.context)
        named = shown_title(title, passage.cell, passage.text)
        embedded = embedded_text(heading_text(named, headings), text)
        label = label_text(named, headings, lead, questions)
        key_of = partial(vector_key, self._encoder.fingerprint.key)
        if not (lead or questions or passage.context):
            label = label_as_embedded(label, passage.text, passage.label_key, key_of)
        key, label_key = key_of(embedded), key_of(label) if label else ""
        self._texts[key] = embedded
        if label:
            self._labels[label_key] = label
        return replace(passage, vector_key=key, label_key=label_key)

    def vectors(self, progress: Callable[[int], None] | None = None) -> Mapping[str, Any]:
        """Embed what the catalog does not have; (dim,) float32 by key."""
        if self._encoder is None:
            return {}
        vectors: dict[str, Any] = {}
        for texts, tell in ((self._texts, progress), (self._labels, None)):  # what is counted are passages
            known = self._catalog.known_vectors(list(texts))
            new = {key: text for key, text in texts.items() if key not in known}
            if new:
                vectors |= zip(new, self._encoder.encode_passages(list(new.values()), progress=tell), strict=True)
        return vectors

    def clear(self) -> None:
        """Drop everything collected."""
        self._texts, self._labels = {}, {}
