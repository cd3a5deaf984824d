"""Redaction rules for keys of services that nobody has listed: characters that chance has drawn, by their name or their cue.

``acme_live_8sJ2kqP0xVn4tYzR1mWb``, ``llx-gOpoyW2vlgfBcYEY…``, ``squ_944fb17dc1ca18eb…``, ``token: AIhq5Xyb1Gga9Q2``. What
tells such characters from an identifier is that letters in both cases and digits change places all the time, that letters
do not follow one another as in words, and that no sign parts them as it parts a UUID, a date or the name of a machine.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from itertools import pairwise

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span
from wenyuan.core.redaction.text_view import TextView

# The pairs of letters that half of English consists of; of letters drawn by chance they are an eighth.
_PAIRS = frozenset(
    """th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea ra ce li
    ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt
    po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo sa ay ex ke fr oo av
    ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa ef cu rn sc gi da yo cr cl du ga qu ue ff ba ey ls va um pp ua up lu go ht
    ru ug ds lt pi rc rr eg au ck ew mu br bi pt ak pu ui rg ib tl ny ki rk ys ob mm fu ph og ms ye ud mb ip ub oi rl gu dr hr cc tw ft
    wn nu af hu nn eo vo rv nf xp gn sm fl iz ok nl my gl aw ju oa eq sy sl ps jo lf nv je nk kn gs dy hy ze ks xt bs ik dd pt rp sk""".split()
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_MARKS = re.compile(r"[_\-+/=.~%!]+")
_LETTERS = re.compile(r"[A-Za-z]+")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")


@lru_cache(4_096)
def looks_drawn(body: str, *, cued: bool = False) -> bool:
    """Whether characters without marks look drawn by chance. With a cue fewer of them are enough."""
    length, digits = len(body), sum(map(str.isdigit, body))
    if not digits or digits > 0.8 * length or len(set(body)) < min(10, length * 0.55):
        return False
    if _HEX.fullmatch(body):
        return length >= (20 if cued else 32) and digits / length >= 0.3
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in body]
    changes = sum(a != b for a, b in pairwise(kinds)) / (length - 1)
    mixed = min(kinds.count("u"), kinds.count("l")) >= 2
    pairs = [a + b for word in _LETTERS.findall(body) for a, b in pairwise(word.lower())]
    worded = sum(pair in _PAIRS for pair in pairs) / max(1, len(pairs)) if len(pairs) >= 4 else 0.0
    if worded > (0.72 if mixed else 0.62):
        return False
    if mixed:
        return length >= (12 if cued else 20) and changes >= (0.3 if length < 32 else 0.22)
    return length >= (16 if cued else 24) and changes >= 0.2 and digits >= 0.1 * length


# What stands before a sum, a build or a number of a record, not before a key.
_OTHERS = re.compile(
    r"(?:sha|md|crc|blake|hash|sum|digest|commit|rev|build|chunk|asset|image|img|layer|blob|etag|trace|span|req|request|run|job|pod|node|inst|i|vpc|subnet|ami|snap|vol|sg|rtb|eni|lsn|bundle|css|sc|svelte|data|uuid|guid|urn|issue|cve|rfc|iso|gb|file|page|id)[0-9]{0,3}",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"\.(?:js|mjs|css|map|png|jpe?g|gif|svg|webp|woff2?|ttf|html?|json|gz|zip|tar|whl|jar|deb|rpm|pdf|docx?|xlsx?|mp4|log|txt|md|ya?ml)(?![a-z])",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"[A-Za-z](?<![A-Za-z0-9_\-./@#%+].)(?P<name>[A-Za-z0-9]{1,13})(?P<mark>[_\-])(?P<tail>[A-Za-z0-9_\-]{18,400})(?![A-Za-z0-9])"
)


def _named(view: TextView, match: re.Match[str]) -> Span | None:
    """A name, perhaps with words like *live* behind it, and a long tail."""
    text, (start, end) = view.text, match.span()
    tail = match["tail"].strip("_-")
    if _NO_KEY_BEFORE.search(view.lower, max(0, start - 28), start):
        return None
    if _OTHERS.fullmatch(match[0][0] + match["name"]) or _FILE.match(text, end) or _UUID.fullmatch(tail):
        return None
    parts = [part for part in re.split("[_-]", tail) if part]
    while len(parts) > 1 and len(parts[0]) <= 8 and (parts[0].isalpha() or len(parts[0]) <= 3):
        parts = parts[1:]  # live, prod, v1
    words = [part for part in parts if part.isalpha() and len(part) > 3 and (part.islower() or part.istitle())]
    body = "".join(parts)
    if words or len(parts) > 6 or (len(parts) > 2 and max(map(len, parts)) < 12) or not looks_drawn(body):
        return None
    if _HEX.fullmatch(body) and match["mark"] == "-":
        return None  # the name of something and its sum
    return start, end, text[start:end]


_CUED = re.compile(
    r"(?:key|token|secret|credentials?|bearer|api|auth|sas|pat|秘钥|密钥|私钥|令牌|凭证|凭据|授权码|激活码|序列密钥)"
    r"(?:[_ ]?(?:id|value|string|wrap|multi|码|值))?[\"'`\]]{0,2}\s{0,3}(?::=|=>|->|={1,3}|!=|[:：]|是|为|\sis\s|\s(?=[\"'`])|(?:(?<=key)|(?<=token)|(?<=secret))\s(?=[A-Za-z0-9_\-]{24,}))\s{0,3}[(\[]?[\"'`“]{0,3}(?:&quot;)?"
    r"(?P<value>[A-Za-z0-9](?:[A-Za-z0-9_\-+/=.~%!]){9,399})",
    re.IGNORECASE,
)
_NEEDS = (
    "key",
    "token",
    "secret",
    "credential",
    "bearer",
    "api",
    "auth",
    "sas",
    "pat",
    "秘钥",
    "密钥",
    "私钥",
    "令牌",
    "凭证",
    "凭据",
    "授权码",
    "激活码",
)
_PUBLIC = re.compile(
    r"(?:public|primary|foreign|partition|sort|cache|object|row|index|ssh|anchor|citation|bib|hot|gpg|pgp|signing|release)[_ \-]?\Z",
    re.IGNORECASE,
)


def _cued(view: TextView, match: re.Match[str]) -> Span | None:
    start = match.start("value")
    value = match["value"].rstrip(".,;:!?")
    if (
        "://" in view.text[start : start + 12]
        or value.startswith("0x")
        or (_UUID.fullmatch(value) is None and "." in value and value.count(".") > 2)
    ):
        return None
    if _PUBLIC.search(view.lower, max(0, match.start() - 12), match.start()):
        return None
    body = _MARKS.sub("", value)
    if _UUID.fullmatch(value) or looks_drawn(body, cued=True):
        return start, start + len(value), value
    return None


def _says_words(written: str) -> bool:
    """Whether it is a text in base64, which is looked at as such (`encoded`)."""
    try:
        said = base64.b64decode(written.rstrip("=") + "=" * (-len(written.rstrip("=")) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return said.isprintable()


# Nothing but chance between white space or quotes.
_BARE = re.compile(r"[A-Za-z0-9](?<![^\s\"'`>=(\[：:].)[A-Za-z0-9_\-]{31,119}={0,2}(?=[\s\"'`<)\],;。，]|\Z)")
_NO_KEY_BEFORE = re.compile(
    r"(?:sha[0-9]{1,3}|md5|integrity|base64,?|ssh-[a-z0-9\-]{2,20}|etag|digest|checksum|fingerprint|commit|指纹|校验|摘要|哈希)[\s:=\"'`\-]{0,4}\Z"
)
_IN_ADDRESS = re.compile(r"://[^\s\"'<>]{1,76}\Z")
_LINE = re.compile(r"[A-Za-z0-9+/=]{60,80}\Z")


def _bare(view: TextView, match: re.Match[str]) -> Span | None:
    start, end = match.span()
    body = _MARKS.sub("", match[0])
    if _says_words(match[0]):
        return None
    if body.lower() == body or body.upper() == body or not looks_drawn(body):
        return None
    if _NO_KEY_BEFORE.search(view.lower, max(0, start - 28), start) or _IN_ADDRESS.search(
        view.lower, max(0, start - 80), start
    ):
        return None
    above = view.text[view.text.rfind("\n", max(0, start - 90), max(0, start - 1)) + 1 : max(0, start - 1)]
    if len(above) < 90 and _LINE.match(above):
        return None  # a line of a certificate
    return start, end, match[0]


RULES = (
    Rule("secret", _NAMED, _named, cased=True, signs=IN_DIGITS),
    Rule("secret", _CUED, _cued, needs=_NEEDS, cased=True, signs=IN_DIGITS),
    Rule("secret", _BARE, _bare, cased=True, signs=IN_DIGITS),
)
