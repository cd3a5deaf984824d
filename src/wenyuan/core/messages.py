"""Messages with their template and values, so that they can be translated, here or where they are sent to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any

__all__ = ["Message", "as_sent", "joined", "msg", "received", "said_by", "without"]

Value = str | tuple[str, ...]


class Message(str):
    """A string that also carries its English template and values.

    Attributes:
        template: With a ``{name}`` for each value; it is the key of the message in other languages.
        values: Texts, which may be `Message` themselves; several of them are set apart by ``"; "``.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, values: Mapping[str, Value]) -> Message:
        shown = {name: value if isinstance(value, str) else "; ".join(value) for name, value in values.items()}
        made = super().__new__(cls, template.format_map(shown))
        made.template, made.values = template, values
        return made

    def __reduce__(self) -> tuple[type[Message], tuple[str, Mapping[str, Value]]]:
        return Message, (self.template, self.values)


def msg(template: str, /, **values: object) -> str:
    """Make a `Message`: ``msg("there is no source {name}", name=repr(name))``."""
    return Message(template, {name: _text(value) for name, value in values.items()})


def joined(messages: Iterable[object]) -> str:
    """Several messages joined to one."""
    return Message("{messages}", {"messages": tuple(map(_text, messages))})


def said_by(error: Exception) -> str:
    """The text of an exception; the `Message` that it was made with, where that is all it says."""
    said = error.args[0] if error.args else None
    return said if isinstance(said, Message) and said == str(error) else str(error)


def without(text: str, part: str) -> str:
    """A text without `part`, wherever that stands; of a `Message`, it is taken out of the values."""
    plain = text.replace(part, "")
    if not isinstance(text, Message):
        return plain
    values = {
        name: without(value, part) if isinstance(value, str) else tuple(without(one, part) for one in value)
        for name, value in text.values.items()
    }
    made = Message(text.template, values)
    return made if made == plain else plain


def _text(value: object) -> str:
    if isinstance(value, Exception):
        return said_by(value)
    return value if isinstance(value, str) else format(value)


# Messages in JSON: beside the text stands what it is made of, so that who receives it need not find the template again.


TRANSLATABLE = "translatable"
"""The member beside a text that has its template and values."""

MOST_CHARS = 16_000  # of a message, and of all that it is made of
MOST_PARTS = 500  # texts and messages within a message
MOST_DEPTH = 8  # of messages within messages


def as_sent(text: str) -> dict[str, Any]:
    """The members to send beside a text: none, or `TRANSLATABLE` where it is a `Message` that `received` would take.

    Its value is ``{"template": …, "values": {name: value}}``; a value is a text, such an object, or an array of both.
    Nothing is sent that the text does not show.
    """
    if not isinstance(text, Message):
        return {}
    parts = _parts(text)
    return {TRANSLATABLE: parts} if isinstance(received(str(text), parts), Message) else {}


def received(text: str, parts: object) -> str:
    """A received text as the `Message` that it was, or unchanged where its parts are missing, too many, or not its own.

    Args:
        parts: The value of `TRANSLATABLE` beside it, from whoever sent it: of any type and size.
    """
    if parts is None:
        return text
    try:
        made = _message(parts, _Room())
    except (ValueError, TypeError):
        return text
    return made if made == text else text


def _parts(message: Message) -> dict[str, Any]:
    said = {name: message.values[name] for _, name, _, _ in Formatter().parse(message.template) if name is not None}
    return {
        "template": message.template,
        "values": {n: _part(v) if isinstance(v, str) else list(map(_part, v)) for n, v in said.items()},
    }


def _part(value: str) -> str | dict[str, Any]:
    return _parts(value) if isinstance(value, Message) else str(value)


class _Room:
    """What is left to a message that is being read, in characters and parts."""

    def __init__(self) -> None:
        self.chars, self.parts = MOST_CHARS, MOST_PARTS

    def take(self, text: object) -> str:
        """Count a text; ValueError where it is none, or one too many."""
        if not isinstance(text, str):
            raise ValueError("no text")
        self.chars -= len(text)
        self.parts -= 1
        if self.chars < 0 or self.parts < 0:
            raise ValueError("too large")
        return text


def _message(parts: object, room: _Room, depth: int = 1) -> Message:
    """The message of its parts; ValueError for what is none."""
    if not isinstance(parts, dict) or depth > MOST_DEPTH:
        raise ValueError("no message")
    template, values = room.take(parts.get("template")), parts.get("values")
    fields = list(Formatter().parse(template))
    names = [name for _, name, spec, conversion in fields if name is not None and not spec and not conversion]
    if len(names) < sum(name is not None for _, name, _, _ in fields) or not all(map(str.isidentifier, names)):
        raise ValueError("a template with more than names in it")
    if not isinstance(values, dict) or set(values) != set(names):
        raise ValueError("other values than those of the template")
    read = {name: _value(value, room, depth) for name, value in values.items()}
    shown = {name: value if isinstance(value, str) else "; ".join(value) for name, value in read.items()}
    if sum(len(fixed) for fixed, _, _, _ in fields) + sum(len(shown[name]) for name in names) > MOST_CHARS:
        raise ValueError("too large")  # a value that is named often enough would fill the memory
    return Message(template, read)


def _value(value: object, room: _Room, depth: int) -> Value:
    if isinstance(value, list):
        return tuple(_one(part, room, depth) for part in value)
    return _one(value, room, depth)


def _one(value: object, room: _Room, depth: int) -> str:
    return _message(value, room, depth + 1) if isinstance(value, dict) else room.take(value)
