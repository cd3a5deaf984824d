"""Parsing of browser forms, with or without files, and template filters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from jinja2 import pass_context
from jinja2.runtime import Context
from python_multipart.multipart import Field, File, FormParser, parse_options_header
from starlette.requests import Request

from wenyuan.core.likelihood import likelihood, percent
from wenyuan.runtime.local_time import local_time
from wenyuan.server.problems import Problem
from wenyuan.server.request_body import Body

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # a form that is broken is answered, not logged

_Part = TypeVar("_Part", Field, File)

# What a browser sends: forms, bounded, and only from the console's own pages.


MAX_FORM = 64 * 1024
"""Bytes of a form; the longest that a page has is a question of 8,000 characters."""
MAX_UPLOAD = 1_000_000
"""Bytes of a form with a file, or with an answer. The API takes a file of about 700 kB, which is as much in base64."""
MAX_FIELDS = 200
"""Fields and files of a form."""
_TIMEOUT = 10.0  # seconds in which a form must have arrived


class BadForm(Exception):
    """A form that is refused.

    Args:
        status: As HTTP has it: 400, 403, 408, 413 or 415.
        why: Key of the message.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def whole_number(written: str) -> int | str:
    """A whole number; other text is returned unchanged, for the API to refuse."""
    plain = written.isascii() and written.removeprefix("-").isdecimal() and len(written) < 16
    return int(written) if plain else written


class Form:
    """Fields of a form or query string, with white space around values stripped."""

    def __init__(self, pairs: list[tuple[str, str]], files: Mapping[str, tuple[str, bytes]] | None = None) -> None:
        self._pairs = pairs
        self._files = files or {}

    def __getitem__(self, name: str) -> str:
        return next((value.strip() for key, value in self._pairs if key == name), "")

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _ in self._pairs)

    def all(self, name: str) -> list[str]:
        """All non-blank values of a field."""
        return [value.strip() for key, value in self._pairs if key == name and value.strip()]

    def file(self, name: str) -> tuple[str, bytes] | None:
        """Name (without folder) and content of an uploaded file; None when none was chosen."""
        given, content = self._files.get(name, ("", b""))
        given = given.replace("\\", "/").rpartition("/")[2]
        return (given, content) if given else None

    def number(self, name: str) -> int | str | None:
        """A whole number; other text is returned unchanged, for the API to refuse; None for an empty field."""
        value = self[name]
        return whole_number(value) if value else None

    def given(self, *names: str) -> Mapping[str, str]:
        """The non-blank fields among `names`."""
        return {name: self[name] for name in names if self[name]}


def _ours(request: Request) -> bool:
    """Whether the form came from one of our own pages, by the browser's Origin or Sec-Fetch-Site header, which pages
    cannot forge.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin", "")
    return bool(origin) and urlsplit(origin).netloc == request.headers.get("host")


def check_ours(request: Request) -> None:
    """Raise BadForm unless the form came from one of our own pages."""
    if not _ours(request):
        raise BadForm(403, "form_foreign")


async def read_form(request: Request, *, most: int = MAX_FORM) -> Form:
    """The fields of a form that one of our own pages sent, and its files.

    Args:
        most: Bytes that are taken.

    Raises:
        BadForm: it comes from elsewhere, is too large, or no form.
    """
    check_ours(request)
    declared = request.headers.get("content-type", "")
    kind = declared.partition(";")[0].strip().lower()
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise BadForm(415, "form_type")
    body = Body(request.headers, request.receive, limit=most, timeout=_TIMEOUT)
    try:
        content = await body.read()
    except Problem as error:
        await body.discard()  # so that the browser gets to read why
        raise BadForm(error.status, "form_large" if error.status == 413 else "form_late") from error
    try:
        return form_with_files(declared, content) if kind.startswith("multipart") else _plain(content)
    except TooManyFields as error:
        raise BadForm(413, "form_fields") from error
    except ValueError as error:
        raise BadForm(400, "form_broken") from error


class TooManyFields(ValueError):
    """A form has more fields and files than any page of the console."""


def _plain(content: bytes) -> Form:
    if content.count(b"&") >= MAX_FIELDS:
        raise TooManyFields
    return Form(parse_qsl(content.decode(), keep_blank_values=True, errors="strict"))


def form_with_files(declared: str, content: bytes) -> Form:
    """The fields and files of ``multipart/form-data`` (RFC 7578).

    Args:
        declared: The Content-Type, whose boundary counts.

    Raises:
        TooManyFields: it has more than `MAX_FIELDS` parts; the rest is not looked at.
        ValueError: it is no such form, or not all of it.
    """
    fields: list[Field] = []
    files: list[File] = []
    ends: list[bool] = []
    boundary = parse_options_header(declared)[1].get(b"boundary")
    in_memory = {"MAX_MEMORY_FILE_SIZE": inf}  # nothing is written to a disk before it is redacted

    def keep(kind: list[_Part], part: _Part) -> None:
        if len(fields) + len(files) >= MAX_FIELDS:
            raise TooManyFields
        kind.append(part)

    parser = FormParser(
        "multipart/form-data", partial(keep, fields), partial(keep, files), lambda: ends.append(True), boundary,
        config=in_memory,
    )  # fmt: skip
    parser.write(content)
    if not ends:
        raise ValueError("the form does not end with its boundary")
    pairs = [(_text(field.field_name), _text(field.value)) for field in fields]
    return Form(pairs, {_text(file.field_name): (_text(file.file_name), _content(file)) for file in files})


def _text(given: bytes | None) -> str:
    return (given or b"").decode()


def _content(file: File) -> bytes:
    file.file_object.seek(0)
    return file.file_object.read()


# What templates do with values: days and times, numbers, and words of a query made visible.


@pass_context
def moment(page: Context, at: float | str | None) -> str:
    """Seconds since the epoch, or a time in ISO form, as ``2026-11-22 14:21 UTC+8`` in the zone of the page's reader;
    ``""`` for none.
    """
    return local_time(at, page["visit"].zone)


def stars(trust: int | None) -> str:
    """Trust 1..5 as stars."""
    return "★" * (trust or 0) + "☆" * (5 - (trust or 0))


def pieces(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is inside one of the spans."""
    reached = 0
    for start, end in spans:
        yield text[reached:start], False
        yield text[start:end], True
        reached = end
    yield text[reached:], False


def grouped(number: float) -> str:
    """A number with thousands separators."""
    return f"{number:,}"


def file_name(uri: str) -> str:
    """Display name of the file of a URI, with the part that a document was read from."""
    bare, mark, part = uri.partition("?")
    return unquote(bare.rstrip("/").rpartition("/")[2], errors="replace") + mark + unquote(part, errors="replace")


FILTERS: Mapping[str, Callable[..., Any]] = {
    "moment": moment, "likelihood": likelihood, "percent": percent, "stars": stars, "pieces": pieces, "grouped": grouped, "file_name": file_name,
}  # fmt: skip
