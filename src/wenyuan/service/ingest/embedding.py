"""Collects the texts and labels of passages to be embedded, each once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

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
        self._key_of = None if encoder is None else partial(vector_key, encoder.fingerprint.key)
        self._texts: dict[str, str] = {}  # vector key → what is embedded
        self._labels: dict[str, str] = {}  # of labels
        self._given: dict[str, Any] = {}  # vectors that came with their texts

    def keyed(self, passage: NewPassage, title: str, lead: str) -> NewPassage:
        """A passage with its vector keys, using title and lead of its document."""
        if (key_of := self._key_of) is None:
            return passage
        questions = () if passage.corrected is None else passage.corrected.questions
        text = with_lead(lead, passage.text, questions)
        headings = indexed_headings(passage.headings, passage.context)
        named = shown_title(title, passage.cell, passage.text)
        embedded = embedded_text(heading_text(named, headings), text)
        label = label_text(named, headings, lead, questions)
        if not (lead or questions or passage.context):
            label = label_as_embedded(label, passage.text, passage.label_key, key_of)
        key, label_key = key_of(embedded), key_of(label) if label else ""
        self._texts[key] = embedded
        if label:
            self._labels[label_key] = label
        return replace(passage, vector_key=key, label_key=label_key)

    def given(self, passage: NewPassage, vector: bytes) -> NewPassage:
        """A passage with the key of the vector that came with it. No other text shares it, the same one of another source neither."""
        key = hashlib.sha256(b"given\x00" + vector + passage.uri.encode("utf-8", "surrogatepass")).hexdigest()
        self._given[key] = np.frombuffer(vector, "<f4")
        return replace(passage, vector_key=key, label_key="")

    def waits(self) -> bool:
        """Whether there are texts that may have to be embedded."""
        return bool(self._texts)

    def missing(self, ready: Collection[str] = ()) -> tuple[dict[str, str], dict[str, str]]:
        """What is to be embedded, by key: passages, and labels.

        Args:
            ready: Keys of vectors that are there already, beside those of the catalog.
        """
        if self._encoder is None:
            return {}, {}
        wanted = [key for key in (*self._texts, *self._labels) if key not in ready]
        absent = {*wanted} - self._catalog.known_vectors(wanted)
        passages = {key: text for key, text in self._texts.items() if key in absent}
        return passages, {key: text for key, text in self._labels.items() if key in absent}

    def vectors(
        self, progress: Callable[[int], None] | None = None, ready: Mapping[str, Any] = MappingProxyType({})
    ) -> Mapping[str, Any]:
        """Embed what neither the catalog nor `ready` has; (dim,) float32 by key, with those of `ready`."""
        if self._encoder is None:
            return {}
        vectors: dict[str, Any] = {**self._given, **ready}
        for new, tell in zip(self.missing(ready), (progress, None), strict=True):  # what is counted are passages
            if new:
                vectors |= zip(new, self._encoder.encode_passages(list(new.values()), progress=tell), strict=True)
        return vectors

    def keep_only(self, keys: Collection[str]) -> None:
        """Drop what was collected for documents that are not stored."""
        self._texts = {key: text for key, text in self._texts.items() if key in keys}
        self._labels = {key: text for key, text in self._labels.items() if key in keys}
        self._given = {key: vector for key, vector in self._given.items() if key in keys}

    def clear(self) -> None:
        """Drop everything collected."""
        self._texts, self._labels, self._given = {}, {}, {}
