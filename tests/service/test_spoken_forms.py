"""Spoken forms carry no information: the same passage is as likely with and without them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wenyuan

CHINESE = {
    "补办门禁卡": ("门禁管理", "门禁卡遗失后到前台登记，补办费用二十元，次日可领取新卡。"),
    "地下车库停车": ("车辆管理", "地下车库停车每小时五元，业主月卡三百元，访客凭登记免费一小时。"),
    "周末装修": ("房屋装修", "房屋装修须提前三日报备，施工时间为工作日八点至十八点，周末和节假日不得施工。"),
    "空房物业费": ("费用减免", "空置满六个月的房屋，物业费按七成收取，须由业主书面申请。"),
    "代收快递": ("便民服务", "快递由东门服务站代收，保管七日，逾期退回寄件人。"),
    "电梯困人": ("应急处置", "电梯困人时按轿厢内的呼叫键，维保人员三十分钟内到场。"),
    "水管漏水": ("报修", "水管漏水拨打二十四小时报修电话，师傅一小时内上门。"),
    "养狗登记": ("宠物", "饲养犬只须办理登记，遛狗时须牵绳并清理粪便。"),
    "大件垃圾清运": ("环境卫生", "大件垃圾每周三清运，放在指定堆放点，装修垃圾另行付费。"),
    "预订会议室": ("办公场地", "会议室提前一天在系统预订，超时未签到自动释放。"),
}  # fmt: skip
"""What is asked, and title and text of the passage that answers."""
ENGLISH = {
    "lost badge": ("Reception", "A lost badge is replaced at the reception desk for ten euros and is ready the next day."),
    "visitor parking": ("Garage", "Visitor parking is free for two hours when the number plate is registered."),
    "unused annual leave": ("Absences", "Unused annual leave is carried over until the end of March of the following year."),
    "travel expense claims": ("Finance", "Travel expense claims are filed within thirty days and need the original invoices."),
    "password expiry": ("Accounts", "A password expires after ninety days and may not repeat any of the last five."),
    "printer toner": ("Office supplies", "Toner of a printer is ordered by facilities; leave a note on the tray when it is empty."),
    "working from home": ("Remote work", "Remote work needs the written approval of a manager for more than two days a week."),
    "laptop repair": ("Devices", "A broken laptop is repaired through the service portal; a spare device is lent meanwhile."),
    "paying suppliers": ("Purchasing", "Invoices of suppliers are paid within forty days after the goods were received."),
    "safety training": ("Site rules", "Safety training is renewed every year and lasts half a day on site."),
}  # fmt: skip
FORMS = {
    "zh": ("{}是什么", "{}怎么办", "能不能{}", "{}多少钱", "请问{}", "请问{}怎么办理", "我想问一下{}", "{}有什么规定", "{}可以吗", "麻烦问下{}"),
    "en": ("what is {}", "how do I get {}", "can I have {}", "please tell me about {}", "what about {}", "how does {} work",
           "could you tell me about {}?", "is there {}", "I would like to know about {}", "tell me about the {}"),
}  # fmt: skip
MOST, ENOUGH = 0.1, 0.9
"""By how much the probability may differ, of how many of the pairs."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    home = tmp_path_factory.mktemp("spoken")
    with wenyuan.open(home / "library", create=True, search={"deadline": 60, "abstain": "off"}) as made:
        for language, texts in (("zh", CHINESE), ("en", ENGLISH)):
            folder = home / language
            folder.mkdir()
            for number, (title, text) in enumerate(texts.values()):
                (folder / f"{number}.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
            made.add(wenyuan.Source(source_id=language, path=str(folder)))
        yield made


def likely(library: wenyuan.Library, question: str, source: str, text: str) -> float:
    """The probability of the passage with this text; 0 where it is not given."""
    answer = library.search(question, limit=10, sources=[source])
    return next((hit.score for hit in answer.hits if text in answer.passages[hit.passage_id].text), 0.0)


INTRODUCTIONS = {
    "zh": ("请问{}", "您好，我想问一下{}", "麻烦问下，{}", "{}，谢谢"),
    "en": ("Could you tell me {}", "Hi, I would like to know {}", "please tell me: {}", "{}, thanks"),
}  # fmt: skip


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_introduction_changes_nothing(library: wenyuan.Library, language: str) -> None:
    """What is found, in its order and as likely as without it, even where the question stands beside courtesies twice."""
    for asked in {"zh": CHINESE, "en": ENGLISH}[language]:
        plain = library.search(asked, limit=10, sources=[language]).hits
        assert plain
        for form in INTRODUCTIONS[language]:
            found = library.search(form.format(asked), limit=10, sources=[language]).hits
            assert [(hit.passage_id, hit.score) for hit in found] == [(hit.passage_id, hit.score) for hit in plain], (
                form
            )


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_question_is_as_likely_answered_with_its_form_as_without(library: wenyuan.Library, language: str) -> None:
    """A hundred pairs in each language: nine of ten differ by no more than a tenth."""
    subjects = {"zh": CHINESE, "en": ENGLISH}[language]
    apart = {}
    for asked, (_, text) in subjects.items():
        plain = likely(library, asked, language, text)
        for form in FORMS[language]:
            question = form.format(asked)
            apart[question] = likely(library, question, language, text) - plain
    assert len(apart) == 100
    near = sum(abs(one) <= MOST for one in apart.values())
    assert near >= ENOUGH * len(apart), sorted(apart.items(), key=lambda pair: pair[1])[: len(apart) - near]
