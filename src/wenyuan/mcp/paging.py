"""Results of at most so many tokens, and a cursor for what is left: hosts refuse results that are too long."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from wenyuan.contract.bodies import Strict
from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.core.text.token_meter import estimate_tokens
from wenyuan.wire.search_requests import checked

DEFAULT_TOKENS = 8_000
MOST_TOKENS = 25_000
"""Longer results are refused by common hosts."""
_CURSOR = re.compile(r"([0-9]{1,9})-([0-9a-f]{16})")
_NOTED = 60
"""Tokens that are kept for saying that there is more."""


class PageShape(Strict):
    """Which part of a result is wanted, and how long it may be; every tool takes it."""

    max_tokens: int = Field(
        DEFAULT_TOKENS,
        ge=500,
        le=MOST_TOKENS,
        description="How long the result may be, about; the rest has a cursor.",
    )
    cursor: str | None = Field(
        None, description="next_cursor of a result: gives what follows, for the same arguments."
    )


PAGE = frozenset(PageShape.model_fields)


@dataclass(frozen=True, slots=True)
class ReplyBlock:
    """A text for the model; `priority` 0 … 1, or None for no statement."""

    text: str
    priority: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result: one value for programs, and the same as texts for models.

    Attributes:
        rows: The member of the value that is a list, of which a part may be given; ``""`` for none.
        texts: How the last `blocks` tell it: each its row; else the one block is the value as JSON.
        spare: A list that may be cut at its end where the rest is too long; what was cut is counted in the value.
        text: The member that is a long text, of which a part may be given.
    """

    value: Mapping[str, Any]
    blocks: tuple[ReplyBlock, ...]
    rows: str = ""
    texts: bool = True
    spare: str = ""
    text: str = ""


def page_of(arguments: Mapping[str, Any]) -> PageShape:
    """What a call says of pages."""
    return checked(
        PageShape, {name: value for name, value in arguments.items() if name in PAGE and value is not None}
    )


def as_json(value: Any) -> str:
    """A value as its clients read it."""
    return json.dumps(value, ensure_ascii=False, default=dict)


def paged(result: Result, page: PageShape, arguments: Mapping[str, Any]) -> Result:
    """The part of a result that a page asks for.

    Args:
        arguments: Those of the call without those of the page: a cursor is good for them alone.

    Raises:
        InvalidRequest: the cursor is of another call, or none that was given.
    """
    mark = hashlib.sha256(json.dumps(arguments, sort_keys=True, default=str).encode()).hexdigest()[:16]
    begin = _begin(page.cursor, mark)
    if result.rows:
        return _part_of_rows(result, begin, page.max_tokens, mark)
    if result.text:
        return _part_of_text(result, begin, page.max_tokens, mark)
    if begin:
        raise _no_cursor()
    return _spared(result, page.max_tokens) if result.spare else result


def _begin(cursor: str | None, mark: str) -> int:
    if cursor is None:
        return 0
    found = _CURSOR.fullmatch(cursor)
    if found is None or found[2] != mark:
        raise _no_cursor()
    return int(found[1])


def _no_cursor() -> InvalidRequest:
    why = msg("is not one that was given for these arguments")
    return InvalidRequest(msg("{place} {fault}", place="cursor", fault=why), faults=(Fault("cursor", why),))


def _part_of_rows(result: Result, begin: int, most: int, mark: str) -> Result:
    rows = result.value[result.rows]
    first = len(result.blocks) - len(rows) if result.texts else 0
    heading, told = result.blocks[:first], result.blocks[first:]
    if begin and begin >= len(rows):
        raise _no_cursor()
    spent = _NOTED + _tokens(as_json({**result.value, result.rows: []})) + sum(_tokens(one.text) for one in heading)
    end = begin
    while end < len(rows):
        spent += _tokens(as_json(rows[end])) * (1 if result.texts else 2)
        spent += _tokens(told[end].text) if result.texts else 0
        if spent > most and end > begin:
            break
        end += 1
    value = {**result.value, result.rows: rows[begin:end]}
    more = f"{len(rows) - end} more follow: call again with the same arguments and cursor {end}-{mark}."
    if end < len(rows):
        value["next_cursor"] = f"{end}-{mark}"
    if not result.texts:
        return Result(value, (ReplyBlock(as_json(value)),))
    noted = (ReplyBlock(more),) if end < len(rows) else ()
    return Result(value, (*heading, *told[begin:end], *noted))


def _part_of_text(result: Result, begin: int, most: int, mark: str) -> Result:
    """A part of a long text: from an offset, so long that the value and its JSON fit."""
    text = result.value[result.text]
    if begin and begin >= len(text):
        raise _no_cursor()
    room = (most - _NOTED) // 2 - _tokens(as_json({**result.value, result.text: ""}))
    end = begin + _fitting(text[begin:], max(room, 100))
    value = {**result.value, result.text: text[begin:end]}
    if end < len(text):
        value["next_cursor"] = f"{end}-{mark}"
    return Result(value, (ReplyBlock(as_json(value)),))


def _fitting(text: str, most: int) -> int:
    """How many characters from the beginning of a text have at most so many tokens; a whole line where there is one."""
    if _tokens(as_json(text)) <= most:
        return len(text)
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _tokens(as_json(text[:middle])) <= most else (low, middle - 1)
    line = text.rfind("\n", low // 2, low)
    return line + 1 if line > 0 else low


def _spared(result: Result, most: int) -> Result:
    """A result without the end of a list that is not what was asked for, where it is too long with it."""
    spare: Sequence[Any] = result.value[result.spare]
    spent = _tokens(as_json({**result.value, result.spare: []})) + sum(_tokens(one.text) for one in result.blocks)
    kept = 0
    for one in spare:
        spent += _tokens(as_json(one))
        if spent > most:
            break
        kept += 1
    if kept == len(spare):
        return result
    left_out = {result.spare: spare[:kept], f"{result.spare}_left_out": len(spare) - kept}
    return replace(result, value={**result.value, **left_out})


def _tokens(text: str) -> int:
    return estimate_tokens(text)
