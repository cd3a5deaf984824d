"""The root command `wenyuan`: options, sub-commands, and the mapping of errors to exit codes."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan import __version__
from wenyuan.cli.agents import agents_app as agent_app
from wenyuan.cli.answer import answer
from wenyuan.cli.apply import apply
from wenyuan.cli.audit import app as audit_app
from wenyuan.cli.backup import backup, reembed
from wenyuan.cli.conflicts import app as conflicts_app
from wenyuan.cli.conformance import conformance
from wenyuan.cli.connect import connect
from wenyuan.cli.context import context
from wenyuan.cli.corrections import correct, corrections, undo
from wenyuan.cli.doctor import doctor
from wenyuan.cli.documents import app as document_app
from wenyuan.cli.encoder import app as encoder_app
from wenyuan.cli.evaluate import evaluation
from wenyuan.cli.feedback import feedback
from wenyuan.cli.forget import app as forget_app
from wenyuan.cli.fs import app as fs_app
from wenyuan.cli.gaps import app as gaps_app
from wenyuan.cli.groups import groups_app
from wenyuan.cli.help_page import HelpedGroup
from wenyuan.cli.help_texts import say_in
from wenyuan.cli.impact import impact
from wenyuan.cli.import_vectors import import_vectors
from wenyuan.cli.ingest import add, ingest, init
from wenyuan.cli.keys import keys_app as key_app
from wenyuan.cli.mcp import mcp
from wenyuan.cli.migrate import migrate
from wenyuan.cli.okf import app as okf_app
from wenyuan.cli.options import (
    Commands,
    JsonOption,
    LangOption,
    LibraryOption,
    add_commands,
    foreseen,
    is_usage_error,
    usage_error,
    without,
)
from wenyuan.cli.overview import overview
from wenyuan.cli.preview import preview
from wenyuan.cli.quarantine import app as quarantine_app
from wenyuan.cli.refresh import refresh, worker
from wenyuan.cli.retrieve import retrieve
from wenyuan.cli.rules import app as rules_app
from wenyuan.cli.search import search
from wenyuan.cli.serve import serve
from wenyuan.cli.sources import app as source_app
from wenyuan.cli.synonyms import app as synonyms_app
from wenyuan.cli.tasks import app as task_app
from wenyuan.cli.terminal import FAILED, OK, Terminal
from wenyuan.cli.tune import tune
from wenyuan.cli.verify import verify
from wenyuan.cli.workers import workers
from wenyuan.core.errors import msg

if TYPE_CHECKING:
    from wenyuan.core.errors import KnowledgeError


_HELP = """Wenyuan: a knowledge service for LLM agents. Governed sources in, checkable evidence out.

\b
Example:
  wenyuan demo
  wenyuan init
  wenyuan add ./docs --source policies --trust 4
  wenyuan search "how long until a complaint is answered"
"""

_CODES = """\b
Exit codes:
    0  done (a search that finds nothing is done, too)
    1  failed
    2  wrong usage or invalid request
    3  done, but some documents could not be taken in
    4  not conformant
  130  interrupted

\b
Environment: WENYUAN_LIBRARY, WENYUAN_ENGINE, WENYUAN_ENCODER__KIND …;
WENYUAN_DEBUG=1 shows the traceback of an unexpected error.
"""


class _Root(HelpedGroup):
    """The command group that turns exceptions into messages and exit codes."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        terminal = foreseen(args)
        say_in(self, terminal.language)
        try:
            return super().make_context(info_name, args, parent, **{"obj": terminal} | extra)
        except BrokenPipeError:
            raise
        except OSError as error:  # a help or a version that cannot be written
            if os.environ.get("WENYUAN_DEBUG"):
                raise
            code = terminal.failed(unexpected(error))
        except Exception as error:
            if not is_usage_error(error):
                raise
            code = terminal.failed(usage_error(error, terminal))
        raise typer.Exit(code)

    def invoke(self, ctx: Any) -> Any:
        from wenyuan.core.errors import KnowledgeError

        terminal = ctx.ensure_object(Terminal)
        try:
            return super().invoke(ctx)
        except KnowledgeError as error:
            code = terminal.failed(error)
        except KeyboardInterrupt:
            code = terminal.interrupted()
        except BrokenPipeError:
            raise  # the reader of our output has exited: typer ends quietly
        except Exception as error:
            if is_usage_error(error):
                raise typer.Exit(terminal.failed(usage_error(error, terminal))) from None
            # The parser's other exceptions (Exit, help) have no public parent; they are its to handle.
            if type(error).__module__.startswith("typer") or os.environ.get("WENYUAN_DEBUG"):
                raise
            code = terminal.failed(unexpected(error))
        raise typer.Exit(code)


def unexpected(error: Exception) -> KnowledgeError:
    from wenyuan.core.errors import KnowledgeError

    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return KnowledgeError(
            msg("{where}{strerror}", where=where, strerror=error.strerror), component="system", hint="wenyuan doctor"
        )
    return KnowledgeError(
        msg("internal error: {kind}: {error}", kind=type(error).__name__, error=error),
        component="program",
        hint="set WENYUAN_DEBUG=1 to see where, and report it",
    )


app = typer.Typer(
    cls=_Root,
    help=_HELP,
    epilog=_CODES,
    no_args_is_help=True,
    # Drawn help would import rich, which takes longer than all the rest.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"wenyuan {__version__}")
        raise typer.Exit


@app.callback()
def _wenyuan(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    ctx.ensure_object(Terminal).command = f"wenyuan {ctx.invoked_subcommand or ''}".strip()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")


@without("library")
def demo(
    ctx: typer.Context,
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep documents and library there.")] = None,
) -> None:
    """Take a small set of documents in, search it, and see what an empty answer and a failure look like.

    Example:
      wenyuan demo
      wenyuan demo --lang zh --keep ./demo
    """
    from wenyuan.cli.demo.acts import run

    terminal: Terminal = ctx.obj
    raise typer.Exit(OK if run(terminal, keep) else FAILED)


_COMMANDS: Commands = {
    "init": (init, "Make an empty library."),
    "add": (add, "Register a source and take it in."),
    "import-vectors": (import_vectors, "Take in what was embedded elsewhere."),
    "ingest": (ingest, "Read sources again."),
    "apply": (apply, "Make it what a registry file says."),
    "refresh": (refresh, "Refresh sources."),
    "worker": (worker, "Refresh sources when they are due."),
    "workers": (workers, "See who works, and how far."),
    "search": (search, "Search the library."),
    "retrieve": (retrieve, "Rules above cases above templates."),
    "answer": (answer, "Answer with a language model, every claim quoted."),
    "preview": (preview, "See how a file would be cut."),
    "correct": (correct, "Correct what was read."),
    "corrections": (corrections, "List corrections."),
    "undo": (undo, "Undo a correction."),
    "verify": (verify, "Verdicts on an answer."),
    "context": (context, "What may enter a prompt."),
    "serve": (serve, "Serve the library over HTTP."),
    "connect": (connect, "Connect an agent or a framework."),
    "mcp": (mcp, "Serve an agent over MCP."),
    "conformance": (conformance, "Test a service against the contract."),
    "eval": (evaluation, "Measure retrieval."),
    "tune": (tune, "Learn from questions with known answers."),
    "feedback": (feedback, "Say what is right or wrong in an answer."),
    "overview": (overview, "What was asked, and what is open."),
    "migrate": (migrate, "Move the library to a PostgreSQL, or back."),
    "backup": (backup, "Copy the library while it is in use."),
    "reembed": (reembed, "Give the library vectors of another encoder."),
    "impact": (impact, "See what a change touches."),
    "doctor": (doctor, "Check installation and library."),
    "demo": (demo, "See it all in one minute."),
}
add_commands(app, _COMMANDS)
_GROUPS = {
    "source": source_app,
    "document": document_app,
    "fs": fs_app,
    "okf": okf_app,
    "quarantine": quarantine_app,
    "rules": rules_app,
    "agent": agent_app,
    "task": task_app,
    "gaps": gaps_app,
    "forget": forget_app,
    "conflicts": conflicts_app,
    "synonyms": synonyms_app,
    "key": key_app,
    "group": groups_app,
    "audit": audit_app,
    "encoder": encoder_app,
}
for name, group in _GROUPS.items():
    app.add_typer(group, name=name)
_WITH_VALUE = ("--library", "--lang")


def leave_asked(args: Sequence[str]) -> None:
    """Leave in `app` what these arguments ask for: the parser builds all that is there, which takes longer than most commands."""
    values = {at + 1 for at, word in enumerate(args) if word in _WITH_VALUE}
    asked = next((word for at, word in enumerate(args) if at not in values and not word.startswith("-")), "")
    if asked in _COMMANDS or asked in _GROUPS:
        app.registered_commands = [one for one in app.registered_commands if one.name == asked]
        app.registered_groups = [one for one in app.registered_groups if one.name == asked]
