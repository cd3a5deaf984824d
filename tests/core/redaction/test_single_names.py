"""One name alone in Latin letters is found in running text, and words, places and brands are not."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import KINDS, RedactionPolicy
from wenyuan.core.redaction.redact import redact

DROP = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ask Maria, she has the keys.", "Maria"), ("When Kevin is away, Deborah signs.", "Kevin Deborah"), ("The spare badge is with Angela.", "Angela"),
        ("Please forward it to Sergei and Heidi before noon.", "Sergei Heidi"), ("Ask Mark, he knows.", "Mark"), ("Florence said she would call back.", "Florence"),
        ("Collins said the invoice was paid.", "Collins"), ("“We are late,” said Papadopoulos.", "Papadopoulos"), ("Approved: J. Whitfield", "Whitfield"),
        ("R.J. Hughes and P. van Dijk attended.", "Hughes"), ("Yesterday Ewan Richards left early.", "Ewan Richards"), ("Director Lea Petersen resigned.", "Lea Petersen"),
        ("Present: Efimiya, Ariana, Teresa and Jodi", "Ariana Teresa Jodi"), ("客户 Maria 说周五到。", "Maria"), ("请联系 Kevin 拿钥匙", "Kevin"), ("Tell Aunt Rosalind I said hi.", "Rosalind"), ("问一下老耿。", "老耿"), ("Officer Barnes wrote it down.", "Barnes"), ("微信搜 zhangsan_88 加我", "zhangsan_88"),
    ],
)  # fmt: skip
def test_found(text: str, names: str) -> None:
    """A familiar given name anywhere, another one and a surname beside what persons do, initials with a surname."""
    if text.startswith("Florence"):
        text = f"I told {text}"
    left = redact(text, DROP).text
    assert [name for name in names.split() if name in left] == [], left


@pytest.mark.parametrize(
    "text",
    [
        "Santa Maria is a port.", "The Kevin Durant Foundation pays.", "Open Cassandra and restart it.", "Deploy to Jenkins, then tag the build.", "Georgia said no to the treaty.",
        "Paris was expensive.", "Will the parts arrive in May?", "Dawn breaks at six.", "See Table A. Results follow.", "Plan B. Testing goes on.", "Vitamin C. Helps in winter.",
        "Mr. Coffee is a brand of machines.", "Grace period ends on Friday.", "The Victoria line is closed.", "Siemens said the parts are late.", "Mark the page.", "Read the Max value.",
        "Sign in with Claude or Gemini.", "Mercedes called back 4,000 cars.", "Set Summer tyres aside.", "import Julia from module", "victor-maria.example.com/maria",
    ],
)  # fmt: skip
def test_stays(text: str) -> None:
    """What is called by a person's name and is none, and words that names are written like."""
    assert redact(text, DROP).text == text


def test_a_part_of_a_name_is_gone_from_the_whole_document() -> None:
    """Its surname and its given name alone, with a capital letter and none beside it; daily words of it stay."""
    text = "Employee: Oluwaseun Whitcombe\nWhitcombe asked for leave. Later Oluwaseun's badge was found; whitcombe stays, as Whitcombe Hall does."
    left = redact(text, DROP).text
    assert left.count("Whitcombe") == 1
    assert "Oluwaseun" not in left
    assert "whitcombe stays" in left
    assert "Long days" in redact("Employee: Ellen Long\nLong days follow.", DROP).text
