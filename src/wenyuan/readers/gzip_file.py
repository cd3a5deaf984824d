"""A single file that was compressed with gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import PurePosixPath

from wenyuan.core.addresses import escaped_value, with_part
from wenyuan.core.errors import msg
from wenyuan.readers.assemble import rejected
from wenyuan.readers.contained_files import ContainedFile, Unpacked
from wenyuan.readers.container_check import CHUNK, check_ratio
from wenyuan.readers.containers import MAX_BYTES


def unpack_gzip(content: bytes, *, uri: str, name: str) -> Unpacked:
    """The file within, at ``<uri>?entry=<name>``, unpacked within the same bounds as an archive.

    Raises:
        DocumentRejected: it is damaged, cut off, or unpacks to too much.
    """
    path = PurePosixPath(name.replace("\\", "/")).name
    inner = path[: -len(".gz")] if path.lower().endswith(".gz") else path
    body = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            while chunk := stream.read(CHUNK):
                body += chunk
                if len(body) > MAX_BYTES:
                    raise rejected(
                        msg(
                            "the archive unpacks to more than {max_unpacked} MB", max_unpacked=MAX_BYTES // 1_000_000
                        ),
                        name,
                    )
                check_ratio(len(body), len(content), name=name)
    except (zlib.error, EOFError, OSError) as error:
        raise rejected(msg("the archive is damaged: {error}", error=error), name) from error
    address = with_part(uri, f"entry={escaped_value(inner)}")
    return Unpacked(
        parts=(
            ContainedFile(uri=address, name=inner, content=bytes(body), metadata={"archive": name, "entry": inner}),
        )
    )
