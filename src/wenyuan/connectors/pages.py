"""Parses pages and sitemaps for crawling: links, addresses and modification dates."""

from __future__ import annotations

import gzip
import io
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import quote, urljoin, urlsplit, urlunsplit
from xml.etree import ElementTree

MOST_LINKS = 5_000
"""So many links of one page are followed."""
_LONGEST = 2_000  # characters of an address
_MOST_UNPACKED = 50 << 20
_USUAL = {"http": 80, "https": 443}
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([A-Za-z0-9_\-]+)", re.IGNORECASE)


def plain_address(address: str, base: str = "") -> str:
    """Normal form of a web address; ``""`` for anything else.

    Without a fragment and the usual port, its host in small letters, and what is no ASCII escaped.
    """
    try:
        parts = urlsplit(urljoin(base, address.strip()))
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError:
        return ""
    if scheme not in _USUAL or not host or "@" in parts.netloc:
        return ""
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, _USUAL[scheme]) else f"{shown}:{port}"
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~?[]")
    plain = urlunsplit((scheme, place, path, query, ""))
    return plain if len(plain) <= _LONGEST else ""


@dataclass(slots=True)
class Links:
    """Crawling information in a page: its links, and whether robots meta tags allow indexing and following."""

    links: dict[str, None] = field(default_factory=dict)
    index: bool = True
    follow: bool = True


class _Page(HTMLParser):
    """A link parser in plain Python: pages are untrusted, and full parsing happens only in a separate process."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Links()
        self._base = base

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "base" and told.get("href"):
            self._base = urljoin(self._base, told["href"])
        elif tag == "meta" and told.get("name", "").lower() in ("robots", "wenyuan"):
            words = told.get("content", "").lower()
            self.found.index &= "noindex" not in words and "none" not in words
            self.found.follow &= "nofollow" not in words and "none" not in words
        elif tag in ("a", "area") and told.get("href") and "nofollow" not in told.get("rel", "").lower():
            address = plain_address(told["href"], self._base)
            if address and len(self.found.links) < MOST_LINKS:
                self.found.links[address] = None


def links_of(content: bytes, base: str, content_type: str = "") -> Links:
    """The links of an HTML page, in its order, each once.

    Args:
        content_type: Of the HTTP header, which may name the character set.
    """
    named = _CHARSET.search(content_type.encode("latin-1", "replace")) or _CHARSET.search(content[:2_048])
    page = _Page(base)
    try:
        text = content.decode(named[1].decode() if named else "utf-8", "replace")
    except LookupError:
        text = content.decode("utf-8", "replace")
    page.feed(text)
    page.close()
    return page.found


class NoSitemap(ValueError):
    """The content is no sitemap."""


def parse_sitemap(content: bytes) -> tuple[dict[str, str], list[str]]:
    """The pages of a sitemap (sitemaps.org) with their modification dates (``""`` without one), and nested sitemaps.

    Raises:
        NoSitemap: it is none, or it would unfold to too much.
    """
    if content.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(io.BytesIO(content)) as packed:
                content = packed.read(_MOST_UNPACKED + 1)
        except (OSError, EOFError) as error:
            raise NoSitemap("it is damaged") from error
        if len(content) > _MOST_UNPACKED:
            raise NoSitemap("it unfolds to too much")
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:  # entities may unfold without end
        raise NoSitemap("it declares entities")
    try:
        root = ElementTree.fromstring(content)  # noqa: S314  (without a document type nothing is unfolded)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise NoSitemap("it is no XML") from error
    pages: dict[str, str] = {}
    more: list[str] = []
    for entry in root:
        kind = entry.tag.rpartition("}")[2]
        told = {child.tag.rpartition("}")[2]: (child.text or "").strip() for child in entry}
        if kind == "url" and told.get("loc"):
            pages.setdefault(told["loc"], told.get("lastmod", ""))
        elif kind == "sitemap" and told.get("loc"):
            more.append(told["loc"])
    if not pages and not more and root.tag.rpartition("}")[2] not in ("urlset", "sitemapindex"):
        raise NoSitemap("it is no sitemap")
    return pages, more
