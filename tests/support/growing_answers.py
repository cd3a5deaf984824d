"""What services that are read from elsewhere send: blocks, fragments, repositories; made for the measurement of how time grows."""

from __future__ import annotations

import atexit
import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

from feishu_server import block, text
from git_packs import blob, delta, pack
from wenyuan.connectors.feishu_markdown import markdown_of_answer
from wenyuan.connectors.objects import files_of, index_of
from wenyuan.core.contract import read_fragments, read_object
from wenyuan.core.errors import DocumentRejected
from wenyuan.engines.external.contract_source import hit_of

Parse = Callable[[Any], object]
_PAGE, _TEXT, _BULLET, _CODE, _TABLE = 1, 2, 12, 14, 31
_FILE, _FOLDER = 0o100644, 0o40000
_LARGE, _LONG = 10**9, 3_600.0


# -- Feishu ------------------------------------------------------------------------------------------------------
def _document(children: Sequence[str], *blocks: Mapping[str, Any]) -> bytes:
    root = block("root", _PAGE, "page", text("Title"), children=tuple(children))
    return json.dumps([root, *blocks]).encode()


def _names(count: int) -> list[str]:
    return [f"b{number}" for number in range(count)]


def _flat(count: int, kind: int = _TEXT, member: str = "text", words: str = "a") -> bytes:
    return _document(_names(count), *(block(name, kind, member, text(words)) for name in _names(count)))


def _chain(count: int) -> bytes:
    names = _names(count)
    below = [(name, names[at + 1 : at + 2]) for at, name in enumerate(names)]
    return _document(names[:1], *(block(n, _BULLET, "bullet", text("a"), children=tuple(c)) for n, c in below))


def _runs(count: int) -> bytes:
    return _document(["b"], block("b", _TEXT, "text", *[text("`*a", "https://x.example/")] * count))


def _all_of_all(count: int) -> bytes:
    """Each of some blocks names all blocks as its children."""
    side = int(count**0.5)
    names = _names(side)
    return _document(names, *(block(n, _TEXT, "text", text("a"), children=tuple(names)) for n in names))


def _table(cells: Sequence[str], columns: int, merges: Sequence[Any], *blocks: Mapping[str, Any]) -> bytes:
    about = {"cells": list(cells), "property": {"column_size": columns, "merge_info": list(merges)}}
    return _document(["t"], block("t", _TABLE, "none", table=about), *blocks)


def _cells(count: int) -> list[Mapping[str, Any]]:
    return [block(name, 32, "none", children=(f"{name}x",)) for name in _names(count)] + [
        block(f"{name}x", _TEXT, "text", text("a")) for name in _names(count)
    ]


def _merged(count: int, columns: int) -> bytes:
    """A table whose cells each say that they cover all the others."""
    return _table(_names(count), columns, [{"row_span": count, "col_span": count}] * count, *_cells(count))


def _long_merged(count: int) -> bytes:
    """A long cell that covers many."""
    blocks = [*_cells(1), block("b0x", _TEXT, "text", text("a" * (20 * count)))]
    return _table(_names(count), 1, [{"row_span": count, "col_span": 1}], blocks[0], blocks[2])


def _same_cell(count: int) -> bytes:
    """A table that names one cell many times, which has as many children."""
    inner = _names(count)
    return _table(["c"] * count, 1, [], block("c", 32, "none", children=tuple(inner)))


# -- another library ---------------------------------------------------------------------------------------------
def _fragments(metadata: Mapping[str, Any], content: str = "a", count: int = 1) -> bytes:
    one = {"source": "file:///a.md", "content": content, "retrieval_score": 0.5, "metadata": metadata}
    return json.dumps({"status": "SUCCESS", "fragments": [one] * count, "error_message": None}).encode()


def _read_fragments(content: bytes) -> None:
    with contextlib.suppress(ValueError, RecursionError):
        for fragment in read_fragments(read_object(content), max_results=10**6):
            hit_of(fragment)


# -- Git ---------------------------------------------------------------------------------------------------------
@cache
def _scratch() -> Path:
    made = tempfile.mkdtemp(prefix="growing-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def _repository(*trees: Tree, blobs: Sequence[Blob] = ()) -> tuple[str, str]:
    """A repository with a commit of the last tree: its folder, and the commit."""
    folder = Path(tempfile.mkdtemp(dir=_scratch()))
    with contextlib.closing(Repo.init_bare(str(folder))) as repo:
        commit = Commit()
        commit.tree, commit.author = trees[-1].id, b"a <a@b.example>"
        commit.committer, commit.message = commit.author, b"x"
        commit.commit_time = commit.author_time = commit.commit_timezone = commit.author_timezone = 0
        repo.object_store.add_objects([(one, None) for one in (*blobs, *trees, commit)])
        return str(folder), commit.id.decode()


def _wide(count: int) -> tuple[str, str]:
    leaf, tree = Blob.from_string(b"a"), Tree()
    for number in range(count):
        tree.add(b"%d.md" % number, _FILE, leaf.id)
    return _repository(tree, blobs=[leaf])


def _deep(count: int) -> tuple[str, str]:
    leaf, trees = Blob.from_string(b"a"), [Tree()]
    trees[0].add(b"a.md", _FILE, leaf.id)
    for _ in range(count):
        above = Tree()
        above.add(b"folder-of-a-name", _FOLDER, trees[-1].id)
        trees.append(above)
    return _repository(*trees, blobs=[leaf])


def _files(made: tuple[str, str]) -> None:
    folder, commit = made
    with contextlib.suppress(DocumentRejected):
        files_of(b"", folder=folder, commit=commit, branch="main", below="", exclude=["*/a*a*a*a*b"], most=_LARGE)


def _pack_of(*objects: bytes) -> str:
    path = Path(tempfile.mkdtemp(dir=_scratch())) / "x.pack"
    path.write_bytes(pack(*objects).getvalue())
    return str(path)


def _chain_of_deltas(count: int) -> str:
    base, step = blob(b"x" * 100), delta(0, 100, 100, bytes([0x90, 100]))
    first = delta(len(base), 100, 100, bytes([0x90, 100]))
    return _pack_of(base, first, *[delta(len(step), 100, 100, bytes([0x90, 100]))] * (count - 1))


def _copies(count: int) -> str:
    base = blob(b"x" * 100)
    return _pack_of(base, delta(len(base), 100, 100 * count, bytes([0x90, 100]) * count))


def _index(path: str) -> None:
    with contextlib.suppress(DocumentRejected):
        index_of(b"", pack=path, objects=_LARGE, largest=_LARGE, total=_LARGE, seconds=_LONG, minutes=60.0)


ANSWERS: Mapping[str, tuple[Parse, int, Callable[[int], Any]]] = {
    "Feishu paragraphs": (markdown_of_answer, 20, _flat),
    "Feishu list items": (markdown_of_answer, 20, lambda n: _flat(n, _BULLET, "bullet")),
    "Feishu code": (markdown_of_answer, 4, lambda n: _flat(1, _CODE, "code", "`" * n + "a`" * n)),
    "Feishu runs of text": (markdown_of_answer, 20, _runs),
    "Feishu blocks in one another": (markdown_of_answer, 20, _chain),
    "Feishu blocks that name all": (markdown_of_answer, 8, _all_of_all),
    "Feishu cells": (markdown_of_answer, 40, lambda n: _table(_names(n), 10, [], *_cells(n))),
    "Feishu merged rows": (markdown_of_answer, 40, lambda n: _merged(n, 1)),
    "Feishu merged columns": (markdown_of_answer, 40, lambda n: _merged(n, n)),
    "Feishu merged rows and columns": (markdown_of_answer, 40, lambda n: _merged(n, max(1, int(n**0.5)))),
    "Feishu long merged cell": (markdown_of_answer, 20, _long_merged),
    "Feishu cell that is named again": (markdown_of_answer, 8, _same_cell),
    "fragments": (_read_fragments, 40, lambda n: _fragments({"title": "a"}, count=n)),
    "fragment of many words": (_read_fragments, 1, lambda n: _fragments({}, "a " * n)),
    "fragment of many values": (_read_fragments, 8, lambda n: _fragments({f"k{i}": i for i in range(n)})),
    "fragment of many headings": (_read_fragments, 4, lambda n: _fragments({"heading": " > ".join("a" * n)})),
    "fragment of values in one another": (
        _read_fragments, 4, lambda n: _fragments({}).replace(b"{}", b'{"a":' * n + b"1" + b"}" * n),
    ),
    "fragment of a long number": (_read_fragments, 1, lambda n: _fragments({}).replace(b"0.5", b"9" * n)),
    "Git files": (_files, 20, _wide),
    "Git folders in one another": (_files, 40, _deep),
    "Git blobs": (_index, 20, lambda n: _pack_of(*(blob(b"%d" % i) for i in range(n)))),
    "Git deltas upon one another": (_index, 40, _chain_of_deltas),
    "Git copies of a delta": (_index, 2, _copies),
}  # fmt: skip
"""By name: what parses it, how many characters of a measured size a part stands for, and what makes it of so many parts."""
