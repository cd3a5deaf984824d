"""How the time of a parser grows with what strangers wrote: parsers, hostile shapes, and the measurement."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from python_multipart.multipart import parse_options_header
from starlette.requests import cookie_parser

from growing_answers import ANSWERS
from growing_files import FILES, read
from wenyuan.connectors.http_client import HttpAnswer, wait_for
from wenyuan.connectors.pages import links_of, sitemap_of
from wenyuan.connectors.robots import parse_robots, robots_text
from wenyuan.console.visit import preferred
from wenyuan.core.addresses import legible
from wenyuan.core.anchors import told_words
from wenyuan.core.answering import quote_between
from wenyuan.core.claims import claims_of
from wenyuan.core.errors import DocumentRejected, InvalidRequest
from wenyuan.core.quotation import whole
from wenyuan.core.redaction.findings import RULES
from wenyuan.core.redaction.matching import find
from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction
from wenyuan.core.redaction.text_view import view_of
from wenyuan.core.rules.expressions import read as read_condition
from wenyuan.core.rules.spelling import form_of, spell
from wenyuan.core.scanning import plain_reason
from wenyuan.core.stated_addresses import stated_address
from wenyuan.core.text.analysis import identifiers, passage_terms
from wenyuan.core.text.boundaries import sentences
from wenyuan.core.text.chunking import chunk
from wenyuan.core.text.injection import instruction_like
from wenyuan.core.text.leads import lead_of
from wenyuan.core.text.literals import literal_names
from wenyuan.core.text.numbers import quantities
from wenyuan.core.text.passage_tables import table_headers
from wenyuan.core.text.signs import moments
from wenyuan.core.text.structure import clause_keys
from wenyuan.core.text.summaries import summarize
from wenyuan.core.text.wordings import SynonymTable
from wenyuan.core.verification import compared_with, tokens_of
from wenyuan.llm.replies import object_in
from wenyuan.readers.selection import READERS, read_guarded, unpack_guarded
from wenyuan.service.search.question import analysed
from wenyuan.wire import strict_json

Parse = Callable[[Any], object]

MOST_RATIO = 18.0
"""Eight times the input takes eight times the time, or by n log n about eleven times; 64 times where it is quadratic."""
_LEAST_SECONDS = 0.06
_FIRST, _LARGEST = 4_096, 262_144
_FRONT_MATTER, _PASSAGE = 15_000, 2_000
"""Characters: front matter that is longer is none, and an extract is made of a passage, which is no longer."""
_CLAIMS = 16_000
_REDACTION = Redaction(policy_for("internal"), b"k" * 32)


def _read(text: str, *, suffix: str) -> None:
    with contextlib.suppress(DocumentRejected):
        read_guarded(text.encode(), uri=f"file:///x{suffix}", name=f"x{suffix}", reader=READERS[suffix])


def _unpack(text: str, *, suffix: str) -> None:
    with contextlib.suppress(DocumentRejected):
        unpack_guarded(text.encode(), uri=f"file:///x{suffix}", name=f"x{suffix}")


def _links(text: str) -> None:
    with contextlib.suppress(DocumentRejected):
        links_of(text.encode(), "https://x.example/")


def _sitemap(text: str) -> None:
    with contextlib.suppress(DocumentRejected):
        sitemap_of(text.encode())


def _passages(text: str, *, suffix: str) -> None:
    with contextlib.suppress(DocumentRejected):
        for document in read_guarded(
            text.encode(), uri=f"file:///x{suffix}", name=f"x{suffix}", reader=READERS[suffix]
        ):
            lead_of(document)
            chunk(document)


def _redacted(text: str) -> None:
    with contextlib.suppress(DocumentRejected):
        _REDACTION.text(text)


def _every_rule(text: str) -> None:
    """Every rule is tried, though the words and signs that it asks for are not in the text."""
    view = view_of(text)
    for rule in RULES:
        for _ in find(rule, view):
            pass


def _robots(text: str) -> None:
    parse_robots(robots_text(f"User-agent: *\nDisallow: /{text}".encode()), "wenyuan").allows("https://x.example/a/b")


def _reply(text: str) -> None:
    with contextlib.suppress(ValueError):
        object_in(text)


def _refused(call: Callable[[], object]) -> None:
    with contextlib.suppress(InvalidRequest):
        call()


PARSERS: Mapping[str, Parse] = {
    **{
        suffix: partial(_read, suffix=suffix)
        for suffix in (
            ".md",
            ".mdx",
            ".rst",
            ".adoc",
            ".tex",
            ".json",
            ".yaml",
            ".txt",
            ".html",
            ".csv",
            ".tsv",
            ".jsonl",
            ".ipynb",
            ".py",
            ".js",
            ".sql",
            ".sh",
            ".rb",
        )
    },
    "rtf": lambda text: _read("{\\rtf1 " + text, suffix=".rtf"),
    "mht": lambda text: _read("MIME-Version: 1.0\nContent-Type: text/html\n\n" + text, suffix=".mht"),
    "eml": lambda text: _unpack("From: a@b.example\nSubject: x\n\n" + text, suffix=".eml"),
    "eml headers": lambda text: _unpack(f"From: {text}\nSubject: {text}\n\nx", suffix=".eml"),
    "eml html": lambda text: _unpack("Content-Type: text/html\n\n" + text, suffix=".eml"),
    "front matter": lambda text: _read(f"---\ntitle: {text[:_FRONT_MATTER]}\n---\n\nx", suffix=".md"),
    "title": lambda text: _read(f"# {text.replace(chr(10), ' ')}\n\nx", suffix=".md"),
    "text before a tag": lambda text: _read(f"{text}<b>", suffix=".md"),
    "notebook": lambda text: _read(f'{{"cells": {text}', suffix=".ipynb"),
    "passages of text": partial(_passages, suffix=".txt"),
    "passages of Markdown": partial(_passages, suffix=".md"),
    "redaction": _redacted,
    "every rule of redaction": _every_rule,
    "extract": lambda text: summarize(text[:_PASSAGE], "报销 limits"),
    "claims": lambda text: claims_of(text[:_CLAIMS]),
    "tokens of a claim": lambda text: tokens_of.__wrapped__(text[:_CLAIMS]),
    "comparison": lambda text: compared_with(tokens_of.__wrapped__("报销 30 days"), text[:_CLAIMS]),
    "spelling": spell,
    "form of a name": form_of,
    "addressed to a model": instruction_like,
    "identifiers": identifiers,
    "quantities": quantities,
    "moments": lambda text: list(moments(text)),
    "clauses": clause_keys,
    "header of a table": table_headers,
    "sentences": sentences,
    "terms": lambda text: passage_terms("", text),
    "literal names": literal_names,
    "quotation": lambda text: whole(text, len(text) // 2, len(text) // 2 + 1),
    "quotation's words": told_words,
    "quote between": lambda text: quote_between(text, "报销", "limits"),
    "file name": legible,
    "stated address": stated_address,
    "strict JSON": lambda text: _refused(lambda: strict_json.loads(text.encode())),
    "condition": lambda text: _refused(lambda: read_condition(text)),
    "reason of a scanner": plain_reason,
    "reply of a model": _reply,
    "day of a server": lambda text: wait_for(HttpAnswer(status=503, headers={"retry-after": text})),
    "query": lambda text: analysed(text, SynonymTable()),
    "links": _links,
    "sitemap": lambda text: _sitemap("<urlset>" + text),
    "robots": _robots,
    "cookies": cookie_parser,
    "Accept-Language": preferred,
    "Content-Type": lambda text: parse_options_header(f"multipart/form-data; {text.encode().decode('latin-1')}"),
}

SHAPES: Mapping[str, str] = {
    "roles": ":a:`b` ",
    "substitutions": "|a| ",
    "literals": "``a ",
    "drawn rows": "+--+--+\n|a |b |\n",
    "directives": ".. note:: a\n\n",
    "literal blocks": "::\n\n a\n\n",
    "fences of signs": "----\n====\n",
    "longer fences": "====\n=====\n======\n",
    "macros": "link:a[",
    "cells of signs": "a| b 2+| ",
    "attributes": ":a: {a}{a}\n{a}\n",
    "environments": "\\begin{itemize}\n",
    "open code": "\\begin{verbatim}\n",
    "formulas": "$a ",
    "fractions": "\\frac{",
    "footnotes": "\\footnote{a",
    "components": "<A b={",
    "comments of components": "{/*",
    "anchors": "a: &a b\nc: *a\n",
    "fences": "a```\n",
    "thoughts": "</think>",
    "members": '{"a":',
    "paragraphs": "a\n\n",
    "open tags": "<a ",
    "tags": "<b><i>",
    "comments": "<!--",
    "CDATA": "<![CDATA[",
    "divisions": "<div>",
    "table cells": "<table><tr><td>",
    "square brackets": "[",
    "links": "[a](",
    "pictures": "![",
    "parentheses": "(",
    "braces": "{",
    "emphasis": "*_",
    "underscores": "__a",
    "strokes": "|",
    "rows": "|a|b\n",
    "tables": "a|b\n-|-\n\n",
    "quotations": "> ",
    "quoted lines": ">a\n",
    "list items": "- a\n",
    "indented": "    a\n",
    "nested items": "- ",
    "spaces": " ",
    "tabs": "\t",
    "blank lines": "\n",
    "backticks": "`",
    "spans of code": "`a ",
    "ampersands": "&",
    "entities": "&#x",
    "quotes": '"',
    "commas": ",",
    "semicolons": "a=b;",
    "backslashes": "\\",
    "rules": "---\n",
    "headings": "# a\n",
    "references": "[a]: b\n",
    "keys": "a: b\n",
    "digits": "1",
    "spaced digits": "1 ",
    "dashed digits": "1-",
    "letters": "a",
    "at signs": "a@",
    "dots": "a.",
    "percent": "%31",
    "escapes": "\\u0031",
    "base64": "QUJD",
    "Chinese": "密码",
    "Chinese names": "李明、",
    "numerals": "一二",
    "clauses": "第一条 a\n",
    "full stops": "。",
    "periods": ".",
    "colons": ":",
    "exclamations": "!?",
    "closed sentences": ".)",
    "hyphens": "-",
    "slashes": "/",
    "spaced lines": " \n",
    "capitals": "A",
    "accented": "é",
    "wildcards": "*a",
    "encoded words": "=?utf-8?b?",
    "groups": "{\\b ",
    "hashes": "#",
    "stars": "/*",
    "equals": "a = ",
    "triple quotes": "'''",
    "calls": "f(a ",
    "assignments": "a=",
    "fields": "a:",
    "quoted assignments": 'a="b" ',
    "open assignments": "a='",
    "called passwords": "password(",
    "passwords": "password=",
    "passwords in rows": "password,",
    "passwords in words": "password is ",
    "letters and digits": "a1",
    "words and digits": "a1 ",
    "keys of programs": "a_key = a.b(",
    "elements": "<name>a",
    "rows of values": "('a', ",
}


Shape = str | Callable[[int], Any]
"""What an input repeats, or what makes an input of a size."""


def of_files(name: str) -> tuple[Parse, Shape]:
    """What reads the files of `growing_files`, and what makes one by the size that is measured."""
    suffix, size_of_part, build = FILES[name]
    return partial(read, suffix), lambda size: build(max(1, size // size_of_part))


def of_answers(name: str) -> tuple[Parse, Shape]:
    """What parses the answers of `growing_answers`, and what makes one by the size that is measured."""
    parse, size_of_part, build = ANSWERS[name]
    return parse, lambda size: build(max(1, size // size_of_part))


def curve(parse: Parse, shape: Shape) -> Iterator[tuple[int, float]]:
    """Processor seconds of a parser by characters of its input, until a call takes long enough to be measured."""
    size = _FIRST
    while True:
        took = _seconds(parse, _input(shape, size))
        yield size, took
        if took >= _LEAST_SECONDS or size >= _LARGEST:
            return
        size *= 4


def ratio(parse: Parse, shape: Shape) -> float:
    """How many times longer an input takes than an eighth of it; 0 where no input takes long enough to tell.

    The least of up to five tries counts: a busy machine makes single calls longer, never shorter.
    """
    size, took = list(curve(parse, shape))[-1]
    if took < _LEAST_SECONDS:
        return 0.0
    small, large = _input(shape, size // 8), _input(shape, size)
    eighth = min(_seconds(parse, small) for _ in range(3))
    for _ in range(4):
        if took / eighth <= MOST_RATIO:
            break
        took = min(took, _seconds(parse, large))
        eighth = max(eighth, _seconds(parse, small))
    return took / eighth


def _input(shape: Shape, size: int) -> Any:
    return shape * (size // len(shape)) if isinstance(shape, str) else shape(size)


def _seconds(parse: Parse, text: Any) -> float:
    """Processor seconds of a call, without the collector of garbage: what it looks through is this process's."""
    collects = gc.isenabled()
    gc.disable()
    try:
        began = time.thread_time()
        parse(text)
        return time.thread_time() - began
    finally:
        if collects:
            gc.enable()
