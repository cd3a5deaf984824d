"""``task list``, ``show``, ``set`` and ``remove``: what kinds of tasks are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, TitleOption, add_commands, opened_record
from wenyuan.cli.terminal import Terminal
from wenyuan.core.errors import msg

_HELP = """Say what kinds of tasks are about: what fits them ranks higher when their id comes with a question.

\b
Example:
  wenyuan task set complaint --task "ticket-*" --domain crm_policy --term complaint
  wenyuan task list
"""
app = group(_HELP, "Say what tasks are about.")
_Id = Annotated[str, typer.Argument(metavar="ID", help="The profile.")]
_FIELDS = ("tasks", "domains", "terms")


def list_all(ctx: typer.Context) -> None:
    """List all profiles of tasks.

    Example:
      wenyuan task list
    """
    from wenyuan.core.task_profiles import profile_to_wire

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

    Example:
      wenyuan task show complaint
    """
    from wenyuan.core.errors import NotFound
    from wenyuan.core.task_profiles import profile_to_wire

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
        typer.Option("--task", metavar="TASK", help="A task's id; ticket-* stands for all that begin so."),
    ] = None,
    domain: Annotated[
        list[str] | None, typer.Option("--domain", metavar="DOMAIN", help="Where they look first (repeatable).")
    ] = None,
    term: Annotated[
        list[str] | None, typer.Option("--term", metavar="TERM", help="What they speak of (repeatable).")
    ] = None,
    title: TitleOption = None,
) -> None:
    """Register a profile of tasks, or change one; what is not named stays. Without --task: ids that begin with ID.

    Example:
      wenyuan task set complaint --task "ticket-*" --domain crm_policy --term complaint
    """
    from wenyuan.core.task_profiles import parse_profile, profile_to_wire

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

    Example:
      wenyuan task remove complaint
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        found.catalog.remove_profile(profile)
    terminal.document({"status": "SUCCESS", "profile_id": profile})
    terminal.show(terminal.text("profile_removed", profile=profile))


_COMMANDS: Commands = {
    "list": (list_all, "List all profiles."),
    "show": (show, "Show one.@profile"),
    "set": (put, "Register or change one."),
    "remove": (remove, "Remove one.@profile"),
}
add_commands(app, _COMMANDS)
