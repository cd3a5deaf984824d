"""The pages of reference say what the program declares: its commands, routes, Python names, and the codes of its errors."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from functools import cache
from pathlib import Path

import pytest

import wenyuan
from wenyuan.core.errors import KnowledgeError
from wenyuan.server.problems import Problem

HOME = Path(__file__).parents[2]
PACKAGE = HOME / "src" / "wenyuan"
sys.path.insert(0, str(HOME / "scripts"))

import make_reference  # noqa: E402


@pytest.mark.parametrize("name", ["cli.md", "cli.zh.md", "http.md", "http.zh.md", "python.md"])
def test_the_pages_are_those_that_the_script_writes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change of a command, a route or a docstring: `python scripts/make_reference.py`."""
    monkeypatch.delenv("WENYUAN_LIBRARY", raising=False)
    assert (HOME / "docs" / "reference" / name).read_text("utf-8") == made()[name]


@cache
def made() -> dict[str, str]:
    return make_reference.pages()


@cache
def codes() -> dict[str, set[int]]:
    """The code of each error → the statuses that a route gives it."""
    found: dict[str, set[int]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text("utf-8")
        if "code = " in text or "Problem(" in text:
            module = ".".join(("wenyuan", *file.relative_to(PACKAGE).with_suffix("").parts))
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef):
                    add_class(found, module, node)
                elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"Problem", "cls"}:
                    add_call(found, node)
    return found


def add_class(found: dict[str, set[int]], module: str, node: ast.ClassDef) -> None:
    """An exception that declares a code, with the status that it has by its kind."""
    if any(isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "code" for one in node.body):
        kind = getattr(importlib.import_module(module), node.name)
        if issubclass(kind, KnowledgeError):
            made_of = kind.__new__(kind)
            KnowledgeError.__init__(made_of, "why")
            made_of.faults = ()
            shown = Problem.of(made_of).status if kind.code not in {"retrieval_failed", "closed"} else 0
            found.setdefault(kind.code, set()).add(shown)


def add_call(found: dict[str, set[int]], node: ast.Call) -> None:
    """A problem that a route makes itself."""
    given = [one.value for one in node.args[:2] if isinstance(one, ast.Constant)]
    if len(given) == 2 and isinstance(given[0], int) and isinstance(given[1], str):
        found.setdefault(given[1], set()).add(given[0])


@pytest.mark.parametrize("name", ["errors.md", "errors.zh.md"])
def test_every_code_has_a_cause_and_a_remedy(name: str) -> None:
    """Both pages list the codes of the program, those alone, each once, with a status that it can have."""
    text = (HOME / "docs" / "reference" / name).read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S.*?) \| (\S.*?) \|$", text, re.MULTILINE)
    assert sorted(code for code, *_ in rows) == sorted({*codes(), "not_found"})
    wrong = {code: status for code, status, *_ in rows if not fits(code, status)}
    assert wrong == {}


def fits(code: str, status: str) -> bool:
    if code in {"original_gone", "original_changed"}:
        return status in {"404", "409"}  # as the route of originals says it
    return (0 if status == "—" else int(status)) in codes().get(code, {404})


def test_every_public_name_is_described() -> None:
    """What `import wenyuan` gives stands on the page of Python."""
    text = (HOME / "docs" / "reference" / "python.md").read_text("utf-8")
    assert [name for name in wenyuan.__all__ if f"## wenyuan.{name}\n" not in text] == []
