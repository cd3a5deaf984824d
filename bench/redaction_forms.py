"""Recall of redaction by class and written form, on made-up values in sentences of both languages, and what it finds where nothing is.

    python bench/redaction_forms.py [--all]

Half of the templates are held apart: rules are tuned on the others. Printed: recall of both halves with n, by class; forms below .95,
with ``--all`` every form; recall on the texts of `redaction_texts`, which were written before the rules were mended; on
those of `redaction_written`, half of which are held apart; and decoys by kind.
"""

from __future__ import annotations

import base64
import random
import sys
import uuid
from collections import defaultdict

from redaction import covered, written
from redaction_fill import decoys, items
from redaction_people import People
from redaction_values import value
from redaction_written import FORMS
from redaction_written import decoys as written_decoys
from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction
from wenyuan.readers.selection import READERS, read_guarded

_REDACTION = Redaction(policy_for("restricted"), b"k" * 32)
TEMPLATES = {  # the second half of each row is held apart
    "cn_id": ("身份证号：{}", "本人身份证{}，现申请", "ID card {} on file", "证件号码 {}（复印件附后）", "公民身份号码为{}。", "His ID number is {}."),
    "bank_card": ("卡号：{}", "请打款到{}，谢谢", "card {} exp 09/27", "银行账号{}，开户行工行", "My card number is {}", "退款至尾号不符，卡号 {}"),
    "cn_mobile": ("手机：{}", "有事打{}", "call me at {} please", "联系电话 {}（微信同号）", "王经理{}", "Mobile: {}"),
    "email": ("邮箱：{}", "write to {} today", "发到{}即可", "Email: {}", "请联系 {} 获取附件", "my mail is {}, thanks"),
    "cn_landline": ("座机 {}", "电话：{}", "Tel: {}", "传真{}", "办公室电话 {}，工作日", "office phone {}"),
    "iban": ("IBAN: {}", "汇款至 {}", "pay to {} by Friday", "账户 {}", "our IBAN {} stays", "收款 IBAN 为 {}"),
    "passport": ("护照号：{}", "passport no. {}", "持护照{}入境", "Passport: {}", "护照 {} 有效期", "his passport is {}"),
    "plate": ("车牌 {}", "车辆{}违停", "plate {}", "{}的车主请挪车", "车号：{}", "驾驶 {} 到场"),
    "us_ssn": ("SSN: {}", "my SSN is {}", "社会安全号 {}", "Social Security number {}", "SSN {} on the W-2", "social security no. {}"),
    "secret": ("密码：{}", "password is {}", "--password {}", "<password>{}</password>", "登录密码是{}", "WiFi密码 {}", "IDENTIFIED BY '{}'", "PGPASSWORD={}"),
    "person": ("联系人：{}", "签发人：{}", "经办人 — {}", "甲方代表：{}", "审核：{}", "收货人 {}，"),
    "hmt_permit": ("回乡证：{}", "持通行证{}入境", "home return permit {}", "台胞证号 {}", "港澳居民来往内地通行证 {}", "Permit no.: {}"),
    "phone": ("电话：{}", "call {} after six", "Tel. {}", "{}（境外号码）", "my number abroad: {}", "海外联系 {}"),
    "ip": ("IP：{}", "ssh admin@{}", "服务器 {} 宕机", "client {} refused", "主机{}", "from {} port 22"),
    "im_account": ("微信：{}", "加微信 {}", "WeChat ID: {}", "Skype: {}", "微信号是{}", "Telegram: {}"),
    "cn_uscc": ("税号：{}", "统一社会信用代码{}", "credit code {}", "甲方（{}）", "开票抬头税号为 {}", "tax no. {}"),
    "address": ("地址：{}", "家住{}。", "送到{}，谢谢", "收货地址 {}", "现住{}", "位于{}"),
}  # fmt: skip
NUMBER_FORMS = (
    "as is", "full-width", "zero-width", "references", "spaced", "dashed", "dotted", "strokes", "one by one", "two lines",
    "numerals", "capitals", "spoken", "mixed",
)  # fmt: skip
MORE_FORMS = {
    "\\u": lambda value: "".join(f"\\u{ord(c):04x}" if c.isascii() else c for c in value),
    "percent": lambda value: "".join(f"%{ord(c):02X}" if c.isdigit() else c for c in value),
    "bold inside": lambda value: f"{value[:4]}**{value[4:8]}**{value[8:]}",
    "tags inside": lambda value: f"{value[:4]}<b>{value[4:8]}</b>{value[8:]}",
    "O for 0": lambda value: value.replace("0", "O"),
    "l for 1": lambda value: value[:1] + value[1:].replace("1", "l"),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "bold digits": lambda value: value.translate(_digits_from(0x1D7CE)),
    "Arabic digits": lambda value: value.translate(_digits_from(0x0660)),
    "soft hyphens": "\u00ad".join,
    "no-break spaces": lambda value: written(value, "spaced").replace(" ", "\u00a0"),
    "underscores": lambda value: written(value, "spaced").replace(" ", "_"),
}
AROUND_FORMS = {
    "cell": lambda v: f"| {v} |", "HTML cell": lambda v: f"<td>{v}</td>", "brackets": lambda v: f"（{v}）", "corners": lambda v: f"「{v}」",
    "soft hyphens": "\u00ad".join, "new line": lambda v: f"\n{v}",
}  # fmt: skip
MAIL_FORMS = {
    "as is": str, "[at]": lambda v: v.replace("@", "[at]"), "(at)": lambda v: v.replace("@", "(at)"), "_at_": lambda v: v.replace("@", "_at_"),
    "#": lambda v: v.replace("@", "#"), "。": lambda v: v.replace(".com", "。com"), "\\@": lambda v: v.replace("@", "\\@"),
    "Cyrillic": lambda v: v.replace("a", "\u0430"), "full-width": lambda v: written(v, "full-width"), "spaces": lambda v: v.replace("@", " @ "),
    "艾特": lambda v: v.replace("@", "艾特"), "references": lambda v: written(v, "references"),
    "base64": lambda v: base64.b64encode(v.encode()).decode(), "capitals": str.upper, "@@": lambda v: v.replace("@", "@@"),
    **AROUND_FORMS,
}  # fmt: skip
OTHER_FORMS = {
    "as is": str, "full-width": lambda v: written(v, "full-width"), "zero-width": lambda v: written(v, "zero-width"),
    "bold": lambda v: f"**{v}**", "quoted": lambda v: f"“{v}”", "lower case": str.lower, "code": lambda v: f"`{v}`",
    "spaces": lambda v: f" {v[:3]} {v[3:]}" if v.isascii() and not v.isalpha() else v,
}  # fmt: skip


def _digits_from(first: int) -> dict[int, str]:
    return {ord("0") + i: chr(first + i) for i in range(10)}


def forms(kind: str) -> dict:
    """How values of a class are written."""
    if kind == "email":
        return MAIL_FORMS
    if kind in {"cn_id", "bank_card", "cn_mobile"}:
        return {**{name: lambda v, name=name: written(v, name) for name in NUMBER_FORMS}, **MORE_FORMS}
    if kind in {"person", "address"}:
        plain = {name: OTHER_FORMS[name] for name in ("as is", "full-width", "zero-width", "bold", "quoted")}
        return {**plain, "base64": MORE_FORMS["base64"], **AROUND_FORMS}
    if kind == "secret":
        return {name: OTHER_FORMS[name] for name in ("as is", "zero-width", "full-width")}
    others = {
        name: write for name, write in OTHER_FORMS.items() if name != "spaces" or kind not in {"ip", "im_account"}
    }
    return {**others, "base64": MORE_FORMS["base64"], **AROUND_FORMS}


def made_decoys(draw: random.Random) -> dict[str, list[str]]:
    """Twenty each of what looks like a value and is none, by kind."""

    def n(low: int, high: int) -> int:
        return draw.randint(low, high)

    def digits(count: int) -> str:
        return "".join(draw.choices("0123456789", k=count))

    makers = {
        "order": lambda: f"订单号：{n(2020, 2026)}{n(10, 12)}{n(10, 28)}{digits(10)}",
        "parcel": lambda: f"运单 {draw.choice(('SF', 'YT', 'JD'))}{digits(13)} 已签收",
        "invoice": lambda: f"Invoice INV-{digits(4)}-{digits(6)} is due",
        "book": lambda: f"ISBN 978-7-{n(100, 999)}-{digits(5)}-{n(0, 9)}",
        "bar code": lambda: f"条码 69{digits(11)}",
        "version": lambda: f"版本 {n(1, 12)}.{n(0, 20)}.{n(0, 9)}.{n(0, 200)}",
        "date": lambda: f"{n(1990, 2026)}-{n(10, 12)}-{n(10, 28)} {n(10, 23)}:{n(10, 59)}:{n(10, 59)}",
        "amount": lambda: f"合计 ¥{n(1, 999)},{digits(3)},{digits(3)}.{digits(2)}",
        "dollars": lambda: f"Total due: ${n(1, 999)},{digits(3)}.{digits(2)}",
        "place": lambda: f"坐标 {n(73, 134)}.{digits(6)}, {n(18, 53)}.{digits(6)}",
        "standard": lambda: f"按 GB/T {digits(5)}-{n(1998, 2025)} 第 {n(3, 9)}.{n(1, 9)}.{n(1, 20)} 条",
        "digest": lambda: f"sha1 {draw.getrandbits(160):040x}",
        "uuid": lambda: f"request {uuid.UUID(int=draw.getrandbits(128))}",
        "part": lambda: f"Part {n(1000, 9999)}-{n(1, 9)}RS-C{n(1, 9)} fits",
        "flight": lambda: f"航班 {draw.choice(('CA', 'MU', 'CZ'))}{digits(4)}，座位 {n(1, 60)}{draw.choice('ABCDEF')}",
        "shares": lambda: f"股票 {draw.choice(('600', '000', '300'))}{digits(3)} 收于 {n(3, 90)}.{digits(2)}",
        "stamp": lambda: f"timestamp {n(1500000000000, 1790000000000)}",
        "measure": lambda: f"{n(100, 3000)}×{n(100, 3000)}×{n(10, 900)} mm, {n(100, 900)} kg",
        "counts": lambda: "  ".join(digits(n(2, 4)) for _ in range(6)),
        "rule": lambda: f"{draw.choice(('密码', '口令', 'Password'))}{draw.choice(('至少', '不少于', '不得短于'))}{n(6, 20)}位，每{n(30, 180)}天更换",
        "role": lambda: f"{draw.choice(('项目经理', '安全员', '负责人', '经办人', '审核人'))}{draw.choice(('应', '须', '可以'))}{draw.choice(('签字确认', '到场检查', '报告进度'))}",
        "heading": lambda: f"{n(1, 12)}.{n(1, 9)} {draw.choice(('Contact Details', 'Driver Training', 'Patient Safety', 'Name Of Form'))}",
        "prose": lambda: draw.choice(("手机信号不好", "邮箱已满", "地址不详", "护照办理流程", "the phone rang", "an address book")) + f"，见第{n(1, 99)}页",
    }  # fmt: skip
    return {name: [make() for _ in range(20)] for name, make in makers.items()}


def _hit(text: str, spans: list[tuple[int, int]]) -> bool:
    found = covered(text)
    return all(any(a <= i < b for a, b, _ in found) for s, e in spans for i in range(s, e) if text[i].isalnum())


def _values_hit(text: str, start: int, said: str) -> bool:
    """Whether a value is covered, but for the marks of a cell around it."""
    low = start + len("<td>") if said.startswith("<td>") else start
    return _hit(text, [(low, start + len(said.removesuffix("</td>")))])


def _show_texts(draw: random.Random) -> None:
    hits: dict[str, list[bool]] = defaultdict(list)
    for kind, text, spans in items(draw):
        hits[kind].append(_hit(text, spans))
    print("texts as people write them: " + ", ".join(f"{kind} {sum(h)} of {len(h)}" for kind, h in hits.items()))


def _left(form: str, text: str) -> str:
    """A text as it is kept: tables are read as files are, so that their columns are known."""
    if form != "table":
        return _REDACTION.text(text).text
    suffix = ".md" if text.startswith("|") else ".tsv" if "\t" in text.partition("\n")[0] else ".csv"
    documents = read_guarded(text.encode(), uri=f"file:///x{suffix}", name=f"x{suffix}", reader=READERS[suffix])
    return _REDACTION.document(documents[0])[0].text


def _show_written() -> None:
    """Of the texts of `redaction_written`: the share of values that no longer stand in them, by half and class."""
    hits: dict[str, list[list[bool]]] = defaultdict(lambda: [[], []])
    for seed in (7, 8):
        people = People(seed)
        for form, texts in FORMS.items():
            for at, text in enumerate(texts):
                filled, values = people.fill(text)
                left = _left(form, filled)
                for kind, said in values:
                    hits[kind][at % 2].append(said not in left)
    for half, name in enumerate(("rules were mended on", "held apart")):
        all_of = [hit for halves in hits.values() for hit in halves[half]]
        row = ", ".join(
            f"{kind} {sum(h[half]) / len(h[half]):.3f} of {len(h[half])}" for kind, h in hits.items() if h[half]
        )
        print(f"{len(FORMS)} forms a person writes, {name}: {sum(all_of) / len(all_of):.3f} of {len(all_of)}: {row}")
    lost = [text for _, text, value in written_decoys() if value not in _REDACTION.text(text).text]
    print(f"decoys in them: {len(lost)} of {len(written_decoys())}{f', as {lost[0]!r}' if lost else ''}")


def _show_decoys(draw: random.Random) -> None:
    kinds = {"as people write them": decoys(), **made_decoys(draw)}
    false = {kind: [text for text in texts if covered(text)] for kind, texts in kinds.items()}
    print(
        f"{sum(map(len, kinds.values()))} decoys of {len(kinds)} kinds, false findings in {sum(map(len, false.values()))}:"
    )
    for kind, texts in false.items():
        if texts:
            print(f"  {kind} {len(texts)} of {len(kinds[kind])}, as {texts[0]!r}")


def main() -> None:
    draw = random.Random(11)
    hits: dict[tuple[str, str], list[bool]] = defaultdict(list)
    by_form: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for kind, templates in TEMPLATES.items():
        for name, write in forms(kind).items():
            for at, template in enumerate(templates):
                for _ in range(2):
                    said = write(value(draw, kind))
                    text = template.format(said)
                    start = text.index(said)
                    hit = _values_hit(text, start, said)
                    half = "tuned" if at < len(templates) // 2 else "apart"
                    hits[kind, half].append(hit)
                    by_form[kind, name].append(hit)
    print(f"{sum(map(len, hits.values()))} items, {len({name for _, name in by_form})} forms of writing")
    for kind in TEMPLATES:
        row = "  ".join(
            f"{half} {sum(hits[kind, half]) / len(hits[kind, half]):.3f} of {len(hits[kind, half])}"
            for half in ("tuned", "apart")
        )
        low = ", ".join(
            f"{name} {sum(h) / len(h):.2f} of {len(h)}"
            for (of, name), h in by_form.items()
            if of == kind and ("--all" in sys.argv or sum(h) < 0.95 * len(h))
        )
        print(f"{kind:12} {row}  {'forms' if '--all' in sys.argv else 'below .95'}: {low or '–'}")
    _show_texts(draw)
    _show_written()
    _show_decoys(draw)


if __name__ == "__main__":
    main()
