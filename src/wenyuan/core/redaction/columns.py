"""What the name of a column, a field or a form's label says of the values under it: 身份证号, Phone, 姓名.

A number under 身份证号 is an identity number whatever its check digit says, and a word under 姓名 is a name without any
other sign. Tables of all kinds of files are read by one model, `ColumnKinds`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

from wenyuan.core.redaction.matching import Finding, plain_number
from wenyuan.core.redaction.names import looks_like_a_name
from wenyuan.core.redaction.text_view import OPAQUE, TextView, view_of
from wenyuan.core.text.folding import fold

_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|【[^【】]*】|<[^<>]*>")
_ORNAMENT = re.compile(r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff*:_\-./#|'\"`]+")
_NUMBERED = re.compile(r"^[0-9一二三四五六七八九十]+[、.)]?|[0-9]+\Z")
_LONGEST = 24  # characters of a name of a column
_WHO = (
    r"(?:本人|员工|职工|客户|用户|业主|租客|房东|顾客|患者|病人|学生|家长|申请人|投诉人|举报人|报案人|当事人|经办人|负责人|责任人|联系人|联络人"
    r"|紧急联系人|收件人|收货人|寄件人|发件人|法人|法定代表人|代表人|法人代表|持卡人|户主|投保人|被保险人|受益人|监护人|委托人|代理人|司机|驾驶员"
    r"|教师|老师|医生|安全员|施工员|质检员|项目经理|人员|个人|家属|配偶)"
)
_STRONG = {  # the whole of a name, without spaces, in lower case and Simplified characters
    "cn_id": rf"{_WHO}?(?:居民)?(?:公民)?(?:二代)?(?:身份证|身份证件|身份)(?:号码?|证号码?|编号)|{_WHO}?身份证|{_WHO}?证件号码?"
    r"|(?:national|citizen|resident|chinese)?id(?:card|entity)?(?:card)?(?:number|no|num)|(?:national|citizen)id|idcard|identity(?:card)?(?:number|no)?",
    "cn_mobile": rf"{_WHO}?(?:移动|联系|办公|家庭|紧急|本人)?(?:电话|手机|联系方式|座机|固话|联系电话|手机电话)(?:号码?|号)?"
    r"|(?:contact|home|work|office|cell|mobile|emergency)?(?:phone|mobile|telephone|tel|cell|cellphone|mobilephone)(?:number|no|num)?|contact(?:number|no)",
    "email": rf"{_WHO}?(?:电子)?(?:邮箱|邮件|信箱)(?:地址|账号)?|(?:contact|work|home)?e?mail(?:address|id)?",
    "bank_card": rf"{_WHO}?(?:银行|储蓄|信用|借记|工资)?卡(?:卡)?号码?|{_WHO}?银行(?:账号|账户|帐号|卡号?)"
    r"|(?:bank|credit|debit)?card(?:number|no|num)|bankaccount(?:number|no)?|creditcard|debitcard|(?:account)(?:number|no)|iban",
    "passport": rf"{_WHO}?护照(?:号码?)?|passport(?:number|no|num)?",
    "id_number": r"(?:机动车)?(?:驾驶证|驾照)(?:号码?|档案编号)?|(?:外国人)?(?:永久)?居留(?:证|许可)(?:号码?)?|(?:军官|士兵|警官)证(?:号码?)?|(?:社保|社会保障|医保)(?:卡)?(?:号码?|编号)|(?:住院|病案|病历|门诊|就诊卡|诊疗卡)(?:号码?|编号)"
    r"|(?:drivers?|driving)licen[cs]e(?:number|no|id)?|(?:national|social)insurance(?:number|no)?|nino|nhs(?:number|no)|tax(?:payer)?(?:id|number|no|filenumber)|tfn|aadhaar(?:number|no)?|nric|hkid|cpf|codicefiscale|personalausweis(?:nummer)?",
    "hmt_permit": r"(?:港澳)?通行证号码?|回乡证号?码?|台胞证号?码?|居住证号码?",
    "us_ssn": r"ssn|socialsecurity(?:number|no)?",
    "plate": r"(?:车牌|车辆牌照|车辆号牌)(?:号码?)?|(?:licen[cs]e)?plate(?:number|no)?",
    "im_account": r"(?:微信|qq)(?:号码?|账号)?|wechat(?:id)?|weixin|whatsapp",
    "address": rf"{_WHO}?(?:家庭|户籍|居住|现居|常住|收货|联系|通讯)(?:所在)?(?:住址|地址|地)|{_WHO}?住址|(?:home|mailing|residential|street|shipping|delivery)address",
    "secret": r"(?:登录|初始|默认|管理员|后台|邮箱|系统|数据库|wi-?fi|无线|网络|开机|门禁|支付|交易|root|admin|服务器|用户|[账帐][号户]|临时|原|新){0,2}"
    r"(?:密码|口令|密钥|令牌)|(?:login|initial|default|admin|root|wi-?fi|database|db|user|temporary|temp|new|old|current|system|account|email)?"
    r"(?:password|passwd|pwd|passphrase|passcode)|(?:api|access|secret)(?:key|token|secret)|token|secret",
    "person": rf"{_WHO}?(?:真实|中文|英文)?(?:姓名|名字)|{_WHO}(?:姓名|名字|名称)|(?:full|first|last|given|family|employee|customer|patient|student"
    r"|cardholder|contact|applicant|owner|guardian|staff|member|person|driver|user)(?:s)?(?:full)?name|surname|contactperson|nameofperson",
}
_WEAK = {  # named so are other things, too: only where a value looks like one, or another column is of a person's
    "person": rf"{_WHO}|name|contact|employee|customer|patient|applicant|owner|driver|supervisor|inspector|foreman|manager|safetyofficer|姓|名",
    "address": r"地址|address",
    "secret": r"key",
}
_STRONG_NAMES, _WEAK_NAMES = (
    re.compile("|".join(f"(?P<{kind}>{words})" for kind, words in names.items())) for names in (_STRONG, _WEAK)
)
# What every such name has something of: most cells are told by it.
_HINT = re.compile(
    "[姓名证證号號卡话話机機邮郵箱址码碼微密令户戶]|地|人|员|員|经理|經理|联系|聯|[客业業房东東师師生长長者属屬偶]|"
    "驾|居留|社保|医保|id|licen|insur|nino|nhs|tax|tfn|aadhaar|nric|cpf|codice|ausweis|mail|phone|mob|tel|cell|ssn|social|card|account|iban|passport|plate|qq|wechat|weixin|whats|address|pass|pwd|key"
    "|token|secret|name|contact|employee|customer|patient|applicant|owner|driver|supervisor|inspector|foreman|manager|officer",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"用户名?|[账帐](?:号|户|户名)|登录名|主机|user(?:name|id)?|log[io]n|account|host(?:name)?|server|url"
)
"""What stands beside the passwords of a table, and not beside ``PASSWORD`` in a list of words."""
_NUMBERS = frozenset({"cn_id", "cn_mobile", "bank_card", "passport", "id_number", "hmt_permit", "us_ssn", "plate"})
_FEWEST = {
    "cn_id": 4,
    "cn_mobile": 5,
    "bank_card": 6,
    "passport": 5,
    "id_number": 5,
    "hmt_permit": 5,
    "us_ssn": 5,
    "plate": 3,
}  # digits
_MOBILE = re.compile(r"(?:\+?86)?1[3-9][0-9]{9}")


def kind_named(name: str) -> str:
    """The kind of value that a name announces for certain; ``""`` for none."""
    return _kinds(name)[0] if len(name) <= _LONGEST and _HINT.search(name) else ""


def _kind_hinted(name: str) -> str:
    """The kind of value that a name may announce, and may not."""
    return _kinds(name)[1] if len(name) <= _LONGEST and _HINT.search(name) else ""


@lru_cache(maxsize=8_192)
def _kinds(name: str) -> tuple[str, str]:
    plain = _ASIDE.sub("", fold(unicodedata.normalize("NFKC", name)))
    plain = _NUMBERED.sub("", _ORNAMENT.sub("", plain))
    strong, weak = _STRONG_NAMES.fullmatch(plain), _WEAK_NAMES.fullmatch(plain)
    return (strong.lastgroup or "") if strong else "", (weak.lastgroup or "") if weak and not strong else ""


class ColumnKinds:
    """What the cells of a table hold, told row by row from the top: by the names of columns, or by labels beside them."""

    def __init__(self) -> None:
        self._kinds: dict[int, str] = {}
        self._weak: dict[int, str] = {}
        self._begun = False

    def of(self, row: Mapping[int, str]) -> dict[int, str]:
        """By column, the kinds of those cells of a row that hold a value of a kind; the row's cells by column."""
        strong = {at: kind for at, cell in row.items() if (kind := kind_named(cell))}
        weak = {at: kind for at, cell in row.items() if at not in strong and (kind := _kind_hinted(cell))}
        begun, self._begun = self._begun, True
        if not strong and not weak:
            return self._under(row)
        beside = self._beside(row, strong, weak)
        if not beside and not self._holds(row) and (strong or len(weak) == len(row) or not self._kinds):
            if begun and _only_says_secret(row, strong, weak):
                strong, weak = {}, strong
            self._kinds, self._weak = strong, weak
            return {}
        return beside if strong and beside else {**self._under(row), **beside}

    def _holds(self, row: Mapping[int, str]) -> bool:
        """Whether a row has values of the current columns, and so is no header row, whatever its cells say."""
        columns = {**self._weak, **self._kinds}
        return any(
            (_may_be if kind == "person" else _looks_like)(kind, row.get(at, "")) for at, kind in columns.items()
        )

    def _under(self, row: Mapping[int, str]) -> dict[int, str]:
        """The cells below the names of columns."""
        told = {at: kind for at, kind in self._kinds.items() if _may_be(kind, row.get(at, ""))}
        others = self._kinds.keys() - {at for at, kind in self._kinds.items() if kind == "secret"}
        for at, kind in self._weak.items():
            cell = row.get(at, "")
            alike = _OPENS.fullmatch(cell) if kind == "secret" else _looks_like(kind, cell)
            if alike or (others and _may_be(kind, cell)):
                told[at] = kind
        return told

    @staticmethod
    def _beside(row: Mapping[int, str], strong: Mapping[int, str], weak: Mapping[int, str]) -> dict[int, str]:
        """The cells right of labels, where they look like what the label says: ``姓名 | 刘洋 | 手机 | 13800138000``."""
        order = sorted(row)
        said = [at for at in order if _COLUMNS_WORD.search(row[at])]  # not a cell with a colon alone
        after = {at: next((to for to in said if to > at and row[to] != row[at]), None) for at in order}
        labels = {**weak, **strong}
        found: dict[int, str] = {}
        for at, kind in labels.items():
            to = after[at]
            if to is not None and to not in labels and _looks_like(kind, row[to]):
                found[to] = kind
        if not found:
            return {}
        for at, kind in strong.items():  # one that looks like it vouches for its neighbours
            to = after[at]
            if to is not None and to not in labels and _may_be(kind, row[to]):
                found[to] = kind
        return found


def _only_says_secret(row: Mapping[int, str], strong: Mapping[int, str], weak: Mapping[int, str]) -> bool:
    """Whether ``password`` or the like is all that a row names: further down in a table that may be a word like others."""
    if weak or set(strong.values()) != {"secret"}:
        return False
    return not any(_ACCOUNT.fullmatch(_ORNAMENT.sub("", fold(cell))) for cell in row.values())


def _may_be(kind: str, cell: str) -> bool:
    """Whether a cell holds a value at all: no name of a column, no placeholder."""
    if not cell.strip() or kind_named(cell):
        return False
    if kind in _NUMBERS:
        return sum(c.isdigit() or c.isnumeric() for c in cell) >= _FEWEST[kind]
    return kind != "person" or (len(cell) <= 60 and looks_like_a_name(cell, named=True))


def _looks_like(kind: str, cell: str) -> bool:
    if kind in _NUMBERS:
        return _may_be(kind, cell)
    if kind == "person":
        return looks_like_a_name(cell, named=False)
    if kind == "email":
        return "@" in unicodedata.normalize("NFKC", cell)
    if kind == "address":
        return _PLACE.search(fold(cell)) is not None
    if kind == "secret" and _SECRET.fullmatch(cell.strip()):
        return True
    return kind in ("im_account", "secret") and any(map(str.isdigit, cell))


_SECRET = re.compile(r"(?=.*[^\W_])(?=.*[!@#$%^&*+=?~])[!-~]{4,128}(?<![?:])")  # a sign within, and no question
_OPENS = re.compile(r"(?=.*[^\W\d_])(?=.*[0-9])\S{8,}")  # letters and digits, and no sentence
_PLACE = re.compile(
    r"[省市区县镇乡村路街道巷弄号室栋座楼]|(?<![a-z])(?:street|st|road|rd|avenue|ave|lane|blvd|drive|apt|suite|floor)(?![a-z])"
)


_PARTS = re.compile(rf"[^、,;/\n|{OPAQUE}]+")
_COLUMNS_WORD = re.compile(r"[^\W_]")


def column_values(text: str, start: int, end: int, kind: str) -> Iterator[Finding]:
    """The values in ``text[start:end]``, of which its column says that it holds values of a kind.

    Several may stand in one cell, parted by commas and the like. What has two stars in it has been masked before.
    """
    view = view_of(text[start:end])
    for part in _PARTS.finditer(view.text) if kind != "address" else re.finditer(r"[^\n]+", view.text):
        if "**" in part[0] or OPAQUE in part[0] or not _counts(kind, part[0]):
            continue
        low, high = _edges(view, kind, part)
        value = view.text[low:high]
        first, last = view.original(low, high)
        yield Finding(start + first, start + last, _exactly(kind, value), _normal(kind, value))


def _counts(kind: str, part: str) -> bool:
    if kind in _NUMBERS:
        return sum(c.isnumeric() for c in part) >= _FEWEST[kind]
    if kind == "person":
        return looks_like_a_name(part, named=True)
    return len(_COLUMNS_WORD.findall(part)) >= (4 if kind in {"email", "secret", "im_account", "address"} else 1)


def _edges(view: TextView, kind: str, part: re.Match[str]) -> tuple[int, int]:
    """Without spaces around it, and without words around a number."""
    letters = [m.start() for m in _COLUMNS_WORD.finditer(view.text, part.start(), part.end())]
    low, high = letters[0], letters[-1] + 1
    if kind in {"cn_mobile", "bank_card"}:
        digits = [at for at in letters if view.text[at].isnumeric()]
        low, high = digits[0], digits[-1] + 1
        while low > part.start() and view.text[low - 1] in "+(":
            low -= 1
    if view.text[high : high + 1] == ")" and "(" in view.text[low:high]:
        high += 1
    return low, high


def _exactly(kind: str, value: str) -> str:
    return "phone" if kind == "cn_mobile" and not _MOBILE.fullmatch(plain_number(value)) else kind


def _normal(kind: str, value: str) -> str:
    if kind in _NUMBERS:
        return plain_number(value)
    if kind == "person":
        return value.casefold() if value.isascii() else value.replace(" ", "")
    return value.lower().replace(" ", "") if kind == "email" else value
