"""Text of slides that nobody sees: in shapes beside the slide, of a point or less, without a colour, white on white."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from wenyuan.readers.markup import Package, local, properties_of

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SMALLEST = 100  # hundredths of a point
_CLEAR = 5_000  # thousandths of a per cent of opacity
_PAPER = re.compile(r"[Ff][7-9A-Fa-f](?:[Ff][7-9A-Fa-f]){2}\Z")
_FILLS = ("solidFill", "gradFill", "blipFill", "pattFill", "grpFill")
_WHITE_SCHEMES = ("bg1", "lt1")
_DEEPEST = 50  # groups within groups


class SlideConcealment:
    """Takes what nobody sees out of slides.

    Args:
        package: The presentation.
    """

    def __init__(self, package: Package) -> None:
        size = next(package.xml("ppt/presentation.xml").iter(f"{_P}sldSz"), None)
        self._width, self._height = (0, 0) if size is None else (_number(size, "cx"), _number(size, "cy"))
        self._package = package
        self._covered: bool | None = None  # whether something else than white lies on the slide; None: not looked at
        self._plain: dict[str, bool] = {}  # by layout or master: whether nothing lies under what slides show

    def strip(self, root: Any, part: str) -> Counter[str]:
        """Remove it from a slide.

        Args:
            root: The slide, which is changed.
            part: Its name.

        Returns:
            How much there was, by kind; ``open``: runs that may be white on white, which stay.
        """
        found: Counter[str] = Counter()
        self._covered = None
        if self._width and next(root.iter(f"{_P}animMotion"), None) is None:  # what is beside the slide may move in
            beside = [shape for shape in root.iter(f"{_P}sp", f"{_P}graphicFrame") if self._is_beside(shape)]
            for shape in beside:
                if any((text.text or "").strip() for text in shape.iter(f"{_A}t")):
                    shape.getparent().remove(shape)
                    found["shapes beside the slide"] += 1
        for run in list(root.iter(f"{_A}r")):
            why = self._unseen(run, root, part)
            if why and "".join(text.text or "" for text in run.iter(f"{_A}t")).strip():
                found[why] += 1
                if why != "open":
                    run.getparent().remove(run)
        return found

    def _is_beside(self, shape: Any) -> bool:
        """Whether a shape lies wholly outside of its slide."""
        frame = _frame(shape)
        if frame is None or any(body.get("wrap") == "none" for body in shape.iter(f"{_A}bodyPr")):
            return False
        left, top, width, height = frame
        if _turned(shape):
            around = (width**2 + height**2) ** 0.5
            left, top, width, height = left - around / 2, top - around / 2, width + around, height + around
        for group in list(shape.iterancestors(f"{_P}grpSp"))[:_DEEPEST]:
            outer = _group(group)
            if outer is None:
                return False
            x, y, across, up, inner_x, inner_y = outer
            left, top, width, height = (
                x + (left - inner_x) * across,
                y + (top - inner_y) * up,
                width * across,
                height * up,
            )
        return left + width < 0 or top + height < 0 or left > self._width or top > self._height

    def _unseen(self, run: Any, root: Any, part: str) -> str:
        """Why a run is not seen; ``""`` where it is, ``open`` where it is white on what may be white."""
        own = properties_of(run, f"{_A}rPr")
        if own is None:
            return ""
        size = own.get("sz", "")
        if size.isdigit() and int(size) <= _SMALLEST:
            return "runs too small to be seen"
        outlined = any(local(child) == "ln" and child.find(f"{_A}noFill") is None for child in own)
        if own.find(f"{_A}noFill") is not None and not outlined:
            return "runs without a colour"
        fill = own.find(f"{_A}solidFill")
        if fill is None or outlined:
            return ""
        if any(_number(alpha, "val", 100_000) <= _CLEAR for alpha in fill.iter(f"{_A}alpha")):
            return "runs without a colour"
        if not _is_white(fill) or own.find(f"{_A}highlight") is not None:
            return ""
        return self._white(run, root, part)

    def _white(self, run: Any, root: Any, part: str) -> str:
        shape = next(run.iterancestors(f"{_P}sp", f"{_P}graphicFrame"), None)
        if shape is None or shape.tag != f"{_P}sp" or next(shape.iter(f"{_P}ph"), None) is not None:
            return "open"  # a table and a placeholder have what their styles and layouts say
        if _filled(shape):
            return ""
        if self._covered is None:
            drawn = next(root.iter(f"{_P}pic", f"{_P}graphicFrame", f"{_P}bg"), None) is not None
            self._covered = drawn or any(map(_filled, root.iter(f"{_P}sp"))) or not self._under(part)
        return "open" if self._covered else "white runs"

    def _under(self, part: str) -> bool:
        """Whether the layout and the master of a slide show nothing but white."""
        related = [
            each for each in self._package.related(part).values() if each.kind in ("slideLayout", "slideMaster")
        ]
        return all(self._is_plain(each.part) for each in related)

    def _is_plain(self, part: str) -> bool:
        if part not in self._plain:
            self._plain[part] = True  # until it is known: files may go in a circle
            if part in self._package:
                root = self._package.xml(part)
                drawn = next(root.iter(f"{_P}pic", f"{_P}graphicFrame"), None) is not None
                filled = drawn or any(_filled(shape) for shape in root.iter(f"{_P}sp"))
                backs = all(_is_white(back) for back in root.iter(f"{_P}bgPr", f"{_P}bgRef"))
                masters = [each.part for each in self._package.related(part).values() if each.kind == "slideMaster"]
                self._plain[part] = not filled and backs and all(map(self._is_plain, masters))
        return self._plain[part]


def _frame(shape: Any) -> tuple[float, float, float, float] | None:
    """Left, top, width and height of a shape; None where it takes its place from its layout."""
    place = next((node for node in shape.iter(f"{_A}xfrm", f"{_P}xfrm")), None)
    if place is None:
        return None
    off, extent = place.find(f"{_A}off"), place.find(f"{_A}ext")
    if off is None or extent is None:
        return None
    return _number(off, "x"), _number(off, "y"), _number(extent, "cx"), _number(extent, "cy")


def _turned(shape: Any) -> bool:
    """Whether a shape is rotated."""
    place = next((node for node in shape.iter(f"{_A}xfrm", f"{_P}xfrm")), None)
    return place is not None and bool(_number(place, "rot"))


def _group(group: Any) -> tuple[float, float, float, float, float, float] | None:
    """Where a group lies, by how much it is stretched, and where its inside begins; None where it does not say."""
    place = next((node for node in group if local(node) == "grpSpPr"), None)
    place = None if place is None else place.find(f"{_A}xfrm")
    parts = [None if place is None else place.find(f"{_A}{name}") for name in ("off", "ext", "chOff", "chExt")]
    if place is None or any(part is None for part in parts) or _number(place, "rot"):
        return None
    off, extent, inner, inside = parts
    across, up = _number(inside, "cx"), _number(inside, "cy")
    if not (across and up):
        return None
    stretched = _number(extent, "cx") / across, _number(extent, "cy") / up
    return _number(off, "x"), _number(off, "y"), *stretched, _number(inner, "x"), _number(inner, "y")


def _filled(shape: Any) -> bool:
    """Whether a shape has a ground of its own that is not white."""
    properties = next((node for node in shape if local(node) == "spPr"), None)
    for child in properties if properties is not None else ():
        if local(child) in _FILLS:
            return not _is_white(child)
        if local(child) == "noFill":
            return False
    return any(_number(ref, "idx") > 0 for ref in shape.iter(f"{_A}fillRef"))


def _is_white(fill: Any) -> bool:
    """Whether a fill is white and nothing changes it."""
    colours = list(fill.iter(f"{_A}srgbClr", f"{_A}schemeClr", f"{_A}sysClr", f"{_A}prstClr"))
    if len(colours) != 1 or len(colours[0]):
        return False
    value = colours[0].get("val", "")
    return bool(_PAPER.match(value)) or value in _WHITE_SCHEMES or value in ("white", "window")


def _number(node: Any, name: str, default: int = 0) -> int:
    value = node.get(name, "") if node is not None else ""
    return int(value) if re.fullmatch(r"-?[0-9]{1,12}", value) else default
