"""Texts about nothing in particular, and about everything: what a question and a passage are told apart from.

All questions have something in common, and so have all passages of a language: the mean of the vectors of these texts
(`common_vectors`). None of the texts is an answer to a question on which the scores are measured.
"""

from __future__ import annotations

from wenyuan.core.text.folding import has_han

SCRIPTS = ("han", "latin")

GENERAL = {
    "han": (
        "这件事应该怎么做？", "需要准备哪些材料？", "什么情况下可以申请？", "由谁负责？", "最晚什么时候完成？",
        "费用是多少？", "有哪些要求和限制？", "出现问题该怎么处理？", "这个词是什么意思？", "两者有什么区别？",
        "为什么会这样？", "在哪里可以找到？", "违反规定有什么后果？", "第一步做什么？", "有多少人参加？",
        "是谁提出的？", "哪一年发生的？", "怎样设置这个选项？", "可以不经同意就使用吗？", "如何保证安全？",
        "联系谁可以得到帮助？", "包括哪些内容？", "是否必须？", "多久检查一次？",
    ),
    "latin": (
        "How do I do this?", "What documents are needed?", "When can I apply?", "Who is responsible?",
        "What is the deadline?", "How much does it cost?", "What are the requirements and limits?",
        "What should I do if something goes wrong?", "What does this term mean?",
        "What is the difference between the two?", "Why does this happen?", "Where can I find it?",
        "What happens if the rule is broken?", "What is the first step?", "How many people took part?",
        "Who proposed it?", "In which year did it happen?", "How do I set this option?",
        "Can it be used without consent?", "How is safety ensured?", "Whom can I contact for help?",
        "What does it include?", "Is it mandatory?", "How often is it checked?",
    ),
}  # fmt: skip
"""Questions about nothing in particular, by script: what they have in common says nothing about what is asked."""

PASSAGES = {
    "han": (
        "这条河发源于城北的山区，流经三个县后入海。铁路通车以前，粮食和煤炭都靠船运。",
        "鸡蛋加糖打发至颜色变浅，拌入面粉，放进烤箱烤三十分钟。放凉之后再切。",
        "员工每年享有十天带薪年休假。当年未休完的，可以延至次年三月底。",
        "该函数返回符合条件的记录列表，没有结果时返回空列表。连接中断时抛出异常。",
        "她轻轻关上门，站在走廊里听了一会儿。楼梯上没有人说话，雨已经停了。",
        "患者因发热、干咳入院。血常规未见异常，胸片未见明显改变，予对症治疗。",
        "第三季度营业收入同比增长百分之八，经营成本略有下降。董事会建议每股派发现金股利两角。",
        "法院认为，标的物交付时已存在缺陷，出卖人应当承担赔偿责任，判决驳回其上诉。",
        "如需重置密码，请打开设置页面，选择安全选项，系统会向注册邮箱发送链接。",
        "大桥因更换支座封闭两个月，车辆改走沿江的老路，公交线路也作了调整。",
        "光合作用把光能转化为化学能。植物吸收二氧化碳和水，释放出氧气。",
        "主队下半场连进两球，赢得了比赛。队长因膝盖受伤被换下场。",
        "会议审议并通过了修订草案，新规定自明年一月一日起施行，原办法同时废止。",
        "用肥皂和流水洗手至少二十秒。没有水时，可以使用免洗消毒液。",
        "这幅画描绘的是黄昏的港口，由博物馆在一次拍卖会上购得，战后进行过修复。",
        "一名工人在清理屋檐时从梯子上跌落，造成手臂骨折，随即被送往医院。",
        "执行安装命令后重新启动服务，日志中会显示监听的端口。",
        "调查访问了两千户家庭，了解他们在食品、房租和交通方面的支出，其中房租涨幅最大。",
        "这一科的鸟类在悬崖上筑巢，以小鱼为食，繁殖期以外多在远海活动。",
        "商品未经使用且包装完好的，自收货之日起七日内可以退货，运费由买家承担。",
        "本课程介绍线性方程组、矩阵和行列式，每两周交一次作业，期末闭卷考试。",
        "午夜过后不久，一间仓库起火，消防员赶到现场扑救，无人伤亡，起火原因正在调查。",
        "九世纪时，这座寺院在山谷两侧都有田产，有关文书保存在市档案馆。",
        "温度超过八十度时电机自动停机，面板上的指示灯显示故障代码。",
        "利息按日计算，每月末入账。银行调整利率的，应当提前两周公告。",
        "乐团演奏了三部交响曲和一位青年作曲家的序曲，音乐厅座无虚席。",
        "驾驶人应当与前车保持安全距离，雨雾天气应当加倍。",
        "这种合金重量轻、耐腐蚀、易焊接，常用于船体、储罐和自行车车架。",
        "申请材料应当在五月最后一个星期五之前送达，包括证书、两封推荐信和一份简要计划。",
        "暴风雪袭击了山口，多个村庄停电，直到次日傍晚才恢复供电。",
        "我们组每周一开会安排工作，每个人说明完成了什么、接下来做什么、遇到了什么困难。",
        "这种语言有七个格，没有冠词，动词放在句子末尾。",
        "车票可在窗口或网上购买，六岁以下儿童免票。",
        "研究人员扩大样本重复了实验，没有再观察到这一现象，作者随后撤回了论文。",
        "早晨浇水，避免阳光直射，秋天剪去枯枝。",
        "公司由兄弟二人于上世纪六十年代创办，起初生产钟表，如今有四百名员工。",
    ),
    "latin": (
        "The river rises in the hills north of the town and reaches the sea after some ninety miles. Barges carried grain and coal on it until the railway came.",
        "Whisk the eggs with the sugar until they are pale, fold in the flour, and bake for thirty minutes. Let the cake cool before you cut it.",
        "Employees are entitled to twenty-five days of paid leave in a calendar year. Leave that was not taken by the end of March lapses.",
        "The function returns a list of matching records, or an empty list when nothing was found. It raises an error if the connection is lost.",
        "She closed the door behind her and listened. Nobody spoke on the stairs, and the rain had stopped.",
        "The patient was admitted with fever and a dry cough. Blood tests were normal, and the chest X-ray showed no changes.",
        "Revenue grew by eight percent in the third quarter, while operating costs fell slightly. The board proposes a dividend of forty cents a share.",
        "The court held that the seller was liable for the damage, since the defect had existed when the goods were delivered.",
        "To reset your password, open the settings page and choose Security. A link is sent to the address of your account.",
        "The bridge was closed for two months while the bearings were replaced. Traffic was led over the old road along the quay.",
        "Photosynthesis turns light into chemical energy. Plants take in carbon dioxide and water and give off oxygen.",
        "The home side scored twice in the second half and won the match. Their captain was taken off with an injured knee.",
        "Members of parliament debated the bill for three days. It was passed by a narrow majority and takes effect in January.",
        "Wash your hands for at least twenty seconds with soap and water. Use a sanitizer if no water is at hand.",
        "The painting shows a harbour at dusk. It was bought by the museum at an auction in 1931 and restored after the war.",
        "A worker fell from a ladder while he was cleaning a gutter. He broke his arm and was taken to hospital.",
        "Install the package with the usual command and restart the service. The log tells which port it listens on.",
        "The survey asked two thousand households about their spending on food, rent and transport. Rents had risen most.",
        "Birds of this family nest on cliffs and feed on small fish. Outside the breeding season they stay far out at sea.",
        "Goods may be returned within thirty days if they are unused and in their original packing. The buyer pays for the carriage.",
        "The lecture introduces linear equations, matrices and determinants. Exercises are handed in every second week.",
        "The fire brigade was called to a warehouse shortly after midnight. No one was hurt, and the cause is not yet known.",
        "In the ninth century the monastery owned land on both sides of the valley. Its charters are kept in the city's archive.",
        "The motor is switched off when the temperature rises above eighty degrees. A lamp on the panel shows the fault.",
        "Interest is calculated daily and credited at the end of each month. The bank may change the rate with two weeks' notice.",
        "The orchestra played three symphonies and an overture by a young composer. The hall was sold out.",
        "Drivers must keep a safe distance from the vehicle in front. In rain or fog the distance is to be doubled.",
        "The alloy is light, resists corrosion and can be welded. It is used for hulls, tanks and the frames of bicycles.",
        "Applications must reach the office by the last Friday in May, with a certificate, two references and a short plan.",
        "The storm brought heavy snow to the mountain passes. Several villages were without power until the next evening.",
        "Our team meets on Mondays to plan the week. Everyone says what was finished, what comes next and what is in the way.",
        "The language has seven cases and no articles. Verbs stand at the end of the sentence.",
        "Tickets are sold at the counter and online. Children under six travel free, and dogs pay half.",
        "The experiment was repeated with a larger sample, and the effect could not be found again. The authors withdrew the paper.",
        "Water the plants in the morning and keep them out of direct sun. Cut back the dry shoots in autumn.",
        "The company was founded by two brothers in 1962 and made clocks at first. Today it employs four hundred people.",
    ),
}
"""Passages about everything, by script: what they have in common says nothing about what a passage is about."""


EVERYDAY = {
    "han": (
        "台风预计周四登陆，沿海阵风可达十级，请减少外出。", "清蒸鲈鱼水开后上锅，蒸八分钟，淋热油和豉油。", "小狗要打狂犬疫苗，遛狗时拴好绳子。",
        "大熊猫每天要吃十几公斤竹子，大部分时间在睡觉和进食。", "火星的一天比地球长约四十分钟，表面多是红色尘土。", "苏轼号东坡居士，是北宋文学家，词风豪放。",
        "奥运会设三十多个大项，马拉松全程四十二公里多。", "鸦片战争后签订了《南京条约》，开放五处口岸。", "澳大利亚最大的城市是悉尼，首都是堪培拉。",
        "一英寸等于二点五四厘米，华氏九十八度左右是正常体温。", "学钢琴先练手型，每天弹音阶半小时。", "多肉植物喜光耐旱，半个月浇一次水，夏天要遮阴。",
        "宝宝长牙时爱流口水，可以给磨牙棒，睡前轻轻擦牙龈。", "落枕了先热敷，再慢慢转动脖子，别硬掰。", "衣服上的草渍可以用酒精擦，再用洗衣液搓洗。",
        "笔记本电脑卡顿，可以清理灰尘、加一条内存。", "人民币对美元汇率今天微涨，股市三大指数收红。", "租房要看清押金和水电怎么算，交房时拍照留底。",
        "余额不用的钱可以存定期，利率比活期高。", "满月酒一般请亲戚朋友吃顿饭，送红鸡蛋。", "空调制冷不好，多半是滤网脏了或者缺氟。",
        "锅底烧糊了放小苏打煮开，泡一会儿再刷。", "象棋的马走日、象走田，将帅不能照面。", "泡绿茶水温八十度左右，第一泡一分钟就够。",
        "西安的小吃有肉夹馍、凉皮和羊肉泡馍。", "从广州自驾到昆明一千三百多公里，中途最好住一晚。", "嗓子疼可以含片喝温水，三天不好去看医生。",
        "脚上磨了水泡不要撕皮，消毒后贴创可贴。", "拍人像用大光圈虚化背景，注意脸上的光。", "这本小说讲三代人在草原上的故事，读来很感人。",
        "养乌龟要晒背，水不要没过头，冬天会冬眠。", "剪窗花先把红纸对折，图案画在折边一侧。", "孩子上小学前先学会自己收书包、看时间。",
        "自行车链条要定期上油，刹车皮薄了就换。", "背日语五十音可以编成歌，先平假名再片假名。", "三角形内角和是一百八十度，圆周率约三点一四。",
        "洗头水温别太高，头发半干再吹，少用发胶。", "中秋节吃月饼赏月，一家人团圆。", "花粉过敏的人春天出门戴口罩，回家洗鼻子。",
        "银河里有上千亿颗恒星，太阳只是其中一颗。", "公交车前门上后门下，老人凭卡免费。", "腌萝卜加盐杀水，再放糖和醋，冷藏一晚。",
        "仓鼠怕热不怕冷，笼子里要放跑轮和木屑。", "爬山穿防滑的鞋，带足水，太阳落山前下来。",
    ),
    "latin": (
        "A storm will reach the coast on Thursday, with gusts up to gale force; stay indoors.", "Steam the fish for eight minutes over boiling water and pour hot oil and ginger over it.",
        "A puppy needs its rabies vaccination, and walks on a lead.", "Pandas eat more than ten kilos of bamboo a day and sleep for much of the rest.",
        "A day on Mars is forty minutes longer than ours, and its dust is red.", "Jane Austen published Pride and Prejudice in 1813.",
        "A marathon is a little over forty-two kilometres long; the Olympic Games have more than thirty sports.", "Columbus crossed the Atlantic in 1492.",
        "The capital of Australia is Canberra, though Sydney is larger.", "An inch is 2.54 centimetres, and water boils at 212 degrees Fahrenheit.",
        "At the piano start with scales, half an hour a day, with round fingers.", "Succulents like light and little water; every other week is enough.",
        "When babies get teeth they dribble; give them a cold ring to chew.", "For a stiff neck use warmth, and turn the head slowly.",
        "Grass stains come out of jeans with alcohol and a brush.", "A slow laptop gets faster with more memory and a clean fan.",
        "Shares closed higher today, and the pound gained against the yen.", "Before you rent a flat ask for the deposit and the bills, and take pictures.",
        "Money that you do not need now earns more in a savings account.", "For a christening bring a small present, a book or a silver spoon.",
        "An air conditioner that does not cool has a dirty filter or too little gas.", "A burnt pan is soaked with baking soda and boiling water.",
        "In draughts you must take when you can; in bridge the highest trump wins.", "Green tea is made with water at eighty degrees and drawn for two minutes.",
        "In Naples try the pizza, and in Lisbon the custard tarts.", "The drive from Lyon to Barcelona takes some six hours; stay a night on the way.",
        "For a sore throat suck lozenges and drink something warm.", "Do not open a blister on your heel; clean it and put a plaster on.",
        "For portraits open the aperture wide and mind the light on the face.", "The novel follows three generations of a family of shepherds; it is long and sad.",
        "A tortoise needs a lamp to bask under and sleeps through the winter.", "To cut a snowflake fold the paper three times and snip along the edges.",
        "Before school children should know how to tie their shoes and tell the time.", "Oil the chain of your bicycle, and change the brake pads when they are thin.",
        "In German the verb stands second; learn the articles with the nouns.", "The angles of a triangle add up to 180 degrees, and pi is about 3.14.",
        "Leaves turn red in autumn because the green in them breaks down.", "Wash long hair with lukewarm water and let it dry halfway before you brush it.",
        "Thanksgiving falls on the fourth Thursday of November; turkey and pie are eaten.", "Our galaxy has more than a hundred billion stars.",
        "Bread keeps for three days in a box, and butter for weeks in the cold.", "Eight hours of sleep do most people good; no screens before bed.",
        "A hamster runs in its wheel all night and must not get too warm.", "For a hike wear boots that grip, and carry water and a map.",
    ),
}  # fmt: skip
"""Passages about daily life, which few libraries are asked for, by script: a question that is nearer to these has no answer there."""


def script_of(query: str) -> str:
    """``han`` for a query with Chinese characters, else ``latin``."""
    return "han" if has_han(query) else "latin"
