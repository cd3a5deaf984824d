"""State shared by all visits of the console."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.types import ASGIApp

from wenyuan.console.api import Api, ApiReply
from wenyuan.console.forms import FILTERS
from wenyuan.console.sessions import Attempts, ConsoleSessions, SessionStore
from wenyuan.core.errors import Counted
from wenyuan.i18n.translation import texts
from wenyuan.issuer.console_sessions import SignedIn
from wenyuan.issuer.login import Login
from wenyuan.server.pool import Pool
from wenyuan.server.sign_ins import SignIns
from wenyuan.server.token_callers import TokenCallers

_log = logging.getLogger("wenyuan.console")


STATIC = {
    "console.css": "text/css; charset=utf-8",
    "documents.js": "text/javascript; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "seal.svg": "image/svg+xml",
}


_SEARCH, _REGISTRY, _AUDIT = frozenset({"search"}), frozenset({"registry"}), frozenset({"audit"})
_MENU: Mapping[str, frozenset[str]] = {
    "overview": _AUDIT, "search": _SEARCH, "answer": _SEARCH, "context": _SEARCH, "verify": _SEARCH, "documents": _REGISTRY, "sources": _REGISTRY, "rules": _REGISTRY, "review": _REGISTRY,
    "audit": _AUDIT, "gaps": _AUDIT | _REGISTRY, "impact": _AUDIT, "conflicts": _REGISTRY, "evaluation": _REGISTRY, "people": _REGISTRY, "health": frozenset(),
}  # fmt: skip
"""The parts of the console, and which rights each asks for, one of them; empty for none."""


Marks = Callable[[str, str], Sequence[tuple[int, int]]]


def unmarked(_text: str, _query: str) -> Sequence[tuple[int, int]]:
    return ()


@cache
def _templates() -> Environment:
    """All page templates, compiled at start instead of on the first visit; shared by all sites of a process."""
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=select_autoescape(default=True),
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    for name in made.list_templates():
        made.get_template(name)
    return made


@dataclass(frozen=True, slots=True, eq=False)
class ConsoleIssuer:
    """By what people sign in at an issuer.

    Attributes:
        signed_in: Whose credentials the API takes.
        pool: Threads that may wait for the issuer.
    """

    login: Login
    signed_in: SignedIn
    pool: Pool = field(default_factory=lambda: Pool(4, 32))

    @property
    def label(self) -> str:
        """How people call the issuer: by its host where nothing else is set."""
        return self.login.settings.label or (urlsplit(self.login.settings.issuer).hostname or "")


class ConsoleState:
    """State shared by all visits."""

    def __init__(
        self,
        app: ASGIApp,
        marks: Marks = unmarked,
        issuer: ConsoleIssuer | None = None,
        sign_ins: SignIns | None = None,
        store: SessionStore | None = None,
    ) -> None:
        self.api = Api(app)
        self.issuer = issuer
        self.sign_ins = sign_ins or SignIns(lambda *_: None)
        self.takes_keys = issuer is None or issuer.login.settings.console_keys
        self.sessions, self.attempts = ConsoleSessions(store=store), Attempts()
        self.marks = marks
        self.menu = _MENU
        self.under_way: set[asyncio.Task[ApiReply]] = set()
        self.static = {name: (files(__package__) / "static" / name).read_bytes() for name in STATIC}
        self.mark = sha256(b"".join(self.static.values())).hexdigest()[:10]
        self.templates = _templates()

    def came_to_an_end(self, task: asyncio.Task[ApiReply]) -> None:
        """Callback for a finished background call; its result is stored by the API."""
        self.under_way.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log.warning("a call that was left to run failed: %s", error)

    def text(self, language: str, key: str, **values: object) -> str:
        """A text of the console; KeyError for an unknown key."""
        said = texts("console", language)[key]
        return said.format(**{name: Counted(value) for name, value in values.items()}) if values else said


def console_issuer(tokens: TokenCallers | None) -> ConsoleIssuer | None:
    """By what people sign in where an issuer tells them, and this server is its client; else None."""
    if tokens is None or tokens.login is None:
        return None
    return ConsoleIssuer(tokens.login, tokens.signed_in)
