"""Given names and surnames in Latin letters from public lists of several countries, without those that are daily words.

They are many and of unequal worth: what is in them is likelier to be a name than another rare word, no more. NOTICE names where they come from.
"""

from __future__ import annotations

import importlib.resources
from functools import lru_cache

import numpy as np

FILE = "listed_names.npz"
"""Written by ``scripts/make_listed_names.py``."""


def given() -> frozenset[str]:
    """Given names."""
    return _lists()["given"]


def familiar() -> frozenset[str]:
    """Given names that at least one in 20,000 people of an English-speaking country has."""
    return _lists()["familiar"]


def family() -> frozenset[str]:
    """Surnames."""
    return _lists()["family"]


@lru_cache(maxsize=1)
def _lists() -> dict[str, frozenset[str]]:
    with (
        importlib.resources.files(__package__).joinpath(FILE).open("rb") as stream,
        np.load(stream, allow_pickle=False) as file,
    ):
        return {name: frozenset(one.decode() for one in file[name].tolist()) for name in file.files}
