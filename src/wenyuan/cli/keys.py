"""``key create``, ``list``, ``change`` and ``revoke``."""

from __future__ import annotations

import re
import time
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, add_commands, opened_record, words
from wenyuan.cli.terminal import Terminal
from wenyuan.core.errors import joined, msg
from wenyuan.runtime.local_time import day_begins, local_time

if TYPE_CHECKING:
    from wenyuan.core.access import Key


_KEY_HELP = """Make and revoke keys: who may ask the served library, and for what.

\b
Example:
  wenyuan key create --agent support --rights retrieve,search --expires 90d
  wenyuan key create --rights search --as user:li --groups hr,works
  wenyuan key list
"""
_Id = Annotated[str, typer.Argument(metavar="ID", help="The key's id, not its secret.")]
_AS = "Reads documents as this person: user:li."
_GROUPS = "Reads documents as a member of these groups."
keys_app = group(_KEY_HELP, "Make and revoke keys.")
_SPAN = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def create(
    ctx: typer.Context,
    rights: Annotated[
        str,
        typer.Option(metavar="A,B", help="retrieve, search, ingest, registry, audit, erase, on_behalf_of, admin."),
    ] = "",
    agent: Annotated[str | None, typer.Option(metavar="ID", help="The agent it acts for.")] = None,
    name: Annotated[str, typer.Option(help="What people call it: who has it, what for.")] = "",
    expires: Annotated[
        str | None, typer.Option(metavar="90d|DATE", help="After 12h, 90d, 4w, or that day.  [default: never]")
    ] = None,
    as_: Annotated[str, typer.Option("--as", metavar="USER", help=_AS)] = "",
    groups: Annotated[str, typer.Option("--groups", metavar="A,B", help=_GROUPS)] = "",
    roles: Annotated[
        str, typer.Option(metavar="A,B", help="reader, source_owner, reviewer, auditor, administrator.")
    ] = "",
) -> None:
    """Make a key. Its secret is shown this once; the library keeps only a hash of it.

    With --as and --groups it reads documents as that person and those groups may. One with the right admin reads all.

    Example:
      wenyuan key create --agent support --rights retrieve,search --name "Support desk" --expires 90d
      wenyuan key create --roles reader --as user:li --groups hr,works
    """
    terminal: Terminal = ctx.obj
    allowed, until = _rights(words(rights) or [], words(roles) or []), _expiry(expires)
    with opened_record(terminal) as found:
        key, token = found.catalog.create_key(agent, allowed, until, name, user=as_, groups=words(groups) or [])
    terminal.document({"status": "SUCCESS", "key": _document(key), "token": token})
    terminal.show(token, wrap=False)
    terminal.say("key_made", id=key.key_id, until=local_time(until) or terminal.text("no_end"))


def change(
    ctx: typer.Context,
    key: _Id,
    as_: Annotated[str | None, typer.Option("--as", metavar="USER", help=_AS)] = None,
    groups: Annotated[str | None, typer.Option("--groups", metavar="A,B", help=_GROUPS)] = None,
) -> None:
    """Change as whom a key reads documents; counts for its next request. What is not given stays; "" takes it away.

    Example:
      wenyuan key change 1f2e3d4c --groups hr,works
      wenyuan key change 1f2e3d4c --as user:li --groups ""
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        keys = found.catalog.keys()
        held = next((one for one in keys if one.key_id == key), None)
        user = as_ if as_ is not None else held.user if held else ""
        members = (words(groups) or []) if groups is not None else sorted(held.groups) if held else []
        changed = found.catalog.change_key(key, user=user, groups=members)
    terminal.document({"status": "SUCCESS", "key": _document(changed)})
    terminal.say("key_changed", id=key, names=_names(changed) or "–")


def _names(key: Key) -> str:
    return ", ".join(filter(None, (key.user, *sorted(key.groups))))


def _rights(named: list[str], roles: list[str]) -> frozenset[str]:
    from wenyuan.core.access import RIGHTS
    from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean
    from wenyuan.core.roles import ROLES, rights_of

    faults = [
        Fault("rights", msg("{name} is no right{near}", name=repr(n), near=did_you_mean(n, RIGHTS)))
        for n in named
        if n not in RIGHTS
    ]
    faults += [
        Fault("roles", msg("{name} is no role{near}", name=repr(n), near=did_you_mean(n, ROLES)))
        for n in roles
        if n not in ROLES
    ]
    if not named and not roles:
        faults.append(Fault("rights", "a key needs at least one right"))
    if faults:
        hint = msg("rights: {rights}; roles: {roles}", rights=", ".join(RIGHTS), roles=", ".join(ROLES))
        raise InvalidRequest(joined(f.message for f in faults), faults=tuple(faults), hint=hint)
    return rights_of(roles).union(named)


def _expiry(text: str | None) -> float | None:
    """Expiry of a key in seconds since the epoch, from a duration or a local day (its end)."""
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.validity_dates import parse_date

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
    return key.described() | shown | {"state": _state(key)}


def _state(key: Key) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= time.time() else "valid"


def list_keys(ctx: typer.Context) -> None:
    """List all keys, without their secrets.

    Example:
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
        (key.key_id, key.name or "–", key.agent_id or "–", _names(key) or "–", ", ".join(sorted(key.rights)),
         local_time(key.expires_at) or terminal.text("no_end"), terminal.text(f"state_{_state(key)}"))
        for key in keys
    )  # fmt: skip
    terminal.table(
        rows, "col_key", "col_name", "col_agent", "col_reads_as", "col_rights", "col_until", "col_state", whole=(0,)
    )


def revoke(
    ctx: typer.Context,
    key: _Id,
) -> None:
    """Revoke a key, at once and for good.

    Example:
      wenyuan key revoke 1f2e3d4c
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        found.catalog.revoke_key(key)
    terminal.document({"status": "SUCCESS", "key_id": key})
    terminal.show(terminal.text("key_revoked", id=key))


_KEY_COMMANDS: Commands = {
    "create": (create, "Make a key."),
    "list": (list_keys, "List all keys."),
    "change": (change, "Change as whom one reads."),
    "revoke": (revoke, "Revoke one."),
}
add_commands(keys_app, _KEY_COMMANDS)
