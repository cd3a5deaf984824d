"""How other programs are connected: for each, what to paste where."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wenyuan.runtime.installation import install_command


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
class PasteText:
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


def _claude(here: Here) -> tuple[PasteText, ...]:
    started = shlex.join([*here.program, "mcp", "--library", here.library])
    return (
        PasteText("claude_desktop", "json", _json({"mcpServers": {"wenyuan": _stdio(here)}}), starts=True),
        PasteText("claude_code", "shell", f"claude mcp add wenyuan -- {started}", starts=True),
        PasteText(
            "claude_code_http",
            "shell",
            f"claude mcp add --transport http wenyuan {here.url}/mcp --header 'Authorization: Bearer {here.key}'",
        ),
    )


def _cursor(here: Here) -> tuple[PasteText, ...]:
    remote = {"url": f"{here.url}/mcp", "headers": {"Authorization": f"Bearer {here.key}"}}
    return (
        PasteText("cursor_stdio", "json", _json({"mcpServers": {"wenyuan": _stdio(here)}}), starts=True),
        PasteText("cursor_http", "json", _json({"mcpServers": {"wenyuan": remote}})),
    )


def _dify(here: Here) -> tuple[PasteText, ...]:
    fields = f"API Endpoint: {here.url}\nAPI Key: {here.key}\nExternal Knowledge ID: all"
    return (PasteText("dify_fields", "fields", fields),)


def _coze(here: Here) -> tuple[PasteText, ...]:
    fields = f"OpenAPI: {here.url}/openapi-tools.json\nAuthorization: Bearer {here.key}"
    return (PasteText("coze_fields", "fields", fields),)


def _langchain(here: Here) -> tuple[PasteText, ...]:
    return _python(
        install_command(beside=["langchain-core"], pip=["pip"]),
        "from wenyuan.integrations.langchain import WenyuanRetriever",
        f'retriever = WenyuanRetriever(service="{here.url}", key="{here.key}", k=5)',
        'documents = retriever.invoke("客户投诉多久响应")',
    )


def _llamaindex(here: Here) -> tuple[PasteText, ...]:
    return _python(
        install_command(beside=["llama-index-core"], pip=["pip"]),
        "from wenyuan.integrations.llamaindex import WenyuanRetriever",
        f'retriever = WenyuanRetriever("{here.url}", key="{here.key}", top_k=5)',
        'nodes = retriever.retrieve("客户投诉多久响应")',
    )


def _haystack(here: Here) -> tuple[PasteText, ...]:
    return _python(
        install_command(beside=["haystack-ai"], pip=["pip"]),
        "from haystack.utils import Secret\n\nfrom wenyuan.integrations.haystack import WenyuanRetriever",
        f'retriever = WenyuanRetriever("{here.url}", key=Secret.from_env_var("WENYUAN_KEY", strict=False))',
        'documents = retriever.run(query="客户投诉多久响应")["documents"]',
    )


def _openai(here: Here) -> tuple[PasteText, ...]:
    return _python(
        "pip install openai",
        "from openai import OpenAI",
        f'client = OpenAI(base_url="{here.url}/v1", api_key="{here.key}")',
        'page = client.vector_stores.search("all", query="客户投诉多久响应", max_num_results=5)',
    )


def _python(install: str, *lines: str) -> tuple[PasteText, ...]:
    imports, *rest = lines
    code = imports + "\n\n" + "\n".join(rest)
    return (PasteText("install", "shell", install), PasteText("python", "python", code))


RECIPES: Mapping[str, Callable[[Here], tuple[PasteText, ...]]] = {
    "claude": _claude,
    "cursor": _cursor,
    "dify": _dify,
    "coze": _coze,
    "langchain": _langchain,
    "llamaindex": _llamaindex,
    "haystack": _haystack,
    "openai": _openai,
}
