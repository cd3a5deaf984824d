"""Makes a small library of each former format of the catalog, for tests/system/test_former_formats.py.

``python scripts/make_former_formats.py tests/data/former_formats.tar.xz COMMIT…``: each commit's own program, taken from the
history of this repository and run by this Python, makes a library of two documents, asks two questions, and is closed. The
archive holds catalog, audit and settings of each in a folder that is called for the format, and ``asked.json`` with what
was answered; the index is left out, as it is made anew. A former program that this environment cannot run is named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

DOCUMENTS = {
    "leave.md": "# Leave\n\n## Carrying over\n\nUp to five unused days of leave are carried over to the next year.\n",
    "complaints.md": "# 客户投诉处理办法\n\n## 第一章 响应\n\n第一条 客户投诉应当在二十四小时内第一次响应，并登记投诉编号。\n",
}
QUESTIONS = ("How many days of leave are carried over?", "客户投诉多久响应")
_KEPT_OUT = (".lock", ".db-wal", ".db-shm")
_MADE = """
import json, sys
from pathlib import Path
import wenyuan
folder, documents, questions = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
with wenyuan.create(folder, encoder={"kind": "hashing"}) as library:
    library.add(wenyuan.Source(source_id="handbook", title="Handbook", path=documents, trust=4))
    answers = {}
    for question in questions:
        answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query=question, max_results=1))
        assert answer.status == "SUCCESS" and answer.fragments, (answer.status, answer.error_message)
        answers[question] = answer.fragments[0].content
print(json.dumps(answers))
"""


def made_by(commit: str, scratch: Path) -> tuple[int, Path, dict[str, str]]:
    """The format of a commit, the library that its program makes, and what that answered."""
    program = scratch / commit
    program.mkdir()
    packed = subprocess.run(["git", "archive", commit, "src/wenyuan"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "x", "-C", program], input=packed, check=True)
    documents, library = scratch / "documents", program / "library"
    documents.mkdir(exist_ok=True)
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text, "utf-8")
    env = {**os.environ, "PYTHONPATH": str(program / "src"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(code: str, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=env,
            cwd=scratch,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{commit} cannot be run here:\n{done.stderr[-2000:]}")
        return done.stdout

    answers = json.loads(run(_MADE, str(library), str(documents), json.dumps(QUESTIONS)).splitlines()[-1])
    where = ("storage", "migrations", "schema")
    code = "import importlib, sys\nfor name in sys.argv[1:]:\n try: print(importlib.import_module('wenyuan.catalog.' + name)."
    code += "SCHEMA_VERSION); break\n except (ImportError, AttributeError): pass"
    return int(run(code, *where)), library, answers


def main(archive: Path, commits: list[str]) -> None:
    """Make them all, and pack them."""
    with tempfile.TemporaryDirectory(prefix="wenyuan-formats-") as folder, tarfile.open(archive, "w:xz") as packed:
        scratch = Path(folder)
        for commit in commits:
            number, library, answers = made_by(commit, scratch)
            (library / "asked.json").write_text(
                json.dumps({"commit": commit, "answers": answers}, ensure_ascii=False, indent=1), "utf-8"
            )
            for file in sorted(library.iterdir()):
                if file.is_file() and file.suffix not in _KEPT_OUT and not file.name.endswith(_KEPT_OUT):
                    packed.add(file, f"{number}/{file.name}")
            print(number, commit, sorted(one.name for one in library.iterdir()), flush=True)
    print(archive, archive.stat().st_size)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
