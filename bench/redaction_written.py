"""Texts as people write them, in Chinese and English, with values of every class: what redaction is measured on.

They were written before anyone looked at the rules with them in hand, and are held apart: of each form every second text
belongs to the first half, which rules may be mended on, the others to the second half, which they may not.

A field is a letter for the class and a number: ``{n1}`` is a Chinese name, ``{e1}`` an English one, ``{p1}`` one in Pinyin,
``{a1}`` a Chinese address, ``{b1}`` an English one, ``{m1}`` a mobile, ``{l1}`` a landline, ``{u1}`` a number of the United
States, ``{x1}`` an e-mail address, ``{i1}`` an identity number, ``{c1}`` a card, ``{h1}`` a passport, ``{q1}`` a plate,
``{w1}`` an account of a messenger, ``{s1}`` a password, ``{t1}`` a key, ``{o1}`` an IBAN, ``{z1}`` an SSN.
"""

from __future__ import annotations

FORMS: dict[str, list[str]] = {
    "mail": [
        "王总：\n\n您好！附件是昨天会议的纪要。另外客户那边换了对接人，新联系人{n1}，手机{m1}，邮箱 {x1}，以后材料请直接发给他。\n\n祝好\n{n2}",
        "各位同事，\n周五的体检改到下周一。还没登记的请把身份证号发给我，格式参考：{n1} {i1}。\n有事打我座机 {l1} 或者手机 {m1}。\n\n{n2}\n行政部",
        "Hi Tom,\n\nJust spoke with {e1} from Legal; her direct line is {u1} and she prefers e-mail ({x1}). She asked us to ship the"
        " samples to {b1}.\n\nThanks,\n{e2}",
        "Dear all,\nour new contractor, {p1}, starts on Monday. Please give him access. He can be reached at {x1} or on his"
        " Chinese mobile +86 {m1}.\nBest regards\n{e1}\nOffice Manager",
        "转发一下，收件人信息如下\n收：{n1}\n电话：{m1}\n地址：{a1}\n麻烦今天寄出，谢谢～",
        "From: {e1} <{x1}>\nTo: {e2} <{x2}>\nSubject: Re: deposit\n\nI wired it this morning, IBAN {o1}. Call me on {u1} if it does not"
        " show up.\n",
    ],
    "signature": [
        "--\n{n1} | 高级客户经理\n上海某某信息技术有限公司\n手机：{m1}\n电话：{l1}\n邮箱：{x1}\n地址：{a1}",
        "Best,\n\n{e1}\nSenior Account Executive\nNorthwind Traders\nM {u1} | E {x1}\n{b1}",
        "{n1}（{p1}）\n市场部\nTel {l1}  Mobile {m1}\nE-mail: {x1}",
        "Kind regards\n{e1}, PhD\nHead of Quality\nT: {u1}\nE: {x1}",
    ],
    "table": [
        "| 姓名 | 手机 | 身份证号 | 住址 |\n|---|---|---|---|\n| {n1} | {m1} | {i1} | {a1} |\n| {n2} | {m2} | {i2} | {a2} |\n| {n3} | {m3} | {i3} | {a3} |",
        "序号\t员工姓名\t银行卡号\t开户行\n1\t{n1}\t{c1}\t招商银行\n2\t{n2}\t{c2}\t中国银行\n3\t{n3}\t{c3}\t工商银行",
        "| Name | Phone | E-mail | Home address |\n|---|---|---|---|\n| {e1} | {u1} | {x1} | {b1} |\n| {e2} | {u2} | {x2} | {b2} |",
        "Employee,SSN,Card on file,Mobile\n{e1},{z1},{c1},{u1}\n{e2},{z2},{c2},{u2}\n",
        "车主,车牌号,联系电话,通讯地址\n{n1},{q1},{m1},{a1}\n{n2},{q2},{m2},{a2}\n",
        "| 旅客 | 护照号 | 电话 | 紧急联系人 |\n|---|---|---|---|\n| {n1} | {h1} | {m1} | {n2} |\n| {n3} | {h2} | {m2} | {n4} |",
    ],
    "form": [
        "入职登记表\n\n姓　　名：{n1}\n性　　别：女\n身份证号码：{i1}\n联系电话：{m1}\n电子邮箱：{x1}\n现 住 址：{a1}\n紧急联系人：{n2}（父亲）　电话：{m2}",
        "报销单\n报销人：{n1}　　部门：研发部\n收款账号：{c1}\n金额：1,280.00 元\n审批人：{n2}\n日期：2025 年 3 月 4 日",
        "VISITOR REGISTRATION\nFull name: {e1}\nCompany: Globex\nPhone: {u1}\nEmail: {x1}\nVehicle plate (CN): {q1}\nHost: {e2}",
        "Patient intake\nPatient: {e1}\nDate of birth: see file\nSSN: {z1}\nAddress: {b1}\nEmergency contact: {e2}, {u1}",
        "访客登记\n来访人：{n1}\n证件号：{i1}\n车牌：{q1}\n被访人：{n2}\n手机号码：{m1}",
        "Membership application\nApplicant's name   {e1}\nPostal address     {b1}\nDaytime telephone  {u1}\nE-mail             {x1}\nIBAN               {o1}",
    ],
    "minutes": [
        "会议纪要\n时间：2025年6月12日 14:00\n地点：三楼会议室\n主持：{n1}\n参会：{n2}、{n3}、{n4}\n记录：{n5}\n\n一、{n2}汇报了上月进度。\n二、会议决定由{n3}牵头整改，月底前完成。",
        "项目周会（6/18）\n与会人员：{n1}、{n2}（线上）、{n3}\n1. {n1}：供应商合同已寄出，对方联系人{n4}，电话{m1}。\n2. 待办：{n2}跟进。",
        "Minutes of the board meeting\nPresent: {e1} (chair), {e2}, {e3}\nApologies: {e4}\n\n1. {e2} presented the budget.\n2. {e3} will"
        " call the landlord on {u1}.",
        "Action items\n- {e1} to send the contract to {x1} by Friday\n- {e2} to book rooms\n- {p1} to confirm the venue, mobile {m1}",
    ],
    "chat": [
        "[09:12] {n1}: 昨天那个快递你寄了没\n[09:13] {n2}: 还没，地址发我下\n[09:13] {n1}: {a1}，电话 {m1}\n[09:15] {n2}: ok",
        "小李 10:02\n帮我充个话费呗 {m1}\n小张 10:03\n好的，顺便加下我微信：{w1}\n小李 10:05\n行，我卡号是{c1}，转我就行",
        "<{e1}> whats the wifi password again?\n<{e2}> it's {s1}\n<{e1}> thx. my cell btw {u1}",
        "e: can you drop it at my place? {b1}\nk: sure, who do I ask for?\ne: {e1}, buzzer 12. number's {u1}",
        "群里谁有王医生电话？\n我有，{m1}，他邮箱也有 {x1}\n谢谢！我身份证{i1}帮我挂个号，名字是{n1}",
        "{n1}：@所有人 测试环境密码改成 {s1} 了\n{n2}：收到\n{n1}：token 用这个 {t1}",
    ],
    "log": [
        "2025-06-12 08:01:22 INFO  login ok user={x1} ip=10.0.3.7\n2025-06-12 08:01:25 WARN  sms to {m1} delayed 3 s\n2025-06-12 08:02:00"
        " ERROR payment declined card={c1} amount=88.00",
        'Jun 12 08:01:22 web1 app[231]: reset mail sent to {x1}\nJun 12 08:01:40 web1 app[231]: user name="{e1}" phone="{u1}" registered',
        '{{"ts":"2025-06-12T08:01:22Z","event":"order","buyer":"{n1}","mobile":"{m1}","address":"{a1}"}}\n{{"ts":"2025-06-12T08:01:29Z",'
        '"event":"order","buyer":"{n2}","mobile":"{m2}","id_card":"{i1}"}}',
        "GET /reset?email={x1}&phone={m1} 200\nPOST /login user={x2}&password={s1} 302\nAuthorization: Bearer {t1}",
    ],
    "configuration": [
        "[database]\nhost = 10.1.2.3\nuser = app\npassword = {s1}\n\n[mail]\nfrom = {x1}\nsmtp_password = {s2}\napi_key = {t1}",
        "spring:\n  datasource:\n    username: root\n    password: {s1}\n  mail:\n    username: {x1}\nwechat:\n  secret: {t1}\n",
        "export AWS_SECRET_ACCESS_KEY={t1}\nexport DB_PASSWORD='{s1}'\nADMIN_EMAIL={x1}\nONCALL_PHONE={m1}",
        '{{\n  "apiKey": "{t1}",\n  "admin": {{"email": "{x1}", "password": "{s1}"}}\n}}',
    ],
    "contract": [
        "房屋租赁合同\n\n出租人（甲方）：{n1}\n身份证号：{i1}\n承租人（乙方）：{n2}\n身份证号：{i2}\n联系电话：{m1}\n\n第一条　甲方将位于{a1}的房屋出租给乙方使用。\n"
        "第五条　租金汇入甲方账户：{c1}。",
        "借条\n今借到{n1}（身份证号{i1}）人民币伍万元整，于2025年12月31日前还清。\n借款人：{n2}\n身份证号：{i2}\n住址：{a1}\n电话：{m1}",
        'THIS AGREEMENT is made between {e1}, residing at {b1} ("Tenant"), and {e2}, residing at {b2} ("Landlord").\nNotices to the'
        " Tenant shall be sent to {x1}.\nRent is payable to IBAN {o1}.",
        "Consulting agreement\nConsultant: {e1}\nSSN: {z1}\nThe Consultant may be reached by telephone at {u1}.\nSigned: {e1}\nFor the"
        " Company: {e2}, Director",
        "授权委托书\n委托人：{n1}，女，身份证号码{i1}，住{a1}。\n受委托人：{n2}，男，联系电话{m1}。\n委托人因工作繁忙，特委托{n2}代为办理车辆（{q1}）过户手续。",
        "劳动合同\n甲方法定代表人：{n1}\n乙方：{n2}\n居民身份证号码：{i1}\n户籍地址：{a1}\n邮箱：{x1}\n乙方签字：{n2}",
    ],
    "complaint": [
        "工单：客户{n1}来电（{m1}）反映6月3日收到的冰箱有划痕，要求换货。收货地址{a1}，已转售后{n2}处理。",
        "投诉人{n1}，身份证{i1}，称其信用卡{c1}被重复扣款两次。回访电话{l1}。",
        "Ticket: customer {e1} called from {u1}; says card {c1} was charged twice. Wants reply to {x1}.",
        "Complaint by {e1} of {b1}: parcel arrived wet. Callback {u1} after 5 pm.",
    ],
    "delivery": [
        "收件人 {n1} {m1} {a1}\n寄件人 {n2} {m2} {a2}",
        "【某某快递】您的包裹已由快递员{n1}（{m1}）派送至{a1}，请凭取件码取件。",
        "Ship to:\n{e1}\n{b1}\nPhone: {u1}\n\nShip from:\n{e2}\n{b2}",
        "Deliver to {e1}, {b1}. If nobody is in, ring {u1}.",
        "{a1} {n1} 收 {m1}",
        "Label: {p1}, {a1}, 手机 {m1}",
    ],
    "resume": [
        "个人简历\n{n1}　男　1991年生\n手机：{m1}　邮箱：{x1}\n现居：{a1}\n\n工作经历\n2019—2024 某某公司 产品经理，汇报对象：{n2}",
        "求职者：{n1}\n微信：{w1}\nTel：{m1}\n邮箱 {x1}\n证明人：{n2}，{l1}",
        "{e1}\n{b1} · {u1} · {x1}\n\nExperience\n2019-2024 Analyst. Reference: {e2}, {u2}",
        "CURRICULUM VITAE\nName: {p1}\nE-mail: {x1}\nMobile: {m1}\nReferee: Prof. {e1}",
    ],
    "note": [
        "备忘：给{n1}打电话 {m1}；顺便问{n2}要一下车牌（好像是{q1}）；wifi密码是{s1}",
        "今天{n1}老师说，孩子{n2}最近上课走神。老师电话{m1}，家在{a1}附近。",
        "todo: ask {e1} for the key; her number {u1}; alarm code in the safe; router admin password: {s1}",
        "Met {e1} and his wife {e2} at the fair. They live at {b1}. Mail: {x1}.",
    ],
    "medical": [
        "患者{n1}，女，46岁，身份证号{i1}，因反复咳嗽3天入院。家属：{n2}（配偶）{m1}。主治医师：{n3}。家庭住址：{a1}。",
        "姓名：{n1}  就诊卡绑定手机 {m1}\n主诉：头晕两天\n医师签名：{n2}",
        "Patient {e1} (SSN {z1}) was seen by Dr. {e2} on Tuesday. Next of kin: {e3}, {u1}. Lives at {b1}.",
        "Discharge letter\nRe: {e1}, {b1}\nDear Dr {e2},\nMr {e1} may be phoned at {u1}.",
    ],
    "judgment": [
        "原告：{n1}，男，汉族，住{a1}。公民身份号码：{i1}。\n被告：{n2}，女，汉族，住{a2}。\n委托诉讼代理人：{n3}，某某律师事务所律师。\n审判员　{n4}\n书记员　{n5}",
        "申请执行人{n1}与被执行人{n2}民间借贷纠纷一案，查明被执行人名下有车牌号为{q1}的小型轿车一辆，银行账号{c1}。联系人{n3}，电话{l1}。",
        "Witness statement of {e1}, of {b1}. I first met the defendant, {e2}, in 2019. I can be contacted on {u1}.",
        "In re {e1}: the debtor's account {o1} was frozen; her passport {h1} was retained. Counsel: {e2} ({x1}).",
    ],
    "notice": [
        "关于{n1}等同志任职的通知\n经研究决定，任命{n1}为财务部经理，{n2}为副经理。咨询电话：{l1}，联系人：{n3}。",
        "失物招领：拾到钱包一个，内有{n1}的身份证（{i1}）及银行卡一张（{c1}）。请失主与保安{n2}联系，{m1}。",
        "Notice: the interview with {e1} has been moved. Please direct questions to {e2} at {x1} or {u1}.",
        "Lost property: a bag belonging to {e1}, {b1}; driving licence and bank card {c1} inside. Ring {u1}.",
    ],
    "payment": [
        "请汇款至：户名 {n1}，账号 {c1}，开户行：建设银行城西支行。汇款后请通知{n2}（{m1}）。",
        "转账给{n1}的工资卡{c1}，备注6月工资；他手机号{m1}。",
        "Please pay {e1}, IBAN: {o1}, by the end of the month; send the remittance advice to {x1}.",
        "Refund to card ending see below. Card number: {c1}, cardholder {e1}, billing address {b1}, phone {u1}.",
    ],
    "travel": [
        "出行人：{n1}，护照 {h1}，手机 {m1}；{n2}，身份证 {i1}，手机 {m2}。请代订6月20日北京—成都往返。",
        "用车申请：乘车人{n1}（{m1}），司机{n2}，车牌{q1}，上车点：{a1}。",
        "Passenger: {e1}\nPassport no.: {h1}\nPhone: {u1}\nHotel booked by {e2} <{x1}>",
        "Please book a taxi for {e1} from {b1} at 6 am, contact {u1}, and a room for {p1}, passport {h1}.",
    ],
    "instruction": [
        "登录服务器：ssh root@10.2.3.4，密码：{s1}。有问题找运维{n1}，{m1}。",
        "数据库连接：mysql -h10.0.0.5 -uapp -p{s1} orders，备份账号密码 {s2}，负责人 {n1}（{x1}）。",
        "Log in at the portal with user admin and password {s1}; if the key {t1} is rejected, ask {e1} ({x1}).",
        "curl -u deploy:{s1} https://repo.example/x\ncurl -H 'Authorization: Bearer {t1}' https://api.example/y\nOwner: {e1}, {u1}",
    ],
    "survey": [
        "1、您的称呼？{n1}\n2、您的联系方式？{m1}\n3、您的住址？{a1}\n4、您的邮箱？{x1}",
        "问：请说明你的基本情况。\n答：我叫{n1}，住在{a1}，身份证号是{i1}，电话{m1}。",
        "Q1 What is your name? {e1}\nQ2 Where do you live? {b1}\nQ3 Phone? {u1}\nQ4 E-mail? {x1}",
        "Interviewer: please state your name.\nWitness: My name is {e1}. I live at {b1}. My social security number is {z1}.",
    ],
    "list": [
        "通讯录\n1. {n1} {m1}\n2. {n2} {m2}\n3. {n3} {m3}\n4. {n4} {l1}",
        "- {n1}（组长）：{m1}\n- {n2}：{m2}，{x1}\n- {n3}：{x2}",
        "Contacts\n* {e1}, {u1}\n* {e2}, {u2}, {x1}\n* {p1}, {x2}",
        "On call this week: {e1} ({u1}), {e2} ({u2}), {e3} ({x1})",
    ],
    "code": [
        '# 联系 {n1} <{x1}>\nDB_URL = "postgresql://app:{s1}@db.internal:5432/orders"\nPHONE = "{m1}"  # {n2} 的手机',
        'def test_card():\n    user = User(name="{n1}", mobile="{m1}", id_no="{i1}")\n    assert user.card == "{c1}"',
        '// TODO({x1}): ask {e1}\nconst apiKey = "{t1}";\nconst support = "{u1}";',
        "INSERT INTO customer (name, phone, email, card) VALUES ('{e1}', '{u1}', '{x1}', '{c1}');",
    ],
}


DECOYS: dict[str, list[str]] = {
    "order numbers": [
        "订单号 {}，请核对。",
        "Order no. {} has shipped.",
        "物流单号：{}",
        "Invoice {} is due.",
        "流水号{}已入账",
        "Ticket {} was closed.",
    ],
    "versions": [
        "升级到 {} 后重启。",
        "Fixed in {}.",
        "当前版本 {}",
        "requires {} or later",
        "固件版本：{}",
        "build {}",
    ],
    "standards": [
        "按 {} 执行。",
        "as {} requires",
        "符合{}的要求",
        "tested to {}",
        "参照 {} 第 5.2 条",
        "See {} for details.",
    ],
    "amounts": ["合计 {}。", "The total is {}.", "预算为{}", "up to {}", "罚款{}", "a fee of {}"],
    "product codes": [
        "型号 {} 停产。",
        "Part number {} is in stock.",
        "物料编码：{}",
        "SKU {}",
        "备件{}两只",
        "the {} pump",
    ],
    "companies and places": [
        "与{}签约。",
        "{} was founded in 1998.",
        "地点：{}",
        "the road to {}",
        "参观了{}",
        "offices in {}",
    ],
    "articles of law": [
        "依据{}处理。",
        "under {}",
        "见{}。",
        "{} applies.",
        "违反{}的，责令改正。",
        "pursuant to {}",
    ],
    "dates and times": ["截止 {}。", "until {}", "会议时间：{}", "opened on {}", "有效期至{}", "at {}"],
    "roles": ["请{}签字。", "the {} signs", "由{}审批", "Ask the {}.", "{}负责归档。", "sent to the {}"],
    "measures": ["长度 {}。", "weighs {}", "误差不超过{}", "at most {}", "功率：{}", "a range of {}"],
}

_DECOY_VALUES: dict[str, list[str]] = {
    "order numbers": [
        "2025061200017",
        "DD20250612-00982",
        "SF1029384756",
        "INV-2025-00431",
        "RK-7781-2204",
        "4500019283",
    ],
    "versions": ["3.11.4", "v2.0.0-rc.1", "10.15.7", "2024.2.1", "1.18.0.5512", "V5R20C10"],
    "standards": [
        "GB/T 19001-2016",
        "ISO/IEC 27001:2022",
        "GB 50016-2014",
        "EN 60204-1",
        "JGJ 59-2011",
        "IEEE 802.11ax",
    ],
    "amounts": ["1,280,000.00 元", "¥13,500", "USD 2,450.75", "人民币叁拾万元整", "€ 99.90", "12.5 万元"],
    "product codes": ["6ES7214-1AG40", "ABB-ACS550-01", "LM2596S-5.0", "XJ-200B", "HX711-24", "B07FZ8S74R"],
    "companies and places": [
        "华夏智能科技有限公司",
        "黄山风景区",
        "Johnson Controls",
        "San Francisco",
        "高新技术开发区",
        "Springfield",
    ],
    "articles of law": [
        "《民法典》第五百七十七条",
        "Section 230(c)(1)",
        "《劳动合同法》第三十九条第二项",
        "Article 17 GDPR",
        "刑法第二百六十六条",
        "17 U.S.C. § 107",
    ],
    "dates and times": [
        "2025年6月12日14时30分",
        "2025-06-12 14:30:00",
        "12 June 2025",
        "1999.12.31",
        "周三下午三点",
        "06/12/2025",
    ],
    "roles": ["总经理", "project manager", "安全员", "法定代表人", "data protection officer", "王牌销售"],
    "measures": ["13.8 kg", "380 V/50 Hz", "1500 mm × 300 mm", "0.05 MPa", "-40～85 ℃", "12 kW"],
}


def decoys() -> list[tuple[str, str, str]]:
    """Kind, text and the words in it that must stay, for each frame and value of its kind: 360."""
    return [
        (kind, frame.format(value), value)
        for kind, frames in DECOYS.items()
        for at, frame in enumerate(frames)
        for value in _DECOY_VALUES[kind][at % 2 :: 2] + _DECOY_VALUES[kind][1 - at % 2 :: 2]
    ]
