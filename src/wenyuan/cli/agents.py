"""``agent``, ``key`` and ``task``."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import Commands, add_commands, interactive, opened_record, words
from wenyuan.cli.terminal import OK, Terminal
from wenyuan.core.access import AUTO, CONFIDENCE
from wenyuan.core.errors import joined, msg
from wenyuan.runtime.local_time import day_begins, local_time

if TYPE_CHECKING:
    from wenyuan.core.access import Agent, Key
    from wenyuan.service.governance import GovernanceDesk


# ``agent list``, ``show``, ``set`` and ``remove``.


_AGENT_HELP = """Register agents: which knowledge each may ask for.

管理智能体及其知识范围。

\b
Example 示例:
  wenyuan agent set support --scope crm_policy:3 --scope faq:auto
  wenyuan agent list
"""
agents_app = typer.Typer(help=_AGENT_HELP, short_help="Register agents. 管理智能体", no_args_is_help=True)
_AgentId = Annotated[str, typer.Argument(metavar="ID", help="The agent. 智能体标识")]


def list_agents(ctx: typer.Context) -> None:
    """List all agents.

    列出全部智能体。

    Example 示例:
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

    查看一个智能体及其密钥。

    Example 示例:
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
        typer.Option("--scope", metavar="DOMAIN[:K]", help="A domain and its top_k (repeatable). 知识范围"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What people call it. 标题")] = None,
    min_trust: Annotated[int | None, typer.Option(help="Least trust of what it finds, 1 to 5. 最低可信度")] = None,
    allow_low_trust: Annotated[
        bool | None,
        typer.Option("--allow-low-trust/--no-low-trust", help="Trust below 3 in its prompts. 允许低可信内容"),
    ] = None,
    token_budget: Annotated[int | None, typer.Option(help="Most tokens of one context. 上下文上限")] = None,
) -> None:
    """Register an agent, or change one; what is not named stays.

    登记或修改智能体；未给出的字段不变。

    Example 示例:
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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. 不再确认")] = False,
) -> None:
    """Remove an agent and revoke its keys.

    移除智能体并吊销其密钥。

    Example 示例:
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
    "list": (list_agents, "List all agents. 列出智能体"),
    "show": (show_agent, "Show one. 查看智能体"),
    "set": (put_agent, "Register or change one. 登记或修改"),
    "remove": (remove_agent, "Remove one and revoke its keys. 移除智能体"),
}
add_commands(agents_app, _AGENT_COMMANDS)


# ``key create``, ``list`` and ``revoke``.


_KEY_HELP = """Make and revoke keys: who may ask the served library, and for what.

管理访问密钥。

\b
Example 示例:
  wenyuan key create --agent support --rights retrieve,search --expires 90d
  wenyuan key list
"""
keys_app = typer.Typer(help=_KEY_HELP, short_help="Make and revoke keys. 管理密钥", no_args_is_help=True)
_SPAN = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def create(
    ctx: typer.Context,
    rights: Annotated[
        str, typer.Option(metavar="A,B", help="retrieve, search, ingest, registry, audit, admin. 权限")
    ],
    agent: Annotated[str | None, typer.Option(metavar="ID", help="The agent it acts for. 智能体")] = None,
    name: Annotated[str, typer.Option(help="What people call it: who has it, what for. 名称")] = "",
    expires: Annotated[
        str | None, typer.Option(metavar="90d|DATE", help="After 12h, 90d, 4w, or that day. 有效期  [default: never]")
    ] = None,
) -> None:
    """Make a key. Its secret is shown this once; the library keeps only a hash of it.

    新建密钥；密钥内容只显示这一次，知识库只保存其摘要。

    Example 示例:
      wenyuan key create --agent support --rights retrieve,search --name "Support desk" --expires 90d
    """
    terminal: Terminal = ctx.obj
    allowed, until = _rights(words(rights) or []), _expiry(expires)
    with opened_record(terminal) as found:
        key, token = found.catalog.create_key(agent, allowed, until, name)
    terminal.document({"status": "SUCCESS", "key": _document(key), "token": token})
    terminal.show(token, wrap=False)
    terminal.say("key_made", id=key.key_id, until=local_time(until) or terminal.text("no_end"))


def _rights(named: list[str]) -> frozenset[str]:
    from wenyuan.core.access import RIGHTS
    from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean

    faults = [
        Fault("rights", msg("{name} is no right{near}", name=repr(n), near=did_you_mean(n, RIGHTS)))
        for n in named
        if n not in RIGHTS
    ]
    if not named:
        faults.append(Fault("rights", "a key needs at least one right"))
    if faults:
        hint = msg("rights: {rights}", rights=", ".join(RIGHTS))
        raise InvalidRequest(joined(f.message for f in faults), faults=tuple(faults), hint=hint)
    return frozenset(named)


def _expiry(text: str | None) -> float | None:
    """Expiry of a key in seconds since the epoch, from a duration or a local day (its end)."""
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.terms_of_use import parse_date

    if text is None:
        return None
    plain = unicodedata.normalize("NFKC", text).strip().lower()
    span = _SPAN.fullmatch(plain)
    hint = "write 12h, 90d, 4w, or a day such as 2027-01-31"
    try:
        if span:
            end = time.time() + 3600 * int(span[1]) * _HOURS[span[2]]
        else:
            end = day_begins(parse_date(plain) + timedelta(days=1))
        datetime.fromtimestamp(end, UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(
            msg("{text} says no time until which a key could be valid", text=repr(text)), hint=hint
        ) from error
    if end <= time.time():
        raise InvalidRequest(msg("{text} is over already", text=repr(text)), hint=hint)
    return end


def _document(key: Key) -> dict[str, Any]:
    times = {"created_at": key.created_at, "expires_at": key.expires_at, "revoked_at": key.revoked_at}
    shown = {n: None if at is None else datetime.fromtimestamp(at, UTC).isoformat() for n, at in times.items()}
    return {
        "key_id": key.key_id,
        "name": key.name,
        "agent_id": key.agent_id,
        "rights": sorted(key.rights),
        **shown,
        "state": _state(key),
    }


def _state(key: Key) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= time.time() else "valid"


def list_keys(ctx: typer.Context) -> None:
    """List all keys, without their secrets.

    列出全部密钥，不含密钥内容。

    Example 示例:
      wenyuan key list
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        keys = found.catalog.keys()
    terminal.document({"status": "SUCCESS", "keys": [_document(key) for key in keys]})
    if not keys:
        terminal.say("no_keys")
        return
    rows = (
        (key.key_id, key.name or "–", key.agent_id or "–", ", ".join(sorted(key.rights)),
         local_time(key.expires_at) or terminal.text("no_end"), terminal.text(f"state_{_state(key)}"))
        for key in keys
    )  # fmt: skip
    terminal.table(rows, "col_key", "col_name", "col_agent", "col_rights", "col_until", "col_state", whole=(0,))


def revoke(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="ID", help="The key's id, not its secret. 密钥标识")],
) -> None:
    """Revoke a key, at once and for good.

    立即吊销密钥，不可恢复。

    Example 示例:
      wenyuan key revoke 1f2e3d4c
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        found.catalog.revoke_key(key)
    terminal.document({"status": "SUCCESS", "key_id": key})
    terminal.show(terminal.text("key_revoked", id=key))


_KEY_COMMANDS: Commands = {
    "create": (create, "Make a key. 新建密钥"),
    "list": (list_keys, "List all keys. 列出密钥"),
    "revoke": (revoke, "Revoke one. 吊销密钥"),
}
add_commands(keys_app, _KEY_COMMANDS)


# ``task list``, ``show``, ``set`` and ``remove``: what kinds of tasks are about.


_HELP = """Say what kinds of tasks are about: what fits them ranks higher when their id comes with a question.

登记任务画像：请求带有 task_id 时，符合该类任务的内容排名靠前。

\b
Example 示例:
  wenyuan task set complaint --task "ticket-*" --domain crm_policy --term 投诉 --term complaint
  wenyuan task list
"""
app = typer.Typer(help=_HELP, short_help="Say what tasks are about. 管理任务画像", no_args_is_help=True)
_Id = Annotated[str, typer.Argument(metavar="ID", help="The profile. 画像标识")]
_FIELDS = ("tasks", "domains", "terms")


def list_all(ctx: typer.Context) -> None:
    """List all profiles of tasks.

    列出全部任务画像。

    Example 示例:
      wenyuan task list
    """
    from wenyuan.core.access import profile_to_wire

    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        profiles = [profile_to_wire(profile) for profile in found.catalog.profiles()]
    terminal.document({"status": "SUCCESS", "profiles": profiles})
    if not profiles:
        terminal.say("no_profiles")
        return
    rows = (
        (profile["profile_id"], *(", ".join(profile[name]) for name in _FIELDS), profile["title"])
        for profile in profiles
    )
    terminal.table(rows, "col_profile", "col_tasks", "col_domains", "col_terms", "col_title", whole=(0,))


def show(
    ctx: typer.Context,
    profile: _Id,
) -> None:
    """Show a profile.

    查看一个任务画像。

    Example 示例:
      wenyuan task show complaint
    """
    from wenyuan.core.access import profile_to_wire
    from wenyuan.core.errors import NotFound

    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        known = {one.profile_id: one for one in found.catalog.profiles()}
    if profile not in known:
        raise NotFound(msg("there is no profile {profile}", profile=repr(profile)), hint="wenyuan task list")
    described = profile_to_wire(known[profile])
    terminal.document({"status": "SUCCESS", "profile": described})
    for name in ("profile_id", "title", *_FIELDS):
        value = described[name] if isinstance(described[name], str) else ", ".join(described[name])
        if value:
            terminal.show(f"{terminal.text(name)}: {value}", wrap=False)


def put(
    ctx: typer.Context,
    profile: _Id,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="TASK", help="A task's id; ticket-* stands for all that begin so. 任务标识"),
    ] = None,
    domain: Annotated[
        list[str] | None, typer.Option("--domain", metavar="DOMAIN", help="Where they look first (repeatable). 领域")
    ] = None,
    term: Annotated[
        list[str] | None, typer.Option("--term", metavar="TERM", help="What they speak of (repeatable). 词语")
    ] = None,
    title: Annotated[str | None, typer.Option(help="What people call it. 标题")] = None,
) -> None:
    """Register a profile of tasks, or change one; what is not named stays. Without --task: ids that begin with ID.

    登记或修改任务画像；未给出的字段不变。未给出 --task 时，适用于以 ID 开头的任务。

    Example 示例:
      wenyuan task set complaint --task "ticket-*" --domain crm_policy --term 投诉 --term complaint
    """
    from wenyuan.core.access import parse_profile, profile_to_wire

    terminal: Terminal = ctx.obj
    given: Mapping[str, Any] = {"tasks": task, "domains": domain, "terms": term, "title": title}
    with opened_record(terminal) as found:
        catalog = found.catalog
        known = {one.profile_id: profile_to_wire(one) for one in catalog.profiles()}
        kept = known.get(profile, {"profile_id": profile})
        wanted = parse_profile({**kept, **{name: value for name, value in given.items() if value is not None}})
        catalog.put_profile(wanted)
        domains = {source.domain for source in found.sources()}
    unknown = [name for name in wanted.domains if name not in domains]
    terminal.document({"status": "SUCCESS", "profile": profile_to_wire(wanted), "unknown_domains": unknown})
    terminal.show(terminal.text("profile_set", profile=profile))
    if unknown:
        terminal.say("unknown_domains", domains=", ".join(unknown))


def remove(
    ctx: typer.Context,
    profile: _Id,
) -> None:
    """Remove a profile; its tasks go on without.

    移除任务画像；相关任务照常进行，不再参照它。

    Example 示例:
      wenyuan task remove complaint
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        found.catalog.remove_profile(profile)
    terminal.document({"status": "SUCCESS", "profile_id": profile})
    terminal.show(terminal.text("profile_removed", profile=profile))


_COMMANDS: Commands = {
    "list": (list_all, "List all profiles. 列出任务画像"),
    "show": (show, "Show one. 查看任务画像"),
    "set": (put, "Register or change one. 登记或修改"),
    "remove": (remove, "Remove one. 移除任务画像"),
}
add_commands(app, _COMMANDS)
