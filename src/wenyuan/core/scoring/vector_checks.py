"""What a model answers is not trusted: vectors are checked and made unit rows before they are used."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderTimeout, VectorRejected, msg
from wenyuan.core.ports import Deadline

_SAME = 1e-6
"""Unit rows that differ by less than this in every dimension are one vector."""
_COMPARED_CHARS = 200
"""Texts are compared by their beginning: models cut long ones, so equal beginnings may give equal vectors."""


def checked_vectors(
    array: Any, count: int, dimension: int, component: str, *, texts: Sequence[str] = ()
) -> NDArray[np.float32]:
    """Validated, normalised rows from a model's output.

    Args:
        array: What the model gave: an array or nested lists of numbers.
        count: How many rows there must be.
        dimension: How many columns there must be.
        component: Who answered, for the message.
        texts: What was encoded, if the answer should also be tested for a model that says always the same.

    Returns:
        ``(count, dimension)`` float32, every row of length 1.

    Raises:
        VectorRejected: not numbers, wrong count or dimension, NaN, infinity, zero, or one vector for
            different texts.
    """
    rows = _numbers(array, component)
    if rows.size == 0 and count == 0:
        return np.zeros((0, dimension), np.float32)
    if rows.ndim != 2:
        raise VectorRejected(msg("expected rows of numbers, got {ndim} axes", ndim=rows.ndim), component=component)
    if rows.shape[0] != count:
        raise VectorRejected(
            msg("{count} texts went in, {shape} vectors came out", count=count, shape=rows.shape[0]),
            component=component,
        )
    if rows.shape[1] != dimension:
        raise VectorRejected(
            msg(
                "the vectors have {shape} dimensions, expected {dimension}", shape=rows.shape[1], dimension=dimension
            ),
            component=component,
        )
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    usable = np.isfinite(lengths[:, 0]) & (lengths[:, 0] > np.finfo(np.float32).tiny)
    if not usable.all():
        raise _unusable(rows, lengths[:, 0], usable, component)
    units: NDArray[np.float32] = (rows / lengths).astype(np.float32, copy=False)
    if texts:
        _check_not_constant(units, texts, component)
    return units


def check_deadline(deadline: Deadline | None, component: str) -> None:
    """Raise `EncoderTimeout` if the deadline has passed (`Deadline.check` would name an engine)."""
    if deadline is not None and deadline.remaining() <= 0:
        raise EncoderTimeout("the deadline passed", component=component)


def _numbers(array: Any, component: str) -> NDArray[Any]:
    try:
        rows = np.asarray(array)
    except (ValueError, TypeError) as error:  # rows of unequal length
        raise VectorRejected("the vectors have different lengths", component=component) from error
    if rows.size and rows.dtype.kind not in "fiu":  # strings, booleans and None must not turn into numbers
        raise VectorRejected("the answer holds values that are not numbers", component=component)
    # Single precision stays as it is (it may be large); all else is measured in double precision.
    return rows if rows.dtype == np.float32 else rows.astype(np.float64)


def _unusable(rows: NDArray[Any], lengths: NDArray[Any], usable: NDArray[Any], component: str) -> VectorRejected:
    at = int(np.argmin(usable))
    if np.isnan(rows[at]).any():
        what = "holds NaN"
    elif not np.isfinite(lengths[at]):
        what = "holds infinity or numbers too large"
    else:
        what = "is zero"
    bad = int((~usable).sum())
    return VectorRejected(
        msg("vector {at} {what} ({bad} of {count} are unusable)", at=at, what=what, bad=bad, count=len(usable)),
        component=component,
    )


def _check_not_constant(units: NDArray[np.float32], texts: Sequence[str], component: str) -> None:
    if len(units) < 2 or float(np.ptp(units, axis=0).max()) > _SAME:
        return
    different = {fold: text for text in texts if (fold := _letters(text))}
    if len(different) >= 2:
        one, other, *_ = (text[:40] for text in different.values())
        raise VectorRejected(
            msg(
                "{count} different texts all got the same vector, e.g. {one} and {other}",
                count=len(different),
                one=repr(one),
                other=repr(other),
            ),
            component=component,
        )


def _letters(text: str) -> str:
    """Letters and digits, folded by width, case and accents: the least that any model distinguishes."""
    folded = unicodedata.normalize("NFKD", text[:_COMPARED_CHARS]).casefold()
    return "".join(filter(str.isalnum, folded))
