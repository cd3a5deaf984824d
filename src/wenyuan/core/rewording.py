"""A claim in other words than a sentence, with another number, date or negation in the same place of what it says.

Where words are other ones, little can be compared: a figure of the claim that nothing near says, where the one sentence that has
nearly all of the claim's words has another figure of the same unit; or the one verb that the sentence negates, said without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from wenyuan.core.denials import turned_round, unless
from wenyuan.core.difference_kind import DifferenceKind
from wenyuan.core.places import ClaimDifference
from wenyuan.core.quotation import conditional
from wenyuan.core.reworded_duties import opposite
from wenyuan.core.text.boundaries import sentences
from wenyuan.core.text.content import GLUE, content_of, same_stem, share_of
from wenyuan.core.text.folding import has_han
from wenyuan.core.tokens import Token, Tokens, tokens_of

Span = tuple[int, int]

_ENOUGH = 0.6
"""Share of a claim's words that the sentence must have, for a figure of it to be the one that was changed."""
_NEARLY_ALL = 0.85
"""The same where nothing but that figure, or a negation, tells."""
_MOSTLY = 0.75
"""The same where two words that are opposites tell."""
_NEAR = 0.34
"""The same for a sentence that may be about it, so that its figures were not made up."""
_RIVAL = 0.65
"""As many of the words that the nearest sentence has: figures of such a one may be those of the claim, too."""
_MORE = 4  # Chinese characters in turn, or half as many words
_LEAST = 3  # words of a claim that say something
_DENIED = re.compile(
    r"(?:(?:must|shall|may|should|will|can|is|are|was|were|do|does|did) ?(?:not|n['’]t)|cannot|never|forbidden|prohibited)(?! exceed|[^,.;]{0,30} (?:more|longer|later|less|fewer|earlier|higher|lower) than)"
    "|(?:不得|不准|不许|不应当?|不可以?|不能够?|不予|禁止|严禁|禁用|不(?=[^足到满少超同过需必用能可得应]))(?![^，。；,;]{0,6}[少超高低多大小迟晚早][于过])",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"(?<![a-z])(?:no|none|nobody|neither|nor|nothing|without|free|ban(?:ned)?|barred|refused?)(?![a-z])|[没无未非免勿拒]",
    re.IGNORECASE,
)
"""What denies without a verb: *there are no backups*."""
_CLAUSES = re.compile(r"[，,；;：:]")
_PLAIN = re.compile(r"[-±]?\d+(?:[.,]\d+)*\Z")


class Reworded(NamedTuple):
    """What a claim in other words changes: in the text of this number."""

    number: int
    kind: DifferenceKind
    span: Span
    change: ClaimDifference


class _Said(NamedTuple):
    """The words of a sentence that say something, by their stems in turn, and its figures."""

    stems: tuple[str, ...]
    figures: tuple[Token, ...]


def reworded(claim: Tokens, texts: Sequence[str]) -> Reworded | None:
    """The sentence of these texts that a claim says in other words with one thing changed; None without one.

    Args:
        texts: All that is near the claim: a figure that any of them has is none that was made up.
    """
    said = _has_statement(claim.text)
    if len(said.stems) < _LEAST:
        return None
    told = [
        (share, number, span, near)
        for number, text in enumerate(texts)
        for span, near in _sentences(text)
        if (share := share_of(said.stems, near.stems)) >= _NEAR
    ]
    share, number, span, _ = max(told, key=lambda one: one[0], default=(0.0, 0, (0, 0), said))
    if share < _ENOUGH:
        return None
    held = {token.value for own, _, _, near in told if own >= _RIVAL * share for token in near.figures}
    missing = [token for token in said.figures if token.value not in held]
    sentence = texts[number][slice(*span)]
    there = _has_statement(sentence)
    if not _same_subject(said, there) or _says_more(said, there):
        return None
    if len(missing) == 1:
        found = _figure(claim, missing[0], tokens_of(sentence), share)
        return None if found is None else Reworded(number, _kind(missing[0]), span, found)
    if missing:
        return None
    if share >= _NEARLY_ALL and (change := _denial(claim.text, sentence, said)) is not None:
        return Reworded(number, "negation_changed", span, change)
    turned = opposite(claim.text, sentence) if share >= _MOSTLY else None
    return None if turned is None else Reworded(number, turned.kind, span, turned.change)


def said_so(claim: Tokens, texts: Sequence[str], than: str) -> bool:
    """Whether a sentence of these texts has all figures of a claim, and as many of its words as another text has.

    Args:
        than: The text whose figures differ.
    """
    said, other = _has_statement(claim.text), _has_statement(than)
    figures = {token.value for token in said.figures}
    least = share_of(said.stems, other.stems)
    return not figures <= {token.value for token in other.figures} and any(
        figures <= {token.value for token in near.figures} and share_of(said.stems, near.stems) >= least
        for text in texts
        for _, near in _sentences(text)
    )


@lru_cache(maxsize=1_024)
def _sentences(text: str) -> tuple[tuple[Span, _Said], ...]:
    return tuple((span, _has_statement(text[slice(*span)])) for span in sentences(text))


def _has_statement(text: str) -> _Said:
    words = tuple(dict.fromkeys(content_of(text)))
    return _Said(words, tuple(token for token in tokens_of(text).tokens if token.kind != "word"))


def _same_subject(said: _Said, there: _Said) -> bool:
    """Whether what either begins with is in the other, too: the words of what is spoken of."""
    first = 2 if has_han(said.stems[0]) else 1
    return share_of(said.stems[:first], there.stems) == 1 or share_of(there.stems[:first], said.stems) == 1


def _says_more(said: _Said, there: _Said) -> bool:
    """Whether a claim has several words in turn that the sentence has not: what it says of the same is another thing."""
    run = 0
    for stem in said.stems:
        run = 0 if share_of([stem], there.stems) else run + (1 if has_han(stem) else 2)
        if run >= _MORE:
            return True
    return False


def _figure(claim: Tokens, missing: Token, there: Tokens, share: float) -> ClaimDifference | None:
    """The figure of a sentence that stands in the place of one that only the claim has."""
    said = {token.value for token in claim.tokens}
    own = [
        t
        for n, t in enumerate(there.tokens)
        if t.kind != "word" and t.value not in said and _measure(t) == _measure(missing) and not _of_clause(there, n)
    ]
    others = {t.value for t in claim.tokens if t.kind != "word"} - {missing.value}
    if not others <= {t.value for t in there.tokens}:
        return None
    if len({t.value for t in own}) > 1 or (_measure(missing) == "" and share < _NEARLY_ALL):
        shared = {t.value: len(_clause_of(there, t) & said) for t in own}
        most = max(shared.values(), default=0)
        own = [t for t in own if shared[t.value] == most > 0]
    if len({t.value for t in own}) != 1:
        return None
    return ClaimDifference(there.text[own[0].start : own[0].end], claim.text[missing.start : missing.end])


def _of_clause(text: Tokens, number: int) -> bool:
    """Whether a token is the number of a clause or of an item: 第七条, *3.* at the begin."""
    token = text.tokens[number]
    return token.kind == "number" and (number == 0 or text.text[token.start - 1 : token.start] == "第")


def _measure(token: Token) -> str:
    """What a figure counts: its unit, ``:`` of a time of day, ``#`` of a word for a place in order, ``""`` of a plain number."""
    if token.value.startswith("="):
        return token.value.lstrip("=-±.e+0123456789") or "="
    if ":" in token.value:
        return ":"
    return "" if _PLAIN.match(token.value) else "%" if token.value.endswith("%") else "#"


def _clause_of(text: Tokens, token: Token) -> set[str]:
    """The values of the clause that a token stands in."""
    first = end = text.tokens.index(token)
    while first and text.tokens[first].after == "":
        first -= 1
    end += 1
    while end < len(text.tokens) and text.tokens[end].after == "":
        end += 1
    return {one.value for one in text.tokens[first:end]} - GLUE


def _kind(token: Token) -> DifferenceKind:
    return "date_changed" if token.kind == "date" else "number_changed"


def _denial(claim: str, sentence: str, said: _Said) -> ClaimDifference | None:
    """The one denial of a sentence, or of a clause of it, that a claim leaves out or adds, before a word that both have."""
    if conditional(claim) != conditional(sentence):
        return None
    denials = len(_DENIED.findall(claim)), len(_DENIED.findall(sentence))
    if 0 not in denials or denials == (0, 0) or unless(claim, sentence) or turned_round(claim, sentence):
        return None  # a second denial may say the first one again, of another thing of a list
    if _NONE.search((claim, sentence)[denials.index(0)]):
        return None
    for part in (sentence, *_CLAUSES.split(sentence)):
        there = _has_statement(part)
        if not there.stems or min(share_of(there.stems, said.stems), share_of(said.stems, there.stems)) < _ENOUGH:
            continue
        own, other = _denials(claim), _denials(part)
        found = [(True, *one) for one in own.items() if one[0] not in other]
        found += [(False, *one) for one in other.items() if one[0] not in own]
        if len(found) != 1:
            continue
        ((added, denied, words),) = found
        if denied and any(same_stem(denied, stem) for stem in (there if added else said).stems):
            return ClaimDifference("", words) if added else ClaimDifference(words, "")
    return None


def _denials(text: str) -> dict[str, str]:
    """The denials of a text, by the word that each denies."""
    return {next(_after(text, match.end()), ""): match[0].strip() for match in _DENIED.finditer(text)}


def _after(text: str, start: int) -> Iterator[str]:
    return content_of(text[start:])
