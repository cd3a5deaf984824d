"""The options that say who may read a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import words

if TYPE_CHECKING:
    from wenyuan.core.principals import AccessList


ReadersOption = Annotated[
    str | None, typer.Option("--readers", metavar="A,B", help='user:li, group:hr, everyone; "" is nobody.')
]
DenyOption = Annotated[str | None, typer.Option("--deny", metavar="A,B", help="Who may not.")]


def given_access(allow: str | None, deny: str | None) -> AccessList | None:
    """The list that options say; None where they say none."""
    from wenyuan.core.principals import parse_access_list

    return None if allow is None and deny is None else parse_access_list(said_list(allow, deny))


def said_list(allow: str | None, deny: str | None) -> dict[str, Any]:
    """The list as it is written in a request."""
    given: dict[str, Any] = {} if allow is None else {"readers": words(allow) or []}
    return given | ({} if deny is None else {"deny": words(deny) or []})
