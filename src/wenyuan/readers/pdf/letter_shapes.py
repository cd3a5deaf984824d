"""The shapes of Latin letters and digits, as common fonts draw them, and how alike a drawn letter is to each."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_FONTS = (
    "Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Times-Roman", "Times-Bold", "Times-Italic", "Courier", "Courier-Bold",
)  # fmt: skip
"""Which every reader of PDF has."""
_SIZE = 40  # points, of which one is a pixel
_STEP, _ACROSS = 60, 8  # points between letters, letters on a line
_CELLS = 20  # of a shape, across and down
_INK = 0.3  # of 1
_LEAST_HEIGHT, _LEAST_WIDTH = 9, 4  # pixels
_OTHER_WIDTH = 1.4  # times as wide or as narrow for its height: another letter, or another face
_LESS = 0.8
_ALIKE = (
    "0OoQCGDcUa", "1lIi", "5Ss", "2Zz", "6bG", "9gq", "8B3", "uUvVyY", "nhrm", "ceo", "Tt7", "MNHm", "EFP", "PDRp",
    "A4", "LEb", "KkX", "dau", "Jj",
)  # fmt: skip
"""Letters that some faces draw nearly alike, besides the small and the capital one."""


class LetterLikeness(NamedTuple):
    """How alike a drawn letter is to the letter that it is said to be, and to the best of those that are not like that one; -1..1."""

    own: float
    other: float


class _Shapes(NamedTuple):
    vectors: Any
    widths: Any
    letters: Any
    others: Any  # of each of LETTERS: which rows are of letters that are not like it


def shape(ink: Any) -> tuple[Any, float] | None:
    """The shape of what is drawn in a part of a picture, and its width for its height; None for what is too small.

    Args:
        ink: Rows of numbers from 0, paper, to 1.
    """
    import numpy as np

    rows, columns = np.flatnonzero(ink.max(axis=1) > _INK), np.flatnonzero(ink.max(axis=0) > _INK)
    if not len(rows) or not len(columns):
        return None
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = ink.shape
    if height < _LEAST_HEIGHT or width < _LEAST_WIDTH:
        return None
    sums = np.zeros((height + 1, width + 1))
    sums[1:, 1:] = ink.cumsum(0).cumsum(1)
    down, across = np.linspace(0, height, _CELLS + 1), np.linspace(0, width, _CELLS + 1)
    top, left = np.minimum(down.astype(int), height - 1), np.minimum(across.astype(int), width - 1)
    part, beside = (down - top)[:, None], (across - left)[None]
    lines = sums[top] * (1 - part) + sums[top + 1] * part
    cut = lines[:, left] * (1 - beside) + lines[:, left + 1] * beside
    cells = (cut[1:, 1:] - cut[:-1, 1:] - cut[1:, :-1] + cut[:-1, :-1]).ravel()
    cells -= cells.mean()
    length = float(np.linalg.norm(cells))
    return (cells / length, width / height) if length > 0 else None


def likeness(drawn: tuple[Any, float], letter: str) -> LetterLikeness:
    """How alike a shape is to a letter of `LETTERS`, and to others."""
    import numpy as np

    known = _shapes()
    cells, width = drawn
    ratio = known.widths / width
    found = known.vectors @ cells * np.where((ratio < _OTHER_WIDTH) & (ratio > 1 / _OTHER_WIDTH), 1.0, _LESS)
    own = found[known.letters == letter].max(initial=-1.0)
    return LetterLikeness(float(own), float(found[known.others[LETTERS.index(letter)]].max(initial=-1.0)))


@lru_cache(maxsize=1)
def _shapes() -> _Shapes:
    """The letters of the fonts that every reader of PDF has, drawn once."""
    import numpy as np
    import pypdfium2

    vectors, widths, letters = [], list[float](), list[str]()
    with pypdfium2.PdfDocument(_specimen()) as pdf:
        for page in pdf:
            picture = 1 - page.render(scale=1, grayscale=True).to_numpy() / 255
            for at, letter in enumerate(LETTERS):
                left, below = at % _ACROSS * _STEP, (at // _ACROSS + 1) * _STEP
                if drawn := shape(picture[below - _SIZE : below + _STEP - _SIZE, left : left + _STEP]):
                    vectors.append(drawn[0])
                    widths.append(drawn[1])
                    letters.append(letter)
            page.close()
    others = [[not _alike(letter, each) for each in letters] for letter in LETTERS]
    return _Shapes(np.array(vectors), np.array(widths), np.array(letters), np.array(others))


def _alike(one: str, other: str) -> bool:
    return one.lower() == other.lower() or any(one in group and other in group for group in _ALIKE)


def _specimen() -> bytes:
    """A PDF of a page for each font, with its letters in rows."""
    height = (len(LETTERS) // _ACROSS + 2) * _STEP
    shown = " ".join(
        f"1 0 0 1 {at % _ACROSS * _STEP + 5} {height - (at // _ACROSS + 1) * _STEP} Tm ({letter}) Tj"
        for at, letter in enumerate(LETTERS)
    )
    stream = f"BT /F {_SIZE} Tf {shown} ET"
    kids = " ".join(f"{3 + 2 * at} 0 R" for at in range(len(_FONTS)))
    text = f"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Count {len(_FONTS)} /Kids [{kids}] >>\nendobj\n"
    for at, font in enumerate(_FONTS):
        text += (
            f"{3 + 2 * at} 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_ACROSS * _STEP} {height}] /Contents {4 + 2 * at} 0 R "
            f"/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /{font} >> >> >> >>\nendobj\n"
            f"{4 + 2 * at} 0 obj\n<< /Length {len(stream)} >>\nstream\n{stream}\nendstream\nendobj\n"
        )
    return f"{text}trailer << /Root 1 0 R >>\n".encode()
