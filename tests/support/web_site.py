"""A web site on loopback: pages, robots.txt and a sitemap, with what the last requests asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from listening import listening

HTML = "text/html; charset=utf-8"


def html(title: str, text: str, *links: str, head: str = "") -> bytes:
    """A page with a menu, a paragraph and links."""
    told = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f"<!doctype html><html><head><title>{title}</title>{head}</head><body><nav><ul>{told}</ul></nav>"
        f"<main><h1>{title}</h1><p>{text}</p></main></body></html>"
    ).encode()


class Site:
    """What a server answers, by path; a page may also be a function of the handler.

    Attributes:
        pages: Path → (status, headers, body), or a function that answers itself.
        asked: Method, path and conditions of the requests so far, in order.
        etags: Whether pages are sent with an ETag, and not again to who knows them.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {}
        self.asked: list[str] = []
        self.sent: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.etags = True
        self.otherwise: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.url = ""

    def put(self, path: str, body: bytes | str, content_type: str = HTML, status: int = 200, **headers: str) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, {"Content-Type": content_type, **headers}, content)

    def forget(self) -> None:
        self.asked, self.sent, self.headers = [], [], []

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        self.asked.append(to.path)
        self.headers.append({name.lower(): value for name, value in to.headers.items()})
        page = self.pages.get(to.path, self.otherwise)
        if callable(page):
            page(to)
            return
        status, headers, body = page or (404, {"Content-Type": "text/plain"}, b"nothing here")
        tag = f'"{hashlib.sha256(body).hexdigest()[:12]}"'
        if status == 200 and self.etags:
            if to.headers.get("If-None-Match") == tag:
                status, body = 304, b""
            headers = {**headers, "ETag": tag}
        if status == 200:
            self.sent.append(to.path)
        to.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            to.send_header(name.replace("_", "-"), value)
        to.end_headers()
        to.wfile.write(body)


@contextmanager
def web_site() -> Iterator[Site]:
    """A site, for as long as it answers."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.answer(self)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            """Nothing is told."""

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        site.url = url
        yield site
