"""Redaction rules for mail addresses that a program puts together: ``"wang" + "@" + "corp.cn"``, ``"@".join(["wang", "corp.cn"])``."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import Rule, Span
from wenyuan.core.redaction.text_view import TextView

_LOCAL, _HOST = r"[a-z0-9][a-z0-9._+\-]{0,40}", r"[a-z0-9][a-z0-9\-]{0,40}(?:\.[a-z0-9\-]{1,40}){1,4}"
_JOIN = r"[\"'`][ \t]{0,3}(?:\+|\.{1,2}|\|\||&|,|<>)[ \t\n]{0,8}[\"'`]"
_PARTS = re.compile(
    rf"(?P<quote>[\"'`])(?P<local>{_LOCAL})(?:{_JOIN}@{_JOIN}|@{_JOIN}|{_JOIN}@)(?P<host>{_HOST})[\"'`]"
)
_LISTED = re.compile(
    rf"[\"']@[\"']\.join\([\[(][ ]?[\"'](?P<local>{_LOCAL})[\"'],[ ]?[\"'](?P<host>{_HOST})[\"']"
    rf"|[\[(][ ]?[\"'](?P<first>{_LOCAL})[\"'],[ ]?[\"'](?P<second>{_HOST})[\"'][ ]?[\])]\.join\([\"']@[\"']\)"
)


def _joined(_view: TextView, match: re.Match[str]) -> Span:
    """From the local part to the end of the host; what joins them goes with them."""
    return match.start("local"), match.end("host"), f"{match['local']}@{match['host']}"


def _listed(_view: TextView, match: re.Match[str]) -> Span:
    local, host = ("local", "host") if match["local"] else ("first", "second")
    return match.start(local), match.end(host), f"{match[local]}@{match[host]}"


RULES = (Rule("email", _PARTS, _joined, needs=("@",)), Rule("email", _LISTED, _listed, needs=("@",)))
