"""Short texts as people write them, for measures of redaction: forms, mails, chats, configuration, contracts, notes, tickets, cells.

A value stands between ``«`` and ``»``; ``«@kind»`` and ``«@kind:form»`` are filled with a made-up one, where a check digit must fit.
They were written without looking at the rules, and run once before the rules were mended for what they missed.
"""

from __future__ import annotations

TEXTS = {
    "cn_id": r"""
员工入职登记表\n姓名 | 性别 | 身份证\n赵敏 | 女 | «@cn_id»
亲，退税要填身份证哈，我的是«@cn_id»，麻烦啦
乙方（身份证：«@cn_id»）承诺所提供资料真实有效
idcard=«@cn_id»&type=1
{"idNo": "«@cn_id»", "verified": true}
老板让登记一下，身份证号«@cn_id:spaced»
法定代表人身份证号码 «@cn_id:dashed»
ID No.: «@cn_id» (PRC resident)
旅客证件：居民身份证 «@cn_id»
sfz «@cn_id» 帮忙查下社保
""",
    "bank_card": r"""
工资卡：中国银行 «@bank_card:spaced»
报销打到我招行卡上：«@bank_card»
Card on file: «@bank_card:dashed», exp 04/28
户名：北京某某科技有限公司\n账号：«@bank_card»\n开户行：建设银行中关村支行
please charge my visa «@bank_card:spaced» for the deposit
card_number: "«@bank_card»"
PAN=«@bank_card»
退款账户（借记卡）«@bank_card:spaced»
转账到尾号前的完整卡号是 «@bank_card»
Ticket #4411: customer pasted his card «@bank_card» in the chat
""",
    "cn_mobile": r"""
送货前请打«13912345678»，门卫不让进
小李 «138 2233 4455» 周五值班
收货人电话：«186-1122-3344»
+86 «15811112222» is my China number
tel:«+8613700001111»
微信同号«17788889999»
有问题call我«13666667777»谢谢
{"mobile":"«13512340987»"}
紧急联系人：父亲，«136 0000 1234»
Whatsapp me on «0086 137 1234 5678»
手机号是一三九，后面«139 1234 5670»
值班手机(«15012345678»)24小时开机
""",
    "email": r"""
请把发票寄到«li.ming@company.com.cn»
抄送：«hr-team@shop.example.org»；«wang_fang@163.com»
From: Anna Berg <«anna.berg@nordsee.example»>
mailto:«j.doe+orders@example.co.uk»
我的邮箱是«zhaolei2008»«@qq.com»，发我一份
admin_email = "«root@corp.example.net»"
mail me: «tom#example.com»
邮箱 «chenjie#126.com» （把#换成@）
reach me at «sara (at) example (dot) org»
email: «petra AT example DOT de»
Git-Author: «m.kowalski@users.example.io»
发 «sunli@@qq.com» 就行
email «kate{at}example.com»
邮箱：«huang＠sina.com»
""",
    "cn_landline": r"""
公司总机：«010-62881234»转803
电话/传真：«(021) 5888 1234»
Tel. «+86-10-8529 1111»
门店座机«0755-26991234»
投诉请拨«0571—87654321»
office: «(0086)20-38881234»
固话：«02882345678»
""",
    "phone": r"""
Call «(415) 555-2671» and ask for Dana
Phone: «+44 20 7946 0958»
Tel.: «+49 30 901820»
mobile «+1-202-555-0143»
香港办事处电话：«+852 2345 6789»
澳门联络电话 «+853 2833 1234»
Fax «+33 1 42 68 53 00»
cell: «415.555.0199»
请拨日本同事 «+81 3-1234-5678»
phone_number: '«+6591234567»'
ring me on «07700 900123»
""",
    "ip": r"""
ssh root@«10.20.3.44» 进去看日志
服务器IP：«192.168.31.7»
upstream backend { server «172.16.0.9»:8080; }
Failed login from «203.0.113.77» port 22
DNS 设成 «8.8.4.4»
host: «2001:db8:85a3::8a2e:370:7334»
网关 «10.0.0.254»，掩码不用管
ping «198.51.100.23» timeout
jdbc:mysql://«10.8.1.20»:3306/shop
allow «203.0.113.0»/24;
""",
    "im_account": r"""
微信：«liming_1988»
加我微信 «wxid_8f7dk2k1x»
QQ：«1029384756»
QQ号«87654321»，备注来意
Skype: «anna.berg.dev»
telegram «@petrov_sales»
我的wx是«zhao-lei-88»
WeChat ID: «sunny2020hk»
V信 «kk19900101»
钉钉号：«wangwei_dd»
Line ID: «yuki_tokyo7»
""",
    "cn_uscc": r"""
统一社会信用代码：«@cn_uscc»
购方税号«@cn_uscc»
纳税人识别号: «@cn_uscc»
甲方（信用代码 «@cn_uscc»）
taxpayer id «@cn_uscc» for the fapiao
营业执照注册号 «@cn_uscc»
开票信息：上海某某贸易有限公司 «@cn_uscc»
""",
    "hmt_permit": r"""
港澳居民来往内地通行证：«H10293847»
回乡证号 «M08273645»
台胞证 «01234567»
证件类型：台湾居民来往大陆通行证 号码：«12345678»
Home Return Permit No. «H09876543»
港澳通行证«C12345678»
持回乡证 «H1029384756» 办理
Mainland Travel Permit: «M10101010»
""",
    "passport": r"""
护照号码：«E12345678»
Passport No: «G87654321»
passport number «C01X00T47» (Germany)
持«EA1234567»号护照出境
护照 «PE1234567» 下月到期
travel document (passport): «533401234»
US passport «488839667»
""",
    "plate": r"""
访客车辆：«京A·88K21»
车牌号«沪BD12345»，新能源
黑色帕萨特«粤B7K321»挡住出口了
送货车 «苏E 5T678»
«浙A-12D45» 请挪车
license plate: «川AF12345»
""",
    "us_ssn": r"""
SSN «219-09-9999»
Social Security #: «219 09 9998»
ssn=«219099997»
Employee SSN: «2 1 9 - 0 9 - 9 9 9 6»
SSN is «21 9-09-99 95»
""",
    "iban": r"""
IBAN «DE89 3704 0044 0532 0130 00»
please wire to «GB29NWBK60161331926819»
Kontonummer/IBAN: «FR14 2004 1010 0505 0001 3M02 606»
收款账户 «NL91ABNA0417164300»
beneficiary account «CH93-0076-2011-6238-5295-7»
""",
    "secret": r"""
DB_PASSWORD=«Winter2024!»
WiFi: office-guest / 密码：«88776655ab»
密码还是«Abc@123456»，别外传
"api_key": "«9f8e7d6c5b4a39281706»"
Authorization: Bearer «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sflKxwRJSMeKKF2QT4fwpM»
pwd: «hunter2x»
the root password was changed to «Tr0ub4dor&3»
登录名 admin 口令 «Qwe#9981»
aws_secret_access_key = «wJalrXUtnFEMIxK7MDENGbPxRfiCYzzzzzzzKEYX»
psql postgresql://shop:«s3cr3tPw»@db/shop
sshpass -p '«P@ss_w0rd1»' ssh ops@host
redis-cli -a «fooBar99x» ping
passwd=«letmein77»
初始密码«Hr2024@init»首次登录请修改
token: «wy_9aK2mPq7Lr4Tz8Xc1Vb5Nn3Dd6Ff»
门禁密码 «4821#»
the passphrase is "«correct horse battery 9»"
export GITHUB_TOKEN=«ghp_1234567890abcdefghijABCDEFGHIJ123456»
解压密码：«www.k7z»
spring.datasource.password: «Db!2023x»
access_token=«a81f02bc9d7e44f0a1»
username: bob password: «bobspw19»
PIN码 «739201»
验证码：«482913»
""",
    "person": r"""
签发人：«李 明»
甲方代表：«司马光辉»
经办人 — «周杰»
收件人 «陈晓燕» 收
审批：«王建国» 同意
面试官：«欧阳雪»
Dear «Mr. Thompson»,
Prepared by: «Anna Lindqvist»
Contact person: «Rajesh Kumar»
Attn: «Maria Gonzalez»
«张伟»先生您好
承租人（乙方）：«赵丽颖»
Signed, «Peter O'Connor»
主任医师 «孙立平»
患者姓名：«吴小芳»
approved by Dr. «Emily Carter» on Monday
«刘强»经理说明天到货
班主任«何静»老师
项目负责人为«郭志刚»
Reported by «Kevin Brown» via portal
监护人：«马晓军»（父亲）
Patient: «Olivia Martinez»
请找«徐娟»女士签字
送货员:«老 周»
employee name: «Li Wei»
委托代理人：«诸葛明亮»
发货人/«林国栋»
Assignee = «Sofia Rossi»
""",
    "address": r"""
收货地址：«浙江省杭州市西湖区文三路478号华星时代广场B座1203室»
住址：«广州市天河区体育东路122号»
家住«朝阳区望京西园四区408楼2单元501»
寄到«江苏省苏州市工业园区星湖街328号»即可
Ship to: «221B Baker Street, London NW1 6XE»
Address: «1600 Amphitheatre Parkway, Mountain View, CA 94043»
户籍地 «四川省成都市武侯区人民南路四段11号附1号»
通讯地址 «上海市徐汇区漕溪北路88号圣爱大厦»
在«南京市鼓楼区汉口路22号»交接
送至«武汉市洪山区珞喻路1037号东区3栋»
现居 «河北省保定市莲池区东风中路一二三号院»
lives at «42 Elm Street, Springfield»
billing address «Hauptstraße 12, 10827 Berlin»
注册地址：«深圳市前海深港合作区前湾一路1号A栋201室»
""",
}  # fmt: skip

DECOYS = r"""
订单号 202311081234567890
ISBN 978-7-115-54608-1
版本 v2.14.0-rc.3
第12.3.4条 违约责任
合同编号：HT-2024-000183
2024-03-15 至 2024-09-14
Part No. 6205-2RS-C3
commit 3f9a1c77b2de40918aa6b2f0c1d2e3f405162738
550e8400-e29b-41d4-a716-446655440000
Passwords must have at least 12 characters.
密码长度不少于8位，需包含字母和数字
密码错误三次后账户将被锁定
忘记密码请点击下方链接
The password is required.
password policy: see section 4
项目负责人应在三个工作日内答复
负责人职责
签发人职责如下
联系人变更流程
审批流程图
经办人应核对票据
甲方代表有权检查
总经理办公室
Manager responsibilities
Contact person for each department is listed below.
Prepared by the finance department
Approved by the board
Dear customer,
北京市是中国的首都
上海市浦东新区经济发展报告
浙江省杭州市举办亚运会
中山路改造工程
The Great Wall is in Beijing.
地址栏不能为空
IP地址冲突怎么办
电话会议纪要
手机端适配说明
邮箱容量不足
邮件主题不能超过50字
微信支付接入指南
QQ浏览器 版本 11.5
QQ群公告
the token expires after 3600 seconds
token limit: 4096
max_tokens: 2048
api_key: ${API_KEY}
password: {{ vault_password }}
PASSWORD=$1
密钥轮换周期为90天
私钥由法务保管
Base64 编码后长度为 24
GB/T 22239-2019
ISO 9001:2015
HTTP/1.1 200 OK
发票代码 044001900111 发票号码 12345678
运单号 SF1234567890123
快递单号：YT8812345678901
流水号20240315000012
货号 8809-1123-77
SKU: 70012345678
ASIN B07XJ8C8F5
合计 ¥1,234,567.89
Total: $12,345.00
温度 -10~45℃
坐标 116.397, 39.908
经纬度：31.2304,121.4737
尺寸 1200×800×750 mm
电压 220V 50Hz
page 128 of 300
图 3-12
表4.1
Chapter 12
附件3
GB2312 与 UTF-8
CVE-2021-44228
RFC 5322
2001:1 ratio
比分 3:2:1
时间 10:20:30
08:00-17:30 每日
port 8080
0.0.1.2 版发布
版本号 10.15.7.1
version 4.2.1.0 installed
libfoo.so.1.2.3.4
第一章 总则
章节 1.2.3.4
Meeting at 5 dot 30
Look at example dot product
issue #1024
C# 与 .NET 教程
标签 #周末去哪儿
@Override public String toString()
@所有人 今天提交周报
npm install @types/node
user@ 不是完整地址
E12 错误
H1N1 流感
G7 峰会
G20公报
C919 客机首飞
A4 纸
京A路口封闭
京津冀一体化
沪深300指数
川菜馆
粤剧
苏州园林
张家界旅游
王府井步行街
李宁 运动鞋
高考 成绩查询
周报 模板
马上处理
方案 编制
审核：通过
审批：同意
签发：2024年5月1日
联系人：见附件
收货人：同上
姓名：必填
身份证号：必填
手机：选填
地址：同注册地址
邮箱：无
护照有效期6个月以上
passport control
SSN validation rules
Social Security benefits
IBAN format differs by country
银行卡有效期
卡号共16位
统一社会信用代码由18位组成
税号格式错误
回乡证办理须知
台胞证 换发 流程
License plate recognition
车牌识别系统
MAC 00:1A:2B:3C:4D:5E 长度
md5 d41d8cd98f00b204e9800998ecf8427e
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
颜色 #FF8800
rgb(255, 128, 0)
0x7ffee4b2
1e-10
π≈3.14159265358979
1234567890
1111 2222 3333
员工人数 13800 人
增长 138.00%
2023年产量13812345吨
房间 1203
航班 CA1234
车次 G1024
座位 12F
股票代码 600519
邮编 100080
基金 161725
职称：工程师
主管：市场部
Attn: Accounts Payable
Assignee = unassigned
Reported by: automated monitor
The patient should rest.
employee name: required
老师傅说法不一
何时到货
徐州女士服装批发
客服 400-820-8820
"""
