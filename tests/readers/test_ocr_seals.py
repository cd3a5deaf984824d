"""What a seal says is no heading: red rings are found by colour and shape, and what stands in them is kept apart and noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from PIL import Image, ImageDraw

from scans import face
from wenyuan.core.fidelity import Line
from wenyuan.core.model import Document
from wenyuan.core.text.chunking import chunk
from wenyuan.readers.assemble import Original
from wenyuan.readers.ocr.detection import Rect
from wenyuan.readers.ocr.doubt import SURE_WORD, uncertain
from wenyuan.readers.ocr.seals import in_seal, seals
from wenyuan.readers.pdf.reader import document_of
from wenyuan.readers.pdf.recognised_page import printed

_RED, _BLACK = (214, 40, 44), (20, 20, 20)


def page(colour: tuple[int, int, int], box: tuple[int, int, int, int] = (300, 500, 480, 680)) -> Image.Image:
    """A page of black text with a ring in a colour."""
    picture = Image.new("RGB", (800, 1100), "white")
    pen = ImageDraw.Draw(picture)
    pen.text((100, 100), "The pump stands in the cellar of the house.", fill=_BLACK, font=face(24))
    pen.ellipse(box, outline=colour, width=7)
    pen.text((box[0] + 50, (box[1] + box[3]) // 2 - 14), "SEAL", fill=colour, font=face(28))
    return picture


def test_a_red_ring_is_a_seal_and_red_letters_over_a_document_are_none() -> None:
    """Its place is found to some pixels; a black ring, red words in a row and a red rule are no seals."""
    [found] = seals(page(_RED))
    assert found == pytest.approx((300, 500, 480, 680), abs=12)
    assert len(seals(page(_RED, (250, 500, 500, 660)))) == 1  # an oval one
    assert seals(page(_BLACK)) == []
    head = Image.new("RGB", (800, 1100), "white")
    pen = ImageDraw.Draw(head)
    pen.text((120, 80), "CITY COUNCIL PAPERS", fill=_RED, font=face(52))
    pen.line((80, 200, 720, 200), fill=_RED, width=4)
    assert seals(head) == []


def test_what_a_seal_is_pressed_on_is_no_text_of_it() -> None:
    """A line belongs to the seal where it stands in it and its own ink is red."""
    picture = page(_RED)
    pen = ImageDraw.Draw(picture)
    pen.text((330, 540), "7 March 2026", fill=_BLACK, font=face(20))
    found = seals(picture)
    assert in_seal(picture, Rect(390, 590, 80, 30, 0.0), found)
    assert not in_seal(picture, Rect(395, 552, 130, 24, 0.0), found)
    assert not in_seal(picture, Rect(300, 112, 400, 30, 0.0), found)


def told(texts: list[str], seals: Sequence[str] = (), *, high: float = 20.0) -> dict[str, Any]:
    """A recognised page, as a reading process tells it."""

    def line(text: str, top: float, height: float) -> dict[str, Any]:
        place = (60, top, 60 + 12 * len(text), top + height)
        return {"text": text, "sure": [0.99] * len(text), "box": [0.1, 0.1, 0.9, 0.2], "place": place}

    rows = [[line(text, 100 + 40 * at, high)] for at, text in enumerate(texts)]
    return {
        "size": [595, 842],
        "upright": 0,
        "dropped": 0,
        "rows": rows,
        "seals": [line(one, 400, 60) for one in seals],
    }


def read(*pages: dict[str, Any]) -> Document:
    made = [printed(one, number) for number, one in enumerate(pages, 1)]
    original = Original(b"x", "file:///x/a.pdf", "a.pdf")
    return document_of(made, original, media_type="application/pdf", notes=(), metadata={})


def test_a_seal_is_no_heading_over_what_comes_after_it() -> None:
    """Its letters stand in a paragraph of their own at the end of the page, with a note; passages have no heading of it."""
    body = ["The pump stands in the cellar of the house,", "and nobody may open it while it turns."]
    document = read(told(body, ["PUMP TRUST"]), told(body))
    assert [block.kind for block in document.blocks if "PUMP TRUST" in document.text[block.start : block.end]] == [
        "paragraph"
    ]
    assert not any("PUMP TRUST" in heading for draft in chunk(document) for heading in draft.headings)
    assert document.title == "a"
    assert document.fidelity is not None
    assert "read from seals, and no headings: PUMP TRUST" in document.fidelity.warnings
    assert document.fidelity.lost == 0


def test_a_passage_below_a_heading_at_the_end_of_a_page_is_of_the_next_page() -> None:
    """Its place is where its text stands, not where its heading does."""
    first, second = (
        told(["Text of the first page that goes on for a while, so that it is one."]),
        told(["The valve is shut by hand."]),
    )
    head = dict(first["rows"][0][0], text="Valves of the pump", sure=[0.99] * 18, place=(60, 700, 300, 745))
    first["rows"].append([head])
    drafts = chunk(read(first, second))
    assert [(draft.page, draft.fragment) for draft in drafts] == [(1, "page=1"), (2, "page=2")]


def test_an_unsure_word_is_marked_as_an_unsure_number_is() -> None:
    """Of Chinese the characters in question, of other scripts the word; what is surely read is not marked."""
    text = "水泵禁止启动 the valve turns"
    sure = [0.99] * len(text)
    sure[2] = sure[3] = sure[text.index("valve")] = SURE_WORD - 0.1
    lines = [Line(0, len(text), 1, (0.0, 0.0, 1.0, 1.0), 0.9)]
    found = [(text[one.start : one.end], one.kind) for one in uncertain(text, lines, {0: sure})]
    assert found == [("禁止", "word"), ("valve", "word")]
    assert uncertain(text, lines, {0: [0.99] * len(text)}) == ()
