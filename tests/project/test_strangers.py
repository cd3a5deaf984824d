"""What parses the words of strangers in the process that answers questions is listed here, with the reason why it may."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wenyuan

ROOT = Path(wenyuan.__file__).parent
PARSERS = frozenset(
    "ast bz2 configparser csv defusedxml docx dulwich email fsspec gzip html imaplib lxml lzma multipart olefile openpyxl pdfminer pickle"
    " pikepdf PIL plistlib pypdf pypdfium2 python_multipart selectolax tarfile tomllib xml yaml zipfile zlib".split()
)
"""Packages that parse or unpack."""
PLAIN = frozenset(("email.utils.parsedate_to_datetime", "html.escape"))

READING = "runs in the reading process alone, within its limits"
OWN = "reads what this program wrote"
OWNER = "reads what the owner of the library wrote"

ALLOWED = {
    "catalog/audit/question_outcomes.py": OWN,
    "catalog/audit/chain_check.py": OWN,
    "catalog/audit/reads.py": OWN,
    "catalog/audit/tombstones.py": OWN,
    "catalog/documents.py": OWN,
    "catalog/embedding_batches.py": OWN,
    "catalog/erased_texts.py": OWN,
    "catalog/rows.py": OWN,
    "catalog/rules/rows.py": OWN,
    "catalog/schema.py": OWN,
    "catalog/values.py": OWN,
    "conformance/documents.py": OWNER,
    "conformance/report.py": "writes XML, and reads none",
    "conformance/targets.py": "replies of a service that is tested, in a process that serves nobody",
    "connectors/archives.py": "its own notes, which listings remember",
    "connectors/feishu.py": "replies within 10 MB of the platform that the owner set; blocks become text in the reading process",
    "connectors/feishu_markdown.py": "replies within 10 MB of the platform that the owner set; blocks become text in the reading process",
    "connectors/file_systems.py": "the driver that the owner chose for a store; archives are none of its file systems",
    "connectors/files.py": "the driver that the owner chose for a store; archives are none of its file systems",
    "connectors/git_faults.py": READING,
    "connectors/git.py": "lines of Git's protocol, counted; objects, packs and configurations are read in the reading process",
    "connectors/http_client.py": "a date in a header",
    "connectors/mail.py": "lines of IMAP; messages are read in the reading process",
    "connectors/members.py": READING,
    "connectors/objects.py": READING,
    "connectors/packs.py": READING,
    "connectors/pages.py": READING,
    "connectors/repositories.py": READING,
    "connectors/web.py": "its own notes, which listings remember",
    "console/api.py": "replies of the server that the console stands before",
    "console/forms.py": "forms of people who are signed in, piece by piece, their parts counted",
    "console/exports.py": "what the library's own API answers",
    "console/sessions.py": OWN,
    "console/sources.py": "a field of a form of bounded length",
    "core/contract.py": "replies of a service that was asked, within its limit",
    "core/gaps.py": OWN,
    "core/redaction/text_view.py": "references to characters, one at a time",
    "core/registry.py": "refuses depth and length before it parses",
    "core/registry_file.py": "refuses depth and length before it parses",
    "core/terms_of_use.py": "one quoted value of a line of front matter",
    "encoders/checking.py": OWN,
    "encoders/model_files.py": OWNER,
    "encoders/weights.py": OWN,
    "engines/external/milvus.py": "replies of an index that the owner set",
    "engines/local/columns.py": OWN,
    "engines/local/publication.py": OWN,
    "engines/local/row_files.py": OWN,
    "engines/local/vectors.py": OWN,
    "engines/milvus/collections.py": "replies of an index that the owner set",
    "evaluation/corpus.py": OWNER,
    "i18n/translation.py": OWN,
    "llm/chat_model.py": "what it has written itself of a reply that was read",
    "llm/replies.py": "replies of a language model of bounded length, in linear time",
    "mcp/messages.py": "a body of bounded length, of which only an id is looked for where it was refused",
    "runtime/installation.py": "the record of how the program was installed",
    "runtime/json_endpoint.py": "replies within the limit of the endpoint that the owner set",
    "scanners/command.py": "the verdict of the owner's scanner, of bounded length",
    "scanners/http.py": "the verdict of the owner's scanner, of bounded length",
    "server/forwarding.py": "between our own processes: the address of who has asked",
    "server/member.py": "what the starting process says, a member of its own program",
    "server/process_counts.py": "between our own processes, in a folder that is theirs alone",
    "server/routes/uploads.py": "forms, piece by piece, their parts counted",
    "engines/local/keyword.py": "how the index explains a score",
    "service/bundles/concept_file.py": "writes YAML, and reads none",
    "service/documents.py": "a mark of a page, of the length that an address may have",
    "service/erasure/eraser.py": OWN,
    "service/erasure/mentions.py": OWN,
    "service/tree/places.py": "a mark of a page, of the length that an address may have",
    "service/ingest/file_permissions.py": "two lists of names of 32 kB at most, without nesting, anchors or types",
    "service/ingest/quarantine.py": OWN,
    "service/operations/backups.py": OWN,
    "service/search/cache_redis.py": "answers that this program kept",
    "service/upload_journal.py": OWN,
    "settings.py": OWNER,
    "wire/strict_json.py": "refuses depth and length before it parses",
}  # fmt: skip

NESTED = (
    "connectors/feishu.py",
    "connectors/feishu_markdown.py",
    "console/sources.py",
    "engines/external/milvus.py",
    "engines/milvus/collections.py",
    "evaluation/corpus.py",
    "llm/replies.py",
    "runtime/json_endpoint.py",
    "scanners/command.py",
    "scanners/http.py",
    "service/documents.py",
)
"""Where JSON is read whose depth nobody has bounded: what is too deep must be refused by name."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("readers/"):
            yield name, ast.parse(path.read_text("utf-8"))


def parses(tree: ast.Module) -> bool:
    """Whether a module takes something from a package that parses, or has JSON read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(one.name.split(".")[0] in PARSERS for one in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = {f"{node.module}.{one.name}" for one in node.names}
            if node.module.split(".")[0] in PARSERS and not names <= PLAIN:
                return True
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("json.loads", "json.load", "json.JSONDecoder"):
            return True
    return False


def unguarded(tree: ast.Module) -> list[int]:
    """Lines where JSON is read and a value nested too deeply would be an error that nobody expects."""
    guarded: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and "in the reading process" in (ast.get_docstring(node) or ""):
            guarded |= {inner.lineno for inner in ast.walk(node) if isinstance(inner, ast.expr)}
        if isinstance(node, ast.Try) and any(
            "RecursionError" in ast.unparse(each.type or node) for each in node.handlers
        ):
            guarded |= {inner.lineno for each in node.body for inner in ast.walk(each) if isinstance(inner, ast.expr)}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("json.loads", "json.load")
        and node.lineno not in guarded
    ]  # fmt: skip


def test_whatever_parses_is_listed_with_its_reason() -> None:
    """A new module that parses is noticed; it belongs into the reading process, unless what it reads is no stranger's."""
    found = {name for name, tree in sources() if parses(tree)}
    assert found == set(ALLOWED)


def test_readers_are_called_by_the_reading_process_alone() -> None:
    """No module but the sandbox, the worker and what names them calls a reader of documents itself."""
    callers = {
        name
        for name, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module is not None
        and node.module.startswith("wenyuan.readers.")
        and node.module.split(".")[2]
        not in ("decoding", "golden", "ocr", "rulebooks", "sandbox", "selection", "synonyms", "worker")
    }
    assert callers <= {"app.py"}, callers


@pytest.mark.parametrize("name", sorted(NESTED))
def test_json_nested_too_deeply_is_refused_by_name(name: str) -> None:
    """``[[[[…`` of a stranger ends in the refusal that any other unreadable reply has."""
    tree = dict(sources())[name]
    assert unguarded(tree) == []
