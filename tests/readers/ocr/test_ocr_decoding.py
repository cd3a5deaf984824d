"""The recogniser's arithmetic on small arrays: regions, rectangles, characters, and the order of lines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wenyuan.readers.ocr import detection
from wenyuan.readers.ocr.decoding import Letter, decode_letters
from wenyuan.readers.ocr.detection import Rect
from wenyuan.readers.ocr.recogniser import RecognisedLine
from wenyuan.readers.pdf.reading_order import ordered


def test_pixels_that_touch_even_at_a_corner_are_one_region() -> None:
    mask = np.array([[1, 0, 0, 0, 1], [0, 1, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 1, 1]], bool)
    found = sorted(sorted(map(tuple, runs.tolist())) for runs in detection.regions(mask))
    assert found == [[(0, 0, 1), (1, 1, 2), (2, 0, 1)], [(0, 4, 5), (1, 4, 5)], [(3, 3, 5)]]


def test_a_region_whose_parts_meet_only_below_is_one() -> None:
    mask = np.array([[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]], bool)
    assert len(detection.regions(mask)) == 1


def test_an_empty_mask_has_no_region() -> None:
    assert detection.regions(np.zeros((4, 4), bool)) == []


def test_regions_are_those_that_filling_from_each_pixel_finds() -> None:
    mask = np.random.default_rng(7).random((60, 60)) < 0.4
    seen, count = np.zeros_like(mask), 0
    for start in zip(*np.nonzero(mask), strict=True):
        if seen[start]:
            continue
        count += 1
        waiting = [start]
        seen[start] = True
        while waiting:
            row, column = waiting.pop()
            for near in [(row + r, column + c) for r in (-1, 0, 1) for c in (-1, 0, 1)]:
                if 0 <= near[0] < 60 and 0 <= near[1] < 60 and mask[near] and not seen[near]:
                    seen[near] = True
                    waiting.append(near)
    found = detection.regions(mask)
    assert len(found) == count
    assert sum(int((runs[:, 2] - runs[:, 1]).sum()) for runs in found) == mask.sum()


def test_the_hull_leaves_out_what_lies_within() -> None:
    points = np.array([[0, 0], [4, 0], [4, 3], [0, 3], [2, 1], [2, 0]])
    assert {tuple(point) for point in detection.hull(points)} == {(0, 0), (4, 0), (4, 3), (0, 3)}


@pytest.mark.parametrize("degrees", [-30, -3, 0, 3, 30])
def test_the_least_rectangle_lies_as_its_points_do(degrees: float) -> None:
    wanted = Rect(50.0, 40.0, 60.0, 8.0, math.radians(degrees))
    found = detection.least_rectangle(wanted.corners())
    assert found == pytest.approx(wanted, abs=1e-6)


def test_a_single_pixel_and_a_row_of_them_have_a_rectangle_of_no_height() -> None:
    assert detection.least_rectangle(np.array([[3.0, 4.0]])) == pytest.approx((3, 4, 0, 0, 0))
    assert detection.least_rectangle(np.array([[3.0, 4.0], [9.0, 4.0]])) == pytest.approx((6, 4, 6, 0, 0))


def test_a_likely_strip_becomes_a_grown_box_and_a_faint_one_none() -> None:
    likelihood = np.zeros((64, 128), np.float32)
    likelihood[20:30, 10:90] = 0.9
    likelihood[50:60, 10:90] = 0.35
    (found,) = detection.decode_boxes(likelihood)
    assert found.angle == 0
    assert (found.x, found.y) == pytest.approx((50, 25), abs=1)
    assert 80 + 10 < found.width < 80 + 20 and 10 + 10 < found.height < 10 + 20


def test_repeated_steps_are_one_character_and_a_blank_parts_two() -> None:
    steps = np.full((8, 4), 0.01, np.float32)
    for step, (of, sure) in enumerate(
        [(0, 0.9), (1, 0.7), (1, 0.8), (0, 0.9), (1, 0.6), (2, 0.5), (3, 0.9), (0, 1.0)]
    ):
        steps[step, of] = sure
    found = decode_letters(steps, ("", "一", "二", "3"))
    assert "".join(letter.text for letter in found) == "一一二3"
    assert [letter.confidence for letter in found] == pytest.approx([0.8, 0.6, 0.5, 0.9])
    assert [letter.at for letter in found] == pytest.approx([2 / 8, 4.5 / 8, 5.5 / 8, 6.5 / 8])


def test_places_are_shares_of_the_line_without_its_padding() -> None:
    steps = np.array([[0.1, 0.9], [0.9, 0.1], [1.0, 0.0], [1.0, 0.0]], np.float32)
    (letter,) = decode_letters(steps, ("", "a"), length=0.5)
    assert letter.at == pytest.approx(0.25)


def _line(
    text: str, left: float, top: float, width: float = 400, height: float = 30, *, angle: float = 0, **more: bool
) -> RecognisedLine:
    letters = tuple(Letter(c, 0.9, (at + 0.5) / len(text)) for at, c in enumerate(text))
    return RecognisedLine(Rect(left + width / 2, top + height / 2, width, height, angle), letters, **more)


def _texts(lines: list[RecognisedLine]) -> list[list[str]]:
    return [[line.read.text for line in row] for row in ordered(lines, (1000, 600))[0]]


def test_columns_are_read_one_after_the_other_below_what_stands_across_them() -> None:
    title = _line("title", 300, 10, 300)
    left = [_line(f"left {n}", 50, 100 + 40 * n) for n in range(4)]
    right = [_line(f"right {n}", 500, 102 + 40 * n) for n in range(4)]
    foot = _line("across the foot", 50, 300, 850)
    found = _texts([foot, *right, title, *left])
    assert [row[0] for row in found] == ["title", *(f"left {n}" for n in range(4)), *(f"right {n}" for n in range(4)), "across the foot"]  # fmt: skip


def test_the_short_cells_of_a_table_are_read_row_by_row() -> None:
    cells = [
        _line(f"{row}{column}", 50 + 300 * column, 100 + 40 * row, 60) for row in range(4) for column in range(3)
    ]
    assert _texts(cells[::-1]) == [[f"{row}{column}" for column in range(3)] for row in range(4)]


def test_lines_of_a_page_that_is_askew_stay_rows() -> None:
    angle = 0.05
    lines = []
    for row in range(3):
        for column in range(2):
            x, y = 200 + 500 * column, 100 + 40 * row
            at = x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)
            lines.append(_line(f"{row}{column}", at[0] - 30, at[1] - 15, 60, angle=angle))
    assert _texts(lines[::-1]) == [["00", "01"], ["10", "11"], ["20", "21"]]


def test_columns_from_the_top_down_are_read_from_the_right() -> None:
    lines = [_line(f"column {n}", 500 - 100 * n, 50, 30, 400, vertical=True) for n in range(3)]
    assert _texts(lines[::-1]) == [["column 0"], ["column 1"], ["column 2"]]


def test_a_page_that_is_upside_down_is_read_from_its_own_top() -> None:
    lines = [_line(f"line {n}", 50, 300 - 40 * n, flipped=True) for n in range(3)]
    assert _texts(lines) == [["line 0"], ["line 1"], ["line 2"]]


def test_the_frame_of_a_page_on_its_side_is_turned_and_its_lines_stand_within() -> None:
    lines = [_line(f"column {n}", 500 - 100 * n, 50, 30, 400, vertical=True) for n in range(3)]
    rows, upright = ordered(lines, (1000, 600))
    assert upright == 270
    assert [(line.left, line.right) for row in rows for line in row] == [(50, 450)] * 3
    assert [line.top for row in rows for line in row] == [470, 570, 670]


def test_no_lines_have_no_order() -> None:
    assert ordered([], (30, 40)) == ([], 0)
