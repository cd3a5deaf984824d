"""Subjects of which companies state a figure or a duty, each in two wordings, to measure how contradictions are told from what is innocent.

Written by hand; `APART` was not looked at while the comparison was written.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subject:
    """A statement in two wordings.

    Attributes:
        words, other: With ``{n}`` for what it is said of, and ``{v}`` for the figure.
        names: Things of which each has a figure of its own.
        values: Figures that contradict one another; ``""`` alone: it is a duty.
        same: The first figure, written otherwise.
    """

    words: str
    other: str
    names: tuple[str, ...]
    values: tuple[str, ...]
    same: str = ""


SEEN = (
    Subject("{n}投诉应当在{v}内回复并登记。", "对于{n}的投诉，须于{v}内予以回复，并做好登记。", ("客户", "供应商", "住户"), ("24小时", "48小时", "三天"), "一天"),
    Subject("{n}出差住宿标准为每人每天{v}。", "{n}出差时每人每天的住宿费不超过{v}。", ("员工", "经理", "实习生"), ("350元", "400元", "500元"), "350 元"),
    Subject("{n}开封后在室温下保存{v}。", "室温下，{n}自开封起最多保存{v}。", ("胰岛素", "眼药水", "疫苗"), ("28天", "30天", "14天"), "四周"),
    Subject("{n}须提前{v}预约。", "预约{n}，请至少提前{v}。", ("会议室", "报告厅", "公务车"), ("2天", "3天", "5天"), "48小时"),
    Subject("办理{n}收取押金{v}，退还时凭收据。", "{n}的押金是{v}，凭收据退。", ("陪护证", "门禁卡", "借书证"), ("50元", "100元", "80元"), "五十元"),
    Subject("{n}口令每{v}更换一次。", "每{v}须更换{n}的口令。", ("管理员账号", "普通账号", "数据库账号"), ("90天", "180天", "60天")),
    Subject("{n}备份数据保留{v}。", "{n}的备份会保存{v}。", ("云端", "本地", "财务"), ("30天", "45天", "60天")),
    Subject("试用期内{n}可以申请远程办公。", "{n}在试用期也可以远程办公。", ("研发人员", "客服人员"), ("",)),
    Subject("A {n} is answered within {v}.", "We reply to every {n} in {v} at most.", ("complaint", "tender", "subject access request"), ("5 working days", "7 working days", "10 working days"), "five working days"),
    Subject("Reserved {n} are kept on the shelf for {v}.", "We hold reserved {n} for {v} before they go back.", ("books", "instruments", "films"), ("seven days", "ten days", "14 days"), "a week"),
    Subject("A failed {n} is tried again up to {v} times.", "We retry a {n} that failed {v} times.", ("webhook", "payment", "upload"), ("five", "eight", "three"), "5"),
    Subject("Backups of the {n} are kept for {v}.", "The {n} is backed up, and copies stay for {v}.", ("ledger", "mail server", "image store"), ("30 days", "45 days", "90 days")),
    Subject("The rated pressure of the {n} is {v}.", "{n} units are rated at {v}.", ("HR-850", "HR-900", "KL-320"), ("6 bar", "8 bar", "10 bar")),
    Subject("Guests may take photographs in the {n}.", "Photographs are allowed in the {n} for guests.", ("hall", "archive"), ("",)),
    Subject("{n}的退款须在{v}内到账。", "{n}退款一般{v}到账。", ("网店订单", "线下订单", "会员充值"), ("7日", "15日", "3日"), "七天"),
    Subject("{n}的质保期为{v}。", "{n}自交货起质保{v}。", ("水泵", "电机", "控制柜"), ("12个月", "24个月", "18个月"), "一年"),
    Subject("{n}逾期归还的，每天收取{v}。", "{n}超期未还，按天收费，每天{v}。", ("图书", "光盘", "期刊"), ("0.5元", "1元", "2元")),
    Subject("{n}的保证金为合同价的{v}。", "办{n}要交合同金额{v}的保证金。", ("履约", "投标", "质量"), ("5%", "10%", "3%")),
    Subject("{n}每次用药不超过{v}。", "一次最多用{v}的{n}。", ("阿莫西林", "布洛芬", "对乙酰氨基酚"), ("0.5克", "1克", "0.3克"), "500毫克"),
    Subject("{n}的开户资料应当保存{v}。", "{n}开户的材料要留存{v}。", ("个人客户", "企业客户", "机构客户"), ("5年", "10年", "15年")),
    Subject("{n}应当佩戴安全帽。", "{n}要戴好安全帽才能进场。", ("监理人员", "参观人员", "塔吊司机"), ("",)),
    Subject("{n}会议须提前{v}通知与会人员。", "召开{n}会议，至少提前{v}发通知。", ("董事会", "股东会", "监事会"), ("10日", "15日", "5日")),
    Subject("{n}的配送时限为{v}。", "下单后{v}内送到{n}。", ("市区", "郊区", "外省"), ("24小时", "48小时", "72小时"), "一天"),
    Subject("{n}的温度应当保持在{v}以下。", "{n}里不要超过{v}。", ("冷藏库", "冷冻库", "阴凉库"), ("8℃", "5℃", "20℃")),
    Subject("{n}的报销应在{v}内提交。", "回来后{v}之内交{n}的报销单。", ("差旅", "培训", "招待"), ("30天", "15天", "60天"), "一个月"),
    Subject("A {n} must be returned within {v}.", "You have {v} to send back a {n}.", ("jacket", "laptop", "mattress"), ("30 days", "14 days", "60 days"), "thirty days"),
    Subject("The {n} retains logs for {v}.", "Logs of the {n} are deleted after {v}.", ("gateway", "firewall", "proxy"), ("90 days", "30 days", "180 days")),
    Subject("Overtime of a {n} is paid at {v} of the hourly rate.", "A {n} who works overtime gets {v} of the usual hourly pay.", ("nurse", "technician", "courier"), ("150%", "200%", "125%")),
    Subject("The deposit for the {n} is {v}.", "Renting the {n} takes a deposit of {v}.", ("projector", "tent", "canoe"), ("$50", "$80", "$120")),
    Subject("A {n} holds at most {v} persons.", "No more than {v} persons may be in a {n}.", ("lift", "cabin", "raft"), ("8", "12", "6"), "eight"),
    Subject("The {n} is inspected every {v}.", "An inspection of the {n} is due each {v}.", ("boiler", "crane", "sprinkler"), ("6 months", "12 months", "3 months"), "half a year"),
    Subject("Passwords of a {n} must have at least {v} characters.", "A {n} needs a password of {v} characters or more.", ("administrator", "contractor", "service account"), ("12", "8", "16")),
    Subject("Staff may use the {n} for private trips.", "Private trips with the {n} are allowed for staff.", ("pool car", "van", "bicycle"), ("",)),
    Subject("The {n} must be locked after hours.", "Lock the {n} after hours; that is a must.", ("stockroom", "lab", "archive"), ("",)),
)  # fmt: skip
APART = (
    Subject("{n}租金每月{v}，于每月五日前缴纳。", "每月五日前交{n}租金，每月{v}。", ("地下车位", "地面车位", "商铺"), ("300元", "450元", "280元"), "三百元"),
    Subject("{n}检修周期为{v}，由设备科负责。", "设备科每{v}对{n}检修一次。", ("电梯", "锅炉", "空压机"), ("6个月", "3个月", "一年"), "半年"),
    Subject("{n}有效期为{v}，到期前一个月续办。", "{n}自签发起{v}有效，请在到期前一个月续办。", ("动火许可证", "健康证", "操作证"), ("8小时", "1年", "3年")),
    Subject("参加{n}培训的时间不少于{v}。", "{n}培训至少要满{v}。", ("新员工", "班组长", "特种作业"), ("24学时", "32学时", "48学时")),
    Subject("{n}浓度控制在{v}以下。", "{n}的浓度不得高于{v}。", ("余氯", "甲醛", "二氧化碳"), ("0.5%", "0.8%", "1.2%")),
    Subject("夜班{n}每班补贴{v}。", "上夜班的{n}，每班发{v}补贴。", ("护士", "保安", "调度员"), ("80元", "100元", "60元"), "八十元"),
    Subject("{n}应当随身携带工牌。", "{n}要随身带好工牌。", ("维修人员", "访客"), ("",)),
    Subject("{n}报名截止到{v}。", "{n}的报名在{v}截止。", ("年度体检", "职称考试", "篮球赛"), ("9月15日", "9月30日", "10月8日"), "9 月 15 日"),
    Subject("The {n} opens at {v} on weekdays.", "On weekdays you can enter the {n} from {v}.", ("canteen", "gym", "reading room"), ("7:30", "8:00", "9:00")),
    Subject("A lost {n} costs {v} to replace.", "If you lose your {n}, a new one is {v}.", ("badge", "parking permit", "library card"), ("£5.00", "£8.00", "£10.00"), "£5"),
    Subject("Visitors to the {n} must wear a helmet.", "Everybody who visits the {n} must put on a helmet.", ("furnace hall", "loading dock"), ("",)),
    Subject("The {n} is cleaned every {v}.", "Cleaning of the {n} takes place every {v}.", ("filter", "cooling tower", "kitchen hood"), ("two weeks", "four weeks", "ten days"), "14 days"),
    Subject("Refunds for a {n} are paid within {v} of the request.", "Ask for a refund of a {n}, and you have it within {v}.", ("course", "ticket", "deposit"), ("14 days", "30 days", "10 days"), "two weeks"),
    Subject("The trial period of a {n} lasts {v}.", "A {n} is on trial for {v}.", ("manager", "trainee", "driver"), ("six months", "three months", "four weeks")),
    Subject("{n}的押金在退房后{v}内退还。", "退房之后，{n}押金最迟{v}退回。", ("公寓", "酒店客房", "员工宿舍"), ("3个工作日", "7个工作日", "10个工作日")),
    Subject("{n}的年检每{v}进行一次。", "每{v}要给{n}做年检。", ("货车", "客车", "叉车"), ("6个月", "12个月", "24个月"), "半年"),
    Subject("{n}的利率为{v}。", "办理{n}，按{v}计息。", ("活期存款", "定期存款", "住房贷款"), ("1.5%", "2.1%", "3.1%")),
    Subject("{n}的停车费为每小时{v}。", "在{n}停一小时车要{v}。", ("一号停车场", "二号停车场", "地下车库"), ("5元", "8元", "10元"), "五元"),
    Subject("{n}的投诉由客服在{v}内答复。", "客服收到{n}投诉，{v}内给答复。", ("快递", "外卖", "网约车"), ("2小时", "4小时", "8小时"), "120分钟"),
    Subject("{n}的最低起订量为{v}。", "订{n}至少要{v}。", ("螺栓", "垫片", "轴承"), ("100件", "200件", "500件")),
    Subject("{n}可以携带宠物入内。", "进{n}可以带宠物。", ("公园", "餐厅", "候车室"), ("",)),
    Subject("{n}应当每日消毒。", "{n}每天都应当消毒。", ("餐具", "推车", "门把手"), ("",)),
    Subject("{n}的合同应当经{v}审批。", "签{n}合同，须有{v}批准。", ("采购", "租赁", "劳务"), ("2名主管", "3名主管", "1名主管")),
    Subject("{n}的水质每{v}检测一次。", "每隔{v}检测{n}水质。", ("游泳池", "饮水机", "冷却塔"), ("1周", "2周", "4周"), "7天"),
    Subject("{n}的考试及格线为{v}。", "{n}考试{v}及格。", ("驾驶理论", "电工", "会计"), ("60分", "70分", "90分")),
    Subject("Meals on a {n} are paid up to {v} a day.", "For food on a {n} you get {v} a day at most.", ("domestic trip", "trip abroad", "day trip"), ("$40", "$60", "$75")),
    Subject("A {n} is open for applications until {v}.", "Apply for a {n} by {v}.", ("scholarship", "grant", "fellowship"), ("1 March 2026", "15 April 2026", "30 June 2026")),
    Subject("The battery of the {n} lasts {v}.", "One charge keeps the {n} going for {v}.", ("drone", "scanner", "headset"), ("8 hours", "12 hours", "20 hours"), "480 minutes"),
    Subject("Samples of {n} are stored at {v}.", "Keep {n} samples at {v}.", ("plasma", "serum", "tissue"), ("-20 °C", "-80 °C", "4 °C")),
    Subject("A {n} can be cancelled up to {v} before it begins.", "You may cancel a {n} until {v} ahead of its start.", ("tour", "class", "rental"), ("24 hours", "48 hours", "72 hours"), "one day"),
    Subject("The {n} carries loads up to {v}.", "Do not load the {n} with more than {v}.", ("shelf", "trolley", "hoist"), ("150 kg", "200 kg", "80 kg")),
    Subject("Invoices for {n} are due in {v}.", "Pay {n} invoices within {v}.", ("consulting", "hosting", "training"), ("30 days", "45 days", "14 days")),
    Subject("Guests must sign in at the {n}.", "At the {n}, guests must sign in.", ("front desk", "gate", "warehouse"), ("",)),
    Subject("Employees may record the {n}.", "It is permitted for employees to record the {n}; they may do so.", ("webinar", "town hall", "training"), ("",)),
)  # fmt: skip
