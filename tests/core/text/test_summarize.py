"""Extracts that answer a query."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wenyuan.core.text.boundaries import clauses, sentences
from wenyuan.core.text.summaries import elision_mark, quoted, summarize
from wenyuan.core.text.token_meter import estimate_tokens

ZH = (
    "第十三条 投诉处理部门应当自收到客户投诉之日起二十四小时内作出第一次响应，并告知投诉人受理编号。"
    "投诉内容涉及人身安全的，应当立即上报值班经理，并在两小时内启动应急预案。"
    "客户对处理结果有异议的，可以在收到处理结果之日起十个工作日内申请复核。"
    "复核由上一级部门负责，复核期限不超过十五个工作日。"
    "投诉档案应当保存不少于三年，保存期限届满后，经档案管理部门批准方可销毁。"
    "各分支机构应当于每季度首月十日前，将上季度投诉统计分析报告报送总部客户服务部。"
    "未按时报送的，由总部予以通报批评，并纳入年度绩效考核。"
)
EN = (
    "Employees must submit travel expenses within thirty days of the end of the trip. "
    "Receipts are required for any single expense above 25 dollars, including taxis, meals and parking. "
    "Hotel stays are reimbursed up to the federal rate for the city; higher rates need written approval. "
    "Flights are booked in economy class through the travel desk, which confirms each booking by e-mail. "
    "Per diem covers meals and incidentals and needs no receipts. "
    "Alcohol, fines and personal entertainment are never reimbursed. "
    "If a trip is cancelled, tell the travel desk at once so that tickets can be refunded. "
    "Late submissions may be refused by the finance team, e.g. when the fiscal year has closed."
)
LONG = "对于" + "、".join(f"第{n}类施工现场作业人员" for n in "一二三四五六七八九十") + "，必须在进入深基坑前佩戴安全帽，" + (
    "并且按照专项方案的要求逐级交底，" * 8) + "方可作业。"  # fmt: skip
_ALPHABET = "投诉处理二十四小时hotel receipts 25 。。，；.!? \n\u3000、…（）e\u0301👍🏽-1\t🇨🇳"
_TEXTS = st.one_of(
    st.text(_ALPHABET, max_size=900),
    st.lists(st.sampled_from([*ZH.split("。"), *EN.split(". "), LONG]), max_size=14).map("。".join),
    st.lists(st.sampled_from(EN.split()), max_size=300).map(" ".join),
    st.text(min_size=200, max_size=600),
)
_QUERIES = st.sampled_from(["客户投诉多久响应", "hotel rate", "", "深基坑 安全帽", "receipts for meals", "投诉"])


@given(_TEXTS, _QUERIES)
@example("x" * 5_000, "x")
@example("1 " * 400, "1")
@example("。" * 400, "")
def test_a_summary_is_made_of_the_passage_and_keeps_its_length(text, query):
    """Every piece is the passage's own, in order; the whole is of 50 to 90 tokens where the passage has so many."""
    summary = summarize(text, query)
    at = 0
    for start, end in summary.spans:
        assert at <= start <= end <= len(text)
        assert text[start:end] in summary.text
        at = end
    assert estimate_tokens(summary.text) <= 90
    if estimate_tokens(text) <= 90:
        assert (summary.text, summary.elided) == (text, False)
    else:
        assert summary.elided
        assert estimate_tokens(summary.text) >= 50
        assert summary.text in {quoted(text, summary.spans, elision_mark(language)) for language in ("zh", "en")}


@given(_TEXTS, _QUERIES, st.integers(16, 300))
def test_any_budget_is_kept(text, query, budget):
    """No summary takes more than its budget, and the same question gives the same summary."""
    summary = summarize(text, query, budget_tokens=budget)
    assert estimate_tokens(summary.text) <= budget
    assert summarize(text, query, budget_tokens=budget) == summary


@given(_TEXTS)
def test_sentences_and_clauses_cover_the_text(text):
    """Between two sentences, and between two clauses of one, there is white space only."""
    at = 0
    for start, end in sentences(text):
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        inner = start
        for a, b in clauses(text, start, end):
            assert not text[inner:a].strip()
            inner = b
        assert inner == end
        at = end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    ("text", "query", "answer"),
    [
        (ZH, "客户投诉多久响应", "二十四小时内作出第一次响应"),
        (ZH, "投訴檔案保存多久", "投诉档案应当保存不少于三年"),
        (ZH, "未按时报送会怎样", "由总部予以通报批评"),
        (ZH, "复核期限是多长", "复核期限不超过十五个工作日。"),
        (EN, "hotel reimbursement rate", "Hotel stays are reimbursed up to the federal rate"),
        (EN, "do I need receipts for meals", "Receipts are required for any single expense above 25 dollars"),
        (EN, "what if I cancel a trip", "If a trip is cancelled, tell the travel desk"),
        (LONG, "进入深基坑前要戴安全帽吗", "必须在进入深基坑前佩戴安全帽，"),
    ],
)
def test_the_answer_is_in_the_summary(text, query, answer):
    """The sentence, or the clause of a long sentence, that answers the query is kept word for word."""
    assert answer in summarize(text, query).text


def test_what_is_left_out_is_marked_in_the_language_of_the_passage():
    """Chinese gaps are marked with two ellipses, English ones with a spaced one, edges only inside a sentence."""
    chinese = summarize(ZH, "第一次响应 未按时报送", budget_tokens=80).text
    english = summarize(EN, "receipts for travel expenses, late submissions", budget_tokens=60).text
    assert "……" in chinese
    assert " … " in english
    assert "……" not in english
    assert not chinese.startswith("…")
    assert not english.endswith("…")
    cut = summarize(LONG, "安全帽").text
    assert cut.startswith("……")
    assert cut.endswith("……")


def test_repetition_is_not_summarised_twice():
    """Of two sentences that say the same, one is taken and the room goes to another."""
    text = (
        "酒店费用按城市标准报销，超过标准的部分由员工自理。" * 2
        + "交通费用凭票据报销，票据遗失的由经理签字确认。" * 3
        + ZH
    )
    summary = summarize(text, "酒店费用和交通费用报销标准").text
    assert "酒店费用按城市标准报销" in summary
    assert "交通费用凭票据报销" in summary
    assert summary.count("酒店费用按城市标准") == 1


@pytest.mark.parametrize("text", [LONG + ZH, EN, LONG + "复核安全帽。看深基坑。复核。深基坑安全帽。"])
def test_marks_at_the_edges_count_in_every_budget(text):
    """Whatever the budget, the marks that a cut sentence needs are within it."""
    for budget in range(16, 160):
        assert estimate_tokens(summarize(text, "深基坑安全帽 复核 hotel", budget_tokens=budget).text) <= budget


def test_a_short_answer_is_filled_up_from_a_long_sentence():
    """Where the answer is a short sentence and all others are too long, part of one is added."""
    summary = summarize("小心火烛。" + LONG, "小心火烛")
    assert summary.text.startswith("小心火烛。")
    assert 50 <= estimate_tokens(summary.text) <= 90


def test_an_abbreviation_ends_no_sentence():
    """``e.g.`` and initials do not cut a sentence in two."""
    text = "Ask Dr. Smith, e.g. by mail. Then wait."
    assert [text[a:b] for a, b in sentences(text)] == ["Ask Dr. Smith, e.g. by mail.", "Then wait."]


def test_library_weights_decide_between_terms():
    """A term that is rare in the library counts more than one that is rare in the passage alone."""
    text = EN
    rare = summarize(text, "alcohol flights", budget_tokens=24, weights={"alcohol": 9.0, "flight": 0.1}).text
    other = summarize(text, "alcohol flights", budget_tokens=24, weights={"alcohol": 0.1, "flight": 9.0}).text
    assert "Alcohol" in rare
    assert "Flights" in other


def test_too_small_a_budget_is_refused():
    """A budget in which no sentence can stand is an error."""
    with pytest.raises(ValueError, match="at least 16"):
        summarize(EN, "hotel", budget_tokens=15)


@pytest.mark.slow
def test_a_summary_takes_about_a_millisecond():
    """A passage of 400 tokens is summarised within three milliseconds even on a busy machine."""
    text = (ZH * 3)[:540]
    summarize(text, "投诉")

    def once():
        start = time.thread_time()
        summarize(text, "客户投诉多久响应")
        return time.thread_time() - start

    assert min(once() for _ in range(50)) < 0.003
