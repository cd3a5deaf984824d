"""What the HTML in a Markdown file hides is no text of it; what it only changes is read."""

from __future__ import annotations

import pytest

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.markdown import read_markdown


def read(text: str) -> Document:
    (document,) = read_markdown(text.encode(), uri="file:///a.md", name="a.md")
    return document


@pytest.mark.parametrize(
    "part",
    [
        "<div hidden>secret</div>",
        "A <span style='display:none'>secret</span> word",
        "A <span style='color:#fff'>secret</span> word",
        "A <font color=white>secret</font> word",
        "A <b style='font-size:0'>secret *word*</b> here",
        "<div style='opacity:0'>\n\n## secret\n\n* secret\n\n</div>",
        "<style>.x{display:none}</style>\n\n<p class=x>secret</p>",
        "<style>\n:root{--c:white}\n.x{color:var(--c)}\n</style>\n\nA <i class=x>secret</i>",
        "<style>secret{color:red}</style>",
        "<script>\nsecret()\n</script>",
        "A <span hidden>secret",
    ],
)
def test_what_html_hides_in_markdown_is_left_out(part: str) -> None:
    """By an attribute, a style, a style sheet of the file, over several blocks."""
    document = read(f"# Fees\n\n{part}\n\nThe fee is due, and everybody may read that.\n")
    assert "secret" not in document.text
    assert document.text.rstrip().endswith("The fee is due, and everybody may read that.")


@pytest.mark.parametrize(
    "part",
    [
        "`<span hidden>seen</span>`",
        "```\n<div hidden>seen</div>\n```",
        "A <span style='color:red'>seen</span> word",
        "<div style='background:#000'><span style='color:#fff'>seen</span></div>",
        "<span style='color:#fff'>no <b style='color:black'>seen</b></span>",
        "A <span hidden>secret\n\nseen",
        "a List<String> hidden and seen",
        "</div> seen <p hidden></p>",
        "<details><summary>More</summary>seen</details>",
    ],
)
def test_what_html_shows_in_markdown_is_read(part: str) -> None:
    """In code, in another colour, on a dark ground, and after the end of a paragraph."""
    assert "seen" in read(f"# Fees\n\n{part}\n\nThe fee is due, and everybody may read that.\n").text


def test_hidden_elements_of_markdown_are_counted_and_lines_keep_their_numbers() -> None:
    """A note says how many there were."""
    document = read("# Fees\n\n<div hidden>\n\nsecret\n\n</div>\n\nThe fee <i style='opacity:0'>x</i> is due.\n")
    assert document.notes == ("left out hidden elements (2)",)
    assert [block.line for block in document.blocks] == [1, 9]


def test_a_markdown_file_of_hidden_text_alone_is_refused() -> None:
    """It says nothing to a reader."""
    with pytest.raises(DocumentRejected, match="no visible text"):
        read("<p hidden>secret</p>\n")
