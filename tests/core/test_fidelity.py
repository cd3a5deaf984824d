"""Lines, doubts and the record of losses: they follow a document through the reading process and redaction."""

from wenyuan.core.fidelity import Fidelity, Line, Uncertain
from wenyuan.core.model import Block, Document
from wenyuan.core.redaction.policy import parse_policy
from wenyuan.core.redaction.redact import Redaction
from wenyuan.readers.frames import decode_documents, decode_json, encode_documents, encode_json

TEXT = "联系人电话 13812345678\n罚款 3000 元,10 日内缴清\n13912345678"
SECOND = TEXT.index("罚")
DOUBT = TEXT.index("3000")
SCAN = Document(
    uri="file:///s.pdf",
    title="s",
    text=TEXT,
    blocks=(Block(kind="paragraph", start=0, end=len(TEXT), page=1),),
    sha256="0" * 64,
    lines=(
        Line(0, SECOND - 1, 1, (0.1, 0.1, 0.9, 0.15), 0.98),
        Line(SECOND, TEXT.rindex("\n"), 1, (0.1, 0.2, 0.9, 0.25), 0.9),
        Line(TEXT.rindex("\n") + 1, len(TEXT), 2, (0.1, 0.3, 0.9, 0.35)),
    ),
    uncertain=(Uncertain(DOUBT, DOUBT + 4, "amount", 0.4), Uncertain(len(TEXT) - 4, len(TEXT), "number", 0.3)),
    fidelity=Fidelity(pages=2, ocr_pages=1, read_characters=38, confidence=0.94, warnings=("打 13812345678",)),
)


def test_they_come_back_from_the_reading_process_as_they_were():
    assert decode_documents(decode_json(encode_json({"d": encode_documents((SCAN,))}))["d"]) == (SCAN,)


def test_redaction_moves_them_with_the_text():
    clean, counts = Redaction(parse_policy({"level": "confidential"}), b"k" * 32).document(SCAN)
    assert sum(counts.values()) >= 3 and "13812345678" not in clean.text
    first, second, _ = clean.lines
    assert clean.text[second.start : second.end] == "罚款 3000 元,10 日内缴清"
    assert clean.text[first.start : first.end].startswith("联系人电话")
    assert second.box == SCAN.lines[1].box and second.confidence == 0.9
    [doubt] = clean.uncertain  # the other was inside a number that is gone
    assert clean.text[doubt.start : doubt.end] == "3000"
    assert clean.fidelity is not None and "13812345678" not in clean.fidelity.warnings[0]


def test_what_was_kept_is_a_share_of_what_the_file_held():
    assert Fidelity(source_characters=200, lost=3, read_characters=197).kept == 0.985
    assert Fidelity(read_characters=10).kept is None
