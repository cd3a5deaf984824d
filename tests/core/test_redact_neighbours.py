"""Names that what stands beside them tells: a number, a label of a list, a speaker's mark, a closing."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import redact

POLICY = policy_for("restricted")
KEY = b"k" * 32


def left(text: str) -> str:
    return redact(text, POLICY, KEY).text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("通讯录\n1. 顾长安 13991537960\n2. 余秋实 010-50933302", ("顾长安", "余秋实")),
        ("- 陈思远：138-0013-8000", ("陈思远",)),
        ("武艺萱,沪CJ1YD2,188 2012 3456", ("武艺萱",)),
        ("北京市朝阳区建国路93号 袁媛 收 19932385197", ("袁媛",)),
        (
            "参会：韩冰、曹雪飞（线上）、孙浩然\n记录：郑凯文\n\n一、曹雪飞汇报了进度。",
            ("韩冰", "曹雪飞", "孙浩然", "郑凯文"),
        ),
        ("审判员\u3000罗敏\n书记员\u3000顾长安", ("罗敏", "顾长安")),
        ("请汇款至：户名 姜文彬，开户行：建设银行", ("姜文彬",)),
        ("[09:12] 田壮: 昨天的快递寄了没", ("田壮",)),
        ("材料已寄出。\n\n祝好\n孙浩然", ("孙浩然",)),
        ('{"buyer": "任静宜", "amount": 3}', ("任静宜",)),
        ("备忘：给万梓轩打电话", ("万梓轩",)),
        ("任命魏晨曦为财务部经理", ("魏晨曦",)),
        ("个人简历\n蔡明远　男　1991年生", ("蔡明远",)),
        ("唐诗雨（Wu Guoqiang）", ("唐诗雨", "Wu Guoqiang")),
        (
            "Contacts\n* Victor Alvarez, 617.563.7453\n* Zhao Min, emily669@outlook.com",
            ("Victor Alvarez", "Zhao Min"),
        ),
        (
            "Present: David Rosenberg (chair), Natalie Fraser, Thomas Müller",
            ("David Rosenberg", "Natalie Fraser", "Thomas Müller"),
        ),
        ("Just spoke with Priya Raman from Legal", ("Priya Raman",)),
        ("Thanks,\nYuki Tanaka", ("Yuki Tanaka",)),
        ("I first met the defendant, Liam Murphy, in 2019.", ("Liam Murphy",)),
        ("made between Isabel Ferreira, residing at 5 Elm Street", ("Isabel Ferreira",)),
        ("Please pay Rebecca Stone, IBAN: x", ("Rebecca Stone",)),
        ("<Peter van Dijk> whats the code again?", ("Peter van Dijk",)),
        ("He lives at 63 Kingsway, London WC2B 6TE.", ("63 Kingsway, London WC2B 6TE",)),
        ("Write to P.O. Box 1182, Boulder, CO 80306", ("P.O. Box 1182, Boulder, CO 80306",)),
        ("17 Station Parade, Harrogate", ("17 Station Parade",)),
        ("天河区体育西路103号维多利广场B塔2104室", ("天河区体育西路103号维多利广场B塔2104室",)),
    ],
)
def test_a_name_is_told_by_its_neighbours(text: str, names: tuple[str, ...]) -> None:
    """No cue says that it is one; a number, a list, a speaker's mark or a closing does."""
    assert [name for name in names if name in left(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "司机 13800138000", "物业公司 0571-88001234", "公安局 0571-88001234", "班长：13800138000", "总经理 010-88001234", "客服：400-800-1234",
        "参会：全体成员、各部门代表", "记录：见附件", "任命一名安全员为组长", "给客户打电话", "在来源中查找段落，并列出规则", "只会少给段落，不会有别的后果", "关于安全，见下文", "[09:12] 系统: 已重启", "祝好\n行政部",
        "Customer Service: 212-555-0147", "Front Desk, (617) 555-0148", "Technical Support <help@example.com>", "Legal Department, 415-555-0149",
        "Present: all members", "Best\nNew Features", "Quick Start\n2 Download The installer", "between New York and Boston", "Met Office data",
        '{"name": "Data Sheet", "host": "mail.example.com"}', "Johnson Controls was founded in 1885", "about 12 Main Points, 3 Ways of it",
    ],
)  # fmt: skip
def test_offices_roles_and_headings_are_no_names(text: str) -> None:
    """What stands beside a number is a name only where it has a surname and is no role, office or company."""
    assert "姓名" not in left(text), left(text)
    assert "PERSON" not in left(text).upper(), left(text)
