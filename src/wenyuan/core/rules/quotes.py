"""Whether a document has the words that an evidence quotes, however either of them is set."""

from __future__ import annotations

import re

from wenyuan.core.text.folding import fold

# Where a line begins, marks of quotations and lists; and tags, which comparisons (p<Pmax and T>20) are not.
_LAYOUT = re.compile(
    r"(?m)^[ \t]*(?:>(?!\s*[=0-9０-９])[ \t]*)*(?:[-*+•·–—][ \t]+)?"
    r"|</?[A-Za-z][A-Za-z0-9]*(?:\s+[A-Za-z:-]+\s*=\s*(?:\"[^\"<>\n]{0,200}\"|'[^'<>\n]{0,200}'))*\s*/?>"
)
_SIGNS = dict(zip("≧⩾≦⩽≮≯", "≥≥≤≤≥≤", strict=True))
_SIGNS |= dict.fromkeys("-‐‑‒–—―−~〜∼", "-") | {c: c for c in "./:<>≥≤≠±%‰"} | {"⁄": "/"}
_AT_LEAST, _AT_MOST = re.compile(r">\s*=|=\s*>"), re.compile(r"<\s*=|=\s*<")
_MINUS = re.compile(r"(?<![^\s(\[【])[-‐‑‒–—−](?=[0-9])")
_NEGATIVE = "\ue000"  # such a minus, while dashes are taken away
_DASHES = re.compile("-{2,}")
_IDLE = re.compile(
    r"(?<![0-9])[./:]|[./:](?![0-9])"  # 1.5, 1:15 and 3/4, but no full stop
    r"|-(?![0-9])|(?<=[a-z./:%‰-])-"  # 5-10 and 低于-5, but no dash
    r"|(?<![0-9])[%‰]|[<>≥≤≠±](?![-0-9\ue000])"
)


def plain(text: str) -> str:
    """A quote reduced to what typesetting does not change: letters, digits, and signs that belong to numbers.

    Folded. Without the signs 1.5 would be 15, and ``≥5`` the same as ``≤5``.
    """
    folded = _AT_MOST.sub("≤", _AT_LEAST.sub("≥", fold(_LAYOUT.sub("", text.replace(_NEGATIVE, "")))))
    kept = (c if c.isalnum() or c == _NEGATIVE else _SIGNS.get(c, "") for c in _MINUS.sub(_NEGATIVE, folded))
    return _IDLE.sub("", _DASHES.sub("-", "".join(kept))).replace(_NEGATIVE, "-")
