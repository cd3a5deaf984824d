"""What is too little to be an answer, and of which queries more is asked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.ranking import Hit
from wenyuan.encoders.hashing import HashingEncoder
from wenyuan.service.candidates import Floor, above, outstanding, why_empty
from wenyuan.service.probes import SCRIPTS, STRANGE, strange

MEASURED = {"score": 0.1, "most": 0.2, "lift": 0.15, "centre": 0.5, "strange": 1.6}


def hit(evidence: float, keyword: float = 0.0, **parts: float) -> Hit:
    return Hit(passage_id=1, score=0.5, parts={"keyword": keyword, "evidence": evidence, **parts})


@pytest.mark.parametrize(
    ("abstain", "score", "lift"), [("lenient", 0.15, 0.1), ("normal", 0.2, 0.125), ("strict", 0.25, 0.2)]
)
def test_what_looks_like_nonsense_takes_more(abstain: str, score: float, lift: float) -> None:
    """Without the query's words it takes 1.6 times as much; with them as much as ever, and with its place nothing."""
    plain, odd = (Floor.of(MEASURED, abstain, strange=told) for told in (False, True))
    assert (plain.score, plain.least, plain.lift) == pytest.approx((score, score, lift))
    assert (odd.score, odd.least, odd.lift) == pytest.approx((score, 1.6 * score, 1.6 * lift))
    between = 1.3 * score
    assert above([hit(between)], plain)
    assert not above([hit(between)], odd)
    assert above([hit(between, keyword=0.9)], odd)
    assert above([hit(0.0, identifier=0.4)], odd)
    assert outstanding([hit(1.3 * lift)], plain)
    assert not outstanding([hit(1.3 * lift)], odd)
    assert f"below the floor {1.6 * score:.3f}" in why_empty([hit(between)], odd)


def test_one_floor_for_both_languages() -> None:
    """Where a passage stands out from those in its own language, none in the other one is let in below the floor."""
    apart = Floor.of({**MEASURED, "apart": 1.0}, "normal")
    assert (apart.score, apart.lift) == (0.2, math.inf)
    assert above([hit(0.21)], apart)
    assert not outstanding([hit(0.19)], apart)
    assert apart.finite() == {"score": 0.2}


def test_a_library_that_was_measured_before_asks_for_no_more() -> None:
    """Answers of before are replayed with the floors of before."""
    before = {name: value for name, value in MEASURED.items() if name != "strange"}
    assert Floor.of(before, "normal", strange=True) == Floor.of(before, "normal")


def test_without_centring() -> None:
    """The score must reach the floor, and nothing is known of other languages; what looks like nonsense takes its words."""
    plain, odd = (Floor.of({"score": 0.1, "strange": 1.6}, "normal", strange=told) for told in (False, True))
    assert (plain.score, plain.least, plain.lift) == (0.1, 0.1, math.inf)
    assert (odd.score, odd.least, odd.lift) == (0.1, pytest.approx(1.0), math.inf)
    half = Hit(passage_id=1, score=0.5, parts={"keyword": 0.6})
    whole = Hit(passage_id=1, score=0.5, parts={"keyword": 0.8})
    assert [above([one], floor) for one in (half, whole) for floor in (plain, odd)] == [[half], [], [whole], [whole]]
    assert Floor.of({"score": 0.0, "strange": 1.6}, "normal", strange=True).least == 0.0


def test_one_character_over_and_over_is_in_no_passage() -> None:
    """That a passage has it twice in a row is not what was asked for; before there was such a floor, it was."""
    repeated = Floor.of(MEASURED, "normal", strange=True, repeated=True)
    assert not above([hit(0.3, keyword=0.9)], repeated)
    assert above([hit(0.33, keyword=0.9)], repeated)
    before = {name: value for name, value in MEASURED.items() if name != "strange"}
    assert above([hit(0.3, keyword=0.9)], Floor.of(before, "normal", strange=True, repeated=True))


def test_a_library_gives_nothing_for_one_character_over_and_over(tmp_path: Path) -> None:
    """哈哈 is in the passage and found; a run of it is not, though the passage shares its only pair."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "mirrors.md").write_text("# 哈哈镜\n\n哈哈镜在二楼，游客哈哈大笑。\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="park", path=str(tmp_path / "docs")))
        measured = {"score": 0.1, "most": 0.1, "lift": 0.1, "strange": STRANGE}
        library.catalog.set_value("floor", {"keyword-only": dict.fromkeys(SCRIPTS, measured), "passages": 1})
        assert [len(library.search(query).hits) for query in ("哈哈镜", "哈哈", "哈哈哈哈哈哈")] == [1, 1, 0]
        assert "below the floor" in library.search("哈哈哈哈哈哈").reason


def test_the_highest_of_the_probes_is_chance(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nearly all nonsense reaches lies short of what the luckiest of it did."""
    scores = iter([*[0.1] * 47, 0.2] * 2)
    measurer = library._retriever.measurer
    monkeypatch.setattr(measurer, "_best", lambda *_: (next(scores), 0.0))
    measured = measurer.floors(None, {})
    assert [(measured[s]["score"], measured[s]["most"]) for s in SCRIPTS] == [(0.1, pytest.approx(0.19))] * 2


class Suspicious:
    """Calls everything unlikely."""

    def unlikely(self, text: str) -> bool:
        return True


@pytest.mark.parametrize(
    ("query", "encoder", "expected"),
    [
        ("了了了了了", None, True), ("aaaa", HashingEncoder(), True), ("哈 哈 哈 哈", None, True), ("aaa", None, False),
        ("asdf asdf asdf asdf", None, True), ("测试测试测试测试测", None, True), ("bye bye", None, False), ("谢谢谢谢您", None, False),
        ("的x我kq人ts中l", None, True), ("A股和B股的区别是什么", None, False), ("生成 SDK 开源 SDK 生成器", None, False),
        ("K8s 里的 C++ 服务怎么用 GPU", None, False), ("GB 50300 与 GB/T 50326 的关系", None, False),
        ("谢谢", None, False), ("投诉多久响应", HashingEncoder(), False), ("投诉多久响应", Suspicious(), True), ("", None, False),
    ],
)  # fmt: skip
def test_strange(query: str, encoder: Any, expected: bool) -> None:
    """One thing over and over, and letters that take turns, look strange to everybody; else an encoder is asked that can tell."""
    assert strange(query, encoder) is expected
    assert STRANGE > 1
