"""How many contradictions are found, and how many innocent neighbours are called one.

    python bench/conflicts.py [--laws CORPUS.jsonl] [--library FOLDER]

Statements are made from templates, written by hand in both languages: of each subject in its own words and in other words, with
two values that differ (a conflict), with equal ones (none), and with another role, product or place (none). Half of the templates
were looked at while the comparison was written, the other half was not. With ``--laws``, articles of statutes in BEIR layout
that share their words are compared with one another: what is found there is printed, to be judged by eye. With ``--library``, everything in a
library is compared anew as `wenyuan conflicts find --anew` does it, and timed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, count
from pathlib import Path

import wenyuan
from conflict_subjects import APART, SEEN, Subject
from wenyuan.core.conflicts.comparison import contradiction, is_form
from wenyuan.core.conflicts.statement import ComparedStatement, statements_of
from wenyuan.core.conflicts.subject import of_effect, other_thing
from wenyuan.core.model import Passage
from wenyuan.core.rewording import reworded

_DENIED = (
    ("可以", "不可以"),
    ("应当", "可以"),
    ("may", "may not"),
    ("must", "need not"),
    ("are allowed", "are not allowed"),
    ("要随身", "可以不"),
)
_TITLES = (
    ("管理制度", "新员工问答"), ("服务手册", "窗口须知"), ("Handbook", "Questions and answers"), ("Rules", "Welcome letter"),
)  # fmt: skip
_NUMBERS = count(1)


def statement(text: str, title: str, document: int = 0) -> ComparedStatement | None:
    number = next(_NUMBERS)
    passage = Passage(
        passage_id=number, source_id="bench", document_id=document or number, uri=str(number), title=title, headings=(),
        text=text, sha256="", start=0, end=len(text),
    )  # fmt: skip
    return next(iter(statements_of(passage)), None)


def denied(text: str) -> str:
    return next((text.replace(was, now, 1) for was, now in _DENIED if was in text), "")


def pairs(subjects: tuple[Subject, ...]) -> Iterator[tuple[str, bool, str, str]]:
    """Two statements, whether they contradict one another, and of what kind the pair is."""
    for one, name in ((subject, name) for subject in subjects for name in subject.names):
        for words, kind in ((one.words, "same words"), (one.other, "other words")):
            for a, b in combinations(one.values, 2):
                yield kind, True, one.words.format(n=name, v=a), words.format(n=name, v=b)
                narrower = ("senior " if name.isascii() else "高级") + name
                yield "a narrower thing", False, one.words.format(n=name, v=a), words.format(n=narrower, v=b)
            if one.values == ("",) and (turned := denied(words.format(n=name, v=""))):
                yield kind, True, one.words.format(n=name, v=""), turned
            for value in one.values:
                yield "equal value", False, one.words.format(n=name, v=value), words.format(n=name, v=value)
            if one.same:
                yield (
                    "equal value",
                    False,
                    one.words.format(n=name, v=one.values[0]),
                    words.format(n=name, v=one.same),
                )
            for other in (each for each in one.names if each != name):
                for a in one.values:
                    for b in one.values:
                        yield "another thing", False, one.words.format(n=name, v=a), words.format(n=other, v=b)
    for one, other in combinations(subjects, 2):
        for a in one.values[:2]:
            for b in other.values[:2]:
                yield (
                    "another subject",
                    False,
                    one.words.format(n=one.names[0], v=a),
                    other.words.format(n=other.names[0], v=b),
                )


def neighbours(
    subjects: tuple[Subject, ...],
) -> Iterator[tuple[str, ComparedStatement | None, ComparedStatement | None]]:
    """Statements in the same words that titles or the rows of a table tell apart, by kind."""
    for one in subjects:
        for a, b in combinations(one.values, 2):
            chinese = not one.names[0].isascii()
            first, second = (one.words.format(n=one.names[0], v=value) for value in (a, b))
            titles = (
                ("经理休假管理办法", "实习生休假管理办法") if chinese else ("Leave of managers", "Leave of trainees")
            )
            yield "another role in the title", statement(first, titles[0]), statement(second, titles[1])
            for grade, other in combinations(
                ("一级", "二级", "三级") if chinese else ("grade A", "grade B", "grade C"), 2
            ):
                head = "| 等级 | 标准 |\n|---|---|\n" if chinese else "| grade | figure |\n|---|---|\n"
                yield (
                    "another row of a table",
                    statement(f"{head}| {grade} | {a} |", titles[0][2:]),
                    statement(f"{head}| {other} | {b} |", titles[0][2:]),
                )


def by_common_words(one: ComparedStatement, other: ComparedStatement) -> bool:
    """What is not used: whether each says the other in other words with a figure changed, as claims are compared with passages."""
    if one.codes != other.codes or any(map(of_effect, (one, other))) or other_thing(one.passage, other.passage):
        return False
    return reworded(one.tokens, [other.text]) is not None and reworded(other.tokens, [one.text]) is not None


def table(subjects: tuple[Subject, ...]) -> None:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for kind, conflict, first, second in pairs(subjects):
        for titles in _TITLES:
            one, other = statement(first, titles[0]), statement(second, titles[1])
            row = found[("contradict, " if conflict else "innocent, ") + kind]
            row[0] += 1
            if one is not None and other is not None:
                row[1] += contradiction(one, other) is not None
                row[2] += by_common_words(one, other)
    for kind, one, other in neighbours(subjects):
        row = found[f"innocent, {kind}"]
        row[0] += 1
        if one is not None and other is not None:
            row[1] += contradiction(one, other) is not None
            row[2] += by_common_words(one, other)
    print("| pairs | n | called a contradiction | by common words, which is not used |\n|---|---:|---:|---:|")
    for name in sorted(found):
        n, said, near = found[name]
        print(f"| {name} | {n:,} | {said:,} ({said / n:.1%}) | {near:,} ({near / n:.1%}) |")
    right = sum(said for name, (_, said, _) in found.items() if name.startswith("contradict"))
    wrong = sum(said for name, (_, said, _) in found.items() if name.startswith("innocent"))
    print(f"\nprecision {right / max(1, right + wrong):.3f}\n")


def laws(file: Path, most: int) -> None:
    """Compare the articles of statutes, of each the newest version, with one another."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    newest: dict[str, str] = {}
    for row in rows:
        told = row["metadata"]
        newest[told["law"]] = max(newest.get(told["law"], ""), told["version"])
    documents: dict[str, int] = {}
    alike: dict[frozenset[str], list[ComparedStatement]] = defaultdict(list)
    taken = 0
    for row in rows:
        told = row["metadata"]
        if newest[told["law"]] != told["version"] or taken >= most:
            continue
        taken += 1
        passage = Passage(
            passage_id=taken, source_id="laws", document_id=documents.setdefault(told["law"], len(documents) + 1), uri=row["_id"],
            title=told["law"], headings=(told["chapter"] or "", f"第{told['article_no']}条"), text=row["text"], sha256="", start=0,
            end=len(row["text"]),
        )  # fmt: skip
        for one in statements_of(passage):
            alike[one.words].append(one)
    several = [group for group in alike.values() if 1 < len(group) <= 200]
    print(f"{taken:,} articles; {sum(map(len, several)):,} statements in words that others use, too")
    for group in several:
        form = is_form(group)
        for one, other in combinations(group, 2):
            if (differs := contradiction(one, other, form=form)) is not None:
                print(f"{differs.kind}: {one.passage.uri}: {one.text} / {other.passage.uri}: {other.text}")


def timed(folder: Path) -> None:
    """Compare everything in a library anew, and say how long that takes."""
    with wenyuan.open(folder) as library:
        begun, used = time.monotonic(), time.process_time()
        update = library.conflicts.find(anew=True)
        seconds, processor = time.monotonic() - begun, time.process_time() - used
    print(
        f"{update.passages:,} passages compared in {seconds:.0f} s, {processor:.0f} s of processor "
        f"({1e3 * processor / max(1, update.passages):.1f} ms a passage): {update.conflicts:,} conflicts"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", type=Path, help="a corpus of statutes in BEIR layout")
    parser.add_argument("--library", type=Path, help="a library whose passages are all compared")
    parser.add_argument("--most", type=int, default=100_000, help="articles that are compared")
    arguments = parser.parse_args()
    for heading, subjects in (("Templates that were looked at", SEEN), ("Templates held apart", APART)):
        print(f"### {heading}\n")
        table(subjects)
    if arguments.library is not None:
        timed(arguments.library)
    if arguments.laws is not None:
        laws(arguments.laws, arguments.most)
