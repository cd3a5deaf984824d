"""The tool of Pydantic AI in a real agent whose model is a function, and Anthropic's blocks in its own types."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from anthropic.types import SearchResultBlockParam, ToolResultBlockParam
from pydantic import TypeAdapter
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from adapter_laws import QUERIES, AdapterLaws, library, url
from doors import attach_optional, foreign_library
from wenyuan import InvalidRequest, RetrievalRequest
from wenyuan.integrations.anthropic import failed_result, search_results
from wenyuan.integrations.pydantic_ai import knowledge_tool

__all__ = ["library", "url"]


def parts(messages: list[Any], kind: type) -> list[Any]:
    return [part for message in messages for part in message.parts if isinstance(part, kind)]


def agent(service: Any, query: str, k: int, **restrictions: Any) -> tuple[Agent, list[Any]]:
    """An agent whose model looks something up and then says that it is done; and what it was given."""
    given: list[Any] = []

    def model(messages: list[Any], _info: Any) -> ModelResponse:
        if refused := parts(messages, RetryPromptPart):
            raise InvalidRequest(refused[0].model_response())
        if found := parts(messages, ToolReturnPart):
            if isinstance(found[0].content, str):  # what the model is told to do otherwise
                raise InvalidRequest(found[0].content)
            given.extend(found[0].content["fragments"])
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("retrieve_fragments", {"query": query})])

    return Agent(FunctionModel(model), tools=[knowledge_tool(service, top_k=k, **restrictions)]), given


def read(given: list[Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(one["passage_id"], one["content"], one) for one in given]


class TestPydanticAI(AdapterLaws):
    def ask(self, service: Any, query: str, k: int, **restrictions: Any) -> Any:
        made, given = agent(service, query, k, **restrictions)
        assert made.run_sync("x").output == "done"
        return read(given)

    def ask_async(self, service: Any, query: str, k: int) -> Any:
        made, given = agent(service, query, k)

        async def run() -> str:
            return (await made.run("x")).output

        assert asyncio.run(run()) == "done"
        return read(given)


def test_blocks_are_anthropics_own(library: Any) -> None:
    """They are valid as the SDK's types have them, one for each fragment, in their order."""
    fragments = library.retrieve_fragments(RetrievalRequest(query=QUERIES[0], max_results=3)).fragments
    blocks = search_results(fragments)
    TypeAdapter(list[SearchResultBlockParam]).validate_python(blocks)
    assert [b["source"] for b in blocks] == [f.source for f in fragments]
    assert [b["content"][0]["text"] for b in blocks] == [f.content for f in fragments]
    assert all(b["citations"] == {"enabled": True} for b in blocks)
    TypeAdapter(ToolResultBlockParam).validate_python(failed_result("t1", RuntimeError("down")))


def test_blocks_say_what_is_degraded(tmp_path: Path) -> None:
    """In their titles, which the model reads."""
    with foreign_library(tmp_path) as library:
        attach_optional(library)
        found = library.retrieve_fragments(RetrievalRequest(query=QUERIES[0], max_results=3)).fragments
        assert all("degraded: source elsewhere" in block["title"] for block in search_results(found))


def test_a_failed_result_is_an_error() -> None:
    """It cannot be taken for an empty answer."""
    result = failed_result("t1", RuntimeError("down"))
    assert result["is_error"] is True
    assert "not an empty answer: down" in result["content"]
