"""What a page's own style sheets and ``style`` attributes say of an element, as far as it may hide text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from wenyuan.readers.css_motion import COLOURS, Frames, after_motion, animated, frames_of
from wenyuan.readers.css_variables import Variables
from wenyuan.readers.media_queries import counting

_PROPERTIES = frozenset(
    "filter zoom content-visibility background-clip -webkit-background-clip text-shadow display visibility opacity font font-size color background background-color background-image position left top right "
    "bottom text-indent margin-left clip clip-path width height max-width max-height overflow overflow-x overflow-y transform "
    "-webkit-text-fill-color mso-hide padding padding-top padding-bottom inset margin margin-top translate scale color-scheme "
    "white-space float line-height min-height mask -webkit-mask mask-image transition transition-property animation "
    "animation-name -webkit-animation mix-blend-mode backdrop-filter -webkit-filter -webkit-text-stroke "
    "-webkit-text-stroke-width".split()
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_SPACE = re.compile(r"\s+")
_EDGE = re.compile(r"[{}]")
_PART = re.compile(r"[#.]?[\w-]+|\[[\w-]+(?:[~|^$*]?=[\"']?[\w -]*[\"']?)?\]")
_COMPOUND = re.compile(r"(?:\*|[\w-]+)?(?:[#.][\w-]+|\[[\w-]+(?:[~|^$*]?=[\"']?[\w -]*[\"']?)?\])*\Z")
_PSEUDO = re.compile(r"::?[\w-]+(?:\([^()]*\))?")
_LINKS = re.compile(r":(?:any-)?link(?![\w-])")
_DRAWN = re.compile(r"::?(?:before|after)(?![\w-])")
_POINTED = re.compile(r":(?:hover|focus|active|visited|:?selection|:?first-l|:?marker|:?placeholder)")
_OPEN = ("opacity", "visibility", "height", "max-height")
_SKIPPED = ("@font-face", "@keyframes", "@-webkit-keyframes", "@page", "@counter-style", "@property")
_GROUNDS = {"drawn": ("background",), "": COLOURS}
_MOST_SELECTORS = 300
_MOST_LOOKS = 10_000_000  # elements times selectors
_MOST_COMPOUNDS = 2
_LONGEST = 200


class _Rule(NamedTuple):
    selector: str
    said: Mapping[str, str]
    weight: tuple[int, int, int]
    sometimes: bool  # on some screens, or when something is pointed at or chosen
    kind: str  # ``drawn`` of what is put before or after an element, ``pointed`` of what is pointed at, else ``""``


class StyleSheet:
    """The styles of a page.

    Args:
        body: Of the page.
        source: Its style sheets.

    Attributes:
        cut: How many selectors were not looked at.
    """

    def __init__(self, body: Any, source: str) -> None:
        self.cut = 0
        self._said: dict[int, dict[str, str]] = {}
        self._shown: set[int] = set()
        self._raised: set[int] = set()
        self._changes: dict[int, set[str]] = {}
        self._frames: Frames = {}
        self._variables = Variables()
        rules = _looked_at(source) if body is not None and source else ()
        if not rules:
            return
        self._frames = frames_of(_COMMENT.sub(" ", source), declared)
        whole = body.parent if body.parent is not None and body.parent.tag == "html" else body
        most = min(_MOST_SELECTORS, _MOST_LOOKS // max(1, len(body.css("*"))))
        self.cut = max(0, len(rules) - most)
        for rule in sorted(rules[:most], key=lambda rule: rule.weight):
            self._apply(rule, whole)
        every = _every(source)
        toggled, opening = _toggled(every), _openers(every)
        for rule in rules[:most]:
            if rule.sometimes:
                continue
            last = _last(rule.selector)
            if rule.said.get("display") == "none" and last & toggled:
                self._shown.update(node.mem_id for node in _found(whole, rule.selector))
            for name in _OPEN:
                if name not in rule.said or _opens(name, rule.said):
                    continue
                if any(opening.get((name, each), rule.weight) > rule.weight for each in last):
                    nodes = self._raised if name.endswith("height") else self._shown
                    nodes.update(node.mem_id for node in _found(whole, rule.selector))

    def _apply(self, rule: _Rule, whole: Any) -> None:
        for node in _found(whole, rule.selector):
            if not rule.sometimes:
                self._said.setdefault(node.mem_id, {}).update(rule.said)
                continue
            if rule.kind != "pointed":
                self._changes.setdefault(node.mem_id, set()).update(
                    name.partition("-")[0] for name in rule.said if name.startswith(_GROUNDS[rule.kind])
                )
            if rule.kind != "drawn" and _shows(rule.said):
                self._shown.add(node.mem_id)
            if rule.kind != "drawn" and (_opens("height", rule.said) or _opens("max-height", rule.said)):
                self._raised.add(node.mem_id)

    def of(self, node: Any, attributes: Mapping[str, str | None]) -> Mapping[str, str]:
        """The declarations that count for an element, by property, in lower case; to be asked of its parent before."""
        said = self._said.get(node.mem_id) if self._said else None
        if said is not None and node.mem_id in self._shown:
            said = {name: value for name, value in said.items() if name not in ("display", "visibility", "opacity")}
        if said is not None and node.mem_id in self._raised:
            said = {name: value for name, value in said.items() if name not in ("height", "max-height")}
        style = attributes.get("style") if attributes else None
        own = declared(style) if style else {}
        if said:
            own = {**{name: value for name, value in said.items() if name not in own}, **own}
        return after_motion(self._variables.within(node, own), self._frames)

    def plain(self, node: Any) -> Mapping[str, str]:
        """The declarations of an element as they are written, whatever opens it."""
        style = node.attributes.get("style")
        said = self._said.get(node.mem_id, {})
        return {**said, **declared(style)} if style else said

    def changes(self, node: Any) -> set[str]:
        """Of ``color`` and ``background``, what an element has sometimes or for a while, or draws before or after it."""
        moved = animated(self.plain(node), self._frames) if self._frames else ()
        colours = {name.partition("-")[0] for name in moved if name.startswith(COLOURS)}
        return colours | self._changes.get(node.mem_id, set())

    def hides(self, node: Any) -> bool:
        """Whether a style sheet, and not the element itself, may hide it."""
        return node.mem_id in self._said


def declared(style: str) -> dict[str, str]:
    """The declarations of a style that may hide text; of several of one property the last, or the important one."""
    found: dict[str, str] = {}
    important: set[str] = set()
    for part in _COMMENT.sub(" ", style).split(";"):
        name, _, value = part.partition(":")
        name, value = name.strip().lower(), _SPACE.sub(" ", value).strip().lower()
        if not value or (name not in _PROPERTIES and not name.startswith("--")):
            continue
        plain = value.removesuffix("!important").strip()
        if name in important and plain == value:
            continue
        if plain != value:
            important.add(name)
        found.pop(name, None)  # what is said last stands last
        found[name] = plain
    return found


@lru_cache(maxsize=2)
def _looked_at(source: str) -> tuple[_Rule, ...]:
    """The rules of style sheets that are looked at; those of a book are asked for by each chapter."""
    return tuple(rule for rule in _every(source) if _matters(rule))


@lru_cache(maxsize=2)
def _every(source: str) -> tuple[_Rule, ...]:
    return tuple(_rules(source))


def _rules(source: str) -> Iterator[_Rule]:
    """The rules of style sheets, those of blocks included."""
    text = _COMMENT.sub(" ", source).partition("<![CDATA[")[0]  # to a browser, a bracket that is never closed
    blocks: list[tuple[bool, bool]] = []  # of each open block: whether it is skipped, and whether it counts sometimes
    at = order = 0
    head = ""
    for edge in _EDGE.finditer(text):
        piece = text[at : edge.start()]
        at = edge.end()
        if edge[0] == "{":
            head = piece.rpartition(";")[2].strip()
            skipped, sometimes = blocks[-1] if blocks else (False, False)
            if head.startswith("@"):
                name = _SPACE.sub("", head).lower()
                counts = counting(head)
                skipped |= name.startswith(_SKIPPED) or counts == "never"
                sometimes |= counts != "always"
            blocks.append((skipped, sometimes))
        elif blocks:
            skipped, sometimes = blocks.pop()
            if head and not head.startswith("@") and not skipped and (said := declared(piece)):
                for selector in head.split(","):
                    order += 1
                    yield _rule(selector.strip(), said, order, sometimes)
            head = ""


def _rule(selector: str, said: Mapping[str, str], order: int, sometimes: bool) -> _Rule:
    selector = _LINKS.sub("[href]", selector.replace(":root", "html"))
    kind = "drawn" if _DRAWN.search(selector) else "pointed" if _POINTED.search(selector) else ""
    plain = _PSEUDO.sub("", selector)
    heavy, light = plain.count("#"), plain.count(".") + plain.count("[")
    return _Rule(plain, said, (heavy, light, order), sometimes or plain != selector, kind)


def _matters(rule: _Rule) -> bool:
    """Whether a rule can be looked at, in linear time: one or two compounds of names, classes and attributes."""
    parts = rule.selector.replace(">", " ").split()
    return (
        0 < len(parts) <= _MOST_COMPOUNDS
        and len(rule.selector) <= _LONGEST
        and all(_COMPOUND.match(part) for part in parts)
    )


def _found(body: Any, selector: str) -> list[Any]:
    from selectolax.lexbor import SelectolaxError

    try:
        return list(body.css(selector))
    except SelectolaxError:  # a selector that is none
        return []


def _shows(said: Mapping[str, str]) -> bool:
    return (
        said.get("display", "none") != "none"
        or said.get("visibility") == "visible"
        or said.get("opacity", "0").strip("0.") != ""
    )


def _toggled(rules: Sequence[_Rule]) -> set[str]:
    """The classes and ids of what some rule shows: a panel that opens, which another one hides."""
    return {name for rule in rules if rule.kind != "drawn" and _shows(rule.said) for name in _last(rule.selector)}


def _opens(name: str, said: Mapping[str, str]) -> bool:
    """Whether declarations show by a property what another rule hides by it."""
    value = said.get(name, "")
    if name == "visibility":
        return value == "visible"
    return bool(value) and not re.match(r"0+(?:\.0*)?(?:[a-z%]+)?\Z|\.0+(?:[a-z%]+)?\Z", value)


def _openers(rules: Sequence[_Rule]) -> dict[tuple[str, str], tuple[float, int, int]]:
    """By a property, and a class or id of what a rule opens by it, the greatest weight of such rules."""
    found: dict[tuple[str, str], tuple[float, int, int]] = {}
    for rule in rules:
        for name in _OPEN if rule.kind != "drawn" else ():
            if _opens(name, rule.said):
                weight = (math.inf, 0, 0) if rule.sometimes else rule.weight
                for part in _last(rule.selector):
                    found[name, part] = max(weight, found.get((name, part), weight))
    return found


def _last(selector: str) -> set[str]:
    """The classes and ids of what a selector chooses."""
    last = re.split(r"[\s>~+]+", selector)[-1]
    return {part for part in _PART.findall(last) if part[0] in "#."}
