"""Lines of reStructuredText: indented blocks, joined lines, substitutions."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from wenyuan.readers.rst_inline import inline

Lines = Sequence[tuple[int, str]]
"""Lines with their numbers in the file; of what stands within something else, without its indentation."""


FIELD = re.compile(r":(?![ :])(?P<name>(?:[^:\\\n]|\\.|:(?![ `\n]|\Z)){1,200}?):(?:[ \t]+|\Z)")


SUBSTITUTED = re.compile(r"\.\.[ \t]+\|(?P<of>[^|\n]{1,100})\|[ \t]+(?P<how>[a-z]+)::[ \t]*(?P<said>.*)")


_CODE_POINT = re.compile(r"(?:0x|x|\\x|U\+|u|\\u|&#x)([0-9A-Fa-f]{2,6});?")


def indented(lines: Lines, at: int, *, least: int = 1) -> int:
    """The line after an indented part that begins at a line; blank lines at its end are not of it."""
    after = at
    while at < len(lines):
        line = lines[at][1]
        if line and line[:least].strip():
            break
        at += 1
        if line:
            after = at
    return after


def until_blank(lines: Lines, at: int) -> int:
    while at < len(lines) and lines[at][1]:
        at += 1
    return at


def dedent(lines: Lines, *, most: int = 0) -> list[tuple[int, str]]:
    """Lines without the indentation that they share, or at most so much of it."""
    least = min((len(line) - len(line.lstrip(" ")) for _, line in lines if line), default=0)
    least = min(least, most) if most else least
    return [(number, line[least:]) for number, line in lines]


def joined(lines: Sequence[str]) -> str:
    """The lines of a paragraph as one: no space between Chinese signs."""
    text = ""
    parts = []
    for line in lines:
        between = "" if not text or (text[-1] >= "\u2e80" and line[:1] >= "\u2e80") else " "
        parts += [between, line]
        text = line
    return "".join(parts)


def as_written(lines: Lines) -> str:
    return "\n".join(line for _, line in dedent(lines)).strip("\n")


def line_parts(
    said: str, lines: Sequence[tuple[int, str]], *, several: bool
) -> tuple[list[str], dict[str, str], Lines]:
    """The arguments of a directive, its options, and its text.

    Args:
        several: Each further line of the argument is another one, as of signatures.
    """
    at = 0
    arguments = [said.strip()] if said.strip() else []
    while arguments and at < len(lines) and lines[at][1] and not FIELD.match(lines[at][1]):
        if several:
            arguments.append(lines[at][1].strip())
        else:
            arguments[-1] += " " + lines[at][1].strip()
        at += 1
    options: dict[str, str] = {}
    key = ""
    while at < len(lines) and lines[at][1]:
        if match := FIELD.match(lines[at][1]):
            key = match["name"].lower()
            options[key] = lines[at][1][match.end() :]
        elif key and lines[at][1][0] == " ":
            options[key] += " " + lines[at][1].strip()
        else:
            break
        at += 1
    return arguments, options, lines[at:]


def list_table(lines: Lines) -> Iterator[list[str]]:
    """The rows of a table that is written as a list of lists."""
    row: list[list[str]] = []
    for _, line in lines:
        text = line.strip()
        if line.startswith(("* -", "- -", "* *", "- *")):
            if row:
                yield [joined(cell) for cell in row]
            row = [[text[3:].strip().removeprefix("| ")]]
        elif line.startswith(("  -", "  *")) and row:
            row.append([text[1:].strip().removeprefix("| ")])
        elif text and row:
            row[-1].append(text.removeprefix("| "))
    if row:
        yield [joined(cell) for cell in row]


def values(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    delimiter = {"tab": "\t", "space": " "}.get(delimiter, delimiter)[:1] or ","
    try:
        rows = csv.reader([line + "\n" for line in lines if line], delimiter=delimiter, skipinitialspace=True)
        return [row for row in rows if any(cell.strip() for cell in row)]
    except csv.Error:
        return [[line] for line in lines if line]


def substitutions(lines: Lines) -> dict[str, str]:
    """What stands for ``|name|``, by name in small letters."""
    raw: dict[str, str] = {}
    for at, (_, line) in enumerate(lines):
        if line.startswith(".. |") and (match := SUBSTITUTED.match(line)):
            said = [match["said"]]
            for _, below in lines[at + 1 : at + 20]:
                if not below.startswith(" "):
                    break
                said.append(below.strip())
            raw[match["of"].lower()] = _substituted(match["how"], said)
    return {name: inline(text, {}) for name, text in raw.items()}


def _substituted(how: str, said: Sequence[str]) -> str:
    if how == "replace":
        return " ".join(said).strip()
    if how == "unicode":
        words = said[0].partition("..")[0].split()
        found = [chr(int(match[1], 16)) if (match := _CODE_POINT.fullmatch(word)) else word for word in words]
        return "".join(found)
    alt = next((line.removeprefix(":alt:").strip() for line in said if line.startswith(":alt:")), "")
    return alt if how == "image" else ""
