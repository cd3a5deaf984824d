"""A folder of mail on an IMAP server: each message is an entry, and never changes (RFC 3501: UIDVALIDITY and UID)."""

from __future__ import annotations

import base64
import imaplib
import re
import ssl
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import Field

from wenyuan.connectors.connector_settings import ConnectorSettings, guarded_socket
from wenyuan.core.connectors import LIBRARY_SETTINGS, MOST_BYTES, Entry, Known, ListingCut, Opening
from wenyuan.core.errors import ConfigError, DocumentRejected, SourceError, msg
from wenyuan.settings import VariableName, declared

_AT_ONCE = 500  # messages asked about in one command
_SEARCHED = 50_000  # messages searched in one command: their numbers come in one line, and imaplib takes 1 MB of it
_LONGEST_ANSWER = MOST_BYTES + (1 << 20)
_MOST_LINES = 20_000  # of the answer to one command: 500 messages are told of in as many lines
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_SIZE, _UID = re.compile(rb"RFC822\.SIZE (\d{1,12})"), re.compile(rb"UID (\d{1,10})")
_KEY = re.compile(r"(\d{1,10})/(\d{1,10})")


class MailSettings(ConnectorSettings):
    """Settings of a mail folder.

    Attributes:
        user: Whose mail it is.
        password_env: The environment variable of the password.
        since_days: Only messages that came within so many days; 0: all.
        max_messages: Messages that are listed in one run, the newest.
        max_minutes: Minutes that one listing may take.
        insecure: ``imap://`` without encryption; else STARTTLS is used there, and TLS with ``imaps://``.
    """

    user: str
    password_env: VariableName
    since_days: int = Field(default=0, ge=0, le=36_500)
    max_messages: int = Field(default=10_000, ge=1, le=1_000_000)
    max_minutes: float = Field(default=120.0, gt=0, le=1_440)
    insecure: bool = False


def open_mail(opening: Opening) -> MailFolder:
    """Open a mail folder; its address is ``imaps://host/INBOX``."""
    settings = declared(MailSettings, opening.source, apart=LIBRARY_SETTINGS)
    if any(c in settings.user for c in "\r\n\0"):
        raise ConfigError("user: must hold no line break", component=opening.component)
    return MailFolder(opening, settings, opening.secret(settings.password_env))


class MailFolder:
    """The messages of a mail folder; made by `open_mail`. Nothing on the server is changed."""

    def __init__(self, opening: Opening, settings: MailSettings, password: str) -> None:
        self._opening, self._settings, self._password = opening, settings, password
        self._component = opening.component
        parts = urlsplit(opening.url)
        self._host, self._secure = parts.hostname or "", parts.scheme == "imaps"
        self._port = parts.port or (993 if self._secure else 143)
        self._folder = unquote(parts.path).strip("/") or "INBOX"
        self._server: imaplib.IMAP4 | None = None
        self._validity = self._messages = 0
        self._lines = self._bytes = 0  # of the answer to the last command

    def list(self, known: Known) -> Iterator[Entry]:
        """The messages of the folder in order of arrival."""
        most = self._settings.max_messages
        until = time.monotonic() + self._settings.max_minutes * 60
        uids = self._uids(most)
        chosen = uids[-most:]
        for at in range(0, len(chosen), _AT_ONCE):
            if time.monotonic() > until:
                told = msg(
                    "stopped after {count} minutes (settings.max_minutes)", count=f"{self._settings.max_minutes:g}"
                )
                raise ListingCut(told, component=self._component)
            part = chosen[at : at + _AT_ONCE]
            sizes = self._sizes(part)
            for uid in part:
                if uid in sizes:  # else it was deleted just now
                    yield self._entry(uid, sizes[uid])
        if len(uids) > most:
            raise ListingCut(
                msg("stopped after the newest {count} messages (settings.max_messages)", count=most),
                component=self._component,
            )

    def fetch(self, entry: Entry, most: int) -> bytes:
        """The source of a message, unchanged."""
        found = _KEY.fullmatch(entry.key)
        self._connected()
        if found is None or int(found[1]) != self._validity:
            raise DocumentRejected("it is no longer there", component=entry.name)
        if entry.size is not None and entry.size > most:
            raise DocumentRejected(msg("it is larger than {most} bytes", most=f"{most:,}"), component=entry.name)
        content = next(
            (item[1] for item in self._command("FETCH", found[2], "(BODY.PEEK[])") if _has_bytes(item)), None
        )
        if content is None:
            raise DocumentRejected("it is no longer there", component=entry.name)
        if len(content) > most:
            raise DocumentRejected(msg("it is larger than {most} bytes", most=f"{most:,}"), component=entry.name)
        return bytes(content)

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()

    # -- the server --------------------------------------------------------------------------------------

    def _entry(self, uid: int, size: int) -> Entry:
        key = f"{self._validity}/{uid}"
        parts = urlsplit(self._opening.url)
        uri = f"{parts.scheme}://{parts.netloc}{parts.path or '/INBOX'};UIDVALIDITY={self._validity}/;UID={uid}"
        return Entry(key=key, uri=uri, name=f"{uid}.eml", version=key, size=size)

    def _uids(self, most: int) -> Sequence[int]:
        """The UIDs of the newest messages, ascending: all where there are at most `most`, else some more than `most`.

        Ranges of sequence numbers are searched from the newest down. Where messages are deleted meanwhile, the numbers
        of those that were searched move down, and those of the rest stay below, so that none is missed.
        """
        self._connected()
        days = self._settings.since_days
        if days:
            first = datetime.now(UTC) - timedelta(days=days)
            said = ["SINCE", f"{first.day}-{_MONTHS[first.month - 1]}-{first.year}"]
        else:
            said = []
        found: set[int] = set()
        for last in range(self._messages, 0, -_SEARCHED):
            lines = self._command("SEARCH", f"{max(1, last - _SEARCHED + 1)}:{last}", *said)
            found.update(int(n) for line in lines if isinstance(line, bytes) for n in line.split() if n.isdigit())
            if len(found) > most:
                break
        return sorted(found)

    def _sizes(self, uids: Sequence[int]) -> dict[int, int]:
        sizes = {}
        for line in self._command("FETCH", ",".join(map(str, uids)), "(UID RFC822.SIZE)"):
            told = line if isinstance(line, bytes) else line[0] if line else b""
            uid, size = _UID.search(told), _SIZE.search(told)
            if uid and size:
                sizes[int(uid[1])] = int(size[1])
        return sizes

    def _command(self, command: str, *said: str) -> Sequence[Any]:
        server = self._connected()
        self._lines = self._bytes = 0
        try:
            status, data = server.uid(command, *said)
        except (imaplib.IMAP4.error, OSError, ValueError) as error:
            raise self._failure(error) from error
        if status != "OK":
            raise SourceError(
                msg("the mail server refused {command}", command=f"UID {command}"), component=self._component
            )
        return [item for item in data if item is not None]

    def _connected(self) -> imaplib.IMAP4:
        if self._server is None:
            try:
                server = self._dialled()
            except (imaplib.IMAP4.error, OSError) as error:
                raise self._failure(error) from error
            try:
                if not self._secure and not self._settings.insecure:
                    if "STARTTLS" not in server.capabilities:
                        raise SourceError("the mail server offers no encryption", component=self._component)
                    server.starttls(ssl.create_default_context())
                server.login(self._settings.user, self._password)
                self._select(server)
            except BaseException as error:
                server.shutdown()
                if isinstance(error, (imaplib.IMAP4.error, OSError, ValueError)):
                    raise self._failure(error) from error
                raise
            self._server = server
        return self._server

    def _dialled(self) -> imaplib.IMAP4:
        opening, secure, timeout = self._opening, self._secure, self._settings.timeout
        count = self._count
        self._lines = self._bytes = 0

        class Guarded(imaplib.IMAP4):
            """An IMAP client that connects only to allowed addresses and bounds the size of responses."""

            def _create_socket(self, timeout: float | None) -> Any:
                plain = guarded_socket(opening, self.host, self.port, timeout or 30.0)
                if not secure:
                    return plain
                return ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)

            def read(self, size: int) -> bytes:
                if size > _LONGEST_ANSWER:
                    raise self.abort("an answer is too large")
                count(size)
                return super().read(size)

            def readline(self) -> bytes:
                line = super().readline()
                count(len(line))
                return line

        return Guarded(self._host, self._port, timeout)

    def _count(self, size: int) -> None:
        """Count a line or literal of an answer, of which a server can send any number before it ends.

        Raises:
            SourceError: it is one too many.
        """
        self._lines += 1
        self._bytes += size
        if self._lines > _MOST_LINES or self._bytes > _LONGEST_ANSWER:
            raise SourceError("the mail server's answer does not end", component=self._component)

    def _select(self, server: imaplib.IMAP4) -> None:
        name = encoded_folder(self._folder).replace("\\", "\\\\").replace('"', '\\"')
        status, count = server.select(f'"{name}"', readonly=True)
        if status != "OK":
            raise SourceError(
                msg("there is no mail folder {name}", name=repr(self._folder)), component=self._component
            )
        told = server.response("UIDVALIDITY")[1]
        self._validity = int(told[-1]) if told and told[-1] else 0
        if not (count and count[-1]):  # that there are none would have been told
            raise SourceError(
                msg("the mail server does not say how many messages {name} has", name=repr(self._folder)),
                component=self._component,
            )
        self._messages = int(count[-1])

    def _failure(self, error: Exception) -> SourceError:
        """The error for an exception of the client, whose text may contain credentials."""
        if isinstance(error, imaplib.IMAP4.abort):
            told = "the mail server broke the connection off"
        elif isinstance(error, imaplib.IMAP4.error):
            told = "the mail server refused the user name, the password or a command"
        else:
            told = msg("the mail server cannot be read ({kind})", kind=type(error).__name__)
        return SourceError(told, component=self._component)


def _has_bytes(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) > 1


def encoded_folder(name: str) -> str:
    """The name of a folder as IMAP writes it: modified UTF-7 (RFC 3501, 5.1.3)."""
    pieces: list[str] = []
    wide = ""
    for c in [*name, ""]:
        if c and not " " <= c <= "~":
            wide += c
            continue
        if wide:
            code = base64.b64encode(wide.encode("utf-16-be")).decode().rstrip("=").replace("/", ",")
            pieces.append(f"&{code}-")
            wide = ""
        pieces.append("&-" if c == "&" else c)
    return "".join(pieces)
