"""PDF files, written by hand."""

from __future__ import annotations

_LATIN = (b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",)
_SONG = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [4 0 R] >>",
    b"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000 /FontDescriptor 5 0 R"
    b" /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>",
    b"<< /Type /FontDescriptor /FontName /STSong-Light /Flags 6 /FontBBox [-25 -254 1000 880] /ItalicAngle 0"
    b" /Ascent 880 /Descent -120 /CapHeight 880 /StemV 93 >>",
)
Line = tuple[int, int, str] | tuple[int, int, str, int]


Rule = tuple[float, float, float, float]


def make_pdf(
    pages: list[list[Line]],
    *,
    chinese: bool = False,
    title: str = "",
    trailer: bytes = b"",
    drawn: list[bytes] | None = None,
) -> bytes:
    """A PDF by hand: lines are (x, y, text[, size]); Chinese is set in a standard CID font, not embedded.

    Args:
        drawn: For each page, what is drawn before its text, as a content stream.
    """
    objects = [b"", b"", *(_SONG if chinese else _LATIN)]
    kids = []
    for number, lines in enumerate(pages):
        shows = []
        for x, y, text, *size in lines:
            shown = b"<" + text.encode("utf-16-be").hex().encode() + b">" if chinese else b"(" + text.encode() + b")"
            shows.append(b"/F %d Tf 1 0 0 1 %d %d Tm %s Tj" % (*(size or [12]), x, y, shown))
        stream = b"BT " + b" ".join(shows) + b" ET" if lines else b""
        stream = drawn[number] + b" " + stream if drawn else stream
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >>"
            b" /Contents %d 0 R >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    if title:
        objects.append(b"<< /Title <%s> >>" % (b"\xfe\xff" + title.encode("utf-16-be")).hex().encode())
        trailer += b" /Info %d 0 R" % len(objects)
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, table)
    return bytes(out)


def rules(*strokes: Rule) -> bytes:
    """A content stream that draws lines from (x, y) to (x, y)."""
    return b" ".join(b"%g %g m %g %g l S" % stroke for stroke in strokes)


def grid(xs: list[float], ys: list[float]) -> bytes:
    """A content stream that draws all lines of a table."""
    return rules(*((x, ys[0], x, ys[-1]) for x in xs), *((xs[0], y, xs[-1], y) for y in ys))
