"""Sessions of the console at several servers on one record: who signs in at one is known at all, and who signs out, at none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalog_parts import again
from wenyuan.catalog import Catalog
from wenyuan.console.sessions import NO_SESSION, ConsoleSessions
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.server.shared_sessions import SharedSessions

pytestmark = pytest.mark.parametrize("place", ["server"], indirect=True)
KEY, RIGHTS = "wy_12345678_" + "k" * 43, frozenset({"search", "admin"})


@pytest.fixture
def other(catalog: Catalog) -> Iterator[Catalog]:
    """The same record, as another server has it open."""
    opened = Catalog.open(again(catalog.database.place))
    yield opened
    opened.close()


@pytest.fixture
def clock() -> list[float]:
    return [1_000_000.0]


@pytest.fixture
def servers(catalog: Catalog, other: Catalog, clock: list[float]) -> list[ConsoleSessions]:
    return [ConsoleSessions(lambda: clock[0], SharedSessions(one, lambda: clock[0])) for one in (catalog, other)]


def test_a_session_counts_at_all_servers(servers: list[ConsoleSessions]) -> None:
    """A key's session that began at one server is found at another with all that is known of it."""
    first, second = servers
    session = first.begin(KEY, RIGHTS, "name")
    assert second.held(session) == NO_SESSION
    first.share(session)
    second.look_up(session)
    found = second.held(session)
    assert (found.token, found.rights, found.name) == (KEY, RIGHTS, "name")
    second.look_up("x" * 43)
    assert second.held("x" * 43) == NO_SESSION


def test_signing_out_ends_it_everywhere(servers: list[ConsoleSessions]) -> None:
    """The next page at the server where it began asks to sign in."""
    first, second = servers
    session = first.begin(KEY, RIGHTS)
    first.share(session)
    second.look_up(session)
    second.end(session)
    second.end_everywhere(session)
    first.look_up(session)
    assert first.held(session) == NO_SESSION


def test_it_ends_with_its_time_and_a_thousand_are_kept(
    servers: list[ConsoleSessions], catalog: Catalog, clock: list[float]
) -> None:
    """At all servers alike; what has ended leaves the record with the next one that begins."""
    first, second = servers
    session = first.begin(KEY, RIGHTS, lasts=60.0)
    first.share(session)
    clock[0] += 61.0
    second.look_up(session)
    assert second.held(session) == NO_SESSION
    first.share(first.begin(KEY, RIGHTS))
    assert len(catalog.value("console/sessions")) == 1


def test_the_record_does_not_tell_the_key(servers: list[ConsoleSessions], catalog: Catalog) -> None:
    """What is stored holds neither the key nor the session's id, not even a part of them, and another id does not open it."""
    first, second = servers
    session = first.begin(KEY, RIGHTS)
    first.share(session)
    stored = str(catalog.value("console/sessions"))
    assert KEY not in stored
    assert KEY.encode().hex() not in stored
    assert session not in stored
    assert "6b6b6b6b" not in stored  # kkkk
    second.look_up(session[:-1] + ("a" if session[-1] != "a" else "b"))
    assert not second._kept


def test_whom_an_issuer_has_told_is_known_here_alone(servers: list[ConsoleSessions], catalog: Catalog) -> None:
    """Their credential is one of this process: nothing of it is stored."""
    first, _ = servers
    session = first.begin("ws_" + "c" * 43, RIGHTS)
    first.share(session)
    assert catalog.value("console/sessions") is None
    first.look_up(session)
    assert first.held(session).token.startswith("ws_")


def test_a_record_that_is_away_ends_nothing(servers: list[ConsoleSessions], monkeypatch: pytest.MonkeyPatch) -> None:
    """What this server knows counts here while the record cannot be asked, also of a session that could not be shared."""

    def away(*_: object) -> None:
        raise CatalogUnavailable("away", component="catalog")

    first, second = servers
    shared, own = first.begin(KEY, RIGHTS), first.begin(KEY, RIGHTS)
    first.share(shared)
    with monkeypatch.context() as broken:
        for name in ("get", "put", "drop"):
            broken.setattr(SharedSessions, name, away)
        first.share(own)
        for session in (shared, own):
            first.look_up(session)
            assert first.held(session).token == KEY
        second.look_up(shared)
        assert second.held(shared) == NO_SESSION
    first.look_up(own)
    assert first.held(own).token == KEY
