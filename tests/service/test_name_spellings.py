"""A file that is called by a part of a name, or by another spelling of it, shows neither where its documents mask the name."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from dulwich import porcelain
from typer.testing import CliRunner

import wenyuan
from console_door import served
from governed_door import key, send
from web_site import html, web_site
from wenyuan.cli.root import app
from wenyuan.core.redaction.known_values import KnownValues
from wenyuan.core.redaction.matching import Finding
from wenyuan.service.uploads import Given

FILES = {  # the file's name: what it says, and what its address and title may not show
    "Whitfield resignation": ("Employee: Sarah Whitfield has left.", "hitfield"),
    "cv-wanglihua": ("姓名：王丽华，已办妥交接。", "lihua"),
    "Wang, Xiaoming": ("姓名：王晓明，已办妥交接。", "iaoming"),
    "李明亮的离职": ("Employee: Li Mingliang has left.", "明亮"),
}
PARKING = "Cars stand behind the gate on weekdays."


def shows(told: object) -> list[str]:
    """Which of the words that may not be shown stand in something."""
    text = told if isinstance(told, str) else told.decode() if isinstance(told, bytes) else repr(told)
    return [word for _, word in FILES.values() if word in text or word in unquote(text) or quote(word) in text]


def written(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, (text, _) in FILES.items():
        (folder / f"{name}.md").write_text(f"# Form\n\n{text}\n", encoding="utf-8")
    (folder / "parking.md").write_text(f"# Parking\n\n{PARKING}\n", encoding="utf-8")
    return folder


def of_folder(library: Any, tmp_path: Path) -> int:
    library.add(wenyuan.Source(source_id="s", path=str(written(tmp_path / "docs")), sensitivity="confidential"))
    return len(FILES) + 1


def of_archive(library: Any, tmp_path: Path) -> int:
    """The archive's own name, too, is a part of what an entry says."""
    docs = written(tmp_path / "docs")
    with zipfile.ZipFile(tmp_path / "Whitfield.zip", "w") as packed:
        for file in docs.iterdir():
            packed.write(file, file.name)
    library.add(wenyuan.Source(source_id="s", path=str(tmp_path / "Whitfield.zip"), sensitivity="restricted"))
    return len(FILES) + 1


def of_uploads(library: Any, tmp_path: Path) -> int:
    library.catalog.put_source(wenyuan.Source(source_id="s", sensitivity="restricted"))
    for file in sorted(written(tmp_path / "docs").iterdir()):
        library.upload("s", [Given(name=file.name, path=file)])
    return len(FILES) + 1


def of_repository(library: Any, tmp_path: Path) -> int:
    work = written(tmp_path / "work" / "docs").parent
    with closing(porcelain.init(str(work))) as repo:
        porcelain.add(repo, [str(one) for one in work.rglob("*.md")])
        porcelain.commit(repo, message=b"a change", author=b"A <a@example.com>", committer=b"A <a@example.com>")
    porcelain.clone(str(work), str(tmp_path / "bare.git"), bare=True).close()
    library.add(wenyuan.Source(source_id="s", path=f"git+file://{tmp_path}/bare.git", sensitivity="restricted"))
    return len(FILES) + 1


@pytest.mark.parametrize("made", [of_folder, of_archive, of_uploads, of_repository])
def test_at_every_door(tmp_path: Path, made: Callable[[Any, Path], int]) -> None:
    """Lists, records, passages, search and the command line show neither, whatever the file came by."""
    folder = tmp_path / "library"
    with wenyuan.open(folder, create=True, encoder={"kind": "none"}) as library:
        count = made(library, tmp_path)
        numbers = [number for number, _ in library.catalog.live_documents("s").values()]
        assert len(numbers) == count
        assert [uri for uri in library.catalog.live_documents("s") if uri.endswith("parking.md")]
        with served(library, needs_keys=True) as url:
            token = key(library, "search", "registry", "ingest", "audit", "admin")
            paths = [f"/v1/documents/{one}{end}" for one in numbers for end in ("", "/history", "/passages")]
            answers = [
                send(url, "GET", path, None, token) for path in ("/v1/documents", "/v1/audit?limit=50", *paths)
            ]
            answers.append(send(url, "POST", "/v1/search", {"query": "Form 交接"}, token))
            assert {answer.status for answer in answers} == {200}
            told = [answer.body for answer in answers]
    world = {"WENYUAN_ENCODER__KIND": "none", "WENYUAN_LIBRARY": str(folder), "LC_ALL": "C.UTF-8"}
    for words in (["document", "list", "--json"], ["search", "Form 交接"], ["audit", "list"], ["doctor"]):
        told.append(CliRunner().invoke(app, words, env=world, prog_name="wenyuan").output.encode())
    if made is of_archive:
        told = [one.replace(b"Whitfield.zip", b"") for one in told]  # the source's own address
    assert [shows(one) for one in told if shows(one)] == []


def test_of_a_web_site(tmp_path: Path) -> None:
    """Its listing, which is kept by address and title, does not show them either."""
    with web_site() as site, wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        site.put("/", html("Start", "Where all begins, in a few words.", "/people/whitfield", "/people/wang-lihua"))
        site.put("/people/whitfield", html("Resignation", "Employee: Sarah Whitfield has left the company in March."))
        site.put("/people/wang-lihua", html("离职", "姓名：王丽华，已于三月办妥交接手续。"))
        library.add(
            wenyuan.Source(
                source_id="web", path=f"{site.url}/", sensitivity="restricted", settings={"allow_private": True}
            )
        )
        told = repr([library.catalog.listed("web"), library.catalog.live_documents("web"), library.documents()])
    assert [word for word in ("whitfield", "lihua") if word in told.casefold()] == []


def names(*values: str) -> KnownValues:
    return KnownValues(Finding(0, 1, "person", value) for value in values)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("john smith", "smith-handover"), ("john smith", "SMITH 2024"), ("hannah schmidt", "Hannah's notes"), ("李明", "Li_Ming cv"), ("李明", "LI, Ming"),
        ("李明", "ming.li"), ("李明", "liming2024"), ("吕燕", "Lyu Yan"), ("吕燕", "lvyan"), ("曾国强", "Zeng Guo-Qiang"), ("欧阳娜娜", "nana ouyang"),
        ("li ming", "李明离职"), ("xiaoming wang", "王晓明"), ("zhang wei", "張偉"),
    ],
)  # fmt: skip
def test_parts_and_spellings(value: str, name: str) -> None:
    """The first or last word of a name, a Chinese name in Pinyin however it is joined, and the characters of one that is in Pinyin."""
    [found] = names(value).in_name(name)
    assert name[found.start : found.end].strip()
    assert not names("rachel adams", "赵刚").in_name(name)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("will green", "green energy will"), ("grace long", "long-term plan"), ("mark price", "price list (mark)"), ("paris hilton", "paris office"), ("john smith", "blacksmithing"),
        ("常娥", "change log"), ("李明", "limingling"), ("li ming", "黎明前的黑暗"), ("wang li", "网力科技"), ("李明", "Lee Ming"),
    ],
)  # fmt: skip
def test_daily_words_stay(value: str, name: str) -> None:
    """A part that is a daily word, a word that is spelt alike, and characters that are a word are no name."""
    assert names(value).in_name(name) == []
