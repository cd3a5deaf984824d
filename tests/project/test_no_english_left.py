"""In no Chinese text is English left over: neither phrases, nor words that name nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from parsed import PACKAGE, code
from wenyuan.core.text.folding import has_han
from wenyuan.i18n.translation import translated

CHINESE = PACKAGE / "i18n" / "zh"
_PLACE = re.compile(r"\{[^}]*\}")
_TYPED = re.compile(
    r"`[^`]*`|https?://\S+|(?:wenyuan|pip install|apt-get install|export|CREATE|ALTER|Authorization:)[ A-Za-z0-9_\-,.<>=\[\]/…：]*"
)
"""What one types or sends, up to the next Chinese character."""
_QUOTED = re.compile(r"（[A-Za-z /]+）")
"""The words of another program, behind their Chinese."""
_WORD = re.compile(r"(?<![A-Za-z0-9_./:=%<>\-])[A-Za-z][a-z]{3,}(?![A-Za-z0-9_./:=%>\-(])")
_PHRASE = re.compile(r"[A-Za-z]{2,} [a-z]{2,}( [a-z]{2,})*")
NAMES = frozenset(
    """
    Bearer Brier Claude Code Cursor Desktop Dify Excel Infinity LibreOffice Markdown Milvus Office Outlook Pillow Python Redis
    Service Word Wenyuan English Front matter boundary cron dulwich fsspec halfvec insecure index json logit lenient localhost
    Arrow Feather JSONL Parquet onnxruntime openpyxl pack pgvector postings redis sentencepiece sitemap token tokenizers logprobs retries
    """.split()
)
"""Names of programs and formats, and words of theirs that have no Chinese."""
PHRASES = frozenset({"Front matter", "Service token", "Claude Desktop", "Claude Code", "Wenyuan server"})


def texts() -> Iterator[tuple[str, str]]:
    """Every Chinese text that the program can say: where it stands, and itself."""
    for file in sorted(CHINESE.rglob("*.json")):
        for key, said in json.loads(file.read_text("utf-8")).items():
            yield f"{file.name}: {key}", said


def named() -> frozenset[str]:
    """What is a name in the code: of fields, settings, commands, parameters, values."""
    files = "\n".join(file.read_text("utf-8") for file in code())
    fields = re.findall(r"^ {4}([a-z][a-z_0-9]+): ", files, re.MULTILINE)
    values = re.findall(r"[\"']([a-z][a-z_]{3,})[\"']", files)
    return frozenset([*fields, *values])


def left(said: str, known: frozenset[str]) -> list[str]:
    """English that is left in a Chinese text: phrases, and words of four letters and more that name nothing."""
    plain = _QUOTED.sub("", _TYPED.sub("", _PLACE.sub("甲", said)))
    phrases = [found[0] for found in _PHRASE.finditer(plain) if found[0] not in PHRASES]
    return phrases + [word for word in _WORD.findall(plain) if word not in known and word not in NAMES]


def test_no_english_is_left_in_a_chinese_text() -> None:
    """Each Latin word is a name: of a field, a setting, a value, a command, a program or a format; and no two stand
    together as in a sentence.
    """
    known = named()
    assert {where: words for where, said in texts() if (words := left(said, known))} == {}


@pytest.mark.parametrize(
    "said",
    ["removed a running line from 3 pages", "它已损坏：File is not a zip file", "密钥 has expired", "请 retry 一次"],
)
def test_english_is_found(said: str) -> None:
    """A remark in English, the end of a sentence, and a single word are found."""
    assert left(said, frozenset())


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("it is damaged: File is not a zip file", "它已损坏：不是 ZIP 压缩文件"),
        ("this needs a key with the right 'registry'", "需要有“管理登记”（registry）权限的密钥"),
        ("cannot be read: Bad CRC-32 for file 'word/document.xml'", "无法读取：'word/document.xml' 的校验和不符"),
    ],
)
def test_words_of_other_programs_and_rights_are_chinese(english: str, chinese: str) -> None:
    """What a library of another program says of a file, and which right is missing, are said in Chinese."""
    assert translated(english) == chinese
    assert has_han(chinese)
