"""Write ``clients/typescript/src/openapi.ts``: what the server's OpenAPI document says of what the TypeScript client asks.

    python scripts/make_typescript_types.py           # write it; needs Node, and `npm ci` in clients/typescript
    python scripts/make_typescript_types.py --print   # print it
    python scripts/make_typescript_types.py --check   # fail when the document is another than the one it was made of

The types are made by openapi-typescript, of the part of the document that the client needs: a digest of that part stands in
the file's first line, so that `--check` needs no Node.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wenyuan.server.app import openapi_document
from wenyuan.settings import ServerSettings

FOLDER = Path(__file__).resolve().parents[1] / "clients" / "typescript"
TYPES = FOLDER / "src" / "openapi.ts"
ASKED = {
    "/v1/retrieve_fragments": ("post",),
    "/v1/search": ("post",),
    "/v1/context": ("post",),
    "/v1/answer": ("post",),
    "/v1/verify": ("post",),
    "/v1/feedback": ("post",),
    "/v1/retrieve": ("post",),
    "/v1/infer_rules": ("post",),
    "/v1/rules": ("get",),
    "/v1/rules/review": ("get", "post"),
    "/v1/rules/propose": ("post",),
    "/v1/rules/import": ("post",),
    "/v1/sources/{source_id}/documents": ("post",),
    "/v1/documents": ("get",),
    "/v1/documents/{document_id}": ("get", "put", "delete"),
    "/v1/documents/{document_id}/move": ("post",),
    "/v1/documents/{document_id}/passages": ("get",),
    "/v1/corrections": ("get", "post"),
    "/v1/corrections/{correction_id}": ("delete",),
}
"""The paths of which the client uses types, with the methods."""
ALSO = ("ProblemShape",)


def needed() -> dict[str, Any]:
    """The part of the document: those operations with their answers of success, and the schemas that these lead to."""
    whole = openapi_document(ServerSettings())
    paths: dict[str, Any] = {}
    for path, methods in ASKED.items():
        for method in methods:
            told = dict(whole["paths"][path][method])
            told["responses"] = {
                status: {name: one for name, one in said.items() if name != "headers"}
                for status, said in told["responses"].items()
                if status.startswith("2")
            }
            told.pop("description", None)
            paths.setdefault(path, {})[method] = told
    schemas: dict[str, Any] = {}
    waiting = [*references(paths), *ALSO]
    while waiting:
        name = waiting.pop()
        if name not in schemas:
            schemas[name] = dict(whole["components"]["schemas"][name])
            waiting += references(schemas[name])
    schemas["Json"] = {"description": "Any JSON value."}  # in TypeScript a type may not be an alias of itself
    info = {"title": whole["info"]["title"], "version": "1"}
    return {
        "openapi": whole["openapi"], "info": info, "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }  # fmt: skip


def references(value: Any) -> Iterator[str]:
    """The names of the schemas that a value refers to."""
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from references(one)


def first_line(document: Mapping[str, Any]) -> str:
    """What the file begins with: the digest of the part that it is made of."""
    written = json.dumps(document, ensure_ascii=False, sort_keys=True).encode()
    return f"// Made by scripts/make_typescript_types.py of a document with the digest {hashlib.sha256(written).hexdigest()}"


def typed(document: Mapping[str, Any]) -> str:
    """The types of a document, as openapi-typescript writes them."""
    program = FOLDER / "node_modules" / ".bin" / "openapi-typescript"
    if not program.exists():
        raise SystemExit("openapi-typescript is not installed: npm ci --prefix clients/typescript")
    with tempfile.TemporaryDirectory() as folder:
        named, made = Path(folder) / "openapi.json", Path(folder) / "openapi.ts"
        named.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        subprocess.run(
            [program, named, "-o", made, "--default-non-nullable", "false"], check=True, capture_output=True
        )
        return made.read_text("utf-8")


def main() -> None:
    """Write the types, or see whether they are those of the document."""
    document = needed()
    line = first_line(document)
    if "--print" in sys.argv:
        sys.stdout.write(f"{line}\n{typed(document)}")
    elif "--check" not in sys.argv:
        TYPES.write_text(f"{line}\n{typed(document)}", "utf-8")
    elif not TYPES.is_file() or TYPES.read_text("utf-8").partition("\n")[0] != line:
        raise SystemExit("openapi.ts is made of another document: python scripts/make_typescript_types.py")


if __name__ == "__main__":
    main()
