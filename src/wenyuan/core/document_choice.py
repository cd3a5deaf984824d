"""Which documents of a list are wanted, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from wenyuan.core.model import DocumentState

DocumentSort = Literal["address", "title", "newest", "oldest", "fidelity", "effective"]
SORTS: tuple[DocumentSort, ...] = get_args(DocumentSort)
"""In which order documents are listed: by address or title, as they were read, the worst read ones first, or by the day
from which they count, the latest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChoice:
    """Which held documents are wanted; what is None or empty bounds nothing.

    Attributes:
        words: Text that title or address must contain.
        kind: The ending of a file's name, ``pdf``, or a media type, ``application/pdf``.
        fidelity_below: Only those that were read with a lower score, 0..1; what has none is not among them.
        read_since, read_until: Seconds since the epoch; `read_until` is exclusive.
    """

    state: DocumentState | None = None
    words: str = ""
    kind: str = ""
    fidelity_below: float | None = None
    read_since: float | None = None
    read_until: float | None = None
    sort: DocumentSort = "address"

    @property
    def plain(self) -> bool:
        """Whether nothing is asked of how documents were read, so that those that could not be read can be listed, too."""
        unbounded = self.fidelity_below is None and self.read_since is None and self.read_until is None
        return self.sort == "address" and not self.kind and unbounded
