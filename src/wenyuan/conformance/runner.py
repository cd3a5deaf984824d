"""Run the cases against a target."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from wenyuan.conformance.bench import Bench, Case, Mismatch, OutOfTime
from wenyuan.conformance.extra_cases import EXTRAS
from wenyuan.conformance.faults import FaultSwitch
from wenyuan.conformance.outline_cases import OUTLINE
from wenyuan.conformance.report import CaseResult, Report
from wenyuan.conformance.targets import Target, clip
from wenyuan.core.errors import ConfigError, msg

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
