"""Chinese of refusals: server, readers, servers of record and index, and usage; see `translate`."""

from __future__ import annotations

from collections.abc import Mapping

# Refusals of the server, of the readers and of the other rooms, in Chinese; see `translate`.


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


# What is said of servers that hold the record or an index, in Chinese; see `translate`.
#
# A message is mostly a place or what was being done, a colon, and what happened; each of them stands here by itself.


_DOING = {
    "counting": "统计数量",
    "creating the library": "新建知识库",
    "migrating the library": "升级知识库格式",
    "asking whether the library changed": "查询知识库是否有变更",
    "looking where the library lies": "核对知识库的位置",
    "taking the library's lock": "获取知识库的写锁",
    "letting go of the library's lock": "释放知识库的写锁",
    "storing documents": "保存文档",
    "storing vectors": "保存向量",
    "retiring documents": "移除文档",
    "removing a source": "移除来源",
    "writing a source": "登记来源",
    "recording a failure": "记录失败",
    "forgetting what was removed": "清除已移除的内容",
    "vacuuming what was removed": "清理已移除的内容",
    "reading passages": "读取段落",
    "reading texts": "读取文本",
    "reading a document": "读取文档",
    "reading a source": "读取来源",
    "reading changes": "读取变更",
    "reading the rules": "读取规则",
    "reading the tuning": "读取调优",
    "reading the state of sources": "读取来源状态",
    "reading the library's id": "读取知识库标识",
    "listing documents": "列出文档",
    "listing sources": "列出来源",
    "listing agents": "列出智能体",
    "listing keys": "列出密钥",
    "checking a key": "核对密钥",
    "opening the audit": "打开审计",
    "reading the audit": "读取审计",
    "verifying the audit": "验证审计",
    "listing audit records": "列出审计记录",
    "writing audit records": "写入审计记录",
    "opening the count of tasks": "打开任务计数",
    "counting what the task was given": "统计任务所得内容",
}

_POSTGRES = {
    "refuses its user or password": "拒绝该用户或口令",
    "refuses its user or password ({a})": "拒绝该用户或口令（{a}）",
    "refuses its user from this machine (28000)": "不允许该用户从本机连接（28000）",
    "asks for a password, and the connection string has none (28P01)": "要求口令，而连接串中没有（28P01）",
    "has no such user (28000)": "没有这个用户（28000）",
    "has no such database": "没有这个数据库",
    "has no such database ({a})": "没有这个数据库（{a}）",
    "has no connection left": "连接数已满",
    "has no connection left ({a})": "连接数已满（{a}）",
    "is stopping or starting": "正在停止或启动",
    "is stopping or starting ({a})": "正在停止或启动（{a}）",
    "is stopping or starting, or has ended the connection": "正在停止或启动，或已断开连接",
    "is stopping or starting, or has ended the connection ({a})": "正在停止或启动，或已断开连接（{a}）",
    "cannot be reached, refuses its user or password, or has lost the connection": (
        "无法连接、拒绝该用户或口令，或连接已中断"
    ),
    "has lost the connection": "连接已中断",
    "has lost the connection ({a})": "连接已中断（{a}）",
    "the connection to the server was lost": "与服务器的连接已中断",
    "the connection to the server was lost ({a})": "与服务器的连接已中断（{a}）",
    "does not answer": "没有应答",
    "does not let its user do that": "不允许该用户这样做",
    "does not let its user do that ({a})": "不允许该用户这样做（{a}）",
    "does not let its user do what an index needs": "不允许该用户进行索引所需的操作",
    "does not let its user do what an index needs ({a})": "不允许该用户进行索引所需的操作（{a}）",
    "has no such table": "没有所需的表",
    "has no such table ({a})": "没有所需的表（{a}）",
    "has no such schema": "没有所需的模式",
    "has no such schema ({a})": "没有所需的模式（{a}）",
    "has lost the index's schema": "索引的模式已不存在",
    "has lost the index's schema ({a})": "索引的模式已不存在（{a}）",
    "has lost rows of table postings": "倒排表 postings 缺行",
    "holds other tables than the index's": "其中的表不是索引的表",
    "holds other tables than the index's ({a})": "其中的表不是索引的表（{a}）",
    "holds values that cannot be compared": "含有无法比较的值",
    "holds values that cannot be compared ({a})": "含有无法比较的值（{a}）",
    "reports damaged data": "报告数据损坏",
    "reports damaged data ({a})": "报告数据损坏（{a}）",
    "reports a damaged index": "报告索引损坏",
    "reports a damaged index ({a})": "报告索引损坏（{a}）",
    "the server's disk is full": "服务器磁盘已满",
    "the server's disk is full ({a})": "服务器磁盘已满（{a}）",
    "has no memory left": "内存不足",
    "has no memory left ({a})": "内存不足（{a}）",
    "has no room": "空间不足",
    "has no room ({a})": "空间不足（{a}）",
    "has no room: connections, memory or disk": "资源不足：连接、内存或磁盘",
    "has no room: connections, memory or disk ({a})": "资源不足：连接、内存或磁盘（{a}）",
    "cannot write to its disk": "无法写入磁盘",
    "cannot write to its disk ({a})": "无法写入磁盘（{a}）",
    "only reads; it is a replica": "只读，是一个副本",
    "only reads; it is a replica ({a})": "只读，是一个副本（{a}）",
    "took the transaction back, because of another one": "因另一事务而撤回了本事务",
    "took the transaction back, because of another one ({a})": "因另一事务而撤回了本事务（{a}）",
    "has taken the transaction back, because of another one": "因另一事务而撤回了本事务",
    "has taken the transaction back, because of another one ({a})": "因另一事务而撤回了本事务（{a}）",
    "another process is writing": "另一个进程正在写入",
    "another process is writing (wenyuan, process {a} of {b})": "{b} 上的 wenyuan 进程 {a} 正在写入",
    "another process is writing ({a})": "另一个进程正在写入（{a}）",
    "the transaction took too long": "事务用时过长",
    "the database failed ({a})": "数据库出错（{a}）",
    "all sessions are in use": "连接已全部占用",
    "catalog.dsn is no connection string": "catalog.dsn 不是有效的连接串",
    "postgres.dsn is no connection string": "postgres.dsn 不是有效的连接串",
    "the driver of PostgreSQL is not installed": "未安装 PostgreSQL 驱动",
    "the server is PostgreSQL {a}; at least {b} is needed": "服务器为 PostgreSQL {a}，至少需要 {b}",
    "the database is in {a}, which cannot hold every character": "数据库编码为 {a}，无法保存全部字符",
    "its user may not make schema {a}, which is to hold the library": "该用户无权建立存放知识库的模式 {a}",
    "its user may not make schema {a}, which is to hold the index": "该用户无权建立存放索引的模式 {a}",
    "schema {a} is not this library's index, or is one of another version": (
        "模式 {a} 不是此知识库的索引，或属于另一版本"
    ),
    "{a} is no library": "{a}不是知识库",
    "the extension vector is {a}; at least {b} is needed": "扩展 vector 为 {a}，至少需要 {b}",
    "the server has no extension vector (pgvector), which holds and compares vectors": (
        "服务器没有保存与比较向量的扩展 vector（pgvector）"
    ),
    "the extension vector (pgvector) is not installed in the database, and its user may not install it": (
        "该数据库未安装扩展 vector（pgvector），且该用户无权安装"
    ),
    "vectors have {a} dimensions; pgvector takes {b}": "向量为 {a} 维，pgvector 最多 {b} 维",
    "vectors have {a} dimensions; Milvus takes {b}": "向量为 {a} 维，Milvus 最多 {b} 维",
    "the connection to the server was lost while the library was being written": "写入知识库时与服务器的连接中断",
    "all {a} sessions were busy until the deadline": "到期限为止 {a} 个连接一直被占用",
}

_INDEX = {
    "the index holds change {a}, the catalog ends at {b}": "索引含变更 {a}，而目录库止于 {b}",
    "its change {a} is not the catalog's": "其变更 {a} 与目录库的不是同一个",
    "the index is still being brought up to date": "索引仍在追赶目录库",
    "holds {a} passages and {b} vectors, the catalog {c} and {d}": "含 {a} 个段落、{b} 个向量，目录库为 {c} 与 {d}",
    "{a} passages, {b} vectors, change {c}; {d} behind the catalog": (
        "{a} 个段落，{b} 个向量，变更序号 {c}，落后目录库 {d}"
    ),
    "no answer in time": "未在时限内答复",
    "no answer came in time": "未在时限内答复",
    "the statement was cancelled, or no answer came in time": "语句被取消，或未在时限内答复",
    "is closed": "已关闭",
    "this index was built without an encoder": "此索引建立时没有编码器",
    "the query has {a} dimensions, the index {b}": "查询为 {a} 维，索引为 {b} 维",
}

_MILVUS = {
    "cannot be reached": "无法连接",
    "refuses its user, password or right": "拒绝该用户、口令或权限",
    "the driver of Milvus is not installed": "未安装 Milvus 驱动",
    "the server is Milvus {a}; at least {b} is needed": "服务器为 Milvus {a}，至少需要 {b}",
    "milvus.uri is no address": "milvus.uri 不是有效地址",
    "the index's collections are not there, or not loaded": "索引的集合不存在，或未加载",
    "collection {a} is not this library's index, or is one of another version": (
        "集合 {a} 不是此知识库的索引，或属于另一版本"
    ),
    "{a} of {b} rows are there": "应有 {b} 行，只有 {a} 行",
    "gave {a} of {b} matching rows: a part of it does not answer": "匹配 {b} 行只给出 {a} 行：服务器有一部分不应答",
    "its marks are gone": "索引的标记已丢失",
    "its mark cannot be read ({a})": "索引的标记无法读取（{a}）",
    "gives a score that is no cosine": "给出的分数不是余弦",
    "all {a} calls were busy until the deadline": "到期限为止 {a} 个调用一直被占用",
}

_HINTS = {
    "look at catalog.dsn": "检查 catalog.dsn",
    "look at postgres.dsn; where it is not set, catalog.dsn counts": "检查 postgres.dsn；未设置时以 catalog.dsn 为准",
    "look at milvus.uri, and whether the server runs": "检查 milvus.uri，以及服务器是否在运行",
    "look at milvus.token": "检查 milvus.token",
    "look at catalog.schema_name, or restore a backup": "检查 catalog.schema_name，或从备份恢复",
    "name the primary in catalog.dsn": "在 catalog.dsn 中写主库的地址",
    "lower catalog.sessions, or raise its limit": "调低 catalog.sessions，或提高服务器的上限",
    "raise catalog.sessions, or ask less at once": "调高 catalog.sessions，或减少同时提问",
    "raise postgres.sessions, or ask less at once": "调高 postgres.sessions，或减少同时提问",
    "raise milvus.calls, or ask less at once": "调高 milvus.calls，或减少同时提问",
    "make room on the server; what was acknowledged before is safe": "在服务器上腾出空间；此前已确认的内容是安全的",
    "GRANT CREATE ON DATABASE … TO …, by its owner; a catalog's tables belong to the user who made them": (
        "由数据库所有者执行 GRANT CREATE ON DATABASE … TO …；目录库的表属于建立它的用户"
    ),
    "GRANT CREATE ON DATABASE … TO …, by the database's owner": (
        "由数据库所有者执行 GRANT CREATE ON DATABASE … TO …"
    ),
    "restore the database from a backup": "从备份恢复数据库",
    "REINDEX it, or restore a backup": "执行 REINDEX，或从备份恢复",
    "try again": "请重试",
    "upgrade the server, or name another in {a}": "升级服务器，或在 {a} 中换一台",
    "drop the index's schema; it is built again from the catalog": "删除索引的模式，它会从目录库重建",
    "drop what the server holds of the index; it is built again from the catalog": (
        "删除服务器上的索引，它会从目录库重建"
    ),
    "drop the index's collections; they are built again from the catalog": "删除索引的集合，它们会从目录库重建",
    "drop the collections {a}; they are built again from the catalog": "删除集合 {a}，它们会从目录库重建",
    "drop the index's collections, or load them where they were released; "
    "they are built again from the catalog": "加载被释放的集合，或删除索引的集合，它们会从目录库重建",
    "the catalog was restored or copied, and has changed since: drop the index's schema, wenyuan_…": (
        "目录库是恢复或复制而来，此后又有变更：请删除索引的模式 wenyuan_…"
    ),
    "the catalog was restored or copied, and has changed since: drop the collections {a}": (
        "目录库是恢复或复制而来，此后又有变更：请删除集合 {a}"
    ),
    "the catalog was replaced by an older one: {a}": "目录库已换成较旧的一份：{a}",
    "choose another postgres.schema_prefix, or {a} if nobody needs it": (
        "换一个 postgres.schema_prefix；若无人需要，执行 {a}"
    ),
    "choose another milvus.prefix, or drop that collection if nobody needs it": (
        "换一个 milvus.prefix；若无人需要，删除该集合"
    ),
    "restore it from a backup; or choose another folder, or another catalog.schema_name": (
        "从备份恢复；或换一个目录，或换一个 catalog.schema_name"
    ),
    "choose another folder, or another catalog.schema_name": "换一个目录，或换一个 catalog.schema_name",
    "choose an encoder of fewer dimensions, or another engine": "换维数较少的编码器，或换引擎",
    "ALTER EXTENSION vector UPDATE, after installing a newer package of pgvector": (
        "安装较新的 pgvector 后执行 ALTER EXTENSION vector UPDATE"
    ),
    "install it on the server, e.g. {a}, then CREATE EXTENSION vector": (
        "在服务器上安装，例如 {a}，然后执行 CREATE EXTENSION vector"
    ),
    "CREATE EXTENSION vector, by the database's owner or a superuser": (
        "由数据库所有者或超级用户执行 CREATE EXTENSION vector"
    ),
    "restore the audit; or go on with what there is: wenyuan audit verify --renew-head": (
        "恢复审计；或以现有记录继续：wenyuan audit verify --renew-head"
    ),
    "nobody may write to the library while it is moved: stop its servers; remove what was begun, try again": (
        "迁移期间不得写入：请停止其服务，移除未完成的部分后重试"
    ),
}

SERVERS = {
    **_DOING,
    **_POSTGRES,
    **_INDEX,
    **_MILVUS,
    **_HINTS,
    "the audit does not verify: {a}": "审计未通过验证：{a}",
    "cannot be written: {a}": "无法写入：{a}",
    # what a server does, after all that is said of servers as a whole
    "the server failed ({a})": "服务器出错（{a}）",
    "the server {a}": "服务器{a}",
}

PLACES = {
    # what may hold anything, after what has a colon in it
    "looking for {a}": "查找{a}",
    "making {a}": "建立{a}",
    "opening {a}": "打开 {a}",
    "copying {a}": "复制 {a}",
    "comparing {a}": "比对 {a}",
    "taking the lock of source {a}": "获取来源 {a} 的锁",
    "schema {a} of the PostgreSQL at {b}": "PostgreSQL（{b}）的模式 {a}",
    "engine postgres at {a}": "引擎 postgres（{a}）",
    "a local socket": "本机套接字",
}


# What is said in English of the form of a command line or of a request, in Chinese; see `translate`.


USAGE: Mapping[str, str] = {
    "Missing command": "缺少子命令",
    "No such command {a}. Did you mean {b}?": "没有命令 {a}，您是否想用 {b}？",
    "No such command {a}": "没有命令 {a}",
    "No such option: {a} (Possible options: {b})": "没有选项 {a}，相近的有：{b}",
    "No such option: {a}": "没有选项 {a}",
    "Missing argument {a}": "缺少参数 {a}",
    "Missing option {a}": "缺少选项 {a}",
    "Got unexpected extra argument(s) ({a})": "多余的参数：{a}（含空格的文字请加引号）",
    "Option {a} requires an argument": "选项 {a} 需要一个值",
    "Option {a} requires {b} arguments": "选项 {a} 需要 {b} 个值",
    "Option {a} does not take a value": "选项 {a} 不带值",
    "Invalid value for {a}: {b}": "{a} 的值有误：{b}",
    "{a} is not one of {b}": "{a} 不在可选值之中：{b}",
    "{a} is not a date like 2026-11-21": "{a} 不是 2026-11-21 这样的日期",
    "{a} is not an address like http://192.168.1.5:8765": "{a} 不是 http://192.168.1.5:8765 这样的地址",
    "File {a} does not exist": "文件 {a} 不存在",
    "Directory {a} does not exist": "目录 {a} 不存在",
    "Path {a} does not exist": "路径 {a} 不存在",
    "File {a} is a directory": "{a} 是目录，应为文件",
    "Directory {a} is a file": "{a} 是文件，应为目录",
}

FORMS: Mapping[str, str] = {
    "the answer is not JSON by its own account": "答复按其自称的类型不是 JSON",
    "answered with a redirect ({z}), which is refused": "答复是重定向（{z}），已拒绝",
    "is required": "必须提供",
    "must be a string": "应为字符串",
    "must be an integer": "应为整数",
    "must be a number": "应为数字",
    "must be a string or an array": "应为字符串或数组",
    "must be a string, an integer, a number or an array": "应为字符串、数字或数组",
    "must be a string, an integer, a number, true or false or an array": "应为字符串、数字、true、false 或数组",
    "must be a string, an integer, a number or true or false": "应为字符串、数字、true 或 false",
    "must be an array": "应为数组",
    "must be an object": "应为对象",
    "must not be empty": "不能为空",
    "must have at most {z} characters": "最多 {z} 个字符",
    "must have at most {z} entries": "最多 {z} 项",
    "must be at least {z}": "不能小于 {z}",
    "must be at most {z}": "不能大于 {z}",
    "must be above {z}": "应大于 {z}",
    "must be below {z}": "应小于 {z}",
    "must be true or false": "应为 true 或 false",
    "must be one of {z}": "应为以下之一：{z}",
    "must be a date such as {z}": "应为 {z} 这样的日期",
    "must not be blank": "不能为空",
    "must not contain NUL": "不能含有 NUL",
    "must not contain NUL or half of a surrogate pair": "不能含有 NUL 或半个代理对",
    "is unknown": "是未知的字段",
    "is not JSON": "不是 JSON",
    "error at line {z}, column {y}": "第 {z} 行第 {y} 列有误",
    "is not UTF-8 at byte {z}": "不是 UTF-8 编码（字节 {z}）",
    "is nested deeper than {z}, or its brackets do not match": "嵌套超过 {z} 层，或括号不匹配",
    "is empty": "为空",
    "must occur only once in its object": "在其对象中只能出现一次",
    "must not be NaN or Infinity": "不能为 NaN 或 Infinity",
    "must fit in a 64-bit float": "超出 64 位浮点数的范围",
    "must be a string of 1 to {z} characters": "必须是 1 到 {z} 个字符的字符串",
    "is read as the same as the term already": "与说法本来就视为同一个词",
    "must hold a word or a character to search for": "必须含有可检索的字词",
    "must hold no control characters": "不能含有控制字符",
    "must be 'both' or 'one_way'": "必须是“双向”或“单向”",
    "must be an integer from -2^53 to 2^53": "应为 -2^53 至 2^53 的整数",
}
"""What is wrong with a value of a request, or with the answer of a source elsewhere."""

_FIELDS = {"term": "说法", "synonym": "同义词", "direction": "方向"}
PLACED: Mapping[str, str] = {
    f"{field} {english}": f"{name}{chinese}" for field, name in _FIELDS.items() for english, chinese in FORMS.items()
} | {f"{{a}} {english}": f"{{a}} {chinese}" for english, chinese in FORMS.items()}
"""The same with the field or the place before it: tried last, as many other messages would match."""
