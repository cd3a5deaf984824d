"""The stored addresses of a source's documents: redacted, and another one for each true address.

A file has an address before it is read. When its documents show that the address names a value, it gets another one,
in which that is replaced, and keeps it, whatever later versions say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from wenyuan.catalog.addresses import StoredAddress
from wenyuan.catalog.format_upgrades import ADOPTED
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.redaction.named_places import NamedPlace
from wenyuan.core.redaction.redact import address_parts

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.core.redaction.known_values import KnownValues
    from wenyuan.service.ingest.redaction import Redactor

_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")  # of which redaction takes no word for a value
_LEFT = "addresses/left/"
"""Beginning of the key, before a source's id, of stored addresses that named a value and are to be erased."""
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

    def __init__(self, catalog: Catalog, source_id: str, redactor: Redactor, root: str = "") -> None:
        self._catalog, self._source_id, self._redactor = catalog, source_id, redactor
        self._root = root
        self._held = dict(catalog.addresses(source_id))
        self._owner = {one.uri: identity for identity, one in self._held.items()}
        self._new: dict[str, StoredAddress] = {}
        self._gone: list[str] = []
        self._renamed: dict[str, str] = {}
        self._former: dict[str, str] = {}
        self._outspoken: list[str] = []
        self.versions: Mapping[str, str] = {}

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
        return self._give(uri, live, met, file, self._places(uri))

    def learn(
        self,
        uri: str,
        values: KnownValues,
        live: Mapping[str, tuple[int, str]],
        met: Set[str],
        file: tuple[str, str] = ("", ""),
        *,
        beside: Iterable[str] = (),
    ) -> str:
        """As `give`, of a file or a part of it that was read, whose address may name values that its documents hold.

        Args:
            beside: What is listed with the address, such as a title; where it names a value, `names_values` says so.
        """
        known = self._places(uri)
        begin = len(file[0]) if file[0] and uri != file[0] and uri.startswith(file[0]) else self._root_end(uri)
        places = self._new_places(uri, values, known, begin)
        if not any(one.piece == 0 for one in known) and any(self._redactor.places(text, values) for text in beside):
            places += (NamedPlace(0, 0, 0, "", ""),)
        return self._give(uri, live, met, file, (*known, *places))

    def tells(self, uri: str, values: KnownValues) -> bool:
        """Whether `learn` would give a file another address."""
        return bool(self._new_places(uri, values, self._places(uri), self._root_end(uri)))

    def _new_places(
        self, uri: str, values: KnownValues, known: tuple[NamedPlace, ...], begin: int
    ) -> tuple[NamedPlace, ...]:
        places = tuple(
            one
            for one in self._redactor.places(uri, values, begin)
            if not any(_overlap(one, other) for other in known)
        )
        if places and self._redactor.uri(uri, (*known, *places)) == self._redactor.uri(uri, known):
            return ()  # rules alone find the same
        return places

    def names_values(self, uri: str) -> bool:
        """Whether an address, or what is listed with it, names values that its documents showed to be some."""
        return bool(self._places(uri))

    def _places(self, uri: str) -> tuple[NamedPlace, ...]:
        """Where an address names values, as far as that is known of it, or of the file that it is a version of."""
        if not self._held:
            return ()
        known = self._known_places(uri)
        if (present := self.versions.get(uri)) is not None:
            known += tuple(
                moved
                for moved in _moved(self._known_places(present), present, uri)
                if not any(_overlap(moved, one) for one in known)
            )
        return known

    def _known_places(self, uri: str) -> tuple[NamedPlace, ...]:
        held = self._held.get(self._redactor.identity(uri))
        return held.places if held is not None else ()

    def _root_end(self, uri: str) -> int:
        """Where the part of an address begins that is not the source's own, which its registry entry shows anyway."""
        return len(self._root) if self._root and uri.startswith(self._root) and len(uri) > len(self._root) else 0

    def _give(
        self,
        uri: str,
        live: Mapping[str, tuple[int, str]],
        met: Set[str],
        file: tuple[str, str],
        places: tuple[NamedPlace, ...],
    ) -> str:
        base = self._base(uri, *file, places)
        if base == uri and not self._held and not places:
            return uri
        if _storable(base) != base or self._too_long(base):  # such a document is refused
            return base
        identity = self._redactor.identity(uri)
        held = self._held.get(identity)
        if held is not None and (held.base, held.places) == (base, places):
            return held.uri
        if held is not None and held.base == base:
            given = held.uri
        else:
            given = base if self._free(base, uri, live, met) else _marked(base, identity)
        former = held.uri if held is not None else uri
        if former != given and (held is not None or uri in live):  # redaction takes out more, or less, than before
            self._renamed[former], self._former[given] = given, former
            if len(places) > len(held.places if held is not None else ()):
                self._outspoken.append(former)
        if held is not None:
            del self._owner[held.uri], self._held[identity]
            self._gone.append(identity)
        if given != uri or places:
            self._new[identity] = self._held[identity] = StoredAddress(base, given, places)
            self._owner[given] = identity
        return given

    def _base(self, uri: str, file: str, stored: str, places: tuple[NamedPlace, ...]) -> str:
        """The redacted address; of a part of a file it begins with the file's stored address."""
        base = self._redactor.uri(uri, places)
        if file and uri != file and uri.startswith(file) and base.startswith(whole := self._redactor.uri(file)):
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

    def keep(self) -> Mapping[str, str]:
        """Store what was given, before the documents that have these addresses; returns the addresses that replace others."""
        if self._outspoken:
            left = self._catalog.value(_LEFT + self._source_id) or []
            self._catalog.set_value(_LEFT + self._source_id, sorted({*left, *self._outspoken}))
        renamed = self._renamed
        self._catalog.keep_addresses(self._source_id, self._new, self._gone, renamed)
        self._new, self._gone, self._renamed, self._outspoken = {}, [], {}, []
        return renamed

    def forget_outspoken(self) -> bool:
        """Erase what is not live any more of documents whose address named a value; whether there was anything."""
        left = self._catalog.value(_LEFT + self._source_id)
        if not left:
            return False
        self._catalog.forget_addresses(self._source_id, left)
        return True

    def forgotten(self) -> None:
        """Note that what `forget_outspoken` erased has left the index, too."""
        self._catalog.set_value(_LEFT + self._source_id, None)

    def end(self, met: Set[str]) -> None:
        """Forget addresses that were not met, unless a correction in force names them."""
        if unmet := [identity for identity, one in self._held.items() if one.uri not in met]:
            corrected = self._catalog.counting_corrections(self._source_id).keys()
            gone = [identity for identity in unmet if self._held[identity].uri not in corrected]
            self._catalog.keep_addresses(self._source_id, {}, gone)


def _overlap(one: NamedPlace, other: NamedPlace) -> bool:
    if one.piece != other.piece:
        return False
    return not one.piece or (one.start < other.end and other.start < one.end)


def _moved(places: Iterable[NamedPlace], of: str, uri: str) -> Iterator[NamedPlace]:
    """The places of an address in another one, which has the same parts."""
    own, other = address_parts(of), address_parts(uri)
    for place in places:
        for number, part in enumerate(other, start=1):
            if 0 < place.piece <= len(own) and part == own[place.piece - 1]:
                yield place._replace(piece=number)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
