"""Corrections as pure functions: what is served, what is lost, and that undoing gives back what was there."""

from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from wenyuan.core.corrections import Correction, CorrectionAction, corrected
from wenyuan.core.fidelity import Recognition, Uncertain
from wenyuan.core.model import Corrected, NewPassage

TEXTS = [
    "客户投诉应当在 24 小时内首次响应。",
    "夜间值班电话由前台保管。",
    "Expenses are paid within 10 days.",
    "第十三条 门禁卡不得转借。",
]


def passages(texts: list[str]) -> tuple[NewPassage, ...]:
    """As they are cut of one text, a line break between two."""
    made, at = [], 0
    for text in texts:
        sha = hashlib.sha256(text.encode()).hexdigest()
        made.append(NewPassage(uri="u", headings=(), text=text, sha256=sha, start=at, end=at + len(text)))
        at += len(text) + 1
    return tuple(made)


def one(action: CorrectionAction, old: str, number: int = 1, **more: object) -> Correction:
    return Correction(correction_id=number, action=action, actor="k1", old=old, **more)  # type: ignore[arg-type]


def texts(found: tuple[NewPassage, ...]) -> list[str]:
    return [passage.text for passage in found]


corrections = st.lists(
    st.one_of(
        st.builds(lambda t: one("exclude", t), st.sampled_from(TEXTS)),
        st.builds(
            lambda t, n: one("text", t, new=n), st.sampled_from(TEXTS), st.sampled_from(["改正后。", "Corrected."])
        ),
        st.builds(lambda t: one("questions", t, questions=("几天？",)), st.sampled_from(TEXTS)),
        st.builds(lambda t, at: one("split", t, at=at), st.sampled_from(TEXTS), st.integers(1, 8)),
        st.builds(lambda a, b: one("join", a, following=b), st.sampled_from(TEXTS), st.sampled_from(TEXTS)),
    ),
    max_size=5,
)


@given(st.lists(st.sampled_from(TEXTS), max_size=6), corrections)
@settings(deadline=None)
def test_what_is_served_is_sound(cut: list[str], made: list[Correction]) -> None:
    """In order, none empty, hashed; the same again when they are applied again; lost ones change nothing."""
    numbered = [
        Correction(**{**{n: getattr(c, n) for n in Correction.__slots__}, "correction_id": i})
        for i, c in enumerate(made, 1)
    ]
    before = passages(cut)
    served, lost = corrected(before, numbered)
    assert all(passage.text.strip() for passage in served)
    assert [p.start for p in served] == sorted(p.start for p in served)
    assert all(p.sha256 == hashlib.sha256(p.text.encode()).hexdigest() for p in served)
    assert all(p.start <= p.end for p in served)
    assert corrected(before, [c for c in numbered if c.correction_id not in lost]) == (served, ())
    assert corrected(before, ()) == (before, ())
    counted = {number for p in served if p.corrected for number in p.corrected.ids}
    assert not counted & set(lost)


def test_each_kind_of_correction() -> None:
    """Excluded, asked for, reworded, split, joined: what is served, and how it is marked."""
    cut = passages(TEXTS[:3])
    assert texts(corrected(cut, [one("exclude", TEXTS[1])]).passages) == [TEXTS[0], TEXTS[2]]
    asked = corrected(
        cut,
        [one("questions", TEXTS[1], questions=("谁保管电话",)), one("questions", TEXTS[1], 2, questions=("电话",))],
    )
    assert asked.passages[1].corrected == Corrected(ids=(1, 2), by="", questions=("谁保管电话", "电话"))
    assert asked.passages[1].text == TEXTS[1]
    reworded = corrected(cut, [one("text", TEXTS[0], new="客户投诉应当在 48 小时内首次响应。")]).passages[0]
    assert (reworded.corrected, reworded.start, reworded.end) == (Corrected(ids=(1,), by="k1"), 0, len(TEXTS[0]))
    halves = corrected(cut, [one("split", TEXTS[2], at=9)]).passages[2:]
    assert [(p.text, p.start, p.end) for p in halves] == [
        ("Expenses", cut[2].start, cut[2].start + 8),
        ("are paid within 10 days.", cut[2].start + 9, cut[2].end),
    ]
    whole = corrected(cut, [one("join", TEXTS[0], following=TEXTS[1])]).passages
    assert texts(whole) == [f"{TEXTS[0]}\n{TEXTS[1]}", TEXTS[2]]
    assert (whole[0].start, whole[0].end) == (cut[0].start, cut[1].end)
    assert corrected(cut, [one("exclude", "")]).passages == ()


def test_words_are_found_where_they_stand_now() -> None:
    """Cut otherwise, within a longer passage; of equal ones the nearest; gone: lost, and the others count."""
    longer = passages([f"{TEXTS[0]}\n{TEXTS[1]}", TEXTS[2]])
    assert texts(corrected(longer, [one("exclude", TEXTS[1])]).passages) == [TEXTS[0], TEXTS[2]]
    assert corrected(longer, [one("text", TEXTS[1], new="新。")]).passages[0].text == f"{TEXTS[0]}\n新。"
    twice = passages([TEXTS[1], TEXTS[0], TEXTS[1]])
    assert texts(corrected(twice, [one("exclude", TEXTS[1], start=twice[2].start + 3)]).passages) == [
        TEXTS[1],
        TEXTS[0],
    ]
    found = corrected(passages(TEXTS[:1]), [one("exclude", TEXTS[3]), one("text", TEXTS[0], 2, new="改。")])
    assert (texts(found.passages), found.lost) == (["改。"], (1,))
    stacked = [one("text", TEXTS[0], new="改。"), one("text", "改。", 2, new="再改。")]
    assert texts(corrected(passages(TEXTS[:1]), stacked).passages) == ["再改。"]
    assert corrected(passages(TEXTS[:1]), stacked[1:]).lost == (2,)


def test_what_a_person_has_written_is_sure() -> None:
    """Doubts go with the words that were corrected, and stay with those around them."""
    doubts = (Uncertain(8, 10, "number", 0.4),)
    (read,) = passages([TEXTS[0]])
    scan = NewPassage(
        **{n: getattr(read, n) for n in ("uri", "headings", "text", "sha256", "start", "end")},
        recognition=Recognition(confidence=0.9, least=0.4, uncertain=doubts),
    )
    assert scan.text[8:10] == "24"
    assert (
        corrected([scan], [one("text", TEXTS[0], new="客户投诉应当在 24 小时内响应。")]).passages[0].recognition
        is None
    )
    (partly,) = corrected([scan], [one("text", "首次响应", new="初次响应")]).passages
    assert partly.recognition is not None
    assert [partly.text[d.start : d.end] for d in partly.recognition.uncertain] == ["24"]
    first, second = corrected([scan], [one("split", TEXTS[0], at=8)]).passages
    assert first.recognition is not None
    assert second.recognition is not None
    assert (first.recognition.uncertain, [second.text[d.start : d.end] for d in second.recognition.uncertain]) == (
        (),
        ["24"],
    )
