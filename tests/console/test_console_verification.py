"""The console's page with the verdicts on an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_door import HOSTILE, Browser, Seen, console
from governed_door import key
from wenyuan.console.verify import citations_of
from wenyuan.core.errors import EngineUnavailable
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book

ANSWER = "客户投诉需在 48 小时内第一次响应 [1]。客户投诉需在 24 小时内第一次响应，并登记投诉编号【1】。龘靐齉 zzqx [nowhere]。"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with console(tmp_path_factory.mktemp("verification")) as found:
        with located("construction") as pack:
            found[1].rules.take(read_book(pack))
        yield found


def verified(opened: tuple[str, Any], answer: str, language: str = "en", **more: object) -> Seen:
    return Browser(opened[0], language).post("/console/verify", {"answer": answer, **more})


@pytest.mark.parametrize(
    ("language", "count", "changed", "was", "said"),
    [
        ("en", "3 claims", "number changed", "The source says", "The claim says"),
        ("zh", "共 3 句", "数字不符", "原文为", "回答为"),
    ],
)
def test_every_claim_has_its_verdict(
    opened: tuple[str, Any], language: str, count: str, changed: str, was: str, said: str
) -> None:
    """Counts above; each claim with its verdict in words, both wordings, the quote, and a link to its source."""
    seen = verified(opened, ANSWER, language, citations="[1] = crm_policy\n")
    assert seen.status == 200
    assert seen.text(".summary h2") == count
    assert f"{changed} 1" in seen.text(".counts")
    first, second, third = seen.tree.css(".hits > .hit")
    assert first.css_first(".verdict.number_changed").text() == changed
    assert [node.text() for node in first.css(".change dt, .change dd")] == [was, "24 小时", said, "48 小时"]
    assert "24 小时" in first.css_first("blockquote").text()
    assert first.css_first(".about a").attributes["href"] == "/console/sources/crm_policy"
    assert second.css_first(".verdict.verbatim") is not None
    assert "nowhere" in third.css_first(".why").text()
    assert seen.tree.css_first(".counts a.number_changed").attributes["href"] == "#claim-1"
    assert seen.tree.css_first(".summary a").attributes["href"].startswith("/console/audit/a-")
    assert seen.tree.css_first("textarea[name=answer]").text() == ANSWER


def test_what_was_not_judged_has_the_nearest_passage(opened: tuple[str, Any]) -> None:
    """A sentence in other words has it without a word of approval."""
    seen = verified(opened, "How soon is the complaint of a customer, 客户投诉, to be answered for the first time?")
    assert seen.text(".hit .verdict") == "found, not judged"
    assert "no approval" in seen.text(".hit .small")
    assert seen.count(".hit blockquote") == 1


def test_a_rule_that_is_contradicted_is_named(opened: tuple[str, Any]) -> None:
    """With its clause, and a link to the statement in the graph of rules."""
    seen = verified(opened, "开挖深度超过5m的基坑工程，不需要组织专家论证专项施工方案。")
    assert seen.text(".hit .verdict") == "against a mandatory rule"
    assert "论证" in seen.text(".rule blockquote")
    assert "附件二" in seen.text(".rule .about span")
    link = seen.tree.css_first(".rule .about a").attributes["href"] or ""
    assert Browser(opened[0]).get(link).status == 200


def test_trust_and_day_are_kept(opened: tuple[str, Any]) -> None:
    """The bounds count, and the form still shows them."""
    wiki = "客户投诉一般三天内响应就可以了"
    seen = verified(opened, wiki, trust="4", as_of="2024-02-29")
    assert seen.text(".hit .verdict") == "below the trust asked for"
    assert seen.tree.css_first("select[name=trust] option[selected]").attributes["value"] == "4"
    assert "2024-02-29" in seen.text(".summary")
    assert seen.tree.css_first("input[name=as_of]").attributes["value"] == "2024-02-29"
    assert verified(opened, wiki).text(".hit .verdict") == "verbatim"


def test_the_empty_page_asks_for_an_answer(opened: tuple[str, Any]) -> None:
    """It says what is compared with what, and has no verdict."""
    seen = Browser(opened[0]).get("/console/verify")
    assert seen.status == 200
    assert "No model is asked" in seen.text(".lead")
    assert seen.count("#answer *") == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"answer": ""}, "Answer"),
        ({"answer": " \n "}, "Answer"),
        ({"answer": "!!! …"}, "Claims"),
        ({"answer": "一。" * 101}, "Claims"),
        ({"answer": "x" * 50_001}, "Answer"),
        ({"answer": "x", "trust": "9"}, "Trust at least"),
        ({"answer": "x", "as_of": "2024-02-30"}, "As of"),
        ({"answer": "x", "citations": "1 = a\njust words"}, "just words"),
    ],
)
def test_what_is_no_answer_is_told(opened: tuple[str, Any], fields: dict[str, object], said: str) -> None:
    """With the field that it is about; what was typed is still there."""
    seen = Browser(opened[0]).post("/console/verify", fields)
    assert seen.status == 400
    assert said in seen.text(".notice.bad[role=alert] li")
    assert seen.count(".hit, .summary") == 0
    assert seen.tree.css_first("textarea[name=answer]").text() == str(fields["answer"]).strip()


def test_failed_is_no_verdict(opened: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the index cannot be asked the page says FAILED, why, and nothing of any claim."""

    def broken(*_: Any, **__: Any) -> Any:
        raise EngineUnavailable("it is gone", component="engine")

    monkeypatch.setattr(opened[1].engine, "keyword", broken)
    seen = verified(opened, ANSWER)
    assert "FAILED" in seen.text(".notice.failed[role=alert] h2")
    assert "it is gone" in seen.text(".notice.failed pre")
    assert seen.count(".hit, .summary, .counts, .verdict") == 0
    assert seen.tree.css_first("textarea[name=answer]").text() == ANSWER


def test_a_hundred_claims(opened: tuple[str, Any]) -> None:
    """As many as an answer may have, each with its verdict, in their order."""
    answer = "\r\n".join(f"客户投诉需在 {n} 小时内第一次响应，并登记投诉编号。" for n in range(1, 101))
    seen = verified(opened, answer)
    assert seen.text(".summary h2") == "100 claims"
    assert [node.attributes["id"] for node in seen.tree.css(".hit")] == [f"claim-{n}" for n in range(1, 101)]
    assert [n for n, node in enumerate(seen.tree.css(".hit"), 1) if node.css_first(".verbatim")] == [24]
    assert seen.tree.css_first(".counts a.verbatim").attributes["href"] == "#claim-24"


def test_markup_is_only_text(opened: tuple[str, Any]) -> None:
    """In an answer, in its marks and citations, and in what documents say."""
    answer = f"脚本注入测试 {HOSTILE} javascript:alert(1) [{HOSTILE}]。"
    seen = verified(opened, answer, citations=f"{HOSTILE} = {HOSTILE}")
    assert seen.status == 200
    assert HOSTILE in seen.text(".hit .text")
    assert HOSTILE in seen.text(".hit .why")
    assert HOSTILE in seen.text(".hit blockquote")
    wrong = verified(opened, answer, citations=HOSTILE)
    assert HOSTILE in wrong.text(".notice.bad li")
    for page in (seen, wrong):
        assert page.count("main script, main img") == 0


def test_it_takes_the_right_to_search(tmp_path: Path) -> None:
    """A key of an agent is judged by that agent's sources; one that may not search is told so."""
    with console(tmp_path, needs_keys=True) as (url, library):
        searching, auditing = Browser(url), Browser(url)
        searching.sign_in(key(library, "search", agent="support"))
        seen = searching.post("/console/verify", {"answer": "客户投诉一般三天内响应就可以了"})
        assert seen.status == 200
        assert "/console/sources/wiki" not in seen.body
        auditing.sign_in(key(library, "audit"))
        refused = auditing.post("/console/verify", {"answer": ANSWER})
        assert refused.status == 403
        assert Browser(url).post("/console/verify", {"answer": ANSWER}).status == 303


def test_citations_as_they_are_typed() -> None:
    """One a line, in brackets or without; an address may have equals signs; the rest is given back."""
    written = "1 = policies#12\r\n【2】＝https://a.example/?b=c\n\n[note] =x y\nnothing\n= a\n3 =\n"
    assert citations_of(written) == (
        {"1": "policies#12", "2": "https://a.example/?b=c", "note": "x y"},
        ["nothing", "= a", "3 ="],
    )
