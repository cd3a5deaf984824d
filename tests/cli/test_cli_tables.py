"""Tables on the command line: columns stand below each other whatever is written in them."""

from __future__ import annotations

import pytest

from wenyuan.cli.terminal import Terminal
from wenyuan.cli.wrapping import cells

ROWS = [
    ("policies", 12, "客户投诉处理管理办法"),
    ("制度", 7, "Leave"),
    ("faq", 1234, "员工 handbook（2026 版）"),
]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_columns_are_aligned_by_the_width_of_characters(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The last column begins at one place of the screen in the header and in every row."""
    terminal = Terminal(language)
    terminal.table(ROWS, "col_source", "col_documents", "col_title", right=(1,))
    header, *rows = shown(capsys)
    assert len(rows) == len(ROWS)
    begins = {cells(line[: line.index(str(row[2]))]) for line, row in zip(rows, ROWS, strict=True)}
    assert begins == {cells(header[: header.index(terminal.text("col_title"))])}
    ends = {cells(line[: line.index(str(row[1])) + len(str(row[1]))]) for line, row in zip(rows, ROWS, strict=True)}
    assert len(ends) == 1, "numbers end at one place"


@pytest.mark.usefixtures("narrow")
def test_a_long_title_goes_on_below_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """No line is wider than the terminal, numbers stay whole, and all words are there."""
    title = "全国各分支机构及其下属营业网点客户投诉处理与服务质量管理制度汇编" * 3
    Terminal("zh").table([("policies", 123456, title)], "col_source", "col_documents", "col_title", right=(1,))
    lines = shown(capsys)
    assert len(lines) > 2
    assert max(map(cells, lines)) <= 80
    assert any("123456" in line for line in lines)
    below = cells(lines[1][: lines[1].index("全国")])
    assert {cells(line) - cells(line.lstrip()) for line in lines[2:]} == {below}
    assert "".join(line[line.find("全国") if at == 0 else 0 :].strip() for at, line in enumerate(lines[1:])) == title


@pytest.mark.parametrize("columns", [20, 30, 40, 60, 80])
def test_nothing_is_cut(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """However narrow the terminal is, numbers and ids stand whole on one line, and every other character is there."""
    monkeypatch.setenv("COLUMNS", str(columns))
    name, title = "policies-of-the-whole-house-2026", "全国各分支机构客户投诉处理办法"
    row = (name, 123456, "0.8123", title)
    Terminal("zh").table([row], "col_source", "col_documents", "eval_ndcg", "col_title", right=(1, 2), whole=(0,))
    header, first, *rest = shown(capsys)
    assert first.split()[:3] == [name, "123456", "0.8123"]
    assert "".join([first.split()[3], *(line.strip() for line in rest)]) == title
    assert header.split() == ["来源", "文档", "nDCG@10", "标题"]


@pytest.mark.usefixtures("narrow")
def test_control_characters_are_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    """What a document calls itself cannot move the cursor, nor is it read as markup."""
    Terminal("en").table([("a", "\x1b[2Jgone [red]text[/red]")])
    (line,) = shown(capsys)
    assert "\x1b" not in line
    assert "[red]text[/red]" in line


def test_json_has_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json standard output is for the document alone."""
    Terminal("en", as_json=True).table(ROWS, "col_source", "col_documents", "col_title")
    assert shown(capsys) == []
