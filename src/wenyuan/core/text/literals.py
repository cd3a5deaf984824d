"""Names in a query that are looked for letter by letter: part numbers, codes, addresses, file names, a query of one word.

An encoder knows nothing of ``zq2x139k``, and analysis into terms loses what stands between letters and digits. Where a
passage has the name as it was written, the question is about something that is there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from wenyuan.core.text.folding import CJK, fold, has_han
from wenyuan.core.text.numbers import located

_LETTER = rf"[^\W_{CJK}]"
_CODE = re.compile(rf"{_LETTER}+(?:[._\-/@:#+·*×]+{_LETTER}+)*")
_ONLY_LETTER, _LETTER_OR_LINE = rf"[^\W\d_{CJK}]", rf"[^\W{CJK}]"
_JOINS = frozenset("._-/")
_CODE_LIKE = re.compile(rf"(?<!{_LETTER}){_ONLY_LETTER}{_LETTER_OR_LINE}*(?:[.\-/]+{_LETTER_OR_LINE}+)*")
_RUN = re.compile(rf"{_ONLY_LETTER}+|\d+")
CODED = re.compile(r"[\d@_]")
"""What a name has that is no plain word."""
_NUMBER = re.compile(r"(?<![a-z\d.,$£€¥#/:_-])(?<!\d )\d{4,8}(?![.,/: -]?\d|[%_]|-?[a-z])")
_YEARS = range(1_000, 2_200)
_LEAST = 6  # characters of a code among other words
_MOST, _MOST_HAN, _MOST_WORDS = 64, 10, 3  # of a query that is looked for as a whole: characters, words
_NAME = re.compile(rf"(?<!{_LETTER})(?<![_.@/-]){_ONLY_LETTER}{{2,40}}(?!{_LETTER}|[_@/]|-\d|\.{_LETTER})")
_NO_NAME = re.compile("OK|TV|FAQ|PDF|URL")
_ENDS = '.?!:。？！："“(（'
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣－", "-"))
_AROUND = " \t\r\n?？!！。，,;；:：.\"'“”‘’「」『』《》〈〉()（）[]【】`"


def bare_name(query: str) -> str:
    """The query, as it is compared, if it is one name: one word, or three with a digit (of Chinese, ten characters); else ``""``."""
    whole = _comparable(query).strip(_AROUND)
    words = len(whole.split())
    short = 0 < len(whole) <= (_MOST_HAN if has_han(whole) else _MOST)
    named = words == 1 or (words <= _MOST_WORDS and any(map(str.isdigit, whole)))
    return whole if short and named and any(map(str.isalnum, whole)) else ""


def literal_names(query: str) -> tuple[str, ...]:
    """The names in a query, in the form in which they are compared.

    Those are the whole query where it is one (see `bare_name`); and codes of letters and digits, or with ``@`` or ``_``, among
    other words.
    """
    whole = bare_name(query)
    found = [whole] if whole else []
    for match in _CODE.finditer(_comparable(query)):
        code = match[0]
        digit, letter = any(map(str.isdigit, code)), any(map(str.isalpha, code))
        if len(code) >= _LEAST and ((digit and letter) or "@" in code or "_" in code):
            found.append(code)
    return tuple(dict.fromkeys(found))


def codes(query: str) -> tuple[str, ...]:
    """The codes that a query names, in the form in which they are compared: ``k-23``, ``lx-1030``, ``p4``, ``cache.ttl_s``, ``40030``.

    A code begins with a letter and has a digit, an underscore, or a point between two words; one of letters and digits alone has
    a capital. A number is one, too, if it has four digits or more and is no quantity, year or round sum.
    """
    found = list(_numbers(_comparable(query)))
    for match in _CODE_LIKE.finditer(unicodedata.normalize("NFKC", query).translate(_DASHES)):
        code = match[0]
        joined = any(map(_JOINS.__contains__, code))
        coded = (
            any(map(str.isdigit, code)) or "_" in code or min(map(len, code.split("."))) > 1 < len(code.split("."))
        )
        if coded and (joined or any(map(str.isupper, code))):
            found.append(_comparable(code))
    return tuple(dict.fromkeys(found))


def _numbers(text: str) -> Iterator[str]:
    """Numbers that count nothing: of an error, a form, a standard."""
    spans = [(begin, end) for _, begin, end in located(text)] if _NUMBER.search(text) else []
    for match in _NUMBER.finditer(text):
        value = int(match[0])
        is_sum = value % 100 == 0 or (value < 10_000 and value % 10 == 0)
        counts = any(begin < match.end() and match.start() < end for begin, end in spans)
        if not (is_sum or counts or value in _YEARS):
            yield match[0]


def parts_of(code: str) -> list[str]:
    """The runs of letters and of digits of a code."""
    return _RUN.findall(code)


def proper_names(query: str) -> tuple[str, ...]:
    """The words that a query writes as names: with a capital that does not begin a sentence, ``Perth``, ``gRPC``; in a Chinese
    question any Latin word with a capital. None where most words have one; no codes (see `codes`).
    """
    query = unicodedata.normalize("NFKC", query)
    words = list(_NAME.finditer(query))
    capital = [match for match in words if match[0][0].isupper()]
    if not has_han(query) and 2 * len(capital) > len(words):
        return ()
    found = (match[0] for match in words if _NO_NAME.fullmatch(match[0]) is None and _is_name(match, query))
    return tuple(dict.fromkeys(found))


def _is_name(match: re.Match[str], query: str) -> bool:
    capitals = sum(map(str.isupper, match[0]))
    before = query[: match.start()].rstrip()
    begins = not before or before[-1] in _ENDS
    return capitals > 1 or (capitals == 1 and match[0][0].isupper() and not begins)


def may_stand_in(code: str, text: str) -> bool:
    """Whether a text has a code, however its letters and digits are joined: ``k-23`` as K23, ``iphone15`` as iPhone 15."""
    runs = r"[\W_]?".join(map(re.escape, parts_of(code)))
    return re.search(rf"(?<!{_LETTER}){runs}(?!{_LETTER})", _comparable(text)) is not None


def stands_in(name: str, text: str) -> bool:
    """Whether a text has a name (see `literal_names`), not as a part of a longer Latin word or number."""
    text = _comparable(text)
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (_joined(text[at - 1 : at], name[0]) or _joined(name[-1], text[end : end + 1])):
            return True
        at = text.find(name, at + 1)
    return False


def _joined(one: str, other: str) -> bool:
    """Whether two neighbouring characters are of one word."""
    return bool(re.fullmatch(_LETTER, one) and re.fullmatch(_LETTER, other))


def _comparable(text: str) -> str:
    return " ".join(fold(text).translate(_DASHES).split())
