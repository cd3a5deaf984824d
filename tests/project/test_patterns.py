r"""An end of text is written ``\Z``: without MULTILINE, ``$`` also matches before a line end at the end of a text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, ValidationError

from parsed import PACKAGE, code

READS = frozenset("compile search match fullmatch findall finditer split sub subn".split())
_DEPTH = 8  # constants made of constants


class Module:
    """What the patterns of one module are made of: its constants, and those that it imports from others."""

    def __init__(self, tree: ast.Module, others: dict[str, ast.Module]) -> None:
        self.tree, self.others = tree, others
        self.constants = {
            target.id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        self.imported = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def text(self, node: ast.expr, depth: int = 0) -> str:
        """The text of an expression as far as it can be seen; what cannot is ``…``."""
        if isinstance(node, ast.Constant):
            said = node.value
            return said.decode("latin-1") if isinstance(said, bytes) else said if isinstance(said, str) else "…"
        if depth > _DEPTH:
            return "…"
        if isinstance(node, ast.JoinedStr):
            return "".join(self.text(value, depth + 1) for value in node.values)
        if isinstance(node, ast.FormattedValue):
            return self.text(node.value, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.text(node.left, depth + 1) + self.text(node.right, depth + 1)
        if isinstance(node, ast.Name) and node.id in self.constants:
            return self.text(self.constants[node.id], depth + 1)
        if isinstance(node, ast.Name) and node.id in self.imported:
            module, name = self.imported[node.id]
            if module in self.others:
                there = Module(self.others[module], {})
                return there.text(ast.Name(id=name, ctx=ast.Load()), depth + 1)
        if isinstance(node, ast.Attribute) and node.attr == "pattern":  # of a compiled one
            return self.text(node.value, depth + 1)
        if isinstance(node, ast.Call) and _reads(node) == "compile" and node.args:
            return self.text(node.args[0], depth + 1)
        return "…"

    def patterns(self) -> Iterator[tuple[int, str, str]]:
        """The line, text and flags of each regular expression: what ``re`` is given."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and _reads(node) and node.args:
                said = (*node.args[1:], *(word.value for word in node.keywords))
                yield node.lineno, self.text(node.args[0]), " ".join(map(ast.unparse, said))


def _reads(node: ast.Call) -> str:
    """The function of ``re`` that is called; ``""`` for others."""
    of = node.func
    named = isinstance(of, ast.Attribute) and isinstance(of.value, ast.Name) and of.value.id == "re"
    return of.attr if isinstance(of, ast.Attribute) and named and of.attr in READS else ""


def ends(pattern: str, flags: str = "") -> bool:
    """Whether a pattern has a ``$`` that stands for the end: not escaped, in no character class, without MULTILINE."""
    if "MULTILINE" in flags or "re.M" in flags.split(" ") or pattern.startswith("(?m"):
        return False
    at, inside = 0, False
    while at < len(pattern):
        c = pattern[at]
        if c == "\\":
            at += 2
            continue
        if inside:
            inside = c != "]"
        elif c == "[":
            inside = True
            at += 1 if pattern[at + 1 : at + 2] == "^" else 0
            at += 1 if pattern[at + 1 : at + 2] == "]" else 0
        elif c == "$":
            return True
        at += 1
    return False


def found(tree: ast.Module, others: dict[str, ast.Module]) -> list[tuple[int, str]]:
    """The lines and texts of patterns of a module that end in this way."""
    module = Module(tree, others)
    return sorted({(line, pattern) for line, pattern, flags in module.patterns() if ends(pattern, flags)})


def _name(file: Path) -> str:
    return ".".join(("wenyuan", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def test_no_pattern_ends_before_a_line_end() -> None:
    r"""``$`` lets ``word\n`` pass for ``word``: a look at what stands before a place then sees the line above it."""
    others = {_name(file): tree for file, tree in code().items()}
    wrong = {
        f"{file.relative_to(PACKAGE)}:{line}": pattern
        for file, tree in code().items()
        for line, pattern in found(tree, others)
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "source",
    [
        "re.compile('a$')",
        "re.search(rf'(?:{x}|b)$', t)",
        "END = '$'\nre.compile(f'a{END}')",
        "A = re.compile('a$')\nre.compile(A.pattern + 'b')",
        "re.match('a' + 'b|c$', t, re.IGNORECASE)",
        r"re.compile(r'[\]]\\$')",
    ],
)
def test_the_end_of_a_text_is_seen(source: str) -> None:
    """In f-strings, sums and constants alike."""
    assert found(ast.parse(source), {})


@pytest.mark.parametrize(
    "source",
    [
        "re.compile('[a$]')",
        "re.compile('[]$]')",
        "re.compile('[^]$]')",
        r"re.compile(r'\$')",
        "re.compile('a$', re.MULTILINE)",
        "re.compile('(?m)a$')",
        r"re.compile(r'a\Z')",
    ],
)
def test_other_signs_are_let_be(source: str) -> None:
    """A dollar in a class, an escaped one, and the end of a line where lines are meant."""
    assert found(ast.parse(source), {}) == []


def test_the_pattern_of_a_field_ends_with_the_text() -> None:
    """Pydantic reads ``$`` as the end alone, as JSON Schema does, unless told to use ``re``; nothing tells it so."""

    class Named(BaseModel):
        name: str = Field(pattern="^a$")

    with pytest.raises(ValidationError):
        Named(name="a\n")
    assert [file for file in code() if "regex_engine" in file.read_text("utf-8")] == []
