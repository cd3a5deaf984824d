"""Whether addresses open where the passage begins, counted by kind of document in real Chromium.

    python bench/addresses.py FOLDER … [--scratch DIR] [--most 400] [--questions 200]

Each FOLDER becomes a source of a fresh library in the scratch folder. Asked are, of at most `--most` passages of each kind:

- HTML and Markdown (rendered by markdown-it, its headings named by GitHub's rule, in the browser): Chromium opens the
  address. The element that the fragment names is there, the passage's first words stand at or after it and before the next
  element with an id, and they are in the window. ``anchor`` counts the first two, ``opens`` all of them. Letters and digits
  are compared; of places with the same first words those count that go on as the passage does.
- Text: the line that the fragment names begins the passage (``anchor``), and Chromium, which knows no lines, shows it.
- PDF: the fragment is ``page=N``, and pdfium's text of that page has the passage's first words.

Beside that: near duplicates that one answer of ten gives twice, answers that name others in ``also_in``, and what a server
answers, asked ten times a second, while other processes add the first FOLDER as a source, refresh it, read it again and
remove it. Headings of passages are the questions.

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
import time
import unicodedata
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import wenyuan
from search import environment
from wenyuan.core.model import Passage, RetrievalRequest, Source

KINDS = {".html": "HTML", ".htm": "HTML", ".xhtml": "HTML", ".md": "Markdown", ".txt": "text", ".pdf": "PDF"}
MARK = re.compile(r"^(?:(?:[-*+•>]|[0-9]+[.)]|#{1,6})\s+)+")
FIRST = 24  # letters and digits that stand for a passage's first words
WHOLE = 200  # of them, by which places with the same first words are told apart
SETTLES = 4.0  # seconds at most until a page that was opened stands still
ALIKE = 0.8  # of five-character shingles in common

LETTERS = r"""const bare = text => text.normalize("NFKC").replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase();
  const shown = (node, at) => {
    const range = document.createRange();
    range.setStart(node, at); range.setEnd(node, at + 1);
    const box = range.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight;
  };"""
JUDGE = r"""([anchor, first, whole]) => {
  LETTERS
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
  let most = 0, found = [];  // where the passage stands: of the places with its first words those that go on as it does
  for (let at = text.indexOf(first); at >= 0; at = text.indexOf(first, at + 1)) {
    let same = first.length;
    while (same < whole.length && whole[same] === text[at + same]) same++;
    if (same > most) { most = same; found = []; }
    if (same === most) found.push(at);
  }
  const below = at => anchor === "" || !stops.some(stop => stop > 0 && stop <= at);
  return {named: true, anchor: found.some(below), opens: found.some(at => below(at) && shown(...places[at]))};
}""".replace("LETTERS", LETTERS)
LINES = r"""([number, first]) => {
  LETTERS
  const node = document.querySelector("pre")?.firstChild;
  let start = node ? 0 : -1;
  for (let line = 1; line < number && start >= 0; line++) start = node.data.indexOf("\n", start) + 1 || -1;
  if (start < 0) return {named: false, anchor: false, opens: false};
  const end = (node.data.indexOf("\n", start) + 1 || node.data.length + 1) - 1, found = [];
  for (let at = start; at < end; at++)  // a passage may begin further on in its line
    if (node.data[at].trim() && bare(node.data.slice(at, at + 1000)).startsWith(first)) found.push(at);
  return {named: true, anchor: found.length > 0, opens: found.some(at => shown(node, at))};
}""".replace("LETTERS", LETTERS)
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
    """Letters and digits with which a passage begins, as a page shows it: no mark of a list, one cell of a row, no markup."""
    told = ""
    for line in text.split("\n"):
        cells = [cell for cell in line.split(" | ") if any(map(str.isalnum, cell))]
        shown = MARK.sub("", cells[0].strip()) if cells else ""
        if marked_up:
            shown = re.sub(r"\]\([^)]*\)|[*`\[\]]|\\(?=[^A-Za-z])", "", shown)
        told += _bare(shown)
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
        page = self._view
        page.goto("about:blank")  # else another place of the same document would only be scrolled to
        page.goto(f"{where}#{told}" if told else where, wait_until="load")
        first = first_words(text, marked_up=kind_of(address) == "Markdown")
        judge, asked = JUDGE, [anchor, first, (first + _bare(text).partition(first)[2])[:WHOLE]]
        if kind_of(address) == "text":
            line = re.fullmatch(r"L([0-9]+)", anchor)
            judge, asked = LINES, [int(line[1]) if line else 1, _bare(text)[:FIRST]]
        ends = time.monotonic() + SETTLES  # a browser looks for words for some time, and scrolls then
        while not (found := page.evaluate(judge, asked))["opens"] and time.monotonic() < ends:
            time.sleep(0.2)
        return dict(found)

    @cached_property
    def _view(self) -> Any:
        return self._browser.new_page(viewport={"width": 1280, "height": 900})

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


def failures(folder: Path, added: str, questions: Sequence[str]) -> Iterator[tuple[str, Counter[str]]]:
    """What a serving process answers, asked ten times a second, while others add a source, refresh, read and remove it."""
    served = subprocess.Popen(
        _command(folder, "serve", "--port", "0"), stdout=subprocess.PIPE, text=True, env=_HASHING
    )
    assert served.stdout is not None
    address = next(found[0] for line in served.stdout if (found := re.search(r"http://[^ \n]+", line)))
    asked = itertools.cycle(questions)
    try:
        while _asked(address, next(asked)) == "FAILED: not ready":
            time.sleep(0.5)
        for command in (
            ("add", added, "--source", "beside"), ("refresh", "beside"), ("ingest", "beside"),
            ("source", "remove", "beside", "--yes"),
        ):  # fmt: skip
            told: Counter[str] = Counter()
            began, writer = (
                time.monotonic(),
                subprocess.Popen(_command(folder, *command), stdout=subprocess.DEVNULL, env=_HASHING),
            )
            while writer.poll() is None:
                told[_asked(address, next(asked))] += 1
                time.sleep(0.1)
            told.update({"seconds": round(time.monotonic() - began), "rc": writer.returncode})
            yield command[0], told
    finally:
        served.terminate()
        served.wait()


_HASHING = {**os.environ, "WENYUAN_ENCODER__KIND": "hashing"}


def _command(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "wenyuan.cli", "--library", str(folder), "--lang", "en", *words]


def _asked(address: str, question: str) -> str:
    body = json.dumps({"query": question, "max_results": 5}).encode()
    request = urllib.request.Request(
        f"{address.rstrip('/')}/v1/retrieve_fragments", body, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            told = json.load(answer)
    except OSError as error:
        return f"FAILED: {error}"
    return str(told["status"]) if told["status"] != "FAILED" else f"FAILED: {told['error_message']}"


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
        print(json.dumps({"duplicates": duplicates(library, asked)}, ensure_ascii=False), flush=True)
    for command, told in failures(scratch / "library", str(Path(given.folders[0]).absolute()), asked):
        print(json.dumps({f"answers of a server during {command}": told}, ensure_ascii=False), flush=True)


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
