"""JSON Lines: one object a line, with one key that says what it is; what programs exchange line by line."""

from __future__ import annotations

from wenyuan.core.errors import DocumentRejected, did_you_mean, msg
from wenyuan.core.rules.book import Book
from wenyuan.core.rules.model import EntryPlace
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.rulebooks.entries import Writing
from wenyuan.readers.rulebooks.trees import Tree, json_tree

_PARTS = ("node", "statement", "source", "schema", "pack")


def read_jsonl_book(content: bytes, *, file: str, pack: str) -> Book:
    """Read ``{"node": {…}}``, ``{"statement": {…}}``, ``{"source": {…}}``, ``{"schema": {…}}``, ``{"pack": "…"}``.

    Raises:
        DocumentRejected: it is no text.
    """
    decoded = decode(content)
    text, cleaned = clean(decoded.text)
    writing = Writing(pack, file)
    for remark in (*decoded.notes, *cleaned):
        writing.note("cleaned", remark, EntryPlace(file))
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            _take(line, EntryPlace(file, number), writing)
    return writing.book()


def _take(line: str, place: EntryPlace, writing: Writing) -> None:
    try:
        tree = json_tree(line, place.line)
    except DocumentRejected as error:
        writing.refuse("bad_json", error.message, place, **_guess(line))
        return
    if not isinstance(tree, Tree) or len(tree) != 1 or tree.doubled:
        message = f"a line is an object with one key, one of {', '.join(_PARTS)}"
        writing.refuse("bad_value", message, place, **_guess(line))
        return
    ((part, value),) = tree.items()
    if part == "node":
        writing.node(value, place)
    elif part == "statement":
        writing.statement(value, place)
    elif part == "source":
        writing.source(value, place)
    elif part == "schema":
        writing.schema(value, place)
    elif part == "pack" and isinstance(value, str) and value.strip():
        writing.pack = value.strip()
    else:
        message = (
            msg("no such key: {part}{near}", part=repr(part), near=did_you_mean(part, _PARTS))
            if part != "pack"
            else "pack must be a name"
        )
        writing.refuse("unknown_key" if part != "pack" else "bad_value", message, place, **_guess(line))


def _guess(line: str) -> dict[str, int]:
    """Likely kind of an unreadable line, by its beginning, else a statement: counts by kind."""
    said = line.lstrip("{ \t")
    if said.startswith(('"pack', '"source', '"schema')):
        return {}
    return {"nodes": 1} if said.startswith('"node') else {"statements": 1}
