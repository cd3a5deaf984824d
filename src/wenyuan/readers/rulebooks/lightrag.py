"""Knowledge graphs as GraphML and JSON, in LightRAG's formats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from wenyuan.core.addresses import with_fragment
from wenyuan.core.rules.book import Direction
from wenyuan.core.rules.model import EntryPlace
from wenyuan.core.text.folding import language_of
from wenyuan.readers.rulebooks.entries import Writing

# What programs extract from texts, as LightRAG writes it: entities with a type, relationships with keywords.


SEPARATOR = "<SEP>"
_UNKNOWN = frozenset({"", "UNKNOWN", "unknown_source", "no_file_path"})
_MAX_EVIDENCES = 200
_EXTRACTED_MAX_TEXT = 10_000


def _parts(text: str) -> list[str]:
    return [p for p in (part.strip() for part in text.split(SEPARATOR)) if p not in _UNKNOWN]


def _bare(name: str) -> str:
    """A name without surrounding quotation marks, which some models add to every name."""
    name = name.strip()
    return name[1:-1].strip() if len(name) > 2 and name[0] == name[-1] == '"' else name


def take_entity(
    fields: Mapping[str, str],
    place: EntryPlace,
    writing: Writing,
    *,
    aliases: list[object] | None = None,
    attributes: Mapping[str, object] | None = None,
) -> None:
    """Add an entity: ``name``, ``type``, and ``description``, which becomes an attribute.

    An ``id`` becomes an alias, by which relations name it, in other files too. It is no key: the same thing comes from
    other graphs without it, or with another one.
    """
    described = "\n".join(_parts(fields.get("description", "")))[:_EXTRACTED_MAX_TEXT]
    more = {"description": described, "engineering_type": fields.get("engineering_type", "")}
    tree: dict[str, object] = {
        "kind": _bare(fields.get("type", "")),
        "name": _bare(fields["name"]),
        "aliases": [*(aliases or []), *([{"text": fields["id"], "type": "code"}] if fields.get("id") else [])],
        "attributes": {**(attributes or {}), **{key: value for key, value in more.items() if value}},
    }
    writing.node({key: value for key, value in tree.items() if value or key in ("kind", "name")}, place)


def take_relationship(fields: Mapping[str, str], place: EntryPlace, writing: Writing, direction: Direction) -> None:
    """Add a relationship: ``src``, ``dst``, ``keywords`` (the relation's label), ``description``, ``weight``.

    A weight above 1 counts as 1: in such graphs it is a number of mentions. Its evidences are the pieces of text
    (``source_id``) that it was found in, addressed inside the file they come from (``file_path``).
    """
    described = "\n".join(_parts(fields.get("description", "")))[:_EXTRACTED_MAX_TEXT]
    tree: dict[str, object] = {
        "src": _bare(fields.get("src", "")),
        "rel": fields.get("keywords", ""),
        "dst": _bare(fields.get("dst", "")),
        "weight": _weight(fields.get("weight", "")),
    }
    if described:
        tree["sentence"] = {language_of(described) or "und": described}
    tree["evidence"] = [{"uri": uri} for uri in _addresses(fields)]
    writing.statement(tree, place, direction=direction)


def _weight(written: str) -> float | str:
    """The weight, at most 1; a value that is no number is returned unchanged, to be refused with its text."""
    if not written.strip():
        return 1.0
    try:
        weight = float(written)
    except ValueError:  # then it is refused as an entry, with the place
        return written
    return min(weight, 1.0) if math.isfinite(weight) else written


def _addresses(fields: Mapping[str, str]) -> Iterable[str]:
    chunks, files = _parts(fields.get("source_id", "")), _parts(fields.get("file_path", ""))
    if len(files) == 1:
        return [with_fragment(files[0], chunk) for chunk in chunks[:_MAX_EVIDENCES]] or files
    if files and not chunks:
        return files[:_MAX_EVIDENCES]
    return [f"urn:chunk:{quote(chunk)}" for chunk in chunks[:_MAX_EVIDENCES]]
