"""Names of nodes: normalisation, exact resolution, fuzzy matching, and labels for display."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from wenyuan.core.errors import InvalidRequest, did_you_mean, msg
from wenyuan.core.rules import Node
from wenyuan.core.rules.conditions import Token, tokens_of
from wenyuan.core.rules.schema import Kind, Parameter, Relation, Schema, label_in
from wenyuan.core.text import fold, has_han

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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


class Words:
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
class Candidate:
    """A node that a word may mean; `rank` is 0 for names and labels, 1 for aliases."""

    key: str
    kind: str
    rank: int


class Names:
    """An index of all node names."""

    def __init__(self, kinds: Words, nodes: Iterable[Node]) -> None:
        self._kinds = kinds
        self._keys: dict[str, Candidate] = {}
        self._names: defaultdict[str, dict[str, Candidate]] = defaultdict(dict)
        self._pairs: defaultdict[str, list[str]] | None = None
        for node in nodes:
            self._keys[node.key] = Candidate(node.key, node.kind, 0)
            for rank, words in enumerate(((node.name, *node.labels.values()), (a.text for a in node.aliases))):
                for word in words:
                    self._names[folded(word)].setdefault(node.key, Candidate(node.key, node.kind, rank))

    def find(self, written: str) -> Sequence[Candidate]:
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


# How a name may be written: one folded form for all its spellings, with the way back to the text.
#
# Folding undoes full-width forms, Traditional characters, upper case, accents and invisible characters. White space,
# hyphens and quotation marks vanish; between two Latin words, two numbers, or a word and a number one space stands,
# whether there was one or not (``GB 50300-2013`` = ``GB50300—2013``). Commas, full stops and brackets stay, so that
# no name is found across them. Texts that are equal under NFKC have the same form.


_SOFT = frozenset("-‐‑‒–—―−⁃_·•‧∙⋅'\"‘’“”„«»‹›《》〈〉「」『』`´~~")
_BRACKETS = {**dict.fromkeys("[{【〔〖⦅", "("), **dict.fromkeys("]}】〕〗⦆", ")")}
_STOPS = {"。": ".", "、": ","}
_MERGED = {**_BRACKETS, **_STOPS}
_SCRIPTS_WITHOUT_SPACES = re.compile("[\u1100-\u11ff\u3040-\u30ff]")
_LETTER, _DIGIT, _OTHER, _SPACE = 1, 2, 3, 4
_PLURAL_FROM = 4  # letters: GPS is not the plural of GP
_COMMON = re.compile("[\u4e00-\u9fffA-Za-z0-9 -]+")
_GAPS = re.compile("(?<=[\u4e00-\u9fff])[ -]+|[ -]+(?=[\u4e00-\u9fff])")
_BORDERS = re.compile("[ -]+|(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])")
_NUMERIC = re.compile(r"[^\w]*[0-9][^a-z]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Spelling:
    """A normalised text with offsets into the original.

    Attributes:
        text: The form.
        offsets: For each of its characters, the index of the original's character it comes from.
    """

    text: str
    offsets: list[int]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original text that ``text[start:end]`` (not empty) stands for."""
        return self.offsets[start], self.offsets[end - 1] + 1

    def is_word(self, start: int, end: int) -> int:
        """The end of the name at ``text[start:end]``, extended by an English plural; 0 if it is part of a longer
        word.

        Only Latin words have borders: a Chinese name may stand anywhere.
        """
        text = self.text
        if start > 0 and _inside(text[start - 1], text[start]):
            return 0
        if end >= len(text) or not _inside(text[end - 1], text[end]):
            return end
        for plural in ("s", "es") if end - start >= _PLURAL_FROM else ():
            after = end + len(plural)
            if text.startswith(plural, end) and (after == len(text) or not _inside("s", text[after])):
                return after
        return 0


def spell(text: str) -> Spelling:
    """Normalise a text, with offsets; linear in its length."""
    folded: list[str] = []
    offsets: list[int] = []
    before = _OTHER
    gap = False
    for at, c in enumerate(text):
        for form, kind in _forms(c):
            if kind == _SPACE:
                gap = True
                continue
            words = _OTHER not in (kind, before)
            if words and (gap or kind != before):
                folded.append(" ")
                offsets.append(at)
            folded.append(form)
            offsets.append(at)
            before, gap = kind, False
    return Spelling("".join(folded), offsets)


def form_of(text: str) -> str:
    """`spell(text).text`, twice as fast for names of common characters; a graph may have 100,000 names."""
    if not _COMMON.fullmatch(text):
        return spell(text).text
    folded = fold(text).strip(" -")
    if not folded.isascii() and (" " in folded or "-" in folded):
        folded = _GAPS.sub("", folded)
    return _BORDERS.sub(" ", folded)


def whole_words(form: str, start: int, end: int) -> tuple[int, int]:
    """A span extended so that it splits no Latin word or number."""
    while start > 0 and _inside(form[start - 1], form[start]):
        start -= 1
    while end < len(form) and _inside(form[end - 1], form[end]):
        end += 1
    return start, end


def only_as_whole(form: str) -> bool:
    """Whether a form is too short to be searched for inside a text: one character, or a bare number."""
    return len(form) < 2 or _NUMERIC.fullmatch(form) is not None


@lru_cache(maxsize=16_384)
def _forms(c: str) -> tuple[tuple[str, int], ...]:
    """The normal form of one character, with character classes; empty for invisible characters."""
    if c.isspace():
        return (("", _SPACE),)
    parts = unicodedata.normalize("NFKD", fold(unicodedata.normalize("NFKD", c))).casefold()
    return tuple(_kind(part) for part in parts if not _invisible(part))


def _kind(c: str) -> tuple[str, int]:
    if c.isspace() or c in _SOFT:
        return "", _SPACE
    if c.isdecimal():
        return str(unicodedata.decimal(c)), _DIGIT
    if c.isalnum() and not has_han(c) and not _SCRIPTS_WITHOUT_SPACES.match(c):
        return c, _LETTER
    return _MERGED.get(c, c), _OTHER


def _invisible(c: str) -> bool:
    hidden = unicodedata.combining(c) != 0 or unicodedata.category(c) in ("Cf", "Cc")
    return (hidden and not c.isspace()) or "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"


def _inside(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one Latin word or number."""
    return _kind(left)[1] == _kind(right)[1] in (_LETTER, _DIGIT)


# Names that are nearly what a text says: candidates from pairs of characters, compared over their best window.


_TEXT_CHARS = 256  # of a text that names nothing exactly, only its beginning is compared
_POSTINGS = 60_000
_POOL = 50
_PLACES = 3  # of one pair in the text
_SLACK = 1.5  # a window may be longer than the name by half, for words put in between


@dataclass(frozen=True, slots=True)
class Likeness:
    """A fuzzy match: which name, where (in the normalised text), and its similarity (0..1).

    ``common`` is the number of their common pairs.
    """

    form: int
    start: int
    end: int
    common: int
    score: float


def likeness(common: int, name: int, part: int) -> float:
    """Dice coefficient of a name and a part of a text, from their common character pairs and lengths.

    A part shorter than the name counts as long as the name: cut short, it would look more alike than it is.
    """
    return 2 * common / (name - 1 + max(name, part) - 1)


class Alike:
    """An inverted index of character pairs of names, for fuzzy matching.

    Latin words count as wholes, and numbers are never guessed: C35 is not nearly C30.

    Args:
        forms: The folded names; a name is known by its place among them. An empty one is never found.
    """

    def __init__(self, forms: Sequence[str]) -> None:
        import numpy as np

        self._forms = forms
        sizes = np.fromiter(map(len, forms), np.int64, len(forms))
        lengths = np.maximum(sizes - 1, 0)
        pairs, ends = _alike_pairs("".join(forms)), np.cumsum(sizes)
        within = np.ones(len(pairs), bool)
        within[ends[(ends > 0) & (ends <= len(pairs))] - 1] = False  # the last of one name with the first of the next
        pairs = pairs[within]
        order = np.argsort(pairs).astype(np.int32)
        pairs.sort()
        self._owners = np.repeat(np.arange(len(forms), dtype=np.int32), lengths)[order]
        starts = np.flatnonzero(np.diff(pairs, prepend=-1))
        self._keys = pairs[starts]
        self._starts = np.append(starts, len(pairs))
        self._lengths = np.maximum(lengths, 1).astype(np.int32)

    def find(self, text: str, *, threshold: float, allowed: npt.NDArray[np.bool_] | None = None) -> list[Likeness]:
        """Up to 50 names with at least `threshold` similarity to some part of `text`, most similar first.

        Its time is bounded: only the beginning of a long text is compared, by its rarest pairs.

        Args:
            allowed: For each name whether it may be found; None: all.
        """
        text = text[:_TEXT_CHARS]
        places: dict[str, list[int]] = {}
        for at, (left, right) in enumerate(pairwise(text)):
            same = places.setdefault(left + right, [])
            if len(same) < _PLACES:
                same.append(at)
        found = []
        for form in self._pool(text, threshold, allowed):
            start, end, common = _best_window(self._forms[form], places, threshold)
            if not common:
                continue
            start, end = whole_words(text, start, end)
            score = likeness(common, len(self._forms[form]), end - start)
            if score >= threshold and _digits(text[start:end]) == _digits(self._forms[form]):
                found.append(Likeness(form, start, end, common, score))
        return sorted(found, key=lambda like: (-like.score, like.start, like.form))

    def _pool(self, text: str, threshold: float, allowed: npt.NDArray[np.bool_] | None) -> list[int]:
        """The names that share the largest fraction of their pairs with the text."""
        import numpy as np

        pairs = np.unique(_alike_pairs(text))
        places = np.searchsorted(self._keys, pairs)
        places = places[places < len(self._keys)]
        places = places[np.isin(self._keys[places], pairs)]
        sizes = self._starts[places + 1] - self._starts[places]
        order = np.argsort(sizes, kind="stable")
        if not len(order):
            return []
        rare = places[order][: max(1, int(np.searchsorted(np.cumsum(sizes[order]), _POSTINGS, "right")))]
        hits = np.concatenate([self._owners[self._starts[at] : self._starts[at + 1]] for at in rare])
        shares = np.bincount(hits, minlength=len(self._forms)) / self._lengths
        if allowed is not None:
            shares[~allowed] = 0.0
        # A pair of frequent characters may have been left out, hence half: the comparison itself is strict.
        likely = np.flatnonzero(shares >= threshold / 2)
        return [int(form) for form in likely[np.argsort(-shares[likely], kind="stable")][:_POOL]]


def _alike_pairs(text: str) -> npt.NDArray[np.int64]:
    """Pairs of neighbouring characters of a text, each encoded as one number."""
    import numpy as np

    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    pairs = points[:-1] << 21
    pairs |= points[1:]
    return pairs


def _best_window(form: str, places: dict[str, list[int]], threshold: float) -> tuple[int, int, int]:
    """The part of the text that is most similar to a name, among parts that begin and end with one of its pairs.

    Returns start, end and the number of common pairs; 0 where none can reach the threshold.
    """
    own = {left + right for left, right in pairwise(form)} & places.keys()
    m = len(form) - 1
    best, best_score = (0, 0, 0), 0.0
    if len(own) < threshold * m:
        return best
    hits = sorted((at, pair) for pair in own for at in places[pair])
    widest = max(int(m * _SLACK), m + 1)
    for first, (start, _) in enumerate(hits):
        common: set[str] = set()
        for at, pair in hits[first:]:
            width = at - start + 1
            if width > widest:
                break
            common.add(pair)
            score = likeness(len(common), m + 1, width + 1)
            if score > best_score:
                best, best_score = (start, at + 2, len(common)), score
    return best


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


# Conditions and relations as people read them: ``depth_m >= 5.0`` → ``开挖深度 ≥ 5 m``, ``excavation depth ≥ 5 m``.


_LANGUAGES = ("zh", "en")
_SIGNS = {">=": "≥", "<=": "≤", "==": "=", "!=": "≠", "*": "×", "/": "÷", ">": ">", "<": "<", "+": "+", "-": "-"}
_COMPARED = (">=", "<=", "==", "!=", ">", "<")
_JOINTS = ("&&", "||", None)  # beside a comparison of a parameter with a number, where the number has its unit
_WORDS: Mapping[str, Mapping[str, str]] = {
    "zh": {
        "&&": "且", "||": "或", "!": "并非", "(": "（", ")": "）", ",": "、", "in": "属于", "true": "是", "false": "否",
        "contains": "包含", "startsWith": "开头为", "endsWith": "结尾为",
    },
    "en": {
        "&&": "and", "||": "or", "!": "not ", ",": ", ", "in": "is one of", "true": "yes", "false": "no",
        "contains": "contains", "startsWith": "begins with", "endsWith": "ends with",
    },
}  # fmt: skip
_UNITS: Mapping[str, tuple[str, str]] = {
    "d": ("天", "days"), "wk": ("周", "weeks"), "mo": ("个月", "months"), "a": ("年", "years"), "h": ("小时", "hours"),
    "min": ("分钟", "minutes"), "s": ("秒", "seconds"), "CNY": ("元", "CNY"),
}  # fmt: skip
_TIGHT_BEFORE = frozenset(")],（）、")


def condition_label(written: str, parameters: Mapping[str, Parameter], language: str) -> str:
    """A condition for people: labels for parameters, typographic operators, units behind numbers.

    What has no label stays as it is written, and so does what stands between quotes, and what is no condition.
    """
    try:
        tokens = tuple(tokens_of(written))
    except InvalidRequest:
        return written
    return _Reading(tokens, parameters, _main(language)).text()


def condition_labels(written: str, parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """`condition_label` by language; empty without a condition."""
    return {tag: condition_label(written, parameters, tag) for tag in _LANGUAGES} if written else {}


def joined_conditions(written: Iterable[str], parameters: Mapping[str, Parameter], language: str) -> str:
    """A conjunction of several conditions without duplicates; ``""`` for none."""
    labels = (condition_label(one, parameters, language) for one in written if one)
    return ("；" if _main(language) == "zh" else "; ").join(dict.fromkeys(labels))


def relation_label(schema: Schema, relation: str, language: str) -> str:
    """The label of a relation in a language; its id if the schema does not have it."""
    known = schema.relations.get(relation)
    return label_in(known.labels, language, relation) if known else relation


def relation_labels(schema: Schema, relation: str) -> dict[str, str]:
    """`relation_label` by language."""
    return {tag: relation_label(schema, relation, tag) for tag in _LANGUAGES}


def kind_labels(schema: Schema, kind: str) -> dict[str, str]:
    """The label of a kind of nodes by language; its id if the schema does not have it."""
    known = schema.kinds.get(kind)
    return {tag: label_in(known.labels, tag, kind) if known else kind for tag in _LANGUAGES}


def _main(language: str) -> str:
    return "zh" if language.split("-", maxsplit=1)[0] == "zh" else "en"


class _Reading:
    """The conversion of one condition to its label."""

    def __init__(self, tokens: Sequence[Token], parameters: Mapping[str, Parameter], language: str) -> None:
        self._tokens = tokens
        self._parameters = parameters
        self._language = language
        self._words = _WORDS[language]
        self._at = 0

    def text(self) -> str:
        """The whole label, with spaces where needed."""
        said, tight = "", True
        while self._at < len(self._tokens):
            prefix = self._seen(0) in ("!", "(", "[")
            piece = self._next()
            said += piece if tight or piece[:1] in _TIGHT_BEFORE else f" {piece}"
            tight = prefix or piece.endswith((" ", "、", "）"))
        return said

    def _seen(self, ahead: int) -> str | None:
        """The text of a following or preceding token; None outside."""
        at = self._at + ahead
        return self._tokens[at].text if 0 <= at < len(self._tokens) else None

    def _next(self) -> str:
        token = self._tokens[self._at]
        if token.kind == "name":
            return self._name(token.text)
        if token.kind == "number":
            return self._take(1, self._measured(token.text))
        if token.text == "." and (word := self._words.get(self._seen(1) or "")):  # contains('x')
            value = self._seen(3) or ""
            return self._take(5, f"{word} {value}")
        if token.text == "-" and (self._seen(-1) in (*_COMPARED, *_JOINTS, "(", "[", ",")):
            return self._take(2, f"-{self._measured(self._seen(1) or '', behind=2)}")
        return self._take(1, self._words.get(token.text, _SIGNS.get(token.text, token.text)))

    def _take(self, count: int, said: str) -> str:
        self._at += count
        return said

    def _name(self, name: str) -> str:
        if self._seen(1) == "(" and self._seen(3) == ")" and name not in self._words:  # double(floors)
            return self._take(4, self._label(self._seen(2) or ""))
        if name in self._words:
            return self._take(1, self._words[name])
        label, sign, value = self._label(name), self._seen(1), self._seen(2)
        if sign in ("==", "!=") and value in ("true", "false"):
            holds = (sign == "==") == (value == "true")
            return self._take(3, label if holds else f"{self._words['!']}{label}")
        return self._take(1, label)

    def _label(self, name: str) -> str:
        parameter = self._parameters.get(name)
        return label_in(parameter.labels, self._language, name) if parameter else name

    def _measured(self, number: str, *, behind: int = 1) -> str:
        """A number without needless decimals, with the unit of the parameter that it alone is compared with."""
        plain = number.rstrip("0").rstrip(".") if "." in number and "e" not in number.lower() else number
        compared = self._seen(-1) in _COMPARED and self._seen(-3) in (*_JOINTS, "(", "!")
        ends = self._seen(behind) in (*_JOINTS, ")")
        parameter = self._parameters.get(self._seen(-2) or "")
        if not compared or not ends or parameter is None or not parameter.unit:
            return plain
        unit = _UNITS.get(parameter.unit, (parameter.unit, parameter.unit))
        return f"{plain} {unit[self._language == 'en']}"
