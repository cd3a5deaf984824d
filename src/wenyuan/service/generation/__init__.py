"""Tasks for a language model; here, rewriting a query and summarising passages. Of its output only what the program can find in the library is kept."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from threading import Lock

from wenyuan.core.access import Principal
from wenyuan.core.answering import (
    ANSWER_PROMPT_VERSION,
    ANSWER_SCHEMA,
    REWRITING_SCHEMA,
    Shown,
    Turn,
    checked,
    read_wordings,
    read_written,
    rewriting_messages,
    summary_messages,
)
from wenyuan.core.errors import LlmError, LlmTimeout
from wenyuan.core.model import Passage
from wenyuan.core.ports import LanguageModel, caller_gone
from wenyuan.core.text import Span, language_of
from wenyuan.core.text.chunking import estimate_tokens
from wenyuan.core.text.summaries import elision_mark, merged, quoted
from wenyuan.runtime import deadline_after
from wenyuan.service import LegReport, Query, Rewriting
from wenyuan.service.generation.answering import Answerer, none_is_set_up, not_again, was_late
from wenyuan.service.generation.answers import AnswerClaim, AnswerRequest, fates
from wenyuan.service.ingest.redaction import Questions
from wenyuan.service.search.searcher import Found, SearchRequest, SearchResult
from wenyuan.settings import LlmSettings

# Query rewriting by a language model, on request of the caller; see `core.answering`.

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewriter:
    """Rewrites queries, and keeps those that add no new facts.

    Attributes:
        llm: None where none is set up.
        questions: Redacts what is sent, as it does stored questions.
    """

    llm: LanguageModel | None
    settings: LlmSettings
    questions: Questions

    def rewritten(self, question: str, turns: Sequence[Turn]) -> Rewriting:
        """Rewritten forms of a question. A failure of the model is reported in the result, since the question can be
        searched without them.

        Args:
            turns: The conversation before it.
        """
        begun = time.perf_counter()
        try:
            if self.llm is None:
                raise none_is_set_up()
            told = [turn._replace(text=self.questions.sent(turn.text)) for turn in turns]
            text = self.questions.sent(question)
            reply = self.llm.ask(
                rewriting_messages(text, told), schema=REWRITING_SCHEMA, read=read_wordings,
                deadline=deadline_after(self.settings.timeout).unless(caller_gone()),
            )  # fmt: skip
        except LlmError as error:
            log.warning("asked without other wordings: %s", error)
            return Rewriting(
                error=str(error), follows=bool(turns), late=isinstance(error, LlmTimeout), model=self.settings.model, ms=(time.perf_counter() - begun) * 1e3
            )  # fmt: skip
        kept, left = checked(reply.value, text, told)
        return Rewriting(
            wordings=kept, follows=bool(turns), left_out={str(why): count for why, count in left.items()}, model=self.settings.model, tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out, cost=reply.cost, ms=(time.perf_counter() - begun) * 1e3,
        )  # fmt: skip

    def reworded(self, query: Query) -> Query:
        """A query with its rewritten forms added, if it asks for them."""
        if query.conversation is None:
            return query
        return replace(query, rewriting=self.rewritten(query.text, query.conversation), conversation=None)

    def searched(self, request: SearchRequest) -> SearchRequest:
        """A search request with its rewritten forms added, if it asks for them."""
        if request.conversation is None:
            return request
        found = self.rewritten(request.query, request.conversation)
        return replace(request, rewriting=found, conversation=None)


# Summaries of passages: a language model selects sentences, which the program cuts out of the stored text.
#
# A passage keeps its extract where the model fails, may not see it, or gives text that is not in it; the summary says
# which kind it is. Choices are cached in this process, by the passage's hash, the model and its prompt.

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

    def _with_summary(self, found: Found) -> Found:
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
