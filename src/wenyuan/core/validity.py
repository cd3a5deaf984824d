"""Which sources and documents are in force on a day: status, dates, and what supersedes what.

What is superseded ends the day before its successor begins. A draft supersedes nothing yet; what is retired
did, while it was in force. Only the named predecessor ends, not the predecessor's own predecessors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from wenyuan.core.model import Facet

Status = Literal["in_force", "draft", "retired"]
_STATUS_WORDS: Mapping[Status, str] = {
    "in_force": "in_force current active valid effective published final stable 现行 现行有效 有效 生效 已生效 施行 已发布",
    "draft": "draft proposed pending 草案 草稿 征求意见稿 送审稿 尚未生效 未生效 待生效",
    "retired": "retired repealed withdrawn obsolete superseded expired archived deprecated 废止 已废止 失效 已失效 作废 已作废"
    " 已被取代 停用",
}
STATUSES: Mapping[str, Status] = {word: status for status, words in _STATUS_WORDS.items() for word in words.split()}
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
SQUEEZED: Mapping[str, str] = {word.replace(" ", ""): name for word, name in FRONT_MATTER_KEYS.items()}
TIME = re.compile(
    r"(?<=[0-9日])(?:T|\s+)[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?\s*(?:Z|[+-][0-9]{2}:?[0-9]{2})?\Z"
)

WRITTEN = re.compile(
    r"(?<![0-9])((?:19|20)[0-9]{2})(?:年([0-9]{1,2})月([0-9]{1,2})日?|([-./_])([0-9]{1,2})\4([0-9]{1,2})(?![0-9]))"
)
COMPACT = re.compile(
    r"(?:(?<![A-Za-z0-9.])|(?<=v))((?:19|20)[0-9]{2})(1[0-2]|0[1-9])(3[01]|[12][0-9]|0[1-9])(?![0-9])", re.IGNORECASE
)
# A day that stands alone may be of any year: 9999-12-31 means for ever.
WHOLE = re.compile(WRITTEN.pattern.replace("(?:19|20)[0-9]{2}", "[0-9]{4}"))
BRACKETS = re.compile(r"[(\[【〔《]([^()\[\]【】〔〕《》]*)[)\]】〕》]")
LIST = re.compile(r"[,;，；、\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Period of validity, status, and what is superseded.

    Attributes:
        effective_until: The last day, inclusive.
        supersedes: Ids of what it takes the place of.
    """

    id: str = ""
    effective_from: date | None = None
    effective_until: date | None = None
    status: Status = "in_force"
    supersedes: tuple[str, ...] = ()

    def days(self, *, ends: date | None = None) -> tuple[date, date]:
        """The first and the last day on which it is in force; the last is before the first where it never is.

        A draft never is; what is retired was, as long as its last day is known.

        Args:
            ends: Its last day by `effective_ends`; the earlier one counts.
        """
        last = min((d for d in (self.effective_until, ends) if d is not None), default=None)
        if self.status == "draft" or (self.status == "retired" and last is None):
            return date.max, date.min
        return self.effective_from or date.min, last or date.max


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveVersion:
    """A live document with the fields for comparing versions. ``own_until`` is its own end, before supersession."""

    document_id: int
    uri: str
    title: str
    effective_from: date | None
    effective_until: date | None
    own_until: date | None
    facets: Mapping[str, Facet]
