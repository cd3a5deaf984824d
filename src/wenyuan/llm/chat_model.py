"""A language model behind ``POST …/chat/completions``, as vLLM, Ollama, llama.cpp, DeepSeek, Qwen, OpenAI and proxies speak it.

The reply must be one JSON object. Endpoints that support ``response_format`` with a schema are given one; parameters
that an endpoint refuses (HTTP 400, 422) are omitted from then on. An invalid reply is asked for once more, with the
error. Neither messages nor replies are logged.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import httpx2

from wenyuan.core.errors import ConfigError, LlmError, LlmRejected, LlmTimeout, LlmUnavailable
from wenyuan.core.ports import Deadline, ModelReply, ModelUse, TokenBudget
from wenyuan.core.text.token_meter import estimate_tokens
from wenyuan.llm.guard import STEP, Guard
from wenyuan.llm.replies import object_in, reply_of
from wenyuan.runtime.json_endpoint import EndpointKind, JsonEndpoint, NotUnderstood, address
from wenyuan.settings import LlmSettings

T = TypeVar("T")
log = logging.getLogger(__name__)

_KIND = EndpointKind("llm", LlmUnavailable, LlmTimeout, again_when_late=False, most_bytes=4 << 20, step=STEP)
_NOT_KNOWN = (400, 422)
_WITH_SCHEMA = 2  # so many of the forms have one, the first ones
_BOUNDS = ("maxLength", "maxItems")
_LONGEST = 1_000_000  # characters of an answer
_MOST_USED = 1_000_000_000  # tokens that an endpoint is believed to have used for one
_ECHOED = 4_000  # characters of a wrong answer that are shown to the model again


class _Written(NamedTuple):
    """One completion: the text written, and the tokens used according to the endpoint."""

    text: str
    tokens_in: int
    tokens_out: int


class ChatModel:
    """The language model named in the settings. Safe to use from several threads.

    Args:
        budget: Counts tokens for all processes.
        transport: For tests.

    Raises:
        ConfigError: the URL, the key or the model cannot be used.
    """

    def __init__(
        self, settings: LlmSettings, budget: TokenBudget, *, transport: httpx2.BaseTransport | None = None
    ) -> None:
        if not settings.model:
            raise ConfigError("llm.url is set, but llm.model is not", component="settings")
        endpoint = address(settings.url, "/chat/completions", _KIND, default="/v1")
        self._server = JsonEndpoint(
            _KIND, settings.model, endpoint,
            key=settings.key.get_secret_value(), timeout=settings.timeout, transport=transport,
        )  # fmt: skip
        self.component = self._server.component
        self.fingerprint = f"{settings.model}|{settings.most_tokens}"
        self._settings = settings
        self._guard = Guard("llm", self.component, budget, settings.concurrency)
        self._form = 0  # the first of `_forms` that the endpoint is known to take
        self._bounds = True  # whether it takes schemas that say how long a text or a list may be
        self._counting = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._in = self._out = 0

    def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any],
        read: Callable[[Any], T],
        deadline: Deadline,
        again: bool = True,
    ) -> ModelReply[T]:
        """See `LanguageModel`."""
        within = deadline.within(self._settings.timeout)
        try:
            reply = self._complete_and_read(messages, schema, read, within, again)
        except LlmError as error:
            hung_up = isinstance(error, LlmTimeout) and within.cancelled
            self._count("gone" if hung_up else error.code)
            raise
        self._count("ok")
        return reply

    def use(self) -> ModelUse:
        """Usage counters of this process."""
        with self._counting:
            cost = self._cost(self._in, self._out)
            return ModelUse(calls=dict(self._calls), tokens_in=self._in, tokens_out=self._out, cost=cost)

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _complete_and_read(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], read: Callable[[Any], T],
        deadline: Deadline, again: bool,
    ) -> ModelReply[T]:  # fmt: skip
        said, tokens_in, tokens_out = list(messages), 0, 0
        for last in (False, True) if again else (True,):
            written = self._written(said, schema, deadline)
            tokens_in, tokens_out = tokens_in + written.tokens_in, tokens_out + written.tokens_out
            try:
                value = read(_object_in(written.text))
            except (ValueError, RecursionError) as error:
                if last:
                    rejected = LlmRejected(
                        "what it wrote is not of the form that was asked for, and asked again it was no better"
                        if again
                        else "what it wrote is not of the form that was asked for, and no tokens are left to ask again",
                        component=self.component,
                        hint="try another model, or raise llm.most_tokens if its answers are cut",
                    )
                    rejected.tokens_in, rejected.tokens_out = tokens_in, tokens_out
                    rejected.cost = self._cost(tokens_in, tokens_out)
                    raise rejected from error
                said += _repair(written.text, error)
                continue
            cost = self._cost(tokens_in, tokens_out)
            return ModelReply(value=value, text=written.text, tokens_in=tokens_in, tokens_out=tokens_out, cost=cost)
        raise AssertionError("the last attempt returns or raises")

    def _written(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], deadline: Deadline
    ) -> _Written:
        """One completion, within the limits on concurrency and tokens."""
        expected = sum(estimate_tokens(message["content"]) for message in messages)
        with self._guard.call(expected, self._settings.most_tokens, deadline) as spent:
            answer = self._answer(messages, schema, deadline)
            spent.tokens = expected
            written = _written_in(answer, expected, self.component)
            spent.tokens = written.tokens_in + written.tokens_out
        with self._counting:
            self._in, self._out = self._in + written.tokens_in, self._out + written.tokens_out
        log.info("%s: %d tokens in, %d out", self.component, written.tokens_in, written.tokens_out)
        return written

    def _answer(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], deadline: Deadline) -> Any:
        """The endpoint's response to the first form of the request that it accepts."""
        body = {"model": self._settings.model, "messages": list(messages), "stream": False}
        most, free = self._settings.most_tokens, _without_bounds(schema)
        bounded = -1  # the form that was refused with bounds, though perhaps not because of them
        if self._bounds and free != schema and self._form < _WITH_SCHEMA:
            try:
                return self._server.ask(body | _forms(schema, most)[self._form], deadline, told=_NOT_KNOWN)
            except NotUnderstood:
                bounded = self._form
        forms = _forms(free, most)
        for number in range(self._form, len(forms)):
            try:
                last = number == len(forms) - 1
                answer = self._server.ask(body | forms[number], deadline, told=() if last else _NOT_KNOWN)
            except NotUnderstood:
                continue
            self._form = number
            self._bounds = self._bounds and number != bounded
            return answer
        raise AssertionError("the last form returns or raises")

    def _cost(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self._settings.price_in + tokens_out * self._settings.price_out) / 1e6

    def _count(self, outcome: str) -> None:
        with self._counting:
            self._calls[outcome] += 1


def _forms(schema: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
    """Alternative request bodies, best first: newer endpoints want ``max_completion_tokens``, older ones know no
    schema.
    """
    formed = {
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}
    }  # fmt: skip
    plain: dict[str, Any] = {"max_tokens": most, "temperature": 0}
    newer: dict[str, Any] = {"max_completion_tokens": most}
    return [formed | plain, formed | newer, plain, newer]


def _without_bounds(schema: Any) -> Any:
    """A schema without bounds of lengths, which not every endpoint that takes schemas knows."""
    if isinstance(schema, Mapping):
        return {name: _without_bounds(part) for name, part in schema.items() if name not in _BOUNDS}
    return [_without_bounds(part) for part in schema] if isinstance(schema, list) else schema


def _written_in(answer: Any, expected: int, component: str) -> _Written:
    """Parse an endpoint's response.

    Raises:
        LlmUnavailable: it is no completion; also where it says an error with status 200.
    """
    if isinstance(answer, dict) and answer.get("error"):
        raise LlmUnavailable("answered with an error", component=component, hint="the server's own log says which")
    try:
        text = reply_of(answer["choices"][0]["message"])
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise LlmUnavailable("the answer is no chat completion", component=component, hint="check llm.url") from error
    text = _unicode(text[:_LONGEST])  # empty beside a refusal
    return _Written(text, *token_counts(answer, expected, estimate_tokens(text)))


def token_counts(answer: Any, sent: int, written: int = 0) -> tuple[int, int]:
    """The tokens of what was sent and of what was written, according to the endpoint; the estimates where it tells nothing.

    A sum above both counts as written: some endpoints count there alone what a model thinks. A sum alone counts as sent.
    """
    usage = answer.get("usage") if isinstance(answer, dict) else None
    told = usage if isinstance(usage, dict) else {}
    numbers = (told.get(f"{name}_tokens") for name in ("prompt", "completion", "total"))
    given, taken, both = (n if type(n) is int and 0 <= n <= _MOST_USED else None for n in numbers)
    if both is None:
        return sent if given is None else given, written if taken is None else taken
    if given is None:
        return both - min(taken or 0, both), taken or 0
    return given, max(taken or 0, both - given)


def _unicode(text: str) -> str:
    """Text with ``?`` for lone surrogates, which JSON can escape and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _object_in(text: str) -> Any:
    """The JSON object in an answer, ignoring what stands around it; ValueError without one."""
    return json.loads(_unicode(json.dumps(object_in(text), ensure_ascii=False)))


def _repair(text: str, error: Exception) -> list[dict[str, str]]:
    """Messages that ask the model to correct its answer."""
    fault = str(error)[:500]
    asked = f"That was not the JSON object that was asked for ({fault}). Write it again: the JSON object alone, nothing else."
    return [{"role": "assistant", "content": text[:_ECHOED]}, {"role": "user", "content": asked}]
