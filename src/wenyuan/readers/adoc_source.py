"""The text of a file without its markup, line by line: what is read is compared with it."""

from __future__ import annotations

import re

_NO_TEXT = re.compile(
    r"\s*(?://.*|:!?[\w-]+!?:(?:\s.*)?|\[[^\]]*\]\]?|-{2,}|\.{4,}|={4,}|\*{3,}|_{4,}|\+{1,}|~{4,}|`{3,}\w*|[|,:!]={3,}"
    r"|(?:include|ifdef|ifndef|ifeval|endif|toc|image|video|audio)::.*|'''|<<<|[\^~]{2,})\Z"
)
_SIGNS = re.compile(
    r"^\s*(?:[*.•-]{1,6}|={1,6}|#{1,6}|<\.>)\s+|^\.(?=\S)|\b(?:link|image|icon):\S*?\[|\bxref:[^\s\[]*\[(?!\])|\bxref:|(?:https?|ftp)://[^\s\[\]<>]+\[(?!\])|"
    r"[*_`#^~|\[\]]|<<[^<>,]*,|>>|(?<=\s)\+$|(?::{2,4}|;;)(?=\s|$)|\\(?=\W)",
    re.MULTILINE,
)


def own_text(text: str) -> str:
    """The text of a file without lines of markup and without signs, found without regard to its structure."""
    kept = []
    comment = False
    for line in text.split("\n"):
        if line.startswith("////"):
            comment = not comment
        elif not comment and not _NO_TEXT.match(line.rstrip()):
            kept.append(line)
    return _SIGNS.sub("", "\n".join(kept))
