"""Chinese of what engines, encoders, the conformance kit and rules say; see `translate`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

# Messages with parts that vary, each known by its pattern: ``{a}`` stands for any text.


Patterns = tuple[tuple[re.Pattern[str], str], ...]


def compiled(phrases: Mapping[str, str]) -> Patterns:
    """The pattern of each message, in their order, and what it is in the other language."""
    made = []
    for english, chinese in phrases.items():
        parts = re.split(r"\{([a-z])\}", english)
        pattern = "".join(f"(?P<{p}>.+?)" if i % 2 else re.escape(p) for i, p in enumerate(parts))
        made.append((re.compile(pattern, re.DOTALL), chinese))
    return tuple(made)


# What engines, encoders, rerankers, the client, evaluation and the conformance kit refuse, in Chinese; see `translate`.


ADAPTERS = {
    # engines: a server's index or table that was attached
    "scale must be two rising cosines": "scale 须为两个递增的余弦值",
    "its vectors are of {a} ({b} dimensions), questions are embedded by {c} ({d}); they cannot be compared": (
        "其向量出自 {a}（{b} 维），提问的向量出自 {c}（{d} 维），两者不能比较"
    ),
    "what {a} holds is no address": "{a} 的内容不是地址",
    "what {a} holds is no connection string": "{a} 的内容不是连接字符串",
    "collection {a} has no field {b}; it has {c}": "集合 {a} 没有字段 {b}；它有 {c}",
    "field {a} is not the primary key": "字段 {a} 不是主键",
    "field {a} is {b}, not a dense vector of floats": "字段 {a} 是 {b}，不是浮点稠密向量",
    "field {a} holds vectors of {b} dimensions, the settings say {c}": "字段 {a} 的向量为 {b} 维，设置中为 {c} 维",
    "the collection gives a score that is no cosine": "该集合给出的得分不是余弦值",
    "the environment variable {a} may not be read by a source: the setting sources.env_allowed has {b}": (
        "来源不得读取环境变量 {a}：设置 sources.env_allowed 中为 {b}"
    ),
    "the environment variable {a} is not set": "环境变量 {a} 没有设置",
    "its settings are wrong: {a}": "其设置有误：{a}",
    "url: its host is no name and no address": "url：其中的主机既不是名称也不是地址",
    "url: is not a URL": "url：不是 URL",
    "the key must be printable ASCII without white space": "密钥须为可打印的 ASCII 字符，不含空白",
    "the key must be printable ASCII without spaces": "密钥须为可打印的 ASCII 字符，不含空格",
    "answered HTTP {a}": "返回了 HTTP {a}",
    "answered FAILED": "返回了失败状态",
    "the answer is compressed, which was not asked for": "回答经过压缩，而请求并未允许压缩",
    "the answer breaks the contract: it is no RetrievalResponse": "回答不符合接口约定：不是 RetrievalResponse",
    "the answer breaks the contract: {a}": "回答不符合接口约定：{a}",
    "the answer is larger than {a} bytes": "回答超过 {a} 字节",
    "{a} is no list of library ids": "{a} 不是知识库标识的列表",
    "column {a} is not unique": "列 {a} 的值有重复",
    "the table holds a vector that has no direction (zero, or not finite)": "表中有一个向量没有方向（全为零，或含非有限值）",
    "its host has no address": "其主机没有地址",
    "its host name is not known": "其主机名无法解析",
    **{
        f"its host leads to {where}, which is refused": f"其主机指向{said}，不予访问"
        for where, said in (
            ("no IP address", "非 IP 地址"),
            ("an address that no source may have", "任何来源都不得使用的地址"),
            ("a private address", "内网地址"),
            ("an address that is not on the public net", "非公网地址"),
        )
    },
    "its host leads {a}, which is refused": "其主机指向 {a}，不予访问",
    "there is no table {a} in schema {b} that its user may see": "模式 {b} 中没有该用户可见的表 {a}",
    "{a} has no column {b}; it has {c}": "{a} 没有列 {b}；它有 {c}",
    "column {a} is no json": "列 {a} 不是 json 类型",
    "column {a} is {b}, not vector or halfvec": "列 {a} 是 {b}，不是 vector 或 halfvec",
    "column {a} is {b}, no date or timestamp": "列 {a} 是 {b}，不是日期或时间戳",
    "column {a} holds vectors of {b} dimensions, the settings say {c}": "列 {a} 的向量为 {b} 维，设置中为 {c} 维",
    "behind the catalog ({a} of {b}), and somebody else is writing": "落后于目录库（{a}/{b}），且另有进程正在写入",
    "behind the catalog ({a} of {b}), and {c}": "落后于目录库（{a}/{b}），且{c}",
    "cannot write the row files: {a}": "无法写入行文件：{a}",
    # encoders and rerankers
    "the answer has no list of scores": "回答中没有得分列表",
    "the answer has no list of embeddings": "回答中没有向量列表",
    "the indexes of the answer are not 0 to {a}": "回答中的序号不是 0 至 {a}",
    "a reranker of the dialect {a} needs reranker.model": "接口类型为 {a} 的重排序模型需要设置 reranker.model",
    "onnxruntime refuses the model: {a}": "onnxruntime 无法载入该模型：{a}",
    "the model failed: {a}": "模型运行失败：{a}",
    "pooling by {a} is not supported": "不支持 {a} 池化方式",
    "the prompts in config_sentence_transformers.json are not texts": (
        "config_sentence_transformers.json 中的 prompts 不是文本"
    ),
    "its module {a} is not supported": "不支持其中的模块 {a}",
    "the tokenizer leaves nothing of a text": "分词器处理后，文本没有留下任何内容",
    "the tokenizer leaves nothing of query and text": "分词器处理后，问题与文本没有留下任何内容",
    "the model's output has {a} axes, 2 or 3 expected": "模型输出有 {a} 个轴，应为 2 或 3 个",
    "the hashing encoder needs at least {a} dimensions": "hashing 编码器至少需要 {a} 维",
    "the model gives other vectors than it must on this machine (cosine {a}, at least {b} expected)": (
        "模型在本机算出的向量与应有的不符（余弦 {a}，至少应为 {b}）"
    ),
    "the model gives {a} numbers for a pair, 1 or 2 expected": "模型对一对文本给出 {a} 个数，应为 1 或 2 个",
    "the model gives different pairs the same score": "模型对不同的文本对给出相同的得分",
    **{
        f"the {name}'s {wrong}": f"{said}的{why}"
        for name, said in (("encoder", "编码模型"), ("reranker", "重排序模型"), ("{a}", "{a} "))
        for wrong, why in (
            (
                "URL must begin with http:// or https:// and name a host",
                "地址须以 http:// 或 https:// 开头，并写明主机",
            ),
            ("URL holds a password; use the key instead", "地址中含有密码；请改用密钥"),
            ("key must be printable ASCII without white space", "密钥须为可打印的 ASCII 字符，不含空白"),
            ("URL is not valid", "地址无效"),
        )
    },
    "a vector is not finite": "有一个向量含非有限值",
    "{a} holds no JSON object": "{a} 中不是 JSON 对象",
    "{a} cannot be read as JSON": "{a} 不能按 JSON 读取",
    "models in a directory need the package tokenizers": "使用目录中的模型需要安装 tokenizers 包",
    "the model wants an input {a}; known are {b}": "模型需要输入 {a}；可提供的有 {b}",
    "sentencepiece refuses the vocabulary of the weight file": "sentencepiece 无法载入权重文件中的词表",
    "its weights are not installed (package {a}, file {b})": "没有安装其权重（包 {a}，文件 {b}）",
    "its weight file is not the one expected: sha256 {a}…, expected {b}…": (
        "其权重文件与预期不符：sha256 为 {a}…，应为 {b}…"
    ),
    "its weight file is damaged": "其权重文件已损坏",
    # evaluation
    "measuring needs the package ir-measures: {a}": "评测需要安装 ir-measures 包：{a}",
    "k must be from 1 to {a}, and limit at least 1": "k 须为 1 至 {a}，limit 至少为 1",
    "there is no engine {a} to measure": "没有可评测的引擎 {a}",
    "{a} judges no document as an answer: there is nothing to measure": "{a} 没有把任何文档标为答案：无从评测",
    "{a} names {b} documents that are not in the corpus, e.g. {c} for query {d}": (
        "{a} 中有 {b} 个文档不在语料中，例如问题 {d} 的 {c}"
    ),
    "{a} judges {b} queries that are not in {c}, e.g. {d}": "{a} 标注的 {b} 个问题不在 {c} 中，例如 {d}",
    "'text' must be a string that is not blank": "'text' 须为非空文本",
    "'metadata' is not an object": "'metadata' 不是对象",
    "{a}, line {b}: the id {c} stands twice": "{a} 第 {b} 行：标识 {c} 重复",
    "{a}, line {b}: it must be a query id, a document id and a whole number, with tabs between": (
        "{a} 第 {b} 行：须为问题标识、文档标识和整数，以制表符分隔"
    ),
    "{a} holds no documents": "{a} 中没有文档",
    "{a} could not be taken in: {b}": "{a} 无法收录：{b}",
    # the client
    "the URL must begin with http:// or https:// and name a host": "地址须以 http:// 或 https:// 开头，并写明主机",
    "the URL must not hold credentials": "地址中不得含有用户名或密码",
    "timeout must be positive and finite, retries must not be negative": "timeout 须为有限正数，retries 不得为负数",
    "the client is closed": "客户端已关闭",
    "not a URL: {a}": "不是 URL：{a}",
    "the HTTP client cannot be set up: {a}": "无法建立 HTTP 客户端：{a}",
    # the conformance kit
    "cannot write the documents to {a}: {b}": "无法把文档写入 {a}：{b}",
    "give one of --fault-command, --fault-header, --fault-env": (
        "--fault-command、--fault-header、--fault-env 须给出其中一个"
    ),
    "--restore-command needs --fault-command": "--restore-command 须与 --fault-command 一同使用",
    "the command {a} ended with {b}: {c}": "命令 {a} 以 {b} 结束：{c}",
    "the command {a} cannot be run: {b}": "命令 {a} 无法运行：{b}",
    "a fault header is written 'Name: value'": "触发故障的请求头应写作 'Name: value'",
    "a Python object takes no header": "Python 对象不接受请求头",
    "a fault variable is written NAME=VALUE": "触发故障的环境变量应写作 NAME=VALUE",
    "no case was asked for": "没有指定任何测试项",
    "{a} has no method retrieve_fragments": "{a} 没有 retrieve_fragments 方法",
    "{a} is not of the form module:factory": "{a} 应写作 module:factory",
    "HTTP cannot carry the header {a}": "HTTP 不能传送请求头 {a}",
    # the unified retriever
    "use_llm asks for a language model, and none is configured": "use_llm 需要语言模型，而设置中没有",
    "limit and limit_per_collection are given: one of them says how many": (
        "limit 与 limit_per_collection 只能给出一个"
    ),
    "it gave a result that is none: {a}": "它给出的结果格式不对：{a}",
}
VAGUE = {"{a} is missing": "缺少 {a}", "{a} is not UTF-8": "{a} 不是 UTF-8 编码"}
"""What other messages may look like, too; compared last."""


# What the conformance kit found wrong, in Chinese. Members and values of the contract stay as they are written.


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


# What the rules say in English, in Chinese; see `translate`.


RULES: Mapping[str, str] = {
    # -- questions
    "no process was asked for": "没有指定工序",
    "no process was named": "没有指定工序",
    "no rule was found": "没有找到规则",
    "no entity recognised": "没有识别出规则图中的对象",
    "the library has no rules": "知识库中没有规则",
    "no rule in scope follows from what was recognised": "由已识别的对象在范围内推导不出规则",
    "what was recognised is limited to other engineering types": "已识别的对象只适用于其他工程类型",
    "names are not compared by meaning until they are embedded: {a} of {b}": "名称向量化完成前不按意思比对：{a}/{b}",
    "no condition asks for the parameter {a}": "没有条件用到参数 {a}",
    "{a} was taken from the question: {b}": "{a} 取自提问中的 {b}",
    "{a} does not hold with what the question states: {b}": "按提问所述的情况，{a} 不适用，其条件为 {b}",
    "{a} is no exact value: nothing was taken from the question for it": "{a} 不是确切的数值，未取作参数",
    "{a} may be each of {b}: nothing was taken from the question for it": "{a} 可能是 {b} 中任一参数的值，未取作参数",
    "chapter {a} needs no rules": "章节 {a} 不需要规则",
    "chapter {a} has no such case: others stand in for it": "章节 {a} 没有这样的案例，以其他章节的案例代替",
    "the best case scores {a}, less than {b}": "得分最高的案例只有 {a}，低于 {b}",
    "what was found repeats the rules": "找到的案例与规则重复",
    "the rules graph knows no {a}": "规则图中没有 {a}",
    "the rules graph knows no process {a}": "规则图中没有工序 {a}",
    "the schema knows no relation {a}": "规则模式中没有关系 {a}",
    "the schema knows no kind {a}": "规则模式中没有类别 {a}",
    "processes has {a}, which is no name": "工序中有 {a}，这不是名称",
    "there is no chapter {a}": "没有章节 {a}",
    "{a} rules cut at {b}": "{a} 条规则，只给出 {b} 条",
    "mandatory rules left out: {a}": "未给出的强制规则 {a} 条",
    "rules that wait for a review and would apply: {a}": "另有 {a} 条规则待审核，批准后即适用",
    "the rules that wait for a review were not counted: {a}": "未能统计待审核的规则：{a}",
    "no rule waits for a review: {a}": "没有待审核的规则：{a}",
    "rules cut at {a}": "规则只给出 {a} 条",
    "frontier of {a} cut at {b}": "关系 {a} 只展开 {b} 条",
    "inheritance of {a} cut at {b}": "模式 {a} 的继承只展开 {b} 条",
    "processes has {a} names; at most {b}": "工序有 {a} 个，最多 {b} 个",
    "the text has {a} characters; at most {b}": "文字有 {a} 个字符，最多 {b} 个",
    "query must have 1 to {a} characters, not {b}": "问题应为 1 至 {a} 个字符，现为 {b} 个",
    "threshold must be from 0 to 1, not {a}": "最低得分应为 0 至 1，而不是 {a}",
    "limit must be an integer from 1 to {a}, not {b}": "条数应为 1 至 {a} 的整数，而不是 {b}",
    "{a} must be a finite number ({b}), not {c}": "{a} 应为有限的数（{b}），而不是 {c}",
    "{a} must be an integer ({b}), not {c}": "{a} 应为整数（{b}），而不是 {c}",
    "{a} must be a text ({b}), not {c}": "{a} 应为文字（{b}），而不是 {c}",
    "{a} must be true or false ({b}), not {c}": "{a} 应为 true 或 false（{b}），而不是 {c}",
    # -- keeping rules
    "no such file, folder or shipped pack: {a}": "没有这个文件、目录或随附规则包：{a}",
    "no pack {a} comes with the program": "程序没有附带规则包 {a}",
    "there is no pack {a}": "没有规则包 {a}",
    "there is no kind {a}": "没有类别 {a}",
    "there is no statement {a}": "没有规则 {a}",
    "there are no statements {a}": "没有规则 {a}",
    "no statement is named": "没有指定规则",
    "{a} is no list of rule numbers: 3,7 or 1-50, or all": "{a} 不是规则编号列表：应写 3,7、1-50 或“全部”",
    "what is to be retired is named number by number: {a}": "停用规则须逐一写明编号：{a}",
    "no evidence supports the statements {a}": "规则 {a} 没有依据",
    "import the pack that says them again": "请重新导入包含它们的规则包",
    "the pack {a} needs the relation {b}": "规则包 {a} 需要关系 {b}",
    "the pack {a} needs the kind {b}": "规则包 {a} 需要类别 {b}",
    "another pack builds on the schema of {a}: {b}": "另有规则包以 {a} 的模式为基础：{b}",
    "the library has no kinds of rules yet": "知识库中还没有规则类别",
    "the source {a} was removed": "来源 {a} 已移除",
    "the document {a} was removed": "文档 {a} 已移除",
    "the document {a} is no longer in force": "文档 {a} 已失效",
    "the document {a} no longer says it": "文档 {a} 已无此文字",
    "other words than those that were decided on": "措辞与审核时不同",
    "no such file or folder: {a}": "没有这个文件或目录：{a}",
    "no file of rules in {a}: {b} are read": "{a} 中没有规则文件，可读取：{b}",
    "{a} is of no kind that is read: {b}": "{a} 不是可读取的种类，可读取：{b}",
    "the files of {a} name several packs: {b}": "{a} 中的文件写了多个规则包：{b}",
    "the schema is wrong: {a}": "模式有误：{a}",
    "two schemas contradict one another: {a}": "两个模式互相矛盾：{a}",
    "{a} is {b} here and {c} there": "{a} 一处为 {b}，另一处为 {c}",
    "{a} are {b} here and {c} there": "{a} 一处为 {b}，另一处为 {c}",
    "writing workbooks needs the package openpyxl": "写入工作簿需要 openpyxl 包",
    # -- what is wrong in a book
    "no such relation: {a}": "没有这种关系：{a}",
    "no such node: {a}": "没有这个对象：{a}",
    "it was refused at {a}": "它在 {a} 处被拒绝",
    "no such source: {a}": "没有这个来源：{a}",
    "no such key: {a}": "没有这个字段：{a}",
    "no such column: {a}": "没有这一列：{a}",
    "no row of this table is read": "此表的各行均未读取",
    "the nodes of a kind would be a list": "一个类别的对象应为列表",
    "{a} is no kind": "{a} 不是类别",
    "{a} may mean each of {b}": "{a} 可能指：{b}",
    "write the key, or kind:name": "请写键，或者“类别:名称”",
    "{a} and {b} are the same node, {c}": "{a} 与 {b} 是同一个对象 {c}",
    "{a} leads from {b} to {c}, not from {d} to {e}: the ends stand the wrong way round": (
        "{a} 应从 {b} 到 {c}，而不是从 {d} 到 {e}：两端颠倒"
    ),
    "{a} leads from {b} to {c}, not from {d} to {e}": "{a} 应从 {b} 到 {c}，而不是从 {d} 到 {e}",
    "{a} leads from {b} to {c}: taken from {d} to {e}": "{a} 应从 {b} 到 {c}：按从 {d} 到 {e} 收录",
    "{a} is taken as {b}, the only relation between {c} and {d}": "{a} 按 {b} 收录：{c} 与 {d} 之间只有这一种关系",
    "the library has no kinds and relations yet: import a pack first that declares them": (
        "知识库中还没有类别与关系：请先导入声明它们的规则包"
    ),
    "either end of {a} may be {b}: the graph does not say which, the kinds neither": (
        "{b} 可以是 {a} 的任一端，图与类别都无法判定方向"
    ),
    "the statement has no evidence, and no default source is given": "规则没有依据，也没有给出默认来源",
    "the evidence names no source, and no default source is given": "依据没有写来源，也没有给出默认来源",
    "the statement stands already at {a}, with another {b}: put together": "该规则已见于 {a}，但 {b} 不同：已合并",
    "the statement stands already at {a}, with another {b}": "该规则已见于 {a}，但 {b} 不同",
    "the statement stands already at {a}": "该规则已见于 {a}",
    "{a} goes round in a circle: {b}": "{a} 形成循环：{b}",
    "the name of a node names a thing, and this is a sentence: {a}": "名称应指一个对象，而这是一句话：{a}",
    "the key {a} is {b} already, at {c}": "键 {a} 已属于 {b}，见 {c}",
    "another {a} of that name has the key {b}: both are kept": "另一个同名的 {a} 键为 {b}：两者都保留",
    "{a} stands already at {b}, with another {c}": "{a} 已见于 {b}，但 {c} 不同",
    "{a} stands already at {b}: put together": "{a} 已见于 {b}：已合并",
    "{a} of {b} also means {c}: both are kept": "{b} 的 {a} 也指 {c}：两者都保留",
    "the scope {a} is no node": "适用范围 {a} 不是规则图中的对象",
    "the key {a} stands twice in one entry": "同一条目中字段 {a} 重复",
    "the key {a} stands twice at the top": "顶层字段 {a} 重复",
    "the key {a} stands twice below {b}": "{b} 之下字段 {a} 重复",
    "a day such as {a}": "日期，如 {a}",
    "a number from {a} to {b}": "{a} 至 {b} 的数",
    "an integer from {a} to {b}": "{a} 至 {b} 的整数",
    "a list of texts": "文字列表",
    "a list of entries": "条目列表",
    "a name": "名称",
    "any kind": "任何类别",
    "{a} is no longer in force: {b} rules quote it": "{a} 已失效：有 {b} 条规则引用它",
    "{a} is in force from {b}: {c} rules that quote it need valid_from": "{a} 自 {b} 起施行：引用它的 {c} 条规则应写明 valid_from",
    "{a} is in force until {b}: {c} rules that quote it need valid_until": "{a} 有效期至 {b}：引用它的 {c} 条规则应写明 valid_until",
    "the quote {a} cannot be compared: the source {b} is not in the library": (
        "引文 {a} 无法核对：来源 {b} 的文档不在知识库中"
    ),
    "the quote {a} cannot be compared: {b} is not in the library": "引文 {a} 无法核对：{b} 不在知识库中",
    "the quote {a} is not in the source {b}": "引文 {a} 不在来源 {b} 中",
    "the quote {a} is not in {b}": "引文 {a} 不在 {b} 中",
    "the source {a} is not in the library: {b} quotes are marked as not verified": (
        "来源 {a} 的文档不在知识库中：{b} 处引文标为“未核对”"
    ),
    "{a} is not in the library: {b} quotes are marked as not verified": "{a} 不在知识库中：{b} 处引文标为“未核对”",
    "the stored schema of the rules is damaged: {a}": "所存的规则模式已损坏：{a}",
    "restore the library's catalog from a backup": "请从备份恢复知识库的目录",
    "statements are about nodes that there are not: {a}": "有语句所指的对象不存在：{a}",
    "statement {a} is about nodes that there are not": "语句 {a} 所指的对象不存在",
    "no stored schema describes the relations of the rules: {a}": "所存的模式中没有这些规则的关系：{a}",
    "import the packs again that say them": "请重新导入说明它们的规则包",
    "there are statements, but the version of the rules graph is lost": "有语句，但规则图的版本已丢失",
    "a row of the rules graph is no JSON: {a}": "规则图中有一行不是 JSON：{a}",
    "condition {a}: {b}": "条件 {a}：{b}",
    "{a} is not declared": "参数 {a} 没有声明",
    "is blank": "为空",
    "what holds always has no condition": "总是成立的规则不写条件",
    "names no parameter": "没有用到参数",
    "is no CEL: {a}": "不是有效的条件表达式：{a}",
    "column {a}: {b} cannot stand here": "第 {a} 列：此处不能出现 {b}",
    "column {a}: {b}": "第 {a} 列：{b}",
    "a number": "数",
    "a text": "文字",
    "true or false": "真假值",
    "mismatched input {a}": "此处不能出现 {a}",
    "no earlier than valid_from, {a}": "不早于 valid_from（{a}）",
    "line {a}: it has more than {b} nodes and edges": "第 {a} 行：节点与边超过 {b} 个",
    "{a} compares {b} with {c}": "{a} 将 {b} 与 {c} 相比较",
    "it cannot be read: {a}": "无法读取：{a}",
    "it is empty": "文件为空",
    "it has no rows": "没有任何行",
    "it is not well-formed {a}: {b}": "{a} 格式有误：{b}",
    "it is not well-formed: {a}": "格式有误：{a}",
    "it is damaged: {a}": "文件已损坏：{a}",
    "Failed to load document (PDFium: Data format error).": "不是有效的 PDF",
    "Failed to load document (PDFium: Incorrect password error).": "PDF 已加密",
    "it is damaged or encrypted: {a}": "文件已损坏或加密：{a}",
    "it is XML, but has no graph: it is no GraphML": "是 XML，但没有图：不是 GraphML",
    "it has neither entities nor relations, as LightRAG's insert_custom_kg and graphs in JSON have them": (
        "既没有 entities 也没有 relations：不是 LightRAG 的 insert_custom_kg，也不是 JSON 形式的图"
    ),
    "a pack has keys such as nodes and statements": "规则包应有 nodes、statements 等字段",
    "its outermost value is no mapping": "最外层不是映射",
    "the cells {a} are merged; split them and fill each row. These rows are not read": (
        "单元格 {a} 已合并；请拆分并逐行填写。这些行未读取"
    ),
    "the sheet {a} is missing; there are: {b}": "缺少工作表 {a}；现有：{b}",
    "the hidden sheet {a} is not read": "隐藏的工作表 {a} 未读取",
    "the values of {a} are not read": "{a} 的值未读取",
    "source {a} is declared already at {b}": "来源 {a} 已在 {b} 声明",
    "pack {a} declares its schema in {b} files": "规则包 {a} 在 {b} 个文件中声明了模式",
}

BROAD: Mapping[str, str] = {
    "{a} must be a list": "{a} 应为列表",
    "{a} is {b}; it must be one of {c}": "{a} 为 {b}，应为以下之一：{c}",
    "{a} is {b}; it must be {c}": "{a} 为 {b}，应为 {c}",
}
"""Patterns that many other messages would match too: tried last of all."""
