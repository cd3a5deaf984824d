"""Text detection: from the detector's probability map to rotated rectangles around lines.

The decoding of Differentiable Binarization (Liao et al. 2020, arXiv:1911.08947): what is likely text falls into
connected regions; each is smaller than its line by construction, and its rectangle is grown again by
area × ratio / circumference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
