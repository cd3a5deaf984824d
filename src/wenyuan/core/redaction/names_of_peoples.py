"""Redaction rules for Tibetan, Mongolian and Japanese names in Chinese characters, and Vietnamese and Korean ones in Latin letters.

None of them has a surname that Chinese names have. Tibetan and Mongolian ones are put together of some two hundred words: two
of these make a name in any sentence (扎西顿珠, 斯琴高娃), one alone does so beside a label.
"""

from __future__ import annotations

import re

from wenyuan.core.redaction.chinese_names import SPEAKS_BEHIND
from wenyuan.core.redaction.commonness import rarity
from wenyuan.core.redaction.matching import IN_CAPITALS, IN_HAN, IN_JAPANESE, Rule, Span
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
_ANY = re.compile(f"{_PARTS}(?P<second>{_PARTS})?")
_ALL_TIBETAN = re.compile(f"(?:{_alternatives(_TIBETAN)}){{2}}")
_ALL_MONGOLIAN = re.compile(f"(?:{_alternatives(_MONGOLIAN)}){{2}}")
_WHOLE = re.compile(f"{_PARTS}{{1,2}}")


def is_of_a_people(name: str) -> bool:
    """Whether characters are a Tibetan or a Mongolian name, alone or of two words."""
    return name not in _DAILY and name not in _NO_NAMES and _WHOLE.fullmatch(name) is not None


_PLACE = re.compile("[县乡镇村旗寺山河湖路街草沙]|神山")


def _of_a_people(view: TextView, match: re.Match[str]) -> Span | None:
    name = match[0]
    if match["second"] is None:
        return _one_word(view, match)
    mixed = not (_ALL_TIBETAN.fullmatch(name) or _ALL_MONGOLIAN.fullmatch(name))
    if mixed or name in _NO_NAMES or _PLACE.match(view.text, match.end()):
        return None
    return match.start(), match.end(), match[0]


# 格桑大叔; 村医德吉; 旺堆 1200元: one word alone, beside what only persons are called, do or get.
_CALLED = "大叔|大爷|大妈|大姐|大哥|阿妈|阿爸|阿佳|阿姨|叔叔|老师|医生|书记|主任|社长|村长|乡长|队长|组长|师傅|校长|会计|家(?=[在里的有，,。])|[说讲问答](?=[,，：:“道])"
_AFTER_ONE = re.compile(
    rf"(?:{_CALLED})|[ ]{{1,4}}(?:[男女](?![{HAN}])|[0-9]{{1,6}}(?:\.[0-9]{{1,2}})?(?:元|岁|头|只|亩))|[、,，](?={_PARTS}(?![{HAN}]))"
)
_BEFORE_ONE = re.compile(
    rf"(?:社长|会计|监督|主任|书记|村长|村医|乡长|老师|医生|校长|司机|队长|组长|村民|牧民|群众|学生|师傅|随访人|向导)[:： ]{{0,2}}\Z|(?<![{HAN}]){_PARTS}[、,，]\Z"
)


def _one_word(view: TextView, match: re.Match[str]) -> Span | None:
    text, start, end = view.text, match.start(), match.end()
    before, behind = _BEFORE_ONE.search(text, max(0, start - 8), start), _AFTER_ONE.match(text, end)
    begins = start == 0 or not _IS_HAN.match(text, start - 1)
    ends = behind or not _IS_HAN.match(text, end) or SPEAKS_BEHIND.match(text, end)
    if not ((behind and (begins or before)) or (before and ends)) or (match[0] in _DAILY and not before):
        return None
    return start, end, match[0]


_IS_HAN = re.compile(f"[{HAN}]")


# 缅甸籍昂敏登: what follows whose citizen somebody is, and is no word.
_CITIZEN = re.compile(rf"[籍裔工家人务机员生教师长](?P<name>[{HAN}]{{2,5}})(?![{HAN}])")
_COUNTRY = re.compile(
    r"(?:缅甸|越南|老挝|柬埔寨|泰国|印尼|印度尼西亚|菲律宾|马来西亚|印度|尼泊尔|孟加拉国?|巴基斯坦|韩国|朝鲜|日本|蒙古国?|哈萨克斯坦|俄罗斯|乌克兰|[美英法德])(?:籍|裔)?(?:员工|专家|工人|劳务|司机|船员|学员|学生|外教|技师|工程师|班长)?\Z"
)


def _citizen(view: TextView, match: re.Match[str]) -> Span | None:
    """Characters of which hardly a pair is in general text."""
    name, begin = match["name"], match.start("name")
    said = _COUNTRY.search(view.text, max(0, begin - 12), begin) if _rare(name) else None
    return (begin, match.end(), name) if said and name[-1] not in "人员工师生者家长" else None


def _rare(name: str) -> bool:
    return all(rarity(name[at : at + 2]) >= _STRANGE for at in range(len(name) - 1))


_STRANGE = 4.5  # see `rarity`


# 佐藤美咲: a surname, and two characters of which one ends given names.
_SURNAMES = (
    "佐藤|铃木|高桥|渡边|渡部|伊藤|加藤|吉田|佐佐木|松本|井上|木村|斋藤|山崎|阿部|池田|桥本|石井|冈田|后藤|长谷川|近藤|坂本|远藤|藤井|青木|西村|福田|太田|三浦|藤原|冈本|松田|中岛|中野|原田|小野|田村|竹内|和田|上田"
    "|石田|柴田|酒井|工藤|宫崎|宫本|内田|高木|安藤|谷口|今井|河野|武田|村上|增田|杉山|岩崎|樱井|野口|松井|菅原|佐野|市川|岛田|水野|新井|久保|木下|野村|田中|中村|小林|山本|山田|山口|前田|藤田|森田|清水|石川|丸山|大冢|平野"
)
_MORE_SURNAMES = "五十[岚嵐]|服部|久保田|松尾|岩田|中川|樋口|秋山|菊地|菊池|横山|大野|千叶|古川|杉本|岛村|荒木|大西|平田|川口|上野|片山|星野|吉川|小岛|饭田|本间|辻|岩本|关|川崎|熊谷|永井|堀|松浦|冈崎|川上|川村|大塚|安田|大桥|高野|浅野|白石|马场|森本|矢野|广瀬|大久保|渡会|细川|早川|泽田|宫田|成田|望月|吉村|小松|须藤|相马|早川"
# 五十嵐 美咲; 服部様: a surname apart from the given name, or what the Japanese put behind a name.
_APART = re.compile(
    rf"(?:{_SURNAMES}|{_MORE_SURNAMES})[ ][{HAN}ぁ-ヿ]{{1,4}}(?![{HAN}ぁ-ヿ])|[{HAN}](?<![{HAN}].)[{HAN}ノヶ]{{0,3}}[ ][{HAN}ぁ-ヿ]{{1,4}}?(?=です|と申し)|[{HAN}](?<![{HAN}].)[{HAN}ノヶ]{{0,3}}(?:[ ][{HAN}ぁ-ヿ]{{1,4}})?(?=さん|くん|ちゃん|[样様](?![{HAN}本式品]))"
)
_POLITE = frozenset(
    "多 各 同 这 那 怎 模 式 花 取 抽 留 试 送 一 两 别 何 图 小 打 原 大 走 变 客 皆 神 王 奥 お客".split()
)


def _polite(view: TextView, match: re.Match[str]) -> Span | None:
    """In a text with kana: 样 is a word in Chinese."""
    return None if match[0][-1] in _POLITE else (match.start(), match.end(), match[0])


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
    Rule("person", _ANY, _of_a_people, signs=IN_HAN, written=True),
    Rule("person", _CITIZEN, _citizen, signs=IN_HAN, written=True),
    Rule("person", _APART, _polite, signs=IN_JAPANESE, written=True),
    Rule("person", _JAPANESE, _japanese, signs=IN_HAN, written=True),
    Rule("person", _VIETNAMESE, _vietnamese, cased=True, signs=IN_CAPITALS),
    Rule("person", _KOREAN, _korean, needs=("-",), cased=True, signs=IN_CAPITALS),
)
