"""The stored addresses of a source's documents: redacted, and another one for each true address."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from wenyuan.catalog.addresses import StoredAddress
from wenyuan.catalog.storage import ADOPTED
from wenyuan.core.errors import DocumentRejected, msg

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.ingest.redaction import Redactor

_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")  # of which redaction takes no word for a value
_MARK = 12  # letters, 48 bits: two addresses with one mark are refused by the table, and not expected


def _marked(base: str, identity: str) -> str:
    """An address with a mark: ``…/fees~bcdfghjklmnp.md``, behind the end where it has a query or a fragment."""
    mark = "~" + identity[:_MARK].translate(_LETTERS)
    name = base.rpartition("/")[2]
    if "?" in base or "#" in base or not name:
        return base + mark
    suffix = PurePosixPath(name).suffix
    return base.removesuffix(suffix) + mark + suffix


class Addresses:
    """Gives each true address of a source its stored address, and finds it again.

    The stored address is the redacted one. Where two true addresses are redacted alike, the one that comes later has a
    mark, which is made of its identity; both keep theirs from then on. An address that redaction leaves as it is needs
    no row, unless another one has been stored under it.
    """

    def __init__(self, catalog: Catalog, source_id: str, redactor: Redactor) -> None:
        self._catalog, self._source_id, self._redactor = catalog, source_id, redactor
        self._held = dict(catalog.addresses(source_id))
        self._owner = {one.uri: identity for identity, one in self._held.items()}
        self._new: dict[str, StoredAddress] = {}
        self._gone: list[str] = []
        self._renamed: dict[str, str] = {}
        self._former: dict[str, str] = {}

    @property
    def renamed(self) -> Mapping[str, str]:
        """By stored address of before, the one that replaces it, of documents met so far."""
        return self._renamed

    def stored(self, uri: str) -> str | None:
        """The stored address of a true one; None where nothing was stored under it, since another one has it."""
        base = self._redactor.uri(uri)
        if base == uri and not self._held:
            return uri
        held = self._held.get(self._redactor.identity(uri))
        if held is not None:
            return held.uri
        return None if base in self._owner else base

    def give(
        self, uri: str, live: Mapping[str, tuple[int, str]], met: Set[str], file: tuple[str, str] = ("", "")
    ) -> str:
        """The stored address of a true one that is read now; made, where it has none.

        Args:
            live: As `Catalog.live_documents`.
            met: Stored addresses that were met in this run.
            file: The true and the stored address of the file that `uri` is a part of.
        """
        base = self._base(uri, *file)
        if base == uri and not self._held:
            return uri
        if _storable(base) != base or self._too_long(base):  # such a document is refused
            return base
        identity = self._redactor.identity(uri)
        held = self._held.get(identity)
        if held is not None and held.base == base:
            return held.uri
        given = base if self._free(base, uri, live, met) else _marked(base, identity)
        former = held.uri if held is not None else uri
        if former != given and (held is not None or uri in live):  # redaction takes out more, or less, than before
            self._renamed[former], self._former[given] = given, former
        if held is not None:
            del self._owner[held.uri], self._held[identity]
            self._gone.append(identity)
        if given != uri:
            self._new[identity] = self._held[identity] = StoredAddress(base, given)
            self._owner[given] = identity
        return given

    def _base(self, uri: str, file: str, stored: str) -> str:
        """The redacted address; of a part of a file it begins with the file's stored address."""
        base, whole = self._redactor.uri(uri), self._redactor.uri(file) if file else ""
        if file and uri != file and uri.startswith(file) and base.startswith(whole):
            return stored + base[len(whole) :]
        return base

    def _free(self, base: str, uri: str, live: Mapping[str, tuple[int, str]], met: Set[str]) -> bool:
        """Whether no other true address is stored as `base`."""
        if base in self._owner:
            return False
        if base == uri:
            return True
        number = live.get(base, (0, ""))[0]
        return base not in met and number <= (self._catalog.value(ADOPTED) or 0)

    def _too_long(self, stored: str) -> bool:
        most = self._catalog.database.place.longest_key
        return most is not None and len(_storable(stored).encode()) > most

    def check(self, stored: str) -> None:
        """Refuse an address that the catalog cannot index.

        Raises:
            DocumentRejected: it is too long for that.
        """
        if self._too_long(stored):
            most = self._catalog.database.place.longest_key
            raise DocumentRejected(
                msg("its address has more than {limit} bytes, which PostgreSQL cannot index", limit=f"{most:,}")
            )

    def former(self, stored: str) -> str:
        """The address under which a document was stored before this run."""
        return self._former.get(stored, stored)

    def identity(self, stored: str) -> str | None:
        """The identity of what has a stored address; None where redaction changed nothing of it."""
        return self._owner.get(stored)

    def keep(self) -> None:
        """Store what was given, before the documents that have these addresses."""
        self._catalog.keep_addresses(self._source_id, self._new, self._gone, self._renamed)
        self._new, self._gone, self._renamed = {}, [], {}

    def end(self, met: Set[str]) -> None:
        """Forget addresses that were not met, unless a correction in force names them."""
        if unmet := [identity for identity, one in self._held.items() if one.uri not in met]:
            corrected = self._catalog.counting_corrections(self._source_id).keys()
            gone = [identity for identity in unmet if self._held[identity].uri not in corrected]
            self._catalog.keep_addresses(self._source_id, {}, gone)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
