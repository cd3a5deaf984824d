"""What the tests of replay share: a library and its audit, wired as a service wires them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.core.access import Principal
from wenyuan.core.filters import Scope
from wenyuan.core.model import Source
from wenyuan.core.ports import Engine
from wenyuan.service.audit.past_library import rerun_at
from wenyuan.service.audit.replay import replay
from wenyuan.service.audit.request_entry import query_of, request_of
from wenyuan.service.audit.rerun import Replay, Rerun, rerun_of
from wenyuan.service.audit.retrieval_entry import digest_of, fragment_entries, retrieval_record
from wenyuan.service.query import Query
from wenyuan.service.search.retriever import Retriever

DAY = date(2026, 6, 1)
TOPICS = ("客户投诉", "退货换货", "安全培训", "incident response", "travel expenses", "数据备份")


def write(docs: Path, number: int, text: str = "") -> Path:
    topic = TOPICS[number % len(TOPICS)]
    body = text or f"关于{topic}的规定第{number}号：应当在{number + 1}日内处理。The rule on {topic} number {number}."
    path = docs / f"policy-{number:02}.md"
    path.write_text(
        f"# {topic} {number}\n\n## 第一节 范围\n\n{body}\n\n## 第二节 期限\n\n{topic} 期限 {number} 天。\n", "utf-8"
    )
    return path


@dataclass
class Desk:
    """A library and its audit, with the wiring that a service has."""

    library: Any
    audit: AuditLog
    docs: Path
    settings: Any
    encoder: Any
    day: date = DAY

    @property
    def catalog(self) -> Any:
        return self.library.catalog

    @contextmanager
    def retriever(self) -> Iterator[Retriever]:
        made = Retriever(self.catalog, self.library.engine, self.encoder, self.settings)
        try:
            yield made
        finally:
            made.close()

    @property
    def facts(self) -> dict[str, str]:
        return {
            "settings_digest": digest_of(self.settings.model_dump()),
            "encoder_key": self.encoder.fingerprint.key if self.encoder else "",
        }

    def run(self, query: Query) -> tuple[Any, Scope]:
        with self.retriever() as retriever:
            answer = retriever.retrieve(replace(query, as_of=query.as_of or self.day))
            seen = retriever.registry()
        day = query.as_of or self.day
        named = [s for s in seen.by_id if seen.in_force(s, day) and (query.sources is None or s in query.sources)]
        return answer, Scope(sources=frozenset(named), as_of=day, filter=query.filter)

    def ask(self, text: str, limit: int = 5, **more: Any) -> str:
        """Answer and record; returns the record's id."""
        query = Query(text=text, limit=limit, **more)
        answer, scope = self.run(query)
        record = retrieval_record(
            principal=Principal(key_id="key1", agent_id="writer"),
            request=request_of(query),
            scope=scope,
            legs=answer.legs,
            generation=answer.generation,
            fragments=fragment_entries((hit, answer.passages[hit.passage_id]) for hit in answer.hits),
            trusts={s.source_id: s.trust for s in self.catalog.sources()},
            floor=answer.floors,
            **self.facts,
        )
        assert record["fragments"], text
        return self.audit.append(record, request_of(query))

    def rerun(self, request: Mapping[str, Any]) -> Rerun:
        answer, scope = self.run(query_of(request))
        return rerun_of(answer, sources=scope.sources, as_of=scope.as_of, **self.facts)

    def replay(self, audit_id: str) -> Replay:
        kept = self.audit.show(audit_id)
        return replay(kept.record, kept.query, rerun=self.rerun, describe_passage=self.catalog.passage_fate)

    def exact(self, audit_id: str, make_engine: Callable[[], Engine]) -> Replay:
        kept = self.audit.show(audit_id)

        def rerun(request: Mapping[str, Any]) -> Rerun:
            return rerun_at(
                kept.record, request, catalog=self.catalog, make_engine=make_engine, encoder=self.encoder,
                settings=self.settings, settings_digest=self.facts["settings_digest"],
            )  # fmt: skip

        return replay(
            kept.record, kept.query, rerun=rerun, describe_passage=self.catalog.passage_fate, tolerance=1e-5
        )

    def first(self, audit_id: str) -> Mapping[str, Any]:
        fragment: Mapping[str, Any] = self.audit.show(audit_id).record["fragments"][0]
        return fragment

    def reread(self) -> None:
        self.library.ingest("docs")


@contextmanager
def new_desk(tmp_path: Path) -> Iterator[Desk]:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(12):
        write(docs, number)
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="docs", path=str(docs), trust=4))
        audit = AuditLog(tmp_path / "library", flush_after=0.001)
        yield Desk(library, audit, docs, library.settings.search, library.encoder)
        audit.close()
