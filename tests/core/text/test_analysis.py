"""The analyser: which terms a text has, and that every way of writing the same thing gives the same ones."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from importlib import resources

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from wenyuan.core.text.analysis import (
    OWN,
    PAIR,
    identifiers,
    passage_terms,
    query_terms,
    search_terms,
    terms,
)
from wenyuan.core.text.folding import fold, has_han, language_of
from wenyuan.core.text.structure import CLAUSE, clause_key, clause_keys

LONGEST = 65  # 64 characters and a mark
TRADITIONAL, SIMPLIFIED = resources.files("wenyuan.core").joinpath("t2s.txt").read_text("utf-8").split()

writable = st.characters(exclude_categories=("Cs",))
any_text = st.text(writable, max_size=60)
# Pieces that meet the rules of the analyser, joined with anything: references, codes, words, numbers.
piece = st.sampled_from(
    "第 十三 13 １３ 条 條 款 之一 Article Art. Section 3.2.1 XIII Appendix A GB /T 50300 - — 2013 ZX-4471 ISO "
    "9001:2015 max_connections C++ don't naïve running 安全 连接池 連接池 ， 。 5% 3,000 10:30 ﬁ ① ㈱ ｶﾞ".split()
)
mixed_text = st.lists(piece | st.sampled_from([" ", "", "\u3000", "\u00a0"]) | st.text(writable, max_size=4)).map(
    "".join
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("连接池", "连 接 池 连接 接池"),
        ("安全", "安 全 安全"),
        ("税", "税"),
        ("connection pools", "connect pool"),
        ("max_connections", "max connect max_connections"),
        ("node.js", "node js node.js"),
        ("C++ and C#", "c c++ and c c#"),
        ("3.5 3,000 5%", "3.5 3,000 5%"),
        ("10:30", "10:30 10 30"),
        ("2026/5/1", "2026/5/1 2026 5 1"),
        ("连接池 pool 5", "连 接 池 连接 接池 pool 5"),
        ("第十三条", "第 十 三 条 第十 十三 三条 #article:13"),
        ("Article 13", "articl 13 #article:13"),
        ("ZX-4471", "zx 4471 zx-4471 #zx4471"),
        ("GB 50300-2013", "gb 50300-2013 50300 2013 #gb50300 #gb50300-2013"),
        ("！？ — …", ""),
        ("", ""),
    ],
)
def test_known_terms(text: str, expected: str) -> None:
    """The terms of a text are these, each as often as it occurs."""
    assert Counter(terms(text)) == Counter(expected.split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("连接池", "连接 接池"),
        ("安全", "安全"),
        ("税", "税"),
        ("税，率", "税 率"),
        ("第十三条", "#article:13 @article:13"),
        ("第十三条规定了什么", "规定 定了 了什 什么 #article:13 @article:13"),
        ("the pool and the pools", "the pool and"),
        ("zx4471", "zx4471 #zx4471 @zx4471"),
        ("？", ""),
    ],
)
def test_known_query_terms(query: str, expected: str) -> None:
    """A query asks for these terms, each once: pairs of characters, and identifiers under both marks."""
    assert query_terms(query) == expected.split()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("连接池", "连接 接池"),
        ("motor vehicle accidents", "motor vehicl accid motor~vehicl vehicl~accid"),
        ("What is the limit, please?", "what limit pleas what~is is~the the~limit limit~pleas"),
        ("is the", "is the is~the"),
        ("python 3 wheels", "python 3 wheel python~3 3~wheel"),
        ("rough-terrain forklift", "rough terrain rough-terrain forklift rough~terrain terrain~forklift"),
        ("ＭＯＴＯＲ　Vehicle", "motor vehicl motor~vehicl"),
        ("使用Python的list方法", "使用 python 的 list 方法"),
        ("motor — vehicle", "motor vehicl"),
        ("？", ""),
    ],
)
def test_known_search_terms(query: str, expected: str) -> None:
    """An engine is asked for pairs of neighbouring words, too, and for articles only where there is nothing else."""
    assert search_terms(query) == expected.split()


@given(any_text | mixed_text)
def test_a_passage_answers_its_own_question(text: str) -> None:
    """Asked for by its own words, a passage has every pair of them."""
    assume(not any(":" in name for name in identifiers(text)))  # words of a clause reference are not asked for
    assert {t for t in search_terms(text) if not t.startswith(OWN)} <= set(passage_terms("", text))


@given(any_text | mixed_text)
def test_only_pairs_have_the_mark_of_pairs(text: str) -> None:
    """What stands between the words of a pair is in no term, so that no term counts as a pair."""
    assert not any(PAIR in term for term in (*terms(text), *query_terms(text)))
    assert all(term.count(PAIR) <= 1 for term in search_terms(text))


@given(any_text | mixed_text)
@example("ａｒｔｉｃｌｅ　１３")
@example("Article\u00a013")
@example("GB／T ５０３００－２０１３")
def test_compatible_forms_ask_for_the_same(text: str) -> None:
    """Queries that are equal under NFKC have equal terms and name equal identifiers."""
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        other = unicodedata.normalize(form, text)
        assert query_terms(other) == query_terms(text)
        assert search_terms(other) == search_terms(text)
        assert identifiers(other) == identifiers(text)
        assert Counter(terms(other)) == Counter(terms(text))


@given(
    st.lists(st.sampled_from("，：；？！（）\u3000,?<= \u0338\u0301\u3099ＡａA客") | writable, max_size=20).map(
        "".join
    )
)
def test_wide_marks_are_composed_as_any_other(text: str) -> None:
    """To write wide marks narrow first changes nothing, whatever combines with what stands there."""
    composed = unicodedata.normalize("NFKC", text)
    assert fold(text) == composed.translate(str.maketrans(TRADITIONAL, SIMPLIFIED)).lower()


@given(
    st.text(st.sampled_from(TRADITIONAL) | st.sampled_from("第十三条節條萬GB 50300abc，"), max_size=20) | mixed_text
)
def test_traditional_asks_for_simplified(text: str) -> None:
    """A query in Traditional characters has the terms of the same query in Simplified ones."""
    other = text.translate(str.maketrans(TRADITIONAL, SIMPLIFIED))
    assert query_terms(other) == query_terms(text)
    assert Counter(terms(other)) == Counter(terms(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("驗收程序", "验收程序"),
        ("連接池逾時", "连接池逾时"),
        ("個人資訊處理者", "个人资讯处理者"),
        ("第壹佰貳拾條之一", "第120条之一"),
        ("ＭＡＸ＿Connections", "max_connections"),
        ("ｶﾞｽ", "ガス"),
        ("ﬁle", "file"),
        ("naïve café", "naive cafe"),
    ],
)
def test_spellings(one: str, other: str) -> None:
    """These spellings ask for the same terms."""
    assert query_terms(one) == query_terms(other)


@pytest.mark.parametrize(
    "spelling",
    [
        "第十三条", "第13条", "第１３条", "第十三條", "第 13 条", "第　十三　条", "第拾叁条", "Article 13",
        "article 13", "ARTICLE 13", "Art. 13", "Article\u00a013", "ａｒｔｉｃｌｅ　１３", "Article XIII",
    ],
)  # fmt: skip
def test_one_article(spelling: str) -> None:
    """Every spelling of Article 13 asks for the same two terms and nothing else."""
    assert identifiers(spelling) == ("article:13",)
    assert query_terms(spelling) == ["#article:13", "@article:13"]


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        (("GB 50300-2013", "GB50300-2013", "gb 50300—2013", "GB/T 50300—2013", "GB/T50300-2013", "GB／T 50300－2013",
          "ＧＢ／Ｔ ５０３００－２０１３", "GB/T 50300 – 2013"), ("gb50300", "gb50300-2013")),
        (("GB 50300", "GB/T 50300", "gb50300", "按照GB50300验收"), ("gb50300",)),
        (("JGJ 59-2011", "JGJ59-2011", "JGJ59—2011", "《JGJ 59－2011》"), ("jgj59", "jgj59-2011")),
        (("GB/T 1.1-2020", "GB/T1.1—2020"), ("gb1.1", "gb1.1-2020")),
        (("ISO 9001:2015", "ISO9001:2015", "iso 9001 : 2015"), ("iso9001", "iso9001-2015")),
        (("ZX-4471", "zx4471", "ZX 4471", "zx_4471", "ＺＸ－４４７１"), ("zx4471",)),
        (("CVE-2026-41947",), ("cve2026", "cve2026-41947")),
    ],
)  # fmt: skip
def test_codes(spellings: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Every spelling of a standard or a code names it in one form, with and without its year."""
    for spelling in spellings:
        assert identifiers(spelling) == expected, spelling
        clauses, codes = identifiers(spelling, codes=False), identifiers(spelling, clauses=False)
        assert (*clauses, *codes) == expected
        assert all(":" in name for name in clauses) and not any(":" in name for name in codes)
        assert {"#" + name for name in expected} <= set(terms(spelling))


@pytest.mark.parametrize(
    "text",
    ["in 2013", "page 120", "the 2026 budget", "about 300 people", "box 12", "E5", "3.2.1", "24 小时", "第一次响应"],
)
def test_no_codes(text: str) -> None:
    """Ordinary words before ordinary numbers are no identifiers."""
    assert identifiers(text) == ()


def test_number_within_a_standard() -> None:
    """The number of a standard, asked for alone, is a term of a text that names the standard with its year."""
    for text in ("GB 50300-2013", "GB50300-2013", "GB/T 50300—2013"):
        assert set(query_terms("2013")) <= set(terms(text))
    assert set(query_terms("50300")) <= set(terms("GB 50300-2013"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("policies", "policy"),
        ("running", "runs"),
        ("Connections", "connection"),
        ("carried", "carry"),
        ("employee's", "employee"),
        ("employee’s", "employees"),
        ("don't", "don’t"),
    ],
)
def test_english_inflections(one: str, other: str) -> None:
    """Inflections of a word and both apostrophes give one term."""
    assert query_terms(one) == query_terms(other)


@given(st.text(st.sampled_from("安全税率连接投诉响應驗a1"), min_size=1, max_size=2))
def test_short_queries_have_terms(query: str) -> None:
    """A query of one or two characters has terms, and a text with those characters in a row has them too."""
    assert query_terms(query)
    assert set(query_terms(query)) <= set(terms(f"，{query}。"))
    assert set(query_terms(query)) & set(terms(f"施{query}工")) or not has_han(query)


@given(any_text | mixed_text)
def test_terms_are_clean(text: str) -> None:
    """No term is empty, holds white space, is longer than the limit, or looks like a mark where it is none."""
    for term in (*terms(text), *query_terms(text)):
        assert term.split() == [term]
        assert 1 <= len(term) <= LONGEST
        assert term not in ("#", OWN)


@pytest.mark.parametrize(
    "text", ["a" * 500, "1" * 500, "a1." * 200, "gb12" + ".1234" * 40, "é" * 500, "a-" * 300, "第" + "万" * 80 + "条"]
)
def test_long_words_are_cut(text: str) -> None:
    """However long a word, number or code is, its terms keep to the limit."""
    assert terms(text)
    assert max(map(len, (*terms(text), *query_terms(text)))) <= LONGEST


@given(any_text | mixed_text)
def test_a_text_answers_itself(text: str) -> None:
    """Asked for by its own words and codes, a text has every term of the query, but for the marks of headings."""
    assume(not any(":" in name for name in identifiers(text)))  # words of a clause reference are not asked for
    assert {t for t in query_terms(text) if not t.startswith(OWN)} <= set(terms(text))


@given(any_text | mixed_text)
def test_query_terms_are_distinct(text: str) -> None:
    """A query asks for each term once."""
    asked = query_terms(text)
    assert len(asked) == len(set(asked))


@given(any_text)
def test_fold_is_stable(text: str) -> None:
    """Folding a text that is folded already changes nothing."""
    assert fold(fold(text)) == fold(text)


def test_own_identifiers_are_marked() -> None:
    """Identifiers of a passage's own headings carry the mark of ownership, those it merely cites do not."""
    own = passage_terms("个人信息保护办法\n第十三条", "应当取得同意。")
    citing = passage_terms("个人信息保护办法\n第二十条", "依照第十三条的规定。")
    assert {"#article:13", "@article:13"} <= set(own)
    assert "#article:13" in citing
    assert "@article:13" not in citing
    assert "@article:20" in citing


def test_headings_are_indexed() -> None:
    """A passage is indexed under the words of its headings and of its text, and pairs and quantities in each."""
    quantity = Counter(["=24hour"])
    assert Counter(passage_terms("投诉", "24 小时")) == Counter(terms("投诉")) + Counter(terms("24 小时")) + quantity
    pairs = [term for term in passage_terms("motor vehicle", "accident on a road") if PAIR in term]
    assert pairs == ["motor~vehicl", "accid~on", "on~a", "a~road"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("客户投诉需在 24 小时内第一次响应。", "zh"),
        ("連接池應當設定逾時時間", "zh"),
        ("The pool times out after 30 seconds.", "en"),
        ("The pool (连接池) times out after thirty seconds of waiting for a free connection.", "en"),
        ("数据库连接池的最大连接数由 max_connections 决定。", "zh"),
        ("12345 !? —", ""),
        ("", ""),
    ],
)
def test_language(text: str, language: str) -> None:
    """The language of a text is told by its letters; a text without any has none."""
    assert language_of(text) == language


def test_has_han() -> None:
    """Chinese characters are seen among others, full-width Latin ones are none."""
    assert has_han("pool 池")
    assert not has_han("ｐｏｏｌ １３ —")


@given(mixed_text)
def test_clauses_are_the_same_where_no_letter_stands(text: str) -> None:
    """A text without letters, which is searched by a shorter pattern, names the clauses that the whole pattern finds."""
    bare = re.sub("[a-z§]", "", text, flags=re.IGNORECASE)
    assert clause_keys(bare) == tuple(dict.fromkeys(filter(None, (clause_key(m[0]) for m in CLAUSE.finditer(bare)))))
