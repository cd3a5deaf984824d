"""Summaries of passages: a language model selects sentences, which the program cuts out of the stored text.

A passage keeps its extract where the model fails, may not see it, or gives text that is not in it; the summary says
which kind it is. Choices are cached in this process, by the passage's hash, the model and its prompt.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from threading import Lock

from wenyuan.core.access import Principal
from wenyuan.core.answering import ANSWER_PROMPT_VERSION, ANSWER_SCHEMA, Shown, read_written, summary_messages
from wenyuan.core.errors import LlmError, LlmTimeout
from wenyuan.core.model import Passage
from wenyuan.core.ports import caller_gone
from wenyuan.core.text.boundaries import Span
from wenyuan.core.text.folding import language_of
from wenyuan.core.text.summaries import elision_mark, merged, quoted
from wenyuan.core.text.token_meter import estimate_tokens
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.generation.answering import Answerer, not_again, was_late
from wenyuan.service.generation.answers import AnswerClaim, AnswerRequest, fates
from wenyuan.service.generation.no_model import none_is_set_up
from wenyuan.service.query import LegReport
from wenyuan.service.search.searcher import ResultPassage, SearchRequest, SearchResult

LEG = "llm"
_MOST_PASSAGES = 20  # that the model is shown at once; further ones keep their extracts
_MOST_TOKENS = 100  # of a summary
_REMEMBERED = 10_000

Key = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Summarizer:
    """Adds summaries with sentences selected by a model to search results."""

    answerer: Answerer
    _kept: OrderedDict[Key, tuple[Span, ...]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def summarized(
        self,
        results: Sequence[SearchResult],
        requests: Sequence[SearchRequest],
        principal: Principal,
        *,
        door: str = "search",
    ) -> tuple[SearchResult, ...]:
        """The results of the searches of one request with the model's summaries where they passed the checks; leg ``llm``
        reports how that went. A model that was too slow once is not asked again.

        Raises:
            CatalogUnavailable: the audit cannot be written; then nothing may be given either.
        """
        made: list[SearchResult] = []
        late = any(map(was_late, results))
        for result, request in zip(results, requests, strict=True):
            one, late = self._summarized(result, request, principal, door, late)
            made.append(one)
        return tuple(made)

    def _summarized(
        self, result: SearchResult, request: SearchRequest, principal: Principal, door: str, late: bool
    ) -> tuple[SearchResult, bool]:
        """A result with its summaries, and whether the model was too slow by now."""
        own = [f.passage for f in result.passages if f.hit.origin != "kg_rule" and f.passage.passage_id > 0]
        new = [passage for passage in own if self._known(passage) is None][:_MOST_PASSAGES]
        begun, error = time.perf_counter(), ""
        if new:
            try:
                if late:
                    raise not_again(self.answerer.settings.model)
                self._choose(new, request, result.generation, principal, door)
            except LlmError as failure:
                error, late = str(failure), isinstance(failure, LlmTimeout)
        found = tuple(self._with_summary(one) for one in result.passages)
        hits = sum(one.summary_origin == "generated" for one in found)
        ms = (time.perf_counter() - begun) * 1e3
        leg = LegReport(name=LEG, state="failed" if error else "ok", ms=ms, hits=hits, error=error)
        return replace(result, passages=found, legs=(*result.legs, leg)), late

    def _choose(
        self, passages: Sequence[Passage], request: SearchRequest, generation: int, principal: Principal, door: str
    ) -> None:
        """Ask the model for sentences, check them, record the result, and cache what passed."""
        answerer = self.answerer
        if answerer.llm is None:
            raise none_is_set_up()
        shown, withheld = answerer.shown(passages)
        if not shown:
            return
        reply = answerer.llm.ask(
            summary_messages(shown),
            schema=ANSWER_SCHEMA,
            read=read_written,
            deadline=deadline_after(answerer.settings.timeout).unless(caller_gone()),
        )
        asked = AnswerRequest(
            query=request.query, agent_id=request.agent_id, min_trust=request.min_trust, as_of=request.as_of
        )
        checked = answerer.checked(reply.value.claims, shown, asked, principal)
        said = {
            "status": "SUCCESS", **fates(checked.claims, checked.dropped), "origin": "model", "error": "", "error_code": "",
            "withheld": {why: list(refs) for why, refs in withheld.items()}, "model": answerer.settings.model,
            "prompt": ANSWER_PROMPT_VERSION, "as_of": (request.as_of or date.today()).isoformat(), "min_trust": request.min_trust,
            "agent_id": request.agent_id, "generation": generation, "shown": [one.passage.ref for one in shown], "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out, "cost": reply.cost,
        }  # fmt: skip
        output = [list(one) for one in reply.value.claims]
        answerer.recorded.recorder.written(said, request.query, output, principal, door=door, action="summarize")
        for one in shown:
            self._keep(one, checked.claims)

    def _keep(self, shown: Shown, claims: Sequence[AnswerClaim]) -> None:
        """Cache the selected sentences of a passage, as many as fit a summary."""
        passage, spans = shown.passage, list[Span]()
        for claim in claims:
            one = claim.citation
            if one.ref != passage.ref or one.start is None or one.end is None:
                continue
            if estimate_tokens(_text(passage, (*spans, (one.start, one.end)))) > _MOST_TOKENS:
                break
            spans.append((one.start, one.end))
        if not spans:
            return
        with self._lock:
            self._kept[self._key(passage)] = tuple(spans)
            while len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)

    def _with_summary(self, found: ResultPassage) -> ResultPassage:
        spans = self._known(found.passage)
        if spans is None:
            return replace(found, summary_origin="extractive")
        return replace(found, summary=_text(found.passage, spans), summary_origin="generated")

    def _known(self, passage: Passage) -> tuple[Span, ...] | None:
        with self._lock:
            return self._kept.get(self._key(passage))

    def _key(self, passage: Passage) -> Key:
        return passage.sha256, self.answerer.settings.model, ANSWER_PROMPT_VERSION


def _text(passage: Passage, spans: Sequence[Span]) -> str:
    mark = elision_mark(passage.language or language_of(passage.text))
    return quoted(passage.text, merged(passage.text, spans), mark)
