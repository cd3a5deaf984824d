"""MDX to a `Document`: Markdown whose imports, exports and tags of components are left out, with what stands between the tags."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import replace

from wenyuan.core.model import Document
from wenyuan.readers.assemble import left_out_note
from wenyuan.readers.markdown import read_markdown
from wenyuan.readers.markdown_html import CODE
from wenyuan.readers.text import readable

_VALUE = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,500}\}){0,500}\}){0,2000}\}"
_JSX = re.compile(
    rf"{CODE}"
    r"|^(?P<script>(?:import|export)[ \t{*][^\n]*(?:\n(?![ \t]*\n)[^\n]+)*)"
    rf"|<(?P<name>/?[A-Z][\w.]*)(?P<said>(?:[^<>\"'{{}}]|\"[^\"<]*\"|'[^'<]*'|{_VALUE}){{0,400}})/?>"
    r"|(?P<fragment></?>)",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(rf"{CODE}|(?P<comment>\{{/\*.*?\*/\}})", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(
    r"""\b(?:title|label|summary|heading|caption|alt|description|name)=(?:"([^"]*)"|'([^']*)'|\{"([^"{}]*)"\})"""
)


def read_mdx(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read MDX; titles and labels of components are kept, and nothing is run.

    Raises:
        DocumentRejected: it is no text, or holds none besides front matter and components.
    """
    text, notes = readable(content, name)
    left_out: Counter[str] = Counter()

    def shown(match: re.Match[str]) -> str:
        if match["fence"] or match["tick"]:
            return match[0]
        kind = "imports and exports" if match["script"] else "tags of components"
        left_out[kind] += 1
        said = match["said"] or ""
        words = " ".join(next(filter(None, found), "") for found in _SHOWN.findall(said)).strip()
        goes_on = words and match.string[match.end() : match.end() + 1].strip()
        return f"{words}{': ' if goes_on else ''}" + "\n" * match[0].count("\n")

    plain = _JSX.sub(shown, _without_comments(text, left_out))
    (document,) = read_markdown(plain.encode("utf-8", "replace"), uri=uri, name=name)
    return (
        replace(
            document,
            sha256=hashlib.sha256(content).hexdigest(),
            notes=(*notes, *left_out_note(left_out), *document.notes),
        ),
    )


def _without_comments(text: str, left_out: Counter[str]) -> str:
    """Text without comments outside code; their line ends stay, which keeps line numbers."""

    def blank(match: re.Match[str]) -> str:
        if match["comment"] is None:
            return match[0]
        left_out["comments"] += 1
        return "\n" * match[0].count("\n")

    upto = text.rfind("*/}") + 3  # beyond it nothing can match: looking there would cost quadratic time
    return _COMMENT.sub(blank, text[:upto]) + text[upto:] if upto > 2 else text
