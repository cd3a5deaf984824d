"""What an author says that a picture shows, in words, as text of the picture: in square brackets at its place."""

from __future__ import annotations

import re

_FILE = re.compile(r"[^\s]*\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?|ico|emf|wmf|avif|heic)\Z", re.IGNORECASE)
_AUTOMATIC = re.compile(
    r"\s*(?:Description automatically generated|已自动生成(?:说明|描述)|自动生成的说明)[^\n]{0,60}\Z"
)
_HAN = re.compile("[\u3400-\u9fff]")
_LEAST, _LEAST_HAN = 10, 4  # characters; shorter ones name an icon
_MOST = 1_000


def picture_text(said: str | None) -> str:
    """An alternative text as text of a document; ``""`` for one that says nothing: the name of a file or an icon.

    Args:
        said: As the file has it.
    """
    text = " ".join(_AUTOMATIC.sub("", said or "").split())[:_MOST]
    enough = len(text) >= _LEAST or len(_HAN.findall(text)) >= _LEAST_HAN
    return f"[{text}]" if enough and not _FILE.match(text) else ""
