"""Whether the context of a request helps: the same question, asked about different documents.

    python bench/context.py DIR … [--cache DIR] [--passages 1500] [--weights DOCUMENT,SIBLING,TOPIC,CLIMB,DOMAIN,THEME]

DIR is a judged set in BEIR layout whose ids are ``document#part`` and whose metadata name the headings (``headings``
or ``chapter``). Its parts are put together again as Markdown documents and added to a library of their own, once.
Where a set is larger than ``--passages``, those of its documents are taken that its questions are about.

Ambiguous questions are made from headings that occur in several documents ("Who we are", 法律责任), without their
number, and of laws from what each of them says somewhere (适用范围): each is asked once for every document, and the
right passages are those of that document.
Unambiguous are the set's own questions, as far as their answers are in the library. All are asked without context,
then with ``source_document_uri`` naming the document, naming a file that the library does not have but whose path
tells the topic, and with a ``task_id`` that does; the set's own also with the contexts of five other documents, one
after the other, and one that says nothing: those must not cost anything.

Each top folder of a set is a source, and a domain, of its own. Profiles of tasks are registered for every document:
one of its domain (``domain``), one of the five terms that are most its own, its title left out (``terms``), one of
both and its title (``profile``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from wenyuan.app import open_library
from wenyuan.core.addresses import file_uri
from wenyuan.core.model import Passage, Source
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring import fusion
from wenyuan.core.task_profiles import parse_profile
from wenyuan.core.text.analysis import query_terms, terms
from wenyuan.core.text.folding import has_han
from wenyuan.encoders.builtin import BuiltinEncoder
from wenyuan.evaluation.built_library import default_cache
from wenyuan.evaluation.corpus import open_corpus, read_lines
from wenyuan.evaluation.measures import measured
from wenyuan.evaluation.questions import JudgedSet, read_judged
from wenyuan.evaluation.run import EngineRun, Ranked
from wenyuan.service.library import Library

NUMBER = re.compile(r"^(第[〇零一二三四五六七八九十百千0-9]+[编章节条]|[0-9.]+)\s*")
SAID = {
    "立法目的是什么": re.compile(r"制定本(法|条例|规定|办法|规则|细则)"),
    "适用范围": re.compile(r"适用本(法|条例|规定|办法|规则|细则)"),
    "从什么时候开始施行": re.compile(r"自.{4,16}起施行"),
}
"""What is asked of every law, and the words by which the article that answers is known."""
KINDS = ("domain", "terms", "profile")
PROBE = 60
"""Characters of a part by which the passages that it became are recognised."""

OTHERS = 5
"""Of how many other documents the contexts are tried: with one, a single question decides."""
UNHURRIED = Deadline(3_600.0, lambda: 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One entry of the corpus, as a part of its document."""

    entry: str
    document: str
    title: str
    headings: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, the document that it is asked about, and the passages that answer it."""

    text: str
    document: str
    answers: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A library made of a set, and where its documents lie."""

    library: Library
    uris: Mapping[str, str]
    titles: Mapping[str, str]
    passages: Sequence[Passage]


Context = Callable[[str], Mapping[str, str]]
"""What a request says when it is asked from a document."""


def parts(folder: Path, hidden: Container[str]) -> Iterator[Part]:
    """The entries of a corpus; a heading that is one of the set's questions is left out, as it would be its answer."""
    for _, _, record in read_lines(folder / "corpus.jsonl"):
        metadata = record.get("metadata") or {}
        headings = metadata.get("headings") or [h for h in (metadata.get("chapter"),) if h]
        yield Part(
            entry=str(record["_id"]),
            document=str(record["_id"]).partition("#")[0],
            title=metadata.get("law") or record["title"],
            headings=tuple(" ".join(h.split()) for h in headings if squeezed(h) not in hidden),
            text=f"{record['title'].rpartition(' ')[2]} {record['text']}" if "law" in metadata else record["text"],
        )


def chosen(every: Sequence[Part], wanted: Mapping[str, int], limit: int) -> list[Part]:
    """The parts of as many documents as the limit lets in, those first that most questions are about."""
    sizes = Counter(part.document for part in every)
    if len(every) <= limit:
        return list(every)
    kept, room = set(), limit
    for document in sorted(wanted, key=lambda d: (-wanted[d], sizes[d], d)):
        if sizes[document] <= limit // 10 and sizes[document] <= room:
            kept.add(document)
            room -= sizes[document]
    return [part for part in every if part.document in kept]


def written(every: Sequence[Part], folder: Path) -> None:
    """The documents as Markdown files, each below the path that its id names."""
    by_document: dict[str, list[Part]] = defaultdict(list)
    for part in every:
        by_document[part.document].append(part)
    for document, own in by_document.items():
        lines, path = [f"# {own[0].title}"], ()
        for part in own:
            same = 0
            while same < min(len(path), len(part.headings)) and path[same] == part.headings[same]:
                same += 1
            lines += [f"{'#' * (level + 2)} {part.headings[level]}" for level in range(same, len(part.headings))]
            lines.append(part.text)
            path = part.headings
        file = file_of(folder, document)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(lines) + "\n", "utf-8")


def shelved(folder: Path, cache: Path, limit: int) -> tuple[Shelf, list[Asked]]:
    """The library of a set, and the set's own questions that it can answer."""
    judged = read_judged(folder, open_corpus(folder).uris)
    about = Counter(entry.partition("#")[0] for grades in judged.qrels.values() for entry in grades)
    hidden = {squeezed(question.text) for question in judged.questions}
    own = chosen(list(parts(folder, hidden)), about, limit)
    made_of = [BuiltinEncoder.fingerprint.key, *(part.entry for part in own)]
    digest = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:12]
    place = cache / f"context2-{folder.resolve().name}-{digest}"
    files = place / "files"
    written(own, files)
    library = open_library(place / "library", create=True, search={"deadline": 60.0})
    for number, top in enumerate(sorted({top_of(part.document) for part in own})):
        library.add(Source(source_id=f"bench{number}", path=str(files.resolve() / top), domain=top))
    library.engine.sync(library.catalog, deadline=UNHURRIED)
    changes = library.catalog.changes(0, library.catalog.seq(), vectors=False)
    ids = [change.passage_id for change in changes if change.row is not None]
    passages = list(library.catalog.passages(ids, UNHURRIED).values())
    titles = {part.document: part.title for part in own}
    uris = {document: file_uri(file_of(files.resolve(), document)) for document in titles}
    shelf = Shelf(library=library, uris=uris, titles=titles, passages=passages)
    return shelf, list(judged_questions(shelf, own, judged))


def top_of(document: str) -> str:
    """The top folder of a document, which is its domain."""
    return document.partition("/")[0]


def file_of(folder: Path, document: str) -> Path:
    return folder / f"{document.removesuffix('.md')}.md"


def judged_questions(shelf: Shelf, own: Sequence[Part], judged: JudgedSet) -> Iterator[Asked]:
    """A part's passages are those of its document that hold how it begins, or that it holds."""
    part_of = {part.entry: part for part in own}
    of_document = by_document(shelf)
    for question in judged.questions:
        right = [part_of[entry] for entry in judged.qrels[question.query_id] if entry in part_of]
        answers = {
            passage.passage_id
            for part in right
            for passage in of_document[part.document]
            if squeezed(part.text)[:PROBE] in squeezed(passage.text)
        }
        if answers:
            yield Asked(text=question.text, document=right[0].document, answers=frozenset(answers))


def ambiguous(shelf: Shelf) -> Iterator[Asked]:
    """Every heading that occurs in several documents, and what is asked of laws, asked about each of them."""
    below: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for document, passages in by_document(shelf).items():
        for passage in passages:
            for heading in passage.headings:
                name = NUMBER.sub("", heading).strip()
                below[squeezed(name) if has_han(name) else name][document].add(passage.passage_id)
            for question, words in SAID.items():
                if words.search(passage.text):
                    below[question][document].add(passage.passage_id)
    for heading, documents in sorted(below.items()):
        if len(documents) > 1 and len(heading) > 1:
            for document, answers in sorted(documents.items()):
                yield Asked(text=heading, document=document, answers=frozenset(answers))


def by_document(shelf: Shelf) -> Mapping[str, list[Passage]]:
    document_of = {uri: document for document, uri in shelf.uris.items()}
    found: dict[str, list[Passage]] = defaultdict(list)
    for passage in shelf.passages:
        found[document_of[passage.uri.partition("#")[0]]].append(passage)
    return found


def profiled(shelf: Shelf) -> None:
    """Register the profiles of every document, which tasks name by its number."""
    spoken = own_terms(shelf)
    profiles: list[dict[str, object]] = []
    for number, document in enumerate(sorted(shelf.titles)):
        domains, title = [top_of(document)], [shelf.titles[document][:200]]
        profiles += [
            {"profile_id": f"domain-{number}", "domains": domains},
            {"profile_id": f"terms-{number}", "terms": spoken[document]},
            {"profile_id": f"profile-{number}", "domains": domains, "terms": title + spoken[document]},
        ]
    for profile in profiles:
        shelf.library.catalog.put_profile(parse_profile({**profile, "tasks": [profile["profile_id"]]}))


def own_terms(shelf: Shelf) -> Mapping[str, list[str]]:
    """Of each document the five terms that most of its passages have, and few other documents."""
    held = {
        document: Counter(term for p in passages for term in set(query_terms(p.text)) if len(term) > 1)
        for document, passages in by_document(shelf).items()
    }
    among = Counter(term for counts in held.values() for term in counts)
    titles = {document: set(terms(title)) for document, title in shelf.titles.items()}

    def weight(document: str, term: str) -> float:
        return held[document][term] * math.log(len(held) / among[term])

    return {
        document: sorted(
            (term for term in counts if term not in titles[document] and term[0] not in "#@"),
            key=lambda term: (-weight(document, term), term),
        )[:5]
        for document, counts in held.items()
    }


def squeezed(text: str) -> str:
    return "".join(text.split())


def contexts(shelf: Shelf) -> Mapping[str, Sequence[Context]]:
    """By name; of several that are meant alike, what is told is the mean."""
    names = sorted(shelf.titles)
    right = {name: name for name in names}
    steps = sorted({len(names) * number // (OTHERS + 1) for number in range(1, OTHERS + 1)} - {0})
    others = [dict(zip(names, [*names[step:], *names[:step]], strict=True)) for step in steps]
    return {
        "none": [lambda document: {}],
        "document": [partial(at_hand, shelf, right)],
        "path": [partial(path_of, shelf, right)],
        "task": [lambda document: {"task_id": f"review {shelf.titles[document]} 3"}],
        **{kind: [partial(task_of, kind, right, names)] for kind in KINDS},
        **{f"other {kind}": [partial(task_of, kind, other, names) for other in others] for kind in KINDS},
        "other document": [partial(at_hand, shelf, other) for other in others],
        "other path": [partial(path_of, shelf, other) for other in others],
        "neutral": [
            lambda document: {"source_document_uri": "file:///home/user/untitled 3.md", "task_id": "task-4711"}
        ],
    }


def at_hand(shelf: Shelf, about: Mapping[str, str], document: str) -> Mapping[str, str]:
    """A document of the library: the one that is asked about, or another."""
    return {"source_document_uri": shelf.uris[about[document]]}


def path_of(shelf: Shelf, about: Mapping[str, str], document: str) -> Mapping[str, str]:
    """A file that the library does not have, whose path has that document's title."""
    return {"source_document_uri": f"file:///projects/{shelf.titles[about[document]]}/minutes.md"}


def task_of(kind: str, about: Mapping[str, str], names: Sequence[str], document: str) -> Mapping[str, str]:
    """The task that has a profile of one kind, of the document that is asked about or of another."""
    return {"task_id": f"{kind}-{names.index(about[document])}"}


def row(shelf: Shelf, questions: Sequence[Asked], tried: Sequence[Context]) -> dict[str, Any]:
    """nDCG@10 and Hit@1 of the whole search, by passages: their means over the contexts, and the nDCG of each."""
    qrels = {str(number): {str(answer): 1 for answer in asked.answers} for number, asked in enumerate(questions)}
    ndcgs, firsts = [], []
    for context in tried:
        run = EngineRun("fused")
        for number, asked in enumerate(questions):
            hits = shelf.library.search(asked.text, limit=10, context=dict(context(asked.document)) or None).hits
            run.ranked[str(number)] = Ranked(tuple(str(h.passage_id) for h in hits), tuple(h.score for h in hits))
        run.ms["total"] = [0.0]
        figures, _ = measured(run, qrels, 10)
        ndcgs.append(figures["ndcg@10"])
        firsts.append(figures["hit@1"])
    return {"ndcg@10": fmean(ndcgs), "hit@1": fmean(firsts)} | ({"each": ndcgs} if len(tried) > 1 else {})


def weigh(given: str) -> None:
    """Try other weights than those of the program."""
    document, sibling, topic, climb, domain, theme = (float(value) for value in given.split(","))
    fusion._SAME_DOCUMENT, fusion._SIBLING, fusion._TOPIC = document, sibling, topic
    fusion._DOMAIN, fusion._THEME = domain, theme
    fusion.CLIMB = climb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--passages", type=int, default=1_500)
    parser.add_argument("--weights", action="append", help="may be given several times")
    parser.add_argument("--contexts", default="", help="only those whose name has one of these words, with commas")
    given = parser.parse_args()
    for folder in given.sets:
        shelf, own = shelved(folder, given.cache, given.passages)
        with shelf.library:
            unclear = list(ambiguous(shelf))
            profiled(shelf)
            for weights in given.weights or [""]:
                if weights:
                    weigh(weights)
                for kind, questions in (("ambiguous", unclear), ("own", own)):
                    for name, tried in contexts(shelf).items():
                        if not any(word in name for word in given.contexts.split(",")):
                            continue
                        figures = row(shelf, questions, tried)
                        told = {"set": folder.name, "weights": weights or "as they are", "questions": kind,
                                "asked": len(questions), "context": name, **figures}  # fmt: skip
                        print(json.dumps(told, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
