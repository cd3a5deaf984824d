"""How far an index on a cluster has come: one document, which is replaced as a whole or not at all."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace

import numpy as np

from wenyuan.core.errors import IndexCorrupt, msg
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.opensearch.sessions import ClusterSession, gone, overtaken

_ID = "mark"
_BODY = (
    "step", "library", "generation", "watermark", "swept", "stamp", "passages", "length", "vectors", "chinese", "terms",
    "least", "open", "made",
)  # fmt: skip
_MOST_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMark(Mark):
    """One state of an index on a cluster.

    Attributes:
        made: In the names of the indices that it is about: others, when they are built again.
    """

    made: str

    def same_state(self, other: Mark) -> bool:
        return self.watermark == other.watermark and isinstance(other, ClusterMark) and self.made == other.made

    def is_before(self, other: Mark) -> bool:
        return self.step < other.step and isinstance(other, ClusterMark) and self.made == other.made


@dataclass(frozen=True, slots=True)
class _Version:
    number: int
    term: int


def newest(session: ClusterSession, marks: str) -> ClusterMark | None:
    """The mark; None in an index without one."""
    return _read(session, marks)[0]


def _read(session: ClusterSession, marks: str) -> tuple[ClusterMark | None, _Version | None]:
    found = session.ask("GET", f"/{marks}/_doc/{_ID}", ignore=(404,), realtime="true")
    if "error" in found:
        raise gone(session.component)
    if not found["found"]:
        return None, None
    try:
        body = found["_source"]["body"]
        total = np.frombuffer(base64.b64decode(body["total"], validate=True), "<f4").copy()
        mark = ClusterMark(total=total, gone=tuple(body["gone"]), **{name: body[name] for name in _BODY})
        return mark, _Version(int(found["_seq_no"]), int(found["_primary_term"]))
    except (KeyError, TypeError, ValueError) as error:
        raise IndexCorrupt(
            msg("its mark cannot be read ({kind})", kind=type(error).__name__),
            component=session.component,
            hint=msg(
                "delete the indices {base}_*; they are built again from the catalog",
                base=marks.removesuffix("_marks"),
            ),
        ) from error


def put_mark(session: ClusterSession, marks: str, mark: ClusterMark) -> ClusterMark:
    """Make `mark` the one that counts, under the next number, if no other has come after it; returns it.

    Raises:
        EngineUnavailable: another process has written meanwhile.
    """
    made = replace(mark, step=mark.step + 1)
    body = {name: getattr(made, name) for name in _BODY}
    body |= {"gone": list(made.gone), "total": base64.b64encode(made.total.astype("<f4").tobytes()).decode()}
    for _ in range(_MOST_TRIES):  # a reply that was lost leaves open whether it was written: then it is read
        there, version = _read(session, marks)
        if there is not None and there == made:
            return made
        if (0 if there is None else there.step) != mark.step:
            break
        guard = (
            {"op_type": "create"}
            if version is None
            else {"if_seq_no": version.number, "if_primary_term": version.term}
        )
        told = session.change(
            "PUT", f"/{marks}_w/_doc/{_ID}", {"body": body}, ignore=(409,), require_alias="true", **guard
        )
        if "error" not in told:
            return made
    raise overtaken(session.component)
