"""Answers that are given again: what is kept, for how long, and that no one can tell them from fresh ones."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.errors import EngineError, KnowledgeError
from wenyuan.core.filters import In
from wenyuan.core.model import NewDocument, NewPassage, Source
from wenyuan.service.search.answer_cache import AnswerCache, OwnMemory
from wenyuan.service.search.searcher import LOCAL, SearchRequest, SearchResult


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


class Counting:
    """Computes ``value``, and counts how often."""

    def __init__(self, value: str = "x") -> None:
        self.value, self.times = value, 0

    def __call__(self) -> str:
        self.times += 1
        return self.value


def made(clock: Callable[[], float], **more: Any) -> AnswerCache[str]:
    settings: dict[str, Any] = {"seconds": 60.0, "max_bytes": 100, "size": len, "keep": lambda _, v: v != "degraded"}
    settings |= more
    keep = settings.pop("keep")
    return AnswerCache(OwnMemory(clock=clock, **settings) if settings["seconds"] else None, keep)


# --- the cache itself -------------------------------------------------------------------------------------
def test_time_to_live() -> None:
    """A value is given again until its time is over, with its age, and computed anew from then on."""
    clock, compute = Clock(), Counting()
    cache = made(clock)
    first = cache.get("k", compute)
    assert (first.value, first.hit, first.age_ms) == ("x", False, 0.0)
    clock.at += 59.5
    again = cache.get("k", compute)
    assert (again.value, again.hit, again.age_ms) == ("x", True, 59_500.0)
    clock.at += 0.5  # being asked for does not make it younger
    assert cache.get("k", compute).hit is False
    assert compute.times == 2


def test_keys_are_apart() -> None:
    """Each key has its own value."""
    cache = made(Clock())
    assert cache.get(("a", 1), lambda: "one").value == "one"
    assert cache.get(("a", 2), lambda: "two").value == "two"
    assert cache.get(("a", 1), lambda: "three").value == "one"


def test_bytes_are_bound() -> None:
    """What was asked for longest ago goes first when the bytes run out; what is too large alone is not kept."""
    cache = made(Clock(), max_bytes=10)
    for key in "abc":
        cache.get(key, lambda: "xxx")
    assert cache.get("a", lambda: "new").hit  # a is now the youngest
    cache.get("d", lambda: "xxx")
    assert [cache.get(key, lambda: "").hit for key in "acd"] == [True, True, True]
    assert not cache.get("b", lambda: "").hit
    assert cache.get("large", lambda: "x" * 11).value == "x" * 11
    assert not cache.get("large", lambda: "y").hit


def test_bytes_come_back() -> None:
    """What has expired leaves its room to others, however often it is replaced."""
    clock = Clock()
    cache = made(clock, max_bytes=10)
    for _ in range(50):
        clock.at += 61
        assert not cache.get("a", lambda: "xxxxx").hit
        assert not cache.get("b", lambda: "xxxxx").hit
        assert cache.get("a", lambda: "").hit
        assert cache.get("b", lambda: "").hit


def test_values_of_one_state_are_kept() -> None:
    """A library that changes all the time has the answers of its latest state in memory, and none of those before."""
    store = OwnMemory[str](seconds=60, max_bytes=1_000_000, size=len, state=lambda key: int(key[0]))
    for state in range(200):
        for name in "abc":
            store.put((state, name), "x" * 100)
        assert store.held() == (3, 300)
    store.put((198, "late"), "x")  # asked before the last change, answered after it
    assert store.get((198, "late")) is None
    assert store.get((199, "a")) is not None
    assert store.held() == (3, 300)


def test_what_has_expired_goes() -> None:
    """A value whose time is over leaves the memory when another one comes, not when the room is needed."""
    clock = Clock()
    store = OwnMemory[str](seconds=60, max_bytes=1_000_000, size=len, clock=clock)
    for number in range(10):
        store.put(number, "x")
    clock.at += 60
    store.put("new", "x")
    assert store.held() == (1, 1)


def test_off() -> None:
    """With 0 seconds nothing is kept and every call computes."""
    cache, compute = made(Clock(), seconds=0), Counting()
    assert [cache.get("k", compute).hit for _ in range(3)] == [False, False, False]
    assert compute.times == 3


def test_what_may_not_be_kept() -> None:
    """A degraded value is given once and never again."""
    cache, compute = made(Clock()), Counting("degraded")
    assert [cache.get("k", compute).hit for _ in range(3)] == [False, False, False]
    assert compute.times == 3


def crowd(count: int, call: Callable[[], Any]) -> list[Any]:
    """What `count` threads that start at once get, errors included."""
    outcomes: list[Any] = []
    start = threading.Barrier(count)

    def one() -> None:
        start.wait(60)
        try:
            outcomes.append(call())
        except Exception as error:
            outcomes.append(error)

    threads = [threading.Thread(target=one, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


def test_single_flight() -> None:
    """Of fifty who ask for the same at once one computes, and all get its value."""
    cache, compute, arrived = made(Clock()), Counting(), threading.Semaphore(0)

    def slowly() -> str:
        for _ in range(49):
            arrived.acquire(timeout=60)
        return compute()

    def ask() -> str:
        arrived.release()
        return cache.get("k", slowly).value

    assert crowd(50, ask) == ["x"] * 50
    assert compute.times == 1


def test_others_do_not_wait() -> None:
    """While one key is computed another one can be had."""
    cache = made(Clock())
    assert cache.get("slow", lambda: cache.get("other", lambda: "quick").value + "!").value == "quick!"


@pytest.mark.parametrize("broken", ["compute", "size", "keep"])
def test_failures_reach_all(broken: str) -> None:
    """What raises, be it measuring the value, raises to all who wait, is not kept, and the next call tries again."""
    failing, calls = [True], Counter[str]()

    def part(name: str, value: Any) -> Callable[..., Any]:
        def run(*_: Any) -> Any:
            calls[name] += 1
            if name == "compute":
                begun.wait(0.2)
            if failing and name == broken:
                raise EngineError("it broke")
            return value

        return run

    begun = threading.Event()
    cache = made(Clock(), size=part("size", 1), keep=part("keep", True))
    outcomes = crowd(8, lambda: cache.get("k", part("compute", "x")).value)
    assert [str(o) for o in outcomes] == ["it broke"] * 8
    assert all(isinstance(o, EngineError) for o in outcomes)
    assert calls["compute"] < 8
    failing.clear()
    assert not cache.get("k", part("compute", "x")).hit
    assert cache.get("k", part("compute", "y")).value == "x"


# --- over a library ---------------------------------------------------------------------------------------
WORDS = "complaint refund holiday invoice torque 投诉 退款 年假 发票 连接池 安全 逾時".split()
QUERIES = (
    "complaint refund", "holiday", "投诉 退款", "ｃｏｍｐｌａｉｎｔ ｒｅｆｕｎｄ", "complaint  refund", "年假 invoice", "逾时",
    "㈱ 安全", "(株) 安全", "第13条 投诉", "zxqv",
)  # fmt: skip
SOURCES = {"a": "one", "b": "one", "c": "two", "d": "two", "e": "three"}
AGENTS = ("x", "y")


class Calendar(date):
    """A calendar whose today is set by the test."""

    now = date(2026, 6, 1)

    @classmethod
    def today(cls) -> date:
        return cls.now


class World:
    """One library asked through the cache, and again, on the same folder, without one."""

    def __init__(self, folder: Path, draw: random.Random, clock: Clock) -> None:
        options: dict[str, Any] = {"engine": "memory", "encoder": {"kind": "hashing", "dimension": 32}}
        options["search"] = {"deadline": 60}  # a step on a busy machine is slow, not wrong
        self.cached = wenyuan.open(folder, create=True, **options, cache={"seconds": 120})
        self.cached.catalog.set_value("encoder", asdict(self.cached.encoder.fingerprint))  # type: ignore[union-attr]
        self.fresh = wenyuan.open(folder, **options, cache={"seconds": 0})
        self.cached._searcher._cache._store._clock = clock
        self.catalog: Any = self.cached.catalog
        self.draw, self.clock, self.done = draw, clock, Counter[str]()
        for source_id in SOURCES:
            self.catalog.put_source(self.source(source_id))
            for number in range(3):
                self.put(source_id, number)
        for agent_id in AGENTS:
            self.catalog.put_agent(self.agent(agent_id))
        self.change_questions()

    def close(self) -> None:
        self.cached.close()
        self.fresh.close()

    def day(self) -> date | None:
        return self.draw.choice([None, None, None, Calendar.now + timedelta(self.draw.randint(-4, 4))])

    def dates(self) -> dict[str, date | None]:
        begin, end = self.day(), self.day()
        return {"effective_from": begin, "effective_until": None if begin and end and end < begin else end}

    def source(self, source_id: str) -> Source:
        domain = self.draw.choice([SOURCES[source_id]] * 4 + ["one", "two"])
        status: Any = self.draw.choice(["in_force"] * 5 + ["draft", "retired"])
        replaces = (chr(ord(source_id) + 1),) if self.draw.random() < 0.15 else ()
        return Source(
            source_id=source_id, domain=domain, trust=self.draw.randint(1, 5), status=status, supersedes=replaces,
            **self.dates(),
        )  # fmt: skip

    def agent(self, agent_id: str) -> Agent:
        names = self.draw.sample(["one", "two", "three"], self.draw.randint(1, 2))
        top_k = [self.draw.choice([1, 2, 3, "auto"]) for _ in names]
        scope = tuple(DomainScope(domain=d, top_k=k) for d, k in zip(names, top_k, strict=True))
        return Agent(agent_id=agent_id, knowledge_scope=scope, min_trust=self.draw.choice([1, 1, 3]))

    def put(self, source_id: str, number: int) -> None:
        text = " ".join(self.draw.choices(WORDS, k=6)) + "."
        digest = sha256(text.encode()).hexdigest()
        uri = f"urn:t:{source_id}:{number}"
        passage = NewPassage(
            uri=uri, headings=(), text=text, sha256=digest, start=0, end=len(text), vector_key=digest
        )
        document = NewDocument(
            source_id=source_id, uri=uri, title=f"T{number}", fingerprint=digest, passages=(passage,), language="en",
            facets={"n": number}, **self.dates(),
        )  # fmt: skip
        [vector] = self.cached.encoder.encode_passages([text])  # type: ignore[union-attr]
        self.catalog.commit_documents([document], {digest: vector})

    # -- what may happen --------------------------------------------------------------------------------
    def change_source(self) -> None:
        source_id = self.draw.choice(list(SOURCES))
        known = next((s for s in self.catalog.sources() if s.source_id == source_id), None)
        anew = self.source(source_id)
        if known is not None and self.draw.random() < 0.5:
            anew = replace(known, trust=self.draw.randint(1, 5))
        self.catalog.put_source(anew)

    def remove_source(self) -> None:
        if len(held := self.catalog.sources()) > 3:
            self.catalog.remove_source(self.draw.choice(held).source_id)

    def change_document(self) -> None:
        self.put(self.draw.choice(self.catalog.sources()).source_id, self.draw.randrange(4))

    def remove_document(self) -> None:
        source_id = self.draw.choice(self.catalog.sources()).source_id
        live = [number for number, _ in self.catalog.live_documents(source_id).values()]
        self.catalog.retire_documents(source_id, self.draw.sample(live, min(1, len(live))))

    def change_agent(self) -> None:
        self.catalog.put_agent(self.agent(self.draw.choice(AGENTS)))

    def remove_agent(self) -> None:
        if len(self.catalog.agents()) == len(AGENTS):
            self.catalog.remove_agent(self.draw.choice(AGENTS))

    def measure(self) -> None:
        self.cached.measure_collection()

    def pass_time(self) -> None:
        self.clock.at += self.draw.choice([1.0, 30.0, 121.0])
        if self.draw.random() < 0.3:
            Calendar.now += timedelta(1)

    def change_questions(self) -> None:
        self.questions = [self.question() for _ in range(6)]

    def question(self) -> tuple[SearchRequest, Principal]:
        """A question of one of two agents or two operators."""
        draw = self.draw
        who = draw.choice(["x", "y", "operator", "narrow"])
        principal = Principal(key_id=who, agent_id=who) if who in AGENTS else LOCAL
        scope = None
        if who == "narrow":
            scope = (DomainScope(domain=draw.choice(["one", "two"]), top_k=draw.choice([2, "auto"])),)
        request = SearchRequest(
            query=draw.choice(QUERIES),
            knowledge_scope=scope,
            min_trust=draw.choice([1, 1, 1, 3]),
            limit=draw.choice([3, 3, 7]),
            summary=draw.random() < 0.8,
            filter=draw.choice([None] * 4 + [In("metadata.n", (1, 2))]),
            as_of=draw.choice([None] * 4 + [Calendar.now, Calendar.now + timedelta(2)]),
            source_document_uri=draw.choice([""] * 4 + ["urn:t:a:1"]),
        )
        return request, principal

    def ask(self) -> None:
        """Ask both; the answers or refusals are the same."""
        request, principal = self.draw.choice(self.questions)
        if request.as_of is None and self.draw.random() < 0.2:
            principal = LOCAL  # the same question, by another
        first, kept = outcome(self.cached, request, principal)
        second, _ = outcome(self.fresh, request, principal)
        assert first == second, (request, principal)
        self.done["hit"] += kept
        self.done["found"] += isinstance(first, tuple) and bool(first[0])
        self.done["refused"] += isinstance(first, str)


def outcome(library: wenyuan.Library, request: SearchRequest, principal: Principal) -> tuple[Any, bool]:
    """All of an answer but times, or of a refusal; and whether it was kept."""
    try:
        result = library.find(request, principal)
    except KnowledgeError as error:
        return repr(error), False
    told = {name: getattr(result, name) for name in SearchResult.__slots__}
    said = [told[name] for name in ("passages", "scope", "generation", "mode", "reasons")]
    legs = [(leg.name, leg.state, leg.hits) for leg in result.legs]
    return (*said, legs), result.cache_hit


def walk(folder: Path, steps: int, dice: int) -> Counter[str]:
    draw = random.Random(dice)
    world = World(folder, draw, Clock())
    weights = {
        "ask": 60, "change_source": 1, "remove_source": 0.3, "change_document": 2, "remove_document": 0.5,
        "change_agent": 0.5, "remove_agent": 0.3, "measure": 0.3, "pass_time": 2, "change_questions": 2,
    }  # fmt: skip
    try:
        for step in draw.choices(list(weights), list(weights.values()), k=steps):
            getattr(world, step)()
            world.done[step] += 1
    finally:
        world.close()
    assert set(weights) <= set(world.done), "a walk that does not do everything proves nothing"
    return world.done


@pytest.fixture
def _calendar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Calendar.now = date(2026, 6, 1)
    SearchRequest(query="x", as_of=Calendar.now)  # its types are looked up once, and are not those of this test
    for module in ("searcher", "retriever"):
        monkeypatch.setattr(f"wenyuan.service.search.{module}.date", Calendar)
    yield


@pytest.mark.slow
@pytest.mark.usefixtures("_calendar")
@pytest.mark.parametrize("dice", range(1, 3))
def test_kept_answers_are_fresh_answers(tmp_path: Path, dice: int, thorough: bool) -> None:
    """Whatever changes, for whomever it is asked: through the cache an answer is what it would be without."""
    steps = 5_000 if thorough else 1_000
    done = walk(tmp_path / "library", steps, dice)
    assert done["hit"] > steps / 20, done
    assert done["found"] > steps / 5, done
    assert done["refused"] > 0, done


@pytest.fixture
def small(tmp_path: Path) -> Iterator[wenyuan.Library]:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Leave\n\nUp to five days may be carried over.\n")
    with wenyuan.open(
        tmp_path / "library", create=True, engine="memory", encoder={"kind": "hashing", "dimension": 32}
    ) as library:
        library.add(Source(source_id="a", path=str(folder)))
        yield library


def test_a_hit_says_so(small: wenyuan.Library) -> None:
    """An answer that is given again says that it is, and how old it is."""
    first, again = (small.find(SearchRequest(query="carried over days")) for _ in range(2))
    assert (first.cache_hit, first.cache_age_ms) == (False, 0.0)
    assert again.cache_hit
    assert again.cache_age_ms > 0
    assert again.passages == first.passages != ()


def test_what_is_measured_anew_counts_at_once(small: wenyuan.Library) -> None:
    """A curve that was learned, in this process or another, counts for the next question."""
    request = SearchRequest(query="carried over days")
    before = small.find(request).passages[0].hit.score
    curve = {script: {"intercept": -5.0, "slope": 1.0} for script in ("han", "latin")}
    small.catalog.set_value("floor", {"hybrid": curve, "keyword-only": curve})
    assert small.find(request).passages[0].hit.score < before


def test_failures_are_not_kept(small: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that failed fails to its caller only, and the next one is computed."""

    def broken(*_: Any, **__: Any) -> Any:
        raise EngineError("the index is gone")

    request = SearchRequest(query="carried over days")
    with monkeypatch.context() as patch:
        patch.setattr(small.engine, "keyword", broken)
        with pytest.raises(EngineError, match="gone"):
            small.find(request)
    answer = small.find(request)
    assert not answer.cache_hit
    assert answer.passages
