"""What verdicts on claims are worth: claims of judged corpora, changed in known ways, asked of a library that holds them.

    python bench/verify.py FOLDER… [--passages 3000] [--each 40] [--json | --times]

FOLDER has a ``corpus.jsonl`` (BEIR layout). Of each corpus sentences are drawn; some are asked as they are, or written in
another form, the others with one number, unit, date, negation or duty changed, joined from two sentences, or reworded (a word
left out, clauses in another order). A verdict is right if it names the kind; `found` counts any change that is called one.
With ``--times`` all corpora are one library, and what is told is how long answers of ten claims take that stand in it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import wenyuan
from search import environment
from wenyuan.core.claims import Claim
from wenyuan.core.text.boundaries import sentences
from wenyuan.core.tokens import tokens_of
from wenyuan.service.verification import VERDICTS, VerifyRequest

HAN = re.compile("[一-鿿]")
NUMBER = re.compile(
    r"(?<![\dA-Za-z第.\-/:])\d{1,4}(?:\.\d+)?(?![\dA-Za-z年月日号.\-/:])"
    "|(?<=[不少多于过满在到及后前为约])[一二三四五六七八九十百]{1,3}(?=[个名天日人次小年米元倍种])"
)
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?=年|[,. ])|(?<=年)\d{1,2}(?=月)|(?<=月)\d{1,2}(?=日)")
UNITS = (
    ("小时", "天"), ("工作日", "个月"), ("个月", "年"), ("日内", "小时内"), ("万元", "元"), ("米", "厘米"), ("分钟", "小时"),
    ("公里", "米"), ("%", "倍"), ("hours", "days"), ("days", "weeks"), ("minutes", "hours"), ("feet", "inches"),
    ("weeks", "months"), ("years", "months"), ("percent", "times"), ("pounds", "kg"), ("seconds", "minutes"),
)  # fmt: skip
DUTIES = (
    ("应当", "可以"), ("必须", "可以"), ("可以", "应当"), ("不得", "可以"), ("应当", "不得"), ("禁止", "允许"), ("有权", "必须"),
    (" must ", " may "), (" shall ", " may "), (" should ", " must not "), (" may ", " must "), (" can ", " must "),
    (" must not ", " may "), (" required ", " optional "),
)  # fmt: skip
NEGATIONS = (
    ("不得", "得"), ("不能", "能"), ("未经", "经"), ("没有", "有"), ("可以", "不可以"), ("应当", "不应当"), ("是", "不是"),
    (" is ", " is not "), (" are ", " are not "), (" was ", " was not "), (" not ", " "), (" can ", " cannot "),
    (" will ", " will not "), (" were ", " were not "), (" has ", " has not "),
)  # fmt: skip

Altered = Callable[[str, random.Random], str | None]


def number(text: str, draw: random.Random) -> str | None:
    found = [match for match in NUMBER.finditer(text) if not re.fullmatch(r"(19|20)\d\d", match[0])]
    if not found:
        return None
    match = draw.choice(found)
    spelt = [numeral for numeral in ("二", "三", "五", "七", "十", "十五", "三十", "六十") if numeral != match[0]]
    other = str(int(float(match[0])) + draw.choice((1, 2, 3, 5, 10))) if match[0][0].isdigit() else draw.choice(spelt)
    return text[: match.start()] + other + text[match.end() :]


def date(text: str, draw: random.Random) -> str | None:
    found = list(YEAR.finditer(text))
    if not found:
        return None
    match = draw.choice(found)
    return text[: match.start()] + str(int(match[0]) + draw.choice((1, 2, 3))) + text[match.end() :]


def unit(text: str, draw: random.Random) -> str | None:
    for one, other in draw.sample(UNITS, len(UNITS)):
        if match := re.search(rf"(?<=[\d一二三四五六七八九十]) ?{re.escape(one)}(?![a-z])", text):
            return text[: match.start()] + match[0].replace(one, other) + text[match.end() :]
    return None


def replaced(pairs: Sequence[tuple[str, str]]) -> Altered:
    def altered(text: str, draw: random.Random) -> str | None:
        fitting = [(one, other) for one, other in pairs if one in text]
        return text.replace(*draw.choice(fitting), 1) if fitting else None

    return altered


def half(text: str) -> int | None:
    """Where a clause ends, about in the middle."""
    ends = [m.end() for m in re.finditer("[，、,;；]", text) if 0.25 * len(text) < m.end() < 0.75 * len(text)]
    return ends[0] if ends else None


def shortened(text: str, draw: random.Random) -> str | None:
    """Without a word that is no number and says nothing of may and must."""
    tokens = tokens_of(text)
    duties = {place for duty in tokens.duties for place in range(duty.first, duty.end)}
    free = [t for n, t in enumerate(tokens.tokens[1:-1], 1) if t.kind == "word" and n not in duties]
    if len(free) < 6:
        return None
    token = draw.choice(free)
    return text[: token.start] + text[token.end :]


def turned(text: str, _: random.Random) -> str | None:
    """Its second half before its first."""
    at = half(text)
    if at is None:
        return None
    comma, stop = ("，", "。") if HAN.search(text) else (", ", ".")
    return f"{text[at:].strip().rstrip('。.；;')}{comma}{text[:at].rstrip('，,、;； ')}{stop}"


def rewritten(text: str, draw: random.Random) -> str:
    """The same with wide figures, or narrow marks."""
    if draw.random() < 0.5:
        return text.translate({ord(figure): ord(figure) + 0xFEE0 for figure in "0123456789"})
    return text.replace("，", ",").replace("。", ".")


KINDS: dict[str, tuple[str, Altered]] = {
    "as it is": ("verbatim", lambda text, _: text),
    "another form": ("verbatim", rewritten),
    "number": ("number_changed", number),
    "unit": ("unit_changed", unit),
    "date": ("date_changed", date),
    "duty": ("modality_changed", replaced(DUTIES)),
    "negation": ("negation_changed", replaced(NEGATIONS)),
    "a word left out": ("not_judged", shortened),
    "clauses turned": ("not_judged", turned),
}
CHANGED = [verdict for verdict in VERDICTS if verdict.endswith("_changed")]


def read(folder: Path, most: int, draw: random.Random) -> list[str]:
    """Passages of a corpus, by chance."""
    lines = (folder / "corpus.jsonl").read_text("utf-8").splitlines()
    found = [text for line in draw.sample(lines, min(len(lines), most)) if len(text := json.loads(line)["text"]) > 30]
    return list(dict.fromkeys(found))


def made(texts: Sequence[str], each: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Kind and claim, `each` of every kind as far as there are sentences for it."""
    held: Counter[str] = Counter()
    halves: list[str] = []
    for text in texts:
        for start, end in sentences(text):
            said = text[start:end]
            if (
                not 8 <= len(tokens_of(said).tokens) <= 80
                or re.match(r"[\W\d]", said)
                or "|" in said
                or "http" in said
            ):
                continue
            if half(said) and len(halves) < 2 * each:
                halves.append(said)
            wanting = [kind for kind in KINDS if held[kind] < each]
            for kind in draw.sample(wanting, len(wanting)):
                claim = KINDS[kind][1](said, draw)
                if claim and (claim != said or KINDS[kind][0] == "verbatim"):
                    held[kind] += 1
                    yield kind, claim
                    break
    for one, other in zip(halves[::2], halves[1::2], strict=False):
        yield "two halves", one[: half(one)] + other[half(other) :]


@contextmanager
def holding(texts: Sequence[str]) -> Iterator[wenyuan.Library]:
    """A library of these passages, without vectors."""
    with tempfile.TemporaryDirectory() as place:
        rows = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        (Path(place) / "rows.jsonl").write_text(rows, "utf-8")
        with wenyuan.open(
            Path(place) / "library",
            create=True,
            encoder={"kind": "none"},
            search={"deadline": 60},
            audit={"enabled": False},
        ) as library:
            library.add(wenyuan.Source(source_id="rows", path=str(Path(place) / "rows.jsonl")))
            yield library


def timed(texts: Sequence[str], each: int) -> str:
    """How long answers of ten claims take that stand in one library of these passages."""
    draw = random.Random(3)
    shuffled = draw.sample(texts, len(texts))
    stored = (Claim(said) for kind, said in made(shuffled, 10 * each, draw) if kind == "as it is")
    claims = list(islice(stored, 10 * each))
    took = []
    with holding(texts) as library:
        for at in range(0, len(claims) - 9, 10):
            begun = time.perf_counter()
            library.verify(VerifyRequest(claims=tuple(claims[at : at + 10])))
            took.append((time.perf_counter() - begun) * 1e3)
    return f"{len(took)} answers of ten claims, {len(texts)} passages: {spread(took)}"


def spread(took: Sequence[float]) -> str:
    ordered = sorted(took)
    return f"p50 {ordered[len(took) // 2]:.1f} ms, p95 {ordered[len(took) * 95 // 100]:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=3_000)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--times", action="store_true")
    given = parser.parse_args()
    if given.times:
        texts = [text for folder in given.folders for text in read(folder, given.passages, random.Random(3))]
        print(timed(list(dict.fromkeys(texts)), given.each))
        print(json.dumps(environment()))
        return
    found: dict[str, Counter[str]] = defaultdict(Counter)
    took: list[float] = []
    for folder in given.folders:
        draw = random.Random(3)
        texts = read(folder, given.passages, draw)
        with holding(texts) as library:
            claims = list(made(texts, given.each, draw))
            for at in range(0, len(claims), 10):
                part = claims[at : at + 10]
                request = VerifyRequest(claims=tuple(Claim(claim) for _, claim in part))
                begun = time.perf_counter()
                verdicts = library.verify(request).claims
                took.append((time.perf_counter() - begun) * 1e3)
                for (kind, _), one in zip(part, verdicts, strict=True):
                    found[kind][one.verdict] += 1
        print(f"{folder.name}: {len(texts)} passages, {len(claims)} claims", flush=True)
    told = {
        kind: {"asked": sum(of.values()), "named": of[KINDS[kind][0] if kind in KINDS else "stitched"],
               "called changed": sum(of[verdict] for verdict in CHANGED), "verdicts": dict(of.most_common())}
        for kind, of in found.items()
    }  # fmt: skip
    if given.json:
        print(json.dumps({"environment": environment(), "kinds": told}, ensure_ascii=False, indent=1))
        return
    print(json.dumps(environment()))
    print("| claim | asked | verdict is its kind | called changed | verdicts |\n|---|---|---|---|---|")
    for kind, of in told.items():
        shares = (f"{of[name] / of['asked']:.3f}" for name in ("named", "called changed"))
        print(f"| {kind} | {of['asked']} | {' | '.join(shares)} | {of['verdicts']} |")
    print(f"ten claims: {spread(took)}")


if __name__ == "__main__":
    main()
