"""PPTX to a `Document`: each slide a section with its title, lists, tables and speaker notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.model import Document, Facet
from wenyuan.core.text.folding import has_han
from wenyuan.readers import formulas, notation
from wenyuan.readers.alternative_text import picture_text
from wenyuan.readers.assemble import Original, Piece, assemble, left_out_note, rejected, unread
from wenyuan.readers.container_check import check_archive
from wenyuan.readers.markup import Package, Spanning, covered, damaged, local, properties_of, table_piece
from wenyuan.readers.packages import transitional
from wenyuan.readers.slide_concealment import SlideConcealment
from wenyuan.readers.text import measured

# PPTX. The package holds slides, each with its shapes in the order in which they were drawn; the title is told first. What the
# master draws on every slide (date, footer, number) is no part of a slide's text.

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MAX_POINTS = 1_000  # of a chart
_READ = ("table", "diagram", "chart")
_CALLED = {"ole": "embedded object", "contentPart": "ink", "chartex": "chart"}
"""What a warning calls kinds that are not read, where their names say little."""
_MEDIA = ("videoFile", "audioFile", "wavAudioFile", "quickTimeFile", "audioCd")
_SILENT = ("nvGrpSpPr", "grpSpPr", "cxnSp", "extLst", "custDataLst")
"""What stands beside shapes and shows nothing that could be read: properties, and lines between shapes."""
_TITLES = ("title", "ctrTitle")
_RUNNING = {"dt": "dates", "ftr": "footers", "sldNum": "slide numbers", "hdr": "headers"}
_LISTS = ("body", "obj", "")
_MARKS = ("buChar", "buAutoNum", "buBlip")
_MAX_SLIDES = 5_000
_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def read_pptx(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a presentation: `Block.page` is the slide's number. Hidden slides are left out, with a note.

    Raises:
        DocumentRejected: it is no PPTX, unpacks to too much, declares a DTD, or holds no text.
    """
    check_archive(content, name=name, needs="ppt/presentation.xml")
    package = Package(transitional(content), name=name, needs="ppt/presentation.xml")
    with damaged(name):
        deck = _Deck(package, name)
        pieces = [piece for number in range(len(deck.slides)) for piece in deck.pieces(number)]
        title, metadata = core_properties(package)
    document = assemble(
        pieces,
        Original(content, uri, name),
        title=title,
        media_type=_MEDIA_TYPE,
        empty="none of its slides that are shown holds text",
        notes=deck.notes(),
        metadata=metadata,
    )
    return (
        measured(
            document,
            [*deck.source(), *deck.charts],
            added=deck.added,
            pages=len(deck.slides),
            pictures=deck.pictures,
            warnings=deck.warnings(),
        ),
    )


def core_properties(package: Package) -> tuple[str, dict[str, Facet]]:
    """Title and facets from an Office document's core properties."""
    found: dict[str, str] = {}
    if "docProps/core.xml" in package:
        for node in package.xml("docProps/core.xml"):
            if text := " ".join((node.text or "").split()):
                found[local(node)] = text[:500]
    keys = {"creator": "author", "subject": "subject", "keywords": "keywords", "category": "category"}
    return found.get("title", ""), {facet: found[key] for key, facet in keys.items() if key in found}


class _Slide(NamedTuple):
    part: str
    root: Any
    hidden: bool


class _Deck:
    """The slides in presentation order, with counts of what was left out."""

    def __init__(self, package: Package, name: str) -> None:
        self.pictures = 0
        self.added: list[str] = []
        self.charts: list[str] = []  # what was read of them
        self.unknown: Counter[str] = Counter()  # what is in the file and is not read, by kind
        self._package = package
        self._left_out: Counter[str] = Counter()
        self._concealment = SlideConcealment(package)
        main = package.related("ppt/presentation.xml")
        listed = [node.get(f"{_R}id") for node in package.xml("ppt/presentation.xml").iter(f"{_P}sldId")]
        if len(listed) > _MAX_SLIDES:
            raise rejected(
                msg("it has {count} slides; at most {most} are read", count=len(listed), most=_MAX_SLIDES), name
            )
        parts = dict.fromkeys(main[key].part for key in listed if key in main)  # one that is listed twice is one
        roots = [(part, package.xml(part)) for part in parts]
        self.slides = [_Slide(part, root, root.get("show") in ("0", "false")) for part, root in roots]
        self._chinese = any(has_han(text.text or "") for slide in self.slides for text in slide.root.iter(f"{_A}t"))

    def notes(self) -> tuple[str, ...]:
        hidden = [str(number) for number, slide in enumerate(self.slides, 1) if slide.hidden]
        told = [f"left out the hidden slides {', '.join(hidden)}"] if hidden else []
        gone = {what: count for what, count in self._left_out.items() if what != "open"}
        return (*told, *left_out_note(gone))

    def warnings(self) -> tuple[str, ...]:
        hidden = [str(number) for number, slide in enumerate(self.slides, 1) if slide.hidden]
        told = [msg("hidden slides are not read: {numbers}", numbers=", ".join(hidden))] if hidden else []
        if white := self._left_out["open"]:
            told.append(
                msg("white text is read, since what lies under it is not known ({count} passages)", count=white)
            )
        return (*told, *unread(self.unknown))

    def source(self) -> Iterator[str]:
        """All text of slides and notes in the package, unordered."""
        parts = {slide.part for slide in self.slides}
        for slide in self.slides:
            parts |= {
                r.part for r in self._package.related(slide.part).values() if r.kind in ("notesSlide", "diagramData")
            }
        for part in sorted(parts):
            if part in self._package:
                for text in self._package.xml(part).iter(f"{_A}t"):
                    if not any(local(above) == "Fallback" for above in text.iterancestors()):
                        yield text.text or ""

    def pieces(self, number: int) -> Iterator[Piece]:
        """The pieces of one slide."""
        slide = self.slides[number]
        if slide.hidden:
            return
        page = number + 1
        related = self._package.related(slide.part)
        self._left_out += self._concealment.strip(slide.root, slide.part)
        trees = list(slide.root.iter(f"{_P}spTree"))
        self._left_out["hidden shapes"] += sum(
            _is_hidden(group) for tree in trees for group in tree.iter(f"{_P}grpSp")
        )
        shapes = [shape for tree in trees for shape in _shapes(tree)]
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES and _paragraphs(shape)]
        title = " ".join(" ".join(_text(p) for p in _paragraphs(titles[0])).split()) if titles else ""
        body = [
            piece
            for shape in shapes
            if not (titles and shape is titles[0])
            for piece in self._shape_pieces(shape, page, related)
        ]
        spoken = list(self._spoken(page, related))
        if not (title or body or spoken):
            return
        if made := not title:
            title = f"第 {page} 页" if self._chinese else f"Slide {page}"
            self.added.append(title)
        yield Piece("heading", title, level=1, page=page, made=made)
        yield from body
        yield from spoken

    def _shape_pieces(self, shape: Any, page: int, related: Any) -> Iterator[Piece]:
        kind, place = local(shape), _placeholder(shape)
        if _is_hidden(shape):
            self._left_out["hidden shapes"] += 1
        elif place in _RUNNING:
            self._left_out[_RUNNING[place]] += bool(_paragraphs(shape))
        elif kind == "pic":
            self.pictures += 1
            self.unknown["media"] += any(local(node) in _MEDIA for node in shape.iter())
            named = next((node for node in shape.iter(f"{_P}cNvPr")), None)
            if described := picture_text(named.get("descr") if named is not None else None):
                self.added.append(described)
                yield Piece("paragraph", described, page=page)
        elif kind == "graphicFrame":
            yield from self._graphic(shape, page, related)
        elif kind == "sp":
            yield from _runs_of(_paragraphs(shape), page, listed=place in _LISTS)
        else:
            self.unknown[_CALLED.get(kind, kind)] += 1

    def _graphic(self, frame: Any, page: int, related: Any) -> Iterator[Piece]:
        tables = list(frame.iter(f"{_A}tbl"))
        for table in tables:
            piece, repeated = table_piece(list(_rows(table)), page=page)
            self.added.append(repeated)
            yield piece
        for ids in frame.iter(f"{_DGM}relIds"):
            target = related.get(ids.get(f"{_R}dm", ""))
            if target and target.part in self._package:
                texts = [" ".join(_text(p).split()) for p in self._package.xml(target.part).iter(f"{_A}p")]
                yield Piece("list", "\n".join(f"- {text}" for text in texts if text), page=page)
        for chart in frame.iter(f"{_C}chart"):
            target = related.get(chart.get(f"{_R}id", ""))
            if target and target.part in self._package:
                yield from self._chart(self._package.xml(target.part), page)
        for data in frame.iter(f"{_A}graphicData"):
            kind = (data.get("uri") or "").rstrip("/").rpartition("/")[2]
            if kind not in _READ:
                self.unknown[_CALLED.get(kind, kind or "graphic")] += 1

    def _chart(self, root: Any, page: int) -> Iterator[Piece]:
        """A chart as its title and a table of its cached data."""
        title = " ".join(
            " ".join(t.text or "" for node in root.iter(f"{_C}title") for t in node.iter(f"{_A}t")).split()
        )
        series = [
            (_points(s, "tx"), _points(s, "cat", "xVal"), _points(s, "val", "yVal")) for s in root.iter(f"{_C}ser")
        ]
        places = list(dict.fromkeys(at for _, named, values in series for at in (*named, *values)))[:_MAX_POINTS]
        names = next((named for _, named, _ in series if named), {})
        rows = [["", *(" ".join(told.values()) for told, _, _ in series)]]
        rows += [[names.get(at, ""), *(values.get(at, "") for _, _, values in series)] for at in places]
        piece, _ = table_piece([[Spanning(cell) for cell in row] for row in rows], page=page)
        self.charts.append("\n".join([title, *(cell for row in rows for cell in row)]))
        yield Piece("paragraph", title, page=page)
        yield piece

    def _spoken(self, page: int, related: Any) -> Iterator[Piece]:
        """The speaker notes, below their own heading."""
        for relation in related.values():
            if relation.kind != "notesSlide" or relation.part not in self._package:
                continue
            shapes = [s for tree in self._package.xml(relation.part).iter(f"{_P}spTree") for s in _shapes(tree)]
            found = [
                piece
                for shape in shapes
                if _placeholder(shape) == "body"
                for piece in _runs_of(_paragraphs(shape), page, listed=False)
            ]
            if found:
                heading = "备注" if self._chinese else "Notes"
                self.added.append(heading)
                yield Piece("heading", heading, level=2, page=page)
                yield from found


def _shapes(tree: Any) -> Iterator[Any]:
    """Shapes in order, including those in groups; of alternatives the first."""
    stack = list(reversed(tree))
    while stack:
        node = stack.pop()
        kind = local(node)
        if kind == "AlternateContent":
            stack.extend(reversed(node[0] if len(node) else ()))
        elif kind == "grpSp":
            if not _is_hidden(node):
                stack.extend(reversed(node))
        elif isinstance(node.tag, str) and kind not in _SILENT:
            yield node


def _is_hidden(shape: Any) -> bool:
    properties = next((node for node in shape.iter(f"{_P}cNvPr")), None)
    return properties is not None and properties.get("hidden") in ("1", "true")


def _placeholder(shape: Any) -> str | None:
    """The kind of a placeholder shape, ``title``, ``body`` …, ``""`` for one without a kind; None for other shapes."""
    found = next((node for node in shape.iter(f"{_P}ph")), None)
    return None if found is None else found.get("type", "")


def _paragraphs(shape: Any) -> Sequence[Any]:
    """The non-empty paragraphs of a shape."""
    return [p for body in shape.iter(f"{_P}txBody") for p in body.iter(f"{_A}p") if _text(p).strip()]


def _text(paragraph: Any) -> str:
    parts = []
    for node in paragraph.iter(f"{_A}t", f"{_A}br", f"{_A}tab", f"{_M}oMath"):
        if node.tag == f"{_M}oMath":
            parts.append(formulas.of_omml(formulas.from_xml(node)))
        elif node.tag == f"{_A}t" and next(node.iterancestors(f"{_M}oMath"), None) is None:
            signs = _signs(node) if node.text else ""
            parts.append(f"{signs}{node.text or ''}{notation.END * len(signs)}")
        elif node.tag != f"{_A}t":
            parts.append("\n" if node.tag == f"{_A}br" else "\t")
    return notation.plain("".join(parts))


def _signs(text: Any) -> str:
    """The signs of raised, lowered and struck text of the run that holds a text."""
    properties = properties_of(text.getparent(), f"{_A}rPr")
    if properties is None:
        return ""
    moved = (properties.get("baseline") or "0").rstrip("%")
    script = "" if moved.lstrip("-").strip("0.") == "" else notation.DOWN if moved.startswith("-") else notation.UP
    out = notation.OUT if properties.get("strike", "noStrike") != "noStrike" else ""
    return script + out


def _runs_of(paragraphs: Sequence[Any], page: int, *, listed: bool) -> Iterator[Piece]:
    """Paragraphs; neighbours with bullets are joined to lists.

    Args:
        listed: The shape gives its paragraphs marks, unless one says otherwise.
    """
    lines: list[str] = []
    numbers: dict[int, int] = {}
    for paragraph in paragraphs:
        properties = properties_of(paragraph, f"{_A}pPr")
        said = {local(node) for node in properties} if properties is not None else set()
        level = int(properties.get("lvl", "0")) if properties is not None else 0
        marked = bool(said & set(_MARKS)) or (listed and len(paragraphs) > 1 and "buNone" not in said)
        if not marked:
            if lines:
                yield Piece("list", "\n".join(lines), page=page)
            lines, numbers = [], {}
            yield Piece("paragraph", _text(paragraph), page=page)
            continue
        numbers = {at: number for at, number in numbers.items() if at <= level}
        mark = "-"
        if properties is not None and "buAutoNum" in said:
            first = int(properties.find(f"{_A}buAutoNum").get("startAt", "1"))
            numbers[level] = numbers.get(level, first - 1) + 1
            mark = f"{numbers[level]}."
        lines.append(f"{'  ' * level}{mark} {' '.join(_text(paragraph).split())}")
    if lines:
        yield Piece("list", "\n".join(lines), page=page)


def _points(series: Any, *of: str) -> dict[int, str]:
    """Cached values of a chart series by index: its name (``tx``), categories or values."""
    points = (point for kind in of for node in series.findall(f"{_C}{kind}") for point in node.iter(f"{_C}pt"))
    found = {int(point.get("idx", "0")): " ".join((point.findtext(f"{_C}v") or "").split()) for point in points}
    return {at: text for at, text in found.items() if text}


def _rows(table: Any) -> Iterator[list[Spanning]]:
    for row in table.iter(f"{_A}tr"):
        cells = []
        for cell in row.iter(f"{_A}tc"):
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                continue  # the cell that covers it says so
            text = " ".join(" ".join(_text(p) for p in cell.iter(f"{_A}p")).split())
            cells.append(Spanning(text, covered(cell.get("rowSpan")), covered(cell.get("gridSpan"))))
        yield cells
