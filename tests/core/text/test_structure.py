"""Clauses and headings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.text.numbers import chinese_number
from wenyuan.core.text.structure import DocumentLine, clause_key, clause_keys, opening, openings


def _chinese(n: int) -> str:
    """A number below 10,000 in Chinese."""
    digits = "零一二三四五六七八九"
    written, zero = "", False
    for unit, value in (("千", 1000), ("百", 100), ("十", 10), ("", 1)):
        digit, n = divmod(n, value)
        if digit:
            written += ("零" if zero and written else "") + digits[digit] + unit
            zero = False
        else:
            zero = True
    return written.removeprefix("一") if written.startswith("一十") else written


@given(st.integers(1, 9999))
def test_chinese_numbers_read_back(n):
    """A number written in Chinese, full-width or ASCII digits has one value."""
    assert chinese_number(_chinese(n)) == n
    assert chinese_number(str(n)) == n
    assert chinese_number(str(n).translate({48 + i: 0xFF10 + i for i in range(10)})) == n


@pytest.mark.parametrize(
    ("text", "value"),
    [("一百二十", 120), ("二〇二四", 2024), ("两百", 200), ("壹佰贰拾", 120), ("一万二千三百", 12300), ("廿", 20), ("卅一", 31), ("百廿五", 125),
     ("", None), ("3.5", None), ("第三", None), ("abc", None)],
)  # fmt: skip
def test_numbers_known_answers(text, value):
    """Written numbers have their value; what is none is refused."""
    if value is None:
        with pytest.raises(ValueError, match="no number"):
            chinese_number(text)
    else:
        assert chinese_number(text) == value


@pytest.mark.parametrize(
    ("spellings", "key"),
    [
        (("第十三条", "第13条", "第１３条", "第 13 条", "第十三條", "**第十三条**", "Article 13", "ARTICLE 13",
          "articles 13", "art. 13", "Article XIII", "第十三条 投诉时限"), "article:13"),
        (("第一百二十条之一", "第120条之一", "第120-1条"), "article:120-1"),
        (("第三章", "第3章", "Chapter 3", "chapter III"), "chapter:3"),
        (("第二节", "第2節", "Section 2", "Sec. 2", "§2", "§ 2"), "section:2"),
        (("第二款", "第2款", "Paragraph 2"), "paragraph:2"),
        (("第三项", "第三項"), "item:3"),
        (("第一编", "第一編", "第一部分", "Part 1", "Part I"), "part:1"),
        (("第二分编",), "subpart:2"),
        (("3.2.1", "第3.2.1条", "Section 3.2.1", "３．２．１", "3.2.1 投诉时限"), "clause:3.2.1"),
        (("Appendix A", "Annex A"), "appendix:A"),
    ],
)  # fmt: skip
def test_one_key_for_all_spellings(spellings, key):
    """All spellings of a clause have one canonical name."""
    assert {s: clause_key(s) for s in spellings} == dict.fromkeys(spellings, key)


@pytest.mark.parametrize("text", ["", "投诉", "13", "article", "第条", "the articles", "partition 3", "总则"])
def test_no_key_for_other_text(text):
    """Text that names no clause has no canonical name."""
    assert clause_key(text) is None


def test_keys_in_running_text():
    """Clauses named anywhere in a sentence are found, also right between Chinese characters."""
    text = "依照防震减灾法第5条和第十三条第二款，see Article 5(2), Articles 13 and the section I read"
    assert clause_keys(text) == ("article:5", "article:13", "paragraph:2")
    assert clause_keys("第廿一条、第卅条") == clause_keys("第二十一条、第30条") == ("article:21", "article:30")


@pytest.mark.parametrize(
    ("line", "kind", "label", "number", "title", "heading"),
    [
        ("第十三条　投诉应当受理。", "article", "第十三条", "13", "投诉应当受理。", False),
        ("第十三条 投诉应当受理。", "article", "第十三条", "13", "投诉应当受理。", False),
        ("第十三条", "article", "第十三条", "13", "", False),
        ("**第十三条**　投诉", "article", "第十三条", "13", "投诉", False),
        ("**第十三条 投诉**", "article", "第十三条", "13", "投诉", False),
        ("第十三条【投诉】应当", "article", "第十三条", "13", "【投诉】应当", False),
        ("第十三条（目的）为了", "article", "第十三条", "13", "（目的）为了", False),
        ("第一百二十条之一 组织", "article", "第一百二十条之一", "120-1", "组织", False),
        ("　　第１３條 受理", "article", "第１３條", "13", "受理", False),
        ("第三章　投诉处理", "chapter", "第三章", "3", "投诉处理", True),
        ("第三章投诉处理", "chapter", "第三章", "3", "投诉处理", True),
        ("第一编 总则", "part", "第一编", "1", "总则", True),
        ("第二分编 通则", "subpart", "第二分编", "2", "通则", True),
        ("第二節 受理", "section", "第二節", "2", "受理", True),
        ("附则", "supplement", "附则", "", "", True),
        ("附件2：投诉登记表", "appendix", "附件2", "2", "投诉登记表", True),
        ("附录A 术语", "appendix", "附录A", "A", "术语", True),
        ("一、总体要求", "point", "一", "1", "总体要求", True),
        ("（二）基坑工程", "point", "（二）", "2", "基坑工程", True),
        ("3. Scope of the policy", "point", "3", "3", "Scope of the policy", True),
        ("3.2.1 Response times", "clause", "3.2.1", "3.2.1", "Response times", True),
        ("3.2.1 投诉应当在24小时内受理。", "clause", "3.2.1", "3.2.1", "投诉应当在24小时内受理。", False),
        ("Article 13", "article", "Article 13", "13", "", False),
        ("Article 13. Information to be given", "article", "Article 13", "13", "Information to be given", False),
        ("ARTICLE XIII — Duties", "article", "ARTICLE XIII", "13", "Duties", False),
        ("Chapter 3: Complaints", "chapter", "Chapter 3", "3", "Complaints", True),
        ("Section 4.2 Leave", "section", "Section 4.2", "4.2", "Leave", True),
        ("Section 4.2 Employees shall report. Always.", "section", "Section 4.2", "4.2",
         "Employees shall report. Always.", False),
        ("Appendix A Forms", "appendix", "Appendix A", "A", "Forms", True),
    ],
)  # fmt: skip
def test_lines_that_open(line, kind, label, number, title, heading):
    """A line that opens a section is recognised with its kind, label, number and title."""
    found = opening(line)
    assert found is not None
    assert (found.kind, found.label, found.number, found.title, found.heading) == (
        kind, label, number, title, heading
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "", "投诉处理", "第十三条规定的投诉，应当受理。", "第十三条、第十四条的规定", "第十三条第二款规定的情形",
        "第十三条 第二款规定的情形", "第十三条（一）项", "第十三条，不适用", "第三章规定的处罚", "第二款的规定",
        "第三章 总则……………………12", "Chapter 3 Complaints ........ 12", "Article 13 of the Act applies.",
        "Section 4.2(a) of the policy", "article 13 applies", "3.5 million people", "24 hours", "附件：1.登记表",
        "（一）为了规范投诉处理，维护权益，制定本办法。", "1. Buy milk.", "2024年3月8日", "50.5%", "# Heading",
        "Part of the problem", "第一次投诉", "192.168.1.1:80",
    ],
)  # fmt: skip
def test_lines_that_do_not_open(line):
    """A sentence that begins with or mentions a number opens nothing."""
    assert opening(line) is None


def test_levels_fall_from_part_to_article():
    """编, 分编, 章, 节, 条, 款 are each deeper than the one before; so are dotted numbers by their dots."""
    lines = ["第一编 甲", "第一分编 乙", "第一章 丙", "第一节 丁", "第一条 戊", "第一款 己", "一、庚"]
    lines += ["（一）辛", "1. 壬", "1.1 癸", "1.1.1 子"]
    levels = [o.level for o in map(opening, lines) if o]
    assert len(levels) == len(lines)
    assert levels == sorted(set(levels))


def _opened(text: str) -> list[str]:
    lines = text.strip("\n").split("\n")
    starts = [i == 0 or not lines[i - 1].strip() for i in range(len(lines))]
    found = openings([DocumentLine(line, first) for line, first in zip(lines, starts, strict=True)])
    return [o.label for o in found if o]


def test_contents_open_nothing():
    """A table of contents opens nothing; the first real chapter may follow it at once."""
    text = (
        "目录\n第一章 总则\n第二章 受理\n第一节 登记\n第三章 附则\n第一章 总则\n第一条 甲。\n第二章 受理\n第二条 乙。"
    )
    assert _opened(text) == ["第一章", "第一条", "第二章", "第二条"]


def test_nested_headings_are_no_contents():
    """Headings of different kinds one below the other are real."""
    assert _opened("第一编 总则\n第一章 通则\n第一节 范围\n第一条 甲。") == ["第一编", "第一章", "第一节", "第一条"]


def test_lists_open_nothing():
    """Short numbered lines one after another are a list; with text between they are headings."""
    assert _opened("1. Milk\n2. Bread\n3. Salt") == []
    assert _opened("1. Scope\n\nAll staff are meant.\n\n2. Duties\n\nThere are some.") == ["1", "2"]
    assert _opened("一、总体要求\n各单位应当重视。\n二、工作任务\n各单位应当落实。") == ["一", "二"]


def test_dotted_numbers_continue_a_count():
    """A dotted number opens a clause only in sequence: 3.5 in a sentence does not."""
    assert _opened("1.1 投诉应当受理。\n1.2 投诉应当登记。\n3.5 米以上的，应当论证。") == ["1.1", "1.2"]


def test_numbers_without_a_gap_continue_a_count():
    """An article that runs into its text is believed where its number is the next one."""
    assert _opened("第一条为了规范投诉。\n第二条各单位应当受理。\n第九条另有要求。") == ["第一条", "第二条"]


def test_items_of_an_article_open_nothing():
    """（一） under an article belongs to the article."""
    assert _opened("第一条 有下列情形之一的：\n（一）警告\n\n应当报告。\n\n（二）罚款") == ["第一条"]


def test_wrapped_latin_lines_open_nothing():
    """A wrapped line that happens to begin with Section 4 opens nothing."""
    assert _opened("The duties are listed in\nSection 4\nand apply to all.") == []
    assert _opened("The duties end here.\nSection 4\nThey begin again.") == ["Section 4"]


@given(st.lists(st.text("第一二条章节（）、 .13ASection附件\u3000*规定", max_size=14), max_size=12))
def test_openings_never_fail(lines):
    """Any lines give one answer each, and each accepted one is an opening by itself too."""
    found = openings([DocumentLine(line) for line in lines])
    assert len(found) == len(lines)
    assert all(o is None or o == opening(line) for o, line in zip(found, lines, strict=True))


POLICY = """1. About
2. Fields

1. About
********

1.1. Scope
==========

Text.

5. Fields
*********

5.6.16. "Format"
----------------

These are used:

1. For stable updates that use the same upstream version, the
   package version is the old one.

2. For stable updates to a new upstream version

3. If a stable update is based on a new upstream version but is not
   in testing, the version ends in a plus.

   1. Free Redistribution
         The license may not restrict any party.

5.6.17. "Urgency"
-----------------

[1] A footnote.

6 A note at the foot of the page that goes on in
the next line

6. Scripts
**********
"""


def test_items_and_notes_of_a_text_open_no_section() -> None:
    """Among dotted sections only what continues their count, or is underlined, is a chapter; an entry of the contents is none."""
    lines = [DocumentLine(text, first=True) for text in POLICY.split("\n")]
    found = [f"{o.label} {o.title}" for o in openings(lines) if o]
    assert found == ["1 About", "1.1 Scope", "5 Fields", '5.6.16 "Format"', '5.6.17 "Urgency"', "6 Scripts"]


def test_chapters_without_lines_below_them_are_chapters() -> None:
    """A short numbered line with text below it opens a section, in both languages, as long as its sentence ends there."""
    text = "1. Scope\nThis applies to all.\n\n一、总则\n本办法适用于全体员工。\n\n2. Duties\n\nText."
    found = [f"{o.label} {o.title}" for o in openings([DocumentLine(t, first=True) for t in text.split("\n")]) if o]
    assert found == ["1 Scope", "一 总则", "2 Duties"]
