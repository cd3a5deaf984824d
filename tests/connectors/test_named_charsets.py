"""The character set that a stranger names: one that can be decoded in linear time, or none."""

from __future__ import annotations

import codecs
from email.message import Message
from pathlib import Path

import pytest

import wenyuan
from parsing import parse
from web_site import html, web_site
from wenyuan.core.text.charsets import charset_of
from wenyuan.readers.mhtml import html_of

TEXT = "Up to five days may be carried over."
NONE = (
    *("punycode", "idna", "zlib", "bz2", "hex", "base64", "rot13", "uu", "quopri", "undefined", "unicode_escape"),
    *("raw_unicode_escape", "nowhere", "utf-8\0", "utf 8\n", "../../etc/passwd", "x" * 100, "ｕｔｆ－８", ""),
)


@pytest.mark.parametrize("label", NONE)
def test_what_is_no_character_set_is_none(label: str) -> None:
    """Python knows many names that are not those of a character set; a stranger can name none of them."""
    assert charset_of(label) == ""


@pytest.mark.parametrize("label", ["UTF-8", "gb2312", "GBK", "Big5", "Shift_JIS", "windows-1251", "latin1", "KOI8-R"])
def test_the_usual_ones_are_known(label: str) -> None:
    """What pages and mails say is found in any writing."""
    assert charset_of(label) == codecs.lookup(label).name


def test_a_site_that_names_none_is_read(tmp_path: Path) -> None:
    """In the header or in the page, such a name neither ends the reading of the site nor changes its words."""
    labels = [label for label in NONE if label.isascii() and label.isprintable()]
    with web_site() as site, wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        site.put("/", html("Home", "Welcome.", *(f"/{kind}{n}" for n in range(len(labels)) for kind in "hm")))
        for n, label in enumerate(labels):
            site.put(f"/h{n}", html("Header", f"{TEXT} {n}"), f"text/html; charset={label}")
            site.put(f"/m{n}", html("Meta", f"{TEXT} {n}", head=f'<meta charset="{label}">'), "text/html")
        settings = {"delay": 0, "allow_private": True, "timeout": 5}
        report = library.add(wenyuan.Source(source_id="site", path=f"{site.url}/", settings=settings))
        assert (report.added, report.failed) == (1 + 2 * len(labels), {})
        found = library.search("carried over", limit=100).hits
        told = [one.text for one in library.catalog.passages([hit.passage_id for hit in found]).values()]
        assert len(told) == 2 * len(labels)
        assert all(TEXT in text for text in told)


@pytest.mark.parametrize("label", ["punycode", "idna", "undefined", "unicode_escape"])
def test_parts_of_mail_that_name_none_keep_their_words(label: str) -> None:
    """A part of a saved page, and the links of a page, are then read as they stand."""
    part = Message()
    part["Content-Type"] = f'text/html; charset="{label}"'
    part.set_payload(r"<p>caf\u0065-kva</p>")
    assert html_of(part) == rb"<p>caf\u0065-kva</p>"
    page = rb'<a href="/caf\u0065-kva">x</a>'
    asked = {"base": "https://a.example/", "content_type": f"text/html; charset={label}"}
    told = parse("wenyuan.connectors.pages:links_of", page, asked, name="page")
    assert told["links"] == [r"https://a.example/caf%5Cu0065-kva"]
