"""What is said in English of the form of a command line or of a request, in Chinese; see `translate`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FORMS", "PLACED", "USAGE"]

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
