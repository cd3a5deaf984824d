"""A small IMAP server on loopback: one folder, and of the protocol what reading it needs (RFC 3501)."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PASSWORD = "open-sesame"


class MailServer:
    """The folder, and what was asked.

    Attributes:
        mails: UID → the message.
        claims: UID → the size that is told of it, where that is a lie.
    """

    def __init__(self) -> None:
        self.folder, self.validity = "INBOX", 7
        self.mails: dict[int, bytes] = {}
        self.claims: dict[int, int] = {}
        self.asked: list[str] = []
        self.port = 0

    def put(self, uid: int, subject: str, text: str) -> None:
        self.mails[uid] = (
            f"From: a@example.com\r\nTo: b@example.com\r\nSubject: {subject}\r\nMessage-ID: <{uid}@example.com>\r\n"
            f"Date: Wed, 25 Nov 2026 10:00:00 +0000\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
        ).encode()

    def answer(self, line: str) -> Iterator[bytes]:
        """What is said to one command, without the line that ends it."""
        if found := re.match(r"EXAMINE \"(.*)\"$", line):
            if found[1] != self.folder:
                raise LookupError
            yield f"* {len(self.mails)} EXISTS\r\n* OK [UIDVALIDITY {self.validity}] valid\r\n".encode()
        elif found := re.match(r"UID SEARCH (\d+):(\d+)", line):
            uids = sorted(self.mails)[int(found[1]) - 1 : int(found[2])]
            yield f"* SEARCH {' '.join(map(str, uids))}\r\n".encode()
        elif found := re.match(r"UID FETCH ([\d,]+) \(UID RFC822.SIZE\)", line):
            for number, uid in enumerate(map(int, found[1].split(",")), 1):
                if uid in self.mails:
                    size = self.claims.get(uid, len(self.mails[uid]))
                    yield f"* {number} FETCH (UID {uid} RFC822.SIZE {size})\r\n".encode()
        elif found := re.match(r"UID FETCH (\d+) \(BODY.PEEK\[\]\)", line):
            uid = int(found[1])
            if uid in self.mails:
                yield (
                    f"* 1 FETCH (UID {uid} BODY[] {{{len(self.mails[uid])}}}\r\n".encode()
                    + self.mails[uid]
                    + b")\r\n"
                )
        elif (found := re.match(r"LOGIN (\S+) (.+)$", line)) and found[2].strip('"') != PASSWORD:
            raise PermissionError


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """A server, for as long as it answers."""
    mail = MailServer()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"* OK ready\r\n")
            for raw in self.rfile:
                tag, _, line = raw.decode().strip().partition(" ")
                mail.asked.append(line)
                try:
                    if line == "CAPABILITY":
                        self.wfile.write(b"* CAPABILITY IMAP4rev1\r\n")
                    for said in mail.answer(line):
                        self.wfile.write(said)
                except (LookupError, PermissionError):
                    self.wfile.write(f"{tag} NO refused\r\n".encode())
                    continue
                self.wfile.write(f"{tag} OK done\r\n".encode())

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        mail.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield mail
        server.shutdown()
        thread.join(5)
