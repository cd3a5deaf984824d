"""Recall of redaction by class and written form, on made-up values in sentences of both languages.

    python bench/redaction_forms.py

Half of the templates are held apart: rules are tuned on the others. Printed: recall of both halves with n, by class and by form.
"""

from __future__ import annotations

import base64
import random
from collections import defaultdict

from redaction import covered, written
from redaction_values import value

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
}
MAIL_FORMS = {
    "as is": str, "[at]": lambda v: v.replace("@", "[at]"), "(at)": lambda v: v.replace("@", "(at)"), "_at_": lambda v: v.replace("@", "_at_"),
    "#": lambda v: v.replace("@", "#"), "。": lambda v: v.replace(".com", "。com"), "\\@": lambda v: v.replace("@", "\\@"),
    "Cyrillic": lambda v: v.replace("a", "\u0430"), "full-width": lambda v: written(v, "full-width"), "spaces": lambda v: v.replace("@", " @ "),
    "艾特": lambda v: v.replace("@", "艾特"), "references": lambda v: written(v, "references"),
    "base64": lambda v: base64.b64encode(v.encode()).decode(), "capitals": str.upper,
}  # fmt: skip
OTHER_FORMS = {
    "as is": str, "full-width": lambda v: written(v, "full-width"), "zero-width": lambda v: written(v, "zero-width"),
    "bold": lambda v: f"**{v}**", "quoted": lambda v: f"“{v}”", "lower case": str.lower, "code": lambda v: f"`{v}`",
    "spaces": lambda v: f" {v[:3]} {v[3:]}" if v.isascii() and not v.isalpha() else v,
}  # fmt: skip


def forms(kind: str) -> dict:
    """How values of a class are written."""
    if kind == "email":
        return MAIL_FORMS
    if kind in {"cn_id", "bank_card", "cn_mobile"}:
        return {**{name: lambda v, name=name: written(v, name) for name in NUMBER_FORMS}, **MORE_FORMS}
    if kind in {"person", "address"}:
        return {name: OTHER_FORMS[name] for name in ("as is", "full-width", "zero-width", "bold", "quoted")}
    return (
        OTHER_FORMS
        if kind != "secret"
        else {name: OTHER_FORMS[name] for name in ("as is", "zero-width", "full-width")}
    )


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
                    inner = [i for i in range(start, start + len(said)) if said[i - start].isalnum()]
                    found = covered(text)
                    hit = all(any(a <= i < b for a, b, _ in found) for i in inner)
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
            if of == kind and sum(h) < 0.95 * len(h)
        )
        print(f"{kind:12} {row}  below .95: {low or '–'}")


if __name__ == "__main__":
    main()
