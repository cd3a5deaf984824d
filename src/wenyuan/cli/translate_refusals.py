"""Refusals of the server, of the readers and of the other rooms, in Chinese; see `translate`."""

from __future__ import annotations

__all__ = ["REFUSALS"]

_SERVER = {
    "no folder may be named over HTTP: name those that may in wenyuan.toml, [server] ingest_roots, and start the server again": (
        "尚不能通过 HTTP 指定目录：请在 wenyuan.toml 的 [server] ingest_roots 中列出允许的目录，然后重新启动服务"
    ),
    "path must be absolute": "路径须为绝对路径",
    "the path does not lie below a folder of the setting server.ingest_roots": (
        "该路径不在设置 server.ingest_roots 所列的目录之下"
    ),
    "the body must be an object": "请求体须为对象",
    "this server answers only to localhost and loopback addresses as host name": "本服务只应答以 localhost 或本机回环地址为主机名的请求",
    "a key that is bound to an agent changes nothing in the registry": "绑定智能体的密钥不能修改注册表",
    "a key that is bound to an agent cannot see the numbers of the whole library": "绑定智能体的密钥不能查看整个知识库的统计",
    "a key that is bound to an agent cannot verify the audit, which is everybody's": (
        "绑定智能体的密钥不能验证审计，因为审计属于所有人"
    ),
    "this service knows no agents": "本服务没有登记智能体",
    "the agent's knowledge scope does not hold every domain that the request names": "请求所列的领域并非都在智能体的知识范围内",
    "the agent's knowledge scope does not hold the domain {a}": "智能体的知识范围不含领域 {a}",
    "{a} is not a loopback address, and the library has no API keys: nobody could be told from anybody": (
        "{a} 不是本机回环地址，而知识库没有 API 密钥：无法分辨访问者"
    ),
    "make a key first: wenyuan key create --rights retrieve,search; or keep to 127.0.0.1": (
        "请先新建密钥：wenyuan key create --rights retrieve,search；或者只用 127.0.0.1"
    ),
    "keep to 127.0.0.1, or make a key: wenyuan key create --rights retrieve,search": (
        "只用 127.0.0.1，或者新建密钥：wenyuan key create --rights retrieve,search"
    ),
    "this needs a key with the right {a}": "需要具有 {a} 权限的密钥",
    "nobody is behind this request": "请求没有身份",
    "requests from pages of this origin are not allowed; see server.allowed_origins": (
        "不接受来自该站点页面的请求，见设置 server.allowed_origins"
    ),
    "expires_at is past": "有效期已过",
    "a key cannot give rights that it does not have": "密钥不能授予自己没有的权限",
    "failed_http_status is {a}; it must be 200 or 500 to 599": "failed_http_status 为 {a}，须为 200，或 500 至 599",
    "the server did not start": "服务未能启动",
    "too many requests were before this one": "排在前面的请求过多",
}

_READERS = {
    "it holds no text besides front matter and comments": "除 Front matter 与注释外没有文字",
    "the file is empty": "文件为空",
    "it is named {a} but is not {b}": "扩展名为 {a}，但内容不是 {b}",
    "it is named {a} but is {b}": "扩展名为 {a}，但内容是 {b}",
    "the reader found no document in it": "其中没有找到文档",
    "it is nested too deeply": "嵌套过深",
    "it needs more memory than is allowed": "所需内存超过上限",
    "the reading process does not start: {a}": "读取进程无法启动：{a}",
    "files of the kind {a} are not read": "不读取 {a} 类文件",
    "it is not a regular file": "不是普通文件",
    "it cannot be opened: {a}": "无法打开：{a}",
    "the reader's answer is not valid: {a}": "读取结果无效：{a}",
    "UTF-32 is not read; save it as UTF-8": "不支持 UTF-32，请另存为 UTF-8",
    "binary content: NUL at character {a}": "二进制内容：第 {a} 个字符为 NUL",
    "binary content: {a} control characters in {b}": "二进制内容：{b} 个字符中有 {a} 个控制字符",
    "not UTF-8 (invalid at byte {a}), and it makes no sense as GB18030": "不是 UTF-8（第 {a} 字节无效），按 GB18030 也读不通",
    "neither UTF-8 (invalid at byte {a}), UTF-16 nor GB18030 (invalid at byte {b})": (
        "既不是 UTF-8（第 {a} 字节无效）、UTF-16，也不是 GB18030（第 {b} 字节无效）"
    ),
    "this is {a}, not text": "这是 {a}，不是文本",
    "it begins with the mark of {a} but is not valid at byte {b}": "以 {a} 的标记开头，但第 {b} 字节无效",
    "at most {a} MB are read": "最多读取 {a} MB",
    "it has {a} MB; at most {b} MB are read": "大小为 {a} MB，最多读取 {b} MB",
    "the sheet {a} spans more than {b} cells": "工作表 {a} 超过 {b} 个单元格",
    "a table ({a}) of questions and addresses, or the folder of a judged set": "问题与出处的表格（{a}），或评测集目录",
    "{a} has more than {b} MB": "{a} 超过 {b} MB",
    "the URI {a} stands twice": "地址 {a} 出现两次",
    "it holds half of a surrogate pair, which is no text": "含有半个代理对，不是合法文字",
    "front matter: {a} must be text (put it in quotes), not {b}": "Front matter：{a} 须为文字（请加引号），而不是 {b}",
    "front matter: {a} is no date (YYYY-MM-DD): {b}": "Front matter：{a} 不是日期（YYYY-MM-DD）：{b}",
    "none of its visible sheets holds text": "可见的工作表中都没有文字",
    "{a} unpacks to more than {b} times its size: a decompression bomb": "{a} 解压后超过其大小的 {b} 倍，疑为解压炸弹",
    "the archive is damaged: {a}": "压缩包已损坏：{a}",
    "the archive is encrypted or packed in an unknown way: {a}": "压缩包已加密，或压缩方式未知：{a}",
    "entry {a} has another size than the archive declares": "条目 {a} 的大小与压缩包所述不符",
    "its part {a} declares a document type (DTD), which may hide entities": "其中的 {a} 声明了文档类型（DTD），可能隐藏实体",
    "the archive has {a} entries; at most {b} are read": "压缩包有 {a} 个条目，最多读取 {b} 个",
    "the archive has no {a}: it is another kind of file": "压缩包中没有 {a}：是另一类文件",
    "the archive unpacks to more than {a} MB": "压缩包解压后超过 {a} MB",
    "its part {a} is not well-formed XML: {b}": "其中的 {a} 不是合法的 XML：{b}",
    "no text layer on any of its {a} pages (scanned?)": "共 {a} 页，都没有文字层（可能是扫描件）",
    "it has {a} pages; at most {b} are read": "共 {a} 页，最多读取 {b} 页",
    "it holds more than {a} characters": "超过 {a} 个字符",
    "it cannot be redacted ({a})": "无法脱敏（{a}）",
}

_SERVICE = {
    "this library cannot be asked about its past": "此知识库不能按过去的状态查询",
    "register it: wenyuan apply FILE": "请登记：wenyuan apply FILE",
    "source {a} is searched where it is; there is nothing to take in": "来源 {a} 在其所在处检索，无需收录",
    "the claim on {a} ran out and was taken over": "对 {a} 的占用已到期，由他人接管",
    "correct their supersedes": "请更正它们的 supersedes",
    "there is no synonym of {a}": "没有 {a} 的同义词",
    "nothing was found, and {a}": "没有找到内容，且 {a}",
    "sources of this type cannot be asked here": "此处不能查询这类来源",
    "the query was not embedded in time": "问题未能在时限内向量化",
    "nobody waits for it any more": "已无人等待",
    "min_trust must be an integer from 1 to 5, not {a}": "min_trust 须为 1 至 5 的整数，而不是 {a}",
    "the schema knows no {a} {b}": "模式中没有{a} {b}",
    "the rules graph has no such node": "规则图中没有这个节点",
    "passage {a} lies outside the scope of the request; nothing is answered": "段落 {a} 不在请求范围内，因此不作答",
    "there are {a} questions; at most {b} are asked": "共有 {a} 个问题，最多评测 {b} 个",
    "wenyuan search shows addresses": "wenyuan search 会显示地址",
    "evaluations {a} and {b} asked other questions: they cannot be compared": "评测 {a} 与 {b} 的问题不同，无法比较",
    "{a} was not answered: {b}": "{a} 没有得到回答：{b}",
    "top_k names {a}, which is not in the agent's knowledge scope": "top_k 中的 {a} 不在智能体的知识范围内",
    "extra_queries has {a} entries; at most {b}": "extra_queries 有 {a} 项，最多 {b} 项",
    "wenyuan source list; addresses are shown by wenyuan search": "wenyuan source list；地址见 wenyuan search",
    "redaction.ner: {a} is no function": "redaction.ner：{a} 不是函数",
    "{a} is damaged: {b} bytes, not 32": "{a} 已损坏：{b} 字节，应为 32 字节",
    "restore it from a backup": "请从备份恢复",
    "restore a backup": "请恢复备份",
    "{a} asks every domain": "用 {a} 查询所有领域",
    "there is no encoder, so vectors cannot be measured": "没有编码器，无法评测向量检索",
    "set encoder.kind, or leave vector out": "请设置 encoder.kind，或者不评测 vector",
    "no pack {a} comes with the program{b}: {c}": "程序不带规则包 {a}{b}：{c}",
}

_CATALOG = {
    "another thread of this process is writing": "本进程的另一个线程正在写入",
    "another thread is still bringing the index up to date": "另一个线程仍在更新索引",
    "the stored value {a} is no JSON": "存储的值 {a} 不是 JSON",
    "check that this user may read it: ls -la {a}": "请检查当前用户能否读取：ls -la {a}",
    "nodes are given twice: {a}": "节点重复：{a}",
    "statements are about {a} nodes that there are not: {b}": "规则引用了 {a} 个不存在的节点：{b}",
    "{a} statements have no evidence: {b}": "{a} 条规则没有依据：{b}",
    "audit records are kept for {a} days at least": "审计记录至少保留 {a} 天",
    "choose an earlier day, or say that they shall go early": "请选择更早的日期，或者说明要提前清除",
    "neither a time nor an id says which queries to erase": "未用时间或编号说明要清除哪些问题",
    "{a} is no whole export of an audit": "{a} 不是完整的审计导出",
    "record {a} cannot be read": "记录 {a} 无法读取",
    "statements lead to nodes that there are not: {a}": "规则指向不存在的节点：{a}",
    "the limit of statements is {a}; it must not be negative": "规则数上限为 {a}，不能为负数",
    "SQLite {a} can corrupt a library that several use; 3.51.3 or newer is needed": (
        "SQLite {a} 在多个进程使用时可能损坏知识库，需要 3.51.3 或更新版本"
    ),
    "the vector of passage {a} does not match its checksum": "段落 {a} 的向量与校验和不符",
    "the vector of passage {a} is missing": "缺少段落 {a} 的向量",
    "the vector of passage {a} has {b} dimensions, the index {c}": "段落 {a} 的向量为 {b} 维，索引为 {c} 维",
    "the audit has format {a}, this program knows up to {b}": "审计格式为 {a}，本程序最高支持 {b}",
    "a pack needs a name": "规则包需要名称",
    "{a} is no action: {b}": "{a} 不是有效的操作：{b}",
    "the library has no audit": "知识库没有审计",
    "closed; nothing can be written any more": "已关闭，不能再写入",
    "{a} entries wait to be written": "有 {a} 条记录等待写入",
    "not written within {a} s": "{a} 秒内未能写入",
    "check that there is room on the disk, and that this user may write to the library's folder": (
        "请检查磁盘空间，以及当前用户能否写入知识库目录"
    ),
    "copy the folder while nobody writes": "请在无人写入时复制该目录",
    "go on with moving it: wenyuan migrate --to … as before": "继续迁移：wenyuan migrate --to …（同之前）",
    "vectors were removed while documents with the same texts came in": "收录相同文字的文档时，其向量被移除",
    "open it, or choose another folder or catalog.schema_name": "打开它，或者换一个目录或 catalog.schema_name",
    "the catalog is older than the index": "目录库比索引旧",
    "the catalog was replaced by an older one: remove the library's index folder": (
        "目录库被换成了较旧的一份：请删除知识库的 index 目录"
    ),
    "behind the catalog ({a} of {b}), and somebody else is writing": "索引落后于目录库（{a}，应为 {b}），且有其他进程正在写入",
    "the vector rows are ahead of the keyword index": "向量比关键词索引新",
    "cannot write the row files: {a}": "无法写入索引文件：{a}",
    "row {a} does not match its checksum": "第 {a} 行与校验和不符",
    "cannot make a file in {a} or {b}": "无法在 {a} 或 {b} 中新建文件",
    "it is published again and again while it is read": "读取期间索引不断更新",
    "the watermark belongs to another index": "水位标记属于另一个索引",
    "the index has no watermark": "索引没有水位标记",
}

_CORE = {
    "filter on {a}: a number must be finite and within ±2^53": "过滤条件 {a}：数值须为有限数，且在 ±2^53 之内",
    "filter on {a}: a number must be finite": "过滤条件 {a}：数值须为有限数",
    "filter on {a}: 1 to {b} values, not {c}": "过滤条件 {a}：可有 1 至 {b} 个值，而不是 {c} 个",
    "filter on {a}: control characters cannot be asked for": "过滤条件 {a}：不能含控制字符",
    "filter on {a}: half of a surrogate pair is no text": "过滤条件 {a}：半个代理对不是合法文字",
    "range filter on {a} has no bound": "过滤条件 {a} 的范围没有界限",
    "conditions must be 1 to {a}, not {b}": "条件须为 1 至 {a} 个，而不是 {b} 个",
    "the learned map does not match its checksum": "学得的映射与校验和不符",
    "the learned map cannot be read: {a}": "学得的映射无法读取：{a}",
    "a node needs key, kind and name, not {a}, {b}, {c}": "节点须有键、种类和名称，而不是 {a}、{b}、{c}",
    "the trust of an evidence is {a}; it must be an integer from 1 to 5": "依据的可信度为 {a}，须为 1 至 5 的整数",
    "an evidence names its source": "依据须写明来源",
    "{a} is no strength: {b}": "{a} 不是有效的强度：{b}",
    "the weight of a statement is {a}; it must be from 0 to 1": "规则的权重为 {a}，须在 0 至 1 之间",
    "valid_until {a} lies before valid_from {b}": "失效日期 {a} 早于生效日期 {b}",
    "conditions cannot be read: the package common-expression-language is not installed": (
        "无法读取条件：未安装软件包 common-expression-language"
    ),
    "no such pattern: {a}": "没有这个推导模式：{a}",
    "statement {a} does not fit the schema: {b}": "规则 {a} 不符合模式：{b}",
    "import the pack again that says it": "请重新导入含有它的规则包",
    "the name {a} has type {b} and weight {c}; the type must be one of {d}, the weight above 0, at most 1": (
        "名称 {a} 的类型为 {b}、权重为 {c}；类型须为 {d} 之一，权重须大于 0 且不超过 1"
    ),
    "the name recogniser gave a span outside the text": "姓名识别器给出的范围超出文字",
    "the name recogniser failed ({a})": "姓名识别器出错（{a}）",
    "the text does not settle: after {a} rounds of redaction there is more to find": (
        "文字未能收敛：脱敏 {a} 轮后仍有可识别的内容"
    ),
    "the policy {a} makes pseudonyms: that needs a key of at least {b} bytes": "策略 {a} 使用化名，需要至少 {b} 字节的密钥",
    "set a redaction key, or choose mask or drop instead of pseudonym": "请设置脱敏密钥，或者改用 mask 或 drop",
    "expected rows of numbers, got {a} axes": "应为数值的行，实际有 {a} 个维度",
    "{a} texts went in, {b} vectors came out": "输入 {a} 段文字，得到 {b} 个向量",
    "the vectors have {a} dimensions, expected {b}": "向量为 {a} 维，应为 {b} 维",
    "the vectors have different lengths": "各向量长度不同",
    "{a} different texts all got the same vector, e.g. {b} and {c}": "{a} 段不同的文字得到相同的向量，例如 {b} 与 {c}",
    "{a} texts went in, {b} scores came out": "输入 {a} 段文字，得到 {b} 个得分",
    "the score of text {a} is no number": "第 {a} 段文字的得分不是数值",
    "the score of text {a} is NaN or infinite": "第 {a} 段文字的得分为 NaN 或无穷",
    "the score of text {a} is {b}, which is not in 0..1": "第 {a} 段文字的得分为 {b}，不在 0 至 1 之间",
    'it may be a logit: set reranker.scores = "logit"': '可能是 logit：请设置 reranker.scores = "logit"',
    "the answer holds values that are not numbers": "返回内容含有非数值",
    "vector {a} ({b} of {c} are unusable)": "向量 {a}（{c} 个中有 {b} 个不可用）",
}

_SETTINGS = {
    "{a} is not a file": "{a} 不是文件",
    "{a}: it is no JSON": "{a}：不是 JSON",
    "{a}: not UTF-8 (byte {b})": "{a}：不是 UTF-8（第 {b} 字节）",
    "engine is postgres, but postgres.dsn is not set": "engine 为 postgres，但未设置 postgres.dsn",
    "engine is milvus, but milvus.uri is not set": "engine 为 milvus，但未设置 milvus.uri",
    "encoder.kind is onnx_dir, but encoder.path is not set": "encoder.kind 为 onnx_dir，但未设置 encoder.path",
    "reranker.kind is onnx_dir, but reranker.path is not set": "reranker.kind 为 onnx_dir，但未设置 reranker.path",
    "needs OpenTelemetry": "需要 OpenTelemetry",
    "encoder.kind is none": "encoder.kind 设为 none",
    "threads, max_body and body_timeout must be positive, queue_limit not negative": (
        "threads、max_body 和 body_timeout 须为正数，queue_limit 不能为负数"
    ),
}

REFUSALS = {**_SERVER, **_READERS, **_SERVICE, **_CATALOG, **_CORE, **_SETTINGS}
