"""Whether addresses open where the passage begins, counted by kind of document in real Chromium.

    python bench/addresses.py FOLDER … [--scratch DIR] [--most 400] [--questions 200]

Each FOLDER becomes a source of a fresh library in the scratch folder. Asked are, of at most `--most` passages of each kind:

- HTML, Markdown (rendered by markdown-it, its headings named by GitHub's rule, in the browser) and text: Chromium opens the
  address. The element that the fragment names is there, the passage's first words stand at or after it and before the next
  element with an id, and they are in the window. ``anchor`` counts the first two, ``opens`` all of them.
- PDF: the fragment is ``page=N``, and pdfium's text of that page has the passage's first words.

Beside that: near duplicates that one answer of ten gives twice, answers that name others in ``also_in``, and FAILED answers
while another process adds a source and refreshes it. Headings of passages are the questions.

Real documentation, some thousands of files in two languages, comes with Debian 12:

    mkdir /tmp/pages && cd /tmp/pages
    apt-get download debian-policy git-doc python3.11-doc postgresql-doc-15 debian-reference-en debian-reference-zh-cn \\
        debian-faq-zh-cn maint-guide maint-guide-zh-cn developers-reference debian-handbook
    for package in *.deb; do dpkg -x $package all; done && cd all/usr/share
    python bench/addresses.py doc/git-doc doc/python3.11/html/library doc/debian-policy debian-reference \\
        doc/debian-handbook/html/zh-CN doc/maint-guide-zh-cn doc/postgresql-doc-15/html developers-reference
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import wenyuan
from search import environment
from wenyuan.core.model import Passage, RetrievalRequest, Source

KINDS = {".html": "HTML", ".htm": "HTML", ".xhtml": "HTML", ".md": "Markdown", ".txt": "text", ".pdf": "PDF"}
MARK = re.compile(r"^(?:(?:[-*+•>]|[0-9]+[.)]|#{1,6})\s+)+")
FIRST = 24  # characters, without white space, that stand for a passage's first words
SETTLES = 4.0  # seconds at most until a page that was opened stands still
ALIKE = 0.8  # of five-character shingles in common

JUDGE = r"""([anchor, words]) => {
  const bare = text => text.normalize("NFKC").replace(/[\s\u00ad]+/g, "").toLowerCase();
  const target = anchor === "" ? document.body
      : document.getElementById(anchor) || document.querySelector(`a[name="${CSS.escape(anchor)}"]`);
  if (!target) return {named: false, anchor: false, opens: false};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  const follows = node => node === target || target.contains(node)
      || (target.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING);
  let text = "", places = [], stops = [], node = walker.currentNode;
  for (; node; node = walker.nextNode()) {
    if (!follows(node)) continue;
    if (node.nodeType === Node.ELEMENT_NODE) {
      if (node !== target && node.id && document.getElementById(node.id) === node && !node.closest("nav,aside,footer,[role=navigation],script,style,svg"))
        stops.push(text.length);
      continue;
    }
    if (node.parentElement.closest("script,style,.headerlink,nav,svg")) continue;
    for (let at = 0; at < node.data.length; at++)
      for (const c of bare(node.data[at])) { text += c; places.push([node, at]); }
  }
  const wanted = bare(words), at = text.indexOf(wanted);
  if (at < 0) return {named: true, anchor: false, opens: false};
  const between = anchor !== "" && stops.some(stop => stop > 0 && stop <= at && text.slice(0, stop).trim() !== "");
  const seen = from => {
    const [node, offset] = places[from], range = document.createRange();
    range.setStart(node, offset); range.setEnd(node, offset + 1);
    const box = range.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight;
  };
  return {named: true, anchor: !between, opens: seen(at)};
}"""
NAMES = r"""() => {
  const used = {};
  for (const heading of document.querySelectorAll("h1,h2,h3,h4,h5,h6")) {
    const name = heading.textContent.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replace(/ /g, "-");
    let free = name;
    while (free in used) free = `${name}-${++used[name]}`;
    used[free] = 0;
    heading.id = free;
  }
}"""


def kind_of(uri: str) -> str:
    return KINDS.get(PurePosixPath(unquote(uri.partition("#")[0])).suffix.lower(), "")


def first_words(text: str, *, marked_up: bool = False) -> str:
    """What a passage begins with, as a page shows it: no mark of a list, one cell of a row, no markup."""
    told = ""
    for line in text.split("\n"):
        cells = [cell for cell in line.split(" | ") if any(map(str.isalnum, cell))]
        shown = MARK.sub("", cells[0].strip()) if cells else ""
        if marked_up:
            shown = re.sub(r"\]\([^)]*\)|[*`\[\]]|\\(?=[^A-Za-z])", "", shown)
        told += "".join(unicodedata.normalize("NFKC", shown).split())
        if len(told) >= FIRST or (told and " | " in line):
            break
    return told[:FIRST]


def passages(library: Any) -> Iterator[Passage]:
    catalog = library.catalog
    live = {c.passage_id for c in catalog.changes(0, catalog.seq(), vectors=False) if c.row is not None}
    for part in itertools.batched(sorted(live), 500) if sys.version_info >= (3, 12) else _batched(sorted(live), 500):
        yield from catalog.passages(list(part)).values()


def _batched(items: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


class Reader:
    """Opens addresses in Chromium as a person would, and looks where they land."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self._browser = browser
        self._folder = folder
        self._rendered: dict[str, str] = {}

    def opens(self, address: str, text: str) -> dict[str, bool]:
        document, _, told = address.partition("#")
        where = self._page(document) if kind_of(address) == "Markdown" else document
        anchor = unquote(told.partition(":~:")[0])
        page = self._browser.new_page(viewport={"width": 1280, "height": 900}, java_script_enabled=True)
        try:
            page.goto(f"{where}#{told}" if told else where, wait_until="load")
            line = re.fullmatch(r"L[0-9]+", anchor) if kind_of(address) == "text" else None
            asked = ["" if line else anchor, first_words(text, marked_up=kind_of(address) == "Markdown")]
            ends = time.monotonic() + SETTLES  # a browser looks for words for some time, and scrolls then
            while not (found := page.evaluate(JUDGE, asked))["opens"] and time.monotonic() < ends:
                time.sleep(0.2)
            return dict(found)
        finally:
            page.close()

    def _page(self, document: str) -> str:
        """A Markdown file as a page, its headings named in the browser by GitHub's rule."""
        if document not in self._rendered:
            from markdown_it import MarkdownIt

            source = Path(unquote(document.removeprefix("file://"))).read_text("utf-8")
            source = re.sub(r"\A---\n.*?\n---\n", "", source, flags=re.S)
            page = self._browser.new_page()
            page.set_content("<meta charset=utf-8><body>" + MarkdownIt("commonmark").enable("table").render(source))
            page.evaluate(NAMES)
            file = self._folder / f"page-{len(self._rendered)}.html"
            file.write_text(page.content(), "utf-8")
            page.close()
            self._rendered[document] = f"file://{file}"
        return self._rendered[document]


class Pages:
    """The text of a PDF's pages, as pdfium gives it."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, int], str] = {}

    def opens(self, address: str, text: str) -> dict[str, bool]:
        document, _, told = address.partition("#")
        found = re.fullmatch(r"page=([0-9]+)(?:&part=[0-9]+)?", told)
        if not found:
            return {"named": False, "anchor": False, "opens": False}
        shown = _bare(self._text(unquote(document.removeprefix("file://")), int(found[1])))
        lands = _bare(first_words(text)) in shown
        return {"named": True, "anchor": lands, "opens": lands}

    def _text(self, file: str, number: int) -> str:
        if (file, number) not in self._texts:
            import pypdfium2

            with pypdfium2.PdfDocument(file) as pdf:
                for index in range(len(pdf)):
                    self._texts[file, index + 1] = pdf[index].get_textpage().get_text_range()
        return self._texts.get((file, number), "")


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))


def count(found: Iterable[Passage], browser: Any, folder: Path, missed: list[str]) -> dict[str, Counter[str]]:
    """By kind of document, how many passages there were and how many of their addresses land.

    Args:
        missed: Gets the addresses that do not.
    """
    reader, pages = Reader(browser, folder), Pages()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for passage in found:
        kind = kind_of(passage.uri)
        lands = (pages if kind == "PDF" else reader).opens(passage.uri, passage.text)
        counts[kind].update(["passages", *(name for name, so in lands.items() if so)])
        if not all(lands.values()):
            missed.append(f"{lands} {passage.uri}\n    {passage.text[:70]!r}")
    return counts


def sampled(found: Iterable[Passage], most: int) -> list[Passage]:
    by_kind: dict[str, list[Passage]] = defaultdict(list)
    for passage in found:
        by_kind[kind_of(passage.uri)].append(passage)
    by_kind.pop("", None)
    chance = random.Random(24)
    return [p for held in by_kind.values() for p in chance.sample(held, min(most, len(held)))]


def twice(texts: Sequence[str]) -> int:
    """Pairs of texts that say nearly the same."""
    shingles = [{"".join(t.split())[i : i + 5] for i in range(max(len("".join(t.split())) - 4, 1))} for t in texts]
    return sum(len(a & b) >= ALIKE * len(a | b) for a, b in itertools.combinations(shingles, 2))


def duplicates(library: Any, questions: Sequence[str]) -> dict[str, int]:
    told: Counter[str] = Counter()
    for question in questions:
        answer = library.retrieve_fragments(RetrievalRequest(query=question, max_results=10))
        pairs = twice([f.content for f in answer.fragments])
        told.update(answers=1, with_twins=pairs > 0, pairs=pairs)
        told.update(also_in=sum("also_in" in f.metadata for f in answer.fragments))
    return dict(told)


def failures(library: Any, folder: Path, added: str, questions: Sequence[str]) -> dict[str, int]:
    """FAILED answers of this process while another one adds a source and refreshes it, asked ten times a second."""
    told: Counter[str] = Counter()
    done = threading.Event()

    def write() -> None:
        for command in (["add", added, "--source", "added-beside"], ["refresh", "added-beside"]):
            subprocess.run(
                [sys.executable, "-m", "wenyuan.cli", "--library", str(folder), *command],
                check=True, capture_output=True, env={**os.environ, "WENYUAN_ENCODER__KIND": "hashing"},
            )  # fmt: skip
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    for question in itertools.cycle(questions):
        answer = library.retrieve_fragments(RetrievalRequest(query=question, max_results=5))
        told[answer.status] += 1
        if done.wait(0.1) or not writer.is_alive():
            break
    writer.join()
    return dict(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--scratch", type=Path, help="where the library is made; a temporary folder by default")
    parser.add_argument("--most", type=int, default=400, help="passages of each kind (default: 400)")
    parser.add_argument("--questions", type=int, default=200)
    given = parser.parse_args()
    scratch = given.scratch or Path(tempfile.mkdtemp(prefix="addresses-"))
    scratch.mkdir(parents=True, exist_ok=True)
    print(json.dumps(environment()))
    with wenyuan.open(scratch / "library", create=True, encoder={"kind": "hashing"}) as library:
        files: Counter[str] = Counter()
        for number, folder in enumerate(given.folders):
            source = Source(source_id=f"folder-{number}", title=folder, path=str(Path(folder).absolute()))
            report = library.add(source)
            files.update(read=report.files, failed=len(report.failed), passages=report.passages)
        print(json.dumps({"folders": len(given.folders), **files}))
        held = list(passages(library))
        doubled = Counter(p.uri for p in held)
        print(json.dumps({"addresses that two passages share": sum(n - 1 for n in doubled.values())}))
        _places(sampled(held, given.most), scratch)
        chance = random.Random(24)
        asked = sorted({p.headings[-1] for p in held if p.headings})
        asked = chance.sample(asked, min(given.questions, len(asked)))
        print(json.dumps({"duplicates": duplicates(library, asked)}, ensure_ascii=False))
        print(json.dumps({"while a source is added and refreshed": failures(
            library, scratch / "library", str(Path(given.folders[0]).absolute()), asked)}))  # fmt: skip


def _places(found: Sequence[Passage], scratch: Path) -> None:
    from playwright.sync_api import sync_playwright

    missed: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        print(json.dumps({"chromium": browser.version}))
        counts = count(found, browser, scratch, missed)
        browser.close()
    for kind, told in sorted(counts.items()):
        share = told["opens"] / told["passages"]
        print(f"{kind:10}{told['passages']:7}  named {told['named']:6}  anchor {told['anchor']:6}"
              f"  opens {told['opens']:6}  {share:.3f}")  # fmt: skip
    (scratch / "missed.txt").write_text("\n".join(missed), "utf-8")
    print(f"those that miss: {scratch / 'missed.txt'}")


if __name__ == "__main__":
    main()
