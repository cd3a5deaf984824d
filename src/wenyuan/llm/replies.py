"""What a language model wrote, without what servers put around it: thoughts, fences, prose, parts of content."""

from __future__ import annotations

import json
import re
from typing import Any

_THOUGHT = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_MOST_TRIED = 20
"""Braces at which an object may begin."""


def content_of(message: Any) -> str:
    """The text of a message of a chat completion, whether its content is a text or a list of parts; ``""`` for none.

    Raises:
        KeyError, TypeError: it is no message.
    """
    content = message["content"]
    if isinstance(content, list):
        parts = (
            part.get("text")
            for part in content
            if isinstance(part, dict) and part.get("type") in ("text", "output_text")
        )
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def without_thoughts(text: str) -> str:
    """A reply without what the model thought before it; some servers leave out the mark that begins a thought."""
    said = _THOUGHT.sub("", text)
    ends = list(_THOUGHT_ENDS.finditer(said))
    first = said.find("{")
    behind = [end for end in ends if first < 0 or end.start() < first or "{" in said[end.end() :]]
    return said[behind[-1].end() :] if behind else said


def object_in(text: str) -> Any:
    """The JSON value in a reply: the whole of it, a fenced block, or the one object with prose around it.

    Raises:
        ValueError: there is none, or more than one.
    """
    said = without_thoughts(text).strip()
    try:
        return json.loads(said)
    except ValueError as error:
        wrong = error
    for fenced in _FENCED.findall(said):
        try:
            return json.loads(fenced)
        except ValueError:
            continue
    found, at = [], said.find("{")
    decoder = json.JSONDecoder()
    for _ in range(_MOST_TRIED):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(said, at)
            found.append(value)
        except ValueError:
            end = at + 1
        at = said.find("{", end)
    if len(found) != 1:
        raise wrong
    return found[0]
