"""``serve``: the library over HTTP, on this machine, or beyond it with keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from wenyuan.cli.options import JsonOption, LangOption, LibraryOption, opened
from wenyuan.cli.stock import note_keyword_only
from wenyuan.cli.terminal import Terminal

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["serve"]

_TO_WARM = 10.0
"""Seconds in which who connects waits for the first question to be ready; a large library tells by ``/readyz`` when it is."""


def serve(
    ctx: typer.Context,
    host: Annotated[
        str | None,
        typer.Option(help="Beyond this machine only with keys. 监听地址  [default: 127.0.0.1]", show_default=False),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="0: any free one. 端口  [default: 8765]", show_default=False)
    ] = None,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the library over HTTP until Ctrl-C.

    通过 HTTP 提供服务，按 Ctrl-C 停止。

    Example 示例:
      wenyuan serve
      wenyuan serve --port 9000 --library ~/knowledge
    """
    terminal: Terminal = ctx.obj
    terminal.say(
        "opening", folder=terminal.folder.absolute()
    )  # loading the program's parts and the library takes seconds
    from wenyuan.cli.snippet import marks
    from wenyuan.cli.translate import cause, translated
    from wenyuan.console import Words, with_console
    from wenyuan.server.run import serve as run_server
    from wenyuan.server.seams import Limits, ServerSettings

    with opened(terminal) as found:
        wanted = found.settings.server
        run_server(
            found,
            wanted.host if host is None else host,
            wanted.port if port is None else port,
            settings=ServerSettings(
                threads=wanted.threads,
                queue_limit=wanted.queue,
                failed_http_status=wanted.failed_http_status,
                allowed_origins=wanted.allowed_origins,
                dify_failure_record=wanted.dify_failure_record,
                ingest_roots=wanted.ingest_roots,
                limits=Limits(
                    rate_per_key=wanted.rate_per_key,
                    rate_total=wanted.rate_total,
                    concurrency_per_key=wanted.concurrency_per_key,
                ),
            ),
            keys=found.catalog,
            shared_port=wanted.shared_port,
            front=(lambda app: with_console(app, Words(translated, marks, cause))) if wanted.console else None,
            on_listening=lambda url: _begin(terminal, found, url),
        )
    terminal.say("stopped")


def _begin(terminal: Terminal, library: Library, url: str) -> None:
    wanted = library.settings.server
    library.warm_up().join(_TO_WARM)
    library.follow()  # others write what this server is asked for
    if wanted.worker:
        library.hire(wanted.worker_poll)
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
