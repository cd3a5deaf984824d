"""Letters of symbol fonts (Symbol, Wingdings) as the Unicode characters that they show."""

from __future__ import annotations

_SYMBOL = dict(
    zip(
        range(0x20, 0x7F),
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
        strict=True,
    )
)
_SYMBOL |= dict(
    zip(
        range(0xA0, 0xFF),
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\ufffd〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
        strict=True,
    )
)
_WINGDINGS = {
    0x20: " ", 0x22: "✂", 0x28: "☎", 0x29: "✆", 0x2A: "✉", 0x36: "⌛", 0x3F: "✍", 0x41: "✌", 0x43: "👍", 0x44: "👎", 0x45: "☜",
    0x46: "☞", 0x47: "☝", 0x48: "☟", 0x4A: "☺", 0x4B: "😐", 0x4C: "☹", 0x4D: "💣", 0x4E: "☠", 0x50: "🏱", 0x51: "✈", 0x52: "☼",
    0x54: "❄", 0x6C: "●", 0x6D: "❍", 0x6E: "■", 0x6F: "☐", 0x70: "☐", 0x71: "☐", 0x72: "☐", 0x73: "⬧", 0x74: "⧫", 0x75: "◆",
    0x76: "❖", 0x77: "⬥", 0x78: "☒", 0x79: "⍓", 0x7A: "⌘", 0x80: "⓪", **{0x81 + at: chr(0x2460 + at) for at in range(10)},
    0x8B: "⓿", **{0x8C + at: chr(0x2776 + at) for at in range(10)}, 0x9E: "·", 0x9F: "•", 0xA0: "▪", 0xA1: "○", 0xA4: "◉",
    0xA5: "◎", 0xA7: "▪", 0xA8: "☐", 0xAA: "✦", 0xAB: "★", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔",
    0xEF: "⇦", 0xF0: "⇨", 0xF1: "⇧", 0xF2: "⇩", 0xF3: "⬄", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_WINGDINGS_2 = {
    0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0x56: "⦸", 0x97: "●", 0x98: "●", 0x99: "◉", 0xA2: "■",
    0xA3: "☐", 0xA4: "☐", 0xA5: "☐", **{0x69 + at: chr(0x24EA if at == 0 else 0x245F + at) for at in range(11)},
}  # fmt: skip
_WEBDINGS = {
    0x61: "✓",
    0x63: "☐",
    0x67: "■",
    0x6E: "●",
    0x72: "✗",
    0x69: "ℹ",
    0x33: "◀",
    0x34: "▶",
    0x35: "▲",
    0x36: "▼",
}
_FONTS = {
    "symbol": _SYMBOL, "symbolmt": _SYMBOL, "standardsymbolsl": _SYMBOL, "wingdings": _WINGDINGS, "wingdings2": _WINGDINGS_2,
    "webdings": _WEBDINGS,
}  # fmt: skip


def is_symbol_font(font: str) -> bool:
    """Whether a font is one of symbols, whose letters are not what their codes say."""
    return _plain(font) in _FONTS


def symbol_text(font: str, char: str) -> str | None:
    r"""What a character shows in a font: ``\uf0b3`` in Symbol is ``≥``; None where that is not known.

    Codes of the private area (F000 … F0FF) are those of the font itself; without a font they are taken for Symbol.
    """
    code = ord(char)
    own = code - 0xF000 if 0xF000 <= code <= 0xF0FF else code if code < 0x100 else None
    if own is None:
        return char if not 0xE000 <= code <= 0xF8FF else None
    table = _FONTS.get(_plain(font))
    if table is None:
        return char if code < 0x100 else None
    return table.get(own)


def _plain(font: str) -> str:
    return font.lower().replace(" ", "").replace("-", "")
