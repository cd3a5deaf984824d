"""A web site as a source: which pages are taken in, which are asked for again, and where it stops."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from parsing import parse
from web_site import Site, html, web_site
from wenyuan.cli.root import app
from wenyuan.conformance import check_connector
from wenyuan.connectors.selection import open_connector
from wenyuan.core.errors import ConfigError, OriginalChanged, SourceError
from wenyuan.service.ingest.progress import IngestReport

QUICK = {"delay": 0, "allow_private": True, "timeout": 5}


class Shelf:
    """A site, and a library whose source ``site`` reads it."""

    def __init__(self, site: Site, library: wenyuan.Library) -> None:
        self.site, self.library = site, library
        self.path = "/"

    def run(self, **settings: Any) -> IngestReport:
        self.site.forget()
        source = wenyuan.Source(source_id="site", path=self.site.url + self.path, settings=QUICK | settings)
        return self.library.add(source)

    def uris(self) -> set[str]:
        return {uri.removeprefix(self.site.url) for uri in self.library.catalog.live_documents("site")}

    def found(self, words: str) -> list[str]:
        return [fragment.uri for fragment in self.library.search(words).hits]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with web_site() as site, wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        site.put(
            "/", html("Home", "Welcome to the handbook.", "/leave", "/claims.html", "#top", "mailto:a@b.example")
        )
        site.put("/leave", html("Leave", "Up to five days may be carried over.", "/", "/deep/", "/logo.gif"))
        site.put("/claims.html", html("报销", "报销须在三十日内提交。", "//other.example/", "javascript:alert(1)"))
        site.put("/deep/", html("Deep", "Travel is booked by the desk.", "../leave?tab=2#part"))
        site.put("/leave?tab=2", html("Leave 2", "Unused days lapse in March."))
        yield Shelf(site, library)


def test_follows_links_below_its_address(shelf: Shelf) -> None:
    """Pages that links lead to are read once, under the addresses at which people find them."""
    report = shelf.run()
    assert shelf.uris() == {"/", "/leave", "/claims.html", "/deep/", "/leave?tab=2"}
    assert (report.files, report.added, report.failed) == (5, 5, {})
    assert sorted(shelf.site.asked) == sorted(
        ["/robots.txt", "/sitemap.xml", "/", "/leave", "/claims.html", "/deep/", "/leave?tab=2"]
    )
    answer = shelf.library.retrieve_fragments(wenyuan.RetrievalRequest(query="报销期限", max_results=3))
    assert answer.fragments[0].source.partition("#")[0] == f"{shelf.site.url}/claims.html"


def test_asks_for_changes_alone(shelf: Shelf) -> None:
    """A page that has not changed is not sent again, yet its links are followed; one that is gone leaves."""
    shelf.run()
    assert shelf.run().unchanged == 5
    assert shelf.site.sent == []
    shelf.site.put("/deep/", html("Deep", "Travel is booked by each one.", "../leave?tab=2#part"))
    del shelf.site.pages["/leave?tab=2"]
    report = shelf.run()
    assert (report.changed, report.retired, report.unchanged) == (1, 1, 3)
    assert shelf.site.sent == ["/deep/"]
    assert shelf.uris() == {"/", "/leave", "/claims.html", "/deep/"}


def test_pages_without_a_version_are_compared(shelf: Shelf) -> None:
    """Of a server that sends no ETag pages are sent again, and none is read that is the same."""
    shelf.site.etags = False
    shelf.run()
    report = shelf.run()
    assert (report.unchanged, report.changed) == (5, 0)
    assert len(shelf.site.sent) == 5


def test_keeps_to_robots(shelf: Shelf) -> None:
    """What robots.txt forbids to all or to us is not asked for, by the longest rule that fits."""
    shelf.site.put(
        "/robots.txt",
        "User-agent: other\nDisallow: /\n\nUser-agent: wenyuan\nDisallow: /deep/\nDisallow: /*.html$\nAllow: /leave\n",
        "text/plain",
    )
    shelf.run()
    assert shelf.uris() == {"/", "/leave"}
    shelf.site.put("/robots.txt", "User-agent: *\nDisallow: /", "text/plain")
    with pytest.raises(SourceError, match=r"robots\.txt"):
        shelf.run()
    assert shelf.uris() == {"/", "/leave"}


def test_a_long_robots_is_cut(shelf: Shelf) -> None:
    """Rules within the first 500 KiB count, as RFC 9309 asks for; half a rule, at which it is cut, counts as none."""
    rules = "User-agent: *\nDisallow: /deep/\n"
    filling = "#" * (500 * 1_024 - len(rules) - len("\nDisallow: /"))
    rest = f"claims.html\n{'# more' * 400_000}\nDisallow: /leave\n"
    shelf.site.put("/robots.txt", f"{rules}{filling}\nDisallow: /{rest}", "text/plain")
    shelf.run()
    assert {"/leave", "/claims.html"} <= shelf.uris()
    assert "/deep/" not in shelf.uris()


def test_a_robots_as_long_as_it_may_be_counts_whole(shelf: Shelf) -> None:
    """It was not cut: its last line is a rule like the others."""
    rules, last = "User-agent: *\nDisallow: /deep/\n", "\nDisallow: /leave"
    filling = "#" * (500 * 1_024 - len(rules) - len(last))
    shelf.site.put("/robots.txt", f"{rules}{filling}{last}", "text/plain")
    shelf.run()
    assert not {"/leave", "/deep/"} & shelf.uris()


def test_reads_nothing_while_robots_cannot_be_asked(shelf: Shelf) -> None:
    """A server that fails on robots.txt may forbid everything: nothing is read, and nothing retired."""
    shelf.run()
    shelf.site.put("/robots.txt", "", status=500)
    with pytest.raises(SourceError, match="HTTP 500"):
        shelf.run()
    assert len(shelf.uris()) == 5


def test_reads_what_the_sitemap_names(shelf: Shelf) -> None:
    """A sitemap says which pages there are, and by its days which of them need not be asked for."""
    page = "<url><loc>{url}{path}</loc><lastmod>{day}</lastmod></url>"
    inner = "".join(
        page.format(url=shelf.site.url, path=path, day="2026-11-01") for path in ("/leave", "/claims.html")
    )
    head = '<?xml version="1.0"?><{0} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{1}</{0}>'
    shelf.site.put("/robots.txt", f"Sitemap: {shelf.site.url}/maps.xml", "text/plain")
    shelf.site.put(
        "/maps.xml", head.format("sitemapindex", f"<sitemap><loc>{shelf.site.url}/one.xml.gz</loc></sitemap>")
    )
    shelf.site.put("/one.xml.gz", gzip.compress(head.format("urlset", inner).encode()), "application/gzip")
    shelf.run()
    assert shelf.uris() == {"/leave", "/claims.html"}
    shelf.run()
    assert "/leave" not in shelf.site.asked
    later = inner.replace("2026-11-01", "2026-11-02", 1)
    shelf.site.put("/one.xml.gz", gzip.compress(head.format("urlset", later).encode()), "application/gzip")
    report = shelf.run()
    assert [path for path in shelf.site.asked if path in ("/leave", "/claims.html")] == ["/leave"]
    assert (report.unchanged, report.changed) == (2, 0)


@pytest.mark.parametrize(
    "bomb", [b"<!DOCTYPE x [<!ENTITY a 'b'>]><urlset/>", b"\x1f\x8b broken", b"<html></html>", b""]
)
def test_a_sitemap_that_is_none_is_passed_over(shelf: Shelf, bomb: bytes) -> None:
    """A sitemap that cannot be read is no sitemap: links are followed; one that the settings name must be read."""
    shelf.site.put("/sitemap.xml", bomb, "text/xml")
    shelf.run()
    assert len(shelf.uris()) == 5
    with pytest.raises(SourceError, match="cannot be read"):
        shelf.run(sitemap=f"{shelf.site.url}/sitemap.xml")


def test_a_site_that_never_ends_is_stopped(shelf: Shelf) -> None:
    """Pages without end stop at the limit, which is named; what was read stays, and what was not met is not retired."""

    def endless(to: BaseHTTPRequestHandler) -> None:
        number = int(to.path.rpartition("/")[2] or 0) if to.path.startswith("/day/") else 0
        body = html(f"Day {number}", f"It is day {number}.", *(f"/day/{number * 3 + n}" for n in range(1, 4)))
        to.send_response(200)
        to.send_header("Content-Type", "text/html")
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    shelf.site.put("/robots.txt", "", "text/plain")
    shelf.site.put("/sitemap.xml", "", status=404)
    shelf.run()
    shelf.site.pages["/leave"] = endless
    shelf.site.otherwise = endless
    report = shelf.run(max_pages=20)
    assert report.notes[shelf.site.url + "/"][0].startswith("stopped after 20 pages (settings.max_pages)")
    assert report.files == 20
    assert report.retired == 0
    assert {"/", "/deep/", "/leave?tab=2"} <= shelf.uris()


def test_a_page_that_fails_keeps_its_older_version(shelf: Shelf) -> None:
    """An error of the server is reported with the page; what was behind it is still found."""
    shelf.run()
    shelf.site.put("/leave", "oops", status=500)
    report = shelf.run()
    assert {uri.removeprefix(shelf.site.url): reason for uri, reason in report.failed.items()} == {
        "/leave": "the server answered HTTP 500"
    }
    assert len(shelf.uris()) == 5


def test_a_page_that_fails_twice_hides_nothing(shelf: Shelf) -> None:
    """Pages to which only a page led that cannot be had stay, however often it fails."""
    before = shelf.run() and shelf.uris()
    shelf.site.put("/leave", "", status=500)
    for _ in range(3):
        report = shelf.run()
        assert (report.retired, len(report.failed)) == (0, 1)
        assert shelf.uris() == before


def test_a_sitemap_that_fails_retires_nothing(shelf: Shelf) -> None:
    """What only it names is not taken for gone: one that failed ends the run, one that is none cuts the listing."""
    place = "<sitemapindex><sitemap><loc>/{}.xml</loc></sitemap><sitemap><loc>/b.xml</loc></sitemap></sitemapindex>"
    shelf.site.put("/map.xml", place.format("a"), "text/xml")
    shelf.site.put("/sitemap.xml", b"", status=302, Location="/map.xml")
    shelf.site.put("/a.xml", "<urlset><url><loc>/leave</loc></url></urlset>", "text/xml")
    shelf.site.put("/b.xml", "<urlset><url><loc>/deep/</loc></url></urlset>", "text/xml")
    shelf.run()
    assert shelf.uris() == {"/leave", "/deep/"}
    shelf.site.put("/b.xml", b"", status=500)
    with pytest.raises(SourceError, match=r"b\.xml cannot be read: HTTP 500"):
        shelf.run()
    shelf.site.put("/b.xml", "<urlset", "text/xml")
    report = shelf.run()
    assert (report.retired, report.held_back) == (0, 1)
    assert "b.xml cannot be read: it is no XML" in report.notes[shelf.site.url + "/"][0]
    del shelf.site.pages["/b.xml"]
    assert shelf.run().retired == 1


def test_sitemaps_beyond_a_limit_are_named(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """More sitemaps than are read are told, and what they named before stays."""
    index = "".join(f"<sitemap><loc>/{n}.xml</loc></sitemap>" for n in range(3))
    shelf.site.put("/sitemap.xml", f"<sitemapindex>{index}</sitemapindex>", "text/xml")
    for n, path in enumerate(("/leave", "/deep/", "/claims.html")):
        shelf.site.put(f"/{n}.xml", f"<urlset><url><loc>{path}</loc></url></urlset>", "text/xml")
    shelf.run()
    monkeypatch.setattr("wenyuan.connectors.web._MOST_SITEMAPS", 3)
    report = shelf.run()
    assert (report.unchanged, report.retired, report.held_back) == (2, 0, 1)
    assert report.notes[shelf.site.url + "/"] == ("stopped after 3 sitemaps, with 2 pages",)


def test_an_answer_that_never_ends_is_cut_off(shelf: Shelf) -> None:
    """A page that drips for ever, or has more bytes than it may, is one page that failed."""

    def dripping(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Type", "text/html")
        to.end_headers()
        try:
            while True:
                to.wfile.write(b"x" * (1 << 20))
        except OSError:
            to.close_connection = True

    shelf.site.pages["/deep/"] = dripping
    report = shelf.run()
    [reason] = report.failed.values()
    assert "larger than 50,000,000 bytes" in reason
    assert shelf.uris() == {"/", "/leave", "/claims.html"}


def test_private_addresses_are_refused(shelf: Shelf) -> None:
    """A site on this machine is not read unless its settings allow it; and then the operator may still forbid it."""
    with pytest.raises(SourceError, match="to a private address, which is refused") as refused:
        shelf.run(allow_private=False)
    assert "allow_private" in refused.value.hint
    assert shelf.site.asked == []
    assert shelf.library.sources() == ()


def test_the_operator_may_forbid_private_addresses(tmp_path: Path) -> None:
    """What a source says of itself counts only where the settings of the library let it."""
    forbidden = {"allow_private": False}
    with wenyuan.open(tmp_path, create=True, encoder={"kind": "none"}, sources=forbidden) as library:
        with pytest.raises(ConfigError, match=r"sources\.allow_private forbids"):
            library.add(wenyuan.Source(source_id="site", path="http://127.0.0.1:9/", settings=QUICK))
        assert library.sources() == ()


@pytest.mark.parametrize(
    "to", ["http://169.254.169.254/latest/", "http://127.0.0.1:9/x", "//10.0.0.1/", "file:///etc/passwd"]
)
def test_redirects_lead_to_no_other_host(shelf: Shelf, to: str) -> None:
    """A redirect to another host is not followed, and where the first page is one, that is said."""
    shelf.site.put("/leave", "", status=302, Location=to)
    shelf.run()
    assert "/leave" not in shelf.uris()
    shelf.site.put("/", "", status=301, Location=to)
    with pytest.raises(SourceError, match="which is not below it"):
        shelf.run()


def test_redirects_within_the_site_are_links(shelf: Shelf) -> None:
    """A page that moved is read where it is now, and cited there; a loop ends."""
    shelf.site.put("/leave", "", status=301, Location="/holiday")
    shelf.site.put("/holiday", html("Holiday", "Six days.", "/loop"))
    shelf.site.put("/loop", "", status=302, Location="/loop")
    shelf.run()
    assert shelf.uris() == {"/", "/claims.html", "/holiday"}


def test_takes_the_limits_of_its_folder(shelf: Shelf) -> None:
    """The address of a folder is the border; what is excluded is not asked for; other files are read, too."""
    shelf.site.put("/deep/", html("Deep", "Down.", "/leave", "a.md", "old/b.md", "x.bin", "tab.csv"))
    shelf.site.put("/deep/a.md", "# A\n\nText of A.\n", "text/markdown")
    shelf.site.put("/deep/old/b.md", "# B\n\nText of B.\n", "text/markdown")
    shelf.site.put("/deep/tab.csv", "question,answer\nWho?,Me.\n", "text/csv")
    shelf.path = "/deep/"
    shelf.run(exclude=["/deep/old/*"])
    assert {uri.partition("?")[0] for uri in shelf.uris()} == {"/deep/", "/deep/a.md", "/deep/tab.csv"}
    assert not {"/leave", "/deep/old/b.md", "/deep/x.bin"} & set(shelf.site.asked)


def test_pages_that_ask_not_to_be_kept_are_not(shelf: Shelf) -> None:
    """``noindex`` keeps a page out, ``nofollow`` its links."""
    robots = '<meta name="robots" content="{}">'
    shelf.site.put("/leave", html("Leave", "Text.", "/deep/", head=robots.format("noindex")))
    shelf.site.put("/deep/", html("Deep", "Text.", "/leave?tab=2", head=robots.format("nofollow")))
    shelf.run()
    assert shelf.uris() == {"/", "/claims.html", "/deep/"}


def test_a_page_in_another_character_set_is_read(shelf: Shelf) -> None:
    """The header may be all that says how a page is written."""
    page = html("报销", "报销须在三十日内提交，逾期不予受理。").decode().encode("gb18030")
    shelf.site.put("/claims.html", page, "text/html; charset=GB18030")
    shelf.run()
    hits = shelf.library.search("逾期不予受理").hits
    assert any(
        "三十日内" in passage.text
        for passage in shelf.library.catalog.passages([h.passage_id for h in hits]).values()
    )


def test_a_token_goes_to_its_host_alone(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value of the variable is sent as a bearer token; a variable that sources may not read is refused."""
    monkeypatch.setenv("WENYUAN_SITE_TOKEN", "abc123")
    monkeypatch.setenv("OTHER_TOKEN", "abc123")
    shelf.run(token_env="WENYUAN_SITE_TOKEN")
    assert {headers["authorization"] for headers in shelf.site.headers} == {"Bearer abc123"}
    with pytest.raises(ConfigError, match="may not be read by a source"):
        shelf.run(token_env="OTHER_TOKEN")


def test_waits_when_it_is_asked_to(shelf: Shelf) -> None:
    """A busy server that says for how long is asked again."""
    asked: list[int] = []
    page = shelf.site.pages["/leave"]

    def busy(to: BaseHTTPRequestHandler) -> None:
        asked.append(1)
        shelf.site.pages["/leave"] = page
        to.send_response(429)
        to.send_header("Retry-After", "0")
        to.send_header("Content-Length", "0")
        to.end_headers()

    shelf.site.pages["/leave"] = busy
    report = shelf.run()
    assert asked == [1]
    assert report.failed == {}
    assert "/leave" in shelf.uris()


def test_an_empty_site_retires_nothing(shelf: Shelf) -> None:
    """A site that suddenly has nothing to read is a failure, and keeps what was held."""
    shelf.run()
    robots = '<meta name="robots" content="noindex,nofollow">'
    shelf.site.put("/", html("Home", "Moved.", head=robots))
    with pytest.raises(SourceError, match="nothing to read"):
        shelf.run()
    assert len(shelf.uris()) == 5


def test_keeps_the_laws(shelf: Shelf) -> None:
    """What the conformance kit asks of every connector."""

    def change() -> None:
        shelf.site.put("/deep/", html("Deep", "Travel is booked by each one.", "../leave?tab=2#part"))

    source = wenyuan.Source(source_id="site", path=f"{shelf.site.url}/", settings=QUICK)
    make = partial(open_connector, source, readable=lambda name: name.endswith((".html", ".md")), parse=parse)
    assert [law.detail for law in check_connector(make, change) if not law.passed] == []


def test_the_laws_as_a_command(shelf: Shelf) -> None:
    """``wenyuan conformance --connector`` says law by law what holds, and what does not."""
    command = ["conformance", "--connector", f"{shelf.site.url}/", "--set", "allow_private=true", "--set", "delay=0"]
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["failed"] == 0
    shelf.site.put("/", "gone", status=500)
    done = CliRunner().invoke(app, ["--lang", "zh", *command])
    assert done.exit_code != 0
    assert "NO  entries-are-sound" in done.output
    assert "服务器返回 HTTP 500" in done.output


def test_gives_the_original(shelf: Shelf) -> None:
    """The page behind a document can be looked at as it is now, and a page that has changed since says so."""
    shelf.run()
    number, _ = shelf.library.catalog.live_documents("site")[f"{shelf.site.url}/leave"]
    found = shelf.library.originals.original(number)
    assert (found.name, found.content) == ("leave.html", shelf.site.pages["/leave"][2])
    shelf.site.put("/deep/", html("Deep", "Another text."))
    number, _ = shelf.library.catalog.live_documents("site")[f"{shelf.site.url}/deep/"]
    with pytest.raises(OriginalChanged):
        shelf.library.originals.original(number)
