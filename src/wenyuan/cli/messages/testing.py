"""Tests, checks and the demonstration."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MESSAGES"]

MESSAGES: Mapping[str, tuple[str, str]] = {
    # -- conformance
    "one_target": (
        "give one of URL, --python MODULE:FACTORY, --adapter KIND SPEC, --self (or --export-data DIR alone)",
        "请在 URL、--python MODULE:FACTORY、--adapter KIND SPEC、--self 中选一个（或单独使用 --export-data DIR）",
    ),
    "exported": (
        "Wrote {count:file|files} to {folder}: let the service take in {folder}/documents, and nothing else.",
        "已在 {folder} 写入 {count} 个文件：请让被测服务只收录 {folder}/documents。",
    ),
    "conforms": ("Conformant: {passed} of {total:case|cases} passed.", "符合规范：{total} 项中通过 {passed} 项。"),
    "conforms_not": (
        "Not conformant: {failed} of {total:case|cases} failed.",
        "不符合规范：{total} 项中有 {failed} 项未通过。",
    ),
    "self_target": (
        "Testing our own service over HTTP (engine {engine}, {encoder})",
        "通过 HTTP 测试本程序自己的服务（引擎 {engine}，{encoder}）",
    ),
    "case_passed": ("passed", "通过"),
    "case_failed": ("FAILED", "失败"),
    "extra_cases": ("Extra cases: {passed} of {total} passed", "附加用例：{total} 项中通过 {passed} 项"),
    "TC-DP3-01": ("several results", "返回多个结果"),
    "TC-DP3-02": ("a single result", "只返回一个结果"),
    "TC-DP3-03": ("no result is SUCCESS with []", "没有结果时为 SUCCESS 与空数组"),
    "TC-DP3-04": ("max_results limits the number", "max_results 限制数量"),
    "TC-DP3-05": ("best first", "按得分从高到低"),
    "TC-DP3-06": ("an internal failure is FAILED", "内部故障为 FAILED"),
    "TC-DP3-07": ("query missing: 400", "缺少 query 时为 400"),
    "TC-DP3-08": ("max_results of the wrong type: 400", "max_results 类型错误时为 400"),
    "TC-DP3-09": ("scores from 0.0 to 1.0", "得分在 0.0 至 1.0 之间"),
    "TC-DP3-10": ("source is a URI", "source 为 URI"),
    "TC-DP3-11": ("context is accepted", "接受 context"),
    # -- eval
    "one_page": ("--html takes one DIR", "--html 只能用于一个目录"),
    # -- doctor
    "check_ok": ("ok  ", "正常"),
    "check_warn": ("warn", "注意"),
    "check_fail": ("FAIL", "故障"),
    "doctor_ok": ("All is well.", "一切正常。"),
    "doctor_warn": ("Works, with {count:remark|remarks}.", "可以工作，有 {count} 项需要注意。"),
    "doctor_fail": ("{count:check|checks} failed.", "{count} 项检查未通过。"),
    "d_program": ("program", "程序"),
    "d_python": ("Python", "Python"),
    "d_sqlite": ("SQLite", "SQLite"),
    "d_packages": ("packages", "依赖包"),
    "d_settings": ("settings", "设置"),
    "d_library": ("library", "知识库"),
    "d_catalog": ("catalog", "目录库"),
    "d_content": ("content", "内容"),
    "d_engine": ("engine", "引擎"),
    "d_encoder": ("encoder", "编码器"),
    "d_worker": ("worker", "刷新线程"),
    "d_rules": ("rules", "规则"),
    "d_search": ("search", "检索"),
    "d_reranker": ("reranker", "重排模型"),
    "d_floor": ("floor", "门槛"),
    "d_identity": ("identity", "标识"),
    "d_copied": (
        "this folder is a copy, or was moved or restored: if the other one is in use, too, this one needs an id "
        "of its own, or they cannot ask one another",
        "此目录是复制、迁移或恢复而来；若原目录仍在使用，须换用新标识，否则两者不能互相检索",
    ),
    "d_new_id": ("This library has a new id: {name}", "知识库已换用新标识：{name}"),
    "d_disk": ("disk", "磁盘"),
    "d_defaults": ("defaults", "默认值"),
    "d_counts": (
        "{documents:document|documents}, {passages:passage|passages}, {vectors:vector|vectors} of {sources:source|sources}",
        "{sources} 个来源，{documents} 个文档，{passages} 个段落，{vectors} 个向量",
    ),
    "d_empty": ("no documents yet", "还没有文档"),
    "d_failures": ("{count:document|documents} could not be taken in", "{count} 个文档未能收录"),
    "d_twins": ("same content", "重复内容"),
    "d_twin": ("{count:document|documents} in both {one} and {other}", "{one} 与 {other} 有 {count} 个文档相同"),
    "d_twins_more": ("{count:more pair|more pairs} of sources", "另有 {count} 对来源"),
    "d_name": ("{name}: {detail}", "{name}：{detail}"),
    "d_unmeasured": ("not measured yet", "尚未测定"),
    "d_labels": ("labels", "标题向量"),
    "d_unlabelled": (
        "titles and questions of some passages were not embedded by themselves, so they count only as part of their text",
        "部分段落的标题或问题尚未单独计算向量，目前只随正文参与匹配",
    ),
    "d_chosen": ("engine {engine}, encoder {encoder}", "引擎 {engine}，编码器 {encoder}"),
    "d_least": (
        "a question is answered where that there is an answer is at least {least} likely (search.abstain)",
        "库中有答案的概率不低于 {least} 才作答（设置 search.abstain）",
    ),
    "d_least_score": (
        "a passage must score at least {least} (search.floor)",
        "段落得分不低于 {least} 才给出（设置 search.floor）",
    ),
    "d_query_vectors": (
        "; remembers {count} vectors of queries, which may hide that it is dead",
        "；记住 {count} 个问题向量，可能掩盖编码器故障",
    ),
    "d_size_catalog": ("catalog {size}", "目录库 {size}"),
    "d_size_index": ("index {size}", "索引 {size}"),
    "d_size_free": ("{size} free", "可用 {size}"),
    "d_record": ("{folder}; the record in {record}", "{folder}；目录库位于{record}"),
    "d_audit": ("audit", "审计"),
    "d_no_audit": ("switched off", "已关闭"),
    "d_head": ("ends at {head}", "链头为 {head}"),
    "d_old_sqlite": ("older than 3.51.3", "低于 3.51.3"),
    # -- demo
    "demo_title": ("Wenyuan in one minute", "一分钟了解文渊"),
    "demo_take": (
        "1  Sources: read, cut into passages, embedded, indexed",
        "1  收录来源：读取、切分、向量化、建索引",
    ),
    "demo_source": (
        "{stars}  {source}: documents {documents}, passages {passages}, {seconds} s",
        "{stars}  {source}：文档 {documents}，段落 {passages}，{seconds} 秒",
    ),
    "demo_success": ("2  Success: evidence with its address", "2  成功：有出处的证据"),
    "demo_empty": (
        "3  An empty answer that says why",
        "3  空答案，并说明原因",
    ),
    "demo_rules": (
        "4  Rules that follow, with the clause that says so",
        "4  推导出的规则，附条款依据",
    ),
    "demo_pack": (
        "Pack {pack}: {nodes:node|nodes}, {rules:rule|rules}; no language model is asked.",
        "规则包 {pack}：{nodes} 个节点，{rules} 条规则；不调用大模型。",
    ),
    "demo_no_plan": (
        "  Below the threshold: no special plan is required.",
        "  未达到规模：不要求专项方案。",
    ),
    "demo_failure": (
        "5  A failure that is no empty answer",
        "5  故障不会冒充空答案",
    ),
    "demo_damage": (
        "In a copy of this library, pages of catalog.db are now overwritten with zeros, as a bad disk would do.",
        "现在把这个知识库副本中 catalog.db 的若干页改写为零，如同磁盘损坏。",
    ),
    "demo_unmasked": (
        "Status FAILED with its reason, where an empty list would have said “there is nothing”.",
        "状态为 FAILED 并附原因；若返回空列表，等于谎称“没有相关内容”。",
    ),
    "demo_masked": (
        "The damage was not noticed: this must not happen.",
        "损坏未被发现：这不应发生。",
    ),
    "demo_next": ("Now try:", "接下来试试："),
    "demo_kept": ("The library stays in {folder}", "知识库保留在 {folder}"),
    "demo_gone": (
        "The library of this demo is removed; keep one with --keep DIR",
        "演示知识库已删除；可用 --keep DIR 保留",
    ),
}
