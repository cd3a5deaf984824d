"""Running the cases, and the report of a run."""

from __future__ import annotations

import difflib
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from wenyuan.conformance.bench import Bench, Case, FaultSwitch, Mismatch, OutOfTime
from wenyuan.conformance.cases import EXTRAS, OUTLINE
from wenyuan.conformance.targets import Target, clip
from wenyuan.core.errors import ConfigError, msg

__all__ = ["CASES", "CaseResult", "Report", "render", "run", "run_case"]


# Reports of a run: JSON, JUnit XML, and text for a terminal of 80 columns.


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


# Run the cases against a target.


CASES = {case.id: case for case in (*OUTLINE, *EXTRAS)}
"""Every case by id, the outline's first."""


SECONDS = 300.0
"""What all cases may take together: a service that keeps the contract takes some seconds."""


def run(
    target: Target,
    *,
    fault: FaultSwitch | None = None,
    only: Iterable[str] | None = None,
    seconds: float = SECONDS,
) -> Report:
    """Run the cases on a target.

    Args:
        target: It must hold the documents that `export_data` writes, and nothing else.
        fault: How to make it fail on purpose; without, ``TC-DP3-06`` fails.
        only: Ids of the cases wanted; all when None.
        seconds: That all cases may take together; those that are not asked in time fail, and say so.

    Raises:
        ConfigError: `only` names a case that does not exist, or is empty.
    """
    wanted = _selected(only)
    fitting = [case for case in wanted if target.takes_bytes or not case.needs_bytes]
    bench = Bench(target, fault, seconds=seconds)
    results = {case.id: run_case(bench, case) for case in sorted(fitting, key=_when)}
    outline = {case.id for case in OUTLINE}
    return Report(
        target=target.name,
        cases=tuple(results[case.id] for case in fitting if case.id in outline),
        extra=tuple(results[case.id] for case in fitting if case.id not in outline),
        not_applicable=tuple(case.id for case in wanted if case not in fitting),
    )


def run_case(bench: Bench, case: Case) -> CaseResult:
    """Run one case; its faults are in the result's detail."""
    try:
        return CaseResult(case.id, True, f"{case.title}: {clip(case.check(bench))}")
    except OutOfTime:
        spent = msg(
            "not asked to its end: the {seconds} s for all cases together are spent", seconds=f"{bench.seconds:g}"
        )
        return CaseResult(case.id, False, f"{case.title}: {spent}", spent)
    except Mismatch as found:
        finding = msg("{finding} ({section})", finding=found.message, section=case.section)
        return CaseResult(case.id, False, f"{case.title}: {finding}", finding)


def _when(case: Case) -> bool:
    """Sort key: cases that break the service run last, since it may stay broken."""
    return case.needs_fault


def _selected(only: Iterable[str] | None) -> list[Case]:
    if only is None:
        return list(CASES.values())
    names = set(only)
    if not names:
        raise ConfigError("no case was asked for")
    for name in sorted(names - CASES.keys()):
        raise ConfigError(msg("there is no case {name}", name=repr(name)), hint=_nearest(name, CASES))
    return [case for case in CASES.values() if case.id in names]


def _nearest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return (
        msg("did you mean {close}?", close=repr(close[0]))
        if close
        else "the cases are TC-DP3-01 to TC-DP3-11 and the extra ones"
    )
