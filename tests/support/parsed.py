"""The package's code, parsed once for all rules about it: that takes seconds."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import wenyuan

PACKAGE = Path(str(wenyuan.__file__)).parent


@cache
def code() -> dict[Path, ast.Module]:
    """Every file of the package, parsed."""
    return {file: ast.parse(file.read_text("utf-8")) for file in sorted(PACKAGE.rglob("*.py"))}
