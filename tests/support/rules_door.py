"""A library with rules behind a real server, and a small book of two sources: for the tests of the doors of rules."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wenyuan
from copies import copied
from wenyuan.core.access import parse_agent
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

SETTINGS: dict[str, Any] = {"encoder": {"kind": "none"}, "cache": {"seconds": 0}}
AGENTS = (
    {"agent_id": "builder", "knowledge_scope": [{"domain": "construction", "top_k": 3}]},
    {"agent_id": "support", "knowledge_scope": [{"domain": "crm", "top_k": 3}]},
)
BOOK = """\
pack: little
schema:
  kinds: {process: {zh: 工序, en: process}, equipment: {zh: 设备, en: equipment}, hazard: {zh: 危险源, en: hazard}}
  relations:
    requires_equipment: {zh: 需要设备, en: requires equipment, from: [process], to: [equipment]}
    produces_hazard: {zh: 产生危险源, en: has the hazard, from: [process], to: [hazard]}
  parameters: {depth_m: {type: number, unit: m, zh: 开挖深度, en: depth}}
  patterns:
    needs: {start: process, collect: {equipment: [requires_equipment], hazards: [produces_hazard]}}
sources:
  - {id: code_a, title: 甲规范, uri: "urn:a", trust: 5, domain: construction, language: zh}
  - {id: code_b, title: 乙规范, uri: "urn:b", trust: 4, domain: construction, language: zh}
nodes:
  - {kind: process, name: 深基坑开挖, en: Deep excavation, aliases: [基坑开挖]}
  - {kind: equipment, name: 挖掘机, en: Excavator}
  - {kind: hazard, name: 坍塌, en: Collapse}
statements:
  - src: 深基坑开挖
    rel: requires_equipment
    dst: 挖掘机
    evidence: [{source: code_a, clause: 第一条, quote: 应当配备挖掘机}]
  - src: 深基坑开挖
    rel: produces_hazard
    dst: 坍塌
    when: depth_m >= 5.0
    evidence: [{source: code_a, clause: 第二条, quote: 五米以上有坍塌危险}, {source: code_b, clause: 第九条}]
"""
PROPOSED = """\
  - src: 深基坑开挖
    rel: requires_equipment
    dst: 挖掘机
    when: depth_m >= 1.0
    status: proposed
    evidence: [{source: code_a, clause: 第七条, quote: "<script>alert(1)</script>"}]
  - {src: 深基坑开挖, rel: requires_equipment, dst: 挖掘机, when: depth_m >= 2.0, status: proposed,
     evidence: [{source: code_b, clause: 第八条}]}
"""
"""Two more statements of the book, which wait for a review."""
TWICE = """\
pack: twice
schema:
  kinds: {process: {zh: 工序, en: process}, hazard: {zh: 危险源, en: hazard}, safety_measure: {zh: 安全措施, en: measure}}
  relations:
    produces_hazard: {zh: 产生危险源, en: has the hazard, from: [process], to: [hazard]}
    mitigated_by: {zh: 防范措施, en: is mitigated by, from: [hazard], to: [safety_measure]}
  patterns:
    needs: {start: process, collect: {hazards: [produces_hazard], safety_measures: [produces_hazard, mitigated_by]}}
sources: [{id: code_a, title: 甲规范, uri: "urn:a", trust: 5, domain: construction, language: zh}]
nodes:
  - {kind: process, name: 深基坑开挖, en: Deep excavation}
  - {kind: hazard, name: 坍塌, en: Collapse}
  - {kind: hazard, name: 坠落, en: Fall}
  - {kind: safety_measure, name: 临边防护, en: Edge protection}
statements:
  - {src: 深基坑开挖, rel: produces_hazard, dst: 坍塌, evidence: [{source: code_a, clause: 第一条}]}
  - {src: 深基坑开挖, rel: produces_hazard, dst: 坠落, evidence: [{source: code_a, clause: 第二条}]}
  - {src: 坍塌, rel: mitigated_by, dst: 临边防护, sentence: {zh: 应设置临边防护}, evidence: [{source: code_a, clause: 第三条}]}
  - {src: 坠落, rel: mitigated_by, dst: 临边防护, sentence: {zh: 应设置临边防护}, evidence: [{source: code_a, clause: 第三条}]}
"""
"""One measure against two hazards, said in the same words."""
WRONG = """\
  - {src: 深基坑开挖, rel: requires_equipmnt, dst: 挖掘机, evidence: [{source: code_a, clause: 第三条}]}
"""


def with_agents(folder: Path) -> None:
    """Make a library without rules, of two agents, and an empty folder for books, for `copied`."""
    (folder / "books").mkdir()
    with wenyuan.open(folder / "library", create=True, **SETTINGS) as library:
        library.catalog.put_source(wenyuan.Source(source_id="crm", path=""))  # else its domain would be unknown
        for agent in AGENTS:
            library.catalog.put_agent(parse_agent(agent))


@contextlib.contextmanager
def rules_server(folder: Path, **settings: Any) -> Iterator[tuple[str, Any]]:
    """The URL of a server that needs keys, and its library; paths may be named below `folder`/books."""
    copied(with_agents, folder)
    with wenyuan.open(folder / "library", **SETTINGS) as library:
        ring = KeyRing(library.catalog, open_without_keys=False)
        roots = (folder / "books",)
        app = create_app(library, authenticate=ring, settings=ServerSettings(ingest_roots=roots, **settings))
        url, stop = start_in_thread(app, grace=1)
        try:
            yield url, library
        finally:
            stop()
