"""``conformance``: tests whether a service keeps the contract, our own one included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wenyuan.cli.options import setting, unlogged, without
from wenyuan.cli.own_service import FAULT, own_service
from wenyuan.cli.terminal import CONFORMANCE, OK, Terminal

if TYPE_CHECKING:
    from wenyuan.conformance import FaultSwitch, Report, Target


@without("library")
def conformance(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="A service to test.")] = None,
    python: Annotated[str | None, typer.Option(metavar="MODULE:FACTORY", help="A Python object.")] = None,
    adapter: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="KIND SPEC", help="langchain, llamaindex, haystack MODULE:FACTORY; dify, lightrag URL."),
    ] = None,
    connector: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A connector, at an address that it reads.")
    ] = None,
    settings: Annotated[
        list[Any] | None,
        typer.Option("--set", parser=setting, metavar="NAME=VALUE", help="Its settings."),
    ] = None,
    own: Annotated[bool, typer.Option("--self", help="Our own service.")] = False,
    engine: Annotated[Literal["local", "memory"], typer.Option(help="With --self.")] = "local",
    fault_command: Annotated[str | None, typer.Option(metavar="CMD", help="Breaks the service.")] = None,
    restore_command: Annotated[str | None, typer.Option(metavar="CMD", help="Mends it.")] = None,
    fault_header: Annotated[
        str | None, typer.Option(metavar="'NAME: VALUE'", help="Header that makes it fail.")
    ] = None,
    fault_env: Annotated[str | None, typer.Option(metavar="NAME=VALUE", help="Variable that makes it fail.")] = None,
    export_data: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the documents to take in.")] = None,
    seconds: Annotated[float, typer.Option(min=1, metavar="S", help="For all cases together.")] = 300.0,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also as JUnit XML.")] = None,
) -> None:
    """Put the eleven cases of the contract to a service, over HTTP or as a Python object.

    Example:
      wenyuan conformance --self
      wenyuan conformance --export-data ./kit
      wenyuan conformance http://127.0.0.1:8000 --fault-header 'X-Fail: yes'
      wenyuan conformance --adapter langchain my.module:make_retriever --fault-env FAIL=1
      wenyuan conformance --python my.module:make --fault-env FAIL=1 --junit report.xml
    """
    from wenyuan.conformance import fault_from_options, run

    terminal: Terminal = ctx.obj
    if connector is not None:
        raise typer.Exit(_connector(terminal, connector, dict(settings or ())))
    targets = (url is not None) + (python is not None) + (adapter is not None) + own
    if targets > 1 or (targets == 0 and export_data is None):
        raise typer.BadParameter(terminal.text("one_target"))
    if export_data is not None:
        _export(terminal, export_data, alone=targets == 0)
    if targets == 0:
        return
    fault = fault_from_options(command=fault_command, restore=restore_command, header=fault_header, env=fault_env)
    with _target(terminal, url, python, adapter, engine, fault) as (target, switch):
        report = run(target, fault=switch, seconds=seconds)
    if junit is not None:
        junit.write_text(report.to_junit(), encoding="utf-8")
    terminal.document(report.to_json())
    _show(terminal, report)
    raise typer.Exit(CONFORMANCE if report.exit_code else OK)


def _connector(terminal: Terminal, address: str, settings: dict[str, Any]) -> int:
    """Run the connector tests on the connector of an address."""
    from functools import partial

    from wenyuan.conformance.connector_check import check_connector
    from wenyuan.connectors.selection import open_connector
    from wenyuan.core.source_entries import parse_source
    from wenyuan.readers.sandbox import Sandbox
    from wenyuan.readers.selection import reader_for

    source = parse_source({"source_id": "conformance", "path": address, "settings": settings})
    with Sandbox() as parsing:
        make = partial(open_connector, source, readable=lambda name: reader_for(name) is not None, parse=parsing.call)
        make().close()  # what cannot be opened is no broken law
        laws = check_connector(make)
    failed = [law for law in laws if not law.passed]
    terminal.document(
        {
            "passed": len(laws) - len(failed),
            "failed": len(failed),
            "cases": [{"id": law.id, "passed": law.passed, "detail": law.detail} for law in laws],
        }
    )
    for law in laws:
        mark = "ok" if law.passed else "NO"
        terminal.show(f"{mark}  {law.id}  {terminal.own(law.detail) if law.detail else ''}".rstrip(), wrap=False)
    return CONFORMANCE if failed else OK


def _export(terminal: Terminal, folder: Path, *, alone: bool) -> None:
    from wenyuan.conformance import export_data

    files = export_data(folder)
    if alone:
        terminal.document({"status": "SUCCESS", "files": [str(file) for file in files]})
    terminal.say("exported", count=len(files), folder=folder)


@contextmanager
def _target(
    terminal: Terminal,
    url: str | None,
    python: str | None,
    adapter: tuple[str, str] | None,
    engine: str,
    fault: FaultSwitch | None,
) -> Iterator[tuple[Target, FaultSwitch | None]]:
    from wenyuan.conformance import AdapterTarget, HeaderFault, HttpTarget, PythonTarget

    if url is not None:
        yield HttpTarget(url), fault
    elif adapter is not None:
        yield AdapterTarget(*adapter), fault
    elif python is not None:
        target = PythonTarget.load(python)
        try:
            yield target, fault
        finally:
            target.close()
    else:
        from wenyuan.server.handling import FAULT_HEADER

        with unlogged(), own_service(engine) as (address, encoder):
            terminal.say("self_target", engine=engine, encoder=encoder)
            yield HttpTarget(address), fault or HeaderFault(FAULT_HEADER, FAULT)


def _show(terminal: Terminal, report: Report) -> None:
    from wenyuan.conformance import render

    if terminal.as_json:
        return
    if terminal.language == "zh":
        _show_chinese(terminal, report)
    else:
        terminal.show(render(report), wrap=False)
    total, failed = len(report.cases), len(report.failed)
    key = "conforms_not" if report.exit_code else "conforms"
    terminal.show(terminal.text(key, total=total, failed=failed, passed=total - failed))


def _show_chinese(terminal: Terminal, report: Report) -> None:
    """Show the report in Chinese; observations only for failed cases."""
    from wenyuan.cli.retrieve import indented
    from wenyuan.conformance.runner import CASES

    for case in (*report.cases, *(case for case in report.extra if not case.passed)):
        title = terminal.own(CASES[case.id].title)
        mark = terminal.text("case_passed" if case.passed else "case_failed")
        terminal.show(f"{mark}  {case.id}  {title}".rstrip())
        if not case.passed:
            indented(terminal, terminal.own(case.finding), hanging="        ")
    if report.extra:
        passed = sum(case.passed for case in report.extra)
        terminal.show(terminal.text("extra_cases", passed=passed, total=len(report.extra)))
