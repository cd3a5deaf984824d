"""A library whose reader says how it read: every line has a place on a page, and some characters were not read surely."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.fidelity import Fidelity, Line, Uncertain
from wenyuan.core.model import Document

SCAN = "# 值班规定\n\n客户投诉应当在 24 小时内首次响应，并登记投诉编号。\n\n夜间值班电话由前台保管。\n"
TYPED = "# 差旅规定\n\n出差人员应当在返回后 10 个工作日内报销差旅费用。\n"
DOUBTFUL = re.compile(r"(?<!\d)24(?!\d)")
"""What is not read surely, wherever a scan has it."""


def scanned(document: Document) -> Document:
    """A document as if it had been recognised in an image: one page for every two lines."""
    lines, at = [], 0
    for number, text in enumerate(document.text.splitlines(keepends=True)):
        if text.strip():
            top = 0.1 + 0.1 * (number % 2)
            box = (0.1, top, 0.9, top + 0.05)
            lines.append(Line(at, at + len(text.rstrip("\n")), 1 + number // 2, box, 0.9))
        at += len(text)
    doubts = [Uncertain(m.start(), m.end(), "number", 0.41) for m in DOUBTFUL.finditer(document.text)]
    size = len("".join(document.text.split()))
    told = Fidelity(pages=2, ocr_pages=2, read_characters=size, confidence=0.9, warnings=("the seal was not read",))
    return replace(document, lines=tuple(lines), uncertain=tuple(doubts), fidelity=told)


def reads_scans(library: Any) -> None:
    """From now on the library takes files whose names begin with ``scan`` for scans."""
    ingester = library.ingestion.ingester
    read = ingester.read

    def reading(file: Path, uri: str) -> Sequence[Document]:
        return [scanned(one) if file.name.startswith("scan") else one for one in read(file, uri)]

    library.ingestion = replace(library.ingestion, ingester=replace(ingester, read=reading))


@contextlib.contextmanager
def scans(folder: Path, **settings: Any) -> Iterator[Any]:
    """A library with a source ``duty`` of a scan and of a file that was typed, and a file that cannot be read."""
    docs = folder / "duty"
    docs.mkdir()
    (docs / "scan.md").write_text(SCAN, "utf-8")
    (docs / "typed.md").write_text(TYPED, "utf-8")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}, **settings) as library:
        reads_scans(library)
        library.add(wenyuan.Source(source_id="duty", path=str(docs), trust=4))
        yield library
