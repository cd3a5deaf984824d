"""Every message has its Chinese, no Chinese is left over, and both have the same values in them."""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Callable, Iterator
from string import Formatter

import pytest

from parsed import PACKAGE, code
from wenyuan.core.errors import as_sent, joined, msg, received
from wenyuan.core.text.folding import has_han
from wenyuan.i18n.translation import translated

TEMPLATES = PACKAGE / "i18n" / "zh" / "templates"
ELSEWHERE = {"system", "composed"}
"""What other programs say; what is put together of parts, or was said by earlier versions, which catalogs have stored."""
KINDS_OF_JSON = re.compile("must be a string(,.*)? or (an array|true or false)")
GENERIC = {"; ", "{messages}"}
SAID = {file.stem: json.loads(file.read_text("utf-8")) for file in TEMPLATES.glob("*.json")}
CHINESE = {template: said for entries in SAID.values() for template, said in entries.items()}


def templates() -> Iterator[tuple[str, str]]:
    """Of every call of `msg`: where it stands, and its template."""
    for file, tree in code().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "msg":
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.Constant):
                        yield f"{file.name}:{node.lineno}", part.value


def constants() -> set[str]:
    """All texts of the code, as they would be written in a template, too."""
    found = {n.value for t in code().values() for n in ast.walk(t) if isinstance(n, ast.Constant)}
    words = {text for text in found if isinstance(text, str)}
    missing = re.compile(r'missing\("([a-z ]+)"\)')
    kinds = {k for file in (PACKAGE / "server").rglob("*.py") for k in missing.findall(file.read_text("utf-8"))}
    return words | {w.replace("{", "{{").replace("}", "}}") for w in words} | {f"there is no such {k}" for k in kinds}


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def test_every_template_is_there_in_chinese() -> None:
    """Whoever writes a message, or words one anew, is told that its Chinese is missing."""
    assert [(where, one) for where, one in templates() if one not in CHINESE and one not in GENERIC] == []


def written_hints(value: ast.expr) -> Iterator[str]:
    """What an expression gives as a hint that is no message; ``2`` stands for what is filled in."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "2" for part in value.values)
    elif isinstance(value, (ast.IfExp, ast.BoolOp)):
        for part in value.values if isinstance(value, ast.BoolOp) else (value.body, value.orelse):
            yield from written_hints(part)


def hints() -> Iterator[tuple[str, str]]:
    """Of every hint: where it stands, and how it reads."""
    for file, tree in code().items():
        for node in ast.walk(tree):
            given = isinstance(node, ast.keyword) and node.arg == "hint"
            set_before = isinstance(node, ast.Assign) and "hint" in [getattr(one, "id", "") for one in node.targets]
            if given or set_before:
                yield from ((f"{file.name}:{node.value.lineno}", one) for one in written_hints(node.value))


COMMAND = re.compile(r"(?:wenyuan|pip|export|git|apt|CREATE|pg_dump|--) ?|[\w.]+ = |[\w./]+, [\w./]+")


def test_every_hint_is_there_in_chinese() -> None:
    """A command is the same in every language; what says in words what to do next is not."""
    said = [(where, one) for where, one in hints() if re.search("[a-z]{2} ", one) and not COMMAND.match(one)]
    assert len(said) > 40
    assert [(where, one) for where, one in said if not has_han(translated(one))] == []


def test_what_a_template_leaves_open_has_a_name() -> None:
    """A brace that belongs to the text is doubled: else whoever reads a text of that form gets an error."""
    assert [(one, name) for one in CHINESE for name in names(one) if not name.isidentifier()] == []


def test_no_chinese_is_left_over() -> None:
    """A template that the code has no more goes from the data, too."""
    used = constants() | GENERIC
    assert [
        (room, one)
        for room, said in SAID.items()
        for one in said
        if room not in ELSEWHERE and one not in used and not KINDS_OF_JSON.fullmatch(one)
    ] == []


def test_no_template_stands_twice() -> None:
    """Each has one translation, in one file."""
    assert sum(map(len, SAID.values())) == len(CHINESE)


def test_both_languages_have_the_same_values() -> None:
    """A value that the Chinese leaves out, or has of its own, is a mistake; numbers of the system's errors are left out."""
    wrong = [template for template, said in CHINESE.items() if names(template) != names(said)]
    assert [template for template in wrong if not template.startswith("[Errno ")] == []


def test_every_text_of_the_console_is_used() -> None:
    """Its key stands in the code or in a page, or begins as keys do that are put together."""
    pages = "\n".join(f.read_text("utf-8") for f in (PACKAGE / "console").rglob("*") if f.suffix in (".py", ".html"))
    families = {*re.findall(r"f[\"']([a-z_]+_)\{", pages), *re.findall(r"['\"]([a-z_]+_)['\"] ?[~+]", pages)}
    families |= {"sensitivity_"} | {f"{area}_" for area in re.findall(r"term\(['\"]([a-z_]+)['\"]", pages)}
    own = json.loads((PACKAGE / "i18n" / "en" / "console.json").read_text("utf-8"))
    unused = {k for k in own if not re.search(rf"['\"]{re.escape(k)}['\"]", pages)}
    assert [key for key in sorted(unused) if not key.startswith(tuple(families))] == []


@pytest.mark.parametrize("carried", [lambda message: message, str.__str__], ids=["as it is", "as text"])
def test_a_message_is_said_in_chinese(carried: Callable[[str], str]) -> None:
    """One that carries its template; one that was stored or came over a network is found again."""
    message = msg(
        "{place}: {fault}",
        place="a.yaml",
        fault=joined([msg("there is no source {source}", source="'p'"), "it holds no text"]),
    )
    assert translated(carried(message)) == "a.yaml：没有来源 'p'；文件中没有文字"
    assert translated(carried(message), "en") == message


def test_a_template_that_came_over_a_network_is_said_only_where_it_is_known() -> None:
    """Whoever sends one of their own is shown as they wrote it; a value is never taken for a part of the sentence."""
    known = msg("there is no source {source}", source="'no answer in time'")
    sent = as_sent(known)["translatable"]
    assert translated(received(str.__str__(known), sent)) == "没有来源 'no answer in time'"
    own = msg("quux {x} baz", x="1")
    assert translated(received(str.__str__(own), as_sent(own)["translatable"])) == "quux 1 baz"


def test_what_is_not_known_stays_as_it_is() -> None:
    """Words of another program, and a text in which nothing could be found in time, are shown as they came."""
    assert translated("a wholly unknown remark") == "a wholly unknown remark"
    assert not has_han(translated("x" * 3_000))


def test_many_faults_in_one_text_are_all_said_in_chinese() -> None:
    """What a server lists of a long file is read sentence by sentence."""
    text = "; ".join(f"line {line}: it is empty" for line in range(150))
    assert translated(text) == "；".join(f"第 {line} 行：文件为空" for line in range(150))


def test_of_very_many_sentences_the_first_are_said_in_chinese() -> None:
    """What another server says may have no end: neither the stack nor the time that it takes grows with it."""
    began = time.process_time()
    assert translated("it is empty; " * 100_000).startswith("文件为空；文件为空；")
    nested = "; ".join(f"{': '.join(['no such'] * 50)} {number}" for number in range(400))
    assert translated(nested).count("no such") == nested.count("no such")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("piece", ["x: ", "a; ", "term ", "making ", " (", "line 3: it is empty; "])
def test_a_text_that_nests_as_deep_as_it_can_is_shown(piece: str) -> None:
    """Whatever another server sends, a page is made of it, and soon: the processor is busy for seconds, not for ever."""
    began = time.process_time()
    for length in (900, 1_800):
        text = (piece * length)[:length].strip(" :;") + "x" + ")" * 30
        assert translated(text)
    assert time.process_time() - began < 5
