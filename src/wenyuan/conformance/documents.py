"""The fixed documents of the kit, in Chinese and English, and what each request must find among them."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from wenyuan.core.errors import ConfigError, msg

RUN = 5


@cache
def _manifest_text() -> str:
    return files("wenyuan.conformance").joinpath("manifest.json").read_text(encoding="utf-8")


def manifest() -> dict[str, Any]:
    """The documents (file, language, topic) and the requests, each with what is expected of it."""
    loaded: dict[str, Any] = json.loads(_manifest_text())
    return loaded


def request(name: str) -> dict[str, Any]:
    """A fresh copy of one of the manifest's requests: ``many``, ``two``, ``single``, ``none`` …"""
    found: dict[str, Any] = manifest()["requests"][name]["request"]
    return found


def documents() -> dict[str, str]:
    """The Markdown of every document by file name, in the manifest's order."""
    home = files("wenyuan.conformance").joinpath("documents")
    names = [entry["file"] for entry in manifest()["documents"]]
    return {name: home.joinpath(name).read_text(encoding="utf-8") for name in names}


def origin(text: str) -> str:
    """The file of the document that a text comes from; ``""`` when it comes from none.

    A text is from where at least half of its runs of five letters stand, so that what is cut, marked up or has a
    title in front is still found.
    """
    bare = _letters(text)
    runs = {bare[at : at + RUN] for at in range(max(1, len(bare) - RUN + 1))} - {""}
    held = {name: sum(run in whole for run in runs) for name, whole in _bare_documents().items()}
    best = max(held, key=held.__getitem__)
    return best if 0 < len(runs) <= 2 * held[best] else ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


@cache
def _bare_documents() -> dict[str, str]:
    return {name: _letters(text) for name, text in documents().items()}


def export_data(directory: str | Path) -> tuple[Path, ...]:
    """Write ``manifest.json`` and ``documents/*.md`` for the service under test to take in.

    The manifest stands beside the documents, not among them: it holds the queries, and a service that took it in
    would find it.

    Returns:
        The files written, the manifest first.

    Raises:
        ConfigError: the directory cannot be written.
    """
    root = Path(directory)
    texts = {root / "manifest.json": _manifest_text()}
    texts |= {root / "documents" / name: text for name, text in documents().items()}
    try:
        (root / "documents").mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(msg("cannot write the documents to {root}: {error}", root=root, error=error)) from error
    return tuple(texts)
