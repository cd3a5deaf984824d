"""How much of a question's words passages have."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wenyuan.core.model import Passage
from wenyuan.service.search.coverage import Coverage

TEXTS: Sequence[tuple[str, tuple[str, ...], str]] = (
    ("门禁管理", ("登记",), "忘带门禁卡的，在前台登记后由保安放行。"),
    ("门禁管理", ("登记",), "访客须由接待人签字。"),
    ("Access", ("Cards",), "A lost card is replaced at the front desk."),
    ("考勤制度", (), "迟到三次记事假半天。"),
)


def passages() -> list[Passage]:
    return [
        Passage(
            passage_id=number, source_id="s", document_id=number, uri=f"urn:{number}", title=title, headings=headings, text=text,
            sha256="", start=0, end=len(text), language="zh" if title != "Access" else "en",
        )
        for number, (title, headings, text) in enumerate(TEXTS, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "script"), [("忘带门禁卡怎么登记", "han"), ("lost cards", "latin"), ("是什么", "han"), ("", "han")]
)
def test_compared_at_once_or_one_by_one(question: str, script: str) -> None:
    """Passages that are compared with the question at once have the shares that each has by itself."""
    at_once = Coverage(question, script)
    at_once.compare(passages())
    each = Coverage(question, script)
    assert [at_once.of(one) for one in passages()] == [each.of(one) for one in passages()]
    assert [at_once.folded(one) for one in passages()] == [each.folded(one) for one in passages()]
    assert at_once.groups(passages()) == [each.groups([one])[0] for one in passages()]
    assert at_once.among(passages(), "zh") == each.among(passages(), "zh")


def test_a_group_is_a_heading_that_says_most() -> None:
    """Passages whose title and headings alone have most of what they have of the question are one group; others have none."""
    coverage = Coverage("门禁管理", "han")
    first, second, _, other = coverage.groups(passages())
    assert first == second == ("门禁管理", "登记")
    assert other is None
    assert Coverage("是什么", "han").groups(passages()) == [None] * 4
