"""robots.txt (RFC 9309): which paths of a site programs may ask for, without any expression that searches backwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

MOST_ROBOTS = 500 * 1_024
"""So much of a robots.txt counts; RFC 9309 asks for no less."""
MOST_PATTERNS = 1_000
"""Rules with ``*`` or ``$`` for one agent, each of which is tried on each path."""
_LONGEST_DELAY = 60.0
_MOST_SITEMAPS = 100


class TooManyRules(ValueError):
    """There are more rules than can be kept to."""


class RobotsRule(NamedTuple):
    """A rule with ``*`` or ``$``: what a path must begin with, hold in this order, and end with.

    Attributes:
        last: None where the path may go on.
        whole: There is no ``*``: the path is `first`, no more and no less.
    """

    length: int
    allow: bool
    first: str
    between: tuple[str, ...]
    last: str | None
    whole: bool

    def fits(self, path: str) -> bool:
        """Whether it fits a path. Each part is taken where it first stands: no later place would leave more room."""
        if self.whole or not path.startswith(self.first):
            return path == self.first
        at = len(self.first)
        for part in self.between:
            at = path.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return self.last is None or (path.endswith(self.last) and len(path) - len(self.last) >= at)


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of a robots.txt for our agent.

    Attributes:
        plain: Beginnings of paths → whether they are allowed.
        patterns: Rules with ``*`` or ``$``, the longest first, and of equal ones those that allow.
        delay: Seconds between two requests, ``Crawl-delay``; 0 where nothing is asked.
        sitemaps: Addresses of sitemaps.
    """

    plain: dict[str, bool] = field(default_factory=dict)
    patterns: tuple[RobotsRule, ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()
    lengths: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", tuple(sorted(set(map(len, self.plain)), reverse=True)))

    def allows(self, url: str) -> bool:
        """Whether an address may be fetched: the longest fitting rule decides, and of equal ones the one that
        allows.
        """
        parts = urlsplit(url)
        path = unquote(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/")
        plain = next(((n, self.plain[path[:n]]) for n in self.lengths if path[:n] in self.plain), (0, True))
        pattern = next(((rule.length, rule.allow) for rule in self.patterns if rule.fits(path)), (0, True))
        return max(plain, pattern)[1]


def robots_text(body: bytes) -> str:
    """The lines of a robots.txt within its first `MOST_ROBOTS` bytes; `body` has one more where there are more.

    The line at which it was cut is left out: the first half of a rule would be another, wider one.
    """
    text = body[:MOST_ROBOTS].decode("utf-8", "replace")
    return text if len(body) <= MOST_ROBOTS else "\n".join(text.splitlines()[:-1])


def parse_robots(text: str, agent: str) -> Robots:
    """The rules of the group for an agent, else of the group for all. Unknown lines are ignored.

    Raises:
        TooManyRules: there are more than `MOST_PATTERNS` rules with ``*`` or ``$`` for the agent.
    """
    own: list[tuple[str, str]] = []
    common: list[tuple[str, str]] = []
    sitemaps: list[str] = []
    named: set[str] = set()
    begun = for_us = False
    for name, value in _lines(text):
        if name == "sitemap":
            sitemaps.append(value)
        elif name == "user-agent":
            named = set() if begun else named
            begun = False
            if value.lower() in (agent, "*"):
                named.add(value.lower())
                for_us = for_us or value.lower() == agent
        elif name in ("allow", "disallow", "crawl-delay"):
            begun = True
            if agent in named:
                own.append((name, value))
            if "*" in named:
                common.append((name, value))
    chosen = own if for_us else common
    delays = [_seconds(value) for name, value in chosen if name == "crawl-delay"]
    rules = ((value, name == "allow") for name, value in chosen if value and name != "crawl-delay")
    plain, patterns = _sorted(rules)
    return Robots(plain, patterns, max(delays, default=0.0), tuple(sitemaps[:_MOST_SITEMAPS]))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.lstrip("\ufeff").splitlines():
        name, found, value = line.partition("#")[0].partition(":")
        if found:
            yield name.strip().lower(), value.strip()


def _sorted(rules: Iterable[tuple[str, bool]]) -> tuple[dict[str, bool], tuple[RobotsRule, ...]]:
    """Rules without ``*`` and ``$`` by their text, and the others in the order in which they decide."""
    plain: dict[str, bool] = {}
    patterns: set[RobotsRule] = set()
    for value, allow in rules:
        text = unquote(value)
        open_end = not text.endswith("$")
        first, *others = text.removesuffix("$").split("*")
        if not others and open_end:
            plain[text] = plain.get(text, False) or allow
            continue
        last = None if open_end else others.pop() if others else ""
        whole = not open_end and "*" not in text
        patterns.add(RobotsRule(len(text), allow, first, tuple(filter(None, others)), last, whole))
        if len(patterns) > MOST_PATTERNS:
            raise TooManyRules(MOST_PATTERNS)
    return plain, tuple(sorted(patterns, key=lambda rule: (rule.length, rule.allow), reverse=True))


def _seconds(value: str) -> float:
    try:
        return min(_LONGEST_DELAY, max(0.0, float(value)))
    except ValueError:
        return 0.0
