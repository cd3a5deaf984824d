"""JSON and YAML that hold text; files without a suffix; single files that were compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from warm_readers import WarmSandbox
from wenyuan.core.errors import DocumentRejected, NoDocument
from wenyuan.core.model import Document
from wenyuan.readers.sandbox import Sandbox
from wenyuan.readers.selection import READERS, is_read, load_reader, suffix_of


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with WarmSandbox() as sandbox:
        yield sandbox


def read(text: str, name: str) -> tuple[Document, ...]:
    return load_reader(READERS[suffix_of(name)])(text.encode(), uri=f"file:///x/{name}", name=name)


FAQ = """\
title: Questions about the pump
faq:
  - question: How fast does the pump turn in normal use?
    answer: It turns at 1450 rpm, never more than that.
  - question: When is the oil changed by the operator?
    answer: |
      After 2,000 hours of use.
      Take care that it is cold.
limits:
  code: 001234
  on: yes
  day: 2025-03-01
"""


def test_yaml_is_read_by_its_keys_with_values_as_they_are_written() -> None:
    """Keys of the first levels are headings, entries stand apart, and 001234, yes and a day stay as they are."""
    (document,) = read(FAQ, "faq.yaml")
    assert document.title == "Questions about the pump"
    parts = [document.text[block.start : block.end] for block in document.blocks]
    assert parts == [
        "Questions about the pump",
        "faq",
        "question: How fast does the pump turn in normal use?\nanswer: It turns at 1450 rpm, never more than that.",
        "question: When is the oil changed by the operator?\nanswer: After 2,000 hours of use.\nTake care that it is cold.",
        "limits",
        "code: 001234",
        "on: yes",
        "day: 2025-03-01",
    ]
    assert document.fidelity is not None
    assert (document.fidelity.lost, document.fidelity.invented) == (0, 0)


def test_json_of_entries_is_read_as_lines_and_all_else_by_its_keys() -> None:
    """A list of texts gives a document for each; an object is one, numbers as they are written."""
    entries = [
        {"title": "A", "text": "The pump stands in the cellar."},
        {"title": "B", "text": "Another one is new."},
    ]
    assert [document.title for document in read(json.dumps(entries), "a.json")] == ["A", "B"]
    whole = '{"info": {"title": "Pump API"}, "about": "All calls that the pump understands are told here.", "limit": 1.50e2}'
    (document,) = read(whole, "b.json")
    assert document.title == "Pump API"
    assert "limit: 1.50e2" in document.text
    rows = '{"说明": "下列各项是水泵的全部参数说明，供操作人员查阅", "参数": [{"名": "转速", "值": "1450"}, {"名": "功率", "值": "2"}]}'
    (document,) = read(rows, "c.json")
    assert "名 | 值\n转速 | 1450\n功率 | 2" in document.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", '{"name": "x", "version": "1.2.3", "dependencies": {"a": "^1.0", "b": "^2.0"}}'),
        ("compose.yml", 'services:\n  web:\n    image: nginx:1.2\n    ports: ["80:80"]\n'),
        ("rows.json", json.dumps([[1, 2], [3, 4]])),
    ],
)
def test_files_of_data_hold_no_document(name: str, text: str) -> None:
    """Settings and measurements are told apart from text."""
    with pytest.raises(NoDocument, match="holds data"):
        read(text, name)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "{", "not well-formed JSON"), ("a.json", '{"a": NaN}', "NaN is not JSON"), ("a.json", "[" * 5_000, "nested"),
        ("a.yaml", "a: [", "not valid YAML"), ("a.yaml", "- " * 5_000, "not valid YAML"),
    ],
)  # fmt: skip
def test_broken_records_are_refused(name: str, text: str, reason: str) -> None:
    """What is not well-formed, or nested without end, is refused with its reason."""
    with pytest.raises(DocumentRejected, match=reason) as refused:
        read(text, name)
    assert not isinstance(refused.value, NoDocument)


def test_references_in_yaml_are_not_repeated() -> None:
    """A text that stands once and is referred to ten times ten times … is read once."""
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9))
    (document,) = read(
        f"about: {'This is a text of several words that is read once. ' * 8}\nl0: &l0 ha\n{levels}\n", "a.yml"
    )
    assert len(document.text) < 2_000


@pytest.mark.parametrize("name", ["README", "LICENSE", "CHANGELOG", "COPYING", "LICENSE-MIT", "docs/Install"])
def test_texts_that_projects_name_without_a_suffix_are_read(name: str, sandbox: Sandbox) -> None:
    """They are plain text; another file without a suffix is not read."""
    assert is_read(name)
    outcome = sandbox.read(b"The pump manual\n\nRead it before use.\n", uri=f"file:///x/{name}", name=name)
    assert outcome.documents[0].title == "The pump manual"
    assert not is_read("Makefile")


def test_a_compressed_file_of_a_kind_that_is_read_is_read(sandbox: Sandbox) -> None:
    """It is a document at its own address; an archive within gzip, or data, is left alone."""
    document = sandbox.read(
        gzip.compress(b"Pumps\n=====\n\nThey turn.\n"), uri="file:///x/a.rst.gz", name="a.rst.gz"
    ).documents[0]
    assert (document.title, document.uri) == ("Pumps", "file:///x/a.rst.gz?entry=a.rst")
    assert [is_read(name) for name in ("a.md.gz", "README.gz", "a.tar.gz", "a.gz", "a.gz.gz")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_compressed_files_that_are_cut_or_swell_are_refused(sandbox: Sandbox) -> None:
    """What is damaged or unpacks to far more than it is has its reason."""
    whole = gzip.compress(b"Read it before use. " * 50)
    for content, reason in (
        (whole[:-20], "damaged"),
        (gzip.compress(b"a" * 30_000_000), "times its size"),
        (b"x" * 50, "is not gzip"),
    ):
        with pytest.raises(DocumentRejected, match=reason):
            sandbox.read(content, uri="file:///x/a.txt.gz", name="a.txt.gz")


def test_a_reading_process_tells_data_from_what_cannot_be_read(sandbox: Sandbox, tmp_path: Path) -> None:
    """That a file holds no document comes back as such from the process that read it."""
    with pytest.raises(NoDocument):
        sandbox.read(b'{"version": "1.2.3"}', uri="file:///x/package.json", name="package.json")
    with pytest.raises(DocumentRejected) as refused:
        sandbox.read(b"{", uri="file:///x/package.json", name="package.json")
    assert not isinstance(refused.value, NoDocument)
