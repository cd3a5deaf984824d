"""All that the command line says to a person: key → (English, Chinese)."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MESSAGES"]

MESSAGES: Mapping[str, tuple[str, str]] = {
    # -- failures and interruptions
    "failed": ("Failed: {what}", "失败：{what}"),
    "where": ("where: ", "部位："),
    "why": ("why:   ", "原因："),
    "next": ("next:  ", "下一步："),
    "interrupted": ("Interrupted. {kept}", "已中断。{kept}"),
    "nothing_lost": ("Nothing that was stored before is lost.", "此前已保存的内容没有丢失。"),
    "go_on": ("Go on with: {command}", "继续执行：{command}"),
    "kept": (
        "Kept: {documents} documents with {passages} passages of source {source}.",
        "已保留：来源 {source} 的 {documents} 个文档、{passages} 个段落。",
    ),
    # -- the library
    "made": ("Made an empty library in {folder}", "已在 {folder} 建立空的知识库"),
    "made_next": ("Next: {command}", "下一步：{command}"),
    "keyword_only": (
        "Keyword-only: {why}",
        "仅关键词检索：{why}",
    ),
    "progress": (
        "file {files}/{total}, passages {passages}, {rate}/s, about {left} left",
        "文件 {files}/{total}，段落 {passages}，每秒 {rate}，约剩 {left}",
    ),
    # -- reports
    "report": ("Source {source}: done in {seconds} s", "来源 {source}：完成，用时 {seconds} 秒"),
    "report_documents": (
        "  documents  {added} added, {changed} changed, {unchanged} unchanged, {retired} retired",
        "  文档  新增 {added}，更新 {changed}，未变 {unchanged}，移除 {retired}",
    ),
    "report_passages": (
        "  passages   {passages} new, {embedded} embedded; {files} files read",
        "  段落  新增 {passages}，已向量化 {embedded}；文件 {files} 个",
    ),
    "report_skipped": ("  skipped    {kinds}", "  跳过  {kinds}"),
    "report_notes": (
        "  notes      {count} on {documents} documents",
        "  备注  {documents} 个文档共 {count} 条",
    ),
    "report_failed": ("  failed     {count} documents:", "  失败  {count} 个文档："),
    "more": ("    … and {count} more", "    ……另有 {count} 个"),
    "ingest_which": (
        "name a source, or give --all",
        "请指定来源，或者使用 --all",
    ),
    "no_sources": (
        "The library has no sources yet. Add one: wenyuan add PATH --source ID",
        "知识库中还没有来源。添加：wenyuan add PATH --source ID",
    ),
    "removed": (
        "Removed source {source} with {documents} documents; the original files were not touched.",
        "已移除来源 {source} 及其 {documents} 个文档；原始文件未改动。",
    ),
    "really": (
        "Remove source {source} with {documents} documents from the library?",
        "确定从知识库移除来源 {source} 及其 {documents} 个文档？",
    ),
    "not_removed": ("Nothing was removed.", "没有移除任何内容。"),
    # -- sources
    "col_source": ("source", "来源"),
    "col_trust": ("trust", "可信度"),
    "col_documents": ("docs", "文档"),
    "col_passages": ("passages", "段落"),
    "col_failures": ("failed", "失败"),
    "col_title": ("title", "标题"),
    "source_id": ("source", "来源"),
    "title": ("title", "标题"),
    "type": ("type", "类型"),
    "domain": ("domain", "领域"),
    "trust": ("trust", "可信度"),
    "language": ("language", "语言"),
    "collection": ("collection", "集合"),
    "copyright": ("copyright", "版权"),
    "path": ("path", "路径"),
    "effective_from": ("in force from", "生效日期"),
    "effective_until": ("in force until", "失效日期"),
    "documents": ("documents", "文档"),
    "passages": ("passages", "段落"),
    "vectors": ("vectors", "向量"),
    "failures": ("failed", "失败"),
    # -- search
    "found": (
        "Found {count} · {mode} · {ms} ms",
        "找到 {count} 个段落 · {mode} · {ms} 毫秒",
    ),
    "found_none": ("Nothing found · {mode} · {ms} ms", "没有找到 · {mode} · {ms} 毫秒"),
    "mode_hybrid": ("keywords and vectors", "关键词与向量"),
    "mode_keyword-only": ("keyword-only", "仅关键词"),
    "floor": ("floor {floor}", "门槛 {floor}"),
    "reason": ("Reason: {reason}", "原因：{reason}"),
    "leg": ("{name}: {state}, {hits} hits, {ms} ms", "{name}：{state}，命中 {hits}，{ms} 毫秒"),
    "keyword": ("keyword leg", "关键词分支"),
    "vector": ("vector leg", "向量分支"),
    "ok": ("ok", "正常"),
    "not configured": ("not configured", "未配置"),
    "in_force": ("in force from {since} to {until}", "自 {since} 至 {until} 有效"),
    "in_force_since": ("in force since {since}", "自 {since} 起施行"),
    "in_force_until": ("in force until {until}", "有效至 {until}"),
    "try_doctor": ("To have vectors too: wenyuan doctor", "如需向量检索：wenyuan doctor"),
    # -- serve
    "serving": ("Serving {folder} on {url}", "正在 {url} 提供服务，知识库 {folder}"),
    "ready": ("ready", "就绪"),
    "not_ready": ("not ready", "未就绪"),
    "state_ok": ("ok", "正常"),
    "state_degraded": ("degraded", "降级"),
    "state_failed": ("failed", "故障"),
    "try_curl": ("Try it:", "试一试："),
    "stop_hint": ("Stop with Ctrl-C.", "按 Ctrl-C 停止。"),
    "stopped": ("Stopped; open requests were finished.", "已停止，进行中的请求均已完成。"),
    "curl_query": ("how long until a complaint is answered", "投诉多久答复"),
    # -- conformance
    "one_target": (
        "give one of URL, --python MODULE:FACTORY, --self (or --export-data DIR alone)",
        "请在 URL、--python MODULE:FACTORY、--self 中选一个（或单独使用 --export-data DIR）",
    ),
    "exported": (
        "Wrote {count} files to {folder}: let the service take in {folder}/documents, and nothing else.",
        "已在 {folder} 写入 {count} 个文件：请让被测服务只收录 {folder}/documents。",
    ),
    "conforms": ("Conformant: {passed} of {total} cases passed.", "符合规范：{total} 项中通过 {passed} 项。"),
    "conforms_not": (
        "Not conformant: {failed} of {total} cases failed.",
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
    "doctor_warn": ("Works, with {count} remarks.", "可以工作，有 {count} 项需要注意。"),
    "doctor_fail": ("{count} checks failed.", "{count} 项检查未通过。"),
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
    "d_floor": ("floor", "门槛"),
    "d_disk": ("disk", "磁盘"),
    "d_defaults": ("defaults", "默认值"),
    "d_counts": (
        "{documents} documents, {passages} passages, {vectors} vectors of {sources} sources",
        "{sources} 个来源，{documents} 个文档，{passages} 个段落，{vectors} 个向量",
    ),
    "d_empty": ("no documents yet", "还没有文档"),
    "d_failures": ("{count} documents could not be taken in", "{count} 个文档未能收录"),
    "d_unmeasured": ("not measured yet", "尚未测定"),
    "d_measured": ("{mode}: {floor}", "{mode}：{floor}"),
    "d_free": (
        "catalog {catalog}, index {index}, {free} free",
        "目录库 {catalog}，索引 {index}，可用 {free}",
    ),
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
    "demo_failure": (
        "4  A failure that is no empty answer",
        "4  故障不会冒充空答案",
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
