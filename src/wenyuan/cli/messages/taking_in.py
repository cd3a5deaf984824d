"""Libraries, sources, and what is taken in."""

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
        "Kept: {documents:document|documents} with {passages:passage|passages} of source {source}.",
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
    "report_held_back": (
        "  held back  {held_back:document that was|documents that were} not met: perhaps in a file that failed",
        "  保留  {held_back} 个文档未见，但可能位于失败的文件中，暂不移除",
    ),
    "report_passages": (
        "  passages   {passages} new, {embedded} embedded; {files:file|files} read",
        "  段落  新增 {passages}，已向量化 {embedded}；文件 {files} 个",
    ),
    "report_rules": (
        "  rules      {evidences_lost:quote no longer stands|quotes no longer stand} there; {rules_retired:rule|rules} retired",
        "  规则  依据失效 {evidences_lost} 条，停用规则 {rules_retired} 条",
    ),
    "report_skipped": ("  skipped    {kinds}", "  跳过  {kinds}"),
    "report_notes": (
        "  notes      {count} on {documents:document|documents}",
        "  备注  {documents} 个文档共 {count} 条",
    ),
    "report_failed": ("  failed     {count:document|documents}:", "  失败  {count} 个文档："),
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
        "Removed source {source} with {documents:document|documents}; the original files were not touched.",
        "已移除来源 {source} 及其 {documents} 个文档；原始文件未改动。",
    ),
    "really": (
        "Remove source {source} with {documents:document|documents} from the library?",
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
    "status": ("status", "状态"),
    "supersedes": ("supersedes", "取代"),
    "refresh_cycle": ("refreshed", "更新周期"),
    "owner": ("owner", "负责人"),
    "sensitivity": ("sensitivity", "敏感级别"),
    "tags": ("tags", "标签"),
    "state_in_force": ("in force", "有效"),
    "state_draft": ("draft", "草案"),
    "state_retired": ("retired", "已废止"),
    "state_last_success": ("last refreshed", "上次更新成功"),
    "state_last_failure": ("last failure", "上次更新失败"),
    "state_reason": ("why it failed", "失败原因"),
    "state_failures_in_a_row": ("failures in a row", "连续失败次数"),
    "state_next_refresh": ("next refresh", "下次更新"),
    "state_stale_since": ("stale since", "过期自"),
    "state_refreshing": ("being refreshed by", "正在更新"),
    "set_what": ("name at least one field to change", "请至少指定一个要修改的字段"),
    "set_done": ("Source {source}: changed {fields}", "来源 {source}：已修改 {fields}"),
    "set_same": ("Source {source}: nothing changed", "来源 {source}：没有变化"),
    # -- refresh
    "refresh_which": (
        "name a source, or give --all or --due",
        "请指定来源，或者使用 --all、--due",
    ),
    "without_path": (
        "Left out, for they have no path to read from: {count} ({sources})",
        "没有路径、无可读取，已略过：{count} 个（{sources}）",
    ),
    "nothing_due": ("Nothing is due.", "没有到期的来源。"),
    "refresh_failed": ("Source {source}: failed: {why}", "来源 {source}：刷新失败：{why}"),
    "try_again": ("  tried again: {at}", "  下次重试：{at}"),
    "answers": ("Source {source}: answers", "来源 {source}：应答正常"),
    "due_again": ("  due again  {at}", "  下次更新  {at}"),
    "working": (
        "Worker {worker}: {due:source|sources} due; looks every {poll} s",
        "工作进程 {worker}：{due} 个来源到期；每 {poll} 秒检查一次",
    ),
    "worker_stopped": (
        "Stopped; {refreshed} refreshed, {failed} failed.",
        "已停止；刷新 {refreshed} 次，失败 {failed} 次。",
    ),
    # -- moving a library
    "move_copying": ("copying {table}: {done} of {total}", "正在复制 {table}：{done}/{total}"),
    "move_comparing": ("comparing {table}: {done} of {total}", "正在核对 {table}：{done}/{total}"),
    "moved": (
        "Moved and compared: {rows} rows in {tables} tables, {seconds} s. The old library is as it was.",
        "已迁移并核对：{tables} 张表，共 {rows} 行，用时 {seconds} 秒。原知识库未改动。",
    ),
    # -- another encoder, and copies
    "backed_up": (
        "Copied {size} to {to}; the index is built at the first question.",
        "已复制 {size} 到 {to}；索引在首次提问时建立。",
    ),
    "reembed_text": ("embedding {done} of {total:passage|passages}", "正在向量化：{done}/{total} 个段落"),
    "reembed_index": (
        "building the index of {total:passage|passages}, and measuring",
        "正在为 {total} 个段落建立索引，并测定门槛",
    ),
    "reembed_same": (
        "All passages have vectors of {encoder} ({dimension} dimensions) already.",
        "所有段落已有 {encoder} 的向量（{dimension} 维）。",
    ),
    "reembedded": (
        "Embedded anew with {encoder} ({dimension} dimensions): {passages:passage|passages}, {embedded} of them now, {seconds} s. The index holds them all.",
        "已用 {encoder}（{dimension} 维）重新向量化：共 {passages} 个段落，本次 {embedded} 个，用时 {seconds} 秒；索引已全部包含。",
    ),
    "reembed_next": (
        "Restart the servers of this library. What was learned by wenyuan tune is to be learned anew.",
        "请重启使用此知识库的服务；此前由 wenyuan tune 学到的调优需重新学习。",
    ),
    "moved_head": ("The audit verifies; head: {head}", "审计链校验通过，链头：{head}"),
    "moved_next_server": (
        "From now on: export WENYUAN_CATALOG__DSN='postgresql://…', for every server and worker",
        "此后请为每个服务与工作进程设置：export WENYUAN_CATALOG__DSN='postgresql://…'",
    ),
    "moved_next_folder": (
        "From now on: unset WENYUAN_CATALOG__DSN, and wenyuan --library {to} …; its index is built at the first question",
        "此后请取消 WENYUAN_CATALOG__DSN，并使用 wenyuan --library {to} …；索引在首次提问时建立",
    ),
}
