"""What people and programs put on a page beside its text: fields of forms, comments and stamps, which are counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

_MOST = 10_000  # of a page
_KINDS = {
    "WIDGET": "form fields", "TEXT": "comments", "FREETEXT": "comments", "STAMP": "stamps", "FILEATTACHMENT": "attached files",
    "STRIKEOUT": "struck passages", "INK": "drawings by hand", "SOUND": "sounds", "MOVIE": "films", "SCREEN": "films",
    "THREED": "models in space", "RICHMEDIA": "films", "REDACT": "marks for removal", "XFAWIDGET": "form fields",
}  # fmt: skip
"""Kinds that hold or change what is said, and what a warning calls them; links and marks over text do not."""


def beside_text(page: Any) -> Counter[str]:
    """How many there are of each kind on a page of pypdfium2."""
    from pypdfium2 import raw

    names = {
        getattr(raw, f"FPDF_ANNOT_{name}"): what
        for name, what in _KINDS.items()
        if hasattr(raw, f"FPDF_ANNOT_{name}")
    }
    found: Counter[str] = Counter()
    for at in range(min(raw.FPDFPage_GetAnnotCount(page.raw), _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, at)
        if annotation:
            kind = names.get(raw.FPDFAnnot_GetSubtype(annotation))
            raw.FPDFPage_CloseAnnot(annotation)
            if kind:
                found[kind] += 1
    return found
