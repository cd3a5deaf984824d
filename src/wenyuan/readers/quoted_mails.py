"""Quoted earlier mails: put below a heading, so that they are not taken for the mail's own text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wenyuan.core.text.folding import has_han
from wenyuan.readers.assemble import Piece

_DIVIDER = re.compile(
    r"\s*[-_=*]{2,}\s*(?:original (?:message|mail)|forwarded message|begin forwarded message|原始邮件|原邮件|原始訊息|原郵件|转发邮件|轉寄郵件|"
    r"转发的邮件|回复的原邮件|forwarded by [^\n]{0,80})\s*[-_=*]{2,}\s*",
    re.IGNORECASE,
)
_ATTRIBUTION = re.compile(r"(?:wrote|writes|写道|寫道)\s*[:：]\s*\Z", re.IGNORECASE)
_WHO = re.compile(r"[0-9@<]")
_FROM = re.compile(r"\s*\**(?:from|发件人|寄件者|寄件人|發件人)\**\s*[:：]", re.IGNORECASE)
_SENT = re.compile(
    r"\s*\**(?:sent|date|发送时间|发送日期|日期|时间|寄件日期|傳送時間|發送時間)\**\s*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_MOST_ATTRIBUTED = 400
_QUOTE = re.compile(r"(?:[ \t]?>)+ ?")


def _opens_earlier(text: str) -> bool:
    """Whether a paragraph starts a quoted mail: a divider, an "on … wrote" line, or a mail header."""
    if _DIVIDER.match(text):
        return True
    if len(text) <= _MOST_ATTRIBUTED and _ATTRIBUTION.search(text) and _WHO.search(text):
        return True
    return bool(_FROM.match(text) and _SENT.search(text[:600]))


def marked(piece: Piece) -> Piece:
    """An HTML paragraph that starts a quoted mail, as a heading."""
    if piece.kind == "paragraph" and _opens_earlier(piece.text):
        return Piece("heading", " ".join(piece.text.split()), level=2, anchor=piece.anchor)
    return piece


def quoted_pieces(text: str, added: list[str]) -> Iterator[Piece]:
    """The paragraphs of a plain-text mail, with quoted text below headings as deep as its quoting.

    Args:
        added: Receives the headings that are not in the mail: for a quote without an author line, and for text after
            a quote.
    """
    quoted, own = ("引用的邮件", "邮件正文") if has_han(text) else ("Quoted mail", "Mail")
    paragraphs = list(_paragraphs(text))
    below = current = 0  # quotes without marks that the text at hand is in; how deep the last paragraph was quoted
    for (level, paragraph), (after, _) in zip(paragraphs, [*paragraphs[1:], (0, "")], strict=False):
        if _opens_earlier(paragraph):
            below += after <= level  # without marks, all that follows is the earlier mail's
            current = level + below + (after > level)
            yield Piece("heading", " ".join(paragraph.split()), level=min(current + 1, 6))
            continue
        depth = level + below
        if depth != current:
            added.append(heading := quoted if depth else own)
            yield Piece("heading", heading, level=min(depth + 1, 6))
            current = depth
        yield Piece("paragraph", paragraph)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs with their quoting depth, the ``>`` marks removed."""
    lines: list[str] = []
    depth = 0
    for line in (*text.replace("\r\n", "\n").split("\n"), ""):
        found = _QUOTE.match(line)
        level = found[0].count(">") if found else 0
        rest = line[found.end() :] if found else line
        if lines and (level != depth or not rest.strip()):
            yield depth, "\n".join(lines)
            lines = []
        if rest.strip():
            depth = level
            lines.append(rest)
