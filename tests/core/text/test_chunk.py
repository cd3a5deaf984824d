"""Documents to passages."""

import itertools
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenyuan.core.addresses import with_fragment
from wenyuan.core.anchors import slug
from wenyuan.core.model import Block, Document
from wenyuan.core.text.chunking import chunk
from wenyuan.core.text.token_meter import Meter, estimate_tokens
from wenyuan.readers.markdown import read_markdown
from wenyuan.readers.text import read_text

ARTICLE = "投诉处理部门应当自收到投诉之日起二十四小时内受理，并告知投诉人。"
SENTENCE = "The travel desk books all flights and confirms each of them by e-mail. "


def _markdown(text, name="guide.md"):
    return read_markdown(text.encode(), uri="file:///guide.md", name=name)[0]


def _plain(text):
    return read_text(text.encode(), uri="file:///guide.txt", name="guide.txt")[0]


def _document(pieces, title="guide"):
    """A document of (kind, level, label, text[, page or cell]) pieces with blank lines between."""
    blocks, at = [], 0
    for kind, level, label, text, *place in pieces:
        where = {"page" if isinstance(place[0], int) else "cell": place[0]} if place else {}
        blocks.append(Block(kind=kind, level=level, label=label, start=at, end=at + len(text), **where))
        at += len(text) + 2
    text = "\n\n".join(p[3] for p in pieces)
    return Document(uri="file:///x", title=title, text=text, blocks=tuple(blocks), sha256="0")


def _texts(document, **bounds):
    return [document.text[d.start : d.end] for d in chunk(document, **bounds)]


def _check(document, drafts, max_tokens):
    at = 0
    for draft in drafts:
        text = document.text[draft.start : draft.end]
        assert draft.start >= at
        assert not document.text[at : draft.start].strip()
        assert text == text.strip() != ""
        assert estimate_tokens(text) <= max_tokens
        at = draft.end
    assert not document.text[at:].strip()
    addresses = [with_fragment(document.uri, d.fragment, d.directive) for d in drafts]
    assert len(set(addresses)) == len(addresses)


# --- properties -----------------------------------------------------------------------------------------
_KINDS = st.sampled_from(["heading", "clause", "paragraph", "list", "table", "code", "row"])
_TEXT = st.text("投诉第一条。；，：:. ab3-|\n\u3000*（）e\u0301👍🏽🇨🇳\u200d", min_size=1, max_size=300).filter(
    str.strip
)
_LONG = st.builds(lambda text, n: text * n, _TEXT, st.integers(1, 12))
_PIECES = st.lists(
    st.tuples(_KINDS, st.integers(1, 4), st.sampled_from(["", "总则", "总则-1", "Scope", "第一条", "第二条"]), _LONG),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=300)
@given(_PIECES, st.integers(16, 60), st.integers(0, 60))
def test_cover_is_lossless(pieces, target, more):
    """Drafts are in order, within bounds, not blank, and leave only white space between; addresses are unique."""
    document = _document(pieces)
    drafts = chunk(document, max_tokens=target + more, target_tokens=target)
    _check(document, drafts, target + more)
    assert drafts == chunk(document, max_tokens=target + more, target_tokens=target)


_FRAGMENTS = st.sampled_from(
    ["# A\n\n", "## 第一章 总则\n\n", "第一条 ", ARTICLE, "\n\n", SENTENCE, "- x\n", "---\n", "| a |\n|--|\n| b |\n"]
)


@settings(max_examples=150)
@given(st.lists(_FRAGMENTS, max_size=40).map("".join))
def test_read_documents_are_covered(text):
    """What the readers read is covered within bounds, and reading it again gives the same passages."""
    if not text.strip():
        return
    for reader in (_markdown, _plain):
        document = reader(text)
        drafts = chunk(document, max_tokens=60, target_tokens=40)
        _check(document, drafts, 60)
        assert chunk(reader(document.text), max_tokens=60, target_tokens=40) == drafts


@given(st.text("投诉ab12, .\n\u3000é👍", max_size=60), st.data())
def test_parts_are_measured_like_texts(text, data):
    """The estimate of a part equals that of the part alone, and parting never makes a text cheaper."""
    a = data.draw(st.integers(0, len(text)))
    b = data.draw(st.integers(a, len(text)))
    meter = Meter(text)
    assert meter(a, b) == Meter(text[a:b])(0, b - a) <= Meter.MOST * (b - a)
    assert meter(0, a) + meter(a, len(text)) >= meter(0, len(text))


@given(st.text("e\u0301\u0308👍🏽👨\u200d👩🇨🇳क\u094d", min_size=40, max_size=200))
def test_characters_stay_whole(text):
    """A hard cut never lies before a combining mark, a modifier or a joiner, nor behind a joiner."""
    document = _document([("paragraph", 0, "", text)])
    for first, second in itertools.pairwise(chunk(document, max_tokens=16, target_tokens=16)):
        before, after = text[first.end - 1], text[second.start]
        assert unicodedata.category(after)[0] != "M" or _cluster(text, second.start) > 10
        assert (before != "\u200d" and after not in "\u200d🏽") or _cluster(text, second.start) > 10


def _cluster(text, at):
    """Length of the run of joining characters before `at`: one longer than a passage may be cut."""
    start = at
    while start and (
        unicodedata.category(text[start])[0] == "M" or text[start] in "\u200d🏽" or text[start - 1] == "\u200d"
    ):
        start -= 1
    return at - start


# --- structure ------------------------------------------------------------------------------------------
STATUTE = f"""# 投诉办法

2024年1月1日公布

## 第一章　总则

第一条 {ARTICLE}

第二条 {ARTICLE * 3}

{ARTICLE}

## 第二章　附则

### 第一节　施行

第三条 {ARTICLE}
"""


def test_one_article_one_passage():
    """Each article is a passage of its own with its path, under the heading that it begins with or stands below."""
    drafts = chunk(_markdown(STATUTE))
    assert [(d.headings, d.fragment) for d in drafts] == [
        ((), "投诉办法"),
        (("第一章 总则", "第一条"), "第一章-总则"),
        (("第一章 总则", "第二条"), "第一章-总则"),
        (("第二章 附则", "第一节 施行", "第三条"), "第二章-附则"),
    ]
    assert drafts[1].directive == ""
    assert drafts[2].directive.startswith("text=第二条")


def test_headings_go_with_what_follows():
    """A chapter heading stands in the passage of its first article, not alone."""
    texts = _texts(_markdown(STATUTE))
    assert texts[1].startswith("## 第一章　总则\n\n第一条")
    assert texts[3].startswith("## 第二章　附则\n\n### 第一节　施行\n\n第三条")


def test_last_heading_goes_with_what_precedes():
    """A heading at the end with nothing below it joins the last passage."""
    assert _texts(_markdown("## A\n\nText.\n\n## B\n\n---\n")) == ["## A\n\nText.\n\n## B\n\n---"]


def test_headings_alone_are_a_passage():
    """A document of headings alone is one passage."""
    assert _texts(_markdown("# A\n\n## B\n")) == ["# A\n\n## B"]


def test_template_tags_alone_are_no_passage():
    """A section of template tags alone joins the next one."""
    assert len(_texts(_markdown('{% include "steps.html" %}\n\n## A\n\nText.\n'))) == 1


@pytest.mark.parametrize("place", range(3))
def test_no_piece_is_a_heading_alone(place):
    """Where a section must be split, its heading stays with text, whether it stands first or last."""
    body = [("paragraph", 0, "", (SENTENCE * 5).strip())] * 2
    heading = ("heading", 1, "Booking", "# Booking of flights for all")
    pieces = (
        [heading, *body] if place == 0 else [*body, heading] if place == 1 else [heading, heading, *body, heading]
    )
    texts = _texts(_document(pieces), max_tokens=90, target_tokens=90)
    assert len(texts) > 1
    assert all("travel desk" in text for text in texts)


def test_clause_is_split_only_when_it_must_be():
    """A clause longer than the target stays whole while it fits; beyond the limit it is split at its paragraphs."""
    text = "第一条 " + "\n\n".join([ARTICLE] * 12)
    document = _markdown(text)
    assert 256 < estimate_tokens(text) < 400
    assert len(chunk(document)) == 1
    drafts = chunk(document, max_tokens=100, target_tokens=60)
    assert [d.directive for d in drafts][1:3] == ["part=2", "part=3"]  # the parts say the same
    assert all(d.headings == ("第一条",) for d in drafts)
    assert all(document.text[d.start : d.end].endswith("。") for d in drafts)


def test_small_blocks_are_joined_and_long_sections_balanced():
    """Small paragraphs of one section share a passage; a long section is split in parts of about equal length."""
    assert len(chunk(_markdown("## A\n\n" + "One fact.\n\n" * 10))) == 1
    costs = [estimate_tokens(t) for t in _texts(_markdown("## A\n\n" + (SENTENCE + "\n\n") * 40))]
    assert len(costs) > 2
    assert max(costs) < 1.5 * min(costs)


def test_sections_are_not_joined():
    """Text under another heading is another passage, however short."""
    assert len(chunk(_markdown("## A\n\nOne.\n\n## B\n\nTwo.\n"))) == 2


def test_rows_are_passages():
    """A row is one passage, called by its cell; a heading above the rows goes with the first."""
    document = _document([
        ("heading", 1, "FAQ", "FAQ"), ("row", 0, "", "问：如何投诉？\n答：打电话。", "FAQ!2"),
        ("row", 0, "", "问：多久？\n答：一天。", "FAQ!3"), ("row", 0, "", "长" * 700, "FAQ!4"),
    ])  # fmt: skip
    drafts = chunk(document)
    assert [(d.fragment, d.directive) for d in drafts] == [
        ("FAQ!2", ""), ("FAQ!3", ""), ("FAQ!4", ""), ("FAQ!4", "part=2")
    ]  # fmt: skip
    assert [d.cell for d in drafts] == ["FAQ!2", "FAQ!3", "FAQ!4", "FAQ!4"]


def test_pages_are_addresses():
    """A passage of a paged document is opened by the page of its text, a clause too: a heading may stand at the end of the one before."""
    rules = ("heading", 1, "Rules", "Rules", 3)
    document = _document([rules, ("paragraph", 0, "", SENTENCE * 8, 4), ("clause", 2, "第一条", "第一条 甲", 5)])
    assert [(d.fragment, d.page) for d in chunk(document)] == [("page=4", 4), ("page=5", 5)]


def test_parts_of_a_section_keep_their_pages():
    """The parts of a section over several pages are each called by the page they begin on."""
    pieces = [("paragraph", 0, "", (SENTENCE * 15).strip(), page) for page in (3, 4, 5)]
    assert [d.fragment for d in chunk(_document(pieces))] == ["page=3", "page=4", "page=5"]


def test_lines_are_the_last_resort():
    """Plain text without headings is addressed by its lines, exactly."""
    document = _plain("\n\n".join([SENTENCE * 20] * 3))
    drafts = chunk(document)
    assert drafts[0].fragment == "L1"
    assert {d.line for d in drafts} == {1, 3, 5}
    wrapped = _plain("\n".join([SENTENCE] * 40))
    for draft in chunk(wrapped):
        assert draft.line == wrapped.text.count("\n", 0, draft.start) + 1


def test_repeated_headings_are_numbered():
    """The second heading of a name gets -1, as on GitHub, and never the name of another one."""
    page = "# G\n\nText.\n\n" + "".join(
        f"## {h}\n\nText.\n\n" for h in ("Q & A", "Q & A", "第三章 投诉处理", "Q & A", "Q A 1")
    )
    assert [d.fragment for d in chunk(_markdown(page))] == [
        "g", "q--a", "q--a-1", "第三章-投诉处理", "q--a-2", "q-a-1"
    ]  # fmt: skip


def test_title_is_not_in_the_path():
    """The heading that is the document's title is left out of the path; a later one of the same name is not."""
    drafts = chunk(_markdown("# Leave\n\nText.\n\n## Sick\n\nText.\n\n## Leave\n\nText.\n"))
    assert [d.headings for d in drafts] == [(), ("Sick",), ("Leave",)]


# --- splitting ------------------------------------------------------------------------------------------
def test_tables_are_split_between_rows():
    """A long table is split between rows, each row whole."""
    rows = [f"| 投诉类别{i} | 处理部门{i} | 二十四小时 |" for i in range(60)]
    text = "\n".join(["| 类别 | 部门 | 时限 |", "|---|---|---|", *rows])
    texts = _texts(_markdown(text))
    assert len(texts) > 1
    assert [line for t in texts for line in t.split("\n")] == text.split("\n")


def test_lists_are_split_between_items():
    """A long list is split between items."""
    texts = _texts(_markdown("\n".join(f"- item {i}: {SENTENCE}" for i in range(60))))
    assert len(texts) > 1
    assert all(t.startswith("- item") for t in texts)


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Li of Acme Inc. pays 3.5 million to J. Doe, i.e. No. 7 in the U.S. list "
        "at https://a.example.org/b.html now.",
        "投诉处理时限为3.5个工作日，见 https://a.example.org/b.html，由客户服务部负责。",
        "“真的吗？”他问道，“投诉已受理！”然后离开了。",
    ],
)
def test_sentences_stay_whole(sentence):
    """Text is split at the ends of sentences; abbreviations, decimals and addresses end none."""
    text = " ".join([sentence] * 12)
    ends = {"“真的吗？”", "他问道，“投诉已受理！”", "然后离开了。"} if "真" in sentence else {sentence}
    for piece in _texts(_markdown(text), max_tokens=100, target_tokens=70):
        assert any(piece.startswith(e) for e in ends)
        assert any(piece.endswith(e) for e in ends)


def test_introductions_stay_with_what_they_introduce():
    """A line that ends with a colon is not the last of a passage."""
    body = "\n\n".join(
        [SENTENCE * 3, "You can use:", "- " + SENTENCE * 3, SENTENCE * 3, "还可以：", "- " + SENTENCE * 3]
    )
    for max_tokens in range(80, 140, 5):
        for text in _texts(_markdown(body), max_tokens=max_tokens, target_tokens=60):
            assert not text.endswith((":", "："))


def test_long_words_are_cut_within_bounds():
    """Text without any place to split is cut hard, losing nothing."""
    for text in ("投" * 3000, "a" * 9000, "7" * 3000, "é" * 3000):
        pieces = _texts(_plain(text))
        assert "".join(pieces) == text
        assert max(map(estimate_tokens, pieces)) <= 400


@pytest.mark.parametrize("bounds", [(10, 5), (100, 200), (100, 0)])
def test_senseless_bounds_are_refused(bounds):
    """A target above the limit, or a tiny one, is refused."""
    with pytest.raises(ValueError, match="target_tokens"):
        chunk(_plain("text"), max_tokens=bounds[0], target_tokens=bounds[1])


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), (" \n", 0), ("投诉处理", 3), ("hello", 2), ("hello world", 3), ("2024", 2), ("3.5", 5), ("，", 1),
     ("第十三条 投诉", 5), ("𠮷", 1)],
)  # fmt: skip
def test_token_estimates(text, tokens):
    """Estimates follow the published weights, rounded up."""
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [("第三章 投诉处理", "第三章-投诉处理"), ("What is it?", "what-is-it"), ("Q & A", "q--a"), ("C++ / C#", "c--c"),
     ("（一）基坑工程", "一基坑工程"), ("snake_case-x", "snake_case-x"), ("Müller 2.0", "müller-20")],
)  # fmt: skip
def test_slugs(heading, anchor):
    """Anchors are those that GitHub makes."""
    assert slug(heading) == anchor
