"""The options that describe a source: declared once, for all commands that register one or describe it anew."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import typer

from wenyuan.cli.options import CollectionOption, Command, OwnerOption, TagsOption, TitleOption, words

_KNOWLEDGE: dict[str, Any] = {
    "title": TitleOption,
    "trust": Annotated[int | None, typer.Option(help="1 (hearsay) to 5 (binding).  [default: 3]")],
    "domain": Annotated[str | None, typer.Option(help="Knowledge domain.  [default: the ID]")],
    "collection": CollectionOption,
    "language": Annotated[str | None, typer.Option(help="zh, en …; empty: found per document.")],
    "copyright": Annotated[str | None, typer.Option(help="deny, excerpt<=200, CC-BY-4.0, ©…")],
}
_KEEPING: dict[str, Any] = {
    "owner": OwnerOption,
    "sensitivity": Annotated[
        str | None, typer.Option(help="public, internal, confidential, restricted.  [default: public]")
    ],
    "tags": TagsOption,
}
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""Default of a command's ``described``."""
_FIELDS = {"trust": "trust_level"}  # of a registry entry, where the option has another name
_LISTS = ("tags", "supersedes")


def new_source_options(**more: Any) -> Callable[[Command], Command]:
    """Decorator of a command that registers a source; see `source_options`. `more` stands before who keeps the source."""
    return source_options(**_KNOWLEDGE, **more, **_KEEPING)


def source_options(**options: Any) -> Callable[[Command], Command]:
    """Decorator of a command: its parameter ``described`` stands for options, in its place among the others.

    The command is given, by the fields of a registry entry, what was said; what was not is not there.

    Args:
        options: Annotated types by name.
    """

    def declare(command: Command) -> Command:
        by_name = inspect.Parameter.KEYWORD_ONLY
        each = [inspect.Parameter(n, by_name, default=None, annotation=option) for n, option in options.items()]
        told: list[inspect.Parameter] = []
        for one in inspect.signature(command, eval_str=True).parameters.values():
            told += each if one.name == "described" else [one.replace(kind=by_name)]

        @functools.wraps(command)
        def called(**given: Any) -> None:
            said = {name: given.pop(name) for name in options}
            described = {
                _FIELDS.get(name, name): words(value) if name in _LISTS else value
                for name, value in said.items()
                if value is not None
            }
            command(**given, described=described)

        called.__signature__ = inspect.Signature(told)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in told}
        return called

    return declare
