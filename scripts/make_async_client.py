"""Write ``async_client.py`` and ``async_calls.py`` of ``wenyuan.client``: `Client` and `AgentClient` with every call awaited.

    python scripts/make_async_client.py           # write them
    python scripts/make_async_client.py --check   # fail when they are others

A method is awaited when it waits: for the network, or for another method that does.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[1] / "src" / "wenyuan" / "client"
CLASSES = {
    "calls": ("Calls",),
    "rules": ("RulesCalls",),
    "documents": ("DocumentCalls",),
    "caller": ("Client", "Asks", "AgentClient"),
}
TARGETS = {"calls": "async_calls", "rules": "async_rules", "documents": "async_documents", "caller": "async_client"}
WAITING = {"sleep", "stream", "close", "get_context"}
"""What waits for the network or a clock, on whatever it is called."""
NAMES = {name: f"Async{name}" for names in CLASSES.values() for name in names}
MEMBERS = {
    "iter_bytes": "aiter_bytes",
    "BaseTransport": "AsyncBaseTransport",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
}
HEAD = '''"""{what}

Made of `client.{file}` by ``scripts/make_async_client.py``; what is written here by hand is lost.
"""
'''
WHAT = {
    "calls": "The base of the classes that add calls to `AsyncClient`.",
    "rules": "Calls on rules for programs that await.",
    "documents": "Calls on documents for programs that await.",
    "caller": "The client for programs that await: `AsyncClient`, `AsyncAgentClient`.",
}


def awaited_methods(classes: list[ast.ClassDef]) -> set[str]:
    """The names of methods that wait, found until no more are."""
    methods = [
        one for cls in classes for one in cls.body if isinstance(one, ast.FunctionDef) and one.name != "__init__"
    ]
    abstract = {
        one.name
        for cls in classes
        if cls.name in ("Calls", "Asks")
        for one in cls.body
        if isinstance(one, ast.FunctionDef)
    }
    found = set(abstract) | {"__enter__"}
    while True:
        more = {one.name for one in methods if _called(one) & (found | WAITING)} - found
        if not more:
            return found
        found |= more


def _called(method: ast.FunctionDef) -> set[str]:
    """The names of what a method calls on itself and its parts, and of functions."""
    calls = [node.func for node in ast.walk(method) if isinstance(node, ast.Call)]
    return {call.attr for call in calls if isinstance(call, ast.Attribute)} | {
        call.id for call in calls if isinstance(call, ast.Name)
    }


class Awaiting(ast.NodeTransformer):
    """Rewrites a class."""

    def __init__(self, methods: set[str]) -> None:
        self.methods = methods

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = NAMES[node.name]
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if node.name not in self.methods:
            return node
        made = ast.AsyncFunctionDef(**{name: getattr(node, name, None) for name in node._fields})
        made.name = MEMBERS.get(node.name, node.name)
        return made

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        return ast.AsyncWith(items=node.items, body=node.body)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id=NAMES.get(node.id, node.id), ctx=node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = MEMBERS.get(node.attr, node.attr)
        if isinstance(node.value, ast.Name) and node.value.id == "httpx2":
            node.attr = NAMES.get(node.attr, node.attr)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if node.module in (
            "wenyuan.runtime.responses",
            "wenyuan.runtime.timed_stream",
            "wenyuan.runtime.guarded_http",
        ) or [one.name for one in node.names] == ["until"]:
            node.module = "wenyuan.client.async_http"
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        waits = self._waits(node.func)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "self._http.close":
            node.func.attr = "aclose"
        return ast.Await(value=node) if waits else node

    def _waits(self, call: ast.expr) -> bool:
        if isinstance(call, ast.Name):
            return call.id == "sleep"
        if not isinstance(call, ast.Attribute):
            return False
        owner = ast.unparse(call.value)
        return (owner in ("self", "self._client") and call.attr in {*self.methods, "_read_whole"}) or (
            owner == "self._http" and call.attr == "close"
        )

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            node.value = node.value.replace(
                "Can be shared between threads.", "Can be shared between the tasks of an event loop."
            )
        return node


def sources() -> dict[Path, str]:
    """The modules, formatted."""
    trees = {file: ast.parse((CLIENT / f"{file}.py").read_text(encoding="utf-8")) for file in CLASSES}
    classes = {
        file: [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in CLASSES[file]]
        for file, tree in trees.items()
    }
    methods = awaited_methods([one for found in classes.values() for one in found])
    return {CLIENT / f"{TARGETS[file]}.py": _module(file, trees[file], classes[file], methods) for file in CLASSES}


def _module(file: str, tree: ast.Module, classes: list[ast.ClassDef], methods: set[str]) -> str:
    imports = [
        _awaiting(node)
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.If)
        and ast.unparse(node) != "from time import monotonic, sleep"
    ]
    own = [name for node in tree.body for name in _defined(node) if name not in NAMES and not name.startswith("__")]
    made = [ast.unparse(ast.fix_missing_locations(Awaiting(methods).visit(cls))) for cls in classes]
    exported = sorted(NAMES[name] for name in CLASSES[file] if name not in ("Calls", "Asks"))
    others = ["from time import monotonic", "from anyio import sleep"] if file == "caller" else []
    text = "\n\n\n".join([
        HEAD.format(what=WHAT[file], file=file), *imports, *others, f"from wenyuan.client.{file} import {', '.join(own)}",
        *made, f"__all__ = {exported!r}\n",
    ])  # fmt: skip
    return _ruff(["format"], _ruff(["check", "--fix-only", "--select", "F401,I,TC,F811"], text))


def _awaiting(node: ast.stmt) -> str:
    """An import, that of a class with calls from where the awaiting one is written."""
    if not isinstance(node, ast.ImportFrom) or not node.module or not node.module.startswith("wenyuan.client."):
        return ast.unparse(node)
    target = TARGETS.get(node.module.rpartition(".")[2])
    classes = [one.name for one in node.names if one.name in NAMES]
    others = [one.name for one in node.names if one.name not in NAMES]
    return "\n".join([
        *([f"from {node.module} import {', '.join(others)}"] if others else []),
        *([f"from wenyuan.client.{target} import {', '.join(NAMES[name] for name in classes)}"] if classes else []),
    ])  # fmt: skip


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [one.id for one in node.targets if isinstance(one, ast.Name)] if isinstance(node, ast.Assign) else []


def _ruff(arguments: list[str], text: str) -> str:
    command = [
        sys.executable,
        "-m",
        "ruff",
        *arguments,
        "-q",
        "--stdin-filename",
        str(CLIENT / "async_client.py"),
        "-",
    ]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=CLIENT).stdout


def main() -> None:
    """Write the modules, or compare them."""
    for path, text in sources().items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.name} is not what its source makes: python scripts/make_async_client.py")


if __name__ == "__main__":
    main()
