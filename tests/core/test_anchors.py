"""Where the evidence of rules is opened."""

from __future__ import annotations

import pytest

from wenyuan.core.anchors import address_of, without_clause
from wenyuan.core.rules.model import Evidence

PAGE = "https://example.org/order37"


@pytest.mark.parametrize(
    ("uri", "clause", "bare"),
    [
        (f"{PAGE}#第十条", "第十条", PAGE),
        (f"{PAGE}#%E7%AC%AC%E5%8D%81%E6%9D%A1", "第十条", PAGE),
        (f"{PAGE}#Article%2013", "Article 13", PAGE),
        ("urn:order:37#第十条", "第十条", "urn:order:37"),
        (f"{PAGE}#art13", "第十三条", f"{PAGE}#art13"),
        (f"{PAGE}#第十条", "", f"{PAGE}#第十条"),
        ("file:///a/leave.md#第十条", "第十条", "file:///a/leave.md#第十条"),
        ("file:///a/rules.docx#第十条", "第十条", "file:///a/rules.docx#第十条"),
        (PAGE, "第十条", PAGE),
    ],
)
def test_a_clause_is_no_anchor(uri: str, clause: str, bare: str) -> None:
    """A fragment that only repeats the clause is left out, but where a format opens clauses so."""
    assert without_clause(uri, clause) == bare
    assert Evidence(source_id="s", uri=uri, clause=clause).uri == bare


@pytest.mark.parametrize(
    ("quote", "told"),
    [
        ("应当组织专家论证，并签字确认。", "#:~:text=应当组织专家论证，并签字确认"),
        ("應當組織專家論證。", "#:~:text=應當組織專家論證"),
        ("Deep excavations, 5 m or more", "#:~:text=Deep%20excavations%2C%205%20m%20or%20more"),
        ("first-aid & rescue", "#:~:text=first%2Daid%20%26%20rescue"),
        ("……", ""),
        ("", ""),
    ],
)
def test_a_page_is_opened_at_the_quote(quote: str, told: str) -> None:
    """A browser is told the first words of the quote, escaped as text fragments demand."""
    assert address_of(f"{PAGE}#第十条", "第十条", quote) == PAGE + told


def test_a_long_quote_is_told_by_its_beginning() -> None:
    """Of a long quote as much is told as a browser needs, up to a sentence's mark or the end of a word."""
    address = address_of(
        PAGE, "", "施工单位应当在危险性较大的分部分项工程施工前编制专项施工方案，并组织专家论证。" * 9
    )
    assert address == f"{PAGE}#:~:text=施工单位应当在危险性较大的分部分项工程施工前编制专项施工方案"
    assert address_of(PAGE, "", "every word counts " * 40).endswith("words") is False


@pytest.mark.parametrize(
    "uri", [f"{PAGE}.pdf", f"{PAGE}.PDF?v=2", "urn:order:37", f"{PAGE}#art13", "file:///a/b.html"]
)
def test_what_is_no_bare_page_of_the_web_is_left_as_it_is(uri: str) -> None:
    """Words are told where browsers look for them only, and never in place of an anchor."""
    assert address_of(uri, "第十条", "应当组织专家论证") == uri
