"""Terms of use and validity: how much may be quoted, and which documents are in force on a day."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.text.folding import fold

# What a source's owner lets us quote, in a form that a machine can keep to.
#
# Written short, parts separated by ``;``: a verdict (``allow``, ``deny``), limits (``excerpt<=200`` characters,
# ``share<=0.1`` or ``share<=10%`` of a document), a licence (``CC-BY-4.0``) and ``holder=…``, ``licence=…``,
# ``attribution=…``. Chinese words (``摘录<=200；占比<=10%``, ``禁止``) and full-width forms mean the same.
# A licence or ``© holder`` alone allows excerpts; "all rights reserved" does not say, and is refused.


Excerpt = Literal["allow", "limit", "deny"]
_VERDICTS: tuple[str, ...] = get_args(Excerpt)
_TEXTS = ("holder", "licence", "attribution")
_FIELDS = ("holder", "licence", "excerpt", "max_chars_per_excerpt", "max_share_of_document", "attribution")
_LIMITS = {"excerpt": "max_chars_per_excerpt", "share": "max_share_of_document"}
_SAME = {
    "允许": "allow", "允许摘录": "allow", "可摘录": "allow", "禁止": "deny", "禁止摘录": "deny", "不可摘录": "deny",
    "不得摘录": "deny", "限制": "limit", "摘录": "excerpt", "占比": "share", "比例": "share", "版权人": "holder",
    "著作权人": "holder", "许可": "licence", "许可证": "licence", "license": "licence", "署名": "attribution",
}  # fmt: skip
_WORDS = ("allow", "deny", "limit", "excerpt<=200", "share<=0.1", *_TEXTS)
_PART = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^;；])+')
_ASSIGNED = re.compile(r"\s*([^<>=≤:：＜＞＝]+?)\s*([<＜][=＝]?|[>＞][=＝]?|≤|[=＝]|[:：])\s*(.+?)\s*", re.DOTALL)
_LICENCE = re.compile(
    r"CC0(?:-1\.0)?|CC[ -]BY(?:[ -](?:NC|ND|SA))*(?:[ -][1-4]\.[0-9](?:[ -][A-Z]{2,3})?)?|MIT|ISC|Unlicense|Zlib"
    r"|WTFPL|public domain|公有领域|公共领域"
    r"|(?!excerpt|share)[A-Z][A-Z+]*(?:-[A-Z0-9.+]+)*-[0-9][A-Z0-9.+\-]*",
    re.IGNORECASE | re.ASCII,
)
_OWNER = re.compile(r"(?:©|\(c\)|copyright)[\s:：©]*(?:\(c\))?\s*(.+)", re.IGNORECASE | re.DOTALL)
_RESERVED = re.compile(r"all rights reserved|版权所有|保留所有权利|保留一切权利")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copyright:
    """The copyright terms of a source.

    Attributes:
        excerpt: ``allow``; ``limit``, with at least one of the two bounds; ``deny``: title and address only.
        max_chars_per_excerpt: Characters of one document that one excerpt, in sum, may hold (at least 1).
        max_share_of_document: Share of one document that one excerpt, in sum, may hold (above 0, at most 1).
        attribution: Text required beside an excerpt.

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    holder: str = ""
    licence: str = ""
    excerpt: Excerpt = "allow"
    max_chars_per_excerpt: int | None = None
    max_share_of_document: float | None = None
    attribution: str = ""

    def __post_init__(self) -> None:
        _refuse(_contradictions({name: getattr(self, name) for name in _FIELDS}))

    @property
    def credit(self) -> str:
        """The attribution, or what stands for it: ``© holder, licence``."""
        owner = f"© {self.holder}" if self.holder else ""
        return self.attribution or ", ".join(part for part in (owner, self.licence) if part)

    def room(self, document_chars: int) -> int | None:
        """How many characters of a document of that length may be quoted in total; None: no limit."""
        if self.excerpt == "deny":
            return 0
        rooms = [self.max_chars_per_excerpt] if self.max_chars_per_excerpt is not None else []
        if self.max_share_of_document is not None:
            rooms.append(math.floor(self.max_share_of_document * document_chars))
        return min(rooms, default=None)

    def to_mapping(self) -> dict[str, Any]:
        """Its non-default fields by name; the inverse of `parse_copyright`."""
        told = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in told.items() if value not in ("", None)}

    def short(self) -> str:
        """Its canonical short form; `parse_copyright` reads it back."""
        parts: list[str] = [self.excerpt] if self.excerpt != "limit" else []
        if self.max_chars_per_excerpt is not None:
            parts.append(f"excerpt<={self.max_chars_per_excerpt}")
        if self.max_share_of_document is not None:
            parts.append(f"share<={self.max_share_of_document!r}")
        if self.licence and self.excerpt == "allow" and _speaks_for_itself(self.licence):
            parts = [self.licence]
        elif self.licence:
            parts.append(f"licence={_quoted(self.licence)}")
        parts += [f"{name}={_quoted(value)}" for name in ("holder", "attribution") if (value := getattr(self, name))]
        return "; ".join(parts)


def parse_copyright(value: str | Mapping[str, Any] | None) -> Copyright:
    """Parse terms in short form or as fields; None and ``""`` allow excerpts.

    Raises:
        InvalidRequest: listing every fault, with what may have been meant.
    """
    if isinstance(value, Copyright):
        return value
    if value is None or isinstance(value, str):
        fields, faults = _from_text(value or "")
    elif isinstance(value, Mapping):
        fields, faults = _from_mapping(value)
    else:
        fields, faults = {}, [Fault("copyright", "must be a string or an object")]
    limited = any(fields.get(name) is not None for name in _LIMITS.values())
    if limited and "excerpt" not in fields:
        fields["excerpt"] = "limit"
    named = {fault.path for fault in faults}
    _refuse(faults + [fault for fault in _contradictions(fields) if fault.path not in named])
    return Copyright(**fields)


def _refuse(faults: list[Fault]) -> None:
    if faults:
        message = listed(faults)
        raise InvalidRequest(message, faults=tuple(faults))


def _contradictions(fields: Mapping[str, Any]) -> list[Fault]:
    """Faults of single fields and between fields."""
    faults = []
    for name in _TEXTS:
        if not isinstance(fields.get(name, ""), str):
            faults.append(Fault(f"copyright.{name}", "must be text"))
    chars, share = (fields.get(name) for name in _LIMITS.values())
    if chars is not None and (type(chars) is not int or chars < 1):
        faults.append(Fault("copyright.max_chars_per_excerpt", "must be an integer, at least 1; to give none: deny"))
    if share is not None and (type(share) not in (int, float) or not 0 < share <= 1):
        faults.append(Fault("copyright.max_share_of_document", "must be a number above 0, at most 1"))
    excerpt = fields.get("excerpt", "allow")
    if excerpt not in _VERDICTS:
        hint = did_you_mean(str(excerpt), _VERDICTS)
        faults.append(
            Fault(
                "copyright.excerpt",
                msg("must be allow, limit or deny, not {excerpt}{near}", excerpt=repr(excerpt), near=hint),
            )
        )
    elif excerpt == "limit" and chars is None and share is None:
        faults.append(Fault("copyright.excerpt", "is limit, but no limit is given: excerpt<=200, share<=0.1 or both"))
    elif excerpt != "limit" and (chars is not None or share is not None):
        faults.append(Fault("copyright.excerpt", msg("is {excerpt}, but a limit is given too", excerpt=excerpt)))
    return faults


def _from_mapping(value: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    fields: dict[str, Any] = {}
    faults = []
    for key, given in value.items():
        name = _word(str(key))
        if name not in _FIELDS:
            faults.append(Fault(f"copyright.{key}", msg("is no field{near}", near=did_you_mean(str(key), _FIELDS))))
        elif given is not None:
            fields[name] = _word(given) if name == "excerpt" and isinstance(given, str) else given
    return fields, faults


def _from_text(text: str) -> tuple[dict[str, Any], list[Fault]]:
    fields: dict[str, Any] = {}
    faults: list[Fault] = []
    for part in (match[0].strip() for match in _PART.finditer(text)):
        if not part:
            continue
        try:
            name, value = _part(part)
        except ValueError as error:
            faults.append(Fault("copyright", msg("{place} {fault}", place=repr(part), fault=error)))
            continue
        if name in fields and fields[name] != value:
            faults.append(
                Fault(
                    "copyright",
                    msg("{part} contradicts {name} {fields}", part=repr(part), name=name, fields=repr(fields[name])),
                )
            )
        fields[name] = value
    return fields, faults


def _part(part: str) -> tuple[str, Any]:
    """Field and value of one part of the short form; ValueError says what is wrong."""
    word = _word(part)
    if word in _VERDICTS:
        return "excerpt", word
    assigned = _ASSIGNED.fullmatch(part)
    name = _word(assigned[1]) if assigned else ""
    if assigned and name in _TEXTS and _narrow(assigned[2]) in "=:":
        return name, _unquoted(assigned[3])
    if assigned and name in _LIMITS:
        return _limit(name, _narrow(assigned[2]), _narrow(assigned[3]))
    if _RESERVED.search(word):
        raise ValueError("does not say whether excerpts may be given: write deny, excerpt<=200 or allow")
    owner = _OWNER.fullmatch(part)
    if owner:
        return "holder", owner[1].strip()
    if _LICENCE.fullmatch(_narrow(part)):
        return "licence", _narrow(part)
    hint = did_you_mean(name, (*_LIMITS, *_TEXTS)) if name else did_you_mean(word, _WORDS)
    raise ValueError(msg("is no copyright rule{hint}", hint=hint or "; write licence=… or holder=… for a name"))


def _word(text: str) -> str:
    plain = fold(text).strip()
    return _SAME.get(plain, plain)


def _narrow(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _limit(name: str, sign: str, value: str) -> tuple[str, Any]:
    if name == "excerpt" and sign in "=:" and _word(value) in _VERDICTS:
        return name, _word(value)
    if sign not in ("<=", "≤"):
        raise ValueError(f"is no limit; did you mean '{name}<={value}'?")
    return _LIMITS[name], _number(name, value)


def _speaks_for_itself(licence: str) -> bool:
    try:
        return _part(licence) == ("licence", licence)
    except ValueError:
        return False


def _number(name: str, value: str) -> int | float:
    if name == "excerpt" and re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    if name == "share" and re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]+)?[ ]?%", value):
        return float(value[:-1]) / 100
    if name == "share" and re.fullmatch(r"[0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?", value):
        return float(value)
    kind = "a whole number of characters" if name == "excerpt" else "a number from 0 to 1, or a percentage"
    raise ValueError(f"needs {kind}, not {value!r}")


def _quoted(value: str) -> str:
    plain = value == value.strip() and not re.search(r'[;；"\x00-\x1f\x85\u2028\u2029]', value)
    return value if plain else json.dumps(value, ensure_ascii=False)


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError as error:
            raise ValueError("is not properly quoted") from error
    return value
