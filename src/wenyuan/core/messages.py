"""Messages with their template and values, so that they can be translated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["Message", "joined", "msg"]

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


def _text(value: object) -> str:
    return value if isinstance(value, str) else format(value)
