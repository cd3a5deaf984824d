"""Build the documentation site: ``make site``, or ``.venv-site/bin/python scripts/build_site.py``.

The pages are those of ``docs/``, the front page and the project's own pages, in two trees: English at the root, Chinese
under ``zh/``. What they link besides (an example, a manifest, a test) becomes a page that shows it. Each page has a twin
in Markdown beside it, and ``llms.txt`` of each language lists the twins. The build is strict: a link, an anchor or a
setting that Zensical finds wrong ends it, and ``check_site.py`` then looks at what was written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import check_site

HOME = Path(__file__).resolve().parents[1]
PARTS = HOME / "scripts" / "documentation_site"
BUILD = HOME / "build" / "site"
NAMES = {"en": "English", "zh": "简体中文"}
ABOUT = {
    "en": "A knowledge service for LLM agents: governed sources in, checkable evidence out.",
    "zh": "面向大模型智能体的知识服务：受治理的来源进，可核查的证据出。",
}
SHOWN = {"en": "Files shown", "zh": "所示文件"}
OTHER = {"en": "Other pages", "zh": "其他页面"}
SEARCH_IN_CHINESE = {
    '"Close search"': '"关闭搜索"',
    '"Filters"': '"筛选"',
    'placeholder:"Search"': 'placeholder:"搜索"',
    '"aria-label":"Search"': '"aria-label":"搜索"',
    '"Search results"': '"搜索结果"',
    '"result":"results"': '"个结果":"个结果"',
    '"No results"': '"没有找到"',
    '"Loading search\\u2026"': '"正在载入…"',
    '"Search is unavailable. Reload the page to try again."': '"无法搜索，请重新载入页面。"',
}
"""What the scripts of Zensical say in English whatever the language of the site; each must stand in them."""

_PIECE = re.compile(
    r"(?P<fence>^(?P<mark> *(`{3,}|~{3,}))[^\n]*\n.*?^(?P=mark)[`~]*[ \t]*$)"
    r"|(?P<link>(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^)\s]+)\))"
    r"|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))",
    re.MULTILINE | re.DOTALL,
)
_ITEM = re.compile(r"( *)([-*+]|\d+[.)]) +(?=\S)")
_FENCES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".ts": "typescript", ".toml": "toml"}
_HAN = "[\u3001-\u303f\u4e00-\u9fff\uff01-\uff5e\u2014\u2026\u201c\u201d]"
_HAN_ENDS = re.compile(rf"{_HAN}\Z")
_HAN_BEGINS = re.compile(rf" *{_HAN}")


@dataclass(frozen=True)
class Page:
    """A file of the project as a page: where it lies, its language, and its address in the site without a suffix."""

    source: Path
    language: str
    address: str

    @property
    def inner(self) -> str:
        """The address within the tree of its language."""
        return self.address.removeprefix("zh/")


def page_of(source: Path, language: str) -> Page:
    """The page of a file; what is no page of documentation is shown in the tree of the reader's ``language``."""
    name = source.as_posix()
    if source.suffix == ".md":
        language = "zh" if name.endswith(".zh.md") else "en"
        stem = name.removesuffix(".md").removesuffix(".zh")
        inner = re.sub(r"(^|/)README\Z", r"\1index", stem.removeprefix("docs/"))
    else:
        inner = f"files/{name}".replace("/.", "/")  # a hidden file is not published
    return Page(source, language, f"zh/{inner}" if language == "zh" else inner)


def relative(target: str, page: Page) -> str:
    """The way from a page to an address of the site."""
    return os.path.relpath(target, Path(page.address).parent).replace(os.sep, "/")


def rewritten(text: str, page: Page, linked: list[Page], pictures: list[Path], twin: bool) -> str:
    """The text of a page with its links as the site has them; adds to ``linked`` and ``pictures`` what they lead to."""

    def replaced(found: re.Match[str]) -> str:
        target, label = found["target"], found["text"]
        if not found["link"] or "://" in target or target[0] == "#" or target.startswith("mailto:"):
            if found["link"] and not found["image"]:
                return f"[{_PIECE.sub(replaced, label)}]({target})"
            return found[0]
        path, _, anchor = target.partition("#")
        file = Path(os.path.normpath(page.source.parent / path))
        if found["image"]:
            pictures.append(file)
            return f"![{label}]({relative(file.as_posix().removeprefix('docs/'), Page(file, 'en', page.inner))})"
        to = page_of(file, page.language)
        linked.append(to)
        anchor = f"#{anchor}" if anchor else ""
        if twin:
            return f"[{label}]({relative(to.address + '.md', page)}{anchor})"
        if to.language == page.language:
            return f"[{label}]({relative(to.address + '.md', page)}{anchor})"
        return f'<a href="{relative(to.address + ".html", page)}{anchor}" hreflang="{to.language}">{label}</a>'

    return _PIECE.sub(replaced, text)


def joined(text: str) -> str:
    """Lines of a Chinese paragraph as one: the end of a line is shown as a space, and between Chinese there is none."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = line.lstrip()[:3]
        if mark in {"```", "~~~"} and fence in {"", mark}:
            fence = "" if fence else mark
        before = lines[-1] if lines else ""
        paragraph = not fence and before.lstrip()[:1] not in {"#", "|"}
        if paragraph and _HAN_ENDS.search(before) and _HAN_BEGINS.match(line):
            lines[-1] = before + line.lstrip()
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def spaced(text: str) -> str:
    """Lists as Python-Markdown wants them: a blank line before each and after what is indented, four spaces a level."""
    lines: list[str] = []
    fence, levels, at_list, indented = "", [0], False, False
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        mark = line.lstrip()[:3]
        item = None if fence else _ITEM.match(line)
        if mark in {"```", "~~~"} and fence in {"", mark}:
            fence = "" if fence else mark
        if item and (at_list or len(item[1]) < 4):
            if not at_list:
                levels = [len(item[1])]
            while len(levels) > 1 and len(item[1]) < levels[-1]:
                levels.pop()
            if before.strip() and (not at_list or indented):
                lines.append("")
            lines.append("    " * (len(levels) - 1) + line.lstrip())
            levels.append(len(item[0]))
            at_list, indented = True, False
            continue
        at_list &= bool(fence) or line.startswith(" ") or not line.strip() or bool(before.strip())
        indented = at_list and bool(line.strip()) and (indented or not before.strip())
        lines.append(_moved(line, levels) if at_list else line)
    return "\n".join(lines) + "\n"


def _moved(line: str, levels: list[int]) -> str:
    """A line that belongs to an item of a list, with the indent that Python-Markdown wants."""
    indent = len(line) - len(line.lstrip())
    if not line.strip() or not indent:
        return line
    level = sum(1 for one in levels[1:] if indent >= one)
    return "    " * level + " " * (indent - levels[level]) + line.lstrip() if level else line


def shown(page: Page) -> str:
    """A page that shows a file of the project, or the list of a folder."""
    file = HOME / page.source
    if file.is_dir():
        rows = [f"- [{one.name}]({file.name}/{one.name})" for one in sorted(file.iterdir()) if one.is_file()]
        return f"# {page.source.as_posix()}\n\n" + "\n".join(rows) + "\n"
    text = file.read_text("utf-8")
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"# {page.source.as_posix()}\n\n{ticks}{_FENCES.get(file.suffix, 'text')}\n{text.rstrip()}\n{ticks}\n"


def staged(pages: list[Page], stage: Path, twins: Path) -> list[Page]:
    """Write the sources of the pages, of all that they lead to, and the twins; returns the pages that were added."""
    waiting, seen, added = list(pages), set(pages), []
    while waiting:
        page = waiting.pop(0)
        text = (HOME / page.source).read_text("utf-8") if page.source.suffix == ".md" else shown(page)
        linked: list[Page] = []
        pictures: list[Path] = []
        source = spaced(joined(rewritten(text, page, linked, pictures, twin=False)))
        twin = rewritten(text, page, [], [], twin=True)
        for place, content in (
            (stage / page.language / f"{page.inner}.md", source),
            (twins / f"{page.address}.md", twin),
        ):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, "utf-8")
        for picture in pictures:
            copy = stage / page.language / picture.as_posix().removeprefix("docs/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(HOME / picture, copy)
        for to in linked:
            if to not in seen:
                seen.add(to)
                added.append(to)
                waiting.append(to)
    return added


def title_of(page: Page) -> str:
    """The first heading of a page, as plain text."""
    if page.source.suffix != ".md":
        return page.source.as_posix()
    heading = re.search(r"^# +(.+)$", (HOME / page.source).read_text("utf-8"), re.MULTILINE)
    if heading is None:
        raise SystemExit(f"{page.source} has no first heading")
    return re.sub(r"[`*]", "", heading[1])


def tabs(language: str) -> Iterator[tuple[str, list[tuple[str, list[Page]]]]]:
    """The navigation: name of a tab → its sections, each with a name (that of pages directly under it is empty)."""
    for tab in tomllib.loads((PARTS / "navigation.toml").read_text("utf-8"))["tab"]:
        sections = [("", tab.get("pages", []))]
        sections += [(one[language], one["pages"]) for one in tab.get("section", [])]
        yield tab[language], [(name, list(named(pages, language))) for name, pages in sections if pages]


def named(stems: list[str], language: str) -> Iterator[Page]:
    """The pages that the navigation names, in a language; one that has none in Chinese is left out there."""
    for stem in stems:
        folder = "" if (HOME / f"{stem}.md").is_file() else "docs/"
        file = Path(f"{folder}{stem}{'.zh' if language == 'zh' else ''}.md")
        if (HOME / file).is_file():
            yield page_of(file, language)
        elif language == "en":
            raise SystemExit(f"navigation.toml names {stem}, which is no page")


def configuration(language: str, nav: list[Any], both: list[str]) -> dict[str, Any]:
    """What Zensical is told for one tree."""
    toggles = [
        ("(prefers-color-scheme: light)", "default", "lucide/sun"),
        ("(prefers-color-scheme: dark)", "slate", "lucide/moon"),
    ]
    names = {"en": ("Dark colours", "Light colours"), "zh": ("深色", "浅色")}[language]
    return {
        "site_name": {"en": "Wenyuan", "zh": "文渊"}[language],
        "site_description": ABOUT[language],
        "copyright": "Apache-2.0",
        "docs_dir": f"stage/{language}",  # it takes only paths beside its file
        "site_dir": "html" if language == "en" else "html/zh",
        "use_directory_urls": False,
        "nav": nav,
        "theme": {
            "language": language,
            "font": False,
            "custom_dir": "overrides",
            "palette": [
                {"media": media, "scheme": scheme, "toggle": {"icon": icon, "name": name}}
                for (media, scheme, icon), name in zip(toggles, names, strict=True)
            ],
            "features": [
                "navigation.tabs",
                "navigation.sections",
                "navigation.top",
                "search.highlight",
            ],
        },
        "extra": {
            "generator": False,
            "both": [f"{page}.html" for page in both],
            "alternate": True,
            "polyfills": [
                {"path": "assets/iframe-worker.js", "type": "text/javascript", "async": False, "defer": False}
            ],
        },
        "extra_css": ["assets/site.css"],
        "extra_javascript": ["assets/scroll.js"],
        "plugins": [{"search": {}}, {"offline": {}}],
        "markdown_extensions": [
            "tables",
            "attr_list",
            "sane_lists",
            {"toc": {"slugify": {"object": "pymdownx.slugs.slugify", "kwds": {"case": "lower"}}, "permalink": True}},
            {"pymdownx.highlight": {"anchor_linenums": False}},
            "pymdownx.superfences",
            "pymdownx.magiclink",
            {"pymdownx.tilde": {"subscript": False}},
        ],
        "validation": {"invalid_links": True, "invalid_link_anchors": True},
    }


def index(language: str, pages: dict[str, list[Page]]) -> str:
    """``llms.txt`` of a language: what the project is, then the twin of each page under the name of its tab."""
    front = Page(Path(), language, "zh/llms" if language == "zh" else "llms")
    lines = [f"# {'文渊' if language == 'zh' else 'Wenyuan'}", "", f"> {ABOUT[language]}"]
    for tab, found in pages.items():
        lines += ["", f"## {tab}", ""]
        lines += [f"- [{title_of(page)}]({relative(page.address + '.md', front)})" for page in found]
    return "\n".join(lines) + "\n"


def without_empty_heads(site: Path) -> None:
    """A table whose columns have no names has cells for them, no headings: a screen reader would announce nothing."""
    for file in site.rglob("*.html"):
        text = file.read_text("utf-8")
        file.write_text(re.sub(r"<th([^>]*)></th>", r"<td\1></td>", text), "utf-8")


def translated(site: Path) -> None:
    """Say in Chinese what the search says."""
    (file,) = site.glob("assets/javascripts/bundle.*.js")
    text = file.read_text("utf-8")
    for english, chinese in SEARCH_IN_CHINESE.items():
        if english not in text:
            raise SystemExit(f"Zensical's scripts do not say {english} any more: see SEARCH_IN_CHINESE")
        text = text.replace(english, chinese)
    file.write_text(text, "utf-8")


def built(language: str, config: dict[str, Any], zensical: Path) -> None:
    """Run Zensical, strictly; what it warned of is told."""
    file = BUILD / f"{language}.yml"
    file.write_text(json.dumps(config, ensure_ascii=False, indent=1), "utf-8")
    done = subprocess.run(
        [zensical, "build", "--strict", "--clean", "-f", file], check=False, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        raise SystemExit(f"{said[-20000:]}\nThe {NAMES[language]} tree could not be built.")


def main() -> None:
    """Stage, build, write the twins, and check."""
    shutil.rmtree(BUILD, ignore_errors=True)
    stage, site = BUILD / "stage", BUILD / "html"
    trees = {language: list(tabs(language)) for language in NAMES}
    pages = [page_of(Path("README.md"), "en"), page_of(Path("README.zh.md"), "zh")]
    pages += [page for tree in trees.values() for _, sections in tree for _, found in sections for page in found]
    twins = BUILD / "twins"
    shutil.copytree(PARTS / "overrides", BUILD / "overrides")
    added = staged(pages, stage, twins)
    every = {page.inner for page in (*pages, *added) if page.language == "en"}
    both = sorted(every & {page.inner for page in (*pages, *added) if page.language == "zh"})
    for language, tree in trees.items():
        nav: list[Any] = [{{"en": "Start", "zh": "开始"}[language]: "index.md"}]
        listed = {}
        for tab, sections in tree:
            items: list[Any] = []
            for name, found in sections:
                entries = [{title_of(page): f"{page.inner}.md"} for page in found]
                items += [{name: entries}] if name else entries
            nav.append({tab: items})
            listed[tab] = [page for _, found in sections for page in found]
        more = [page for page in added if page.language == language]
        readmes = [page for page in more if page.source.suffix == ".md"]
        shows = [page for page in more if page.source.suffix != ".md"]
        for label, found in ((OTHER[language], readmes), (SHOWN[language], shows)):
            nav += [{label: [{title_of(page): f"{page.inner}.md"} for page in found]}] if found else []
            listed |= {label: found} if found else {}
        shutil.copytree(PARTS / "assets", stage / language / "assets", dirs_exist_ok=True)
        built(language, configuration(language, nav, both), Path(sys.executable).parent / "zensical")
        if language == "zh":
            translated(site / "zh")
            (site / "zh" / "404.html").unlink()  # a host of files knows one, that of the root
        (twins / ("zh" if language == "zh" else "") / "llms.txt").write_text(index(language, listed), "utf-8")
    without_empty_heads(site)
    shutil.copytree(twins, site, dirs_exist_ok=True)
    faults = check_site.faults(
        site, HOME, [page.source for page in pages], {p.address: p.source for p in (*pages, *added)}
    )
    texts = sorted({page.source for page in (*pages, *added) if page.source.suffix == ".md"})
    faults += check_site.misspelled(texts, HOME, PARTS / "known_words.txt", PARTS / "wrong_words.zh.tsv")
    for fault in faults:
        print(fault)
    if faults:
        raise SystemExit(f"{len(faults)} faults in the site")
    print(f"{len(pages) + len(added)} pages in {site.relative_to(HOME)}: open index.html, or zh/index.html")


if __name__ == "__main__":
    main()
