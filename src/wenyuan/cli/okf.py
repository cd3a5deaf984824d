"""``okf check`` and ``okf export``: bundles of the Open Knowledge Format; they are taken in by ``add okf:PATH``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, add_commands, opened, without
from wenyuan.cli.progress import counted
from wenyuan.cli.terminal import CONFORMANCE, OK, PARTLY, Terminal, printable

_HELP = """Exchange knowledge in the Open Knowledge Format (OKF): Markdown files with front matter.

\b
Example:
  wenyuan okf check ./bundle
  wenyuan add okf:./bundle --source shared
  wenyuan okf export ./out --source policies
"""
app = group(_HELP, "Bundles of the Open Knowledge Format.")
_SHOWN = 50


@without("library")
def check(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A bundle.")],
    most: Annotated[int, typer.Option("--max-files", min=1, help="Files that are looked at.")] = 100_000,
) -> None:
    """Check whether a folder is a bundle, and name what is stale, broken or unverified in it.

    Exit code 4: it breaks the format.

    Example:
      wenyuan okf check ./bundle
      wenyuan okf check ./bundle --json
    """
    from wenyuan.readers.sandbox import Sandbox
    from wenyuan.service.bundles.bundle_check import BundleCheck

    terminal: Terminal = ctx.obj
    with Sandbox() as sandbox:
        report = BundleCheck(folder.expanduser(), sandbox.call, most=most).run()
    terminal.document({"status": "SUCCESS", "conforms": report.conforms, **asdict(report)})
    for one in report.findings[:_SHOWN]:
        severity = terminal.text("okf_error" if one.severity == "error" else "okf_warning")
        terminal.show(printable(f"{one.path}: {severity} [{one.rule}] {terminal.own(one.message)}"))
    if len(report.findings) > _SHOWN:
        terminal.say("okf_more", count=len(report.findings) - _SHOWN)
    if report.cut:
        terminal.show(terminal.own(report.cut))
    version = report.version or terminal.text("okf_undeclared")
    terminal.say("okf_conforms" if report.conforms else "okf_breaks", version=version, count=report.concepts)
    raise typer.Exit(OK if report.conforms else CONFORMANCE)


def export(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.@okf")],
    sources: Annotated[
        list[str] | None, typer.Option("--source", metavar="ID", help="Only of this source.@okf")
    ] = None,
) -> None:
    """Write the documents of sources as a bundle into a new folder.

    Left out are documents with readers, and those whose terms do not allow to give the whole: then the exit code is 3.

    Example:
      wenyuan okf export ./out
      wenyuan okf export ./out --source policies --source faq
    """
    from wenyuan.service.bundles.bundle_export import bundle_export

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        report = bundle_export(found).write(
            folder.expanduser().absolute(), sources or (), counted(terminal, "okf_progress")
        )
    terminal.document({"status": "SUCCESS", **asdict(report)})
    for uri, why in list(report.left_out.items())[:_SHOWN]:
        terminal.show(printable(f"{uri}: {terminal.own(why)}"))
    for stands, named in list(report.renamed.items())[:_SHOWN]:
        terminal.show(printable(terminal.text("okf_renamed", name=" ".join(named.split()), stands=stands)))
    if len(report.renamed) > _SHOWN:
        terminal.say("okf_more", count=len(report.renamed) - _SHOWN)
    terminal.say("okf_written", folder=report.folder, count=report.concepts, verbatim=report.verbatim)
    if report.left_out:
        terminal.say("okf_left_out", count=len(report.left_out))
    raise typer.Exit(PARTLY if report.left_out else OK)


_COMMANDS: Commands = {
    "check": (check, "Check a bundle."),
    "export": (export, "Write a bundle."),
}
add_commands(app, _COMMANDS)
