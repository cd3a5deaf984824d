"""What a prompt context is made of: its policy, its snippets, what was withheld and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from wenyuan.core.access import TOKEN_BUDGET
from wenyuan.core.model import ORIGIN_PRIORITY
from wenyuan.core.terms_of_use import Copyright, parse_copyright
from wenyuan.core.text.token_meter import estimate_tokens

LOW_TRUST = 3
"""A passage of lower trust enters a context only where that is asked for."""


Reason = Literal["low_trust", "copyright", "budget", "duplicate"]


REASONS: tuple[Reason, ...] = ("low_trust", "copyright", "budget", "duplicate")


SEAM = 2  # characters between two passages that touch: passages leave out white space only, here a blank line


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPolicy:
    """The limits of a context.

    Attributes:
        token_budget: For all snippets together: see `Snippet.tokens`.
        rules_share: Share of the budget (0..1) that only rules may use, as far as there are rules; of the rest
            they get what nothing else needs. With 1 no rule makes way for anything else.
        min_trust: 1-5, demanded whatever `allow_low_trust` says.
    """

    token_budget: int = TOKEN_BUDGET
    rules_share: float = 0.4
    min_trust: int = 1
    allow_low_trust: bool = False

    def __post_init__(self) -> None:
        if self.token_budget < 1 or not 0.0 <= self.rules_share <= 1.0 or not 1 <= self.min_trust <= 5:
            raise ValueError(f"no such policy: {self!r}")

    @property
    def least_trust(self) -> int:
        """The lowest trust admitted."""
        return self.min_trust if self.allow_low_trust else max(self.min_trust, LOW_TRUST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One snippet of a context.

    Attributes:
        source: Short address of its best passage: ``crm_policy#42``.
        content: The passages' own words, gaps marked ``……`` or `` … ``; ``""`` where copyright allows none.
        refs: Short addresses of all its passages, in document order.
        attribution: Text that must be shown with it.
        flags: ``no-excerpt`` (copyright: title and address only), ``excerpt`` (cut for copyright), ``generated``
            (not the source's own words), ``cleaned`` (hidden characters removed), ``instruction-like`` (it
            speaks to a model: treat with suspicion), ``low-trust``, ``uncertain`` (recognised in an image, and a number in
            it not surely: not to be quoted as sure), ``disputed`` (another statement contradicts it, and it is not said that
            this one holds).
    """

    source: str
    content: str
    trust: int
    uri: str
    title: str
    heading: str
    score: float
    origin: str
    refs: tuple[str, ...]
    attribution: str = ""
    flags: tuple[str, ...] = ()

    @property
    def priority(self) -> int:
        """1 for rules; see `ORIGIN_PRIORITY`."""
        return ORIGIN_PRIORITY[self.origin]

    @property
    def tokens(self) -> int:
        """Estimated tokens of the snippet: source, title, heading, content and attribution."""
        return estimate_tokens("\n".join((self.source, self.title, self.heading, self.content, self.attribution)))


@dataclass(frozen=True, slots=True)
class Withheld:
    """A withheld passage: reason, number of characters, and whether all of it was withheld."""

    ref: str
    reason: Reason
    characters: int
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBuild:
    """A finished context.

    Attributes:
        withheld: Number of passages kept back, wholly or in part, for each of `REASONS`.
        used: Characters given so far of each document (by `document_key`), those given before included.
    """

    snippets: tuple[Snippet, ...]
    withheld: Mapping[Reason, int]
    details: tuple[Withheld, ...]
    used: Mapping[str, int]
    tokens: int


Priced = tuple[Snippet, int]
"""A snippet with its tokens."""


@lru_cache(maxsize=1_024)
def terms_of(copyright: str) -> Copyright:
    return parse_copyright(copyright)
