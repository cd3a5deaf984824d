"""What docstrings and comments refer to is there: a module that was renamed is renamed in them, too."""

from __future__ import annotations

import builtins
import re
import sys
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.settings import Settings

PACKAGE = Path(wenyuan.__file__).parent
REFERENCE = re.compile(r"(?<!`)`([a-z]\w*(?:\.[A-Za-z_]\w*)+)`(?!`)")
ELSEWHERE = {"wenyuan", *sys.stdlib_module_names, *vars(builtins), "metadata"}
"""What a reference may begin with besides our modules and settings; ``metadata`` is of a fragment."""


def modules() -> dict[str, str]:
    """The source of each module, by its name without that of the package."""
    found = {
        path.relative_to(PACKAGE).with_suffix("").parts: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")
    }
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): text for parts, text in found.items()}


def holds(name: str, known: dict[str, str]) -> bool:
    """Whether a name is that of a module, or of something in it; a module may be called by its last names alone."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        last, rest = ".".join(parts[:end]), parts[end:]
        for module, text in known.items():
            if (module == last or module.endswith(f".{last}")) and (not rest or re.search(rf"\b{rest[0]}\b", text)):
                return True
    return False


def is_setting(name: str) -> bool:
    """Whether a name is that of a setting, as ``search.depth``."""
    section, _, rest = name.partition(".")
    field: Any = Settings.model_fields.get(section)
    return field is not None and rest in getattr(field.annotation, "model_fields", ())


def test_what_is_referred_to_is_there() -> None:
    known = modules()
    names = {(module, name) for module, text in known.items() for name in REFERENCE.findall(text)}
    assert len(names) > 100
    lost = [
        f"{module}: {name}"
        for module, name in sorted(names)
        if name.partition(".")[0] not in ELSEWHERE and not is_setting(name) and not holds(name, known)
    ]
    assert not lost
