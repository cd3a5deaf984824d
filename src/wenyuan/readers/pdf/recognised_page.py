"""Pages recognised by OCR, as `PrintedPage`, and the uncertain numbers in their text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document
from wenyuan.readers.ocr.doubt import uncertain
from wenyuan.readers.ocr.weights import not_installed
from wenyuan.readers.pdf.page import MARGIN, Gap, PrintedLine, PrintedPage
from wenyuan.readers.pdf.strokes import Frame
from wenyuan.readers.selection import PagesWanted
from wenyuan.runtime.installation import install_command

Pages = Mapping[int, Mapping[str, Any]]
"""Recognised pages by number, as `ocr.pages.recognised` tells them; one that could not be has its reason as ``failed``."""

_EVEN = (0.75, 1.3)  # heights of lines, of the usual one, that are taken to be set in its size
_OPEN_NUMBER = re.compile(r"[0-9]，\Z")
_SHOWN = 20  # numbers of pages


def printed(told: Mapping[str, Any], number: int) -> PrintedPage:
    """A `PrintedPage` from the result of `ocr.pages.recognised`; without lines where recognition failed.

    Args:
        number: 1-based.
    """
    width, height = told.get("size", (595.0, 842.0))
    frame = Frame((0.0, 0.0, width, height), 0, told.get("upright", 0))
    lines = _even([_recognised_line(row, number, frame.size[1]) for row in told.get("rows", ())])
    pressed = (_recognised_line([part], number, frame.size[1]) for part in told.get("seals", ()))
    lines += tuple(replace(line, seal=True) for line in pressed)
    own = "\n".join(line.text for line in lines)
    read = "failed" not in told  # pages of an interrupted run may be kept as a former version told them
    return PrintedPage(number, frame, lines, own, recognised=read, unread=not read, dropped=told.get("dropped", 0))


def _recognised_line(row: Sequence[Mapping[str, Any]], number: int, page_height: float) -> PrintedLine:
    """The text in one row, with gaps between its parts."""
    text, sure, gaps = "", [], []
    for at, part in enumerate(row):
        said = part["text"].strip()
        gone = len(part["text"]) - len(part["text"].lstrip())
        if at:
            gaps.append(Gap(len(text), len(text) + 1, row[at - 1]["place"][2], part["place"][0]))
            text += " "
            sure.append(1.0)
        text += said
        sure += part["sure"][gone : gone + len(said)]
    left, top, right, bottom = _around([part["place"] for part in row])
    return PrintedLine(
        text, number, left, right, page_height - bottom, median(part["place"][3] - part["place"][1] for part in row),
        in_margin=top < MARGIN * page_height or bottom > (1 - MARGIN) * page_height,
        gaps=tuple(gap for gap in gaps if gap.left > gap.right),
        box=_around([part["box"] for part in row]),
        confidence=sum(sure) / len(sure),
        sure=tuple(sure),
    )  # fmt: skip


def _even(lines: Sequence[PrintedLine]) -> tuple[PrintedLine, ...]:
    """Set lines of almost the usual height to exactly that: lines of digits are detected lower than those with tall
    letters.

    A full-width comma at the end of a line is a narrow one where the number goes on in the next.
    """
    usual = median(line.height for line in lines) if lines else 0.0
    even = []
    for at, found in enumerate(lines):
        line, text, after = found, found.text, lines[at + 1].text if at + 1 < len(lines) else ""
        if _OPEN_NUMBER.search(text) and after[:1].isdigit():
            text = text[:-1] + ","
        if _EVEN[0] * usual <= line.height <= _EVEN[1] * usual:
            line = replace(line, bottom=line.bottom + (line.height - usual) / 2, height=usual)
        even.append(replace(line, text=text))
    return tuple(even)


def _around(boxes: Sequence[Sequence[float]]) -> tuple[float, float, float, float]:
    """The bounding box of boxes given as left, top, right, bottom."""
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def in_pictures(
    pages: Sequence[PrintedPage], pictures: Sequence[int], recognised: Pages | None, name: str
) -> tuple[list[PrintedPage], list[str]]:
    """Pages with recognised text in place of an empty or broken text layer, and notes on those that stay unread.

    Args:
        pictures: The numbers of the pages that must be read from their pictures.
        recognised: What was recognised; None where no OCR is installed.

    Raises:
        PagesWanted: more is to be recognised first.
        DocumentRejected: nothing could be read, and why.
    """
    if recognised is None:
        pictures = sorted({*pictures, *(page.number for page in pages if not page.lines)})
        if len(pictures) == len(pages):
            raise not_installed(_unread(pages, pictures), name)
        notes = [
            msg("{unread}; to read them: {command}", unread=_unread(pages, pictures), command=install_command("ocr"))
        ]
        unread = [replace(page, unread=True) if page.number in set(pictures) else page for page in pages]
        return unread, notes if pictures else []
    if wanted := tuple(page for page in pictures if page not in recognised):
        raise PagesWanted(wanted)
    failed = {page: str(recognised[page]["failed"]) for page in pictures if "failed" in recognised[page]}
    if failed and len(failed) == len(pages):
        raise DocumentRejected(next(iter(failed.values())), component=name)
    found = {page: printed(recognised[page], page) for page in pictures}
    notes = [
        msg("page {page} was not recognised: {reason}", page=page, reason=reason) for page, reason in failed.items()
    ]
    return [found.get(page.number, page) for page in pages], notes


def _unread(pages: Sequence[PrintedPage], pictures: Sequence[int]) -> str:
    broken = any(page.own.strip() for page in pages if page.number in set(pictures))
    if len(pictures) == len(pages):
        if broken:
            return msg("the text layer of its {count} pages holds no readable text", count=len(pages))
        return msg("no text layer on any of its {count} pages (scanned?)", count=len(pages))
    told = ", ".join(map(str, pictures[:_SHOWN])) + (" …" if len(pictures) > _SHOWN else "")
    return msg(
        "no text layer on {count} of {count2} pages: {empty}", count=len(pictures), count2=len(pages), empty=told
    )


def marked(document: Document, pages: Sequence[PrintedPage]) -> Document:
    """The document with its uncertain numbers."""
    known: dict[tuple[int, float], list[PrintedLine]] = {}
    for page in pages:
        for line in page.lines if page.recognised else ():
            known.setdefault((line.page, line.confidence or 0.0), []).append(line)
    sure = {
        at: _sure(known[line.page, line.confidence], document.text[line.start : line.end])
        for at, line in enumerate(document.lines)
        if line.confidence is not None
    }
    return replace(document, uncertain=uncertain(document.text, document.lines, sure))


def _sure(lines: Sequence[PrintedLine], text: str) -> list[float]:
    """Confidence of each character of a text made of these lines or parts of them; the lowest where several lines
    match.
    """
    found = [
        line.sure[at : at + len(text)]
        for line in lines
        for at in range(len(line.text) - len(text) + 1)
        if line.text.startswith(text, at)
    ]
    if not found:  # a hyphen was taken out of it, or a hidden character
        return [min(min(line.sure) for line in lines)] * len(text)
    return [min(column) for column in zip(*found, strict=True)]
