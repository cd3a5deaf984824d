"""Questions: search, contexts, the server."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MESSAGES"]

MESSAGES: Mapping[str, tuple[str, str]] = {
    # -- search
    "found": (
        "Found {count} · {mode} · {ms} ms",
        "找到 {count} 个段落 · {mode} · {ms} 毫秒",
    ),
    "found_unlikely": (
        "{count} more would answer in fewer than one case of 200; --json has them",
        "另有 {count} 个段落作为答案的概率不到 0.5%，可用 --json 查看",
    ),
    "found_none": ("Nothing found · {mode} · {ms} ms", "没有找到 · {mode} · {ms} 毫秒"),
    "mode_hybrid": ("keywords and vectors", "关键词与向量"),
    "mode_keyword-only": ("keyword-only", "仅关键词"),
    "part_vector": ("vector", "向量"),
    "part_keyword": ("keyword", "关键词"),
    "part_law": ("law", "另属他法"),
    "part_context": ("context", "上下文"),
    "part_trust": ("trust", "可信度"),
    "part_identifier": ("identifier", "指明的条款"),
    "part_outside": ("outside", "外部得分"),
    "part_rivals": ("rivals", "其他候选"),
    "part_spread": ("spread", "离散度"),
    "part_match": ("match", "匹配概率"),
    "part_answerable": ("answerable", "有答案的概率"),
    "part_at most": ("at most", "至多"),
    "part_reranker": ("reranker", "重排序"),
    "floor": (
        "an answer takes a probability of {floor}; here it is {answerable}",
        "作答门槛 {floor}，此问为 {answerable}",
    ),
    "wording": ("also asked as: {text}", "同时换用说法：{text}"),
    "in_wording": ("its keyword score is that of: {text}", "关键词得分来自说法：{text}"),
    "reason": ("Reason: {reason}", "原因：{reason}"),
    "stale_by": (
        "As of {seconds} s ago: the library is being written.",
        "知识库正在写入，答案基于 {seconds} 秒前的内容。",
    ),
    "leg": ("{name}: {state}, {hits:hit|hits}, {ms} ms", "{name}：{state}，命中 {hits}，{ms} 毫秒"),
    "leg_withheld": ("  (not in force on the day: {count})", "（当日未生效或已失效：{count}）"),
    "leg_remembered": ("  (the query's vector was remembered)", "（问题向量取自缓存）"),
    "leg_source": ("source {name}", "来源 {name}"),
    "leg_failed": ("failed", "失败"),
    "leg_rules": ("rules leg", "规则分支"),
    "keyword": ("keyword leg", "关键词分支"),
    "vector": ("vector leg", "向量分支"),
    "leg_reranker": ("reranker", "重排序"),
    "ok": ("ok", "正常"),
    "skipped": ("skipped", "已跳过"),
    "not configured": ("not configured", "未配置"),
    "in_force": ("in force from {since} to {until}", "自 {since} 至 {until} 有效"),
    "also_in": ("also in {uri}", "亦见于 {uri}"),
    "in_force_since": ("in force since {since}", "自 {since} 起施行"),
    "in_force_until": ("in force until {until}", "有效至 {until}"),
    "try_doctor": ("To have vectors too: wenyuan doctor", "如需向量检索：wenyuan doctor"),
    # -- context
    "context_some": ("Snippets: {count} · tokens {tokens}", "片段 {count} 个 · 约 {tokens} 个 token"),
    "context_none": ("No snippet: nothing that may enter a prompt was found.", "没有可以进入提示词的片段。"),
    "withheld": ("Withheld: {reasons}", "未给出：{reasons}"),
    "withheld_low_trust": ("low trust {count}", "可信度低 {count}"),
    "withheld_copyright": ("copyright {count}", "版权 {count}"),
    "withheld_budget": ("budget {count}", "超出预算 {count}"),
    "withheld_top_k": ("cut by top_k auto {count}", "top_k 为 auto 时截去 {count}"),
    "withheld_duplicate": ("duplicate {count}", "重复 {count}"),
    "context_degraded": ("Degraded: {names}", "降级：{names}"),
    "url_or_agent": (
        "--agent and --task are known to our own service alone: leave out --url, or them",
        "--agent 与 --task 只用于本知识库，不能与 --url 同用",
    ),
    # -- serve
    "opening": ("Opening the library {folder} …", "正在打开知识库 {folder} …"),
    "serving": ("Serving {folder} on {url}", "正在 {url} 提供服务，知识库 {folder}"),
    "console_at": ("Console in the browser: {url}/", "浏览器控制台：{url}/"),
    "ready": ("ready", "就绪"),
    "not_ready": ("not ready", "未就绪"),
    "state_ok": ("ok", "正常"),
    "state_degraded": ("degraded", "降级"),
    "state_failed": ("failed", "故障"),
    "state_starting": ("starting", "准备中"),
    "try_curl": ("Try it:", "试一试："),
    "stop_hint": ("Stop with Ctrl-C.", "按 Ctrl-C 停止。"),
    "stopped": ("Stopped; open requests were finished.", "已停止，进行中的请求均已完成。"),
    "curl_query": ("how long until a complaint is answered", "投诉多久答复"),
}
