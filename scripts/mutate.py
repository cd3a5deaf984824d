"""Checks the tests: each ``raise`` in an adapter, replaced by ``return []``, must make a test fail.

An adapter that answers with nothing instead of failing is the worst fault that a search service can have, so every
place where one could be made is tried. The package is copied, one place at a time is changed in the copy, and the
tests that belong to the module run against it; what is left green is a survivor.

Run: ``python scripts/mutate.py --all``, ``--sample 12`` or ``--only catalog/locks``. The exit code is 1 when a mutant
survives that is not listed in `EQUIVALENT`, or when that list names one that is no more.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "wenyuan"
SECONDS = 300.0  # for the tests of one mutant; a hang counts as found

TESTS = {
    "engines/memory.py": ("test_engine_refusals", "test_engines"),
    "engines/local/*.py": ("test_engine_refusals", "test_engine_damage", "test_engine_upkeep", "test_engines"),
    "engines/postgres/*.py": ("test_engine_postgres_refusals", "test_engine_postgres"),
    "engines/milvus/*.py": ("test_engine_milvus_refusals", "test_engine_milvus"),
    "engines/index_step.py": ("test_engine_milvus_refusals", "test_engine_milvus"),
    "encoders/http.py": ("test_encoder_http", "test_rerank_http"),
    "runtime/guarded_http.py": ("test_encoder_http", "test_rerank_http", "test_llm", "test_remote_source"),
    "runtime/json_endpoint.py": ("test_encoder_http", "test_rerank_http", "test_llm", "test_remote_source"),
    "runtime/responses.py": ("test_encoder_http", "test_rerank_http", "test_llm", "test_remote_source"),
    "runtime/timed_stream.py": ("test_encoder_http", "test_rerank_http", "test_llm", "test_remote_source"),
    "llm/judge.py": ("test_judge",),
    "llm/*.py": ("test_llm", "test_replies"),
    "encoders/checking.py": ("test_encoder_check", "test_encoders"),
    "encoders/cross_encoder.py": ("test_encoder_onnx_dir", "test_encoder_builtin", "test_cross_encoder"),
    "encoders/model_files.py": ("test_encoder_onnx_dir", "test_encoder_builtin", "test_cross_encoder"),
    "encoders/onnx_encoder.py": ("test_encoder_onnx_dir", "test_encoder_builtin", "test_cross_encoder"),
    "encoders/onnx_session.py": ("test_encoder_onnx_dir", "test_encoder_builtin", "test_cross_encoder"),
    "encoders/*.py": ("test_encoder_builtin",),
    "catalog/library_folder.py": ("test_catalog_errors", "test_catalog", "test_moving"),
    "catalog/database.py": ("test_catalog_errors", "test_catalog", "test_moving"),
    "catalog/locks.py": ("test_catalog_errors", "test_catalog", "test_moving"),
    "catalog/values.py": ("test_catalog_errors", "test_catalog", "test_moving"),
    "catalog/sql.py": ("test_catalog_errors", "test_catalog"),
    "catalog/database_file.py": ("test_catalog_errors", "test_catalog"),
    "catalog/dialects.py": ("test_catalog_errors", "test_catalog"),
    "catalog/rows.py": ("test_catalog_feed",),
    "catalog/agents.py": ("test_catalog",),
    "catalog/identity.py": ("test_catalog",),
    "catalog/sources.py": ("test_catalog",),
    "catalog/task_profiles.py": ("test_catalog",),
    "service/search/answer_cache.py": ("test_legs", "test_fair_semaphore", "test_cache"),
    "service/search/fair_semaphore.py": ("test_legs", "test_fair_semaphore", "test_cache"),
    "service/search/leg_execution.py": ("test_legs", "test_fair_semaphore", "test_cache"),
    "service/search/traces.py": ("test_legs", "test_fair_semaphore", "test_cache"),
}
"""Which tests are about a module, those that take long last; the first pattern that fits counts."""

SERVERS = ("engines/postgres/", "engines/milvus")
"""Modules whose tests start a server: a mutant takes minutes there, so samples leave them out."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "engines/local/row_files.py",
        "RowFiles.on_disk",
        "raise ValueError(f'{self._manifest.name} does not say what it names') from error",
    ): "who asks unpacks two values: of an empty list that is the ValueError that damage is told by anyway",
    (
        "llm/chat_model.py",
        "ChatModel._complete_and_read",
        "raise AssertionError('the last attempt returns or raises')",
    ): ("cannot be reached, like that of the endpoint"),
    ("llm/replies.py", "_read", "raise ValueError('it is nested too deeply') from error"): (
        "an empty list is of no form that is asked for, and is refused as that"
    ),
    ("llm/judge.py", "_real", "raise ValueError('no number')"): (
        "an empty list is no number either: what compares it raises a TypeError, which is told alike"
    ),
    ("llm/judge.py", "HttpJudge._answer", "raise AssertionError('the last form returns or raises')"): (
        "cannot be reached, like that of the endpoint"
    ),
    ("llm/chat_model.py", "ChatModel._answer", "raise AssertionError('the last form returns or raises')"): (
        "cannot be reached, like that of the endpoint"
    ),
    ("runtime/json_endpoint.py", "JsonEndpoint.ask", "raise AssertionError('the last attempt returns or raises')"): (
        "cannot be reached: it tells the type checker that the loop above always returns or raises"
    ),
}
"""Mutants that change nothing anybody could see: (module, function, statement) → why."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One ``raise`` of one module; positions are in bytes of the file, as `ast` counts columns."""

    module: str
    function: str
    statement: str
    line: int
    begin: int
    end: int
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.module}:{self.line}"

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.function, self.statement

    def apply(self, content: bytes) -> bytes:
        return content[: self.begin] + b"return []" + content[self.end :]


def mutants() -> list[Mutant]:
    """Every ``raise`` of the modules in `TESTS`, in a fixed order."""
    found: dict[str, list[Mutant]] = {}
    for pattern, tests in TESTS.items():
        for path in sorted(PACKAGE.glob(pattern)):
            module = path.relative_to(PACKAGE).as_posix()
            if module not in found:
                found[module] = list(_in_module(path, module, tests))
    return [mutant for module in sorted(found) for mutant in found[module]]


def sampled(every: Sequence[Mutant], count: int) -> list[Mutant]:
    """Some mutants, always the same ones."""
    return random.Random(1).sample([mutant for mutant in every if not mutant.module.startswith(SERVERS)], count)


def _in_module(path: Path, module: str, tests: tuple[str, ...]) -> Iterator[Mutant]:
    content = path.read_bytes()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function, node in _raises(ast.parse(content), ""):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        yield Mutant(module, function, ast.unparse(node), node.lineno, begin, end, tests)


def _raises(node: ast.AST, function: str) -> Iterator[tuple[str, ast.Raise]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise):
            yield function, child
        named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        yield from _raises(child, f"{function}.{child.name}".strip(".") if named else function)


class Laboratory:
    """A copy of the package, its tests and scripts, in which one module at a time is a mutant."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for part in ("src", "tests", "scripts"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        self.package = folder / "src" / "wenyuan"
        self._environment = os.environ | {
            "PYTHONPATH": str(folder / "src"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # starting takes as long as most of these tests
        }
        told = self._run("-c", "import wenyuan; print(wenyuan.__file__)")
        if not told.stdout.startswith(str(self.package)):
            raise SystemExit(f"the copy is not what is imported, but {told.stdout}{told.stderr}")

    def passes(self, mutant: Mutant | None, tests: Sequence[str]) -> bool:
        """Whether the tests stay green with a mutant in place, or without one."""
        if mutant is None:
            return self._green(tests)
        path = self.package / mutant.module
        original = path.read_bytes()
        self._write(path, mutant.apply(original))
        try:
            return self._green(tests)
        finally:
            self._write(path, original)

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        path.write_bytes(content)
        for stale in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            stale.unlink()  # a change within the same second would go unnoticed

    def _green(self, tests: Sequence[str]) -> bool:
        files = [str(*(self._folder / "tests").rglob(f"{name}.py")) for name in tests]
        try:
            done = self._run("-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *files)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode not in (0, 1):
            raise SystemExit(f"the tests could not run:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
        return done.returncode == 0

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self._folder, env=self._environment, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip


def survivors(chosen: Sequence[Mutant]) -> list[Mutant]:
    """Try mutants, saying how each fared; those that no test found."""
    left = []
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(Path(folder))
        for tests in sorted({mutant.tests for mutant in chosen}):
            if not laboratory.passes(None, tests):
                raise SystemExit(f"{', '.join(tests)}: not green without any change")
        for number, mutant in enumerate(chosen, start=1):
            begun = time.monotonic()
            found = not laboratory.passes(mutant, mutant.tests)
            word = "found" if found else "equivalent" if mutant.key in EQUIVALENT else "SURVIVES"
            took = f"{time.monotonic() - begun:.0f}s"
            print(f"{number}/{len(chosen)}", word, took, mutant.name, mutant.statement[:90])
            if word == "SURVIVES":
                left.append(mutant)
    return left


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true", help="every mutant")
    which.add_argument("--sample", type=int, metavar="N", help="N of them, always the same ones")
    which.add_argument("--only", metavar="PART", help="those whose name contains this")
    asked = parser.parse_args()
    every = mutants()
    stale = EQUIVALENT.keys() - {mutant.key for mutant in every}
    for key in stale:
        print("listed as equivalent, but no more there:", *key)
    if asked.sample:
        every = sampled(every, asked.sample)
    elif asked.only:
        every = [mutant for mutant in every if asked.only in mutant.name]
    left = survivors(every)
    print(f"{len(every)} mutants, {len(left)} survive")
    return 1 if left or stale else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.exit(main())
