"""Reading source code: comments and docstrings are text, what is declared opens a section, nothing is run."""

from __future__ import annotations

from wenyuan.core.model import Document
from wenyuan.readers.python_code import read_python
from wenyuan.readers.selection import CODE, READERS
from wenyuan.readers.source_code import read_code


def read(text: str, name: str) -> Document:
    reader = read_python if name.endswith(".py") else read_code
    (document,) = reader(text.encode(), uri=f"file:///{name}", name=name)
    return document


def blocks(document: Document) -> list[tuple[str, str, int | None]]:
    return [(block.kind, document.text[block.start : block.end], block.line) for block in document.blocks]


def test_docstrings_of_python_stand_below_the_name_of_what_they_are_about() -> None:
    """Module, class and method; the code is there too, without its docstrings."""
    text = '"""退费。"""\nimport os\n\n# 七日内\nDAYS = 7\n\n\nclass Desk:\n    """Where fees are paid back."""\n\n    @property\n    def open(self):\n        """九点。"""\n        return 9\n'
    document = read(text, "desk.py")
    assert blocks(document) == [
        ("paragraph", "退费。", 1),
        ("code", "import os", 2),
        ("paragraph", "七日内", 4),
        ("code", "DAYS = 7", 5),
        ("heading", "Desk", 8),
        ("code", "class Desk:", 8),
        ("paragraph", "Where fees are paid back.", 9),
        ("heading", "Desk.open", 11),
        ("code", "    @property\n    def open(self):", 11),
        ("paragraph", "九点。", 13),
        ("code", "        return 9", 14),
    ]
    assert document.title == "desk.py"
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented) == (len('"' * 18 + "#"), 0)


def test_python_that_cannot_be_parsed_is_read_line_by_line() -> None:
    """Another Python's file is still a file of text."""
    document = read("# 说明\nprint 'old'\n\ndef f():\n    pass\n", "old.py")
    assert [text for _, text, _ in blocks(document)] == ["说明", "print 'old'", "f", "def f():\n    pass"]
    assert document.notes == ("is no Python that can be parsed; read line by line",)


def test_comments_before_a_declaration_belong_to_it() -> None:
    """In C and its relatives, in both kinds of comment, in SQL and in shell."""
    c = "#include <a.h>\n\n/* Pays a fee\n * back. */\nint refund(int days) {\n    /* inner */\n    return days;\n}\n"
    assert [(kind, text) for kind, text, _ in blocks(read(c, "a.c"))] == [
        ("code", "#include <a.h>"),
        ("heading", "refund"),
        ("paragraph", "Pays a fee\nback."),
        ("code", "int refund(int days) {\n    /* inner */\n    return days;\n}"),
    ]
    js = "// 退费\nexport async function refund() {\n}\n\nconst open = () => 9\n"
    assert [(kind, text) for kind, text, _ in blocks(read(js, "a.ts"))][:4] == [
        ("heading", "refund"), ("paragraph", "退费"), ("code", "export async function refund() {\n}"), ("heading", "open"),
    ]  # fmt: skip
    sql = "-- 费用\nCREATE TABLE IF NOT EXISTS fees (\n  id int\n);\n"
    assert [text for _, text, _ in blocks(read(sql, "a.sql"))][:2] == ["fees", "费用"]
    assert [text for _, text, _ in blocks(read("#!/bin/sh\n\nrefund() {\n  echo 1\n}\n", "a.sh"))][:2] == [
        "/bin/sh",
        "refund",
    ]


def test_a_comment_that_never_ends_is_a_comment() -> None:
    """What a compiler would refuse is read."""
    assert blocks(read("/* open\nint x;\n", "a.c")) == [("paragraph", "open\nint x;", 1)]


def test_python_nested_without_end_is_read_all_the_same() -> None:
    """What the parser gives up on is a text."""
    document = read("x = " + "(" * 5_000 + ")" * 5_000 + "\n", "deep.py")
    assert document.fidelity and document.fidelity.lost == 0


def test_every_kind_of_source_file_is_read_by_its_own_rules() -> None:
    """Each suffix that is taken for source code has a media type, and comments as they are written there."""
    marks = {"application/sql": "--", "application/x-sh": "#", "text/x-ruby": "#"}
    for suffix, media_type in CODE.items():
        document = read(f"{marks.get(media_type, '//')} 退费\nx = 1\n", f"a{suffix.upper()}")
        assert document.media_type == media_type
        assert blocks(document)[0] == ("paragraph", "退费", 1), suffix
    assert {suffix for suffix, reader in READERS.items() if reader.endswith(":read_code")} == set(CODE)
