r"""Formulas as TeX writes them, on one line: ``\frac{1}{2}`` is 1/2, ``x^{10}`` is x^10, ``\alpha \le 5`` is α ≤ 5."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from wenyuan.readers.formulas import over, scripts

_MAX_DEPTH = 60
_TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.)|[{}^_&~%]|[0-9]+(?:[.,][0-9]+)*|\s+|.", re.DOTALL)
_SIGNS: Mapping[str, str] = {
    name: sign
    for name, _, sign in (
        pair.partition("=")
        for pair in (
            "alpha=α beta=β gamma=γ delta=δ epsilon=ε varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ "
            "nu=ν xi=ξ pi=π rho=ρ sigma=σ tau=τ upsilon=υ phi=φ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ "
            "Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω times=× cdot=· ast=* div=÷ pm=± mp=∓ le=≤ leq=≤ leqslant=≤ ge=≥ geq=≥ "
            "geqslant=≥ ne=≠ neq=≠ approx=≈ equiv=≡ sim=∼ simeq=≃ cong=≅ propto=∝ ll=≪ gg=≫ infty=∞ partial=∂ nabla=∇ sum=∑ prod=∏ "
            "int=∫ oint=∮ in=∈ notin=∉ ni=∋ subset=⊂ subseteq=⊆ supset=⊃ supseteq=⊇ cup=∪ cap=∩ setminus=∖ emptyset=∅ "
            "varnothing=∅ forall=∀ exists=∃ neg=¬ lnot=¬ land=∧ wedge=∧ lor=∨ vee=∨ to=→ rightarrow=→ leftarrow=← "
            "leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ iff=⇔ implies=⇒ mapsto=↦ uparrow=↑ downarrow=↓ "
            "ldots=… cdots=… dots=… vdots=⋮ ddots=⋱ circ=° degree=° prime=′ angle=∠ perp=⊥ parallel=∥ mid=| star=⋆ bullet=• oplus=⊕ "
            "otimes=⊗ langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ hbar=ℏ ell=ℓ Re=ℜ Im=ℑ aleph=ℵ top=⊤ bot=⊥ dagger=† "
            "ddagger=‡ checkmark=✓ boxtimes=☒ boxplus=⊞ ballotx=✗ square=□ blacksquare=■ micro=µ celsius=°C percent=% lvert=| rvert=| vert=| lVert=‖ rVert=‖ Vert=‖"
        ).split()
    )
}
"""What commands without arguments show."""
_SPACED = frozenset("=≠≤≥<>≈≡∼≃≅∝≪≫±∓×÷→←↔⇒⇐⇔↦∈∉⊂⊆⊃⊇∪∩∧∨")
_SPACES = frozenset(
    (",", ";", ":", " ", "quad", "qquad", "space", "thinspace", "medspace", "enspace", "hspace*", "newline")
)
_KEPT = frozenset(
    "text textrm textbf textit mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr operatorname operatorname* "
    "boldsymbol bm mbox hbox hat bar vec tilde overline underline dot ddot widehat widetilde overbrace underbrace boxed "
    "mathop ce SI si unit mathord mathrel".split()
)
_DROPPED = frozenset(
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr limits nolimits displaystyle textstyle scriptstyle rm bf it "
    "! nonumber notag middle phantom hfill centering".split()
)
_SKIPPED = frozenset(
    ("label", "begin", "end", "tag", "tag*", "color", "hspace", "vspace", "phantom", "vphantom", "hphantom")
)
_SPACE = re.compile(r"\s+")
_ROWS = re.compile(r"\s*;\s*(?:;\s*)*")


def plain_formula(source: str) -> str:
    """A formula on one line; rows of a matrix or an alignment stand between semicolons."""
    text = _Formula(_TOKEN.findall(source)).whole()
    return _ROWS.sub("; ", _SPACE.sub(" ", text)).strip(" ;")


class _Formula:
    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def whole(self) -> str:
        parts: list[str] = []
        while self._at < len(self._tokens):
            parts.append(self._row(0))
            self._at += 1  # a bracket that closes none
        return "".join(parts)

    def _row(self, depth: int) -> str:
        """What stands up to the bracket that closes the group, which is not taken."""
        parts: list[str] = []
        while self._at < len(self._tokens) and self._tokens[self._at] != "}":
            part = self._tokens[self._at]
            if part in ("^", "_"):
                parts.append(self._scripts(parts.pop() if parts else "", depth))
            else:
                parts.append(self._one(depth))
        return "".join(parts)

    def _scripts(self, base: str, depth: int) -> str:
        """A base with what is raised and lowered beside it."""
        found = {"^": "", "_": ""}
        while self._at < len(self._tokens) and self._tokens[self._at] in found and not found[self._tokens[self._at]]:
            kind = self._tokens[self._at]
            self._at += 1
            found[kind] = self._argument(depth) or " "
        if found["^"].strip() == "°":
            return f"{base}°"
        return scripts(base.rstrip(), found["_"].strip(), found["^"].strip())

    def _argument(self, depth: int) -> str:
        while self._at < len(self._tokens) and not self._tokens[self._at].strip():
            self._at += 1
        if self._at >= len(self._tokens) or self._tokens[self._at] == "}":
            return ""
        return self._one(depth).strip()

    def _one(self, depth: int) -> str:
        """One sign, group or command with its arguments."""
        part = self._tokens[self._at]
        self._at += 1
        if part == "{":
            if depth >= _MAX_DEPTH:
                return ""
            inner = self._row(depth + 1)
            self._at += 1
            return inner
        if part.startswith("\\") and len(part) > 1:
            return self._command(part[1:], depth)
        if part == "&":
            return ", "
        if part == "~":
            return " "
        if part == "'":
            return "′"
        if part in ("-", "+"):
            return f" {part} " if self._between() else part
        return f" {part} " if part in _SPACED else part

    def _between(self) -> bool:
        """Whether a sign that was just taken stands between spaces in the source."""
        return self._at >= 2 and not self._tokens[self._at - 2].strip()

    def _command(self, name: str, depth: int) -> str:
        if name in _SIGNS:
            sign = _SIGNS[name]
            return f" {sign} " if sign in _SPACED else sign
        if depth < _MAX_DEPTH and name in _TAKEN:
            return _TAKEN[name](self, depth + 1)
        if len(name) == 1 and not name.isalpha():
            return _ESCAPED.get(name, " ")
        return f" {name} "

    def _fraction(self, depth: int) -> str:
        return over(self._argument(depth), self._argument(depth))

    def _root(self, depth: int) -> str:
        return f"{self._option()}√({self._argument(depth)})"

    def _choice(self, depth: int) -> str:
        return f"C({self._argument(depth)}, {self._argument(depth)})"

    def _unseen(self, depth: int) -> str:
        self._option()
        self._argument(depth)
        return " "

    def _row_end(self, _: int) -> str:
        self._option()
        return "; "

    def _option(self) -> str:
        """An optional argument in square brackets; ``""`` without one, or where it has no end nearby."""
        if self._at < len(self._tokens) and self._tokens[self._at] == "[":
            for end in range(self._at + 1, min(self._at + 60, len(self._tokens))):
                if self._tokens[end] == "]":
                    inner = "".join(self._tokens[self._at + 1 : end])
                    self._at = end + 1
                    return inner
        return ""


_Take = Callable[[_Formula, int], str]
_TAKEN: Mapping[str, _Take] = {
    **dict.fromkeys(_KEPT, _Formula._argument),
    **dict.fromkeys(("frac", "dfrac", "tfrac", "cfrac", "nicefrac", "sfrac"), _Formula._fraction),
    **dict.fromkeys(("binom", "dbinom", "tbinom"), _Formula._choice),
    **dict.fromkeys(_SKIPPED, _Formula._unseen),
    **dict.fromkeys(_SPACES, lambda *_: " "),
    **dict.fromkeys(_DROPPED, lambda *_: ""),
    "sqrt": _Formula._root,
    "\\": _Formula._row_end,
}
_ESCAPED = {"|": "‖", **{sign: sign for sign in "{}%$#&_"}}
