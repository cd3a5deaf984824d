"""What is in force on a day, and since when no longer."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.errors import InvalidRequest
from wenyuan.core.validity import FRONT_MATTER_KEYS, Validity
from wenyuan.core.validity_dates import (
    date_from_name,
    day_of,
    parse_date,
    parse_status,
    validity_field,
    validity_from,
)
from wenyuan.core.validity_ends import effective_ends

_DAYS = st.dates(date(1990, 1, 1), date(2090, 1, 1))


@st.composite
def _graphs(draw):
    """Items that supersede earlier ones only: no loops."""
    items = []
    for i in range(draw(st.integers(1, 8))):
        old = draw(st.sets(st.integers(0, i - 1))) if i else set()
        status = draw(st.sampled_from(["in_force", "draft", "retired"]))
        items.append(Validity(id=f"d{i}", effective_from=draw(_DAYS), status=status,
                              supersedes=tuple(f"d{j}" for j in sorted(old))))  # fmt: skip
    return items


@given(_graphs())
def test_nothing_is_in_force_together_with_what_supersedes_it(items):
    """On the day before a successor begins the old one may be in force, on the day itself it is not."""
    ends = effective_ends(items)
    by_id = {item.id: item for item in items}
    for item in items:
        begin = item.effective_from
        for old in (by_id[name] for name in item.supersedes):
            if item.status != "draft":
                first, last = old.days(ends=ends[old.id])
                assert not first <= begin <= last
                assert ends[old.id] <= begin - timedelta(days=1)


@given(_graphs())
def test_an_end_is_the_items_own_or_the_eve_of_a_successor(items):
    """No end comes from anywhere else, and what nothing supersedes keeps its own."""
    ends = effective_ends(items)
    for item in items:
        eves = {
            s.effective_from - timedelta(days=1) for s in items if item.id in s.supersedes and s.status != "draft"
        }
        assert ends[item.id] == min(eves, default=None)


@given(st.integers(1, 12))
def test_a_loop_of_any_length_is_named(length):
    """Each loop gives one fault that goes around it once."""
    names = [f"n{i}" for i in range(length)]
    items = [
        Validity(id=name, effective_from=date(2024, 1, 1), supersedes=(names[(i + 1) % length],))
        for i, name in enumerate(names)
    ]
    with pytest.raises(InvalidRequest) as caught:
        effective_ends(items)
    (fault,) = caught.value.faults
    assert fault.message.endswith(" → ".join([*names, "n0"]))


def test_a_long_chain_is_no_loop():
    """A chain of five thousand versions is followed without trouble."""
    day = date(2000, 1, 1)
    items = [
        Validity(id=str(i), effective_from=day + timedelta(days=i), supersedes=(str(i - 1),) if i else ())
        for i in range(5_000)
    ]
    ends = effective_ends(items)
    assert ends["0"] == day
    assert ends["4999"] is None


def test_the_earlier_of_own_end_and_successor_counts():
    """An item that ends by itself before its successor begins keeps its own end."""
    old = Validity(id="a", effective_until=date(2023, 6, 30))
    new = Validity(id="b", effective_from=date(2024, 1, 1), supersedes=("a",))
    assert effective_ends([new, old]) == {"a": date(2023, 6, 30), "b": None}


def test_all_faults_of_a_list_come_at_once():
    """Unknown ids, repeated ids, reversed dates and undated successors are listed together."""
    items = [
        Validity(id="policy-2023"),
        Validity(id="policy-2023"),
        Validity(id="x", effective_from=date(2024, 2, 1), effective_until=date(2024, 1, 1)),
        Validity(id="policy-2024", supersedes=("policy-2032",)),
    ]
    with pytest.raises(InvalidRequest) as caught:
        effective_ends(items)
    text = str(caught.value)
    assert len(caught.value.faults) == 4
    for said in ("twice", "lies before", "did you mean 'policy-2023'", "no effective_from"):
        assert said in text


def test_an_undated_successor_counts_from_the_given_day():
    """With a day for undated successors, what they supersede ends on its eve."""
    items = [Validity(id="a"), Validity(id="b", supersedes=("a",))]
    assert effective_ends(items, undated=date(2024, 5, 1))["a"] == date(2024, 4, 30)


def test_status_and_dates_decide_together():
    """A draft is never in force, what is retired was until its last day, both ends count."""
    day, eve = date(2024, 1, 1), date(2023, 12, 31)
    never = (date.max, date.min)
    assert Validity().days() == (date.min, date.max)
    assert Validity(effective_from=day, effective_until=day).days() == (day, day)
    assert Validity(status="draft").days() == never
    assert Validity(status="retired").days() == never
    assert Validity(status="retired", effective_until=day).days() == (date.min, day)
    assert Validity(effective_until=day).days(ends=eve) == (date.min, eve)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("个人信息保护法(2021-08-20).md", "2021-08-20"),
        ("个人信息保护法（２０２１－０８－２０）.md", "2021-08-20"),
        ("（2021年8月2日）管理规定.docx", "2021-08-02"),
        ("政策_2024-03-01", "2024-03-01"),
        ("手册20240301版.pdf", "2024-03-01"),
        ("handbook_v20240301.md", "2024-03-01"),
        ("report 2024.03.01.txt", "2024-03-01"),
        ("合同_20230101_20240301.docx", "2024-03-01"),
        ("policy (2022-01-01) copy 2024-05-05.md", "2022-01-01"),
        ("GB50300-2013.pdf", None),
        ("ZX20240301.md", None),
        ("2024-03.md", None),
        ("policy-2024-02-30.md", None),
        ("12024-03-01", None),
        ("readme.md", None),
    ],
)
def test_a_day_in_a_file_name_is_found(name, day):
    """Days in file names are found in their usual forms, and numbers that are none are left alone."""
    assert date_from_name(name) == (day and date.fromisoformat(day))


@given(_DAYS, st.sampled_from(["%Y-%m-%d", "%Y%m%d", "%Y年%m月%d日", "%Y/%m/%d", "%Y.%m.%d"]))
def test_a_day_is_read_in_every_form(day, form):
    """A day written in any of the usual forms is read as that day."""
    assert (
        parse_date(day.strftime(form)) == parse_date(day) == parse_date(datetime(day.year, day.month, day.day)) == day
    )


@pytest.mark.parametrize("value", ["9999-12-31", "9999年12月31日", "9999/12/31", "9999-12-31T00:00:00Z"])
def test_for_ever_is_a_day(value):
    """A day that stands alone may be of any year; in a file's name such a number is none."""
    assert day_of(value) == date(9999, 12, 31)
    assert date_from_name(f"policy({value}).md") is None


@pytest.mark.parametrize("value", ["soon", "2024-13-01", "2024-02-30", True, None, 12, [], "2024-03-01x"])
def test_what_is_no_day_is_refused(value):
    """Whatever is no day of the calendar is refused, not guessed at."""
    with pytest.raises(ValueError, match=r"day|month"):
        parse_date(value)


@pytest.mark.parametrize(
    ("word", "status"),
    [("in force", "in_force"), ("IN-FORCE", "in_force"), ("現行有效", "in_force"), ("征求意见稿", "draft"),
     ("已廢止", "retired"), ("Withdrawn", "retired")],
)  # fmt: skip
def test_status_words_of_both_languages(word, status):
    """Status words are known in English, Simplified and Traditional Chinese."""
    assert parse_status(word) == status


def test_an_unknown_status_is_refused_with_a_guess():
    """A mistyped status is refused and the likely word is named."""
    with pytest.raises(ValueError, match="did you mean 'draft'"):
        parse_status("drft")


def test_front_matter_in_both_languages_says_the_same():
    """Chinese, Traditional and English keys give equal validity."""
    english = {"effective-date": "2024-01-01", "Effective Until": date(2025, 1, 1), "supersedes": ["a", "b"],
               "status": "current", "author": "x"}  # fmt: skip
    chinese = {"施行日期": "2024年1月1日", "废止日期": 20250101, "取代": "a、b", "狀態": "現行有效"}
    assert validity_from(english) == validity_from(chinese)
    assert validity_from({"author": "x", "status": " ", "expires": None}) == (Validity(), ())


@given(st.sampled_from(sorted(FRONT_MATTER_KEYS)), st.sampled_from(["", " ", "_", "-", "　"]), st.data())
def test_a_key_is_known_however_it_is_spelled(key, between, data):
    """Case, width, spaces, underscores and hyphens of a key make no difference."""
    spelled = between.join(key.split(" "))
    wide = "".join(
        chr(ord(c) + 0xFEE0) if c.isascii() and c.isalnum() and data.draw(st.booleans()) else c for c in spelled
    )
    for form in (spelled, wide, wide.upper(), spelled.title()):
        assert validity_field(form) == FRONT_MATTER_KEYS[key]
    assert validity_field("状 态") == validity_field("狀態") == "status"
    assert validity_field("effectiveUntil") == "effective_until"
    assert not validity_field("effective")


def test_the_narrower_of_two_counts():
    """Of keys that contradict one another the later beginning, the earlier end and what is not in force count."""
    said, faults = validity_from({"status": "published", "时效性": "已废止。", "valid from": "2020-01-01", "生效日期": "2021-01-01",
                                  "expires": "2030-01-01T08:00:00Z", "有效期至": "2029/1/1", "supersedes": "a", "替代": "b"})  # fmt: skip
    day = date(2021, 1, 1)
    assert said == Validity(
        status="retired", effective_from=day, effective_until=date(2029, 1, 1), supersedes=("a", "b")
    )
    assert [fault.path for fault in faults] == ["时效性", "生效日期", "有效期至"]


@pytest.mark.parametrize(
    "moment", ["2024-03-01T00:00:00+08:00", "2024-03-01 08:30", "2024年3月1日 8:30", "20240301T08:30:00.5Z"]
)
def test_the_day_of_a_moment(moment):
    """Of a moment the day counts that it is written with; where a day is asked for, a moment is none."""
    assert day_of(moment) == date(2024, 3, 1)
    with pytest.raises(ValueError, match="day"):
        parse_date(moment)


def test_faults_in_front_matter_come_at_once():
    """Every wrong value is named by the key it stands at, and does not count."""
    said, faults = validity_from({"status": "drft", "生效日期": "soon", "supersedes": [True],
                                  "effective_until": "2024-01-01", "失效日期": "2024-01-02"})  # fmt: skip
    assert [fault.path for fault in faults] == ["status", "生效日期", "supersedes", "失效日期"]
    assert said == Validity(effective_until=date(2024, 1, 1))
