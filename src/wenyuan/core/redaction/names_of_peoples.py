"""Redaction rules for Tibetan, Mongolian and Japanese names in Chinese characters, and Vietnamese and Korean ones in Latin letters.

None of them has a surname that Chinese names have. Tibetan and Mongolian ones are put together of some two hundred words: two
of these make a name in any sentence (扎西顿珠, 斯琴高娃), one alone does so beside a label.
"""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_CAPITALS, IN_HAN, Rule, Span
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

_TIBETAN = """扎西 顿珠 次仁 次旺 次旦 多吉 多杰 卓玛 拉姆 央金 央宗 旺堆 旺姆 达瓦 尼玛 平措 格桑 索朗 丹增 旦增 洛桑 罗桑 桑吉 桑杰 加措 嘉措 才让 才仁 才旦 仁青 仁增 巴桑 米玛 拉巴 普布 白玛
贡布 贡觉 益西 边巴 强巴 曲珍 曲扎 德吉 德庆 罗布 诺布 欧珠 赤列 晋美 久美 吉美 土登 阿旺 旦巴 坚赞 坚参 措姆 卓嘎 群培 群宗 玉珍 次珍 嘎玛 噶玛 尕玛 尕藏 班觉 班丹 伦珠 朗杰 郎杰 南杰 旺杰
旺久 旺扎 琼达 其美 齐美 色珍 仓决 拉珍 扎巴 扎桑 桑珠 桑布 四郎 泽仁 泽旺 降措 志玛 娜姆 东珠 卓么 旦正 拉毛 夏吾 南加 拉加 顿旦 吉措 吉毛""".split()
_MONGOLIAN = """巴特尔 巴图 其其格 琪琪格 其木格 高娃 格日勒 图雅 托娅 娜仁 那仁 乌日娜 乌云 萨仁 苏日娜 萨日娜 斯琴 哈斯 阿木尔 阿拉坦 额尔敦 额尔德尼 朝鲁 朝克图 宝力格 宝音 布和 敖登 敖日格乐 呼日勒
吉日嘎拉 吉日木图 孟和 莫日根 那日苏 那顺 青格勒 青格乐 赛罕 苏和 苏雅拉 塔娜 特木尔 铁木尔 乌力吉 乌仁 照日格图 牧仁 毕力格 达来 达日玛 道尔吉 德力格尔 满都拉 满达 娜布其 诺敏 萨其拉 阿古拉
阿茹娜 通拉嘎 图门 图们 旭日干 乌兰 呼和""".split()
_NO_NAMES = frozenset("乌兰布和 乌兰图们 呼和巴图 巴图图们 呼和乌兰 图们乌兰".split())
_DAILY = frozenset("尼玛 罗布 高娃 乌云 乌兰 呼和 图们 达来 苏和 其美 扎巴 白玛 哈斯".split())
"""Words that name other things as well, where they stand alone."""


def _alternatives(words: list[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_PARTS = f"(?:{_alternatives(_TIBETAN)}|{_alternatives(_MONGOLIAN)})"
_TWO = re.compile(f"{_PARTS}{_PARTS}")
_ALL_TIBETAN = re.compile(f"(?:{_alternatives(_TIBETAN)}){{2}}")
_ALL_MONGOLIAN = re.compile(f"(?:{_alternatives(_MONGOLIAN)}){{2}}")
_WHOLE = re.compile(f"{_PARTS}{{1,2}}")


def is_of_a_people(name: str) -> bool:
    """Whether characters are a Tibetan or a Mongolian name, alone or of two words."""
    return name not in _DAILY and name not in _NO_NAMES and _WHOLE.fullmatch(name) is not None


_PLACE = re.compile("[县乡镇村旗寺山河湖路街草沙]|神山")


def _two_words(view: TextView, match: re.Match[str]) -> Span | None:
    name = match[0]
    mixed = not (_ALL_TIBETAN.fullmatch(name) or _ALL_MONGOLIAN.fullmatch(name))
    if mixed or name in _NO_NAMES or _PLACE.match(view.text, match.end()):
        return None
    return match.start(), match.end(), match[0]


# 佐藤美咲: a surname, and two characters of which one ends given names.
_SURNAMES = (
    "佐藤|铃木|高桥|渡边|渡部|伊藤|加藤|吉田|佐佐木|松本|井上|木村|斋藤|山崎|阿部|池田|桥本|石井|冈田|后藤|长谷川|近藤|坂本|远藤|藤井|青木|西村|福田|太田|三浦|藤原|冈本|松田|中岛|中野|原田|小野|田村|竹内|和田|上田"
    "|石田|柴田|酒井|工藤|宫崎|宫本|内田|高木|安藤|谷口|今井|河野|武田|村上|增田|杉山|岩崎|樱井|野口|松井|菅原|佐野|市川|岛田|水野|新井|久保|木下|野村|田中|中村|小林|山本|山田|山口|前田|藤田|森田|清水|石川|丸山|大冢|平野"
)
_JAPANESE = re.compile(
    rf"(?:{_SURNAMES})(?:[{HAN}][子美郎介太香咲奈惠树辅雄夫彦人斗翔希织乃代江枝造吾哉也]|[一二三健浩隆诚直弘][一二三郎之司志树]|[翔莲葵凛])(?![{HAN}](?<![在于与和及的是、对将被从向女先说表已]))"
)


def _japanese(view: TextView, match: re.Match[str]) -> Span:
    return match.start(), match.end(), match[0]


# Nguyen Thi Lan; Nguyễn Văn Hùng; Hye-jin Park; Kim Min-soo.
_WORD = r"[A-ZÀ-ỹĐ][a-zà-ỹđ]{1,8}"
_VIETNAMESE = re.compile(
    r"[NTLPHVDĐB](?<![^\W_].)(?:(?<=N)guy[eễ]n|(?<=T)r[aầ]n|(?<=L)[eêyý]|(?<=P)h(?:[aạ]m|an)|(?<=H)(?:o[aà]ng|u[yỳ]nh|[oồ])|(?<=V)[uũoõ]|(?<=[DĐ])[aặ]ng|(?<=B)[uù]i|(?<=[DĐ])[oỗ]|(?<=N)g[oô]|(?<=D)[uư][oơ]ng) "
    rf"(?:Th[iị]|V[aă]n|Minh|Thanh|[DĐ][uứ]c|Qu[oố]c|Ng[oọ]c|H[oồ]ng|Xu[aâ]n|H[uữ]u|[DĐ][iì]nh|Anh|Quang|Ho[aà]ng|B[aả]o|Th[uù]y|Ph[uư][oơ]ng|Tu[aấ]n|M[aạ]nh|C[oô]ng|Gia|Trung) {_WORD}(?![a-zà-ỹ])"
)
_KOREAN_SURNAMES = frozenset("Kim Lee Park Choi Jung Jeong Kang Cho Yoon Jang Lim Han Oh Seo Shin Kwon Hwang Ahn Yoo Hong Moon Bae Baek Nam Noh Ryu Jeon Ko Son".split())  # fmt: skip
_KOREAN_GIVEN = frozenset(
    """Ah Bo Byung Chan Chul Da Dae Do Dong Eun Ga Geun Gi Gyu Ha Hae Hee Ho Hye Hyeon Hyo Hyun In Jae Jeong Ji Jin Jong Joo Joon Ju Jun Jung Ki Kwang Kyu Kyung Mi Min Myung Na
    Sang Seo Seok Seong Seul Seung Si So Soo Su Suk Sun Sung Tae Woo Ye Yeon Yong Yoo Yoon Young Yu Yun""".split()
)
_KOREAN = re.compile(
    r"[A-Z](?<![\w\-].)[a-z]{1,5}(?:-[A-Za-z][a-z]{1,5} [A-Z][a-z]{1,4}| [A-Z][a-z]{1,5}-[A-Za-z][a-z]{1,5})(?![A-Za-z\-])"
)


def _korean(view: TextView, match: re.Match[str]) -> Span | None:
    """A surname, and a given name of two syllables with a dash, in either order."""
    first, last = match[0].split(" ")
    given, surname = (first, last) if "-" in first else (last, first)
    if surname not in _KOREAN_SURNAMES or given.partition("-")[0] not in _KOREAN_GIVEN:
        return None
    return match.start(), match.end(), match[0].casefold()


def _vietnamese(_view: TextView, match: re.Match[str]) -> Span:
    return match.start(), match.end(), match[0].casefold()


RULES = (
    Rule("person", _TWO, _two_words, signs=IN_HAN, written=True),
    Rule("person", _JAPANESE, _japanese, signs=IN_HAN, written=True),
    Rule("person", _VIETNAMESE, _vietnamese, cased=True, signs=IN_CAPITALS),
    Rule("person", _KOREAN, _korean, needs=("-",), cased=True, signs=IN_CAPITALS),
)
