"""What a terminal shows: snippets of passages with the query's words marked, wrapped lines, and progress."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wenyuan
from command_line import run
from wenyuan.cli.snippets import marks, snippet
from wenyuan.cli.wrapping import cells, wrapped
from wenyuan.core.text.bodies import body

DOCUMENTS = Path(wenyuan.__file__).parent / "cli" / "demo" / "documents"


# -- snippets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("接到投诉后四个小时内联系客户。", "投訴", ["投诉"]),
        ("接到投訴後聯繫客戶。", "投诉", ["投訴"]),
        ("Overtime is agreed; overtimes are paid.", "ＯＶＥＲＴＩＭＥ", ["Overtime", "overtimes"]),
        ("依照第十三条处理。", "第13条", ["第十三条"]),
        ("The rules of leave", "what are the rules of it", ["rules"]),
        ("投诉的答复时限", "投诉的时限", ["投诉", "时限"]),
        ("应当提前三十日，或者 two weeks 通知。", "提前30天 14天 2周", ["提前三十日", "two weeks"]),
    ],
)
def test_words_are_marked_as_the_index_compares_them(text: str, query: str, marked: list[str]) -> None:
    """Script, width, case, inflection and a clause's spelling do not matter; particles do not count."""
    assert [text[a:b] for a, b in marks(text, query)] == marked


_TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Z"]), max_size=600)


@given(_TEXT, _TEXT, st.integers(20, 300))
def test_a_snippet_is_a_piece_of_the_passage(text: str, query: str, width: int) -> None:
    """A snippet fits its width and stands in the passage word for word; marks neither overlap nor are empty."""
    shown = "".join(piece for piece, _ in snippet(text, query[:40], width))
    assert cells(shown) <= width
    assert shown.strip("…") in " ".join(text.split())
    at = 0
    for start, end in marks(text, query[:40]):
        assert at <= start < end <= len(text)
        at = end


@given(_TEXT, st.integers(20, 100))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    """Wrapped lines hold all that is not white space, and are no wider than asked, long words aside."""
    lines = list(wrapped([(text, False)], width))
    joined = ["".join(piece for piece, _ in line) for line in lines]
    assert "".join("".join(joined).split()) == "".join(text.split())
    for line in joined:
        assert cells(line.rstrip()) <= width + 2 or " " not in line.strip()


def test_a_long_passage_is_shown_where_the_words_are() -> None:
    """The window lies around the query's words, begins with their sentence, and is open at both ends."""
    text = "开头的话。" * 60 + "退款应当在五个工作日内原路退回。" + "结尾的话。" * 60
    shown = "".join(piece for piece, _ in snippet(text, "退款多久", 80))
    assert shown.startswith("…退款应当在五个工作日内原路退回。")
    assert shown.endswith("…")


def test_headings_and_table_rules_are_not_repeated() -> None:
    """The heading path is shown already, so the passage begins below it."""
    text = "## 第三章 分级\n\n第八条 分为三级：\n\n| 等级 | 时限 |\n|---|---|\n| 一级 | 24 小时 |"
    assert body(text, ("第三章 分级", "第八条")).startswith("第八条 分为三级")
    assert "---" not in body(text, ())
    assert body("Title", ("Title",)) == "Title"
    assert body("# Boiler\n\nIt is checked every year.", ("Boiler",)) == "It is checked every year."


# -- progress ---------------------------------------------------------------------------------------------


def test_quick_work_shows_no_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes less than a second is not worth a bar; on a busy machine a minute is a second."""
    monkeypatch.setattr("wenyuan.cli.progress._QUIET", 60.0)
    empty = tmp_path / "library"
    assert run("init", "--library", empty).exit_code == 0
    done = run("--library", empty, "add", DOCUMENTS / "en" / "faq", "--source", "faq", FORCE_COLOR="1")
    assert done.exit_code == 0
    assert "file" not in done.stderr


def test_the_bar_says_how_much_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passages are read long before they are embedded: the share done is that of the embedded ones."""
    from wenyuan.cli.progress import Bar
    from wenyuan.cli.terminal import Terminal
    from wenyuan.service.ingest.progress import Progress

    said: list[dict[str, object]] = []
    monkeypatch.setattr(Terminal, "say", lambda _self, _key, **values: said.append(values))
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with Bar(Terminal(language="en"), embeds=True) as bar:
        clock[0] += 10
        bar(Progress(files=9, files_total=10, passages=200, embedded=50, name="x"))
        clock[0] += 5
        bar(Progress(files=9, files_total=10, passages=200, embedded=80, name="x"))
    assert said == [{"files": 10, "total": 10, "passages": 200, "rate": "5.0", "left": "0:30"}]


def test_the_bar_says_how_many_pages_are_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pace of pages counts from the first that was recognised in this run, not from those that were kept."""
    from wenyuan.cli.progress import Bar
    from wenyuan.cli.terminal import Terminal
    from wenyuan.service.ingest.progress import Progress

    said: list[dict[str, object]] = []
    monkeypatch.setattr(Terminal, "say", lambda _self, _key, **values: said.append(values))
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with Bar(Terminal(language="en"), embeds=True) as bar:
        bar(Progress(files=0, files_total=2, passages=0, embedded=0, name="x", pages=20, pages_total=40))
        clock[0] += 10
        bar(Progress(files=0, files_total=2, passages=0, embedded=0, name="x", pages=25, pages_total=40))
    assert said == [{"files": 1, "total": 2, "page": 25, "pages": 40, "rate": "0.50", "left": "0:30"}]


def test_a_first_small_step_tells_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One passage of thirty, with the encoder loaded before it, says nothing of how long the others take."""
    from wenyuan.cli.progress import Bar
    from wenyuan.cli.terminal import Terminal
    from wenyuan.service.ingest.progress import Progress

    said: list[dict[str, object]] = []
    monkeypatch.setattr(Terminal, "say", lambda _self, _key, **values: said.append(values))
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with Bar(Terminal(language="en"), embeds=True) as bar:
        clock[0] += 3.5
        bar(Progress(files=1, files_total=2, passages=30, embedded=1, name="x"))
        clock[0] += 10.5
        bar(Progress(files=1, files_total=2, passages=30, embedded=20, name="x"))
    assert "left" not in said[0]
    assert said[1]["left"] in ("0:06", "0:07")


def test_files_that_are_as_before_are_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time left of a run that goes on is told by the files that were read, not by those that it could pass over."""
    from wenyuan.cli.progress import Bar
    from wenyuan.cli.terminal import Terminal
    from wenyuan.service.ingest.progress import Progress

    said: list[dict[str, object]] = []
    monkeypatch.setattr(Terminal, "say", lambda _self, _key, **values: said.append(values))
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with Bar(Terminal(language="en"), embeds=True) as bar:
        clock[0] += 10  # in which 5 of the 100 files that are left were read, and embedded
        bar(Progress(files=904, files_total=1_000, passages=50, embedded=50, name="x", unchanged=900))
    assert [one["left"] for one in said] == ["3:10"]


def test_nothing_is_said_of_a_pace_before_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first lines of a run, and of a file whose pages are recognised, say what is done, and no pace and no time left."""
    from wenyuan.cli.progress import Bar
    from wenyuan.cli.terminal import Terminal
    from wenyuan.service.ingest.progress import Progress

    said: list[str] = []
    monkeypatch.setattr(Terminal, "say", lambda self, key, **values: said.append(self.text(key, **values)))
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    for language in ("en", "zh"):
        for pages in ({}, {"pages": 0, "pages_total": 40}):
            with Bar(Terminal(language=language), embeds=True) as bar:
                clock[0] += 10
                bar(Progress(files=0, files_total=9, passages=200, embedded=0, name="x", **pages))
    assert said == [
        "file 1/9, passages 200", "file 1/9: 0 of 40 pages recognised", "文件 1/9，段落 200", "文件 1/9：已识别 0 页，共 40 页",
    ]  # fmt: skip


COURSES = {
    "mixed": [20.0 if number % 7 == 3 else 1.0 for number in range(210)],
    "slow first": [5.0] * 60 + [1.0] * 240,
    "fast first": [1.0] * 200 + [3.0] * 100,
}
"""Seconds that each file of a run takes."""


@pytest.mark.parametrize("course", COURSES)
def test_the_time_left_is_right_within_a_factor_of_two(monkeypatch: pytest.MonkeyPatch, course: str) -> None:
    """Of slow and fast files, mixed or one kind after the other, between the first tenth and the last twentieth of a run, once
    a fifth of its time went to files like those that are left.
    """
    from wenyuan.cli.progress import Bar
    from wenyuan.cli.terminal import Terminal
    from wenyuan.service.ingest.progress import Progress

    said: list[str] = []
    monkeypatch.setattr(Terminal, "say", lambda _self, _key, **values: said.append(values.get("left", "")))
    monkeypatch.setattr("wenyuan.cli.progress._EVERY", 0.0)
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    seconds, off, checked = COURSES[course], [], 0
    change = 0.0 if course == "mixed" else sum(one for one in seconds if one != seconds[-1])
    with Bar(Terminal(language="en"), embeds=False) as bar:
        for number, taken in enumerate(seconds):
            clock[0] += taken
            bar(Progress(files=number, files_total=len(seconds), passages=9 * number, embedded=0, name="x"))
            seen = clock[0] - 100.0 - change >= 0.2 * (clock[0] - 100.0)
            if seen and len(seconds) <= 10 * number <= 9.5 * len(seconds):
                checked += 1
                minutes, rest = map(int, said[-1].split(":"))
                ratio = (60 * minutes + rest) / sum(seconds[number + 1 :])
                if not 0.5 <= ratio <= 2.0:
                    off.append((number, round(ratio, 2)))
    assert checked > 60 and not off


def test_what_was_passed_over_is_counted_while_a_run_goes_on(tmp_path: Path) -> None:
    """A run that was cut off and goes on says of how many files it had nothing to do."""
    for number in range(6):
        (tmp_path / f"{number}.md").write_text(f"# {number}\n\n客户投诉由第 {number} 组响应。\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        source = wenyuan.Source(source_id="a", path=str(tmp_path))
        library.add(source)
        (tmp_path / "4.md").write_text("# 4\n\n客户投诉须在当日响应。\n", "utf-8")
        seen: list[tuple[int, int]] = []
        library.ingest("a", lambda at: seen.append((at.files, at.unchanged)))
    assert seen == [(number, min(number, 4)) for number in range(6)]


def test_stages_are_told_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A work with stages says where it is at most every five seconds, in its own words; with --json, nothing."""
    from wenyuan.cli.progress import ProgressLines
    from wenyuan.cli.terminal import Terminal

    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    told = [
        ProgressLines(Terminal(language="en"), "tune"),
        ProgressLines(Terminal(language="en", as_json=True), "tune"),
    ]
    for number, seconds in enumerate((4.0, 2.0, 1.0, 4.5)):
        clock[0] += seconds
        for lines in told:
            lines("learn", number, 4)
    assert capsys.readouterr().err.splitlines() == ["Learning: fold 1 of 4", "Learning: fold 3 of 4"]


def test_a_bar_stays_on_a_line_of_80_columns() -> None:
    """With large numbers, in both languages: the bar, the share and the words."""
    from rich.cells import cell_len

    from wenyuan.cli.terminal import Terminal

    large = {"files": 12_345, "total": 54_321, "passages": 654_321, "rate": "123.4", "left": "125:59"}
    for language in ("en", "zh"):
        assert 10 + 1 + 4 + 1 + cell_len(Terminal(language=language).text("progress", **large)) <= 80
