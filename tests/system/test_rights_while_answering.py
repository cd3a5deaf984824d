"""Rights that change while a language model is asked count for the answer that it gives."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answer_library import DUTY, QUESTION, answering
from doors import served
from http_door import JSON, call
from issuer_server import issuing, signing_settings
from liars_server import Server
from listening import listening
from wenyuan.core.access import Principal
from wenyuan.core.errors import KnowledgeError
from wenyuan.oidc_settings import OidcSettings
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.server.token_callers import TokenCallers
from wenyuan.service.generation.answers import AnswerRequest

READING = frozenset({"retrieve", "search"})
CLOSED = {"readers": {"documents": [{"path": "**", "readers": ["group:hr"]}]}}


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    with listening(made):
        made.begin("perfect")
        yield made


@pytest.mark.parametrize("person", ["user:wu", "user:li"])
def test_readers_that_change_meanwhile_count(tmp_path: Path, server: Server, person: str) -> None:
    """Who may not read any more what was found is told that it failed, and not a word of it; who still may is answered."""
    with answering(tmp_path, "zh", server) as library:
        library.catalog.set_group("hr", ["user:li"])
        source = library.catalog.source("policy")
        asker = Principal(key_id="k", rights=READING, user=person)

        def tell(stage: str, _told: Any) -> None:
            if stage == "retrieved":
                library.catalog.put_source(replace(source, settings=CLOSED))

        request = AnswerRequest(query=QUESTION["zh"], on_failure="extract")
        if person == "user:li":
            assert DUTY["zh"] in library.answer(request, asker, tell=tell).text
            return
        with pytest.raises(KnowledgeError, match="has changed while it was answered"):
            library.answer(request, asker, tell=tell)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("change", ["revoked", "other groups", "nothing"])
def test_a_key_that_is_revoked_meanwhile_gets_no_answer(
    tmp_path: Path, server: Server, change: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in one piece nor in a stream, whose last event says FAILED."""
    with answering(tmp_path, "zh", server) as library:
        made, token = library.catalog.create_key(None, READING, None, user="user:li", groups=["hr"])
        happens = {
            "revoked": lambda: library.catalog.revoke_key(made.key_id),
            "other groups": lambda: library.catalog.change_key(made.key_id, user="user:li", groups=[]),
            "nothing": lambda: None,
        }[change]
        own = library.answer

        def answer(*given: Any, **named: Any) -> Any:
            found = own(*given, **named)
            happens()
            return found

        monkeypatch.setattr(library, "answer", answer)
        with served(library, needs_keys=True) as url:
            body = {"query": QUESTION["zh"], "stream": stream}
            answer = call(url, "POST", "/v1/answer", body, {**JSON, "Authorization": f"Bearer {token}"})
        told = answer.body.decode()
        assert (json.dumps(DUTY["zh"], ensure_ascii=False)[1:12] in told) == (change == "nothing"), told
        assert ("does not count any more" in told) == (change != "nothing")
        assert answer.status == (200 if stream or change == "nothing" else 403)


@pytest.mark.parametrize("stream", [False, True])
def test_a_token_that_expires_meanwhile_is_answered_whole(
    tmp_path: Path, server: Server, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was begun while it counted is given to its end, in a stream too; the next question with it is refused."""
    with answering(tmp_path, "zh", server) as library, issuing() as issuer:
        tokens = TokenCallers(OidcSettings(**signing_settings(issuer)))
        own, token = library.answer, issuer.token()

        def answer(*given: Any, **named: Any) -> Any:
            found = own(*given, **named)
            tokens._clock = lambda: time.time() + 3_600
            return found

        monkeypatch.setattr(library, "answer", answer)
        ring = KeyRing(library.catalog, open_without_keys=True, tokens=tokens)
        url, stop = start_in_thread(create_app(library, authenticate=ring), grace=1)
        try:
            body, headers = {"query": QUESTION["zh"], "stream": stream}, {**JSON, "Authorization": f"Bearer {token}"}
            told = call(url, "POST", "/v1/answer", body, headers)
            assert told.status == 200
            assert json.dumps(DUTY["zh"], ensure_ascii=False)[1:12] in told.body.decode()
            again = call(url, "POST", "/v1/answer", body, headers)
            assert (again.status, "has expired" in again.body.decode()) == (401, True)
        finally:
            issuer.released.set()
            stop()
