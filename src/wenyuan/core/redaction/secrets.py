"""Redaction rules for network addresses, accounts, keys, tokens and passwords."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span, cue_before
from wenyuan.core.redaction.passwords import holds_the_place
from wenyuan.core.redaction.text_view import TextView

# Rules for addresses on the net: e-mail, IP, accounts of messengers.


# What stands before the @ is read backwards from it: forwards, each letter of a text would begin an address.
_LOCAL_BACKWARDS = re.compile(r"[a-z0-9.!#$%&'+/=?^_`{|}~\-]{1,64}")
_AT = re.compile(
    r"@[a-z0-9](?:[a-z0-9\-]{0,62}[.]){1,6}(?P<end>[a-z]{2,24}|xn--[a-z0-9\-]{2,20})(?![a-z0-9@]|-[a-z0-9])"
)
_LEADING = "./=?&'`{|}!#$%^~-"
_FILES = frozenset("png jpg jpeg gif svg webp js ts css py json md txt".split())
_SCALE = re.compile(r"@[0-9]x\.")  # icon@2x.min.js
_NOBODY = frozenset({"git", "noreply", "no-reply"})


def _email(view: TextView, match: re.Match[str]) -> Span | None:
    at = match.start() - (view.lower[match.start() - 1 : match.start()] == "@")  # sun@@qq.com
    low = max(0, at - 65)
    backwards = _LOCAL_BACKWARDS.match(view.lower[low:at][::-1])
    host = _host(match[0])
    if not backwards or not host:
        return None
    local = backwards[0][::-1].lstrip(_LEADING)
    for mark in "=|":  # ?to=a@b.c, and the edge of a cell
        local = local.rpartition(mark)[2]
    if not local or local in _NOBODY:
        return None
    return at - len(local), match.start() + len(host), local + host


def _host(written: str) -> str:
    """What follows the local part, without the extensions of a file that is named by an address; ``""`` for none."""
    while written.rpartition(".")[2] in _FILES:
        written = written.rpartition(".")[0]
    match = _AT.fullmatch(written)
    return written if match and not _SCALE.match(written) else ""


# An address whose marks are written out, to hide it from programs: zhang [at] example (dot) com, 张艾特example点com.
_TOP = (
    "com|net|org|edu|gov|mil|int|info|biz|name|io|ai|app|dev|tech|top|xyz|vip|club|site|online|store|cloud|cn|hk|tw|mo|sg|jp"
    "|kr|uk|de|fr|eu|ru|ca|ch|nl|es|se|pl|br|au|nz"
)
# Those that are words, too, and other countries: only where nothing but the @ is written out.
_MORE_TOPS = "|us|hu|it|be|at|in|id|me|th|vn|ph|il|ir|tr|za|mx|ar|cl|gr|cz|sk|ro|bg|hr|rs|ua|fi|dk|no|pt|ie|lt|lv|ee|is|lu|li|cc|tv|co|my"
_OPEN, _CLOSE = r"[\[({<【「『〔]", r"[\])}>】」』〕]"
_AT_SAID = rf"(?:{_OPEN}\s{{0,2}}(?:at|a|@|艾特|圈a)\s{{0,2}}{_CLOSE}|艾特|%40|_at_(?=[a-z0-9\-]{{1,40}}(?:\.[a-z0-9\-]{{1,40}}){{0,3}}\.(?:{_TOP})(?![a-z0-9])))\s{{0,3}}"
_DOT_SAID = (
    rf"(?:\.|\s{{0,3}}{_OPEN}\s{{0,2}}(?:dot|d0t|\.|点)\s{{0,2}}{_CLOSE}\s{{0,3}}|\s{{0,2}}点\s{{0,2}}|。|%2e)"
)
_DOT_WORD = r"(?:\s{1,3}dot\s{1,3}|_dot_|-dot-)"
_LABEL = r"[a-z0-9][a-z0-9\-]{0,62}"
_NO_MORE = r"(?![a-z0-9@]|-[a-z0-9]|[(]|\.[a-z0-9])"
_HIDDEN_AT = re.compile(
    rf"{_AT_SAID}(?P<said>(?:{_LABEL}(?:{_DOT_SAID}|{_DOT_WORD})){{1,6}}[a-z]{{2,24}}){_NO_MORE}"
    rf"|@\s{{0,3}}(?P<near>(?:{_LABEL}(?:{_DOT_SAID}|{_DOT_WORD})){{1,6}}(?:{_TOP}{_MORE_TOPS})"
    rf"|(?:{_LABEL}\s{{0,2}}\.\s{{0,2}}){{1,6}}(?:{_TOP})){_NO_MORE}"
)
_AT_WORD = re.compile(
    rf"(?P<word>\sat\s{{1,3}}|_at_|-at-)(?P<far>(?:{_LABEL}{_DOT_WORD}){{1,6}}(?P<top>{_TOP}{_MORE_TOPS})){_NO_MORE}"
)
_TOPS = frozenset(_TOP.split("|"))
_WORDS = frozenset("us it be at in id is me no my to".split())
_GOES_ON = re.compile(r"\s+[a-z0-9]")
_DOT = re.compile(rf"{_DOT_SAID}|{_DOT_WORD}|\s{{0,2}}\.\s{{0,2}}")
_HIDDEN_LOCAL = re.compile(
    rf"[a-z0-9_+%\-](?:[a-z0-9_+\-]|{_DOT_SAID}(?=[a-z0-9])|{_DOT_WORD}(?=[a-z0-9])){{0,63}}(?=\s{{0,3}}\Z)"
)
_MAIL_CUE = re.compile(r"mail|contact|reach|write|send|联系|邮件|邮箱|信箱|郵")
_WORDS_BEFORE_HOST = frozenset(
    "with your the my our an a any valid or and of in for via to from use using at by is are".split()
)
_WORDS_BEFORE_AT = frozenset(
    "look looks looking meet meets met work works worked working is are was were be at arrive arrived stay him her them us me"
    " it you price sold available buy held found visit shop aim aimed here there only".split()
)


def _hidden(view: TextView, match: re.Match[str]) -> Span | None:
    """An address whose ``@`` or dots are said in words, brackets or spaces; its value is the address."""
    written = match["said"] or match["near"]
    local = _local_before(view, match.start())
    if local is None or written.rpartition(".")[2] in _FILES:
        return None
    if local[1] in _WORDS_BEFORE_HOST and view.lower[match.start() - 1].isspace():
        return None  # sign in with @example.com
    return local[0], match.end(), f"{local[1]}@{_DOT.sub('.', written)}"


def _local_before(view: TextView, at: int) -> tuple[int, str] | None:
    """Where the local part begins that ends at `at`, and how it reads."""
    low = max(0, at - 80)
    local = _HIDDEN_LOCAL.search(view.lower[low:at])
    name = _DOT.sub(".", local[0]) if local else ""
    return (low + local.start(), name) if local and name not in _NOBODY else None


def _spelled_address(view: TextView, match: re.Match[str]) -> Span | None:
    """*at* and *dot* between words: an address where the name is no word, or where a word speaks of mail.

    Of some countries only with such a word; where theirs is a word itself (dot us), no sentence may go on after it.
    """
    local = _local_before(view, match.start())
    if local is None or local[1] in _WORDS_BEFORE_AT:
        return None
    told = cue_before(view, local[0], _MAIL_CUE, 40)
    if match["word"][0].isspace() and local[1].isalpha() and not told:
        return None
    if match["top"] not in _TOPS and not told:
        return None
    if match["top"] in _WORDS and _GOES_ON.match(view.lower, match.end()):
        return None
    return local[0], match.end(), f"{local[1]}@{_DOT.sub('.', match['far'])}"


_HASH = re.compile(rf"#(?P<far>(?:{_LABEL}\.){{1,4}}(?:{_TOP})){_NO_MORE}")


def _hashed(view: TextView, match: re.Match[str]) -> Span | None:
    """``zhang#qq.com`` after a word that speaks of mail: to be read with an @."""
    local = _local_before(view, match.start())
    if local is None or not cue_before(view, local[0], _MAIL_CUE, 40):
        return None
    return local[0], match.end(), f"{local[1]}@{match['far']}"


_IP_CUE = re.compile(
    r"(?<![a-z])ips?(?:v4)?(?![a-z])|地址|主机|服务器|网关|域名|解析|掩码|(?<![a-z])dns|gateway|网段|内网|登录|节点|ping|host|server|address|subnet|://|@|from"
)
_VERSION = re.compile(r"(?:版本号?|version|release|条款?|章|节|(?<![a-z])v(?:er)?)[ .:]{0,2}\Z")
_IPV4 = re.compile(r"[1-9](?<![0-9.].)[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![0-9]|\.[0-9])")
_SAYS_NOTHING = ("127.", "255.")
_LARGE = 64


def _ipv4(view: TextView, match: re.Match[str]) -> Span | None:
    """Four small numbers are the number of a clause or of a version, unless a word says otherwise."""
    start, written = match.start(), match[0]
    try:
        address = str(IPv4Address(written))
    except AddressValueError:
        return None
    if address.startswith(_SAYS_NOTHING) or _VERSION.search(view.lower, max(0, start - 10), start):
        return None
    if max(map(int, address.split("."))) < _LARGE and not cue_before(view, start, _IP_CUE, 16):
        follows = view.lower[match.end() : match.end() + 2]
        if not (follows[:1] in {":", "/"} and follows[1:].isdigit()):
            return None
    return start, match.end(), address


_IPV6 = re.compile(
    r"[0-9a-f:](?<![0-9a-z.].)(?=[0-9a-f:]{0,3}[0-9a-f])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:(?<=:[0-9])[0-9]{0,2}(?:\.[0-9]{1,3}){3})?(?![0-9a-z])"
)


def _ipv6(view: TextView, match: re.Match[str]) -> Span | None:
    start, end = match.span()
    written = match[0]
    if written[0] == ":" != written[1]:  # punctuation, as in "IP:2001:db8::1:"
        start, written = start + 1, written[1:]
    if written[-1] == ":" != written[-2]:
        end, written = end - 1, written[:-1]
    groups = [group for group in written.split(":") if group]
    telling = any(len(group) >= 3 and any(c.isdigit() for c in group) for group in groups)  # else a::b of C++
    if len(groups) < 2 or not (telling or len(groups) >= 4):
        return None
    try:
        address = IPv6Address(written)
    except AddressValueError:
        return None
    return None if address.is_loopback else (start, end, str(address))


_ACCOUNT = re.compile(
    r"(?:微信|wechat|weixin|wx|vx)(?P<said>号|账号|id)?(?P<colon>[\s:为是*]{0,4})"
    r"(?P<name>(?!id[\s:])[a-z](?<![a-z_].)[a-z0-9_\-]{5,19})(?![a-z0-9_\-])"
    r"|qq(?:号码?|群号?|账号)?[\s:为是*]{0,4}(?P<qq>[1-9][0-9]{4,10})(?![0-9])"
)


def _account(view: TextView, match: re.Match[str]) -> Span | None:
    before = view.lower[match.start() - 1 : match.start()]
    if match[0][0].isascii() and before.isascii() and before.isalnum():
        return None
    group = "qq" if match["qq"] else "name"
    if group == "name" and match["name"].isalpha() and not (match["said"] or ":" in match["colon"]):
        return None  # "wechat official"
    return match.start(group), match.end(group), match[group]


NETWORK_RULES = (
    Rule("email", _AT, _email, needs=("@",)),
    Rule("email", _HIDDEN_AT, _hidden, needs=("@", "at", "艾特", "圈a", "(a)", "[a]", "%40")),
    Rule("email", _AT_WORD, _spelled_address, needs=("dot",)),
    Rule("email", _HASH, _hashed, needs=("#",)),
    Rule("ip", _IPV4, _ipv4, signs=IN_DIGITS),
    Rule("ip", _IPV6, _ipv6, needs=(":",)),
    Rule("im_account", _ACCOUNT, _account, needs=("微信", "wechat", "weixin", "wx", "vx", "qq")),
)


# Rules for secrets: private keys, tokens, API keys, passwords.


_PEM_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{3,60}-----")
_PEM_LINES = re.compile(r"(?:\s{0,4}[A-Za-z0-9+/=]{16,128}+){0,256}")
_PEM_LIMIT = 16_384  # characters; the largest keys in use are a quarter of that


def _pem(view: TextView, match: re.Match[str]) -> Span | None:
    """The whole key; where its end is missing, the lines that look like one."""
    begin = match.end()
    at = view.text.find("-----END ", begin, begin + _PEM_LIMIT)
    end = _PEM_END.match(view.text, at) if at >= 0 else None
    stop = end.end() if end else _pem_lines(view.text, begin)
    return match.start(), stop, view.text[match.start() : stop]


def _pem_lines(text: str, begin: int) -> int:
    lines = _PEM_LINES.match(text, begin)
    return lines.end() if lines else begin


def _whole(view: TextView, match: re.Match[str]) -> Span | None:
    return match.start(), match.end(), match[0]


def _token(pattern: str, *needs: str) -> Rule:
    """A key that is known by its shape; `needs` are the literals it begins with."""
    return Rule(
        "secret", re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})"), _whole, tuple(n.lower() for n in needs), True
    )


_SHAPES = (
    _token(r"eyJ[A-Za-z0-9_\-]{8,4096}\.[A-Za-z0-9_\-]{8,8192}(?:\.[A-Za-z0-9_\-]{0,2048})?", "eyj"),  # JWT
    _token(r"A(?:KIA|SIA|GPA|IDA|ROA)[0-9A-Z]{16}(?![0-9A-Za-z])", "akia", "asia", "agpa", "aida", "aroa"),
    _token(
        r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255}",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
    ),
    _token(r"glpat-[A-Za-z0-9_\-]{20,64}", "glpat-"),
    _token(r"xox[abeoprs]-[A-Za-z0-9\-]{10,255}", "xox"),
    _token(r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,128}", "hooks.slack.com"),
    _token(r"sk-[A-Za-z0-9_\-]{20,255}", "sk-"),
    _token(r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,128}|whsec_[A-Za-z0-9]{20,64}", "k_live_", "k_test_", "whsec_"),
    _token(r"AIza[0-9A-Za-z_\-]{35}", "aiza"),
    _token(r"npm_[A-Za-z0-9]{36}", "npm_"),
    _token(r"pypi-[A-Za-z0-9_\-]{40,512}", "pypi-"),
    _token(r"hf_[A-Za-z0-9]{30,64}", "hf_"),
    _token(r"LTAI[A-Za-z0-9]{12,30}(?![A-Za-z0-9])", "ltai"),  # Aliyun
    _token(r"AKID[A-Za-z0-9]{13,48}(?![A-Za-z0-9])", "akid"),  # Tencent Cloud
    _token(r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}", "sg."),
    _token(r"wy_[0-9a-f]{8}_[A-Za-z0-9_\-]{20,64}", "wy_"),  # keys of this program
    _token(r"ya29\.[A-Za-z0-9_\-]{20,512}|GOCSPX-[A-Za-z0-9_\-]{20,64}", "ya29.", "gocspx-"),  # Google
    _token(r"xapp-[0-9]-[A-Za-z0-9\-]{20,255}", "xapp-"),
    _token(r"AGE-SECRET-KEY-1[0-9A-Z]{50,60}", "age-secret-key-"),
    _token(r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|dop_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}", "shp", "dop_v1_", "dapi"),
    _token(r"gl(?:ptt|rt|soat|dt)-[A-Za-z0-9_\-]{20,64}", "glptt-", "glrt-", "glsoat-", "gldt-"),
    _token(r"ATATT3[A-Za-z0-9_\-=]{20,255}|lin_api_[A-Za-z0-9]{30,64}", "atatt3", "lin_api_"),
    _token(
        r"(?:gsk|r8|sbp|figd|pplx|nvapi)[_\-][A-Za-z0-9_\-]{28,128}",
        "gsk_",
        "r8_",
        "sbp_",
        "figd_",
        "pplx-",
        "nvapi-",
    ),
    _token(r"[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.\-]{31,36}", "8q~"),  # Azure
    _token(r"(?:sig|SharedAccessSignature)=[A-Za-z0-9%/+=\-_&]{24,256}", "sig=", "sharedaccesssignature="),
    _token(r"[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,36}", ":aa"),  # Telegram bots
)

_SAID = re.compile(
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|(?:api|access|private|account|secret|auth)[_\- ]?key|密码|口令|密钥|秘钥|令牌)"
    r"[a-z0-9_]{0,24}[\"'*`]{0,3}\s{0,3}(?:[:=]{1,2}>?|是|为)\s{0,3}[\"'*`]{0,3}"
    r"(?P<value>[a-z0-9+/_\-.=!@#%^&*~|?$]{6,512}+)(?![(\[{])"
)
_SAID_NEEDS = ("passw", "passphrase", "pwd", "secret", "token", "key", "密码", "口令", "密钥", "秘钥", "令牌")
_BEARER = re.compile(r"(?:bearer|basic)\s{1,3}(?P<value>[a-z0-9+/_\-.=~]{16,2048})")
_URL = re.compile(r"://(?P<value>[^\s/@:\"'<>]{0,64}:[^\s/\"'<>]{1,200})@(?=[A-Za-z0-9\[])")
_FOLDER = re.compile(r"(?:~|/[\w.\-]+)(?:/[\w.\-]+)+/?")
_CLASSES = (str.islower, str.isupper, str.isdigit)


def _mixed(value: str) -> bool:
    """Whether a word is more than a word: at least two of lower case, upper case, digits, symbols."""
    kinds = sum(any(is_of(c) for c in value) for is_of in _CLASSES)
    return kinds + any(not c.isalnum() and c not in ".-" for c in value) >= 2


def _named_secret(view: TextView, match: re.Match[str]) -> Span | None:
    value = view.text[match.start("value") : match.end("value")].rstrip(".")
    if match[0][:3].lower() == "pwd" and _FOLDER.fullmatch(value):
        return None  # what the command of that name says: where one is
    return _value(match, value) if len(value) >= 6 and _telling(value) else None


def _telling(value: str) -> bool:
    """Not a word, not a place holder, not what another redaction left."""
    if "***" in value or value.startswith("$") or holds_the_place(value) or not _mixed(value):
        return False
    return not re.fullmatch(r"[A-Z]?[a-z]+(?:[_.\-][A-Za-z]+)*", value)


def _value(match: re.Match[str], value: str) -> Span:
    return match.start("value"), match.start("value") + len(value), value


def _bearer(view: TextView, match: re.Match[str]) -> Span | None:
    value = view.text[match.start("value") : match.end("value")]
    kinds = sum(any(is_of(c) for c in value) for is_of in _CLASSES)
    return _value(match, value) if kinds >= 2 and _telling(value) else None


def _credentials(view: TextView, match: re.Match[str]) -> Span | None:
    """User and password of a connection string; its host stays."""
    password = match["value"].partition(":")[2]
    if set(password) <= set("*xX") or password.startswith(("$", "{")):
        return None
    return _value(match, match["value"])


RULES = (
    Rule("secret", _PEM_BEGIN, _pem, needs=("private key",), cased=True),
    *_SHAPES,
    Rule("secret", _SAID, _named_secret, needs=_SAID_NEEDS),
    Rule("secret", _BEARER, _bearer, needs=("bearer", "basic")),
    Rule("secret", _URL, _credentials, needs=("://",), cased=True),
)
