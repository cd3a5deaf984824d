"""Terms of a source: written short, as fields, in two languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.errors import InvalidRequest
from wenyuan.core.terms_of_use import Copyright, parse_copyright

_LIMITS = st.one_of(
    st.builds(dict, excerpt=st.sampled_from(["allow", "deny"])),
    st.builds(
        dict,
        excerpt=st.just("limit"),
        max_chars_per_excerpt=st.integers(1, 10**6),
        max_share_of_document=st.none() | st.floats(0, 1, exclude_min=True),
    ),
    st.builds(dict, excerpt=st.just("limit"), max_share_of_document=st.floats(0, 1, exclude_min=True)),
)


@given(_LIMITS, st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_terms_survive_both_written_forms(limits, holder, licence, attribution):
    """Whatever the terms, their short form and their fields give the same terms again."""
    terms = Copyright(holder=holder, licence=licence, attribution=attribution, **limits)
    assert parse_copyright(terms.short()) == terms
    assert parse_copyright(terms.to_mapping()) == terms


@given(st.text(max_size=60))
def test_any_text_is_terms_or_an_invalid_request(text):
    """No text makes the parser fail in another way than by saying what is wrong."""
    try:
        terms = parse_copyright(text)
    except InvalidRequest as error:
        assert error.faults
    else:
        assert parse_copyright(terms.short()) == terms


@pytest.mark.parametrize(
    ("text", "excerpt", "chars", "share", "licence"),
    [
        ("", "allow", None, None, ""),
        ("allow", "allow", None, None, ""),
        ("deny", "deny", None, None, ""),
        ("excerpt<=200", "limit", 200, None, ""),
        ("excerpt<=200; share<=0.1", "limit", 200, 0.1, ""),
        ("share<=10%", "limit", None, 0.1, ""),
        ("CC-BY-4.0", "allow", None, None, "CC-BY-4.0"),
        ("CC BY-SA 4.0", "allow", None, None, "CC BY-SA 4.0"),
        ("MIT", "allow", None, None, "MIT"),
        ("OGL-UK-3.0; excerpt<=50", "limit", 50, None, "OGL-UK-3.0"),
        ("ｅｘｃｅｒｐｔ＜＝２００；ｄｅｎｙ"[:13], "limit", 200, None, ""),
        ("摘录≤200；占比<=10%", "limit", 200, 0.1, ""),
        ("摘錄<=200", "limit", 200, None, ""),
        ("禁止", "deny", None, None, ""),
        ("公有领域", "allow", None, None, "公有领域"),
    ],
)
def test_short_forms_mean_what_they_say(text, excerpt, chars, share, licence):
    """A verdict, limits and a licence are read from the short form, in English and in Chinese."""
    terms = parse_copyright(text)
    assert (terms.excerpt, terms.max_chars_per_excerpt, terms.max_share_of_document) == (excerpt, chars, share)
    assert terms.licence == licence


def test_nothing_said_allows_excerpts():
    """None, an empty string and an empty object all allow excerpts."""
    assert parse_copyright(None) == parse_copyright("") == parse_copyright({}) == Copyright()


def test_a_limit_in_fields_needs_no_verdict():
    """A bound given as a field makes the verdict ``limit``."""
    assert parse_copyright({"max_chars_per_excerpt": 80}).excerpt == "limit"


def test_all_faults_come_at_once_with_what_was_meant():
    """Three mistakes give three faults, each with the word that was probably meant."""
    with pytest.raises(InvalidRequest) as caught:
        parse_copyright("excerp<=200; shar<=0.2; dany")
    assert [f"did you mean {word!r}" in f.message for word, f in zip(
        ["excerpt", "share", "deny"], caught.value.faults, strict=True)] == [True] * 3  # fmt: skip


def test_faults_in_fields_name_the_field():
    """Wrong fields are named by their path, all of them."""
    with pytest.raises(InvalidRequest) as caught:
        parse_copyright({"excerpt": "alow", "max_chars_per_excerpt": 0, "holdr": "x", "attribution": 3})
    paths = {fault.path for fault in caught.value.faults}
    assert paths == {
        "copyright.holdr", "copyright.excerpt", "copyright.max_chars_per_excerpt", "copyright.attribution",
    }  # fmt: skip
    assert "did you mean 'allow'" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("excerpt<200", "did you mean 'excerpt<=200'"),
        ("alow", "did you mean 'allow'"),
        ("limit", "no limit is given"),
        ("allow; excerpt<=5", "a limit is given too"),
        ("deny; allow", "contradicts"),
        ("excerpt<=0", "at least 1"),
        ("share<=3", "at most 1"),
        ("excerpt<=many", "whole number"),
        ("All rights reserved", "does not say"),
        ("版权所有", "does not say"),
        ("our house rules", "licence="),
    ],
)
def test_what_is_not_clear_is_refused(text, said):
    """Text that does not settle whether excerpts are allowed never counts as allowing them."""
    with pytest.raises(InvalidRequest, match=said):
        parse_copyright(text)


def test_a_name_with_a_semicolon_is_quoted():
    """A semicolon inside a quoted name does not end the part."""
    terms = parse_copyright('holder="甲公司；乙公司"; deny')
    assert terms.holder == "甲公司；乙公司"
    assert terms.excerpt == "deny"


def test_room_is_the_narrowest_limit():
    """Of two limits the narrower one counts; deny leaves none and allow has no limit."""
    both = parse_copyright("excerpt<=200; share<=0.1")
    assert [both.room(n) for n in (0, 1_000, 100_000)] == [0, 100, 200]
    assert parse_copyright("deny").room(1_000) == 0
    assert parse_copyright("CC-BY-4.0").room(1_000) is None


def test_credit_is_the_attribution_or_holder_and_licence():
    """What stands beside an excerpt is the attribution asked for, else the holder and the licence."""
    assert parse_copyright("© 甲公司; licence=CC-BY-4.0").credit == "© 甲公司, CC-BY-4.0"
    assert parse_copyright("MIT; attribution=来源：甲公司").credit == "来源：甲公司"
    assert Copyright().credit == ""


def test_contradictions_are_refused_on_construction_too():
    """A `Copyright` that contradicts itself cannot be made."""
    with pytest.raises(InvalidRequest, match="a limit is given too"):
        Copyright(excerpt="deny", max_chars_per_excerpt=5)
