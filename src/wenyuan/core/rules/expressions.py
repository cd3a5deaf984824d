"""Expressions of conditions: a safe part of CEL, parsed into comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.core.rules.cel import CEL

# The text of a condition → a tree of ``&&``, ``||`` and ``!`` over leaves that the CEL library evaluates.


MAX_CHARS = 1000
MAX_NESTING = 16
_FUNCTIONS = frozenset(("int", "double", "string"))
_METHODS = frozenset(("contains", "startsWith", "endsWith"))
_WORDS = frozenset(("true", "false", "in"))
WORDS = _FUNCTIONS | _METHODS | _WORDS | {"and", "or", "not", "null"}
"""Words that name no parameter in a condition, whatever parameters are called."""
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<string>'(?:[^'\\\r\n]|\\.)*'|"(?:[^"\\\r\n]|\\.)*")
    |(?P<number>0x[0-9a-fA-F]+|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!()\[\],.])""",
    re.VERBOSE | re.ASCII,
)
_MEANT: Mapping[str, str] = {
    **dict(
        zip("≥≤≠＞＜＝＆｜！（）“”‘’，。－＋", ">= <= != > < == && || ! ( ) \" \" ' ' , . - +".split(), strict=True)
    ),
    "=": "==",
    "&": "&&",
    "|": "||",
    "and": "&&",
    "or": "||",
    "not": "!",
}
_OPEN, _CLOSE = ("(", "["), (")", "]")


def wrong(text: str, why: str, *, hint: str = "") -> InvalidRequest:
    """The exception for a faulty condition."""
    return InvalidRequest(
        msg("condition {text}: {why}", text=f"{text!r:.200}", why=why), faults=(Fault("condition", why),), hint=hint
    )


@dataclass(frozen=True, slots=True)
class ExpressionToken:
    """A token of a condition (``kind``: name, number, string, sign) and its position."""

    kind: str
    text: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)


@dataclass(frozen=True, slots=True)
class Unknown:
    """An undefined value: parameters are missing, or evaluation failed (`faults`; `clash`: type mismatch)."""

    missing: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()
    clash: bool = False


@dataclass(frozen=True, slots=True)
class Leaf:
    """A subexpression without ``&&``, ``||`` or ``!`` at its top level.

    Attributes:
        names: The parameters that it names.
        parts: The two sides of an ``==``, ``!=`` or ``in``, as programs: CEL finds them unlike without complaint.
    """

    source: str
    names: frozenset[str]
    program: Any
    parts: tuple[Any, ...] = ()

    def value(self, parameters: Mapping[str, object]) -> bool | Unknown:
        """Its value for the given parameters."""
        missing = self.names - parameters.keys()
        if missing:
            return Unknown(missing)
        try:
            value = self.program.execute(dict(parameters))
        except (ArithmeticError, RuntimeError, ValueError) as error:
            return Unknown(faults=(_first_sentence(error),))
        except TypeError as error:
            return Unknown(faults=(_first_sentence(error),), clash=True)
        if type(value) is not bool:
            return Unknown(faults=(f"{self.source!r} is {value!r:.60}, neither true nor false",), clash=True)
        return value

    def sides(self, parameters: Mapping[str, object]) -> tuple[Any, Any]:
        """The values of both sides of the comparison; two times true if it is no comparison."""
        if not self.parts:
            return True, True
        left, right = (part.execute(dict(parameters)) for part in self.parts)
        return left, right


@dataclass(frozen=True, slots=True)
class _Joined:
    """A conjunction or disjunction. ``decisive`` is the absorbing value: true for ``||``, false for ``&&``."""

    decisive: bool
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class _Not:
    part: Tree


Tree = Leaf | _Joined | _Not


def value_of(tree: Tree, parameters: Mapping[str, object]) -> bool | Unknown:
    """The value in Kleene's three-valued logic: unknown parts do not matter if another part decides."""
    if isinstance(tree, Leaf):
        return tree.value(parameters)
    if isinstance(tree, _Not):
        value = value_of(tree.part, parameters)
        return value if isinstance(value, Unknown) else not value
    missing: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()
    for part in tree.parts:
        value = value_of(part, parameters)
        if isinstance(value, Unknown):
            missing, faults = missing | value.missing, faults + value.faults
        elif value is tree.decisive:
            return value
    return Unknown(missing, faults) if missing or faults else not tree.decisive


def read(text: str) -> tuple[Tree, tuple[Leaf, ...]]:
    """Parse a condition: its tree, and all its leaves.

    Raises:
        InvalidRequest: too long, too deep, not CEL, or more of CEL than conditions may use.
    """
    if len(text) > MAX_CHARS:
        raise wrong(text, msg("has {count} characters; at most {max_chars}", count=len(text), max_chars=MAX_CHARS))
    tokens = tuple(tokens_of(text))
    if not tokens:
        raise wrong(text, "is blank; what holds always has no condition")
    _check_use(text, tokens)
    _program(text, text)  # what CEL takes as a whole is taken apart at the right places
    leaves: list[Leaf] = []
    tree = _tree(text, tokens, leaves)
    return tree, tuple(leaves)


def _first_sentence(error: Exception) -> str:
    return str(error).split(". ")[0].split(" CEL does")[0].rstrip(".")


def _program(text: str, source: str) -> Any:
    try:
        return CEL.compile(source)
    except ValueError as error:
        found = re.search(r"<input>:\d+:(\d+): (?:Syntax error: )?([^\n]+)", str(error))
        why = (
            msg("column {found}: {found2}", found=found[1], found2=found[2].split(" expecting {")[0])
            if found
            else _first_sentence(error)
        )
        raise wrong(text, msg("is no CEL: {why}", why=why)) from error


def tokens_of(text: str) -> Iterator[ExpressionToken]:
    """Tokenise a condition.

    Raises:
        InvalidRequest: a character that cannot stand where it stands.
    """
    at, before = 0, ""
    while at < len(text):
        found = _TOKEN.match(text, at)
        kind = (found and found.lastgroup) or ""
        if not found or (kind in ("string", "name", "number") and before in ("string", "name", "number")):
            meant = _MEANT.get(text[at], "")
            raise wrong(
                text,
                msg("column {at}: {text} cannot stand here", at=at + 1, text=repr(text[at]))
                + (msg("; did you mean {meant}?", meant=repr(meant)) if meant else ""),
                hint="a condition is CEL in ASCII signs; other characters stand in quotes: soil == '软土'",
            )
        if kind != "space":
            yield ExpressionToken(kind, found[0], at)
        at, before = found.end(), kind


def _check_use(text: str, tokens: tuple[ExpressionToken, ...]) -> None:
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth > MAX_NESTING:
            raise wrong(text, f"has brackets nested deeper than {MAX_NESTING}")
        why = _misuse(tokens[i - 1] if i else None, token, tokens[i + 1] if i + 1 < len(tokens) else None)
        if why:
            raise wrong(text, msg("column {at}: {why}", at=token.at + 1, why=why))


def _misuse(before: ExpressionToken | None, token: ExpressionToken, after: ExpressionToken | None) -> str:
    """Why a token of CEL is not allowed in conditions; ``""`` if it is."""
    called = after is not None and after.text == "("
    method = before is not None and before.text == "."
    if token.kind == "name" and method and not (called and token.text in _METHODS):
        return f"'.{token.text}' is not to be had; there are {', '.join(sorted(_METHODS))}"
    if token.kind == "name" and not method and called and token.text not in _FUNCTIONS | _WORDS:
        return f"the function {token.text!r} is not to be had; there are {', '.join(sorted(_FUNCTIONS))}"
    if token.text in _MEANT:
        return f"{token.text!r} cannot stand here; did you mean {_MEANT[token.text]!r}?"
    if token.text == "/" and before is not None and before.text == "/":
        return "a comment cannot stand here"
    if token.text == "null":
        return "'null' is not to be had: a parameter that was not given is unknown"
    if token.text == "[" and before is not None and before.text != "in" and before.text not in "([,":
        return "a list can stand after 'in' only, and nothing can be indexed"
    return "'!!' says nothing" if token.text == "!" and before is not None and before.text == "!" else ""


def _split(tokens: tuple[ExpressionToken, ...], *signs: str) -> list[tuple[ExpressionToken, ...]]:
    """Split at these operators outside of brackets."""
    pieces, start, depth = [], 0, 0
    for i, token in enumerate(tokens):
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth == 0 and token.text in signs and token.kind != "string":
            pieces.append(tokens[start:i])
            start = i + 1
    return [*pieces, tokens[start:]]


def _in_brackets(tokens: tuple[ExpressionToken, ...]) -> bool:
    """Whether one pair of round brackets encloses the whole."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth == 0:
            return token.text == ")" and i == len(tokens) - 1
    return False


def _tree(text: str, tokens: tuple[ExpressionToken, ...], leaves: list[Leaf]) -> Tree:
    joins: tuple[tuple[Literal["||", "&&"], bool], ...] = (("||", True), ("&&", False))  # the looser one first
    for sign, decisive in joins:
        pieces = _split(tokens, sign)
        if len(pieces) > 1:
            return _Joined(decisive, tuple(_tree(text, piece, leaves) for piece in pieces))
    if _in_brackets(tokens):
        return _tree(text, tokens[1:-1], leaves)
    if tokens[0].text == "!" and _in_brackets(tokens[1:]):
        return _Not(_tree(text, tokens[2:-1], leaves))
    leaves.append(_leaf(text, tokens))
    return leaves[-1]


def _leaf(text: str, tokens: tuple[ExpressionToken, ...]) -> Leaf:
    def source(piece: tuple[ExpressionToken, ...]) -> str:
        return text[piece[0].at : piece[-1].end]

    called = [after.text == "(" for after in tokens[1:]] + [False]
    names = {t.text for t, call in zip(tokens, called, strict=True) if t.kind == "name" and not call} - _WORDS
    sides = _split(tokens, "==", "!=", "in")
    parts = tuple(_program(text, source(s)) for s in sides) if len(sides) == 2 else ()
    return Leaf(source(tokens), frozenset(names), _program(text, source(tokens)), parts)
