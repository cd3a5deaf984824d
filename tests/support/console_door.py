"""A library behind a real server with the console in front of it, and a browser without a window: HTTP and HTML."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from selectolax.lexbor import LexborHTMLParser

import wenyuan
from copies import copied
from governed_door import SETTINGS, governed
from wenyuan.cli.snippets import marks
from wenyuan.console import with_console
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

HOSTILE = "<script>alert(1)</script>"


@contextlib.contextmanager
def served(library: Any, *, needs_keys: bool = False, **settings: Any) -> Iterator[str]:
    """The URL of a server for a library that is open, with the console."""
    ring = KeyRing(library.catalog, open_without_keys=not needs_keys)
    app = create_app(library, authenticate=ring, settings=ServerSettings(**settings))
    url, stop = start_in_thread(with_console(app, marks), grace=1)
    try:
        yield url
    finally:
        stop()


def with_hostile(folder: Path) -> None:
    """Make the small governed library with a hostile document in it in a folder, for `copied`."""
    copied(governed, folder)
    with wenyuan.open(folder / "library", **SETTINGS) as library:
        hostile = folder / "docs" / "hostile"
        hostile.mkdir()
        (hostile / "a<img src=x onerror=alert(1)>.md").write_text(
            f"# 章节 {HOSTILE}\n\n脚本注入测试 {HOSTILE} javascript:alert(1)\n", encoding="utf-8"
        )
        library.add(wenyuan.Source(source_id="hostile", title=f"题 {HOSTILE}", path=str(hostile), trust=3))


@contextlib.contextmanager
def console(folder: Path, *, needs_keys: bool = False, **settings: Any) -> Iterator[tuple[str, Any]]:
    """The URL of a server over the small governed library with a hostile document in it, and the library."""
    copied(with_hostile, folder)
    with (
        wenyuan.open(folder / "library", **SETTINGS) as library,
        served(library, needs_keys=needs_keys, **settings) as url,
    ):
        yield url, library


@dataclass
class Seen:
    """What a browser got."""

    status: int
    headers: http.client.HTTPMessage
    body: str
    tree: LexborHTMLParser = field(init=False)

    def __post_init__(self) -> None:
        self.tree = LexborHTMLParser(self.body)

    def text(self, selector: str = "body") -> str:
        """All text within the elements, white space squeezed."""
        return " ".join(" ".join(node.text().split()) for node in self.tree.css(selector))

    def count(self, selector: str) -> int:
        return len(self.tree.css(selector))

    @property
    def location(self) -> str:
        return self.headers["Location"] or ""


class Browser:
    """Keeps cookies, says where its forms come from, follows nothing by itself."""

    def __init__(self, url: str, language: str = "en") -> None:
        self.url = url
        self.language = language
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Seen:
        given = {"Accept-Language": self.language, **{n.replace("_", "-"): v for n, v in headers.items()}}
        if self.cookies:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, quote(path, safe="/?=&%+#:,!"), body, given)
            response = connection.getresponse()
            for cookie in response.headers.get_all("Set-Cookie") or ():
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies.pop(name, None)
                if value.strip('"'):
                    self.cookies[name] = value
            return Seen(response.status, response.headers, response.read().decode(errors="replace"))

    def get(self, path: str, **query: object) -> Seen:
        return self.send("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, fields: Mapping[str, object] | None = None, **headers: str) -> Seen:
        kind = {"Content_Type": "application/x-www-form-urlencoded", "Origin": self.url}
        return self.send("POST", path, urlencode(fields or {}, doseq=True), **{**kind, **headers})

    def upload(self, path: str, fields: Mapping[str, str], name: str, content: bytes) -> Seen:
        """A form with one file, as browsers send it."""
        fence = "----fence7MA4YWxkTrZu0gW"
        parts = [f'--{fence}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items()]
        head = f'--{fence}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'
        body = "".join(parts).encode() + head.encode() + content + f"\r\n--{fence}--\r\n".encode()
        kind = {"Content_Type": f"multipart/form-data; boundary={fence}", "Origin": self.url}
        return self.send("POST", path, body, **kind)

    def sign_in(self, key: str) -> Seen:
        return self.post("/console/sign-in", {"key": key, "next": "/console/search"})
