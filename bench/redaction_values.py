"""Made-up values of every class of redaction."""

from __future__ import annotations

import random

from wenyuan.core.redaction import checks


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choices("0123456789", k=count))


def _with_check(draw: random.Random, kind: str) -> str:
    while True:
        if kind == "cn_id":
            body = f"{draw.choice(('110105', '310112', '440305', '510104'))}{draw.randint(1950, 2005)}{draw.randint(1, 12):02}{draw.randint(1, 28):02}{_digits(draw, 3)}"
            made = next(body + c for c in "0123456789X" if checks.id_check(body + c))
        elif kind == "bank_card":
            body = draw.choice(("622202", "621700", "4532", "5312")) + _digits(draw, 11)
            body = body[:15] if body[0] in "45" else body + _digits(draw, 1)
            made = next(body + c for c in "0123456789" if checks.luhn(body + c))
        elif kind == "cn_uscc":
            body = f"91{draw.choice(('110108', '310115', '440300'))}MA" + "".join(
                draw.choices("0123456789ABCDEFGHJKLMNPQRTUWXY", k=7)
            )
            made = next((body + c for c in "0123456789ABCDEFGHJKLMNPQRTUWXY" if checks.uscc(body + c)), "")
        else:
            body = "WEST" + _digits(draw, 14)
            check = 98 - int("".join(str(int(c, 36)) for c in body + "GB00")) % 97
            made = f"GB{check:02}{body}"
        if made:
            return made


def value(draw: random.Random, kind: str) -> str:
    """A made-up value of a class."""
    if kind in {"cn_id", "bank_card", "iban", "cn_uscc"}:
        return _with_check(draw, kind)
    makers = {
        "cn_mobile": lambda: f"1{draw.choice('35789')}{_digits(draw, 9)}",
        "email": lambda: f"{draw.choice(('zhang', 'anna', 'wangba', 'maria'))}{_digits(draw, 2)}@{draw.choice(('qq', 'mail', 'example'))}.com",
        "cn_landline": lambda: f"{draw.choice(('010', '021', '0755'))}-{draw.choice('2568')}{_digits(draw, 7)}",
        "passport": lambda: draw.choice("EG") + _digits(draw, 8),
        "plate": lambda: draw.choice("京沪粤川") + draw.choice("ABC") + draw.choice("ADKL") + _digits(draw, 4),
        "us_ssn": lambda: f"{draw.randint(100, 665)}-{draw.randint(10, 99)}-{draw.randint(1000, 9999)}",
        "secret": lambda: draw.choice(("Lantern", "tq7Kp", "Office", "hUnter")) + draw.choice("#!@_") + _digits(draw, 3),
        "person": lambda: draw.choice(("李", "王", "张", "刘", "司马", "欧阳")) + draw.choice(("伟明", "晓东", "光辉", "秀英", "洁", "杰")),
        "hmt_permit": lambda: draw.choice("HM") + _digits(draw, 8),
        "phone": lambda: draw.choice(("+44 20 7946 0", "+1 415 555 0", "+852 2345 6")) + _digits(draw, 3),
        "ip": lambda: f"{draw.choice(('10', '172', '203'))}.{draw.randint(0, 255)}.{draw.randint(0, 255)}.{draw.randint(1, 254)}",
        "im_account": lambda: draw.choice(("liming", "sunny", "zhaolei")) + "_" + _digits(draw, 4),
        "address": lambda: f"{draw.choice(('北京市海淀区', '上海市浦东新区', '广东省深圳市南山区'))}{draw.choice(('中山路', '世纪大道', '科技园街'))}{draw.randint(1, 300)}号{draw.randint(1, 20)}栋{draw.randint(101, 2004)}室",
    }  # fmt: skip
    return makers[kind]()
