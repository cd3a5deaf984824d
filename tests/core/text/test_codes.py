"""Codes in a question: what is one, where it stands, and what is told where it stands nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wenyuan
from wenyuan.core.scoring.answerable import WITHOUT_ITS_CODE
from wenyuan.core.text.literals import codes, may_stand_in, proper_names

PUMP = """# Pump HR-850

Alarm E-15 of the pump HR-850 means that the line is blocked. Open the clamp and start again.

Alarm E-16 of the pump HR-850 means that the battery is low. Plug it in for four hours.
"""


@pytest.fixture(scope="module")
def pump(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder = tmp_path_factory.mktemp("pump")
    (folder / "docs").mkdir()
    (folder / "docs" / "pump.md").write_text(PUMP, "utf-8")
    (folder / "docs" / "泵.md").write_text("# 输液泵 HR-850\n\n报警 S-07 表示气泡，松开夹子排气。\n", "utf-8")
    with wenyuan.open(folder / "library", create=True, search={"deadline": 60}) as library:
        library.add(wenyuan.Source(source_id="docs", path=str(folder / "docs")))
        yield library


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("KL-320报E-09是什么故障", ("kl-320", "e-09")), ("P4级故障多久响应", ("p4",)), ("default of cache.ttl_s", ("cache.ttl_s",)),
        ("what does RELAYCTL_PROXY do?", ("relayctl_proxy",)), ("ＬＸ－１０３０ 是什么错", ("lx-1030",)), ("LX–1030", ("lx-1030",)),
        ("what, i.e. this one, e.g. now", ()), ("my 15-year-old", ()), ("a 3D printer for 2 hours", ()), ("office365 or not", ()),
        ("edit pg_hba.conf", ("pg_hba.conf",)), ("多少钱", ()), ("", ()),
        ("返回码40030什么意思", ("40030",)), ("are you ISO 27001 certified?", ("27001",)), ("GB 50300-2013 第3.0.6条", ()),
        ("2025年的年假", ()), ("after 2026-01-12", ()), ("报销20000要谁批", ()), ("花了1250能报吗", ()), ("12345 days", ()), ("1234元", ()),
        ("ring 020 7946 0958", ()), ("5,432 km", ()),
    ],
)  # fmt: skip
def test_codes(query: str, expected: tuple[str, ...]) -> None:
    """Letters with digits, an underscore or a point between two words, numbers that count nothing; lower case without a joint is a word,
    and years, dates, sums and quantities are no codes.
    """
    assert codes(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what ping do we get from Perth?", ("Perth",)), ("can I send events over gRPC", ("gRPC",)), ("能用Docker部署吗", ("Docker",)),
        ("ＨＩＳ系统密码", ("HIS",)), ("I'm late. Where do I go?", ()), ("How Do I Reset It", ()), ("用wifi吗", ()), ("a USB-3 port of B2", ()),
        ("see README.md", ()), ("食堂几点开门", ()), ("", ()),
    ],
)  # fmt: skip
def test_proper_names(query: str, expected: tuple[str, ...]) -> None:
    """A capital that begins no sentence; any Latin word with one in a Chinese question; nothing where most words have one."""
    assert proper_names(query) == expected


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("k-23", "shows K23, then", True), ("iphone15", "the iPhone 15 is", True), ("p4", "up 4 steps", False), ("p4", "P4级故障", True),
        ("e-15", "E-150", False), ("e-15", "报警E－15。", True), ("cache.ttl_s", "cache.ttl_s = 5", True), ("e-15", "", False),
    ],
)  # fmt: skip
def test_a_code_may_be_joined_otherwise(code: str, text: str, expected: bool) -> None:
    """A hyphen, a space or nothing between its letters and digits, and no part of a longer one."""
    assert may_stand_in(code, text) is expected


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("what does alarm E-17 of the pump mean?", ("e-17",)), ("HR-850 报警 S-09 怎么办", ("s-09",)),
        ("what does alarm E-16 of the pump mean?", ()), ("HR-850 报警 S-07 怎么办", ()), ("how long do I plug in the HR850", ()),
    ],
)  # fmt: skip
def test_a_code_that_stands_nowhere_is_told(pump: wenyuan.Library, query: str, missing: tuple[str, ...]) -> None:
    """It bounds the probability, whatever else of the question is there; one that is there is never refused."""
    answer = pump.search(query)
    assert answer.missing_terms == missing
    assert answer.answerable is not None
    if missing:
        assert not answer.hits and answer.answerable <= WITHOUT_ITS_CODE
        assert missing[0] in answer.reason
    else:
        assert answer.hits


def test_what_is_told_keeps_to_the_scope(pump: wenyuan.Library, tmp_path: Path) -> None:
    """Within a source that lacks it a code is missing, though another source has it."""
    (tmp_path / "other.md").write_text(
        "# Pumps\n\nA pump with an alarm lamp is checked once a year by the technician.\n", "utf-8"
    )
    pump.add(wenyuan.Source(source_id="other", path=str(tmp_path)))
    try:
        assert pump.search("alarm E-16 of the pump", sources=["other"]).missing_terms == ("e-16",)
        assert pump.search("alarm E-16 of the pump", sources=["docs"]).missing_terms == ()
    finally:
        pump.remove("other")
