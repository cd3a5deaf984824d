"""A stub of the parts of Feishu's API that reading documents needs, as they are described at open.feishu.cn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from listening import listening

APP, SECRET = "cli_app", "s3cr3t"


def text(content: str, link: str = "") -> dict[str, Any]:
    """A run of text."""
    style = {"link": {"url": link}} if link else {}
    return {"text_run": {"content": content, "text_element_style": style}}


def block(
    name: str, kind: int, member: str, *elements: dict[str, Any], children: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    """A block of a document."""
    return {
        "block_id": name,
        "block_type": kind,
        "children": list(children),
        member: {"elements": list(elements)},
        **more,
    }


class Feishu:
    """What the service holds.

    Attributes:
        nodes: Parent node → nodes of the wiki below it.
        files: Folder → files of the drive in it.
        documents: Token → blocks.
        members: ``kind/token`` → with whom it is shared; another value than a list is answered as it is.
        links: Likewise, what its link lets others do.
        page: Members of one page of an answer.
        busy: So many calls are refused first, for their rate.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, list[dict[str, Any]]] = {}
        self.files: dict[str, list[dict[str, Any]]] = {}
        self.documents: dict[str, list[dict[str, Any]]] = {}
        self.uploads: dict[str, bytes] = {}
        self.members: dict[str, Any] = {}
        self.links: dict[str, Any] = {}
        self.page, self.busy, self.tokens = 2, 0, 0
        self.asked: list[str] = []
        self.url = ""

    def token(self) -> str:
        return f"t-{self.tokens}"

    def answer(self, method: str, path: str, query: dict[str, str], headers: Any, body: bytes) -> tuple[int, Any]:
        if path == "/open-apis/auth/v3/tenant_access_token/internal" and method == "POST":
            said = json.loads(body)
            if (said["app_id"], said["app_secret"]) != (APP, SECRET):
                return 200, {"code": 10014, "msg": "app secret invalid"}
            self.tokens += 1
            return 200, {"code": 0, "msg": "ok", "tenant_access_token": self.token(), "expire": 7200}
        if headers.get("Authorization") != f"Bearer {self.token()}":
            return 400, {"code": 99991663, "msg": "Invalid access token for authorization"}
        if self.busy:
            self.busy -= 1
            return 400, {"code": 99991400, "msg": "request trigger frequency limit"}
        parts = path.split("/")
        if path.startswith("/open-apis/wiki/v2/spaces/") and parts[5] == "77":
            return self.paged("items", self.nodes.get(query.get("parent_node_token", ""), []), query)
        if path == "/open-apis/drive/v1/files":
            return self.paged("files", self.files.get(query["folder_token"], []), query)
        if path.startswith("/open-apis/docx/v1/documents/") and parts[5] in self.documents:
            return self.paged("items", self.documents[parts[5]], query)
        if path.startswith("/open-apis/drive/v1/files/") and parts[5] in self.uploads:
            return 200, self.uploads[parts[5]]
        if path.startswith("/open-apis/drive/v1/permissions/"):
            return self.permitted(f"{query.get('type')}/{parts[5]}", parts[6], query)
        return 404, {"code": 1770002, "msg": "not found"}

    def permitted(self, name: str, what: str, query: dict[str, str]) -> tuple[int, Any]:
        held = self.members if what == "members" else self.links
        if name not in held:
            return 403, {"code": 1063002, "msg": "permission denied"}
        if what == "members" and isinstance(held[name], list):
            return self.paged("items", held[name], query)
        return 200, held[name]

    def paged(self, name: str, items: list[Any], query: dict[str, str]) -> tuple[int, Any]:
        at = int(query.get("page_token", "0"))
        more = at + self.page < len(items)
        told = {name: items[at : at + self.page], "has_more": more}
        if more:
            told["next_page_token" if name == "files" else "page_token"] = str(at + self.page)
        return 200, {"code": 0, "msg": "success", "data": told}


@contextmanager
def feishu_server() -> Iterator[Feishu]:
    """The service, for as long as it answers."""
    feishu = Feishu()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            feishu.asked.append(parts.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, said = feishu.answer(self.command, parts.path, query, self.headers, body)
            content = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            """Nothing is told."""

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        feishu.url = url
        yield feishu
