"""What each command of the command line costs: seconds of processor, and memory.

    python bench/commands.py [--rounds 3] [--commands COMMAND …]

Each command is run in a process of its own, on a small library with two sources, an agent, a key and some answers; once more
than is counted, so that its code is compiled. Prints the environment, and by command the least and the median seconds of
processor (user and system) of the rounds, the most memory (RSS), and which of the heavy packages it imported. A command opens
what it needs: those of `RECORD` need the record alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import wenyuan
from wenyuan.core.access import Agent, DomainScope
from wenyuan.core.model import RetrievalRequest

HEAVY = ("numpy", "onnxruntime", "sentencepiece", "tantivy", "sqlalchemy", "starlette")
RECORD = (
    "audit verify", "audit list", "audit show {audit}", "audit export {scratch}/audit.jsonl", "source list", "source show docs",
    "key list", "key create --rights search", "key revoke {key}", "agent list", "agent show helper",
    "agent set helper --title x", "task list",
)  # fmt: skip
OTHERS = (
    "--help", "source export", "document list", "document show 1", "rules list", "synonyms list", "corrections", "quarantine list",
    "search 养护几天", "retrieve 养护几天", "context 养护几天", "doctor",
)  # fmt: skip

_CHILD = """
import json, resource, sys
sys.argv[0] = "wenyuan"
code = 0
try:
    from wenyuan.cli import main
    main()
except SystemExit as error:
    code = error.code or 0
used = resource.getrusage(resource.RUSAGE_SELF)
memory = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024
heavy = [name for name in {heavy!r} if name in sys.modules]
told = {{"code": code, "seconds": used.ru_utime + used.ru_stime, "mb": memory, "heavy": heavy}}
with open({to!r}, "w") as file:
    json.dump(told, file)
"""


def small_library(place: Path) -> dict[str, str]:
    """A library below a folder; gives what commands name of it."""
    docs = place / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# 养护\n\n混凝土养护不少于七天。\n", "utf-8")
    (docs / "b.md").write_text("# Leave\n\nAnnual leave is fifteen days.\n", "utf-8")
    with wenyuan.open(place / "library", create=True) as library:
        library.add(wenyuan.Source(source_id="docs", path=str(docs)))
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        library.catalog.put_agent(Agent(agent_id="helper", knowledge_scope=(DomainScope(domain="docs"),)))
        keys = [library.catalog.create_key(None, frozenset({"search"}), None)[0].key_id for _ in range(2)]
        answer = library.retrieve_fragments(RetrievalRequest(query="养护几天", max_results=1))
        audit = str(answer.fragments[0].metadata["audit_id"])
    return {"audit": audit, "key": keys[0], "scratch": str(place)}


def run(command: str, place: Path) -> dict[str, object]:
    """What one run used; it must end well."""
    import json

    to = place / "used.json"
    (place / "audit.jsonl").unlink(missing_ok=True)  # a file that exists is not written over
    child = _CHILD.format(heavy=HEAVY, to=str(to))
    whole = [sys.executable, "-c", child, *command.split()]
    environment = {**os.environ, "WENYUAN_LIBRARY": str(place / "library")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled
    done = subprocess.run(whole, env=environment, capture_output=True, text=True, check=False)
    used: dict[str, object] = json.loads(to.read_text())
    assert used["code"] in (0, 1), done.stderr
    return used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commands", nargs="+", metavar="COMMAND", default=(*RECORD, *OTHERS))
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print(f"{'':<38} {'least':>6} {'median':>6} s  {'memory':>6} MB")
    with tempfile.TemporaryDirectory() as scratch:
        named = small_library(Path(scratch))
        for template in options.commands:
            used = [run(template.format(**named), Path(scratch)) for _ in range(options.rounds + 1)][1:]
            seconds = [float(str(one["seconds"])) for one in used]
            most = max(float(str(one["mb"])) for one in used)
            heavy = used[0]["heavy"]
            told = ", ".join(heavy) if isinstance(heavy, list) else ""
            shown = template.replace("{scratch}/", "")
            print(f"{shown:<38} {min(seconds):>6.2f} {statistics.median(seconds):>6.2f}    {most:>6.0f}    {told}")


if __name__ == "__main__":
    main()
