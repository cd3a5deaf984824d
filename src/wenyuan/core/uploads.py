"""Normalises the names of uploaded files."""

from __future__ import annotations

import re
import unicodedata

from wenyuan.core.messages import msg

_MOST_STEPS = 8  # folders above a file
_MOST_BYTES = 200  # of a name in UTF-8, where file systems take 255
_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"|?*\ud800-\udfff\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)  # to Windows, devices


def clean_name(given: str) -> str:
    """The relative path, parts joined by ``/``, under which an uploaded file is stored.

    Steps up and to the root lead nowhere and are left out; so are dots that hide a file, and characters that a file
    system or a terminal takes for something else. A name that stands for a device is given a ``_``.

    Raises:
        ValueError: nothing is left of it, or it is too long.
    """
    steps = unicodedata.normalize("NFC", given).replace("\\", "/").split("/")
    kept = [step for step in map(_clean_step, steps) if step]
    if not kept or not steps[-1].strip(" ."):
        raise ValueError("has no name that could be kept")
    if len(kept) - 1 > _MOST_STEPS:
        raise ValueError(msg("lies below more than {most} folders", most=_MOST_STEPS))
    if any(len(step.encode()) > _MOST_BYTES for step in kept):
        raise ValueError(msg("has a name of more than {most} bytes", most=_MOST_BYTES))
    return "/".join(kept)


def _clean_step(step: str) -> str:
    kept = _UNFIT.sub("", step).strip().lstrip(".").rstrip(". ").lstrip()
    return f"_{kept}" if _RESERVED.fullmatch(kept) else kept
