"""Redaction rules for foreign names in Chinese characters: 约翰·马吉, and 史密斯 beside what somebody is called or does.

They are written with a few hundred characters that stand for sounds. A dot between two groups of these makes a name. Without one, places and firms are
written so as well (莫斯科, 西门子): there a form of address, a role or speech must stand beside it.
"""

from __future__ import annotations

import re

from wenyuan.core.redaction.commonness import rarity
from wenyuan.core.redaction.matching import IN_HAN, Rule, Span
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

_SOUNDS = (
    "阿埃艾爱安昂奥巴白班邦保鲍贝本比彼毕宾冰波博伯布勃查察昌茨聪达戴丹当道德登邓迪蒂第丁东杜敦顿多厄恩尔法凡范方菲费芬丰冯佛弗福夫富盖甘冈高戈格葛根贡古瓜圭哈海汉翰豪赫黑亨洪侯胡华怀惠霍基吉季加贾"
    "简江杰捷金津京久居喀卡凯坎康考柯科克肯孔寇库夸奎昆拉莱赖兰蓝朗劳勒雷蕾黎里理利莉丽立莲廉列林琳龙隆娄楼卢鲁路露伦罗洛吕马玛麦迈曼芒毛茂梅门蒙孟米密妙明摩莫墨默姆木穆纳娜乃奈南内尼妮涅宁纽农努诺女欧帕"
    "派潘庞培佩彭蓬皮匹平珀坡普齐奇契恰强乔切钦琼丘裘屈让热仁日荣茹儒瑞若撒萨塞赛桑瑟森沙莎山珊商尚邵绍舍申沈生圣盛施诗石史士什舒朔司丝斯思松苏索塔台泰坦汤唐陶特滕提田廷通图土托陀脱瓦万旺威韦维魏温文翁沃"
    "乌吴伍武西希锡席喜霞夏香向肖谢辛欣兴雄休修许逊雅亚延雁扬杨耶叶伊依易因英永尤有于雨约云扎赞泽曾增詹张章珍真芝志治朱珠竹祖卓兹子宗佐迦茵薇黛娅婕娃芙蓓妲琪茜贞晋次丹旦措央巴嘉措卓玛桑吉扎仁历大卫求陈孙郭宝天沛旺铁乌才郎爵木"
)
_SOUND = "".join(sorted(set(_SOUNDS)))
_TELLING = frozenset("尔斯特德克夫姆顿森娜莎丽妮诺拉卡洛弗奥维茨兹埃蒂迪萨塞泽罗勒鲁科基比格赫娅黛薇芬恩穆吉")
_DOT = "[·•・‧∙⋅]"
_UYGHUR = "买吐麦逊孜肉汗合江木帕比不都则甫卜提"  # sounds of Uyghur and Kazakh names, which are words elsewhere
_DOTTED = re.compile(rf"[{_SOUND}{_UYGHUR}]{{1,7}}(?:{_DOT}[{_SOUND}{_UYGHUR}A-Z]{{1,7}}){{1,3}}(?!{_DOT}|》|」)")
_OF_A_BOOK = re.compile(r"[《「『][^》」』\n]{0,12}\Z")
_CALLED = "先生|女士|小姐|太太|夫人|博士|教授|医生|老师|牧师|神父|总统|总理|首相|主席|部长|外长|国务卿|大使|议员|议长|市长|州长|将军|上将|中将|少将|院士|总裁|总监|经理|工程师|教练|律师|法官"
_SPEAKS = r"告诉|[笑也还又]?说[,，::：“\"]|[笑回]答|表示[,，:：]|认为[,，]|指出[,，:：]|回忆(?:说|道)|来信|来电|签字|签名|签署|发来邮件|回复(?:说|邮件)|于[0-9]{1,4}[年月]入职|入职|离职"
_ROLES = "总统|总理|首相|国务卿|外长|部长|大使|参赞|主席|总裁|总监|董事|经理|主管|工程师|专家|顾问|外教|教授|博士|医生|律师|教练|外援|球员|选手|记者|作家|诗人|画家|导演|演员|客户|同事|联系人|代表|候选人|发言人|负责人|先生|女士|名叫"
_ALONE = re.compile(rf"[{_SOUND}](?<!{_DOT}.)[{_SOUND}]{{1,6}}(?!{_DOT})")
_BEHIND = re.compile(rf"(?:{_CALLED})(?![团队会])|(?:{_SPEAKS})")
_BEFORE = re.compile(rf"(?:{_ROLES})[ :：]{{0,2}}\Z")
_EDGE = re.compile(rf"[^{HAN}]|\Z|(?:{_SPEAKS}|[于在对将已和与及、的])")
_A_WORD = 2.6  # see `rarity`
_PLACES = frozenset(
    """华盛顿 莫斯科 西门子 摩托罗拉 麦当劳 肯德基 奥迪 波音 诺基亚 索尼 佳能 尼康 本田 丰田 宝马 奔驰 爱立信 思科 戴尔 英特尔 微软 谷歌 亚马逊 特斯拉 沃尔玛 家乐福 欧莱雅 雀巢 可口可乐 阿里巴巴 加拿大 意大利 澳大利亚 俄罗斯 乌克兰
    巴西 墨西哥 阿根廷 西班牙 葡萄牙 马来西亚 新加坡 菲律宾 印度尼西亚 哈萨克斯坦 土耳其 以色列 伊拉克 巴基斯坦 孟加拉 斯里兰卡 南斯拉夫 格鲁吉亚 华盛顿 柏林 伦敦 巴黎 罗马 纽约 洛杉矶 芝加哥 法兰克福 慕尼黑 阿姆斯特丹 布鲁塞尔 日内瓦 苏黎世 维也纳 悉尼 墨尔本
    内蒙古 乌鲁木齐 哈尔滨 齐齐哈尔 呼和浩特 石家庄 马克思 列宁 斯大林 诺贝尔 奥林匹克 奥斯卡 马拉松 巴士 吉他 沙发""".split()
)


def _from(text: str, start: int, end: int) -> int:
    """Where a name begins in a run of sounds: behind the last word of general text that reaches into it (总理|安格拉)."""
    for at in range(min(end - 1, start + 3), start - 1, -1):
        if at and rarity(text[at - 1 : at + 1]) < _A_WORD and at + 1 < end and at <= start + 2:
            return at + 1
    return start


def _dotted(view: TextView, match: re.Match[str]) -> Span | None:
    text, start = view.text, match.start()
    if _OF_A_BOOK.search(text, max(0, start - 13), start):
        return None
    dot = re.compile(_DOT).search(match[0])
    first = start + dot.start() if dot else match.end()
    begin = _from(text, start, first) if first - start > 1 else start
    name = text[begin : match.end()]
    sounds = sum(c in _TELLING or c in _UYGHUR[:6] for c in name)
    letters = sum(c in _SOUND or c in _UYGHUR for c in name)
    if letters < 3 or not sounds:
        return None
    return begin, match.end(), name


def _beside_a_role(view: TextView, match: re.Match[str]) -> Span | None:
    """Three to seven sounds that fill the place between a role and what somebody does, or before a form of address."""
    text = view.text
    for end in range(match.end(), match.start() + 2, -1):
        behind = _BEHIND.match(text, end)
        if behind is None and not _EDGE.match(text, end):
            continue
        for start in range(match.start(), end - 2):
            name = text[start:end]
            if name in _PLACES or sum(c in _TELLING for c in name) * 2 < len(name) - 1:
                continue
            before = _BEFORE.search(text, max(0, start - 6), start)
            begins = start == 0 or not re.match(f"[{HAN}]", text[start - 1])
            if before or (behind and (begins or rarity(text[start - 1 : start + 1]) >= 4.5)):
                return start, end, name
        if behind:
            return None
    return None


RULES = (
    Rule("person", _DOTTED, _dotted, needs=("·", "•", "・", "‧", "∙", "⋅"), written=True),
    Rule("person", _ALONE, _beside_a_role, signs=IN_HAN, written=True),
)
