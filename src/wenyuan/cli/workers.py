"""``workers``: who embeds for this library, and how far the runs are that several work at."""

from __future__ import annotations

from dataclasses import asdict

import typer

from wenyuan.cli.options import opened_record
from wenyuan.cli.terminal import Terminal, printable


def workers(ctx: typer.Context) -> None:
    """Show all workers of the library, on any machine, their rate, and how far the sources are that they take in together.

    Example:
      wenyuan workers
      wenyuan workers --json
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        working, runs = found.catalog.workers(), found.catalog.runs()
    terminal.document(
        {
            "status": "SUCCESS",
            "workers": [asdict(one) for one in working],
            "runs": [asdict(one) | {"rate": round(one.rate, 2)} for one in runs],
            "rate": round(sum(one.rate for one in working), 2),
        }
    )
    if not working:
        terminal.say("no_workers")
    else:
        rows = [
            (one.name, one.program, one.jobs, f"{one.passages:,}", f"{one.rate:,.1f}", f"{one.silent:,.0f}")
            for one in working
        ]
        heads = ("col_worker", "col_program", "col_jobs", "col_passages", "col_rate", "col_silent")
        terminal.table(rows, *heads, right=(2, 3, 4, 5), whole=(0,))
    for one in working:
        if one.reason:
            terminal.show(terminal.text("worker_reason", worker=one.name, why=printable(terminal.own(one.reason))))
    if runs:
        lines = [
            (
                one.source_id, f"{one.files:,} / {one.files_total:,}", f"{one.embedded:,} / {one.passages:,}",
                f"{one.rate:,.1f}", f"{one.waiting:,}", f"{one.leased:,}", f"{one.failed:,}",
                terminal.text("run_broken" if one.ended else "run_going"),
            )
            for one in runs
        ]  # fmt: skip
        terminal.table(
            lines, "col_source", "col_files_read", "col_passages", "col_rate", "col_waiting", "col_leased", "col_set_back", "col_state",
            right=(1, 2, 3, 4, 5, 6), whole=(0,),
        )  # fmt: skip
