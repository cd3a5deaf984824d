"""Versions: what is in force is found, what it replaced only as of its own days, and nothing is embedded for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import wenyuan
from wenyuan.core.errors import ConfigError, InvalidRequest
from wenyuan.core.model import Source
from wenyuan.service.ingest.progress import IngestReport

QUERY = "留存网络日志 retention of logs"
OLD, NEW = "2018-06-01", "2022-06-01"


def law(days: str, **front: str) -> str:
    head = "".join(f"{name}: {value}\n" for name, value in front.items())
    matter = f"---\n{head}---\n" if head else ""
    return f"{matter}第一条 网络运营者应当留存网络日志不少于{days}。Retention of logs: {days}.\n"


class Shelf:
    """A library beside the folder that its source ``laws`` reads."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "laws"
        self.docs.mkdir()
        self.library = wenyuan.open(folder / "library", create=True, engine="memory", encoder={"kind": "hashing"})
        self.embedded: list[str] = []
        encoder: Any = self.library.encoder
        encode = encoder.encode_passages

        def counting(texts: Sequence[str], **more: Any) -> Any:
            self.embedded += texts
            return encode(texts, **more)

        encoder.encode_passages = counting

    def write(self, name: str, text: str) -> Path:
        file = self.docs / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

    def run(self) -> IngestReport:
        self.embedded.clear()
        return self.library.add(Source(source_id="laws", path=str(self.docs), domain="law"))

    def found(self, as_of: str | None = None) -> set[str]:
        """Stems of the files that answer, today or on a day."""
        context = {"as_of": as_of} if as_of else {}
        answer = self.library.search(QUERY, limit=20, context=context)
        return {Path(unquote(p.uri.partition("#")[0])).stem for p in answer.passages.values()}


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    with made.library:
        yield made


@pytest.mark.parametrize("brackets", ["({})", "（{}）", "【{}】"])
def test_dates_in_names(shelf: Shelf, brackets: str) -> None:
    """Of statutes with dates in their names the last one begun counts; each earlier one on its own days."""
    names = ["网络安全法" + brackets.format(day) for day in (OLD, NEW, "2099-01-01")]
    for name, days in zip(names, ("六个月", "一年", "三年"), strict=True):
        shelf.write(f"{name}.md", law(days))
    assert shelf.run().failed == {}
    assert shelf.found() == {names[1]}
    assert shelf.found("2018-05-31") == set()
    assert shelf.found("2018-06-01") == shelf.found("2022-05-31") == {names[0]}
    assert shelf.found("2022-06-01") == shelf.found("2098-12-31") == {names[1]}
    assert shelf.found("2099-01-01") == {names[2]}


def test_a_number_in_brackets(shelf: Shelf) -> None:
    """A year alone, and a date that is not in brackets, end nothing."""
    for name in ("网络安全法（2018）", "网络安全法（2022）", "minutes 2018-06-01", "minutes 2022-06-01"):
        shelf.write(f"{name}.md", law("六个月" + name))
    shelf.run()
    assert len(shelf.found()) == 4


def test_folders_are_apart(shelf: Shelf) -> None:
    """Files of one name in two folders are no versions of each other, in one folder they are."""
    for folder, day in (("广东", OLD), ("北京", NEW), ("北京", "2024-06-01")):
        shelf.write(f"{folder}/实施细则({day}).md", law(f"六个月{folder}{day}"))
    assert shelf.run().failed == {}
    assert shelf.found() == {f"实施细则({OLD})", "实施细则(2024-06-01)"}
    assert shelf.found("2023-01-01") == {f"实施细则({OLD})", f"实施细则({NEW})"}


def rows(*texts: str, **more: Any) -> str:
    return "".join(f"{json.dumps({'id': n, 'text': text, **more})}\n" for n, text in enumerate(texts))


@pytest.mark.parametrize("count", [1, 3])
def test_all_rows_of_a_version_end(shelf: Shelf, count: int) -> None:
    """Of a dated file with many documents each ends with the next file, however many that holds."""
    texts = [law(f"{n}个月") for n in range(3)]
    shelf.write(f"faq({OLD}).jsonl", rows(*texts))
    shelf.write(f"faq({NEW}).jsonl", rows(*texts[:count]))
    shelf.write(f"faq({NEW}).md", law("一年"))  # of the same day: not before, not after
    assert shelf.run().failed == {}
    for day, stem, answers in ((None, NEW, count + 1), ("2022-05-31", OLD, 3)):
        answer = shelf.library.search(QUERY, limit=20, context={"as_of": day} if day else {})
        assert {f"faq({stem})"} == {Path(unquote(p.uri.partition("?")[0])).stem for p in answer.passages.values()}
        assert len(answer.passages) == answers


@pytest.mark.parametrize(
    ("said", "left", "noted"),
    [
        ("policy.md", {"hr", "it2", "ops"}, False),
        ("hr/policy.md", {"it", "it2", "ops"}, False),
        ("../hr/policy.md", {"it", "it2", "ops"}, False),
        ("ops.md", {"hr", "it", "it2"}, False),
        ("handbook", {"hr", "it", "it2", "ops"}, True),
    ],
)
def test_a_name_is_one_of_the_same_folder(shelf: Shelf, said: str, left: set[str], noted: bool) -> None:
    """What is named is looked for in the same folder first; elsewhere it must be the only one, else nothing ends."""
    for name in ("hr", "ops"):
        shelf.write(f"{name}/{'policy' if name == 'hr' else name}.md", law(name, title="handbook"))
    shelf.write("it/policy.md", law("it"))
    shelf.write("it/policy-v2.md", law("it2", supersedes=said))
    for _ in range(2):  # what is not clear stays noted
        report = shelf.run()
        assert report.failed == {}
        answer = shelf.library.search(QUERY, limit=20)
        assert {p.text.rpartition(": ")[2].strip(". \n") for p in answer.passages.values()} == left
        assert any(said in note and "folder" in note for notes in report.notes.values() for note in notes) == noted


@pytest.mark.parametrize("said", ["old.md", "old", "旧法"])
@pytest.mark.parametrize("key", ["supersedes", "取代"])
def test_front_matter(shelf: Shelf, key: str, said: str) -> None:
    """A document ends what its front matter says it supersedes, by file name or title, from its own first day on."""
    shelf.write("old.md", law("六个月", title="旧法", effective_from=OLD))
    shelf.write("new.md", law("一年", title="新法", effective_from=NEW, **{key: said}))
    assert shelf.run().failed == {}
    assert shelf.found() == {"new"}
    assert shelf.found("2022-05-31") == {"old"}


def test_every_row_may_name_the_file_before(shelf: Shelf) -> None:
    """All rows of what is named end on the day from which the first row counts that names it."""
    rows = [{"id": n, "text": f"旧 {n} 日志"} for n in range(3)]
    shelf.write("old.jsonl", "\n".join(json.dumps(row) for row in rows))
    rows = [
        {"id": n, "text": f"新 {n} 日志", "supersedes": "old.jsonl", "effective_from": f"2024-01-0{3 - n}"}
        for n in range(3)
    ]
    shelf.write("new.jsonl", "\n".join(json.dumps(row) for row in rows))
    assert shelf.run().failed == {}
    for day, words in (("2023-12-31", {"旧"}), ("2024-01-01", {"新"}), ("2024-01-04", {"新"})):
        answer = shelf.library.search("日志", limit=50, context={"as_of": day})
        assert {p.text.strip()[0] for p in answer.passages.values()} == words


def test_no_fragment_of_what_is_superseded(shelf: Shelf) -> None:
    """Among many laws no question is answered from a superseded version, and as of its time from it alone."""
    for number in range(20):
        shelf.write(f"第{number}号法({OLD}).md", law(f"{number}个月旧"))
        shelf.write(f"第{number}号法({NEW}).md", law(f"{number}个月新"))
    shelf.run()
    for number in range(20):
        for day, word in ((None, "新"), ("2020-01-01", "旧")):
            answer = shelf.library.search(
                f"第{number}号法 {number}个月 日志", limit=50, context={"as_of": day} if day else {}
            )
            assert len(answer.hits) >= 20
            assert all(f"个月{word}" in p.text for p in answer.passages.values())


def test_nothing_is_embedded_again(shelf: Shelf) -> None:
    """When a version ends, or lives again, only new text is embedded."""
    shelf.write(f"法({OLD}).md", law("六个月"))
    shelf.run()
    new = shelf.write(f"法({NEW}).md", law("一年"))
    shelf.run()
    assert [("一年" in text) for text in shelf.embedded] == [True, False]  # the passage, and its label
    assert shelf.found() == {f"法({NEW})"}
    new.unlink()
    report = shelf.run()
    assert (report.retired, shelf.embedded) == (1, [])
    assert shelf.found() == shelf.found("2030-01-01") == {f"法({OLD})"}
    before = shelf.library.catalog.seq()
    shelf.run()
    assert shelf.library.catalog.seq() - before == 1  # describing the source; its documents stay as they are


def test_a_successor_that_comes_later(shelf: Shelf) -> None:
    """What is superseded may come after what supersedes it."""
    shelf.write("new.md", law("一年", effective_from=NEW, supersedes="old.md"))
    shelf.run()
    shelf.write("old.md", law("六个月"))
    assert shelf.run().failed == {}
    assert shelf.found() == {"new"}


@pytest.mark.parametrize("word", ["draft", "征求意见稿"])
def test_drafts(shelf: Shelf, word: str) -> None:
    """A draft is never found, and what it would supersede stays as it is, without an end."""
    shelf.write("old.md", law("六个月", effective_from=OLD))
    shelf.run()
    shelf.write("new.md", law("一年", effective_from=NEW, supersedes="old.md", status=word))
    assert shelf.run().failed == {}
    assert shelf.found() == shelf.found("9999-12-30") == {"old"}
    answer = shelf.library.search(QUERY)
    assert [p.effective_until for p in answer.passages.values()] == [None]


@pytest.mark.parametrize("word", ["retired", "已废止"])
def test_retired(shelf: Shelf, word: str) -> None:
    """What is retired is not found today; as long as its last day is known it is found before."""
    shelf.write("unknown.md", law("六个月", status=word, effective_from=OLD))
    shelf.write("known.md", law("一年", status=word, effective_from=OLD, effective_until="2020-12-31"))
    shelf.write("live.md", law("三年"))
    assert shelf.run().failed == {}
    assert shelf.found() == {"live"}
    assert shelf.found("2020-12-31") == {"known", "live"}
    assert shelf.found("2021-01-01") == {"live"}


def test_retired_and_superseded(shelf: Shelf) -> None:
    """A retired version with a successor counts until the eve of it, and hinders no other version."""
    shelf.write(f"法({OLD}).md", law("六个月", 状态="废止"))
    shelf.write(f"法({NEW}).md", law("一年"))
    shelf.write("alone.md", law("三年", status="retired", effective_from=OLD))
    assert shelf.run().failed == {}
    assert shelf.found() == {f"法({NEW})"}
    assert shelf.found("2022-05-31") == {f"法({OLD})"}


def test_words_that_are_no_status(shelf: Shelf) -> None:
    """A status that is none of validity's words is noted, and neither the document nor the others are lost."""
    shelf.write("case.md", law("六个月", status="reviewed"))
    shelf.write("other.md", law("一年"))
    report = shelf.run()
    assert (report.failed, report.added) == ({}, 2)
    [notes] = report.notes.values()
    assert "reviewed" in " ".join(notes)
    assert shelf.found() == {"case", "other"}


PAST, FUTURE = "2020-01-01", "2099-01-01"


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, "已废止") for key in ("效力", "时效性", "有效性", "validity", "Status", "STATUS", "状 态", "ｓｔａｔｕｓ")]
    + [(key, PAST) for key in ("有效期至", "废止日期", "失效时间", "Effective Until", "EFFECTIVE_UNTIL", "effective-until",
                               "valid_until", "expires", "effectiveUntil")]
    + [(key, FUTURE) for key in ("实施日期", "effective_date", "生效时间")],
)  # fmt: skip
def test_keys_of_validity(shelf: Shelf, key: str, value: str) -> None:
    """However the key is spelled, Markdown and JSON Lines that are not in force are not found."""
    shelf.write("a.md", law("六个月", **{key: value}))
    shelf.write("b.jsonl", rows(law("一年"), **{key: value}))
    shelf.write("c.jsonl", rows(law("三年"), metadata={key: value}))
    if " " not in key:
        shelf.write("d.md", f"---\n{key}：{value}\n---\n{law('五年')}")
    shelf.write("live.md", law("十年"))
    report = shelf.run()
    assert report.failed == {}
    assert shelf.found() == {"live"}
    assert all("colons" in note for notes in report.notes.values() for note in notes)


@pytest.mark.parametrize("value", ["长期", "2020-13-45", "soon"])
def test_what_is_no_day_is_noted(shelf: Shelf, value: str) -> None:
    """A value that cannot be read does not count, and a note of the document says so."""
    shelf.write("a.md", law("六个月", 有效期至=value))
    shelf.write("b.jsonl", rows(law("一年"), effective_until=value))
    report = shelf.run()
    assert report.failed == {}
    assert shelf.found() == {"a", "b"}
    assert len(report.notes) == 2
    assert all(value in " ".join(notes) for notes in report.notes.values())


@pytest.mark.parametrize("other", ["soon", FUTURE, PAST])
@pytest.mark.parametrize("top", [True, False])
def test_a_key_at_the_top_and_in_metadata(shelf: Shelf, top: bool, other: str) -> None:
    """Of a line that says one thing twice the narrower counts, with a note where they differ."""
    one, two = (PAST, other) if top else (other, PAST)
    shelf.write("a.jsonl", rows(law("一年"), effective_until=one, metadata={"effective_until": two}))
    shelf.write("live.md", law("三年"))
    report = shelf.run()
    assert shelf.found() == {"live"}
    assert [len(notes) for notes in report.notes.values()] == [1] * (one != two)


def test_an_end_before_the_beginning(shelf: Shelf) -> None:
    """A document that ends before it begins is refused, and hinders no version of the others."""
    shelf.write(f"old({NEW}).md", law("六个月", effective_until=OLD))
    shelf.write(f"法({OLD}).md", law("一年"))
    shelf.write(f"法({NEW}).md", law("三年"))
    [reason] = shelf.run().failed.values()
    assert "lies before effective_from" in reason
    assert shelf.found() == {f"法({NEW})"}


def test_loops_are_reported(shelf: Shelf) -> None:
    """Documents that supersede one another in a loop are reported, stay in force, and the report goes with the loop."""
    shelf.write("a.md", law("六个月", supersedes="b.md"))
    b = shelf.write("b.md", law("一年", supersedes="a.md"))
    report = shelf.run()
    [(name, reason)] = report.failed.items()
    assert "laws" in name
    assert "in a circle, so none of them ends: a.md, b.md" in reason
    assert list(shelf.library.catalog.failures("laws").values()) == [reason]  # type: ignore[attr-defined]
    assert shelf.found() == {"a", "b"}
    b.write_text(law("一年", effective_from=NEW))
    assert shelf.run().failed == {}
    assert shelf.found("2023-01-01") == {"a"}
    assert shelf.library.catalog.failures("laws") == {}  # type: ignore[attr-defined]


# --- sources ----------------------------------------------------------------------------------------------
@pytest.fixture
def two(tmp_path: Path) -> Iterator[Any]:
    """A library, and a function that registers a source of one law."""
    with wenyuan.open(
        tmp_path / "library", create=True, engine="memory", encoder={"kind": "hashing"}, cache={"seconds": 0}
    ) as library:

        def add(name: str, **more: Any) -> None:
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.md").write_text(law(name))
            library.add(Source(source_id=name, path=str(folder), **more))

        yield library, add


def seen(library: wenyuan.Library, day: str) -> set[str]:
    answer = library.search(QUERY, context={"as_of": day})
    return {p.source_id for p in answer.passages.values()}


def test_source_bounds(two: Any) -> None:
    """A source counts from its first to its last day, both included."""
    library, add = two
    add("a", effective_from=date(2020, 1, 1), effective_until=date(2020, 12, 31))
    add("b")
    days = {"2019-12-31": {"b"}, "2020-01-01": {"a", "b"}, "2020-12-31": {"a", "b"}, "2021-01-01": {"b"}}
    assert {day: seen(library, day) for day in days} == days


def test_source_supersedes(two: Any) -> None:
    """A source ends where one begins that supersedes it, lives again without it, and a draft ends nothing."""
    library, add = two
    add("a")
    add("b", effective_from=date(2022, 6, 1), supersedes=("a", "gone"))
    assert seen(library, "2022-05-31") == {"a"}
    assert seen(library, "2022-06-01") == {"b"}
    add("b", effective_from=date(2022, 6, 1), supersedes=("a",), status="draft")
    assert seen(library, "2022-06-01") == {"a"}
    add("b", effective_from=date(2022, 6, 1), supersedes=("a",))
    library.remove("b")
    assert seen(library, "2022-06-01") == {"a"}


def test_source_retired(two: Any) -> None:
    """A retired source is not found; its last day known, it is found until then."""
    library, add = two
    add("a", status="retired")
    add("b", status="retired", effective_until=date(2020, 12, 31))
    add("c")
    assert seen(library, "2020-12-31") == {"b", "c"}
    assert seen(library, "2021-01-01") == {"c"}


def test_loop_of_sources(two: Any) -> None:
    """A source that would close a loop is refused and nothing of it is kept; one that slipped in fails every answer."""
    library, add = two
    add("a", supersedes=("b",))
    with pytest.raises(InvalidRequest, match="supersedes itself"):
        add("b", supersedes=("a",))
    assert seen(library, "2022-06-01") == {"a"}
    library.catalog.put_source(Source(source_id="b", supersedes=("a",)))
    with pytest.raises(ConfigError, match="supersedes itself"):
        library.search(QUERY)
    response = library.retrieve_fragments(wenyuan.RetrievalRequest(query=QUERY, max_results=3))
    assert response.status == "FAILED"
    assert "supersedes itself" in (response.error_message or "")
