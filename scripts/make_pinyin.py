"""Write how Chinese characters are spelt in Latin letters: core/redaction/pinyin.txt.

    python scripts/make_pinyin.py TABLE

TABLE is ``pypinyin/pinyin_dict.json`` of the package "pypinyin" (NOTICE names its licence): for the number of a character its readings, parted by
commas, the most frequent first. The characters of GB 2312 are kept, with two readings each; surnames have all of theirs.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import defaultdict
from pathlib import Path

from wenyuan.core.redaction import romanization
from wenyuan.core.redaction.names import SINGLE

_READINGS = 2


def main(table: str) -> None:
    characters: dict[str, str] = defaultdict(str)
    for number, readings in sorted(json.loads(Path(table).read_text("utf-8")).items(), key=lambda item: int(item[0])):
        character = chr(int(number))
        if not _is_frequent(character):
            continue
        spelt = dict.fromkeys(map(_plain, readings.split(",")))
        for syllable in list(spelt)[: None if character in SINGLE else _READINGS]:
            characters[syllable] += character
    path = Path(romanization.__file__).with_name(romanization.FILE)
    path.write_text("".join(f"{syllable} {characters[syllable]}\n" for syllable in sorted(characters)), "utf-8")
    print(f"{path.name}: {sum(map(len, characters.values())):,} readings, {path.stat().st_size:,} bytes")


def _is_frequent(character: str) -> bool:
    try:
        return len(character.encode("gb2312")) == 2
    except UnicodeEncodeError:
        return False


def _plain(reading: str) -> str:
    """A syllable without its tone, ü as v."""
    apart = unicodedata.normalize("NFD", reading).replace("u\u0308", "v")
    return "".join(c for c in apart if c.isascii())


if __name__ == "__main__":
    main(*sys.argv[1:])
