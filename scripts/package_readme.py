"""The description of the package for an index: README.md, whose links to other files of the project lead nowhere there.

Hatchling calls it when it builds a package. A link to a file becomes its text with the file's name; the picture of the
project that a reader of an index gets is otherwise that of the checkout.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_TO_ANOTHER_LANGUAGE = re.compile(r"^\[[^\]]+\]\(README\.\w+\.md\)\n\n", re.MULTILINE)
_TO_A_FILE = re.compile(r"\[([^\]]+)\]\((?!https?:|mailto:|#)([^)\s]+)\)")


def described(readme: str) -> str:
    """The text with links to files as the words of the links; those to pages of the web stay."""
    return _TO_A_FILE.sub(lambda link: link[1], _TO_ANOTHER_LANGUAGE.sub("", readme))


class PackageReadme(MetadataHookInterface):
    """Sets the description of the package that is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what ``pyproject.toml`` leaves to be computed."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": described(text)}
