"""The value types shared by all packages. They are frozen, keyword-only and validated on construction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

from wenyuan.core.errors import Fault, InvalidRequest, joined, listed, msg
from wenyuan.core.fidelity import Fidelity, Line, Recognition, Uncertain
from wenyuan.core.principals import AccessList

Facet = str | int | float | bool
SourceType = Literal["static_doc", "vector_index", "api"]
BlockKind = Literal["heading", "clause", "paragraph", "list", "table", "code", "row"]

ORIGIN_PRIORITY: Mapping[str, int] = {"kg_rule": 1, "vector": 2, "template": 3}
"""Priority of a hit by its origin: 1 is a mandatory rule, 2 a similar case, 3 a template."""

RULE_IDS = -(1 << 52)
"""A derived rule stands among passages as the number ``RULE_IDS - statement_id``: below all others."""

_SOURCE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}")
MAX_QUERY_CHARS = 8_000
MAX_RESULTS = 100
_MOST_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A registered origin of knowledge.

    Attributes:
        source_id: 1-64 of ``A-Z a-z 0-9 _ . -``, not starting with a dot or dash.
        domain: The knowledge domain it belongs to; the source's own id by default.
        trust: 1 (hearsay) … 5 (binding).
        path: Where a ``static_doc`` source is read from.
        supersedes: Ids of the sources that this one replaces from its ``effective_from`` on.
        refresh_cycle: ``never``, ``daily``, an ISO 8601 duration or a cron line; see `core.sources`.
        sensitivity: Which redaction is applied before anything is stored; see `core.redaction`.
        settings: What its type needs, e.g. ``url`` for ``api``; ``required: false`` lets it fail.
        language: BCP 47 primary tag, or ``""`` when mixed.
    """

    source_id: str
    title: str = ""
    type: SourceType = "static_doc"
    domain: str = ""
    trust: int = 3
    language: str = ""
    collection: str = ""
    path: str = ""
    copyright: str = ""
    effective_from: date | None = None
    effective_until: date | None = None
    status: Literal["in_force", "draft", "retired"] = "in_force"
    supersedes: tuple[str, ...] = ()
    refresh_cycle: str = "never"
    owner: str = ""
    sensitivity: Literal["public", "internal", "confidential", "restricted"] = "public"
    tags: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = []
        if not _SOURCE_ID.fullmatch(self.source_id):
            faults.append(
                Fault(
                    "source_id",
                    msg(
                        "{source_id} is no source id: 1-64 letters, digits, '_', '.', '-', starting with a letter, "
                        "digit or '_'",
                        source_id=repr(self.source_id),
                    ),
                )
            )
        if self.type not in get_args(SourceType):
            faults.append(
                Fault(
                    "type",
                    msg(
                        "{type} is no type: {sourcetype}",
                        type=repr(self.type),
                        sourcetype=", ".join(get_args(SourceType)),
                    ),
                )
            )
        if type(self.trust) is not int or not 1 <= self.trust <= 5:
            faults.append(
                Fault("trust", msg("trust is {trust}; it must be an integer from 1 to 5", trust=repr(self.trust)))
            )
        if self.effective_from and self.effective_until and self.effective_until < self.effective_from:
            faults.append(Fault("effective_until", "effective_until lies before effective_from"))
        if faults:
            raise InvalidRequest(joined(f.message for f in faults), faults=tuple(faults))
        if not self.title:
            object.__setattr__(self, "title", self.source_id)
        if not self.domain:
            object.__setattr__(self, "domain", self.source_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A structural part of a document, ``text[start:end]``.

    Attributes:
        kind: ``heading`` and ``clause`` open a section; ``row`` is a passage of its own (an FAQ entry).
        level: For headings and clauses, the depth (1 = outermost); else 0.
        label: A heading's text, or a clause's number as written (``第十三条``, ``3.2.1``).
        line: First line (1-based) in the original file, where it has lines.
        page: Page (1-based) of a paged document.
        cell: Sheet and row of a table document, e.g. ``FAQ!5``.
        anchor: URI fragment (unescaped) that opens the original at the block or nearest above it: an element's id, a
            page; ``""`` where nothing above has one, None where the format knows none.
        inner: ``(offset, anchor)`` of further anchors inside the block, in order; offsets are those of the document.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    label: str = ""
    line: int | None = None
    page: int | None = None
    cell: str | None = None
    anchor: str | None = None
    inner: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a block must hold text: start {self.start}, end {self.end}")


DocumentState = Literal["live", "not_yet", "expired", "superseded", "failed"]
"""Of a document on a day: by its dates, where a later version ended it, or that it could not be taken in."""
DOCUMENT_STATES: tuple[DocumentState, ...] = get_args(DocumentState)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document read from a source: its text and the blocks that cover it.

    Attributes:
        uri: Absolute URI of the document, without a fragment.
        text: The readable text, hidden and control characters removed; NFC is *not* applied.
        blocks: In order, not overlapping; only white space is between two blocks.
        notes: Notes of the reader, e.g. ``"removed 3 zero-width characters"``.
        metadata: Facets: scalar values by name (front matter, file properties).
        stated: The address that the document states for itself, if a reader accepts it; ``""`` for none.
        cells: Where the text holds cells of tables whose column says what kind of value they are: start, end and kind
            (see `core.redaction.names`), in order.
        collection: As the document itself says; ``""``: that of its source.
        refused: Other parts of the same file that cannot be ingested: address and reason.
        titled: Whether `title` is a real title rather than the file's name.
        part_of: Id of the text that this document is one of several parts of; all parts share the first one's lead.
            ``""``: it is complete. Not stored.
        lead: Its first words, in place of a title; see `core.text.summaries`. Computed during ingestion; readers
            leave it empty.
        lines: Places of its lines on pages, by offset; empty where the format has no pages.
        uncertain: Spans recognised with low confidence, by offset.
        fidelity: How completely the file was read; None where its reader does not measure it.
        read_by: Name, package and version of the plugin that read it; ``""`` for the program's own readers. Not stored.
        vector: Where its text is a passage that somebody else has cut: the vector that came with it, float32 of length 1, or
            ``b""``, where one is to be made. None: it is cut here.
    """

    uri: str
    title: str
    text: str
    blocks: tuple[Block, ...]
    sha256: str
    language: str = ""
    media_type: str = ""
    notes: tuple[str, ...] = ()
    metadata: Mapping[str, Facet] = field(default_factory=dict)
    effective_from: date | None = None
    effective_until: date | None = None
    stated: str = ""
    cells: tuple[tuple[int, int, str], ...] = ()
    collection: str = ""
    refused: tuple[tuple[str, str], ...] = ()
    titled: bool = True
    part_of: str = ""
    lead: str = ""
    lines: tuple[Line, ...] = ()
    uncertain: tuple[Uncertain, ...] = ()
    fidelity: Fidelity | None = None
    read_by: str = ""
    vector: bytes | None = None

    def __post_init__(self) -> None:
        at = 0
        for block in self.blocks:
            if block.start < at:
                raise ValueError(f"blocks overlap at {block.start}")
            if self.text[at : block.start].strip():
                raise ValueError(f"text before offset {block.start} is in no block")
            at = block.end
        if self.text[at:].strip() or at > len(self.text):
            raise ValueError(f"the blocks end at {at}, the text at {len(self.text)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A passage as cut by the chunker: ``document.text[start:end]`` with its address.

    Attributes:
        headings: Path of headings and clause labels above and at the passage, outermost first.
        fragment: URI fragment (unescaped) that opens the place: ``第三章-投诉处理``, ``page=4``, ``_options``.
        directive: What narrows it further, escaped: ``text=`` with the passage's first words where these find it,
            else ``part=2``; see `core.addresses`.
    """

    start: int
    end: int
    headings: tuple[str, ...] = ()
    fragment: str = ""
    directive: str = ""
    line: int | None = None
    page: int | None = None
    cell: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """Which corrections changed a passage; see `core.corrections`.

    Attributes:
        ids: Of the corrections that made it what it is.
        by: Who last changed, split or joined its text; ``""``: the text is as read.
        questions: Further questions that it answers; searched with its text, but not shown.
    """

    ids: tuple[int, ...] = ()
    by: str = ""
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The unit of retrieval, as stored in the catalog.

    Attributes:
        uri: The document's URI with the fragment that finds the passage.
        start: Character offset in the document's text (``end`` exclusive).
        sha256: Of ``text`` in UTF-8.
        facets: Scalar metadata of its document.
        lead: Of its document; see `core.text.summaries`. It is read with the text, and not shown.
        recognition: None where none of it was recognised in an image.
        corrected: None where nobody changed anything.
        disputes: What contradicts it, see `core.conflicts.record.dispute`; set for those that are given to a reader.
    """

    passage_id: int
    source_id: str
    document_id: int
    uri: str
    title: str
    headings: tuple[str, ...]
    text: str
    sha256: str
    start: int
    end: int
    page: int | None = None
    line: int | None = None
    cell: str | None = None
    language: str = ""
    trust: int = 3
    domain: str = ""
    collection: str = ""
    copyright: str = ""
    effective_from: date | None = None
    effective_until: date | None = None
    facets: Mapping[str, Facet] = field(default_factory=dict)
    lead: str = ""
    recognition: Recognition | None = None
    corrected: Corrected | None = None
    disputes: tuple[Mapping[str, Any], ...] = ()

    @property
    def ref(self) -> str:
        """Short address in prompts and audits: ``source_id#passage_id``, ``source_id#rule-statement_id``."""
        if self.passage_id <= RULE_IDS:
            return f"{self.source_id}#rule-{RULE_IDS - self.passage_id}"
        return f"{self.source_id}#{self.passage_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSentence:
    """What a language model says of where a passage stands; see `core.answering`.

    Attributes:
        model, prompt: Which model said so, and by which version of the prompt.
    """

    text: str
    model: str
    prompt: int


class KeptSentence(NamedTuple):
    """The stored result of asking a model for a passage's context sentence.

    Attributes:
        said: None where it was refused.
        refusal: a `core.context_sentences.Refusal`; ``""`` where it was not.
    """

    said: ContextSentence | None
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassage:
    """A passage to be stored.

    Attributes:
        vector_key, label_key: Name its vector and that of its `label_text`, which are stored or given beside it; None
            where nothing is embedded. ``""`` for the label of a passage that has none.
        recognition: None where none of it was recognised in an image.
        corrected: None where nobody changed anything.
        context: None where no model said where it stands.
    """

    uri: str
    headings: tuple[str, ...]
    text: str
    sha256: str
    start: int
    end: int
    page: int | None = None
    line: int | None = None
    cell: str | None = None
    vector_key: str | None = None
    label_key: str | None = None
    recognition: Recognition | None = None
    corrected: Corrected | None = None
    context: ContextSentence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document to be stored with all its passages; `lines`, `uncertain` and `fidelity` as in `Document`.

    Attributes:
        originals: Original passages that corrections excluded or changed; stored, but not served.
        corrections: Ids of the corrections in force for it.
        corrections_lost: Ids of those whose text is no longer in it.
        access: Who may read it, as the document itself says; None: it does not.
    """

    source_id: str
    uri: str
    title: str
    fingerprint: str
    passages: tuple[NewPassage, ...]
    media_type: str = ""
    language: str = ""
    collection: str = ""
    effective_from: date | None = None
    effective_until: date | None = None
    facets: Mapping[str, Facet] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    lead: str = ""
    lines: tuple[Line, ...] = ()
    uncertain: tuple[Uncertain, ...] = ()
    fidelity: Fidelity | None = None
    originals: tuple[NewPassage, ...] = ()
    corrections: tuple[int, ...] = ()
    corrections_lost: tuple[int, ...] = ()
    access: AccessList | None = None


def heading_text(title: str, headings: Sequence[str]) -> str:
    """Title and heading path, one per line without repetition: indexed and embedded with a passage."""
    return "\n".join(dict.fromkeys(part for part in (title, *headings) if part))


def indexed_headings(headings: Sequence[str], context: ContextSentence | None) -> tuple[str, ...]:
    """The headings under which a passage is indexed and embedded: its context sentence is the innermost one."""
    return (*headings, context.text) if context is not None else tuple(headings)


def shown_title(title: str, cell: str | None, text: str) -> str:
    r"""Display title of a passage: the question of an FAQ row (``question\nanswer``), otherwise the document's title."""
    question, answered, _ = text.partition("\n")
    is_question = cell is not None and answered and len(question) <= _MOST_TITLE and "; " not in question
    return question if is_question else title


def label_text(title: str, headings: Sequence[str], lead: str, questions: Sequence[str] = ()) -> str:
    """The label of a passage, embedded separately: title and headings, or the lead; ``""`` for none.

    Args:
        questions: That people say it answers: they take the place of all else, as the question of an FAQ does.
        title: As it is shown (see `shown_title`): of a row of questions and answers the question.
        lead: Of its document; where there is one, the title is only the name of a file.
    """
    return "\n".join(questions) or heading_text("" if lead else title, headings) or lead


BELOW = "\x1f\n"
"""Stands between heading and text in what is embedded: an encoder may count what stands above it for less. No text that was
read has this character, and whoever does not heed it takes it out (`as_written`)."""


def embedded_text(heading: str, text: str) -> str:
    """The text embedded for a passage: its `heading_text`, `BELOW`, and its text."""
    return f"{heading}{BELOW}{text}".strip() if heading and text else (heading or text).strip()


def as_written(embedded: str) -> str:
    """What is embedded, as a text: the heading stands on lines of its own."""
    return embedded.replace(BELOW, "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderFingerprint:
    """Identity of an encoder: vectors are comparable only if it is equal. Stored with every index.

    Attributes:
        script: What characters are written as before they are embedded: ``simplified``, or ``""``, as they are.
        scale: ``(lo, hi)``: raw cosines of this model from unrelated to identical, for `core.scoring.formula.rescale`.
    """

    id: str
    sha256: str
    dimension: int
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: str = "mean"
    quantisation: str = ""
    script: str = ""
    scale: tuple[float, float] = (0.0, 1.0)

    @property
    def key(self) -> str:
        """A string that differs whenever vectors would differ."""
        return "|".join(
            (self.id, self.sha256[:16], str(self.dimension), self.query_prefix, self.passage_prefix,
             self.pooling, self.quantisation, *((self.script,) if self.script else ()))
        )  # fmt: skip

    @property
    def made_by(self) -> str:
        """What vectors that come from elsewhere must be said to be of: a public id alone is that of other weights, too."""
        return f"{self.id}@{self.sha256[:16]}" if self.sha256 else self.id

    def told_beside(self, other: EncoderFingerprint) -> str:
        """Name of this encoder in a message beside `other`, including what differs."""
        if (self.id, self.dimension) == (other.id, other.dimension):
            for name in ("sha256", "query_prefix", "passage_prefix", "pooling", "quantisation", "script"):
                own = getattr(self, name)
                if own != getattr(other, name):
                    return f"{self.id} ({name} {own[:16]!r})"
        return f"{self.id} ({self.dimension} dimensions)"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """The data of one passage that engines index.

    Attributes:
        heading_text: Title, heading path and clause labels, indexed with the text and marked as its own.
        text: Of the passage, below the lead of its document where it has one (`core.text.leads.with_lead`).
        valid_from: Proleptic ordinal day, 0 when open; ``valid_until`` likewise, inclusive, `FOREVER` when open.
        vector: ``(dim,)`` float32 unit vector, or None where the library has no encoder.
        unembedded: Of a passage whose vector is gone, what was embedded; ``""`` elsewhere.
    """

    passage_id: int
    source_id: str
    document_id: int
    heading_text: str
    text: str
    language: str
    collection: str
    facets: Mapping[str, Facet]
    valid_from: int
    valid_until: int
    vector: Any = None
    unembedded: str = ""


FOREVER = date.max.toordinal()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRequest:
    """A request of the contract: ``retrieve_fragments(query, context?, max_results)``.

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    query: str
    max_results: int
    context: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        faults = []
        if not isinstance(self.query, str):
            faults.append(Fault("query", "must be a string"))
        elif not self.query.strip():
            faults.append(Fault("query", "must not be blank"))
        elif len(self.query.strip()) > MAX_QUERY_CHARS:
            faults.append(
                Fault(
                    "query",
                    msg(
                        "has {count} characters; at most {max_query_chars}",
                        count=len(self.query.strip()),
                        max_query_chars=MAX_QUERY_CHARS,
                    ),
                )
            )
        if type(self.max_results) is not int:
            faults.append(Fault("max_results", "must be an integer"))
        elif not 1 <= self.max_results <= MAX_RESULTS:
            faults.append(Fault("max_results", msg("must be from 1 to {max_results}", max_results=MAX_RESULTS)))
        if self.context is not None and not isinstance(self.context, Mapping):
            faults.append(Fault("context", "must be an object"))
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """One piece of evidence: source, content, and relevance (0..1)."""

    source: str
    content: str
    retrieval_score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 <= self.retrieval_score <= 1.0:  # also refuses NaN
            raise ValueError(f"retrieval_score {self.retrieval_score!r} is not in 0..1")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalResponse:
    """SUCCESS with fragments (perhaps none), or FAILED with a reason.

    Attributes:
        nearest: The nearest passage where nothing is given, for a request that wants to see it; no answer and no evidence.
        reason: Why nothing is given, where something was found and all of it was withheld.
    """

    status: Literal["SUCCESS", "FAILED"]
    fragments: tuple[Fragment, ...] = ()
    error_message: str | None = None
    nearest: Fragment | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.reason is not None and (self.fragments or self.status == "FAILED"):
            raise ValueError("reason is there only where nothing was given")
        if self.nearest is not None and (self.fragments or self.status == "FAILED"):
            raise ValueError("nearest is there only where nothing was found")
        if self.status not in ("SUCCESS", "FAILED"):
            raise ValueError(msg("{status} is no status", status=repr(self.status)))
        if self.status == "FAILED" and (self.fragments or not (self.error_message or "").strip()):
            raise ValueError("FAILED carries no fragments and says why")
        if self.status == "SUCCESS" and self.error_message is not None:
            raise ValueError("SUCCESS carries no error message")
        scores = [f.retrieval_score for f in self.fragments]
        if any(b > a for a, b in pairwise(scores)):
            raise ValueError("fragments are not sorted by falling score")


# Label of a passage, for callers that need nothing else of it; and its vector.


class Label(NamedTuple):
    """Title of the document, headings and language of one passage."""

    title: str
    headings: tuple[str, ...]
    language: str


class LabelVector(NamedTuple):
    """The vector of a passage's `core.model.label_text`; passages with equal labels share it.

    Attributes:
        key: What it is stored under.
        vector: ``(dim,)`` float32.
    """

    passage_id: int
    key: str
    vector: Any
