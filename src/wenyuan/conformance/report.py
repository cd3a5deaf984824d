"""Reports of a run: JSON, JUnit XML, and text for a terminal of 80 columns."""

from __future__ import annotations

import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

COLUMNS = 80


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case. `detail` says what was observed; for a failed case also what was expected, and the
    contract's section.

    Attributes:
        finding: Of a failed one, the detail without the case's title.
    """

    id: str
    passed: bool
    detail: str
    finding: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The outline's cases and, apart, the extra ones, each in their own order.

    Attributes:
        not_applicable: Ids of extra cases that cannot be put to this target (bytes to a Python object).
    """

    target: str
    cases: tuple[CaseResult, ...]
    extra: tuple[CaseResult, ...] = ()
    not_applicable: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        """The outline's cases that failed."""
        return tuple(result for result in self.cases if not result.passed)

    @property
    def exit_code(self) -> int:
        """0 when every case of the outline that was asked for passed (extra ones count only when alone)."""
        deciding = self.cases or self.extra
        return 0 if deciding and all(result.passed for result in deciding) else 1

    def to_json(self) -> dict[str, object]:
        """Values for `json.dumps`: ``{"passed": 11, "failed": 0, "cases": [...], "extra": [...]}``."""
        return {
            "passed": len(self.cases) - len(self.failed),
            "failed": len(self.failed),
            "cases": [_as_json(result) for result in self.cases],
            "extra": [_as_json(result) for result in self.extra],
        }

    def to_junit(self) -> str:
        """JUnit XML, as continuous integration reads it: one suite for the outline, one for the extra cases."""
        root = ET.Element("testsuites", name="wenyuan conformance")
        for name, results in (("outline", self.cases), ("extra", self.extra)):
            failures = sum(not result.passed for result in results)
            suite = ET.SubElement(
                root, "testsuite", name=name, tests=str(len(results)), failures=str(failures), errors="0"
            )
            for result in results:
                case = ET.SubElement(suite, "testcase", classname=f"conformance.{name}", name=result.id)
                tag = "system-out" if result.passed else "failure"
                ET.SubElement(case, tag).text = _printable(result.detail)
        return ET.tostring(root, encoding="unicode", xml_declaration=True)


def render(report: Report) -> str:
    """The report for a terminal of 80 columns: the outline in full, of the extra cases those that failed."""
    lines = [*_wrapped(f"Conformance of {_printable(report.target)}"), ""]
    for result in report.cases:
        lines += _entry(result)
    passed = len(report.cases) - len(report.failed)
    lines += ["", f"{passed} of {len(report.cases)} cases passed"]
    if report.extra:
        bad = [result for result in report.extra if not result.passed]
        lines += ["", f"Extra cases: {len(report.extra) - len(bad)} of {len(report.extra)} passed"]
        for result in bad:
            lines += _entry(result)
    if report.not_applicable:
        lines.append(f"{len(report.not_applicable)} extra cases send bytes and do not apply to a Python object")
    return "\n".join(lines) + "\n"


def _as_json(result: CaseResult) -> dict[str, object]:
    return {"id": result.id, "passed": result.passed, "detail": result.detail}


def _entry(result: CaseResult) -> list[str]:
    head = f"{'passed' if result.passed else 'FAILED'}  {result.id}"
    return [head, *_wrapped(_printable(result.detail), indent=" " * 8)]


def _printable(text: str) -> str:
    """Without what XML and terminals cannot take: controls, lone surrogates, non-characters."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _wrapped(text: str, indent: str = "") -> Iterator[str]:
    """Lines of at most 80 cells; a Chinese character takes two and may end a line anywhere."""
    line, cells = indent, len(indent)
    for word in _words(text):
        width = sum(_cells(char) for char in word)
        if cells + width > COLUMNS:
            yield line.rstrip()
            line, cells = indent, len(indent)
        fitted = word if line != indent else word.lstrip()
        line, cells = line + fitted, cells + sum(_cells(char) for char in fitted)
    yield line.rstrip()


def _words(text: str) -> Iterator[str]:
    """Pieces that a line may break between: before a space, around a wide character, every 72 characters."""
    piece = ""
    for char in text:
        if piece and (char == " " or _cells(char) == 2 or _cells(piece[-1]) == 2 or len(piece) >= COLUMNS - 8):
            yield piece
            piece = ""
        piece += char
    if piece:
        yield piece


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


__all__ = ["CaseResult", "Report", "render"]
