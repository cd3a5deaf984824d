"""Types of fields of requests: what is checked of them, and what the OpenAPI document says."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from wenyuan.core.errors import msg
from wenyuan.core.model import MAX_QUERY_CHARS

CLOSED = ConfigDict(extra="forbid")
"""Of a request that is a dataclass, as its ``__pydantic_config__``: it has no members but its fields."""

MAX_INTEGER = 2**53
"""The largest magnitude below which a double, and so every other JSON reader, keeps integers apart."""

NO_NUL = r"^[^\u0000]*$"
"""A pattern that every text matches but one with NUL."""
SAID_OF_NUL = "must not contain NUL"

# What `str.strip` removes, spelled out because "\s" differs between regular expression dialects.
_BLANK = r"\u0009-\u000d\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NOT_BLANK = rf"^[^\u0000]*[^\u0000{_BLANK}][^\u0000]*$"


def _query(text: str) -> str:
    if "\0" in text:
        raise wrong("nul", SAID_OF_NUL)
    length = len(text.strip())
    if not length:
        raise wrong("blank", "must not be blank")
    if length > MAX_QUERY_CHARS:
        said = msg(
            "has {length} characters; at most {max_query_chars}", length=length, max_query_chars=MAX_QUERY_CHARS
        )
        raise wrong("query_too_long", said)
    return text


def _day(text: str) -> str:
    try:
        # fromisoformat also takes week dates and 20240520; the round trip leaves one spelling.
        valid = date.fromisoformat(text).isoformat() == text
    except ValueError:
        valid = False
    if not valid:
        raise wrong("date", "must be a date such as 2024-05-20")
    return text


def wrong(kind: str, said: str) -> PydanticCustomError:
    """The error that a validator raises; pydantic keeps no more of `said` than its text, unless told to."""
    return PydanticCustomError(kind, "{said}", {"said": said})


Text = Annotated[str, Field(strict=True, pattern=NO_NUL)]
QueryText = Annotated[
    str,
    AfterValidator(_query),
    Field(
        strict=True,
        description=f"1 to {MAX_QUERY_CHARS} characters, not counting white space around them.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS, "pattern": _NOT_BLANK},
    ),
]
Day = Annotated[str, AfterValidator(_day), Field(json_schema_extra={"format": "date"})]
