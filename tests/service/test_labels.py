"""A passage is as near to a query as its label is: its title and headings, its question, or its document's lead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wenyuan
from catalog_parts import raw
from fused import candidates
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.core.ports import Hit
from wenyuan.core.scoring.fusion import Fusion, column
from wenyuan.service.ingest.reembedding import embed_anew

SETTINGS: dict[str, Any] = {
    "encoder": {"kind": "hashing", "dimension": 256},
    "search": {"abstain": "lenient", "floor": 0.0, "deadline": 30},
}
BODY = (
    "打开首页右上角的设置，选择账户与安全，再按页面提示逐项填写，验证码十分钟内有效。如收不到短信，请检查信号与拦截名单，"
    "仍未解决时联系值班人员，并提供工号、部门、手机型号与出现的时间，以便核对。每天最多申请五次，超过后次日再试。"
)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "password.md").write_text(f"# 如何重置登录密码\n\n{BODY}\n", "utf-8")
    (made / "leave.md").write_text("# 请假\n\n年假须提前五个工作日申请，由部门负责人批准。\n", "utf-8")
    (made / "twin.md").write_text("# 请假\n\n病假须附医院证明，三日之内补交，逾期按事假办理。\n", "utf-8")
    return made


@pytest.fixture
def library(docs: Path, tmp_path: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as made:
        made.add(Source(source_id="docs", path=str(docs)))
        yield made


def labels_of(library: wenyuan.Library) -> dict[str | None, int]:
    """How many passages have each key of a label."""
    with raw(library.catalog) as connection:
        rows = connection.execute("SELECT label_key, count(*) FROM passages GROUP BY label_key")
        return dict(rows.fetchall())


def found(library: wenyuan.Library, query: str, limit: int = 5) -> list[Hit]:
    return list(library.search(query, limit=limit).hits)


def test_a_question_that_is_the_title_is_as_near_as_the_title(library: wenyuan.Library) -> None:
    """The words of a long passage do not hide what it is called."""
    hit = found(library, "如何重置登录密码")[0]
    assert hit.parts["label"] == hit.parts["vector"] > 0.9
    assert hit.parts["vector"] > hit.parts["cosine"] + 0.1
    assert hit.parts["fused"] == pytest.approx(0.75 * hit.parts["vector"] + 0.25 * hit.parts["keyword"])


def test_a_limit_only_cuts(library: wenyuan.Library) -> None:
    """Labels count for the same passages however many are asked for."""
    whole = found(library, "请假要提前几天申请", 5)
    assert len(whole) > 1
    for limit in range(1, len(whole)):
        assert found(library, "请假要提前几天申请", limit) == whole[:limit]


def test_passages_under_one_title_share_its_vector(library: wenyuan.Library) -> None:
    """What is called the same is embedded once."""
    assert sorted(labels_of(library).values()) == [1, 2]


def test_a_row_of_questions_and_answers_is_called_by_its_question(tmp_path: Path) -> None:
    """The question counts apart from the answer."""
    file = tmp_path / "faq.csv"
    file.write_text(f"question,answer\n如何重置登录密码,{BODY}\n年假有几天,十天\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as library:
        library.add(Source(source_id="faq", path=str(file)))
        assert found(library, "如何重置登录密码")[0].parts["label"] > 0.9


def test_a_library_of_a_former_version_answers_as_before_until_its_labels_are_embedded(
    library: wenyuan.Library, docs: Path
) -> None:
    """Half of the labels do not count: none does before all are there; no text is embedded again."""
    with raw(library.catalog) as connection:
        connection.execute("UPDATE passages SET label_key = NULL WHERE passage_id = 1")
    library.measure_collection()
    assert all("label" not in hit.parts for hit in found(library, "如何重置登录密码"))
    assert library.encoder is not None
    assert embed_anew(library.catalog, library.encoder, library.encoder.fingerprint.key) == 0
    library.follow_reembedding()
    assert "label" in found(library, "如何重置登录密码")[0].parts


def test_a_catalog_of_the_version_before_gets_the_column(library: wenyuan.Library) -> None:
    """Its passages are known to lack a label."""
    folder = library.folder
    with raw(library.catalog) as connection:
        connection.execute("DROP INDEX passages_unlabelled")
        connection.execute("ALTER TABLE passages DROP COLUMN label_key")
        connection.execute("UPDATE library SET value = '10' WHERE key = 'schema'")
    library.close()
    with wenyuan.open(folder, **SETTINGS) as again:
        assert again.catalog.unlabelled()
        assert found(again, "如何重置登录密码")


def test_what_is_removed_takes_its_labels_along(library: wenyuan.Library, docs: Path) -> None:
    """No vector of a title stays that no live passage has; one that another source has stays."""
    other = docs.parent / "other"
    other.mkdir()
    (other / "leave.md").write_text("# 请假\n\n产假按国家规定执行，另有地方规定的从其规定。\n", "utf-8")
    library.add(Source(source_id="other", path=str(other)))
    kept = {key for key, count in labels_of(library).items() if count == 3}
    library.remove("docs")
    with raw(library.catalog) as connection:
        stored = {key for (key,) in connection.execute("SELECT vector_key FROM vectors")}
        used = connection.execute("SELECT vector_key, label_key FROM passages WHERE removed_seq IS NULL").fetchall()
    assert stored == {key for row in used for key in row}
    assert kept <= stored


def test_a_label_never_lowers() -> None:
    """One that is farther than the text changes nothing, and the order follows what counts."""
    fusion = Fusion(weight=0.75, scale=(0.0, 1.0))
    found = candidates(fusion, {1: 0.2, 2: 0.1, 3: 0.4}, {1: 0.6, 2: 0.5, 3: 0.1}, {2: 0.9})
    lifted = fusion.labelled(found, column({1: 0.3, 2: 0.9}, found.passage_ids.tolist())).hits()
    assert [hit.passage_id for hit in lifted] == [2, 1, 3]
    assert lifted[0].score == pytest.approx((0.75 * 0.9 + 0.25 * 0.1) * 0.9)
    assert lifted[1:] == [hit for hit in found.hits() if hit.passage_id != 2]


def test_vectors_of_labels_are_whole(library: wenyuan.Library) -> None:
    """What is read is the encoder's vector of the title."""
    assert library.encoder is not None
    read = {label.passage_id: label.vector for label in library.catalog.label_vectors([1, 2, 3, 99])}
    titles = {1: "请假", 2: "如何重置登录密码", 3: "请假"}
    for number, title in titles.items():
        np.testing.assert_array_equal(read[number], library.encoder.encode_passages([title])[0])
    assert set(read) == set(titles)


@pytest.mark.parametrize("damage", ["DELETE FROM vectors", "UPDATE vectors SET crc = crc + 1"])
def test_a_label_whose_vector_is_lost_is_a_failure(library: wenyuan.Library, damage: str) -> None:
    """A question is not answered as if the passage had no label."""
    with raw(library.catalog) as connection:
        connection.execute(f"{damage} WHERE vector_key IN (SELECT label_key FROM passages)")
    answer = library.retrieve_fragments(RetrievalRequest(query="如何重置登录密码", max_results=5))
    assert answer.status == "FAILED"
    assert "the vector of passage" in answer.error_message
