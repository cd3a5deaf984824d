"""What is wrong with one file of a bundle in the Open Knowledge Format; runs in the reading process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.okf import RESERVED, SUPERSEDED_BY, instant, is_concept, verifications
from wenyuan.readers.markdown import front_matter, read_markdown

_STATUSES = ("draft", "stable", "deprecated")
_ROOT_KEYS = ("okf_version", "title", "description")
_DATED = re.compile(r"##[ \t]+([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_OFFSET = re.compile(r"(?:Z|[+-][0-9]{2}:[0-9]{2})\Z", re.IGNORECASE)
_LINK = re.compile(r"\]\(([^()\s]{1,1000})")
_CODE = re.compile(r"^(?:```|~~~)")
_ACTOR = re.compile(r"(?:human|process|team):\S.*|[^/\s]+/\S+")
_MOST_LINKS = 1_000


class FileFinding(NamedTuple):
    """What was found of a file: an error breaks the format, a warning does not."""

    severity: str
    rule: str
    message: str


def concept_findings(content: bytes, *, name: str, at_root: bool, strict: bool) -> Mapping[str, Any]:
    """What is found of a file, and where it points to.

    Args:
        at_root: Whether the file lies in the bundle's root.
        strict: Whether every file must be a concept, as until version 0.2.

    Returns:
        ``findings`` as rows of severity, rule and message; ``version`` that it declares; ``links`` and
        ``superseded_by``, as written.
    """
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        found = FileFinding("error", "utf8", msg("is not UTF-8 (byte {place})", place=error.start))
        return _outcome([found], {}, "")
    try:
        front, body = front_matter(text)
    except DocumentRejected as error:
        return _outcome([FileFinding("error", "front_matter", error.message)], {}, text)
    if name in RESERVED:
        return _outcome(list(_reserved(name, front, body, at_root=at_root)), front or {}, body)
    if front is None or not is_concept(front):
        why = "has no front matter" if front is None else "has no type in its front matter"
        return _outcome([FileFinding("error" if strict else "warning", "no_concept", why)], {}, body)
    return _outcome([*_concept(front), *_unread(content, name)], front, body)


def _unread(content: bytes, name: str) -> Iterator[FileFinding]:
    """Why a library would not take a concept in."""
    try:
        read_markdown(content, uri=name, name=name)
    except DocumentRejected as error:
        why = error.message.removeprefix(f"{name}: ")
        yield FileFinding("warning", "not_read", msg("will not be taken in: {error}", error=why))


def _outcome(findings: Sequence[FileFinding], front: Mapping[str, Any], body: str) -> Mapping[str, Any]:
    named = front.get(SUPERSEDED_BY)
    version = front.get("okf_version")
    return {
        "findings": [list(one) for one in findings],
        "version": None if version is None else str(version)[:20],
        "links": list(dict.fromkeys(_links(body)))[:_MOST_LINKS],
        "superseded_by": [str(one) for one in (named if isinstance(named, list) else [named]) if one][:_MOST_LINKS],
    }


def _reserved(name: str, front: Mapping[str, Any] | None, body: str, *, at_root: bool) -> Iterator[FileFinding]:
    if name == "index.md":
        if front is not None and not at_root:
            yield FileFinding(
                "error", "index_front_matter", "has front matter, which only the index of the root may have"
            )
        for key in () if front is None or not at_root else sorted(front.keys() - set(_ROOT_KEYS)):
            yield FileFinding(
                "warning", "index_key", msg("has a key that an index does not have: {key}", key=key[:100])
            )
        return
    if front is not None:
        yield FileFinding("warning", "log_front_matter", "has front matter, which a log does not have")
    days = []
    for line in _outside_code(body):
        if line.startswith("## "):
            match = _DATED.match(line)
            if match is None or (day := _day(match[1])) is None:
                yield FileFinding("error", "log_date", msg("a heading is no day: {line}", line=line[:100]))
            else:
                days.append(day)
    if days != sorted(days, reverse=True):
        yield FileFinding("warning", "log_order", "its days are not newest first")


def _concept(front: Mapping[str, Any]) -> Iterator[FileFinding]:
    generated = front.get("generated")
    changed = instant(generated.get("at")) if isinstance(generated, Mapping) else None
    for name, value in _times(front):
        if instant(value) is None:
            yield FileFinding(
                "warning", "time", msg("{name} is no time: {value}", name=name, value=repr(value)[:100])
            )
        elif not _has_offset(value):
            yield FileFinding("warning", "offset", msg("{name} has no offset, and is taken as of UTC", name=name))
    after = instant(front.get("stale_after"))
    if "stale_after" in front and (after is None or after <= datetime.now(UTC)):
        yield FileFinding("warning", "stale", "is stale by its own stale_after")
    events = verifications(front)
    if events and changed is not None and all(one.at is None or one.at < changed for one in events):
        yield FileFinding(
            "warning", "verified_before", "was verified before its last change, which counts for nothing"
        )
    for actor in (*(one.by for one in events), *_generator(generated)):
        if not _ACTOR.fullmatch(actor):
            yield FileFinding(
                "warning",
                "actor",
                msg(
                    "an actor is neither human:…, process:…, team:… nor producer/version: {actor}", actor=actor[:100]
                ),
            )
    if front.get("status", "stable") not in _STATUSES:
        yield FileFinding("warning", "status", msg("its status is none of {known}", known=", ".join(_STATUSES)))
    said = front.get("sources")
    if said is not None and not (
        isinstance(said, list) and all(isinstance(one, Mapping) and one.get("resource") for one in said)
    ):
        yield FileFinding("warning", "source", "one of its sources has no resource")


def _times(front: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for key in ("generated", "verified"):
        said = front.get(key)
        for one in said if isinstance(said, list) else [said]:
            if isinstance(one, Mapping) and one.get("at") is not None:
                yield f"{key}.at", one["at"]
    if front.get("stale_after") is not None:
        yield "stale_after", front["stale_after"]


def _has_offset(value: object) -> bool:
    if isinstance(value, datetime):
        return value.tzinfo is not None
    return not isinstance(value, date) and _OFFSET.search(str(value).strip()) is not None


def _generator(generated: object) -> tuple[str, ...]:
    by = generated.get("by") if isinstance(generated, Mapping) else None
    return (str(by),) if by else ()


def _links(body: str) -> Iterator[str]:
    """Addresses of links outside code."""
    for line in _outside_code(body):
        yield from _LINK.findall(line)


def _outside_code(body: str) -> Iterator[str]:
    fenced = False
    for line in body.split("\n"):
        if _CODE.match(line):
            fenced = not fenced
        elif not fenced:
            yield line


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
