"""The source of a LaTeX file: its brackets, comments and definitions, and its text without commands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

_COMMENT = re.compile(
    r"\\begin\{(?P<code>[vV]erbatim|lstlisting|minted|alltt|comment)\*?\}|\\verb\*?(?P<sign>[^A-Za-z\s*])|\\url\{[^{}\n]*\}|\\."
    r"|(?P<comment>%[^\n]*(?:\n[ \t]*)?)",
    re.DOTALL,
)
JOINED = "\x0b"
"""Stands for the line's end that a comment takes with it, so that lines keep their numbers; no text holds it."""
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_DEFINED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?[ \t]*\{?\\(?P<name>[A-Za-z]+)\}?[ \t]*(?:\[(?P<count>[0-9])\])?"
    r"[ \t]*(?P<given>\[[^\[\]\n]{0,80}\])?[ \t]*\{|\\def[ \t]*\\(?P<defined>[A-Za-z]+)[ \t]*\{"
)


def without_comments(text: str) -> tuple[str, int]:
    """The text without comments, and how many there were.

    In code the sign of a comment is a sign like others.
    """
    parts: list[str] = []
    missing: set[str] = set()
    at = count = 0
    while match := _COMMENT.search(text, at):
        after = match.end()
        if match["comment"]:
            count += 1
            parts += [text[at : match.start()], JOINED * match[0].count("\n")]
        else:
            closing = f"\\end{{{match['code']}" if match["code"] else match["sign"] or ""
            if closing and closing not in missing:
                limit = len(text) if match["code"] else min(len(text), after + 2_000)
                found = text.find(closing, after, limit)
                if found >= 0:
                    after = found + len(closing)
                elif match["code"]:
                    missing.add(closing)
            parts.append(text[at:after])
        at = after
    return "".join([*parts, text[at:]]), count


def matching(text: str) -> dict[int, int]:
    """The closing bracket of each opening one."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            found[opened.pop()] = match.start()
    return found


def definitions(text: str, closings: Mapping[int, int], known: Set[str]) -> dict[str, tuple[int, str | None, str]]:
    """What names stand for: how many arguments they take, what the first is where it is not said, and the text.

    Args:
        known: Names that stay what they are, whatever a file makes of them.
    """
    found: dict[str, tuple[int, str | None, str]] = {}
    for match in _DEFINED.finditer(text):
        body = text[match.end() : closings.get(match.end() - 1, len(text))]
        name = match["name"] or match["defined"]
        if name not in known and len(body) <= 2_000 and f"\\{name}" not in body:
            given = match["given"]
            found[name] = (int(match["count"] or 0), given[1:-1] if given else None, body)
    return found


_COLOURED = re.compile(r"\\[A-Z][A-Za-z]{1,30}Tok\{((?:[^{}\\]|\\[{}_$&#%~^ ]|\\[a-z]{4,20}(?:\{\})?){0,2000})\}")
_WRITTEN = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textquotesingle": "'", "textgreater": ">",
            "textless": "<", "textbar": "|", "textdollar": "$"}  # fmt: skip
_ESCAPED = re.compile(r"\\(?:([a-z]{4,20})(?:\{\}|\s)?|([{}_$&#%~^ ]))")


def plain_code(code: str) -> str:
    """Code without the commands that colour it, as programs that export LaTeX write them."""
    if "Tok{" not in code:
        return code

    def shown(match: re.Match[str]) -> str:
        return _ESCAPED.sub(lambda sign: sign[2] or _WRITTEN.get(sign[1] or "", sign[0]), match[1])

    return _COLOURED.sub(shown, code)


# The text of a file without its commands: what is read is compared with it.

_COMMANDS_OUT = re.compile(
    r"\\(?:label|begin|end|input|include|includegraphics|bibliography(?:style)?|vspace|hspace|setlength|pagestyle|usepackage|documentclass)\*?"
    r"(?:\[[^\[\]]{0,300}\])?(?:\{[^{}]{0,300}\})?|\\[A-Za-z]+\*?(?:\[[^\[\]\n]{0,200}\])?|\\.|[{}$&~]",
    re.DOTALL,
)


def own_text(text: str) -> str:
    """The text of a file without commands, found without regard to its structure."""
    text, _ = without_comments(text)
    body = text.partition("\\begin{document}")[2].partition("\\end{document}")[0] or text
    return _COMMANDS_OUT.sub(" ", body)
