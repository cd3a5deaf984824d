"""Markdown to a `Document`.

The document's text is the source itself, so that offsets and lines are exact; blocks give its structure.

Front matter becomes title, dates, language and facets. Comments are removed: a reader of the page does not
see them, so neither does a passage.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from wenyuan.core.anchors import slug
from wenyuan.core.declared_readers import KEYS, UNREADABLE, said_twice
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Block, BlockKind, Document, Facet
from wenyuan.core.okf import concept_facets
from wenyuan.core.redaction.columns import ColumnKinds
from wenyuan.core.text.structure import DocumentLine, SectionOpening, openings
from wenyuan.core.validity_dates import day_of, validity_field
from wenyuan.readers.assemble import left_out_note, rejected, stem
from wenyuan.readers.decoding import clean
from wenyuan.readers.markdown_concealment import without_concealed
from wenyuan.readers.markdown_html import CODE, rendered
from wenyuan.readers.text import heading_label, measured, readable, spans

_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading", "paragraph_open": "paragraph", "bullet_list_open": "list",
    "ordered_list_open": "list", "table_open": "table", "fence": "code", "code_block": "code",
}  # fmt: skip
_FRONT_MATTER = re.compile(r"---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_TOML = re.compile(r"\+\+\+[ \t]*\n((?:.*\n)*?)\+\+\+[ \t]*(?:\n|\Z)")
_MAX_FRONT_MATTER = 65_536
_MOST_INTEGER, _MOST_DIGITS = 2**63, 10**400
_BEGINS = re.compile(r"""---[ \t]*\n(?:[ \t]*(?:#.*)?\n){0,20}["']?[^\W\d][\w .\-]{0,80}["']?[ \t]*:(?=[ \t\n])""")
_MAX_NESTED = 50  # brackets in front matter
_BRACKET = re.compile(r"[\[\]{}]")
_ENTRY = re.compile(r"([^\s:：#\-][^:：]*)(?::[ \t]+|：[ \t]*)(.*\S)")
_COMMENTS = (
    ("-->", re.compile(rf"{CODE}|(?P<comment><!--.*?-->)", re.M | re.S)),
    ("endcomment", re.compile(
        rf"{CODE}|(?P<comment>\{{%-?\s*comment\s*-?%\}}.*?\{{%-?\s*endcomment\s*-?%\}})", re.M | re.S)),
)  # fmt: skip
_MARKUP = re.compile(r"[\x00\\`*_\[\]<>!&{}~\n]")  # without any of these a line is its own text
_ATTRIBUTES = re.compile(r"\s*\{[#:.][^{}]*\}\s*\Z")
_OWN_ANCHOR = re.compile(r"\{[^{}]*#([^\s{}#]+)[^{}]*\}\s*\Z")
_PICTURE = re.compile(r"!\[[^\]\n]{0,500}\]\(|<img\s", re.IGNORECASE)
_HTML_TABLE = re.compile(r"\s*<table\b", re.IGNORECASE)
_MAX_UNDERLINED = 120
_MAX_HEADING = 1_000  # characters of a heading that are looked at for its label
# Other keys of validity are read as any reader's are (`service.ingest.supersession`), and what is no date there is noted.
_NAMES = {"标题": "title", "語言": "language", "语言": "language", "lang": "language",
          "生效日期": "effective_from", "施行日期": "effective_from",
          "失效日期": "effective_until"}  # fmt: skip


@dataclass(slots=True)
class _Front:
    """The front matter's fields, and its length in the file."""

    length: int = 0
    title: str = ""
    language: str = ""
    effective_from: date | None = None
    effective_until: date | None = None
    metadata: dict[str, Facet] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_markdown(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a Markdown file (CommonMark with tables) as one document.

    Its title is the front matter's, else the first level-1 heading, else the file's stem.

    Raises:
        DocumentRejected: no text, or front matter with an invalid date or language.
    """
    whole, notes = readable(content, name)
    front = _front_matter(whole, name)
    text, removed = _without_comments(whole[front.length :])
    if not text.strip():
        raise rejected("it holds no text besides front matter and comments", name)
    seen, concealed = without_concealed(text)
    shown = rendered(seen)
    text = shown.text
    if not text.strip():
        raise rejected(
            "it holds no visible text" if concealed else "it holds no text besides front matter and comments", name
        )
    first = 1 + whole.count("\n", 0, front.length)
    blocks = tuple(
        replace(block, line=first + shown.numbers[block.line or 0]) for block in _blocks(text, first_line=0)
    )
    title = _plain(front.title) or next((b.label for b in blocks if b.level == 1 and _marked(b, text)), "")
    if removed:
        notes += (f"removed {removed} comment{'s' if removed > 1 else ''}",)
    notes += left_out_note({"hidden elements": concealed})
    document = Document(
        uri=uri,
        title=title or stem(name),
        titled=bool(title),
        text=text,
        blocks=blocks,
        sha256=hashlib.sha256(content).hexdigest(),
        language=front.language,
        media_type="text/markdown",
        notes=notes + front.notes,
        metadata=front.metadata,
        effective_from=front.effective_from,
        effective_until=front.effective_until,
        cells=tuple(_cells(text, blocks)),
    )
    return (measured(document, shown.source, pictures=len(_PICTURE.findall(text)) + shown.pictures),)


def _marked(block: Block, text: str) -> bool:
    """Whether a heading has heading markup beyond a section number: ``第一部分`` alone opens a part of the document and
    names only that.
    """
    return block.kind == "heading" and (text[block.start] == "#" or "\n" in text[block.start : block.end])


def _without_comments(text: str) -> tuple[str, int]:
    """Text without HTML and template comments outside code; their line ends stay, which keeps line numbers."""
    removed = 0

    def blank(match: re.Match[str]) -> str:
        nonlocal removed
        if match["comment"] is None:
            return match[0]
        removed += 1
        # A space where the two sides would otherwise make another comment between them.
        joins = match.string[match.start() - 1 : match.start()] in ("<", "!", "-", "{", "%")
        return "\n" * match[0].count("\n") or (" " if joins else "")

    for closing, pattern in _COMMENTS:
        # Beyond the last closing mark nothing can match: looking there would cost quadratic time.
        upto = text.rfind(closing) + len(closing) + 4
        if upto > len(closing) + 3:
            text = pattern.sub(blank, text[:upto]) + text[upto:]
    return text, removed


@lru_cache(maxsize=1)
def _parsers() -> tuple[Any, Any]:
    """A parser for blocks only (ten times faster), and one for the inline text of headings."""
    from markdown_it import MarkdownIt

    blocks = MarkdownIt("commonmark").enable("table")
    blocks.core.ruler.enableOnly(["normalize", "block"])
    return blocks, MarkdownIt("commonmark")


def _plain(source: str) -> str:
    """Text of a heading without markup."""
    if not _MARKUP.search(source):
        return " ".join(source[:_MAX_HEADING].split())
    children = _parsers()[1].parseInline(source[:_MAX_HEADING])[0].children or []
    parts = [" " if c.type in ("softbreak", "hardbreak") else c.content for c in children if c.type != "html_inline"]
    return " ".join(_ATTRIBUTES.sub("", "".join(parts)).split())


class _Part(NamedTuple):
    """Lines ``first:after`` of the text as one top-level element."""

    kind: BlockKind
    first: int
    after: int
    level: int = 0
    label: str = ""
    prose: bool = False
    anchor: str = ""


def _parts(text: str, lines: Sequence[str]) -> Iterator[_Part]:
    """Top-level elements in order, covering all non-blank lines (link definitions have no token of their own)."""
    tokens = _parsers()[0].parse(text)
    anchors = _Anchors()
    at, anchor, above = 0, "", ""
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            anchor = anchors.of(tokens[i + 1].content)
        if token.level or token.map is None or token.nesting < 0:
            continue
        first, after = max(token.map[0], at), max(token.map[1], at)
        yield from _between(lines, at, first, above)
        if first < after:
            inner = tokens[i + 1].content if token.type == "heading_open" else ""
            yield _part(token, first, after, inner, lines)._replace(anchor=anchor)
        at, above = after, anchor
    yield from _between(lines, at, len(lines), above)


def _between(lines: Sequence[str], first: int, after: int, anchor: str) -> Iterator[_Part]:
    if any(map(str.strip, lines[first:after])):
        yield _Part("paragraph", first, after, prose=True, anchor=anchor)


class _Anchors:
    """Heading anchors as GitHub and ``pandoc -f gfm`` generate them: the second ``Scope`` is ``scope-1``.

    One that the author gives a heading, ``## Scope {#scope}``, is kept.
    """

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def of(self, source: str) -> str:
        own = _OWN_ANCHOR.search(source)
        return own[1] if own else self._numbered(slug(_heading_text(source)))

    def _numbered(self, name: str) -> str:
        free = name
        while free in self._count:
            self._count[name] += 1
            free = f"{name}-{self._count[name]}"
        self._count[free] = 0
        return free


def _heading_text(source: str) -> str:
    """Text of a heading as displayed: no markup, no images, spaces unchanged."""
    if not _MARKUP.search(source):
        return source
    children = _parsers()[1].parseInline(source[:_MAX_HEADING])[0].children or []
    unseen = ("html_inline", "image")
    return "".join(
        " " if c.type in ("softbreak", "hardbreak") else c.content for c in children if c.type not in unseen
    )


def _part(token: Any, first: int, after: int, inner: str, lines: Sequence[str]) -> _Part:
    kind = _KINDS.get(token.type, "paragraph")
    if kind == "heading":
        label = _plain(inner)
        # A paragraph above a dashed line is no heading, whatever CommonMark says.
        if label and (token.markup.startswith("#") or len(label) <= _MAX_UNDERLINED):
            return _Part("heading", first, after, int(token.tag[1:]), label)
        return _Part("paragraph", first, after)
    if token.type == "html_block" and _HTML_TABLE.match(lines[first]):
        kind = "table"
    # Quotes, rules and HTML count as paragraphs, but open no clauses.
    return _Part(kind, first, after, prose=token.type == "paragraph_open")


def _blocks(text: str, *, first_line: int) -> Iterator[Block]:
    places = spans(text)
    lines = [text[p.start : p.end] for p in places]
    parts = list(_parts(text, lines))
    found = openings(_candidates(parts, lines))
    depth = 0
    for part in parts:
        if part.kind == "heading":
            depth = part.level
        for piece, opened in _split(part, found):
            # A line of ideographic spaces is a paragraph to CommonMark and blank to everyone else.
            written = [i for i in range(piece.first, piece.after) if lines[i].strip()]
            if not written:
                continue
            start, end = places[written[0]].start, places[written[-1]].end
            end = start + len(text[start:end].rstrip())
            if piece.kind != "code":  # whose indentation is part of it
                start = end - len(text[start:end].lstrip())
            level = depth + opened.level if opened else piece.level
            yield Block(kind=piece.kind, start=start, end=end, level=level, label=piece.label,
                        line=first_line + written[0], anchor=part.anchor)  # fmt: skip


_ROW = re.compile(r"<tr\b[^>]*>", re.IGNORECASE)
_HTML_CELL = re.compile(r"<t[dh]\b[^>]*>(?P<cell>(?:[^<]|<(?!/?t[rdh]\b))*)", re.IGNORECASE)
_CELL = re.compile(r"(?P<cell>(?:[^|\\\n]|\\.)*)(?:\||$)", re.MULTILINE)
_EDGE = re.compile(r"[ \t]*\|?")


def _cells(text: str, blocks: Iterable[Block]) -> Iterator[tuple[int, int, str]]:
    """Spans of the cells of tables whose columns have a known meaning; see `Document.cells`."""
    for block in blocks:
        if block.kind != "table":
            continue
        kinds = ColumnKinds()
        for start, end, cell in _rows_of(text, block):
            found = [(m.start("cell"), m.end("cell"), m["cell"]) for m in cell.finditer(text, start, end)]
            told = kinds.of({at: value.strip() for at, (_, _, value) in enumerate(found) if value.strip()})
            yield from ((found[at][0], found[at][1], kind) for at, kind in sorted(told.items()))


def _rows_of(text: str, block: Block) -> Iterator[tuple[int, int, re.Pattern[str]]]:
    """The spans of a table's rows, each with the pattern that finds its cells: Markdown lines or HTML elements."""
    if _HTML_TABLE.match(text, block.start):
        starts = [match.end() for match in _ROW.finditer(text, block.start, block.end)]
        yield from ((start, end, _HTML_CELL) for start, end in itertools.pairwise([*starts, block.end]))
        return
    at = block.start
    for line in text[block.start : block.end].split("\n"):
        edge = _EDGE.match(line)
        yield at + (edge.end() if edge else 0), at + len(line), _CELL
        at += len(line) + 1


def _candidates(parts: Sequence[_Part], lines: Sequence[str]) -> list[DocumentLine]:
    """The lines of paragraphs unchanged; a placeholder for lines of other elements."""
    found = [DocumentLine("")] * len(lines)
    for part in parts:
        for i in range(part.first, part.after):
            found[i] = DocumentLine(lines[i] if part.prose else "#", first=i == part.first)
    return found


def _split(part: _Part, found: Sequence[SectionOpening | None]) -> Iterator[tuple[_Part, SectionOpening | None]]:
    """Split a paragraph at lines that open a clause or are numbered headings."""
    if not part.prose:
        yield part, None
        return
    starts = [i for i in range(part.first, part.after) if found[i]]
    starts += [i + 1 for i in starts if (o := found[i]) and o.heading and i + 1 < part.after]
    edges = sorted({part.first, *starts, part.after})
    for first, after in itertools.pairwise(edges):
        opened = found[first]
        if opened is None:
            yield _Part("paragraph", first, after), None
        elif opened.heading:
            yield _Part("heading", first, after, label=heading_label(opened)), opened
        else:
            yield _Part("clause", first, after, label=opened.label), opened


def front_matter(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """The front matter of a file as it is written, None without any, and the text behind it.

    Raises:
        DocumentRejected: it is no mapping of YAML.
    """
    match = _in_front(text)
    if match is None:
        return None, text
    entries, notes = _entries(match[1])
    if notes or (not entries and match[1].strip()):
        raise DocumentRejected(notes[0] if notes else "front matter is no mapping of YAML")
    return entries, text[match.end() :]


def _in_front(text: str, name: str = "") -> re.Match[str] | None:
    """Front matter in YAML; None where there is none.

    Raises:
        DocumentRejected: it is longer than what is read of it: what it says of readers and days may not be lost.
    """
    match = _FRONT_MATTER.match(text[:_MAX_FRONT_MATTER])
    if match is None and len(text) > _MAX_FRONT_MATTER and _BEGINS.match(text):
        behind = text[_MAX_FRONT_MATTER - 4 :]
        if "\n---" in behind or "\n..." in behind:
            why = msg("its front matter is longer than {most} characters", most=f"{_MAX_FRONT_MATTER:,}")
            raise rejected(why, name) if name else DocumentRejected(why)
    return match


def _front_matter(text: str, name: str) -> _Front:
    match = _in_front(text, name)
    entries, notes = _entries(match[1]) if match else ({}, ())
    if match is None and (match := _TOML.match(text[:_MAX_FRONT_MATTER])):
        entries, notes = _toml(match[1])
    if match is None or not entries:
        return _Front()
    of_concept, faults = concept_facets(entries)
    front = _Front(length=match.end(), notes=(*notes, *faults))
    for key, value in entries.items():
        field_name = _NAMES.get(key, key)
        if field_name in ("effective_from", "effective_until"):
            setattr(front, field_name, _day(value, key, name))
        elif field_name in ("title", "language"):
            setattr(front, field_name, _words(value, key, name))
        else:
            facet = _facet(value)
            if facet is None and key.casefold() in KEYS and not (value == [] and key.casefold() == "deny"):
                facet = UNREADABLE  # that something is said there is not to be lost
            if facet is not None:
                front.metadata[key] = facet
    front.metadata |= {name: clean(str(value))[0] for name, value in of_concept.items()}
    if match and said_twice(match[1]):
        front.metadata["readers"] = UNREADABLE
    if front.effective_from and front.effective_until and front.effective_until < front.effective_from:
        raise rejected("front matter: effective_until lies before effective_from", name)
    return front


def _entries(source: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Front matter parsed as YAML; if invalid, its plain ``key: value`` lines, with a note."""
    import yaml

    lines = [line.rstrip() for line in source.split("\n") if line.strip()]
    plain = {m[1].strip(): m[2].strip("\"' ") for line in lines if (m := _ENTRY.fullmatch(line))}
    try:
        if _depth(source) > _MAX_NESTED:  # its parser takes a second for a few thousand of them
            raise ValueError("nested too deeply")
        loaded = yaml.safe_load(source)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        return plain, (f"front matter is not valid YAML ({reason}); read line by line",)
    if isinstance(loaded, dict):
        return {str(k): v for k, v in loaded.items()}, ()
    if len(plain) == len(lines) and any(key in _NAMES or validity_field(key) for key in plain):  # ``有效期至：…``
        return plain, ("front matter has wide colons, so it is not YAML; read line by line",)
    return {}, ()


def _depth(source: str) -> int:
    """How many brackets of a text are open at a time at most."""
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(source))
    return max(itertools.accumulate(steps), default=0)


def _toml(source: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Front matter parsed as TOML, as Hugo and Zola have it; if invalid, its plain ``key = value`` lines, with a note."""
    try:
        return tomllib.loads(source), ()
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        pairs = (line.partition("=") for line in source.split("\n") if "=" in line)
        plain = {key.strip(): value.strip("\"' ") for key, _, value in pairs if key.strip()}
        return plain or {"front matter": source}, (f"front matter is not valid TOML ({error}); read line by line",)


def _facet(value: Any) -> Facet | None:
    """A scalar unchanged, a date in ISO form, a list of scalars joined with commas; None for anything else."""
    if isinstance(value, str):
        return clean(value)[0]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= _MOST_INTEGER:
        return None if abs(value) >= _MOST_DIGITS else str(value)  # longer than Python writes one, or databases keep
    if isinstance(value, (int, float)):  # and bool, which is an int
        return value
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, list) and value and all(isinstance(v, (str, int, float, bool, date)) for v in value):
        return clean(", ".join(str(v) for v in value))[0]
    return None


def _words(value: Any, key: str, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, list, dict)):
        raise rejected(
            msg("front matter: {key} must be text (put it in quotes), not {value}", key=key, value=repr(value)), name
        )
    return " ".join(clean(str(value))[0].split())


def _day(value: Any, key: str, name: str) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    if value is None or isinstance(value, date):
        return value
    try:
        return day_of(value)
    except ValueError as error:
        raise rejected(
            msg("front matter: {key} is no date (YYYY-MM-DD): {value}", key=key, value=repr(value)), name
        ) from error
