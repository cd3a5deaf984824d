"""Made pages of ten kinds, each with the text that is on it: pictures as a scanner at 200 dpi gives them.

Pages are A4 at 200 dpi (1654 × 2339 pixels), text at 11.5 points. Sentences are put together at random, each with clause
numbers, amounts, dates and quantities, so that no page is like another; the seed says which.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

__all__ = ["KINDS", "Made", "cjk_font", "make"]

WIDTH, HEIGHT = 1654, 2339
_SIZE = 32
_BLACK = (25, 25, 25)

_SUBJECTS = "甲方 乙方 承租人 出租人 申请人 被申请人 供电企业 用电人 主管部门 保险公司 监理单位 施工单位 物业服务企业 消费者协会".split()
_VERBS = "应当在{d}之前提交书面申请 不得擅自变更合同约定的用途 可以要求对方承担违约责任 应当妥善保管全部技术资料 负责设备的安装、调试和验收 应当向监管机构如实报告 有权查阅与本项目有关的账簿".split()
_TAILS = (
    "逾期超过{n}日的，每日按应付金额的{p}%支付滞纳金",
    "违约金总额不超过人民币{m}元",
    "有效期自{d}起至{d}止",
    "最大工作压力不得高于{q}MPa，温度控制在{n}℃以内",
    "参照《民法典》第{c}条以及本办法第{c}条第二款执行",
    "合计面积为{q}平方米，单价为每平方米{m}元",
    "罚款金额为人民币{m}元以上{m}元以下",
    "编号为ZB-{y}-{k}号，联系电话0{n}-{t}",
)
_TRADITIONAL = (
    "納稅義務人應於{d}以前，向主管稽徵機關辦理結算申報",
    "依據民法第{c}條規定，當事人得請求損害賠償",
    "該項費用總計新臺幣{m}元，應於{n}日內繳納完畢",
    "機關首長應將處理結果以書面通知聲請人",
    "未經許可擅自營業者，處新臺幣{m}元罰鍰",
    "開會時間訂於{d}，地點為臺北市第{n}會議廳",
)
_ENGLISH = (
    "The Supplier shall deliver {n} units no later than {e} at the agreed site.",
    "Under Section {s}, the total liability shall not exceed USD {m}.",
    "Payments received after {n} days bear interest at {p}% per annum.",
    "The operating temperature must stay between {n} and 1{n} degrees.",
    "Either party may terminate this Agreement by written notice of {n} days.",
    "Invoice No. INV-{y}-{k} covers the period from {e} to {e}.",
    "Records must be kept for at least {n} years after the closing date.",
)


@dataclass(frozen=True)
class Made:
    """A page: its picture, and the text on it as a person would type it, a line for each line of print in reading order."""

    kind: str
    picture: Image.Image
    lines: tuple[str, ...]


def cjk_font() -> str | None:
    """The path of a font with Chinese characters; None where the machine has none."""
    try:
        found = subprocess.run(["fc-list", ":lang=zh", "file"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    paths = sorted(line.partition(":")[0] for line in found.stdout.splitlines())
    return next((path for path in paths if "Sans" in path and "Regular" in path), paths[0] if paths else None)


def _face(size: int) -> ImageFont.FreeTypeFont:
    path = cjk_font()
    assert path is not None, "the machine has no font with Chinese characters"
    for index in range(10):
        face = ImageFont.truetype(path, size, index=index)
        if path.endswith(".ttc") and "SC" not in str(face.getname()[0]):
            continue
        return face
    return ImageFont.truetype(path, size)


def _filled(template: str, rnd: random.Random) -> str:
    day = f"{rnd.randint(1998, 2026)}年{rnd.randint(1, 12)}月{rnd.randint(1, 28)}日"
    parts: dict[str, Callable[[], object]] = {
        "{d}": lambda: (
            f"{rnd.randint(1998, 2026)}年{rnd.randint(1, 12)}月{rnd.randint(1, 28)}日" if rnd.random() < 2 else day
        ),
        "{n}": lambda: rnd.randint(2, 98),
        "{p}": lambda: f"{rnd.randint(1, 999) / 100:.2f}",
        "{m}": lambda: f"{rnd.randint(1_000, 90_000_000):,}" + rnd.choice(["", f".{rnd.randint(10, 99)}"]),
        "{q}": lambda: f"{rnd.randint(10, 99_999) / 100:.2f}",
        "{c}": lambda: rnd.choice([_chinese(rnd.randint(2, 998)), str(rnd.randint(2, 998))]),
        "{y}": lambda: rnd.randint(2001, 2026),
        "{k}": lambda: f"{rnd.randint(0, 99_999):05d}",
        "{t}": lambda: rnd.randint(20_000_000, 89_999_999),
        "{s}": lambda: f"{rnd.randint(1, 40)}.{rnd.randint(1, 20)}({rnd.choice('abcde')})",
        "{e}": lambda: (
            f"{rnd.randint(1, 28)} {rnd.choice(['March', 'July', 'October', 'January'])} {rnd.randint(1998, 2026)}"
        ),
    }
    for key, value in parts.items():
        while key in template:
            template = template.replace(key, str(value()), 1)
    return template


def _chinese(number: int) -> str:
    digits = "零一二三四五六七八九"
    hundreds, rest = divmod(number, 100)
    tens, ones = divmod(rest, 10)
    text = digits[hundreds] + "百" if hundreds else ""
    if tens:
        text += ("" if tens == 1 and not hundreds else digits[tens]) + "十"
    elif hundreds and ones:
        text += "零"
    return text + (digits[ones] if ones else "")


def _sentence(rnd: random.Random) -> str:
    return _filled(f"{rnd.choice(_SUBJECTS)}{rnd.choice(_VERBS)}，{rnd.choice(_TAILS)}。", rnd)


def _wrapped(text: str, face: ImageFont.FreeTypeFont, width: float) -> list[str]:
    lines, line = [], ""
    words = text.split(" ") if text.isascii() else list(text)
    gap = " " if text.isascii() else ""
    for word in words:
        longer = f"{line}{gap}{word}" if line else word
        if face.getlength(longer) > width and line and word not in "，。、）》%℃":  # these never begin a line
            lines.append(line)
            longer = word
        line = longer
    return [*lines, line]


class _Sheet:
    def __init__(self, size: tuple[int, int] = (WIDTH, HEIGHT)) -> None:
        self.picture = Image.new("RGB", size, "white")
        self.draw = ImageDraw.Draw(self.picture)
        self.lines: list[str] = []

    def write(self, x: float, y: float, text: str, size: int = _SIZE, colour: tuple[int, int, int] = _BLACK) -> None:
        self.draw.text((x, y), text, fill=colour, font=_face(size))
        self.lines.append(text)

    def flow(self, box: tuple[int, int, int, int], sentence: Callable[[], str], pitch: int = 54) -> None:
        left, top, right, bottom = box
        y = top
        while True:
            for line in _wrapped(sentence(), _face(_SIZE), right - left):
                if y > bottom - pitch:
                    return
                self.write(left, y, line)
                y += pitch

    def made(self, kind: str) -> Made:
        return Made(kind, self.picture, tuple(self.lines))


def _clean(rnd: random.Random) -> _Sheet:
    sheet = _Sheet()
    title = f"关于{rnd.choice(_SUBJECTS)}管理的若干规定"
    sheet.write((WIDTH - _face(48).getlength(title)) / 2, 170, title, 48)
    number = 0

    def sentence() -> str:
        nonlocal number
        number += 1
        return f"第{_chinese(number)}条　{_sentence(rnd)}"

    sheet.flow((190, 300, WIDTH - 190, HEIGHT - 200), sentence)
    return sheet


def _clean_page(rnd: random.Random) -> Made:
    return _clean(rnd).made("clean")


def _turned(rnd: random.Random) -> Made:
    """A page laid in askew, every third one upside down or on its side as well."""
    sheet = _clean(rnd)
    askew = sheet.picture.rotate(rnd.uniform(-3, 3), Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))
    quarter = rnd.choice([0, 0, 0, 90, 180, 270])
    return Made("turned", askew.rotate(quarter, expand=True), tuple(sheet.lines))


def _blurred(rnd: random.Random) -> Made:
    sheet = _clean(rnd)
    return Made("blurred", sheet.picture.filter(ImageFilter.GaussianBlur(rnd.uniform(1.6, 2.4))), tuple(sheet.lines))


def _noisy(rnd: random.Random) -> Made:
    sheet = _clean(rnd)
    noise = np.random.default_rng(rnd.randrange(1 << 30))
    values = np.asarray(sheet.picture, np.float32)
    shade = np.linspace(0, rnd.uniform(20, 60), WIDTH, dtype=np.float32)[None, :, None]
    values = values * 0.9 - shade + noise.normal(0, 24, (HEIGHT, WIDTH, 1))
    spots = noise.random((HEIGHT, WIDTH)) < 0.002
    values[spots] = 60
    picture = Image.fromarray(values.clip(0, 255).astype(np.uint8))
    return Made("noisy", picture, tuple(sheet.lines))


def _official(rnd: random.Random) -> Made:
    """An official document: red head and rule, number, text, and a seal in red over the signature."""
    sheet = _Sheet()
    red = (205, 25, 30)
    head = f"临江市{rnd.choice(['住房和城乡建设局', '人民政府办公室', '市场监督管理局'])}文件"
    face = _face(84)
    sheet.write((WIDTH - face.getlength(head)) / 2, 220, head, 84, red)
    number = f"临政发〔{rnd.randint(2015, 2026)}〕{rnd.randint(1, 240)}号"
    sheet.write((WIDTH - _face(_SIZE).getlength(number)) / 2, 400, number)
    sheet.draw.line((170, 470, WIDTH - 170, 470), fill=red, width=5)
    title = f"关于进一步规范{rnd.choice(_SUBJECTS)}工作的通知"
    sheet.write((WIDTH - _face(46).getlength(title)) / 2, 540, title, 46)
    sheet.flow((190, 680, WIDTH - 190, 1750), lambda: _sentence(rnd))
    signed = head.removesuffix("文件")
    sheet.write(960, 1850, signed)
    sheet.write(1010, 1910, f"{rnd.randint(2015, 2026)}年{rnd.randint(1, 12)}月{rnd.randint(1, 28)}日")
    seal = Image.new("L", sheet.picture.size, 0)
    draw = ImageDraw.Draw(seal)
    draw.ellipse((960, 1720, 1320, 2080), outline=200, width=12)
    draw.regular_polygon((1140, 1900, 60), 5, rotation=0, fill=200)
    sheet.picture.paste(Image.new("RGB", sheet.picture.size, red), (0, 0), seal.point(lambda v: v * 0.55))
    return sheet.made("official")


def _table(rnd: random.Random) -> Made:
    sheet = _Sheet()
    sheet.write(620, 200, "物资采购明细表", 48)
    columns = [190, 330, 640, 800, 1010, 1230, WIDTH - 190]
    head = ["序号", "名称", "单位", "数量", "单价（元）", "金额（元）"]
    names = (
        "镀锌钢管 铜芯电缆 防火涂料 砂浆水泥 阀门 配电箱 变压器 灯具 开关 灭火器 水泵 轴承 法兰 管件 保温棉".split()
    )
    top, pitch, rows = 330, 76, 22
    for row in range(rows + 1):
        if row:
            count, price = rnd.randint(1, 980), rnd.randint(100, 999_999) / 100
            cells = [str(row), rnd.choice(names), rnd.choice("米 吨 台 套 个 千克".split()), str(count),
                     f"{price:,.2f}", f"{count * price:,.2f}"]  # fmt: skip
        else:
            cells = head
        for at, cell in enumerate(cells):
            sheet.write(columns[at] + 14, top + row * pitch + 18, cell)
    for at in range(rows + 2):
        sheet.draw.line((columns[0], top + at * pitch, columns[-1], top + at * pitch), fill=_BLACK, width=3)
    for x in columns:
        sheet.draw.line((x, top, x, top + (rows + 1) * pitch), fill=_BLACK, width=3)
    return sheet.made("table")


def _columns(rnd: random.Random) -> Made:
    sheet = _Sheet()
    sheet.write(560, 160, "行业动态与政策解读", 52)
    middle = WIDTH // 2
    sheet.flow((150, 290, middle - 40, HEIGHT - 180), lambda: _sentence(rnd))
    sheet.flow((middle + 40, 290, WIDTH - 150, HEIGHT - 180), lambda: _sentence(rnd))
    return sheet.made("columns")


def _vertical(rnd: random.Random) -> Made:
    """Columns from the top down, the first on the right; numbers stand in Chinese digits or as pairs across."""
    sheet = _Sheet()
    face = _face(40)
    for column in range(13):
        text = _filled(rnd.choice(_TRADITIONAL), rnd).replace(",", "").replace(".", "點")
        x, y, written = WIDTH - 220 - column * 92, 230, ""
        for character in text:
            if y > HEIGHT - 280:
                break
            width = face.getlength(character)
            sheet.draw.text((x + (40 - width) / 2, y), character, fill=_BLACK, font=face)
            written += character
            y += 52
        sheet.lines.append(written)
    return sheet.made("vertical")


def _traditional(rnd: random.Random) -> Made:
    sheet = _Sheet()
    sheet.flow((190, 220, WIDTH - 190, HEIGHT - 220), lambda: _filled(rnd.choice(_TRADITIONAL), rnd) + "。")
    return sheet.made("traditional")


def _english(rnd: random.Random) -> Made:
    sheet = _Sheet()
    sheet.write(560, 170, "Framework Agreement", 52)
    sheet.flow(
        (190, 300, WIDTH - 190, HEIGHT - 200), lambda: " ".join(_filled(rnd.choice(_ENGLISH), rnd) for _ in range(2))
    )
    return sheet.made("english")


_MAKERS = {
    "clean": _clean_page, "turned": _turned, "blurred": _blurred, "noisy": _noisy, "official": _official,
    "table": _table, "columns": _columns, "vertical": _vertical, "traditional": _traditional, "english": _english,
}  # fmt: skip
KINDS = tuple(_MAKERS)


def make(kind: str, seed: int) -> Made:
    """The page of this kind with this seed."""
    return _MAKERS[kind](random.Random(f"{kind}{seed}"))
