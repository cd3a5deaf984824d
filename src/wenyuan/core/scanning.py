"""The port of scanners: a program of the owner's that says of each file whether it may be taken in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from wenyuan.core.errors import DocumentRejected, msg

Action = Literal["accept", "refuse", "quarantine"]


@dataclass(frozen=True, slots=True)
class ScanVerdict:
    """What a scanner says of a file.

    Attributes:
        action: ``refuse``: it is not taken in; ``quarantine``: nor that, and a copy of it is set aside.
        reason: Why, in the scanner's words, or the name of what it found; ``""`` where it accepts.
    """

    action: Action
    reason: str = ""


ACCEPTED = ScanVerdict("accept")


class Scanner(Protocol):
    """Looks through the bytes of a file before anything of it is read.

    Attributes:
        name: Which scanner this is, as messages and fingerprints of documents say it; it holds no secret.
    """

    name: str

    def scan(self, content: bytes, name: str) -> ScanVerdict:
        """The verdict on a file.

        Args:
            name: What the file is called; a scanner may judge by its suffix.

        Raises:
            ScannerFailed: there is no verdict: it cannot be reached, is too slow, or says what is none.
        """

    def close(self) -> None: ...


class ScannerFailed(DocumentRejected):
    """A scanner gave no verdict on a file, which is not taken in until it does."""

    code = "scanner_failed"


class FileRefused(DocumentRejected):
    """A scanner refused a file, or had it set aside."""

    code = "refused_by_scanner"


_LONGEST_REASON = 300  # characters


def verdict_of(said: object, scanner: str) -> ScanVerdict:
    """A verdict from JSON: ``{"verdict": "accept" | "refuse" | "quarantine", "reason": "…"}``.

    Raises:
        ScannerFailed: it is anything else.
    """
    action = said.get("verdict") if isinstance(said, dict) else None
    reason = said.get("reason", "") if isinstance(said, dict) else None
    if action not in ("accept", "refuse", "quarantine") or not isinstance(reason, str):
        raise ScannerFailed("its answer is no verdict", component=scanner)
    return ACCEPTED if action == "accept" else ScanVerdict(action, plain_reason(reason))


def plain_reason(text: str) -> str:
    """A reason on one line, shortened, without characters that do not print."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line[:_LONGEST_REASON] or msg("no reason was given")
