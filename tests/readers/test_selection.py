"""What strangers write is parsed in time that grows with its length, not with its square."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from growing_answers import ANSWERS
from growing_files import FILES
from growth import MOST_RATIO, PARSERS, SHAPES, of_answers, of_files, ratio
from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.selection import unpack_guarded

_LISTED = {
    ".md": "square brackets, emphasis, quotations, backticks, nested items",
    ".mdx": "components, comments of components, backticks",
    ".rst": "roles, substitutions, literals, drawn rows, directives, literal blocks, nested items",
    ".adoc": "fences of signs, longer fences, macros, cells of signs, attributes",
    ".tex": "environments, open code, formulas, fractions, footnotes",
    ".json": "square brackets",
    ".yaml": "anchors, letters, nested items",
    ".txt": "paragraphs, spaces",
    ".html": "open tags, comments, divisions, table cells",
    ".csv": "quotes, commas",
    ".jsonl": "square brackets",
    ".ipynb": "square brackets",
    ".py": "triple quotes, parentheses",
    ".js": "stars, calls, letters, equals",
    ".sql": "spaces, letters",
    "rtf": "groups, backslashes",
    "eml": "equals",
    "eml headers": "encoded words, parentheses",
    "front matter": "square brackets, keys",
    "text before a tag": "backticks",
    "title": "open tags, ampersands",
    "passages of text": "paragraphs, full stops, commas, periods",
    "passages of Markdown": "open tags, headings",
    "redaction": "digits, spaced digits, letters, at signs, percent, base64, Chinese names, numerals",
    "every rule of redaction": "assignments, fields, quoted assignments, open assignments, passwords, called passwords, passwords in rows, "
    "passwords in words, keys of programs, elements, rows of values, letters and digits, words and digits, letters, digits, spaces, "
    "equals, keys, quotes, parentheses, commas, spaced digits, capitals, Chinese names",
    "extract": "full stops, letters",
    "query": "Chinese, letters",
    "tokens of a claim": "letters, capitals, numerals",
    "comparison": "letters, numerals",
    "spelling": "spaces, hyphens",
    "form of a name": "spaces, hyphens",
    "addressed to a model": "blank lines, spaced lines, spaces",
    "quantities": "numerals, digits, commas",
    "terms": "letters, dots",
    "file name": "percent, slashes",
    "reply of a model": "fences, thoughts, members, braces, quotes",
    "strict JSON": "square brackets, quotes, digits",
    "links": "open tags, comments, CDATA, divisions",
    "sitemap": "open tags, ampersands",
    "robots": "wildcards",
    "cookies": "semicolons, quotes",
    "Accept-Language": "commas",
    "Content-Type": "semicolons, quotes, backslashes",
}
"""The shapes that are tried each time; all of them with ``--thorough``."""


@pytest.mark.parametrize("parser", PARSERS)
def test_time_grows_no_faster_than_the_input(parser: str, thorough: bool) -> None:
    """Eight times the input takes far less than 64 times the time, for every parser and every shape tried on it."""
    shapes = list(SHAPES) if thorough else list(filter(None, _LISTED.get(parser, "").split(", ")))
    if not shapes:
        pytest.skip("only with --thorough")
    found = {shape: ratio(PARSERS[parser], SHAPES[shape]) for shape in shapes}
    assert not {shape: round(value, 1) for shape, value in found.items() if value > MOST_RATIO}


@pytest.mark.parametrize("name", ANSWERS)
def test_time_grows_no_faster_than_what_a_service_sends(name: str) -> None:
    """Eight times the blocks, fragments, trees or objects of an answer take far less than 64 times the time."""
    parse, shape = of_answers(name)
    assert ratio(parse, shape) <= MOST_RATIO


@pytest.mark.parametrize("name", FILES)
def test_time_grows_no_faster_than_what_a_file_holds(name: str) -> None:
    """Eight times the paragraphs, cells, members, parts or objects of a file take far less than 64 times the time."""
    parse, shape = of_files(name)
    assert ratio(parse, shape) <= MOST_RATIO


def test_parts_in_one_another_are_refused_before_they_are_parsed() -> None:
    """A mail's parser asks at each line for the end of every part around it: those of a hundred are all that are taken."""
    _, _, build = FILES["parts in one another"]
    for depth, told in ((90, ""), (110, "nested too deeply"), (100_000, "nested too deeply")):
        if not told:
            unpack_guarded(build(depth), uri="file:///x.eml", name="x.eml")
            continue
        with pytest.raises(DocumentRejected, match=told):
            unpack_guarded(build(depth), uri="file:///x.eml", name="x.eml")


def test_a_digest_of_many_mails_is_read() -> None:
    """Parts beside one another are not parts in one another, however many there are, and each with parts of its own."""
    each = "--a\nContent-Type: multipart/alternative; boundary=i{0}\n\n--i{0}\nContent-Type: text/plain\n\nLeave {0}\n--i{0}--\n"
    body = "".join(each.format(number) for number in range(150))
    head = "From: a@b.example\nSubject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=a\n\n"
    unpacked = unpack_guarded(f"{head}{body}--a--\n".encode(), uri="file:///x.eml", name="x.eml")
    assert "Leave 0" in unpacked.documents[0].text
    assert any(part.content.startswith(b"Leave 149") for part in unpacked.parts)


@pytest.mark.parametrize("page", ["SECURITY.md", "SECURITY.zh.md"])
def test_the_page_on_security_says_how_much_is_tried(page: str) -> None:
    """The numbers of parsers, shapes and kinds of files there are those of the table."""
    text = (Path(__file__).parents[2] / page).read_text("utf-8")
    parsers, shapes, files = map(str, (len(PARSERS), len(SHAPES), len(FILES)))
    said = re.findall(r"(\d+) ?(?:parsers|hostile shapes|kinds\s+of files|个解析器|种恶意形状|种内容)", text)
    assert sorted(said) == sorted([parsers, shapes, files])


def test_a_quadratic_parser_is_noticed() -> None:
    """The measurement tells a parser that looks at all that follows, at each place, from one that does not."""

    def quadratic(text: str) -> None:
        for place in range(len(text)):
            text.count("#a", place)  # two characters: one alone is found so fast that the loop itself counts

    assert ratio(quadratic, SHAPES["letters"]) > MOST_RATIO
    assert ratio(lambda text: [ord(char) for char in text * 20], SHAPES["letters"]) < MOST_RATIO
