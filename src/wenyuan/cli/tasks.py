"""``task list``, ``show``, ``set`` and ``remove``: what kinds of tasks are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from wenyuan.cli.options import JsonOption, LangOption, LibraryOption, helped, opened
from wenyuan.cli.terminal import Terminal

__all__ = ["app"]

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


def list_all(
    ctx: typer.Context, library: LibraryOption = None, lang: LangOption = None, as_json: JsonOption = False
) -> None:
    """List all profiles of tasks.

    列出全部任务画像。

    Example 示例:
      wenyuan task list
    """
    from rich.table import Table
    from rich.text import Text

    from wenyuan.core.profiles import profile_to_wire
    from wenyuan.service.governed import governed

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        profiles = [profile_to_wire(profile) for profile in governed(found).profiles()]
    terminal.document({"status": "SUCCESS", "profiles": profiles})
    if not profiles:
        terminal.say("no_profiles")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for key in ("col_profile", "col_tasks", "col_domains", "col_terms", "col_title"):
        table.add_column(terminal.text(key), overflow="fold")
    for profile in profiles:
        lists = (", ".join(profile[name]) for name in _FIELDS)
        table.add_row(*map(Text, (profile["profile_id"], *lists, profile["title"])))
    terminal.show(table)


def show(
    ctx: typer.Context,
    profile: _Id,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a profile.

    查看一个任务画像。

    Example 示例:
      wenyuan task show complaint
    """
    from wenyuan.core.errors import NotPermitted
    from wenyuan.core.profiles import profile_to_wire
    from wenyuan.service.governed import governed

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        known = {one.profile_id: one for one in governed(found).profiles()}
    if profile not in known:
        raise NotPermitted(f"there is no profile {profile!r}", hint="wenyuan task list")
    described = profile_to_wire(known[profile])
    terminal.document({"status": "SUCCESS", "profile": described})
    for name in ("profile_id", "title", *_FIELDS):
        value = described[name] if isinstance(described[name], str) else ", ".join(described[name])
        if value:
            terminal.show(f"{terminal.text(name)}: {value}", wrap=False)


def put(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
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
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register a profile of tasks, or change one; what is not named stays. Without --task: ids that begin with ID.

    登记或修改任务画像；未给出的字段不变。未给出 --task 时，适用于以 ID 开头的任务。

    Example 示例:
      wenyuan task set complaint --task "ticket-*" --domain crm_policy --term 投诉 --term complaint
    """
    from wenyuan.core.profiles import parse_profile, profile_to_wire
    from wenyuan.service.governed import governed

    terminal: Terminal = ctx.obj
    given: Mapping[str, Any] = {"tasks": task, "domains": domain, "terms": term, "title": title}
    with opened(terminal) as found:
        catalog = governed(found)
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
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a profile; its tasks go on without.

    移除任务画像；相关任务照常进行，不再参照它。

    Example 示例:
      wenyuan task remove complaint
    """
    from wenyuan.service.governed import governed

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        governed(found).remove_profile(profile)
    terminal.document({"status": "SUCCESS", "profile_id": profile})
    terminal.show(terminal.text("profile_removed", profile=profile))


_COMMANDS: Mapping[str, tuple[Callable[..., None], str]] = {
    "list": (list_all, "List all profiles. 列出任务画像"),
    "show": (show, "Show one. 查看任务画像"),
    "set": (put, "Register or change one. 登记或修改"),
    "remove": (remove, "Remove one. 移除任务画像"),
}
for name, (function, short) in _COMMANDS.items():
    app.command(name, help=helped(function), short_help=short)(function)
