"""Write the pages of reference that are made of declarations: commands, HTTP, Python.

``python scripts/make_reference.py`` writes ``docs/reference/{cli,http}.md``, their Chinese pages, and ``python.md``; a
test holds the pages to it.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
MADE = {
    "en": "Written by `scripts/make_reference.py`; do not edit.",
    "zh": "由 `scripts/make_reference.py` 生成，请勿手改。",
}
WORDS = {
    "Parameters": {"zh": "参数"},
    "Body": {"zh": "请求体"},
    "Answers": {"zh": "回答"},
    "name": {"zh": "名称"},
    "in": {"zh": "位置"},
    "type": {"zh": "类型"},
    "what it is": {"zh": "说明"},
    "Shapes": {"zh": "数据结构"},
    "required": {"zh": "必填"},
}


def word(text: str, language: str) -> str:
    """A word of the page in a language."""
    return WORDS.get(text, {}).get(language, text)


def helps(command: Any, name: str, language: str, above: Any = None) -> Iterator[tuple[str, str]]:
    """The words that call each command → its help, groups before what is below them."""
    from wenyuan.cli.terminal import Terminal

    called = {
        "info_name": name.rpartition(" ")[2],
        "parent": above,
        "obj": Terminal(language),
        **command.context_settings,
    }
    context = command.context_class(command, **called)
    yield name, command.get_help(context)
    for word_of, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from helps(below, f"{name} {word_of}", language, context)


def cli(language: str) -> str:
    """The page of commands: the help of each, as a terminal of 80 columns shows it."""
    os.environ.update(COLUMNS="80", NO_COLOR="1")
    from typer.main import get_command

    from wenyuan.cli.help_texts import say_in
    from wenyuan.cli.root import app

    command = get_command(app)
    say_in(command, language)
    head = {
        "en": "# Commands\n\n[中文](cli.zh.md)\n\n{made}\n\nEach command with the help that `--help` shows. `--lang zh` "
        "has it in Chinese.",
        "zh": "# 命令\n\n[English](cli.md)\n\n{made}\n\n每个命令及其 `--help` 的内容；`--lang en` 为英文。",
    }[language]
    lines = [head.format(made=MADE[language])]
    for name, said in helps(command, "wenyuan", language):
        lines.append(f"{'##' if name.count(' ') < 2 else '###'} {name}")
        lines.append(f"```text\n{said.strip()}\n```")
    return "\n\n".join(lines) + "\n"


def type_of(schema: Mapping[str, Any], language: str) -> str:
    """A type in short: that of the members of a list, the alternatives, the values of an enumeration."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if values := schema.get("enum"):
        return ", ".join(f"`{value}`" for value in values)
    if "const" in schema:
        return f"`{schema['const']}`"
    for kind in ("anyOf", "oneOf", "allOf"):
        if kind in schema:
            return " / ".join(dict.fromkeys(type_of(one, language) for one in schema[kind]))
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}), language)}"
    kind = schema.get("type", "any")
    return str(schema.get("format") or (kind if isinstance(kind, str) else " / ".join(kind)))


def cell(text: object) -> str:
    """A text within a table."""
    return re.sub(r"\s+", " ", str(text)).replace("|", "\\|").replace("<", "&lt;").strip()


def rows(properties: Mapping[str, Any], required: list[str], language: str) -> Iterator[str]:
    """The table of the members of a schema."""
    yield f"| {word('name', language)} | {word('type', language)} | {word('what it is', language)} |\n|---|---|---|"
    for name, schema in properties.items():
        must = f"**{word('required', language)}.** " if name in required else ""
        yield f"| `{name}` | {type_of(schema, language)} | {must}{cell(schema.get('description', ''))} |"


def operation(method: str, path: str, one: Mapping[str, Any], language: str) -> Iterator[str]:
    """What stands of one operation."""
    yield f"### {method.upper()} {path}"
    yield cell(one.get("summary", "")) + "."
    if said := one.get("description"):
        yield cell(said)
    if given := one.get("parameters"):
        head = [word(part, language) for part in ("name", "in", "type", "what it is")]
        lines = [f"{word('Parameters', language)}:", "", f"| {' | '.join(head)} |", "|---|---|---|---|"]
        for parameter in given:
            must = f"**{word('required', language)}.** " if parameter.get("required") else ""
            kind = type_of(parameter.get("schema", {}), language)
            lines.append(
                f"| `{parameter['name']}` | {parameter['in']} | {kind} | {must}{cell(parameter.get('description', ''))} |"
            )
        yield "\n".join(lines)
    if body := one.get("requestBody"):
        kinds = [f"`{kind}`: {type_of(what.get('schema', {}), language)}" for kind, what in body["content"].items()]
        yield f"{word('Body', language)}: {'; '.join(kinds)}"
    answers = []
    for status, answer in one["responses"].items():
        kinds = [type_of(what.get("schema", {}), language) for what in answer.get("content", {}).values()]
        shape = ", ".join(dict.fromkeys(kind for kind in kinds if "#problemshape" not in kind))
        answers.append(f"`{status}`{f' {shape}' if shape else ''}")
    yield f"{word('Answers', language)}: {', '.join(answers)}"


def http(language: str) -> str:
    """The page of routes, by their tags, and of the shapes that they take and give."""
    from wenyuan.server.app import openapi_document
    from wenyuan.settings import ServerSettings

    document = openapi_document(ServerSettings())
    head = {
        "en": "# The HTTP API\n\n[中文](http.zh.md)\n\n{made}\n\nMade of the OpenAPI document, which a running service gives "
        "at `/openapi.json` with what is on there. A failure is a problem document (RFC 9457): [errors](errors.md). Who may "
        "do what: [rights](../rights.md).",
        "zh": "# HTTP 接口\n\n[English](http.md)\n\n{made}\n\n由 OpenAPI 文档生成；运行中的服务在 `/openapi.json` "
        "给出同一文档，只含该服务已开启的部分。说明文字取自该文档，为英文。失败都是问题文档（RFC 9457），见[错误](errors.zh.md)；"
        "谁可以做什么，见[权限](../rights.zh.md)。",
    }[language]
    lines = [head.format(made=MADE[language])]
    for tag in document["tags"]:
        lines.append(f"## {tag['name'][0].upper()}{tag['name'][1:]}")
        for path, methods in document["paths"].items():
            for method, one in methods.items():
                if isinstance(one, dict) and tag["name"] in one.get("tags", ()):
                    lines += operation(method, path, one, language)
    lines.append(f"## {word('Shapes', language)}")
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines.append(f"### {name}")
        if said := schema.get("description"):
            lines.append(cell(said))
        if properties := schema.get("properties"):
            lines.append("\n".join(rows(properties, schema.get("required", []), language)))
    return "\n\n".join(lines) + "\n"


def python() -> str:
    """The page of the package: what ``import wenyuan`` gives, with signatures and docstrings."""
    import wenyuan

    lines = [
        "# Python",
        MADE["en"],
        "What `import wenyuan` gives. A library in the same process is a `Library`, a service elsewhere a `Client`; both "
        "answer alike. How to begin: [the front page](../../README.md#five-minutes).",
    ]
    for name in wenyuan.__all__:
        thing = getattr(wenyuan, name)
        lines.append(f"## wenyuan.{name}")
        lines += described(name, thing)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for own, member in methods(thing):
                lines.append(f"### {name}.{own}")
                lines += described(own, member)
    return "\n\n".join(lines) + "\n"


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that say what they do."""
    for name in sorted(dir(kind)):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") or not inspect.getdoc(getattr(kind, name)):
            continue
        if isinstance(member, property) or callable(getattr(kind, name)):
            yield name, getattr(kind, name) if not isinstance(member, property) else member


def described(name: str, thing: Any) -> Iterator[str]:
    """A signature and a docstring, each as it stands."""
    if callable(thing):
        try:
            given = str(signature(thing))
        except ValueError:
            given = "(…)"
        plain = re.sub(r"(?:[a-z_]+\.)+(?=[A-Z])|'", "", given)
        pieces = re.sub(r"<[^>]*>", "…", plain.replace("Ellipsis", "…"))
        yield f"```python\n{wrapped(name, pieces)}\n```"
    yield f"```text\n{inspect.getdoc(thing) or ''}\n```"


def signature(thing: Any) -> inspect.Signature:
    """Its signature, where a default that is no plain value is left out."""
    given = inspect.signature(thing)
    kept = [
        one if isinstance(one.default, (str, int, float, bool, type(None), tuple, type)) else one.replace(default=...)
        for one in given.parameters.values()
    ]
    return given.replace(parameters=kept)


def wrapped(name: str, signature: str) -> str:
    """A signature, with a line for each argument where it is longer than a line."""
    if len(name) + len(signature) <= 100:
        return name + signature
    depth, pieces = 0, [""]
    inner, _, result = signature[1:].rpartition(")")
    for character in inner:
        depth += (character in "[(") - (character in "])")
        if character == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += character
    return f"{name}(\n" + "".join(f"    {piece.strip()},\n" for piece in pieces) + f"){result}"


def pages() -> dict[str, str]:
    """The name of each page → its text."""
    made = {
        f"{name}{end}.md": make(language)
        for name, make in (("cli", cli), ("http", http))
        for language, end in (("en", ""), ("zh", ".zh"))
    }
    return made | {"python.md": python()}


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
