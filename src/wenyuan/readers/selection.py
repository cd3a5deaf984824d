"""The reader of a file, chosen by its suffix and imported on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from wenyuan import plugins
from wenyuan.core.errors import ConfigError, DocumentRejected, msg
from wenyuan.core.fidelity import PICTURES
from wenyuan.core.model import Document
from wenyuan.readers.signatures import OLE, ZIP, signature_of

if TYPE_CHECKING:
    from wenyuan.core.ports import Reader
    from wenyuan.readers.contained_files import Unpacked


T = TypeVar("T")

CODE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys((".js", ".mjs", ".jsx", ".ts", ".tsx"), "text/javascript"),
        ".java": "text/x-java-source",
        ".go": "text/x-go",
        ".rs": "text/x-rust",
        ".kt": "text/x-kotlin",
        ".cs": "text/x-csharp",
        ".swift": "text/x-swift",
        **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp"), "text/x-csrc"),
        ".sql": "application/sql",
        ".sh": "application/x-sh",
        ".rb": "text/x-ruby",
    }
)
"""Media types of source files by suffix; Python has a reader of its own."""

READERS: Mapping[str, str] = MappingProxyType(
    {
        ".md": "wenyuan.readers.markdown:read_markdown",
        ".markdown": "wenyuan.readers.markdown:read_markdown",
        ".mdx": "wenyuan.readers.mdx:read_mdx",
        ".json": "wenyuan.readers.records:read_json",
        **dict.fromkeys((".yaml", ".yml"), "wenyuan.readers.records:read_yaml"),
        ".rst": "wenyuan.readers.rst:read_rst",
        ".rest": "wenyuan.readers.rst:read_rst",
        **dict.fromkeys((".adoc", ".asciidoc"), "wenyuan.readers.adoc:read_adoc"),
        **dict.fromkeys((".tex", ".latex", ".ltx"), "wenyuan.readers.tex:read_tex"),
        ".txt": "wenyuan.readers.text:read_text",
        ".text": "wenyuan.readers.text:read_text",
        ".html": "wenyuan.readers.html:read_html",
        ".htm": "wenyuan.readers.html:read_html",
        ".xhtml": "wenyuan.readers.html:read_html",
        ".pdf": "wenyuan.readers.pdf.reader:read_pdf",
        **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), "wenyuan.readers.docx:read_docx"),
        **dict.fromkeys((".doc", ".dot", ".wps"), "wenyuan.readers.legacy:read_doc"),
        **dict.fromkeys((".ppt", ".pps"), "wenyuan.readers.legacy:read_ppt"),
        ".pptx": "wenyuan.readers.slides:read_pptx",
        ".pptm": "wenyuan.readers.slides:read_pptx",
        **dict.fromkeys((".ppsx", ".ppsm", ".potx", ".potm"), "wenyuan.readers.slides:read_pptx"),
        ".odt": "wenyuan.readers.opendocument:read_odt",
        ".ott": "wenyuan.readers.opendocument:read_odt",
        ".odp": "wenyuan.readers.opendocument:read_odp",
        ".otp": "wenyuan.readers.opendocument:read_odp",
        ".ots": "wenyuan.readers.workbook:read_ods",
        ".xlt": "wenyuan.readers.workbook:read_xls",
        ".fodt": "wenyuan.readers.flat:read_fodt",
        ".fodp": "wenyuan.readers.flat:read_fodp",
        ".fods": "wenyuan.readers.flat:read_fods",
        ".xlsx": "wenyuan.readers.workbook:read_xlsx",
        **dict.fromkeys((".xlsm", ".xltx", ".xltm"), "wenyuan.readers.workbook:read_xlsx"),
        ".xlsb": "wenyuan.readers.workbook:read_xlsb",
        ".xls": "wenyuan.readers.workbook:read_xls",
        ".ods": "wenyuan.readers.workbook:read_ods",
        **dict.fromkeys(sorted(PICTURES), "wenyuan.readers.ocr.image_reader:read_image"),
        ".csv": "wenyuan.readers.delimited:read_csv",
        ".tsv": "wenyuan.readers.delimited:read_tsv",
        ".rtf": "wenyuan.readers.rtf:read_rtf",
        ".epub": "wenyuan.readers.epub:read_epub",
        ".mht": "wenyuan.readers.mhtml:read_mhtml",
        ".mhtml": "wenyuan.readers.mhtml:read_mhtml",
        ".ipynb": "wenyuan.readers.notebook:read_ipynb",
        ".py": "wenyuan.readers.python_code:read_python",
        **dict.fromkeys(CODE, "wenyuan.readers.source_code:read_code"),
        ".jsonl": "wenyuan.readers.jsonl:read_jsonl",
        ".ndjson": "wenyuan.readers.jsonl:read_jsonl",
    }
)
"""Reader by suffix, as ``module:function``."""

_RECOGNISED = frozenset((READERS[".pdf"], READERS[".png"]))
"""Readers that take the pages that were recognised in pictures."""

CONTAINERS: Mapping[str, str] = MappingProxyType(
    {
        ".zip": "wenyuan.readers.archive:unpack_zip",
        ".eml": "wenyuan.readers.mail:unpack_eml",
        ".msg": "wenyuan.readers.outlook:unpack_msg",
        ".gz": "wenyuan.readers.gzip_file:unpack_gzip",
    }
)
"""What unpacks a file that holds files, by suffix, as ``module:function``; see `readers.archive`."""

_EXPECTED: Mapping[str, tuple[str, ...]] = {
    ".pdf": ("a PDF",),
    **dict.fromkeys(
        (
            ".docx",
            ".docm",
            ".dotx",
            ".dotm",
            ".pptx",
            ".pptm",
            ".ppsx",
            ".ppsm",
            ".potx",
            ".potm",
            ".xlsx",
            ".xlsm",
            ".xltx",
            ".xltm",
            ".xlsb",
            ".odt",
            ".ott",
            ".odp",
            ".otp",
            ".ods",
            ".ots",
            ".epub",
        ),
        (ZIP,),
    ),
    **dict.fromkeys((".xls", ".xlt"), (OLE, ZIP, "")),
    **dict.fromkeys((".doc", ".dot", ".wps"), (OLE, ZIP, "RTF", "")),
    **dict.fromkeys((".ppt", ".pps"), (OLE, ZIP)),
    ".rtf": ("RTF",),
    ".zip": (ZIP, "an empty ZIP container"),
    ".msg": (OLE,),
    ".gz": ("gzip",),
    ".png": ("a PNG image",),
    **dict.fromkeys((".jpg", ".jpeg"), ("a JPEG image",)),
    **dict.fromkeys((".tif", ".tiff"), ("a TIFF image",)),
    ".webp": ("a WebP image",),
}
"""What the first bytes of a file may be, by suffix: see `signatures`, ``""`` for none of them; all others have none."""
_PDF_HEADER_WITHIN = 1_024
_BARE = re.compile(
    r"(?:readme|changelog|changes|history|news|releases?|licen[sc]e|copying|copyright|notice|authors|contributors|contributing|"
    r"maintainers|install|installing|building|hacking|todo|faq|security|support|governance|credits|thanks|patents|upgrading|"
    r"code_of_conduct)(?:[-_][\w-]{1,40})?\Z",
    re.IGNORECASE,
)
"""Names of files without a suffix that are read as plain text."""


class PagesWanted(Exception):
    """Control flow, no failure: a reader lists the pages (1-based) whose images must be recognised (OCR) before it
    can go on.
    """

    def __init__(self, pages: tuple[int, ...]) -> None:
        super().__init__(pages)
        self.pages = pages


def suffix_of(name: str) -> str:
    """The suffix of a file name in lower case, e.g. ``.md``; ``""`` without one.

    Texts that projects name without a suffix (``README``, ``LICENSE``) are ``.txt``.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    suffix = path.suffix.lower()
    return ".txt" if not suffix and _BARE.match(path.name) else suffix


def supported_suffixes() -> tuple[str, ...]:
    """All suffixes that have a reader or are unpacked."""
    return (*READERS, *CONTAINERS)


def is_read(name: str) -> bool:
    """Whether a file of this name has a reader, a plugin's included, or is a container that is unpacked."""
    suffix = suffix_of(name)
    if suffix == ".gz":
        inner = suffix_of(name[: -len(suffix)])
        return inner != suffix and _is_known(inner)
    return _is_known(suffix)


def _is_known(suffix: str) -> bool:
    return suffix in READERS or suffix in CONTAINERS or plugins.READERS.has(suffix[1:])


def choose_reader(name: str) -> tuple[str, str]:
    """The reader of a file as ``module:function``, and the plugin that brings it; ``""`` for one of the program's own.

    Raises:
        DocumentRejected: there is none, or the plugin cannot be used.
    """
    suffix = suffix_of(name)
    try:
        plugin = plugins.READERS.plugin(suffix[1:], built_in=suffix in READERS or suffix in CONTAINERS)
    except ConfigError as error:
        raise DocumentRejected(error.message, component=name, hint=error.hint) from error
    if plugin is not None:
        return plugin.value, str(plugin)
    if suffix not in READERS:
        raise DocumentRejected(
            msg("files of the kind {name} are not read", name=repr(suffix or name)), component=name
        )
    return READERS[suffix], ""


def reader_for(name: str) -> Reader | None:
    """The reader for a file name; None for unsupported kinds and for containers."""
    dotted = READERS.get(suffix_of(name))
    return load_reader(dotted) if dotted else None


def load_reader(dotted: str) -> Reader:
    """Import the reader named ``module:function``."""
    module, _, function = dotted.partition(":")
    return cast("Reader", getattr(import_module(module), function))


def check_signature(content: bytes, name: str) -> None:
    """Refuse a file whose magic bytes contradict its suffix.

    Raises:
        DocumentRejected: e.g. a PDF that is named ``.txt``.
    """
    if not content:
        raise DocumentRejected("the file is empty", component=name)
    suffix = suffix_of(name)
    seen = signature_of(content)
    if suffix == ".pdf" and b"%PDF-" in content[:_PDF_HEADER_WITHIN]:
        seen = "a PDF"  # the format allows bytes before its header
    expected = _EXPECTED.get(suffix, ("",))
    if seen not in expected:
        reason = msg("it is named {suffix} but is {seen}", suffix=suffix, seen=seen)
        if not seen:
            reason = msg("it is named {a} but is not {b}", a=suffix, b=expected[0])
        raise DocumentRejected(reason, component=name)


def read_guarded(
    content: bytes,
    *,
    uri: str,
    name: str,
    reader: str,
    plugin: str = "",
    recognised: Mapping[int, Mapping[str, Any]] | None = None,
) -> tuple[Document, ...]:
    """Check the signature and read; every exception of a parser becomes a `DocumentRejected` with its reason.

    Args:
        reader: ``module:function``, as in `READERS`.
        plugin: The plugin that brings the reader, see `choose_reader`. What its files begin with, it must know itself.
        recognised: Pages recognised by OCR, in the form of `ocr.pages`; None where no OCR is installed.

    Raises:
        PagesWanted: further pages must be recognised first.
        DocumentRejected: with the reader's reason, or the name of the parser's exception.
    """
    if plugin:
        return _read_by_plugin(content, uri=uri, name=name, reader=reader, plugin=plugin)
    read: Callable[..., Iterable[Document]] = load_reader(reader)
    if reader in _RECOGNISED:
        read = partial(read, recognised=recognised)
    documents = _guarded(lambda content, **told: tuple(read(content, **told)), content, uri, name)
    if not documents:
        raise DocumentRejected("the reader found no document in it", component=name)
    return documents


def _read_by_plugin(content: bytes, *, uri: str, name: str, reader: str, plugin: str) -> tuple[Document, ...]:
    """What a plugin's reader gives, if it is documents."""
    if not content:
        raise DocumentRejected("the file is empty", component=name)
    try:
        read = plugins.load_function(reader, plugin=plugin)
    except ConfigError as error:
        raise DocumentRejected(error.message, component=name, hint=error.hint) from error
    documents = _guard_errors(lambda: tuple(read(content, uri=uri, name=name)), name)
    for other in (one for one in documents if not isinstance(one, Document)):
        raise DocumentRejected(
            msg("the plugin {plugin} gave a {kind}, which is no document", plugin=plugin, kind=type(other).__name__),
            component=name,
        )
    if not documents:
        raise DocumentRejected("the reader found no document in it", component=name)
    return documents


def unpack_guarded(content: bytes, *, uri: str, name: str) -> Unpacked:
    """Check the signature and unpack a container; errors as in `read_guarded`."""
    module, _, function = CONTAINERS[suffix_of(name)].partition(":")
    unpack: Callable[..., Unpacked] = getattr(import_module(module), function)
    return _guarded(unpack, content, uri, name)


def call_guarded(content: bytes, arguments: Mapping[str, Any], *, name: str, function: str) -> Any:
    """Call a function on what strangers wrote; errors as in `read_guarded`.

    Args:
        arguments: Values of JSON, given by name.
        function: ``module:function``; what it returns must be values of JSON.
    """
    module, _, attribute = function.partition(":")
    call = getattr(import_module(module), attribute)
    return _guard_errors(lambda: call(content, **arguments), name)


def _guarded(parse: Callable[..., T], content: bytes, uri: str, name: str) -> T:
    check_signature(content, name)
    return _guard_errors(lambda: parse(content, uri=uri, name=name), name)


def _guard_errors(parse: Callable[[], T], name: str) -> T:
    """What a parser returns; its exceptions become a `DocumentRejected` that names the file."""
    try:
        return parse()
    except PagesWanted:
        raise
    except DocumentRejected as error:
        if error.component:
            raise
        raise DocumentRejected(error.message, component=name, hint=error.hint) from error
    except RecursionError as error:
        raise DocumentRejected("it is nested too deeply", component=name) from error
    except MemoryError as error:
        raise DocumentRejected("it needs more memory than is allowed", component=name) from error
    except Exception as error:
        reason = f"the reader failed: {type(error).__name__}: {error}"
        raise DocumentRejected(reason[:500], component=name) from error
