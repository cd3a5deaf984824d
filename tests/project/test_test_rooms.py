"""Where what tests share may lie."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SUPPORT = TESTS / "support"
FILES = sorted(TESTS.rglob("*.py"))
ELSEWHERE = {file.stem for file in FILES if file.parent != SUPPORT}
"""Modules that no other may import; ``stacks`` is of the one framework in whose environment it is imported."""


def imported(file: Path) -> Iterator[str]:
    """The first part of the name of each module that a file imports."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: tests are no package"
            yield str(node.module).partition(".")[0]


@pytest.mark.parametrize("room", sorted({file.parent.relative_to(TESTS).as_posix() for file in FILES}))
def test_a_test_module_imports_no_other(room: str) -> None:
    """What two of them need lies in tests/support, so that each room's tests run by themselves."""
    found = {
        file.name: set(imported(file)) & (ELSEWHERE - {"stacks"}) for file in FILES if file.parent == TESTS / room
    }
    assert {name: modules for name, modules in found.items() if modules} == {}


def test_no_two_modules_have_one_name() -> None:
    """Whichever of them is imported first would be taken for the other; those of a framework run by themselves."""
    stems = Counter(file.stem for file in FILES if "integrations" not in file.parts)
    assert {stem for stem, count in stems.items() if count > 1} == set()
