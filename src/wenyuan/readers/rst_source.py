"""What reStructuredText says with two stops at the beginning of a line, and the text of a file without its markup."""

from __future__ import annotations

import re

DIRECTIVE = re.compile(
    r"\.\.[ \t]+(?:\|[^|\n]{1,100}\|[ \t]+)?(?P<name>[A-Za-z][\w:.+-]{0,80}?)[ \t]?::(?:[ \t]+(?P<said>.*)|\s*\Z)"
)
NOTE = re.compile(r"\.\.[ \t]+\[(?P<of>[0-9]{1,6}|#[\w.-]{0,80}|\*|[A-Za-z][\w.:-]{0,80})\](?:[ \t]+|\Z)(?P<said>.*)")
TARGET = re.compile(r"(?:\.\.[ \t]+_(?!_?\s)|\.\.[ \t]+__:|__[ \t]+)")
CODE = frozenset("code code-block sourcecode parsed-literal literalinclude prompt testcode testoutput testsetup doctest ipython "
                  "productionlist console highlight-block graphviz digraph graph uml mermaid plantuml".split())  # fmt: skip
SILENT = frozenset("contents index meta module currentmodule py:module py:currentmodule highlight default-domain default-role "
                    "tabularcolumns program sectnum section-numbering role sectionauthor moduleauthor codeauthor header footer "
                    "target-notes title date namespace c:namespace cpp:namespace needs_sphinx bibliography".split())  # fmt: skip
# The text of a file without its markup, line by line: what is read is compared with it.

_UNSEEN = SILENT | CODE | {"image", "figure", "include", "replace", "unicode"}
_NO_TEXT = re.compile(
    r"\s*(?:\.\.(?:\s.*)?|__\s.*|[!-/:-@\[-`{-~]{2,}|[+=|-][+=| -]*|:(?!caption|alt)[a-z][\w-]*:(?:\s.*)?)\Z"
)
_SIGNS = re.compile(
    r"^\s*(?:[-*+•]|#\.|\||:caption:|:alt:)\s+|:[\w:.+-]+:(?=`)|\\(?=.)|(?<=`)~(?:[\w.]{0,80}\.)?|[`*|]|__?(?![\w])",
    re.MULTILINE,
)
_LINKED = re.compile(r"\s<[^<>`]*>(?=`)")


def own_text(text: str) -> str:
    """The text of a file without lines of markup and without signs, found without regard to its structure."""
    kept = []
    below = 0
    for line in text.split("\n"):
        margin = len(line) - len(line.lstrip())
        stripped = line.strip()
        if below and stripped and margin < below:
            below = 0
        if below:
            continue
        if stripped.startswith("..") and not stripped.startswith("..."):
            match = DIRECTIVE.match(stripped)
            note = NOTE.match(stripped)
            comment = not match and not note and not TARGET.match(stripped)
            below = margin + 1 if comment or (match and match["name"] in ("raw", "index", "meta", "contents")) else 0
            if note:
                kept.append(note["said"])
            elif match and not below and "|" not in stripped[:5] and match["name"] not in _UNSEEN:
                kept.append(match["said"] or "")
        elif not _NO_TEXT.match(line):
            kept.append(re.sub(r"::\s*\Z", ":", line))
    return _SIGNS.sub("", _LINKED.sub("", "\n".join(kept)))
