"""The library's own messages, which are English, in Chinese. One that is not known here stays as it is.

A pattern is the English message with ``{name}`` for what varies.
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["translated"]

_CHINESE = {
    # answers without hits
    "the query has no word or character to search for": "问题中没有可检索的字词",
    "the library has no source that is in force on that day": "知识库在该日期没有有效的来源",
    "no passage in scope shares a word or a meaning with the query": "范围内没有段落与问题在字词或含义上相关",
    "the best passage scores {a}, below the floor {b} at which nonsense scores in this library": (
        "得分最高的段落只有 {a}，低于门槛 {b}（无意义的问题在此知识库中的得分）"
    ),
    # catalog
    "there is no library in {a}": "{a} 中没有知识库",
    "there is a library in {a} already": "{a} 中已有知识库",
    "the library in {a} has format {b}, this program knows up to {c}": (
        "{a} 中的知识库格式为 {b}，本程序最高支持 {c}"
    ),
    "the library is being written by {a}": "{a} 正在写入知识库",
    "cannot make the folder {a}: {b}": "无法建立目录 {a}：{b}",
    "{a} is a database, but no library": "{a} 是数据库，但不是知识库",
    "{a}: database disk image is malformed": "{a}：数据库文件已损坏（database disk image is malformed）",
    "{a}: file is not a database": "{a}：文件不是数据库（file is not a database）",
    "reading the change number": "读取变更序号",
    # sources
    "there is no source {a}": "没有来源 {a}",
    "the source id {a} is taken: it reads {b}": "来源标识 {a} 已被占用，其路径为 {b}",
    "there is no file or folder {a}": "文件或目录 {a} 不存在",
    "cannot look into {a}: {b}": "无法查看 {a}：{b}",
    "nothing to read in {a}: it is empty": "{a} 中没有可读的文件：目录为空",
    "nothing to read in {a}: {b}": "{a} 中没有可读的文件：{b}",
    "nothing could be taken in: {a}": "没有文档能够收录：{a}",
    "cannot be read: {a}": "无法读取：{a}",
    "it holds no text": "文件中没有文字",
    "{a}: it holds no text": "{a}：文件中没有文字",
    "{a} is no source id: 1-64 letters, digits, '_', '.', '-', starting with a letter, digit or '_'": (
        "{a} 不是有效的来源标识：须为 1 至 64 个字母、数字、“_”“.”“-”，且以字母、数字或“_”开头"
    ),
    "trust is {a}; it must be an integer from 1 to 5": "可信度为 {a}，应为 1 至 5 的整数",
    "effective_until lies before effective_from": "失效日期早于生效日期",
    # requests
    "query must not be blank": "问题不能为空",
    "query has {a} characters; at most {b}": "问题有 {a} 个字符，最多 {b} 个",
    "max_results must be from 1 to {a}": "结果数应为 1 至 {a}",
    "filters must be a non-empty object": "过滤条件须为非空的 JSON 对象",
    "the filter is no JSON: {a}": "过滤条件不是 JSON：{a}",
    "no such filter field: {a}": "没有这个过滤字段：{a}",
    # encoders and engines
    "keyword-only by setting": "按设置仅用关键词检索",
    "keyword-only: {a}": "仅关键词检索：{a}",
    "this library was built without an encoder; make a new one to have vectors": (
        "此知识库建立时没有编码器；需要向量检索请新建知识库"
    ),
    "the library was built with {a} ({b} dimensions), the settings name {c} ({d}); "
    "their vectors cannot be compared": "知识库用 {a}（{b} 维）建立，设置中为 {c}（{d} 维），两者的向量不能比较",
    "the library has vectors of {a}, which is not available: new documents would have none": (
        "知识库含有 {a} 的向量，但该编码器不可用，新文档将没有向量"
    ),
    "the deadline passed": "超过时限",
    "no answer before the deadline": "在时限内没有答复",
    "behind the catalog ({a}), and {b}": "索引落后于目录库（{a}），且 {b}",
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
    "check the path, or mount what it lies on": "检查路径，或者挂载其所在的磁盘",
    "readable: {a}": "可读的格式：{a}",
    "choose another --source, or remove that one: {a}": "换一个 --source，或者移除原来的：{a}",
    "see the reasons above": "见上面的原因",
    "see {a}, or WENYUAN_… in the environment": "检查 {a} 或环境变量 WENYUAN_…",
    "set the encoder back, or make a new library and add the sources again": (
        "把编码器改回原来的设置，或者新建知识库并重新添加来源"
    ),
    "upgrade the program: {a}": "升级程序：{a}",
    "wait until it has finished, or stop that process": "等它结束，或者停止该进程",
    "remove the library's index folder; it is rebuilt from the catalog": "删除知识库的 index 目录，它会从目录库重建",
    "choose another port, or stop what uses this one": "换一个端口，或者停止占用它的程序",
    "keep to 127.0.0.1, or put a gateway that checks keys in front and allow remote access": (
        "只用 127.0.0.1，或者在前面加一个校验密钥的网关"
    ),
    "fields: {a}": "可用字段：{a}",
    "set WENYUAN_DEBUG=1 to see where, and report it": "设置 WENYUAN_DEBUG=1 查看位置并反馈",
}


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    made = []
    for english, chinese in _CHINESE.items():
        parts = re.split(r"\{([a-z])\}", english)
        pattern = "".join(f"(?P<{p}>.+?)" if i % 2 else re.escape(p) for i, p in enumerate(parts))
        made.append((re.compile(pattern, re.DOTALL), chinese))
    return tuple(made)


def translated(message: str) -> str:
    """`message` in Chinese, with what varies left in place; several sentences joined by ``; `` one by one."""
    for pattern, chinese in _patterns():
        found = pattern.fullmatch(message)
        if found:
            return chinese.format(**{name: translated(value) for name, value in found.groupdict().items()})
    if "; " in message:
        return "；".join(translated(part) for part in message.split("; "))
    return message
