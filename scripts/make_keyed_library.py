"""Makes the library of the version before readers that tests/system/test_keys_before_readers.py opens and asks.

Run it with the program of that version, from a checkout of its commit: ``python scripts/make_keyed_library.py keyed.zip``. It makes a
library with documents, an upload, agents and keys of each kind; asks a server of that version everything that changes nothing, with
each key; and puts catalog, audit, uploads and what was answered into one archive. The keys are of this library alone.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.access import parse_agent
from wenyuan.core.model import Source
from wenyuan.server.app import ROUTES, create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

SETTINGS: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}, "search": {"floor": 0.0}}
DOCS = {
    "leave.md": "# 请假制度\n\n员工每年有 10 天年假。\n\n请假须提前三天申请。\n",
    "pay.md": "---\nreaders: [group:hr]\n---\n# 薪酬方案\n\n年假期间照发工资。\n",
    "old.md": "# 旧制度\n\n年假五天。\n",
}
WIKI = {"faq.md": "# FAQ\n\n年假怎么申请？ Annual leave is asked for in the portal.\n"}
RIGHTS = {
    "admin": (None, ("admin",)), "operator": (None, ("retrieve", "search")), "support": ("support", ("retrieve", "search")),
    "registry": (None, ("registry",)), "ingest": (None, ("ingest", "search")), "audit": (None, ("audit",)),
    "agent-registry": ("support", ("registry", "ingest", "audit", "search")), "revoked": (None, ("admin",)), "expired": (None, ("admin",)),
}  # fmt: skip
QUESTION = "员工每年有几天年假"
CALLS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/retrieve_fragments", {"query": QUESTION, "max_results": 20}),
    ("POST", "/v1/search", {"query": QUESTION, "limit": 20}),
    ("POST", "/v1/search", {"query": QUESTION, "agent_id": "support"}),
    ("POST", "/v1/context", {"retrieval_query": QUESTION}),
    ("POST", "/v1/verify", {"answer": "员工每年有 10 天年假。"}),
    ("POST", "/retrieval", {"knowledge_id": "all", "query": QUESTION}),
    ("POST", "/v1/retrieve", {"query": QUESTION}),
    ("POST", "/v1/infer_rules", {"context": QUESTION}),
    *(("GET", path, None) for path in (
        "/v1/vector_stores", "/v1/sources", "/v1/sources/docs", "/v1/sources/wiki", "/v1/documents", "/v1/corrections", "/v1/agents",
        "/v1/agents/support", "/v1/tasks", "/v1/synonyms", "/v1/audit", "/v1/evaluations", "/v1/rules", "/v1/rules/review", "/v1/keys",
        "/v1/quarantine", "/metrics",
    )),
    *(("GET", f"/v1/documents/{number}{more}", None) for number in range(1, 7) for more in ("", "/passages", "/history", "/original/state")),
    *(("GET", f"/v1/passages/{number}", None) for number in range(1, 13)),
]  # fmt: skip


def write(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def said(url: str, method: str, path: str, body: Any, key: str | None) -> tuple[int, list[str]]:
    """The status of an answer, and the documents and passages that it names."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, content, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    named = re.findall(r"(?:docs|wiki|desk)#\d+|\"document_id\": ?\d+", text) if status == 200 else []
    return status, sorted(set(named))


def stock(library: Any, folder: Path) -> dict[str, str]:
    """Documents, an agent, a correction, a former version and keys; the secrets of the keys."""
    for name, texts in {"docs": DOCS, "wiki": WIKI}.items():
        write(folder / name, texts)
        library.add(Source(source_id=name, path=str(folder / name), domain=name, trust=4))
    (folder / "docs" / "old.md").unlink()
    write(folder / "docs", {"leave.md": DOCS["leave.md"].replace("10 天", "15 天")})
    library.ingest("docs")
    library.catalog.put_agent(
        parse_agent({"agent_id": "support", "knowledge_scope": [{"domain": "docs", "top_k": 5}]})
    )
    secrets = {}
    for name, (agent, rights) in RIGHTS.items():
        expires = time.time() + 1 if name == "expired" else None
        made, secrets[name] = library.catalog.create_key(agent, frozenset(rights), expires, name=name)
        if name == "revoked":
            library.catalog.revoke_key(made.key_id)
    time.sleep(1.1)
    return secrets


def main(archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="wenyuan-former-") as scratch:
        folder = Path(scratch)
        with wenyuan.create(folder / "library", **SETTINGS) as library:
            secrets = stock(library, folder)
            ring = KeyRing(library.catalog, open_without_keys=False)
            app = create_app(library, authenticate=ring, settings=ServerSettings(rate_per_key=0))
            url, stop = start_in_thread(app, grace=1)
            try:
                held: dict[str, str | None] = {"nobody": None, **secrets}
                answers = {name: [said(url, *call, key) for call in CALLS] for name, key in held.items()}
            finally:
                stop()
        shutil.rmtree(folder / "library" / "index")
        told = {
            "routes": sorted(f"{one.method} {one.path}" for one in ROUTES),
            "rights": {name: sorted(rights) for name, (_, rights) in RIGHTS.items()},
            "keys": secrets, "calls": CALLS, "answers": answers,
        }  # fmt: skip
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            packed.writestr("told.json", json.dumps(told, ensure_ascii=False, indent=0))
            for file in sorted(folder.glob("library/*")):
                if file.is_file() and file.suffix not in (".lock", ".db-wal", ".db-shm"):
                    packed.write(file, f"library/{file.name}")
    print(archive, archive.stat().st_size, sum(status == 200 for one in answers.values() for status, _ in one))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
