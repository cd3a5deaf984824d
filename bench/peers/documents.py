"""What another program reads of documents: ``python documents.py markitdown|docling FOLDER`` prints JSON, text by file name.

Run by bench/fidelity.py in an environment in which that program is installed; null where it does not read a file.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path


def reader(name: str) -> Callable[[Path], str]:
    if name == "markitdown":
        program = importlib.import_module("markitdown").MarkItDown()
        return lambda path: str(program.convert(str(path)).text_content)
    program = importlib.import_module("docling.document_converter").DocumentConverter()
    return lambda path: str(program.convert(path).document.export_to_markdown())


def main() -> None:
    read = reader(sys.argv[1])
    texts: dict[str, str | None] = {}
    for path in sorted(Path(sys.argv[2]).iterdir()):
        try:
            texts[path.name] = read(path)
        except Exception as error:
            print(f"{path.name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            texts[path.name] = None
    print(json.dumps(texts))


if __name__ == "__main__":
    main()
