"""A folder of mail as a source: each message once, by its UID, and nothing of the server changed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from mail_server import PASSWORD, MailServer, mail_server
from parsing import parse
from wenyuan.conformance import check_connector
from wenyuan.connectors.mail import encoded_folder
from wenyuan.connectors.selection import open_connector
from wenyuan.core.connectors import Connector, Entry, Known, ListingCut
from wenyuan.core.errors import ConfigError, DocumentRejected, SourceError
from wenyuan.core.model import Source


@pytest.fixture
def mail(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    monkeypatch.setenv("WENYUAN_MAIL", PASSWORD)
    monkeypatch.setenv("WENYUAN_WRONG", "wrong")
    with mail_server() as server:
        server.put(3, "Leave", "Up to five days may be carried over.")
        server.put(12, "报销", "报销须在三十日内提交。")
        yield server


def opened(mail: MailServer, folder: str = "INBOX", **settings: Any) -> Connector:
    said = {
        "user": "a@example.com",
        "password_env": "WENYUAN_MAIL",
        "insecure": True,
        "allow_private": True,
    } | settings
    source = Source(source_id="mail", path=f"imap://127.0.0.1:{mail.port}/{folder}", settings=said)
    return open_connector(source, readable=lambda name: name.endswith(".eml"), parse=parse)


def entries(connector: Connector, known: Known | None = None) -> list[Entry]:
    try:
        return list(connector.list(known or Known()))
    finally:
        connector.close()


def test_lists_and_fetches_messages(mail: MailServer) -> None:
    """Each message is a file of its own, by its UID, as it was sent; nothing is marked as read."""
    connector = opened(mail)
    first, second = connector.list(Known())
    assert (first.name, first.key, second.key) == ("3.eml", "7/3", "7/12")
    assert second.uri == f"imap://127.0.0.1:{mail.port}/INBOX;UIDVALIDITY=7/;UID=12"
    assert connector.fetch(second, 1_000_000) == mail.mails[12]
    connector.close()
    assert not [line for line in mail.asked if line.startswith(("SELECT", "STORE"))]
    assert not [line for line in mail.asked if "FETCH" in line and "BODY[" in line]


def test_mail_is_taken_in(mail: MailServer, tmp_path: Path) -> None:
    """Messages are read, cited by their address, and not fetched again."""
    said = {"user": "a@example.com", "password_env": "WENYUAN_MAIL", "insecure": True, "allow_private": True}
    source = Source(source_id="mail", path=f"imap://127.0.0.1:{mail.port}/INBOX", settings=said)
    with wenyuan.open(tmp_path, create=True, encoder={"kind": "none"}) as library:
        assert library.add(source).added == 2
        answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query="报销期限", max_results=1))
        assert answer.fragments[0].source.partition("#")[0].endswith("/INBOX;UIDVALIDITY=7/;UID=12")
        mail.asked.clear()
        assert library.ingest("mail").unchanged == 2
        assert not [line for line in mail.asked if "BODY" in line]


def test_numbers_of_another_time_are_other_messages(mail: MailServer) -> None:
    """Where the server numbers anew, every message is another one, and an old number is not fetched."""
    old = entries(opened(mail))[0]
    mail.validity = 8
    assert [entry.key for entry in entries(opened(mail))] == ["8/3", "8/12"]
    connector = opened(mail)
    with pytest.raises(DocumentRejected, match="no longer there"):
        connector.fetch(old, 1_000_000)
    connector.close()


def test_the_newest_are_listed(mail: MailServer) -> None:
    """Beyond the limit the older messages are not looked at, which is said."""
    connector = opened(mail, max_messages=1)
    found = connector.list(Known())
    assert next(found).key == "7/12"
    with pytest.raises(ListingCut, match="newest 1 messages"):
        next(found)
    connector.close()


@pytest.mark.parametrize("days", [0, 30])
def test_a_large_folder_is_searched_in_parts(mail: MailServer, days: int) -> None:
    """The numbers of 120,000 messages are more than a line may hold: the newest are searched first, then the rest."""
    mail.mails = {1_000_000_000 + number: b"" for number in range(120_000)}
    few = opened(mail, max_messages=2, since_days=days)
    assert [next(found).key for found in [few.list(Known())] for _ in range(2)] == ["7/1000119998", "7/1000119999"]
    few.close()
    all_of_them = opened(mail, max_messages=120_000, since_days=days)
    assert next(iter(all_of_them.list(Known()))).key == "7/1000000000"
    all_of_them.close()
    ranges = [line.split()[2] for line in mail.asked if "SEARCH" in line]
    assert ranges == ["70001:120000", "70001:120000", "20001:70000", "1:20000"]


def test_a_folder_of_unknown_size_is_not_an_empty_one(mail: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server has to say how many messages there are; one that does not is told apart from one that has none."""
    monkeypatch.setattr(
        mail, "answer", lambda line: [a for a in MailServer.answer(mail, line) if b"EXISTS" not in a] or [b""]
    )
    with pytest.raises(SourceError, match="does not say how many messages 'INBOX' has"):
        entries(opened(mail))


def test_a_size_that_is_a_lie_is_found_out(mail: MailServer) -> None:
    """A message that is larger than was told is not taken."""
    mail.claims[12] = 10
    connector = opened(mail)
    entry = list(connector.list(Known()))[1]
    with pytest.raises(DocumentRejected, match="larger than 20 bytes"):
        connector.fetch(entry, 20)
    connector.close()


def test_an_answer_without_end_is_cut_off(mail: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A literal larger than a message may be is not read."""
    monkeypatch.setattr(
        mail,
        "answer",
        lambda line: [b"* 1 FETCH (BODY[] {999999999999}\r\n"] if "UID" in line else MailServer.answer(mail, line),
    )
    with pytest.raises(SourceError, match="broke the connection off"):
        entries(opened(mail))


@pytest.mark.parametrize("line", [b"* 1 EXISTS\r\n", b"* 1 FETCH (BODY[] {4}\r\nabcd)\r\n"])
def test_an_answer_of_lines_without_end_is_cut_off(
    mail: MailServer, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    """A server that says ever more before it ends its answer is given up after a number of lines."""
    monkeypatch.setattr(
        mail, "answer", lambda asked: [line * 30_000] if "UID" in asked else MailServer.answer(mail, asked)
    )
    with pytest.raises(SourceError, match="does not end"):
        entries(opened(mail))


def test_a_listing_that_takes_too_long_is_cut(mail: MailServer) -> None:
    """It says so, and is not taken for all there is."""
    with pytest.raises(ListingCut, match=r"settings\.max_minutes"):
        entries(opened(mail, max_minutes=1e-9))


@pytest.mark.parametrize(
    ("folder", "settings", "told"),
    [
        ("Nowhere", {}, "no mail folder 'Nowhere'"),
        ("INBOX", {"password_env": "WENYUAN_WRONG"}, "refused the user name"),
        ("INBOX", {"allow_private": False}, "to a private address"),
        ("INBOX", {"insecure": False}, "offers no encryption"),
    ],
)
def test_says_why_not(mail: MailServer, folder: str, settings: dict[str, Any], told: str) -> None:
    """A folder that is missing, a wrong password, a private address, a server without encryption."""
    with pytest.raises(SourceError, match=told) as caught:
        entries(opened(mail, folder, **settings))
    assert PASSWORD not in str(caught.value)
    assert settings.get("insecure", True) or not any("LOGIN" in line for line in mail.asked)


def test_a_user_is_one_line(mail: MailServer) -> None:
    """No command can be hidden in a name."""
    with pytest.raises(ConfigError, match="line break"):
        opened(mail, user="a\r\nA1 DELETE INBOX")


def test_folders_have_names_in_any_script(mail: MailServer) -> None:
    """Names are written in modified UTF-7, as the standard's own example shows."""
    assert encoded_folder("~peter/mail/台北/日本語") == "~peter/mail/&U,BTFw-/&ZeVnLIqe-"
    assert encoded_folder("R&D") == "R&-D"
    mail.folder = encoded_folder("规章 & more")
    assert len(entries(opened(mail, "规章 & more"))) == 2


def test_keeps_the_laws(mail: MailServer) -> None:
    """What the conformance kit asks of every connector."""
    laws = check_connector(partial(opened, mail), lambda: mail.mails.pop(3))
    assert [law.detail for law in laws if not law.passed] == []
