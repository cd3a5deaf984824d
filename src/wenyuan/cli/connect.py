"""``connect``, ``mcp`` and ``serve``: how other programs use the library."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wenyuan.cli.library import note_keyword_only
from wenyuan.cli.options import opened, web_address, without
from wenyuan.cli.terminal import OK, Terminal
from wenyuan.core.errors import ConfigError, KnowledgeError
from wenyuan.runtime import install_command

if TYPE_CHECKING:
    from wenyuan.server.member import Member
    from wenyuan.service.library import Library


# How other programs are connected: for each, what to paste where.


@dataclass(frozen=True, slots=True)
class Here:
    """Values for filling in recipes.

    Attributes:
        url: Of the server, without a path.
        program: The command that is this program: ``("/usr/bin/wenyuan",)``.
        library: Absolute path of the library.
        key: The API key, or what stands for it.
    """

    url: str
    program: Sequence[str]
    library: str
    key: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A text to paste.

    Attributes:
        where: Key of the message that says where it goes.
        language: ``json``, ``shell``, ``python``, or ``fields`` for the fields of a form.
        starts: It makes another program start this one, on this machine.
    """

    where: str
    language: str
    text: str
    starts: bool = False


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _stdio(here: Here) -> Mapping[str, object]:
    command, *rest = here.program
    return {"command": command, "args": [*rest, "mcp", "--library", here.library]}


def _claude(here: Here) -> tuple[Piece, ...]:
    started = shlex.join([*here.program, "mcp", "--library", here.library])
    return (
        Piece("claude_desktop", "json", _json({"mcpServers": {"wenyuan": _stdio(here)}}), starts=True),
        Piece("claude_code", "shell", f"claude mcp add wenyuan -- {started}", starts=True),
        Piece(
            "claude_code_http",
            "shell",
            f"claude mcp add --transport http wenyuan {here.url}/mcp --header 'Authorization: Bearer {here.key}'",
        ),
    )


def _cursor(here: Here) -> tuple[Piece, ...]:
    remote = {"url": f"{here.url}/mcp", "headers": {"Authorization": f"Bearer {here.key}"}}
    return (
        Piece("cursor_stdio", "json", _json({"mcpServers": {"wenyuan": _stdio(here)}}), starts=True),
        Piece("cursor_http", "json", _json({"mcpServers": {"wenyuan": remote}})),
    )


def _dify(here: Here) -> tuple[Piece, ...]:
    fields = f"API Endpoint: {here.url}\nAPI Key: {here.key}\nExternal Knowledge ID: all"
    return (Piece("dify_fields", "fields", fields),)


def _coze(here: Here) -> tuple[Piece, ...]:
    fields = f"OpenAPI: {here.url}/openapi-tools.json\nAuthorization: Bearer {here.key}"
    return (Piece("coze_fields", "fields", fields),)


def _langchain(here: Here) -> tuple[Piece, ...]:
    return _python(
        install_command(beside=["langchain-core"], pip=["pip"]),
        "from wenyuan.integrations.langchain import WenyuanRetriever",
        f'retriever = WenyuanRetriever(service="{here.url}", key="{here.key}", k=5)',
        'documents = retriever.invoke("客户投诉多久响应")',
    )


def _llamaindex(here: Here) -> tuple[Piece, ...]:
    return _python(
        install_command(beside=["llama-index-core"], pip=["pip"]),
        "from wenyuan.integrations.llamaindex import WenyuanRetriever",
        f'retriever = WenyuanRetriever("{here.url}", key="{here.key}", top_k=5)',
        'nodes = retriever.retrieve("客户投诉多久响应")',
    )


def _haystack(here: Here) -> tuple[Piece, ...]:
    return _python(
        install_command(beside=["haystack-ai"], pip=["pip"]),
        "from haystack.utils import Secret\n\nfrom wenyuan.integrations.haystack import WenyuanRetriever",
        f'retriever = WenyuanRetriever("{here.url}", key=Secret.from_env_var("WENYUAN_KEY", strict=False))',
        'documents = retriever.run(query="客户投诉多久响应")["documents"]',
    )


def _openai(here: Here) -> tuple[Piece, ...]:
    return _python(
        "pip install openai",
        "from openai import OpenAI",
        f'client = OpenAI(base_url="{here.url}/v1", api_key="{here.key}")',
        'page = client.vector_stores.search("all", query="客户投诉多久响应", max_num_results=5)',
    )


def _python(install: str, *lines: str) -> tuple[Piece, ...]:
    imports, *rest = lines
    code = imports + "\n\n" + "\n".join(rest)
    return (Piece("install", "shell", install), Piece("python", "python", code))


RECIPES: Mapping[str, Callable[[Here], tuple[Piece, ...]]] = {
    "claude": _claude,
    "cursor": _cursor,
    "dify": _dify,
    "coze": _coze,
    "langchain": _langchain,
    "llamaindex": _llamaindex,
    "haystack": _haystack,
    "openai": _openai,
}


# ``mcp``: the library for one agent on this machine, over standard input and output.


@without("as_json")
def mcp(
    ctx: typer.Context,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="See only what this agent may. 智能体")] = None,
) -> None:
    """Serve an agent on this machine over MCP (standard input and output); agents start this command themselves.

    通过标准输入输出提供 MCP 服务，由智能体自行启动；配置方法见 wenyuan connect。

    Example 示例:
      wenyuan mcp --library ~/knowledge
      wenyuan mcp --library ~/knowledge --agent support
    """
    from wenyuan.core.access import Principal

    terminal: Terminal = ctx.obj
    _need_package(terminal)
    import anyio

    from wenyuan.mcp.server import serve_stdio

    with opened(terminal) as found:
        if agent is not None:
            found.catalog.agent(agent)
        principal = Principal(key_id="local", agent_id=agent)
        anyio.run(serve_stdio, found, principal)


def can_start(terminal: Terminal) -> None:
    """Raise the error with which `mcp` would end at once: a missing package, or a library that cannot be opened."""
    _need_package(terminal)
    with opened(terminal):
        return


def _need_package(terminal: Terminal) -> None:
    from wenyuan.core.errors import ConfigError
    from wenyuan.runtime import install_command

    if find_spec("mcp") is None:
        raise ConfigError(terminal.text("mcp_missing"), component="mcp", hint=install_command("mcp"))


# ``connect``: what to paste where, so that another program uses the library.


Target = Literal["claude", "cursor", "dify", "coze", "langchain", "llamaindex", "haystack", "openai"]
_KEY = "YOUR_KEY"


def connect(
    ctx: typer.Context,
    target: Annotated[Target, typer.Argument(help="What to connect. 接入对象")],
    url: Annotated[
        str | None,
        typer.Option(
            parser=web_address, metavar="URL", help="Of the server. 服务地址  [default: as the settings say]"
        ),
    ] = None,
    key: Annotated[str, typer.Option(metavar="KEY", help="The API key to fill in. 要填入的密钥")] = _KEY,
) -> None:
    """Print what connects an agent, an editor or a framework to the library, ready to paste.

    What would start this program is printed only when it can start; with --url the rest is printed without it.

    打印接入配置，可直接粘贴到智能体、编辑器或框架中；需启动本程序的配置，仅在能启动时打印。

    Example 示例:
      wenyuan connect claude
      wenyuan connect dify --url http://192.168.1.5:8765
    """
    terminal: Terminal = ctx.obj
    here = Here(
        url=(url or _own_url(terminal)).rstrip("/"),
        program=_program(),
        library=str(terminal.folder.absolute()),
        key=key,
    )
    pieces = RECIPES[target](here)
    if (why := _cannot_start(terminal, pieces)) is not None:
        if url is None:
            raise why
        pieces = tuple(piece for piece in pieces if not piece.starts)
    left_out = {"message": why.message, "hint": why.hint} if why is not None else None
    shown = [asdict(piece) for piece in pieces]
    terminal.document({"status": "SUCCESS", "target": target, "url": here.url, "pieces": shown, "left_out": left_out})
    if why is not None:
        terminal.say("connect_left_out", why=terminal.own(why.message), hint=terminal.own(why.hint))
    for piece in pieces:
        terminal.show(f"# {terminal.text(f'connect_{piece.where}')}", wrap=False)
        terminal.show(piece.text + "\n", wrap=False)
    if any(key in piece.text for piece in pieces):
        terminal.say("connect_any_key" if target == "openai" else "connect_key", word=key)
    if any(here.url in piece.text for piece in pieces):
        terminal.say("connect_serve", url=here.url)


def _own_url(terminal: Terminal) -> str:
    from wenyuan.settings import load_settings

    server = load_settings(terminal.folder).server
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(server.host, server.host)  # noqa: S104  (not listened on here)
    return f"http://{host}:{server.port}"


def _cannot_start(terminal: Terminal, pieces: Sequence[Piece]) -> KnowledgeError | None:
    """The error with which the started program would end at once; None when it would not, or nothing is started."""
    if not any(piece.starts for piece in pieces):
        return None
    try:
        can_start(terminal)
    except KnowledgeError as error:
        return error
    return None


def _program() -> tuple[str, ...]:
    """The command that starts this program from anywhere: the one that was checked, not another one on the path."""
    found = shutil.which("wenyuan")
    mine = found is not None and Path(found).resolve().parent == Path(sys.executable).absolute().parent
    return (found,) if found and mine else (sys.executable, "-m", "wenyuan.cli")


# ``serve``: the library over HTTP, on this machine, or beyond it with keys.


_TO_WARM = 10.0
"""Seconds in which who connects waits for the first question to be ready; a large library tells by ``/readyz`` when it is."""
_TO_FLUSH = 5.0
"""Seconds for the last entries of the audit, where the process is ended."""


def serve(
    ctx: typer.Context,
    host: Annotated[
        str | None,
        typer.Option(help="Beyond this machine only with keys. 监听地址  [default: 127.0.0.1]", show_default=False),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="0: any free one. 端口  [default: 8765]", show_default=False)
    ] = None,
) -> None:
    """Serve the library over HTTP until Ctrl-C.

    通过 HTTP 提供服务，按 Ctrl-C 停止。

    Example 示例:
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
    from wenyuan.cli.search import marks
    from wenyuan.console import with_console
    from wenyuan.server import Limits, ServerSettings
    from wenyuan.server.app import serve as run_server
    from wenyuan.server.ending import CLOSING, Ending

    grace = ServerSettings().grace
    with opened(terminal) as found, Ending(grace + CLOSING, lambda: _flush(found)) as ending:
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
                grace=grace,
                limits=Limits(
                    rate_per_key=wanted.rate_per_key,
                    rate_total=wanted.rate_total,
                    concurrency_per_key=wanted.concurrency_per_key,
                ),
            ),
            keys=found.catalog,
            shared_port=wanted.shared_port,
            on_stop=ending.begin,
            front=(lambda app: with_console(app, marks)) if wanted.console else None,
            on_listening=lambda url: _begin(terminal, found, url, member),
            member=member,
        )
    if member is None:
        terminal.say("stopped")


def _processes(terminal: Terminal) -> int:
    """How many processes shall serve; ConfigError where the settings contradict one another."""
    from wenyuan.runtime import usable_cores
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
    from wenyuan.server import ServerSettings
    from wenyuan.server.supervisor import lead
    from wenyuan.settings import load_settings

    wanted = load_settings(terminal.folder).server
    host, port = wanted.host if host is None else host, wanted.port if port is None else port
    common = ["--library", str(terminal.folder), "--lang", terminal.language, *["--json"] * terminal.as_json]
    command = [sys.executable, "-m", "wenyuan.cli", *common, "serve", "--host", host]
    return lead(command, count, host, port, ServerSettings().grace)


def _flush(library: Library) -> None:
    if library.recorder.log is not None:
        library.recorder.log.flush(_TO_FLUSH)


def _begin(terminal: Terminal, library: Library, url: str, member: Member | None) -> None:
    wanted = library.settings.server
    library.warm_up().join(_TO_WARM)
    library.follow()  # others write what this server is asked for
    first = member is None or member.first
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
