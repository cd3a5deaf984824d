"""The conformance kit: checks whether an implementation keeps the contract, over HTTP or as a Python object.

The kit runs the eleven cases of the conformance outline (``TC-DP3-01`` … ``TC-DP3-11``) and, reported apart, what
services get wrong most often: coerced types, sloppy JSON, state between calls, secrets in error texts.

    >>> from wenyuan.conformance import HttpTarget, HeaderFault, render, run
    >>> report = run(HttpTarget("http://127.0.0.1:8000"), fault=HeaderFault("X-Fail", "yes"))  # doctest: +SKIP
    >>> print(render(report))  # doctest: +SKIP

The implementation must hold the fixed documents that `export_data` writes, and nothing else.
Importing this package imports nothing else: a pytest plug-in that is not used must cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wenyuan.conformance.adapters import AdapterTarget
    from wenyuan.conformance.connector_check import check_connector
    from wenyuan.conformance.documents import export_data
    from wenyuan.conformance.faults import CommandFault, EnvFault, FaultSwitch, HeaderFault, fault_from_options
    from wenyuan.conformance.http_target import HttpTarget
    from wenyuan.conformance.python_target import PythonTarget
    from wenyuan.conformance.report import CaseResult, Report, render
    from wenyuan.conformance.runner import run
    from wenyuan.conformance.targets import Answer, Target

__all__ = [
    "AdapterTarget",
    "Answer",
    "CaseResult",
    "CommandFault",
    "EnvFault",
    "FaultSwitch",
    "HeaderFault",
    "HttpTarget",
    "PythonTarget",
    "Report",
    "Target",
    "check_connector",
    "export_data",
    "fault_from_options",
    "render",
    "run",
]


_HOMES = {
    "AdapterTarget": "adapters",
    "Answer": "targets",
    "CaseResult": "report",
    "CommandFault": "faults",
    "EnvFault": "faults",
    "FaultSwitch": "faults",
    "HeaderFault": "faults",
    "HttpTarget": "http_target",
    "PythonTarget": "python_target",
    "Report": "report",
    "Target": "targets",
    "check_connector": "connector_check",
    "export_data": "documents",
    "fault_from_options": "faults",
    "render": "report",
    "run": "runner",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
