"""Candidates from scores that are written down by passage."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wenyuan.core.scoring.fusion import Candidates, Fusion, column


def candidates(
    fusion: Fusion,
    keyword: Mapping[int, float] | None,
    cosines: Mapping[int, float] | None,
    shares: Mapping[int, float] | None = None,
) -> Candidates:
    """A passage left out of `keyword` scored 0, of `cosines` has no vector, of `shares` keeps all; None: no such leg."""
    passages = list((keyword or {}).keys() | (cosines or {}).keys())
    return fusion.candidates(
        np.array(passages, np.int64),
        None if keyword is None else column(keyword, passages, 0.0),
        None if cosines is None else column(cosines, passages),
        column(shares or {}, passages, 1.0),
    )
