"""Which nodes a text names: spellings, borders, homonyms, scopes and guesses, in Chinese and English."""

from __future__ import annotations

import time

import pytest

from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.graph import LexiconEntry
from wenyuan.core.rules.linking import NOTHING_RECOGNISED, Linked, Linker, NodeCandidate

EXCAVATION, HOIST, COLLAPSE, PIT_COLLAPSE, SUPPORT, TUNNEL, SCAFFOLD = range(1, 8)


def entry(node_id: int, text: str, kind: str = "process", **given: object) -> LexiconEntry:
    fields = {"type": "pref", "weight": 1.0, "scope": ()} | given
    return LexiconEntry(node_id=node_id, kind=kind, text=text, **fields)  # type: ignore[arg-type]


LINKER = Linker(
    [
        entry(EXCAVATION, "深基坑开挖"),
        entry(EXCAVATION, "Deep excavation"),
        entry(EXCAVATION, "基坑开挖", type="alt"),
        entry(EXCAVATION, "坑", type="abbr"),
        entry(HOIST, "塔式起重机", "equipment"),
        entry(HOIST, "塔吊", "equipment", type="abbr"),
        entry(HOIST, "tower crane", "equipment"),
        entry(HOIST, "2103", "equipment", type="code"),
        entry(COLLAPSE, "坍塌", "hazard"),
        entry(PIT_COLLAPSE, "基坑坍塌", "hazard"),
        entry(SUPPORT, "开挖支护"),
        entry(TUNNEL, "矿山法开挖", scope=("隧道工程",)),
        entry(SCAFFOLD, "附着式升降脚手架"),
        entry(SCAFFOLD, "C30混凝土浇筑平台"),
        entry(SCAFFOLD, "GB 50300-2013", type="code"),
    ]
)


def named(linked: Linked) -> list[tuple[str, int]]:
    return [(span.text, span.candidates[0].node_id) for span in linked.spans]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("本工程深基坑开挖深度6m", "深基坑开挖"),
        ("本工程深基坑開挖深度6m", "深基坑開挖"),
        ("deep excavation at night", "deep excavation"),
        ("ＤＥＥＰ　Ｅｘｃａｖａｔｉｏｎ", "ＤＥＥＰ　Ｅｘｃａｖａｔｉｏｎ"),
        ("two deep-excavations nearby", "deep-excavations"),
        ("做deep excavation前", "deep excavation"),
        ("深 基 坑\n开挖", "深 基 坑\n开挖"),
        ("《深基坑开挖》方案", "深基坑开挖"),
        ("深基\u200b坑开挖", "深基\u200b坑开挖"),
        ("de\u0301ep éxcavation", "de\u0301ep éxcavation"),
    ],
)
def test_spellings(text: str, written: str) -> None:
    """A name is found in any spelling, and its span is of the text as it was given."""
    linked = LINKER.link(text)
    assert named(linked) == [(written, EXCAVATION)]
    span = linked.spans[0]
    assert text[span.start : span.end] == written
    assert (linked.reason, span.by) == ("", "name")


@pytest.mark.parametrize("text", ["GB50300-2013", "gb 50300—2013", "按ＧＢ　５０３００－２０１３验收"])
def test_codes_in_any_spelling(text: str) -> None:
    """A code is found with and without the space in it."""
    assert [node for _, node in named(LINKER.link(text))] == [SCAFFOLD]


def test_a_longer_name_hides_the_one_within() -> None:
    """A name that lies within a longer one is not reported."""
    assert named(LINKER.link("防止基坑坍塌")) == [("基坑坍塌", PIT_COLLAPSE)]


def test_overlapping_names_count_both() -> None:
    """Two names that share characters without one holding the other are both reported."""
    assert named(LINKER.link("深基坑开挖支护")) == [("深基坑开挖", EXCAVATION), ("开挖支护", SUPPORT)]


def test_a_longer_name_of_another_kind_hides_nothing() -> None:
    """What a request does not ask for does not hide what it asks for."""
    linker = Linker([entry(1, "塔吊安装"), entry(2, "塔吊", "equipment")])
    assert named(linker.link("塔吊安装前", kinds={"equipment"})) == [("塔吊", 2)]
    assert named(linker.link("塔吊安装前")) == [("塔吊安装", 1)]


@pytest.mark.parametrize("text", ["watertower cranefly", "tower cranex", "xtower crane"])
def test_latin_names_are_whole_words(text: str) -> None:
    """A Latin name within a longer word is no name."""
    assert all(span.by != "name" for span in LINKER.link(text).spans)


def test_a_short_latin_name_has_no_plural() -> None:
    """GPS is not the plural of GP, but cranes are several cranes."""
    linker = Linker([entry(1, "GP"), entry(2, "crane")])
    assert LINKER.link("tower cranes").spans[0].text == "tower cranes"
    assert named(linker.link("GPS and GP of cranes")) == [("GP", 1), ("cranes", 2)]


def test_names_do_not_cross_punctuation() -> None:
    """A name is not found across the comma of a list or the end of a sentence."""
    for text in ("深基坑、开挖", "深基坑。开挖", "tower, crane"):
        assert all(span.by != "name" for span in LINKER.link(text).spans), text


def test_one_character_is_a_name_only_alone() -> None:
    """A name of one character, or a bare number, is found only when it is the whole text."""
    assert named(LINKER.link("坑")) == [("坑", EXCAVATION)]
    assert named(LINKER.link(" 2103 ")) == [("2103", HOIST)]
    assert LINKER.link("坑里有水 2103").spans == ()


def test_homonyms_are_all_kept() -> None:
    """Where a name is that of several nodes, all are candidates, the surest first."""
    linker = Linker(
        [entry(1, "支护", type="alt", weight=0.5), entry(2, "支护", "measure"), entry(3, "支护", type="typo")]
    )
    (span,) = linker.link("支护").spans
    assert span.candidates == (
        NodeCandidate(2, "measure", 1.0),
        NodeCandidate(3, "process", 0.85),
        NodeCandidate(1, "process", 0.5 * 0.97),
    )


def test_a_node_counts_once_with_its_best_name() -> None:
    """Names of one node that fold to the same form make one candidate, with the best score."""
    linker = Linker([entry(1, "Ｐｉｌｅ", type="typo"), entry(1, "pile")])
    assert linker.resolve("PILE") == (NodeCandidate(1, "process", 1.0),)


def test_kinds_and_scope_narrow() -> None:
    """Nodes of other kinds, and those limited to another scope, are left out; those without a scope are not."""
    text = "矿山法开挖与塔吊"
    assert named(LINKER.link(text, scope="隧道工程")) == [("矿山法开挖", TUNNEL), ("塔吊", HOIST)]
    assert named(LINKER.link(text, scope="隧 道 工 程", kinds=["process"])) == [("矿山法开挖", TUNNEL)]
    assert named(LINKER.link(text, scope="房屋建筑")) == [("塔吊", HOIST)]
    assert named(LINKER.link(text)) == [("矿山法开挖", TUNNEL), ("塔吊", HOIST)]
    assert LINKER.link(text, kinds=[]).reason == NOTHING_RECOGNISED


@pytest.mark.parametrize("text", ["今天天气不错", "", "   ", "。", "x", "水", "\u200b", "hello world"])
def test_nothing_is_said_so(text: str) -> None:
    """A text that names nothing has a reason, not only no spans."""
    assert LINKER.link(text) == Linked((), NOTHING_RECOGNISED)
    assert LINKER.resolve(text) == ()


def test_nearly_written_names_are_guessed() -> None:
    """A misspelt name is guessed, with at most .7 of its score; an exact name prevents guessing."""
    (span,) = LINKER.link("附着式的升降脚手架怎么搭").spans
    assert (span.by, span.candidates[0].node_id) == ("spelling", SCAFFOLD)
    assert 0.4 < span.candidates[0].score <= 0.7
    assert span.text == "附着式的升降脚手架"
    assert [s.by for s in LINKER.link("附着式的升降脚手架和塔吊").spans] == ["name"]
    (latin,) = LINKER.link("a towr crane").spans
    assert (latin.by, latin.candidates[0].node_id, latin.text) == ("spelling", HOIST, "towr crane")


def test_numbers_and_parts_of_words_are_not_guessed() -> None:
    """Another number, or letters inside a longer word, make no guess."""
    assert LINKER.link("C35混凝土浇筑平台").spans == ()
    assert LINKER.link("GB 50300-2014").spans == ()
    assert Linker([entry(1, "cat")]).link("concatenate").spans == ()


def test_guesses_keep_to_kinds_and_scope() -> None:
    """A guess is of a node that was asked for."""
    assert LINKER.link("附着式的升降脚手架", kinds={"hazard"}).spans == ()
    assert LINKER.link("矿山发开挖法", scope="房屋建筑").spans == ()


def test_meaning_is_asked_last() -> None:
    """What means about the same is asked for only when no name is found, and only for allowed nodes."""
    asked = []

    def similar(text: str) -> list[tuple[int, float]]:
        asked.append(text)
        return [(COLLAPSE, 0.9), (HOIST, 0.8), (99, 0.7)]

    assert LINKER.link("塔吊", similar=similar).spans[0].by == "name"
    assert asked == []
    (span,) = LINKER.link("墙倒了", similar=similar, kinds={"hazard"}).spans
    assert (span.start, span.end, span.by) == (0, 3, "meaning")
    assert span.candidates == (NodeCandidate(COLLAPSE, "hazard", 0.7 * 0.9),)


def test_a_failure_of_meaning_is_not_hidden() -> None:
    """When asking for meaning fails, linking fails."""

    def broken(text: str) -> list[tuple[int, float]]:
        raise InvalidRequest("no encoder")

    with pytest.raises(InvalidRequest, match="no encoder"):
        LINKER.link("墙倒了", similar=broken)


def test_given_names_are_resolved() -> None:
    """A given name is known exactly or nearly; what merely holds a name, or part of one, is unknown."""
    assert LINKER.resolve("Deep-Excavation")[0] == NodeCandidate(EXCAVATION, "process", 1.0)
    assert LINKER.resolve("附着式升降式脚手架")[0].node_id == SCAFFOLD
    assert LINKER.resolve("深基坑开挖", kinds={"hazard"}) == ()
    assert LINKER.resolve("本工程要做深基坑开挖") == ()
    assert LINKER.resolve("深基坑") == ()


@pytest.mark.parametrize(("given"), [{"weight": 0.0}, {"weight": 1.5}, {"type": "nickname"}])
def test_bad_entries_are_refused(given: dict[str, object]) -> None:
    """A weight out of range and an unknown type are refused with the name."""
    with pytest.raises(InvalidRequest, match="打桩"):
        Linker([entry(1, "打桩", **given)])


def test_an_empty_graph_links_nothing() -> None:
    """Without names nothing is found, and nothing breaks."""
    for linker in (Linker([]), Linker([entry(1, "——")])):
        assert linker.link("深基坑开挖", kinds={"process"}).reason == NOTHING_RECOGNISED
        assert linker.resolve("深基坑开挖") == ()


def test_long_texts_take_linear_time() -> None:
    """A text of 50,000 characters is linked in far less than a second, also when nothing is in it."""
    began = time.process_time()
    assert len(LINKER.link("深基坑开挖，" * 8_000).spans) == 8_000
    assert LINKER.link("某" * 50_000).spans == ()
    assert LINKER.link("深基坑开瓦，" * 8_000).spans[0].by == "spelling"
    assert time.process_time() - began < 3
