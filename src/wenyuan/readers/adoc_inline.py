"""Text within a line of AsciiDoc as a reader of the page sees it: links, emphasis and attributes without their signs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from wenyuan.readers import notation
from wenyuan.readers.tex_math import plain_formula

_MOST = 2_000  # characters that a value of an attribute may have
BUILT_IN: Mapping[str, str] = {
    "empty": "", "blank": "", "sp": " ", "nbsp": " ", "zwsp": "", "wj": "", "apos": "'", "quot": '"', "lsquo": "‘", "rsquo": "’",
    "ldquo": "“", "rdquo": "”", "deg": "°", "plus": "+", "brvbar": "¦", "vbar": "|", "amp": "&", "lt": "<", "gt": ">",
    "startsb": "[", "endsb": "]", "caret": "^", "asterisk": "*", "tilde": "~", "backslash": "\\\\", "backtick": "`",
    "two-colons": "::", "two-semicolons": ";;", "cpp": "C++", "pp": "++", "litdd": "--",
}  # fmt: skip
"""Attributes that have a value without being set."""
_ATTRIBUTE = re.compile(r"(?P<kept>\\)?\{(?P<name>\w[\w-]{0,60})\}")
_BRACKETS = r"\[(?P<{0}>(?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]"
_INLINE = re.compile(
    r"\\(?P<escaped>[*_`#^~+<{\[:\"'(\\]|https?:|link:|image:|xref:)"
    r"|\+\+\+(?P<pass3>[^+](?:[^+]|\+(?!\+\+)){0,2000})\+\+\+"
    r"|\+\+(?P<pass2>[^+](?:[^+]|\+(?!\+)){0,2000})\+\+"
    r"|(?<![\w+])\+(?P<pass1>[^\s+][^+\n]*)\+(?![\w+])"
    + r"|(?P<macro>pass|stem|latexmath|asciimath|footnote|footnoteref|kbd|btn|indexterm2?|menu|image|icon|link|xref|mailto|anchor|"
    r"linkgit|gitman|manpage|man):(?P<to>[^\s\[\]]*)"
    + _BRACKETS.format("in")
    + r"|(?P<url>(?:https?|ftp|irc|file)://[^\s\[\]<>]+)"
    + _BRACKETS.format("called")
    + r"|<<(?P<ref>[^<>,\n]{1,200})(?:,(?P<refers>[^<>]{0,300}))?>>"
    r"|<(?P<bare>(?:https?|ftp)://[^\s<>\[]{1,500})>"
    r"|\{[\w-]{1,60}\}[^\s\[\]{}]{0,200}\[(?P<unset>[^\[\]]+)\]"
    r"|\(\(\((?P<hidden>[^()]*)\)\)\)|\(\((?P<indexed>[^()\n]*)\)\)"
    r"|\[\[(?P<anchor>[A-Za-z_:][^\]\n]{0,200})\]\]"
    r"|\[(?P<span>[.#%\w][^\[\]\n]{0,200})\](?=[#*_`])"
    r"|(?P<quoted>\"`(?P<double>[^`]+)`\"|'`(?P<single>[^`]+)`')"
    r"|\^(?P<up>[^\s^]{1,200})\^|(?<![~\w/.])?~(?P<down>[^\s~]{1,200})~"
    r"|\*\*(?P<b2>[^*]+)\*\*|__(?P<i2>[^_]+)__|``(?P<m2>[^`]+)``|##(?P<h2>[^#]+)##"
    r"|(?<![\w*])\*(?P<b1>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
    r"|(?<![\w_])_(?P<i1>[^\s_](?:[^_]|_(?=\w))*?)_(?![\w_])"
    r"|(?<![\w`])`(?P<m1>[^\s`](?:[^`]*[^\s`])?)`(?![\w`])"
    r"|(?<![\w#&])#(?P<h1>[^\s#](?:[^#]*[^\s#])?)#(?![\w#])"
    r"|&(?P<entity>lt|gt|amp|quot|nbsp|\#[0-9]{1,7}|\#x[0-9A-Fa-f]{1,6});"
    r"|\((?P<sign>C|R|TM)\)|(?P<dash>(?<=\s)--(?=\s))",
    re.DOTALL,
)
_STRUCK = re.compile(r"(?:\A|[.\s])line-through\b")
_MAX_DEPTH = 6
_SIGNS = {"C": "©", "R": "®", "TM": "™"}
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "nbsp": " "}
_WORDS = ("double", "single", "b2", "i2", "h2", "b1", "i1", "h1")


def attributes_in(text: str, known: Mapping[str, str]) -> str:
    """The text with the values of attributes; what is not known stays."""
    if "{" not in text:
        return text

    def shown(match: re.Match[str]) -> str:
        name = match["name"].lower()
        if match["kept"]:
            return match[0][1:]
        return known[name][:_MOST] if name in known else BUILT_IN.get(name, match[0])

    return _ATTRIBUTE.sub(shown, text)


def inline(text: str, titles: Mapping[str, str], depth: int = 0) -> str:
    """The text without markup, with the signs of `notation` for what is raised, lowered or struck.

    Args:
        titles: The titles of places by their ids.
    """
    struck = False

    def shown(match: re.Match[str]) -> str:
        nonlocal struck
        kind = match.lastgroup or ""
        if match["span"] is not None:
            struck = bool(_STRUCK.search(match["span"]))
            return ""
        was, struck = struck, False
        said = _inline_text(match, kind, titles, depth)
        return notation.struck(said) if was else said

    return _INLINE.sub(shown, text) if depth <= _MAX_DEPTH else text


def _inline_text(match: re.Match[str], kind: str, titles: Mapping[str, str], depth: int) -> str:
    if match["macro"]:
        return _macro(match["macro"], match["to"], match["in"].replace("\\]", "]"), titles, depth)
    if match["url"]:
        return _link_text(match["called"], titles, depth) or match["url"]
    if match["ref"]:
        return (match["refers"] or "").strip() or _place(match["ref"], titles)
    if match["quoted"]:
        inner = inline(match["double"] or match["single"], titles, depth + 1)
        return f"“{inner}”" if match["double"] else f"‘{inner}’"
    if kind in _WORDS:
        return inline(match[kind], titles, depth + 1)
    write = _WRITTEN.get(kind)
    return write(match[kind]) if write else str(match[kind])


_WRITTEN: Mapping[str, Callable[[str], str]] = {
    "up": notation.raised,
    "down": notation.lowered,
    "entity": lambda name: _ENTITIES.get(name) or _character(name),
    "hidden": lambda _: "",
    "anchor": lambda _: "",
    "sign": lambda name: _SIGNS[name],
    "dash": lambda _: "—",
}


def _link_text(said: str, titles: Mapping[str, str], depth: int) -> str:
    """The words of a link, without what is said of its window."""
    return inline(said.partition(",window=")[0].rstrip("^").strip('"'), titles, depth + 1)


def _macro(name: str, to: str, said: str, titles: Mapping[str, str], depth: int) -> str:
    if name in _WITHIN:
        return _WITHIN[name](to, said)
    inner = _link_text(said, titles, depth)
    if name in ("footnote", "footnoteref"):
        return f" ({inner})" if inner else ""
    if inner or name == "indexterm2":
        return inner
    return _place(to, titles) if name == "xref" else to


def _menu(to: str, said: str) -> str:
    return " > ".join([to, *(part.strip() for part in said.split(">"))]) if said else to


_WITHIN: Mapping[str, Callable[[str, str], str]] = {
    **dict.fromkeys(("icon", "indexterm", "anchor"), lambda *_: ""),
    **dict.fromkeys(("stem", "latexmath"), lambda _, said: plain_formula(said.strip("$"))),
    **dict.fromkeys(("pass", "kbd", "btn", "asciimath"), lambda _, said: said),
    **dict.fromkeys(("linkgit", "gitman", "manpage", "man"), lambda to, said: f"{to}({said})" if said else to),
    "image": lambda _, said: said.partition(",")[0].strip('" ').removeprefix("alt="),
    "menu": _menu,
}


def _place(name: str, titles: Mapping[str, str]) -> str:
    bare = name.strip().lstrip("#")
    return titles.get(bare) or bare.removesuffix("#").removesuffix(".adoc")


def _character(name: str) -> str:
    code = int(name[2:], 16) if name.startswith("#x") else int(name[1:])
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
