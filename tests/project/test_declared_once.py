"""A value is declared once: no two classes of the package have nearly the same fields."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "wenyuan"
LEAST, SHARE = 5, 0.8
"""From how many common fields on, and which share of all fields of both, two classes declare the same."""

OF_A_KIND: Mapping[frozenset[str], str] = {
    frozenset(("Rules", "InferAnswerShape")): "what a client has read, and the body that may say FAILED instead",
    frozenset(("Support", "Evidence")): "the trust of a live evidence is settled, that of a written one may be open",
    frozenset(("Standing", "Model")): "features, and the coefficients of a model of them",
}
"""Pairs that mean different things with the same names, and what tells them apart."""


def declarations(folder: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """The classes of a folder, each with the names of the fields that it declares itself."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                fields = (
                    one.target.id
                    for one in node.body
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
                )
                yield node.name, frozenset(fields)


def twins(folder: Path) -> set[frozenset[str]]:
    """Pairs of classes with nearly the same fields."""
    known = [(name, fields) for name, fields in declarations(folder) if len(fields) >= LEAST]
    return {
        frozenset((one, other))
        for (one, first), (other, second) in combinations(known, 2)
        if len(first & second) >= LEAST and len(first & second) >= SHARE * len(first | second)
    }


def test_each_value_is_declared_once() -> None:
    """There are no two declarations of one value, and the list of pairs that look so has none that are gone."""
    assert twins(PACKAGE) == set(OF_A_KIND)


def test_a_second_declaration_is_seen(tmp_path: Path) -> None:
    """Two classes in two files with five of six fields in common are a pair; with four of six they are none."""
    head = "    a: int\n    b: int\n    c: int\n    d: int\n"
    (tmp_path / "one.py").write_text(f"class One:\n{head}    e: int\n", "utf-8")
    (tmp_path / "two.py").write_text(f"class Two:\n{head}    e: int\n    f: int\n", "utf-8")
    (tmp_path / "six.py").write_text(f"class Other:\n{head}    x: int\n    y: int\n", "utf-8")
    assert twins(tmp_path) == {frozenset(("One", "Two"))}


def test_each_option_of_commands_is_declared_once() -> None:
    """What an option or an argument of a command is stands once: others that are the same have it by a name."""
    declared = Counter(
        (one.arg, ast.unparse(one.annotation))
        for file in sorted((PACKAGE / "cli").glob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
        for one in (*node.args.args, *node.args.kwonlyargs)
        if one.annotation is not None and "typer." in ast.unparse(one.annotation)
    )
    commands = {name for name in declared if name[1] != "typer.Context"}
    assert len(commands) > 100
    assert [name for name in commands if declared[name] > 1] == []
