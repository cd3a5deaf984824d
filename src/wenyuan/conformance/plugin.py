"""The kit as a pytest plug-in.

Without writing a file::

    pytest --pyargs wenyuan.conformance.suite --wenyuan-url http://127.0.0.1:8000 --wenyuan-fault-header 'X-Fail: 1'

Within a test suite of one's own, where the fixture `wenyuan_target` may be replaced to start the service::

    from wenyuan.conformance.plugin import ConformanceSuite

    class TestContract(ConformanceSuite):
        '''Eleven items for the outline, and the extra cases.'''

Nothing of the kit is imported before one of its items is collected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wenyuan.conformance.bench import Bench
    from wenyuan.conformance.faults import FaultSwitch
    from wenyuan.conformance.targets import Target

__all__ = ["ConformanceSuite"]


_OPTIONS = (
    ("--wenyuan-url", "URL", "service to test"),
    ("--wenyuan-python", "MODULE:FACTORY", "Python object to test"),
    ("--wenyuan-fault-command", "CMD", "command that makes the service fail"),
    ("--wenyuan-restore-command", "CMD", "command that mends what the fault command broke"),
    ("--wenyuan-fault-header", "'NAME: VALUE'", "request header that makes the service fail"),
    ("--wenyuan-fault-env", "NAME=VALUE", "environment variable that makes the object fail"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("wenyuan", "conformance of a knowledge service")
    for name, metavar, text in _OPTIONS:
        group.addoption(name, metavar=metavar, default=None, help=text)
    group.addoption(
        "--wenyuan-header", metavar="'NAME: VALUE'", action="append", default=[], help="sent with every request"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = {"wenyuan_case", "wenyuan_extra"}.intersection(metafunc.fixturenames)
    if not wanted:
        return
    from wenyuan.conformance.extra_cases import EXTRAS
    from wenyuan.conformance.outline_cases import OUTLINE

    cases = OUTLINE if "wenyuan_case" in wanted else EXTRAS
    if metafunc.config.getoption("--wenyuan-python"):
        cases = tuple(case for case in cases if not case.needs_bytes)
    metafunc.parametrize(wanted.pop(), [case.id for case in cases])


@pytest.fixture(scope="session")
def wenyuan_target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """What is tested: by ``--wenyuan-url`` or ``--wenyuan-python``; override it to start a service."""
    from wenyuan.conformance import HeaderFault, HttpTarget, PythonTarget

    option = request.config.getoption
    url, spec = option("--wenyuan-url"), option("--wenyuan-python")
    if bool(url) == bool(spec):
        raise pytest.UsageError("give --wenyuan-url URL or --wenyuan-python module:factory")
    headers = [HeaderFault.parse(text) for text in option("--wenyuan-header")]
    target: Target = HttpTarget(url, {h.name: h.value for h in headers}) if url else PythonTarget.load(spec)
    yield target
    target.close()


@pytest.fixture(scope="session")
def wenyuan_fault(request: pytest.FixtureRequest) -> FaultSwitch | None:
    """The fault switch, by option; override it to make the service fail in another way."""
    from wenyuan.conformance import fault_from_options

    option = request.config.getoption
    fault = fault_from_options(
        command=option("--wenyuan-fault-command"),
        restore=option("--wenyuan-restore-command"),
        header=option("--wenyuan-fault-header"),
        env=option("--wenyuan-fault-env"),
    )
    if fault is not None and fault.lasting:
        raise pytest.UsageError("--wenyuan-fault-command needs --wenyuan-restore-command: items run in any order")
    return fault


@pytest.fixture(scope="session")
def wenyuan_bench(wenyuan_target: Target, wenyuan_fault: FaultSwitch | None) -> Bench:
    """Target and fault switch together."""
    from wenyuan.conformance.bench import Bench

    return Bench(wenyuan_target, wenyuan_fault)


class ConformanceSuite:
    """Subclass it under a name that pytest collects."""

    def test_outline(self, wenyuan_bench: Bench, wenyuan_case: str) -> None:
        """The implementation passes this case of the outline."""
        _check(wenyuan_bench, wenyuan_case)

    def test_extra(self, wenyuan_bench: Bench, wenyuan_extra: str) -> None:
        """The implementation passes this extra case."""
        _check(wenyuan_bench, wenyuan_extra)


def _check(bench: Bench, name: str) -> None:
    from wenyuan.conformance.runner import CASES, run_case

    case = CASES[name]
    if case.needs_bytes and not bench.target.takes_bytes:
        pytest.skip("bytes cannot be sent to a Python object")
    result = run_case(bench, case)
    if not result.passed:
        pytest.fail(result.detail, pytrace=False)
