"""Rewriting of a query by a language model. Of its output only what the program can check is kept."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wenyuan.core.errors import LlmError, LlmTimeout
from wenyuan.core.ports import LanguageModel, caller_gone
from wenyuan.core.query_rewriting import REWRITING_SCHEMA, Turn, checked, read_wordings, rewriting_messages
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.generation.no_model import none_is_set_up
from wenyuan.service.ingest.question_redaction import Questions
from wenyuan.service.query import Query, Rewriting
from wenyuan.service.search.searcher import SearchRequest
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
