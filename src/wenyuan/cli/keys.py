"""``key create``, ``list`` and ``revoke``."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import JsonOption, LangOption, LibraryOption, helped, opened, words
from wenyuan.cli.terminal import Terminal

if TYPE_CHECKING:
    from wenyuan.core.agents import Key

__all__ = ["app"]

_HELP = """Make and revoke keys: who may ask the served library, and for what.

管理访问密钥。

\b
Example 示例:
  wenyuan key create --agent support --rights retrieve,search --expires 90d
  wenyuan key list
"""
app = typer.Typer(help=_HELP, short_help="Make and revoke keys. 管理密钥", no_args_is_help=True)
_SPAN = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def create(
    ctx: typer.Context,
    rights: Annotated[
        str, typer.Option(metavar="A,B", help="retrieve, search, ingest, registry, audit, admin. 权限")
    ],
    agent: Annotated[str | None, typer.Option(metavar="ID", help="The agent it acts for. 智能体")] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="90d|DATE", help="After 12h, 90d, 4w, or that day. 有效期  [default: never]")
    ] = None,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key. Its secret is shown this once; the library keeps only a hash of it.

    新建密钥；密钥内容只显示这一次，知识库只保存其摘要。

    Example 示例:
      wenyuan key create --agent support --rights retrieve,search --expires 90d
    """
    from wenyuan.service.governed import governed

    terminal: Terminal = ctx.obj
    allowed, until = _rights(words(rights) or []), _expiry(expires)
    with opened(terminal) as found:
        key, token = governed(found).create_key(agent, allowed, until)
    terminal.document({"status": "SUCCESS", "key": _document(key), "token": token})
    terminal.show(token, wrap=False)
    terminal.say("key_made", id=key.key_id, until=_day(until) or terminal.text("no_end"))


def _rights(named: list[str]) -> frozenset[str]:
    from wenyuan.core.agents import RIGHTS
    from wenyuan.core.errors import Fault, InvalidRequest
    from wenyuan.core.suggest import did_you_mean

    faults = [Fault("rights", f"{n!r} is no right{did_you_mean(n, RIGHTS)}") for n in named if n not in RIGHTS]
    if not named:
        faults.append(Fault("rights", "a key needs at least one right"))
    if faults:
        hint = f"rights: {', '.join(RIGHTS)}"
        raise InvalidRequest("; ".join(fault.message for fault in faults), faults=tuple(faults), hint=hint)
    return frozenset(named)


def _expiry(text: str | None) -> float | None:
    """When a key ends, in seconds since the epoch: a span from now, or the end of a day here."""
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.validity import parse_date

    if text is None:
        return None
    plain = unicodedata.normalize("NFKC", text).strip().lower()
    span = _SPAN.fullmatch(plain)
    hint = "write 12h, 90d, 4w, or a day such as 2027-01-31"
    try:
        if span:
            end = datetime.now().astimezone() + timedelta(hours=int(span[1]) * _HOURS[span[2]])
        else:
            end = datetime.combine(parse_date(plain) + timedelta(days=1), datetime.min.time()).astimezone()
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(f"{text!r} says no time until which a key could be valid", hint=hint) from error
    if end.timestamp() <= time.time():
        raise InvalidRequest(f"{text!r} is over already", hint=hint)
    return end.timestamp()


def _day(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at).astimezone().isoformat(" ", "minutes")


def _document(key: Key) -> dict[str, Any]:
    times = {"created_at": key.created_at, "expires_at": key.expires_at, "revoked_at": key.revoked_at}
    shown = {n: None if at is None else datetime.fromtimestamp(at, UTC).isoformat() for n, at in times.items()}
    return {
        "key_id": key.key_id,
        "agent_id": key.agent_id,
        "rights": sorted(key.rights),
        **shown,
        "state": _state(key),
    }


def _state(key: Key) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= time.time() else "valid"


def list_all(
    ctx: typer.Context, library: LibraryOption = None, lang: LangOption = None, as_json: JsonOption = False
) -> None:
    """List all keys, without their secrets.

    列出全部密钥，不含密钥内容。

    Example 示例:
      wenyuan key list
    """
    from rich.table import Table
    from rich.text import Text

    from wenyuan.service.governed import governed

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        keys = governed(found).keys()
    terminal.document({"status": "SUCCESS", "keys": [_document(key) for key in keys]})
    if not keys:
        terminal.say("no_keys")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("col_key", "col_agent", "col_rights", "col_until", "col_state"):
        table.add_column(terminal.text(name), overflow="fold")
    for key in keys:
        until = _day(key.expires_at) or terminal.text("no_end")
        state = terminal.text(f"state_{_state(key)}")
        table.add_row(*map(Text, (key.key_id, key.agent_id or "–", ", ".join(sorted(key.rights)), until, state)))
    terminal.show(table)


def revoke(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="ID", help="The key's id, not its secret. 密钥标识")],
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key, at once and for good.

    立即吊销密钥，不可恢复。

    Example 示例:
      wenyuan key revoke 1f2e3d4c
    """
    from wenyuan.service.governed import governed

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        governed(found).revoke_key(key)
    terminal.document({"status": "SUCCESS", "key_id": key})
    terminal.show(terminal.text("key_revoked", id=key))


_COMMANDS: Mapping[str, tuple[Callable[..., None], str]] = {
    "create": (create, "Make a key. 新建密钥"),
    "list": (list_all, "List all keys. 列出密钥"),
    "revoke": (revoke, "Revoke one. 吊销密钥"),
}
for name, (function, short) in _COMMANDS.items():
    app.command(name, help=helped(function), short_help=short)(function)
