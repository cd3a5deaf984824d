"""Messages that carry what they were made of, so that they can be said in another language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["Said", "joined", "said"]

Value = str | tuple[str, ...]


class Said(str):
    """A message: a text as any other, with its English template and what stands in it.

    Attributes:
        template: With a ``{name}`` for each value; it is the key of the message in other languages.
        values: Texts, which may be `Said` themselves; several of them are set apart by ``"; "``.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, values: Mapping[str, Value]) -> Said:
        shown = {name: value if isinstance(value, str) else "; ".join(value) for name, value in values.items()}
        made = super().__new__(cls, template.format_map(shown))
        made.template, made.values = template, values
        return made

    def __reduce__(self) -> tuple[type[Said], tuple[str, Mapping[str, Value]]]:
        return Said, (self.template, self.values)


def said(template: str, /, **values: object) -> str:
    """A `Said`: ``said("there is no source {name}", name=repr(name))``.

    Args:
        values: Whatever has a text; lists and tuples are messages that follow one another.
    """
    return Said(template, {name: _shown(value) for name, value in values.items()})


def joined(messages: Iterable[object]) -> str:
    """Several messages as one, a `Said`."""
    return said("{messages}", messages=tuple(messages))


def _shown(value: object) -> Value:
    return tuple(map(_text, value)) if isinstance(value, (list, tuple)) else _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value)  # which makes a plain text of a message
