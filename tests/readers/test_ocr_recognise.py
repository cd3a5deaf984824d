"""What the recogniser reads on pages that are drawn here, and what it refuses to run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PIL import Image

from scans import draw
from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.ocr import weights
from wenyuan.readers.ocr.recogniser import Recogniser
from wenyuan.readers.pdf.reading_order import ordered


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser(weights.load())


def _read(recogniser: Recogniser, picture: Image.Image) -> list[str]:
    return [" ".join(line.read.text for line in row) for row in ordered(recogniser.lines(picture), picture.size)[0]]


_ENGLISH = ["Payments received after 28 days", "bear interest at 7.38% per annum."]


def test_english_is_read_with_its_spaces_and_numbers(recogniser: Recogniser) -> None:
    page = draw([(40, 60 + 60 * n, line) for n, line in enumerate(_ENGLISH)])
    assert _read(recogniser, page) == _ENGLISH


@pytest.mark.parametrize("degrees", [90, 180, 270, 3])
def test_a_turned_page_is_read_in_the_order_of_its_text(recogniser: Recogniser, degrees: int) -> None:
    page = draw([(40, 60 + 60 * n, line) for n, line in enumerate(_ENGLISH)])
    assert (
        _read(recogniser, page.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor="white")) == _ENGLISH
    )


def test_chinese_is_read_with_its_numbers_and_signs(recogniser: Recogniser) -> None:
    lines = ["第十三条　违约金不超过人民币84,610,060.39元。", "納稅義務人應於52日內申報。"]
    found = _read(recogniser, draw([(40, 60 + 60 * n, line) for n, line in enumerate(lines)]))
    assert [line.replace(" ", "").replace("，", ",") for line in found] == [
        "第十三条违约金不超过人民币84,610,060.39元。",
        lines[1],
    ]


def test_every_character_has_a_confidence_and_a_place_along_its_line(recogniser: Recogniser) -> None:
    (line,) = recogniser.lines(draw([(40, 60, "No. 1234567890")]))
    assert all(0 < letter.confidence <= 1 for letter in line.letters)
    places = [letter.at for letter in line.letters]
    assert places == sorted(places) and places[0] < 0.15 and places[-1] > 0.85


def test_a_blank_page_and_one_of_a_pixel_have_no_lines(recogniser: Recogniser) -> None:
    assert recogniser.lines(Image.new("RGB", (600, 800), "white")) == []
    assert recogniser.lines(Image.new("RGB", (1, 1), "white")) == []


def test_a_damaged_model_file_is_refused_by_its_hash(tmp_path: Path) -> None:
    shutil.copytree(weights.find_folder(), tmp_path / "models")
    file = tmp_path / "models" / weights.FILES["recognition"][0]
    content = bytearray(file.read_bytes())
    content[1_000_000] ^= 1
    file.write_bytes(content)
    with pytest.raises(DocumentRejected, match=r"PP-OCRv6_rec_small\.onnx is not the one expected: sha256") as caught:
        weights.load(tmp_path / "models")
    assert "--force-reinstall --no-deps rapidocr==3.10.0" in caught.value.hint


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentRejected, match=r"PP-OCRv6_det_small\.onnx cannot be read: No such file"):
        weights.load(tmp_path)
