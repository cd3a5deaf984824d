"""Rule files to a `Book`: YAML, Excel, CSV, JSON Lines, and graphs as GraphML and JSON.

A file that cannot be read as a whole is a fault ``bad_file`` of the book, beside the faults of single entries:
the importer decides which faults stop an import.
"""

from __future__ import annotations

from wenyuan.readers.rulebooks.export import book_to_jsonl, book_to_yaml
from wenyuan.readers.rulebooks.selection import MAX_BYTES, MAX_GRAPH_BYTES, SUFFIXES, read_book

__all__ = ["MAX_BYTES", "MAX_GRAPH_BYTES", "SUFFIXES", "book_to_jsonl", "book_to_yaml", "read_book"]
