"""The Open Knowledge Format, versions 0.1 to 0.3: what the front matter of a concept says of its origin, trust and age.

A bundle is a tree of Markdown files; each whose front matter has a ``type`` is a concept. Facts by
https://github.com/GoogleCloudPlatform/open-knowledge-format (SPEC.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.model import Facet

FORMAT = "okf"
"""Value of a source's setting ``format`` whose files are a bundle; written before a path, ``okf:./bundle``, it means the same."""
VERSION = "0.3"
RESERVED = ("index.md", "log.md")
"""Names of files that are no concepts, at any depth."""
SUPERSEDED_BY = "superseded_by"
"""Metadata: the path of the concept that took the place of this one."""
UNVERIFIED, MACHINE, HUMAN = "unverified", "machine-confirmed", "human-reviewed"
UNREADABLE_INSTANT = "unreadable"
"""Since when content is stale whose ``stale_after`` cannot be read: it counts as stale."""
STALE_AFTER = "stale_after"
"""Metadata: when a document says that it is out of date."""
_HUMAN = "human:"
_MOST_SOURCES = 50


class VerificationEvent(NamedTuple):
    """Somebody, or something, confirmed a concept; `at` is None where the time is not said or cannot be read."""

    by: str
    at: datetime | None


def bundle_path(text: str) -> str | None:
    """The path in ``okf:PATH``; None for other texts."""
    scheme, found, path = text.strip().partition(":")
    return path if found and scheme.casefold() == FORMAT and path and not path.startswith("//") else None


def is_bundle(settings: Mapping[str, Any]) -> bool:
    """Whether the files of a source with these settings are a bundle."""
    return settings.get("format") == FORMAT


def may_be_concept(name: str) -> bool:
    """Whether a file of this name can be a concept; its front matter decides."""
    return name.casefold().endswith(".md") and name not in RESERVED


def is_concept(front: Mapping[str, Any]) -> bool:
    """Whether front matter makes a file a concept."""
    kind = front.get("type")
    return isinstance(kind, str) and bool(kind.strip())


def instant(value: object) -> datetime | None:
    """A point in time as concepts have it, ``2026-06-30T14:00:00Z``; None where it is none.

    The format asks for an offset; a time without one, or a day alone, is taken as of UTC.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        try:
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        except OverflowError:  # at the ends of the calendar
            return value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    return None


def verifications(front: Mapping[str, Any]) -> tuple[VerificationEvent, ...]:
    """What ``verified`` says: a list of events, or one alone."""
    said = front.get("verified")
    events = said if isinstance(said, list) else [said]
    return tuple(
        VerificationEvent(str(one["by"]).strip(), instant(one.get("at")))
        for one in events
        if isinstance(one, Mapping) and str(one.get("by") or "").strip()
    )


def trust_tier(verified: Sequence[VerificationEvent], changed: datetime | None) -> str:
    """``human-reviewed``, ``machine-confirmed`` or ``unverified``: what was verified before its last change is not.

    Args:
        changed: The last change of the content; None where it is not known: then every verification counts.
    """
    counts = [one for one in verified if changed is None or (one.at is not None and one.at >= changed)]
    if any(one.by.startswith(_HUMAN) for one in counts):
        return HUMAN
    return MACHINE if counts else UNVERIFIED


def concept_facets(front: Mapping[str, Any]) -> tuple[Mapping[str, Facet], tuple[str, ...]]:
    """Metadata of what a concept says in lists and mappings, and notes on what cannot be read.

    Names: ``generated_by``, ``generated_at``, ``verified_by``, ``verified_at``, ``trust_tier``, ``sources``, and
    ``stale_after`` in one form. A file that is no concept has none.
    """
    if not is_concept(front):
        return {}, ()
    told: dict[str, Facet] = {}
    notes: list[str] = []
    generated = front.get("generated")
    by = generated.get("by") if isinstance(generated, Mapping) else None
    at = generated.get("at") if isinstance(generated, Mapping) else front.get("timestamp")
    changed = instant(at)
    if isinstance(by, str) and by.strip():
        told["generated_by"] = by.strip()
    if changed is not None:
        told["generated_at"] = written(changed)
    elif at is not None:
        notes.append(msg("front matter: {key} is no time: {value}", key="generated.at", value=repr(at)[:100]))
    told |= _trust(front, changed)
    if (after := front.get("stale_after")) is not None:
        ends = instant(after)
        told["stale_after"] = UNREADABLE_INSTANT if ends is None else written(ends)
        if ends is None:
            notes.append(
                msg("front matter: stale_after is no time, so it counts as stale: {value}", value=repr(after)[:100])
            )
    if sources := _sources(front.get("sources")):
        told["sources"] = sources
    return told, tuple(notes)


def _trust(front: Mapping[str, Any], changed: datetime | None) -> Mapping[str, Facet]:
    """Who verified a concept, when last, and how far that is to be trusted."""
    told: dict[str, Facet] = {}
    verified = verifications(front)
    if verified:
        told["verified_by"] = ", ".join(dict.fromkeys(one.by for one in verified))
        if times := [one.at for one in verified if one.at is not None]:
            told["verified_at"] = written(max(times))
    if verified or front.get("generated") is not None:
        told["trust_tier"] = trust_tier(verified, changed)
    return told


def written(at: datetime) -> str:
    """A point in time as concepts write it."""
    return at.isoformat().replace("+00:00", "Z")


def stale_since(facets: Mapping[str, Facet], now: datetime) -> str | None:
    """Since when a document is stale by its own ``stale_after``; None where it is not, or says nothing."""
    after = facets.get(STALE_AFTER)
    if after is None:
        return None
    ends = instant(after)
    if ends is None:
        return UNREADABLE_INSTANT
    return written(ends) if now >= ends else None


def _sources(said: object) -> str:
    """Titles and addresses of what a concept derives from, in one line."""
    if not isinstance(said, list):
        return ""
    named = []
    for one in said[:_MOST_SOURCES]:
        if isinstance(one, Mapping):
            title, resource = (str(one.get(key) or "").strip() for key in ("title", "resource"))
            named.append(f"{title} <{resource}>" if title and resource else title or resource)
        elif isinstance(one, (str, int, float)) and not (isinstance(one, float) and not math.isfinite(one)):
            named.append(str(one))
    return ", ".join(filter(None, named))
