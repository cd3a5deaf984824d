"""Makes the library of a former version that tests/system/test_former_version.py opens and replays.

Run it with the program of the version that is to be kept, from a checkout of that commit:
``python scripts/make_former_library.py former.zip``. It makes a library with the built-in encoder, Chinese and English
documents, rules, agents and synonyms; asks its questions through the library's methods; changes some documents; asks
again; and puts catalog, audit and settings into one archive. The index is left out: it is made anew from the catalog.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.access import parse_agent
from wenyuan.core.filters import In
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.text.synonyms import Synonym
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.context import ContextRequest
from wenyuan.service.rules.unified import CaseQuestion, RuleQuestion, UnifiedRequest
from wenyuan.service.search.searcher import SearchRequest

HANDBOOK = {
    "complaints.md": "---\ndepartment: service\n---\n# 客户投诉处理办法\n\n## 第一章 响应\n\n第一条 客户投诉应当在二十四小时内第一次响应，并登记投诉编号。\n\n"
    "第二条 投诉涉及人身安全的，应当立即上报值班经理。\n\n## 第二章 办结\n\n第三条 一般投诉应当在七个工作日内办结；"
    "需要第三方检测的，可以延长至十五个工作日。\n\n第四条 办结之后三日内应当回访，回访记录保存两年。\n",
    "returns.md": "# 退货与换货规定\n\n## 第一条 期限\n\n商品签收之日起七日内，未拆封的可以无理由退货。\n\n"
    "## 第二条 运费\n\n因质量问题退货的，往返运费由公司承担；无理由退货的运费由顾客承担。\n\n"
    "## 第三条 例外\n\n定制商品、鲜活易腐商品不适用无理由退货。\n",
    "travel.md": "# 差旅费报销标准\n\n## 住宿\n\n一线城市住宿费每晚不超过六百元，其他城市每晚不超过四百元。\n\n"
    "## 交通\n\n乘坐高铁的，二等座全额报销；商务座须经部门总监批准。\n\n## 期限\n\n报销单应当在返回之后三十日内提交。\n",
    "data.md": "# 数据备份制度\n\n## 频率\n\n生产数据库每日全量备份一次，日志每小时备份一次。\n\n"
    "## 保存\n\n备份至少保存九十日，其中每月一份保存三年。\n\n## 演练\n\n每季度进行一次恢复演练，并形成报告。\n",
    "leave.md": "# 請假規定\n\n## 年假\n\n工作滿一年的員工每年有五天年假，滿十年的有十天。\n\n"
    "## 病假\n\n病假三天以上須提交醫院證明。\n",
}
POLICY = {
    "incidents.md": "# Incident response\n\n## Severity\n\nA severity one incident is an outage that concerns all customers. "
    "The on-call engineer acknowledges it within ten minutes.\n\n## Communication\n\nThe status page is updated every "
    "thirty minutes until the incident is closed.\n\n## Review\n\nA written review without blame follows within five "
    "working days.\n",
    "passwords.md": "# Passwords and keys\n\n## Length\n\nPasswords have at least fourteen characters; a password manager is "
    "provided.\n\n## Rotation\n\nService keys are renewed every ninety days. A key that has leaked is revoked at once.\n",
    "expenses.md": "# Travel expenses\n\n## Hotels\n\nHotels are refunded up to 120 euros a night; in London and Zurich up to "
    "200 euros.\n\n## Receipts\n\nReceipts are handed in within thirty days after the return.\n",
    "retention.md": "# Retention of records\n\n## Contracts\n\nContracts are kept for ten years after they end.\n\n"
    "## Applications\n\nApplications of candidates who were not hired are deleted after six months.\n",
}
NOTES = {
    "faq.md": "# 常见问题 FAQ\n\n## VPN 连不上怎么办\n\n先检查证书是否过期，再重启 VPN 客户端；仍不行的联系 IT 服务台。\n\n"
    "## How long does a complaint take?\n\nMost complaints 客户投诉 are answered within one day.\n",
    "2026-03-01-minutes.md": "# 三月例会纪要\n\n会议决定试行新的退货流程，由客服部牵头，四月底前完成培训。\n",
}
CHANGED = {
    "returns.md": HANDBOOK["returns.md"].replace("七日内", "十五日内"),
    "gifts.md": "# 礼品登记\n\n价值超过二百元的礼品应当在五日内登记上交。\n",
}
BOOK = """\
pack: pit
schema:
  kinds:
    process: {zh: 工序, en: process}
    equipment: {zh: 设备, en: equipment}
    hazard: {zh: 危险源, en: hazard}
    safety_measure: {zh: 安全措施, en: safety measure}
  relations:
    is_a: {zh: 属于, en: is a}
    requires_equipment: {zh: 需要设备, en: requires equipment, from: [process], to: [equipment]}
    produces_hazard: {zh: 产生危险源, en: produces hazard, from: [process], to: [hazard]}
    mitigated_by: {zh: 防控措施, en: mitigated by, from: [hazard], to: [safety_measure]}
  parameters: {depth_m: {type: number, unit: m, zh: 开挖深度, en: depth}}
  patterns:
    needs:
      start: process
      inherit: {via: [is_a], max_depth: 3}
      collect:
        equipment: [requires_equipment]
        hazards: [produces_hazard]
        safety_measures: [produces_hazard, mitigated_by]
sources:
  - {id: pit_code, title: 基坑规范, uri: "urn:pit", trust: 5, domain: construction, language: zh}
nodes:
  - {kind: process, name: 土方开挖, en: Earthwork}
  - {kind: process, name: 深基坑开挖, en: Deep excavation, aliases: [基坑开挖]}
  - {kind: equipment, name: 挖掘机, en: Excavator}
  - {kind: hazard, name: 坍塌, en: Collapse}
  - {kind: hazard, name: 涌水, en: Water inrush}
  - {kind: safety_measure, name: 内支撑, en: Internal bracing}
  - {kind: safety_measure, name: 降水井, en: Dewatering well}
statements:
  - {src: 深基坑开挖, rel: is_a, dst: 土方开挖, evidence: [{source: pit_code, clause: 第二条}]}
  - {src: 土方开挖, rel: requires_equipment, dst: 挖掘机, evidence: [{source: pit_code, clause: 第三条}]}
  - {src: 深基坑开挖, rel: produces_hazard, dst: 坍塌, when: depth_m >= 5.0, evidence: [{source: pit_code, clause: 第四条}]}
  - {src: 深基坑开挖, rel: produces_hazard, dst: 涌水, evidence: [{source: pit_code, clause: 第五条}]}
  - {src: 坍塌, rel: mitigated_by, dst: 内支撑, evidence: [{source: pit_code, clause: 第六条}]}
  - {src: 涌水, rel: mitigated_by, dst: 降水井, evidence: [{source: pit_code, clause: 第七条}]}
"""
AGENTS = (
    {"agent_id": "support", "knowledge_scope": [{"domain": "handbook", "top_k": 4}, {"domain": "policy", "top_k": 2}]},
    {"agent_id": "builder", "knowledge_scope": [{"domain": "construction", "top_k": 5}, {"domain": "notes", "top_k": 2}],
     "allow_low_trust": True},
)  # fmt: skip
SETTINGS: dict[str, Any] = {"encoder": {"kind": "builtin"}, "cache": {"seconds": 0}}
SOURCES = {"handbook": (HANDBOOK, 5), "policy": (POLICY, 4), "notes": (NOTES, 2)}


def write(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def stock(library: wenyuan.Library, folder: Path) -> None:
    """Documents, rules, synonyms and agents."""
    for name, (texts, trust) in SOURCES.items():
        write(folder / name, texts)
        library.add(wenyuan.Source(source_id=name, path=str(folder / name), trust=trust, domain=name))
    (folder / "pit.yaml").write_text(BOOK, encoding="utf-8")
    library.rules.take(read_book(folder / "pit.yaml"))
    library.catalog.put_synonyms([Synonym(term="annual leave", synonym="年假")], actor="local")
    for agent in AGENTS:
        library.catalog.put_agent(parse_agent(agent))


def ask(library: wenyuan.Library) -> None:
    """Each way to ask that leaves a record which can be replayed, in both languages."""
    for text in ("客户投诉多久响应", "第三条规定了什么", "備份保存多久", "hotel per night", "VPN 连不上"):
        library.retrieve_fragments(RetrievalRequest(query=text, max_results=5))
    library.search("退货的运费由谁承担", limit=3)
    library.search("how fast is a severity one incident acknowledged", limit=3, sources=["policy"])
    library.search("回访记录保存", filter=In("metadata.department", ("service",)), as_of=date(2026, 6, 1))
    for text in ("annual leave of employees", "客户投诉办结期限", "password length"):
        library.find(SearchRequest(query=text, agent_id="support"))
    library.find(SearchRequest(query="深基坑开挖的设备", agent_id="builder"))
    for text in ("差旅住宿标准", "retention of contracts"):
        library.get_context(ContextRequest(retrieval_query=text, agent_id="support"))
    library.get_context(ContextRequest(retrieval_query="基坑开挖有哪些危险源", agent_id="builder"))
    library.infer_rules(RuleQuestion(processes=("深基坑开挖",), parameters={"depth_m": 6}))
    library.infer_rules(RuleQuestion(text="What hazards does deep excavation have?"))
    library.retrieve(UnifiedRequest(query="深基坑开挖的安全措施", chapter="ch08_safety", threshold=0.0))
    library.find_cases(CaseQuestion(query="投诉处理", threshold=0.0))


def ask_again(library: wenyuan.Library) -> None:
    """Some questions of the documents that changed."""
    for text in ("客户投诉多久响应", "无理由退货的期限", "備份保存多久", "gifts of more than 200 yuan"):
        library.retrieve_fragments(RetrievalRequest(query=text, max_results=5))
    library.find(SearchRequest(query="客户投诉办结期限", agent_id="support"))
    library.get_context(ContextRequest(retrieval_query="retention of contracts", agent_id="support"))
    library.infer_rules(RuleQuestion(processes=("深基坑开挖",), parameters={"depth_m": 6}))


def main(archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="wenyuan-former-") as scratch:
        folder = Path(scratch)
        with wenyuan.create(folder / "library", **SETTINGS) as library:
            stock(library, folder)
            ask(library)
            write(folder / "handbook", CHANGED)
            (folder / "handbook" / "data.md").unlink()
            library.ingest("handbook")
        # How rare a word is counts removed rows until an index is made anew, as the index of a replay always is.
        shutil.rmtree(folder / "library" / "index")
        with wenyuan.open(folder / "library", **SETTINGS) as library:
            ask_again(library)
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for file in sorted(folder.glob("library/*")):
                print(file.name, file.stat().st_size if file.is_file() else "folder")
                if file.is_file() and file.suffix not in (".lock", ".db-wal", ".db-shm"):
                    packed.write(file, file.name)
    print(archive, archive.stat().st_size)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
