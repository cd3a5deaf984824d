"""A document as a file of a bundle in the Open Knowledge Format: its front matter and its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import yaml

from wenyuan.core.model import Facet, Source
from wenyuan.core.okf import SUPERSEDED_BY
from wenyuan.core.version import VERSION

_AS_THEY_ARE = ("description", "resource", "stale_after", SUPERSEDED_BY)
_MADE_ANEW = frozenset((
    "type", "title", "tags", "status", "language", "effective_from", "effective_until", "generated", "generated_by", "generated_at",
    "verified", "verified_by", "verified_at", "trust_tier", "sources", "readers", "deny", *_AS_THEY_ARE,
))  # fmt: skip
_KIND = "Document"
EXTENSION = "x-wenyuan"
"""Key of front matter under which stands what the format has no key for."""


def front_of(
    document: Mapping[str, Any], facets: Mapping[str, Facet], source: Source, today: date, path: str
) -> dict[str, Any]:
    """The front matter of a concept made of a document.

    Args:
        document: As a list of documents tells of it.
        path: Of the document in its source; it stands for the address of a file, which is this machine's own.
        facets: Its metadata.
    """
    front: dict[str, Any] = {"type": str(facets.get("type") or _KIND), "title": document["title"]}
    front |= {name: facets[name] for name in _AS_THEY_ARE if facets.get(name) not in (None, "")}
    tags = [*source.tags, *_listed(facets.get("tags"))]
    if tags:
        front["tags"] = list(dict.fromkeys(tags))
    if (status := _status(document, facets, today)) != "stable":
        front["status"] = status
    for name in ("language", "effective_from", "effective_until"):
        if document.get(name):
            front[name] = document[name]
    front["generated"] = {"by": f"wenyuan/{VERSION}", "at": document["ingested_at"]}
    place = path if document["uri"].startswith("file:") else document["uri"]
    origin = {"id": "original", "resource": place, "title": document["title"]}
    if facets.get("generated_by"):
        origin["author"] = str(facets["generated_by"])
    if facets.get("generated_at"):
        origin["last_modified"] = str(facets["generated_at"])
    front["sources"] = [origin, *({"resource": one} for one in _listed(facets.get("sources")))]
    own = {
        "source": source.source_id, "trust": source.trust, "domain": source.domain, "sensitivity": source.sensitivity,
        "copyright": source.copyright, "media_type": document["media_type"], "verified_by": facets.get("verified_by"),
        "verified_at": facets.get("verified_at"),
    }  # fmt: skip
    front[EXTENSION] = {name: value for name, value in own.items() if value not in (None, "")}
    return front | {name: value for name, value in sorted(facets.items()) if name not in _MADE_ANEW and value != ""}


def concept_text(front: Mapping[str, Any], text: str) -> str:
    """A concept's file."""
    written = yaml.safe_dump(dict(front), allow_unicode=True, sort_keys=False, width=1_000)
    return f"---\n{written}---\n\n{text.rstrip()}\n"


def index_text(entries: Sequence[tuple[str, str, str]], heading: str, front: Mapping[str, Any] | None = None) -> str:
    """An ``index.md``: rows of title, relative address and description."""
    head = "" if front is None else f"---\n{yaml.safe_dump(dict(front), allow_unicode=True, sort_keys=False)}---\n\n"
    rows = [f"* [{_label(title)}]({address})" + (f" - {about}" if about else "") for title, address, about in entries]
    return f"{head}# {heading}\n\n" + "\n".join(rows) + "\n"


def log_text(days: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """A ``log.md``: by day, titles and addresses of what was taken in, newest first."""
    parts = ["# Log\n"]
    for day in sorted(days, reverse=True):
        rows = [f"* **Update**: [{_label(title)}]({address})" for title, address in days[day]]
        parts.append(f"## {day}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _status(document: Mapping[str, Any], facets: Mapping[str, Facet], today: date) -> str:
    if str(facets.get("status", "")) in ("draft", "deprecated"):
        return str(facets["status"])
    ends = document.get("effective_until")
    return "deprecated" if document["state"] == "superseded" or (ends and ends < today.isoformat()) else "stable"


def _listed(value: Facet | None) -> list[str]:
    return [part.strip() for part in str(value).split(",") if part.strip()] if value not in (None, "") else []


def _label(title: str) -> str:
    return " ".join(title.replace("[", "(").replace("]", ")").split())
