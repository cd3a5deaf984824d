"""Names of persons in forms of business life: signatures, minutes, chats, lists of mail, rosters, tables, letters. Recall by script, and decoys.

    python bench/redaction_names.py [--missed]

Rules were mended on the first sixty texts. The second sixty were written afterwards, and measured before anything was mended on them.
A name stands in ⟦⟧, a word that must stay in ⟪⟫; ``\\n`` is a new line.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter

from wenyuan.core.redaction.given_names import is_pinyin
from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

MENDED = r"""
此致\n敬礼\n\n⟦孟祥宇⟧\n采购部
顺颂商祺\n⟦柯以敏⟧ 敬上
祝工作顺利！\n⟦裴文静⟧｜渠道经理｜⟪华东大区⟫
抄送：⟦耿直⟧、⟦鲁晓光⟧；⟪财务部⟫
主送：⟦商雅琴⟧\n抄报：⟦岳鹏飞⟧ ⟦窦文涛⟧
@⟦甄子豪⟧ 麻烦把⟪周报⟫发一下
⟦佟丽娟⟧：收到，下午给你\n⟦屈臣⟧：好的👌
[10:32] ⟦祝英杰⟧: 合同我已经签了
⟦海清波⟧ 2025-03-01 09:12\n服务器已经重启
出席：⟦庞涓⟧（主任）、⟦晏殊文⟧（副主任）、⟦冀春生⟧
缺席：⟦娄艺潇⟧（出差）
会议由⟦门晓东⟧主持，⟦宫雪梅⟧作了⟪工作报告⟫。
记录整理：⟦鞠萍萍⟧　审核：⟦种丹妮⟧
经⟦柴静远⟧提议，与会者一致同意⟪年度预算⟫。
| 工号 | 员工 | 部门 |\n|---|---|---|\n| 0031 | ⟦简宁⟧ | ⟪安全部⟫ |\n| 0032 | ⟦晋建国⟧ | ⟪市场部⟫ |
值班表\n周一 ⟦卜凡⟧\n周二 ⟦步惊云⟧\n周三 ⟦甘露露⟧
考勤异常：⟦芦苇杭⟧ 迟到 2 次，⟦那英豪⟧ 早退 1 次
⟦盛明兰⟧同志任⟪综合科⟫科长，免去其⟪办公室⟫副主任职务。
兹证明⟦水均益⟧系我单位职工，自2019年入职。
委托⟦言承旭⟧办理⟪营业执照⟫变更手续。
甲方（盖章）：⟪宏达公司⟫　代表：⟦邬君梅⟧
承办人签字：⟦车晓⟧　　复核：⟦冷兵⟧
快递已由⟦游本昌⟧代收，放在⟪前台⟫。
患者⟦费玉清⟧，男，52岁，因⟪胸闷⟫入院。
申请人⟦闻一多⟧诉⟪光明公司⟫劳动争议一案
昨天跟⟦戚薇薇⟧吃饭，她说⟦靳东方⟧要调走了。
请转告⟦尤勇智⟧，⟪样品⟫周五寄到。
联系人：⟦项少龙⟧（⟪西南片区⟫）
本周之星：⟦姬晓天⟧！恭喜
To: ⟦Harriet Okonkwo⟧\nCc: ⟦Pawel Zielinski⟧; ⟦Dana Whitmore⟧\nSubject: ⟪Quarterly Review⟫
Cheers,\n⟦Marlon⟧ ⟦Vasquez⟧
Thanks again,\n\n⟦Beatrix Holloway⟧\n⟪Regional Sales Director⟫
On Tue, Mar 4, 2025 at 9:14 AM ⟦Colin Abernathy⟧ wrote:\n> see below
Attendees: ⟦Rosalind Pike⟧ (chair), ⟦Tobias Engel⟧, ⟦Amara Diallo⟧\nApologies: ⟦Wendell Crowe⟧
Minutes taken by ⟦Gwen Thackeray⟧. ⟪Action Items⟫ follow.
ACTION: ⟦Desmond Falk⟧ to update the ⟪Risk Register⟫ by Friday.
⟦Lorna Beckett⟧ joined the call at 10:05.
[09:41] ⟦Silas Varga⟧: pushing the ⟪Hotfix Branch⟫ now
⟦Edith Marlowe⟧ 3:22 PM\nnot yet, waiting on ⟪Legal⟫
@⟦Quentin Sharp⟧ can you look at ⟪Ticket Queue⟫?
Hi ⟦Imogen⟧,\nplease call me. ⟦Ruben Castell⟧
Per ⟦Theodora Banks⟧'s e-mail, the ⟪Main Contract⟫ is void.
Approved by: ⟦Clifford Nash⟧   Date: 4 May 2025
Signed for and on behalf of ⟪Apex Holdings⟫\nName: ⟦Miriam Feld⟧\nTitle: ⟪Managing Director⟫
| Owner | Task |\n|---|---|\n| ⟦Gareth Lowe⟧ | ⟪Server Migration⟫ |\n| ⟦Noor Haddad⟧ | ⟪Data Cleanup⟫ |
Shift,Operator\n⟪Night Shift⟫,⟦Leroy Tate⟧\n⟪Day Shift⟫,⟦Bianca Rossi⟧
The patient, ⟦Agnes Moody⟧, was seen by Dr. ⟦Felix Hartmann⟧ at ⟪Mercy Clinic⟫.
Attn: ⟦Percy Lund⟧, ⟪Accounts Payable⟫
c/o ⟦Ottilie Kramer⟧\n⟪Box Office⟫
Our thoughts are with the family of ⟦Stuart Pell⟧.
I spoke to ⟦Nadia Petrenko⟧ and ⟦Hugo Lind⟧ yesterday about the ⟪Budget Plan⟫.
RE: ⟦Morris Adler⟧ v. ⟪Union Bank⟫
Interviewer: ⟦Cressida Vane⟧ / Candidate: ⟦Jonas Bergström⟧
发件人：⟦Feng Zhihao⟧\n收件人：⟪全体员工⟫
Regards,\n⟦Luo Wenjing⟧\n⟪Shenzhen Office⟫
Cc: ⟦Tang Guowei⟧, ⟦Shen Meiling⟧
Host: ⟦Gao Yuanyuan⟧ | Guest: ⟦Deng Lijun⟧
[14:02] ⟦Cao Jianming⟧: the ⟪Beijing Team⟫ is ready
Contact ⟦Fang Yu⟧ or ⟦Xie Dongmei⟧ for keys.
Driver ⟦Ma Chengfu⟧ will pick you up at ⟪Pudong Airport⟫.
"""

FRESH = r"""
顺祝商祺\n⟦苗润东⟧\n供应链中心
盼复。\n⟦覃雨桐⟧\n2025.4.18
⟦连淮伟⟧ / 售后工程师 / ⟪西北大区⟫
转发：⟦瞿佳音⟧ 昨天发的⟪排班表⟫
抄送：⟦仇海峰⟧；⟦冼国林⟧；⟪法务部⟫
@⟦阮恒⟧ 这个⟪接口⟫你跟一下
[09:15] ⟦麻小渊⟧：图纸已上传
⟦项志飞⟧ 14:20\n⟪样机⟫还没到
⟦苟美玲⟧：这个⟪报价⟫能再低一点吗？
⟦邰正宵⟧：我下午去现场
会议由⟦褚时健⟧主持，⟪全体员工⟫参加。
由⟦隋永良⟧介绍了⟪技改方案⟫的进展。
列席：⟦宁静怡⟧、⟦纪晓岚⟧、⟦齐秦川⟧
⟦封新城⟧强调，⟪安全生产⟫不能放松。
记录：⟦巩汉林⟧；校对：⟦臧天朔⟧
责任人：⟦蒲巴甲⟧　完成时限：⟪4月底⟫
星期一：⟦房祖名⟧\n星期二：⟦蓝洁瑛⟧\n星期三：⟦景甜甜⟧
夜班：⟦贾乃亮⟧ ⟪白班⟫：⟦毕福剑⟧
本月⟪先进个人⟫：⟦郝云龙⟧、⟦佘诗曼⟧
聘任⟦荆浩然⟧为⟪项目总监⟫，任期三年。
兹介绍⟦桑兰兰⟧同志前往⟪贵处⟫联系工作。
委托⟦鄢颇军⟧代为领取⟪中标通知书⟫。
乙方代表签字：⟦幸若海⟧
家属⟦岑宁儿⟧已签署⟪知情同意书⟫。
上诉人⟦牟其中⟧不服⟪一审判决⟫
快递员说包裹是⟦蔺相飞⟧签收的。
上周五⟦寇振海⟧请假，工作交给⟦单立文⟧。
感谢⟦左小祖⟧对⟪本项目⟫的支持！
⟪培训讲师⟫：⟦路金波⟧（外聘）
| 姓名 | 班组 |\n|---|---|\n| ⟦谷智鑫⟧ | ⟪电工班⟫ |\n| ⟦米卢蒂⟧ | ⟪焊工班⟫ |
To: ⟦Angus Thornbury⟧; ⟦Rita Velasquez⟧\nSubject: ⟪Office Move⟫
Many thanks,\n\n⟦Cordelia Finch⟧\n⟪Head of Procurement⟫
Talk soon,\n⟦Barnaby Stokes⟧
On 12 May 2025, ⟦Saskia de Vries⟧ wrote:
From: ⟦Leopold Grimm⟧ [mailto]\nSent: Monday
Present: ⟦Hattie Bloom⟧, ⟦Ivo Marchetti⟧. Absent: ⟦Clive Ransome⟧.
Chaired by ⟦Evelyn Marsh⟧; ⟪Annual Budget⟫ approved.
⟦Dougal McRae⟧ proposed that the ⟪Safety Manual⟫ be revised.
Action: ⟦Petra Novotny⟧ to draft the ⟪Press Statement⟫.
[16:20] ⟦Mungo Fairfax⟧: on it
⟦Tilda Rasmussen⟧ 9:02 AM\ncan we move the ⟪Team Sync⟫?
@⟦Bruno Tavares⟧ please merge ⟪Feature Branch⟫
Hi ⟦Fergus⟧,\nattached is the ⟪Price List⟫.
Dear ⟦Winifred⟧,\nthank you for your ⟪Loan Application⟫.
Approved: ⟦Cyrus Vandermeer⟧, ⟪Chief Engineer⟫
Witnessed by ⟦Hilary Quill⟧ on 3 June.
Please contact ⟦Jerome Abadi⟧ about the ⟪Parking Permit⟫.
| Assignee | Status |\n|---|---|\n| ⟦Maeve Donnelly⟧ | ⟪In Progress⟫ |
Mr ⟦Alastair Pym⟧ and Ms ⟦Dolores Quintana⟧ attended the ⟪Open Day⟫.
Attention: ⟦Sylvie Renard⟧\n⟪Goods Inwards⟫
⟦Kofi Mensah⟧ has left ⟪Red Harbor⟫; ⟦Anneke Visser⟧ takes over.
The late ⟦Humphrey Dale⟧ founded ⟪Dale Textiles⟫.
Interview with ⟦Ximena Ortega⟧, ⟪Lead Designer⟫
Best regards,\n⟦Jiang Haoyu⟧\n⟪Suzhou Plant⟫
Cc: ⟦Qiu Mengjie⟧; ⟦Yao Zhiqiang⟧
[11:47] ⟦Ren Xiaolei⟧: ⟪Shipment Docs⟫ attached
⟦Zeng Qingfeng⟧ will meet you at ⟪Hongqiao Station⟫.
Prepared by ⟦Cui Yanan⟧, checked by ⟦Tian Zhuangyan⟧
Ask ⟦Hou Yifan⟧ for the ⟪Access Card⟫.
Guest: ⟦Su Bingtian⟧ (room 1204)
"""

_NAME, _STAYS, _MARKS = re.compile("⟦([^⟧]*)⟧"), re.compile("⟪([^⟫]*)⟫"), re.compile("[⟦⟧⟪⟫]")
_REDACTION = Redaction(policy_for("restricted"), b"k" * 32)


def script_of(name: str) -> str:
    if re.search("[\u4e00-\u9fff]", name):
        return "Chinese"
    return "Pinyin" if is_pinyin(name.split()) else "English"


def measured(texts: str) -> tuple[Counter[str], Counter[str], list[str], int, list[str]]:
    """Names and those that are gone, by script; names that are left; decoys, and those that are gone."""
    names: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    left: list[str] = []
    decoys, taken = 0, []
    for line in texts.strip().splitlines():
        marked = line.replace("\\n", "\n")
        redacted = _REDACTION.text(_MARKS.sub("", marked)).text
        for name in _NAME.findall(marked):
            names[script_of(name)] += 1
            if name in redacted:
                left.append(name)
            else:
                gone[script_of(name)] += 1
        stays = _STAYS.findall(marked)
        decoys += len(stays)
        taken += [word for word in stays if word not in redacted]
    return names, gone, left, decoys, taken


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--missed", action="store_true")
    told = arguments.parse_args()
    for title, texts in (("mended on", MENDED), ("fresh", FRESH)):
        names, gone, left, decoys, taken = measured(texts)
        by_script = ", ".join(f"{script} {gone[script] / count:.2f} of {count}" for script, count in names.items())
        print(f"{title}: {by_script}; decoys {len(taken)} of {decoys}")
        if told.missed:
            print("  left:", ", ".join(left) or "none", "| taken:", ", ".join(taken) or "none")


if __name__ == "__main__":
    main()
