"""Options shared by commands, and errors of usage."""

from __future__ import annotations

import functools
import inspect
import logging
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from wenyuan.cli.help_page import HelpedCommand
from wenyuan.cli.help_texts import described
from wenyuan.cli.terminal import Terminal
from wenyuan.core.errors import msg
from wenyuan.runtime.regular import read_regular

if TYPE_CHECKING:
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.service.governance import GovernanceDesk
    from wenyuan.service.library import Library


# Options that several commands share. Given before or after the command's name, the last one counts.


SCREEN = 20
"""Entries of a long list that are shown to a person, unless all are asked for."""
_LIST = re.compile(r"\s*[,，、;；]\s*")


def _library(ctx: typer.Context, value: Path | None) -> Path | None:
    if value is not None:
        ctx.ensure_object(Terminal).library = value
    return value


def _lang(ctx: typer.Context, value: str | None) -> str | None:
    terminal = ctx.ensure_object(Terminal)
    terminal.command = command_of(ctx)  # every command has this option: the innermost is the last to say its name
    if value is not None:
        terminal.language = value
    return value


def _json(ctx: typer.Context, value: bool) -> bool:
    if value:
        ctx.ensure_object(Terminal).as_json = True
    return value


LibraryOption = Annotated[
    Path | None,
    typer.Option(
        "--library",
        metavar="DIR",
        callback=_library,
        help="Folder of the library.  [env: WENYUAN_LIBRARY; default: ./library]",
    ),
]
LangOption = Annotated[
    Literal["zh", "en"] | None,
    typer.Option("--lang", metavar="zh|en", callback=_lang, help="Language of messages.  [default: locale]"),
]
JsonOption = Annotated[bool, typer.Option("--json", callback=_json, help="One JSON document on standard output.")]
AllOption = Annotated[bool, typer.Option("--all", help="Show every entry, not just a screen.")]
AgainOption = Annotated[bool, typer.Option("--again", help="Also where somebody has decided something else.")]

TitleOption = Annotated[str | None, typer.Option(help="What people call it.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
OfSourceOption = Annotated[str | None, typer.Option("--source", metavar="ID", help="Only of this one.@source")]
DocumentNumber = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of the list.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why.")]
PageOption = Annotated[int, typer.Option("-n", "--limit", min=1, max=200, help="At most.")]
CollectionOption = Annotated[str | None, typer.Option(help="A name to filter by.")]
OwnerOption = Annotated[str | None, typer.Option(help="Who answers for it.")]
TagsOption = Annotated[str | None, typer.Option(metavar="A,B", help="Tags.")]
NewSourceOption = Annotated[str, typer.Option("--source", metavar="ID", help="Name of the new source.")]
UnaskedOption = Annotated[bool, typer.Option("--yes", "-y", help="Change a known source unasked.")]
SourceArgument = Annotated[str | None, typer.Argument(help="A registered source.")]
EachOption = Annotated[bool, typer.Option("--all", help="All of them.")]


Command = Callable[..., None]
Commands = Mapping[str, tuple[Command, str]]
"""By name: what a command does, and what is said of it in a line."""
_SHARED: Mapping[str, tuple[Any, Any]] = {
    "library": (LibraryOption, None),
    "lang": (LangOption, None),
    "as_json": (JsonOption, False),
}


def without(*names: str) -> Callable[[Command], Command]:
    """Decorator: a command lacks some of the common options ``library``, ``lang``, ``as_json``."""

    def declare(command: Command) -> Command:
        command.__dict__["without"] = names
        return command

    return declare


def add_commands(group: typer.Typer, commands: Commands) -> None:
    """Add commands to a group, each with the common options after its own.

    The values of these options go to the `Terminal`, and not to the command.
    """
    for name, (command, short) in commands.items():
        group.command(name, cls=HelpedCommand, help=described(command), short_help=short)(_with_shared(command))


def _with_shared(command: Command) -> Command:
    shared = {n: told for n, told in _SHARED.items() if n not in command.__dict__.get("without", ())}

    @functools.wraps(command)
    def called(**given: Any) -> None:
        command(**{name: value for name, value in given.items() if name not in shared})

    own = inspect.signature(command, eval_str=True).parameters.values()
    by_name = inspect.Parameter.KEYWORD_ONLY
    told = [one.replace(kind=by_name) for one in own]
    told += [inspect.Parameter(n, by_name, default=given, annotation=option) for n, (option, given) in shared.items()]
    called.__signature__ = inspect.Signature(told)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in told}
    return called


def command_of(ctx: Any) -> str:
    """The command as typed: ``wenyuan source set``."""
    return "wenyuan" if ctx.parent is None else f"{command_of(ctx.parent)} {ctx.info_name}"


def day(text: str) -> date:
    """Parse a date.

    Raises:
        typer.BadParameter: it is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(msg("{text} is not a date like 2026-11-21", text=repr(text))) from error


def located(text: str) -> Path:
    """Parse a path; an empty one, as from an unset variable, would be the current folder and is refused.

    Raises:
        typer.BadParameter: it is empty.
    """
    if not text:
        raise typer.BadParameter("must not be empty")
    return Path(text)


def place(text: str) -> str:
    """Parse the location of documents: returns an absolute path, or an address for a connector.

    Raises:
        typer.BadParameter: it is empty.
    """
    from wenyuan.core.okf import FORMAT, bundle_path
    from wenyuan.core.remote_addresses import is_remote

    bundle = bundle_path(text)
    if bundle is not None:
        return f"{FORMAT}:{place(bundle)}"
    return text if is_remote(text) else str(located(text).expanduser().absolute())


def setting(text: str) -> tuple[str, Any]:
    """Parse ``name=value``; the value is read as in a registry file: a number, true, a text.

    Raises:
        typer.BadParameter: it is no such pair.
    """
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.registry import load_marked

    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise typer.BadParameter("must be NAME=VALUE")
    try:
        read = load_marked(value)
    except InvalidRequest:
        return name.strip(), value
    return name.strip(), value if read.faults else read.value


def web_address(text: str) -> str:
    """Parse the address of a server.

    Raises:
        typer.BadParameter: it is none.
    """
    try:
        told = urlsplit(text)
        sound = told.scheme in ("http", "https") and bool(told.hostname) and told.port != 0
    except ValueError:  # its port is no number, or its brackets hold no address
        sound = False
    if not sound or any(mark.isspace() for mark in text):
        raise typer.BadParameter(msg("{text} is not an address like http://192.168.1.5:8765", text=repr(text)))
    return text


def words(text: str | None) -> list[str] | None:
    """Parse a list, ``a,b`` or ``a、b``; ``""`` is the empty list."""
    return None if text is None else [word for word in _LIST.split(text.strip()) if word]


@contextmanager
def opened(terminal: Terminal, **overrides: Any) -> Iterator[Library]:
    """The library that the caller means.

    Raises:
        KnowledgeError: see `wenyuan.app.open_library`.
    """
    from wenyuan.app import open_library

    with open_library(terminal.folder, **overrides) as library:
        yield library


@contextmanager
def opened_record(terminal: Terminal) -> Iterator[GovernanceDesk]:
    """The record alone of the library that the caller means: no index, no encoder, no reader.

    Raises:
        KnowledgeError: see `wenyuan.service.governance.open_governance`.
    """
    from wenyuan.service.governance import open_governance

    with open_governance(terminal.folder) as desk:
        yield desk


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Context in which SIGTERM (``timeout``, a stopped service) acts like Ctrl-C: claims are released, and what is
    kept is reported.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def unlogged(name: str = "wenyuan", level: int = logging.CRITICAL) -> Iterator[None]:
    """Context in which messages of a logger below a level are suppressed, because they are expected or shown."""
    log = logging.getLogger(name)
    before = log.level
    log.setLevel(level)
    try:
        yield
    finally:
        log.setLevel(before)


def interactive() -> bool:
    """Whether input can be read from a person."""
    return sys.stdin.isatty() and sys.stderr.isatty()


# Errors of the command line parser, reported like every other failure: in one language, and as JSON.


_IN_OUR_WORDS, _OF_A_CHECK = "Invalid value: ", "Value error, "
"""What the parser puts before a refusal that is in a command's own words, and before one of a check; both say nothing."""
_SHOULD_BE = re.compile(
    r"Input should be (a valid|greater than or equal to|less than or equal to|greater than|less than) (\S+?)(, .*)?\Z"
)
_MUST_BE = {
    "a valid integer": "must be an integer",
    "a valid number": "must be a number",
    "a valid boolean": "must be true or false",
    "greater than or equal to": "must be at least {limit}",
    "less than or equal to": "must be at most {limit}",
    "greater than": "must be above {limit}",
    "less than": "must be below {limit}",
}
"""A wrong value is called the same, whether it stands on a command line or in a request."""


def foreseen(args: Sequence[str]) -> Terminal:
    """Language and format for errors about arguments that may not parse; options count wherever they are."""
    terminal = Terminal(as_json="--json" in args)
    for option, value in zip_longest(args, args[1:], fillvalue=""):
        name, _, given = option.partition("=")
        if name == "--lang" and (given or value) in ("zh", "en"):
            terminal.language = given or value
    return terminal


def is_usage_error(error: Exception) -> bool:
    """Whether an exception is the parser's refusal, and not the help shown for an empty command line.

    Its exceptions have no public parent, so they are known by what they can do.
    """
    return hasattr(error, "format_message") and hasattr(error, "ctx") and type(error).__name__ != "NoArgsIsHelpError"


def usage_error(error: Any, terminal: Terminal) -> InvalidRequest:
    """The parser's refusal as `InvalidRequest`, with a hint to the help of the intended command."""
    from wenyuan.core.errors import InvalidRequest

    if error.ctx is not None:
        terminal.command = command_of(error.ctx)
    message = error.format_message().removeprefix(_IN_OUR_WORDS).removesuffix(".").replace(_OF_A_CHECK, "", 1)
    return InvalidRequest(_SHOULD_BE.sub(_in_our_words, message))


def _in_our_words(found: re.Match[str]) -> str:
    """The validator's message in our wording; unknown ones are returned unchanged."""
    how, what = found[1], found[2]
    said = _MUST_BE.get(f"{how} {what}") or _MUST_BE.get(how)
    return msg(said, limit=what) if said else found[0]


# A question that a language model says in other words.


RewriteOption = Annotated[bool, typer.Option("--rewrite", help="Let the language model say it in other words, too.")]
HistoryOption = Annotated[
    Path | None,
    typer.Option(
        "--history", metavar="FILE", exists=True, dir_okay=False,
        help="What was said before: [{\"role\": \"user\", \"text\": …}, …].",
    ),
]  # fmt: skip


def history_in(path: Path | None) -> Any:
    """The turns in a file of JSON; None without one.

    Raises:
        InvalidRequest: it is no JSON.
    """
    from wenyuan.wire.strict_json import loads

    return None if path is None else loads(read_named(path))


def read_named(path: Path) -> bytes:
    """The content of a file that the command line names; InvalidRequest where it cannot be read."""
    from wenyuan.core.errors import InvalidRequest

    try:
        return read_regular(path)
    except OSError as error:
        raise InvalidRequest(msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror)) from error
