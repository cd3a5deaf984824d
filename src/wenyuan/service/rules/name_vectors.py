"""The vectors of what the rules graph says: of its names, and of its statements as sentences.

They are embedded once and kept, as passages are. An import by the command line embeds them before it ends; else a
thread does, from the first text on: until it has finished, nothing is compared by meaning, and that is said.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import CatalogBusy, KnowledgeError, msg
from wenyuan.core.ports import Encoder
from wenyuan.core.rules.graph import LexiconEntry
from wenyuan.core.slices import parts
from wenyuan.settings import SearchSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from wenyuan.catalog.catalog import Catalog


log = logging.getLogger(__name__)
_BATCH = 64  # names embedded at once: less than a second of work
_MOST = 50  # guesses that are compared further
_MOST_NODES = 3  # nodes that a text may mean
_NEAR = 0.04  # how much less than the likeliest another one may be
_WORDED = 0.8  # of the threshold, where the text has what the name says in so many words
LATIN = 5 / 6  # of the threshold, for a text without Chinese: measured, see docs/rules.md


@dataclass(frozen=True, slots=True)
class SayingText:
    """One way in which a statement is said."""

    statement_id: int
    text: str


@dataclass(frozen=True, slots=True)
class _Names:
    """What is embedded of one graph version: nodes (n,), then statements (m,), and unit vectors (n + m, dim)."""

    version: int
    nodes: npt.NDArray[np.int64]
    statements: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a text is to nodes and statements: of each the nearest way in which it is said, 0..1."""

    nodes: Mapping[int, float]
    statements: Mapping[int, float]


class NameVectors:
    """Compares texts with names and statements by their vectors. Thread-safe.

    Args:
        threshold: Likeness (0..1, the cosine on the encoder's scale) from which on a name is a guess.
    """

    def __init__(self, encoder: Encoder, catalog: Catalog, threshold: float) -> None:
        self._encoder = encoder
        self._catalog = catalog
        self.threshold = threshold
        self._lock = threading.Lock()
        self._ready: _Names | None = None
        self._work: threading.Thread | None = None
        self._stop = threading.Event()
        self._done = 0

    def close(self) -> None:
        """Stop embedding; finished vectors are kept."""
        self._stop.set()
        if self._work is not None:
            self._work.join()

    def likely(
        self,
        version: int,
        entries: Sequence[LexiconEntry],
        embed: Callable[[], Any],
        without: Set[int] = frozenset(),
        *,
        latin: bool = False,
        worded: Callable[[int], bool] = lambda _: False,
    ) -> list[tuple[int, float]] | str:
        """Nodes and their similarity to the text (0..1), best first; or why that is not known yet.

        Args:
            version: Of the graph whose names `entries` are.
            embed: Gives the vector of the text, (dim,) float32.
            without: Nodes invisible to the caller, which do not count towards the limit.
            latin: The text has no Chinese: then it lies further from all names.
            worded: Whether the text has most of what an entry says, by its index; asked where nothing is alike enough without:
                a name that it has the words of may be less alike.
        """
        import numpy as np

        names = self._names(version, entries, ())
        if isinstance(names, str):
            return names
        likeness = self._likeness(names, embed())
        if without:
            likeness[np.isin(names.nodes, list(without))] = -1.0
        needed = self.threshold * (LATIN if latin else 1.0)
        least = max(needed, float(likeness.max(initial=0.0)) - _NEAR)
        ranked = [int(at) for at in np.argsort(-likeness, kind="stable")[:_MOST]]
        likely = [at for at in ranked if likeness[at] >= least]
        likely = likely or [at for at in ranked if likeness[at] >= _WORDED * needed and worded(at)][:1]
        best: dict[int, float] = {}
        for at in likely:
            if len(best) < _MOST_NODES:
                best.setdefault(int(names.nodes[at]), float(likeness[at]))
        return list(best.items())

    def near(
        self, version: int, entries: Sequence[LexiconEntry], said: Sequence[SayingText], embed: Callable[[], Any]
    ) -> Nearness | str:
        """How near a text is to each node and each statement; or why that is not known yet.

        Args:
            version: Of the graph whose names `entries` are, and whose statements are `said`, those of one beside one another.
            embed: Gives the vector of the text, (dim,) float32.
        """
        names = self._names(version, entries, said)
        if isinstance(names, str):
            return names
        likeness = self._likeness(names, embed())
        count = len(names.nodes)
        return Nearness(_nearest(names.nodes, likeness[:count]), _nearest(names.statements, likeness[count:]))

    def _likeness(self, names: _Names, text: Any) -> npt.NDArray[np.float32]:
        import numpy as np

        low, high = self._encoder.fingerprint.scale
        nearness = (np.vecdot(names.vectors, np.asarray(text, np.float32)) - low) / (high - low)
        return np.asarray(np.clip(nearness, 0.0, 1.0), np.float32)

    def embed(
        self,
        entries: Sequence[LexiconEntry],
        said: Sequence[SayingText] = (),
        tell: Callable[[int, int], None] | None = None,
        most: int | None = None,
    ) -> int:
        """Embed and store the names and sentences that have no vector yet; returns how many there were.

        Args:
            tell: Called with the number done and the total.
            most: Embed nothing when more than this are missing.

        Raises:
            EncoderError, CatalogError
        """
        keys = {self._key(text): text for text in _texts(entries, said)}
        kept = self._catalog.name_vectors(list(keys))
        missing = [key for key in keys if key not in kept]
        done = 0
        if most is not None and len(missing) > most:
            return done
        for part in parts(missing, _BATCH):
            if self._stop.is_set():
                return done
            vectors = self._encoder.encode_passages([keys[key] for key in part])
            self._catalog.keep_name_vectors(dict(zip(part, vectors, strict=True)))
            done += len(part)
            if tell is not None:
                tell(done, len(missing))
        if missing:
            self._catalog.keep_name_vectors({}, wanted=keys)
        return done

    def _names(self, version: int, entries: Sequence[LexiconEntry], said: Sequence[SayingText]) -> _Names | str:
        with self._lock:
            if self._ready is None or self._ready.version != version:
                self._ready = self._read(version, entries, said)
            if self._ready is not None:
                return self._ready
            if self._work is None or not self._work.is_alive():
                self._done = 0
                self._work = threading.Thread(target=self._run, args=(entries, said), name="names", daemon=True)
                self._work.start()
        return msg(
            "names are not compared by meaning until they are embedded: {done} of {count}",
            done=self._done,
            count=len(entries) + len(said),
        )

    def _read(self, version: int, entries: Sequence[LexiconEntry], said: Sequence[SayingText]) -> _Names | None:
        import numpy as np

        keys = [self._key(text) for text in _texts(entries, said)]
        kept = self._catalog.name_vectors(list(dict.fromkeys(keys)))
        if any(key not in kept for key in keys):
            return None
        vectors = (
            np.stack([kept[key] for key in keys]) if keys else np.empty((0, self._encoder.fingerprint.dimension))
        )
        nodes = np.fromiter((entry.node_id for entry in entries), np.int64, len(entries))
        statements = np.fromiter((one.statement_id for one in said), np.int64, len(said))
        return _Names(version, nodes, statements, vectors.astype(np.float32, copy=False))

    def _run(self, entries: Sequence[LexiconEntry], said: Sequence[SayingText]) -> None:
        try:
            self.embed(entries, said, self._told)
        except CatalogBusy as error:
            log.info("embedding names is put off: %s", error)
        except KnowledgeError as error:
            log.warning("names cannot be embedded: %s", error)

    def _told(self, done: int, _total: int) -> None:
        self._done = done

    def _key(self, text: str) -> str:
        return hashlib.sha256(f"{self._encoder.fingerprint.key}\x00{text}".encode()).hexdigest()


def name_vectors_of(encoder: Encoder | None, catalog: Catalog, settings: SearchSettings) -> NameVectors | None:
    """The `NameVectors` of a library; None if they are switched off or there is no encoder."""
    if encoder is None or settings.similar_names >= 1.0:
        return None
    return NameVectors(encoder, catalog, settings.similar_names)


def _texts(entries: Sequence[LexiconEntry], said: Sequence[SayingText]) -> list[str]:
    return [*(entry.text for entry in entries), *(one.text for one in said)]


def _nearest(owners: npt.NDArray[np.int64], likeness: npt.NDArray[np.float32]) -> dict[int, float]:
    """The greatest likeness of each owner; those of one lie beside one another."""
    import numpy as np

    if not len(owners):
        return {}
    firsts = np.flatnonzero(np.diff(owners, prepend=owners[0] - 1))
    return dict(zip(owners[firsts].tolist(), np.maximum.reduceat(likeness, firsts).tolist(), strict=True))
