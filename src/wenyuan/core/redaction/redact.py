"""Redaction before anything is stored: what identifies a person or opens a door is taken out of a text.

A value is looked for in a folded view (`core.redaction.matching`), so full-width digits, invisible characters, spaces,
dashes and Traditional Chinese hide nothing; it is replaced in the original. Rules are deterministic: check
digits where they exist, cue words where the form alone is weak (`identifiers`,
`secrets`, `names`). A `RedactionPolicy` says what is written instead.

A text is redacted until nothing more is found, so to redact twice changes nothing. Names without a cue word
need a recogniser, which the caller may hand in as ``names``; it reads the folded text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Any
from urllib.parse import unquote

from wenyuan.core.model import Block, Document, Facet
from wenyuan.core.redaction.columns import kind_named
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.core.redaction.findings import NameRecognizer, TextRedactor
from wenyuan.core.redaction.known_values import KnownValue, KnownValues
from wenyuan.core.redaction.matching import Finding
from wenyuan.core.redaction.named_places import NamedPlace
from wenyuan.core.redaction.policy import LABELS, Action, RedactionPolicy
from wenyuan.core.redaction.repeats import Repeats
from wenyuan.core.redaction.replacement import pseudonym, replacement


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted text, and how many values of each kind were replaced; the values themselves are nowhere."""

    text: str
    counts: Mapping[str, int]


_WORD = re.compile(r"[^\W_]{2,}")
_PIECE = re.compile(r"[^/?#&;]+")
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")
_ESCAPED = re.compile(r"[\x00-\x20%/?#&;\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff]")


class Redaction:
    """What a policy takes out of texts, documents and addresses. It remembers what many documents have in common.

    Args:
        key: At least 16 bytes where the policy makes pseudonyms; one tenant, one key.
        erased: See `TextRedactor`.

    Raises:
        ConfigError: the policy needs a key.
    """

    def __init__(
        self,
        policy: RedactionPolicy,
        key: bytes = b"",
        names: NameRecognizer | None = None,
        erased: ErasedValues | None = None,
    ) -> None:
        self._policy, self._key = policy, key
        self._rewrite = self._rewrite_part = TextRedactor(policy, key, names, erased)
        if key:
            apart: dict[str, Action] = {
                kind: action if action == "keep" or kind == "secret" else "pseudonym"
                for kind, action in policy.actions.items()
            }
            self._rewrite_part = TextRedactor(replace(policy, actions=apart), key, names, erased)

    def text(self, text: str) -> Redacted:
        """A text without the values that the policy does not keep.

        Raises:
            DocumentRejected: the text cannot be redacted; it must not be ingested.
        """
        found: list[Finding] = []
        rewrite = self._rewrite.gathering(found)
        new, _, counts = rewrite(text)
        if repeats := Repeats(found):
            new, _, counts = rewrite.knowing(repeats)(text)
        return Redacted(new, dict(counts))

    def document(self, document: Document, values: KnownValues | None = None) -> tuple[Document, Mapping[str, int]]:
        """A document with its text, title, labels, notes and metadata (names, too) redacted, and the counts of all of them.

        Blocks keep covering the text; one that held nothing but the rest of a value vanishes. The URI is left: it is
        what the document is found by when read again (see `uri`).

        A value that is found in one of its places is replaced in all of them (see `Repeats`).

        Args:
            values: The values that are found are added to these.

        Raises:
            DocumentRejected: it cannot be redacted.
        """
        found: list[Finding] = []
        rewrite = self._rewrite.gathering(found)
        redacted, counts = self._document(document, rewrite)
        if values is not None:
            values.add(found)
        if repeats := Repeats(found):
            return self._document(document, rewrite.knowing(repeats))
        return redacted, counts

    def _document(self, document: Document, rewrite: TextRedactor) -> tuple[Document, Mapping[str, int]]:
        spans = [part for b in document.blocks for part in _parts(b)]
        spans += [(line.start, line.end) for line in document.lines]
        spans += [(doubt.start, doubt.end) for doubt in document.uncertain]
        text, parts, counts = rewrite(document.text, spans, document.cells)
        moved = iter(parts)
        anchored = any(block.anchor or block.inner for block in document.blocks)
        gone = _redacted_words(document.text, text) if anchored else set()

        def clean(said: str) -> str:
            if not said:
                return said
            new, _, found = rewrite(said)
            if found:
                counts.update(found)
            return new

        def opened(anchor: str) -> str:
            """Anchors are made of headings: where a heading lost something, its anchor would tell it."""
            return "" if any(word in anchor.lower() for word in gone) else self.uri(anchor)

        def cleaned(block: Block) -> Block | None:
            own = [next(moved) for _ in _parts(block)]
            start, end = own[0][0], own[-1][1]
            if start == end:
                return None
            label, cell = clean(block.label), block.cell and clean(block.cell)
            anchor = block.anchor and opened(block.anchor)
            inner = tuple((at, opened(name)) for (at, _), (_, name) in zip(own[1:], block.inner, strict=True))
            new = (start, end, label, cell, anchor, inner)
            if new == (block.start, block.end, block.label, block.cell, block.anchor, block.inner):
                return block  # most are, and a copy takes longer than the look
            return replace(block, start=start, end=end, label=label, cell=cell, anchor=anchor, inner=inner)

        blocks = tuple(filter(None, map(cleaned, document.blocks)))
        metadata = self._facets(document.metadata, counts, rewrite)
        title, notes = clean(document.title), tuple(map(clean, document.notes))
        redacted = replace(document, text=text, title=title, blocks=blocks, notes=notes, metadata=metadata, cells=())
        redacted = replace(redacted, **_read_from(document, moved, clean))
        if document.collection:
            redacted = replace(redacted, collection=clean(document.collection))
        return redacted, dict(counts)

    def facet(self, name: str, value: Facet, counts: Counter[str]) -> Facet:
        """A value of metadata or of a condition on it, read with its name; what is taken out is added to `counts`.

        Raises:
            DocumentRejected: it cannot be redacted.
        """
        return self._facet(name, value, self._rewrite(name)[2], counts, self._rewrite)

    def _facets(self, facets: Mapping[str, Facet], counts: Counter[str], rewrite: TextRedactor) -> dict[str, Facet]:
        """Facets with names and values redacted; names that become one by it are numbered, so that no value is lost."""
        cleaned: dict[str, Facet] = {}
        alike: Counter[str] = Counter()
        for name, value in facets.items():
            new, _, found = rewrite(name)
            counts.update(found)
            own = new
            while own in cleaned:
                alike[new] += 1
                own = f"{new} {alike[new] + 1}"
            cleaned[own] = self._facet(name, value, found, counts, rewrite)
        return cleaned

    def _facet(
        self, name: str, value: Facet, in_name: Counter[str], counts: Counter[str], rewrite: TextRedactor
    ) -> Facet:
        """A facet's value, read together with its name, which may be the cue: ``联系人: 张三``, ``phone: 13800138000``."""
        said = f"{name}: "
        line = said + str(value)
        kind = "" if isinstance(value, bool) else kind_named(name)
        whole = (len(said), len(line))
        new, [(start, end)], found = rewrite(line, [whole], [(*whole, kind)] if kind else ())
        if not found:
            return value
        counts.update(found - in_name)
        return value if new[start:end] == str(value) else new[start:end]

    def uri(self, uri: str, known: Sequence[NamedPlace] = ()) -> str:
        """A URI, path or file name whose parts hold no value that the policy does not keep; percent-escapes are seen through.

        Two addresses that differ only in a value become one when it is masked or dropped. With a key, pseudonyms are
        therefore written here whatever the policy says, but for secrets.

        Args:
            known: Where values stand in it that its document shows to be some; see `places`.

        Raises:
            DocumentRejected: it cannot be redacted.
        """
        at = _path_start(uri)
        head = self._rewrite_part(uri[:at])[0] if at else ""
        if not known:
            return head + _PIECE.sub(lambda piece: self._part(piece[0], ()), uri[at:])
        number = count(1)
        by_piece: dict[int, list[NamedPlace]] = {}
        for place in sorted(known):
            by_piece.setdefault(place.piece, []).append(place)
        return head + _PIECE.sub(lambda piece: self._part(piece[0], by_piece.get(next(number), ())), uri[at:])

    def places(self, uri: str, values: KnownValues, begin: int = 0) -> tuple[NamedPlace, ...]:
        """Where values stand in the parts of an address, but for those that begin before a character of it."""
        at = _path_start(uri)
        found = []
        for number, piece in enumerate(_PIECE.finditer(uri, at), start=1):
            if piece.start() >= begin:
                found += [
                    NamedPlace(number, one.start, one.end, one.kind, self._pseudonym(one))
                    for one in values.in_name(unquote(piece[0], errors="surrogateescape"))
                ]
        return tuple(found)

    def named(self, text: str, values: KnownValues) -> str:
        """A title or another short text without values of its document, found as in a name (see `KnownValues`)."""
        for one in reversed(values.in_name(text)):
            finding = Finding(one.start, one.end, one.kind, one.value)
            new = replacement(finding, self._policy.actions[one.kind], self._key)
            if self._policy.actions[one.kind] != "keep":
                text = text[: one.start] + new + text[one.end :]
        return text

    def _pseudonym(self, one: KnownValue) -> str:
        return pseudonym(one.kind, one.value, self._key) if self._key else ""

    def _part(self, piece: str, known: Sequence[NamedPlace]) -> str:
        said = unquote(piece, errors="surrogateescape")
        told = said
        for place in reversed(known):
            action = self._policy.actions[place.kind]
            if action != "keep":
                apart = place.pseudonym if place.kind != "secret" else ""
                told = told[: place.start] + (apart or f"⟦{LABELS[place.kind]}⟧") + told[place.end :]
        new, _, found = self._rewrite_part(told)
        return _ESCAPED.sub(_escape, new) if found or told != said else piece


def address_parts(uri: str) -> list[str]:
    """The parts of an address behind its host, without percent-escapes, by the numbers of `NamedPlace.piece` less one."""
    return [unquote(piece, errors="surrogateescape") for piece in _PIECE.findall(uri, _path_start(uri))]


def _path_start(uri: str) -> int:
    authority = _AUTHORITY.match(uri)
    return authority.end() if authority else 0


def redact(text: str, policy: RedactionPolicy, key: bytes = b"", names: NameRecognizer | None = None) -> Redacted:
    """`Redaction.text`, of one text."""
    return Redaction(policy, key, names).text(text)


def _redacted_words(text: str, redacted: str) -> set[str]:
    """The words that redaction took out of a text, in lower case."""
    if text == redacted:
        return set()
    left = {match[0] for match in _WORD.finditer(redacted.lower())}
    return {match[0] for match in _WORD.finditer(text.lower())} - left


def _read_from(document: Document, moved: Iterator[tuple[int, int]], clean: Callable[[str], str]) -> dict[str, Any]:
    """The lines, doubts and fidelity of a document whose text is redacted; what lost all its text is gone.

    Args:
        moved: The spans of the lines and then the doubts in the redacted text.
    """
    lines = tuple(each._replace(start=a, end=b) for each, (a, b) in zip(document.lines, moved, strict=False) if a < b)
    doubts = tuple(
        each._replace(start=a, end=b) for each, (a, b) in zip(document.uncertain, moved, strict=False) if a < b
    )
    told = document.fidelity
    if told and told.warnings:
        told = replace(told, warnings=tuple(map(clean, told.warnings)))
    return {"lines": lines, "uncertain": doubts, "fidelity": told}


def _parts(block: Block) -> list[tuple[int, int]]:
    """A block's span, cut where an anchor lies inside."""
    cuts = [block.start, *(at for at, _ in block.inner), block.end]
    return list(pairwise(cuts))


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape"))
