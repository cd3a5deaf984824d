"""Pictures of pages that the tests draw, in Pillow's own font or in one with Chinese characters where the machine has one."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont


@cache
def chinese_font() -> str:
    """The path of a font with Chinese characters, sans serif if possible; the test is skipped where there is none."""
    try:
        found = subprocess.run(["fc-list", ":lang=zh", "file"], capture_output=True, text=True, check=False).stdout
    except OSError:
        found = ""
    paths = sorted(line.partition(":")[0] for line in found.splitlines())
    if not paths:
        pytest.skip("the machine has no font with Chinese characters (fonts-noto-cjk)")
    return next((path for path in paths if "Sans" in path and "Regular" in path), paths[0])


def face(size: int, *, chinese: bool = False) -> Any:
    return ImageFont.truetype(chinese_font(), size) if chinese else ImageFont.load_default(size)


def draw(lines: Sequence[tuple[int, int, str]], *, size: int = 32, area: tuple[int, int] = (900, 500)) -> Image.Image:
    """A white picture with black lines (x, y, text)."""
    picture = Image.new("RGB", area, "white")
    pen = ImageDraw.Draw(picture)
    for x, y, text in lines:
        pen.text((x, y), text, fill="black", font=face(size, chinese=not text.isascii()))
    return picture
