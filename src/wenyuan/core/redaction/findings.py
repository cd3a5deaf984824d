"""Find, choose, replace; again until nothing is found."""

from __future__ import annotations

import copy
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from wenyuan.core.errors import DocumentRejected, KnowledgeError, msg
from wenyuan.core.redaction import (
    announced_numbers,
    assignments,
    chinese_names,
    chinese_passphrases,
    code_identifiers,
    configurations,
    correspondence,
    deployed_secrets,
    encoded,
    english_names,
    fields,
    foreign_addresses,
    foreign_names,
    forms_of_address,
    identifiers,
    joined_addresses,
    licences,
    messengers,
    names_of_peoples,
    neighbours,
    passwords,
    people,
    places,
    secrets,
    single_names,
    spoken_secrets,
    stated_secrets,
    tokens,
    unknown_keys,
)
from wenyuan.core.redaction.columns import column_values
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.core.redaction.matching import SIGNS, Finding, Rule, find, find_together, forget_runs
from wenyuan.core.redaction.names import NAME_RULES
from wenyuan.core.redaction.policy import ERASED_MARK, KINDS, RedactionPolicy
from wenyuan.core.redaction.postal_addresses import RULES as PLACE_RULES
from wenyuan.core.redaction.repeats import Repeats
from wenyuan.core.redaction.replacement import replacement
from wenyuan.core.redaction.text_view import OPAQUE, TextView, views_of

NameRecognizer = Callable[[str], Iterable[tuple[int, int]]]
"""Text → spans ``[start, end)`` of names of persons in it: the socket of a recogniser that knows more than cue words."""

RULES = (
    *secrets.RULES,
    *passwords.RULES,
    *stated_secrets.RULES,
    *chinese_passphrases.RULES,
    *assignments.RULES,
    *configurations.RULES,
    *deployed_secrets.RULES,
    *spoken_secrets.RULES,
    *tokens.RULES,
    *unknown_keys.RULES,
    *identifiers.NUMBER_RULES,
    *code_identifiers.RULES,
    *secrets.NETWORK_RULES,
    *joined_addresses.RULES,
    *PLACE_RULES,
    *NAME_RULES,
    *people.RULES,
    *neighbours.RULES,
    *correspondence.RULES,
    *chinese_names.RULES,
    *foreign_names.RULES,
    *names_of_peoples.RULES,
    *forms_of_address.RULES,
    *english_names.RULES,
    *single_names.RULES,
    *messengers.RULES,
    *places.RULES,
    *foreign_addresses.RULES,
    *licences.RULES,
    *announced_numbers.RULES,
    *fields.RULES,
    *encoded.RULES,
)
_TRIALS = Counter((rule.pattern, rule.cased) for rule in RULES)
_FIRST_WITH: dict[tuple[re.Pattern[str], bool], int] = {}
_SHARED = tuple(
    _FIRST_WITH.setdefault((rule.pattern, rule.cased), number) if _TRIALS[rule.pattern, rule.cased] > 1 else -1
    for number, rule in enumerate(RULES)
)
"""For each rule the number of the first one that has its pattern; -1: no other has. To hash a pattern takes longer than most searches."""
_SELDOM_LETTERS = {c: -at for at, c in enumerate("etaoinsrhldcumfpgwybvkxjqz 的一是不了在有人这中大为上个国我以要他")}


def _rarest_pair(word: str) -> str:
    """Two neighbours in a word that texts seldom have, by their letters; a word of one character is its own."""
    return min(
        map(operator.add, word, word[1:]),
        key=lambda pair: sum(_SELDOM_LETTERS.get(c, -99) for c in pair),
        default=word,
    )


_NEEDED = sorted({word for rule in RULES for word in rule.needs})
_BY_PAIR: dict[str, list[str]] = {}
for _word in _NEEDED:
    _BY_PAIR.setdefault(_rarest_pair(_word), []).append(_word)
_SINGLE_CHARACTERS = frozenset(pair for pair in _BY_PAIR if len(pair) == 1)
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}
ERASED_KIND = "erased"
"""Counted as a kind: what was erased at somebody's request."""
_MAX_ROUNDS = 12  # real texts need two; each round leaves less to find
_SHORT, _MOST_REMEMBERED = 200, 4_096  # characters; texts
_Edit = tuple[int, int, str]
_Known = tuple[list[Finding], list[Finding]]  # what rules find in a text, and what the recogniser does

Told = tuple[int, int, str]
"""Start and end in a text, and the kind of value that the name of its column or field says it holds."""


def findings(
    text: str,
    policy: RedactionPolicy,
    names: NameRecognizer | None,
    cells: Sequence[Told] = (),
    repeats: Repeats | None = None,
    known: dict[str, _Known] | None = None,
) -> list[Finding]:
    """What stands in a text, of the kinds that the policy does not keep: in order, not overlapping.

    Args:
        known: What rules and the recogniser found in texts before, by this policy; what they find in this one is added.
    """
    views = views_of(text)
    before = None if known is None else known.get(text)
    by_rules, by_names = before or (
        [
            _in_original(view, each)
            for number, view in enumerate(views)
            for each in _in_view(view, policy, first=not number)
        ],
        [_in_original(views[0], each) for each in _recognised(views[0], names)]
        if names is not None and policy.actions["person"] != "keep"
        else [],
    )
    forget_runs()
    if known is not None:
        known[text] = by_rules, by_names
    found = [*by_rules]
    if repeats:
        found += (_in_original(view, each) for view in views for each in repeats.find(view))
    found += by_names
    for cell in cells:
        if {policy.actions[kind] for kind in (cell[2], *_ALSO.get(cell[2], ()))} == {"keep"}:
            continue
        found += (each for each in column_values(text, *cell) if policy.actions[each.kind] != "keep")
    return _choose(found, len(text))


_ALSO = {"cn_mobile": ("phone",)}  # a column of telephone numbers has both


def _in_view(view: TextView, policy: RedactionPolicy, *, first: bool) -> Iterator[Finding]:
    """What the rules find in a view, rule by rule; a pattern that several of them have is tried once. `first`: it is the text as written."""
    numbers = _to_try(view, frozenset(kind for kind, action in policy.actions.items() if action != "keep"), first)
    alike: dict[int, list[Rule]] = {}
    for number in numbers:
        if _SHARED[number] >= 0:
            alike.setdefault(_SHARED[number], []).append(RULES[number])
    together = {same: iter(find_together(group, view)) for same, group in alike.items()}
    for number in numbers:
        own = together.get(_SHARED[number])
        yield from find(RULES[number], view) if own is None else next(own)


def _in_original(view: TextView, finding: Finding) -> Finding:
    """A finding with its span in the original text."""
    start, end = view.original(finding.start, finding.end)
    return finding._replace(start=start, end=end)


def _to_try(view: TextView, kinds: frozenset[str], first: bool) -> list[int]:
    """The numbers of the rules of some kinds whose values may be in a text, in their order: few of the words that they need stand in most texts."""
    signs = frozenset(name for name, pattern in SIGNS.items() if pattern.search(view.text))
    always, by_word = _ready(signs, kinds, first)
    numbers = set(always)
    for word in _there(view.lower):
        numbers.update(by_word.get(word, ()))
    return sorted(numbers)


@lru_cache(256)
def _ready(signs: frozenset[str], kinds: frozenset[str], first: bool) -> tuple[list[int], dict[str, list[int]]]:
    """The numbers of the rules that are tried in every text with these signs, and of those that need a word, by it."""
    always: list[int] = []
    by_word: dict[str, list[int]] = {}
    for number, rule in enumerate(RULES):
        if rule.kind in kinds and rule.signs <= signs and (first or not rule.written):
            if not rule.needs:
                always.append(number)
            for word in rule.needs:
                by_word.setdefault(word, []).append(number)
    return always, by_word


def _there(lower: str) -> set[str]:
    """The needed words that stand in a text; only those are sought of which it has the rarest pair of characters."""
    pairs = set(map(operator.add, lower, lower[1:]))
    pairs |= _SINGLE_CHARACTERS
    return {word for pair in _BY_PAIR.keys() & pairs for word in _BY_PAIR[pair] if word in lower}


def _recognised(view: TextView, names: NameRecognizer) -> list[Finding]:
    """What the recogniser finds between marks; it reads the folded text.

    Raises:
        DocumentRejected: it failed, or gave spans that are not in the text.
    """
    try:
        spans = [(int(start), int(end)) for start, end in names(view.text)]
    except KnowledgeError:
        raise
    except Exception as error:  # whatever another's code raises, a text that was not searched is not taken in
        raise DocumentRejected(
            msg("the name recogniser failed ({kind})", kind=type(error).__name__), component="redaction"
        ) from error
    if any(not 0 <= start < end <= len(view.text) for start, end in spans):
        raise DocumentRejected("the name recogniser gave a span outside the text", component="redaction")
    named = ((start, end, view.text[start:end]) for start, end in spans)
    return [
        Finding(start, end, "person", name.strip().casefold())
        for start, end, name in named
        if name.strip() and OPAQUE not in name and "*" not in name
    ]


def _choose(found: Sequence[Finding], length: int) -> list[Finding]:
    """Where findings overlap, a secret, then the longest; of two as long, the more specific kind."""
    if not found:
        return []
    taken = bytearray(length)
    chosen = []
    for finding in sorted(found, key=lambda f: (f.kind != "secret", f.start - f.end, _RANK[f.kind], f.start)):
        if taken.find(1, finding.start, finding.end) < 0:
            taken[finding.start : finding.end] = b"\1" * (finding.end - finding.start)
            chosen.append(finding)
    return sorted(chosen, key=lambda f: f.start)


class TextRedactor:
    """Takes out of texts what a policy does not keep; it remembers short texts that hold nothing.

    What a source's documents have in common, folders and facets say, is looked through once.

    Args:
        key: At least 16 bytes where the policy makes pseudonyms.
        erased: What was erased at somebody's request, and goes whatever the policy says; None: nothing.

    Raises:
        ConfigError: the policy needs a key.
    """

    def __init__(
        self, policy: RedactionPolicy, key: bytes, names: NameRecognizer | None, erased: ErasedValues | None = None
    ) -> None:
        policy.check_key(key)
        self._policy, self._key, self._names, self._erased = policy, key, names, erased
        self._clean: set[str] = set()
        self._found: list[Finding] | None = None
        self._repeats: Repeats | None = None
        self._known: dict[str, _Known] | None = None

    def gathering(self, found: list[Finding]) -> TextRedactor:
        """One that notes what it finds, and remembers it for the one that is made of it by `knowing`."""
        made = copy.copy(self)
        made._found, made._known = found, {}
        return made

    def knowing(self, repeats: Repeats) -> TextRedactor:
        """One that finds these values, too, wherever they stand; what it remembers is its own."""
        made = copy.copy(self)
        made._found, made._repeats, made._clean = None, repeats, set()
        return made

    def __call__(
        self, text: str, spans: Sequence[tuple[int, int]] = (), cells: Sequence[Told] = ()
    ) -> tuple[str, list[tuple[int, int]], Counter[str]]:
        """The redacted text, `spans` of the text moved with it, and how many values of each kind were replaced.

        `cells` are in order, and do not overlap.

        A span that begins or ends inside a replaced value is cut there: what replaced it belongs to the span in
        which the value began. A span may come out empty.

        Raises:
            DocumentRejected: the text does not settle, or the recogniser failed.
        """
        counts: Counter[str] = Counter()
        moved = list(spans)
        if text in self._clean and not cells:
            return text, moved, counts
        for _ in range(_MAX_ROUNDS):
            edits = self._edits(text, cells, counts)
            if not edits:
                if not cells:
                    self._remember(text)
                return text, moved, counts
            cells = _along(cells, edits)
            text, moved = _apply(text, moved, edits)
        raise DocumentRejected(
            msg(
                "the text does not settle: after {max_rounds} rounds of redaction there is more to find",
                max_rounds=_MAX_ROUNDS,
            ),
            component="redaction",
        )

    def _edits(self, text: str, cells: Sequence[Told], counts: Counter[str]) -> list[_Edit]:
        edits = []
        found = findings(text, self._policy, self._names, cells, self._repeats, self._known)
        if self._found is not None:
            self._found += found
        spans = _around(found, self._erased.find(text)) if self._erased else []
        for start, end in spans:
            edits.append((start, end, ERASED_MARK))
            counts[ERASED_KIND] += 1
        for finding in found:
            if any(finding.start < end and start < finding.end for start, end in spans):
                continue
            new = replacement(finding, self._policy.actions[finding.kind], self._key)
            if new != text[finding.start : finding.end]:
                edits.append((finding.start, finding.end, new))
                counts[finding.kind] += 1
        return sorted(edits) if spans else edits

    def _remember(self, text: str) -> None:
        if len(text) <= _SHORT:
            if len(self._clean) >= _MOST_REMEMBERED:
                self._clean.clear()
            self._clean.add(text)


def _around(found: Sequence[Finding], erased: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of erased values, each with the findings that it overlaps."""
    whole: list[tuple[int, int]] = []
    for start, end in erased:
        near = [one for one in found if one.start < end and start < one.end]
        first, last = min([start, *(one.start for one in near)]), max([end, *(one.end for one in near)])
        if whole and first < whole[-1][1]:
            whole[-1] = (whole[-1][0], max(last, whole[-1][1]))
        else:
            whole.append((first, last))
    return whole


def _apply(text: str, spans: list[tuple[int, int]], edits: list[_Edit]) -> tuple[str, list[tuple[int, int]]]:
    """The text with all edits made, and the spans in it, which may come in any order and overlap."""
    pieces: list[str] = []
    at = 0
    for start, end, new in edits:
        pieces += (text[at:start], new)
        at = end
    pieces.append(text[at:])
    places = sorted({offset for span in spans for offset in span})
    now = dict(zip(places, _moved(places, edits), strict=True))
    return "".join(pieces), [(now[start], now[end]) for start, end in spans]


def _along(cells: Sequence[Told], edits: list[_Edit]) -> list[Told]:
    ends = iter(_moved([offset for cell in cells for offset in cell[:2]], edits))
    return [(start, next(ends), cell[2]) for start, cell in zip(ends, cells, strict=True)]


def _moved(offsets: list[int], edits: list[_Edit]) -> list[int]:
    """Rising offsets after rising edits; one inside an edit goes to the end of what replaces it."""
    moved = []
    shift = number = 0
    for offset in offsets:
        while number < len(edits) and edits[number][1] <= offset:
            start, end, new = edits[number]
            shift += len(new) - (end - start)
            number += 1
        inside = number < len(edits) and edits[number][0] < offset
        moved.append(edits[number][0] + shift + len(edits[number][2]) if inside else offset + shift)
    return moved
