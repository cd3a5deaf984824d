"""``serve``: the library over HTTP, on this machine, or beyond it with keys."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from wenyuan.cli.ingest import note_keyword_only
from wenyuan.cli.options import opened
from wenyuan.cli.terminal import OK, Terminal
from wenyuan.core.errors import ConfigError

if TYPE_CHECKING:
    from wenyuan.server.member import Member
    from wenyuan.service.library import Library


_TO_WARM = 10.0
"""Seconds in which who connects waits for the first question to be ready; a large library tells by ``/readyz`` when it is."""
_TO_FLUSH = 5.0
"""Seconds for the last entries of the audit, where the process is ended."""


def serve(
    ctx: typer.Context,
    host: Annotated[
        str | None,
        typer.Option(help="Beyond this machine only with keys.  [default: 127.0.0.1]", show_default=False),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="0: any free one.  [default: 8765]", show_default=False)
    ] = None,
) -> None:
    """Serve the library over HTTP until Ctrl-C.

    Example:
      wenyuan serve
      wenyuan serve --port 9000 --library ~/knowledge
    """
    terminal: Terminal = ctx.obj
    from wenyuan.runtime.allocator import share_arenas
    from wenyuan.server.member import member_here

    member = member_here()
    if member is None:  # loading the program's parts and the library takes seconds
        terminal.say("opening", folder=terminal.folder.absolute())
        if (count := _processes(terminal)) > 1:
            code = _lead(terminal, count, host, port)
            if code == OK:
                terminal.say("stopped")
            raise typer.Exit(code)
    share_arenas()
    from wenyuan.cli.snippets import marks
    from wenyuan.console.site import with_console
    from wenyuan.console.state import console_issuer
    from wenyuan.server.running import serve as run_server
    from wenyuan.server.shared_sessions import SharedSessions
    from wenyuan.server.shutdown import CLOSING, Ending
    from wenyuan.server.sign_ins import SignIns
    from wenyuan.server.token_callers import token_callers

    with opened(terminal) as found, Ending(found.settings.server.grace + CLOSING, lambda: _flush(found)) as ending:
        wanted = found.settings.server
        sign_ins = SignIns(found.catalog.database.on_change)
        store = SharedSessions(found.catalog) if found.catalog.database.place.shared else None
        tokens = token_callers(found.settings.oidc, found.folder, met=found.catalog.meet)
        run_server(
            found,
            wanted.host if host is None else host,
            wanted.port if port is None else port,
            settings=wanted,
            keys=found.catalog,
            tokens=tokens,
            shared_port=wanted.shared_port,
            on_stop=ending.begin,
            front=(lambda app: with_console(app, marks, console_issuer(tokens), sign_ins, store))
            if wanted.console
            else None,
            on_listening=lambda url: _begin(terminal, found, url, member),
            member=member,
        )
    if member is None:
        terminal.say("stopped")


def _processes(terminal: Terminal) -> int:
    """How many processes shall serve; ConfigError where the settings contradict one another."""
    from wenyuan.runtime.cores import usable_cores
    from wenyuan.settings import load_settings

    wanted = load_settings(terminal.folder).server
    count = wanted.processes or usable_cores()
    if count > 1 and wanted.shared_port:
        raise ConfigError(
            "server.processes and server.shared_port exclude one another: what several processes share is shared by those "
            "that one server has started",
            component="settings",
            hint="set server.processes alone, and start one server",
        )
    return count


def _lead(terminal: Terminal, count: int, host: str | None, port: int | None) -> int:
    """Let processes serve that look for their `Member`; returns the exit code."""
    from wenyuan.server.supervisor import lead
    from wenyuan.settings import load_settings

    wanted = load_settings(terminal.folder).server
    host, port = wanted.host if host is None else host, wanted.port if port is None else port
    common = ["--library", str(terminal.folder), "--lang", terminal.language, *["--json"] * terminal.as_json]
    command = [sys.executable, "-m", "wenyuan.cli", *common, "serve", "--host", host]
    return lead(command, count, host, port, wanted.grace)


def _flush(library: Library) -> None:
    if library.recorder.log is not None:
        library.recorder.log.flush(_TO_FLUSH)


def _begin(terminal: Terminal, library: Library, url: str, member: Member | None) -> None:
    wanted = library.settings.server
    library.warm_up().join(_TO_WARM)
    library.follow()  # others write what this server is asked for
    first = member is None or member.first
    if first:
        library.watch_changes()
    if wanted.worker and first:
        library.hire(wanted.worker_poll)
    if first and not (member is not None and member.again):
        _announce(terminal, library, url)


def _announce(terminal: Terminal, library: Library, url: str) -> None:
    readiness = library.readiness()
    parts = {name: dict(part) for name, part in readiness.parts.items()}
    terminal.document(
        {"status": "SUCCESS", "url": url, "library": str(library.folder), "ready": readiness.ready, "parts": parts}
    )
    note_keyword_only(terminal, library)
    terminal.show(terminal.text("serving", folder=library.folder.absolute(), url=url), wrap=False)
    if library.settings.server.console:
        terminal.show(terminal.text("console_at", url=url), wrap=False)
    terminal.show(terminal.text("ready" if readiness.ready else "not_ready"))
    for name, part in parts.items():
        state = terminal.text(f"state_{part['state']}")
        terminal.show(f"  {terminal.text(f'd_{name}')}: {state}  {terminal.own(str(part['detail']))}", wrap=False)
    body = json.dumps({"query": terminal.text("curl_query"), "max_results": 3}, ensure_ascii=False)
    terminal.show(terminal.text("try_curl"))
    terminal.show(
        f"  curl -s {url}/v1/retrieve_fragments \\\n    -H 'content-type: application/json' \\\n    -d '{body}'",
        wrap=False,
    )
    terminal.show(terminal.text("stop_hint"))
