"""Check the structure of the package: ``python scripts/check_structure.py``; part of ``make lint``.

- An ``__init__`` only exports: no function but ``__getattr__`` and ``__dir__``, no class, and no value that others use.
- The name of a public class stands in one module. Adapters of frameworks share theirs (`SHARED`).
- No circle of imports, those for type checkers alone included.
- One subject a file: a comment between blank lines, which parts a file as a heading does, stands in no file where what
  lies on both of its sides has 60 lines of definitions or more.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "wenyuan"
SHARED = {"WenyuanRetriever"}
SUBJECT = 60
"""Lines of definitions from which on a part of a file is a subject of its own."""

Trees = dict[str, tuple[Path, ast.Module]]


def modules(package: Path = PACKAGE) -> Trees:
    """The modules of a package: dotted name → file and syntax tree."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = (package.name, *file.relative_to(package).with_suffix("").parts)
        found[".".join(parts).removesuffix(".__init__")] = (file, ast.parse(file.read_text("utf-8")))
    return found


def code_in_init(trees: Trees) -> Iterator[str]:
    """Definitions in an ``__init__``, and values that are not its own."""
    for name, (file, tree) in trees.items():
        if file.name == "__init__.py":
            for node in tree.body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    defined = [] if node.name in ("__getattr__", "__dir__") else [node.name]
                elif isinstance(node, ast.Assign | ast.AnnAssign):
                    named = node.targets if isinstance(node, ast.Assign) else [node.target]
                    defined = [one.id for one in named if isinstance(one, ast.Name) and not one.id.startswith("_")]
                else:
                    continue
                yield from (f"{name}: {one} is defined in an __init__" for one in defined)


def classes_twice(trees: Trees) -> Iterator[str]:
    """Public class names that stand in several modules."""
    where: dict[str, set[str]] = defaultdict(set)
    for name, (_, tree) in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].add(name)
    for cls, homes in sorted(where.items()):
        if len(homes) > 1 and cls not in SHARED:
            yield f"class {cls} stands in {', '.join(sorted(homes))}"


def _imported(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.If):
            yield from _imported([*node.body, *node.orelse])
        elif isinstance(node, ast.With):
            yield from _imported(node.body)
        elif isinstance(node, ast.Try):
            yield from _imported([*node.body, *(s for each in node.handlers for s in each.body), *node.orelse])


def circles(trees: Trees) -> Iterator[str]:
    """A circle of imports, if there is any."""
    graph: dict[str, set[str]] = {}
    for name, (_, tree) in trees.items():
        graph[name] = set()
        for one in _imported(tree.body):
            home = one if one in trees else one.rpartition(".")[0]
            if home in trees and not f"{name}.".startswith(f"{home}."):
                graph[name].add(home)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"circle: {' → '.join(error.args[1])}"


def walls(trees: Trees) -> Iterator[str]:
    """Files with several subjects."""
    for name, (file, tree) in trees.items():
        lines = file.read_text("utf-8").split("\n")
        cuts = [
            at + 1
            for at, line in enumerate(lines)
            if line.startswith("#") and not "".join(lines[max(0, at - 1) : at] + lines[at + 1 : at + 2]).strip()
        ]
        edges = [0, *cuts, len(lines)]
        sizes = [0] * (len(edges) - 1)
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                part = next(n for n, end in enumerate(edges[1:]) if node.lineno < end or n == len(sizes) - 1)
                sizes[part] += (node.end_lineno or node.lineno) - node.lineno + 1
        if sum(size >= SUBJECT for size in sizes) > 1:
            yield f"{name}: several subjects behind comments: {', '.join(map(str, sizes))} lines"


CHECKS = (code_in_init, classes_twice, circles, walls)


def main() -> int:
    """Print what is found; 1 where anything is."""
    trees = modules()
    faults = [fault for check in CHECKS for fault in check(trees)]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
