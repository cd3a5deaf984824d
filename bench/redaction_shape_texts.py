"""The shapes of `redaction_shapes`, the values that fill them, and sentences that hold no value."""

VALUES = {
    "zh": """王丽华 李建平 张晓峰 刘思琪 陈志强 杨雪 赵永刚 黄佳怡 周子涵 吴桂兰 徐文静 孙鹏飞 胡志明 朱慧敏 高明辉 林诗涵 何小军 郭雅琴 马玉梅 罗振宇 梁艳 宋凯
        郑爱国 谢婷 韩东升 唐晓玲 冯宇航 于佳慧 董浩 萧雨 程立新 曹美霞 袁志刚 邓丽娜 许文强 傅雪 沈建华 曾国荣 彭海燕 吕晶 苏志远 卢秀芳 蒋伟 蔡俊杰 贾春梅 丁建国 魏子豪 薛蕾
        叶青 阎志军 余佳 潘红霞 杜磊 戴晓明 夏玲 钟国华 汪洋洋 田雨欣 任志伟 姜丽 范建军 方慧 石磊磊 姚梦洁 谭浩然 廖志杰 邹敏 熊大伟 金秀英 陆佳琪 郝强 孔德明 白雪梅 崔永峰
        康佳 毛建军 邱丽萍 秦志远 江涛 史文博 顾晓燕 侯志勇 邵玉兰 孟繁荣 龙飞 万晓东 段丽君 钱国强 汤慧 尹志平 黎明辉 易建联 常玉洁 武文斌 乔志国 贺小平 赖佳玲 龚建明 文静怡 欧阳志远
        司马雪 诸葛建 上官婉 司徒志强""".split(),
    "short": "老王 小李 老张 小陈 王工 李工 陈总 刘总 张姐 赵哥 阿强 阿玲 周主任 吴经理 小赵 老刘 孙总 林姐 黄工 何老师".split(),
    "nick": "大熊 猴子 胖虎 黑皮 老猫 石头 铁柱 豆包 皮皮 二狗".split(),
    "en": """Laura Bennett|Michael Thornton|Aisha Rahman|Tomasz Kowalski|Ngozi Eze|Carlos Mendoza|Emily Watson|Hiroshi Yamamoto|Fatima Zahra|Declan Byrne|Siobhan Kelly|Anil Kapoor|Marta Silva
        |Jakub Nowicki|Rosa Jimenez|Kwame Boateng|Ingrid Solberg|Oleg Ivanov|Deepika Nair|Jonathan Reyes|Megan Foster|Thabo Nkosi|Leila Haddad|Samuel Greene|Paulina Wozniak|Vikram Desai
        |Charlotte Dupont|Andrew McAllister|Yasmin Farouk|Trevor Hodges|Bronwyn Hughes|Luca Bianchi|Katarina Horvat|Dmitri Sokolov|Abena Owusu|Gareth Pritchard|Nora Lindholm|Juan Carlos Ortiz
        |Rachel Goldberg|Peter Vandenberg|Lakshmi Iyer|Stefan Brandt|Chiara Romano|Emeka Okafor|Wendy Fletcher|Elif Yildiz|Mateusz Kaminski|Sunita Sharma|Hannah Weiss|Callum Fraser""".replace(
        "\n        ", ""
    ).split("|"),
    "py": "Wang Lihua|Li Jianping|Zhang Xiaofeng|Liu Siqi|Chen Zhiqiang|Zhao Yonggang|Huang Jiayi|Zhou Zihan|Xu Wenjing|Sun Pengfei|Guo Yaqin|Luo Zhenyu|Feng Yuhang|Deng Lina|Shen Jianhua|Tang Xiaoling".split(
        "|"
    ),
    "word": "sunshine butterfly monkey dragon football cinnamon blueberry mountain lavender whiskey thunder marmalade pineapple velvet charlie".split(),
    "code": "Spring2024! hunter22 Kx9#mPq2 P@ssw0rd1 qwe123456 Welcome@2025 zhao1990 Sh@nghai88 7hTr-99Lp admin888 blue-horse-42 Lq83nVz0 tiger!77 Test_2023 abc123456".split(),
    "pin": "482913 770215 3906 118822 52710964 9047 660318 2580".split(),
    "mail": [
        '"wang" + "@" + "corp.cn"=wang@corp.cn',
        "'li.na' + '@' + 'example.com'=li.na@example.com",
        '"zhao" . "@" . "firma.com.cn"=zhao@firma.com.cn',
        "'anna' || '@' || 'acme.org'=anna@acme.org",
        '"chen" & "@" & "qq.com"=chen@qq.com',
        '"bob@" + "example.net"=bob@example.net',
        '"@".join(["sun", "mail.cn"])=sun@mail.cn',
        "['kim', 'shop.co'].join('@')=kim@shop.co",
    ],
}

NAMED = r"""
今天的晨会{zh}没到，说是孩子发烧。
报销单已经交给财务{zh}，预计周五到账。
{zh}出差了，有急事打他手机。
这个需求最早是{zh}提的，后来被搁置了。
各位好，我是新来的产品经理{zh}，请多关照。
周报：\n1. {zh}：完成登录模块\n2. {zh}：修复导出缺陷
经{zh}同意后方可外借。
{zh}昨晚离职了，账号请尽快停用。
合同一式两份，由{zh}与{zh}各执一份。
【工单】提交：{zh}；处理：{zh}；状态：已关闭
钥匙在{zh}那里，他六点下班。
# 作者 {zh} 2024-05-06 修改了超时时间
请假人{zh}，事由：回家探亲，时间三天。
恭喜{zh}荣获年度优秀员工！
{zh}的转正申请已经批了。
听{zh}说，客户那边又改主意了。
附件是{zh}发来的报价，请查收。
| {zh} | 设备部 | 3 天 |
本次事故中，{zh}手部受伤，已送医。
会后{zh}留下来补充了几点意见。
抄送给{zh}和{zh}，谢谢。
// TODO({zh}): 这里要加锁
工号,姓名,部门\n1001,{zh},财务部\n1002,{zh},人事部
我把文件放在{zh}桌上了。
{zh}，你那边的数据什么时候能给我？
2024-03-02 11:20:31 INFO 用户{zh}登录成功
尊敬的{zh}：\n您的贷款申请已受理。
{zh}和{zh}吵了一架，部门气氛很僵。
培训名单：{zh}、{zh}、{zh}
客户{zh}反映空调不制冷。
下周起由{zh}接替{zh}的工作。
审批意见：同意。{zh} 2024年3月5日
这段代码是{zh}写的，我看不懂。
{zh}生日快乐！🎂
已与{zh}电话沟通，对方表示会尽快付款。
技术问题请咨询{zh}，商务问题请咨询{zh}。
死者{zh}，系该厂电工。
姓 名：{zh}　　性 别：女
兹有我单位职工{zh}前往贵处办理手续。
{zh}（财务）负责付款，{zh}（法务）审合同。
刚才{zh}打电话来问发货的事。
把权限给{zh}开一下，他要看报表。
收款人户名{zh}，开户行工商银行。
- [ ] 跟进回款 @{zh}
- [x] {zh}：整理会议室
原定{zh}讲课，临时换成了{zh}。
值班经理{zh}处理了此次停电。
{zh}提交了辞职信，最后工作日是月底。
老师说{zh}这次数学考了满分。
据{zh}回忆，当时门是开着的。
{"creator": "{zh}", "status": "open"}
我妈叫{zh}，我爸叫{zh}。
本人{zh}，自愿放弃年假。
谢谢{zh}的帮助，问题解决了。
{zh}怀孕了，下个月休产假。
导师{zh}，副导师{zh}
面试反馈：{zh}基础扎实，建议录用。
寄往：北京分公司 {zh} 收
绩效面谈记录\n被谈人\n{zh}\n主管\n{zh}
罚款200元，责任人{zh}签字。
{zh}不在，我替他接的电话。
采购找{zh}，报修找{zh}。
请问{zh}在吗？有他的快递。
学生{zh}因病缺考，准予补考。
{zh}提前完成了任务，值得表扬。
麻烦问一下{short}，图纸改好没有？
{short}说下午三点开会。
这事得{short}点头才行。
刚跟{short}通了电话，他没意见。
{short}，收到请回复。
让{short}把样品寄过来
我和{short}一起去的现场。
昨天{short}请大家吃饭。
他外号{nick}，大家都这么叫。
{zh}，绰号“{nick}”，四十岁上下。
张建国（人称{nick}）也来了。
网名：{nick}
I ran into {en} at the airport yesterday.
{en} is out sick today, so please cover the front desk.
The invoice was approved by {en} last week.
Could you forward this to {en} and {en}?
Ticket #4521 - opened by {en}, closed by {en}
We are sorry to announce that {en} is leaving the company.
As {en} mentioned, the deadline has moved.
Hi team,\n\nPlease welcome {en}, who joins us from Lisbon.\n\nBest
// FIXME({en}): this leaks memory
2024-03-02 11:20:31 INFO user {en} logged in
name,department,days\n{en},Finance,3\n{en},HR,5
{en}'s laptop needs a new battery.
I sat next to {en} during the training.
According to {en}, the door was open.
My manager, {en}, signed the form.
Give the keys to {en} when you leave.
- {en}: fixed the login page\n- {en}: wrote the release notes
{en} and I will be late.
Congratulations to {en} on her promotion!
This agreement is made between {en} and Acme Ltd.
The nurse told {en} to wait outside.
Next steps: {en} will send the quote by Monday.
Happy birthday, {en}!
The late shift is covered by {en} until Friday.
{"createdBy": "{en}", "status": "open"}
Please transfer the money to {en}, account at Barclays.
We interviewed {en} for the analyst role.
Is {en} in? There is a parcel for her.
{en} resigned on 3 March.
Emergency contact - {en} (sister)
Reviewed the contract with {en} this morning.
{en} <l.b@example.com>
I have copied {en} on this e-mail.
The deceased, {en}, was an electrician at the plant.
Student {en} missed the exam due to illness.
From: {en} (Finance)\nTo: {en} (Legal)
Git log: Author: {en}
Our driver was called {en}.
Assigned engineer: {en} | Backup: {en}
Speak to {en} if the printer jams.
{en} complained about the noise.
I, {en}, hereby resign.
Thanks {en}, that worked.
Sent from my phone\n{en}
{en}\nSenior Accountant\nAcme Ltd
The car belongs to {en}.
When {en} arrives, show her to room 4.
Payment received from {en} on 4 May.
{en} v. Acme Ltd
"I never saw it," said {en}.
{py} will visit the plant next week.
Please ask {py} about the drawings.
{py}'s visa was approved.
The sample was sent by {py} and {py}.
Author: {py}\nDate: 2024-05-06
| {py} | QA | 4 |
We met {py} in Suzhou.
Dear {py},\nyour order has shipped.
"""

SECRET = r"""
the password is {word}
My password is {word}, please don't share it.
Password for the shared drive: {word}
pw: {code}
I changed the root password to {code} last night.
Password reset to {code}. Please change it after login.
login: admin\npassword: {word}
Username - bob; Password - {code}
Use {code} as the password.
The WiFi password -> {code}
Your temporary password ({code}) expires in 24 hours.
Your PIN is {pin}.
Use code {pin} to verify your account.
The new passphrase is "{word}".
| Service | Password |\n|---|---|\n| Mail | {code} |
Password:\n{code}
Passcode for the meeting: {pin}
Log in as bob with password {code}
the secret is {code}
API token: {code}{code}
PASSWORD={word}\nHOST=db1
the admin pass is {code}, don't tell anyone
She told me her password was {word}.
password = "{word}"
You can unlock the file with {code}.
safe combination is {pin}
Set the password to {word} for now
<b>Password</b>: {code}
creds: admin / {code}
bob:{code}@10.0.0.5 works for ssh
New key → {code}{code}
Meeting ID: 812 3345 9921, Passcode: {code}
Enter {pin} at the gate.
verification code {pin}
The password has been changed from {code} to {code}
Account: bob\nPass: {code}
door code: {pin}
It's the usual password, {word}.
password "{word}" still works
密码是{word}
密码：{word}
密码改成{code}了
新密码 {code} 已生效
口令为{code}，勿外传
账号 admin，密码 {code}
用户名：root\n密码：{word}
初始密码统一设为{code}
【某某银行】验证码{pin}，5分钟内有效。
您的验证码是：{pin}
登录密码->{code}
WiFi密码：{word}
把密码重置成了{code}
密码（{code}）请妥善保管
密码\n{code}
| 系统 | 账号 | 密码 |\n|---|---|---|\n| OA | admin | {code} |
我的支付密码是{pin}
保险柜密码{pin}
密钥：{code}{code}
令牌 = {code}{code}
门禁密码是{pin}#
密码还是老样子，{code}
解压密码{code}
管理员口令“{code}”
PIN码：{pin}
开机密码：{pin}
提取码: {code}
密码由{code}改为{code}
用{code}登录就行
账号密码都是{word}
会议密码 {pin}
数据库的密码忘了改，现在还是{code}
root/{code}
请用{code}作为密码登录
手机锁屏密码：{pin}
暗号是{word}
APP_SECRET：{code}{code}
密码为：“{word}”
token是{code}{code}
# 密码 {code}
WIFI: office 密码: {code}
send({mail}, body)
const to = {mail};
address = {mail}
echo {mail}
"""

INNOCENT = r"""
The password is required.
Password must be at least 8 characters long.
The password is incorrect, try again.
Your password is about to expire.
The password is stored as a hash.
A password is a secret word.
Please reset your password before Friday.
The key is to be early.
The key is simplicity.
The secret is to start early.
The secret is patience, said the chef.
Token is missing from the request.
The token was revoked by the server.
Passwords are case sensitive.
Enter your password and click Next.
The password was changed last week.
The password has been reset by an administrator.
password: required
password (optional)
password: string
Password policy: strong passwords only
My password does not work.
What is the password?
The password field is empty.
The password is the same as before.
If the password is wrong, the account is locked.
Password protection is enabled.
The secret was well kept.
The key is under the mat.
The passcode is sent by text message.
PIN is valid for three attempts.
The access token is refreshed automatically.
Access tokens are issued by the identity service.
Use a password manager.
Use the same password as for e-mail.
Use code review for every change.
Use code generation to save time.
The code is compiled twice.
The code is clean and tested.
Door code is changed every month.
Tokens: 1,200 per request
max_tokens: 4096
The token count is 512.
secret: null
api_key: ${API_KEY}
password = os.environ["DB_PASSWORD"]
password = get_password(user)
password: str = Field(min_length=8)
if password == confirm_password:
def set_password(self, password):
The primary key is an integer.
The foreign key is nullable.
Press the Enter key to continue.
The key is pressed twice.
Sort key: created_at
The partition key is tenant_id.
The public key is published on the website.
The key is 256 bits long.
Key results: revenue grew by 12 percent.
Key: red means late, green means on time.
The combination is unusual.
A combination of 3 factors is needed.
Set the password to a value that you can remember.
Set the password to expire after 90 days.
Change the password to something stronger.
The default password is printed on the label.
The password is shown only once.
The password is not stored.
The password is optional for guests.
Password length is 12 to 64 characters.
Password reset link sent.
Password reset to default is not supported.
Log in with your company account.
Log in with single sign-on.
Sign in using the mobile app.
The pass rate is 98 percent.
The pass is valid for one day.
He will pass: the exam was easy.
First pass: remove duplicates.
密码不能为空。
密码长度为8到16位。
密码错误，请重新输入。
密码已过期，请修改。
请输入密码
忘记密码请联系管理员。
密码必须包含字母和数字。
密码是用户自行设置的。
密码为必填项。
密码由系统自动生成。
密码已重置，请查收短信。
密码：必填
密码强度：高
密码有效期90天。
密码改成更复杂的。
密码是保密的，请勿告诉他人。
密码学是数学的一个分支。
初始密码见工资条。
验证码已发送至您的手机。
验证码有效期为5分钟。
请输入验证码。
验证码错误次数超过3次将锁定。
密钥由硬件模块保管。
密钥长度为256位。
密钥每年更换一次。
令牌过期后需要重新登录。
令牌数不超过4096。
口令是安全的第一道防线。
口令应当每季度更换。
关键是提前准备。
秘密在于坚持。
门禁密码每月更换。
开机密码请自行设置。
账号和密码分开发送。
账号密码都是统一分配的。
用户名和密码不正确。
请用手机号登录。
用验证码登录更方便。
提取码见下方。
暗号是约定的手势。
使用密码登录系统。
数据库密码存放在保险库中。
高兴的是大家都来了。
方便的话请回个电话。
马上开会，请大家准备。
安全生产，人人有责。
任何人不得擅自离岗。
和平与发展是时代主题。
江苏省的经济总量居全国前列。
程序运行正常，没有报错。
文件已经上传到共享盘。
成功的关键在于坚持。
于是项目提前完工。
石油价格上涨，运费增加。
张贴通知的时候注意位置。
水平仪需要每年校准。
白天施工，夜间停工。
温度超过三十度时停止作业。
平均工资增长百分之五。
金属构件应当除锈。
黄色标线表示禁止停车。
高处作业必须系安全带。
严格执行操作规程。
常用药品放在二楼药房。
向上级主管部门报告。
施工单位负责现场管理。
项目部组织验收，监理签字。
林业部门负责审批。
财务部审核后付款。
设备由厂家负责维修。
双方签字盖章后生效。
单位负责人签字。
车辆由司机保管。
经理审批后方可外借。
客户反映空调不制冷。
学生因病缺考，准予补考。
用户登录成功
值班人员处理了此次停电。
会议由总经理主持。
会议由工会主席主持召开。
合同由甲方与乙方各执一份。
时间定于下周三上午。
包装完好，数量无误。
花费了三天时间。
计划下个月完成。
解决了三个问题。
应急预案每年演练一次。
连续工作不得超过四小时。
通过培训的人员方可上岗。
路面结冰，注意慢行。
雷雨天气停止室外作业。
钱款已经退回原账户。
简单说，就是没货了。
何时到货请提前告知。
国家标准和行业标准。
常见问题请看帮助中心。
温馨提示：请保管好随身物品。
全体员工参加，不得缺席。
毛利率同比下降。
米饭和面条任选。
范围包括办公区和生产区。
童装和女装在三楼。
华东地区销量第一。
管道压力过高时自动报警。
管理制度自发布之日起施行。
康复训练每天两次。
强制性条文必须严格执行。
鱼类和贝类不得混放。
游客请从东门入园。
易燃品单独存放。
祝贺公司成立二十周年。
贡献突出的给予奖励。
宣传栏每周更新。
曲线图见附件三。
符合要求的予以通过。
许可证有效期三年。
周末加班另行通知。
周期为两个月。
方案已经批准。
方法简单，容易掌握。
高度不得超过两米。
平台上线后运行稳定。
水泥标号不得低于设计要求。
申请人应当提交材料。
相关部门做好配合。
成本控制在预算以内。
明确分工，责任到人。
严重违章的停工整改。
单独列支，不得挪用。
车间温度保持在二十度。
左侧通行，右侧让行。
石材和木材分开堆放。
时刻注意脚下。
宁可慢一点，也要保证质量。
关闭阀门后方可拆卸。
麻烦把门关一下。
苏打水和果汁在冰箱里。
老师说下午三点开会。
老板请大家吃饭。
小组讨论后形成结论。
小时工资二十元。
老化的电线必须更换。
阿里云的账单已经到了。
老客户享受九折。
小区门口可以停车。
总工程师审批后实施。
工程师到现场查看。
哥哥姐姐都工作了。
Quarterly Review will be held in the Board Room.
Please update the Risk Register before Friday.
The Human Resources Department approved the request.
Annual Report and Financial Statements
Getting Started With Kubernetes
Visual Studio Code is installed on every laptop.
Google Cloud and Amazon Web Services are supported.
Open the Control Panel and select Network Settings.
The Project Manager signed the form.
New York is out of stock, so please order from Los Angeles.
The San Francisco office is closed today.
North America and Western Europe
Red Hat Enterprise Linux is end of life.
The Supreme Court ruled in favor of the bank.
Happy New Year, everyone!
Merry Christmas from the Sales Team
Black Friday and Cyber Monday
Machine Learning and Data Science
Personal Protective Equipment is required.
Standard Operating Procedure
Health and Safety Executive
The Data Protection Act applies.
Terms and Conditions
Privacy Policy
Power Point slides are attached.
Apple Pay and Google Pay are accepted.
Microsoft Teams is down again.
Please ask the Help Desk about the printer.
Speak to the Front Desk if the printer jams.
Next steps: Legal will send the quote by Monday.
The Fire Marshal told everyone to wait outside.
Thanks everyone, that worked.
Reviewed the contract with Legal this morning.
Payment received from Acme Trading on 4 May.
This agreement is made between Northern Rail and Acme Ltd.
The Lisbon Treaty entered into force.
Heathrow Airport is closed.
Oxford University Press
Central Park is open until ten.
The White House said nothing.
Class A shares and Class B shares
Level Two support takes over.
Figure Three shows the layout.
See Appendix B for details.
South Korea and Saudi Arabia signed the treaty.
Blue Cross covers the visit.
General Electric makes turbines.
Silicon Valley is expensive.
Great Britain left the union.
Deep Learning is slow.
Sunday Morning shift is covered.
The Golden Gate Bridge is painted daily.
Elastic Search and Apache Kafka run on port 9200.
Pull Request was merged by the bot.
Docker Compose starts all services.
Wall Street opened higher.
The Prime Minister spoke on Monday.
Bank Holiday hours apply.
Customer Success will call you.
Vice President of Sales
Green Energy Fund
Silver Spring has two branches.
Star Alliance flights only.
Free Trade Zone
Grand Total: 400
Main Street is closed for repairs.
Royal Mail delivers on Saturday.
Good Morning everyone,
Kind Regards
Best Practice Guide
Happy Hour at five.
Long Beach has a port.
Can Do attitude
Wing Span: 30 m
Song Title and Album
He Said She Said
Ban Lifted on Imports
Fan Speed: high
Long Term Plan
Hong Kong and Macau
Peking Duck is served at noon.
Tai Chi class on Monday
Feng Shui for offices
Mah Jong evening
The Ming Dynasty lasted long.
Da Vinci surgical robot
"""
