"""Conditions and relations as people read them: ``depth_m >= 5.0`` → ``开挖深度 ≥ 5 m``, ``excavation depth ≥ 5 m``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.expressions import ExpressionToken, tokens_of
from wenyuan.core.rules.schema import Parameter, Schema, label_in

_LANGUAGES = ("zh", "en")
_SIGNS = {">=": "≥", "<=": "≤", "==": "=", "!=": "≠", "*": "×", "/": "÷", ">": ">", "<": "<", "+": "+", "-": "-"}
_COMPARED = (">=", "<=", "==", "!=", ">", "<")
_JOINTS = ("&&", "||", None)  # beside a comparison of a parameter with a number, where the number has its unit
_WORDS: Mapping[str, Mapping[str, str]] = {
    "zh": {
        "&&": "且", "||": "或", "!": "并非", "(": "（", ")": "）", ",": "、", "in": "属于", "true": "是", "false": "否",
        "contains": "包含", "startsWith": "开头为", "endsWith": "结尾为",
    },
    "en": {
        "&&": "and", "||": "or", "!": "not ", ",": ", ", "in": "is one of", "true": "yes", "false": "no",
        "contains": "contains", "startsWith": "begins with", "endsWith": "ends with",
    },
}  # fmt: skip
_UNITS: Mapping[str, tuple[str, str]] = {
    "d": ("天", "days"), "wk": ("周", "weeks"), "mo": ("个月", "months"), "a": ("年", "years"), "h": ("小时", "hours"),
    "min": ("分钟", "minutes"), "s": ("秒", "seconds"), "CNY": ("元", "CNY"),
}  # fmt: skip
_TIGHT_BEFORE = frozenset(")],（）、")


def condition_label(written: str, parameters: Mapping[str, Parameter], language: str) -> str:
    """A condition for people: labels for parameters, typographic operators, units behind numbers.

    What has no label stays as it is written, and so does what stands between quotes, and what is no condition.
    """
    try:
        tokens = tuple(tokens_of(written))
    except InvalidRequest:
        return written
    return _Reading(tokens, parameters, _main(language)).text()


def condition_labels(written: str, parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """`condition_label` by language; empty without a condition."""
    return {tag: condition_label(written, parameters, tag) for tag in _LANGUAGES} if written else {}


def joined_conditions(written: Iterable[str], parameters: Mapping[str, Parameter], language: str) -> str:
    """A conjunction of several conditions without duplicates; ``""`` for none."""
    labels = (condition_label(one, parameters, language) for one in written if one)
    return ("；" if _main(language) == "zh" else "; ").join(dict.fromkeys(labels))


def relation_label(schema: Schema, relation: str, language: str) -> str:
    """The label of a relation in a language; its id if the schema does not have it."""
    known = schema.relations.get(relation)
    return label_in(known.labels, language, relation) if known else relation


def relation_labels(schema: Schema, relation: str) -> dict[str, str]:
    """`relation_label` by language."""
    return {tag: relation_label(schema, relation, tag) for tag in _LANGUAGES}


def kind_labels(schema: Schema, kind: str) -> dict[str, str]:
    """The label of a kind of nodes by language; its id if the schema does not have it."""
    known = schema.kinds.get(kind)
    return {tag: label_in(known.labels, tag, kind) if known else kind for tag in _LANGUAGES}


def _main(language: str) -> str:
    return "zh" if language.split("-", maxsplit=1)[0] == "zh" else "en"


class _Reading:
    """The conversion of one condition to its label."""

    def __init__(self, tokens: Sequence[ExpressionToken], parameters: Mapping[str, Parameter], language: str) -> None:
        self._tokens = tokens
        self._parameters = parameters
        self._language = language
        self._words = _WORDS[language]
        self._at = 0

    def text(self) -> str:
        """The whole label, with spaces where needed."""
        said, tight = "", True
        while self._at < len(self._tokens):
            prefix = self._seen(0) in ("!", "(", "[")
            piece = self._next()
            said += piece if tight or piece[:1] in _TIGHT_BEFORE else f" {piece}"
            tight = prefix or piece.endswith((" ", "、", "）"))
        return said

    def _seen(self, ahead: int) -> str | None:
        """The text of a following or preceding token; None outside."""
        at = self._at + ahead
        return self._tokens[at].text if 0 <= at < len(self._tokens) else None

    def _next(self) -> str:
        token = self._tokens[self._at]
        if token.kind == "name":
            return self._name(token.text)
        if token.kind == "number":
            return self._take(1, self._measured(token.text))
        if token.text == "." and (word := self._words.get(self._seen(1) or "")):  # contains('x')
            value = self._seen(3) or ""
            return self._take(5, f"{word} {value}")
        if token.text == "-" and (self._seen(-1) in (*_COMPARED, *_JOINTS, "(", "[", ",")):
            return self._take(2, f"-{self._measured(self._seen(1) or '', behind=2)}")
        return self._take(1, self._words.get(token.text, _SIGNS.get(token.text, token.text)))

    def _take(self, count: int, said: str) -> str:
        self._at += count
        return said

    def _name(self, name: str) -> str:
        if self._seen(1) == "(" and self._seen(3) == ")" and name not in self._words:  # double(floors)
            return self._take(4, self._label(self._seen(2) or ""))
        if name in self._words:
            return self._take(1, self._words[name])
        label, sign, value = self._label(name), self._seen(1), self._seen(2)
        if sign in ("==", "!=") and value in ("true", "false"):
            holds = (sign == "==") == (value == "true")
            return self._take(3, label if holds else f"{self._words['!']}{label}")
        return self._take(1, label)

    def _label(self, name: str) -> str:
        parameter = self._parameters.get(name)
        return label_in(parameter.labels, self._language, name) if parameter else name

    def _measured(self, number: str, *, behind: int = 1) -> str:
        """A number without needless decimals, with the unit of the parameter that it alone is compared with."""
        plain = number.rstrip("0").rstrip(".") if "." in number and "e" not in number.lower() else number
        compared = self._seen(-1) in _COMPARED and self._seen(-3) in (*_JOINTS, "(", "!")
        ends = self._seen(behind) in (*_JOINTS, ")")
        parameter = self._parameters.get(self._seen(-2) or "")
        if not compared or not ends or parameter is None or not parameter.unit:
            return plain
        unit = _UNITS.get(parameter.unit, (parameter.unit, parameter.unit))
        return f"{plain} {unit[self._language == 'en']}"
