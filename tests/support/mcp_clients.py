"""The protocol's own client, over HTTP and over standard input and output, for revisions old and new."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

MODES = ("2026-07-28", "auto", "legacy")


def over_http(
    url: str, use: Callable[[Client], Awaitable[Any]], *, token: str | None = None, mode: str = "auto", **headers: str
) -> Any:
    """What `use` makes of a client that is connected to a server's ``/mcp``."""

    async def run() -> Any:
        given = {**headers, **({"Authorization": f"Bearer {token}"} if token else {})}
        async with (
            httpx2.AsyncClient(headers=given, timeout=20) as http,
            Client(
                streamable_http_client(f"{url}/mcp", http_client=http), mode=mode, read_timeout_seconds=20
            ) as client,
        ):
            return await use(client)

    return anyio.run(run)


def over_stdio(folder: Path, use: Callable[[Client], Awaitable[Any]], *, mode: str = "auto", agent: str = "") -> Any:
    """What `use` makes of a client that has started ``wenyuan mcp``."""
    options = ["--agent", agent] if agent else []
    environment = {
        "PYTHONPATH": os.pathsep.join(sys.path), "WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_CACHE__SECONDS": "0",
    }  # fmt: skip
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "wenyuan.cli", "mcp", "--library", str(folder), *options],
        env=environment,
    )

    async def run() -> Any:
        async with Client(command, mode=mode, read_timeout_seconds=30) as client:
            return await use(client)

    return anyio.run(run)


def calling(name: str, **arguments: Any) -> Callable[[Client], Awaitable[Any]]:
    """Calls one tool."""

    async def use(client: Client) -> Any:
        return await client.call_tool(name, arguments)

    return use
