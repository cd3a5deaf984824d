"""A chat API of the tests' own, in OpenAI's protocol and in Anthropic's, that takes no request that they would not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from listening import listening

__all__ = ["Body", "chat_api", "researcher"]

Body = dict[str, Any]
Model = Callable[[Body], Body]
"""From a request to the message that the model answers with."""
NOTHING = "The library says nothing."


@contextmanager
def chat_api(model: Model) -> Iterator[tuple[str, list[Body]]]:
    """An API whose answers `model` makes: the URL of its version 1, and what it was sent."""
    asked: list[Body] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            try:
                speak = {"/v1/chat/completions": completion, "/v1/messages": message}[self.path.partition("?")[0]]
                self.answer(200, speak(body, model))
            except (AssertionError, KeyError, ValueError) as error:
                self.answer(400, {"error": {"type": "invalid_request_error", "message": f"{error!r}"}})

        def answer(self, status: int, body: Body) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield f"{url}/v1", asked


# -- OpenAI's protocol -----------------------------------------------------------------------------------------
def completion(body: Body, model: Model) -> Body:
    """A completion; each result of a tool must belong to a call that was made, each tool must say its parameters."""
    open_calls: set[str] = set()
    for said in body["messages"]:
        assert said["role"] in ("system", "developer", "user", "assistant", "tool"), said
        if said["role"] == "tool":
            open_calls.remove(said["tool_call_id"])
            assert isinstance(said["content"], (str, list)), said
        else:
            assert not open_calls, "calls without results"
            open_calls = {call["id"] for call in said.get("tool_calls") or ()}
    assert not open_calls, "calls without results"
    for tool in body.get("tools", ()):
        assert tool["type"] == "function", tool
        assert tool["function"]["parameters"]["type"] == "object", tool
    said = {"role": "assistant", **model(body)}
    reason = "tool_calls" if said.get("tool_calls") else "stop"
    return {
        "id": f"c{len(body['messages'])}", "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{"index": 0, "message": said, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


def researcher(body: Body) -> Body:
    """Looks the question up with a tool that takes a query, then quotes the first thing that was found.

    Where a tool's result is no list of what was found, it answers from what it remembers, as models do.
    """
    last = body["messages"][-1]
    if last["role"] == "user":
        tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body["tools"]}
        name = next(name for name in ("search_knowledge", "retrieve_fragments") if name in tools)
        arguments = {"query": plain(last["content"])}
        if "max_results" in tools[name].get("required", ()):
            arguments["max_results"] = 5
        assert set(tools[name].get("required", ())) <= arguments.keys(), tools[name]
        called = {"id": f"call_{len(body['messages'])}", "type": "function"}
        function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        return {"content": None, "tool_calls": [{**called, "function": function}]}
    try:
        found = json.loads(plain(last["content"]))
    except ValueError:
        return {"content": "I remember that it is 48 hours."}
    found = found["fragments"] if isinstance(found, dict) else found
    return {"content": f"{found[0]['content']} <{found[0]['source']}>" if found else NOTHING}


def plain(content: str | list[Body]) -> str:
    """The words of a message, whichever way they are written."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


# -- Anthropic's protocol --------------------------------------------------------------------------------------
def message(body: Body, _model: Model) -> Body:
    """A message of the same researcher, who cites the first search result that a tool gave."""
    last = body["messages"][-1]
    assert last["role"] == "user", last
    assert body["max_tokens"] > 0
    content: list[Body]
    if isinstance(last["content"], str):
        (tool,) = body["tools"]
        assert tool["input_schema"]["required"] == ["query"], tool
        content = [{"type": "tool_use", "id": "toolu_1", "name": tool["name"], "input": {"query": last["content"]}}]
    else:
        content = [cited(body["messages"][-2]["content"], last["content"])]
    return {
        "id": "m1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def cited(calls: list[Body], results: list[Body]) -> Body:
    """A text that cites the first result of the calls that were made."""
    assert [result["tool_use_id"] for result in results] == [
        call["id"] for call in calls if call["type"] == "tool_use"
    ]
    first = results[0]
    if first.get("is_error"):
        return {"type": "text", "text": "I remember that it is 48 hours.", "citations": None}
    if not first["content"]:
        return {"type": "text", "text": NOTHING, "citations": None}
    block = first["content"][0]
    assert block["type"] == "search_result", block
    assert block["citations"] == {"enabled": True}
    text = block["content"][0]["text"]
    place = {
        "type": "search_result_location", "source": block["source"], "title": block["title"], "cited_text": text,
        "search_result_index": 0, "start_block_index": 0, "end_block_index": 1,
    }  # fmt: skip
    return {"type": "text", "text": text, "citations": [place]}
