"""Which sources and documents are in force on a day: status, dates, and what supersedes what.

What is superseded ends the day before its successor begins. A draft supersedes nothing yet; what is retired
did, while it was in force. Only the named predecessor ends, not the predecessor's own predecessors.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, get_args

from wenyuan.core.errors import Fault, InvalidRequest
from wenyuan.core.suggest import did_you_mean
from wenyuan.core.text import fold

__all__ = [
    "FRONT_MATTER_KEYS",
    "Status",
    "Validity",
    "date_from_name",
    "effective_ends",
    "parse_date",
    "parse_status",
    "validity_from",
]

Status = Literal["in_force", "draft", "retired"]
_STATUSES: Mapping[str, Status] = {
    **{word: "in_force" for word in ("in_force", "in force", "current", "active", "valid", "effective", "published",
                                     "final", "现行", "现行有效", "有效", "生效", "已生效", "施行", "已发布")},
    **{word: "draft" for word in ("draft", "proposed", "pending", "草案", "草稿", "征求意见稿", "送审稿", "尚未生效",
                                  "未生效", "待生效")},
    **{word: "retired" for word in ("retired", "repealed", "withdrawn", "obsolete", "superseded", "expired", "archived",
                                    "废止", "已废止", "失效", "已失效", "作废", "已作废", "已被取代", "停用")},
}  # fmt: skip
_KEYS: Mapping[str, tuple[str, ...]] = {
    "effective_from": ("effective from", "effective date", "valid from", "in force from", "生效日期", "施行日期",
                       "实施日期", "生效时间"),
    "effective_until": ("effective until", "effective to", "valid until", "valid to", "expires", "expiry date",
                        "失效日期", "废止日期", "有效期至", "失效时间"),
    "status": ("validity", "状态", "效力", "时效性", "有效性"),
    "supersedes": ("replaces", "取代", "代替", "替代"),
}  # fmt: skip
FRONT_MATTER_KEYS: Mapping[str, str] = {
    word: name for name, words in _KEYS.items() for word in (name.replace("_", " "), *words)
}
"""Field of `Validity` by its key in front matter, folded, with spaces for ``_`` and ``-``."""

_DAY = r"(?P<day>0?[1-9]|[12][0-9]|3[01])"
_MONTH = r"(?P<month>0?[1-9]|1[0-2])"
_YEAR = r"(?<![0-9])(?P<year>(?:19|20)[0-9]{2})"
_WRITTEN = re.compile(rf"{_YEAR}(?:年{_MONTH}月{_DAY}日?|(?P<sign>[-./_]){_MONTH}(?P=sign){_DAY})(?![0-9])".replace(
    "(?P<month>", "(?P<month1>", 1).replace("(?P<day>", "(?P<day1>", 1))  # fmt: skip
_COMPACT = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(?![0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """When something is in force, and what it takes the place of.

    Attributes:
        effective_until: The last day, inclusive.
        supersedes: Ids of what it takes the place of.
    """

    id: str = ""
    effective_from: date | None = None
    effective_until: date | None = None
    status: Status = "in_force"
    supersedes: tuple[str, ...] = ()

    def in_force_on(self, day: date, *, ends: date | None = None) -> bool:
        """Whether it is in force on a day; `ends` is its effective end from `effective_ends`, if earlier."""
        until = min((d for d in (self.effective_until, ends) if d is not None), default=date.max)
        return self.status == "in_force" and (self.effective_from or date.min) <= day <= until
