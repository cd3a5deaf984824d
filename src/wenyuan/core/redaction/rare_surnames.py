"""Surnames by how surely a character is one: what stands between 老 or 小 and a clause's end, or before a title."""

from __future__ import annotations

from wenyuan.core.redaction.names import AMBIGUOUS, SINGLE

COMMON = "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董袁邓许傅沈彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田姜范姚谭廖邹熊陆郝孔崔邱秦江侯邵孟段汤尹黎乔贺赖龚"
LESS_COMMON = (
    "马高曾程钱金石白史方康毛雷龙万常武洪温严施文牛葛俞章鲁翁岑柯庄倪殷霍兰岳齐尤甘庞游伍芦关骆滕祝柴耿聂焦裴靳"
)
_WORDS = frozenset(
    "丰乌习井仰仲伯元冷劳勾华卓危吉喻墨季宗宣宫宰宿寇寿尚屈屠左巨巩巴席弓弘怀惠慎慕戈戎敖昌晋景暴曲束松柏柳桂桑梅楚毕池沃沙浦涂湛滑燕牧班琴皮盖盛祖秋童符米粟索纪羊羿胥舒艾苍苗茅荆荣莫蒙蓝蓬薄融衡谈谷"
    "贝贡费赏辛迟郎阴隆雍韶项鱼麦麻良禄伊牟晏揭幸芮哈逢顾饶穆窦竺毋於邢管朴漆尉尧檀菅肇冉景盖战伊路房时花云水车熊江河林古老小大双两男位左右今"
)
_RARE = SINGLE - AMBIGUOUS - {*COMMON, *LESS_COMMON, "籍"}
SURE = "".join(sorted(_RARE - _WORDS))
"""Rare ones that are hardly a word: 佟, 佘, 亓."""
WORDS = "".join(
    sorted(
        (_RARE & _WORDS)
        | (AMBIGUOUS - {*COMMON, *LESS_COMMON, *"应于和都能有时从通后别全经法相权向国公广成包给双年代但步"})
    )
)
"""Rare ones that are words as well: 修, 来, 揭."""
