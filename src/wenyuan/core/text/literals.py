"""Names in a query that are looked for letter by letter: part numbers, codes, addresses, file names, a query of one word.

An encoder knows nothing of ``zq2x139k``, and analysis into terms loses what stands between letters and digits. Where a
passage has the name as it was written, the question is about something that is there.
"""

from __future__ import annotations

import re

from wenyuan.core.text import CJK, fold, has_han

_LETTER = rf"[^\W_{CJK}]"
_CODE = re.compile(rf"{_LETTER}+(?:[._\-/@:#+·*×]+{_LETTER}+)*")
CODED = re.compile(r"[\d@_]")
"""What a name has that is no plain word."""
_LEAST = 6  # characters of a code among other words
_MOST, _MOST_HAN, _MOST_WORDS = 64, 10, 3  # of a query that is looked for as a whole: characters, words
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣－", "-"))
_AROUND = " \t\r\n?？!！。，,;；:：.\"'“”‘’「」『』《》〈〉()（）[]【】`"


def literal_names(query: str) -> tuple[str, ...]:
    """The names in a query, in the form in which they are compared.

    Those are the whole query where it is one word, or three with a digit (of Chinese, ten characters); and codes of letters and digits, or with ``@``
    or ``_``, among other words.
    """
    text = _comparable(query)
    whole = text.strip(_AROUND)
    found = []
    words = len(whole.split())
    short = 0 < len(whole) <= (_MOST_HAN if has_han(whole) else _MOST)
    named = words == 1 or (words <= _MOST_WORDS and any(map(str.isdigit, whole)))
    if short and named and any(map(str.isalnum, whole)):
        found.append(whole)
    for match in _CODE.finditer(text):
        code = match[0]
        digit, letter = any(map(str.isdigit, code)), any(map(str.isalpha, code))
        if len(code) >= _LEAST and ((digit and letter) or "@" in code or "_" in code):
            found.append(code)
    return tuple(dict.fromkeys(found))


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
