"""What a style hides, and what it does not, is so in Chromium."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from chromium import started
from hiding_styles import HIDING, HIDING_PAGES, SHOWING, SHOWING_PAGES

_WIDTH, _HEIGHT, _ACROSS = 320, 60, 4
_ONLY_IN_MAIL = "mso-hide:all"
"""To Outlook, and to no browser."""


def seen(pages: Sequence[str]) -> list[bool]:
    """Whether the picture of each page shows letters."""
    frames = "".join(
        f'<iframe style="position:absolute;border:0;background:white;left:{at % _ACROSS * _WIDTH}px;top:{at // _ACROSS * _HEIGHT}px;'
        f'width:{_WIDTH}px;height:{_HEIGHT}px" srcdoc="{html.escape(page)}"></iframe>'
        for at, page in enumerate(pages)
    )
    with started() as browser:
        window = browser.new_page(
            viewport={"width": _WIDTH * _ACROSS, "height": (len(pages) // _ACROSS + 1) * _HEIGHT}
        )
        window.set_content(f"<body style='margin:0'>{frames}")
        picture = np.asarray(Image.open(io.BytesIO(window.screenshot())).convert("RGB")).astype(int)
    steps = np.abs(np.diff(picture, axis=1)).max(axis=2) > 10
    places = ((at // _ACROSS * _HEIGHT, at % _ACROSS * _WIDTH) for at in range(len(pages)))
    return [bool(steps[top : top + _HEIGHT, left : left + _WIDTH - 1].sum() > 60) for top, left in places]


def test_the_picture_of_a_page_shows_what_is_read() -> None:
    """Every style and every page of the lists that the reader is held to, but for pictures, which Chromium has not."""
    hiding = [f'<div style="{style}">secret</div>' for style in HIDING if style != _ONLY_IN_MAIL] + HIDING_PAGES
    showing = [f'<div style="{style}">secret</div>' for style in SHOWING if "url(" not in style] + SHOWING_PAGES
    found = seen([*hiding, *showing])
    assert [page for page, shown in zip(hiding, found, strict=False) if shown] == []
    assert [page for page, shown in zip(showing, found[len(hiding) :], strict=True) if not shown] == []
