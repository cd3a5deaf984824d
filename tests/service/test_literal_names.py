"""A name that stands in scope letter by letter is found: codes, part numbers, addresses, file names, short questions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wenyuan
from wenyuan.core.filters import parse_filter
from wenyuan.core.text.literals import literal_names, stands_in

NAMES = (
    "zq2x139k", "QX-7731-B", "M8x40", "A4", "6204-2RS", "7f3a9c2e", "ERR_CONN_0x80", "wang.lei@example.com", "config.prod.yaml",
    "粤B·12345", "T恤A3", "甲-12", "鑫", "192.168.7.31", "ORD20240517001", "SN:8841-00-22", "snake_case_name", "0x1F", "zqxv",
    "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "¥3,417.20", "#A0B1C2", "设备编号GX203", "第八十三条", "pump#3",
)  # fmt: skip
_ENGLISH = (
    "The pump opens the valve before pressure falls, and the operator checks gauge, seal and bearing of motor {n}."
)
_CHINESE = (
    "设备检修前应当切断电源并悬挂警示牌，操作人员须持证上岗，每日记录运行参数，发现异常立即停机报告，{n}号班组负责。"
)


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder = tmp_path_factory.mktemp("plant")
    for number in range(120):
        name = NAMES[number] if number < len(NAMES) else ""
        text = (_ENGLISH if number % 2 else _CHINESE).format(n=number % 7)
        half = len(text) // 2
        place = folder / ("shut" if name and number % 5 == 4 else "open")
        place.mkdir(exist_ok=True)
        body = f"# {'Manual' if number % 2 else '手册'} {'一二三四五六七'[number % 7]}\n\n{text[:half]} {name} {text[half:]}\n"
        (place / f"{'abc'[number % 3]}{number}.md").write_text(body, "utf-8")
    with wenyuan.open(folder / "library", create=True, search={"deadline": 60}) as library:
        library.add(wenyuan.Source(source_id="open", path=str(folder / "open")))
        library.add(wenyuan.Source(source_id="shut", path=str(folder / "shut")))
        yield library


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_scope_is_found_first(plant: wenyuan.Library, name: str) -> None:
    """Asked alone, it is the first passage; within its source, too."""
    source = "shut" if NAMES.index(name) % 5 == 4 else "open"
    for sources, filtered in ((None, None), ([source], None), (None, parse_filter({"source_id": source}))):
        answer = plant.search(name, limit=1, sources=sources, filter=filtered)
        assert [name in answer.passages[hit.passage_id].text for hit in answer.hits] == [True]


@pytest.mark.parametrize("name", NAMES[4::5])
def test_a_name_outside_the_scope_changes_nothing(plant: wenyuan.Library, name: str) -> None:
    """What stands only elsewhere is answered as what stands nowhere: not with its passage, and not as if it were there."""
    answer = plant.search(name, limit=5, sources=["open"])
    assert all(name not in passage.text for passage in answer.passages.values())
    assert answer.answerable is not None and answer.answerable < 1.0


@pytest.mark.parametrize("name", ["zq2x139m", "7f3a9c2f", "1f3a9c2e4d", "wang.lei@example.org"])
def test_a_name_that_is_only_similar_is_not_taken_for_it(plant: wenyuan.Library, name: str) -> None:
    """One letter more or another one is another name."""
    answer = plant.search(name, limit=3)
    assert answer.answerable is not None and answer.answerable < 1.0


def test_a_code_among_words_is_found(plant: wenyuan.Library) -> None:
    """In a sentence of either language."""
    for question in (
        "Where does zq2x139k stand?",
        "zq2x139k 是什么",
        "who is wang.lei@example.com",
        "请问 7f3a9c2e 是哪台设备",
    ):
        answer = plant.search(question, limit=3)
        found = [passage.text for passage in answer.passages.values()]
        assert any(name in text for text in found for name in ("zq2x139k", "wang.lei@example.com", "7f3a9c2e"))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("zq2x139k?", ("zq2x139k",)), ("“QX—7731”", ("qx-7731",)), ("ＡＢ１２３４５", ("ab12345",)), ("pump", ("pump",)),
        ("the pump opens", ()), ("why is err_conn_0x80 shown to me", ("err_conn_0x80",)), ("???", ()), ("", ()),
        ("What happened in 2024 to the company", ()), ("§ 7.3.2", ("§ 7.3.2",)), ("a" * 65, ()), ("二〇二四年公司发生了什么大事", ()), ("设备编号GX203", ("设备编号gx203",)),
    ],
)  # fmt: skip
def test_names_of_a_query(query: str, names: tuple[str, ...]) -> None:
    """One word, or what is short and has a digit, as a whole; among words only what looks like a code."""
    assert literal_names(query) == names


def test_a_name_stands_by_itself() -> None:
    """Not within a longer Latin word or number; beside Chinese it does."""
    assert stands_in("a4", "用A4纸打印") and stands_in("qx-1", "(QX–1)") and stands_in("甲-12", "在甲-12号")
    assert not stands_in("a4", "A42") and not stands_in("a4", "xA4") and not stands_in("12", "3124")
    assert stands_in("12", "124 12") and stands_in("a4", "a4")
