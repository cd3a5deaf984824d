"""JSON models of ``/v1/tree`` and of the tools list, read and grep."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from wenyuan.contract.bodies import QueryString, Strict
from wenyuan.contract.fields import MAX_INTEGER, Text
from wenyuan.service.tree.entries import LineQuery
from wenyuan.service.tree.knowledge_tree import MOST_CONTEXT, MOST_ENTRIES, MOST_LINES, MOST_MATCHES
from wenyuan.service.tree.line_pattern import MOST_PATTERN

_Path = Annotated[Text, Field(max_length=4_000)]
_Name = Annotated[Text, Field(min_length=1, max_length=MOST_PATTERN)] | None
_Mark = Annotated[Text, Field(max_length=16_000)]
_WHERE = "/SOURCE/folder/document, or an id of an answer: SOURCE#42, document-12."
_FORM = "Only documents whose path or title has this form: *.md, leave, 2025/**."


class TreeListing(BaseModel):
    """What is listed."""

    path: _Path = Field("/", description=_WHERE)
    name: _Name = Field(None, description=f"{_FORM} At any depth.")
    after: _Mark = Field("", description="`next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=MOST_ENTRIES)] = 100


class LineRange(BaseModel):
    """What is read of which document."""

    path: _Path = Field(description=_WHERE)
    line: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = Field(
        None, description="The first; otherwise that of the passage named, or the document's."
    )
    lines: Annotated[int, Field(ge=1, le=MOST_LINES)] = 500
    section: Annotated[Text, Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="Only what stands under this heading."
    )


class LineSearch(BaseModel):
    """Which lines are looked for, and where."""

    pattern: Annotated[Text, Field(min_length=1, max_length=MOST_PATTERN)]
    path: _Path = Field("/", description=f"Only at or below it: {_WHERE}")
    regex: bool = Field(False, description="Whether the pattern is a regular expression (RE2).")
    case: bool = Field(False, description="Whether capital letters differ from small ones.")
    context: Annotated[int, Field(ge=0, le=MOST_CONTEXT)] = Field(0, description="Lines before and after each.")
    name: _Name = Field(None, description=_FORM)
    after: _Mark = Field("", description="`next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=MOST_MATCHES)] = 50

    @property
    def lines(self) -> LineQuery:
        """What lines are looked for."""
        return LineQuery(pattern=self.pattern, regex=self.regex, case=self.case, context=self.context, name=self.name)


class ListQueryShape(TreeListing, QueryString):
    """What is listed, as query parameters."""


class ReadQueryShape(LineRange, QueryString):
    """What is read, as query parameters."""


class GrepQueryShape(LineSearch, QueryString):
    """Which lines are looked for, as query parameters."""


class ListArguments(TreeListing, Strict):
    """What is listed, as arguments of a tool."""


class ReadArguments(LineRange, Strict):
    """What is read, as arguments of a tool."""


class GrepArguments(LineSearch, Strict):
    """Which lines are looked for, as arguments of a tool."""
