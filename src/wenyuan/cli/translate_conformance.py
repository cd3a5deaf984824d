"""What the conformance kit found wrong, in Chinese. Members and values of the contract stay as they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from wenyuan.cli.phrases import Patterns, compiled

__all__ = ["TITLES", "finding"]

TITLES: Mapping[str, str] = {
    "max-results-true": "true 不是整数",
    "max-results-false": "false 不是整数",
    "max-results-float": "3.0 不是整数的写法",
    "max-results-fraction": "2.5 不是整数",
    "max-results-string": "“3”不是整数",
    "max-results-null": "null 不是整数",
    "max-results-array": "[3] 不是整数",
    "max-results-zero": "0 表示什么都不要",
    "max-results-negative": "-1 没有意义",
    "max-results-missing": "max_results 必填",
    "max-results-huge": "十亿应被拒绝，或当作普通上限",
    "query-blank": "空的 query 没有问题",
    "query-whitespace": "只有空白（包括全角空格）没有问题",
    "query-number": "42 不是字符串",
    "query-null": "null 不是字符串",
    "query-array": "数组不是字符串",
    "query-nul": "query 中的 U+0000 不引起故障",
    "context-string": "context 应为对象",
    "context-array": "context 应为对象",
    "context-null": "context 为 null 不引起故障",
    "unknown-member": "未知字段不引起故障",
    "json-truncated": "只有半截的 JSON",
    "json-empty": "空的请求体",
    "json-array": "最外层是数组",
    "json-string": "最外层是字符串",
    "json-trailing": "JSON 之后还有内容",
    "json-duplicate-keys": "同一字段出现两次",
    "json-nan": "NaN 不是 JSON",
    "json-nan-in-context": "context 中的 NaN 也不是 JSON",
    "json-infinity": "Infinity 不是 JSON",
    "json-overflow": "1e400 不是整数，也超出浮点数范围",
    "json-surrogate": "半个代理对不是字符",
    "json-bom": "字节顺序标记应被拒绝或忽略（RFC 8259 §8.1）",
    "json-invalid-utf8": "不是 UTF-8 的字节",
    "json-gb18030": "GB 18030 编码的中文不是 UTF-8",
    "json-utf16": "UTF-16 不是 UTF-8",
    "nested-query": "嵌套 500 层的数组",
    "nested-context": "嵌套 500 层的 context 不引起故障",
    "body-2mib": "2 MiB 过大",
    "type-text": "text/plain 不是 JSON",
    "type-form": "表单不是 JSON",
    "type-missing": "没有 Content-Type",
    "context-unknown-keys": "context 可含标准以外的键",
    "single-result-zh": "用中文问，只返回一个结果",
    "no-result-zh": "生僻字没有结果",
    "same-answer": "同样的请求，同样的答案",
    "any-order": "答案与先前的请求无关",
    "parallel": "答案与其他调用者无关",
    "all-limits": "从不多于 max_results",
    "all-scores": "每个得分都是 0.0 至 1.0 之间的有限数",
    "all-sorted": "得分从不上升",
    "all-sources": "每个 source 都是 URI",
    "unique-sources": "同一答案中 source 不重复",
    "all-contents": "content 不为空白",
    "own-words": "content 出自测试套件的文档",
    "width": "全角字母与半角字母结果相同",
    "no-secrets": "错误信息不泄露内情",
    "recovers": "故障之后恢复为 SUCCESS",
}
"""Of the extra cases, by their ids."""

_PHRASES: Mapping[str, str] = {
    "exactly 1 fragment": "正好 1 个片段",
    "exactly {a} fragments": "正好 {a} 个片段",
    "at least 2 fragments to compare": "至少 2 个可比较的片段",
    "at most {a} fragments": "至多 {a} 个片段",
    "{a} fragments": "{a} 个片段",
    "SUCCESS with fragments []": "SUCCESS，且 fragments 为 []",
    "SUCCESS with fragments": "SUCCESS，且 fragments 不为空",
    "an array of objects": "对象的数组",
    "retrieval_score never to rise": "retrieval_score 从不上升",
    "every retrieval_score in 0.0 to 1.0": "每个 retrieval_score 都在 0.0 至 1.0 之间",
    "every source to be a URI": "每个 source 都是 URI",
    "status FAILED in a RetrievalResponse": "RetrievalResponse 的 status 为 FAILED",
    "fragments [] beside FAILED": "FAILED 时 fragments 为 []",
    "error_message that says why": "error_message 说明原因",
    "a body that is no RetrievalResponse": "响应体不是 RetrievalResponse",
    "HTTP 400 (or 413, 415)": "HTTP 400（或 413、415）",
    "TypeError, ValueError or InvalidRequest": "TypeError、ValueError 或 InvalidRequest",
    "a JSON object that says what is wrong": "说明错误的 JSON 对象",
    "status SUCCESS in a RetrievalResponse": "RetrievalResponse 的 status 为 SUCCESS",
    "no error_message (or null) beside SUCCESS": "SUCCESS 时没有 error_message（或为 null）",
    "KnowledgeFragments {a}": "KnowledgeFragment 的形式 {a}",
    "a fault switch that works": "可用的故障开关",
    "a fault switch: {a} or {b}, so that the service can be made to fail on purpose": (
        "故障开关：{a} 或 {b}，使服务能按需出错"
    ),
    "none": "没有",
    "the same answer to the same request": "同样的请求得到同样的答案",
    "another one the {a}. time": "第 {a} 次的答案不同",
    "answers that do not depend on earlier requests": "答案与先前的请求无关",
    "the answers of one thread in eight": "八个线程与一个线程的答案相同",
    "another answer to {a}": "对 {a} 的答案不同",
    "{a} (request {b})": "{a}（请求 {b}）",
    "scores in 0..1": "得分在 0 至 1 之间",
    "scores that fall": "得分递减",
    "URIs": "URI",
    "unique sources": "互不相同的 source",
    "texts": "文字",
    "{a} as {b}": "{a}，其 source 为 {b}",
    "an answer with an error text": "带错误信息的答复",
    "error texts without secrets": "不泄露内情的错误信息",
    "{a} in an answer with status {b}": "状态码 {b} 的答复中有 {a}",
    "{a} and {b} more": "{a}，另有 {b} 处",
    "HTTP {a} (not JSON) {b}": "HTTP {a}（不是 JSON）{b}",
    "returned {a}": "返回 {a}",
    "refused with {a}": "拒绝：{a}",
    "raised {a}": "抛出 {a}",
    "the body is no JSON object but {a}": "响应体不是 JSON 对象，而是 {a}",
    "status is {a}, not SUCCESS or FAILED": "status 为 {a}，不是 SUCCESS 或 FAILED",
    "error_message is no string": "error_message 不是字符串",
    "{a} is {b}, not an array": "{a} 为 {b}，不是数组",
    "{a} is {b}, not a string": "{a} 为 {b}，不是字符串",
    "{a} is {b}, not an object": "{a} 为 {b}，不是对象",
    "{a} is {b}, no number": "{a} 为 {b}，不是数字",
    "{a} is no object but {b}": "{a} 不是对象，而是 {b}",
    "{a} is that of {b}": "{a} 与 {b} 的相同",
    "{a} is no string": "{a} 不是字符串",
    "{a} has no scheme": "{a} 没有协议",
    "{a} holds {b}, which must be percent-encoded": "{a} 含有 {b}，须用百分号编码",
    "{a} holds a '%' that begins no escape": "{a} 含有不构成转义的“%”",
    "{a} holds more than one '#'": "{a} 含有不止一个“#”",
    "{a} names no host": "{a} 没有主机名",
    "{a} has nothing after its scheme": "{a} 的协议之后没有内容",
    "{a} has {b} after {c}": "{a} 的得分 {b} 排在 {c} 之后",
    "{a} is {b}": "{a} 为 {b}",
}
_FOUND = re.compile(r".*?: expected (?P<expected>.*?); got (?P<got>.*) \((?P<section>[^()]*)\)", re.DOTALL)


def finding(detail: str) -> str:
    """What was expected, what came and where the rule stands, of a case that failed."""
    found = _FOUND.fullmatch(detail)
    if found is None:
        return detail
    section = (
        found["section"].replace("contract", "契约").replace("outline", "大纲").replace("for information", "供参考")
    )
    got = "；".join(map(_said, found["got"].split("; ")))
    return f"应为：{_said(found['expected'])}；实为：{got}（{section}）"


@cache
def _patterns() -> Patterns:
    return compiled(_PHRASES)


def _said(english: str) -> str:
    for pattern, chinese in _patterns():
        if found := pattern.fullmatch(english):
            return chinese.format(**{name: _said(value) for name, value in found.groupdict().items()})
    return english
