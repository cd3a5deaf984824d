"""Values that were erased at somebody's request and must not come back: known by keyed hashes, found in any text.

A value is kept as a hash with the library's key over its plain form (letters and digits, folded as redaction folds them), with
its length, and with twelve bits of a keyed hash of its first two characters, by which most of a text is passed over. So
what was erased is recognised without being kept. Whoever has the key and the hash of a short number can try all numbers.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from wenyuan.core.errors import Fault, InvalidRequest, listed, msg
from wenyuan.core.redaction.policy import ERASED_MARK
from wenyuan.core.text.folding import HAN

if TYPE_CHECKING:
    from wenyuan.core.redaction.text_view import TextView

_GAPS = re.compile(r"[\W_]+")
_LONG_GAP = re.compile(r"[\W_]{5,}|\n\s*\n|[,;!?，。；！？、|\t]|[^\W\d_]{3}\. ")
"""What parts two words so that they are no one value: a long gap, an empty line, a mark between clauses, the end of a sentence."""
_HAN = re.compile(f"[{HAN}]")
_LEAD = 2  # characters
_LEAD_BITS = 12
LONGEST, MOST = 200, 50
"""Characters of a value, and values of one erasure."""
_FEWEST_HAN, _FEWEST_LETTERS, _FEWEST_DIGITS = 2, 4, 5
_MOBILE = re.compile("1[3-9][0-9]{9}")
_PIECE = re.compile(r"[^/?#&;=\s]+")

_ESCAPED = re.compile(r"[\x00-\x20%/?#&;\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff]")
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ErasedValue:
    """A value, as it is kept.

    Attributes:
        digest: HMAC-SHA256 of the plain form, 64 hexadecimal digits.
        length: Characters of the plain form.
        lead: Twelve bits of an HMAC of its first two characters.
        stays: Whether it is one that stays, though a value that is erased is a part of it.
    """

    digest: str
    length: int
    lead: int
    stays: bool = False

    def described(self) -> dict[str, Any]:
        """As JSON."""
        return {"digest": self.digest, "length": self.length, "lead": self.lead, "stays": self.stays}


def plain_form(text: str) -> str:
    """Letters and digits of a value, folded: equal for all ways to write it."""
    from wenyuan.core.redaction.text_view import views_of  # its grammars are large, and most commands erase nothing

    return _GAPS.sub("", views_of(text)[0].lower)


def checked_values(values: Sequence[str], stays: Sequence[str] = ()) -> None:
    """Refuse values that would be found where nobody meant them.

    Raises:
        InvalidRequest: one is empty, too short or too long, or there are too many; all faults at once.
    """
    faults = [Fault("values", "must not be empty")] if not values else []
    if len(values) + len(stays) > MOST:
        faults.append(Fault("values", msg("has {count} values; at most {most}", count=len(values), most=MOST)))
    for name, told in (("values", values), ("except", stays)):
        for at, value in enumerate(told):
            plain = plain_form(value)
            han = len(_HAN.findall(plain))
            fewest = _FEWEST_DIGITS if plain.isdigit() else _FEWEST_LETTERS
            if not plain:
                faults.append(Fault(f"{name}[{at}]", "holds neither letters nor digits"))
            elif len(plain) > LONGEST:
                faults.append(Fault(f"{name}[{at}]", msg("has more than {most} characters", most=LONGEST)))
            elif not (han >= _FEWEST_HAN or (han and len(plain) >= _FEWEST_HAN + 1) or len(plain) >= fewest):
                told_short = "is too short: it would be found everywhere; give a name in full, or a longer number"
                faults.append(Fault(f"{name}[{at}]", told_short))
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))


def values_of(key: bytes, values: Iterable[str], *, stays: bool = False) -> tuple[ErasedValue, ...]:
    """Values as they are kept; a Chinese mobile number with the code of the country, too."""
    plain = {form for value in values if (form := plain_form(value))}
    plain |= {code + form for form in plain if _MOBILE.fullmatch(form) for code in ("86", "0086")}
    made = (ErasedValue(_digest(key, form), len(form), _lead(key, form[:_LEAD]), stays) for form in plain)
    return tuple(sorted(made, key=lambda one: one.digest))


def value_of(described: Mapping[str, Any]) -> ErasedValue:
    """Inverse of `ErasedValue.described`."""
    return ErasedValue(
        str(described["digest"]), int(described["length"]), int(described["lead"]), bool(described.get("stays"))
    )


def _digest(key: bytes, plain: str) -> str:
    return hmac.new(key, b"erased\0" + plain.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _lead(key: bytes, two: str) -> int:
    told = hmac.digest(key, b"lead\0" + two.encode("utf-8", "surrogatepass"), "sha256")
    return int.from_bytes(told[:2], "big") >> (16 - _LEAD_BITS)


class ErasedValues:
    """Finds erased values in texts, and takes them out. Safe to share between threads.

    Args:
        key: The library's.
    """

    def __init__(self, key: bytes, values: Iterable[ErasedValue] = ()) -> None:
        self.values = tuple(dict.fromkeys(values))
        self._key = key
        self._known = {one.digest: one.stays for one in self.values}
        self._lengths: dict[int, list[int]] = {}
        for one in self.values:
            lengths = self._lengths.setdefault(one.lead, [])
            if one.length not in lengths:
                lengths.append(one.length)
                lengths.sort(reverse=True)
        self._lengths_at = lru_cache(65_536)(self._lengths_of)

    def __bool__(self) -> bool:
        return any(not stays for stays in self._known.values())

    @property
    def fingerprint(self) -> str:
        """Differs whenever others would be found."""
        told = "".join(f"{digest}{stays}" for digest, stays in sorted(self._known.items()))
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def _lengths_of(self, two: str) -> Sequence[int]:
        return self._lengths.get(_lead(self._key, two), ())

    def find(self, text: str) -> list[Span]:
        """Where erased values stand in a text, in order, not overlapping."""
        if not text or not self:
            return []
        from wenyuan.core.redaction.text_view import views_of

        found = {span for view in views_of(text) for span in self._in_view(view)}
        return _united(found)

    def holds(self, text: str) -> bool:
        """Whether an erased value stands in a text, or in an address with its escapes undone."""
        return bool(self.find(text)) or ("%" in text and bool(self.find(unquote(text))))

    def masked(self, text: str) -> tuple[str, int]:
        """A text with a mark in the place of each erased value, and how many there were."""
        spans = self.find(text)
        for start, end in reversed(spans):
            text = text[:start] + ERASED_MARK + text[end:]
        if "%" not in text:
            return text, len(spans)
        count = len(spans)

        def piece(match: re.Match[str]) -> str:
            nonlocal count
            if "%" not in match[0]:
                return match[0]
            new, found = self.masked(unquote(match[0], errors="surrogateescape").replace("%", " "))
            count += found
            return _ESCAPED.sub(_escape, new) if found else match[0]

        return _PIECE.sub(piece, text), count

    def masked_value(self, value: Any) -> tuple[Any, int]:
        """A JSON value with its texts masked, names of members too, and how many values were taken out."""
        if isinstance(value, str):
            return self.masked(value)
        if isinstance(value, Mapping):
            made: dict[str, Any] = {}
            total = 0
            for name, item in value.items():
                (own, in_name), (new, inside) = self.masked(name), self.masked_value(item)
                while own in made:
                    own += "*"
                made[own] = new
                total += in_name + inside
            return made, total
        if isinstance(value, list):
            each = [self.masked_value(item) for item in value]
            return [new for new, _ in each], sum(count for _, count in each)
        return value, 0

    def _in_view(self, view: TextView) -> Iterator[Span]:
        lower = view.lower
        plain = _GAPS.sub("", lower)
        begins = [two for two in {plain[at : at + _LEAD] for at in range(len(plain) - 1)} if self._lengths_at(two)]
        if not begins:
            return
        kept = [at for at, c in enumerate(lower) if c.isalnum()]
        if len(kept) != len(plain):  # a character that one of both takes for a letter and the other not
            kept = [at for at, c in enumerate(lower) if not _GAPS.match(c)]
        stays: list[Span] = []
        found: list[Span] = []
        for two in begins:
            at = plain.find(two)
            while at >= 0:
                for length in self._lengths_at(two):
                    stay = (
                        self._known.get(_digest(self._key, plain[at : at + length]))
                        if at + length <= len(plain)
                        else None
                    )
                    if stay is None or not _whole(lower, kept[at], kept[at + length - 1] + 1):
                        continue
                    (stays if stay else found).append((kept[at], kept[at + length - 1] + 1))
                at = plain.find(two, at + 1)
        for start, end in found:
            if not any(first <= start and end <= last for first, last in stays):
                yield view.original(start, end)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape"))


def _whole(lower: str, start: int, end: int) -> bool:
    """Whether a value stands there as one, and not in a longer word or number."""
    before, after = lower[start - 1 : start], lower[end : end + 1]
    if _joined(before, lower[start]) or _joined(lower[end - 1], after):
        return False
    return not _LONG_GAP.search(lower, start, end)


def _joined(one: str, other: str) -> bool:
    """Whether two neighbours are of one word or of one number."""
    if not one or not other:
        return False
    letters = one.isalpha() and other.isalpha() and not _HAN.match(one) and not _HAN.match(other)
    return letters or (one.isdigit() and other.isdigit())


def _united(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that overlap as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
