"""What a language model wrote, without what servers put around it: thoughts, fences, prose, parts of content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_NAMES = "(?:[a-z]+:)?(?:think|thinking|thoughts?|reasoning|analysis|reflection|scratchpad)"
_THOUGHT = re.compile(rf"\A\s*<({_NAMES})>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_ENDS = re.compile(
    rf"</{_NAMES}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final(?:<\|constrain\|>json)?<\|message\|>",
    re.IGNORECASE,
)
"""What stands behind a thought; the last one begins the answer of models that speak in channels."""
_FENCE = re.compile(r"(?:```|~~~)(?:json[5c]?)?[ \t]*\n", re.IGNORECASE)
_FENCE_ENDS = re.compile(r"\n[ \t]*(?:```|~~~)")
_TRAILING = re.compile(r"(\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z))|,(?=\s*[}\]])", re.DOTALL)
"""A text in quotes, or a comma that nothing follows."""
_MOST_TRIED = 20
"""Braces at which an object may begin."""
_DECODER = json.JSONDecoder(strict=False)  # models write line breaks into texts as they are


def content_of(message: Any) -> str:
    """The text of a message of a chat completion, whether its content is a text or a list of parts; ``""`` for none.

    Raises:
        KeyError, TypeError: it is no message.
    """
    content = message["content"]
    if isinstance(content, list):
        parts = (
            part.get("text") if isinstance(part, dict) and part.get("type") in ("text", "output_text") else part
            for part in content
        )
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def reply_of(message: Any) -> str:
    """The text in which a message has the object that was asked for: its content, or where that is empty the arguments of its
    one call of a tool, or what a server took for thoughts because the model never ended them.

    Raises:
        TypeError: it is no message.
    """
    content = content_of({"content": None, **message})
    if content.strip():
        return content
    calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
    told = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    arguments = [function.get("arguments") for function in told if isinstance(function, dict)]
    if len(arguments) == 1 and arguments[0]:
        return arguments[0] if isinstance(arguments[0], str) else json.dumps(arguments[0], ensure_ascii=False)
    thoughts = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((thought for thought in thoughts if isinstance(thought, str)), "")


def without_thoughts(text: str) -> str:
    """A reply without what the model thought before it; some servers leave out the mark that begins a thought."""
    said = _THOUGHT.sub("", text)
    ends = list(_THOUGHT_ENDS.finditer(said))
    first, last = said.find("{"), said.rfind("{")
    behind = [end for end in ends if first < 0 or end.start() < first or last >= end.end()]
    return said[behind[-1].end() :] if behind else said


def _fenced(said: str) -> Iterator[str]:
    """The contents of fenced blocks."""
    begins = _FENCE.search(said)
    while begins is not None:
        ends = _FENCE_ENDS.search(said, begins.end())
        if ends is None:
            return
        yield said[begins.end() : ends.start()]
        begins = _FENCE.search(said, ends.end())


def object_in(text: str) -> Any:
    """The JSON value in a reply: the whole of it, a fenced block, or the one object with prose around it; of a list of one
    object, and of an object written as a text, that object.

    Raises:
        ValueError: there is none, or more than one.
    """
    said = without_thoughts(text).strip().lstrip("\ufeff").strip()
    try:
        return _unwrapped(_read(said))
    except ValueError as error:
        wrong = error
    for fenced in _fenced(said):
        try:
            return _unwrapped(_read(fenced))
        except ValueError:
            continue
    found, at = [], said.find("{")
    loose = _without_trailing(said[at:]) if at >= 0 else ""
    at = 0 if loose else -1
    for _ in range(_MOST_TRIED):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(loose, at)
            found += [value] if value not in found else []
        except (ValueError, RecursionError):
            end = at + 1
        at = loose.find("{", end)
    if len(found) != 1:
        raise wrong
    return found[0]


def _read(text: str) -> Any:
    """JSON, with commas that nothing follows.

    Raises:
        ValueError: it is none.
    """
    try:
        return json.loads(text, strict=False)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError:
        loose = _without_trailing(text)
        if loose == text:
            raise
    return _read(loose)


def _without_trailing(text: str) -> str:
    return _TRAILING.sub(lambda found: found[1] or "", text)


def _unwrapped(value: Any) -> Any:
    if isinstance(value, str) and "{" in value:
        return _read(value)
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) else value
