"""The files of the rows: columns, codes and float32 vectors, and ``rows.json``, which names them and says what they are.

Columns and codes have a checksum there; each vector has one in the columns. To compare a million vectors takes seconds, so
the manifest also says what file they were written to: only where it is another one, a copy say, are they compared at once,
else each when it is scored.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wenyuan.core.errors import IndexCorrupt, msg
from wenyuan.engines.local.columns import Columns, Signature, signature
from wenyuan.engines.local.vectors import VectorScan
from wenyuan.runtime.presence import exists
from wenyuan.runtime.regular import read_regular

_NAMES = ("columns", "codes", "vectors")
_PATTERNS = ("columns-*.npz", "codes-*.faiss", "vectors-*.f32")


@dataclass(frozen=True, slots=True)
class Rows:
    """What the files hold.

    Attributes:
        scan: None without an encoder.
        seq, stamp: The change of the catalog that they hold, and what tells it from another catalog's.
        seen: The files as they were when they were read.
        moved: The file of vectors is another one than was written, though it holds the same.
    """

    columns: Columns
    scan: VectorScan | None
    seq: int
    stamp: str
    seen: Mapping[Path, Signature | None]
    moved: bool = False


class RowFiles:
    """The row files in a folder.

    Args:
        dimension: Of the vectors; 0 without an encoder.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder, self._dimension = folder, dimension
        self._manifest = folder / "rows.json"
        self._seen: Mapping[Path, Signature | None] = {}

    def read(self) -> Rows:
        """Read the row files; IndexCorrupt when a file is not what was written. Takes effect with `hold`."""
        seen = {self._manifest: signature(self._manifest)}
        try:
            if not exists(self._manifest):
                return Rows(Columns(), VectorScan(self._dimension) if self._dimension else None, 0, "", seen)
            state = json.loads(read_regular(self._manifest).decode("utf-8"))
            seen |= {path: signature(path) for path in (self._folder / state[name] for name in _NAMES)}
            columns = Columns.load(self._folder / state["columns"], state["columns_crc"])
            seq, stamp = int(state["seq"]), str(state["stamp"])
            if not self._dimension:
                return Rows(columns, None, seq, stamp, seen)
            scan = VectorScan.load(
                self._dimension, self._folder / state["vectors"], self._folder / state["codes"], state["codes_crc"],
                state.get("sums"), columns.chinese,
            )  # fmt: skip
            moved = list(scan.stored_as or ()) != state["vectors_as"]
            if moved and not scan.intact(columns.crcs):
                raise ValueError(f"{state['vectors']} does not hold the vectors that were written")
            return Rows(columns, scan, seq, stamp, seen, moved)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexCorrupt(
                msg("{name}: {error}", name=self._manifest.name, error=error), component="engine local"
            ) from error

    def hold(self, rows: Rows) -> None:
        """From now on these are the files that were left here."""
        self._seen = rows.seen

    def changed(self) -> bool:
        """Whether a file differs from the one read or written, by its metadata."""
        return any(signature(path) != seen for path, seen in self._seen.items())

    def on_disk(self) -> tuple[int, str]:
        """The change that the files hold, and the name of the file of vectors; ValueError when that cannot be read."""
        if not exists(self._manifest):
            return 0, ""
        state = json.loads(read_regular(self._manifest).decode("utf-8"))
        try:
            return int(state["seq"]), str(state["vectors"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"{self._manifest.name} does not say what it names") from error

    def write(self, columns: Columns, scan: VectorScan | None, seq: int, stamp: str, append_to: str = "") -> None:
        """Write all rows, as of change `seq`, while the library's writer lock is held; OSError when that fails.

        Args:
            append_to: The file of vectors, if the stored ones of `scan` are in it: it is added to.
        """
        tag = f"{seq}-{secrets.token_hex(4)}"  # a file that another process has mapped is never written over
        vectors = append_to or f"vectors-{tag}.f32"
        names = {"columns": f"columns-{tag}.npz", "codes": f"codes-{tag}.faiss", "vectors": vectors}
        state: dict[str, Any] = {"seq": seq, "stamp": stamp, **names, "codes_crc": 0, "vectors_as": []}
        state["columns_crc"] = columns.save(self._folder / names["columns"])
        if scan is not None:
            codes = self._folder / names["codes"]
            state["codes_crc"] = scan.save(self._folder / vectors, codes, append=bool(append_to))
            state["sums"] = scan.sums.written()
            state["vectors_as"] = scan.stored_as
        self._write_manifest(state)
        for pattern in _PATTERNS:
            for old in self._folder.glob(pattern):
                if old.name not in names.values():
                    old.unlink(missing_ok=True)  # processes that have it open keep it
        paths = (self._manifest, *(self._folder / name for name in names.values()))
        self._seen = {path: signature(path) for path in paths}

    def found_again(self, scan: VectorScan) -> None:
        """Say in the manifest which file the vectors are in now, while the library's writer lock is held."""
        if not self.changed():
            self._write_manifest(
                json.loads(read_regular(self._manifest).decode("utf-8")) | {"vectors_as": scan.stored_as}
            )
            self._seen = {**self._seen, self._manifest: signature(self._manifest)}

    def _write_manifest(self, state: Mapping[str, Any]) -> None:
        part = self._manifest.with_suffix(".part")
        part.write_text(json.dumps(state), "utf-8")
        part.replace(self._manifest)
