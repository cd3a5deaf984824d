"""Things that a question names and that stand nowhere in scope: they are told, and what is found is not said to be likely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import pytest

import wenyuan
from wenyuan.core.filters import parse_filter
from wenyuan.core.model import Passage
from wenyuan.core.scoring.answerable import WITHOUT_ITS_NAME, WITHOUT_ITS_THINGS
from wenyuan.core.text.synonyms import Synonym
from wenyuan.service.search.coverage import Coverage

TEXTS = {
    "门禁": "# 门禁管理\n\n办公楼大门早上七点半开门，晚上十点关门。忘带门禁卡的，在前台登记后由保安放行。\n\n补办门禁卡每张二十元。\n",
    "考勤": "# 考勤制度\n\n员工工作时间为上午九点至下午六点。迟到三次记事假半天。\n\n## 请假\n\n事假须提前三个工作日申请，由部门负责人批准。\n",
    "pool": "# Swimming pool\n\nThe pool opens at seven in the morning and closes at nine. Towels are lent for two pounds.\n",
    "doctor": "# Doctor\n\nThe doctor comes on Monday mornings. Nobody needs an appointment.\n",
    "cards": "# Cards\n\nA lost card is replaced for five pounds at the front desk. Day passes are sold there, too.\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder = tmp_path_factory.mktemp("things")
    with wenyuan.open(folder / "library", create=True, search={"deadline": 60, "abstain": "off"}) as made:
        for name, text in TEXTS.items():
            (folder / name).mkdir()
            (folder / name / f"{name}.md").write_text(text, "utf-8")
            made.add(wenyuan.Source(source_id=name.encode().hex()[:12], title=name, path=str(folder / name)))
        yield made


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("食堂几点开门", ("食堂",)),
        ("食堂幾點開門", ("食堂",)),
        ("请问健身房早上几点开门", ("健身房",)),
        ("what time does the sauna open?", ("sauna",)),
        ("what time does the cinema open", ("cinema",)),
    ],
)
def test_a_thing_that_is_nowhere_is_told(library: wenyuan.Library, question: str, things: tuple[str, ...]) -> None:
    """However near another opening time is: it is not called likely."""
    answer = library.search(question)
    assert answer.missing_terms == things
    assert answer.answerable is not None and answer.answerable <= WITHOUT_ITS_THINGS
    assert max(hit.score for hit in answer.hits) < WITHOUT_ITS_THINGS


@pytest.mark.parametrize(
    "question",
    ["大门几点开门", "大門幾點開門", "门禁卡丢了怎么补", "what time does the pool open?", "pools opening times", "how much are towels",
     "我的卡丢了怎么办", "是什么", "what is it"],
)  # fmt: skip
def test_what_is_there_is_not_missing(library: wenyuan.Library, question: str) -> None:
    """In either script, as another form of the word, and where the question names nothing."""
    assert library.search(question).missing_terms == ()


def test_words_of_the_other_language_are_not_missed(library: wenyuan.Library) -> None:
    """A Chinese question whose best passage is English shares no words with it."""
    pool = next(source.source_id for source in library.sources() if source.title == "pool")
    answer = library.search("游泳池几点开放", sources=[pool])
    assert answer.missing_terms == () and answer.answerable is not None and answer.answerable > WITHOUT_ITS_THINGS


def test_the_scope_decides(library: wenyuan.Library) -> None:
    """A thing that is there is missing in a source that lacks it."""
    cards = next(source.source_id for source in library.sources() if source.title == "cards")
    question = "when does the pool open in the morning"
    assert library.search(question).missing_terms == ()
    assert "pool" in library.search(question, filter=parse_filter({"source_id": cards})).missing_terms


def test_a_synonym_of_the_library_is_not_missed(library: wenyuan.Library) -> None:
    """What the library's table calls by another name is there."""
    assert library.search("what time does the lido open?").missing_terms == ("lido",)
    library.catalog.put_synonyms([Synonym(term="lido", synonym="towels")], "local")
    assert library.search("what time does the lido open?").missing_terms == ()


@pytest.mark.parametrize("question", ["写字楼几点开门", "when does the physician come?"])
def test_a_word_that_says_nearly_the_same_is_not_missed(library: wenyuan.Library, question: str) -> None:
    """办公楼 says what 写字楼 does, and *doctor* what *physician* does."""
    assert library.search(question).missing_terms == ()


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("does the pool in Perth open at seven?", ("perth",)),
        ("how much is a lost card at Docker?", ("docker",)),
        ("门禁卡能用Kafka补办吗", ("kafka",)),
    ],
)
def test_a_name_that_is_nowhere_is_told_among_other_words(
    library: wenyuan.Library, question: str, names: tuple[str, ...]
) -> None:
    """Whatever else of the question is there: a passage about something else of the kind is no likelier than not."""
    answer = library.search(question)
    assert answer.missing_terms == names
    assert answer.answerable is not None and answer.answerable <= WITHOUT_ITS_NAME
    assert max(hit.score for hit in answer.hits) <= WITHOUT_ITS_NAME


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("端午节大门几点关门", ("端午节",)),
        ("周六大门几点开门", ("周六",)),
        ("does the doctor come on Sundays?", ("sundays",)),
        ("does the pool open on Mondays?", ()),
    ],
)
def test_a_day_that_the_first_passage_does_not_speak_of(
    library: wenyuan.Library, question: str, days: tuple[str, ...]
) -> None:
    """What holds on other days is not called likely; the day is told where nothing in scope speaks of it, either."""
    answer = library.search(question)
    assert answer.missing_terms == days
    assert answer.answerable is not None and answer.answerable <= WITHOUT_ITS_NAME
    assert max(hit.score for hit in answer.hits) <= WITHOUT_ITS_NAME


@pytest.mark.parametrize("question", ["does the doctor come on Mondays?", "大门几点关门"])
def test_a_day_that_is_there_is_likely(library: wenyuan.Library, question: str) -> None:
    """The passage that speaks of it answers as before, and so does one for a question that names none."""
    answer = library.search(question)
    assert answer.missing_terms == ()
    assert answer.answerable is not None and answer.answerable > WITHOUT_ITS_THINGS


def test_where_the_best_hit_has_a_thing_no_other_is_read(
    library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a thing of the question stands somewhere is seen from the passage that its words find first."""
    catalog, retriever = library.catalog, library._retriever
    read: list[int] = []
    passages = catalog.passages

    def reading(numbers: Sequence[int], *given: Any) -> Mapping[int, Passage]:
        read.extend(numbers)
        return passages(numbers, *given)

    monkeypatch.setattr(catalog, "passages", reading)
    coverage = Coverage("morning sauna", "latin")
    scope = retriever.scope([source.source_id for source in library.sources()], date(2026, 1, 1), None)
    found = retriever._engine.keyword(["morn"], scope=scope, limit=10, deadline=retriever.limit()).hits
    assert len(found) >= 2
    absent = retriever._abstention._absent(coverage.words, [], coverage, scope, retriever.limit())
    assert [word.text for word in absent] == ["sauna"]
    assert read == [found[0].passage_id]
