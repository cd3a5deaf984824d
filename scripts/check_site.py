"""What must hold of the built documentation: links, anchors, navigation, foreign hosts, twins, and nothing lost in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
    ("embed", "src"),
}
_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest"}
_COUNTED = {"li": "list_item_open", "tr": "tr_open", "pre": "fence", "blockquote": "blockquote_open", "img": "image"}
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


class Built(HTMLParser):
    """What a page has: ids, links, what it loads, and how many of each element stand in its article."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.counts: Counter[str] = Counter()
        self._in_article = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        given = dict(attrs)
        if identity := given.get("id"):
            self.ids.add(identity)
        if tag == "a" and (link := given.get("href")) is not None:
            self.links.append(link)
        if tag == "link" and (given.get("rel") or "") in _RELATIONS:
            self.loaded.append(given.get("href") or "")
        self.loaded += [given.get(name) or "" for element, name in _LOADED if element == tag and given.get(name)]
        self._in_article |= tag == "article"
        if self._in_article:
            self.counts["heading" if tag in _HEADINGS else tag] += 1

    def handle_endtag(self, tag: str) -> None:
        """Leave the article."""
        self._in_article &= tag != "article"


@cache
def built(file: Path) -> Built:
    """A page of the site, read once."""
    page = Built()
    page.feed(file.read_text("utf-8"))
    return page


def intended(text: str) -> Counter[str]:
    """How many items, rows, blocks, headings and pictures a text has, as CommonMark with tables reads it."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    every = [one for token in tokens for one in (token, *(token.children or ()))]
    counts = Counter(token.type for token in every)
    found = Counter({element: counts[kind] for element, kind in _COUNTED.items()})
    found["pre"] += counts["code_block"]
    found["heading"] = counts["heading_open"]
    return found


def dead_links(site: Path, file: Path) -> Iterator[str]:
    """Links to a page or a heading that the site does not have."""
    for link in built(file).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if parts.scheme not in {"https", "http", "mailto"}:
                yield f"a link of a strange kind: {link}"
            continue
        start = site if parts.path.startswith("/") else file.parent
        target = Path(os.path.normpath(start / unquote(parts.path).lstrip("/"))) if parts.path else file
        if not target.is_file() or site not in target.parents:
            yield f"leads nowhere: {link}"
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in built(target).ids:
            yield f"has no such heading: {link}"


def foreign(site: Path) -> Iterator[str]:
    """Scripts, styles, fonts and pictures from another host."""
    for file in sorted(site.rglob("*.html")):
        for address in built(file).loaded:
            if urlsplit(address).netloc:
                yield f"{file.relative_to(site)}: loads {address}"
    for file in sorted(site.rglob("*.css")):
        for address in re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", file.read_text("utf-8")):
            yield f"{file.relative_to(site)}: loads {address}"


def not_shown(sources: dict[str, Path], site: Path, home: Path) -> Iterator[str]:
    """Pages on which something of their text is missing or was taken for something else."""
    for address, source in sorted(sources.items()):
        if source.suffix != ".md":
            continue
        meant, found = intended((home / source).read_text("utf-8")), built(site / f"{address}.html").counts
        for element, count in meant.items():
            if found[element] != count:
                yield f"{source}: {count} × {element} in the text, {found[element]} on the page"


def outside(navigated: list[Path], home: Path) -> Iterator[str]:
    """Pages of ``docs/`` that stand in no section of the navigation, or in two."""
    counts = Counter(navigated)
    for file in sorted((home / "docs").rglob("*.md")):
        if (count := counts[file.relative_to(home)]) != 1:
            yield f"{file.relative_to(home)}: {count} places in navigation.toml"


def without_twin(sources: dict[str, Path], site: Path) -> Iterator[str]:
    """Pages without a twin in Markdown that the index of their language lists, and twins whose links lead nowhere."""
    for address in sorted(sources):
        twin = site / f"{address}.md"
        index = site / ("zh" if address.startswith("zh/") else "") / "llms.txt"
        inner = address.removeprefix("zh/")
        text = twin.read_text("utf-8") if twin.is_file() else ""
        links = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]+)", re.sub(r"(?ms)^ *```.*?^ *```|`[^`\n]*`", "", text))
        yield from (
            f"{address}.md leads nowhere: {link}" for link in links if not (twin.parent / unquote(link)).exists()
        )
        if not twin.is_file():
            yield f"{address} has no twin"
        elif inner != "index" and f"]({inner}.md)" not in index.read_text("utf-8"):
            yield f"{address} is not in {index.relative_to(site)}"


def misspelled(files: list[Path], home: Path, words: Path, wrong: Path) -> Iterator[str]:
    """English words that are spelled wrongly, by codespell's list and those that we use in another sense; Chinese ones by ours."""
    command = [Path(sys.executable).parent / "codespell", "--ignore-words", words, *(home / file for file in files)]
    said = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    yield from (line.removeprefix(f"{home}/") for line in said.stdout.splitlines())
    if said.stderr:
        yield f"codespell: {said.stderr}"
    pairs = [line.split("\t") for line in wrong.read_text("utf-8").splitlines()]
    for file in files:
        for number, line in enumerate((home / file).read_text("utf-8").splitlines(), 1):
            yield from (f"{file}:{number}: {bad} ==> {good}" for bad, good in pairs if bad in line)


def faults(site: Path, home: Path, navigated: list[Path], sources: dict[str, Path]) -> list[str]:
    """All that is wrong with the site, one line each; ``sources``: the address of each page → its file."""
    built.cache_clear()
    found = [*outside(navigated, home), *foreign(site), *not_shown(sources, site, home), *without_twin(sources, site)]
    for file in sorted(site.rglob("*.html")):
        found += [f"{file.relative_to(site)}: {fault}" for fault in dead_links(site, file)]
    return found
