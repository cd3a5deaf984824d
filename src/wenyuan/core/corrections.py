"""Applying people's corrections to passages, as pure functions from original to served passages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

from wenyuan.core.fidelity import part_of, together
from wenyuan.core.model import Corrected, NewPassage

CorrectionAction = Literal["exclude", "questions", "text", "split", "join", "heading"]
CORRECTION_ACTIONS: tuple[CorrectionAction, ...] = get_args(CorrectionAction)

_GAP = "\n"
"""Between two passages that are joined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """One correction of a passage. The passage is identified by its text, since ids change when the document is read
    again.

    Attributes:
        correction_id: 0 before it is stored.
        actor: Who made it.
        old: The text of the passage when it was corrected; ``""`` for the whole document, which can only be excluded. Of
            ``heading``, the heading.
        start: Its offset in the document: among passages with the same text the nearest one is corrected.
        following: Of ``join``, the text of the passage that it is joined with.
        new: Of ``text``, what it reads now; of ``heading``, too, ``""`` where it is none.
        at: Of ``split``, the offset in `old` where the second part begins.
        questions: Of ``questions``, what else it answers.
    """

    correction_id: int = 0
    action: CorrectionAction
    actor: str = ""
    old: str
    start: int = 0
    following: str = ""
    new: str = ""
    at: int = 0
    questions: tuple[str, ...] = ()


class CorrectedPassages(NamedTuple):
    """The passages to serve, and the ids of corrections whose text is no longer in the document."""

    passages: tuple[NewPassage, ...]
    lost: tuple[int, ...]


def corrected(passages: Iterable[NewPassage], corrections: Iterable[Correction]) -> CorrectedPassages:
    """Apply corrections in order to the original passages of a document.

    A correction applies to the passage with its text, or to a longer one that contains it; otherwise it is lost and
    changes nothing. Undoing a correction means applying the others.
    """
    served, lost = list(passages), []
    for correction in corrections:
        if not correction.old:
            served = []
            continue
        changed = _APPLY[correction.action](served, correction)
        if changed is None:
            lost.append(correction.correction_id)
        else:
            served = changed
    return CorrectedPassages(tuple(served), tuple(lost))


def _locate(served: Sequence[NewPassage], correction: Correction) -> tuple[int, int] | None:
    """Index of the passage for a correction and offset in it; an exact match is preferred to a longer passage."""
    held = [(n, at) for n, p in enumerate(served) if (at := p.text.find(correction.old)) >= 0]
    if not held:
        return None
    return min(
        held, key=lambda one: (served[one[0]].text != correction.old, abs(served[one[0]].start - correction.start))
    )


def _excluded(served: list[NewPassage], correction: Correction) -> list[NewPassage] | None:
    place = _locate(served, correction)
    if place is None:
        return None
    which, at = place
    passage = served[which]
    rest = [
        _cut_passage(passage, 0, at, correction),
        _cut_passage(passage, at + len(correction.old), len(passage.text), correction),
    ]
    return [*served[:which], *filter(None, rest), *served[which + 1 :]]


def _question_passages(served: list[NewPassage], correction: Correction) -> list[NewPassage] | None:
    place = _locate(served, correction)
    if place is None:
        return None
    passage = served[place[0]]
    told = passage.corrected or Corrected()
    questions = tuple(dict.fromkeys((*told.questions, *correction.questions)))
    told = replace(told, ids=(*told.ids, correction.correction_id), questions=questions)
    return [*served[: place[0]], replace(passage, corrected=told), *served[place[0] + 1 :]]


def _reworded(served: list[NewPassage], correction: Correction) -> list[NewPassage] | None:
    place = _locate(served, correction)
    if place is None:
        return None
    which, at = place
    passage, end = served[which], at + len(correction.old)
    text = passage.text[:at] + correction.new + passage.text[end:]
    before, after = part_of(passage.recognition, 0, at), part_of(passage.recognition, end, len(passage.text))
    # What a person has written is sure; of what stands around it the reading has the word.
    parts = [(0, at, before), (at + len(correction.new), len(text) - at - len(correction.new), after)]
    sure = together([part for part in parts if part[1]]) if passage.text != correction.old else None
    made = replace(passage, text=text, sha256=_hashed(text), recognition=sure, corrected=_by(passage, correction))
    return [*served[:which], made, *served[which + 1 :]]


def _parted(served: list[NewPassage], correction: Correction) -> list[NewPassage] | None:
    place = _locate(served, correction)
    if place is None:
        return None
    which, at = place
    passage = served[which]
    parts = [
        _cut_passage(passage, 0, at + correction.at, correction),
        _cut_passage(passage, at + correction.at, len(passage.text), correction),
    ]
    return [*served[:which], *filter(None, parts), *served[which + 1 :]]


def _joined(served: list[NewPassage], correction: Correction) -> list[NewPassage] | None:
    pairs = [
        n
        for n in range(len(served) - 1)
        if served[n].text.endswith(correction.old) and served[n + 1].text.startswith(correction.following)
    ]
    if not pairs:
        return None
    which = min(pairs, key=lambda n: (served[n].text != correction.old, abs(served[n].start - correction.start)))
    first, second = served[which], served[which + 1]
    text = first.text + _GAP + second.text
    behind = len(first.text) + len(_GAP)
    told, also = first.corrected or Corrected(), second.corrected or Corrected()
    made = replace(
        first,
        text=text,
        sha256=_hashed(text),
        end=max(first.end, second.end),
        recognition=together(
            [(0, len(first.text), first.recognition), (behind, len(second.text), second.recognition)]
        ),
        corrected=Corrected(
            ids=(*told.ids, *also.ids, correction.correction_id),
            by=correction.actor,
            questions=tuple(dict.fromkeys((*told.questions, *also.questions))),
        ),
    )
    return [*served[:which], made, *served[which + 2 :]]


def _headed(served: list[NewPassage], correction: Correction) -> list[NewPassage] | None:
    """The heading as it reads now, over every passage that it stands over, and in the line of its own where it has one."""
    below = [n for n, passage in enumerate(served) if correction.old in passage.headings]
    if not below:
        return None
    line = re.compile(rf"^(#{{1,6}} +)?{re.escape(correction.old)}[ \t]*(?:\n+|\Z)", re.MULTILINE)
    changed = list(served)
    for n in below:
        passage = served[n]
        headings = (correction.new if one == correction.old else one for one in passage.headings)
        text = line.sub(_line_of(correction.new), passage.text, count=1)
        if not text.strip():  # it was nothing but the heading
            text = passage.text
        changed[n] = replace(
            passage, headings=tuple(filter(None, headings)), text=text, sha256=_hashed(text),
            recognition=passage.recognition if text == passage.text else None, corrected=_by(passage, correction),
        )  # fmt: skip
    return changed


def _line_of(new: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{found[1] or ''}{new}{found[0][len(found[0].rstrip()) :]}" if new else ""


def _cut_passage(passage: NewPassage, start: int, end: int, correction: Correction) -> NewPassage | None:
    """``text[start:end]`` of a passage as a passage, stripped; None when nothing is left."""
    if (start, end) == (0, len(passage.text)):
        return passage
    text = passage.text[start:end]
    begin = start + len(text) - len(text.lstrip())
    text = text.strip()
    if not text:
        return None
    # Where its text is not the document's, what is known of its place is that it lies within the passage.
    exact = passage.end - passage.start == len(passage.text)
    first = passage.start + begin if exact else min(passage.start + begin, passage.end)
    last = first + len(text) if exact else passage.end
    return replace(
        passage,
        text=text,
        sha256=_hashed(text),
        start=first,
        end=last,
        recognition=part_of(passage.recognition, begin, begin + len(text)),
        corrected=_by(passage, correction),
    )


def _by(passage: NewPassage, correction: Correction) -> Corrected:
    told = passage.corrected or Corrected()
    return replace(told, ids=(*told.ids, correction.correction_id), by=correction.actor)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_APPLY: dict[CorrectionAction, Callable[[list[NewPassage], Correction], list[NewPassage] | None]] = {
    "exclude": _excluded,
    "questions": _question_passages,
    "text": _reworded,
    "split": _parted,
    "join": _joined,
    "heading": _headed,
}
