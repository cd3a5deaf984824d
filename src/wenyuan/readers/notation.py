"""Raised, lowered and struck text as plain text, so that a value stays what the page shows: 10^6, H₂O, 1/2, ~~100~~.

Readers put signs around such text (`raised`, `lowered`, `struck`) while they gather a paragraph, and `plain` turns them
into letters once all of the paragraph is known: whether 6 is an exponent depends on what stands before it.
"""

from __future__ import annotations

import re

UP, DOWN, OUT, END = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
"""Signs that open raised, lowered and struck text, and that close each of them: noncharacters, which no text holds."""

_RAISED = str.maketrans("0123456789+-−=()niabcdeghjklmoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱᵃᵇᶜᵈᵉᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_UPPER_SIGNS = re.compile(r"[0-9+\-−=]+\Z")
_LOWER_SIGNS = re.compile(r"[0-9+\-−=]+\Z")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|e|ème|o|a|os|as|TM|SM|®|™|℠|°|º|ª)\Z", re.IGNORECASE)
_DIGITS = tuple("0123456789")
_ONE = re.compile(r"[\w.]+\Z")
_SIGN = re.compile(f"[{UP}{DOWN}{OUT}{END}]")
_FRACTION = re.compile(rf"{UP}([0-9]{{1,6}}){END}\s?[/⁄∕]\s?{DOWN}([0-9]{{1,6}}){END}")
_ANY = re.compile(rf"([{UP}{DOWN}])([^{UP}{DOWN}{END}]*){END}")
_STRUCK = re.compile(rf"{OUT}([^{OUT}{END}]*){END}")
_BACK = str.maketrans(
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵃᵇᶜᵈᵉᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", "0123456789+-=()niabcdeghjklmoprstuvwxyz0123456789+-=()"
)


def raised(text: str) -> str:
    """Text as superscript."""
    return f"{UP}{text}{END}" if text.strip() else text


def lowered(text: str) -> str:
    """Text as subscript."""
    return f"{DOWN}{text}{END}" if text.strip() else text


def struck(text: str) -> str:
    """Text that is struck out."""
    return f"{OUT}{text}{END}" if text.strip() else text


def plain(text: str) -> str:
    """The text of a paragraph with its signs turned into letters.

    A superscript after a digit or a bracket is written with ``^``, since ``10⁶`` is compared as ``106``; elsewhere signs and
    digits have letters of their own (m², Ca²⁺, H₂O), and words are written ``x^n``, ``V_max``. Ordinals (1st) stay as they
    are. What is struck stands between ``~~``.
    """
    if not _SIGN.search(text):
        return text
    joined = _joined(text)
    joined = _FRACTION.sub(_fraction, joined)
    parts: list[str] = []
    at = 0
    for match in _ANY.finditer(joined):
        parts.append(joined[at : match.start()])
        before = next((part[-1] for part in reversed(parts) if part), "")
        after = joined[match.end() : match.end() + 1]
        write = _exponent if match[1] == UP else _index
        parts.append(write(match[2], before.strip(OUT + END), after))
        at = match.end()
    parts.append(joined[at:])
    out = _STRUCK.sub(_marked, "".join(parts))
    return _SIGN.sub("", out)


def counted(text: str) -> str:
    """Text with raised and lowered letters as common ones, to be compared with that of a file character by character."""
    return text.translate(_BACK)


def _joined(text: str) -> str:
    """Neighbouring runs of one kind as one: programs cut a run at will."""
    parts: list[str] = []
    stack: list[str] = []
    for piece in re.split(f"([{UP}{DOWN}{OUT}{END}])", text):
        if piece in (UP, DOWN, OUT):
            if len(parts) > 1 and parts[-1] == "" and parts[-2] == END + piece:
                parts[-2:] = [""]
            else:
                parts += [piece]
            stack.append(piece)
        elif piece == END:
            if stack:
                parts += [END + stack.pop(), ""]
        elif piece:
            parts.append(piece)
    return "".join(part[0] if part[:1] == END else part for part in parts)


def _fraction(match: re.Match[str]) -> str:
    before = match.string[match.start() - 1 : match.start()]
    return f"{' ' if before.isdigit() else ''}{match[1]}/{match[2]}"


def _exponent(text: str, before: str, after: str) -> str:
    lead, body, tail = _drop_notation(text)
    if not body or _ORDINAL.match(body):
        return text
    signs = bool(_UPPER_SIGNS.match(body))
    if signs and not (before and before in "0123456789)]}）") and not after.isdigit():
        return lead + body.translate(_RAISED) + tail
    if body[0] in "[([（【*†‡" or not before.strip():
        return lead + body + tail
    shown = body if signs or _ONE.match(body) else f"({body})"
    return f"{lead}^{shown}{tail}" + (" " if after.isalnum() and not tail else "")


def _index(text: str, before: str, after: str) -> str:
    lead, body, tail = _drop_notation(text)
    if not body or not before.strip() or body[0] in "[(（【":
        return lead + body + tail
    if _LOWER_SIGNS.match(body) and before not in _DIGITS and not after.isdigit():
        return lead + body.translate(_LOWERED) + tail
    shown = body if _ONE.match(body) else f"({body})"
    return f"{lead}_{shown}{tail}" + (" " if after.isalnum() and not tail else "")


def _drop_notation(text: str) -> tuple[str, str, str]:
    body = text.strip()
    lead = text[: len(text) - len(text.lstrip())]
    return lead, body, text[len(lead) + len(body) :]


def _marked(match: re.Match[str]) -> str:
    cut = (_drop_notation(line) for line in match[1].split("\n"))
    return "\n".join(f"{lead}~~{body}~~{tail}" if body else lead + tail for lead, body, tail in cut)
