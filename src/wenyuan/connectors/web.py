"""A web site: pages of its sitemap, or found by following links, below one address and within limits.

What robots.txt forbids is not asked for, and there is a pause between two requests. A page that has not changed is
not sent again (``ETag``, ``Last-Modified``), and one whose day of change in the sitemap is the same is not asked for.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import cast
from urllib.parse import unquote, urljoin, urlsplit

from pydantic import Field

from wenyuan.connectors.connector_settings import ConnectorSettings
from wenyuan.connectors.http_client import AGENT, HttpAnswer, HttpClient, Unanswered
from wenyuan.connectors.pages import plain_address
from wenyuan.connectors.robots import MOST_PATTERNS, MOST_ROBOTS, Robots, TooManyRules, parse_robots, robots_text
from wenyuan.core.connectors import LIBRARY_SETTINGS, MOST_BYTES, Entry, Known, ListingCut, Opening
from wenyuan.core.errors import DocumentRejected, SourceError, msg
from wenyuan.core.text.charsets import charset_of
from wenyuan.settings import VariableName, declared

_HTML = ("text/html", "application/xhtml+xml")
_HTML_SUFFIXES = frozenset(("", ".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx", ".jsp", ".do", ".cgi"))
_SUFFIXES = {"text/markdown": ".md", "text/plain": ".txt", "text/csv": ".csv", "application/x-ndjson": ".jsonl"}
_MOST_SITEMAPS, _MOST_SITEMAP, _MOST_PAGES = 50, 50 << 20, 200_000
_MOST_HOPS = 5
_LONGEST = 1_000  # characters of a header
_MOST_IN_A_ROW = 5  # requests without an answer, after which a server is taken to be down
_GONE = (404, 410)


class SiteSettings(ConnectorSettings):
    """Settings of a web site.

    Attributes:
        max_pages: Pages that are asked for in one run.
        max_depth: Steps from the first page.
        max_mb: Megabytes that are taken in one run.
        max_minutes: Minutes that one run may take.
        delay: Seconds between two requests; robots.txt may ask for more.
        sitemap: ``auto``: the one that the site names; ``none``: links are followed; else its address.
        exclude: Patterns of paths that are left out (``*``, ``?``), as ``/docs/archive/*``.
        token_env: The environment variable of a token that is sent to this host as ``Authorization: Bearer``.
    """

    max_pages: int = Field(default=1_000, ge=1, le=100_000)
    max_depth: int = Field(default=10, ge=0, le=100)
    max_mb: int = Field(default=1_000, ge=1, le=100_000)
    max_minutes: float = Field(default=120.0, gt=0, le=1_440)
    delay: float = Field(default=1.0, ge=0, le=60)
    sitemap: str = "auto"
    exclude: list[str] = Field(default_factory=list, max_length=1_000)
    token_env: VariableName | None = None


def open_site(opening: Opening) -> Site:
    """Open a site; the source's address is that of the first page."""
    settings = declared(SiteSettings, opening.source, apart=LIBRARY_SETTINGS)
    start = plain_address(opening.url)
    headers = {"Authorization": f"Bearer {opening.secret(settings.token_env)}"} if settings.token_env else {}
    return Site(opening, settings, start, HttpClient(opening, home=start, headers=headers, timeout=settings.timeout))


class Site:
    """The pages of a site; made by `open_site`."""

    def __init__(self, opening: Opening, settings: SiteSettings, start: str, client: HttpClient) -> None:
        self._component = opening.component
        self._readable, self._parse = opening.readable, opening.parse
        self._settings = settings
        self._start = start
        self._scope, self._alone = _scope(start, opening)
        self._client = client
        self._robots = Robots()
        self._begun = time.monotonic()
        self._asked_at = float("-inf")
        self._asked = self._bytes = self._silent = 0
        self._last: tuple[str, bytes] = ("", b"")
        self._refused: dict[str, DocumentRejected] = {}
        self._short = ""  # why the sitemaps name perhaps not all there is

    def list(self, known: Known) -> Iterator[Entry]:
        """The pages; each is requested while listing and kept, so that it can be fetched without a second request."""
        self._robots = self._asked_robots()
        if not self._robots.allows(self._start):
            raise SourceError(
                msg("the site asks programs not to read {url} (robots.txt)", url=self._start),
                component=self._component,
            )
        days = {} if self._alone else self._sitemap()
        queue = deque((url, 0) for url in days) if days else deque([(self._start, 0)])
        seen = {url for url, _ in queue}
        while queue:
            url, depth = queue.popleft()
            self._check_limits(len(queue) + 1)
            before = known.entries.get(url)
            if before is not None and days.get(url) and _day(before) == days[url]:
                yield before
                continue
            entry, links = self._page(url, before, days.get(url, ""), first=not days and not depth)
            if entry is not None:
                yield entry
            if days or self._alone or depth >= self._settings.max_depth:
                continue
            for link in links:
                if len(seen) > 2 * self._settings.max_pages:  # it will stop at that limit, whatever else is found
                    break
                if link not in seen and self._is_wanted(link):
                    seen.add(link)
                    queue.append((link, depth + 1))
        if self._short:
            raise ListingCut(self._short, component=self._component)

    def fetch(self, entry: Entry, most: int) -> bytes:
        """The content of a page: the one listed last from memory, others from the site."""
        if entry.key in self._refused:
            raise self._refused[entry.key]
        if self._last[0] == entry.key and len(self._last[1]) <= most:
            return self._last[1]
        answer = self._followed(entry.key, most)
        if answer.status != 200:
            raise _rejected(answer.status)
        return _decoded(answer)

    def close(self) -> None:
        self._client.close()

    # -- where to go -----------------------------------------------------------------------------------

    def _asked_robots(self) -> Robots:
        answer = self._followed(urljoin(self._start, "/robots.txt"), MOST_ROBOTS + 1, cut=True)
        if answer.status == 200:
            try:
                return parse_robots(robots_text(answer.body), AGENT)
            except TooManyRules as error:
                told = msg("its robots.txt has more than {most} rules with * or $", most=f"{MOST_PATTERNS:,}")
                raise SourceError(told, component=self._component) from error
        if 400 <= answer.status < 500 and answer.status != 429:
            return Robots()
        raise SourceError(
            msg("its robots.txt answered HTTP {status}: nothing is read until it can be", status=answer.status),
            component=self._component,
        )

    def _sitemap(self) -> dict[str, str]:
        """Pages in scope from the site's sitemaps with their modification dates; empty where links are followed
        instead.
        """
        chosen = self._settings.sitemap
        if chosen == "none":
            return {}
        usual = plain_address("/sitemap.xml", self._start)
        named = [chosen] if chosen != "auto" else [*self._robots.sitemaps, usual]
        todo = deque(dict.fromkeys(filter(None, (plain_address(url, self._start) for url in named))))
        pages: dict[str, str] = {}
        asked: set[str] = set()
        while todo:
            url = todo.popleft()
            if url in asked or not self._same_host(url) or not self._robots.allows(url):
                continue
            if len(asked) >= _MOST_SITEMAPS or len(pages) >= _MOST_PAGES or self._too_many_bytes():
                self._short = msg(
                    "stopped after {count} sitemaps, with {pages} pages", count=len(asked), pages=len(pages)
                )
                break
            asked.add(url)
            try:
                found, more = self._read_sitemap(url)
            except DocumentRejected as error:
                told = msg("the sitemap {url} cannot be read: {error}", url=url, error=error.message)
                if chosen != "auto":
                    raise SourceError(told, component=self._component) from error
                if url != usual or usual in self._robots.sitemaps:  # else nobody says that there is one
                    self._short = told
                continue
            todo += filter(None, (plain_address(one, url) for one in more[:_MOST_SITEMAPS]))
            for address, day in found.items():
                plain = plain_address(address, url)
                if plain and self._is_wanted(plain):
                    pages.setdefault(plain, day)
        return pages

    def _read_sitemap(self, url: str) -> tuple[Mapping[str, str], Sequence[str]]:
        """As `pages.sitemap_of`; a missing sitemap is empty, unless the settings name it."""
        answer = self._followed(url, _MOST_SITEMAP)
        if answer.status == 200:
            found = self._parse("wenyuan.connectors.pages:sitemap_of", answer.body, name=url)
            return found["pages"], found["more"]
        if answer.status in _GONE and self._settings.sitemap == "auto":
            return {}, []
        told = f"HTTP {answer.status}"
        if answer.status >= 500 or answer.status == 429:  # what only it names would be taken for gone
            raise SourceError(
                msg("the sitemap {url} cannot be read: {error}", url=url, error=told),
                component=self._component,
                hint="where the site has none, set sitemap to none in the source's settings",
            )
        raise DocumentRejected(told)

    def _is_wanted(self, url: str) -> bool:
        if time.monotonic() - self._begun > self._settings.max_minutes * 60:
            self._check_limits(0)  # a page may name thousands, and a robots.txt as many rules
        path = urlsplit(url).path
        name = PurePosixPath(path).name
        return (
            (url == self._start or url.startswith(self._scope))
            and (_suffix(url) in _HTML_SUFFIXES or self._readable(name))
            and not any(fnmatchcase(unquote(path), pattern) for pattern in self._settings.exclude)
            and self._robots.allows(url)
        )

    def _same_host(self, url: str) -> bool:
        return urlsplit(url)[:2] == urlsplit(self._start)[:2]

    # -- pages -----------------------------------------------------------------------------------------

    def _check_limits(self, left: int) -> None:
        settings, told = self._settings, ""
        if self._asked >= settings.max_pages:
            told = msg("{count} pages (settings.max_pages)", count=self._asked)
        elif self._too_many_bytes():
            told = msg("{count} MB (settings.max_mb)", count=settings.max_mb)
        elif time.monotonic() - self._begun > settings.max_minutes * 60:
            told = msg("{count} minutes (settings.max_minutes)", count=f"{settings.max_minutes:g}")
        if told:
            raise ListingCut(
                msg("stopped after {limit}; {left} more addresses were found", limit=told, left=left),
                component=self._component,
            )

    def _too_many_bytes(self) -> bool:
        return self._bytes >= self._settings.max_mb * 1_000_000

    def _page(self, url: str, before: Entry | None, day: str, *, first: bool) -> tuple[Entry | None, Iterator[str]]:
        """Request a page; returns its entry (None if it is gone) and its links."""
        self._asked += 1
        remembered = iter(_links(before) if before is not None else ())
        conditions = _conditions(before.version) if before is not None else {}
        try:
            answer = self._get(url, conditions, MOST_BYTES)
            self._silent = 0
            if answer.status == 304 and before is not None:
                return _entry(url, before.name, before.version, _links(before), day), remembered
            if 300 <= answer.status < 400:
                return self._elsewhere(url, answer, first=first)
            if answer.status in _GONE and not first:
                return None, iter(())
            if answer.status != 200:
                raise _rejected(answer.status)
            return self._page_entries(url, answer, day)
        except Unanswered as error:
            self._silent += 1
            if first or self._silent >= _MOST_IN_A_ROW:
                raise
            return self._failed(url, DocumentRejected(error.message), before), remembered
        except DocumentRejected as error:
            if first:
                raise SourceError(
                    msg("{url}: {error}", url=url, error=error.message), component=self._component
                ) from error
            return self._failed(url, error, before), remembered

    def _page_entries(self, url: str, answer: HttpAnswer, day: str) -> tuple[Entry | None, Iterator[str]]:
        html = answer.content_type in _HTML or (not answer.content_type and _suffix(url) in _HTML_SUFFIXES)
        index, found = self._links(answer, url) if html else (True, [])
        links = [link for link in found if self._is_wanted(link)]
        if not index:
            return None, iter(links)
        self._last = (url, _decoded(answer) if html else answer.body)
        return _entry(url, _name(url, answer.content_type, html=html), _version(answer), links, day), iter(links)

    def _links(self, answer: HttpAnswer, url: str) -> tuple[bool, Sequence[str]]:
        """Whether a page may be read, and the links in it that may be followed."""
        arguments = {"base": url, "content_type": answer.headers.get("content-type", "")[:_LONGEST]}
        found = self._parse("wenyuan.connectors.pages:links_of", answer.body, arguments, name=url)
        return found["index"], found["links"] if found["follow"] else []

    def _elsewhere(self, url: str, answer: HttpAnswer, *, first: bool) -> tuple[None, Iterator[str]]:
        """A redirect counts as a link to follow, if it stays on the site."""
        target = plain_address(answer.headers.get("location", ""), url)
        if first and not (target and self._is_wanted(target)):
            raise SourceError(
                msg("{url} leads to {target}, which is not below it", url=url, target=target or "nowhere"),
                component=self._component,
                hint="if that is meant, make it the path of the source",
            )
        return None, iter((target,) if target else ())

    def _followed(self, url: str, most: int, *, cut: bool = False) -> HttpAnswer:
        """The response at an address, following redirects within this host."""
        for _ in range(_MOST_HOPS):
            answer = self._get(url, {}, most, cut=cut)
            if not 300 <= answer.status < 400:
                break
            url = self._redirected(url, answer)
        return answer

    def _redirected(self, url: str, answer: HttpAnswer) -> str:
        target = plain_address(answer.headers.get("location", ""), url)
        if not target or not self._same_host(target):
            raise DocumentRejected(
                msg("it leads to {target}, on another host, which is refused", target=target or "nowhere"),
                component=self._component,
            )
        return target

    def _failed(self, url: str, error: DocumentRejected, before: Entry | None) -> Entry:
        """The entry of a page that failed. It has no version, so it is requested again; its known links are kept."""
        self._refused[url] = error
        name = _name(url, "", html=_suffix(url) in _HTML_SUFFIXES)
        return _entry(url, name, "", _links(before) if before is not None else (), "")

    def _get(self, url: str, headers: Mapping[str, str], most: int, *, cut: bool = False) -> HttpAnswer:
        pause = max(self._settings.delay, self._robots.delay) - (time.monotonic() - self._asked_at)
        if pause > 0:
            time.sleep(pause)
        self._asked_at = time.monotonic()
        answer = self._client.get(url, most, headers, cut=cut)
        self._bytes += len(answer.body)
        return answer


def _scope(start: str, opening: Opening) -> tuple[str, bool]:
    """The prefix of addresses that belong to the site, and whether it is a single file."""
    path = urlsplit(start).path
    bare = start.partition("?")[0]
    suffix, name = _suffix(start), PurePosixPath(path).name
    alone = suffix not in _HTML_SUFFIXES and opening.readable(name)
    if path.endswith("/"):
        return bare, False
    return (bare[: bare.rfind("/") + 1] if suffix else f"{bare}/"), alone


def _suffix(url: str) -> str:
    return PurePosixPath(urlsplit(url).path).suffix.lower()


def _name(url: str, content_type: str, *, html: bool) -> str:
    """File name of a page, with a suffix that selects its reader."""
    name = unquote(PurePosixPath(urlsplit(url).path).name).replace("/", "_") or urlsplit(url).hostname or "page"
    suffix = PurePosixPath(name).suffix.lower()
    if html:
        return name if suffix in (".html", ".htm", ".xhtml") else f"{name}.html"
    told = _SUFFIXES.get(content_type) or mimetypes.guess_extension(content_type) or ""
    return name if suffix not in _HTML_SUFFIXES or not told else f"{name}{told}"


def _entry(url: str, name: str, version: str, links: Sequence[str], day: str) -> Entry:
    note = json.dumps({"links": list(links), "lastmod": day}, ensure_ascii=False)
    return Entry(key=url, uri=url, name=name, version=version, note=note)


def _links(entry: Entry) -> Sequence[str]:
    """The links of a page when it was last sent."""
    return cast("Sequence[str]", json.loads(entry.note)["links"]) if entry.note else ()


def _day(entry: Entry) -> str:
    """The modification date of a page in the sitemap."""
    return str(json.loads(entry.note)["lastmod"]) if entry.note else ""


def _version(answer: HttpAnswer) -> str:
    for kind, name in (("etag", "etag"), ("modified", "last-modified")):
        told = answer.headers.get(name, "")
        if told and len(told) <= 300:
            return f"{kind} {told}"
    return f"sha256 {hashlib.sha256(answer.body).hexdigest()}"


def _conditions(version: str) -> dict[str, str]:
    kind, _, told = version.partition(" ")
    return {"etag": {"If-None-Match": told}, "modified": {"If-Modified-Since": told}}.get(kind, {})


def _decoded(answer: HttpAnswer) -> bytes:
    """A page in UTF-8, converted where the HTTP header declares another charset, which the page need not repeat."""
    charset = answer.headers.get("content-type", "").lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    known = charset_of(charset)
    if answer.content_type not in _HTML or known in ("", "utf-8", "ascii"):
        return answer.body
    return answer.body.decode(known, "replace").encode("utf-8-sig")


def _rejected(status: int) -> DocumentRejected:
    return DocumentRejected(msg("the server answered HTTP {status}", status=status))
