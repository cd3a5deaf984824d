"""How persons are addressed, 老王, 王工, 李女士, Ms. Li, in 80 shapes of sentences, and 80 innocent sentences with the same words.

    python bench/redaction_addressed.py [--missed] [--apart]

Every second shape and every second innocent sentence is held apart: rules are mended on the others alone, and
``--missed`` shows nothing of these. The forms themselves are halved, too: a shape is filled with those of its own half.
"""

from __future__ import annotations

import argparse
import random
import re

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

# Forms of address; the first half fills the shapes that rules are mended on.
FORMS = {
    "zh": (
        "老王 王工 李女士 小陈 刘总 张师傅 周主任 赵阿姨 孙经理 吴老师 郑医生 钱会计 冯队 陆局 沈老板 韩大姐 欧阳老师 曹科长 蔡大爷 许工程师 丁组长 魏护士 阿强 邓董事长",
        "老李 陈工 王先生 小刘 马总 何师傅 林主任 徐阿姨 朱经理 高老师 罗医生 梁会计 唐队 曾局 彭老板 苏大姐 司马老师 谢科长 宋大爷 潘工程师 方组长 姚护士 阿芳 秦董事长",
    ),
    "en": (
        "Mr. Wang|Ms. Li|Dr. Okafor|Mrs. Lindqvist|Mr Zhao|Miss Novak|Prof. Chen|Madam Lim",
        "Ms. Zhang|Mr. Petrov|Dr. Liu|Mrs. O'Brien|Ms Huang|Mr Haddad|Professor Sato|Sir Patel",
    ),
}
SHAPES = """
这件事你去问{zh}，他最清楚。
{zh}说明天的会改到下午三点。
@{zh} 麻烦把报价单再发一遍
合同已经交给{zh}了。
昨天{zh}来过电话，没人接。
{zh}：收到，马上处理。
会议由{zh}主持。
图纸是{zh}画的，有问题找他。
请{zh}和质检一起到现场看看。
三号机的钥匙在{zh}那里
和{zh}确认过了，可以发货
{zh}您好，附件是本月的对账单。
尊敬的{zh}：您的投诉我们已经受理。
下周{zh}休假，工作由别人顶上。
{zh}的意思是先不要动。
投诉人{zh}反映电梯经常停运。
今天{zh}值班。
门卫说{zh}八点就走了。
{zh}，您看这样行不行？
我跟{zh}打过招呼了。
大家都听{zh}的安排。
把{zh}拉进群里吧
听{zh}讲，厂里要换设备。
{zh}刚才发火了，说报告写得太差。
多亏{zh}帮忙，不然交不了货。
客户{zh}要求周五之前回复。
维修单上签字的是{zh}。
张贴之前让{zh}看一眼。
上次{zh}提的意见改了吗？
- {zh}：负责采购
1. {zh} 汇报进度
出席：{zh}、{zh}、{zh}
{zh}昨晚加班到十点
病人家属{zh}已签字。
租客{zh}退房时留下两把钥匙。
这笔款是{zh}批的。
{zh}退休以后没人接手。
问一下{zh}仓库还有没有货
早上碰到{zh}了，他同意。
记得提醒{zh}交周报
Please ask {en} about the delivery.
{en} called this morning and will call again.
Dear {en},
The contract was signed by {en} on Monday.
According to {en}, the valve had been closed.
cc: {en}
{en} is on leave until Thursday.
I have forwarded the invoice to {en}.
Minutes: {en} presented the budget.
{en}'s office confirmed the appointment.
The patient, {en}, was discharged.
Meeting with {en} at 3 pm.
Complaint received from {en} regarding the lift.
Thank you, {en}, for your patience.
{en} - purchasing
We agreed with {en} that nothing changes.
{zh}和{zh}都不同意这个方案。
{zh}今天请假，{zh}代班。
这是{zh}亲口说的
回复{zh}：方案可行
给{zh}的礼品卡已经寄出。
拜访{zh}，谈了续约的事。
{zh}（采购）已确认
验收人：{zh}
楼下{zh}又来投诉漏水
家长{zh}来电咨询转学手续
电工{zh}修好了配电箱。
那天是{zh}开的车
就等{zh}点头了
叫{zh}别忘了带工牌
{zh}不在，明天再来
据{zh}介绍，新线下月投产。
带队的是{zh}
让保安{zh}查监控
{zh}已阅，同意。
转告{zh}：样品不合格
刚和{zh}开完会
{zh}那边催得紧
谢谢{zh}！
{zh} 2024-03-05 同意付款
"""
INNOCENT = """
老家的房子要翻修。
王国维修手册已经归档。
高工资不等于高效率。
他总是迟到，老板很生气。
小张贴画贴在门上。
小马达已经更换。
石油工人日夜奋战。
黄金工艺品展览明天开幕。
张总量表用于评估。
白老鼠做实验用。
老黄瓜刷绿漆。
小米手机和小李子干都有卖。
方主任务书还没有下发。
江总流量超过去年同期。
高师傅范学院是笔误。
这台老式机床已经停产。
老陈醋每瓶九元。
小何首乌苗圃在北坡。
老干部活动中心周一休息。
工会主席由职工代表选出。
经理应当每月检查一次。
医生应当书写病历。
老师不得体罚学生。
小组长由组员推选。
先生产，后生活。
女士优先是一种礼貌。
总经理办公会每周一召开。
许可证由主管部门核发。
高级工程师评审条件见附件。
马路边不得停车。
金工实习为期两周。
白总线和黑总线接法不同。
何时施工由业主决定。
程序员和产品经理一起评审。
阿姨帮您是家政品牌。
阿里云的账单每月一号出。
小江豚是保护动物。
老龙头景区门票五十元。
水工建筑物应当定期检查。
电工、焊工、瓦工均须持证上岗。
车工段的产量上升了。
文员负责收发文件。
高老庄是西游记里的地名。
李宁牌运动服打折。
王老吉一箱二十四罐。
老张裕葡萄酒销量下降。
马可波罗瓷砖到货。
周总结报告请按时提交。
周总量、月总量分别统计。
孙子兵法第三篇。
钱总数不符，请重新核对。
雷工程队承建。
方工序卡已更新。
平方总和为九。
本周主任务是盘点。
任经理级以上人员须申报。
周工时不得超过四十小时。
施工队长须持证。
时总线停车检修。
The master switch is on the left.
Sir, this is a no-parking zone.
Dr. is the abbreviation of doctor.
Ms. is used regardless of marital status.
Doctor Who is on at eight.
Mr. Muscle is a brand of cleaner.
Dear Sir or Madam,
Dear Customer,
Prof. members pay half.
Madam Tussauds tickets are sold online.
Mr. President is a form of address.
Mrs. Fields cookies are sold out.
The general manager approves the budget.
A doctor must sign the form.
Miss rate and hit rate are shown below.
Sir John Cass Street is closed.
The MS Word file is attached.
MR imaging takes forty minutes.
The Dr column is the debit side.
Master Card and Visa are accepted.
"""
_FIELD = re.compile(r"\{([a-z]+)\}")
_FILLS = 4
_REDACTION = Redaction(policy_for("restricted"), b"k" * 32)


def filled(odd: int) -> list[tuple[str, list[str]]]:
    """Every second shape, filled several times: the text, and its forms of address."""
    draw = random.Random(38 + odd)
    values = {
        kind: halves[odd].split("|") if "|" in halves[odd] else halves[odd].split() for kind, halves in FORMS.items()
    }
    found = []
    for number, line in enumerate(SHAPES.strip().splitlines()):
        for _ in range(_FILLS if number % 2 == odd else 0):
            there: list[str] = []

            def fill(field: re.Match[str], there: list[str] = there) -> str:
                there.append(draw.choice(values[field[1]]))
                return there[-1]

            found.append((_FIELD.sub(fill, line), there))
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--missed", action="store_true", help="show what is left of the half that rules may be mended on"
    )
    arguments.add_argument("--apart", action="store_true", help="measure the half that is held apart, too")
    options = arguments.parse_args()
    for odd, title in ((0, "mended on"), (1, "held apart"))[: 1 + options.apart]:
        missed: dict[str, list[tuple[str, str]]] = {"Chinese": [], "English": []}
        counts = {"Chinese": 0, "English": 0}
        for text, there in filled(odd):
            redacted = _REDACTION.text(text).text
            for value in there:
                kind = "English" if value.isascii() else "Chinese"
                counts[kind] += 1
                if (value if kind == "Chinese" else value.rpartition(" ")[2]) in redacted:
                    missed[kind].append((value, text))
        for kind, count in counts.items():
            print(f"{title}: {kind} forms of address {1 - len(missed[kind]) / count:.2f} of {count}")
        innocent = INNOCENT.strip().splitlines()[odd::2]
        taken = [(line, told) for line in innocent if (told := _REDACTION.text(line).text) != line]
        latin = sum(line.isascii() for line, _ in taken)
        print(f"{title}: innocent sentences {len(innocent)}, taken: {len(taken) - latin} Chinese, {latin} English")
        if options.missed and not odd:
            print("\n".join(f"   {value!r} in {text!r}" for each in missed.values() for value, text in each))
            print("\n".join(f"   {line!r} -> {told!r}" for line, told in taken))


if __name__ == "__main__":
    main()
