"""Each file has one subject, found by its name; `scripts/check_structure.py`, part of ``make lint``, holds it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_structure.py"


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_structure", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(check: ModuleType, package: Path, **files: str) -> list[str]:
    """What is found of a package with these files, by name without suffix."""
    package.mkdir()
    for name, text in {"__init__": "", **files}.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    trees = check.modules(package)
    return [fault for one in check.CHECKS for fault in one(trees)]


def test_the_package_has_no_fault(check: ModuleType) -> None:
    trees = check.modules()
    assert len(trees) > 300
    assert [fault for one in check.CHECKS for fault in one(trees)] == []


def test_a_definition_in_an_init_is_found(check: ModuleType, tmp_path: Path) -> None:
    faults = found(
        check, tmp_path / "p", __init__="def __getattr__(name):\n    raise AttributeError\n\n\nclass A:\n    pass\n"
    )
    assert faults == ["p: A is defined in an __init__"]


def test_a_value_that_is_defined_in_an_init_is_found(check: ModuleType, tmp_path: Path) -> None:
    """What it exports, and what is its own, is none."""
    text = "import re\n\n__all__ = ['A']\n_HOME = {'A': 'p.one'}\nMOST = 3\nNAME: str = 'x'\n"
    assert found(check, tmp_path / "p", __init__=text) == [
        "p: MOST is defined in an __init__", "p: NAME is defined in an __init__",
    ]  # fmt: skip


def test_a_circle_behind_a_with_is_found(check: ModuleType, tmp_path: Path) -> None:
    """An import that may fail is one all the same."""
    late = "from contextlib import suppress\n\nwith suppress(ImportError):\n    from p.two import B\n"
    faults = found(check, tmp_path / "p", one=late, two="import p.one\n\n\nclass B:\n    pass\n")
    assert len(faults) == 1 and "p.one" in faults[0] and "p.two" in faults[0]


def test_a_class_name_that_stands_twice_is_found(check: ModuleType, tmp_path: Path) -> None:
    same = "class A:\n    pass\n\n\nclass _B:\n    pass\n"
    assert found(check, tmp_path / "p", one=same, two=same) == ["class A stands in p.one, p.two"]


def test_a_circle_of_types_is_found(check: ModuleType, tmp_path: Path) -> None:
    """A circle under TYPE_CHECKING is one, too; an import within a function is none."""
    typed = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from p.two import B\n\n\nclass A:\n    pass\n"
    late = "class C:\n    def made(self):\n        from p.four import D\n\n        return D\n"
    faults = found(
        check, tmp_path / "p",
        one=typed, two="from p.one import A\n\n\nclass B(A):\n    pass\n",
        three=late, four="from p.three import C\n\n\nclass D(C):\n    pass\n",
    )  # fmt: skip
    assert len(faults) == 1 and "p.one" in faults[0] and "p.two" in faults[0]


@pytest.mark.parametrize(("lines", "several"), [(80, True), (20, False)])
@pytest.mark.parametrize("wall", ["\n\n# The other subject.\n\n\n", "\n#-- The other subject\n\n"])
def test_two_subjects_in_a_file_are_found(
    check: ModuleType, tmp_path: Path, wall: str, lines: int, several: bool
) -> None:
    """However the comment between them is written, and however early it stands."""
    body = "    x = 1\n" * lines
    text = f'"""A module."""\n\n\ndef one():\n{body}{wall}def two():\n{body}'
    faults = found(check, tmp_path / "p", one=text)
    assert [fault.partition(":")[0] for fault in faults] == (["p.one"] if several else [])
