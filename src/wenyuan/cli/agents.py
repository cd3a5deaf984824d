"""``agent list``, ``show``, ``set`` and ``remove``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, TitleOption, YesOption, add_commands, interactive, opened_record
from wenyuan.cli.terminal import OK, Terminal
from wenyuan.core.access import AUTO, CONFIDENCE

if TYPE_CHECKING:
    from wenyuan.core.access import Agent
    from wenyuan.service.governance import GovernanceDesk


_AGENT_HELP = """Register agents: which knowledge each may ask for.

\b
Example:
  wenyuan agent set support --scope crm_policy:3 --scope faq:auto
  wenyuan agent list
"""
agents_app = group(_AGENT_HELP, "Register agents.")
_AgentId = Annotated[str, typer.Argument(metavar="ID", help="The agent.")]


def list_agents(ctx: typer.Context) -> None:
    """List all agents.

    Example:
      wenyuan agent list
    """
    from wenyuan.core.access import agent_to_wire

    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        agents = found.catalog.agents()
    terminal.document({"status": "SUCCESS", "agents": [agent_to_wire(agent) for agent in agents]})
    if not agents:
        terminal.say("no_agents")
        return
    rows = ((agent.agent_id, f"≥{agent.min_trust}", _scope(agent), agent.title) for agent in agents)
    terminal.table(rows, "col_agent", "col_trust", "col_scope", "col_title", whole=(0,))


def _scope(agent: Agent) -> str:
    return ", ".join(f"{part.domain}:{part.top_k}" for part in agent.knowledge_scope)


def show_agent(
    ctx: typer.Context,
    agent: _AgentId,
) -> None:
    """Show an agent, and its keys.

    Example:
      wenyuan agent show support
    """
    from wenyuan.core.access import agent_to_wire

    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        known = found.catalog.agent(agent)
        made = found.catalog.keys()
    keys = [key.key_id for key in made if key.agent_id == agent and key.revoked_at is None]
    described = agent_to_wire(known)
    terminal.document({"status": "SUCCESS", "agent": described, "keys": keys})
    shown = described | {"knowledge_scope": _scope(known), "keys": ", ".join(keys)}
    for name in ("agent_id", "title", "knowledge_scope", "min_trust", "allow_low_trust", "token_budget", "keys"):
        if shown[name] != "":
            terminal.show(f"{terminal.text(name)}: {shown[name]}", wrap=False)


def put_agent(
    ctx: typer.Context,
    agent: _AgentId,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="DOMAIN[:K]", help="A domain and its top_k (repeatable)."),
    ] = None,
    title: TitleOption = None,
    min_trust: Annotated[int | None, typer.Option(help="Least trust of what it finds, 1 to 5.")] = None,
    allow_low_trust: Annotated[
        bool | None,
        typer.Option("--allow-low-trust/--no-low-trust", help="Trust below 3 in its prompts."),
    ] = None,
    token_budget: Annotated[int | None, typer.Option(help="Most tokens of one context.")] = None,
) -> None:
    """Register an agent, or change one; what is not named stays.

    Example:
      wenyuan agent set support --scope crm_policy:3 --scope faq:auto --min-trust 3
      wenyuan agent set support --token-budget 1500
    """
    terminal: Terminal = ctx.obj
    given = {
        "title": title,
        "min_trust": min_trust,
        "allow_low_trust": allow_low_trust,
        "token_budget": token_budget,
        "knowledge_scope": [_domain(text) for text in scope] if scope else None,
    }
    with opened_record(terminal) as found:
        described, unknown = _put(found, agent, {name: value for name, value in given.items() if value is not None})
    terminal.document({"status": "SUCCESS", "agent": described, "unknown_domains": unknown})
    terminal.show(terminal.text("agent_set", agent=agent))
    if unknown:
        terminal.say("unknown_domains", domains=", ".join(unknown))


def _put(library: GovernanceDesk, agent_id: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Create or update an agent; returns it, and those of its domains that no source has."""
    from wenyuan.core.access import agent_to_wire, parse_agent

    catalog = library.catalog
    known = {agent.agent_id: agent for agent in catalog.agents()}.get(agent_id)
    before: dict[str, Any] = agent_to_wire(known) if known is not None else {"agent_id": agent_id}
    agent = parse_agent({**before, **given})
    if agent != known:
        catalog.put_agent(agent)
    domains = {source.domain for source in library.sources()}
    return agent_to_wire(agent), [part.domain for part in agent.knowledge_scope if part.domain not in domains]


def _domain(text: str) -> dict[str, Any]:
    """Parse ``crm_policy:3``; the part after the last colon is a top_k only if it can be one."""
    name, colon, count = text.rpartition(":")
    chosen = count in (AUTO, CONFIDENCE)
    if colon and (chosen or (count.isascii() and count.isdecimal() and len(count) < 9)):
        return {"domain": name, "top_k": count if chosen else int(count)}
    return {"domain": text}


def remove_agent(
    ctx: typer.Context,
    agent: _AgentId,
    yes: YesOption = False,
) -> None:
    """Remove an agent and revoke its keys.

    Example:
      wenyuan agent remove support
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        known = found.catalog.agent(agent).agent_id
        if not yes and interactive() and not typer.confirm(terminal.text("really_agent", agent=known), err=True):
            terminal.say("not_removed")
            raise typer.Exit(OK)
        revoked = found.catalog.remove_agent(known)
    terminal.document({"status": "SUCCESS", "agent_id": known, "keys_revoked": revoked})
    terminal.show(terminal.text("agent_removed", agent=known, keys=revoked))


_AGENT_COMMANDS: Commands = {
    "list": (list_agents, "List all agents."),
    "show": (show_agent, "Show one.@agent"),
    "set": (put_agent, "Register or change one."),
    "remove": (remove_agent, "Remove one and revoke its keys."),
}
add_commands(agents_app, _AGENT_COMMANDS)
