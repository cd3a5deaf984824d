"""Names of nodes in texts: exact resolution and suggestions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from wenyuan.core.errors import did_you_mean, msg
from wenyuan.core.rules.model import Node
from wenyuan.core.rules.schema import Kind, Relation
from wenyuan.core.text.folding import fold

# Which node a written word means, as files are checked: exact up to folding, narrowed by what would fit.


_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MOST_HAN, _MOST_WORDS, _FEW_WORDS = 40, 12, 3
_ENDS_FULL, _ENDS_LATIN = "。；！？", ".;!?"
_NEAREST = 60


def folded(text: str) -> str:
    """The normal form for comparing names: NFKC, lower case, Simplified characters, single spaces."""
    return " ".join(fold(text).split())


def looks_like_sentence(name: str) -> bool:
    """Whether a name is a sentence rather than a name.

    So it is when it ends with ``。；！？``, or with ``. ; ! ?`` after more than three words (``No. 3 Ltd.`` is a
    name), when ``。`` stands inside of it, or when it has more than 40 Chinese characters or more than 12 words.
    """
    text = name.strip()
    words = len(text.split())
    if text.endswith(tuple(_ENDS_FULL)) or "。" in text:
        return True
    if text.endswith(tuple(_ENDS_LATIN)) and (words > _FEW_WORDS or _HAN.search(text)):
        return True
    return len(_HAN.findall(text)) > _MOST_HAN or words > _MOST_WORDS


def suggestion(word: str, known: Collection[str]) -> str:
    """As `did_you_mean`; for short words, such as most Chinese ones, also the first that differs by one character."""
    said = did_you_mean(word, known)
    if said or not 2 <= len(word) <= 3:
        return said
    near = (k for k in known if len(k) == len(word) and sum(a != b for a, b in zip(k, word, strict=True)) == 1)
    found = next(near, "")
    return msg("; did you mean {found}?", found=repr(found)) if found else ""


class IdsByName:
    """Ids by their names (id, labels, aliases), normalised: kinds and relations as people write them."""

    def __init__(self, things: Iterable[Kind | Relation]) -> None:
        self._ids: defaultdict[str, list[str]] = defaultdict(list)
        for thing in things:
            for word in dict.fromkeys(map(folded, thing.names)):
                self._ids[word].append(thing.id)

    def find(self, written: str) -> Sequence[str]:
        """The ids with this name; several if a label is ambiguous."""
        return self._ids.get(folded(written), ())

    def near(self, written: str) -> str:
        """``"; did you mean …?"``, or ``""``."""
        return suggestion(folded(written), self._ids)


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """A node that a word may mean; `rank` is 0 for names and labels, 1 for aliases."""

    key: str
    kind: str
    rank: int


class Names:
    """An index of all node names."""

    def __init__(self, kinds: IdsByName, nodes: Iterable[Node]) -> None:
        self._kinds = kinds
        self._keys: dict[str, NameCandidate] = {}
        self._names: defaultdict[str, dict[str, NameCandidate]] = defaultdict(dict)
        self._pairs: defaultdict[str, list[str]] | None = None
        for node in nodes:
            self._keys[node.key] = NameCandidate(node.key, node.kind, 0)
            for rank, words in enumerate(((node.name, *node.labels.values()), (a.text for a in node.aliases))):
                for word in words:
                    self._names[folded(word)].setdefault(node.key, NameCandidate(node.key, node.kind, rank))

    def find(self, written: str) -> Sequence[NameCandidate]:
        """The nodes that a word may mean: the one with this key, or all with this name; ``kind:name`` is supported."""
        exact = self._keys.get(written)
        if exact:
            return (exact,)
        word = folded(written)
        if word in self._names:
            return tuple(self._names[word].values())
        kind, colon, name = word.partition(":")
        wanted = self._kinds.find(kind) if colon else ()
        return tuple(c for c in self._names.get(name.strip(), {}).values() if c.kind in wanted)

    def near(self, written: str) -> str:
        """``"; did you mean …?"`` with the most similar names by character pairs, or ``""``."""
        if self._pairs is None:
            self._pairs = defaultdict(list)
            for name in self._names:
                for pair in _pairs(name):
                    self._pairs[pair].append(name)
        word = folded(written)
        counts = Counter(name for pair in _pairs(word) for name in self._pairs.get(pair, ()))
        return suggestion(word, [name for name, _ in counts.most_common(_NEAREST)])


def _pairs(word: str) -> set[str]:
    framed = f"\x02{word[:64]}\x03"
    return {framed[i : i + 2] for i in range(len(framed) - 1)}
