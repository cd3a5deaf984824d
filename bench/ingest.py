"""What taking documents in costs: passages a second, and how much of the time is not the encoder's.

    python bench/ingest.py [--passages 20000] [--encoder none|builtin|hashing] [--corpus FILE.jsonl …] [--rows] [--profile FILE]

The documents are Markdown files of twenty sections, or with ``--rows`` the lines of one JSONL file, made of the texts of
bench/made.py, taken in by `Library.add` as it is set by default: read, dated, redacted, cut, stored, indexed, and the
floor measured. With ``--profile`` what each function costs is written to FILE (cProfile), and times are longer.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wenyuan
from made import texts
from search import environment
from wenyuan.core.model import Source
from wenyuan.service.ingest.ingester import Ingester

_SECTIONS = 20


def write(folder: Path, files: list[Path], count: int) -> None:
    """Markdown files that make `count` passages, when none is cut."""
    made = texts(files, count)
    for number in range(-(-count // _SECTIONS)):
        group = list(itertools.islice(made, _SECTIONS))
        parts = [f"# {group[0][0]} {number}", *(f"## {title} {n}\n\n{text}" for n, (title, text) in enumerate(group))]
        (folder / f"{number:06}.md").write_text("\n\n".join(parts), encoding="utf-8")


def write_rows(folder: Path, files: list[Path], count: int) -> None:
    """One file with a document for each passage."""
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for number, (title, text) in enumerate(itertools.islice(texts(files, count), count)):
            row = {"id": number, "title": f"{title} {number}", "text": text, "metadata": {"made": True}}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


class Clock:
    """Time spent in some calls, wall and CPU of all threads."""

    def __init__(self) -> None:
        self.seconds = self.cpu = 0.0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **more: Any) -> Any:
            begun, used = time.perf_counter(), time.process_time()
            try:
                return call(*args, **more)
            finally:
                self.seconds += time.perf_counter() - begun
                self.cpu += time.process_time() - used

        return timed


def measure(folder: Path, encoder: str, profile: Path | None) -> dict[str, Any]:
    encoding, following = Clock(), Clock()
    follow = Ingester.follow
    Ingester.follow = following.around(follow)  # type: ignore[method-assign]
    settings = {"kind": encoder}
    with wenyuan.open(folder / "library", create=True, encoder=settings) as library:
        if library.encoder is not None:
            kind = type(library.encoder)
            kind.encode_passages = encoding.around(kind.encode_passages)  # type: ignore[method-assign]
        tracer = cProfile.Profile()
        begun, used = time.perf_counter(), time.process_time()
        if profile is not None:
            tracer.enable()
        report = library.add(Source(source_id="bench", path=str(folder / "files")))
        tracer.disable()
        seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    keywords = sum(file.stat().st_size for file in (folder / "library").rglob("keyword/*"))
    if profile is not None:
        tracer.dump_stats(profile)
    rest = {"all but the encoder": round((seconds - encoding.seconds) / seconds, 3)} if encoding.seconds else {}
    return {
        "encoder": encoder,
        "passages": report.passages,
        "files": report.files,
        "failed": len(report.failed),
        "passages/s": round(report.passages / seconds),
        "passages per CPU second": round(report.passages / cpu),
        "seconds": round(seconds, 1),
        "of these, index": round(following.seconds, 1),
        "of these, encoder": round(encoding.seconds, 1),
        "CPU s": round(cpu, 1),
        "keyword index MB": round(keywords / 1e6, 1),
        **rest,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--encoder", nargs="*", default=["none"], choices=["none", "builtin", "hashing"])
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--profile", type=Path)
    options = parser.parse_args()
    print(json.dumps(environment()))
    for encoder in options.encoder:
        with tempfile.TemporaryDirectory(prefix="wenyuan-ingest-") as name:
            folder = Path(name)
            (folder / "files").mkdir()
            (write_rows if options.rows else write)(folder / "files", options.corpus, options.passages)
            print(json.dumps(measure(folder, encoder, options.profile)), flush=True)


if __name__ == "__main__":
    main()
