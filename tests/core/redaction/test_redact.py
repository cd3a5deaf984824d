"""Redaction before ingest: what is found, what is let be, what is written instead."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from wenyuan.core.errors import DocumentRejected, EncoderUnavailable
from wenyuan.core.model import Block, Document
from wenyuan.core.redaction import checks
from wenyuan.core.redaction.policy import KINDS, LABELS, RedactionPolicy, policy_for
from wenyuan.core.redaction.redact import Redaction, redact
from wenyuan.core.redaction.text_view import view_of

KEY = b"a key of this tenant, 32 bytes.."
DROP = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))
MASK = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "mask"))
PSEUDONYM = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "pseudonym"))

FOUND = [
    ("cn_id", "身份证号11010519491231002X，请核对", "11010519491231002X"),
    ("cn_id", "证件１１０１０５１９４９１２３１００２ｘ号", "１１０１０５１９４９１２３１００２ｘ"),
    ("cn_id", "110105 19491231 002X", "110105 19491231 002X"),
    ("cn_id", "1\u200b1\u200b0\u200b10519491231002X", "1\u200b1\u200b0\u200b10519491231002X"),
    ("cn_id", "在窄栏中\n11010519491\n231002X\n换行", "11010519491\n231002X"),
    ("cn_id", "旧身份证130503670401001。", "130503670401001"),
    ("cn_id", "身份证号码：110105194912310021", "110105194912310021"),  # a slip in the check digit
    ("cn_mobile", "请打13800138000找我", "13800138000"),
    ("cn_mobile", "電話１３８－００１３－８０００。", "１３８－００１３－８０００"),
    ("cn_mobile", "+86 138 0013 8000", "+86 138 0013 8000"),
    ("cn_mobile", "（86）13800138000", "（86）13800138000"),
    ("cn_mobile", "008613800138000", "008613800138000"),
    ("cn_mobile", "Tel13800138000", "13800138000"),
    ("cn_mobile", "1 3 8 0 0 1 3 8 0 0 0", "1 3 8 0 0 1 3 8 0 0 0"),
    ("cn_mobile", "1️⃣3️⃣8️⃣00138000", "1️⃣3️⃣8️⃣00138000"),
    ("cn_mobile", "**13800138000**", "13800138000"),
    ("cn_mobile", "1.13800138000", "13800138000"),
    ("cn_mobile", "电话幺三八洞洞幺三八洞洞洞，", "幺三八洞洞幺三八洞洞洞"),
    ("cn_mobile", "一三八〇〇一三八〇〇〇一直没人接", "一三八〇〇一三八〇〇〇"),
    ("cn_mobile", "13800138000一直没人接，", "13800138000"),
    ("cn_mobile", "一三八〇〇一三八〇〇〇，一三九〇〇一三九〇〇〇", "一三九〇〇一三九〇〇〇"),
    ("cn_mobile", "call one-three-eight-oh-oh-one-three-eight-oh-oh-oh", "three-eight"),
    ("cn_mobile", "手机：138\n0013\n8000", "0013"),
    ("cn_mobile", "手机 138、0013、8000", "0013"),
    ("cn_id", "身份证11010519491231002×", "11010519491231002"),
    ("cn_id", "壹壹零壹零伍 壹玖肆玖壹贰叁壹 零零贰X", "壹玖肆玖壹贰叁壹"),
    ("cn_mobile", "Duty manager Wang\n13800138000", "13800138000"),
    ("cn_id", "Holder: Wang\n130503670401001", "130503670401001"),
    ("bank_card", "Paid by Wang\n6222027541243409659", "6222027541243409659"),
    ("cn_landline", "Office of Wang\n021-52489862", "021-52489862"),
    ("phone", "Reception Wang\n905-674-3793", "905-674-3793"),
    ("bank_card", "转入6222．0275．4124．3409．659吧", "４１２４"),
    ("bank_card", "卡号6222,0275,4124,3409,659", "0275"),
    ("cn_landline", "座机021-52489862一直占线", "52489862"),
    ("email", "zhang [dot] san [at] qq [dot] com", "zhang"),
    ("email", "email me: john at example dot com", "john"),
    ("email", "email me: john at example dot us", "john"),
    ("email", "邮箱 JohnBaader at teleworm dot us，谢谢", "JohnBaader"),
    ("email", "write to anna at mail dot example dot hu today", "anna"),
    ("email", "Contact: ＢＥＲＮＤ at example dot be", "ＢＥＲＮＤ"),
    ("email", "mailto:zhangsan%40example.com", "zhangsan"),
    ("cn_landline", "座机(021)5248-9862转8001", "(021)5248-9862转8001"),
    ("cn_landline", "传真：02152489862", "02152489862"),
    ("phone", "Call +44 (0)20 7946 0958 now", "+44 (0)20 7946 0958"),
    ("phone", "reach me on (905) 674-3793 x12.", "(905) 674-3793 x12"),
    ("phone", "Phone: 60-56-85-91", "60-56-85-91"),
    ("phone", "联系电话：5248 9862", "5248 9862"),
    ("bank_card", "卡号6222 0275 4124 3409 659", "6222 0275 4124 3409 659"),
    ("bank_card", "转入6222027541243409659吧", "6222027541243409659"),
    ("bank_card", "my Amex 347415977307943", "347415977307943"),
    ("bank_card", "银行账号：622202754124340965", "622202754124340965"),
    ("cn_uscc", "统一社会信用代码91350100M000100Y43", "91350100M000100Y43"),
    ("cn_uscc", "代码 9135 0100 m000 100y 43", "9135 0100 m000 100y 43"),
    ("email", "联系邮箱test.user@example.com谢谢", "test.user@example.com"),
    ("email", "ＡＢＣ＠ＱＱ．ＣＯＭ", "ＡＢＣ＠ＱＱ．ＣＯＭ"),
    ("passport", "持护照G53316444登记", "G53316444"),
    ("passport", "passport no. X1234567", "X1234567"),
    ("id_number", "NINO: QQ 12 34 56 C", "QQ 12 34 56 C"),
    ("id_number", "CPF 529.982.247-25 do titular", "529.982.247-25"),
    ("id_number", "永久居留身份证号码：USA310019850312", "USA310019850312"),
    ("id_number", "driving licence number JONES 801059 J99RX", "JONES 801059 J99RX"),
    ("hmt_permit", "港澳通行证C12345678", "C12345678"),
    ("hmt_permit", "台胞證：12345678", "12345678"),
    ("hmt_permit", "香港居民A123456(3)到访", "A123456(3)"),
    ("hmt_permit", "臺灣身分證A123456789", "A123456789"),
    ("plate", "车牌沪A12345的车", "沪A12345"),
    ("plate", "粤B·D12345停在门口", "粤B·D12345"),
    ("plate", "京a1234挂", "京a1234挂"),
    ("ip", "用户从152.133.4.134登录", "152.133.4.134"),
    ("ip", "服务器10.0.0.12宕机", "10.0.0.12"),
    ("ip", "IP：2001:db8::8a2e:370:7334：", "2001:db8::8a2e:370:7334"),
    ("us_ssn", "Here's my SSN: 460-89-9847", "460-89-9847"),
    ("us_ssn", "social security number is 460899847", "460899847"),
    ("iban", "My IBAN is GB82 WEST 1234 5698 7654 32 is it", "GB82 WEST 1234 5698 7654 32"),
    ("iban", "de89370400440532013000", "de89370400440532013000"),
    ("im_account", "微信号：zhang_san88", "zhang_san88"),
    ("im_account", "QQ 123456789", "123456789"),
    ("secret", "key AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
    ("secret", "令牌eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl结束", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"),
    ("secret", "postgresql://app:p4ss!w0rd@db:5432/x", "app:p4ss!w0rd"),
    ("secret", "数据库密码：Abc@12345。", "Abc@12345"),
    ("secret", 'api_key = "sk_9f8e7d6c5b4a"', "sk_9f8e7d6c5b4a"),
    ("secret", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\n-----END RSA PRIVATE KEY-----", "MIIEow=="),
    ("secret", f"-----BEGIN PRIVATE KEY-----\n{'MIIE' * 16}\n{'abcd' * 10}\n\nText", f"{'abcd' * 10}"),
    ("address", "住四川省东莞市房山兴城街3号。", "四川省东莞市房山兴城街3号"),
    ("address", "地址：北京市海淀区中关村大街27号院5号楼1201室，邮编", "北京市海淀区中关村大街27号院5号楼1201室"),
    ("address", "位于臺北市信義區市府路１號", "臺北市信義區市府路１號"),
    ("person", "联系人：张三，", "张三"),
    ("person", "姓名: 欧阳明月", "欧阳明月"),
    ("person", "聯絡人：陳淑華", "陳淑華"),
    ("person", "姓名：张　三", "张　三"),
    ("person", "姓名：阿凡提·买买提", "阿凡提·买买提"),
    ("person", "司机黄林电话未知", "黄林"),
    ("person", "王小明先生来访", "王小明"),
    ("person", "Name: John Smith\n", "John Smith"),
    ("person", "当班安全员刘洋、质检员王芳共同签字", "王芳"),
    ("person", "由安全员刘洋组织整改", "刘洋"),
    ("person", "安全員劉洋發現隱患", "劉洋"),
    ("person", "刘洋安全员到场", "刘洋"),
    ("person", "the safety officer John Smith stopped work", "John Smith"),
    ("person", "Safety officer Liu Yang checked it", "Liu Yang"),
    ("person", "Dear Mrs. Ana de la Cruz,", "Ana de la Cruz"),
    ("person", "联系人：José Álvarez", "José Álvarez"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "value"), FOUND)
def test_a_value_is_found_as_its_kind(kind: str, text: str, value: str) -> None:
    """Each kind of value is found in Chinese and English, in each of its written forms, and nothing of it is left."""
    redacted = redact(text, DROP)
    assert redacted.counts.get(kind), redacted
    assert value not in redacted.text


LET_BE = [
    "customized beyond the basic language+country\nset that is preloaded; bearer certificate/deposit",
    'I: pwd = "/path/to/debhello-0.0"，pwd=~/src/build',
    "依据GB50300-2013第3.0.3条验收，检验批编号为2024031500018。",
    "订单号202403150001872345已发货，运单号SF1234567890123。",
    "订单号13800138000，流水号：6222027541243409659。",
    "合同金额人民币1,380,000.00元，税率9%。",
    "本条例自2004年2月1日起施行，国务院令第393号。",
    "混凝土配合比1:2.03:3.15，水灰比0.48，时间12:30:45。",
    "热线电话12345，火警119，客服400-820-8820。",
    "第3.2.1.4条、版本 1.2.3.200、Chrome/120.0.6099.109",
    "测点 15 23 18 45 67 89 12 34 56 71 22，采样值 177.13107255",
    "uuid 71203528-0525-4770-9259-066838490944",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "std::vector<int> a::b, see fe::ed",
    "icon@2x.png, git@github.com:x/y, @someone",
    "更新A12345版，阿里云B12345",
    "客户要求尽快处理，司机应当遵守规定，联系方式如下，受益人范围，职工利益。",
    "当事人有权申请，职工应休未休，本人利害关系，被保险人为查明事故，对方当事人支付费用。",
    "负责人：待定，姓名：必填，username: Admin, file name: Report",
    "password: required, token: Optional[str], 密码：不少于八位, api_key=${API_KEY}",
    "地铁2号线，城市道路3号门，一区3号桩。",
    "wechat official account, 微信小程序",
    "C++ + 12345678 items, E1234 error",
    "合计\n15000\n160000\n，| 15000\n160000 |",
    "4512\n3456\n7890\n1238",
    "图号4512、4513、4514、4515，房间 4101, 4202, 4303, 4404",
    "评分：1、5、3、4、2、3、4、5、3、2、1，1,3,8,0,0,1,3,8,0,0,0",
    "一、二、三、四、五、六、七、八、九、十、十一",
    "二〇二四年三月十五日，圆周率三点一四一五九二六五三五",
    "订单号一三八〇〇一三八〇〇〇",
    "one two three four five six, seven of nine",
    "坐标 1878.807 0150.796 5470.39",
    "Meet me at example.com. Look at the dot com bubble; we looked at amazon dot com.",
    "Meet me at the dot on the map. Look at example dot product. Contact the team at noon dot in hand.",
    "Send the file at once dot me no dots; mail people at home dot is a game, write at length dot it reads well",
    "Take the dot product at row dot column. He works at company dot us, we look at page dot it",
    "y = a @ b.T + q @ k.transpose(0, 1) + w @ self.weight",
    "pip install pkg @ git+https://example.com/x.git",
    "Sign in with @example.com, use your @example.org address",
    "安全员培训，安全员应当持证上岗，安全员张贴标语，施工员高处作业须系安全带，专职安全员配备标准，项目安全员职责",
    "司机严禁酒后驾驶，质检员金属探伤检查，班长负责制，客户经理岗位，总监理工程师签字，各班组长，安全员向项目经理报告",
    "The safety officer shall inspect daily. Safety Officer Training Program. Project Manager Handbook",
    "The Safety Officer Must Report to the Site Manager; Driver License Requirements; Nurse Call System",
    "群里艾特管理员，8点 com 口调试，艾特admin",
    "ISBN 978-7-111-54742-6",
    "ask bob@corp. In March it ended",
]


@pytest.mark.parametrize("text", LET_BE)
def test_what_identifies_nobody_is_let_be(text: str) -> None:
    """Orders, amounts, clauses, versions, dates, codes and plain words stay as they are."""
    assert redact(text, DROP).text == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("电话13800138000。", "电话138****8000。"),
        ("11010519491231002x", "11****2X"),
        ("卡号6222 0275 4124 3409 659", "卡号6222****9659"),
        ("ming66@hotmail.com", "m***@hotmail.com"),
        ("al@b.org", "***@b.org"),
        ("从152.133.4.134登录", "从152.133.*.*登录"),
        ("SSN 460-89-9847", "SSN ****9847"),
        ("沪A12345", "沪A****5"),
        ("住四川省东莞市房山兴城街3号。", "住四川省东莞市****。"),
        ("联系人：欧阳明月", "联系人：欧**"),
        ("Name: John Smith", "Name: J*** S***"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "⟦密钥⟧"),
    ],
)
def test_a_mask_leaves_a_safe_hint(text: str, masked: str) -> None:
    """A mask keeps what one recognises a known value by: never a date of birth, never anything of a secret."""
    assert redact(text, MASK).text == masked


def test_dropping_leaves_the_name_of_the_kind() -> None:
    """A dropped value is replaced by a mark, so that the words around it do not run together."""
    assert redact("请打13800138000。", DROP).text == "请打⟦手机⟧。"


def test_all_written_forms_have_one_pseudonym() -> None:
    """A value has the same pseudonym however it is written; another value, kind or key gives another."""

    def mark(text: str, key: bytes = KEY) -> str:
        return redact(text, PSEUDONYM, key).text

    plain = mark("13800138000")
    assert plain.startswith("⟦手机:") and len(plain) == len("⟦手机:") + 11
    assert {
        mark(form)
        for form in ("138-0013-8000", "１３８００１３８０００", "+86 138 0013 8000", "1 3 8 0 0 1 3 8 0 0 0")
    } == {plain}
    assert mark("姓名：張三") == mark("姓名：张三")
    others = {mark("13800138001"), mark("QQ：13800138000"), mark("13800138000", b"another key of 16 bytes"), plain}
    assert len(others) == 4


def test_a_forged_mark_hides_nothing() -> None:
    """Only marks that redaction itself can have written are passed over."""
    assert "13800138000" not in redact("⟦13800138000⟧ ⟦手机:13800138000⟧", DROP).text
    real = "⟦手机:ABCDEFGHIJ⟧ ⟦姓名⟧"
    assert redact(real, DROP).text == real


def test_the_longest_value_wins() -> None:
    """Where values overlap the longest is replaced, and its kind is counted once."""
    assert redact("13800138000@139.com", DROP).counts == {"email": 1}
    assert redact("password=13800138000a@b.cn", DROP).counts == {"secret": 1}


def document(*parts: str, **changes: object) -> Document:
    blocks, at = [], 0
    for part in parts:
        blocks.append(Block(kind="paragraph", start=at, end=at + len(part), label=part[:30]))
        at += len(part) + 2
    values: dict[str, object] = {
        "uri": "file:///a.md",
        "title": "t",
        "text": "\n\n".join(parts),
        "blocks": tuple(blocks),
        "sha256": "0",
    }
    return Document(**(values | changes))  # type: ignore[arg-type]


def test_blocks_move_with_the_text() -> None:
    """After redaction each block holds its own words, and labels are redacted as well."""
    redacted, counts = Redaction(DROP).document(
        document("电话13800138000找前台", "第二段", "又是13900139000和a1@b.cn")
    )
    assert [redacted.text[b.start : b.end] for b in redacted.blocks] == [
        "电话⟦手机⟧找前台",
        "第二段",
        "又是⟦手机⟧和⟦邮箱⟧",
    ]
    assert redacted.blocks[0].label == "电话⟦手机⟧找前台"
    assert counts == {"cn_mobile": 4, "email": 2}


def test_a_value_across_blocks_belongs_to_the_first() -> None:
    """A key whose lines are blocks of their own is replaced once; blocks that held only its rest vanish."""
    lines = ["before", "-----BEGIN PRIVATE KEY-----", "MIIE" * 16, "-----END PRIVATE KEY-----", "after"]
    redacted, counts = Redaction(DROP).document(document(*lines))
    assert [redacted.text[b.start : b.end] for b in redacted.blocks] == ["before", "⟦密钥⟧", "after"]
    assert counts == {"secret": 2}  # in the text, and in a label


def test_title_notes_and_facets_are_redacted() -> None:
    """A facet is read with its name as the cue, and a number may be a value too; the rest keeps its type."""
    redacted, _ = Redaction(DROP).document(
        document(
            "x",
            title="客户13800138000的投诉",
            notes=("sheet 13900139000 skipped",),
            metadata={
                "联系人": "张三",
                "phone": 13800138000,
                "password": "s3cret!x",
                "year": 2024,
                "draft": True,
                "tag": "安全",
            },
        ),
    )
    assert redacted.title == "客户⟦手机⟧的投诉"
    assert redacted.notes == ("sheet ⟦手机⟧ skipped",)
    assert redacted.metadata == {
        "联系人": "⟦姓名⟧", "phone": "⟦手机⟧", "password": "⟦密钥⟧", "year": 2024, "draft": True, "tag": "安全",
    }  # fmt: skip


def test_names_of_facets_are_redacted() -> None:
    """A name may be a value as well, and counts once; of names that become one no value is lost, and types stay."""
    metadata = {
        "13800138000": 1,
        "13900139000": "13700137000",
        "联系人：张三": True,
        "a@example.org": "a@example.org",
    }
    redacted, counts = Redaction(DROP).document(document("x", metadata=metadata))
    assert redacted.metadata == {
        "⟦手机⟧": 1, "⟦手机⟧ 2": "⟦手机⟧", "联系人：⟦姓名⟧": True, "⟦邮箱⟧": "⟦邮箱⟧",
    }  # fmt: skip
    assert counts == {"cn_mobile": 3, "person": 1, "email": 2}
    again, none = Redaction(DROP).document(redacted)
    assert (again.metadata, none) == (redacted.metadata, {})


@pytest.mark.parametrize(
    ("uri", "clean"),
    [
        ("file:///客户/联系人：张三.pdf", "file:///客户/联系人：⟦姓名⟧.pdf"),
        ("file:///a/13800138000%20note.md#p=1", "file:///a/⟦手机⟧%20note.md#p=1"),
        ("file:///a/%31%33800138000", "file:///a/⟦手机⟧"),
        ("https://app:s3cret7@example.org/a?token=abc123XYZ&x=1", "https://⟦密钥⟧@example.org/a?token=⟦密钥⟧&x=1"),
        ("https://example.org/%E5%AE%89%E5%85%A8%20x?q=%2F", "https://example.org/%E5%AE%89%E5%85%A8%20x?q=%2F"),
    ],
)
def test_addresses_are_redacted_piece_by_piece(uri: str, clean: str) -> None:
    """File names, queries and credentials are redacted through their escapes; what holds no value stays as it is."""
    assert Redaction(DROP).uri(uri) == clean
    assert Redaction(DROP).uri(clean) == clean


def test_with_a_key_two_files_stay_two() -> None:
    """Names that differ only in a value do not become one when there is a key, even where values are dropped."""
    first, second = (Redaction(DROP, KEY).uri(f"file:///a/1380013800{i}.pdf") for i in (0, 1))
    assert first != second
    assert first.startswith("file:///a/⟦手机:")


def named(*words: str) -> object:
    def spans(text: str) -> Iterable[tuple[int, int]]:
        return [(text.find(word), text.find(word) + len(word)) for word in words if word in text]

    return spans


def test_a_recogniser_finds_names_without_a_cue() -> None:
    """Names that a recogniser finds in the folded text are replaced in the original, once."""
    names = named("张三", "李四")
    redacted = redact("昨天张\u200b三和李四来了", PSEUDONYM, KEY, names)  # type: ignore[arg-type]
    assert redacted.counts == {"person": 2}
    assert "三" not in redacted.text
    assert redact(redacted.text, PSEUDONYM, KEY, names).text == redacted.text  # type: ignore[arg-type]
    assert redact("昨天张三来了", policy_for("internal"), names=names).text == "昨天张三来了"  # type: ignore[arg-type]


def test_a_recogniser_that_fails_rejects_the_document() -> None:
    """A text whose names were not looked for is not taken in; the cause is kept."""

    def broken(_: str) -> Iterable[tuple[int, int]]:
        raise RuntimeError("no model")

    with pytest.raises(DocumentRejected, match="RuntimeError") as caught:
        redact("张三", DROP, names=broken)
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(DocumentRejected, match="outside"):
        redact("张三", DROP, names=lambda _: [(0, 99)])

    def away(_: str) -> Iterable[tuple[int, int]]:
        raise EncoderUnavailable("not installed")

    with pytest.raises(EncoderUnavailable):
        redact("张三", DROP, names=away)


def test_a_recogniser_that_never_settles_rejects_the_document() -> None:
    """Redaction ends: a recogniser that finds a name in whatever is left cannot keep it going."""
    with pytest.raises(DocumentRejected, match="settle"):
        redact("甲" * 40, DROP, names=lambda text: [(text.find("甲"), text.find("甲") + 1)] if "甲" in text else [])


def test_no_error_says_a_value() -> None:
    """A refusal does not repeat what it refused to store."""

    def broken(text: str) -> Iterable[tuple[int, int]]:
        raise ValueError(text)

    with pytest.raises(DocumentRejected) as caught:
        redact("身份证11010519491231002X", DROP, names=broken)
    assert "1101" not in str(caught.value)


def test_check_digits_know_published_numbers() -> None:
    """The check digits agree with the examples of their standards and with numbers in public use."""
    assert checks.id_check("11010519491231002X") and not checks.id_check("110105194912310021")
    assert checks.uscc("91350100M000100Y43") and not checks.uscc("91350100M000100Y44")
    assert checks.luhn("79927398713") and not checks.luhn("79927398710")
    assert checks.iban("GB82WEST12345698765432") == 22 and checks.iban("GB82WEST12345698765433") == 0
    assert checks.hk_id("A", "123456", "3") and not checks.hk_id("A", "123456", "4")
    assert checks.tw_id("A123456789") and not checks.tw_id("A123456788")
    assert checks.id_body("130503670401001") and not checks.id_body("130503671301001")


def test_check_digits_tell_chance_from_identity() -> None:
    """Of random 18-digit numbers fewer than one in two hundred is taken for an identity number."""
    draw = random.Random(5)
    numbers = ("".join(draw.choices("0123456789", k=18)) for _ in range(4_000))
    assert sum(bool(redact(f"编码{number}。", DROP).counts.get("cn_id")) for number in numbers) < 20


def test_a_view_knows_where_it_came_from() -> None:
    """Folding is undone: each character of the view points at the character of the original that it stands for."""
    text = "㎏ａ\u200b①é ⟦手机⟧Ⅳ"
    view = view_of(text)
    assert view.text == "kga1e \ufffcIV"
    assert [text[slice(*view.original(i, i + 1))] for i in range(len(view.text))] == [
        "㎏", "㎏", "ａ", "①", "é", " ", "⟦手机⟧", "Ⅳ", "Ⅳ",
    ]  # fmt: skip
    assert view_of("plain 中文，").offsets is None


def test_every_kind_has_a_label_and_a_case() -> None:
    """No kind is without a label of its own, nor without an example in these tests."""
    assert len(set(LABELS.values())) == len(KINDS)
    assert {kind for kind, _, _ in FOUND} == set(KINDS)
