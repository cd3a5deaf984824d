"""Evaluations."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MESSAGES"]

MESSAGES: Mapping[str, tuple[str, str]] = {
    "eval_lead": (
        "Questions whose answers are known, asked of the library from time to time: is it better or worse than last month?",
        "用已知答案的问题不时询问知识库：比上个月好还是差？",
    ),
    "eval_better": ("Better than before", "比以前好"),
    "eval_worse": ("WORSE than before", "比以前差"),
    "eval_no difference": ("No difference that these questions can tell", "这些问题看不出差别"),
    "eval_change": (
        "nDCG@10 {mean} since {day}, by 90 % between {lower} and {upper}; {gained:question|questions} gained, {lost} lost.",
        "自 {day} 以来 nDCG@10 {mean}，九成把握在 {lower} 与 {upper} 之间；{gained} 个问题变好，{lost} 个变差。",
    ),
    "eval_compare": ("See the questions", "逐题查看"),
    "eval_unknown": (
        "{count:question has|questions have} no answer in the library any more, and count as not found.",
        "知识库中已没有 {count} 个问题的答案，计为未找到。",
    ),
    "eval_astray": ("Addresses that are not in the library, some of them:", "知识库中没有的地址（部分）："),
    "eval_running": ("Asking {name}: {seconds} s", "正在评测 {name}：{seconds} 秒"),
    "eval_stage_read": ("Reading what the library holds", "正在读取知识库内容"),
    "eval_stage_ask": ("{done} of {total:question|questions}", "第 {done} 个问题，共 {total} 个"),
    "eval_stage_nonsense": ("Nonsense: {done} of {total}", "无意义问题：{done}/{total}"),
    "eval_stop": ("Stop it", "停止评测"),
    "eval_stopping": ("It stops after the question it is at.", "当前问题答完后即停止。"),
    "eval_stopped": ("The evaluation of {name} was stopped", "{name} 的评测已停止"),
    "eval_stopped_lead": ("nothing of it is kept", "未保留任何结果"),
    "eval_failed": ("The last evaluation FAILED", "上次评测失败（FAILED）"),
    "eval_over_time": ("Over time", "历次评测"),
    "eval_picture": (
        "Figures of {count:evaluation|evaluations}; the table below has the same",
        "{count} 次评测的数字；下表内容相同",
    ),
    "eval_reliability": ("What a score means", "得分的含义"),
    "eval_reliability_lead": (
        "Scores from left to right, the share of right answers upwards; the larger the circle, the more answers. On the "
        "dotted line a score is the probability of being right.",
        "横轴为得分，纵轴为正确答案的比例，圆越大答案越多；虚线上得分即为正确的概率。",
    ),
    "eval_reliability_picture": (
        "Reliability diagram of {count:group|groups} of answers",
        "{count} 组答案的可靠性图",
    ),
    "eval_bin": ("score {score}: {share} of {count} right", "得分 {score}：{count} 个中正确 {share}"),
    "eval_set": ("Questions", "问题集"),
    "eval_questions": ("Questions", "问题数"),
    "fig_ndcg": ("nDCG@10", "nDCG@10"),
    "fig_recall": ("recall@10", "召回@10"),
    "fig_mrr": ("MRR@10", "MRR@10"),
    "fig_hit": ("right at first", "首位即正确"),
    "fig_answered": ("answered", "有答案"),
    "fig_no_answer_refused": ("without answer, refused", "无答案而拒答"),
    "fig_no_answer_first": ("without answer, first score", "无答案的首位得分"),
    "fig_refused": ("nonsense refused", "无意义被拒"),
    "fig_ece": ("calibration error", "校准误差"),
    "fig_p50_ms": ("ms, median", "毫秒，中位"),
    "fig_p95_ms": ("ms, p95", "毫秒，p95"),
    "eval_figure": ("Figure", "指标"),
    "eval_now": ("Now", "现在"),
    "eval_then": ("Then", "当时"),
    "eval_library": ("Library", "知识库"),
    "eval_library_said": (
        "{documents:document|documents}, {passages:passage|passages}, change {change}",
        "{documents} 个文档，{passages} 个段落，变更号 {change}",
    ),
    "eval_tuning": ("tuned", "已调优"),
    "eval_keyword_only": ("keyword only", "仅关键词"),
    "eval_new": ("Ask questions from a file", "用文件中的问题评测"),
    "eval_file": ("Golden file (CSV, TSV, XLSX)", "标准问题文件（CSV、TSV、XLSX）"),
    "eval_file_hint": (
        'Columns question (问题) and uri (来源; "no answer" where nothing may be answered); at most 700 kB',
        "含“问题”与“来源”两列（不应作答的写“无答案”）；最大 700 kB",
    ),
    "eval_begin": ("Evaluate", "开始评测"),
    "eval_again": ("Ask the same questions again", "用相同问题再次评测"),
    "eval_none": ("Nothing was evaluated yet.", "尚未评测。"),
    "eval_one": ("Evaluation {number}", "第 {number} 次评测"),
    "eval_against": ("Compare with", "与之比较"),
    "eval_compare_button": ("Compare", "比较"),
    "eval_worst": ("The questions, the worst first", "问题（最差的在前）"),
    "eval_moved": ("The questions, those that lost most first", "问题（退步最多的在前）"),
    "eval_rank": ("Rank of the answer", "答案名次"),
    "eval_not_found": ("not found", "未找到"),
    "eval_gone": ("no answer in the library", "库中没有答案"),
    "eval_more": ("{count} more are not shown.", "另有 {count} 个未显示。"),
    "eval_remove": ("Forget this evaluation", "删除这次评测"),
    "eval_remove_sure": (
        "Yes, forget it, and its questions where no other evaluation has them",
        "确认删除；若无其他评测使用，问题也一并删除",
    ),
}
