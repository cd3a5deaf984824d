"""What the tests of tuning share: a library whose readers ask in other words than it answers in."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.model import Source

WORDS = 14
DOCUMENTS = 90
ENCODER = {"kind": "hashing", "dimension": 128}
_COUPLES = random.Random(1).sample(list(combinations(range(WORDS), 2)), DOCUMENTS)


def words_of(number: int) -> list[int]:
    """Two of the words, other ones for every document."""
    return list(_COUPLES[number])


def written(number: int) -> str:
    """As the house writes: a word of its own for everything."""
    return " ".join(f"formal{word}" for word in words_of(number))


def asked(number: int, end: str = "") -> str:
    """As people ask: other words for the same, in the same number; nothing but a map could know which is which."""
    return " ".join(f"slang{word}" for word in words_of(number)) + end


def write_house(folder: Path) -> Path:
    folder.mkdir()
    for number in range(DOCUMENTS):
        (folder / f"rule-{number:03}.md").write_text(written(number) + "\n", "utf-8")
    return folder


def new_house(folder: Path, **settings: Any) -> Any:
    """A library of these documents, with the hashing encoder and no floor: what is asked shares no word with it."""
    made = wenyuan.open(folder / "library", create=True, encoder=ENCODER, search={"floor": 0.0}, **settings)
    made.add(Source(source_id="house", path=str(write_house(folder / "house"))))
    return made


def golden(folder: Path, count: int = DOCUMENTS, *, shift: int = 0) -> list[QuestionAddress]:
    """Pairs of all questions; with a shift, each is answered by another's document: nothing can be learned."""
    uris = [f"file://{folder}/house/rule-{(number + shift) % DOCUMENTS:03}.md" for number in range(count)]
    return [QuestionAddress(question=asked(number), answer=uri) for number, uri in enumerate(uris)]
