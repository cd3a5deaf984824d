"""Redaction rules for passwords by where they stand: markup, settings, SQL, commands, headers, sentences.

A place that holds nothing but a password (``IDENTIFIED BY '…'``, ``<password>…``) vouches for any word in it; a sentence
only for what is no plain word, or for digits without a unit (密码8位以上).
"""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import Rule, Span
from wenyuan.core.redaction.text_view import OPAQUE, TextView
from wenyuan.core.text.folding import HAN

_WORDS = r"passw(?:or)?d|passphrase|passcode|pwd|密码|口令"
_KEYS = r"secret|token|(?:api|access|private|account|auth|shared|client)[_\-. ]?(?:access)?[_\-. ]?key|密钥|秘钥|令牌|授权码"
_NEEDS = ("passw", "passphrase", "passcode", "pwd", "密码", "口令")
_KEY_NEEDS = ("secret", "token", "key", "密钥", "秘钥", "令牌", "授权码")

_CLASSES = (str.islower, str.isupper, str.isdigit)
_ALGORITHM = re.compile(
    r"(?:aes|rsa|des|3des|sm[1-9]|sha|md[45]|hmac|ecc|ecdsa|ecdh|ed25519|dsa|tls|ssl|ssh|x\.?509|base64|utf|gcm|cbc|pbkdf2|bcrypt|scrypt"
    r"|argon2|ldap|oauth|jwt|totp|otp|http|https|gb|gm|iso|gb/t|gm/t|rfc|ascii|unicode|wpa|wpa2|wpa3|wep)[\-_/.:0-9a-z]{0,12}",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[A-Za-z]?[a-z]+(?:[_.\-][A-Za-z]+)*|[A-Z]+(?:[_\-][A-Z]+)*")
_HOLDERS = frozenset(
    """password passwd pwd passphrase passcode pass secret token key string str text char varchar none null nil true false yes no required
    optional empty blank unset hidden redacted masked encrypted hashed hash plain plaintext value input submit label name username user
    file filename path prompt stdin env default field fields option options example sample here placeholder undefined object number int
    integer bool boolean bytes any self this is are was be in on at of to for from and or not if the a an with by as it that which must
    may can should will has have when where see using only change changed reset expired expires policy protected manager prompted
    incorrect wrong invalid valid correct missing strength length rules hint confirm confirmation repeat new old current forgot forgotten
    deprecated obsolete authentication based less free type login enabled disabled passwort motdepasse mot contrasena generated random stored set sent
    unknown unchanged same required. basic bearer digest negotiate ntlm""".split()
)
_TEMPLATE = re.compile(
    r"[$%<{\[@&~(]|\.\.|(?:your|my|the|some|enter|insert|new|old|db|user)[_\-]?(?:password|passwd|pwd|secret|token)|os\.|env[.(]"
    r"|process\.|config[.\[]|self\.|get[_a-z]*\(|[a-z_]+\(",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"!(?:vault|ref|sub|getatt|secret|env|env_var|include|join|importvalue|file|var|reference)", re.IGNORECASE
)
"""What YAML puts before a value that stands elsewhere."""
_UNIT = re.compile(
    r"\s{0,2}(?:[位个次天日月年章条款项字分小秒元%至到~类级种版]|(?:characters?|chars|digits|days?|times|bits?|minutes|hours|letters|or more)(?![a-z]))"
)
_FOLDER = re.compile(r"(?:~|/[\w.\-]+)(?:/[\w.\-]+)+/?")
_EDGE = ".,;:!?。，；：！？、)）]】」』\"'`”’*"


def _mixed(value: str) -> bool:
    kinds = sum(any(is_of(c) for c in value) for is_of in _CLASSES)
    return kinds + any(not c.isalnum() and c not in ".-" for c in value) >= 2


def holds_the_place(value: str) -> bool:
    """Whether something stands for a password that is not said: a variable, a mark, a word of instructions."""
    if not value or OPAQUE in value or "**" in value or "⟦" in value:
        return True
    if _FOLDER.fullmatch(value):
        return True
    if _TAG.fullmatch(value):
        return True
    return len({*value.lower()} - {*"x.-_•#?"}) == 0 or bool(_TEMPLATE.match(value)) or value.lower() in _HOLDERS


def is_telling(value: str) -> bool:
    """Whether a word is no word of a sentence: letters and digits or signs, or digits alone."""
    if holds_the_place(value) or _ALGORITHM.fullmatch(value):
        return False
    if value.isdigit():
        return len(value) >= 4
    return _mixed(value) and not _PLAIN.fullmatch(value) and any(map(str.isalnum, value))


def _at(view: TextView, match: re.Match[str], group: str = "value") -> Span:
    start, end = match.span(group)
    return start, end, view.text[start:end]


def _in_place(view: TextView, match: re.Match[str]) -> Span | None:
    """A place that holds a password and nothing else; a few words in it are a description."""
    span = _at(view, match)
    return None if holds_the_place(span[2]) or (" " in span[2].strip() and not _mixed(span[2])) else span


def _key_in_place(view: TextView, match: re.Match[str]) -> Span | None:
    """A place that holds a key or a token: of texts, too, the words are called tokens."""
    span = _at(view, match)
    return span if is_telling(span[2]) and len(span[2]) >= 6 else None


# Markup: <password>x</password>, <add key="Password" value="x"/>, <property name="db.password">x</property>.
_ELEMENT = r"[a-z0-9_.\-]{0,24}(?:\s[^<>]{0,80})?>\s{0,4}(?P<value>[^<>\s][^<>\n]{0,200}?)\s{0,4}</"
_ATTRIBUTE = re.compile(
    r"(?:key|name|id|property)\s?=\s?[\"'](?P<name>[^\"'<>\s]{1,64})[\"']"
    r"(?:[^<>\"']{0,40}value\s?=\s?[\"'](?P<value>[^\"'<>\n]{1,200})[\"']|[^<>]{0,80}>\s{0,4}(?P<inner>[^<>\s]{1,200})\s{0,4}</)"
)
_NAMES_ONE = re.compile(rf"(?:{_WORDS})[0-9]?\Z")
_NAMES_KEY = re.compile(rf"(?:{_KEYS})[0-9]?\Z")


def _element(view: TextView, match: re.Match[str]) -> Span | None:
    low = max(0, match.start() - 41)
    opened = view.lower.rfind("<", low, match.start())
    between = view.lower[opened + 1 : match.start()]
    if opened < 0 or not re.fullmatch(r"[a-z0-9_:.\-]*", between):
        return None
    return _in_place(view, match)


def _key_element(view: TextView, match: re.Match[str]) -> Span | None:
    return _key_in_place(view, match) if _element(view, match) else None


def _attribute(view: TextView, match: re.Match[str]) -> Span | None:
    span = _at(view, match, "value" if match["value"] else "inner")
    if _NAMES_ONE.search(match["name"]):
        return None if holds_the_place(span[2]) or " " in span[2] else span
    return span if _NAMES_KEY.search(match["name"]) and is_telling(span[2]) else None


# Quoted, as in JSON, YAML, SQL and programs: "password": "x", PASSWORD 'x', define('DB_PASSWORD', 'x').
_QUOTED = re.compile(
    rf"(?:{_WORDS})(?:[0-9]|_[0-9])?[\"'*`]{{0,3}}\s{{0,3}}(?P<by>[:=,(]{{1,2}}>?|as|is|是|为)?\s{{0,3}}[\"'“「`](?P<value>[^\s\"'“”「」`<>]{{3,200}})[\"'”」`]"
)


def _quoted(view: TextView, match: re.Match[str]) -> Span | None:
    span = _at(view, match)
    said = re.search(f"[{HAN}]", span[2]) is not None
    sure = match["by"] is not None or _SQL.search(view.lower, max(0, match.start() - 40), match.start())
    if holds_the_place(span[2]) or said or (span[2].lower().startswith("pass") and span[2].isalpha()):
        return None
    return span if sure or is_telling(span[2]) else None


_SQL = re.compile(r"(?:with|set|alter|create|encrypted|user|role|login|identified)[^\n]{0,30}\Z")
_IDENTIFIED = re.compile(
    r"identified\s{1,3}(?:with\s{1,3}[\"'a-z0-9_]{1,40}\s{1,3})?(?:by|as)\s{1,3}(?:values\s{1,3}|password\s{1,3})?(?:\"(?P<a>[^\"\n]{1,200})\"|'(?P<b>[^'\n]{1,200})'|(?P<c>[^\s;'\"]{3,200}))"
)


def _identified(view: TextView, match: re.Match[str]) -> Span | None:
    group = next(name for name in "abc" if match[name])
    span = _at(view, match, group)
    return None if holds_the_place(span[2]) or (group == "c" and not is_telling(span[2])) else span


# Settings and connection strings: PGPASSWORD=x, ;Pwd=x;, ?user=u&password=x, host=h user=u password=x, machine h login u password x.
_ENVIRONMENT = re.compile(
    r"[A-Z](?<![A-Za-z0-9_].)[A-Z0-9_]{2,48}(?:(?<=PASSWORD)|(?<=PASSWD)|(?<=_PASS)|(?<=[A-Z_]PWD)|(?<=PASSPHRASE))\s?=\s?[\"']?(?P<value>[^\s\"'#]{1,200})"
)
_CONNECTION = re.compile(
    r"(?:[;?&]\s?(?:password|passwd|pwd|pass|sharedaccesskey|accountkey)|(?:user(?: ?id|name)?|uid|host|server|dbname|port)\s?=\s?[^\s;=]{1,80}[\s;](?:[a-z_ ]{2,20}=[^\s;=]{1,80}[\s;]){0,4}(?:password|pwd))\s?=\s?(?P<value>[^;&\s\"'<>]{1,200})"
)
_NETRC = re.compile(r"(?:login|user)\s{1,4}[^\s]{1,100}\s{1,4}passw(?:or)?d\s{1,4}(?P<value>[^\s]{1,200})")
_NPM = re.compile(
    r"(?:_authtoken|_auth|_password|\"auth\"|\"identitytoken\"|xoauth|httppassword)\s{0,3}[:=]\s{0,3}\"?(?P<value>[a-z0-9+/=_.\-]{6,512})"
)
_HEADER = re.compile(
    r"(?:authorization|x-api-key|x-auth-token|x-access-token|private-token|x-vault-token|apikey|api-key)[\"']?\s{0,2}:\s{0,3}[\"']?(?:(?:basic|bearer|token|digest|apikey|negotiate)\s{1,3})?(?P<value>[a-z0-9+/=_.~\-]{4,2048})"
)
_COOKIE = re.compile(
    r"(?:cookie\s{0,2}:\s{0,3}(?P<value>[^\n\r\"']{4,2000})|(?:jsessionid|phpsessid|sessionid|session_id|asp\.net_sessionid|connect\.sid|csrftoken)=(?P<session>[^\s;&\"'<>]{6,300}))"
)


def _environment(view: TextView, match: re.Match[str]) -> Span | None:
    span = _at(view, match)
    return None if holds_the_place(span[2]) or _CALL.match(span[2]) or span[2].startswith("/") else span


def _netrc(view: TextView, match: re.Match[str]) -> Span | None:
    span = _at(view, match)
    return None if holds_the_place(span[2].rstrip(_EDGE)) else span


def _header(view: TextView, match: re.Match[str]) -> Span | None:
    span = _at(view, match)
    if holds_the_place(span[2]) or (_PLAIN.fullmatch(span[2]) and len(span[2]) < 16):
        return None
    return span


def _cookie(view: TextView, match: re.Match[str]) -> Span | None:
    span = _at(view, match, "value" if match["value"] else "session")
    return None if OPAQUE in span[2] or "=" not in match[0] or holds_the_place(span[2]) else span


# Commands: mysql -px, curl -u u:x, sshpass -p x, --password x.
_OPTION = re.compile(
    r"--(?:[a-z]{1,16}-){0,3}(?:password|passwd|pass|pwd|passphrase|token|secret|api-?key|secret-key|access-key)(?P<by>=|[ \t]{1,3})(?P<quote>[\"'])?(?P<value>[^\s\"'`]{1,200})"
)
_ATTACHED = "mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|7z|7za|rar|unrar"
_TOOLS = {
    **dict.fromkeys(_ATTACHED.split("|"), re.compile(r"\s-p[\"']?(?P<value>[^\s\"'\-][^\s\"']{0,200})")),
    **dict.fromkeys(
        "sshpass twine mongo mongosh mongodump docker podman helm az psexec rdesktop".split(),
        re.compile(r"\s-p\s{0,3}[\"']?(?P<value>[^\s\"'\-][^\s\"']{0,200})"),
    ),
    **dict.fromkeys(
        "curl wget http svn".split(),
        re.compile(
            r"\s(?:-u|--user|-a|--proxy-user)[\s=]{0,3}[\"']?(?P<value>[^\s:\"'\-][^\s:\"']{0,80}:[^\s\"']{1,200})"
        ),
    ),
    **dict.fromkeys("redis-cli".split(), re.compile(r"\s-a\s{1,3}[\"']?(?P<value>[^\s\"'\-][^\s\"']{0,200})")),
    **dict.fromkeys(
        "ldapsearch ldapadd ldapmodify ldappasswd".split(),
        re.compile(r"\s-w\s{0,3}[\"']?(?P<value>[^\s\"'\-][^\s\"']{0,200})"),
    ),
    **dict.fromkeys(
        "sqlcmd bcp unzip zip mosquitto_pub mosquitto_sub ipmitool".split(),
        re.compile(r"\s-P\s{0,3}[\"']?(?P<value>[^\s\"'\-][^\s\"']{0,200})"),
    ),
    **dict.fromkeys(
        "plink pscp putty psftp".split(), re.compile(r"\s-pw\s{1,3}[\"']?(?P<value>[^\s\"'\-][^\s\"']{0,200})")
    ),
    "lftp": re.compile(r"\s-u\s{0,3}[\"']?[^\s,\"']{1,80},(?P<value>[^\s\"']{1,200})"),
    "smbclient": re.compile(r"\s-U\s{0,3}[\"']?(?P<value>[^\s\"'%]{1,80}%[^\s\"']{1,200})"),
    "htpasswd": re.compile(
        r"\s-[a-zA-Z]{0,5}b[a-zA-Z]{0,5}\s{1,3}[^\s]{1,120}\s{1,3}[^\s]{1,80}\s{1,3}[\"']?(?P<value>[^\s\"']{1,200})"
    ),
    "openssl": re.compile(r"\s-pass(?:in|out)?\s{1,3}[\"']?pass:(?P<value>[^\s\"']{1,200})"),
    "xfreerdp": re.compile(r"\s/p:[\"']?(?P<value>[^\s\"']{1,200})"),
    "sqlplus": re.compile(r"\s[^\s/\"']{1,60}/(?P<value>[^\s@/\"']{1,100})(?:@|\s|\Z)"),
    "echo": re.compile(
        r"\s[\"']?(?P<value>[^\s\"'|]{4,100})[\"']?\s{0,2}\|\s{0,2}(?:sudo\s{1,2}(?:-S|chpasswd)|chpasswd|passwd\s{1,2}--stdin)"
    ),
    "net": re.compile(
        r"\s(?:use\s[^\n]{0,100}/user:[^\s]{1,80}|user\s{1,3}(?!/)[^\s/]{1,60})\s{1,3}(?P<value>[^\s/*]{1,100})(?=\s|\Z)"
    ),
    "keytool": re.compile(r"\s-(?:store|key)pass\s{1,3}[\"']?(?P<value>[^\s\"'\-][^\s\"']{0,200})"),
}
_COMMAND = re.compile(
    rf"(?:{'|'.join(sorted(map(re.escape, _TOOLS), key=len, reverse=True))})(?:\.exe)?(?=\s)[^\n]{{4,400}}"
)


def _option(view: TextView, match: re.Match[str]) -> Span | None:
    start, _end, value = _at(view, match)
    value = value.rstrip(_EDGE) if match["quote"] is None else value
    if (
        holds_the_place(value)
        or value.startswith("-")
        or (value.isupper() and value.isalpha())
        or (_PLAIN.fullmatch(value) and len(value) < 4)
    ):
        return None
    return start, start + len(value), value


def _command(view: TextView, match: re.Match[str]) -> Span | None:
    before = view.lower[match.start() - 1 : match.start()]
    if before and before.isascii() and (before.isalnum() or before in "-_."):
        return None
    tool = re.match(r"[a-z0-9_\-]+", match[0])
    option = _TOOLS[tool[0].removesuffix("-exe")] if tool and tool[0] in _TOOLS else None
    found = option.search(view.text, match.start() + len(tool[0]), match.end()) if option and tool else None
    if found is None:
        return None
    span = _at(view, found)
    secret = span[2].rpartition(":")[2] if tool and tool[0] in {"curl", "wget", "http", "svn"} else span[2]
    if tool and tool[0] in {"docker", "podman", "helm", "az"} and "login" not in match[0] and " -u" not in match[0]:
        return None  # -p names a port
    return None if holds_the_place(secret) or (secret.isupper() and secret.isalpha()) else span


# Sentences: password is x, 密码 x, WiFi密码 x, 账号/密码：admin/x.
_ENGLISH = re.compile(
    r"(?:passw(?:or)?d|passphrase|passcode|pwd|pin(?: code)?|wi-?fi key|access code|door code|security code|verification code)(?![a-z])"
    r"(?:\s(?:for|of|to|on)\s[^\s:=|]{1,24}(?:\s(?!is\s|was\s)[^\s:=|]{1,24}){0,3})?"
    r"(?P<by>\s{0,3}[|:=]\s{0,3}|\s{1,3}(?:(?:(?:is|was|were|has been) )?(?:now )?(?:changed to|reset to|set to)|is|was|will be|remains|→|->)\s{1,3}(?:now |still |simply )?:?\s{0,2}|\s{1,3})[\"'“`*(]{0,3}(?P<value>[!-;=?-~]{4,128}+)"
)
_CHINESE = re.compile(
    r"(?:密码|口令|密钥|秘钥|通行码|验证码|校验码|提取码|授权码|动态码|激活码|访问码|取件码|门禁码|解锁码|暗号|pin码|令牌)(?:\([^()\n]{0,20}\))?[*\"'`]{0,2}"
    r"(?P<by>\s{0,3}(?:[:=|]|是|为|就是|还是|仍是|仍旧是|换成|仍为|都是|默认为?|设置?[为成]|改[为成]|重置[为成]|变更为|统一[为是]|->|→)){0,2}\s{0,3}[\"'“「【(\[`*]{0,3}(?P<value>[!-;=?-~]{4,128}+)"
)
_PAIR = re.compile(
    r"(?:[账帐][号户]|用户名?|登录名|user(?:name)?|login|account|id)\s{0,2}[/、和与&|+,]?\s{0,2}(?:and )?(?:密码|口令|passw(?:or)?d|pwd)\s{0,2}(?:[:=是为]|is|are)\s{0,3}[a-z0-9_.@\-]{2,60}\s{0,2}[/|,、，和 ]\s{0,2}(?P<value>[!-;=?-~]{4,128}+)"
)


def _sentence(view: TextView, match: re.Match[str], sure: bool) -> Span | None:
    start, _, value = _at(view, match)
    while value and value[-1] in _EDGE:
        value = value[:-1]
    if holds_the_place(value) or len(value) < 4 or _CALL.match(value):
        return None
    end = start + len(value)
    if value.replace("-", "").replace("~", "").isdigit():
        return (start, end, value) if value.isdigit() and not _UNIT.match(view.lower, end) else None
    if is_telling(value) and not _URL.match(value):
        digit = any(map(str.isdigit, value))
        coded = value[:-1].isdigit() and value[-1] in "#*"  # 4821#, as a door's keypad takes it
        return (
            (start, end, value)
            if sure or coded or (digit and not value[0].isdigit()) or (digit and len(value) >= 8)
            else None
        )
    goes_on = re.match(r"\s[a-z]", view.lower[end : end + 2]) is not None
    if (
        sure
        and len(value) >= 5
        and value.isalpha()
        and value.islower()
        and not goes_on
        and not _ALGORITHM.fullmatch(value)
    ):
        return start, end, value
    return None


_CALL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{1,60}[(\[]")
_URL = re.compile(r"[a-z]{2,8}://|\.{0,2}/", re.IGNORECASE)


_LONGEST_PIN = 8


def _english(view: TextView, match: re.Match[str]) -> Span | None:
    before = view.lower[match.start() - 1 : match.start()]
    if before.isascii() and before.isalpha():
        return None
    by = match["by"].strip()
    span = _sentence(view, match, by != "")
    if span is None or (span[2].isalpha() and (not by or by in "|:=")):
        return None  # password: required
    if match[0].startswith("pin") and not (by and span[2].isdigit() and len(span[2]) <= _LONGEST_PIN):
        return None
    return span


def _chinese(view: TextView, match: re.Match[str]) -> Span | None:
    return _sentence(view, match, match["by"] is not None)


def _pair(view: TextView, match: re.Match[str]) -> Span | None:
    start, _, value = _at(view, match)
    while value and value[-1] in _EDGE:
        value = value[:-1]
    return None if holds_the_place(value) or len(value) < 4 else (start, start + len(value), value)


# Several words: passphrase "correct horse battery", 助记词：abandon ability …
_PHRASE = re.compile(
    r"(?:(?:passphrase|recovery phrase|seed phrase|mnemonic)(?:\s{0,3}[:=]\s{0,3}|\s(?:is|was)\s{1,2})|助记词\s{0,2}(?:[:=是为]\s{0,3}){1,2})"
    r"(?:[\"“'](?P<quoted>[!#-&(-~]{1,40}(?: [!#-&(-~]{1,40}){1,24})[\"”']|(?P<bare>[a-z]{3,8}(?: [a-z]{3,8}){11,23})(?![a-z]))"
)


def _phrase(view: TextView, match: re.Match[str]) -> Span:
    return _at(view, match, "quoted" if match["quoted"] else "bare")


# What is known by its shape: hashes of passwords, blocks of keys, tokens of services.
_HASH = re.compile(
    r"\$(?:apr1|[156]|2[abxy]|y|7|argon2(?:id|i|d))\$[./A-Za-z0-9$=,+]{20,200}|\{(?:SSHA|SHA|SMD5|CRYPT|PBKDF2)[A-Z0-9]{0,4}\}[A-Za-z0-9+/=$.]{16,200}"
    r"|pbkdf2_sha256\$[0-9]{3,8}\$[A-Za-z0-9+/=$]{20,200}"
)
_PUTTY = re.compile(r"(?:Private-Lines:\s{1,3}[0-9]{1,4}|---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----)")
_LINES = re.compile(
    r"(?:\s{1,4}(?:[A-Za-z0-9+/=]{16,128}+|[A-Za-z]{3,12}: [^\n]{0,100}))(?:\s{1,4}[A-Za-z0-9+/=]{4,128}+){0,256}"
)


def _whole(view: TextView, match: re.Match[str]) -> Span | None:
    return match.start(), match.end(), view.text[match.start() : match.end()]


def _putty(view: TextView, match: re.Match[str]) -> Span | None:
    lines = _LINES.match(view.text, match.end())
    return (match.end(), lines.end(), lines[0]) if lines else None


RULES = (
    Rule("secret", re.compile(rf"(?:{_WORDS}){_ELEMENT}"), _element, needs=_NEEDS),
    Rule("secret", re.compile(rf"(?:{_KEYS}){_ELEMENT}"), _key_element, needs=_KEY_NEEDS),
    Rule("secret", _ATTRIBUTE, _attribute, needs=(*_NEEDS, *_KEY_NEEDS)),
    Rule("secret", _QUOTED, _quoted, needs=_NEEDS),
    Rule("secret", _IDENTIFIED, _identified, needs=("identified",)),
    Rule(
        "secret", _ENVIRONMENT, _environment, needs=("password", "passwd", "_pass", "pwd", "passphrase"), cased=True
    ),
    Rule("secret", _CONNECTION, _environment, needs=("pass", "pwd", "accesskey", "accountkey")),
    Rule("secret", _NETRC, _netrc, needs=("passwd", "password")),
    Rule("secret", _NPM, _key_in_place, needs=("auth", "_password", "httppassword", "identitytoken")),
    Rule("secret", _HEADER, _header, needs=("authorization", "token", "api-key", "apikey")),
    Rule("secret", _COOKIE, _cookie, needs=("cookie", "sess", "sid", "csrf")),
    Rule("secret", _OPTION, _option, needs=("--",)),
    Rule("secret", _COMMAND, _command, needs=(" -", " /", "|")),
    Rule(
        "secret",
        _ENGLISH,
        _english,
        needs=("passw", "passphrase", "passcode", "pwd", "pin", "wifi key", "wi-fi key", "code"),
    ),
    Rule("secret", _CHINESE, _chinese, needs=("码", "口令", "钥", "暗号", "令牌")),
    Rule("secret", _PHRASE, _phrase, needs=("phrase", "mnemonic", "助记词")),
    Rule("secret", _PAIR, _pair, needs=_NEEDS),
    Rule("secret", _HASH, _whole, needs=("$", "{"), cased=True),
    Rule("secret", _PUTTY, _putty, needs=("private-lines", "ssh2"), cased=True),
)
