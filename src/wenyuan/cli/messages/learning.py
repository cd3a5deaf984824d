"""Messages: tuning, feedback, tests, checks and the demonstration."""

from __future__ import annotations

from collections.abc import Mapping

# Tuning and feedback.


LEARNING_MESSAGES: Mapping[str, tuple[str, str]] = {
    # -- eval --golden
    "eval_what": (
        "name the folders of judged sets, or --golden FILE, or --runs; one of them",
        "请指定评测集目录，或 --golden 文件，或 --runs，三者取一",
    ),
    "eval_own": (
        "--golden and --runs are about your own library: the other options do not fit",
        "--golden 与 --runs 针对自己的知识库，不能与其他评测选项同用",
    ),
    "eval_at_read": ("Reading what the library holds …", "正在读取知识库内容……"),
    "eval_at_ask": ("Asking: {done} of {total}", "正在提问：{done}/{total}"),
    "eval_at_nonsense": ("Asking nonsense: {done} of {total}", "正在用无意义问题测试：{done}/{total}"),
    "eval_asked": ("{name}: {questions:question|questions} ({seconds} s)", "{name}：{questions} 个问题（{seconds} 秒）"),
    "eval_unknown": (
        "Questions to which the library has no answer, counted as not found: {count}",
        "知识库中没有答案的问题（计为未找到）：{count} 个",
    ),
    "eval_astray": ("Addresses that are not in the library, some of them:", "知识库中没有的地址（部分）："),
    "eval_ndcg": ("nDCG@10          ", "nDCG@10       "),
    "eval_recall": ("recall@10        ", "召回@10       "),
    "eval_mrr": ("MRR@10           ", "MRR@10        "),
    "eval_hit": ("right at first   ", "首位即正确    "),
    "eval_answered": ("answered         ", "有答案        "),
    "eval_refused": ("nonsense refused ", "无意义被拒    "),
    "eval_no_answer": (
        "{count:question|questions} beside these must not be answered",
        "另有 {count} 个不应作答的问题",
    ),
    "eval_no_answer_refused": ("… without answer  ", "无答案而拒答  "),
    "eval_no_answer_first": ("… else first score", "无答案的首位分"),
    "eval_ece": ("calibration error", "校准误差      "),
    "eval_p50_ms": ("ms, median       ", "毫秒，中位    "),
    "eval_p95_ms": ("ms, p95          ", "毫秒，p95     "),
    "eval_better": (
        "Better than evaluation {number} ({day}): nDCG@10 {mean}, by 90 % between {lower} and {upper}.",
        "比第 {number} 次评测（{day}）好：nDCG@10 {mean}，九成把握在 {lower} 与 {upper} 之间。",
    ),
    "eval_worse": (
        "WORSE than evaluation {number} ({day}): nDCG@10 {mean}, by 90 % between {lower} and {upper}.",
        "比第 {number} 次评测（{day}）差：nDCG@10 {mean}，九成把握在 {lower} 与 {upper} 之间。",
    ),
    "eval_no_difference": (
        "No difference to evaluation {number} ({day}) that these questions can tell: nDCG@10 {mean}, by 90 % between "
        "{lower} and {upper}.",
        "与第 {number} 次评测（{day}）相比，这些问题看不出差别：nDCG@10 {mean}，九成把握在 {lower} 与 {upper} 之间。",
    ),
    "eval_gained": ("{gained:question|questions} gained, {lost} lost.", "{gained} 个问题变好，{lost} 个变差。"),
    "eval_kept": ("Kept as evaluation {number}.", "已保存为第 {number} 次评测。"),
    "eval_none": ("No evaluations yet: wenyuan eval --golden FILE", "尚无评测：wenyuan eval --golden 文件"),
    "eval_run": (
        "{number}  {day}  nDCG@10 {ndcg}  answered {answered}  refused {refused}  {name} ({questions})",
        "{number}  {day}  nDCG@10 {ndcg}  有答案 {answered}  被拒 {refused}  {name}（{questions}）",
    ),
    "feedback_good": ("right", "正确"),
    "feedback_bad": ("wrong", "错误"),
    "feedback_kept": (
        "Kept: {count}. Learned from at the next: wenyuan tune",
        "已保存 {count} 条，下次 wenyuan tune 时学习。",
    ),
    "tune_alone": (
        "--undo and --status stand alone",
        "--undo 与 --status 须单独使用",
    ),
    "tune_read": ("Reading passages and their vectors …", "正在读取段落与向量……"),
    "tune_embed": ("Embedding questions: {done} of {total}", "正在计算问题向量：{done}/{total}"),
    "tune_learn": ("Learning: fold {done} of {total}", "正在学习：第 {done}/{total} 折"),
    "tune_questions": (
        "Questions to learn from: {count} ({pairs})",
        "可学习的问题：{count} 个（{pairs}）",
    ),
    "tune_from_golden": ("golden file: {count:pair|pairs}", "标准答案文件 {count} 对"),
    "tune_from_feedback": ("feedback: {count:judgement|judgements}", "反馈 {count} 条"),
    "tune_unknown": ("Addresses that are not in the library: {count}", "知识库中没有的地址：{count} 个"),
    "tune_lost": (
        "Judgements whose question is not kept: {count}",
        "问题原文未保存的反馈：{count} 条",
    ),
    "tune_held_out": (
        "nDCG@10 on questions about documents that nothing was learned of:",
        "针对未学习过的文档的问题，nDCG@10：",
    ),
    "tune_held_out_same": (
        "nDCG@10 on other questions about the same documents:",
        "针对同一批文档的其他问题，nDCG@10：",
    ),
    "tune_across": (
        "Held out in no fold, as their answers are in documents of several: {count:question|questions}",
        "答案跨多折文档、未参与检验的问题：{count} 个",
    ),
    "tune_fold": ("fold {number}", "第{number}折"),
    "tune_all": ("all   ", "全部 "),
    "tune_sure": (
        "Better: {better:question|questions}, worse: {worse}. Expected gain: {gain}, "
        "between {lower} and {upper} (99 % sure of each end).",
        "变好 {better} 个问题，变差 {worse} 个。预计提升 {gain}，在 {lower} 与 {upper} 之间（两端把握各 99%）。",
    ),
    "tune_collapsed": (
        "Fold {number} loses, and not by accident.",
        "第{number}折变差，且并非偶然。",
    ),
    "tune_error": (
        "Error of the probabilities (ECE) on the same questions: {before} → {after}.",
        "同样这些问题上的概率误差（ECE）：{before} → {after}。",
    ),
    "tune_adopted": (
        "Adopted as tuning {number}, for the whole library ({seconds} s).",
        "已采用，编号 {number}，对整个知识库生效（{seconds} 秒）。",
    ),
    "tune_would_be_adopted": (
        "It would be adopted; --dry-run changes nothing ({seconds} s).",
        "可以采用；--dry-run 不作改动（{seconds} 秒）。",
    ),
    "tune_no_gain": (
        "Not adopted: unseen questions do not gain for certain. Nothing was changed ({seconds} s).",
        "未采用：在未学习过的问题上没有确定的提升。未作任何改动（{seconds} 秒）。",
    ),
    "tune_cannot_tell": (
        "Not adopted: what was learned of some documents must be tried on others, and these questions do not allow it "
        "({seconds} s). Documents apart from one another: {documents} (at least {least}); the questions about one, or "
        "about several that are tied, are {largest} % of all (at most 50 %); {across} % have answers in documents of "
        "several folds (less than 50 %). Nothing was changed. "
        "Add questions about other documents.",
        "未采用：从部分文档学到的，须用其他文档的问题检验，而这些问题做不到（{seconds} 秒）。"
        "可互相分开的文档 {documents} 个（至少 {least} 个）；集中在同一文档（或相互关联的文档）上的问题占 {largest}%"
        "（至多 50%）；答案跨多折的问题占 {across}%（须少于 50%）。未作任何改动。请补充针对其他文档的问题。",
    ),
    "tune_if_same": (
        "If all questions to come are about these same documents, as those of an FAQ are: add --same-documents",
        "如果今后的问题都针对这批文档（例如问答库），请加 --same-documents",
    ),
    "tune_too_few": (
        "Too few to learn from: {needed:question is|questions are} needed. Nothing was changed.",
        "问题太少：至少需要 {needed} 个。未作任何改动。",
    ),
    "tune_how": (
        "Strength of the map: {strength}; weight of the vectors: {before} → {after}.",
        "映射强度 {strength}；向量权重 {before} → {after}。",
    ),
    "tune_take_back": ("To take it back: wenyuan tune --undo", "撤销：wenyuan tune --undo"),
    "tune_undone": (
        "Tuning {number} is taken back; scores are what they were without it.",
        "调优 {number} 已撤销，得分恢复原样。",
    ),
    "tune_none": ("The library has no tuning. Learn one: wenyuan tune --golden FILE", "知识库没有调优。学习：wenyuan tune --golden FILE"),
    "tune_counts": (
        "Tuning {number} counts since {since}; weight of the vectors {weight}.",
        "调优 {number} 自 {since} 起生效，向量权重 {weight}。",
    ),
    "tune_ignored": (
        "Tuning {number}, adopted {since}, does not count: it was learned with another encoder. "
        "Learn anew: wenyuan tune --golden FILE",
        "调优 {number}（{since} 采用）未生效：它是用另一个编码器学习的。重新学习：wenyuan tune --golden FILE",
    ),
    "tune_promised": (
        "Learned from {questions:question|questions}; held-out nDCG@10 {before} → {after}.",
        "学习了 {questions} 个问题；未参与学习的问题 nDCG@10 {before} → {after}。",
    ),
    # -- encoder check
    "encoder_text": ("Embedding probes: {done} of {total}", "正在计算试题向量：{done}/{total}"),
    "encoder_model": (
        "{folder}: vectors of {dimension} dimensions. Questions that find their answer first, and by how much:",
        "{folder}：{dimension} 维向量。首位即为答案的问题占比与领先幅度：",
    ),
    "encoder_row": (
        "  {name}  zh {zh}  en {en}  margin {margin}",
        "  {name}  中文 {zh}  英文 {en}  领先 {margin}",
    ),
    "encoder_pooling_cls": ("first token (cls) ", "首词元（cls） "),
    "encoder_pooling_mean": ("mean              ", "平均（mean）  "),
    "encoder_pooling_last": ("last token (last) ", "末词元（last）"),
    "encoder_pooling_own": ("the graph's own   ", "模型自带池化  "),
    "encoder_sure": (
        "Right: pooling {pooling}, {ahead} ahead of the next, for certain.",
        "正确的池化：{pooling}，确定领先其次者 {ahead}。",
    ),
    "encoder_unsure": (
        "Pooling {pooling} is kept; it is {ahead} ahead of the next, which these probes cannot tell from nothing.",
        "沿用池化 {pooling}；它领先其次者 {ahead}，这些试题不足以分出高下。",
    ),
    "encoder_otherwise": (
        "Without these settings (pooling {pooling}, prefixes {query} and {passage}) it is worse for certain: "
        "margin {margin}.",
        "不加这些设置（池化 {pooling}，前缀 {query} 与 {passage}），结果确定更差：领先 {margin}。",
    ),
    "encoder_foreign_zh": (
        "It does not know Chinese: most Chinese questions do not find their answers. Use it for English libraries alone.",
        "该模型不懂中文：多数中文问题找不到答案，只适合英文知识库。",
    ),
    "encoder_foreign_en": (
        "It does not know English: most English questions do not find their answers. Use it for Chinese libraries alone.",
        "该模型不懂英文：多数英文问题找不到答案，只适合中文知识库。",
    ),
    "encoder_paste": (
        "Paste into wenyuan.toml of the library (scale: cosines from unrelated to identical):",
        "请粘贴到知识库的 wenyuan.toml（scale 为从无关到相同的余弦）：",
    ),
    "encoder_next": (
        "Then give the library its vectors: wenyuan reembed",
        "然后为知识库重新计算向量：wenyuan reembed",
    ),
}  # fmt: skip


# Tests, checks and the demonstration.


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
