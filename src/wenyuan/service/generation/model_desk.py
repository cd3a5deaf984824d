"""The language model as its owner looks at it: where it is, what it may use up today, and whether it answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wenyuan.catalog.token_ledger import TokenLedger
from wenyuan.core.errors import Fault, InvalidRequest, listed, msg
from wenyuan.core.ports import LanguageModel
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.generation.no_model import none_is_set_up
from wenyuan.service.ingest.question_redaction import Questions
from wenyuan.settings import LlmSettings

if TYPE_CHECKING:
    from wenyuan.catalog.tasks import TaskLedger

MOST_CHARS = 2_000
"""Characters of a test question."""
_SCHEMA = {
    "type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": False,
}  # fmt: skip
_ASKED = 'Answer in one or two sentences, in the language of the question. Reply with JSON: {"answer": "…"}.'


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSetup:
    """What is set up.

    Attributes:
        address: Of the endpoint, without credentials; ``""`` where no model is set up.
        timeout: Seconds for an answer.
        max_sensitivity: Of what it may be shown.
        tokens_a_day: Of all processes; 0: no limit.
        used_today: Tokens used or reserved today, in UTC.
        calls: Of this process since it began, by outcome.
    """

    address: str
    model: str
    timeout: float
    max_sensitivity: str
    tokens_a_day: int
    used_today: int
    calls: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrial:
    """What the model says to a test question; nothing of the library was shown to it.

    Attributes:
        ms: Milliseconds until it had answered.
    """

    answer: str
    ms: float
    tokens_in: int
    tokens_out: int
    cost: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelDesk:
    """Shows and tries the language model; `llm` is None where none is set up."""

    llm: LanguageModel | None
    settings: LlmSettings
    tasks: TaskLedger
    questions: Questions

    def setup(self) -> ModelSetup:
        """What is set up, and how much of the day's tokens is used."""
        used = TokenLedger(self.tasks, most=0).used_today() if self.llm is not None else 0
        return ModelSetup(
            address=_public(self.settings.url) if self.llm is not None else "", model=self.settings.model,
            timeout=self.settings.timeout, max_sensitivity=self.settings.max_sensitivity,
            tokens_a_day=self.settings.tokens_a_day, used_today=used,
            calls={} if self.llm is None else dict(self.llm.use().calls),
        )  # fmt: skip

    def ask(self, question: str) -> ModelTrial:
        """Ask it a test question, redacted as questions are; it counts as any other.

        Raises:
            InvalidRequest: the question is blank or too long.
            LlmError: there is no model, or it does not answer.
        """
        text = question.strip()
        if not text or len(text) > MOST_CHARS:
            fault = Fault("question", msg("must have 1 to {most} characters", most=MOST_CHARS))
            raise InvalidRequest(listed([fault]), faults=(fault,))
        if self.llm is None:
            raise none_is_set_up()
        begun = time.perf_counter()
        said = [{"role": "system", "content": _ASKED}, {"role": "user", "content": self.questions.sent(text)}]
        reply = self.llm.ask(said, schema=_SCHEMA, read=_read, deadline=deadline_after(self.settings.timeout))
        return ModelTrial(
            answer=reply.value, ms=round((time.perf_counter() - begun) * 1_000, 1), tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out, cost=reply.cost,
        )  # fmt: skip


def _read(value: Any) -> str:
    if not isinstance(value, dict) or not isinstance(value.get("answer"), str) or not value["answer"].strip():
        raise ValueError("answer must be a text")
    return str(value["answer"]).strip()


def _public(url: str) -> str:
    """An address without its query, which may hold a key; one with a password is refused when it is set."""
    return urlsplit(url)._replace(query="", fragment="").geturl()
