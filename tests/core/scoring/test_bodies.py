"""Terms of many passages at once are those of one after the other."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.scoring.bodies import passage_bodies
from wenyuan.core.text.analysis import passage_terms

TEXT = st.text(
    st.one_of(st.sampled_from("安全第十三条A1b-_./'#+ \n𠀀𠮷😀々〇가あア㐀豈龥Ａ１，。％’éⅣ附录"), st.characters()),
    max_size=40,
)


def counted(heading: str, text: str) -> Counter[str]:
    return Counter(" ".join(passage_terms(heading, text)).split())


@given(st.lists(st.tuples(TEXT, TEXT), max_size=6))
def test_terms_of_many_are_those_of_each(passages: list[tuple[str, str]]) -> None:
    """Whatever the scripts: full-width, Traditional, beyond the basic plane, half a surrogate pair."""
    assert [Counter(body.split()) for body in passage_bodies(passages)] == [counted(*one) for one in passages]


def test_neighbours_stay_apart() -> None:
    """No pair is made of the end of a heading and the begin of a text, or of two passages."""
    first, second = passage_bodies([("安", "全"), ("生", "产")])
    assert first.split() == ["安", "全"]
    assert second.split() == ["生", "产"]


def test_clauses_of_headings_are_marked_as_own() -> None:
    """As `passage_terms` says it: an article itself outranks those that cite it."""
    heading, text = passage_bodies([("第十三条", "安全生产"), ("", "依照第13条处理")])
    assert {"#article:13", "@article:13", "安全", "生产"} <= set(heading.split())
    assert "#article:13" in text.split()
    assert "@article:13" not in text.split()
