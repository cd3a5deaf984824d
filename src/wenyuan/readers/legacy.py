"""Legacy Office files (DOC, PPT), converted by LibreOffice where it is installed, then read as DOCX or PPTX."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import rejected
from wenyuan.readers.process import environment
from wenyuan.readers.selection import READERS, load_reader
from wenyuan.readers.worker import give_up_network
from wenyuan.runtime.children import child

# LibreOffice runs in a process of its own with a profile of its own in a temporary folder: no macros, no links that are followed, no
# network where the system lets it give that up, within time, memory and size; what it leaves behind goes with the folder.

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FORMS = {".doc": "docx", ".dot": "docx", ".wps": "docx", ".ppt": "pptx", ".pps": "pptx"}
_SECONDS = 90.0
_MEMORY = 4_000_000_000
_FILE = 100_000_000  # bytes of any file that is written
_PROGRAMS = ("soffice", "libreoffice")
_HARMLESS = (
    ("DisableMacrosExecution", "true"), ("MacroSecurityLevel", "3"), ("DisableActiveContent", "true"),
    ("BlockUntrustedRefererLinks", "true"),
)  # fmt: skip
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
{items}
</oor:items>
"""
_ITEM = (
    '<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="{name}" oor:op="fuse">'
    "<value>{value}</value></prop></item>"
)


def read_doc(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a file with the suffix of Word 97: the converted content, or the format it really has.

    Raises:
        DocumentRejected: it is binary still, or its reader refuses it.
    """
    return _as_it_is(content, uri, name, ".docx")


def read_ppt(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a file with the suffix of PowerPoint 97; see `read_doc`."""
    return _as_it_is(content, uri, name, ".pptx")


def _as_it_is(content: bytes, uri: str, name: str, form: str) -> tuple[Document, ...]:
    if content.startswith(OLE):
        raise rejected("it is an old binary file of Office, and was not converted", name)
    suffix = form if content.startswith(b"PK") else ".rtf" if content.startswith(b"{\\rtf") else ".html"
    return tuple(load_reader(READERS[suffix])(content, uri=uri, name=name))


def needs_conversion(content: bytes, suffix: str) -> bool:
    """Whether a file must be converted before it can be read."""
    return suffix in _FORMS and content.startswith(OLE)


def formulas_in(content: bytes) -> int:
    """How many formulas a binary file holds as objects of their own, which conversion may leave out."""
    return content.count("Equation Native".encode("utf-16-le"))


def converted(content: bytes, *, name: str, suffix: str, most: int = _FILE, seconds: float = _SECONDS) -> bytes:
    """Convert a file to DOCX or PPTX.

    Args:
        most: Bytes of the result.

    Raises:
        DocumentRejected: there is no LibreOffice (the reason says what to do), it does not take the file, or a limit is passed.
    """
    program = next((found for each in _PROGRAMS if (found := shutil.which(each))), None)
    if program is None:
        raise rejected(
            msg(
                "it is an old binary file of Office, and there is no LibreOffice here to convert it: install that "
                "(apt-get install libreoffice-writer libreoffice-impress), or save the file as {form}",
                form=_FORMS[suffix],
            ),
            name,
        )
    with tempfile.TemporaryDirectory(prefix="wenyuan-office-") as folder:
        return _run(program, content, name, Path(folder), _FORMS[suffix], most, seconds)


def _run(program: str, content: bytes, name: str, folder: Path, form: str, most: int, seconds: float) -> bytes:
    source, out, profile = folder / f"in.{'doc' if form == 'docx' else 'ppt'}", folder / "out", folder / "profile"
    source.write_bytes(content)
    (profile / "user").mkdir(parents=True)
    items = "\n".join(_ITEM.format(name=key, value=value) for key, value in _HARMLESS)
    (profile / "user" / "registrymodifications.xcu").write_text(_PROFILE.format(items=items), "utf-8")
    command = [
        program, f"-env:UserInstallation={profile.as_uri()}", "--headless", "--norestore", "--nolockcheck", "--nodefault",
        "--nofirststartwizard", "--convert-to", form, "--outdir", str(out), str(source),
    ]  # fmt: skip
    started = child(
        [sys.executable, "-B", "-P", "-m", "wenyuan.readers.legacy", str(int(seconds)), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment() | {"HOME": str(folder)},
    )
    try:
        with started as process:
            process.wait(seconds)
    except subprocess.TimeoutExpired as error:
        raise rejected(msg("converting it took longer than {seconds} s", seconds=f"{seconds:g}"), name) from error
    made = out / f"in.{form}"
    if not made.is_file():
        raise rejected("LibreOffice does not take it: it is damaged, or of another kind", name)
    if made.stat().st_size > most:
        raise rejected(
            msg("it has {size} bytes; at most {limit} are read", size=f"{made.stat().st_size:,}", limit=f"{most:,}"),
            name,
        )
    return made.read_bytes()


def main() -> None:
    """Drop privileges that a conversion does not need, then exec LibreOffice: ``SECONDS PROGRAM ARGUMENT …``."""
    seconds, *command = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    give_up_network()
    os.execv(command[0], command)  # noqa: S606 - found by its name, with arguments of ours


if __name__ == "__main__":
    main()
