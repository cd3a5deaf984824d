"""What each door says to each fault of a part: one table, printed, and the same as in the documentation."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from answer_library import DUTY, QUESTION
from copies import copied
from governed_door import key, send
from http_door import call
from liars_server import KEY, lying
from mcp_clients import calling, over_http
from wenyuan.catalog import database_file
from wenyuan.core.errors import EncoderUnavailable, EngineUnavailable, KnowledgeError, LlmUnavailable
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

pytestmark = [pytest.mark.slow, pytest.mark.integration]

OPTIONS: dict[str, Any] = {
    "encoder": {"kind": "hashing"}, "search": {"deadline": 10, "abstain": "normal"}, "cache": {"seconds": 0},
}  # fmt: skip
ASKED = QUESTION["zh"]
TEXTS = (
    f"# 投诉处理办法\n\n{DUTY['zh']}\n\n本办法由客服部负责解释。\n", "# 投诉接待\n\n前台登记来访客户的姓名，并引导其就座。\n",
    "# 差旅\n\n出差人员应当在返回后报销差旅费用。\n", "# 值班\n\n夜间值班电话由前台保管。\n",
)  # fmt: skip
RIGHTS = ("retrieve", "search", "ingest", "registry", "audit", "admin")
WORKS, FAILED = "works", "FAILED"


def made(folder: Path) -> None:
    """Make a library with a source of documents and one for uploads in a folder, for `copied`."""
    (folder / "docs").mkdir()
    for n, text in enumerate(TEXTS):
        (folder / "docs" / f"{n}.md").write_text(text, "utf-8")
    with wenyuan.open(folder / "library", create=True, **OPTIONS) as library:
        library.add(wenyuan.Source(source_id="docs", path=str(folder / "docs"), copyright="excerpt<=60", trust=5))
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        with library.task_counts.ledger.reserved(None, "t", {"x"}):
            pass


class Doors:
    """Asks each door once, and says what it answers in a word: `WORKS`, `FAILED` or the status of a refusal."""

    def __init__(self, url: str, library: Any) -> None:
        self.url = url
        self.token = key(library, *RIGHTS)
        numbers = [number for number, _ in library.catalog.live_documents("docs").values()]
        self.refs = [f"docs#{library.catalog.document_passages(number)[0][0]}" for number in sorted(numbers)]

    def sent(self, path: str, body: object, count: Callable[[Any], int] = lambda _: 1) -> str:
        return self.word(send(self.url, "POST", path, body, self.token), count)

    def word(self, answer: Any, count: Callable[[Any], int]) -> str:
        """Raises AssertionError where an answer looks like success and has nothing."""
        if answer.status >= 400:
            assert answer.json.get("detail"), answer.body
            return str(answer.status)
        told = answer.json
        if told.get("status") == FAILED:
            assert told.get("error_message") or told.get("detail"), told
            return FAILED
        assert count(told), told
        return WORKS

    def retrieve(self) -> str:
        return self.sent("/v1/retrieve_fragments", {"query": ASKED, "max_results": 3}, lambda t: len(t["fragments"]))

    def search(self) -> str:
        return self.sent("/v1/search", {"query": ASKED}, lambda t: len(t["passages"]))

    def context(self) -> str:
        body = {"retrieval_query": ASKED, "task_id": "t2"}
        return self.sent("/v1/context", body, lambda t: len(t["CONTEXT_DATA"]["knowledge_snippets"]))

    def answer(self) -> str:
        return self.sent("/v1/answer", {"query": ASKED}, lambda t: len(t["claims"]))

    def verify(self) -> str:
        return self.sent("/v1/verify", {"claims": [{"text": DUTY["zh"], "sources": self.refs[:1]}]}, supported)

    def documents(self) -> str:
        return self.word(
            send(self.url, "GET", "/v1/documents?limit=5", None, self.token), lambda t: len(t["documents"])
        )

    def upload(self) -> str:
        form = (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="up.md"\r\n\r\n# Up\n\nwords\r\n--b--\r\n'
        )
        headers = {"Content-Type": "multipart/form-data; boundary=b", "Authorization": f"Bearer {self.token}"}
        answer = call(self.url, path="/v1/sources/desk/documents", body=form, headers=headers)
        return self.word(answer, lambda t: sum(one["state"] == "added" for one in t["files"]))

    def correct(self) -> str:
        return self.sent("/v1/corrections", {"action": "exclude", "ref": self.refs[3]})

    def mcp(self) -> str:
        try:
            found = over_http(self.url, calling("retrieve_fragments", query=ASKED, max_results=3), token=self.token)
        except ExceptionGroup:  # the protocol's client could not begin
            return str(send(self.url, "POST", "/mcp", {}, self.token).status)
        if found.is_error or found.structured_content["status"] == FAILED:
            return FAILED
        assert found.structured_content["fragments"]
        return WORKS

    def ready(self) -> str:
        return "ready" if send(self.url, "GET", "/readyz").status == 200 else "not ready"


DOORS = ("retrieve", "search", "context", "answer", "verify", "documents", "upload", "correct", "mcp", "ready")


def supported(told: Any) -> int:
    return sum(one["verdict"] == "verbatim" for one in told["claims"])


def dropped(name: str, table: str) -> Callable[[Any, pytest.MonkeyPatch], None]:
    def drop(library: Any, _: pytest.MonkeyPatch) -> None:
        with closing(sqlite3.connect(library.folder / name)) as raw:
            raw.execute(f"ALTER TABLE {table} RENAME TO elsewhere")
            raw.commit()

    return drop


def removed(name: str) -> Callable[[Any, pytest.MonkeyPatch], None]:
    def remove(library: Any, _: pytest.MonkeyPatch) -> None:
        path = library.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return remove


def raising(what: str, methods: tuple[str, ...], error: Exception) -> Callable[[Any, pytest.MonkeyPatch], None]:
    def raises(*_: Any, **__: Any) -> Any:
        raise error

    def put(library: Any, patch: pytest.MonkeyPatch) -> None:
        for method in methods:
            patch.setattr(getattr(library, what), method, raises)

    return put


def no_model(*_: Any, **__: Any) -> Any:
    raise LlmUnavailable("refused", component="llm")


def blocked(library: Any, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(library.folder / "uploads", ignore_errors=True)
    (library.folder / "uploads").touch()


FAULTS: Mapping[str, Callable[[Any, pytest.MonkeyPatch], None]] = {
    "none": lambda _library, _patch: None,
    "`catalog.db` removed": removed("catalog.db"),
    "`catalog.db` without passages": dropped("catalog.db", "passages"),
    "`audit.db` removed": removed("audit.db"),
    "`tasks.db` removed": removed("tasks.db"),
    "`index/` removed": removed("index"),
    "`pseudonym.key` removed": removed("pseudonym.key"),
    "`uploads/` is a file": blocked,
    "engine down": raising(
        "engine", ("keyword", "vector", "keyword_scores", "cosines"), EngineUnavailable("refused", component="engine")
    ),
    "encoder down": raising(
        "encoder", ("encode_queries", "encode_passages"), EncoderUnavailable("refused", component="encoder")
    ),
    "language model down": lambda library, patch: patch.setattr(library.answerer.llm, "ask", no_model),
}


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, Any]]:
    with (
        lying() as model,
        wenyuan.open(
            folder / "library", llm={"url": model.url, "model": "m", "key": KEY, "timeout": 30}, **OPTIONS
        ) as library,
    ):
        model.begin("perfect")
        ring = KeyRing(library.catalog, open_without_keys=False)
        url, stop = start_in_thread(create_app(library, authenticate=ring, settings=ServerSettings()), grace=1)
        try:
            yield url, library
        finally:
            stop()


@pytest.mark.parametrize("fault", FAULTS)
def test_each_door_says_it(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A door works as without the fault, or says that it failed; nothing is a success without content. As in the documentation."""
    copied(made, tmp_path)
    monkeypatch.setattr(database_file, "_EVERY", 0.0)  # each question looks for its files
    words = []
    try:
        with served(tmp_path) as (url, library):
            doors = Doors(url, library)
            assert doors.retrieve() == WORKS
            FAULTS[fault](library, monkeypatch)
            doors.retrieve()
            with suppress(KnowledgeError):
                library.audit.flush()
            words = [getattr(doors, name)() for name in DOORS]
    except KnowledgeError:
        assert words  # what could not be written at the end is said when the library is closed
    print("\n| " + " | ".join((fault, *words)) + " |")
    number = list(FAULTS).index(fault)
    assert rows_of("observability.md")[number] == [fault, *words]
    assert rows_of("observability.zh.md")[number][1:] == [IN_CHINESE.get(word, word) for word in words]


IN_CHINESE = {WORKS: "正常", "ready": "就绪", "not ready": "未就绪"}


def rows_of(page: str) -> list[list[str]]:
    """The rows of the table of the page, without its head."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return [row for row in rows if len(row) == len(DOORS) + 1][2:]
