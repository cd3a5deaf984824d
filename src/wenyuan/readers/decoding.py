"""From bytes to honest text: the encoding is found, never guessed away, and what cannot be seen is removed."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.readers.signatures import binary_signature_of

# Invisible characters carry hidden instructions and break matching, so they never reach a passage; each kind
# that was removed is counted in a note.


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded text, its encoding (``utf-8``, ``utf-16-le`` …), and notes for the document."""

    text: str
    encoding: str
    notes: tuple[str, ...] = ()


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_SAMPLE = 16_384
_FEW = 8
_SOME, _MOST = 0.25, 0.8  # shares of familiar characters that make UTF-16 without a mark credible
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROLS = 0.02
_COMMON = frozenset(
    "的一是不了在人有我他这個个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
    "用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日"
    "军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相"
    "见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名"
    "这們來說時會對過發後這還進從實無與長機關點業將兩間問並應戰頭體見產話給門東聲員，。、；：？！“”（）《》"
)


_LOST = "\ufffd"
_FEW_WRONG = 20  # characters for each place that is wrong
_KANA = frozenset(map(chr, range(0x3041, 0x30FF)))
_OTHERS = (("cp932", "Shift-JIS", _KANA, 0.2), ("euc_jp", "EUC-JP", _KANA, 0.2), ("big5hkscs", "Big5", _COMMON, 0.1))


def decode(content: bytes) -> Decoded:
    """Decode a file in UTF-8, UTF-16, GB18030 (which includes GBK and GB2312), Big5, Shift-JIS or EUC-JP.

    Raises:
        DocumentRejected: it is binary or in another encoding; the message says which.
    """
    if what := binary_signature_of(content):
        raise DocumentRejected(msg("this is {what}, not text", what=what))
    if content.startswith(_MARKS_32):
        raise DocumentRejected("UTF-32 is not read; save it as UTF-8")
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _checked(_strictly(content[len(mark) :], encoding), encoding, ())
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return _unmarked_utf16(content, least=_SOME) or _mostly_utf8(content) or _of_the_east(content, error)
    if "\x00" in text:  # ASCII in UTF-16 is valid UTF-8 with a NUL beside each letter
        return _unmarked_utf16(content, least=_MOST) or _checked(text, "utf-8", ())
    return _checked(text, "utf-8", ())


def _strictly(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentRejected(
            msg(
                "it begins with the mark of {encoding} but is not valid at byte {start}",
                encoding=encoding.upper(),
                start=error.start,
            )
        ) from error


def _checked(text: str, encoding: str, notes: tuple[str, ...]) -> Decoded:
    """Refuse bytes that decode but are no text."""
    if "\x00" in text:
        raise DocumentRejected(msg("binary content: NUL at character {text}", text=text.index(chr(0))))
    controls = len(_CONTROLS.findall(text))
    if controls > max(3, _MAX_CONTROLS * len(text)):
        raise DocumentRejected(
            msg("binary content: {controls} control characters in {count}", controls=controls, count=len(text))
        )
    return Decoded(text, encoding, notes)


def _familiar(text: str) -> float:
    """Share (0..1) of characters that are common in any Chinese or English text; .4 or more in real text."""
    seen = [c for c in text if not c.isspace()]
    return sum(" " < c < "\x7f" or c in _COMMON for c in seen) / len(seen) if seen else 0.0


def _unmarked_utf16(content: bytes, *, least: float) -> Decoded | None:
    """Decode UTF-16 without a byte order mark, only where one byte order gives plausible text and nothing else does."""
    if len(content) < 4 or len(content) % 2:
        return None
    sample = content[:_SAMPLE]
    best, order = max((_familiar(_loosely(sample, e)), e) for e in ("utf-16-le", "utf-16-be"))
    if best < least or (b"\x00" not in sample and best < 2 * _familiar(_loosely(sample, "gb18030"))):
        return None
    try:
        text = content.decode(order)
    except UnicodeDecodeError:  # then it is not: what it is instead is for the caller to say
        return None
    return None if "\x00" in text else _checked(text, order, (f"read as {order.upper()} without a mark",))


def _loosely(sample: bytes, encoding: str) -> str:
    return sample.decode(encoding, "replace")


def _mostly_utf8(content: bytes, *, least: float = 10.0) -> Decoded | None:
    """Decode UTF-8 in which a few bytes are wrong: these places are lost (``�``) and named, the rest is not.

    Args:
        least: How many characters beyond ASCII must be right for each place that is wrong.
    """
    text = content.decode("utf-8", "replace")
    wrong = text.count(_LOST) - content.count(_LOST.encode())
    right = sum(char > "\x7f" for char in text) - text.count(_LOST)
    if wrong > max(3, len(text) // 1_000) or right < least * wrong or len(text) < _FEW_WRONG * wrong:
        return None
    before = text[: text.index(_LOST)].count("\n") + 1
    return _checked(text, "utf-8", (f"{wrong} places are not valid UTF-8 and were lost, the first in line {before}",))


def _of_the_east(content: bytes, utf8: UnicodeDecodeError) -> Decoded:
    """Decode Big5 or Shift-JIS where that makes more sense than GB18030."""
    own = _share(content, "gb18030", _COMMON)
    for encoding, name, letters, least in _OTHERS:
        share = _share(content, encoding, letters)
        if share >= least and share > own:
            try:
                return _checked(content.decode(encoding), encoding, (f"decoded from {name}",))
            except UnicodeDecodeError:
                continue
    try:
        return _gb18030(content, utf8)
    except DocumentRejected:
        if mended := _mostly_utf8(content, least=0.0):
            return mended
        raise


def _share(content: bytes, encoding: str, letters: frozenset[str]) -> float:
    """The share (0..1) of the characters beyond ASCII that are among given letters; 0 where few of them are valid."""
    wide = [char for char in content[:_SAMPLE].decode(encoding, "replace") if char > "\x7f"]
    if not wide or wide.count(_LOST) > max(1, len(wide) // 20):
        return 0.0
    return sum(char in letters for char in wide) / len(wide)


def _gb18030(content: bytes, utf8: UnicodeDecodeError) -> Decoded:
    try:
        text = content.decode("gb18030")
    except UnicodeDecodeError as error:
        raise DocumentRejected(
            msg(
                "neither UTF-8 (invalid at byte {start}), UTF-16 nor GB18030 (invalid at byte {start2})",
                start=utf8.start,
                start2=error.start,
            ),
            hint="save it as UTF-8",
        ) from error
    decoded = _checked(text, "gb18030", ("decoded from GB18030",))
    if not _is_chinese(text):
        raise DocumentRejected(
            msg("not UTF-8 (invalid at byte {start}), and it makes no sense as GB18030", start=utf8.start),
            hint="save it as UTF-8",
        )
    return decoded


def _is_chinese(text: str) -> bool:
    """Whether text decoded from GB18030 is Chinese rather than another encoding that happens to be valid.

    Nearly any bytes are valid GB18030. Real text uses common characters; a short text is accepted when all of it is
    in GB2312, which two stray bytes of Latin-1, Big5 or Shift-JIS seldom are.
    """
    wide = "".join(c for c in text if c > "\x7f")[:_SAMPLE]
    common = sum(c in _COMMON for c in wide) / len(wide)
    known = len(wide.encode("gb2312", "ignore")) / 2 / len(wide)
    return common >= 0.1 or (known == 1.0 and len(wide) <= _FEW)


# Kinds of hidden characters, by what a note calls them. Written as escapes: they cannot be seen otherwise.
_HIDDEN = {
    "zero-width": "\u200b-\u200d\u2060-\u2064\u206a-\u206f\ufeff\u180e\u034f",
    "bidirectional control": "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069",
    "soft hyphen": "\u00ad",
    "tag": "\U000e0000-\U000e007f",
    "variation selector": "\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef",
    "invisible filler": "\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufff9-\ufffb",
    "control": "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f",
    "surrogate": "\ud800-\udfff",
}
_ANY_HIDDEN = re.compile("[" + "".join(_HIDDEN.values()) + "]+")
_KINDS = {name: re.compile(f"[{chars}]") for name, chars in _HIDDEN.items()}
_BREAK = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_JOINERS = "\u200c\u200d"
# Where a joiner or a variation selector shapes what is seen: emoji and symbols, ideographs, Arabic and Indic.
_SHAPED = re.compile("[#*0-9\u00a9\u00ae\u2010-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff\ufe0f]")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_JOINING_SCRIPT = re.compile("[\u0600-\u08ff\u0900-\u0dff\u1780-\u18aa]")


def clean(text: str) -> tuple[str, tuple[str, ...]]:
    r"""Text without hidden and control characters and with ``\n`` line ends; and one note per kind removed.

    Characters that change how visible text looks are kept: a single variation selector after an emoji or ideograph, a
    joiner inside an emoji or between letters of Arabic and Indic scripts. Visible characters are never removed.
    """
    text = _BREAK.sub("\n", text)
    counts: dict[str, int] = {}

    def strip(match: re.Match[str]) -> str:
        run = match[0]
        if _shapes(run, text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]):
            return run
        for kind, pattern in _KINDS.items():
            found = len(pattern.findall(run))
            if found:
                counts[kind] = counts.get(kind, 0) + found
        return ""

    cleaned = _ANY_HIDDEN.sub(strip, text)
    return cleaned, tuple(_note(kind, counts[kind]) for kind in _HIDDEN if kind in counts)


def _note(kind: str, count: int) -> str:
    noun = kind if kind.endswith(("hyphen", "selector", "filler")) else f"{kind} character"
    return f"removed {count} {noun}{'s' if count > 1 else ''}"


def _shapes(run: str, before: str, after: str) -> bool:
    """Whether a run of hidden characters changes how its neighbours are displayed."""
    if run in _JOINERS:
        return bool(
            (_JOINING_SCRIPT.match(before) and _JOINING_SCRIPT.match(after))
            or (run == "\u200d" and _SHAPED.match(before) and _SHAPED.match(after))
        )
    if run == "\ufe0f\u200d":
        return bool(_SHAPED.match(before) and _SHAPED.match(after))
    if len(run) > 1 or not _KINDS["variation selector"].match(run):
        return False
    return bool(
        _IDEOGRAPH.match(before) if run >= "\U000e0100" else _SHAPED.match(before) or _IDEOGRAPH.match(before)
    )
