"""A web site that means harm: what it wrote is matched in linear time, or parsed in a process that can be ended."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

import wenyuan
from parsing import parse
from patience import in_time
from web_site import Site, html, web_site
from wenyuan.connectors.pages import MOST_LINKS
from wenyuan.connectors.robots import MOST_PATTERNS, TooManyRules, parse_robots
from wenyuan.core.errors import DocumentRejected, SourceError

QUICK = {"delay": 0, "allow_private": True, "timeout": 5}
LINKS = "wenyuan.connectors.pages:links_of"
SITEMAP = "wenyuan.connectors.pages:sitemap_of"
ADDRESS = "https://example.com/"


@pytest.fixture
def site() -> Iterator[Site]:
    with web_site() as site:
        site.put("/", html("Home", "Welcome to the handbook.", f"/{'a' * 1_500}", "/leave"))
        site.put("/leave", html("Leave", "Up to five days may be carried over."))
        yield site


def test_a_rule_of_many_stars_holds_nobody_up(site: Site, tmp_path: Path) -> None:
    """A pattern that an expression would try in more ways than there are seconds is matched part by part."""
    site.put("/robots.txt", f"User-agent: *\nDisallow: /{'*a' * 11}*b$\nDisallow: /*ve$\n", "text/plain")
    source = wenyuan.Source(source_id="site", path=f"{site.url}/", settings=QUICK)
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library, in_time():
        library.add(source)
        assert {uri.removeprefix(site.url) for uri in library.catalog.live_documents("site")} == {"/"}
    assert f"/{'a' * 1_500}" in site.asked


@pytest.mark.parametrize(
    ("rule", "path", "allowed"),
    [
        ("/a*b$", "/axxb", False),
        ("/a*b$", "/axxbc", True),
        ("/a*b*b$", "/ab", True),
        ("/a*b*b$", "/abb", False),
        ("/a*", "/a", False),
        ("/*", "/", False),
        ("*b", "/ab", False),
        ("/a$", "/a", False),
        ("/a$", "/ab", True),
        ("/a*ab$", "/ab", True),
        ("/a*ab$", "/aab", False),
        ("/a**b", "/axb", False),
        ("/%2a*x", "/*/x", False),
        ("/a", "/b", True),
        ("/a?b", "/a?b=1", False),
    ],
)
def test_rules_with_stars(rule: str, path: str, allowed: bool) -> None:
    """``*`` is any text, none included; ``$`` at the end of a rule is the end of the path."""
    assert parse_robots(f"User-agent: *\nDisallow: {rule}", "wenyuan").allows(f"https://example.com{path}") is allowed


def test_the_longest_rule_decides() -> None:
    """Of a plain rule and one with stars the longer counts, and of equal ones the one that allows."""
    robots = parse_robots("User-agent: *\nDisallow: /docs\nAllow: /*/open\nAllow: /same\nDisallow: /sam*", "wenyuan")
    assert [robots.allows(f"{ADDRESS}{path}") for path in ("docs/shut", "docs/open", "same", "sam")] == [
        False, True, True, False,
    ]  # fmt: skip


def test_rules_that_cannot_be_kept_to_are_refused(site: Site, tmp_path: Path) -> None:
    """A site with more patterns than are tried is not read: none of its rules is passed over."""
    text = "User-agent: *\n" + "".join(f"Disallow: /*{at}\n" for at in range(MOST_PATTERNS + 1))
    with pytest.raises(TooManyRules):
        parse_robots(text, "wenyuan")
    site.put("/robots.txt", text, "text/plain")
    source = wenyuan.Source(source_id="site", path=f"{site.url}/", settings=QUICK)
    with (
        wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library,
        pytest.raises(SourceError, match="more than 1,000 rules"),
    ):
        library.add(source)


def test_thousands_of_plain_rules_all_count() -> None:
    """Rules without patterns are looked up, however many there are."""
    text = "User-agent: *\n" + "".join(f"Disallow: /{at}/\n" for at in range(20_000))
    robots = parse_robots(text, "wenyuan")
    assert not robots.allows(f"{ADDRESS}19999/x")
    assert robots.allows(f"{ADDRESS}20000/x")


@pytest.mark.parametrize("opener", ["<a ", "<!--", "<![CDATA[", "<a href='", "<?", "</", "<a><b>"])
def test_openers_without_end_give_no_links(opener: str) -> None:
    """A page of half a megabyte of openers is parsed in time."""
    with in_time():
        assert parse(LINKS, (opener * (500_000 // len(opener))).encode(), {"base": ADDRESS}, name="a")["links"] == []


def test_links_and_what_robots_may_do() -> None:
    """Links are absolute, each once, without those that ask not to be followed; meta tags speak for the page."""
    page = (
        b"<base href='/docs/'><meta name=ROBOTS content='NoIndex'><a href=a>1</a><A HREF='a#x'>2</A>"
        b"<a rel='nofollow' href=b>3</a><area href='//other.example/c'><a>4</a><a href=''>5</a>"
    )
    assert parse(LINKS, page, {"base": ADDRESS}, name="a") == {
        "links": [f"{ADDRESS}docs/a", "https://other.example/c"], "index": False, "follow": True,
    }  # fmt: skip
    many = "".join(f"<a href=/{at}>" for at in range(MOST_LINKS + 10)).encode()
    assert len(parse(LINKS, many, {"base": ADDRESS}, name="a")["links"]) == MOST_LINKS


def test_a_packed_sitemap_unfolds_within_its_limit() -> None:
    """What unfolds to more than is taken is refused before it is unfolded; several members are one sitemap."""
    bomb = gzip.compress(b"<urlset>" + b" " * (60 << 20))
    with pytest.raises(DocumentRejected, match="unfolds to too much"):
        parse(SITEMAP, bomb, name="sitemap.xml.gz")
    parts = b"".join(map(gzip.compress, (b"<urlset><url><loc>u</loc>", b"<lastmod>2026</lastmod></url></urlset>")))
    assert parse(SITEMAP, parts, name="sitemap.xml.gz") == {"pages": {"u": "2026"}, "more": []}


def test_a_sitemap_of_endless_depth_is_refused() -> None:
    """Elements a million deep are no sitemap."""
    with pytest.raises(DocumentRejected):
        parse(SITEMAP, b"<urlset>" + b"<a>" * 1_000_000, name="sitemap.xml")
