"""What a browser sends: forms, bounded, and only from the console's own pages."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from wenyuan.server.body import Body
from wenyuan.server.problem import Problem

__all__ = ["MAX_FORM", "BadForm", "Form", "read_form"]

MAX_FORM = 64 * 1024
"""Bytes of a form; the longest that a page has is a question of 8,000 characters."""
_MOST_FIELDS = 200
_TIMEOUT = 10.0  # seconds in which a form must have arrived


class BadForm(Exception):
    """A form that is not taken.

    Args:
        status: As HTTP has it: 400, 403, 408, 413 or 415.
        why: Key of the message.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class Form:
    """The fields of a form or of a query string; white space around a value is none of it."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    def __getitem__(self, name: str) -> str:
        return next((value.strip() for key, value in self._pairs if key == name), "")

    def all(self, name: str) -> list[str]:
        """Every value of a name, but blank ones."""
        return [value.strip() for key, value in self._pairs if key == name and value.strip()]

    def number(self, name: str) -> int | str | None:
        """A whole number; what is none is left as it is, for the API to refuse; None when nothing is given."""
        value = self[name]
        plain = value.isascii() and value.removeprefix("-").isdecimal() and len(value) < 16
        return (int(value) if plain else value) if value else None

    def given(self, *names: str) -> Mapping[str, str]:
        """Those of the named fields that are not blank."""
        return {name: self[name] for name in names if self[name]}


def _ours(request: Request) -> bool:
    """Whether one of our own pages sent a form: every browser says from where, and no page can make it lie."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin", "")
    return bool(origin) and urlsplit(origin).netloc == request.headers.get("host")


async def read_form(request: Request) -> Form:
    """The fields of a form that one of our own pages sent.

    Raises:
        BadForm: it comes from elsewhere, is too large, or no form.
    """
    if not _ours(request):
        raise BadForm(403, "form_foreign")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise BadForm(415, "form_type")
    body = Body(request.headers, request.receive, limit=MAX_FORM, timeout=_TIMEOUT)
    try:
        content = await body.read()
    except Problem as error:
        await body.discard()  # so that the browser gets to read why
        raise BadForm(error.status, "form_large" if error.status == 413 else "form_late") from error
    try:
        pairs = parse_qsl(content.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise BadForm(400, "form_broken") from error
    return Form(pairs)
