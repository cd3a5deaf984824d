"""Old binary files of Office: converted by LibreOffice within limits where there is one, refused with the remedy where there is none."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import docx
import pytest

from compound_files import compound
from package_files import paragraph, presentation, shape, slide
from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.legacy import converted
from wenyuan.readers.sandbox import Sandbox

OLD = compound({"WordDocument": b"x" * 5_000})


def word(text: str) -> bytes:
    package = docx.Document()
    package.add_paragraph(text)
    buffer = io.BytesIO()
    package.save(buffer)
    return buffer.getvalue()


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """A program in place of LibreOffice: `out` is the folder of what it makes, `form` its suffix."""
    program = folder / "soffice"
    head = "import os, pathlib, socket, sys, time\nout = pathlib.Path(sys.argv[sys.argv.index('--outdir') + 1])\nform = sys.argv[sys.argv.index('--convert-to') + 1]\n"
    program.write_text(f"#!{sys.executable}\n{head}{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_without_libreoffice_the_reason_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A person can install it, or save the file otherwise."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        Sandbox() as sandbox,
        pytest.raises(DocumentRejected, match=r"apt-get install libreoffice.*save the file as pptx") as caught,
    ):
        sandbox.read(OLD, uri="file:///a.ppt", name="a.ppt")
    assert caught.value.component == "a.ppt"


def test_what_comes_out_of_a_conversion_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A text and slides; the profile of the conversion forbids macros, and its folder is gone afterwards."""
    (tmp_path / "made.docx").write_bytes(word("第一条 退费"))
    (tmp_path / "made.pptx").write_bytes(presentation(slide(shape(paragraph("Fees"), place="title"))))
    stand_in(tmp_path, monkeypatch, f"""
profile = pathlib.Path(next(a for a in sys.argv if a.startswith('-env'))[len('-env:UserInstallation=file://'):])
assert 'DisableMacrosExecution' in (profile / 'user' / 'registrymodifications.xcu').read_text()
out.mkdir()
(out / f'in.{{form}}').write_bytes(pathlib.Path({str(tmp_path)!r}, f'made.{{form}}').read_bytes())
pathlib.Path({str(tmp_path)!r}, 'seen').write_text(str(out))""")  # fmt: skip
    with Sandbox() as sandbox:
        (document,) = sandbox.read(OLD, uri="file:///a.doc", name="a.doc").documents
        (slides,) = sandbox.read(OLD, uri="file:///a.ppt", name="a.ppt").documents
    assert (document.uri, document.title, document.text) == ("file:///a.doc", "a", "第一条 退费")
    assert slides.text == "Fees"
    assert not Path((tmp_path / "seen").read_text()).parent.exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("time.sleep(600)", "longer than 2 s"),
        ("sys.exit(1)", "damaged, or of another kind"),
        ("out.mkdir(); (out / f'in.{form}').write_bytes(b'x' * 2_000)", "2,000 bytes; at most 1,000"),
        (
            "x = bytearray(5_000_000_000); out.mkdir(); (out / f'in.{form}').write_bytes(b'x')",
            "damaged, or of another kind",
        ),
    ],
)
def test_a_conversion_that_goes_wrong_is_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, reason: str
) -> None:
    """Time, size and memory are limited, and each limit is named as far as it can be told."""
    stand_in(tmp_path, monkeypatch, body)
    with pytest.raises(DocumentRejected, match=reason):
        converted(OLD, name="a.doc", suffix=".doc", most=1_000, seconds=2 if "sleep" in body else 90)


def test_a_conversion_has_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the service knows by its environment is not passed on."""
    monkeypatch.setenv("WENYUAN_SECRET", "s")
    stand_in(tmp_path, monkeypatch, "out.mkdir(); (out / f'in.{form}').write_text(','.join(sorted(os.environ)))")
    names = converted(OLD, name="a.doc", suffix=".doc").decode().split(",")
    assert not {"WENYUAN_SECRET", "USER"} & set(names)


@pytest.mark.parametrize(
    ("content", "text"),
    [(word("甲"), "甲"), (rb"{\rtf1\pard text\par}", "text"), ("<p>网页</p>".encode(), "网页")],
)
def test_what_is_only_named_so_is_read_as_what_it_is(content: bytes, text: str) -> None:
    """Many a .doc is rich text, a page, or a newer file."""
    with Sandbox() as sandbox:
        (document,) = sandbox.read(content, uri="file:///a.doc", name="a.doc").documents
    assert document.text == text


@pytest.mark.skipif(not shutil.which("soffice"), reason="LibreOffice is not on this machine")
def test_libreoffice_converts_what_it_has_made() -> None:
    """A text in DOC, as LibreOffice itself writes it, comes back."""
    with Sandbox() as sandbox:
        old = _old_word(word("第一条 七日内退费"))
        (document,) = sandbox.read(old, uri="file:///a.doc", name="a.doc").documents
    assert "七日内退费" in document.text


def _old_word(content: bytes) -> bytes:
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.docx").write_bytes(content)
        command = [
            "soffice",
            f"-env:UserInstallation=file://{folder}/p",
            "--headless",
            "--convert-to",
            "doc",
            "--outdir",
            folder,
        ]
        subprocess.run([*command, f"{folder}/a.docx"], check=True, capture_output=True, timeout=120)
        return Path(folder, "a.doc").read_bytes()
