"""What strangers write is parsed in time that grows with its length, not with its square."""

from __future__ import annotations

import pytest

from growth import MOST_RATIO, PARSERS, SHAPES, ratio

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
    "extract": "full stops, letters",
    "query": "Chinese, letters",
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


def test_a_quadratic_parser_is_noticed() -> None:
    """The measurement tells a parser that looks at all that follows, at each place, from one that does not."""

    def quadratic(text: str) -> None:
        for place in range(len(text)):
            text.find("#", place)

    assert ratio(quadratic, SHAPES["letters"]) > MOST_RATIO
    assert ratio(lambda text: [ord(char) for char in text * 20], SHAPES["letters"]) < MOST_RATIO
