"""What changed between two versions of a text: clause by clause, with the words that went and came."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

_WORD = re.compile(r"[^\W\u3400-\u9fff]+|\s+|.", re.DOTALL)
_MOST_WORDS = (
    800  # compared word by word; of more, what stands between the first and the last difference is told whole
)

PieceKind = Literal["same", "out", "in"]


class TextPart(NamedTuple):
    """A clause or section: where it stands, and its text."""

    place: str
    text: str


class WordRun(NamedTuple):
    """A run of words that stayed (``same``), went (``out``) or came (``in``)."""

    kind: PieceKind
    text: str


class PartChange(NamedTuple):
    """A part that came (``added``), went (``removed``) or reads otherwise (``changed``)."""

    kind: Literal["added", "removed", "changed"]
    place: str
    pieces: tuple[WordRun, ...]


def changes(before: Sequence[TextPart], after: Sequence[TextPart]) -> list[PartChange]:
    """What changed, in the order of the text after, what was removed last.

    Parts with the same text are the same, wherever they stand; of the others those at one place are compared. Takes time
    in proportion to the texts.
    """
    stayed = Counter(part.text for part in before) & Counter(part.text for part in after)
    old: dict[str, deque[str]] = defaultdict(deque)
    for part in _without(before, stayed):
        old[part.place].append(part.text)
    found = []
    for part in _without(after, stayed):
        waiting = old.get(part.place)
        if waiting:
            found.append(PartChange("changed", part.place, pieces_between(waiting.popleft(), part.text)))
        else:
            found.append(PartChange("added", part.place, (WordRun("in", part.text),)))
    gone = [(place, text) for place, texts in old.items() for text in texts]
    return found + [PartChange("removed", place, (WordRun("out", text),)) for place, text in gone]


def _without(parts: Sequence[TextPart], stayed: Counter[str]) -> Iterator[TextPart]:
    left = Counter(stayed)
    for part in parts:
        if left[part.text]:
            left[part.text] -= 1
        else:
            yield part


def pieces_between(before: str, after: str) -> tuple[WordRun, ...]:
    """A text after a change, with the words that went and came."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    head = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    room = min(len(old), len(new)) - head
    tail = next((at for at in range(room) if old[-1 - at] != new[-1 - at]), room)
    cut_old, cut_new = old[head : len(old) - tail], new[head : len(new) - tail]
    pieces = [
        WordRun("same", "".join(old[:head])),
        *_middle(cut_old, cut_new),
        WordRun("same", "".join(old[len(old) - tail :])),
    ]
    return tuple(piece for piece in pieces if piece.text)


def _middle(old: list[str], new: list[str]) -> Iterator[WordRun]:
    if max(len(old), len(new)) > _MOST_WORDS:
        yield from (WordRun("out", "".join(old)), WordRun("in", "".join(new)))
        return
    for what, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if what == "equal":
            yield WordRun("same", "".join(old[a:b]))
        else:
            yield from (WordRun("out", "".join(old[a:b])), WordRun("in", "".join(new[c:d])))
