"""How much of made documents is read, and in which order: this reader beside pdfium's plain text, markitdown and docling.

    python bench/fidelity.py [--markitdown PYTHON] [--docling PYTHON] [--keep FOLDER]

PYTHON is an interpreter of an environment in which that program is installed; docling's models for PDF must be there, too.
The documents are made by bench/fidelity_made.py, the same each time. Of each:

- CER: the edit distance between what the document says and what was read, both without white space and the signs of tables,
  by the length of what it says. Whether merged cells are repeated, or names of columns
  before each cell, is counted in favour of the reader.
- cells: the share of table cells that stand in a row of a table, at their place in the row.
- tau: Kendall's tau of the sentences and rows that were found, by their places in what was read.
- lost: the share of words (of Chinese, characters) that are not in what was read; `said`, whether the record says so.

What was found: docs/fidelity.md.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import pypdfium2

from fidelity_made import Made, Rows, all_made, sentences
from wenyuan.readers.selection import CONTAINERS, READERS, load_reader

_SIGNS = re.compile(r"[\s|#*_`>\\––]|-{3,}|\[\d+\]|NaN|Unnamed: \d+")
_PEER = Path(__file__).parent / "peers" / "documents.py"


def bare(text: str) -> str:
    return _SIGNS.sub("", re.sub(r"(?m)^\s*[-*] ", "", text))


def distance(a: str, b: str) -> int:
    """Levenshtein distance, by the bit-parallel algorithm of Myers as Hyyrö gives it (2003)."""
    if not a:
        return len(b)
    places: defaultdict[str, int] = defaultdict(int)
    for at, char in enumerate(a):
        places[char] |= 1 << at
    full, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    plus, minus, score = full, 0, len(a)
    for char in b:
        here = places.get(char, 0)
        zero = (((here & plus) + plus) ^ plus) | here | minus
        up, down = minus | ~(zero | plus) & full, plus & zero
        score += bool(up & last) - bool(down & last)
        up = (up << 1 | 1) & full
        plus, minus = ((down << 1) & full) | ~(zero | up) & full, up & zero
    return score


def said(made: Made, *, repeated: bool) -> str:
    """What a document says, merged cells once or in each cell that they cover."""
    texts = []
    for unit in made.units:
        if isinstance(unit, str):
            texts.append(unit)
            continue
        for r, row in enumerate(unit):
            for c, cell in enumerate(row):
                merged = (c and row[c - 1] == cell) or (r and unit[r - 1][c] == cell)
                texts.append("" if merged and not repeated else cell)
    return bare("".join(texts))


def named(made: Made) -> set[str]:
    """What a document that is one table says where each cell is written behind the name of its column."""
    if len(made.units) > 1 or isinstance(made.units[0], str):
        return set()
    names, *rows = made.units[0]
    return {bare("".join(";".join(f"{name}:{cell}" for name, cell in zip(names, row, strict=True)) for row in rows))}


def error_rate(made: Made, read: str) -> float:
    truths = {said(made, repeated=repeated) for repeated in (False, True)} | named(made)
    return min(distance(truth, bare(read)) / len(truth) for truth in truths)


def rows_of(read: str) -> list[list[str]]:
    """The rows of tables in what was read: ``a | b``, ``| a | b |``, or ``name: value; name: value``."""
    found: list[list[str]] = []
    for line in read.splitlines():
        if "|" in line:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            found.append(["" if cell in ("–", "NaN") else cell for cell in cells])
        elif re.match(r"[^:：]{1,20}[:：] ?\S", line) and re.search("[;；]", line):
            pairs = [re.split("[:：]", each, maxsplit=1) for each in re.split("[;；]", line)]
            if all(len(pair) == 2 for pair in pairs):
                found += [[name.strip() for name, _ in pairs], [value.strip() for _, value in pairs]]
    return found


def cells(tables: list[Rows], read: str) -> float | None:
    wanted = [row for table in tables for row in table]
    if not wanted:
        return None
    rows = rows_of(read)
    right = 0
    for row in wanted:
        right += max((sum(a == b for a, b in zip(row, other, strict=False)) for other in rows), default=0)
    return right / sum(map(len, wanted))


def tau(made: Made, read: str) -> float | None:
    read = bare(read)
    places = []
    for unit in made.units:
        rows = [] if isinstance(unit, str) else [row for at, row in enumerate(unit) if row not in unit[:at]]
        for each in sentences(unit) if isinstance(unit, str) else ["".join(row) for row in rows]:
            whole = bare(each)
            place = read.find(whole) if len(whole) > 7 else -1
            place = read.find(whole[:14]) if place < 0 and len(whole) > 14 else place
            places += [place] if place >= 0 else []
    pairs = list(combinations(places, 2))
    return sum((a < b) - (a > b) for a, b in pairs) / len(pairs) if pairs else None


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[A-Za-z0-9.]+|[\u4e00-\u9fff]", text))


def lost(made: Made, read: str) -> float:
    wanted = words("\n".join(unit if isinstance(unit, str) else " ".join(map(" ".join, unit)) for unit in made.units))
    for unit in made.units:
        if not isinstance(unit, str):  # merged cells, once
            for r, row in enumerate(unit):
                for c, cell in enumerate(row):
                    if (c and row[c - 1] == cell) or (r and unit[r - 1][c] == cell):
                        wanted -= words(cell)
    return (wanted - words(read)).total() / wanted.total()


def ours(made: Made) -> tuple[str, bool]:
    read: Any = load_reader({**READERS, **CONTAINERS}[made.suffix])
    found = read(made.content, uri="file:///a", name="a" + made.suffix)
    (document,) = found.documents if made.suffix in CONTAINERS else found
    fidelity = document.fidelity
    return document.text, bool(fidelity and (fidelity.lost or fidelity.warnings))


def plain_text(made: Made) -> str | None:
    if made.suffix != ".pdf":
        return None
    with pypdfium2.PdfDocument(made.content) as pdf:
        return "\n".join(page.get_textpage().get_text_range() for page in pdf)


def peers(asked: dict[str, str], folder: Path, documents: list[Made]) -> dict[str, list[str | None]]:
    """What other programs read of all documents, each in an environment of its own."""
    for number, made in enumerate(documents):
        (folder / f"{number:02d}{made.suffix}").write_bytes(made.content)
    found = {}
    for name, python in asked.items():
        out = subprocess.run([python, str(_PEER), name, str(folder)], capture_output=True, text=True, check=True)
        texts = json.loads(out.stdout.splitlines()[-1])
        found[name] = [texts.get(f"{number:02d}{made.suffix}") for number, made in enumerate(documents)]
    return found


def shown(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markitdown")
    parser.add_argument("--docling")
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    documents = all_made()
    asked = {name: path for name in ("markitdown", "docling") if (path := getattr(arguments, name))}
    with tempfile.TemporaryDirectory() as made_here:
        folder = arguments.keep or Path(made_here)
        folder.mkdir(exist_ok=True)
        others = peers(asked, folder, documents)
    names = ["wenyuan", "pdfium", *asked]
    print(
        "| format | language | what is hard | lost | said | "
        + " | ".join(f"{name}: CER, cells, tau" for name in names)
        + " |"
    )
    print("|---" * (5 + len(names)) + "|")
    sums: defaultdict[str, list[list[float | None]]] = defaultdict(list)
    for number, made in enumerate(documents):
        text, is_said = ours(made)
        reads = {"wenyuan": text, "pdfium": plain_text(made)} | {
            name: found[number] for name, found in others.items()
        }
        tables = [unit for unit in made.units if not isinstance(unit, str)]
        gone = lost(made, text)
        columns = []
        for name in names:
            read = reads[name]
            if read is None:
                columns.append("–")
                continue
            figures = [error_rate(made, read), cells(tables, read), tau(made, read)]
            sums[f"{name}, {'PDF' if made.suffix == '.pdf' else 'other formats'}"].append(figures)
            columns.append(", ".join(map(shown, figures)))
        language = "zh" if re.search("[\u4e00-\u9fff]", str(made.units[0])) else "en"
        print(
            f"| {made.kind} | {language} | {made.hard} | {gone:.1%} | {'yes' if is_said else 'no'} | "
            + " | ".join(columns)
            + " |"
        )
    for name, found in sums.items():
        means = [fmean(x for x in column if x is not None) if any(x is not None for x in column) else None
                 for column in zip(*found, strict=True)]  # fmt: skip
        print(f"mean of {len(found)} ({name}): " + ", ".join(map(shown, means)))


if __name__ == "__main__":
    main()
