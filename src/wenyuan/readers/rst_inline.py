"""Text within a line of reStructuredText as a reader of the page sees it: roles, links and emphasis without their signs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wenyuan.readers import notation
from wenyuan.readers.tex_math import plain_formula

_INLINE = re.compile(
    r"\\(?P<escaped>.|\Z)"
    r"|``(?P<code>[^`\s](?:[^`]|`(?!`)|`(?=``(?!`))){0,2000})``(?!`)"
    r"|(?::(?P<role>[A-Za-z][\w.+-]{0,40}(?::[\w.+-]{1,40}){0,2}):)?_?`(?P<of>[^`\s][^`]*)`(?::(?P<after>[a-z][\w:.+-]{0,40}):|__?)?"
    r"|(?<![\w*])\*\*(?P<strong>[^*\s](?:[^*]|\*(?!\*)){0,2000})\*\*(?![\w*])"
    r"|(?<![\w*])\*(?P<emphasis>[^*\s][^*]*)\*(?![\w*])"
    r"|\|(?P<named>[^|\s][^|\n]{0,100})\|(?:__?(?!\w))?"
    r"|\[(?P<note>[0-9]{1,4}|\#[\w.-]{0,60}|\*|[A-Za-z][\w.-]{0,60})\]_(?!\w)"
    r"|(?<!\w)(?P<name>[A-Za-z0-9\u4e00-\u9fff](?:[\w.-]{0,80}[A-Za-z0-9\u4e00-\u9fff])?)__?(?![\w`_])",
    re.DOTALL,
)
_TARGET = re.compile(r"\s*<[^<>]*>\s*\Z")
_LITERAL = frozenset(("code", "literal", "samp", "file", "kbd", "command", "program", "option", "regexp"))
_WHOLE = frozenset(("abbr", "menuselection", "guilabel", "dfn", "term"))
_DOTTED = re.compile(r"~(?:[\w.]*\.)?(\w+)")
_NUMBERED = {"pep": "PEP ", "rfc": "RFC ", "cve": "CVE-", "cwe": "CWE-"}


def inline(text: str, named: Mapping[str, str]) -> str:
    """The text without markup, with the signs of `notation` for what is raised or lowered.

    Args:
        named: What stands for ``|name|``, by name in small letters.
    """

    def shown(match: re.Match[str]) -> str:
        kind = match.lastgroup
        if match["of"] is not None:
            return _role((match["role"] or match["after"] or "").rpartition(":")[2], match["of"])
        if kind == "escaped":
            return "" if match["escaped"].isspace() else match["escaped"]
        if kind == "named":
            return named.get(match["named"].lower(), match["named"])
        if kind == "note":
            return f"[{match['note'].lstrip('#') or '#'}]"
        if kind == "name":
            return match["name"]
        return str(match[kind or 0])

    return _INLINE.sub(shown, text)


def _role(role: str, text: str) -> str:
    role = role.lower()
    if role in ("sup", "superscript"):
        return notation.raised(text)
    if role in ("sub", "subscript"):
        return notation.lowered(text)
    if role in ("math", "eq"):
        return plain_formula(text)
    if role in _LITERAL or role in _WHOLE:
        return text.replace("{", "").replace("}", "") if role in ("samp", "file") else text
    shown = _TARGET.sub("", text) or text.strip(" <>")
    if role in _NUMBERED and shown == text:
        return _NUMBERED[role] + shown.partition("#")[0]
    if not role or role in ("ref", "doc"):
        return shown
    return _DOTTED.sub(r"\1", shown, count=1) if shown.startswith("~") else shown.removeprefix("!")
