"""Claims that say a sentence in other ways of writing amounts, times, how often, bounds, and what must not be: never called changed."""

from __future__ import annotations

from itertools import permutations

import pytest

from wenyuan.core.rewording import reworded
from wenyuan.core.text.amounts import frequencies
from wenyuan.core.tokens import tokens_of
from wenyuan.core.verification import compared_with

AMOUNTS = (
    ("The job may run for {} before it is stopped by the scheduler.", "24 hours|one day|a day|1 day|twenty-four hours|1440 minutes"),
    ("The job may run for {} before it is stopped by the scheduler.", "90 minutes|an hour and a half|one and a half hours|1.5 hours|1½ hours|1 h 30 min|one hour and thirty minutes"),
    ("The job may run for {} before it is stopped by the scheduler.", "30 minutes|half an hour|0.5 hours|thirty minutes"),
    ("The job may run for {} before it is stopped by the scheduler.", "15 minutes|a quarter of an hour|fifteen minutes"),
    ("The warranty lasts {} from the date of purchase.", "18 months|one and a half years|1.5 years|a year and a half|eighteen months"),
    ("The warranty lasts {} from the date of purchase.", "two weeks|14 days|a fortnight|fourteen days|2 weeks"),
    ("The warranty lasts {} from the date of purchase.", "three months|3 months"),
    ("The warranty lasts {} from the date of purchase.", "24 months|two years|2 years|2 yrs"),
    ("The filter is cleaned {} by the caretaker.", "every year|once a year|yearly|annually|every 12 months|each year|every twelve months"),
    ("The filter is cleaned {} by the caretaker.", "every week|weekly|once a week|every 7 days|every seven days|each week"),
    ("The filter is cleaned {} by the caretaker.", "every day|daily|once a day|every 24 hours|each day"),
    ("The filter is cleaned {} by the caretaker.", "every six months|twice a year|every 6 months|every half year|twice yearly|half-yearly|semi-annually|two times a year"),
    ("The filter is cleaned {} by the caretaker.", "every three months|quarterly|four times a year|every 3 months|once a quarter|every quarter"),
    ("The filter is cleaned {} by the caretaker.", "every two weeks|biweekly|every 14 days|every fortnight|every other week|fortnightly"),
    ("The filter is cleaned {} by the caretaker.", "every month|monthly|once a month|twelve times a year|each month|12 times a year"),
    ("Object names may contain up to {} bytes in each bucket.", "1,024|1024|1 024"),
    ("The stadium holds {} visitors when all stands are open.", "1.5 million|1,500,000|1500000|one and a half million|1.5M"),
    ("The stadium holds {} visitors when all stands are open.", "12,000|12000|twelve thousand|12 thousand|12k"),
    ("A replacement card costs {} at the front desk.", "$3|3 dollars|three dollars|USD 3|$3.00|3.00 USD|US$3"),
    ("A replacement card costs {} at the front desk.", "€46|46 euros|EUR 46|46 EUR|€ 46.00|forty-six euros"),
    ("A replacement card costs {} at the front desk.", "£5|GBP 5|5 GBP|£5.00|5 pounds|five pounds"),
    ("The club carries an insurance of {} for its members.", "£5 million|£5m|£5,000,000|five million pounds|GBP 5 million|5 million pounds"),
    ("A replacement card costs {} at the front desk.", "45 cents|$0.45|0.45 dollars|forty-five cents"),
    ("Staff receive {} of their base salary during sick leave.", "80 %|80%|80 percent|eighty percent|80 per cent|four fifths"),
    ("Staff receive {} of their base salary during sick leave.", "50 %|half|50 percent|one half|fifty percent"),
    ("Staff receive {} of their base salary during sick leave.", "75%|three quarters|three-quarters|seventy-five percent"),
    ("Staff receive {} of their base salary during sick leave.", "25%|a quarter|one quarter|one fourth|25 percent"),
    ("Staff receive {} of their base salary during sick leave.", "a third|one third|1/3|one-third"),
    ("The boxes hold {} bottles of mineral water each.", "12|twelve|a dozen|one dozen"),
    ("The meeting starts at {} in the small hall.", "15:30|3:30 pm|3.30 p.m.|half past three in the afternoon|3:30 PM|15.30"),
    ("The meeting starts at {} in the small hall.", "noon|12:00|12 noon|midday|12 pm"),
    ("The meeting starts at {} in the small hall.", "9 am|9:00|09:00|9:00 am|nine o'clock in the morning|9 a.m.|9 o'clock"),
    ("The shop is open {} on workdays.", "from 9 am to 7 pm|9 am–7 pm|09:00–19:00|between 9 am and 7 pm|from 9:00 to 19:00|from nine in the morning to seven in the evening"),
    ("Access to the archive ends at {} every evening.", "midnight|0:00|24:00|12 am|00:00"),
    ("The policy took effect on {} for all staff.", "1 January 2025|January 1, 2025|2025-01-01|Jan 1, 2025|1 Jan 2025|the 1st of January 2025|01/01/2025|January 1st, 2025"),
    ("Rent is due on {} of each month at the latest.", "the first day|the 1st|day 1|the first|the 1st day"),
    ("The laundry is on the {} floor of the building.", "second|2nd|2."),
    ("Water is boiled for {} before it is used.", "at least five minutes|five minutes or more|no less than 5 minutes|5 minutes or longer|a minimum of five minutes|not less than five minutes|≥ 5 minutes|5 minutes at least|no fewer than five minutes"),
    ("Guests may stay for {} in the visitor flat.", "at most three nights|up to three nights|no more than 3 nights|a maximum of three nights|three nights at most|not more than three nights|three nights or fewer|no longer than three nights|three nights maximum|a maximum stay of three nights"),
    ("Bags {} are checked in at the counter.", "over 20 kg|heavier than 20 kg|of more than 20 kg|weighing more than 20 kg|exceeding 20 kg|that weigh over 20 kilograms|above 20 kg|in excess of 20 kg"),
    ("Children {} stay free of charge in the hostel.", "under six|younger than six|under 6|below the age of six|under the age of 6|aged under six|less than six years old"),
    ("Applications {} are answered.", "sent within 48 hours|sent within two days|sent in 48 hours or less|sent no later than 48 hours|sent in at most two days|sent within 2 days"),
    ("Dogs {} in the dormitory of the hut.", "are not allowed|must not stay|may not stay|are forbidden|are prohibited|aren't allowed|cannot stay|can't stay|are not permitted"),
    ("Tenants {} a written notice before moving out of the flat.", "must give|have to give|are required to give|need to give|shall give|should give|are obliged to give|must provide"),
    ("Members {} a form when they borrow a laptop.", "need not sign|do not have to sign|don't need to sign|are not required to sign|needn't sign|don't have to sign"),
    ("Employees {} from abroad in the summer.", "may work|can work|are allowed to work|are permitted to work|are entitled to work"),
    ("{} may have more than two pets in the building.", "No apartment|Not one apartment"),
    ("Each apartment {} in the building.", "may have no more than two pets|may have at most two pets|may not have more than two pets|must not have more than two pets|can have up to two pets|is limited to two pets|cannot have more than 2 pets|is not allowed more than two pets|has a limit of two pets"),
    ("The pool is open {} during the season.", "every day except Mondays|daily except on Mondays|every day but Monday|every day apart from Mondays|every day other than Monday"),
    ("The hut is at {} above sea level.", "2,340 metres|2340 m|2.34 km|2,340 m"),
    ("The room must stay below {} all night.", "68 °F|68 degrees Fahrenheit|68°F|68 F"),
    ("The room must stay below {} all night.", "25 °C|25 degrees Celsius|25°C|25 degrees|25 C"),
    ("The cable carries {} at full load.", "2,000 W|2 kW|2000 watts|2 kilowatts|2kW"),
    ("The disk has {} of space for backups.", "2 TB|2 terabytes|2TB|two terabytes|2,000 GB"),
    ("Loans may be renewed {} by the reader.", "twice|two times|2 times|up to twice"),
    ("The response takes {} on average in the lab.", "0.5 seconds|500 ms|500 milliseconds|half a second"),
    ("The climb takes {} from the car park.", "3.5 hours|three and a half hours|3½ hours|3 hours 30 minutes|210 minutes|three hours and a half|3 h 30 min"),
    ("The seat is {} from the door of the hall.", "1.5 m|150 cm|one and a half metres|1.5 metres|1500 mm"),
    ("The ship takes {} passengers and a crew.", "one hundred and twenty|120|one hundred twenty|a hundred and twenty"),
    ("The ship was built {} and was scrapped.", "in the 1990s|in the nineties|during the 1990s"),
    ("The lake is {} than the pond behind the house.", "twice as deep|two times as deep"),
    ("The heating is on from {} until spring.", "October 15|15 October|Oct 15|the 15th of October|15 Oct|October 15th"),
    ("Rent that is received after {} incurs a fee.", "the fifth of the month|the 5th of the month|day 5 of the month"),
    ("作业运行{}后由系统自动停止。", "24小时|一天|1天|二十四小时|一整天|24h|1440分钟"),
    ("作业运行{}后由系统自动停止。", "90分钟|一个半小时|1.5小时|1个半小时|1小时30分钟|一小时三十分"),
    ("作业运行{}后由系统自动停止。", "30分钟|半小时|半个小时|0.5小时|三十分钟|半个钟头"),
    ("作业运行{}后由系统自动停止。", "15分钟|一刻钟|十五分钟|1刻钟"),
    ("本产品自购买之日起保修{}。", "24个月|两年|2年|二十四个月|二年|贰年"),
    ("本产品自购买之日起保修{}。", "18个月|一年半|1.5年|十八个月|1年6个月"),
    ("本产品自购买之日起保修{}。", "6个月|半年|六个月"),
    ("本产品自购买之日起保修{}。", "两周|14天|十四天|2周|两个星期|14日|两个礼拜"),
    ("设备由管理员{}检查一次。", "每年|每12个月|每一年|每十二个月|一年"),
    ("设备由管理员{}检查一次。", "每周|每7天|每星期|每七天|一周|每个星期|每一周"),
    ("设备由管理员{}检查一次。", "每天|每日|每24小时|一天|每一天"),
    ("设备由管理员{}检查一次。", "每半年|每6个月|每六个月|半年"),
    ("设备由管理员{}检查一次。", "每季度|每三个月|每3个月|每个季度|每季"),
    ("设备由管理员{}检查一次。", "每月|每个月|每一个月|一个月"),
    ("设备由管理员{}检查一次。", "每两周|每14天|每隔一周|每两个星期"),
    ("会议于{}在小礼堂开始。", "15:30|下午3点半|下午三点半|15时30分|15点30分|下午3:30|下午3时30分|十五时三十分"),
    ("会议于{}在小礼堂开始。", "9:00|上午9点|早上九点|9时|九时整|09:00|上午九时"),
    ("会议于{}在小礼堂开始。", "12:00|中午12点|正午|中午十二点|12时"),
    ("商店营业时间为{}。", "9:00至19:00|上午9点到晚上7点|9:00-19:00|9时至19时|早9点至晚7点|早上九点到晚上七点"),
    ("档案室每晚{}关门。", "24:00|零点|0点|午夜12点|0:00|24时"),
    ("本制度自{}起施行。", "2024年7月1日|2024-07-01|2024.7.1|二〇二四年七月一日|2024/7/1|2024年7月1号|2024年07月01日"),
    ("逾期的，按日加收{}的滞纳金。", "万分之五|0.05%|0.5‰|百分之零点零五"),
    ("病假期间发放基本工资的{}。", "80%|百分之八十|八成|80％|百分之80|五分之四"),
    ("病假期间发放基本工资的{}。", "50%|一半|百分之五十|五成|二分之一"),
    ("废液桶装满{}后应当更换。", "四分之三|75%|3/4|百分之七十五|¾"),
    ("会员购买时享受{}优惠。", "八折|80%|8折|8 折"),
    ("预交押金{}，出院时结算。", "3000元|3,000元|三千元|¥3000|人民币3000元|3千元|叁仟元|0.3万元"),
    ("项目总投资{}，由财政承担。", "2万元|20000元|20,000元|两万元|二万元|2万块钱|人民币两万元"),
    ("项目总投资{}，由财政承担。", "1.5亿元|15000万元|一亿五千万元|150,000,000元|一点五亿元"),
    ("栏杆高度为{}，间距均匀。", "1.5米|150厘米|一米五|1.5 m|1500毫米|150cm|1500mm"),
    ("每箱苹果重{}，统一包装。", "5公斤|5千克|10斤|5 kg|五公斤|5000克|十斤"),
    ("每次服用药液{}，早晚各一次。", "100毫升|0.1升|100 ml|100mL|一百毫升"),
    ("体温超过{}时应当通知医生。", "38.5℃|38.5摄氏度|38.5度|摄氏38.5度|38.5 °C"),
    ("车辆行驶速度{}。", "不得超过每小时15公里|不得超过15公里/小时|不得超过15km/h|时速不得超过15公里|不得超过15 km/h|不得超过时速15公里|最高每小时15公里"),
    ("风速应保持在{}以上。", "每秒0.4米|0.4米/秒|0.4 m/s|0.4米每秒|秒速0.4米"),
    ("参加者应当年满{}。", "18周岁|18岁|十八周岁|十八岁"),
    ("每次放水{}，由管理员记录。", "不少于3分钟|至少3分钟|3分钟以上|最少三分钟|不低于3分钟|≥3分钟|不得少于3分钟|不能少于3分钟|3分钟或以上"),
    ("每次借阅{}，按时归还。", "不超过5本|最多5本|至多五本|5本以内|不多于5本|不得超过5本|不能超过5本|≤5本|以5本为限|上限5本|不可超过五本|限5本"),
    ("存放温度{}，并做好记录。", "低于25摄氏度|在25℃以下|不到25度|小于25℃"),
    ("逾期{}的，收回车位。", "超过三个月|三个月以上|3个月以上|多于三个月|大于3个月|超过3个月"),
    ("病区内{}使用电炉。", "禁止|不得|不准|严禁|不允许|不可以|不能|不许|不可"),
    ("领取补助时{}发票。", "不需要提供|无需提供|不必提供|不用提供|无须提供|不要求提供|免提供"),
    ("员工出差{}提交申请。", "应当提前|必须提前|须提前|要提前|需提前|应提前|需要提前|得提前"),
    ("总监级别的员工{}一等座。", "可以乘坐|可乘坐|能够乘坐|允许乘坐|有权乘坐|能乘坐"),
    ("儿童入园{}。", "免费|不收费|无需付费|不收取费用|免收费用|不需要付费|不用付钱"),
    ("每户{}两辆机动车。", "最多可以登记|至多可登记|可以登记最多|只能登记不超过|最多登记|不得登记超过|不能登记超过|登记的车辆不得超过"),
    ("请假时间{}4小时。", "不得超过|不超过|不能超过|最长|最多|最长不超过|不可超过"),
    ("每位患者{}一名陪护人员。", "限|最多|只能有|仅限|至多|不超过|只限"),
    ("手机号码共有{}数字。", "11位|十一位|11 位"),
    ("文件大小上限为{}。", "2TB|2 TB"),
    ("全年共开放{}，周一闭馆。", "312天|三百一十二天|312日"),
    ("本书共印{}，分两批发行。", "12,000册|12000册|1.2万册|一万二千册"),
    ("大楼共有{}，配两部电梯。", "12层|十二层|12 层"),
    ("复查安排在{}进行。", "第三天|第3天|第三日"),
    ("比赛在{}举行。", "第二季度|第2季度|二季度"),
    ("运动员完成比赛用时{}。", "1小时25分|85分钟|1小时25分钟|一小时二十五分钟|5100秒"),
    ("本次活动{}报名。", "除周一外每天均可|周一除外每天都可以|除了周一每天都可以|除星期一外每天均可"),
)  # fmt: skip
"""A sentence, and what may stand at ``{}`` with the same meaning."""
DENIALS = (
    ("{} stored overnight in the shed.", "Petrol must not be|Petrol may not be|No petrol may be|Petrol should never be|It is forbidden to have petrol|It is not allowed that petrol is"),
    ("{} on the second Sunday of the month.", "The museum is not open|The museum is closed|The museum does not open|The museum isn't open|The museum stays closed"),
    ("{} of equipment caused by wrong use.", "The warranty does not cover damage|Damage is not covered by the warranty|The warranty excludes damage"),
    ("{} for the first thirty minutes.", "No fee is charged|A fee is not charged|Parking is free|There is no fee|You pay nothing|There is no charge"),
    ("{} without a signed permit from the manager.", "No work may begin|Work must not begin|Work may not begin|Work cannot begin|Work is not allowed to begin|Work can't begin"),
    ("{} unless the manager has agreed in writing.", "Work must not begin|Work may not begin|No work begins|No work may be started|Work cannot be started"),
    ("{} by the insurance of the company.", "Contractors are not covered|Contractors aren't covered|No contractor is covered|Contractors are excluded"),
    ("{} to people who are not members.", "The service is not available|The service is unavailable|The service isn't offered|The service is not offered"),
    ("{} with credit cards at the hut.", "Guests cannot pay|You can't pay|Guests are not able to pay|It is not possible to pay|It isn't possible to pay|It is impossible to pay"),
    ("{} during the night shift at the plant.", "No one may work alone|Working alone is not allowed|Workers must not work alone|Working alone is prohibited|No worker may work alone|No-one is allowed to work alone"),
    ("{}在仓库内过夜。", "汽油不得存放|汽油不准存放|不得将汽油存放|禁止将汽油存放|汽油不能存放"),
    ("本馆每月第二个星期日{}。", "不开放|闭馆|不对外开放|不开门|休馆"),
    ("因使用不当造成的损坏{}。", "不在保修范围内|不予保修|不保修|不属于保修范围|得不到保修"),
    ("{}工作人员不得入内。", "非|不是|除本部门以外的"),
    ("{}管理员书面同意，不得开工。", "未经|没有|没经过|未获|未取得"),
    ("前三十分钟{}费用。", "不收取|免收|不收|没有|无"),
    ("夜班期间{}单独作业。", "任何人不得|不得|严禁|不允许|谁都不能|禁止"),
    ("试用期员工{}这项补贴。", "不享受|不能享受|没有|无权享受|不可以享受|享受不到"),
    ("外籍人员{}提供该证明。", "不需要|无需|不必|不用|可以不"),
    ("未成年人{}进入该区域。", "不得|禁止|不可以|不能|谢绝"),
)  # fmt: skip
SENTENCES = (
    "No fee is charged and no deposit is taken from members.|Neither a fee nor a deposit is taken from members.",
    "Documents are destroyed after a year unless the applicant consents.|Documents are destroyed after a year if the applicant does not consent.",
    "Mails are not sent without consent, and consent can be withdrawn.|No mails are sent without consent.",
    "馆内禁止大声喧哗和占座。|馆内不得占座，也不得大声喧哗。",
    "不得在车间内吸烟、饮食和嬉闹。|车间内不得吸烟，不得饮食，也不得嬉闹。",
    "Smoking, eating and drinking are forbidden in the laboratory.|You may not smoke, eat or drink in the laboratory.",
    "除非监护人书面同意，否则不得接走儿童。|监护人没有书面同意的，不得接走儿童。",
    "Visitors may not smoke or take photographs in the hall.|Visitors may not smoke and may not take photographs in the hall.",
    "Knives, glass and fireworks must not be brought into the stadium.|You must not bring knives into the stadium, nor glass or fireworks.",
    "The office is closed on Sundays and on public holidays.|The office isn't open on Sundays or public holidays.",
)  # fmt: skip
_ACCUSED = (
    "number_changed",
    "unit_changed",
    "date_changed",
    "negation_changed",
    "modality_changed",
    "relation_changed",
)


def accusation(claim: str, text: str) -> str:
    """The change that a claim is said to make; ``""`` for none."""
    compared = compared_with(tokens_of(claim), text)
    if compared is not None:
        return compared.kind if compared.kind in _ACCUSED else ""
    other = reworded(tokens_of(claim), [text])
    return "" if other is None else other.kind


@pytest.mark.parametrize(("sentence", "ways"), (*AMOUNTS, *DENIALS))
def test_another_way_of_writing_is_no_change(sentence: str, ways: str) -> None:
    """Each of some ways to write the same, as a claim about a sentence with each other one, changes nothing."""
    found = {
        (one, other): kind
        for one, other in permutations(ways.split("|"), 2)
        if (kind := accusation(sentence.format(other), sentence.format(one)))
    }
    assert found == {}


@pytest.mark.parametrize("sentences", SENTENCES)
def test_a_denial_in_another_place_is_no_change(sentences: str) -> None:
    """A *not* said once for a list or for each of its things, *unless* for *if not*, *no* for *not*."""
    for one, other in permutations(sentences.split("|"), 2):
        assert accusation(one, other) == ""


@pytest.mark.parametrize(
    ("text", "claim", "kind"),
    [
        ("The job may run for 90 minutes before it is stopped.", "The job may run for 1 h 40 min before it is stopped.", "number_changed"),
        ("The filter is cleaned twice a year by the caretaker.", "The filter is cleaned every 4 months by the caretaker.", "number_changed"),
        ("Object names may contain up to 1,024 bytes in each bucket.", "Object names may contain up to 1,204 bytes in each bucket.", "number_changed"),
        ("The disk has 2 TB of space for backups.", "The disk has 2 GB of space for backups.", "unit_changed"),
        ("The meeting starts at half past three in the afternoon.", "The meeting starts at half past four in the afternoon.", "number_changed"),
        ("The heating is on from October 15 until spring.", "The heating is on from 15 November until spring.", "date_changed"),
        ("Staff receive three quarters of their base salary during sick leave.", "Staff receive 57 % of their base salary during sick leave.", "number_changed"),
        ("No apartment may have more than two pets in the building.", "No apartment may have less than two pets in the building.", "number_changed"),
        ("The museum is not open on the second Sunday of the month.", "The museum is open on the second Sunday of the month.", "negation_changed"),
        ("作业运行一小时三十分后由系统自动停止。", "作业运行1小时20分钟后由系统自动停止。", "number_changed"),
        ("车辆行驶速度不得超过每小时15公里。", "车辆行驶速度不得超过25 km/h。", "number_changed"),
        ("存放温度最低5摄氏度，并做好记录。", "存放温度最高5摄氏度，并做好记录。", "number_changed"),
        ("会议于下午3点半在小礼堂开始。", "会议于14:30在小礼堂开始。", "number_changed"),
        ("汽油不得存放在仓库内过夜。", "汽油可以存放在仓库内过夜。", "modality_changed"),
    ],
)  # fmt: skip
def test_another_amount_is_named_however_it_is_written(text: str, claim: str, kind: str) -> None:
    """What was changed is found between two ways of writing, too."""
    assert accusation(claim, text) == kind


@pytest.mark.parametrize(
    ("said", "every"),
    [
        ("twice a year", "6month"), ("quarterly", "3month"), ("every other week", "1.2096e+06second"), ("每两周", "1.2096e+06second"),
        ("每天测量体温四次", "21600second"), ("每隔一周", "1.2096e+06second"), ("5 requests per minute", ""), ("every 24 hours", "86400second"),
        ("daily", "86400second"),
    ],
)  # fmt: skip
def test_how_often_is_the_time_from_one_to_the_next(said: str, every: str) -> None:
    """So that *twice a year* and *every six months* are one; what is said per minute is an amount."""
    assert "".join(one.every for one in frequencies(said)) == every
