"""How many real questions each `search.abstain` keeps, and how much nonsense it refuses; in libraries of both languages, too.

    python bench/floors.py DIR[+DIR] … [--limit 250] [--cache DIR]

DIR is a judged set in BEIR layout. ``A+B`` is a library with every second entry of A and the others of B; where the two
are the same texts in two languages, each is there in one of them only. A question is kept if anything is answered: those
whose answer is there in their own language and those whose answer is there in the other one only (``across``) are
counted apart, and each language by itself. Nonsense is of kinds that the probes of the library do not have;
``elsewhere`` are questions of the other sets that are named. Last, how many of the real questions look like no text.
"""

from __future__ import annotations

import argparse
import base64
import json
import platform
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scoring import opened
from wenyuan.app import open_encoder
from wenyuan.core.text import has_han
from wenyuan.evaluation.building import default_cache
from wenyuan.evaluation.corpus import open_corpus, read_lines, record_id
from wenyuan.evaluation.judged import read_judged
from wenyuan.service.candidates import ABSTAIN
from wenyuan.service.facade import Library
from wenyuan.service.probes import strange
from wenyuan.settings import load_settings

JUNK = 25  # of each kind
STRANGE = 40  # questions of each other set


COMMON = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"


def junk(seed: int = 5) -> Iterator[str]:
    """Nonsense of sixteen kinds."""
    draw = random.Random(seed)
    for _ in range(JUNK):
        yield draw.choice(["foo", "asdf", "bla", "测试", "啦啦", "abc", "hey", "好的"]) * draw.randint(4, 9)
        yield "".join(
            draw.choice((COMMON, "abcdefghijklmnopqrstuvwxyz")[draw.random() < 0.5])
            for _ in range(draw.randint(8, 16))
        )
        yield "".join(draw.choices(COMMON, k=draw.randint(6, 14)))
        yield "".join(chr(draw.randint(0x3042, 0x3093)) for _ in range(draw.randint(6, 14)))
        yield "".join(chr(draw.randint(0x430, 0x44F)) for _ in range(draw.randint(6, 18)))
        yield " ".join(
            draw.choice(("qwert", "asdfg", "zxcvb", "poiuy", "lkjh")) * draw.randint(1, 3)
            for _ in range(draw.randint(1, 3))
        )
        yield "".join(draw.choices("0123456789", k=draw.randint(6, 20)))
        yield " ".join(
            "".join(draw.choice("bcdfgklmnprstvz") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))
            for _ in range(draw.randint(2, 5))
        )
        yield draw.choice("aqwx的了哈呵嗯啊zZ#") * draw.randint(5, 30)
        yield base64.b64encode(draw.randbytes(draw.randint(6, 30))).decode()
        yield draw.randbytes(draw.randint(4, 16)).hex()
        yield " ".join("".join(draw.choices("01", k=8)) for _ in range(draw.randint(2, 6)))
        yield "".join(chr(draw.randint(0xAC00, 0xD7A3)) for _ in range(draw.randint(3, 10)))
        yield "".join(chr(draw.randint(0x4E00, 0x9FA5)) for _ in range(draw.randint(3, 12)))
        yield " ".join("".join(draw.choices("aeiouäöüyh", k=draw.randint(3, 9))) for _ in range(draw.randint(2, 5)))
        yield "，。？！…" * draw.randint(1, 3) + "".join(draw.choices("嘎嘣吧唧咕噜嘿哟呃", k=draw.randint(3, 9)))


def mixed(one: Path, other: Path, into: Path) -> Path:
    """A set with every second entry of two sets; questions keep all judgements, and their own language."""
    folder = into / f"{one.name}+{other.name}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for parity, source in enumerate((one, other)):
            for number, line, _ in read_lines(source / "corpus.jsonl"):
                if number % 2 == parity:
                    file.write(line.decode().rstrip("\n") + "\n")
    return folder


def questions(folder: Path, sources: Sequence[Path], limit: int) -> Mapping[str, list[str]]:
    """By kind: in each language where the answer is there, and ``across`` where only its other language is."""
    held = set(open_corpus(folder).uris)
    kinds: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        places = {record_id(r, source / "corpus.jsonl", n): n for n, _, r in read_lines(source / "corpus.jsonl")}
        judged = read_judged(source, places)
        for question in judged.questions:
            there = any(grade > 0 and entry in held for entry, grade in judged.qrels[question.query_id].items())
            language = "Chinese" if has_han(question.text) else "English"
            kinds[language if there else f"across, {language}"].append(question.text)
    draw = random.Random(1)
    return {kind: draw.sample(texts, min(limit, len(texts))) for kind, texts in sorted(kinds.items())}


def texts_of(sets: Sequence[Path]) -> list[str]:
    """All questions of some sets."""
    lines = [line for one in sets for line in (one / "queries.jsonl").read_text("utf-8").splitlines()]
    return [json.loads(line)["text"] for line in lines]


def elsewhere(others: Sequence[Path]) -> list[str]:
    texts = texts_of(others)
    return random.Random(2).sample(texts, min(len(texts), STRANGE * len(others)))


def kept(library: Library, texts: Sequence[str], abstain: str) -> float:
    """The share of them that anything is answered to."""
    retriever = library._retriever
    settings = retriever._settings
    retriever._settings = settings.model_copy(update={"abstain": abstain})
    try:
        return sum(bool(library.search(text, limit=1).hits) for text in texts) / len(texts)
    finally:
        retriever._settings = settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="DIR[+DIR]")
    parser.add_argument("--limit", type=int, default=250)
    parser.add_argument("--cache", type=Path, default=default_cache())
    given = parser.parse_args()
    named = [[Path(name) for name in word.split("+")] for word in given.sets]
    print(f"{platform.machine()}, {platform.python_version()}; in %\n| set | asked | of | {' | '.join(ABSTAIN)} |")
    print(f"|---|---|---|{'---|' * len(ABSTAIN)}")
    for sources in named:
        folder = sources[0] if len(sources) == 1 else mixed(sources[0], sources[1], given.cache.parent / "mixed")
        others = [source for other in named if other is not sources for source in other if source not in sources]
        _, library = opened(folder, given.cache)
        with library:
            asked = {f"kept: {kind}": texts for kind, texts in questions(folder, sources, given.limit).items()}
            for kind, texts in {
                **asked,
                "refused: nonsense": list(junk()),
                "refused: elsewhere": elsewhere(others),
            }.items():
                if texts:
                    shares = (kept(library, texts, abstain) for abstain in ABSTAIN)
                    told = (100 * (share if kind in asked else 1 - share) for share in shares)
                    print(
                        f"| {folder.name} | {kind} | {len(texts)} | {' | '.join(f'{s:.1f}' for s in told)} |",
                        flush=True,
                    )
    encoder = open_encoder(load_settings().encoder)
    real = texts_of(sorted({source for sources in named for source in sources}))
    print(f"\n{sum(strange(text, encoder) for text in real)} of {len(real):,} questions look like no text")


if __name__ == "__main__":
    main()
