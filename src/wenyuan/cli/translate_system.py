"""What the operating system, YAML and checks of values say in English, in Chinese; see `translate`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SYSTEM"]

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
