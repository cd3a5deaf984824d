"""The library's own messages, which are English, in Chinese. One that is not known here stays as it is.

A pattern is the English message with ``{name}`` for what varies.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from wenyuan.cli.messages import MESSAGES
from wenyuan.cli.translate_refusals import FORMS, PLACED, PLACES, REFUSALS, SERVERS, USAGE
from wenyuan.cli.translate_results import ADAPTERS, BROAD, RULES, VAGUE, Patterns, compiled

# What the operating system, YAML and checks of values say in English, in Chinese; see `translate`.


_ERRORS: Mapping[str, str] = {
    "No such file or directory": "没有这个文件或目录",
    "Permission denied": "没有权限",
    "Operation not permitted": "不允许此操作",
    "Is a directory": "是目录",
    "Not a directory": "不是目录",
    "Directory not empty": "目录不为空",
    "File exists": "文件已存在",
    "File name too long": "文件名过长",
    "No space left on device": "磁盘空间不足",
    "Disk quota exceeded": "超出磁盘配额",
    "Read-only file system": "文件系统为只读",
    "Input/output error": "读写出错",
    "Too many open files": "打开的文件过多",
    "Too many levels of symbolic links": "符号链接层数过多",
    "Connection refused": "连接被拒绝",
    "Connection reset by peer": "连接被对方中断",
    "Connection timed out": "连接超时",
    "Network is unreachable": "网络不可达",
    "No route to host": "无法到达该主机",
    "Name or service not known": "无法解析主机名",
    "Temporary failure in name resolution": "暂时无法解析主机名",
    "Address already in use": "端口已被占用",
    "Cannot assign requested address": "本机没有这个地址",
}
SYSTEM: Mapping[str, str] = {
    **_ERRORS,
    **{f"[Errno {{a}}] {english}": chinese for english, chinese in _ERRORS.items()},
    "ConnectError: {a}": "无法连接：{a}",
    "ConnectTimeout: {a}": "连接超时：{a}",
    "ConnectTimeout": "连接超时",
    "ReadTimeout: {a}": "未在时限内答复：{a}",
    "ReadTimeout": "未在时限内答复",
    "no answer: {a}": "没有答复：{a}",
    # -- files
    "line {a}: it is not well-formed YAML: {b}": "第 {a} 行：YAML 格式有误：{b}",
    "did not find expected node content": "此处应有内容",
    "did not find expected key": "此处应有键名，请检查缩进",
    "did not find expected ',' or ']'": "缺少 , 或 ]",
    "did not find expected ',' or '}'": "缺少 , 或 }}",
    "did not find expected <document start>": "此处应为文档开头",
    "mapping values are not allowed in this context": "此处不能出现“键: 值”，请检查缩进或引号",
    "could not find expected ':'": "缺少冒号",
    "found character that cannot start any token": "有不能开头的字符（如制表符），请改用空格",
    "found unexpected end of stream": "文件在引号或括号之内中断",
    "found undefined alias": "引用了未定义的别名",
    "block sequence entries are not allowed in this context": "此处不能出现列表项，请检查缩进",
    "it is named {a} but is not a PDF": "扩展名为 {a}，但内容不是 PDF",
    "it is named {a} but is a PDF": "扩展名为 {a}，但内容是 PDF",
    # -- values
    "Input should be a valid number, unable to parse string as a number": "应为数字",
    "Input should be a valid integer, unable to parse string as an integer": "应为整数",
    "Input should be a valid boolean, unable to interpret input": "应为 true 或 false",
    "Input should be a valid {a}": "类型不对，应为 {a}",
    "Input should be greater than or equal to {a}": "不能小于 {a}",
    "Input should be less than or equal to {a}": "不能大于 {a}",
    "Input should be greater than {a}": "应大于 {a}",
    "Input should be less than {a}": "应小于 {a}",
    "Input should be {a}": "应为以下之一：{a}",
    # -- next commands
    "name the folder of a judged set (BEIR layout)": "请指定评测集目录（BEIR 格式）",
    "restore the library's catalog.db from a backup": "请从备份恢复知识库的 catalog.db",
}  # fmt: skip
"""The more exact ones first."""


_CHINESE = {
    **ADAPTERS,
    # answers without hits
    "the query has no word or character to search for": "问题中没有可检索的字词",
    "the library has no source yet: {a}": "知识库还没有来源：{a}",
    "the library has no source that is in force on that day": "知识库在该日期没有有效的来源",
    "no source has this domain any more": "已没有来源属于该领域",
    "no passage in scope shares a word or a meaning with the query": "范围内没有段落与问题在字词或含义上相关",
    "no document in scope has the clause {a}": "范围内的文档都没有 {a}",
    "the document {a} has no clause {b}": "文档 {a} 没有 {b}",
    "the best passage scores {a}, below the floor {b} that is set": "得分最高的段落只有 {a}，低于设定的门槛 {b}",
    "there is hardly an answer in what was searched: probability {a}, below the {b} that search.abstain={c} asks for; "
    "the nearest passage scores {d}; lenient asks for {e}": (
        "所查范围内很可能没有答案：概率 {a}，低于 search.abstain={c} 要求的 {b}；最接近的段落得分 {d}；设为 lenient 只要求 {e}"
    ),
    "there is hardly an answer in what was searched: probability {a}, below the {b} that search.abstain={c} asks for; "
    "the nearest passage scores {d}": (
        "所查范围内很可能没有答案：概率 {a}，低于 search.abstain={c} 要求的 {b}；最接近的段落得分 {d}"
    ),
    "whether a question is answered, and how likely by what, was told otherwise then": (
        "当时以另一种方法判断是否作答及各段落的概率"
    ),
    "nothing was found": "没有找到内容",
    "the query names a place, which is looked up exactly": "问题点名了某一处，直接查到",
    # catalog
    "there is no library in {a}": "{a} 中没有知识库",
    "there is a library in {a} already": "{a} 中已有知识库",
    "the library in {a} has format {b}, this program knows up to {c}": (
        "{a} 中的知识库格式为 {b}，本程序最高支持 {c}"
    ),
    "the library is being written by process {a}": "进程 {a} 正在写入知识库",
    "the library is being written by an unknown process": "未知进程正在写入知识库",
    "the library is being written by {a}": "{a} 正在写入知识库",
    "the source {a} is being taken in by {b}": "{b} 正在收录来源 {a}",
    "there is a database in {a} already": "{a} 中已有数据库",
    "{a} was removed while the library is open": "知识库打开期间，{a} 被删除",
    "{a} was replaced by another file while the library is open": "知识库打开期间，{a} 被换成了另一个文件",
    "{a} was emptied while the library is open": "知识库打开期间，{a} 被清空",
    "{a} was written over while the library is open": "知识库打开期间，{a} 被覆盖",
    "{a} was written over by that of another library ({b}) while the library is open": (
        "知识库打开期间，{a} 被另一知识库（{b}）的同名文件覆盖"
    ),
    "put it back, or restore a backup, then start again what has it open: {a}": (
        "请放回该文件或恢复备份，再重新启动打开它的程序：{a}"
    ),
    "{a} is that of library {b}, and the catalog that of {c}: one of them is another library's": (
        "{a} 属于知识库 {b}，而目录库属于 {c}：其中之一来自别的知识库"
    ),
    "restore both from one backup": "请从同一份备份恢复两者",
    # index files
    "its change {a} ({b}) is not the catalog's ({c}): the index or the catalog is another library's, or an older one": (
        "索引的变更 {a}（{b}）与目录库的（{c}）不同：索引或目录库来自别的知识库，或是较旧的一份"
    ),
    "if the catalog is the right one, remove the library's index folder: it is built anew": (
        "若目录库正确，请删除知识库的 index 目录，索引会重建"
    ),
    "some of its files are another library's": "部分文件来自别的知识库",
    "{a} is not the file that was published": "{a} 不是当时写入的文件",
    "{a} was cut off while it was read": "读取时 {a} 被截断",
    "{a} is there already": "{a} 已存在",
    "the library lies in {a}": "知识库位于 {a}",
    "cannot copy the library to {a}: {b}: {c}": "无法将知识库复制到 {a}：{b}：{c}",
    "the copy of {a} is damaged: {b}": "{a} 的副本已损坏：{b}",
    "{a} passages came or changed while the library was embedded anew": "重新向量化期间有 {a} 个段落新增或变化",
    "the library in {a} was emptied: its tables are gone, and what was made with them is there": (
        "{a} 中的知识库已被清空：数据表没有了，而与之一同生成的文件仍在"
    ),
    "the library in {a} is not all there yet": "{a} 中的知识库尚未迁移完整",
    "the library lies in a folder already": "知识库已在目录中",
    "table {a} differs: {b} rows here, {c} there": "表 {a} 不一致：原有 {b} 行，新有 {c} 行",
    "cannot make the folder {a}: {b}": "无法建立目录 {a}：{b}",
    "{a} is a database, but no library": "{a} 是数据库，但不是知识库",
    "{a}: database disk image is malformed": "{a}：数据库文件已损坏（database disk image is malformed）",
    "{a}: file is not a database": "{a}：文件不是数据库（file is not a database）",
    "reading the change number": "读取变更序号",
    # sources
    "no address that a line may state: {a}; that of the line stands instead": "该行不得以 {a} 为地址；改用该行在文件中的位置",
    "the address {a} is that of a document of source {b}": "地址 {a} 属于来源 {b} 的文档",
    "source {a} had this address, and is trusted less": "来源 {a} 曾用此地址，其可信度较低",
    "settings.base_uri of source {a} is no address of the source's own, such as kb://manuals/": (
        "来源 {a} 的 settings.base_uri 不是该来源自己的地址，例如 kb://manuals/"
    ),
    "http, https and urn need none": "http、https 和 urn 无需设置",
    "there is no such setting": "没有这个设置项",
    "there is no such agent": "没有这个智能体",
    "there is no such answer": "没有这个回答",
    "there is no such audit record": "没有这个审计记录",
    "there is no such evaluation": "没有这个评测",
    "there is no such key": "没有这个密钥",
    "there is no such node": "没有这个节点",
    "there is no such pack": "没有这个规则包",
    "there is no such profile": "没有这个任务画像",
    "there is no such running evaluation": "没有正在进行的评测",
    "there is no such source": "没有这个来源",
    "there is no such statement": "没有这个规则",
    "there is no such synonym": "没有这个同义词",
    "there is no source {a}": "没有来源 {a}",
    "the source {a} is there already, and would change: {b}": "来源 {a} 已登记，将会修改：{b}",
    "to change it: --yes, or wenyuan source set {a}; without these options it stays as it is": (
        "确认修改请加 --yes，或用 wenyuan source set {a}；不给这些选项则保持不变"
    ),
    "nobody can be asked whether the source {a} is to go (documents: {b})": (
        "无法询问是否移除来源 {a}（{b} 个文档）"
    ),
    "the source id {a} is taken: it reads {b}": "来源标识 {a} 已被占用，其路径为 {b}",
    "there is no file or folder {a}": "文件或目录 {a} 不存在",
    "cannot look into {a}: {b}": "无法查看 {a}：{b}",
    "the source id {a} is taken by a source without a path": "来源标识 {a} 已被一个没有路径的来源占用",
    "source {a} has no path: there is nothing to read": "来源 {a} 没有路径，无可读取",
    "nothing to read in {a}: it is empty": "{a} 中没有可读的文件：目录为空",
    "nothing to read in {a}: {b}": "{a} 中没有可读的文件：{b}",
    "nothing could be taken in: {a}": "没有文档能够收录：{a}",
    "cannot be read: {a}": "无法读取：{a}",
    "it holds no text": "文件中没有文字",
    "it has no text: one of 'text', 'content', 'answer' is needed": "没有正文：须有 text、content、answer 之一",
    "it is not an object": "不是 JSON 对象",
    "its address {a} was used before": "地址 {a} 已用过",
    "{a} more lines were refused": "另有 {a} 行被拒绝",
    "{a}; nor can {b} more lines": "{a}；另有 {b} 行也无法收录",
    "{a} is not a string": "{a} 不是字符串",
    "a key stands twice in one object": "同一对象中有重复的键",
    "{a}: it holds no text": "{a}：文件中没有文字",
    "{a} is no source id: 1-64 letters, digits, '_', '.', '-', starting with a letter, digit or '_'": (
        "{a} 不是有效的来源标识：须为 1 至 64 个字母、数字、“_”“.”“-”，且以字母、数字或“_”开头"
    ),
    "trust is {a}; it must be an integer from 1 to 5": "可信度为 {a}，应为 1 至 5 的整数",
    "effective_until lies before effective_from": "失效日期早于生效日期",
    "the source {a} is searched where it is; there is nothing to take in": "来源 {a} 在原处检索，无需收录",
    "the source {a} is being refreshed by {b}": "来源 {a} 正由 {b} 更新",
    "source {a} holds {b} documents; remove it before it becomes {c}": (
        "来源 {a} 含有 {b} 个文档；改为 {c} 类型之前请先移除"
    ),
    # descriptions of sources and agents, and registry files
    "did you mean {a}?": "您是否想写 {a}？",
    "cannot read {a}: {b}": "无法读取 {a}：{b}",
    "{a} is not UTF-8 (byte {b})": "{a} 不是 UTF-8 编码（字节 {b}）",
    "is no YAML: {a}": "不是有效的 YAML：{a}",
    "the file has {a} characters; at most {b}": "文件有 {a} 个字符，最多 {b} 个",
    "values are nested more than {a} deep": "嵌套超过 {a} 层",
    "anchors and aliases expand to too much, or the file is too large": "锚点与别名展开后过大，或者文件过大",
    "has a key that is no text": "含有不是文本的键",
    "the tag {a} is not allowed": "不允许使用标签 {a}",
    "{a} is no number that can be used; for text put it in quotes": "{a} 不是可用的数字；若为文本请加引号",
    "stands twice; it is on line {a} already": "重复出现，第 {a} 行已有",
    "{a} stands twice; it is on line {b} already": "{a} 重复出现，第 {b} 行已有",
    "holds neither sources nor agents nor tasks": "没有 sources、agents，也没有 tasks",
    "is no section": "不是有效的部分",
    "is no field of a source": "不是来源的字段",
    "{a} is a web address; only files and folders of this machine are read": "{a} 是网址，只能读取本机的文件或目录",
    "is a web address; only files and folders of this machine are read": "是网址，只能读取本机的文件或目录",
    "download it first; a service that answers questions is a source of type api: wenyuan apply {a}": (
        "请先下载；能回答问题的服务请登记为 api 类型的来源：wenyuan apply {a}"
    ),
    "is missing: a source of type api needs the address of its service": "缺失：api 类型的来源需要写明服务地址",
    "a source of type {a} is searched where it is; there is nothing to take in": (
        "{a} 类型的来源在原处检索，无需收录"
    ),
    "its settings have allow_private, which the setting sources.allow_private forbids": (
        "其设置含 allow_private，而系统设置 sources.allow_private 不允许"
    ),
    "take it out of the source's settings, or set sources.allow_private = true": (
        "请从来源设置中删除，或设置 sources.allow_private = true"
    ),
    "says the same as {a}; write one of them": "与 {a} 含义相同，只写其中一个",
    "is missing": "缺少此字段",
    "must be a list": "应为列表",
    "must be a mapping": "应为映射",
    "must be a mapping, not {a}": "应为映射，而不是 {a}",
    "must be text, not {a}": "应为文本，而不是 {a}",
    "must be a list of texts": "应为文本列表",
    "must be a non-empty string": "应为非空文本",
    "must be a non-empty array": "应为非空列表",
    'must be an integer from {a} to {b}, or "auto"': '应为 {a} 至 {b} 的整数，或 "auto"',
    "must be an integer from {a} to {b}": "应为 {a} 至 {b} 的整数",
    "must be true or false": "应为 true 或 false",
    "must be 1-64 letters, digits, '_', '.', '-'": "须为 1 至 64 个字母、数字、“_”“.”“-”",
    "unknown": "未知的字段",
    "holds what is no character": "含有无效字符",
    "holds what JSON cannot say": "含有 JSON 无法表示的值",
    "{a} is no day of the calendar; write YYYY-MM-DD": "{a} 不是有效日期，请写作 YYYY-MM-DD",
    "{a} is no status": "{a} 不是有效状态",
    "write in_force, draft or retired": "请写 in_force、draft 或 retired",
    "{a} is no type: {b}": "{a} 不是有效类型：{b}",
    "is {a}; it must be one of {b}": "为 {a}，应为以下之一：{b}",
    "is '{a}'": "值为 '{a}'",
    "it must be one of {a}": "应为以下之一：{a}",
    "{a} is no refresh cycle": "{a} 不是有效的更新周期",
    "{a} is shorter than a minute": "{a} 短于一分钟",
    "{a} is longer than 366 days": "{a} 长于 366 天",
    "{a} is no copyright rule": "{a} 不是版权规则",
    "write licence=… or holder=… for a name": "名称请写 licence=… 或 holder=…",
    "begins with '~', which stands for another folder with every user; write it out": (
        "以“~”开头，不同用户所指目录不同，请写完整路径"
    ),
    "supersedes {a}, which is unknown": "取代了未知的来源 {a}",
    "supersedes itself: {a}": "取代关系形成循环：{a}",
    "no source has the domain {a}": "没有来源属于领域 {a}",
    "correct the file and try again": "请修改文件后重试",
    "there is no agent {a}": "没有智能体 {a}",
    "there is no profile {a}": "没有画像 {a}",
    "there is no synonym of the number {a}": "没有编号为 {a} 的同义词",
    "there is no synonym of {a} and {b}": "{a} 与 {b} 不是同义词",
    "there would be {a} synonyms; a library has at most {b}": "同义词将达到 {a} 条；每个知识库最多 {b} 条",
    "{a} is no file of synonyms": "{a} 不是同义词文件",
    "{a} has no header with terms and synonyms": "{a} 中没有包含说法与同义词的表头",
    "name a column term (说法), one synonym (同义词) and, where it matters, one direction (方向)": (
        "请有一列名为“说法”，一列名为“同义词”，需要时再加一列“方向”"
    ),
    "a file of {a}": "支持的文件：{a}",
    "is no object": "不是 JSON 对象",
    "synonyms are not written as {a}": "不能把同义词写成 {a}",
    "{a} has the profile {b} already": "{a} 已属于画像 {b}",
    "must be an array of strings": "必须是字符串数组",
    "has {a} entries; at most {b}": "有 {a} 项，最多 {b} 项",
    "may hold * only at its end": "只能以 * 结尾",
    "a profile needs a domain or a term": "画像至少需要一个领域或词语",
    "there is no key {a}": "没有密钥 {a}",
    "{a} is no right": "{a} 不是有效权限",
    "a key needs at least one right": "密钥至少需要一项权限",
    "rights: {a}": "可用权限：{a}",
    "{a} says no time until which a key could be valid": "{a} 不是有效期",
    "{a} is over already": "{a} 已经过去",
    "write 12h, 90d, 4w, or a day such as 2027-01-31": "请写 12h、90d、4w，或 2027-01-31 这样的日期",
    # requests
    "query must not be blank": "问题不能为空",
    "query has {a} characters; at most {b}": "问题有 {a} 个字符，最多 {b} 个",
    "max_results must be from 1 to {a}": "结果数应为 1 至 {a}",
    "filters must be a non-empty object": "过滤条件须为非空的 JSON 对象",
    "the filter": "过滤条件",
    "no such filter field: {a}": "没有这个过滤字段：{a}",
    # tuning
    "{a} is no golden file": "{a} 不是标准答案文件",
    "{a} holds no question with an answer": "{a} 中没有带答案的问题",
    "{a} has no header with questions and addresses": "{a} 中没有包含问题与来源的表头",
    "name a column question (问题) and one uri (来源)": "请设问题（question）与来源（uri）两列",
    "the question is missing": "缺少问题",
    "the address is missing": "缺少来源地址",
    "the question has {a} characters; at most {b}": "问题有 {a} 个字符，最多 {b} 个",
    "the question {a} has {b} characters; at most {c}": "问题 {a} 有 {b} 个字符，最多 {c} 个",
    "the question {a} has no word or character to search for": "问题 {a} 中没有可检索的字词",
    "the question {a} has an answer in one place and none in another": "问题 {a} 在一处有答案，在另一处标为无答案",
    "there is an address beside 'no answer'": "“无答案”旁边另有地址",
    "{a} is no grade: write a number that is not below 0": "{a} 不是有效等级，应为不小于 0 的数",
    "a judged set is a folder with queries.jsonl and qrels.tsv (BEIR layout)": (
        "评测集是含有 queries.jsonl 与 qrels.tsv 的目录（BEIR 格式）"
    ),
    "the query {a} is not in queries.jsonl": "问题 {a} 不在 queries.jsonl 中",
    "it must be a query id, a document id and a grade, with tabs between": "应为问题编号、文档编号与等级，以制表符分隔",
    "it is no object with an '_id'": "不是带有 _id 的对象",
    "a tuning is learned from vectors, and this library has none": "调优需要向量，而此知识库没有向量",
    "none of {a} addresses is in the library, e.g. {b}": "{a} 个地址都不在知识库中，例如 {b}",
    "there is nothing to learn from: no golden file, and no feedback that says what is right": (
        "没有可学习的内容：没有标准答案文件，也没有认可答案的反馈"
    ),
    "the library has no tuning": "知识库没有调优",
    # encoder check
    "there is no folder {a}": "目录 {a} 不存在",
    "the directory {a} has no {b}": "目录 {a} 中没有 {b}",
    "name a directory with a model exported to ONNX and its tokenizer.json": (
        "请指定含有 ONNX 模型及其 tokenizer.json 的目录"
    ),
    "tokenizer.json cannot be used: {a}": "tokenizer.json 无法使用：{a}",
    "questions do not find their answers, however they are embedded (at best: {a})": (
        "无论怎样计算向量，问题都找不到答案（最好时：{a}）"
    ),
    "name a directory with a model for sentence embeddings, exported to ONNX with its own tokenizer.json": (
        "请指定句向量模型的目录，其中有导出的 ONNX 模型及其自己的 tokenizer.json"
    ),
    "{a} is neither .svg nor .html": "{a} 既不是 .svg 也不是 .html",
    # feedback
    "there is no answer {a}": "没有这次回答：{a}",
    "{a} is no part of the answer {b}": "{a} 不是回答 {b} 的片段",
    "{a} is called both right and wrong": "{a} 既被评为正确又被评为错误",
    "good nothing is said: name fragments that are right or wrong": "没有评价：请指出正确或错误的片段",
    # audit
    "there is no audit record {a}": "没有审计记录 {a}",
    "{a} is no kind of audit record": "{a} 不是审计记录的种类",
    "one of {a}": "可用：{a}",
    "limit is {a}; it must be from 1 to {b}": "条数为 {a}，应为 1 至 {b}",
    "{a} is no head of an audit: <number>:<64 hexadecimal digits>": "{a} 不是链头：<序号>:<64 位十六进制数>",
    "there is a file {a} already": "文件 {a} 已存在",
    "choose another name": "换一个文件名",
    "cannot write {a}: {b}": "无法写入 {a}：{b}",
    "the audit is switched off": "审计已关闭",
    "only records of retrievals can be replayed": "只有检索记录可以重放",
    "{a} says no time": "{a} 不是时间",
    "write 24h, 7d, 4w, 2026-11-21 or '2026-11-21 14:30'": "请写 24h、7d、4w、2026-11-21 或 '2026-11-21 14:30'",
    "the audit ends at record {a}, but {b} says {c}: records were removed or replaced": (
        "审计止于第 {a} 条，但 {b} 为 {c}：有记录被删除或替换"
    ),
    "the texts of change {a} are not kept any more: {b} was removed or redacted anew since": (
        "变更 {a} 时的文本已不再保留：此后 {b} 被移除或重新脱敏"
    ),
    "the texts of change {a} are not kept any more": "变更 {a} 时的文本已不再保留",
    "texts not kept": "文本未保留",
    "cache.url is set, but the redis client is not installed": "设置了 cache.url，但未安装 redis 客户端",
    "cache.url cannot be used; write redis://host:6379/0": "cache.url 无法使用；请写成 redis://host:6379/0",
    "redaction.ner: cannot load {a}: {b}": "redaction.ner：无法加载 {a}：{b}",
    "redaction.ner is lac, but its model is not installed": "redaction.ner 为 lac，但未安装其模型",
    "write module:function; the module must be importable": "请写成 module:function，且模块可以导入",
    "compare with the library as it is instead": "请与现在的知识库比较",
    "missing: the records {a} to {b} were removed": "缺失：第 {a} 至 {b} 条被删除",
    "inserted: it stands after record {a}": "插入：位于第 {a} 条之后",
    "edited or moved: its hash is not that of its content": "被修改或移动：哈希与内容不符",
    "inserted or rewritten: it does not follow record {a}": "被插入或重写：不与第 {a} 条相接",
    "its kept query was edited": "保存的问题原文被修改",
    "rewritten: {a} has another hash": "被重写：{a} 的哈希不同",
    "truncated: {a} knows records up to {b}": "被截断：{a} 中的记录到第 {b} 条",
    "expired: {a} is older than what retention left, and proves nothing": "已到期：{a} 早于保留的记录，不能证明什么",
    "records were removed up to here, and no record says so": "此前的记录被删除，且没有相应的记录",
    "{a} is missing or empty: the end may have been cut off": "缺少 {a} 或其内容为空：末尾可能被截断",
    "the expected head": "给定的链头",
    # why a replayed answer differs
    "{a}; the library has gone from change {b} to {c}": "{a}；知识库的变更序号由 {b} 变为 {c}",
    "{a}; the library is at the same change {b}": "{a}；知识库的变更序号仍为 {b}",
    "the query was erased, or never kept: it cannot be asked again": "问题原文已抹除或未保存，无法重新提问",
    "the record was made without its query": "记录中没有问题原文",
    "the library has never held it: it is not the library that answered, or an older copy of it": (
        "知识库从未有过此段落：不是当时作答的知识库，或是其较早的副本"
    ),
    "{a}: since {b} it is in force until {c}": "{a}：自 {b} 起，有效期至 {c}",
    "{a}: since {b} it is in force without end": "{a}：自 {b} 起，长期有效",
    "{a} has a new version (document {b}) since {c}; the same text is now {d}": (
        "{a} 自 {c} 起有新版本（文档 {b}）；同样的文字现为 {d}"
    ),
    "{a} has a new version (document {b}) since {c}; this text is not in it any more": (
        "{a} 自 {c} 起有新版本（文档 {b}）；其中已没有这段文字"
    ),
    "nothing that is recorded explains the difference": "记录中没有能解释此差异的内容",
    "{a} came into the library after the recorded answer": "{a} 在记录的答案之后收录",
    "digest was {a}, is {b}": "摘要原为 {a}，现为 {b}",
    "rules are derived otherwise since: by revision {a} then, by {b} now": "规则推导方法已更新：当时为第 {a} 版，现为第 {b} 版",
    "of the rows in which the index counted words {a} were removed ones, now {b} are": (
        "索引统计词频所用的行中，当时 {a} 是已移除的，现在是 {b}"
    ),
    "copies are told otherwise since: by revision {a} then, by {b} now": (
        "判断内容相同的方法已更新：当时为第 {a} 版，现为第 {b} 版"
    ),
    "passages that say the same were all given then": "当时相同内容的段落都给出",
    "score was {a}, is {b}": "得分原为 {a}，现为 {b}",
    "source {a}: trust was {b}, is {c}": "来源 {a}：可信度原为 {b}，现为 {c}",
    "source {a} is {b}; on {c} it was in force when the answer was given": ("来源 {a} 现为 {b}；作答时它在 {c} 有效"),
    "in force from {a} until {b}": "有效期 {a} 至 {b}",
    "further notice": "另行通知",
    "in force on {a}, not on {b}": "在 {a} 有效，在 {b} 无效",
    "{a} is not searched any more: superseded, or not permitted to whom this asks for": (
        "{a} 不再检索：已被取代，或提问者无权使用"
    ),
    "the agent may see less than when the answer was given; what else it was is not compared": (
        "该智能体现在可见的范围小于作答时；范围以外的内容不作比较"
    ),
    "others rank before it, among them {a} that are new": "其他段落排在前面，其中 {a} 个是新的",
    "it is still in force, but not among the best or below the floor": "仍然有效，但得分不在前列或低于门槛",
    "another text stands under the same id": "同一标识下的文字已不同",
    "the same passages with the same scores, otherwise": "段落与得分相同，顺序不同",
    "{a} answers otherwise now": "{a} 现在的答复不同",
    "was {a}, is {b}: {c}": "原为 {a}，现为 {b}：{c}",
    "was {a}, is {b}": "原为 {a}，现为 {b}",
    # encoders and engines
    "keyword-only by setting": "按设置仅用关键词检索",
    "keyword-only: {a}": "仅关键词检索：{a}",
    "this library was built without an encoder; wenyuan reembed gives it vectors": (
        "此知识库建立时没有编码器；运行 wenyuan reembed 可补上向量"
    ),
    "the library was built with {a} ({b} dimensions), the encoder is {c} ({d} dimensions) now; "
    "their vectors cannot be compared": "知识库用 {a}（{b} 维）建立，现在的编码器是 {c}（{d} 维），两者的向量不能比较",
    "the library was built with {a}, the encoder is {b} now; their vectors cannot be compared": (
        "知识库用 {a} 建立，现在的编码器是 {b}，两者的向量不能比较"
    ),
    "the library has vectors of {a}, which is not available: new documents would have none": (
        "知识库含有 {a} 的向量，但该编码器不可用，新文档将没有向量"
    ),
    "the deadline passed": "超过时限",
    "no answer before the deadline": "在时限内没有答复",
    "behind the catalog ({a}), and {b}": "索引落后于目录库（{a}），且{b}",
    "{a} refreshed, {b} failed": "已刷新 {a} 次，失败 {b} 次",
    "it has ended": "已经结束",
    "what the first question needs is being read": "正在为首个问题做准备",
    "the names of the rules are read": "规则名称已读取",
    "a question is answered": "试问一题，已得到回答",
    "a record can be written": "可写入记录",
    "{a} documents, {b} passages, change {c}": "{a} 个文档，{b} 个段落，变更序号 {c}",
    "{a}: {b} passages, {c} vectors, change {d}": "{a}：{b} 个段落，{c} 个向量，变更序号 {d}",
    # server
    "cannot listen on {a} port {b}: {c}": "无法监听 {a} 的端口 {b}：{c}",
    "{a} is not a loopback address, and without API keys everybody who reaches it could read everything": (
        "{a} 不是本机回环地址；没有 API 密钥时，任何能访问它的人都能读取全部内容"
    ),
    "the target is a Python object; a header cannot be sent to it": "被测对象是 Python 对象，无法发送请求头",
    "internal error: {a}": "内部错误：{a}",
    "there is not enough memory": "内存不足",
    # what to do next
    "open it, or choose another folder": "打开它，或者换一个目录",
    "choose another folder": "换一个目录",
    "name a folder that is new": "请指定一个新目录",
    "what was begun can be removed: {a}": "已开始的部分可以删除：{a}",
    "stop who takes sources in, and go on: {a}": "停止收录来源的进程，然后继续：{a}",
    "name the new encoder: {a}": "请指定新的编码器：{a}",
    "pg_dump --schema=…, see {a}": "pg_dump --schema=…，见 {a}",
    "check the path, or mount what it lies on": "检查路径，或者挂载其所在的磁盘",
    "readable: {a}": "可读的格式：{a}",
    "give it one in a registry file: wenyuan apply FILE": "在注册表文件中给出路径：wenyuan apply FILE",
    "choose another --source, or remove that one: {a}": "换一个 --source，或者移除原来的：{a}",
    "see the reasons above": "见上面的原因",
    "see {a}, or WENYUAN_… in the environment": "检查 {a} 或环境变量 WENYUAN_…",
    "set the encoder back, or embed the library anew: {a}": "把编码器改回原来的设置，或者重新向量化：{a}",
    "upgrade the program: {a}": "升级程序：{a}",
    "wait until it has finished, or stop that process": "等它结束，或者停止该进程",
    "remove the library's index folder; it is rebuilt from the catalog": "删除知识库的 index 目录，它会从目录库重建",
    "choose another port, or stop what uses this one": "换一个端口，或者停止占用它的程序",
    "keep to 127.0.0.1, or put a gateway that checks keys in front and allow remote access": (
        "只用 127.0.0.1，或者在前面加一个校验密钥的网关"
    ),
    "fields: {a}": "可用字段：{a}",
    """--filter '{"language": "zh", "metadata.year": {"ge": 2024}}'""": (
        """--filter '{{"language": "zh", "metadata.year": {{"ge": 2024}}}}'"""
    ),
    'e.g. {"metadata.tag": "fire"}': '例如 {{"metadata.tag": "fire"}}',
    "set WENYUAN_DEBUG=1 to see where, and report it": "设置 WENYUAN_DEBUG=1 查看位置并反馈",
    "wait until it has finished; if that worker has died on another machine, its claim runs out in minutes": (
        "等它结束；若它运行在另一台机器上且已退出，几分钟后即可重试"
    ),
    # what was measured of a library, as a replay compares it
    "bridge {a} → {b}": "跨语言 {a} → {b}",
    "law {a} → {b}": "另属他法 {a} → {b}",
    "least {a} → {b}": "作答门槛 {a} → {b}",
    **SYSTEM,
    **REFUSALS,
    **SERVERS,
    **USAGE,
    **FORMS,
    **RULES,
    # broad ones, after all that are narrower
    "there is no {a}": "没有 {a}",
    "{a} was removed {b}": "{a} 已移除（{b}）",
    "at an unknown time": "时间不详",
    "{a} entered": "{a} 进入结果",
    # a place and what is wrong there
    "{a}: {b}": "{a}：{b}",
    **PLACES,
    **BROAD,
    **PLACED,
    **VAGUE,
}


@cache
def _patterns() -> Patterns:
    return compiled(_CHINESE)


def translated(message: str) -> str:
    """`message` in Chinese, with what varies left in place; several sentences joined by ``; `` one by one."""
    parts = message.split("; ")
    if len(parts) > 1 and all(any(pattern.fullmatch(part) for pattern, _ in _patterns()) for part in parts):
        return "；".join(map(translated, parts))  # or what varies in one of them might reach into the next
    for pattern, chinese in _patterns():
        found = pattern.fullmatch(message)
        if found:
            return chinese.format(**{name: translated(value) for name, value in found.groupdict().items()})
    return "；".join(map(translated, parts)) if len(parts) > 1 else message


def cause(name: str) -> str:
    """Why a replay differs, in Chinese."""
    key = f"cause_{name}"
    return MESSAGES[key][1] if key in MESSAGES else name
