"""What a command speaks with: results on standard output, everything else on standard error, in one language.

With ``--json`` standard output carries exactly one JSON document, also when the command fails.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from wenyuan.core.errors import Counted
from wenyuan.i18n.translation import texts, translated

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from wenyuan.core.errors import Fault, KnowledgeError


OK, FAILED, USAGE, PARTLY, CONFORMANCE, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes: done; failed; the request is wrong; done, but some documents failed; not conformant; Ctrl-C."""

_WIDEST = 100
_NARROWEST = 8  # places on the screen for the text in a column of a table
_GAP = 2  # between two columns


def language_here() -> str:
    """``zh`` or ``en``, by the locale variables."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def exit_code(error: KnowledgeError) -> int:
    """2 when the request itself is at fault, else 1."""
    from wenyuan.core.errors import InvalidRequest, NotPermitted

    return USAGE if isinstance(error, (InvalidRequest, NotPermitted)) else FAILED


@dataclass
class Terminal:
    """Output options and the two streams.

    Attributes:
        library: As given by ``--library``; None: ``WENYUAN_LIBRARY`` or ``./library``.
        command: As typed, without what it was given: ``wenyuan source set``.
    """

    language: str = ""
    as_json: bool = False
    library: Path | None = None
    command: str = ""

    def __post_init__(self) -> None:
        self.language = self.language or language_here()

    @property
    def _texts(self) -> Mapping[str, str]:
        return texts("command_line", self.language)

    @property
    def folder(self) -> Path:
        """The library's folder."""
        from wenyuan.settings import default_library

        return self.library or default_library()

    @cached_property
    def out(self) -> Console:
        return _console(stderr=False)

    @cached_property
    def err(self) -> Console:
        return _console(stderr=True)

    def text(self, key: str, **values: object) -> str:
        """A message of the catalogue in the caller's language."""
        return self._texts[key].format(**{name: Counted(printable(str(value))) for name, value in values.items()})

    def known(self, key: str) -> str:
        """A text without placeholders; ``""`` for an unknown key."""
        return self.text(key) if key in self._texts else ""

    def label(self, field: str) -> str:
        """Display name of a field of a source, an agent or a record; in English, its own name."""
        own = self.text(f"field_{field}") if f"field_{field}" in self._texts else self._texts.get(field, "")
        # a message with gaps in it names no field
        return printable((self.language == "zh" and "{" not in own and own) or field)

    def own(self, english: str) -> str:
        """Translate an English message of the library to the caller's language."""
        return printable(translated(english, self.language))

    def say(self, key: str, **values: object) -> None:
        """Print a message for people to standard error; it is no result."""
        self.err.print(self.text(key, **values), markup=False, highlight=False, soft_wrap=True)

    def show(self, *shown: RenderableType, wrap: bool = True) -> None:
        """Print results for people; nothing with ``--json``."""
        if not self.as_json:
            self.out.print(*shown, markup=False, highlight=False, soft_wrap=not wrap)

    def table(
        self,
        rows: Iterable[Sequence[object]],
        *headers: str,
        right: Collection[int] = (),
        whole: Collection[int] = (),
    ) -> None:
        """Rows as aligned columns for a person; nothing with ``--json``. A full-width character takes two columns.

        Where the terminal is too narrow, cells are continued on further lines, but numbers and ids are not: lines are
        then wider than the terminal.

        Args:
            rows: Each has one cell for every column.
            headers: Message keys of the column headers, ``""`` for an empty one; without any there is no header.
            right: Positions of the columns that are aligned to the right: those with numbers.
            whole: Positions of further columns whose cells stay on one line: those with ids, to be copied.
        """
        if self.as_json:
            return
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        written = [[Text(printable(str(cell))) for cell in row] for row in rows]
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=bool(headers))
        least = -_GAP
        for at in range(len(headers) or max(map(len, written), default=0)):
            header = self.text(headers[at]) if headers and headers[at] else ""
            fixed = at in right or at in whole
            side: Literal["left", "right"] = "right" if at in right else "left"
            table.add_column(header, justify=side, overflow="fold", no_wrap=fixed)
            widest = max(cell_len(header), *(cells[at].cell_len for cells in written), 0)
            least += _GAP + (widest if fixed else min(widest, _NARROWEST))
        for cells in written:
            table.add_row(*cells)
        if least > self.out.width:
            table.width = least  # else cells would be cut, and columns left out, without a sign
        self.show(table, wrap=False)

    def document(self, value: Mapping[str, Any]) -> None:
        """Print the result as JSON, with ``--json`` only."""
        if self.as_json:
            plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
            sys.stdout.write(json.dumps(value, ensure_ascii=plain, indent=2, default=str) + "\n")
            sys.stdout.flush()

    def _last_document(self, value: Mapping[str, Any]) -> None:
        """Print the JSON of a command that ends early. Where standard output cannot be written, the error still goes
        to standard error.
        """
        try:
            self.document(value)
        except BrokenPipeError:
            raise  # the reader of our output has exited: typer ends quietly
        except OSError:
            return  # it is the error about to be reported, or would hide it

    def failed(self, error: KnowledgeError) -> int:
        """Report an error that ends the command; returns the exit code."""
        parts: dict[str, Any] = {"code": error.code, "message": error.message}
        parts |= {"component": error.component, "hint": self._hint(error)}
        if faults := _faults_of(error):
            parts["faults"] = [asdict(fault) for fault in faults]
        self._last_document({"status": "FAILED", "error_message": str(error), "error": parts})
        self.complain(self.command or "wenyuan", error)
        return exit_code(error)

    def complain(self, what: str, error: KnowledgeError) -> None:
        """Print what failed, where, why, and what to do next."""
        where = self._where(error)
        self.err.print(self.text("failed", what=what), style="bold red", markup=False)
        lines = [fault for fault in _faults_of(error) if getattr(fault, "line", 0)]
        why = self.text("faults", count=len(lines)) if lines else self.own(error.message)
        for key, value in (("where", where), ("why", why), ("next", self.own(self._hint(error)))):
            self.err.print(f"  {self.text(key)}{printable(value)}", markup=False, highlight=False, soft_wrap=True)
        for fault in lines:
            place = self.text("at_line", line=getattr(fault, "line", 0), path=fault.path)
            self.err.print(f"  {place}: {self.own(fault.message)}", markup=False, highlight=False, soft_wrap=True)

    def _where(self, error: KnowledgeError) -> str:
        """The failed part: with its code in English, by its name in Chinese; ``--json`` always has the code."""
        if self.language == "zh":
            named = next((n for n in (error.component, error.code) if f"where_{n}" in self._texts), "")
            return self.text(f"where_{named}") if named else error.component or error.code
        return f"{error.component} ({error.code})" if error.component else error.code

    def _hint(self, error: KnowledgeError) -> str:
        """The next command: the error's own hint, else the command's help for an invalid request, ``source show`` for
        a remote source, ``doctor`` for the library.
        """
        from wenyuan.core.errors import InvalidRequest

        kind, name = [*error.component.split()[:2], "", ""][:2]  # e.g. ``source partner at kb.example:443``
        if error.hint:
            return error.hint
        if isinstance(error, InvalidRequest):
            return f"{self.command or 'wenyuan'} -h"
        return f"wenyuan source show {name}" if kind == "source" else "wenyuan doctor"

    def interrupted(self, kept: str = "", command: str = "") -> int:
        """Report Ctrl-C: what is kept and how to continue; returns the exit code."""
        if command and self.library is not None:
            command += f" --library {quote(str(self.library))}"
        self._last_document({"status": "INTERRUPTED", "kept": kept, "next": command})
        self.say("interrupted", kept=kept or self.text("nothing_lost"))
        if command:
            self.say("go_on", command=command)
        return INTERRUPTED


def _faults_of(error: KnowledgeError) -> tuple[Fault, ...]:
    faults: tuple[Fault, ...] = getattr(error, "faults", ())
    return faults


def printable(text: str) -> str:
    """Replace control characters, which a terminal would execute."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, emoji=False)
    console.width = min(console.width, _WIDEST)
    return console
