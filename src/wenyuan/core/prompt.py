"""Builds a prompt context from ranked passages under limits on trust, repetition, copyright and tokens; everything
withheld is counted.

Passages are admitted one at a time. First rules within their reserved share of the budget: those that the question
asks for, then the others, mandatory ones before recommended ones; then everything else, best score first; then the rules that are left, so that what either does not use is
free for the other. One that does not fit is counted and the next is tried. Admitted passages of one document that touch or overlap make one snippet.
Snippets come out rules first, then by falling score.

Copyright is counted in characters of one document (by its URI, so that a document read again is the same one)
over all snippets and over what was given before. White space between two passages is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, get_args

from wenyuan.core.access import TOKEN_BUDGET
from wenyuan.core.model import ORIGIN_PRIORITY
from wenyuan.core.rules import Strength
from wenyuan.core.terms_of_use import Copyright, parse_copyright
from wenyuan.core.text import Span, language_of
from wenyuan.core.text.chunking import estimate_tokens
from wenyuan.core.text.summaries import (
    Candidate,
    Place,
    ScoredPassage,
    document_key,
    elision_mark,
    instruction_like,
    merged,
    quoted,
    size,
    visible,
    without,
)

__all__ = [
    "LOW_TRUST",
    "REASONS",
    "ContextBuild",
    "ContextPolicy",
    "Reason",
    "ScoredPassage",
    "Snippet",
    "Withheld",
    "build_context",
    "document_key",
]


LOW_TRUST = 3
"""A passage of lower trust enters a context only where that is asked for."""
Reason = Literal["low_trust", "copyright", "budget", "duplicate"]
REASONS: tuple[Reason, ...] = ("low_trust", "copyright", "budget", "duplicate")
_RULE = "kg_rule"
_STRENGTHS: tuple[object, ...] = get_args(Strength)
_SEAM = 2  # characters between two passages that touch: passages leave out white space only, here a blank line


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPolicy:
    """The limits of a context.

    Attributes:
        token_budget: For all snippets together: see `Snippet.tokens`.
        rules_share: Share of the budget (0..1) that only rules may use, as far as there are rules; of the rest
            they get what nothing else needs. With 1 no rule makes way for anything else.
        min_trust: 1-5, demanded whatever `allow_low_trust` says.
    """

    token_budget: int = TOKEN_BUDGET
    rules_share: float = 0.4
    min_trust: int = 1
    allow_low_trust: bool = False

    def __post_init__(self) -> None:
        if self.token_budget < 1 or not 0.0 <= self.rules_share <= 1.0 or not 1 <= self.min_trust <= 5:
            raise ValueError(f"no such policy: {self!r}")

    @property
    def least_trust(self) -> int:
        """The lowest trust admitted."""
        return self.min_trust if self.allow_low_trust else max(self.min_trust, LOW_TRUST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One snippet of a context.

    Attributes:
        source: Short address of its best passage: ``crm_policy#42``.
        content: The passages' own words, gaps marked ``……`` or `` … ``; ``""`` where copyright allows none.
        refs: Short addresses of all its passages, in document order.
        attribution: Text that must be shown with it.
        flags: ``no-excerpt`` (copyright: title and address only), ``excerpt`` (cut for copyright), ``generated``
            (not the source's own words), ``cleaned`` (hidden characters removed), ``instruction-like`` (it
            speaks to a model: treat with suspicion), ``low-trust``, ``uncertain`` (recognised in an image, and a number in
            it not surely: not to be quoted as sure).
    """

    source: str
    content: str
    trust: int
    uri: str
    title: str
    heading: str
    score: float
    origin: str
    refs: tuple[str, ...]
    attribution: str = ""
    flags: tuple[str, ...] = ()

    @property
    def priority(self) -> int:
        """1 for rules; see `ORIGIN_PRIORITY`."""
        return ORIGIN_PRIORITY[self.origin]

    @property
    def tokens(self) -> int:
        """Estimated tokens of the snippet: source, title, heading, content and attribution."""
        return estimate_tokens("\n".join((self.source, self.title, self.heading, self.content, self.attribution)))


@dataclass(frozen=True, slots=True)
class Withheld:
    """A withheld passage: reason, number of characters, and whether all of it was withheld."""

    ref: str
    reason: Reason
    characters: int
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBuild:
    """A finished context.

    Attributes:
        withheld: Number of passages kept back, wholly or in part, for each of `REASONS`.
        used: Characters given so far of each document (by `document_key`), those given before included.
    """

    snippets: tuple[Snippet, ...]
    withheld: Mapping[Reason, int]
    details: tuple[Withheld, ...]
    used: Mapping[str, int]
    tokens: int


def build_context(
    passages: Iterable[ScoredPassage],
    policy: ContextPolicy | None = None,
    *,
    document_chars: Mapping[int, int] = MappingProxyType({}),
    used: Mapping[str, int] = MappingProxyType({}),
) -> ContextBuild:
    """Select, merge and frame passages for a prompt; independent of the order of `passages`.

    Every passage is named in the `refs` of a snippet, or in a `Withheld` with ``whole``; one of which copyright
    leaves the address only, in both.

    Args:
        document_chars: Length of each document, by document id, for shares of it; where it is missing, the end of the
            passage is used, which is a lower bound.
        used: Characters given before for the same task, as an earlier `ContextBuild.used`.

    Raises:
        InvalidRequest: a passage's copyright cannot be understood.
    """
    policy = policy or ContextPolicy()
    shelf = _Shelf(document_chars, used)
    candidates: list[Candidate] = []
    for item in passages:
        if item.passage.trust < policy.least_trust:
            shelf.withhold(item, "low_trust")
        else:
            candidates.append(Candidate.of(item))
    best: dict[str, float] = {}  # of passages that say the same: the most trusted one has the best one's turn
    for c in candidates:
        best[c.key] = max(c.item.score, best.get(c.key, 0.0))
    candidates.sort(key=lambda c: (-best[c.key], c.order))
    rules = sorted((c for c in candidates if c.item.origin == _RULE), key=_rank)
    reserve = int(policy.token_budget * policy.rules_share)
    waiting = [c for c in rules if not shelf.admit(c, reserve)]
    for c in (*(c for c in candidates if c.item.origin != _RULE), *waiting):
        if not shelf.admit(c, policy.token_budget):
            shelf.withhold(c.item, "budget")
    return shelf.build()


def _rank(rule: Candidate) -> tuple[bool, int]:
    """Sort key of rules: those asked for first, then mandatory ones; a rule without strength counts as mandatory."""
    strength = rule.item.passage.facets.get("strength")
    return not rule.item.answers, _STRENGTHS.index(strength) if strength in _STRENGTHS else 0


_Priced = tuple[Snippet, int]
"""A snippet with its tokens."""


@lru_cache(maxsize=1_024)
def _terms_of(copyright: str) -> Copyright:
    return parse_copyright(copyright)


# --- admission ------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Given:
    """The admitted part of a candidate: spans of its document; without spans, only its address."""

    candidate: Candidate
    spans: tuple[Span, ...]
    cut: bool


class _Shelf:
    """Collects what is admitted and withheld."""

    def __init__(self, document_chars: Mapping[int, int], used: Mapping[str, int]) -> None:
        self._document_chars = document_chars
        self._used = dict(used)
        self._given: dict[Place, tuple[_Given, ...]] = {}
        self._snippets: dict[Place, list[_Priced]] = {}
        self._drawn: dict[tuple[_Given, ...], _Priced] = {}
        self._said: dict[str, str] = {}
        self._details: list[Withheld] = []

    def withhold(self, item: ScoredPassage, reason: Reason, *, part: int | None = None) -> None:
        """Record a passage as withheld, entirely or in `part` characters."""
        lost = len(item.passage.text) if part is None else part
        self._details.append(Withheld(item.passage.ref, reason, lost, part is None))

    def admit(self, candidate: Candidate, limit: int) -> bool:
        """Admit what is allowed of a candidate; False if the snippets would exceed `limit` tokens."""
        spans = candidate.tidy(without(candidate.spans, self._taken(candidate)))
        if not spans or self._repeats(candidate):
            self.withhold(candidate.item, "duplicate")
            return True
        allowed = self._allowed(candidate, spans)
        place = candidate.place if allowed else (*candidate.place, "address")
        given = (*self._given.get(place, ()), _Given(candidate, allowed, allowed != spans))
        snippets = [self._draw(run) for run in _runs(given)]
        others = sum(tokens for held in self._snippets for _, tokens in self._snippets[held] if held != place)
        if others + sum(tokens for _, tokens in snippets) > limit:
            return False
        self._given[place], self._snippets[place] = given, snippets
        if allowed:
            key = document_key(candidate.item.passage)
            self._used[key] = self._used.get(key, 0) + size(allowed)
            self._said[candidate.key] = candidate.item.passage.ref if candidate.located else ""
        if allowed != spans:
            self.withhold(candidate.item, "copyright", part=size(spans) - size(allowed) if allowed else None)
        return True

    def build(self) -> ContextBuild:
        """All snippets, and all that was withheld."""
        priced = [pair for held in self._snippets.values() for pair in held]
        snippets = sorted(
            (snippet for snippet, _ in priced),
            key=lambda s: (s.priority, -s.score, s.source, s.uri, s.refs, s.content),
        )
        return ContextBuild(
            snippets=tuple(snippets),
            withheld={reason: sum(d.reason == reason for d in self._details) for reason in REASONS},
            details=tuple(sorted(self._details, key=lambda d: (d.ref, d.reason, d.characters, d.whole))),
            used=dict(self._used),
            tokens=sum(tokens for _, tokens in priced),
        )

    def _taken(self, candidate: Candidate) -> list[Span]:
        """Spans of the candidate's document already admitted, from passages of any origin."""
        if not candidate.located:
            return []
        same = [held for place, held in self._given.items() if place[1:] == candidate.place[1:]]
        return [span for held in same for given in held for span in given.spans]

    def _repeats(self, candidate: Candidate) -> bool:
        """Whether another passage has the same text; several extracts of one passage do not count."""
        before = self._said.get(candidate.key)
        return before is not None and (before != candidate.item.passage.ref or not candidate.located)

    def _allowed(self, candidate: Candidate, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        """The part of the spans within the copyright limit."""
        passage = candidate.item.passage
        known = max(passage.end, len(passage.text))
        room = _terms_of(passage.copyright).room(self._document_chars.get(passage.document_id, known))
        if room is None:
            return spans
        return candidate.shortened(spans, room - self._used.get(document_key(passage), 0))

    def _draw(self, run: tuple[_Given, ...]) -> _Priced:
        if run not in self._drawn:
            snippet = _snippet(run)
            self._drawn[run] = (snippet, snippet.tokens)
        return self._drawn[run]


# --- snippets -------------------------------------------------------------------------------------------
def _runs(given: Iterable[_Given]) -> list[tuple[_Given, ...]]:
    """Groups of passages that touch or overlap, in document order."""
    runs: list[list[_Given]] = []
    reach = 0
    for one in sorted(given, key=lambda g: (g.candidate.start, g.candidate.end, g.candidate.order, g.spans)):
        if runs and one.candidate.start <= reach + _SEAM:
            runs[-1].append(one)
        else:
            runs.append([one])
        reach = max(reach, one.candidate.end)
    return [tuple(run) for run in runs]


def _snippet(run: Sequence[_Given]) -> Snippet:
    best = min((g.candidate for g in run), key=lambda c: (-c.item.score, c.order)).item
    passage = best.passage
    raw = _content(run)
    content, title = visible(raw), visible(passage.title)
    heading = visible(" > ".join(passage.headings))
    trust = min(g.candidate.item.passage.trust for g in run)
    quoting = [g for g in run if g.spans]
    flags = {
        "no-excerpt": not quoting,
        "excerpt": any(g.cut for g in quoting),
        "generated": any(g.candidate.generated for g in quoting),
        "cleaned": (content, title) != (raw, passage.title),
        "instruction-like": any(instruction_like(text) for text in (content, title, heading)),
        "low-trust": trust < LOW_TRUST,
        "uncertain": any(_doubtful(g) for g in quoting),
    }
    return Snippet(
        source=passage.ref,
        content=content,
        trust=trust,
        uri=passage.uri,
        title=title,
        heading=heading,
        score=best.score,
        origin=best.origin,
        refs=tuple(dict.fromkeys(g.candidate.item.passage.ref for g in run)),
        attribution=visible(_terms_of(passage.copyright).credit),
        flags=tuple(name for name, said in flags.items() if said),
    )


def _doubtful(given: _Given) -> bool:
    """Whether any admitted character is uncertain."""
    told, start = given.candidate.item.passage.recognition, given.candidate.start
    if told is None or given.candidate.generated:
        return told is not None and bool(told.uncertain)
    return any(told.doubts(a - start, b - start) for a, b in given.spans)


def _content(run: Sequence[_Given]) -> str:
    """The spans of a group in document order, without overlap, gaps marked."""
    base = at = run[0].candidate.start
    text = ""
    for candidate in (given.candidate for given in run):
        text += "\n" * (candidate.start - at) + candidate.text[max(0, at - candidate.start) :]
        at = max(at, candidate.end)
    spans = merged(text, [(a - base, b - base) for given in run for a, b in given.spans])
    mark = elision_mark(run[0].candidate.item.passage.language or language_of(text))
    content = quoted(text, spans, mark)
    cuts = {given.spans[-1][1] - base for given in run if given.cut and given.spans}
    if spans and spans[-1][1] in cuts and not content.endswith("…"):
        content += mark.rstrip()
    return content
