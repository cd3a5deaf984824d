"""Opens a library, asks and changes it, once as it is, once while its folder is read-only, and again; says what came of each as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.errors import KnowledgeError
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.uploads import Given

OPTIONS: dict[str, Any] = {"encoder": {"kind": "hashing", "dimension": 32}, "search": {"floor": 0.0, "deadline": 60}}
QUESTION = "The fee is 5 yuan"
PATIENCE = 60.0  # seconds


def texts(folder: Path, **held: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in held.items():
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}", "utf-8")
    return folder


def given(folder: Path, name: str) -> Given:
    return Given(name=f"{name}.md", path=folder / f"{name}.md")


def number_of(library: Any, name: str) -> int:
    live = library.catalog.live_documents("desk")
    return next(number for uri, (number, _) in live.items() if uri.endswith(f"/{name}") and "/.versions/" not in uri)


def effects(library: Any, home: Path) -> dict[str, Callable[[], Any]]:
    """What changes a library, each of another kind."""
    came, docs = home / "came", home / "docs"

    def refresh() -> Any:
        texts(docs, two="Eta words.")
        return library.ingest("docs")

    def correct() -> Any:
        (first, *_) = library.catalog.document_passages(number_of(library, "a.md"))
        return library.correction_desk.correct(CorrectionRequest(ref=f"desk#{first[0]}", action="text", text="Nine."))

    return {
        "upload": lambda: library.upload("desk", [given(texts(came, c="Kappa."), "c")]),
        "replace": lambda: library.replace_document(
            number_of(library, "b.md"), given(texts(came, b="The fine is 7."), "b")
        ),
        "correct": correct,
        "refresh": refresh,
        "add": lambda: library.add(wenyuan.Source(source_id="more", path=str(texts(home / "more", z="Zeta.")))),
        "source": lambda: library.catalog.put_source(wenyuan.Source(source_id="other")),
        "delete": lambda: library.delete_document(number_of(library, "a.md")),
        "remove": lambda: library.remove("docs"),
    }


def outcome(do: Callable[[], Any]) -> str:
    """``done``, or the kind of error and what it says."""
    try:
        do()
    except KnowledgeError as error:
        return f"refused: {error}"
    return "done"


def asked(library: Any) -> list[str] | None:
    """What a question finds; None where it is refused."""
    try:
        return sorted(passage.text for passage in library.search(QUESTION).passages.values())
    except KnowledgeError:
        return None


def state(library: Any) -> dict[str, list[str]]:
    """The texts of each live document, by the end of its address."""
    live = [item for source in library.sources() for item in library.catalog.live_documents(source.source_id).items()]
    return {
        uri.rpartition("/")[2]: [text for _, text, _ in library.catalog.document_passages(number)]
        for uri, (number, _) in live
    }


def main(home: Path) -> None:
    flag = Path(os.environ["READ_ONLY_WHILE"])
    came, docs = (
        texts(home / "came", a=f"{QUESTION}.", b="The fine is 6 yuan."),
        texts(home / "docs", one="Gamma words."),
    )
    with wenyuan.open(home / "library", create=True, **OPTIONS) as library:
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        library.upload("desk", [given(came, "a"), given(came, "b")])
        library.add(wenyuan.Source(source_id="docs", path=str(docs)))
        told: dict[str, Any] = {"before": state(library), "asked": asked(library)}
        flag.touch()
        told["first question"] = asked(library)
        told["shut"] = {name: outcome(do) for name, do in effects(library, home).items()}
        told["while shut"] = state(library)
        flag.unlink()
        until = time.monotonic() + PATIENCE
        while (found := asked(library)) is None and time.monotonic() < until:  # the audit writes what waits first
            time.sleep(0.1)
        told["asked again"] = found
        told["open"] = {name: outcome(do) for name, do in effects(library, home).items()}
        told["after"] = state(library)
    with wenyuan.open(home / "library", **OPTIONS) as library:
        told |= {
            "opened again": state(library),
            "audit": library.audit.verify().ok,
            "ready": library.readiness().ready,
        }
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
