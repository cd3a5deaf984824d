"""Tuning and feedback."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MESSAGES"]

MESSAGES: Mapping[str, tuple[str, str]] = {
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
    "tune_floor": ("Measuring the floor anew …", "正在重新测量门槛……"),
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
        "nDCG@10 on questions that nothing was learned from:",
        "未参与学习的问题上的 nDCG@10：",
    ),
    "tune_fold": ("fold {number}", "第{number}折"),
    "tune_all": ("all   ", "全部 "),
    "tune_sure": (
        "Better: {better:question|questions}, worse: {worse}; 90 % sure of {lower} or more.",
        "变好 {better} 个问题，变差 {worse} 个；九成把握提升不低于 {lower}。",
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
    "tune_promised": (
        "Learned from {questions:question|questions}; held-out nDCG@10 {before} → {after}.",
        "学习了 {questions} 个问题；未参与学习的问题 nDCG@10 {before} → {after}。",
    ),
}  # fmt: skip
