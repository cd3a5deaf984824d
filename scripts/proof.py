"""What suites by others say of this service: run them against a server on loopback, and print a table in Markdown.

    python scripts/proof.py                        # all of them; some fifteen minutes on two cores
    python scripts/proof.py --only redocly spectral
    python scripts/proof.py --lang zh --json proof.json

Nothing of the suites is part of the project: they are installed in ``.venv-proof`` (npm and pip, pinned below), Node included,
since some need a newer one than machines have. What they ask is the small bilingual library of ``wenyuan demo``, in a folder that is
removed. A suite that cannot be installed or started is a row that says so. The exit code is 1 where a suite fails in another way
than `KNOWN` says; what that is, and why, stands in docs/proof.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".venv-proof"
NODE = "22.23.3"
VERSIONS = {
    "mcp": "0.1.16", "mcp-next": "0.2.0-alpha.12", "redocly": "2.77.0", "spectral": "6.16.3", "schemathesis": "4.32.5",
    "langchain": "1.1.9", "recall": "",
}  # fmt: skip
PACKAGES = {
    "mcp": "@modelcontextprotocol/conformance", "mcp-next": "@modelcontextprotocol/conformance", "redocly": "@redocly/cli",
    "spectral": "@stoplight/spectral-cli",
}  # fmt: skip
NAMES = {
    "mcp": "MCP conformance, `server --suite all`", "mcp-next": "MCP conformance, the next one",
    "redocly": "Redocly, `recommended`", "spectral": "Spectral, `spectral:oas`", "schemathesis": "schemathesis, all phases but stateful",
    "langchain": "LangChain's standard tests of retrievers", "recall": "recall@10 beside exact search, as ann-benchmarks has it",
}  # fmt: skip
KNOWN = {
    "redocly": {"operation-4xx-response", "tag-description"},
    "spectral": {"operation-description", "info-contact"},
    "schemathesis": {"ST101", "ST202"},
}
"""What suites find that stays as it is; see docs/proof.md."""
PATIENT = {
    "WENYUAN_SERVER__RATE_PER_KEY": "0",
    "WENYUAN_SERVER__CONCURRENCY_PER_KEY": "0",
    "WENYUAN_SEARCH__DEADLINE": "30",
}
"""So that what is found does not depend on how busy the machine is."""
HEADS = {
    "en": ("suite", "version", "asked", "passed", "failed", "not applicable or skipped", "what fails"),
    "zh": ("测试套件", "版本", "项数", "通过", "未通过", "不适用或跳过", "未通过的是什么"),
}


@dataclass
class Row:
    """What one suite says.

    Attributes:
        what: Name of a fault → how often it was found.
        unknown: Faults that `KNOWN` does not name, or why the suite could not be run.
    """

    suite: str
    version: str = ""
    asked: int | str = ""
    passed: int | str = ""
    failed: int | str = ""
    skipped: int | str = ""
    what: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    seconds: float = 0.0


class NotRun(Exception):
    """A suite could not be installed or started."""


@dataclass(frozen=True)
class Served:
    """A server, and a key that may do everything."""

    url: str
    key: str
    folder: Path
    examples: int


def run(
    command: list[Any], *, cwd: Path = ROOT, env: dict[str, str] | None = None, timeout: float = 900
) -> tuple[int, str]:
    """A program's exit code and output."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=timeout, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotRun(f"{words[0]}: {type(error).__name__}") from error
    return done.returncode, done.stdout


def node_program(suite: str, name: str) -> tuple[Path, dict[str, str]]:
    """A program of an npm package, installed by itself with its own Node, and the environment to run it in."""
    folder = TOOLS / suite
    program = folder / "node_modules" / ".bin" / name
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}", "utf-8")
        packages = [f"{PACKAGES[suite]}@{VERSIONS[suite]}", f"node@{NODE}"]
        code, said = run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent", "--save-exact", *packages], cwd=folder
        )
        if code or not program.exists():
            raise NotRun(f"npm install: {said.strip()[-200:] or code}")
    return program, {"PATH": f"{folder / 'node_modules' / 'node' / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def python_program(suite: str, package: str, name: str) -> Path:
    """A program of a Python package in an environment of its own."""
    folder = TOOLS / suite
    if not (folder / "bin" / name).exists():
        code, said = run([sys.executable, "-m", "venv", folder])
        if not code:
            code, said = run(
                [folder / "bin" / "pip", "install", "--quiet", "--no-compile", f"{package}=={VERSIONS[suite]}"]
            )
        if code:
            raise NotRun(f"pip install: {said.strip()[-200:]}")
    return folder / "bin" / name


# -- the suites --------------------------------------------------------------------------------------------------
def mcp(suite: str, served: Served) -> Row:
    """Scenarios; those that need the suite's own tools, prompts and sessions are named in a file, and are not applicable."""
    program, env = node_program(suite, "conformance")
    expected = ROOT / "tests" / "mcp_not_applicable.yaml"
    code, said = run(
        [program, "server", "--url", f"{served.url}/mcp", "--suite", "all", "--expected-failures", expected], env=env
    )
    said = re.sub(r"\x1b\[\d+m", "", said)
    found = re.findall(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", said, re.MULTILINE)
    if not found:
        raise NotRun(said.strip()[-200:])
    apart = set(re.findall(r"^  ~ ([\w-]+)$", said, re.MULTILINE))
    failed = [name for name, _, bad in found if int(bad) and name not in apart]
    passed = [name for name, good, bad in found if int(good) and not int(bad) and name not in apart]
    skipped = len(found) - len(passed) - len(failed)
    unknown = failed or (["the suite's exit code"] if code else [])
    return Row(suite, asked=len(found), passed=len(passed), failed=len(failed), skipped=skipped, what=dict.fromkeys(failed, 1), unknown=unknown)  # fmt: skip


def document(served: Served) -> tuple[Path, int]:
    """The OpenAPI document as a file, and how many operations it has."""
    with urllib.request.urlopen(f"{served.url}/openapi.json", timeout=30) as answer:
        told = json.load(answer)
    file = served.folder / "openapi.json"
    file.write_text(json.dumps(told, ensure_ascii=False), "utf-8")
    return file, sum(len(methods) for methods in told["paths"].values())


def linted(suite: str, operations: int, faults: Counter[tuple[str, str]]) -> Row:
    """A linter's row: how many operations have been looked at, and what was found, errors apart from warnings."""
    errors = sum(count for (_, kind), count in faults.items() if kind == "error")
    what = {f"{rule} ({kind})": count for (rule, kind), count in sorted(faults.items())}
    unknown = sorted({rule for rule, _ in faults} - KNOWN[suite])
    return Row(
        suite,
        asked=f"{operations} operations",
        passed="",
        failed=f"{errors} errors",
        skipped="",
        what=what,
        unknown=unknown,
    )


def redocly(suite: str, served: Served) -> Row:
    program, env = node_program(suite, "redocly")
    file, operations = document(served)
    out = served.folder / "redocly.json"
    out.unlink(missing_ok=True)
    shell = 'exec "$0" lint "$1" --format=json > "$2" 2>/dev/null'  # what it says beside the report goes elsewhere
    run(["sh", "-c", shell, program, file, out], cwd=served.folder, env={**env, "REDOCLY_TELEMETRY": "off"})
    try:
        problems = json.loads(out.read_text("utf-8"))["problems"]
    except (ValueError, KeyError) as error:
        raise NotRun("no report") from error
    return linted(
        suite,
        operations,
        Counter((one["ruleId"], "error" if one["severity"] == "error" else "warning") for one in problems),
    )


def spectral(suite: str, served: Served) -> Row:
    program, env = node_program(suite, "spectral")
    file, operations = document(served)
    rules, out = served.folder / "rules.yaml", served.folder / "spectral.json"
    rules.write_text('extends: ["spectral:oas"]\n', "utf-8")
    run([program, "lint", file, "-r", rules, "-f", "json", "-o", out, "--quiet"], cwd=served.folder, env=env)
    if not out.is_file():
        raise NotRun("no report")
    problems = json.loads(out.read_text("utf-8"))
    return linted(
        suite, operations, Counter((one["code"], "error" if one["severity"] == 0 else "warning") for one in problems)
    )


def schemathesis(suite: str, served: Served) -> Row:
    """Generated requests, valid and not, at every operation but MCP's, which has a suite of its own."""
    program = python_program(suite, "schemathesis", "schemathesis")
    code, said = run(
        [program, "run", f"{served.url}/openapi.json", "--phases", "examples,coverage,fuzzing", "--max-examples", served.examples,
         "--generation-deterministic", "--continue-on-failure", "--workers", 2, "--no-color", "--exclude-path", "/mcp",
         "--exclude-path-regex", "^/v1/keys/", "--request-timeout", 60, "-H", f"Authorization: Bearer {served.key}"],
        cwd=served.folder, timeout=1800,
    )  # fmt: skip
    (served.folder / "schemathesis.txt").write_text(said, "utf-8")
    tested = re.search(r"Tested: (\d+)", said)
    cases = re.search(r"(\d+) generated, (\d+) found (\d+) unique failures", said) or re.search(
        r"(\d+) generated, (\d+) passed", said
    )
    if tested is None or cases is None:
        raise NotRun(f"exit code {code}: {said.strip()[-200:]}")
    kinds = {
        f"{number} {name.lower()}": int(count)
        for number, name, count in re.findall(r"(ST\d+) ([\w -]+): (\d+)$", said, re.MULTILINE)
    }
    errors = {name.lower(): int(count) for name, count in re.findall(r"🚫 ([\w ]+): (\d+)$", said, re.MULTILINE)}
    failed = int(cases[2]) if "unique failures" in cases[0] else 0
    unknown = sorted(name for name in {**kinds, **errors} if name.split()[0] not in KNOWN[suite])
    return Row(suite, asked=f"{cases[1]} requests, {tested[1]} operations", passed=int(cases[1]) - failed, failed=failed, what={**kinds, **errors}, unknown=unknown)  # fmt: skip


def langchain(suite: str, served: Served) -> Row:
    """The suite of `langchain-tests`, in the environment of `make test-integrations`; its server is its own."""
    code, said = run(["make", "--silent", ".venv-langchain/.made"])
    if code:
        raise NotRun(said.strip()[-200:])
    tests = ROOT / "tests" / "integrations" / "langchain" / "test_langchain.py"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "support")])
    python = ROOT / ".venv-langchain" / "bin" / "python"
    code, said = run(
        [python, "-m", "pytest", "-q", "-rs", "-W", "default", tests, "-k", "TestTheirOwnSuite"],
        env={"PYTHONPATH": path},
    )
    counts = {kind: int(number) for number, kind in re.findall(r"(\d+) (passed|failed|skipped|xfailed|error)", said)}
    dots = re.findall(r"^([.FsxE]+) +\[", said, re.MULTILINE)
    marks = Counter("".join(dots)) if not counts else Counter()
    passed, failed = (
        counts.get("passed", marks["."]),
        counts.get("failed", marks["F"]) + counts.get("error", marks["E"]),
    )
    skipped = counts.get("skipped", marks["s"])
    if not passed and not failed:
        raise NotRun(said.strip()[-200:])
    return Row(
        suite,
        asked=passed + failed + skipped,
        passed=passed,
        failed=failed,
        skipped=skipped,
        unknown=["its tests"] if failed else [],
    )


def recall(suite: str, served: Served) -> Row:
    """The engine's nearest ten beside those that numpy finds, over four scopes; vectors are synthetic."""
    code, said = run(
        [sys.executable, ROOT / "bench" / "engines.py", "--engines", "local", "--passages", 10_000, "--rounds", 50]
    )
    found = re.search(r"recall@10:[^|]*\| +([\d. /]+?) +\|", said)
    shares = found[1].split(" / ") if found else []
    if code or not shares:
        raise NotRun(said.strip()[-200:])
    least = min(map(float, shares))
    return Row(suite, version="10,000 × 384", asked="4 scopes × 50 questions", passed=" / ".join(shares), failed="", unknown=[] if least >= 0.99 else [f"recall {least}"])  # fmt: skip


SUITES: dict[str, Callable[[str, Served], Row]] = {
    "mcp": mcp, "mcp-next": mcp, "redocly": redocly, "spectral": spectral, "schemathesis": schemathesis, "langchain": langchain,
    "recall": recall,
}  # fmt: skip


# -- the server --------------------------------------------------------------------------------------------------
@contextmanager
def server(folder: Path, examples: int) -> Iterator[Served]:
    """A server over the demo's library; what it says goes to a file beside it."""
    wenyuan = Path(sys.executable).with_name("wenyuan")
    code, said = run([wenyuan, "demo", "--keep", folder, "--lang", "en"])
    if code:
        raise SystemExit(f"the library could not be made: {said[-400:]}")
    library = folder / "library"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "server.txt").open("wb") as told:
        process = subprocess.Popen(
            [wenyuan, "--library", library, "serve", "--port", str(port)],
            stdout=told,
            stderr=told,
            env={**os.environ, **PATIENT},
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_ready(url, process)
        yield Served(url, "", folder, examples)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    """Until the server answers; where it ends before, so does this."""
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server does not answer")


def keyed(served: Served) -> Served:
    """The same with a key that may do everything: from now on the server wants one."""
    wenyuan = Path(sys.executable).with_name("wenyuan")
    _, said = run([wenyuan, "--library", served.folder / "library", "key", "create", "--rights", "admin", "--json"])
    found = re.search(r"wy_[0-9a-f]{8}_[\w-]+", said)
    if found is None:
        raise SystemExit(f"no key: {said[-200:]}")
    return Served(served.url, found[0], served.folder, served.examples)


def asked(suite: str, served: Served) -> Row:
    """What a suite says, or why it says nothing."""
    started = time.monotonic()
    try:
        row = SUITES[suite](suite, keyed(served) if suite == "schemathesis" else served)
    except NotRun as error:
        row = Row(suite, unknown=[f"not run: {error}"])
    row.version = row.version or VERSIONS[suite]
    row.seconds = round(time.monotonic() - started, 1)
    return row


def table(rows: list[Row], language: str) -> str:
    """The rows in Markdown."""
    lines = ["| " + " | ".join(HEADS[language]) + " |", "|---" * len(HEADS[language]) + "|"]
    for row in rows:
        what = ", ".join(f"{name}: {count}" for name, count in row.what.items()) or ", ".join(row.unknown)
        cells = [NAMES[row.suite], row.version, row.asked, row.passed, row.failed, row.skipped, what]
        lines.append("| " + " | ".join(str(cell).replace("\n", " ").replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the suites and print what they say."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", nargs="+", choices=list(SUITES), default=list(SUITES))
    arguments.add_argument("--examples", type=int, default=3, help="of each operation and way, for schemathesis")
    arguments.add_argument("--lang", choices=list(HEADS), default="en")
    arguments.add_argument("--json", type=Path, help="write the rows there, too")
    arguments.add_argument("--keep", type=Path, help="keep the library and what the suites wrote there")
    chosen = arguments.parse_args()
    # It makes a key for schemathesis, and from then on the server wants one: whatever asks without goes first.
    order = sorted(chosen.only, key=lambda name: (name == "schemathesis", list(SUITES).index(name)))
    with tempfile.TemporaryDirectory() as made, server(chosen.keep or Path(made), chosen.examples) as served:
        rows = [asked(suite, served) for suite in order]
    print(table(rows, chosen.lang))
    for row in rows:
        print(f"{row.suite}: {row.seconds} s{'; ' + '; '.join(row.unknown) if row.unknown else ''}", file=sys.stderr)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1), "utf-8")
    raise SystemExit(1 if any(row.unknown for row in rows) else 0)


if __name__ == "__main__":
    main()
