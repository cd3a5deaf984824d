"""Parses pages and sitemaps for crawling: links, addresses and modification dates."""

from __future__ import annotations

import gzip
import io
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit
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
        NoSitemap: it is no sitemap, or too large when decompressed.
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


# robots.txt (RFC 9309).


MOST_ROBOTS = 500 * 1_024
"""So much of a robots.txt counts; RFC 9309 asks for no less."""
_MOST_RULES = 5_000
_LONGEST_DELAY = 60.0


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of a robots.txt for our agent.

    Attributes:
        rules: Patterns of paths, as compiled, with their length and whether they allow.
        delay: Seconds between two requests, ``Crawl-delay``; 0 where nothing is asked.
        sitemaps: Addresses of sitemaps.
    """

    rules: tuple[tuple[re.Pattern[str], int, bool], ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether an address may be fetched: the longest matching rule decides, and of equal ones the one that
        allows.
        """
        parts = urlsplit(url)
        path = unquote(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/")
        fitting = [(length, allowing) for pattern, length, allowing in self.rules if pattern.match(path)]
        return max(fitting)[1] if fitting else True


def robots_text(body: bytes) -> str:
    """The lines of a robots.txt of which at most `MOST_ROBOTS` bytes were taken.

    The line at which it was cut is left out: the first half of a rule would be another, wider one.
    """
    text = body[:MOST_ROBOTS].decode("utf-8", "replace")
    return text if len(body) < MOST_ROBOTS else "\n".join(text.splitlines()[:-1])


def parse_robots(text: str, agent: str) -> Robots:
    """The rules of the group for an agent, else of the group for all. Unknown lines are ignored."""
    groups: dict[str, list[tuple[str, str]]] = {}
    sitemaps: list[str] = []
    names: list[str] = []
    begun = False
    for line in text.lstrip("\ufeff").splitlines():
        name, found, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not found:
            continue
        if name == "sitemap":
            sitemaps.append(value)
        elif name == "user-agent":
            names, begun = ([], False) if begun else (names, False)
            names.append(value.lower())
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow", "crawl-delay"):
            begun = True
            for one in names:
                groups[one].append((name, value))
    lines = groups.get(agent, groups.get("*", []))[:_MOST_RULES]
    rules = tuple(
        (_pattern(value), len(value), name == "allow") for name, value in lines if value and "allow" in name
    )
    delays = [_seconds(value) for name, value in lines if name == "crawl-delay"]
    return Robots(rules, max(delays, default=0.0), tuple(sitemaps[:100]))


def _pattern(rule: str) -> re.Pattern[str]:
    plain = unquote(rule)
    end = plain.endswith("$")
    # Stars side by side are one: a row of them would be tried in as many ways as there are characters.
    steps = re.sub(r"\*+", "*", plain.removesuffix("$")).split("*")[:32]
    return re.compile(".*?".join(map(re.escape, steps)) + (r"\Z" if end else ""), re.DOTALL)


def _seconds(value: str) -> float:
    try:
        return min(_LONGEST_DELAY, max(0.0, float(value)))
    except ValueError:
        return 0.0
