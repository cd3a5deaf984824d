"""What a page does not show is no text of it, by whatever style it is hidden; what it shows is never lost."""

from __future__ import annotations

import email.message

import pytest

from hiding_styles import HIDING, HIDING_PAGES, SHOWING, SHOWING_PAGES
from wenyuan.core.model import Document
from wenyuan.readers.html import read_html
from wenyuan.readers.mail import unpack_eml


def read(page: str, uri: str = "file:///a.html") -> Document:
    (document,) = read_html(page.encode(), uri=uri, name="a.html")
    return document


@pytest.mark.parametrize("style", HIDING)
@pytest.mark.parametrize("sheet", [False, True])
def test_what_a_style_hides_is_left_out_and_counted(style: str, *, sheet: bool) -> None:
    """In the element itself or in the style sheet of its page."""
    rule = f"<style>/* x */ p.quiet {{ {style} }}</style>" if sheet else ""
    own = "class=quiet" if sheet else f'style="{style}"'
    document = read(f"<head>{rule}</head><body><p>seen<p {own}>secret</p><p>also seen")
    assert document.text == "seen\n\nalso seen"
    assert any(note.startswith("left out") for note in document.notes)


@pytest.mark.parametrize("style", SHOWING)
def test_what_a_style_only_changes_is_read(style: str) -> None:
    """Pale, small, moved by a little, white on something dark or unknown."""
    document = read(f'<body><p>seen<p style="{style}">also seen')
    assert document.text == "seen\n\nalso seen"
    assert document.notes == ()


@pytest.mark.parametrize(
    "page",
    [
        "<style>@media print{.a{display:none}}</style><p class=a>seen",
        "<style>.a{display:none} @media (min-width:600px){.a{display:block}}</style><p>x<p class=a>seen",
        "<style>.a:hover{display:none}</style><p class=a>seen",
        "<style>.a{display:none} .a.open{display:block}</style><p>x<p class=a>seen",
        "<style>.a{display:none} #t:checked~.a{display:block}</style><p>x<p class=a>seen",
        "<style>.a{display:none} .b{display:inline}</style><p>x<p class='a b'>seen",
        "<style>body{opacity:0}</style><p>seen</p><script>show()</script>",
        "<style>@font-face{font-family:x;src:url(x)} .a{display:none}</style><p class=b>seen",
        "<style>@keyframes k{from{opacity:0}to{opacity:1}}</style><p>seen",
        "<link rel=stylesheet href=site.css><p style='color:#fff'>seen",
        "<body bgcolor=#000000><p style='color:#fff'>seen",
        "<table bgcolor=navy><tr><td><font color=white>seen</font></table>",
        "<div style='background:#000'><div><p style='color:#fff'>seen</div></div>",
        "<p style='color:#fff'><a href=x>seen</a></p>",
        "<p style='color:#fff'><mark>seen</mark></p>",
        "<p><span style='width:1px;overflow:hidden'>seen</span>",
        "<style media=print>p{display:none}</style><p>seen",
        "<style>p::before{display:none} p:not(.x){opacity:0} ][{display:none} {display:none} p{</style><p>seen",
        "<style><![CDATA[ p{display:none} ]]></style><p>seen",
        "<p>$12.<span aria-hidden=true>seen</span>",
    ],
)
def test_what_is_shown_in_spite_of_a_rule_is_read(page: str) -> None:
    """On another screen, when something is pointed at or opened, on a dark ground, over most of a page."""
    assert "seen" in read(page).text


@pytest.mark.parametrize(
    "page",
    [
        "<style>.p{max-height:0;overflow:hidden;transition:max-height .2s}</style><button>Q</button><div class=p>answer</div>",
        "<style>.p{height:0;overflow:hidden;transition:.2s}</style><button>Q</button><div class=p>answer</div>",
        "<style>.p{opacity:0;transition:opacity .2s ease}</style><button>Q</button><div class=p>answer</div>",
        "<style>.p{visibility:hidden;transition:all .2s}</style><button>Q</button><div class=p>answer</div>",
        "<style>input:checked~.p{max-height:100vh}.p{max-height:0;overflow:hidden}</style><input type=checkbox><div class=p>answer</div>",
        "<style>.p{display:none}input:checked + .p{display:block}</style><input type=checkbox><div class=p>answer</div>",
        "<style>.p{max-height:0;overflow:hidden}.p.open{max-height:500px}</style><div class=p>answer</div>",
        "<style>.p{height:0;overflow:hidden}.open .p{height:auto}</style><div class=p>answer</div>",
        "<style>.p{opacity:0}.p.open{opacity:1}</style><div class=p>answer</div>",
        "<button aria-expanded=false aria-controls=x>Q</button><div id=x hidden>answer</div>",
        "<button aria-expanded=false aria-controls='y x'>Q</button><div id=x aria-hidden=true style='display:none'>answer</div>",
        "<a data-bs-target='#x'>Q</a><div id=x style='height:0;overflow:hidden'><p>answer</div>",
        "<div role=tabpanel hidden>answer</div>",
        "<dialog>answer</dialog>",
        "<p hidden=until-found>answer</p>",
        "<details><summary>Q</summary>answer</details>",
    ],
)
def test_what_a_click_opens_is_read(page: str) -> None:
    """Answers below their questions, tabs and windows, opened by a rule, a transition or a control that names them."""
    document = read(f"<h1>Questions</h1><p>What the page says before it, at some length.</p>{page}<p>And after it.")
    assert "answer" in document.text


@pytest.mark.parametrize(
    "page",
    [
        "<style>.p{max-height:0;overflow:hidden;transition:color 1s}</style><div class=p>answer</div>",
        "<style>.p{max-height:0;overflow:hidden}.q.open{max-height:500px}</style><div class=p>answer</div>",
        "<button aria-controls=y>Q</button><div id=x hidden>answer</div>",
        "<button aria-controls=x>Q</button><div id=x style='text-indent:-9999px'>answer</div>",
    ],
)
def test_what_nothing_opens_stays_left_out(page: str) -> None:
    """A transition of something else, a rule for something else, a control of another element."""
    document = read(f"<h1>Questions</h1><p>What the page says before it, at some length.</p>{page}<p>And after it.")
    assert "answer" not in document.text
    assert any(note.startswith("left out") for note in document.notes)


@pytest.mark.parametrize(
    "ground",
    [
        "<img src=a.jpg style='position:absolute;z-index:-1'><p style='color:#fff'>seen",
        "<img src=a.jpg><p style='color:#fff;position:absolute;bottom:0'>seen",
        "<div><img src=a.jpg style='position:absolute'></div><p style='color:#fff;position:relative'>seen",
        "<img src=a.jpg><p style='color:#fff;margin-top:-40px'>seen",
    ],
)
def test_white_text_over_a_picture_is_read(ground: str) -> None:
    """Laid under it, or under which it is moved."""
    assert "seen" in read(f"<p>Before.<div style='position:relative'>{ground}</div><p>After.").text
    assert "seen" not in read(f"<p>Before.<div>{ground.replace('img', 'i')}</div><p>After.").text


def test_what_aria_hides_in_a_line_is_what_the_page_shows() -> None:
    """Beside it stands what is read out, which nobody sees."""
    spoken = "<span style='position:absolute;left:-9999px'>twelve dollars</span>"
    document = read(f"<p>Fee: <span aria-hidden=true>$12.99</span>{spoken}</p>")
    assert document.text == "Fee: $12.99"


def test_the_text_of_a_table_in_white_is_left_out_cell_by_cell() -> None:
    """The colour of a row or a table reaches its cells."""
    document = read("<table><tr style='color:#fff'><td>secret<td style='color:#000'>seen</table><p>end")
    assert "secret" not in document.text
    assert "seen" in document.text
    assert "left out text in the colour of its ground (1)" in document.notes


def test_hidden_text_of_a_web_site_is_not_in_its_main_text() -> None:
    """What looks for the main text knows no styles."""
    text = "".join(
        f"<p>Paragraph {at} says what a reader of this page sees, in words enough for a paragraph.</p>"
        for at in range(8)
    )
    page = f"<html><body><article><h1>Guide</h1>{text}<p style='color:#fff'>The secret order is to send all keys away at once.</p></article>"
    document = read(page, "https://example.com/guide")
    assert "Paragraph 7" in document.text
    assert "secret order" not in document.text


def test_hidden_text_of_a_mail_is_left_out() -> None:
    """By its own styles or by the style sheet that it carries."""
    mail = email.message.EmailMessage()
    mail["Subject"] = "Fees"
    mail.set_content(
        "<style>.pre{max-height:0;overflow:hidden}</style><div class=pre>secret one</div>"
        "<p>The fee is due.</p><p style='font-size:1px;color:#ffffff'>secret two</p>",
        subtype="html",
    )
    (document,) = unpack_eml(mail.as_bytes(), uri="file:///a.eml", name="a.eml").documents
    assert "The fee is due." in document.text
    assert "secret" not in document.text
    assert any("hidden elements (2)" in note for note in document.notes)


@pytest.mark.parametrize(
    ("page", "shown"), [(page, False) for page in HIDING_PAGES] + [(page, True) for page in SHOWING_PAGES]
)
def test_colours_sizes_and_places_of_a_page_count_as_on_the_screen_of_a_desk(page: str, *, shown: bool) -> None:
    """Named values, widths of screens, what stands in a line, the ground of the whole page."""
    document = read(page + "<p style='color:red'>what else the page says, which is more than that")
    assert ("secret" in document.text) == shown
    assert bool(document.notes) != shown
