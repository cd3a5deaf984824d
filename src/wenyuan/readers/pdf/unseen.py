"""Text that a file has and nobody sees on the page: beyond its edges, or too small to be anything but a hidden message."""

from __future__ import annotations

from dataclasses import replace

from wenyuan.readers.pdf.page import PrintedLine, PrintedPage

_LEAST = 1.6  # points; a line of letters of one point is so high, and what is printed to be read has four and more
_NARROW = 0.02  # of its height, for each letter of a line
_LEAST_PAGE = 200.0  # points; a page that is smaller is measured in another unit


def without_unseen(page: PrintedPage) -> tuple[PrintedPage, int]:
    """The page without the lines that nobody sees, and how many characters these have. A line without a place stays."""
    width, height = page.frame.size

    def seen(line: PrintedLine) -> bool:
        if line.right <= line.left or line.height <= 0:
            return True
        squeezed = line.right - line.left < _NARROW * line.height * len(line.text)
        tiny = (line.height < _LEAST and height >= _LEAST_PAGE) or squeezed
        within = line.right > 0 and line.left < width and line.bottom + line.height > 0 and line.bottom < height
        return within and not tiny

    kept = tuple(line for line in page.lines if seen(line))
    if len(kept) == len(page.lines):
        return page, 0
    count = sum(len("".join(line.text.split())) for line in page.lines if not seen(line))
    return replace(page, lines=kept), count
