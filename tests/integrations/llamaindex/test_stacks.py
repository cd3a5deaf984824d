"""What the conformance kit finds in stacks as teams build them with this framework; docs/conformance-of-others.md."""

from __future__ import annotations

import pytest

from wenyuan.conformance import AdapterTarget, EnvFault, run

EXPECTED: dict[str, set[str]] = {"vectors": {"02", "03", "04", "08", "11"}}


@pytest.mark.parametrize("stack", sorted(EXPECTED))
def test_what_the_kit_finds(stack: str) -> None:
    """The cases that fail are those that the document says."""
    report = run(AdapterTarget("llamaindex", f"stacks:{stack}"), fault=EnvFault("STACK_FAILS", "1"))
    assert {case.id.removeprefix("TC-DP3-") for case in report.failed} == EXPECTED[stack]
