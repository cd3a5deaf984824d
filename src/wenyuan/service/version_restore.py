"""Brings an earlier version of an uploaded document back into its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wenyuan.core.errors import Conflict, InvalidRequest, SourceError, msg
from wenyuan.service.ingest.versions import series_of
from wenyuan.service.uploads import Given, UploadReport, Uploads

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.ingest.progress import Progress


@dataclass(frozen=True, kw_only=True, eq=False)
class VersionRestore:
    """Restores kept versions: what is in the place now becomes a version itself."""

    catalog: Catalog
    uploads: Uploads

    def restore(self, document_id: int, progress: Callable[[Progress], None] | None = None) -> UploadReport:
        """Put an earlier version of a document in the place of the present one, which is kept as a version.

        Args:
            document_id: Of the earlier version, as the history names it.

        Raises:
            NotFound: there is no such document.
            InvalidRequest: it is no earlier version whose file is kept.
            Conflict: nothing is in its place any more.
            KnowledgeError: as of `Uploads.replace`; then nothing is changed.
        """
        source, file = self.uploads.stored_file_of(document_id)
        origin = self.catalog.origin(document_id)
        series, number = series_of("" if origin is None else origin.uri)
        if not number:
            raise InvalidRequest(
                msg("document {document_id} is the version that counts", document_id=document_id),
                hint="name an earlier one: wenyuan document history",
            )
        place = _file(series)
        live = self.catalog.live_documents(source.source_id)
        present = next((held[0] for uri, held in live.items() if _file(uri) == place), None)
        if present is None:
            raise Conflict(
                msg("nothing is in the place of document {document_id} any more", document_id=document_id),
                hint="upload the file again: wenyuan document upload",
            )
        with self.uploads.incoming() as folder:
            copy = folder / "restored"
            try:
                shutil.copyfile(file, copy)
            except OSError as error:
                raise SourceError(
                    msg("{name} cannot be kept: {strerror}", name=file.name, strerror=error.strerror)
                ) from error
            return self.uploads.replace(present, Given(name=file.name, path=copy), progress)


def _file(uri: str) -> str:
    """The address of a file, without what stands behind it for a part."""
    return uri.partition("#")[0].partition("?")[0]
