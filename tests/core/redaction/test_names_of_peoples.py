"""Names that no Chinese surname tells, in both scripts, forms with a field for each part of a name, and streets that are called by a province."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

HIDDEN = Redaction(policy_for("restricted"))

GONE = (
    ("二、{}提出，驾驶员未系安全带。", "扎西顿珠"),
    ("会后由{}送去拉萨。", "索朗旺堆"),
    ("受教育人：{}　工种：电工", "央宗"),
    ("参会：王丽华、{}、李建国", "次仁"),
    ("被询问人 {} 性别 男", "买买提·吐尔逊"),
    ("询问人（签名）{}", "热依汗·阿不都拉"),
    ("{}于昨日到场。", "艾合买提·肉孜"),
    ("转办：{}。", "斯琴高娃"),
    ("昨天{}没有来。", "娜仁图雅"),
    ("申请人：{}", "其其格"),
    ("译员是{}，日籍。", "佐藤美咲"),
    ("{}说资料明天到。", "田中健一"),
    ("{}反映：其父住院。", "哈女士"),
    ("教育人签字 {}　日期", "裘处远"),
    ("交通警察：{}", "尚官磊"),
    ("{} 邀请您参加腾讯会议", "施琅"),
    ("{} is inviting you to a scheduled Zoom meeting.", "Aisling Byrne-Kelly"),
    ("The lessee is {}, from Hue.", "Nguyen Thi Lan"),
    ("{} ký hợp đồng.", "Trần Văn Hùng"),
    ("Seen by {}, MD.", "Hye-jin Park"),
    ("{} joined the call.", "Kim Min-soo"),
    ("Surname: {}  Given names: X", "DONGFANG"),
    ("Surname: X  Given name(s): {}\n", "MINGZHU"),
    ("Last name: {}\nSex: F", "Ramirez-Ochoa"),
    ("被告住{}，联系电话不详。", "南昌县莲塘镇澄湖北大道199号"),
    ("住{}。", "武汉市江岸区天津路12号"),
    ("住{}，汉族。", "咸阳市秦都区人民中路副12号"),
)
KEPT = (
    "扎西德勒！大家新年好。",
    "尼玛县与罗布泊相距很远，乌兰布和沙漠在西边。",
    "呼和浩特市、乌兰察布市。",
    "田中央有一口井，木村材料厂停产。",
    "各位女士、先生们，晚上好。",
    "Last name: required",
    "First name: Given",
    "Surname: The name in your passport",
    "Hyde-park is closed. The e-mail from Korea: K-pop and J-pop.",
    "Le Mans, Ho Chi Minh City and Ly Son island are not people.",
    "公司邀请您参加年会。",
    "上海路与北京路交叉口封闭施工。",
)


@pytest.mark.parametrize(("sentence", "value"), GONE, ids=[text[:20] for text, _ in GONE])
def test_a_person_or_a_place_is_found_without_a_chinese_surname(sentence: str, value: str) -> None:
    said = HIDDEN.text(sentence.format(value)).text
    assert value not in said, said


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_person_stays(text: str) -> None:
    assert HIDDEN.text(text).text == text
