"""Which passages a prompt context admits, how much of each, and as which snippets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wenyuan.core.likelihood import LIKELY
from wenyuan.core.prompt_parts import (
    LOW_TRUST,
    REASONS,
    SEAM,
    ContextBuild,
    Priced,
    Reason,
    Snippet,
    Withheld,
    terms_of,
)
from wenyuan.core.text.boundaries import Span
from wenyuan.core.text.excerpts import ExcerptCandidate, Place, ScoredPassage, document_key, size, without
from wenyuan.core.text.folding import language_of
from wenyuan.core.text.injection import instruction_like, visible
from wenyuan.core.text.summaries import elision_mark, merged, quoted


@dataclass(frozen=True, slots=True)
class _Given:
    """The admitted part of a candidate: spans of its document; without spans, only its address."""

    candidate: ExcerptCandidate
    spans: tuple[Span, ...]
    cut: bool


class Shelf:
    """Collects what is admitted and withheld."""

    def __init__(self, document_chars: Mapping[int, int], used: Mapping[str, int]) -> None:
        self._document_chars = document_chars
        self._used = dict(used)
        self._given: dict[Place, tuple[_Given, ...]] = {}
        self._snippets: dict[Place, list[Priced]] = {}
        self._drawn: dict[tuple[_Given, ...], Priced] = {}
        self._said: dict[str, str] = {}
        self._details: list[Withheld] = []
        self._beside_question: set[str] = set()  # addresses of rules that do not answer

    def withhold(self, item: ScoredPassage, reason: Reason, *, part: int | None = None) -> None:
        """Record a passage as withheld, entirely or in `part` characters."""
        lost = len(item.passage.text) if part is None else part
        self._details.append(Withheld(item.passage.ref, reason, lost, part is None))

    def admit(self, candidate: ExcerptCandidate, limit: int) -> bool:
        """Admit what is allowed of a candidate; False if the snippets would exceed `limit` tokens."""
        spans = candidate.tidy(without(candidate.spans, self._taken(candidate)))
        if not spans or self._repeats(candidate):
            self.withhold(candidate.item, "duplicate")
            return True
        allowed = self._allowed(candidate, spans)
        place = candidate.place if allowed else (*candidate.place, "address")
        given = (*self._given.get(place, ()), _Given(candidate, allowed, allowed != spans))
        snippets = [self._draw(run) for run in text_runs(given)]
        others = sum(tokens for held in self._snippets for _, tokens in self._snippets[held] if held != place)
        if others + sum(tokens for _, tokens in snippets) > limit:
            return False
        self._given[place], self._snippets[place] = given, snippets
        if allowed:
            key = document_key(candidate.item.passage)
            self._used[key] = self._used.get(key, 0) + size(allowed)
            self._said[candidate.key] = candidate.item.passage.ref if candidate.located else ""
        if candidate.item.answers is False:
            self._beside_question.add(candidate.item.passage.ref)
        if allowed != spans:
            self.withhold(candidate.item, "copyright", part=size(spans) - size(allowed) if allowed else None)
        return True

    def build(self) -> ContextBuild:
        """All snippets, and all that was withheld."""
        priced = [pair for held in self._snippets.values() for pair in held]
        snippets = sorted(
            (snippet for snippet, _ in priced),
            key=lambda s: (self._turn(s), s.priority, -s.score, s.source, s.uri, s.refs, s.content),
        )
        return ContextBuild(
            snippets=tuple(snippets),
            withheld={reason: sum(d.reason == reason for d in self._details) for reason in REASONS},
            details=tuple(sorted(self._details, key=lambda d: (d.ref, d.reason, d.characters, d.whole))),
            used=dict(self._used),
            tokens=sum(tokens for _, tokens in priced),
        )

    def _turn(self, snippet: Snippet) -> int:
        """Which of the groups a snippet belongs to: rules that answer, likely passages, other rules, the rest."""
        if snippet.source in self._beside_question:
            return 2
        if snippet.priority == 1:
            return 0
        return 1 if snippet.priority == 2 and snippet.score >= LIKELY else 3

    def _taken(self, candidate: ExcerptCandidate) -> list[Span]:
        """Spans of the candidate's document already admitted, from passages of any origin."""
        if not candidate.located:
            return []
        same = [held for place, held in self._given.items() if place[1:] == candidate.place[1:]]
        return [span for held in same for given in held for span in given.spans]

    def _repeats(self, candidate: ExcerptCandidate) -> bool:
        """Whether another passage has the same text; several extracts of one passage do not count."""
        before = self._said.get(candidate.key)
        return before is not None and (before != candidate.item.passage.ref or not candidate.located)

    def _allowed(self, candidate: ExcerptCandidate, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        """The part of the spans within the copyright limit."""
        passage = candidate.item.passage
        known = max(passage.end, len(passage.text))
        room = terms_of(passage.copyright).room(self._document_chars.get(passage.document_id, known))
        if room is None:
            return spans
        return candidate.shortened(spans, room - self._used.get(document_key(passage), 0))

    def _draw(self, run: tuple[_Given, ...]) -> Priced:
        if run not in self._drawn:
            snippet = snippet_of(run)
            self._drawn[run] = (snippet, snippet.tokens)
        return self._drawn[run]


def text_runs(given: Iterable[_Given]) -> list[tuple[_Given, ...]]:
    """Groups of passages that touch or overlap, in document order."""
    runs: list[list[_Given]] = []
    reach = 0
    for one in sorted(given, key=lambda g: (g.candidate.start, g.candidate.end, g.candidate.order, g.spans)):
        if runs and one.candidate.start <= reach + SEAM:
            runs[-1].append(one)
        else:
            runs.append([one])
        reach = max(reach, one.candidate.end)
    return [tuple(run) for run in runs]


def snippet_of(run: Sequence[_Given]) -> Snippet:
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
        "disputed": any(one["holds"] != "this" for g in run for one in g.candidate.item.passage.disputes),
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
        attribution=visible(terms_of(passage.copyright).credit),
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
