"""A library whose questions are answered by one of several alike passages, and a judge that knows which: for tests of ``confidence``."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import wenyuan
from judge_server import JudgeServer
from liars_server import KEY
from wenyuan.core.learning_records import QuestionAddress

SUBJECTS = 44  # every other one in Chinese
ALIKE = 6  # passages of a subject, of which one answers
_STEMS, _BRANCHES = "甲乙丙丁戊己庚辛壬癸", "子丑寅卯辰巳午未申酉戌亥"
_CYCLE = list(islice(zip(cycle(_STEMS), cycle(_BRANCHES), strict=False), 60))
_PARTS = {
    "zh": ("安装", "拆除", "运输", "保养", "检修", "标识", "存放", "报废", "照明"),
    "en": ("installation", "removal", "transport", "upkeep", "repair", "marking", "storage", "disposal", "lighting"),
}  # fmt: skip


def language_of(number: int) -> str:
    return "en" if number % 2 else "zh"


def subject(number: int) -> str:
    return "".join(_CYCLE[number]) if number % 2 == 0 else f"machine{chr(97 + number // 26)}{chr(97 + number % 26)}x"


def asked(number: int) -> str:
    """A question."""
    name = subject(number)
    return f"{name}设备的上限是多少？" if number % 2 == 0 else f"What is the limit of {name}?"


def answer_of(number: int) -> str:
    """The words that only the passage has that answers."""
    return f"上限为{1000 + number}公斤" if number % 2 == 0 else f"limit is {1000 + number} kilograms"


def written(number: int, part: int) -> str:
    """One of the passages of a subject."""
    name, about = subject(number), _PARTS[language_of(number)][part]
    holds = part == zlib.crc32(f"{number}".encode()) % ALIKE
    if number % 2 == 0:
        told = answer_of(number) if holds else "上限另见他处"
        return f"{name}设备的{about}：{told}，由{about}班组核对。\n"
    told = answer_of(number) if holds else "limit stands somewhere else"
    return f"{name}, {about}: the {told}, checked by the {about} team.\n"


def golden(folder: Path, count: int = SUBJECTS) -> list[QuestionAddress]:
    """Questions with the files that answer them."""
    return [
        QuestionAddress(
            question=asked(n), answer=f"file://{folder}/house/{n:03}-{zlib.crc32(f'{n}'.encode()) % ALIKE}.md"
        )
        for n in range(count)
    ]


def _number(question: str) -> int:
    return next(n for n in range(SUBJECTS) if subject(n) in question)


def _jitter(question: str, k: int) -> float:
    return zlib.crc32(f"{question}{k}".encode()) % 1000 / 1000


def knowing(question: str, passages: Sequence[str]) -> float:
    """A judge that sees whether the answer is there, and is rather sure of it."""
    enough = any(answer_of(_number(question)) in text for text in passages)
    return (0.6 if enough else 0.0) + 0.4 * _jitter(question, len(passages))


def inverted(question: str, passages: Sequence[str]) -> float:
    return 1.0 - knowing(question, passages)


def coin(question: str, passages: Sequence[str]) -> float:
    return _jitter(question, len(passages))


def always(question: str, passages: Sequence[str]) -> float:
    return 0.95


def short_lists(question: str, passages: Sequence[str]) -> float:
    """It prefers what is short, whatever it says."""
    return 1.0 - 0.1 * len(passages)


JUDGES: dict[str, Callable[[str, Sequence[str]], float]] = {
    "inverted": inverted, "coin": coin, "always": always, "short lists": short_lists,
}  # fmt: skip


def write_house(folder: Path) -> Path:
    folder.mkdir()
    for number in range(SUBJECTS):
        for part in range(ALIKE):
            (folder / f"{number:03}-{part}.md").write_text(written(number, part), "utf-8")
    return folder


@contextmanager
def judged(folder: Path, server: JudgeServer | None, **more: Any) -> Iterator[wenyuan.Library]:
    """The library, with this judge; made where it is not there yet."""
    judge = (
        {}
        if server is None
        else {"dialect": "decisions", "url": server.url, "model": "j-1", "key": KEY, "timeout": 30}
    )
    chosen: dict[str, Any] = {
        "encoder": {"kind": "none"}, "search": {"deadline": 60, "floor": 0.0}, "cache": {"seconds": 0},
        "judge": {**judge, **more.pop("judge", {})}, **more,
    }  # fmt: skip
    with wenyuan.open(folder / "library", create=True, **chosen) as library:
        if not library.sources():
            library.add(wenyuan.Source(source_id="house", domain="house", path=str(write_house(folder / "house"))))
        yield library
