"""Whether synonyms that a library's own texts give away find more: mined, put into its table, and measured.

    python bench/mining.py DIR … [--limit 400] [--cache DIR] [--show 12]

DIR is a judged set in BEIR layout. Three things tell that two terms mean the same:

    definitions     ``X（以下简称“Y”）``, ``X (hereinafter referred to as "Y")``
    abbreviations   ``Personal Protective Equipment (PPE)``, ``住房和城乡建设部（住建部）``: the letters of the short form begin the
                    words before it (Schwartz & Hearst 2003), its characters stand in the long one in that order
    same answers    entries with the same text under different titles: where those differ

A question that says no term of the table is answered as before, so only questions that do are asked, with and without the
table: of each kind, and of all. A set without any is not built. Figures are changes of the mean over all questions, with
nothing refused; a star: nine in ten bootstrap means over the questions lie on that side of zero.
"""

from __future__ import annotations

import argparse
import platform
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scoring import DEPTH, STEPS, K, bare, gain, opened, signed, switched
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.scoring.evaluation import ndcg, reciprocal_rank
from wenyuan.core.text.synonyms import Synonym, parse_synonym
from wenyuan.core.text.wordings import SynonymTable
from wenyuan.evaluation.built_library import default_cache, entries_of
from wenyuan.evaluation.corpus import open_corpus, read_lines
from wenyuan.evaluation.questions import JudgedQuery, JudgedSet, read_judged
from wenyuan.service.library import Library

HAN = "\u4e00-\u9fff"
DEFINED = re.compile(
    f"(?:《(?P<title>[^《》]{{2,40}})》|(?P<term>[{HAN}A-Za-z0-9]{{2,40}}))[（(]以下(?:简称|统称|称)(?:为|作)?[：:]?"
    f'[“"「《]?(?P<short>[{HAN}A-Za-z0-9]{{2,20}})[”"」》]?[）)]'
)
REFERRED = re.compile(
    r"(?P<term>\b[A-Z][\w&.'-]*(?: (?:(?:of|the|and|for|on) )?[A-Z][\w&.'-]*){0,7}) "
    r"[(](?:(?:hereinafter|hereafter|collectively|simply),? )*(?:referred to as |the |called )?(?:the )?"
    r"[\"“'‘](?P<short>[A-Z][^\"”'’()]{1,39})[\"”'’][)]"
)
BRACKETED = re.compile(r"(?P<before>(?:[\w&/'’-]+[ ]){1,10})[(](?P<short>[A-Z][A-Za-z]{0,2}[A-Z&]{1,5})s?[)]")
SPELLED = re.compile(r"\b(?P<short>[A-Z]{2,6}) [(](?P<long>(?:[\w&/'’-]+[ ]){1,7}[\w&/'’-]+)[)]")
SHORTENED = re.compile(f"(?P<before>[{HAN}]{{4,24}})[（(](?P<short>[{HAN}]{{2,6}})[）)]")
VERBS = re.compile("根据|依据|依照|按照|为了|加强|规范|是指|以及|或者|的|和|与|及|对|由|在|向|为|是|经|至|将|有|当")
CORE = 3  # words, or four times as many Chinese characters, in which two questions differ
MARKED = 8  # Chinese characters of a term that is cut at its verbs


def mined(records: Sequence[tuple[str, str]]) -> dict[str, list[Synonym]]:
    """Synonyms of titles and texts, by what told them; none of them twice."""
    found: dict[str, list[Synonym]] = {"definitions": [], "abbreviations": [], "same answers": []}
    seen = set()
    pairs = ((kind, *pair) for kind, how in HOW.items() for pair in how(records))
    for kind, term, synonym in pairs:
        try:
            entry = parse_synonym({"term": term.strip(), "synonym": synonym.strip()})
        except InvalidRequest:  # too long, or read as the same already
            continue
        if entry.key not in seen:
            seen.add(entry.key)
            found[kind].append(entry)
    return found


def definitions(records: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for _, text in records:
        for match in DEFINED.finditer(text):
            term = match["title"] or match["term"]
            yield (term if match["title"] else from_its_noun(term)), match["short"]
        for match in REFERRED.finditer(text):
            yield match["term"].removeprefix("The "), match["short"]


def from_its_noun(term: str) -> str:
    """The end of a clause that may be its noun: what stands behind the last word that no name has."""
    cuts = [match.end() for match in VERBS.finditer(term[:-2])]
    return term[max((cut for cut in cuts if len(term) - cut >= 2), default=0) :] if len(term) > MARKED else term


def abbreviations(records: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """But none that is a word, too: ``IT``, ``ARTS``."""
    words = {word for record in records for text in record for word in re.findall(r"\b[a-z]{2,6}\b", text)}
    for title, text in records:
        whole = f"{title}\n{text}"
        spelled = [(m["short"], words_of(m["before"].split(), m["short"])) for m in BRACKETED.finditer(whole)]
        for match in SPELLED.finditer(whole):
            if words_of(match["long"].split(), match["short"]) == match["long"]:
                spelled.append((match["short"], match["long"]))
        yield from ((short, long) for short, long in spelled if long and short.lower() not in words)
        for match in SHORTENED.finditer(whole):
            if long := characters_of(match["before"], match["short"]):
                yield match["short"], long


def words_of(before: Sequence[str], short: str) -> str:
    """The last words that the letters begin, small words between them left out; ``""``: none do."""
    letters = [c for c in short.lower() if c.isalpha()]
    at = len(before)
    for letter in reversed(letters):
        at -= 1
        while at >= 0 and not before[at].lower().startswith(letter):
            if before[at].lower() not in ("of", "and", "the", "for", "in", "to", "on", "&"):
                return ""
            at -= 1
    return " ".join(before[at:]) if at >= 0 and len(letters) > 1 else ""


def characters_of(before: str, short: str) -> str:
    """The end of a run of characters that begins as the short form does and has all of it in its order."""
    for start in range(len(before) - len(short) - 1, -1, -1):
        rest = iter(before[start:])
        if before[start] == short[0] and all(c in rest for c in short):
            return before[start:] if short not in before[start:] else ""
    return ""


def same_answers(records: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    by_text: dict[str, list[str]] = defaultdict(list)
    for title, text in records:
        by_text[" ".join(text.split())].append(title.rpartition(" > ")[2])
    for titles in by_text.values():
        for other in titles[1:]:
            one, two = apart(titles[0]), apart(other)
            start = alike(one, two)
            end = alike(one[start:][::-1], two[start:][::-1])
            cores = [words[start : len(words) - end] for words in (one, two)]
            if all(cores) and all(sum(4 if len(w) > 1 else 1 for w in core) <= 4 * CORE for core in cores):
                yield together(cores[0]), together(cores[1])


def alike(one: Sequence[str], two: Sequence[str]) -> int:
    """How many words are the same at the beginning."""
    return next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def apart(title: str) -> list[str]:
    return re.findall(f"[{HAN}]|[^\\s{HAN}]+", title)


def together(words: Sequence[str]) -> str:
    return re.sub(f"(?<=[{HAN}]) (?=[{HAN}])", "", " ".join(words))


HOW = {"definitions": definitions, "abbreviations": abbreviations, "same answers": same_answers}


def asked(library: Library, entries: Mapping[int, str], judged: JudgedSet, some: Sequence[JudgedQuery]) -> np.ndarray:
    """``(questions, 2)``: nDCG@10 and MRR@10 of each."""
    rows = []
    with switched(library, STEPS["shipped"]):
        for question in some:
            grades = judged.qrels[question.query_id]
            hits = library.search(question.text, limit=DEPTH, filter=question.filter).hits
            found = [grades.get(entry, 0) for entry in dict.fromkeys(entries[hit.passage_id] for hit in hits)]
            rows.append((ndcg(found, grades.values(), K), reciprocal_rank(found, K)))
    return np.array(rows)


def measured(folder: Path, cache: Path, limit: int, show: int) -> list[float]:
    """A row: of each kind how many pairs, how many questions say one, and the changes; then of all together."""
    corpus = open_corpus(folder)
    found = mined([(record.get("title") or "", record["text"]) for _, _, record in read_lines(corpus.path)])
    judged = read_judged(folder, corpus.uris, limit=limit)
    tables = {**found, "all": [entry for kind in found.values() for entry in kind]}
    touched = {kind: saying(SynonymTable(entries), judged.questions) for kind, entries in tables.items()}
    changes = {kind: np.zeros((len(judged.questions), 2)) for kind in tables}
    if touched["all"]:
        _, library = opened(folder, cache)
        with library:
            numbers = entries_of(library, corpus)
            before = asked(library, numbers, judged, [judged.questions[n] for n in touched["all"]])
            known = dict(zip(touched["all"], before, strict=True))
            for kind in [kind for kind in tables if touched[kind]]:
                catalog: Any = library.catalog
                entered = catalog.put_synonyms(tables[kind], "bench").entries
                try:
                    after = asked(library, numbers, judged, [judged.questions[n] for n in touched[kind]])
                finally:
                    catalog.remove_synonyms([entry.number for entry in entered])
                changes[kind][touched[kind]] = after - np.array([known[n] for n in touched[kind]])
    cells, count = [], len(judged.questions)
    for kind, change in changes.items():
        gains = " / ".join(gain([0.0] * count, column) for column in change.T.tolist())
        won, lost = (int((sign * change[:, 0] > 0).sum()) for sign in (1, -1))
        cells.append(f"{len(tables[kind])}, {len(touched[kind])}: {gains} ({won}, {lost})")
    print(f"| {folder.name} | {count} | {' | '.join(cells)} |", flush=True)
    for kind, told in found.items():
        for entry in told[:: max(1, len(told) // show)] if show else ():
            print(f"    {kind}: {entry.label}")
    return [
        figure
        for kind, change in changes.items()
        for figure in (len(touched[kind]) / count, *change.mean(axis=0).tolist())
    ]


def saying(table: SynonymTable, questions: Sequence[JudgedQuery]) -> list[int]:
    """Which questions say a term of the table."""
    return [number for number, question in enumerate(questions) if table.wordings(question.text).others]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--show", type=int, default=0, help="so many of the pairs of each kind, for reading")
    given = parser.parse_args()
    print(f"{platform.machine()}, {platform.python_version()}, at most {given.limit} questions a set")
    print("pairs, questions that say one: change of nDCG@10 / MRR@10 (questions that gain, that lose)")
    print(f"| set | questions | {' | '.join((*HOW, 'all'))} |\n|---|---|{'---|' * (len(HOW) + 1)}")
    rows = [measured(folder, given.cache, given.limit, given.show) for folder in given.sets]
    means = np.mean(rows, axis=0).reshape(-1, 3)
    cells = (f"{bare(share)}: {signed(float(ndcg10))} / {signed(float(mrr))}" for share, ndcg10, mrr in means)
    print(f"| mean | | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
