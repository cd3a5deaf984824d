"""Values for the texts of `redaction_written`: invented people, with numbers that pass the checks of their kinds."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Mapping

_FIELD = re.compile(r"(?<!\{)\{([a-z]\d)\}")

NAMES = (
    "张伟 王秀英 李静怡 刘洋 陈思远 杨桂芳 赵磊 黄文博 周雅婷 吴国强 徐丽 孙浩然 胡雪梅 朱建军 高翔 林晓燕 何志远 郭婷婷 马俊杰 罗敏 梁家辉 宋佳 郑凯文 谢玉兰"
    " 韩冰 唐诗雨 冯刚 于海涛 董洁 萧子涵 程乐 曹雪飞 袁媛 邓超凡 许晴川 傅聪 沈冰清 曾庆霞 彭于斌 吕布衣 苏友鹏 卢卡宁 蒋欣悦 蔡明远 贾玲珑 丁一 魏晨曦 薛之航"
    " 叶问天 阎肃 余秋实 潘粤辉 杜鹃 戴望 夏雨荷 钟楚曦 汪枫 田壮 任静宜 姜文彬 范冰洁 方中 石磊 姚远 谭松 廖凡 邹市民 熊黛 金星 陆毅恒 郝蕾 孔令珂 白静 崔健康 康辉明 毛宁馨"
    " 邱淑珍 秦岚溪 江一雁 史可心 顾长安 侯勇军 邵兵权 孟非凡 龙丹 万梓轩 段奕辰 钱枫 汤蔚然 尹正阳 黎耀 易扬 常远达 武艺萱 乔欣悦 贺来福 赖声 龚琳 文彰华 欧阳婧 司马光辉 诸葛明 上官婉清"
    " 皇甫嵩 慕容雪 令狐冲之 东方朔 买买提·艾力 阿依古丽·吐尔逊 扎西多吉 巴特尔"
).split()
ENGLISH = (
    "Sarah O'Connor|James Whitfield|Maria Gonzalez|Liam Murphy|Priya Raman|Robert J. Hughes|Emily Carter|Anthony Delgado|Fiona McBride"
    "|Jean-Luc Moreau|Hannah Schmidt|Oluwaseun Adeyemi|Grace Kim|David Rosenberg|Chloe Bennett|Peter van Dijk|Aisha Khan|Thomas Müller"
    "|Rebecca Stone|Marcus Lindqvist|Julia Nowak|Kevin Park|Samantha Brooks|Daniel Okafor|Natalie Fraser|George Papadopoulos|Ingrid Larsen"
    "|Victor Alvarez|Laura Di Stefano|Patrick Doyle|Mei-Ling Tan|Nicholas Grant|Olivia Hart|Henry Caldwell|Zoe Mitchell|Frank Castellano"
    "|Yuki Tanaka|Benjamin Clarke|Isabel Ferreira|Walter Novak"
).split("|")
PINYIN = (
    "Zhang Wei|Li Na|Wang Xiaoming|Chen Jianguo|Liu Yifei|Zhao Min|Huang Wenbo|Zhou Yating|Wu Guoqiang|Sun Haoran|Lin Xiaoyan|He Zhiyuan"
    "|Ouyang Jing|Guo Tingting|Xu Li"
).split("|")
ADDRESSES = (
    "上海市浦东新区张杨路500号华润时代广场12楼|北京市朝阳区望京西园四区410号楼2单元1503室|广东省深圳市南山区科技园南路18号A座701|杭州市西湖区文三路478号"
    "|江苏省苏州市工业园区星湖街328号创意产业园5栋3层|成都市武侯区天府大道北段1700号|湖北省武汉市洪山区珞喻路129号5栋2单元302室|天津市和平区南京路108号"
    "|山东省青岛市市南区香港中路76号颐中假日酒店旁3号楼402|重庆市渝北区龙溪街道新牌坊一路99号附6号|陕西省西安市雁塔区小寨东路3号万达公寓1单元2201"
    "|浙江省宁波市鄞州区首南街道天童南路666号|湖南省长沙县星沙街道板仓路12号阳光小区6栋1单元501|福建省厦门市思明区湖滨南路90号立信广场23层|河南省郑州市金水区花园路39号院7号楼5单元16号"
    "|内蒙古自治区呼和浩特市赛罕区大学东街235号|云南省昆明市盘龙区北京路延长线金江小区12幢3单元602号|江西省南昌县莲塘镇向阳村3组28号|河北省石家庄市长安区中山东路158号"
    "|黑龙江省哈尔滨市南岗区红军街25号|朝阳区建国路93号万达广场8号楼1905|浦东新区世纪大道1568号27楼|天河区体育西路103号维多利广场B塔2104室|安徽省阜阳市颍上县慎城镇解放北路17号"
    "|新疆维吾尔自治区乌鲁木齐市天山区解放南路46号|海淀区中关村大街27号1201室|徐汇区漕溪北路88号圣爱广场1106室|贵州省遵义市播州区鸭溪镇金钟村委会旁"
).split("|")
STREETS = (
    "221 Baker Street, London NW1 6XE|1420 Maple Avenue, Apt 4B, Springfield, IL 62704|77 Massachusetts Ave, Cambridge, MA 02139|18 Rue de la"
    " Paix, 75002 Paris|Flat 3, 12 Queen's Road, Bristol BS8 1QE|9 Elm Court, Dublin 4|350 Fifth Avenue, Suite 3300, New York, NY 10118|Hauptstraße"
    " 25, 10827 Berlin|56 George Street, Sydney NSW 2000|2100 Pine Hill Road, Austin, TX 78701|P.O. Box 1182, Boulder, CO 80306|4 Orchard Lane, York"
    " YO1 7HH|88 Nathan Road, Tsim Sha Tsui, Kowloon|1600 Riverside Drive Unit 12, Portland, OR 97204|31 Harbour View, Galway H91 X2Y3|742 Evergreen"
    " Terrace, Springfield, OR 97477|25 Church Street, Suite 400, Toronto, ON M5E 1W7|10 Park Place, Edinburgh EH1 1AA|5 Old Mill Rd., Concord, NH"
    " 03301|1215 Wilson Blvd, Arlington, VA 22209|63 Kingsway, London WC2B 6TE|900 North Michigan Avenue, Chicago, IL 60611|17 Station Parade, Harrogate"
).split("|")
_AREAS = (
    "110105",
    "310115",
    "440305",
    "330106",
    "320508",
    "510107",
    "420111",
    "370202",
    "500112",
    "610113",
    "430121",
    "350203",
)
_ONES = ("138", "139", "136", "150", "158", "186", "188", "177", "199", "133", "131", "185")
_MAIL_HOSTS = (
    "example.com",
    "163.com",
    "qq.com",
    "gmail.com",
    "outlook.com",
    "mail.example.org",
    "foxmail.com",
    "company.cn",
)
_CITY_CODES = (("010", 8), ("021", 8), ("0755", 8), ("0571", 8), ("020", 8), ("0512", 8), ("0991", 7), ("0851", 8))
_PLATES = "京沪粤浙苏川鄂鲁渝陕湘闽"


class People:
    """Makes values; the same seed makes the same ones. `makers`: other values for single letters of fields."""

    def __init__(self, seed: int, makers: Mapping[str, Callable[[random.Random], str]] | None = None) -> None:
        self._random, self._makers = random.Random(seed), {**MAKERS, **(makers or {})}

    def fill(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        """A text with its fields filled, and each value with its class."""
        made: dict[str, str] = {}
        for field in dict.fromkeys(_FIELD.findall(text)):
            value = self._makers[field[0]](self._random)
            while value in made.values():
                value = self._makers[field[0]](self._random)
            made[field] = value
        return text.format(**made), [(CLASSES[field[0]], value) for field, value in made.items()]


def _digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choice(string.digits) for _ in range(count))


def _luhn(body: str) -> str:
    total = sum(sum(divmod(int(d) * 2, 10)) if at % 2 == 0 else int(d) for at, d in enumerate(reversed(body)))
    return body + str(-total % 10)


def _card(chance: random.Random) -> str:
    body = chance.choice(("622848", "621700", "622202", "621483")) + _digits(chance, 12)
    number = (
        _luhn(body) if chance.random() < 0.6 else _luhn(chance.choice(("4532", "5412", "6225")) + _digits(chance, 11))
    )
    way = chance.random()
    return number if way < 0.6 else " ".join(number[at : at + 4] for at in range(0, len(number), 4))


def _identity(chance: random.Random) -> str:
    born = f"{chance.randint(1955, 2004)}{chance.randint(1, 12):02}{chance.randint(1, 28):02}"
    body = chance.choice(_AREAS) + born + _digits(chance, 3)
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return body + "10X98765432"[sum(int(d) * w for d, w in zip(body, weights, strict=True)) % 11]


def _mobile(chance: random.Random) -> str:
    head, middle, tail = chance.choice(_ONES), _digits(chance, 4), _digits(chance, 4)
    way = chance.random()
    if way < 0.65:
        return head + middle + tail
    return f"{head} {middle} {tail}" if way < 0.82 else f"{head}-{middle}-{tail}"


def _landline(chance: random.Random) -> str:
    code, length = chance.choice(_CITY_CODES)
    number = chance.choice("2345678") + _digits(chance, length - 1)
    return chance.choice(
        (f"{code}-{number}", f"({code}){number}", f"{code} {number}", f"{code}-{number}转{_digits(chance, 3)}")
    )


def _american(chance: random.Random) -> str:
    area, middle, tail = (
        chance.choice(("212", "415", "617", "312", "503", "720")),
        f"{chance.randint(2, 9)}{_digits(chance, 2)}",
        _digits(chance, 4),
    )
    return chance.choice(
        (
            f"({area}) {middle}-{tail}",
            f"{area}-{middle}-{tail}",
            f"+1 {area} {middle} {tail}",
            f"{area}.{middle}.{tail}",
            f"+1-{area}-{middle}-{tail}",
        )
    )


def _mail(chance: random.Random) -> str:
    first, last = (
        chance.choice("sarah james maria liam priya emily weizhang lina chenjg yangyang".split()),
        chance.choice("oconnor hughes li wang carter moreau".split()),
    )
    local = chance.choice(
        (f"{first}.{last}", f"{first}{_digits(chance, 3)}", f"{first[0]}{last}", f"{first}_{last}", f"{first}-{last}")
    )
    return f"{local}@{chance.choice(_MAIL_HOSTS)}"


def _iban(chance: random.Random) -> str:
    country, bban = chance.choice(
        (
            ("DE", _digits(chance, 18)),
            ("GB", "NWBK" + _digits(chance, 14)),
            ("FR", _digits(chance, 23)),
            ("NL", "ABNA" + _digits(chance, 10)),
        )
    )
    whole = "".join(str(int(c, 36)) for c in bban + country + "00")
    made = f"{country}{98 - int(whole) % 97:02}{bban}"
    return made if chance.random() < 0.5 else " ".join(made[at : at + 4] for at in range(0, len(made), 4))


def _password(chance: random.Random) -> str:
    return chance.choice(
        (
            "".join(chance.choice(string.ascii_letters + string.digits) for _ in range(12)),
            f"{chance.choice(('Spring', 'Tiger', 'Harbor', 'Qwert', 'wenjian'))}{chance.choice('@!#')}{_digits(chance, 4)}",
            f"{chance.choice(('correct', 'purple', 'hello'))}-{chance.choice(('horse', 'monkey', 'staple'))}-{_digits(chance, 2)}",
        )
    )


def _key(chance: random.Random) -> str:
    letters = string.ascii_letters + string.digits
    return chance.choice(("sk-", "ghp_", "AKIA", "", "wy_")) + "".join(chance.choice(letters) for _ in range(32))


def _passport(chance: random.Random) -> str:
    return chance.choice("EG") + _digits(chance, 8)


def _plate(chance: random.Random) -> str:
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    body = "".join(chance.choice(letters + string.digits) for _ in range(4)) + chance.choice(string.digits)
    dot = chance.choice(("", "", "·"))
    return f"{chance.choice(_PLATES)}{chance.choice('ABCDE')}{dot}{body}"


def _messenger(chance: random.Random) -> str:
    return chance.choice(("lee_", "xiaoyu", "wx-", "sunny")) + _digits(chance, 5)


def _social(chance: random.Random) -> str:
    return f"{chance.randint(101, 665)}-{chance.randint(10, 99)}-{chance.randint(1000, 9999)}"


CLASSES = {
    "n": "names, Chinese", "e": "names, English", "p": "names, Pinyin", "a": "addresses, Chinese", "b": "addresses, English", "m": "mobile",
    "l": "landline", "u": "US telephone", "x": "e-mail", "i": "identity number", "c": "card", "h": "passport", "q": "plate",
    "w": "messenger", "s": "password", "t": "key", "o": "IBAN", "z": "SSN",
    "f": "names, Traditional", "g": "addresses, Traditional", "r": "names, Pinyin", "k": "password in Chinese",
}  # fmt: skip
MAKERS: dict[str, Callable[[random.Random], str]] = {
    "n": lambda chance: chance.choice(NAMES), "e": lambda chance: chance.choice(ENGLISH), "p": lambda chance: chance.choice(PINYIN),
    "a": lambda chance: chance.choice(ADDRESSES), "b": lambda chance: chance.choice(STREETS), "m": _mobile, "l": _landline, "u": _american,
    "x": _mail, "i": _identity, "c": _card, "h": _passport, "q": _plate, "w": _messenger, "s": _password, "t": _key, "o": _iban, "z": _social,
}  # fmt: skip
