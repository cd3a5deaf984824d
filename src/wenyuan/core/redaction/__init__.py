"""Redaction before anything is stored: find values that identify a person or open a door, and replace them."""

from __future__ import annotations

import base64
import copy
import hmac
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby, pairwise
from typing import Any
from urllib.parse import unquote

from wenyuan.core.errors import DocumentRejected, KnowledgeError, msg
from wenyuan.core.model import Block, Document, Facet
from wenyuan.core.redaction import (
    assignments,
    configurations,
    correspondence,
    encoded,
    fields,
    identifiers,
    licences,
    messengers,
    neighbours,
    passwords,
    people,
    places,
    secrets,
    tokens,
)
from wenyuan.core.redaction.matching import OPAQUE, SIGNS, Finding, Rule, View, find, views_of
from wenyuan.core.redaction.names import DISTRICT, NAME_RULES, kind_named, told
from wenyuan.core.redaction.names import RULES as PLACE_RULES
from wenyuan.core.redaction.policy import (
    KINDS,
    LABELS,
    LEVELS,
    RULES_VERSION,
    Action,
    Level,
    RedactionPolicy,
    parse_policy,
    policy_for,
)
from wenyuan.core.redaction.repeats import Repeats

__all__ = [
    "KINDS",
    "LABELS",
    "LEVELS",
    "RULES_VERSION",
    "Action",
    "Level",
    "NameRecognizer",
    "Redacted",
    "Redaction",
    "RedactionPolicy",
    "Rewriter",
    "Told",
    "findings",
    "mask",
    "parse_policy",
    "policy_for",
    "pseudonym",
    "redact",
    "replacement",
]


# What is written in the place of a value: a mark, a mask with a safe hint, or a pseudonym.


_STARS = "****"
_HIDDEN_AT_LEAST = 2  # characters; of a shorter value no hint is left
_CITY = re.compile(r"[^省市县区]{1,6}市")
# How many characters a mask leaves at the beginning and at the end: enough to recognise what one knows already.
# Cards and IBAN: PCI DSS 3.4.1 allows six and four. Identity numbers keep the province, never the date of birth.
_ENDS = {
    "cn_id": (2, 2),
    "cn_uscc": (2, 4),
    "iban": (2, 4),
    "bank_card": (4, 4),
    "us_ssn": (0, 4),
    "hmt_permit": (1, 2),
    "passport": (1, 2),
    "cn_mobile": (3, 4),
    "cn_landline": (3, 2),
    "phone": (2, 2),
    "plate": (2, 1),
    "im_account": (1, 0),
}


def pseudonym(kind: str, value: str, key: bytes) -> str:
    """``⟦身份证:K3F…⟧``: 50 bits of HMAC-SHA256 over the kind and the value's normal form.

    The same value gives the same mark under the same key, however it was written; without the key it cannot be
    reversed by trying all numbers.
    """
    digest = hmac.new(key, f"{kind}\0{value}".encode("utf-8", "surrogatepass"), "sha256").digest()
    return f"⟦{LABELS[kind]}:{base64.b32encode(digest).decode()[:10]}⟧"


def mask(kind: str, value: str) -> str:
    """The value with a hint left, by its kind; a secret leaves none."""
    if kind in _ENDS:
        head, tail = _ENDS[kind]
        if len(value) < head + tail + _HIDDEN_AT_LEAST:
            return _STARS
        return value[:head] + _STARS + (value[-tail:] if tail else "")
    if kind == "email":
        local, at, host = value.rpartition("@")
        if not at:
            return _STARS
        return f"{local[0] if len(local) > 2 else ''}***@{host}"
    if kind == "ip":
        return ".".join([*value.split(".")[:2], "*", "*"]) if "." in value else value.partition(":")[0] + ":" + _STARS
    if kind == "address":
        return _masked_address(value)
    if kind == "person":
        return " ".join(word[0] + "***" for word in value.title().split()) if value.isascii() else value[0] + "**"
    return f"⟦{LABELS[kind]}⟧"


def _masked_address(value: str) -> str:
    """Province and city, or the first division, stay."""
    first = DISTRICT.match(value)
    if not first:
        return _STARS
    second = _CITY.match(value, first.end())
    return value[: second.end() if second else first.end()] + _STARS


def replacement(finding: Finding, action: Action, key: bytes) -> str:
    """What an action writes for a finding."""
    if action == "pseudonym":
        return pseudonym(finding.kind, finding.value, key)
    return mask(finding.kind, finding.value) if action == "mask" else f"⟦{LABELS[finding.kind]}⟧"


# Find, choose, replace; again until nothing is found.


NameRecognizer = Callable[[str], Iterable[tuple[int, int]]]
"""Text → spans ``[start, end)`` of names of persons in it: the socket of a recogniser that knows more than cue words."""

_RULES = (
    *secrets.RULES,
    *passwords.RULES,
    *assignments.RULES,
    *configurations.RULES,
    *tokens.RULES,
    *identifiers.NUMBER_RULES,
    *identifiers.RULES,
    *secrets.NETWORK_RULES,
    *PLACE_RULES,
    *NAME_RULES,
    *people.RULES,
    *neighbours.RULES,
    *correspondence.RULES,
    *messengers.RULES,
    *places.RULES,
    *licences.RULES,
    *fields.RULES,
    *encoded.RULES,
)
_NEEDED = sorted({word for rule in _RULES for word in rule.needs})
_BY_FIRST = {first: tuple(words) for first, words in groupby(_NEEDED, key=lambda word: word[0])}
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}
_MAX_ROUNDS = 12  # real texts need two; each round leaves less to find
_SHORT, _MOST_REMEMBERED = 200, 4_096  # characters; texts
_Edit = tuple[int, int, str]


Told = tuple[int, int, str]
"""Start and end in a text, and the kind of value that the name of its column or field says it holds."""


def findings(
    text: str,
    policy: RedactionPolicy,
    names: NameRecognizer | None,
    cells: Sequence[Told] = (),
    repeats: Repeats | None = None,
) -> list[Finding]:
    """What stands in a text, of the kinds that the policy does not keep: in order, not overlapping."""
    views = views_of(text)
    found = [_placed(view, each) for view in views for each in _in_view(view, policy)]
    if repeats:
        found += (_placed(view, each) for view in views for each in repeats.find(view))
    if names is not None and policy.actions["person"] != "keep":
        found += (_placed(views[0], each) for each in _recognised(views[0], names))
    for cell in cells:
        if {policy.actions[kind] for kind in (cell[2], *_ALSO.get(cell[2], ()))} == {"keep"}:
            continue
        found += (each for each in told(text, *cell) if policy.actions[each.kind] != "keep")
    return _choose(found, len(text))


_ALSO = {"cn_mobile": ("phone",)}  # a column of telephone numbers has both


def _in_view(view: View, policy: RedactionPolicy) -> Iterator[Finding]:
    rules = (rule for rule in _to_try(view) if policy.actions[rule.kind] != "keep")
    return chain.from_iterable(find(rule, view) for rule in rules)


def _placed(view: View, finding: Finding) -> Finding:
    """A finding with its span in the original text."""
    start, end = view.original(finding.start, finding.end)
    return finding._replace(start=start, end=end)


def _to_try(view: View) -> Sequence[Rule]:
    """The rules whose values may be in a text. Most texts have few of the characters that words begin with."""
    lower = view.lower
    signs = frozenset(name for name, pattern in SIGNS.items() if pattern.search(view.text))
    there = {word for first, words in _BY_FIRST.items() if first in lower for word in words if word in lower}
    if not there:
        return _without_needs(signs)
    return [rule for rule in _with_signs(signs) if not rule.needs or not there.isdisjoint(rule.needs)]


@lru_cache(1 << len(SIGNS))
def _with_signs(signs: frozenset[str]) -> tuple[Rule, ...]:
    return tuple(rule for rule in _RULES if rule.signs <= signs)


@lru_cache(1 << len(SIGNS))
def _without_needs(signs: frozenset[str]) -> tuple[Rule, ...]:
    return tuple(rule for rule in _with_signs(signs) if not rule.needs)


def _recognised(view: View, names: NameRecognizer) -> list[Finding]:
    """What the recogniser finds between marks; it reads the folded text.

    Raises:
        DocumentRejected: it failed, or gave spans that are not in the text.
    """
    try:
        spans = [(int(start), int(end)) for start, end in names(view.text)]
    except KnowledgeError:
        raise
    except Exception as error:  # whatever another's code raises, a text that was not searched is not taken in
        raise DocumentRejected(
            msg("the name recogniser failed ({kind})", kind=type(error).__name__), component="redaction"
        ) from error
    if any(not 0 <= start < end <= len(view.text) for start, end in spans):
        raise DocumentRejected("the name recogniser gave a span outside the text", component="redaction")
    named = ((start, end, view.text[start:end]) for start, end in spans)
    return [
        Finding(start, end, "person", name.strip().casefold())
        for start, end, name in named
        if name.strip() and OPAQUE not in name and "*" not in name
    ]


def _choose(found: Sequence[Finding], length: int) -> list[Finding]:
    """Where findings overlap, a secret, then the longest; of two as long, the more specific kind."""
    if not found:
        return []
    taken = bytearray(length)
    chosen = []
    for finding in sorted(found, key=lambda f: (f.kind != "secret", f.start - f.end, _RANK[f.kind], f.start)):
        if taken.find(1, finding.start, finding.end) < 0:
            taken[finding.start : finding.end] = b"\1" * (finding.end - finding.start)
            chosen.append(finding)
    return sorted(chosen, key=lambda f: f.start)


class Rewriter:
    """Takes out of texts what a policy does not keep; it remembers short texts that hold nothing.

    What a source's documents have in common, folders and facets say, is looked through once.

    Args:
        key: At least 16 bytes where the policy makes pseudonyms.

    Raises:
        ConfigError: the policy needs a key.
    """

    def __init__(self, policy: RedactionPolicy, key: bytes, names: NameRecognizer | None) -> None:
        policy.check_key(key)
        self._policy, self._key, self._names = policy, key, names
        self._clean: set[str] = set()
        self._found: list[Finding] | None = None
        self._repeats: Repeats | None = None

    def gathering(self, found: list[Finding]) -> Rewriter:
        """One that notes what it finds."""
        made = copy.copy(self)
        made._found = found
        return made

    def knowing(self, repeats: Repeats) -> Rewriter:
        """One that finds these values, too, wherever they stand; what it remembers is its own."""
        made = copy.copy(self)
        made._repeats, made._clean = repeats, set()
        return made

    def __call__(
        self, text: str, spans: Sequence[tuple[int, int]] = (), cells: Sequence[Told] = ()
    ) -> tuple[str, list[tuple[int, int]], Counter[str]]:
        """The redacted text, `spans` of the text moved with it, and how many values of each kind were replaced.

        `cells` are in order, and do not overlap.

        A span that begins or ends inside a replaced value is cut there: what replaced it belongs to the span in
        which the value began. A span may come out empty.

        Raises:
            DocumentRejected: the text does not settle, or the recogniser failed.
        """
        counts: Counter[str] = Counter()
        moved = list(spans)
        if text in self._clean and not cells:
            return text, moved, counts
        for _ in range(_MAX_ROUNDS):
            edits = self._edits(text, cells, counts)
            if not edits:
                if not cells:
                    self._remember(text)
                return text, moved, counts
            cells = _along(cells, edits)
            text, moved = _apply(text, moved, edits)
        raise DocumentRejected(
            msg(
                "the text does not settle: after {max_rounds} rounds of redaction there is more to find",
                max_rounds=_MAX_ROUNDS,
            ),
            component="redaction",
        )

    def _edits(self, text: str, cells: Sequence[Told], counts: Counter[str]) -> list[_Edit]:
        edits = []
        found = findings(text, self._policy, self._names, cells, self._repeats)
        if self._found is not None:
            self._found += found
        for finding in found:
            new = replacement(finding, self._policy.actions[finding.kind], self._key)
            if new != text[finding.start : finding.end]:
                edits.append((finding.start, finding.end, new))
                counts[finding.kind] += 1
        return edits

    def _remember(self, text: str) -> None:
        if len(text) <= _SHORT:
            if len(self._clean) >= _MOST_REMEMBERED:
                self._clean.clear()
            self._clean.add(text)


def _apply(text: str, spans: list[tuple[int, int]], edits: list[_Edit]) -> tuple[str, list[tuple[int, int]]]:
    """The text with all edits made, and the spans in it, which may come in any order and overlap."""
    pieces: list[str] = []
    at = 0
    for start, end, new in edits:
        pieces += (text[at:start], new)
        at = end
    pieces.append(text[at:])
    places = sorted({offset for span in spans for offset in span})
    now = dict(zip(places, _moved(places, edits), strict=True))
    return "".join(pieces), [(now[start], now[end]) for start, end in spans]


def _along(cells: Sequence[Told], edits: list[_Edit]) -> list[Told]:
    ends = iter(_moved([offset for cell in cells for offset in cell[:2]], edits))
    return [(start, next(ends), cell[2]) for start, cell in zip(ends, cells, strict=True)]


def _moved(offsets: list[int], edits: list[_Edit]) -> list[int]:
    """Rising offsets after rising edits; one inside an edit goes to the end of what replaces it."""
    moved = []
    shift = number = 0
    for offset in offsets:
        while number < len(edits) and edits[number][1] <= offset:
            start, end, new = edits[number]
            shift += len(new) - (end - start)
            number += 1
        inside = number < len(edits) and edits[number][0] < offset
        moved.append(edits[number][0] + shift + len(edits[number][2]) if inside else offset + shift)
    return moved


# Redaction before anything is stored: what identifies a person or opens a door is taken out of a text.
#
# A value is looked for in a folded view (`core.redaction.matching`), so full-width digits, invisible characters, spaces,
# dashes and Traditional Chinese hide nothing; it is replaced in the original. Rules are deterministic: check
# digits where they exist, cue words where the form alone is weak (`identifiers`,
# `secrets`, `names`). A `RedactionPolicy` says what is written instead.
#
# A text is redacted until nothing more is found, so to redact twice changes nothing. Names without a cue word
# need a recogniser, which the caller may hand in as ``names``; it reads the folded text.


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

    Raises:
        ConfigError: the policy needs a key.
    """

    def __init__(self, policy: RedactionPolicy, key: bytes = b"", names: NameRecognizer | None = None) -> None:
        self._rewrite = self._rewrite_part = Rewriter(policy, key, names)
        if key:
            apart: dict[str, Action] = {
                kind: action if action == "keep" or kind == "secret" else "pseudonym"
                for kind, action in policy.actions.items()
            }
            self._rewrite_part = Rewriter(replace(policy, actions=apart), key, names)

    def text(self, text: str) -> Redacted:
        """A text without the values that the policy does not keep.

        Raises:
            DocumentRejected: the text cannot be redacted; it must not be ingested.
        """
        found: list[Finding] = []
        new, _, counts = self._rewrite.gathering(found)(text)
        if repeats := Repeats(found):
            new, _, counts = self._rewrite.knowing(repeats)(text)
        return Redacted(new, dict(counts))

    def document(self, document: Document) -> tuple[Document, Mapping[str, int]]:
        """A document with its text, title, labels, notes and metadata (names, too) redacted, and the counts of all of them.

        Blocks keep covering the text; one that held nothing but the rest of a value vanishes. The URI is left: it is
        what the document is found by when read again (see `uri`).

        A value that is found in one of its places is replaced in all of them (see `Repeats`).

        Raises:
            DocumentRejected: it cannot be redacted.
        """
        found: list[Finding] = []
        redacted, counts = self._document(document, self._rewrite.gathering(found))
        if repeats := Repeats(found):
            return self._document(document, self._rewrite.knowing(repeats))
        return redacted, counts

    def _document(self, document: Document, rewrite: Rewriter) -> tuple[Document, Mapping[str, int]]:
        spans = [part for b in document.blocks for part in _parts(b)]
        spans += [(line.start, line.end) for line in document.lines]
        spans += [(doubt.start, doubt.end) for doubt in document.uncertain]
        text, parts, counts = rewrite(document.text, spans, document.cells)
        moved = iter(parts)
        gone = _gone(document.text, text)

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

    def _facets(self, facets: Mapping[str, Facet], counts: Counter[str], rewrite: Rewriter) -> dict[str, Facet]:
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
        self, name: str, value: Facet, in_name: Counter[str], counts: Counter[str], rewrite: Rewriter
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

    def uri(self, uri: str) -> str:
        """A URI, path or file name whose parts hold no value that the policy does not keep; percent-escapes are seen through.

        Two addresses that differ only in a value become one when it is masked or dropped. With a key, pseudonyms are
        therefore written here whatever the policy says, but for secrets.

        Raises:
            DocumentRejected: it cannot be redacted.
        """
        authority = _AUTHORITY.match(uri)
        head = self._rewrite_part(authority[0])[0] if authority else ""
        return head + _PIECE.sub(self._part, uri[authority.end() if authority else 0 :])

    def _part(self, piece: re.Match[str]) -> str:
        said = unquote(piece[0], errors="surrogateescape")
        new, _, found = self._rewrite_part(said)
        return _ESCAPED.sub(_escape, new) if found else piece[0]


def redact(text: str, policy: RedactionPolicy, key: bytes = b"", names: NameRecognizer | None = None) -> Redacted:
    """`Redaction.text`, of one text."""
    return Redaction(policy, key, names).text(text)


def _gone(text: str, redacted: str) -> set[str]:
    """The words that redaction took out of a text, in lower case."""
    if text == redacted:
        return set()
    left = {*_WORD.findall(redacted.lower())}
    return {word for word in _WORD.findall(text.lower()) if word not in left}


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
