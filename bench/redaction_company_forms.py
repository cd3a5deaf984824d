"""Forms of companies' documents in which people are named: what redaction is measured on by `redaction_company`.

Fields are those of `redaction_written`. Of each form the first two texts are for mending rules, the others are held apart.
Names are drawn from lists of Faker (MIT License) that no rule was mended on.
"""

from __future__ import annotations

FORMS: dict[str, list[str]] = {
    "signature line": ["{n1}\n运维工程师\nT {l1}", "Best,\n{e1}\nProcurement | {u1} | {x1}", "此致\n　　　　{n1}\n　　　　手机 {m1}", "Warm regards,\n\n{e1}\nPlant Manager\nc: {u1}\n{b1}"],
    "minutes": [
        "时间：周三下午\n到会：{n1}、{n2}\n缺席：{n3}（出差）\n{n1}通报了三季度回款，{n2}补充了逾期名单。", "Attendees: {e1}, {e2}\nAction: {e1} will ring the supplier ({u1}) before Friday.",
        "会议由{n1}主持，{n2}记录。会上{n3}提出仓库盘点延期，经讨论由{n2}与财务对接。", "Present were {e1} and {e2}; apologies were received from {e3}. {e2} seconded the motion.",
    ],
    "duty roster": ["周一 {n1} {m1}\n周二 {n2} {m2}", "Mon early: {e1}\nMon late: {e2} ({u1})", "| 日期 | 早班 | 晚班 |\n|---|---|---|\n| 6/1 | {n1} | {n2} |\n| 6/2 | {n3} | {n4} |", "Week 23 on call\n{e1} {u1}\nbackup {e2} {u2}"],
    "mail header": ["发件人：{n1} <{x1}>\n收件人：{n2}\n抄送：{n3}；{n4}\n主题：合同盖章", "From: {e1} <{x1}>\nTo: {e2} <{x2}>\nCc: {e3}\nSubject: Q3 forecast", "On 3 June 2025, {e1} wrote:\n> as agreed", "在 2025年6月3日，{n1} 写道：\n> 收到，谢谢"],
    "mail footer": ["本邮件由{n1}（{x1}）发送，如非收件人请致电 {l1}。", "Sent by {e1} from my phone. If urgent call {u1}.", "{n1}｜华南区销售｜{m1}｜{x1}", "{e1} · Head of People · {x1} · {u1}"],
    "table with persons": ["| 员工 | 证件号码 | 手机号码 |\n|---|---|---|\n| {n1} | {i1} | {m1} |\n| {n2} | {i2} | {m2} |", "| Employee name | SSN | Phone |\n|---|---|---|\n| {e1} | {z1} | {u1} |\n| {e2} | {z2} | {u2} |", "| 客户姓名 | 卡号 | 地址 |\n|---|---|---|\n| {n1} | {c1} | {a1} |\n| {n2} | {c2} | {a2} |", "| Owner | E-mail |\n|---|---|\n| {e1} | {x1} |\n| {e2} | {x2} |"],
    "approval stamp": ["审批意见：同意。{n1} 2025.6.3", "Approved by {e1} on 3 June 2025", "部门负责人（签字）：{n1}　　分管领导（签字）：{n2}", "Reviewed: {e1}   Released: {e2}"],
    "organisation list": ["总经理：{n1}\n副总经理：{n2}、{n3}\n财务部经理：{n4}", "Managing director: {e1}\nHead of sales: {e2}\nHead of IT: {e3}", "销售部\n　经理 {n1}\n　专员 {n2}、{n3}", "Engineering\n- Lead: {e1}\n- Members: {e2}, {e3}"],
    "contact card": ["{n1}\n某某科技 大客户部\n{m1}\n{x1}\n{a1}", "BEGIN:VCARD\nFN:{e1}\nTEL:{u1}\nEMAIL:{x1}\nEND:VCARD", "名片：{n1}（{p1}） 微信 {w1} 手机 {m1}", "{e1}\nSales Engineer\nMobile {u1}\nE-mail {x1}\n{b1}"],
    "chat": ["{n1}: 把{n2}的电话发我\n{n3}: {m1}", "{e1}: can {e2} join at 3?\n{e3}: she's on leave, try {u1}", "张工 09:21\n{n1}的社保卡丢了，身份证{i1}\n行政 09:25\n让他找{n2}", "[10:02] {e1}: pinged {e2}, no answer\n[10:04] {e3}: call {u1}"],
    "log line": ["2025-06-03 10:11:12 INFO user={x1} mobile={m1} login", "WARN 2025-06-03T10:11:12Z failed login for {x1} from 10.2.3.4", "[audit] 操作人={n1} 手机={m1} 动作=导出", "ERROR card={c1} holder=\"{e1}\" declined"],
    "configuration": ["smtp:\n  user: {x1}\n  password: {s1}", "[database]\nuser = app\npassword = {s1}\n# owner {e1}", "admin.phone={m1}\nadmin.mail={x1}\napi.key={t1}", "export ADMIN_PASSWORD='{s1}'  # ask {e1}"],
    "code": ["# 作者：{n1} {x1}\ntoken = \"{t1}\"", "// Contact {e1} <{x1}> before changing this\nconst PHONE = \"{u1}\";", "users = [(\"{n1}\", \"{m1}\"), (\"{n2}\", \"{m2}\")]", "@author {e1}\n@since 2.1\npassword=\"{s1}\""],
    "CSV": ["姓名,身份证号,手机\n{n1},{i1},{m1}\n{n2},{i2},{m2}\n", "Name,Email,Phone\n{e1},{x1},{u1}\n{e2},{x2},{u2}\n", "工号,员工姓名,银行卡\n001,{n1},{c1}\n002,{n2},{c2}\n", "Full name;SSN;Passport\n{e1};{z1};{h1}\n{e2};{z2};{h2}\n"],
    "mixed languages": ["{e1}（中文名{n1}）的 mobile 是 {m1}", "请 {e1} 和{n1}在 Monday 之前回复 {x1}", "PM：{n1}，Dev：{e1}，QA：{p1}", "Call {n1} at {m1} (WeChat: {w1})"],
    "contract": ["甲方代表：{n1}（身份证号：{i1}）\n乙方代表：{n2}\n联系电话：{m1}", "between {e1}, residing at {b1}, and {e2} (passport {h1})", "本合同由{n1}代表甲方签署，收款账户 {c1}，开户人{n1}。", "The Tenant, {e1}, shall pay into IBAN {o1}. Notices go to {x1}."],
    "recruitment": ["候选人{n1}，电话{m1}，邮箱{x1}，期望薪资面议。", "Candidate: {e1}\nPhone: {u1}\nReferee: {e2}, {x1}", "面试安排：{n1} 6月5日 14:00，面试官{n2}", "We interviewed {e1} on Tuesday; {e2} recommends an offer."],
    "leave request": ["请假人：{n1}，部门：质检部，事由：探亲，代理人：{n2}", "{e1} will be out from 3 to 9 June; {e2} covers.", "{n1}因病请假三天，工作交由{n2}处理，紧急联系电话{m1}。", "Leave approved for {e1}. Emergency contact: {e2}, {u1}."],
    "expense claim": ["报销人 {n1}，垫付 820 元，打到 {c1}", "Claimant: {e1}\nPay to IBAN {o1}", "出差人员：{n1}、{n2}，车牌{q1}，过路费 120 元", "Reimburse {e1} for the taxi; card {c1}."],
    "delivery note": ["收货人：{n1} 电话 {m1}\n地址：{a1}", "Ship to: {e1}\n{b1}\nPhone {u1}", "司机{n1}（{m1}）驾驶{q1}已于9点送达，签收人{n2}。", "Received in good order by {e1}, signed for by {e2}."],
    "visitor log": ["来访：{n1} 身份证{i1} 车牌{q1} 被访人{n2}", "Visitor {e1} for {e2}, badge 14, plate noted", "{n1}（{m1}）来访，接待人：{n2}", "09:40 {e1} signed in, host {e2}, phone {u1}"],
    "incident report": ["当班操作工{n1}发现泄漏，立即通知班长{n2}，{n2}电话{m1}。", "{e1} slipped on the wet floor and was taken to hospital by {e2}.", "伤者{n1}，男，家住{a1}，身份证{i1}。", "Witness {e1} ({u1}) saw {e2} enter the room."],
    "support ticket": ["客户{n1}来电{m1}反映登录不上，邮箱 {x1}", "Customer {e1} ({x1}) can't log in since Monday; callback {u1}.", "工单处理人：{n1}；回访：{n2}，用户称密码为{s1}", "User says the password is {s1}; reset by {e1}."],
    "bank details": ["户名：{n1}\n账号：{c1}\n开户行：工商银行", "Account holder: {e1}\nIBAN: {o1}", "工资卡换了，新卡 {c1}，户主{n1}", "Please wire to {e1}, IBAN {o1}, by Friday."],
    "travel booking": ["乘机人 {n1} 护照 {h1} 手机 {m1}", "Passenger {e1}, passport {h1}, mobile {u1}", "{n1}、{n2}订6月9日高铁，证件号{i1}、{i2}", "Hotel for {e1} and {e2}; contact {x1}"],
    "medical": ["患者{n1}，身份证{i1}，家属{n2}电话{m1}", "Patient {e1}, SSN {z1}, seen by Dr. {e2}", "主诊医师{n1}，护士{n2}，患者住址{a1}", "Next of kin: {e1} ({u1})"],
    "school list": ["班主任{n1}，家长{n2}手机{m1}", "Student {e1}, guardian {e2}, {u1}", "学员名单：{n1}、{n2}、{n3}", "Teacher: {e1}; parents: {e2}"],
    "training record": ["参训人员签到：{n1} {n2} {n3}", "Trainer {e1}; trainees {e2} and {e3}", "讲师：{n1}　考核人：{n2}", "Certificate issued to {e1} by {e2}."],
    "handover": ["交接人：{n1}　接收人：{n2}　监交人：{n3}", "Handed over by {e1} to {e2}", "{n1}离职，账号移交{n2}，密码改为{s1}", "{e1} leaves on Friday; keys go to {e2}."],
    "notice": ["任命{n1}为生产部经理，{n2}不再兼任。", "We are pleased to welcome {e1}, who joins {e2}'s team.", "联系人：{n1}，电话：{l1}", "Please direct questions to {e1} at {x1}."],
    "wiki page": ["负责人 {n1}，备份 {n2}，值班电话 {m1}", "Owner: {e1}. Escalate to {e2} ({u1}).", "本页由 {n1} 维护，有问题加微信 {w1}", "Maintained by {e1}, last edited by {e2}"],
    "version history": ["V1.2 {n1} 2025-06-03 修订第三章", "| 1.2 | 2025-06-03 | {e1} | Fixed section 3 |", "修订人：{n1}；审核：{n2}", "Rev B, 3 June 2025, {e1}: new drawings"],
    "to-do list": ["- [ ] {n1}：更新报价\n- [x] {n2}：寄样品", "- [ ] {e1} to renew the lease\n- [x] {e2} to call {u1}", "待办：找{n1}要发票，给{n2}回电{m1}", "TODO({e1}): remove the key {t1}"],
    "calendar": ["6月3日 10:00 与{n1}面谈（{l1}）", "3 June 10:00 1:1 with {e1}; dial {u1}", "{n1}生日，订蛋糕送{a1}", "Lunch with {e1} and {e2}"],
    "survey": ["姓名：{n1}\n联系方式：{m1}\n微信：{w1}", "Your name: {e1}\nE-mail: {x1}", "填表人：{n1}　住址：{a1}", "Respondent: {e1}, {b1}"],
    "voice transcript": ["喂，我是{n1}，我的号码是{m1}，麻烦回个电话。", "Hi, this is {e1}, my number is {u1}, please call back.", "您好，请转告{n1}，{n2}找他。", "Could you tell {e1} that {e2} called?"],
    "court paper": ["原告：{n1}，女，汉族，住{a1}，公民身份号码{i1}。", "{e1}, of {b1}, plaintiff, v. {e2}, defendant", "委托诉讼代理人：{n1}，电话{m1}", "Sworn by {e1} before {e2}."],
    "personnel file": ["{n1}，身份证号{i1}，银行卡{c1}，紧急联系人{n2}", "{e1}; SSN {z1}; direct deposit {o1}", "配偶：{n1}　子女：{n2}", "Spouse: {e1}; manager: {e2}"],
    "press release": ["公司创始人{n1}表示，将继续投入。", "“We are proud,” said {e1}, chief executive.", "发言人{n1}说，结果将于周五公布。", "Media contact: {e1}, {x1}, {u1}"],
    "property": ["业主{n1}，{a1}，车位登记{q1}", "Landlord {e1}; tenant {e2}; rent to {o1}", "租客{n1}电话{m1}，押金已退", "Keys with {e1}, {b1}"],
    "security": ["门禁密码{s1}，保管人{n1}", "Safe code kept by {e1}; vault password: {s1}", "root 密码：{s1}\n令牌：{t1}", "Rotate {t1}; ask {e1} for access."],
    "full-width": ["联系人：{n1}，手机：{m1}", "Phone: {u1}, card {c1}", "身份证 {i1}，邮箱 {x1}", "passport {h1}, SSN {z1}"],
    "zero-width": ["联系人：{n1}，手机：{m1}", "Mobile {m1}, e-mail {x1}", "身份证 {i1}，车牌 {q1}", "card {c1}, passport {h1}"],
    "line break within": ["手机号码 {m1}", "card number {c1}", "公民身份号码：{i1}", "mobile: {m1}"],
    "traditional": ["聯絡人：{n1}，電話 {m1}", "身份證號碼 {i1}，持證人{n1}", "收件人 {n1}，地址：{a1}", "由{n1}主持會議，{n2}記錄"],
}  # fmt: skip

DECOYS = (
    """
老王卖瓜自卖自夸。|她是公司的王牌销售。|请用小张纸打印标签。|李宁牌球鞋三十双。|方案一和方案二都可行。|高温天气注意防暑。|安全生产责任制。|金山文档里有模板。|周一例会改到周二。|陈列柜需要更换玻璃。|张贴公告三天。
石英砂到货两吨。|江苏分公司搬家。|黄河路口封闭施工。|马上安排人处理。|白板笔用完了。|钱包遗失请到前台。|温州仓库盘点。|常州到货。|任务已分配。|许可证已续期。|程序无法启动。|段落间距改为一行。|毛利率上升两个点。|雷达图见附件。
贺卡三百张。|谢谢配合。|罗列如下。|关于请示的批复。|洪水预警解除。|汪洋大海。|康乐中心开放。|牛奶每人一盒。|易碎品轻放。|花卉养护合同。|明天上午停水。|华为手机两台。|海尔冰箱维修。|苏泊尔电饭煲。|王府井店开业。|周大福金饰。|张裕葡萄酒两箱。
Mr. Coffee is in the kitchen.|Open Cassandra and restart it.|The Grace period ends in May.|Mark the boxes with a pen.|Will the parts arrive in April?|Summer hours start on Monday.|Read the Data Protection Policy.|Ask the Project Manager.|The Paris office moved.|Deploy to Jenkins first.
Rose gold covers are back.|Morgan Stanley sent the report.|Johnson Controls fixed the boiler.|Baker Street is closed.|See Table A. Results follow.|Plan B. Testing goes on.|The Victoria line is late.|Florence is a warm city.|Python and Julia are languages.|Ford said sales rose.|Hope this helps.|Hunter green paint, two cans.
Sign in with Claude.|Dell laptops, ten of them.|The Marshall Plan.|A Christian holiday.|Jordan and Georgia are countries.|The Max value is 12.|St. Mary Hospital called.|Lake Victoria is large.|Black Friday sale.|Frank discussions were held.|The Bill was passed.|Art supplies are in the closet.|Joy and sorrow.|Iris recognition is on.
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

NAMES = (
    "杨秀英 薛林 马静 罗桂花 龚涛 张坤 张凤英 李秀兰 张想 李杨 唐宇 陶楠 郝帆 尹宁 徐佳 盛华 崔艳 梁秀云 陆海燕 鲍超 胡刚 廖雪梅 刘璐 王桂香 张俊 贺琴 梁飞 李杰 刘丹丹 洪淑华 牛亮 刘健 张杰 缪敏 米丽娟 林旭 韩英 陈坤 宋斌 王建 余玉华"
    " 李海燕 孙小红 张琳 陈健 闵荣 胡莹 吴婷 陈旭 李辉 欧华 万欢 陈瑞 王淑珍 施梅 黄强 徐建国 赵宇 王超 戴明 江霞 高健 王冬梅 张秀华 高凤英 马坤 梁海燕 赵帆 韦秀珍 杨琳 胡琴 刘芳 杨峰 郭秀芳 陈秀英 朱波 陈磊 谢雪梅 蒋旭 邹兰英 朱春梅"
    " 吴琳 王秀珍 徐玉 梁冬梅 翟柳 唐龙 黄佳 苏建 王英 黄俊 金成 杨杰 宋凤兰 刘明 李玉华 李华 朱萍 郭超 张楠 黄莉 钟健 黄欣 管林 徐海燕 宋帆 张瑜"
).split()
ENGLISH = (
    "Nicolas Jacquet|Noelia Vera|Valeri Johann|Juliane Hesse|Maurizio Müller|Claire Hicks|Michel Martinez|Bilal Blonk|Dagmara Synak|Kiara Burke|Mirella Barth|Pallavi Chand|Gabriel Jarmużek|Marianna Bobel|Carolyn Espinoza"
    "|Paul Schneider|Mark Buckley|Floris Verschuere|Vrinda Taneja|Hans-Albert Kuhl|Karina Mytych|Enzo Faranda|Ayushman Banik|Aureliano Domínguez|Alcides Pavón|Abigail Smith|Jade Buckley|Konstanty Wąsiewicz|Émilie Pereira"
    "|Roksana Pyda|Ian Zevenboom|Viktor Gnatz|Eggert Wiek|Gotthold Römer|Max Davey|Geoffrey Morgan|Paul Preiß|Juliusz Bondyra|Jasper Slingerland|Joseph Walker|Iwo Gadzina|Maurice Coleman|Thomas Humphreys|Sabrina Weitzel"
    "|Alondra Estrada|Carolyn Forster|Ryan James|Anthony Warner|Ties de Jonge|Phillip Roberts|Adrian Trznadel|Dylan Cartwright|Victoire Maillot|Selena Terry|Przemysław Wasyluk|Jenna Hall|Jose Manuel Lladó|Kamila Błaszyk"
    "|David Rowe|Daniele Toscani|Brenda Taylor|Robert Cole|Hanny Putz|Gerd Wohlgemut|Tyler Miller|Nout van den Nuwenhijsen|Gianluca Rienzo|Mohini Rai|Jolanda Petrucelli|Tiffany Gonzalez|Benjamin Harris|Rachel Rodriguez"
    "|Charlotte Keijzer|Alexandria Willis|Pepito Vargas|Antonietta Travaglia|Carl Thompson|Thibaut Sauvage|Sebastian Rolak|Carl Brown|Kimberly Bauer|Marijn de Nijs|Bryan Lane|Vincent Sha|Valentine Durand|Caroline Stevenson"
).split("|")
