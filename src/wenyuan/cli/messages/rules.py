"""Rules: import, review, inference, and unified retrieval."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MESSAGES"]

MESSAGES: Mapping[str, tuple[str, str]] = {
    # -- import
    "rules_imported": (
        "Pack {pack}: imported {nodes:node|nodes} and {statements:rule|rules}; refused {lost_nodes} and {lost}",
        "规则包 {pack}：已导入节点 {nodes} 个、规则 {statements} 条；拒绝节点 {lost_nodes} 个、规则 {lost} 条",
    ),
    "rules_would": (
        "Dry run of pack {pack}, nothing done: {nodes:node|nodes} and {statements:rule|rules};\n"
        "would refuse {lost_nodes} and {lost}",
        "试运行规则包 {pack}，未作改动：节点 {nodes} 个、规则 {statements} 条；\n"
        "将拒绝节点 {lost_nodes} 个、规则 {lost} 条",
    ),
    "rules_embedding": ("Embedding {count:name|names} …", "正在向量化 {count} 个名称……"),
    "rules_names": (
        "Embedded {count:name|names}: texts that mean one without saying it are recognised, too.",
        "已向量化 {count} 个名称：意思相近而措辞不同的文字也能识别。",
    ),
    "rules_not_pruned": (
        "Nothing was retired: what is missing in a faulty book may be missing by mistake.",
        "因有条目被拒绝，此前的规则全部保留，未停用任何一条。",
    ),
    "rules_schema_first": (
        "Import a schema that declares these kinds first, then this again: wenyuan rules import {pack}",
        "请先导入声明了这些类别的规则包，再重新导入：wenyuan rules import {pack}",
    ),
    "rules_need_source": (
        "{count:rule names|rules name} no source. Say which one they come from: --source ID\n"
        "(wenyuan source list; a new one: wenyuan add ./documents --source ID)",
        "有 {count} 条规则没有写来源。请用 --source ID 指明它们出自知识库的哪个来源\n"
        "（wenyuan source list；新来源：wenyuan add ./documents --source ID）",
    ),
    "rules_waiting": (
        "{count:rule waits|rules wait} for review: wenyuan rules review",
        "有 {count} 条规则待审核：wenyuan rules review",
    ),
    "rules_sources": ("Registered sources: {ids}", "已登记来源：{ids}"),
    "rules_would_register": ("Would register sources: {ids}", "将登记来源：{ids}"),
    "rules_errors": ("Errors: {count}", "错误 {count} 处"),
    "rules_notes": ("Notes: {count}", "说明 {count} 条"),
    "rules_of_code": ("  {count} × {code}, first:", "  同类 {count} 处，第一处："),
    "rules_show_all": (
        "… and {count} more changes: --all shows them, --json lists them",
        "……另有 {count} 项变更：用 --all 显示全部，或用 --json 列出",
    ),
    "hits_more": (
        "… and {count} more: --all shows them, --json lists them",
        "……另有 {count} 条：用 --all 显示全部，或用 --json 列出",
    ),
    "rules_all_faults": ("Grouped; --all shows each one.", "已分组；用 --all 逐条显示。"),
    # -- files
    "rules_exported": (
        "Wrote {nodes:node|nodes} and {statements:rule|rules} to {file}",
        "已将节点 {nodes} 个、规则 {statements} 条写入 {file}",
    ),
    "rules_template": ("Wrote a workbook to fill in: {file}", "已写入待填写的工作簿：{file}"),
    "rules_to_file": ("a workbook goes into a file: -o FILE.xlsx", "工作簿须写入文件：-o FILE.xlsx"),
    # -- lists
    "rules_none": (
        "The library has no rules yet. Import some: wenyuan rules import construction",
        "知识库中还没有规则。导入：wenyuan rules import construction",
    ),
    "rules_no_node": ("Nothing in the graph is called so.", "规则图中没有这样的名称。"),
    "rules_counts": (
        "Nodes {nodes} · rules {statements} · waiting for review {proposed} · packs: {packs}",
        "节点 {nodes} · 规则 {statements} · 待审核 {proposed} · 规则包：{packs}",
    ),
    "rules_next": ("More: --after {after}", "更多：--after {after}"),
    "col_kind": ("kind", "类别"),
    "col_name": ("name", "名称"),
    "col_english": ("also", "又名"),
    "col_pack": ("pack", "规则包"),
    "col_imported": ("imported", "已导入"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    # -- single rules and reviews
    "rule_id": ("rule", "规则"),
    "rule_condition": ("condition", "条件"),
    "rule_strength": ("strength", "效力"),
    "rule_reason": ("why", "原因"),
    "rule_weight": ("weight", "权重"),
    "rule_pack": ("pack", "规则包"),
    "rule_evidence": ("evidence", "依据"),
    "quote_unverified": ("(not verified)", "（引文未核对）"),
    "rule_lost": ("lost evidence", "已失去的依据"),
    "rule_reviews": ("reviews", "审核"),
    "rule_since": ("since", "自"),
    "rule_sentence": ("sentence", "表述"),
    "mandatory": ("mandatory", "强制"),
    "recommended": ("recommended", "推荐"),
    "informative": ("informative", "参考"),
    "state_proposed": ("waiting for review", "待审核"),
    "state_approved": ("approved", "已批准"),
    "state_rejected": ("rejected", "已驳回"),
    "state_live": ("live", "有效"),
    "state_future": ("not in force yet", "尚未生效"),
    "did_imported": ("imported", "导入"),
    "did_evidence withdrawn": ("evidence withdrawn from", "依据失效"),
    "did_approve": ("approved", "批准"),
    "did_reject": ("rejected", "驳回"),
    "did_retire": ("retired", "停用"),
    "rule_retired": ("retired", "已停用"),
    "review_empty": ("No rule waits for a review.", "没有待审核的规则。"),
    "review_next": (
        "Decide: wenyuan rules review --approve {ids} (or 1-50, or all)",
        "审核：wenyuan rules review --approve {ids}（也可写 1-50 或 all）",
    ),
    "review_one": (
        "give one of --approve, --reject, --retire",
        "请在 --approve、--reject、--retire 中选一个",
    ),
    "review_reason": ("--retire needs a --reason", "--retire 须说明原因：--reason"),
    "review_done": ("{done}: {count:rule|rules}", "{done}：{count} 条规则"),
    "really_pack": (
        "Take back pack {pack}, which supports {count:piece|pieces} of evidence?",
        "确定移除规则包 {pack} 及其 {count} 条依据？",
    ),
    "pack_removed": (
        "Removed pack {pack}: retired {statements:rule|rules} and {nodes:node|nodes}; what others support stays.",
        "已移除规则包 {pack}：停用规则 {statements} 条、节点 {nodes} 个；其他规则包支持的内容保留。",
    ),
    # -- inference and unified retrieval
    "infer_what": ("name a process, or give --text", "请给出工序名称，或者使用 --text"),
    "param_form": ("{text} is not like depth_m=6", "{text} 不符合 depth_m=6 的形式"),
    "param_twice": ("--param {name} stands twice", "--param {name} 重复出现"),
    "infer_guess": ("{name} (a guess, {confidence})", "{name}（推测，{confidence}）"),
    "infer_found": ("Rules: {count} · recognised: {names}", "规则 {count} 条 · 已识别：{names}"),
    "infer_none": ("No rule. Reason: {reason}", "没有规则。原因：{reason}"),
    "cases_none": ("No case. Reason: {reason}", "没有案例。原因：{reason}"),
    "unmatched": ("Not in the rules graph: {names}", "规则图中没有：{names}"),
    "rule_also": ("also: {path}", "另经：{path}"),
    "rule_also_more": ("also by {count} more paths", "另经其他 {count} 条路径"),
    "rule_holds_for": ("holds for: {names}", "适用于：{names}"),
    "cut": ("Cut: {what}", "已截断：{what}"),
    "note": ("Note: {what}", "注意：{what}"),
    "engine_rules": ("rules", "规则"),
    "engine_cases": ("cases", "案例"),
    "engine_failed": ("failed: {why}", "故障：{why}"),
    "engine_skipped": ("not needed for this chapter", "本章节不需要"),
    "engine_state": ("{engine}: {state}", "{engine}：{state}"),
    "united_found": (
        "Found {count}: {rules:rule|rules}, {cases:case|cases}, {templates:template|templates}",
        "找到 {count} 条：规则 {rules}，案例 {cases}，模板 {templates}",
    ),
    "united_repeated": (
        "{count:that only repeats a rule is|that only repeat a rule are} left out",
        "{count} 条与规则重复，已略去",
    ),
    "origin_rule": ("[rule]", "[规则]"),
    "origin_case": ("[case]", "[案例]"),
    "origin_template": ("[template]", "[模板]"),
    "condition_also": ("; ", "；"),
    "condition_met": ("condition met: {condition}", "条件已满足：{condition}"),
    "condition_open": (
        "UNVERIFIED: {condition} (give {missing})",
        "条件未核实：{condition}（需要参数 {missing}）",
    ),
    "part_link": ("link", "识别"),
    "part_weight": ("weight", "权重"),
    "part_support": ("trust", "可信度"),
    "part_condition": ("condition", "条件"),
    "part_inheritance": ("inheritance", "继承"),
    "part_asked": ("question", "问题"),
}
