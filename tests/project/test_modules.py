"""Modules are as long as their subject, and none imports another in a circle; `make lint` holds the layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from pathlib import Path

from parsed import PACKAGE, code

MODULES = {
    ".".join(("wenyuan", *f.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): f for f in code()
}


def imported(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that are imported when a module is loaded: not in functions, and not for type checkers alone."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Try):
            yield from imported([*node.body, *(s for handler in node.handlers for s in handler.body), *node.orelse])
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from imported([*node.body, *node.orelse])


def loaded(module: str, file: Path) -> set[str]:
    """The modules that a module loads, with the packages in which they lie; the package in which it lies itself counts where
    a name is taken from it.
    """
    found = set()
    for name in imported(code()[file].body):
        parts = name.split(".")
        found |= {".".join(parts[:n]) for n in range(2, len(parts) + 1)} & MODULES.keys()
    own = {name for name in found if f"{module}.".startswith(f"{name}.")}
    named = {name.rpartition(".")[0] for name in imported(code()[file].body) if name not in MODULES}
    return found - own | (own & named - {module})


def test_no_module_is_loaded_by_what_it_loads() -> None:
    """Circles depend on who is imported first; `TopologicalSorter` names the one that it finds."""
    TopologicalSorter({module: loaded(module, file) for module, file in MODULES.items()}).prepare()


def test_no_module_is_longer_than_six_hundred_lines() -> None:
    """What is longer has two subjects."""
    long = {
        name: lines for name, file in MODULES.items() if (lines := len(file.read_text("utf-8").splitlines())) > 600
    }
    assert long == {}
