"""``mcp``: the library for one agent on this machine, over standard input and output."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from wenyuan.cli.options import opened, without, words
from wenyuan.cli.terminal import Terminal


@without("as_json")
def mcp(
    ctx: typer.Context,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="See only what this agent may.")] = None,
    as_: Annotated[str, typer.Option("--as", metavar="USER", help="Reads documents as this person: user:li.")] = "",
    groups: Annotated[
        str, typer.Option("--groups", metavar="A,B", help="Reads documents as a member of these groups.")
    ] = "",
) -> None:
    """Serve an agent on this machine over MCP (standard input and output); agents start this command themselves.

    Example:
      wenyuan mcp --library ~/knowledge
      wenyuan mcp --library ~/knowledge --agent support
      wenyuan mcp --library ~/knowledge --as user:li --groups hr,works
    """
    from wenyuan.core.access import Principal
    from wenyuan.core.principals import parse_groups, parse_user

    terminal: Terminal = ctx.obj
    _need_package(terminal)
    import anyio

    from wenyuan.mcp.server import serve_stdio

    with opened(terminal) as found:
        if agent is not None:
            found.catalog.agent(agent)
        principal = Principal(key_id="local", agent_id=agent)
        if as_ or groups:
            principal = Principal(
                key_id="local", agent_id=agent, rights=frozenset({"retrieve", "search"}),
                user=as_ and parse_user(as_, "as"), groups=parse_groups(words(groups) or []),
            )  # fmt: skip
        anyio.run(serve_stdio, found, principal)


def can_start(terminal: Terminal) -> None:
    """Raise the error with which `mcp` would end at once: a missing package, or a library that cannot be opened."""
    _need_package(terminal)
    with opened(terminal):
        return


def _need_package(terminal: Terminal) -> None:
    from wenyuan.core.errors import ConfigError
    from wenyuan.runtime.installation import install_command

    if find_spec("mcp") is None:
        raise ConfigError(terminal.text("mcp_missing"), component="mcp", hint=install_command("mcp"))
