"""What holds of linking for any text: offsets, equal spellings, and the same matches as a naive search."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.rules.graph import LexiconEntry
from wenyuan.core.rules.linking import Linker
from wenyuan.core.rules.spelling import form_of, spell

ANY = st.text(
    alphabet=st.one_of(st.sampled_from("基坑开挖開Ａa ab-12①é\u0301。，\u200bﬁß한かが"), st.characters()), max_size=40
)
FEW = st.text(alphabet="基坑开挖", min_size=2, max_size=5)


def linker_of(names: list[str]) -> Linker:
    return Linker(
        LexiconEntry(node_id=i, kind="k", text=name, type="pref", weight=1.0, scope=())
        for i, name in enumerate(names)
    )


@given(ANY)
def test_offsets_lead_back(text: str) -> None:
    """Every character of a form comes from one of the text, in order."""
    form = spell(text)
    assert len(form.text) == len(form.offsets)
    assert form.offsets == sorted(form.offsets)
    assert all(0 <= offset < len(text) for offset in form.offsets)


@given(st.one_of(ANY, st.text(alphabet="基開aZ09 -", max_size=20)))
def test_the_form_of_a_name_is_that_of_a_text(name: str) -> None:
    """The short way to a name's form leads to the same one."""
    assert form_of(name) == spell(name).text


@given(ANY)
def test_equal_texts_have_one_form(text: str) -> None:
    """Texts that are equal under NFKC or NFD, or but for case, have the same form; folding twice changes nothing."""
    form = spell(text).text
    assert spell(unicodedata.normalize("NFKC", text)).text == form
    assert spell(unicodedata.normalize("NFD", text)).text == form
    assert spell(form).text == form


@given(ANY, ANY, ANY)
def test_spans_are_of_the_text(before: str, name: str, after: str) -> None:
    """Whatever the text, spans lie in it, in order, and say what stands there."""
    text = before + name + after
    spans = linker_of([name, "基坑开挖"]).link(text).spans
    assert [text[s.start : s.end] for s in spans] == [s.text for s in spans]
    assert [s.start for s in spans] == sorted(s.start for s in spans)
    assert all(0 < c.score <= 1 for s in spans for c in s.candidates)


@given(st.lists(FEW, unique=True, max_size=12), st.text(alphabet="基坑开挖。", max_size=30))
def test_matches_are_those_of_a_naive_search(names: list[str], text: str) -> None:
    """Exactly the occurrences are found that lie in no other occurrence."""
    places = {(i, i + len(n), k) for k, n in enumerate(names) for i in range(len(text)) if text.startswith(n, i)}
    outermost = {p for p in places if not any(o[:2] != p[:2] and o[0] <= p[0] and p[1] <= o[1] for o in places)}
    spans = linker_of(names).link(text).spans
    assert {(s.start, s.end, s.candidates[0].node_id) for s in spans if s.by == "name"} == outermost


@given(ANY)
def test_a_name_is_found_alone(name: str) -> None:
    """A text that is a name is resolved to it and linked to it, unless nothing of it can be seen."""
    linker = linker_of([name])
    seen = bool(spell(name).text)
    assert bool(linker.resolve(name)) is seen
    assert [s.by for s in linker.link(name).spans] == ["name"] * seen
