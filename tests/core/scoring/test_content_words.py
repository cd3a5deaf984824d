"""The content words of a question: cut as words, weighed by what they say, and looked for in texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.scoring.content_words import content_words, share_in, terms_for
from wenyuan.core.scoring.general_words import chinese_figures, latin_figures
from wenyuan.core.text.folding import fold


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("食堂几点开门", ["食堂", "开门"]),
        ("食堂幾點開門", ["食堂", "开门"]),
        ("灭火器多久检查一次", ["灭火器", "检查"]),
        ("年终奖发几个月", ["年终奖"]),
        ("what's the late charge for a board game?", ["late", "charg", "board", "game"]),
        ("How do I get red wine out of a white shirt", ["red", "wine", "white", "shirt"]),
        ("I haven't got a fixed address, can I still get a card?", ["fix", "address", "card"]),
        ("能用Docker部署吗", ["docker", "部署"]),
        ("哺乳假一天多长时间", ["哺乳", "假"]),
        ("端午节食堂几点开门", ["端午节", "食堂", "开门"]),
        ("晚班有夜宵吗", ["晚班", "夜宵"]),
        ("今天食堂几点开门", ["食堂", "开门"]),
        ("访客的车停哪", ["访客", "车", "停"]),
        ("I'm ill, how long can I stay home?", ["ill", "stay", "home"]),
        ("怎么办", []),
        ("what is it", []),
    ],
)
def test_form_words_say_nothing(question: str, words: list[str]) -> None:
    """Words that only ask or join are left out, and no pair of characters counts that lies across two words."""
    assert [word.text for word in content_words(question) if word.says > 0.5] == words


def test_rare_words_say_more() -> None:
    """What general text is full of says less, in both languages, and a verb of Chinese less than a thing."""
    says = {word.text: word.says for word in content_words("canteen game 病房 公司 钢琴")}
    assert says["canteen"] > says["game"] and says["病房"] > says.get("公司", 0.0)
    things = {word.text: word.thing for word in content_words("食堂开门")}
    assert things == {"食堂": True, "开门": False}
    assert {word.text: word.thing for word in content_words("周六晚上停车")} == {
        "周六": True,
        "晚上": False,
        "停车": False,
    }


def test_a_word_spelled_wrongly_is_what_was_meant() -> None:
    """The stem that it was taken for is looked for; people are shown what they wrote."""
    (word,) = content_words("printign", {"printign": "print"})
    assert (word.text, word.shown) == ("print", "printign")


@pytest.mark.parametrize(
    ("word", "text", "share"),
    [
        ("card", "Cards are sent by post.", 1.0),
        ("card", "A cardigan is worn.", 0.0),
        ("art", "The party starts.", 0.0),
        ("polici", "One policy, two policies", 1.0),
        ("食堂", "职工食堂七点开门", 1.0),
        ("食堂", "餐厅七点开门", 0.0),
        ("灭火器", "灭火装置和火器", 0.9),
        ("灭火器", "灭火装置", 0.45),
        ("dog", "狗dog猫", 1.0),
    ],
)
def test_words_are_looked_for_whole(word: str, text: str, share: float) -> None:
    """English by the stem of whole words; of a longer Chinese word its pairs count in part."""
    assert share_in(word, fold(text)) == pytest.approx(share)


@given(st.text("食堂几点开门的了吗ab c'd-1２,。\U00020000", max_size=40))
def test_any_question_has_words_or_none(question: str) -> None:
    """Whatever is asked, each word says something, comes once, and is in the question's own text."""
    words = content_words(question)
    assert len({word.text for word in words}) == len(words)
    assert all(word.says > 0.0 and terms_for(word.text) for word in words)
    assert all(share_in(word.text, fold(question)) == 1.0 for word in words if not word.text.isascii())


def test_figures_are_shipped_for_both_languages() -> None:
    """General words are known with their costs, words of no language are not."""
    assert chinese_figures(["食堂", "堂几"]).keys() == {"食堂"}
    assert latin_figures(["canteen", "zzxq"]).keys() == {"canteen"}
    assert latin_figures(["the"])["the"].cost < latin_figures(["canteen"])["canteen"].cost
