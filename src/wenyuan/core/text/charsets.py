"""The character sets that strangers may name: those that are decoded in linear time, and nothing else that Python has.

Python finds by a name also what is no character set (``zlib``, ``hex``), what reads escapes (``unicode_escape``), and
``punycode``, whose time grows with the cube of the length.
"""

from __future__ import annotations

import codecs

_LONGEST = 40  # characters of a label
_CHARSETS = frozenset(
    [
        *(f"iso8859-{number}" for number in range(1, 17) if number != 12),
        *(f"cp{number}" for number in (*range(1250, 1259), 437, 720, 737, 775, 850, 852, *range(855, 859))),
        *(f"cp{number}" for number in (*range(860, 867), 869, 874, 932, 949, 950, 1125)),
        *"ascii utf-8 utf-8-sig utf-7 utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be".split(),
        *"gb2312 gbk gb18030 hz big5 big5hkscs shift_jis shift_jis_2004 shift_jisx0213 euc_jp euc_jis_2004".split(),
        *"euc_jisx0213 iso2022_jp iso2022_jp_1 iso2022_jp_2 iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext".split(),
        *"euc_kr iso2022_kr johab koi8-r koi8-t koi8-u kz1048 ptcp154 tis-620".split(),
        *"mac-roman mac-cyrillic mac-greek mac-iceland mac-latin2 mac-turkish mac-croatian mac-romanian".split(),
    ]
)


def charset_of(label: str) -> str:
    """Python's name of a character set, by the label that a stranger gave; ``""`` for whatever else has that label."""
    if not 0 < len(label) <= _LONGEST or not label.isascii() or not label.isprintable():
        return ""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return ""
    return name if name in _CHARSETS else ""
