"""Redaction rules for Chinese names by all that speaks for one and against it, whatever the sentence.

A surname with one or two characters that given names are made of is a candidate. How often general text has its pairs of
characters tells whether it is a word (高兴, 安全), whether it goes on beyond its ends (王府井), and whether a word begins
behind it (出差). What stands before and behind it counts, too. The points are summed; what reaches `ENOUGH` is a name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from wenyuan.core.redaction.commonness import rarity
from wenyuan.core.redaction.matching import IN_HAN, Rule, Span
from wenyuan.core.redaction.names import AMBIGUOUS, DOUBLE, NOT_GIVEN, NOT_NAMES, SINGLE, surname_length
from wenyuan.core.redaction.text_view import OPAQUE, TextView
from wenyuan.core.scoring.word_frequencies import pairs
from wenyuan.core.text.folding import HAN

ENOUGH = 3.0
"""Points; each piece of evidence below gives or takes up to two."""

_FREQUENT = frozenset(
    "高于方万易安向"
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖"
    "邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段钱汤尹黎易常武乔贺赖龚文肖闫覃柯耿鲁莫涂裴祁翟岑"
)
# What given names are made of; the first ones are seldom part of another word.
_TELLING = frozenset(
    "芳娜敏静丽艳娟莉琳婷雯倩颖蕾薇琪瑶瑾璐莹莺媛娅妮婕姗姝娴婉嫣怡悦欣馨妍萱蓉蕊菲菁芸茜莲桂兰梅菊萍燕霞玲珍珠珊琴瑛琼凤鸾雅洁淑慧惠秀娥"
    "伟强磊军勇涛超刚杰鹏浩宇轩昊晨晟睿泽梓涵瑞皓煜炜烨焱鑫森彬斌斐恺凯嘉俊豪毅骏骁骞翔翰瀚帆岚峰岩岳峻嵩崇栋梁楠柏桐桦榕槿辰旭昱晖晗晔暄曦"
    "智博哲诚轲坤乾贤彦彪虎辉耀炳焕煊灿炎熙琦琛琨玮珂珏璇璋瑜琰翊翎羽羿冉冰凌淼润浚涵淇渊澜潇沁沛泓洋洵浦滨漪霖霄雪霏霆雷震雯露宏弘弢庆康廉"
    "锋钧铭铮锐锦镇钰铖鸣鸿鹤鹃鹭骥骊韬韵颢馥祥祺禄祯祎稷穆颂赫逸邦郁阳隽雄靖飒驰麒麟黛懿恒恬忠恩惟愉慈憬懋敬勋劲励劭升卓协奎奕奇姣尧屹"
    "岐峥嵘川巍帅庭延廷彤彰征律徽忻恕悟意愫愿戎拓振捷捷掣晏晶朔朗杉枫柔柯栩桓梵棋棠楚榆樱檀歆殊汐沐沫泊泉津洛洲浔润涓淞清渝湘湛溢溪滢漫"
    "澄濡灵煦燃爽牧犀狄玄玉玟珩珞琅琬瑄瑗璟璞瓒甫畅畴皎盈盛睦瞳砚硕磐礼祖福禹秋秦稼竹笑筠箫纬纯绮维绪绫缘罡群翀聪肃舒良艺芊芝芮芷苑苒苓若茂"
    "茗茵荃荣荷莎莞菡萌蓓蔚蔓薪藜藿蘅虹裕詹誉诗诺谦谨豫贝贵赞超跃轶迎远迪逊遥遵邑郡酉采野钊铠锴闯阔雁霁青韶颀颜飞馨骅魁翠楷"
)
_ORDINARY = frozenset(
    "小波然仙佑冠杨梦依亦以之心若如言曲洋宇溪桃杏花鸟雁萌晴阳玥诺伊辛可晚安歌诗语念思忆初夏秋冬春暖星月华国建明文志平春东生民新立成永光德兴海林红云金玉学义正元世家安荣胜利宝长富友仁才仲传伯余佳依俐信修健元先光兆全兵再冬凡刘利力功加勤化千升"
    "南占卫印双可向君启吉和咏喜善四土圣地城培堂增士夏大天太央夫奇好如妹姐子存孝孟季学守宗宜宝宣宽容宾富寒少尚山巧川己希常平年幸应庚建开弓引弟"
    "彩心思恒悦情成才扬承拥拴振掌攀改放政敏教斗方日旺昌明易星春昭景晓普曼月朋木本权来松果枝柱柳树根格桃检楼欢正步殿毓水汉汝江池汇河治泰洪派济流"
    "浪涌淳深添渭温源满滔滕火灯炼烈照燕爱牛献玫环现球理生田甲申男留略百白益直相真石祝社福科程秉秋积稳立章端竞笛策纪红纲练细经结绍继续缨罗美群耕"
    "联育胜能腾自至致航船节芬芹苏英范荔莫萃葆蒙蓝藏行衡西见观言计训识诚详语课谊谷贞财贤贯赐起超路轮辅辉达运进连道逢通遇道郎都里重量金银锁锡长门"
    "闻队阁防际院陶陵隆雨雷霜静非革顺须领风香马驹骄高魏鱼鲁鲜黄齐龙坚奋豪宁宪一丁三九二五七万中丹乐乔九书亚京亮人付代令任份众优会伦似伍位佐体"
)
# What a given name may begin with, though other words do more often.
_POSSIBLE = frozenset(
    "寿岭旗儿时为敷必在广臻复昕有亿桥法慎稔素赤作同佩珮繁肇克镕铁求赣丕聚研衍慕允甬显原挺侠寅笃沣侃儒兢冶凝勃厚叔召吟呈品唯啸坦垒垚域墨妙娆媚宓岱岸崎忱怀惜"
    "攸效敢敦斯旻昂昆映晒晰暖朴枚桢棣椿楷槐横歌比毕汀沂沧潭潮湃湖滋演漾澍濂瀛炫炬炯烽焰爵献玖珅珑珣琎琏琥瑭瑷璁璠瓯疆皑盟盾眉瞻矩础碧祎祗禧竣竺筱紫纪缙"
    "羚翁耘聆胤脉臣舜芃芙芦荆荻莱菱葳葵蒲蓁蓬蕙蕴融衷裳览觉诏诠谋谱象赋辞迅迢逾遐邈酌里铃铎锟镜闲闵隅隐集雍颐驿骐鲲鸥鸽鹰麾麦鼎龄多"
)
_LISTED = _TELLING | _ORDINARY
_UNLISTED = 0.8

# Who does or is something: what may stand right before a name.
SPEAKS_BEFORE = re.compile(
    r"(?:[由与和跟给让请找问叫把被经据向对据听替同为、@是派托陪扶]|感谢|谢谢|恭喜|祝贺|祝|咨询|联系|通知|转告|告诉|转给|交给|换成了?|接替|代替|欢迎|邀请|委托|推荐|任命|聘任|提拔|表彰|批评|采访|拜访|看望|认识|"
    r"[人员长师工生者友代客官患][:是为]?|配偶|新来的|转发自|来自|证明|经理|主任|主管|总监|财务|会计|出纳|秘书|助理|司机|客户|用户|同事|同学|学生|老师|导师|医生|患者|死者|伤者|职工|员工|教练|户名|姓名|中文名|英文名|真名|作者|创建|提交|处理|跟进|发送|抄送|名单|负责|收件|寄|收|"
    r"爸|妈|哥|姐|弟|妹|爷|奶|叔|姨|舅|夫|妻|子|女儿|本人|同意[。.]?|已与|经办|甲方|乙方|当事人|原告|被告|外号|绰号|网名|人称)[ (:：“\"]{0,3}\Z"
)
# What persons do and are, right behind a name.
SPEAKS_BEHIND = re.compile(
    r"[ ]?(?:[(,]?[ ]?(?:男|女|汉族|财务|法务|人事|采购|销售|技术|运营|外号|绰号|花名|人称|系|亲启|收)|先生|女士|小姐|同志|同学|老师|师傅|医生|大夫|教授|博士|律师|经理|主任|主管|总监|院长|校长|局长|处长|科长|厂长|队长|班长|书记|主席|总裁"
    r"|说|称|讲|问|答|回(?:答|复|来|家|电|国|信)|叫|想|要|去|来|在|到|等|写|做|买|卖|吃|喝|睡|打|拿|带|帮|找|请|让|发|收|看|听|住|病|死|伤|生|嫁|娶|哭|笑|骂|吵|跑|走|站|坐"
    r"|翻译|介绍|带队|讲解|发言|单独|共同|分别|亲自|主动|答应|转账|[上下本这]周|[上下本]个?月|也|都|还|又|就|才|不|没|未|已|曾|将|会|能|可|刚|正|昨|今|明|早|晚|前|后|提|交|签|批|审|负责|主持|记录|主讲|汇报|通报|补充|牵头|陪同|值班|保管|维护|审核|复核|不再|垫付|担任|出|离|入|辞|转|退|休|请|怀孕|生日|因|于|与|和|跟|同|及|、|为|是|有|的|把|被|给|对|向|从|受|获|荣|通|联|商|谈|点|看|手|腿|头|身|见|约|聊|合|面谈|面试|开会|会面|沟通|对接|登录|反映|回忆|留|接|完成|处理|修|整)"
)
# What nobody but persons are and do, right before and behind a name.
_PERSON_BEFORE = re.compile(
    r"(?:记者|通讯员|摄影|撰文|编辑|作者|译者|主编|主讲|讲师|教练|选手|队员|演员|导演|作家|诗人|画家|院士|烈士|战士|民警|村民|居民|学员|店主|名叫|妻子|丈夫|儿子|女儿|父亲|母亲|董事长|总经理|副总|总书记|总理|总统|外长|大使|副部长|副市长)[ :：]?\Z"
)
_PERSON_BEHIND = re.compile(
    r"(?:先生|女士|同志|同学|老师|师傅|医生|护士|律师|教授|博士|院士|老人|烈士|总理|主席|总统|总书记|将军|元帅|部长|省长|市长|大使|委员)(?![会团们])|(?:认为|指出|表示|强调|坦言|感叹|回忆|透露)[,，:：说道]|(?:介绍|解释|补充|反映)说|说[,，:：“]|笑着|哭着|告诉(?:记者|我)"
)
_OF_A_LINE = re.compile(r"(?:\A|\n)[ ]{0,2}(?:[\-*•+][ ]?)?(?:\[[ x√✓]?\][ ])?\Z")
# What follows a name that begins a clause, in a list of persons: with it any two characters behind a surname are a name.
_PRESENTED = re.compile(
    r"(?:先生|女士)|[ ]?[(,:，：（]?[ ]?(?:[男女](?:[,，;；。、 )]|\Z)|(?:中国|[^\s,，]{1,3})(?:国)籍|[汉满回藏壮苗]族|(?:19|20)[0-9]{2}年(?:[0-9]{1,2}月)?(?:[0-9]{1,2}日)?(?:出生|生)|[0-9]{1,2}岁|出生于|生于|毕业于)"
)
_CLAUSE = re.compile(r"(?:\A|[\n,.;:，。；：、!?|（(]) {0,4}\Z")
_EDGES = frozenset(" \n\t,.;:!?()[]<>{}|/\\\"'“”‘’「」『』《》【】，。；：！？、（）…—-–~*_#=+@`&")
# Surnames that are words of grammar: hardly a name where nothing speaks for one.
_GRAMMAR = frozenset("和有后方向从经须能时于都别相应当全通项权终但及并为可将被把对由与")
_NO_WORD_BEGINS = frozenset("刘赵吴徐郭冯邓蒋蔡吕姚卢崔谭邹邱薛闫龚邵覃郝尹廖魏潘袁彭曹贾侯韦肖詹李杜孟")
_OF_NAMES = 0.5
"""Points of a surname that begins hardly any word, with whatever character."""
# What names of places and things end in, and what makes one of them of a name before it.
_PLACES = "路街道区站市县镇乡村省湖山河江海港岛寺庙院馆楼苑科属奖传国军线号权类法案地财物品机器车船病率量费价款证章图表书店厂局部处组队会社行校站池层值化性式型"
_THING = re.compile(rf"[{HAN}]{{1,3}}[{_PLACES}]\Z(?<![江海山河传军国品机书道行])")
# Words that general text hardly has, and names hardly begin with.
_WORDS = frozenset(
    """水行 林木 林地 陆生 陆源 迟延 索道 计生 计征 计民 易燃 易爆 易行 查清 冷藏 有立 有纪 有道 有文 第五 金存 金领 金和 金加 申领 强令 强震 容留 容教 许诺 储运 江河 苗木 养水 养育 边检 边海 公信 公积 公益 公德
    高水 高质 高风 高毒 高残 高腐 高亮 哈希 董事 籍贯 华晨 华夏 常宁 年起 石河 金牛 万份 万豪 许愿 牧马 季军 高富 高通 平常 高架 高温 高压 高空 高频 高清 全流 全程 国计 康乐 康养 单采 严相 严防 爱科 爱祖 爱劳 红树 班轮 商誉 商品 麻风 麻疹 麻醉 施策 付清 付汇 融通 明信 明细 游乐 古石 石刻 金刚
    白云 白喉 余火 费中 费和 费日 危重 危大 危房 水情 水源 石开 石漠 石流 井道 路缘 路畅 洪防 防洪 车船 涂改 涂放 通运 云计 仲裁 包虫 霍乱 曾任 林和 程和 纪律 纪检 范遵 范意 文档 段中 项中 储备 勾引 廉洁
    宿生 平强 年终 终加 后台 温控 钱包 项目 阳台 水印 路由 关机 宁小 宁中 宁大 谷小 谷大 谷中 齐小 齐中 沙中 沙小 沙大 万日 万枚 万国 万里 万之 万念 万林 万农 万富 万升 高达 曾在 年仅 年好 年民 年宝 年路 年中 游艺 云亦 云贵 龙化 龙摆 马平 马观 那灯 那连 和强 和长 和赞 国重 国承 国书 成富 成教 严治 司空 苟言 任自 甘共 言万 温化 贺辞 祝同 宋同 祝九
    文莱 谢意 谈艺 谈生 束鲜 尚方 尚阳 尚光 水南 强军 通水 通情 家谱 路远 路大 单数 田野 田协 牛群 牛队 江防 江之 暴风 史哲 师重 花安 花似 时三 高原 高楼 高国 高致 程清 费城 唐乐 齐步 游程 游向 林科 林海 封山 解进 红黄 白金 黄洋 乌龙 秋日 车开 牧牛 占为 程队 马逊 高延 苏泊 周大福 张裕 易燃易 林果业 红新月 高瞻远 别名 解锁 时效 解码 应答 成绩 农药 牛羊 鱼虾 谷物 花卉 井然 范儿 葛仙 祝好 祝商 祝安 祝顺 李子 杜绝 杜鹃 杜撰 杜松 孟加 李逵 苗圃 麻将 昌盛 敬之 敬意 敬请 敬启 敬上 母本 母线 母版 母材 朴素 朴实 朴民 修建 修缮 鹿茸 漆包 米粉 水果 景点 石化""".split()
)
_SELDOM = frozenset("会有为时在向本法章同证可")
_NEVER = NOT_GIVEN - _SELDOM
# A name in the name of a firm, and 任 as what somebody was.
_OF_A_FIRM = re.compile(
    r"[^\s,.;:()，。；：、（）的]{0,2}(?:公司|集团|股份|有限|科技|实业|投资|国际|证券|银行(?![卡账])|大学(?!毕业)|学院|医院|中学|小学(?!生)|酒店|宾馆|基金|电子(?!邮)|生物|制药|汽车|会计师|律师事务|杂志|出版社|建设|化工|新材|石化|电气|纺织)"
)
_HELD = re.compile(r"(?:[曾现历担兼出主继连聘责信]|[月年起日,，、; ])\Z")
_GOES_ON = frozenset("和之以中其日地上下非后前内外只全各")
_OF_A_PLACE = re.compile(r"[路街道区站市县镇乡村省湖寺庙院馆苑奖](?![上里走过说，。])")


def is_worded(name: str, surname: int) -> bool:
    """Whether its characters are words that general text is full of: 法规定, 谈情况."""
    if surname > 1:
        return False
    given = rarity(name[1:]) if len(name) > surname + 1 else 6.0
    return name[:2] in _WORDS or rarity(name[:2]) < 1.3 or given < (0.8 if name[0] in _FREQUENT else 2.0)


def _of_surname(surname: str) -> float:
    if len(surname) > 1:
        return 1.5
    if surname in _GRAMMAR:
        return -1.0
    return (1.0 if surname in _FREQUENT else 0.4) - (0.6 if surname in AMBIGUOUS else 0.0)


def _of_given(c: str) -> float:
    return 0.9 if c in _TELLING else 0.3 if c in _ORDINARY else 0.0 if c in _POSSIBLE else -_UNLISTED


def _of_pair(pair: str) -> float:
    """What a surname's last character and the next say: general text has 刘华 for its names alone, 张开 as a word."""
    least = _OF_NAMES if pair[0] in _NO_WORD_BEGINS else -2.5
    return max(least, min(1.0, (rarity(pair) - 4.0) * 0.6))


@lru_cache(maxsize=131_072)
def _beginning(run: str) -> tuple[tuple[int, float], ...]:
    """How long names may be that begin with these characters, the longer first, and their points by themselves."""
    surname = surname_length(run)
    names = (
        run[: surname + given]
        for given in (2, 1)
        if surname + given <= len(run) and _IS_HAN.match(run, surname + given - 1)
    )
    points = ((len(name), _inside(name)) for name in names)
    return tuple(each for each in points if each[1] >= ENOUGH - _MOST_OUTSIDE)


_IS_HAN = re.compile(f"[{HAN}]")


def _inside(name: str) -> float:
    """What the characters of a candidate say for it."""
    surname = surname_length(name)
    given = name[surname:]
    if not surname or not 1 <= len(given) <= 2 or _THING.fullmatch(name) or name in NOT_NAMES or name in _WORDS:
        return -9.0
    if not _NEVER.isdisjoint(given) or (name[0] == "第" and name[1] in "一二三四五六七八九十百"):
        return -9.0
    points = (
        _of_surname(name[:surname])
        + _of_pair(name[surname - 1 : surname + 1])
        + sum(map(_of_given, given)) / len(given)
    )
    if len(given) == 2:
        word = rarity(given)
        points += max(-0.8, min(0.5, (word - 2.5) * 0.3)) + (0.9 if _LISTED.issuperset(given) else 0.3)
        points -= 2.0 if name[:2] in NOT_NAMES or name[:2] in _WORDS else 0.0
        points -= 1.0 if given[0] in "和与及" else 0.0
        if word < 3 and not _TELLING.intersection(given):
            points -= 0.5
        if given[1] in _GOES_ON:
            points -= 1.0
        points -= 0.6 * len(_SELDOM.intersection(given))
    elif surname == 1 and name in pairs() and name[0] not in _NO_WORD_BEGINS:  # a word of general text
        points -= 0.2 if name[0] in _FREQUENT else 0.8
    return points


# What a name fills: the place behind a label and its colon, a day, the number of an item.
_FIELD = re.compile(
    rf"(?:[{HAN})][ ]?[:：]|[0-9][日号][:：]?|(?:周|星期)[一二三四五六日天][:：]?|(?<![0-9])[0-9]{{1,2}}[).、])[ ]{{0,2}}\Z"
)
_EDGE = re.compile(rf"\Z|[^{HAN}A-Za-z0-9%·]")
_OFFICE = re.compile(
    rf"\n[^\n]{{0,14}}(?:总监|经理|工程师|主任|顾问|专员|主管|助理|总裁|董事长?|教授|医[生师]|律师|会计|公司|科技|集团|部)(?![{HAN}])"
)
_FILLS = 0.9
_BEFORE, _BEHIND, _PERSON, _BOTH, _MOST_BEHIND = 0.8, 0.6, 1.3, 0.3, 0.5
_NO_WORD = 4.5  # see `rarity`
_UNTOLD = 0.3
"""Points that a surname that is rare, or a word as well, loses where nothing around it speaks of a person."""
_MOST_OUTSIDE = 2.5
"""Points that what stands around a candidate can give."""


def _before(text: str, start: int) -> float:
    """What stands right before a candidate says for its beginning there."""
    before = text[start - 1 : start] if start else ""
    if not before or before in _EDGES or before.isascii():
        points = 0.5
    else:
        points = max(-1.5, min(0.0, (rarity(before + text[start]) - 4.5) * 0.5))
        if start > 1 and rarity(text[start - 2 : start]) < 4:
            points += 0.3
    if text[start] == "任" and _HELD.search(text, max(0, start - 1), start):
        points -= 1.5
    return points


def _behind(text: str, end: int) -> float:
    """What stands right behind a candidate says for its end there; `_of_another` says what speaks against it."""
    behind = text[end : end + 1]
    if not behind or behind in _EDGES or behind.isascii():
        return 0.5
    points = max(-1.5, min(0.0, (rarity(text[end - 1] + behind) - 4.5) * 0.5))
    if _IS_HAN.match(text, end + 1):
        points += 0.4 if rarity(text[end : end + 2]) < 5 else -0.4
    return points


def _of_another(text: str, end: int) -> float:
    """What is taken off a candidate that the name of a place or a firm begins with."""
    return 1.5 * ((_OF_A_PLACE.match(text, end) is not None) + (_OF_A_FIRM.match(text, end) is not None))


_APART = frozenset({"·", OPAQUE})
"""What no name begins behind or ends before: the dot in a foreign name, and a mark, so that names in a row are not found one by one."""


def _around(text: str, start: int, end: int, points: float) -> float:
    """The points of a candidate at ``[start:end]`` with those of what stands around it."""
    if not _APART.isdisjoint((text[start - 1 : start], text[end : end + 1])):
        return -9.0
    least = ENOUGH - _MOST_OUTSIDE + 1.0
    points += _before(text, start)
    if points < least - _MOST_BEHIND:
        return points
    points += _behind(text, end)
    if points >= least:
        points -= _of_another(text, end)
    if points < least:
        return points
    return points + _spoken(text, start, end, points)


def _spoken(text: str, start: int, end: int, points: float) -> float:
    """What words that speak of persons, right before and behind a candidate of these points, say for it."""
    behind = before = 0.0
    if _PERSON_BEHIND.match(text, end) or _leads_a_line(text, start, end) or _heads_a_card(text, start, end):
        behind = _PERSON
    elif SPEAKS_BEHIND.match(text, end):
        behind = _BEHIND
    if points + behind >= ENOUGH - _PERSON - _BOTH:
        if _PERSON_BEFORE.search(text, max(0, start - 6), start):
            before = _PERSON
        elif SPEAKS_BEFORE.search(text, max(0, start - 6), start):
            before = _BEFORE
        elif (
            (text[start] not in AMBIGUOUS or text[start] in _FREQUENT)
            and _EDGE.match(text, end)
            and _FIELD.search(text, max(0, start - 10), start)
        ):
            before = _FILLS
    if not (behind or before) and (text[start] in AMBIGUOUS or text[start] not in _FREQUENT):
        return -_UNTOLD
    return behind + before + (_BOTH if behind and before else 0.0)


def _heads_a_card(text: str, start: int, end: int) -> bool:
    """Whether a line of its own stands above what somebody is, or where: 许波⏎销售总监."""
    return (
        text[end : end + 1] == "\n" and text[start - 1 : start] in {"", "\n"} and _OFFICE.match(text, end) is not None
    )


def _leads_a_line(text: str, start: int, end: int) -> bool:
    """Whether what is no word stands between the beginning of a line and a colon: *- 欧华：寄样品*."""
    return (
        text[end : end + 1] == ":"
        and rarity(text[start : start + 2]) >= _NO_WORD
        and _OF_A_LINE.search(text, max(0, start - 8), start) is not None
    )


_SURNAMES = "".join(sorted(SINGLE))
_GIVEN = "".join(sorted(_LISTED | _POSSIBLE))
_CANDIDATE = re.compile(rf"[{_SURNAMES}][{_GIVEN}]|(?:{'|'.join(sorted(DOUBLE))})(?=[{HAN}])")


def _name(view: TextView, match: re.Match[str]) -> Span | None:
    """The best name that begins here, if one has enough points."""
    text, start = view.text, match.start()
    best, length = ENOUGH, 0
    for size, inside in _beginning(text[start : start + (_LONGEST if match[0][0] in _OF_TWO else 3)]):
        points = _around(text, start, start + size, inside)
        if points >= best:
            best, length = points, size
    return (start, start + length, text[start : start + length]) if length else None


_ANY = re.compile(
    rf"[{_SURNAMES}](?<![{HAN}·].)[{HAN}]{{1,2}}(?=[ ]?[(,:，：（]?[ ]?(?:先生|女士|[男女中汉满回藏壮苗19出生毕美加日英德法1-9]))"
)


def _presented(view: TextView, match: re.Match[str]) -> Span | None:
    """A surname and any one or two characters between a clause's beginning and what is said of persons first."""
    text, start, end = view.text, match.start(), match.end()
    if not _CLAUSE.search(text, max(0, start - 5), start) or not _PRESENTED.match(text, end):
        return None
    name = match[0]
    if name in NOT_NAMES or name in _WORDS or name[0] in _GRAMMAR or _THING.fullmatch(name) or rarity(name[:2]) < 2.5:
        return None
    return start, end, name


_LISTED_BESIDE = re.compile(
    rf"{OPAQUE}(?:[ ]{{0,2}}(?:[、,/;和与及]|\n(?:[\-*•]|[0-9]{{1,2}}[.、)])?)[ ]{{0,2}}|[ ]{{1,2}})(?P<name>[{HAN}]{{2,4}})(?![{HAN}·A-Za-z0-9])"
)
_BESIDE = 1.0
"""Points inside that a name needs in a list of names, those of a surname that is frequent and any given name that is no word."""


def _beside_a_mark(view: TextView, match: re.Match[str]) -> Span | None:
    """The next of a list in which one was found: 李荣 张建华 高丹."""
    name = match["name"]
    if len(name) > surname_length(name) + 2 or _inside(name) < _BESIDE:
        return None
    return match.start("name"), match.end("name"), name


_OF_TWO, _LONGEST = frozenset(name[0] for name in DOUBLE), 4

RULES = (
    Rule("person", _CANDIDATE, _name, signs=IN_HAN, written=True),
    Rule("person", _ANY, _presented, signs=IN_HAN, written=True),
    Rule("person", _LISTED_BESIDE, _beside_a_mark, needs=(OPAQUE,), written=True),
)
