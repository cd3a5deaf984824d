"""What is said of servers that hold the record or an index, in Chinese; see `translate`.

A message is mostly a place or what was being done, a colon, and what happened; each of them stands here by itself.
"""

from __future__ import annotations

__all__ = ["PLACES", "SERVERS"]

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
