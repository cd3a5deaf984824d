"""Formulas of Office (OMML) and of MathML as plain text: ``(1)/(2)`` is written 1/2, a power 10^6, a root √(x + 1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from wenyuan.readers import notation

_MAX_DEPTH = 100
_SIMPLE = re.compile(r"-?[\w.,%′°]+\Z")
_CALL = re.compile(r"[\w]*\([^()]*\)\Z|√\([^()]*\)\Z")
_SPACES = re.compile(r"\s+")


class Term(NamedTuple):
    """An element of a formula: its name without namespace, its own text, its children and its attributes."""

    name: str
    text: str
    inner: Sequence[Term]
    said: dict[str, str]


def from_xml(node: Any, depth: int = 0) -> Term:
    """A formula of an XML document; what is nested deeper than can be read is given as its bare text."""
    name = node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
    said = {key.rpartition("}")[2]: str(value) for key, value in node.attrib.items()}
    if depth >= _MAX_DEPTH:
        return Term("t", " ".join(node.itertext()), (), said)
    return Term(name, node.text or "", [from_xml(child, depth + 1) for child in node], said)


def from_html(node: Any, depth: int = 0) -> Term:
    """A formula of a parsed page."""
    if depth >= _MAX_DEPTH:
        return Term("mi", node.text(), (), {})
    inner, text = [], []
    child = node.child
    while child is not None:
        if child.is_text_node:
            text.append(child.text())
        elif child.is_element_node:
            inner.append(from_html(child, depth + 1))
        child = child.next
    return Term(str(node.tag), "".join(text), inner, {key: value or "" for key, value in node.attributes.items()})


def _wrapped(text: str) -> str:
    return text if not text or _SIMPLE.match(text) or _CALL.match(text) else f"({text})"


def over(above: str, below: str) -> str:
    return f"{_wrapped(above)}/{_wrapped(below)}"


def scripts(base: str, down: str, up: str) -> str:
    base = base if not base or _SIMPLE.match(base) or len(base) == 1 or _CALL.match(base) else f"({base})"
    return base + (f"_{_wrapped(down)}" if down else "") + (f"^{_wrapped(up)}" if up else "")


# Formulas of Office.


def of_omml(term: Term) -> str:
    """A formula of Word or PowerPoint (``m:oMath``) on one line."""
    return _SPACES.sub(" ", _omml(term)).strip()


def _part(term: Term, name: str) -> str:
    return next((_row(each) for each in term.inner if each.name == name), "")


def _row(term: Term) -> str:
    return "".join(map(_omml, term.inner)).strip()


def _property(term: Term, name: str, default: str) -> str:
    holders = [each for each in term.inner if each.name.endswith("Pr")]
    found = [each for holder in holders for each in holder.inner if each.name == name]
    return found[0].said.get("val", "") if found else default


def _omml(term: Term) -> str:
    if term.name == "t":
        return term.text
    if term.name in ("tab", "br", "cr"):
        return " "
    if term.name.endswith("Pr") or term.name in ("del", "moveFrom", "delText"):
        return ""
    write = _OMML.get(term.name)
    return write(term) if write else "".join(map(_omml, term.inner))


def _omml_scripts(term: Term) -> str:
    down = _part(term, "sub") or (_part(term, "lim") if term.name == "limLow" else "")
    up = _part(term, "sup") or (_part(term, "lim") if term.name == "limUpp" else "")
    return scripts(_part(term, "e"), down, up)


def _root(term: Term) -> str:
    degree = _part(term, "deg")
    return f"{degree if degree != '2' else ''}√({_part(term, 'e')})"


def _nary(term: Term) -> str:
    return f"{scripts(_property(term, 'chr', '∫'), _part(term, 'sub'), _part(term, 'sup'))} {_part(term, 'e')}"


def _brackets(term: Term) -> str:
    cells = [_row(each) for each in term.inner if each.name == "e"]
    between = _property(term, "sepChr", "|")
    return _property(term, "begChr", "(") + between.join(cells) + _property(term, "endChr", ")")


def _matrix(term: Term) -> str:
    rows = [[_row(cell) for cell in row.inner if cell.name == "e"] for row in term.inner if row.name == "mr"]
    return "[" + "; ".join(", ".join(row) for row in rows) + "]"


_OMML: Mapping[str, Callable[[Term], str]] = {
    "f": lambda term: over(_part(term, "num"), _part(term, "den")),
    **dict.fromkeys(("sSup", "sSub", "sSubSup", "limLow", "limUpp"), _omml_scripts),
    "sPre": lambda term: f"{scripts('', _part(term, 'sub'), _part(term, 'sup'))} {_part(term, 'e')}",
    "rad": _root,
    "nary": _nary,
    "d": _brackets,
    "func": lambda term: f"{_part(term, 'fName')} {_part(term, 'e')}",
    "m": _matrix,
    "eqArr": lambda term: "; ".join(_row(each) for each in term.inner if each.name == "e"),
}


# MathML, of web pages, books and OpenDocument.


def of_mathml(term: Term) -> str:
    """A formula of MathML (``math``) on one line."""
    return _SPACES.sub(" ", _mathml(term)).strip()


def _mathml(term: Term) -> str:
    if term.name in ("mi", "mn", "mtext", "ms"):
        return _SPACES.sub(" ", term.text)
    if term.name == "mo":
        return _operator(term.text.strip())
    cells = [_mathml(each).strip() for each in term.inner]
    first, second, third = (*cells, "", "", "")[:3]
    write = _MATHML.get(term.name)
    if write:
        return write(term, cells, first, second, third)
    return "".join(map(_mathml, term.inner)) or term.text.strip()


def _operator(sign: str) -> str:
    if sign in ("\u2061", "\u2062", "\u2063"):  # applied to, times and a comma that nobody sees
        return ""
    return f" {sign} " if sign and sign in "=≠≤≥<>≈+±×÷→" else sign


_Written = Callable[[Term, Sequence[str], str, str, str], str]
_MATHML: Mapping[str, _Written] = {
    **dict.fromkeys(("annotation", "annotation-xml", "none", "mprescripts", "mphantom"), lambda *_: ""),
    "mspace": lambda *_: " ",
    "mfrac": lambda _term, _cells, first, second, _: over(first, second),
    **dict.fromkeys(("msup", "mover"), lambda _term, _cells, first, second, _: scripts(first, "", second)),
    **dict.fromkeys(("msub", "munder"), lambda _term, _cells, first, second, _: scripts(first, second, "")),
    **dict.fromkeys(
        ("msubsup", "munderover"), lambda _term, _cells, first, second, third: scripts(first, second, third)
    ),
    "msqrt": lambda _term, cells, *_: f"√({' '.join(cells)})",
    "mroot": lambda _term, _cells, first, second, _: f"{second}√({first})",
    "mfenced": lambda term, cells, *_: term.said.get("open", "(") + ", ".join(cells) + term.said.get("close", ")"),
    "mtable": lambda _term, cells, *_: "[" + "; ".join(cells) + "]",
    **dict.fromkeys(("mtr", "mlabeledtr"), lambda _term, cells, *_: ", ".join(cells)),
}


# Fields of Word: EQ \f(1,2).

_FIELD = re.compile(r"\\([a-zA-Z])((?:\s*\\[a-zA-Z]{2}\s*[0-9]{0,4}(?:\\?[()\[\]{}|<>])?){0,6})\s*\(")
_MAX_FIELD = 4_000


def of_field(code: str, depth: int = 0) -> str:
    """What a field ``EQ`` of Word shows, with the signs of `notation` for what is raised or lowered."""
    text = code.strip()[:_MAX_FIELD]
    if depth == 0:
        text = text[2:] if text[:2].upper() == "EQ" else text
    parts: list[str] = []
    at = 0
    while depth < 20 and (found := _FIELD.search(text, at)):
        close = _closing(text, found.end())
        parts.append(text[at : found.start()])
        said = [of_field(each, depth + 1) for each in _arguments(text[found.end() : close])]
        parts.append(_switched(found[1].lower(), found[2].lower(), said))
        at = close + 1
    shown = "".join([*parts, text[at:]])
    return shown.replace("\\,", ",").replace("\\(", "(").replace("\\)", ")").strip()


def _closing(text: str, at: int) -> int:
    depth = 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return at


def _arguments(text: str) -> list[str]:
    found, depth, start, at = [], 0, 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] in "()":
            depth += 1 if text[at] == "(" else -1
        elif text[at] in ",;" and depth == 0:
            found.append(text[start:at])
            start = at + 1
        at += 1
    return [*found, text[start:]]


def _switched(name: str, options: str, said: Sequence[str]) -> str:
    first, second, third = (*said, "", "", "")[:3]
    if name == "f":
        return over(first, second)
    if name == "r":
        return f"{first}√({second})" if second else f"√({first})"
    if name == "s":
        return notation.lowered(first) if "do" in options else notation.raised(first)
    if name == "b":
        left = next((sign for sign in "[{|<" if sign in options), "(")
        return left + first + {"[": "]", "{": "}", "|": "|", "<": ">"}.get(left, ")")
    if name == "i":
        return f"{scripts('∫', first, second)} {third}"
    return {"a": "; ", "l": ", "}.get(name, "").join(said)
