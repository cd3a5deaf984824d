"""What engines, encoders, rerankers, the client, evaluation and the conformance kit refuse, in Chinese; see `translate`."""

from __future__ import annotations

__all__ = ["ADAPTERS", "VAGUE"]

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
    "behind the catalog ({a} of {b}), and {c}": "落后于目录库（{a}/{b}），且 {c}",
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
