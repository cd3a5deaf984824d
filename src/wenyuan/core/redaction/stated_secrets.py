"""Redaction rules for secrets that a sentence or a label states, whatever stands between the word and the value.

A word for a secret is followed, in the same clause, by something that connects (is, =, :, →, 为, 改成, reset to, quotes, brackets, a
line end) and then a value. A value with digits or signs counts behind any connection; a plain word only right behind a
strong one where nothing goes on after it (*the password is sunshine*, but not *the password is required*).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span
from wenyuan.core.redaction.passwords import holds_the_place, is_telling
from wenyuan.core.redaction.text_view import TextView

_ENGLISH_WORDS = r"pass ?words?|passwds?|pass ?phrases?|pass ?codes?|pwds?|credentials?|creds"
_CHINESE_WORDS = "密码|口令|通行码|通关码|暗号|暗语|解锁码|开门码|pin码"
_KEYS = (
    r"secrets?|tokens?|(?:api|access|secret|private|license|licence|encryption|decryption|signing|master|recovery|new|old|shared|account|auth|admin|our|my|your|webhook|product|activation)[ _\-]keys?"
    "|密钥|秘钥|私钥|令牌|授权码|激活码|序列密钥"
)
_QUOTE = r"[\"'“‘「『【(\[`*<]"
# How a clause goes on from the word to the value; the value stands right behind.
_CONNECTION = (
    r"(?:[:=|>→⇒–—]|-(?=[ ]|>)|[ ]?[(\[]?(?:currently|presently|at present|目前|现在|暂时)[是为]?[ :]{1,2}|[ ](?:is|are|was|were|be|remains?|stays?|became|becomes|equals|reads|says|now|still|again|simply|just|called|named)[ ]|[是为成叫即]|[,，](?<=(?:样子|没变|不变|照旧|一样|如下|上次).)[ ]?"
    r"|[ ](?=[\"“‘「`])|(?=[(\[【「『“‘\"`])|\n)"
)
_VALUE = r"(?P<value>[!-;=?-~]{4,128}+)"
_CODED = re.compile(
    rf"(?:{_ENGLISH_WORDS}|{_CHINESE_WORDS})(?![A-Za-z0-9_])(?P<gap>[^\n。;；?？!！|]{{0,48}}?)(?P<by>{_CONNECTION})(?P<open>[ \t:=\-*]{{0,4}}{_QUOTE}{{0,3}}){_VALUE}"
)
_CHANGED = re.compile(
    rf"(?:{_ENGLISH_WORDS}|{_CHINESE_WORDS})(?![A-Za-z0-9_])(?P<gap>[^\n。;；?？|]{{0,60}}?)"
    rf"(?:(?:chang|reset|set|updat|switch|rotat|turn|renew|revert|replac)[a-z]{{0,4}}[^\n。.;；?？]{{0,24}}?[ ](?:to|from|as|with)[ ]|[ ]from[ ][!-~]{{4,64}}[ ](?:to|into)[ ]|[由从将把](?=[!-~])|(?:改|换|设|重置|变更|更新|恢复|统一|固定)[^\n。]{{0,6}}?[为成用])[ :]{{0,2}}{_QUOTE}{{0,2}}{_VALUE}"
)
_SET_TO = re.compile(
    rf"(?:chang|reset|set|updat|switch|rotat|turn)[a-z]{{0,4}}(?: [a-z']{{1,12}}){{0,4}}? (?:{_ENGLISH_WORDS}|{_KEYS})(?P<gap>(?: [a-z']{{1,12}}){{0,4}}?) (?:to|as|with)[ :]{{1,2}}{_QUOTE}{{0,2}}{_VALUE}"
)
_KEYED = re.compile(
    rf"(?<![a-z0-9])(?:{_KEYS})(?![a-z0-9_])(?P<gap>[^\n。;；?？!！|]{{0,48}}?)(?P<by>{_CONNECTION})(?P<open>[ \t:=\-*]{{0,4}}{_QUOTE}{{0,3}}){_VALUE}"
)
_EDGE = ".,;:!?。，；：！？、)）]】」』\"'`”’*>|"
_OPENS, _CLOSES = "\"'“‘「『`(", "\"'”’」』`)"
_NO_VALUE = re.compile(
    r"[a-z]{2,8}://|\.{0,2}/|[0-9]{1,3}(?:[.,][0-9]+)*[a-z%]{0,3}\Z|v?[0-9]+(?:\.[0-9]+)+|[0-9]{4}-[0-9]{2}|[0-9]{1,2}:[0-9]{2}|[a-z_]\w{0,40}[(\[]|[a-z]+-[0-9]{1,2}\Z|[a-z]+(?:-[a-z]+)+\Z|[A-Za-z_]+\.[A-Za-z_]+|[0-9]+(?:st|nd|rd|th)\Z"
    r"|[0-9]+-[0-9]*[a-z]|[A-Za-z]+'[a-z]{1,2}\Z|#[0-9]+\Z|[A-Z][a-z]+[0-9]{1,2}\Z|[A-Z]{2,}[0-9]{0,3}\Z|.*[A-Za-z]{2}/[A-Za-z]{2}|.*(?:\]\(|\()|[A-Za-z]+[0-9]?[a-z]*(?:[A-Z][a-z]+){1,4}=?\Z",
)
_FAR = 24  # characters between the word and a value that must be no plain number


def _coded(view: TextView, match: re.Match[str]) -> Span | None:
    """A value with digits or signs, behind anything that connects it."""
    start, value = _trimmed(view, match)
    quoted = (
        view.text[start - 1 : start] in _OPENS and view.text[start + len(value) : start + len(value) + 1] in _CLOSES
    )
    if len(value) < 5 or not is_telling(value) or _NO_VALUE.match(value):
        return None
    if value.isdigit():
        return None
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    signs = sum(not c.isalnum() and c not in ".-_/" for c in value)
    key = _IS_KEY.match(view.lower, match.start()) is not None
    if not letters or not (digits or signs) or (key and (len(value) < 8 or not digits)):
        return None
    if not digits and not quoted and not (signs and len(value) >= 6):
        return None
    if _NOUN.match(view.lower, match.start("gap")) and not quoted and match.re is _CODED:
        return None
    return start, start + len(value), value


_IS_KEY = re.compile(_KEYS)
_NOUN = re.compile(
    r"[ _\-]?(?:policy|policies|strength|length|type|field|format|rules?|manager|hash(?:es|ing)?|column|protection|generator|history|count|limit|size|usage|name|id|file|page|version|reset (?:link|page|form)|[长强格类规策字哈][度式型则略段希])"
)


def _trimmed(view: TextView, match: re.Match[str]) -> tuple[int, str]:
    start, value = match.start("value"), view.text[match.start("value") : match.end("value")]
    while value and value[0] in "\"'“‘(`*[:=":
        start, value = start + 1, value[1:]
    while value and value[-1] in _EDGE:
        value = value[:-1]
    for mark in "\"'`)":  # "x",next
        value = (
            value.partition(mark)[0]
            if (value.count(mark) == 1 and mark != ")") or (mark == ")" and "(" not in value)
            else value
        )
    return start, value


# A plain word: right behind the word for a password, but for what it opens; and nothing goes on.
_PLAIN = re.compile(
    r"(?P<cue>pass ?word|passwd|pass ?phrase|pass ?code|pwd|密码|口令|暗号|通关语)"
    r"(?P<of>[ ](?:for|of|to|on|at|in)[ ][^\n:=.,;|]{1,40}?)?"
    r"(?P<by>[ \t*\"'`]{0,3}(?:[:=：]|->|→|=>|就?是|为|还是|改[成为]|换成|设[成为])[ \t:：]{0,3}|[ ](?:is|was|remains|will be|has been)(?: now| still| simply| just| again)?[ :]{1,2}|[ ](?:has been |was |got |is now )?(?:changed|reset|set|updated|switched)(?: back)? to[ :]{1,2}"
    r"|(?<=pass)(?<!pass)|,[ ]|[ ](?=[\"“「]))"
    r"(?P<open>[\"'“‘「`*]{0,2})(?P<value>[a-z]{5,24})(?![A-Za-z0-9_@\-/(=.\[:]*[A-Za-z0-9])(?P<close>[\"'”’」`*]{0,2})"
    r"(?P<behind>[ \t]{0,2}(?:\Z|\n|[.。!！)）;；,，、|]|(?=(?:for now|until|at the moment|and (?:the )?(?:user|login|pin|don'?t|please)|still works|if you|in case|\(|就|了|吧|哦|呢|，))))"
)
_SETS = re.compile(
    r"(?:set|change|reset|switch)[ ](?:the|my|your|his|her|its|their|our)?[ ]?(?:[a-z]{2,12}[ ])?(?P<cue>pass ?word|pass ?phrase|pass ?code)[ ](?:back )?to[ ](?P<open>[\"'“`]?)(?P<value>[a-z]{5,24})(?P<close>[\"'”`]?)"
    r"(?P<behind>[ \t]{0,2}(?:\Z|\n|[.!);,]|(?=for now|until|and |on the |for the )))"
)
_PREDICATES = frozenset(
    """strong weak longer shorter safe secure unique simple complex easy hard difficult random default temporary permanent static dynamic public private secret confidential known unknown mandatory compulsory
    necessary needed visible hidden ready available online offline active inactive attached enclosed below above overleaf yours mine ours theirs alphanumeric numeric identical different similar unchanged okay
    fine great better best worse lost stolen gone broken secure written printed sent shown given taken kept chosen forgotten something nothing anything everything someone nobody everyone there where enough never always
    often usually sometimes perhaps maybe today tomorrow yesterday again later first second third last next other another either neither these those their about after before between under over around through during within without
    while since because although whether which until unless there cracked leaked weekly daily monthly yearly annual global local remote internal external personal shared common popular typical standard special
    normal regular basic advanced encoded cleartext plaintext plain characters letters digits numbers symbols words phrase string value field login signin logon account email address number phone username admin administrator
    user users guest guests owner owners staff everybody people company website server system computer device browser settings options security policy manager keeper vault locker article chapter
    required mandatory optional empty blank input output please enter confirm repeat change update reset delete remove create generate submit cancel continue""".split()
)
_PREDICATE = re.compile(r"(?:ed|ing|able|ible|ous|less|ful|ly|ory|ent|ive|ism|tion|ment|ness|ity|ise|ize)\Z")


def _plain(view: TextView, match: re.Match[str]) -> Span | None:
    """A word that says nothing of passwords, in lower case and at the end of its clause, or in quotes."""
    start, end = match.span("value")
    value = view.text[start:end]
    quoted = bool(match["open"]) and bool(match["close"])
    before = view.lower[match.start() - 1 : match.start()]
    if before.isascii() and (before.isalnum() or before in {"_", "-", "."}) and before:
        return None
    if not value.islower() or holds_the_place(value):
        return None
    if not quoted and (value in _PREDICATES or _PREDICATE.search(value)):
        return None
    by = (match["by"] if "by" in match.re.groupindex else "to").strip()
    if by == "," and not _USUAL.search(view.lower, max(0, match.start() - 30), match.start()):
        return None
    if not by and not quoted:
        return None
    return start, end, value


_USUAL = re.compile(r"(?:usual|same|old|default|standard|regular|shared|team) \Z")

# Use x as the password; 用x登录; x is your code; enter 1234 at the gate; use code 1234 to verify.
_AS = re.compile(
    rf"(?:use|using|used|try|enter|type(?: in)?|with|请?用|使用|以|输入|拿)[ ]?{_QUOTE}{{0,2}}(?P<value>[!-;=?-~]{{4,64}}?)[\"'”’」`]?[ ]{{0,2}}"
    rf"(?:as (?:the|a|your|my|our|his|her|its)?[ ]?(?:[a-z]{{2,12}} )?(?:{_ENGLISH_WORDS}|pin|token|secret)|for (?:the|your|my) (?:[a-z]{{2,12}} )?(?:{_ENGLISH_WORDS}|pin)"
    rf"|(?:来|去)?(?:作为?|当作?|做|充当)[^\n。]{{0,6}}?(?:{_CHINESE_WORDS})|(?:就?(?:能|可以?|行)?)?(?:来|去)?(?:登录|登陆|解锁|解压|解密|开门|开锁))"
)
_LOG_IN = re.compile(
    r"(?:unlock(?:s|ed)?|decrypt(?:s|ed)?|unzip(?:s|ped)?|log(?:s|ged)? ?in|log(?:s|ged)? on|sign(?:s|ed)? in|opens)(?: [a-z'’]{1,12}){0,5}?(?: (?:with|using|by typing|by entering)(?: the)?|, (?:please )?(?:type|enter|use)) [\"'“`]?(?P<value>[!-;=?-~]{5,64})"
)
_IS_CODE = re.compile(
    r"(?:(?:your|the|his|her|my|our)[ ](?:[a-z]{2,12}[ ]){0,3}?(?:code|pin|otp|combination)(?: is| was|:|=)[ ]|(?:use|enter|with|quote)(?: the| this)?(?: [a-z]{2,14}){0,2}? (?:code|pin|otp|passcode)[: ]{1,2}"
    r"|(?:enter|type|press|dial|punch in|key in) (?=[0-9#*]{4,9} (?:at|on|in|into) (?:the )?(?:gate|door|keypad|key pad|lock|lockbox|prompt|terminal|panel|entrance|app|alarm|safe|intercom))"
    r"|(?:pin|otp|safe combination|lock combination|combination|verification code|security code|access code|entry code)(?: (?:code|number|of|for|to|on)(?: [a-z]{1,12}){0,4})?(?: is| was|:|=|→|->)[ ]{0,2}|(?:验证码|校验码|动态码|取件码|提取码|安全码|pin|pin码|密码)[^\n。,，;；0-9]{0,8}?[:：是为][ ]?|验证码[ ]?)"
    r"[\"'“「(【*]{0,2}(?P<value>#?[0-9]{3,4}[ \-]?[0-9]{0,6}[#*]?)(?![0-9A-Za-z%]|[.,][0-9]| ?(?:bits?|bytes|digits|characters|chars|minutes|times|days|位|分|次|天|个|秒|元|年|月))"
)
_NUMBER_FIRST = re.compile(
    r"(?<![0-9A-Za-z.\-])(?P<value>(?:[a-z]-)?[0-9]{4,8}) (?:is|ist|为) (?:your|the|my|our)(?: [A-Za-z]{2,16}){0,4}? (?:code|pin|otp|passcode|password)(?![a-z])"
)
_FIRST = re.compile(
    rf"(?P<value>[!-~](?<![!-~].)[!-~]{{4,64}})[\"'”’`]?(?: is (?:the|your|my|our|his|her|a)(?: [a-z]{{2,12}}){{0,3}}? (?:{_ENGLISH_WORDS})|(?:是|就是|为)[^\n。,，]{{0,10}}?(?:{_CHINESE_WORDS}))(?![A-Za-z])"
)


def _told(view: TextView, match: re.Match[str]) -> Span | None:
    """A value with letters and with digits or signs, or, in quotes before *as the password*, any word."""
    start, value = _trimmed(view, match)
    before = view.lower[match.start() - 1 : match.start()]
    if match.re is not _FIRST and before.isascii() and before.isalnum() and match[0][0].isascii():
        return None
    if len(value) < 5 or holds_the_place(value) or _NO_VALUE.match(value) or not is_telling(value) or value.isdigit():
        return None
    if not any(map(str.isalpha, value)) or not any(not c.isalpha() and c not in "._-" for c in value):
        return None
    return start, start + len(value), value


def _code(view: TextView, match: re.Match[str]) -> Span | None:
    """Digits that a word calls a code."""
    start, end = match.span("value")
    value = view.text[start:end].rstrip(" -")
    digits = sum(map(str.isdigit, value))
    before = view.lower[match.start() - 1 : match.start()]
    if not 4 <= digits <= 8 or (match[0][0].isascii() and before.isascii() and before.isalnum()):
        return None
    return start, start + len(value), value


# creds: admin / x; bob / x; user/pass: bob/x; bob:x@10.0.0.5
_PAIR = re.compile(
    r"(?:creds?|credentials?|log ?in|sign ?in|user(?:name)?[ ]?[/&+][ ]?pass(?:word)?|账号?密码|帐号?密码|用户名密码|登录信息|账户信息)[^\n]{0,24}?[:：=是为][ ]?[\"'`(]?[A-Za-z0-9_.@\-]{2,60}[ ]{0,2}[/|,、和][ ]{0,2}(?P<value>[!-.0-;=?-~]{5,64})"
)
_AT_HOST = re.compile(
    r"@(?=[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9])|[a-z0-9\-]{1,40}(?:\.[a-z0-9\-]{1,40}){1,4}(?![a-z0-9]))"
)
_BEFORE_AT = re.compile(
    r"(?<![a-z0-9_/.\-@])(?!mailto|sips?|xmpp|https?|ftp)[a-z0-9_][a-z0-9_.\-]{1,32}:(?P<value>[^\s:@/\"'()<>\[\]]{5,64})\Z"
)


def _at_host(view: TextView, match: re.Match[str]) -> Span | None:
    before = _BEFORE_AT.search(view.lower, max(0, match.start() - 100), match.start())
    return _pair(view, before) if before else None


def _pair(view: TextView, match: re.Match[str]) -> Span | None:
    start, value = _trimmed(view, match)
    return (
        (start, start + len(value), value) if len(value) >= 5 and is_telling(value) and not value.isdigit() else None
    )


# The search goes from word to word that speaks of secrets. Each begins with one literal, which is sought fastest, and is
# looked for only where that literal stands in the text.
_PASS = (
    (r"pass ?(?:words?|phrases?|codes?|wds?)", "pass"),
    ("pwds?", "pwd"),
    ("cred(?:s|entials?)", "cred"),
    *((word, word) for word in "密码 口令 通行码 通关码 暗号 暗语 解锁码 开门码 pin码".split()),
)
_KEY = tuple((word, word) for word in "secret token key 密钥 秘钥 私钥 令牌 授权码 激活码".split())
_CODES = tuple(
    (word, word)
    for word in (
        *"code pin otp combination 验证码 校验码 动态码 取件码 提取码 安全码".split(),
        "enter ",
        "press ",
        "dial ",
    )
)
_OPENING = tuple((word, word) for word in "unlock decrypt unzip log sign 登录 登陆 解锁 解压 解密 开门 开锁".split())
_ACCOUNT = tuple((word, word) for word in "user 账 帐 用户名".split())
_BACK, _FORTH = 100, 160  # characters around such a word


def _near(
    *patterns: tuple[re.Pattern[str], Callable[[TextView, re.Match[str]], Span | None], bool],
) -> Callable[[TextView, re.Match[str]], Span | None]:
    """The first of some patterns that finds a value around a word: at its beginning, or with the word inside."""

    def check(view: TextView, cue: re.Match[str]) -> Span | None:
        before = view.lower[cue.start() - 1 : cue.start()]
        inside = before.isascii() and before.isalnum() and cue[0].isascii()
        for pattern, accepts, around in patterns:
            if around:
                low = max(0, cue.start() - _BACK)
                for found in pattern.finditer(view.lower, low, min(len(view.lower), cue.end() + _FORTH)):
                    if found.start() <= cue.start() and found.end() >= cue.end() and (span := accepts(view, found)):
                        return span
            elif not inside and (match := pattern.match(view.lower, cue.start())) and (span := accepts(view, match)):
                return span
        return None

    return check


def _rules() -> Iterator[Rule]:
    """A rule for each of these words, with what may stand around it."""
    passwords = _near(
        (_PLAIN, _plain, False),
        (_CODED, _coded, False),
        (_CHANGED, _coded, False),
        (_PAIR, _pair, False),
        (_IS_CODE, _code, False),
        (_SETS, _plain, True),
        (_SET_TO, _coded, True),
        (_AS, _told, True),
        (_FIRST, _told, True),
        (_NUMBER_FIRST, _code, True),
    )
    keys = _near((_KEYED, _coded, True), (_SET_TO, _coded, True), (_AS, _told, True))
    codes = _near((_IS_CODE, _code, True), (_NUMBER_FIRST, _code, True))
    opening = _near((_LOG_IN, _told, False), (_PAIR, _pair, False), (_AS, _told, True))
    account = _near(
        (_PAIR, _pair, False),
    )
    none: frozenset[str] = frozenset()
    for words, check, signs in (
        (_PASS, passwords, none),
        (_KEY, keys, none),
        (_CODES, codes, IN_DIGITS),
        (_OPENING, opening, none),
        (_ACCOUNT, account, none),
    ):
        for word, need in words:
            yield Rule("secret", re.compile(word), check, needs=(need,), signs=signs)
    yield Rule("secret", _AT_HOST, _at_host, needs=("@",))


RULES = tuple(_rules())
