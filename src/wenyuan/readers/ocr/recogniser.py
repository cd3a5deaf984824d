"""From an image of a page to its text lines: detect, cut out, rotate, recognise. numpy and Pillow prepare, onnxruntime computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.readers.ocr.decoding import Letter, decode_letters
from wenyuan.readers.ocr.detection import Rect, decode_boxes
from wenyuan.readers.ocr.weights import Networks

if TYPE_CHECKING:
    from PIL.Image import Image


_LONGEST = 1_280, 2_048  # pixels of the longer side that the detector sees: of A4, and of any page
_AREA = 2_300_000  # pixels that the detector sees: it takes .35 GB for a million
_PAGE = 2_339  # pixels of the longer side of A4 at 200 dpi
_SHORTEST = 320
_STEP = 32  # the detector takes sides that are multiples of this
_HEIGHT = 48  # of a line, for the recogniser and the angle classifier
_ANGLE_WIDTH = 192
_ANGLE_SURE = 0.9
_BATCH_PIXELS = 48 * 4_000  # one batch of lines: bounds what the recogniser's answer takes in memory
_LONGEST_LINE = 6_000  # pixels at a height of 48
_UPRIGHT = 1.5  # a box that is this much higher than wide holds a column of text


@dataclass(frozen=True, slots=True)
class RecognisedLine:
    """A recognised line.

    Attributes:
        rect: Where it stands on the picture that was given, in pixels.
        letters: Its characters from its beginning on, `at` along the line.
        vertical: It runs from the top down (or, flipped, upwards).
        flipped: It stands upside down.
    """

    rect: Rect
    letters: tuple[Letter, ...]
    vertical: bool = False
    flipped: bool = False

    @property
    def text(self) -> str:
        return "".join(letter.text for letter in self.letters)

    @property
    def confidence(self) -> float:
        return _mean(self.letters)


class Recogniser:
    """Recognises images of pages, one at a time."""

    def __init__(self, networks: Networks) -> None:
        self._networks = networks

    def lines(self, picture: Image) -> list[RecognisedLine]:
        """The lines of an RGB image, in no order; what of a picture was taken for one has little confidence."""
        found = self.boxes(picture)
        crops = [crop(picture, rect) for rect in found]
        turned = self._upside_down(crops)
        whole = (
            sum(crop.width for crop, turn in zip(crops, turned, strict=True) if turn)
            > sum(crop.width for crop in crops) / 2
        )
        texts = self.texts([_flipped(crop) if whole else crop for crop in crops])
        odd = [at for at, turn in enumerate(turned) if turn != whole]
        others = self.texts([crops[at] if whole else _flipped(crops[at]) for at in odd])
        flipped = [whole] * len(found)
        for at, letters in zip(odd, others, strict=True):
            if _mean(letters) > _mean(texts[at]):
                texts[at], flipped[at] = letters, not whole
        read = [
            RecognisedLine(rect, letters, vertical=_is_column(rect), flipped=flip)
            for rect, letters, flip in zip(found, texts, flipped, strict=True)
        ]
        return [line for line in read if line.text.strip()]

    def boxes(self, picture: Image) -> list[Rect]:
        """Rectangles of text lines, in pixels of the image."""
        from PIL import Image

        width, height = picture.size
        longest = min(max(_LONGEST[0], _LONGEST[0] * max(width, height) / _PAGE), _LONGEST[1])
        longest = min(longest, (_AREA * max(width, height) / min(width, height)) ** 0.5)
        scale = min(1.0, longest / max(width, height))
        scale = max(scale, min(_SHORTEST / min(width, height), longest / max(width, height)))
        columns, rows = (max(_STEP, round(side * scale / _STEP) * _STEP) for side in (width, height))
        small = picture.resize((columns, rows), Image.Resampling.BILINEAR)
        (likelihood,) = self._networks.detection.run(None, {"x": _normal(small)[None]})
        return [rect.scaled(width / columns, height / rows) for rect in decode_boxes(likelihood[0, 0])]

    def _upside_down(self, crops: Sequence[Image]) -> list[bool]:
        if not crops:
            return []
        batch = np.zeros((len(crops), 3, _HEIGHT, _ANGLE_WIDTH), np.float32)
        for row, crop in zip(batch, crops, strict=True):
            line = _normal(_at_height(crop, _ANGLE_WIDTH))
            row[:, :, : line.shape[2]] = line
        (sides,) = self._networks.angle.run(None, {"x": batch})
        return [bool(side[1] > _ANGLE_SURE) for side in sides]

    def texts(self, crops: Sequence[Image]) -> list[tuple[Letter, ...]]:
        """The characters of line images that are cut out and upright."""
        prepared = [_normal(_at_height(crop, _LONGEST_LINE)) for crop in crops]
        found: list[tuple[Letter, ...]] = [()] * len(crops)
        for batch in _batches([line.shape[2] for line in prepared]):
            longest = max(*(prepared[at].shape[2] for at in batch), _HEIGHT)
            lines = np.zeros((len(batch), 3, _HEIGHT, longest), np.float32)
            for row, at in zip(lines, batch, strict=True):
                row[:, :, : prepared[at].shape[2]] = prepared[at]
            (steps,) = self._networks.recognition.run(None, {"x": lines})
            for of_line, at in zip(steps, batch, strict=True):
                share = prepared[at].shape[2] / longest
                found[at] = decode_letters(of_line, self._networks.characters, share)
        return found


def _batches(widths: Sequence[int]) -> list[list[int]]:
    """Indices of lines to recognise in one batch: similar widths, so that little is padding."""
    batches: list[list[int]] = []
    for at in sorted(range(len(widths)), key=widths.__getitem__):
        if (
            batches
            and (len(batches[-1]) + 1) * widths[at] * _HEIGHT <= _BATCH_PIXELS
            and widths[at] < 1.3 * widths[batches[-1][0]] + 32
        ):
            batches[-1].append(at)
        else:
            batches.append([at])
    return batches


def crop(picture: Image, rect: Rect) -> Image:
    """Cut a rectangle out of an image, rotated so that its text runs from left to right."""
    from PIL import Image

    width, height = max(round(rect.width), 1), max(round(rect.height), 1)
    upper_left, upper_right, lower_right, lower_left = rect.corners()
    quad = (*upper_left, *lower_left, *lower_right, *upper_right)
    crop = picture.transform((width, height), Image.Transform.QUAD, tuple(map(float, quad)), Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))  # fmt: skip
    return crop.transpose(Image.Transpose.ROTATE_90) if _is_column(rect) else crop


def _flipped(crop: Image) -> Image:
    from PIL import Image

    return crop.transpose(Image.Transpose.ROTATE_180)


def _is_column(rect: Rect) -> bool:
    return rect.height > _UPRIGHT * rect.width


def _mean(letters: Sequence[Letter]) -> float:
    return sum(letter.confidence for letter in letters) / len(letters) if letters else 0.0


def _at_height(crop: Image, longest: int) -> Image:
    from PIL import Image

    width = max(1, min(longest, round(crop.width * _HEIGHT / crop.height)))
    return crop.resize((width, _HEIGHT), Image.Resampling.BILINEAR)


def _normal(picture: Image) -> NDArray[np.float32]:
    """``(3, rows, columns)`` in -1..1, in BGR order as the networks were trained."""
    values: NDArray[Any] = np.asarray(picture, np.float32)[:, :, ::-1].transpose(2, 0, 1)
    return np.ascontiguousarray(values / 127.5 - 1, np.float32)
