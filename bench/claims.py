"""What verdicts are worth on claims as people write them: reworded with the meaning kept, or changed in one thing.

    python bench/claims.py [--set fillers|branches|last|reworded] [--half tuned|apart] [--show] [--lang en|zh]

Four sets of sentences of rules and manuals, with rewordings that say the same and claims that do not: `fillers` below, where words
put into sixteen sentences make several of each; `branches`, sentences of contracts, staff, medicine, operations, building, consumer
law, travel and safety (``claims_by_branch.yaml``); `last` (``claims_last.yaml``), written when the checks were finished; and `reworded`
(``claims_reworded.yaml``), whose lies are all in other words. Every second sentence may be left out (``--half apart``).
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

import wenyuan
from verify import CHANGED, holding
from wenyuan.core.claims import Claim
from wenyuan.service.verification import VerifyRequest


class Row(NamedTuple):
    """A sentence with ``{a}``, ``{b}`` …, the fillers of these, rewordings, and false claims by kind.

    ``number+`` is a number changed in a claim that is reworded besides.
    """

    text: str
    fillers: tuple[tuple[str, ...], ...]
    true: tuple[str, ...]
    false: tuple[tuple[str, str], ...]


ROWS = (
    Row("{a} must be reported to the {b} within {c} hours.",
        (("Accidents", "safety officer", "24", "48"), ("Data leaks", "privacy office", "72", "36"), ("Power failures", "duty engineer", "2", "8"), ("Thefts", "site manager", "12", "6")),
        ("{a} have to be reported to the {b} within {c} hours.", "Within {c} hours, {a} shall be reported to the {b}.", "{a} must be notified to the {b} no later than {c} hours afterwards.", "The {b} must be told of {a} within {c} hours."),
        (("number", "{a} must be reported to the {b} within {d} hours."), ("unit", "{a} must be reported to the {b} within {c} days."), ("negation", "{a} must not be reported to the {b} within {c} hours."),
         ("modality", "{a} may be reported to the {b} within {c} hours."), ("number+", "{a} have to be reported to the {b} within {d} hours."), ("invented", "{a} are insured up to a million by the {b}."))),
    Row("Unless the {a} agrees in writing, the {b} must stay closed at night.",
        (("director", "north gate"), ("fire warden", "boiler room"), ("registrar", "archive"), ("head nurse", "drug cabinet")),
        ("Unless the {a} agrees in writing, the {b} must remain closed at night.", "The {b} must stay closed at night unless the {a} agrees in writing.", "At night the {b} has to be kept closed, unless the {a} has agreed in writing."),
        (("context", "The {b} must stay closed at night."), ("negation", "Unless the {a} agrees in writing, the {b} must not stay closed at night."), ("modality", "Unless the {a} agrees in writing, the {b} may stay closed at night."), ("entity", "Unless the cook agrees in writing, the {b} must stay closed at night."))),
    Row("The storage temperature of {a} is −{b} °C.",
        (("the vaccine", "20", "30"), ("plasma", "25", "35"), ("the enzyme kit", "70", "80"), ("ice cream", "18", "12")),
        ("The storage temperature of {a} is -{b} °C.", "The storage temperature of {a} is minus {b} °C.", "{a} is stored at −{b} °C."),
        (("sign", "The storage temperature of {a} is {b} °C."), ("number", "The storage temperature of {a} is −{c} °C."), ("sign", "The storage temperature of {a} is ±{b} °C."))),
    Row("The warranty for {a} lasts {b} months and begins on {c} March 2025.",
        (("pumps", "24", "3", "2", "36"), ("valves", "12", "9", "1", "18"), ("motors", "36", "21", "3", "30"), ("meters", "60", "15", "5", "48")),
        ("The warranty for {a} lasts {d} years and begins on {c} March 2025.", "The warranty for {a} lasts {b} months and begins on March {c}, 2025.", "The warranty for {a} runs for {b} months from {c} March 2025.", "The warranty for {a} lasts {b} months and begins on 2025-03-{c}."),
        (("number", "The warranty for {a} lasts {e} months and begins on {c} March 2025."), ("date", "The warranty for {a} lasts {b} months and begins on {c} April 2025."), ("unit", "The warranty for {a} lasts {b} weeks and begins on {c} March 2025."), ("number+", "The warranty for {a} runs for {e} months from {c} March 2025."))),
    Row("All {a} attend the safety course before they enter the {b}.",
        (("visitors", "tunnel"), ("drivers", "yard"), ("trainees", "laboratory"), ("contractors", "plant")),
        ("All {a} attend the safety course before entering the {b}.", "Every one of the {a} takes the safety course before going into the {b}.", "Before they enter the {b}, all {a} attend the safety course."),
        (("relation", "Some {a} attend the safety course before they enter the {b}."), ("relation", "All {a} attend the safety course after they enter the {b}."), ("negation", "All {a} do not attend the safety course before they enter the {b}."), ("entity", "All {a} attend the cooking course before they enter the {b}."))),
    Row("Managers may approve expenses of up to EUR {a} without the consent of the {b}.",
        (("500", "board", "800"), ("2,000", "committee", "3,000"), ("750", "owner", "900"), ("1,200", "treasurer", "1,500")),
        ("Managers can approve expenses of up to EUR {a} without the consent of the {b}.", "Managers may approve expenses of up to {a} euros without the consent of the {b}.", "Expenses of at most EUR {a} may be approved by managers without consent of the {b}."),
        (("number", "Managers may approve expenses of up to EUR {c} without the consent of the {b}."), ("unit", "Managers may approve expenses of up to USD {a} without the consent of the {b}."), ("relation", "Only managers may approve expenses of up to EUR {a} without the consent of the {b}."),
         ("bound", "Managers may approve expenses of at least EUR {a} without the consent of the {b}."), ("modality", "Managers must approve expenses of up to EUR {a} without the consent of the {b}."))),
    Row("The {a} pays the {b} the full price within {c} days of delivery.",
        (("buyer", "seller", "14", "20"), ("tenant", "landlord", "10", "15"), ("publisher", "author", "30", "45"), ("club", "trainer", "7", "9")),
        ("The {a} pays the whole price to the {b} within {c} days of delivery.", "Within {c} days of delivery the {a} pays the {b} the full price.", "The full price is paid by the {a} to the {b} within {c} days of delivery."),
        (("relation", "The {b} pays the {a} the full price within {c} days of delivery."), ("number", "The {a} pays the {b} the full price within {d} days of delivery."), ("relation", "The {a} pays the {b} the full price within {c} days before delivery."), ("negation", "The {a} never pays the {b} the full price within {c} days of delivery."))),
    Row("It is not true that the {a} is safe at {b} bar.",
        (("old boiler", "16"), ("hand pump", "8"), ("glass valve", "4"), ("spare hose", "20")),
        ("It is not true that the {a} is safe at {b} bar.", "It's not true that the {a} is safe at {b} bar."),
        (("context", "The {a} is safe at {b} bar."), ("number", "It is not true that the {a} is safe at 99 bar."))),
    Row("{a}应当在{b}小时内向{c}报告。",
        (("火灾事故", "24", "安全部", "48"), ("数据泄露", "72", "信息办", "36"), ("停电故障", "2", "值班工程师", "8"), ("盗窃案件", "12", "保卫处", "6")),
        ("{a}须在{b}小时内向{c}报告。", "{a}应在{b}个小时内向{c}报告。", "{a}必须于{b}小时内报告{c}。", "应当在{b}小时内把{a}报告给{c}。"),
        (("number", "{a}应当在{d}小时内向{c}报告。"), ("unit", "{a}应当在{b}天内向{c}报告。"), ("negation", "{a}不应当在{b}小时内向{c}报告。"), ("modality", "{a}可以在{b}小时内向{c}报告。"), ("number+", "{a}必须在{d}小时内报告{c}。"), ("invented", "{a}由{c}赔偿一百万元。"))),
    Row("除{a}外，任何人不得进入{b}。",
        (("检修人员", "锅炉房"), ("值班护士", "药品库"), ("档案管理员", "机要室"), ("持证电工", "配电间")),
        ("除{a}外，任何人不准进入{b}。", "除{a}以外，任何人不得进入{b}。", "任何人不得进入{b}，{a}除外。"),
        (("context", "任何人不得进入{b}。"), ("modality", "除{a}外，任何人可以进入{b}。"), ("entity", "除炊事员外，任何人不得进入{b}。"), ("negation", "除{a}外，任何人得进入{b}。"))),
    Row("{a}的贮存温度为−{b}℃。",
        (("疫苗", "20", "30"), ("血浆", "25", "35"), ("酶试剂", "70", "80"), ("冷冻食品", "18", "12")),
        ("{a}的贮存温度为-{b}℃。", "{a}的贮存温度为零下{b}℃。", "{a}应贮存于−{b}℃。"),
        (("sign", "{a}的贮存温度为{b}℃。"), ("number", "{a}的贮存温度为−{c}℃。"), ("sign", "{a}的贮存温度为±{b}℃。"))),
    Row("{a}的保修期为{b}个月，自2025年3月{c}日起计算。",
        (("水泵", "24", "3", "2", "36"), ("阀门", "12", "9", "1", "18"), ("电机", "36", "21", "3", "30"), ("仪表", "60", "15", "5", "48")),
        ("{a}的保修期为{d}年，自2025年3月{c}日起计算。", "{a}的保修期为{b}个月，自2025-03-{c}起计算。", "{a}自2025年3月{c}日起保修{b}个月。"),
        (("number", "{a}的保修期为{e}个月，自2025年3月{c}日起计算。"), ("date", "{a}的保修期为{b}个月，自2025年4月{c}日起计算。"), ("unit", "{a}的保修期为{b}周，自2025年3月{c}日起计算。"), ("number+", "{a}的保修期限是{e}个月，从2025年3月{c}日起算。"))),
    Row("所有{a}进入{b}之前应当参加安全培训。",
        (("访客", "隧道"), ("司机", "货场"), ("学员", "实验室"), ("承包商", "厂区")),
        ("所有{a}在进入{b}之前应当参加安全培训。", "全部{a}进入{b}之前须参加安全培训。", "所有{a}进入{b}前应参加安全培训。"),
        (("relation", "部分{a}进入{b}之前应当参加安全培训。"), ("relation", "所有{a}进入{b}之后应当参加安全培训。"), ("modality", "所有{a}进入{b}之前可以参加安全培训。"), ("entity", "所有{a}进入{b}之前应当参加烹饪培训。"))),
    Row("经理可以批准不超过{a}元的支出，无需{b}同意。",
        (("500", "董事会", "800"), ("2000", "委员会", "3000"), ("750", "股东", "900"), ("1200", "财务部", "1500")),
        ("经理可以批准{a}元以内的支出，无需{b}同意。", "不超过{a}元的支出，经理可以批准，无须{b}同意。", "经理有权批准不超过{a}元的支出，不需要{b}同意。"),
        (("number", "经理可以批准不超过{c}元的支出，无需{b}同意。"), ("unit", "经理可以批准不超过{a}美元的支出，无需{b}同意。"), ("relation", "仅经理可以批准不超过{a}元的支出，无需{b}同意。"), ("bound", "经理可以批准不低于{a}元的支出，无需{b}同意。"), ("modality", "经理必须批准不超过{a}元的支出，无需{b}同意。"))),
    Row("{a}应当在交货后{c}天内向{b}付清全款。",
        (("甲方", "乙方", "14", "20"), ("承租人", "出租人", "10", "15"), ("出版社", "作者", "30", "45"), ("俱乐部", "教练", "7", "9")),
        ("{a}须在交货后{c}天内向{b}付清全款。", "交货后{c}日内，{a}应当向{b}付清全款。", "{a}应在交货后{c}天内把全款付给{b}。"),
        (("relation", "{b}应当在交货后{c}天内向{a}付清全款。"), ("number", "{a}应当在交货后{d}天内向{b}付清全款。"), ("relation", "{a}应当在交货前{c}天内向{b}付清全款。"), ("negation", "{a}不应当在交货后{c}天内向{b}付清全款。"))),
    Row("{a}的公差为±{b}毫米，工作压力≥{c}兆帕。",
        (("轴承", "2", "7", "3"), ("法兰", "5", "16", "6"), ("螺杆", "3", "4", "1"), ("衬套", "1", "10", "8")),
        ("{a}的公差为±{b} mm，工作压力≥{c} MPa。", "{a}的公差是±{b}毫米，工作压力不小于{c}兆帕。"),
        (("sign", "{a}的公差为+{b}毫米，工作压力≥{c}兆帕。"), ("bound", "{a}的公差为±{b}毫米，工作压力≤{c}兆帕。"), ("number", "{a}的公差为±{d}毫米，工作压力≥{c}兆帕。"))),
)  # fmt: skip
SHOWN = "not_judged, both words shown"
"""A sentence that is a claim's but for one word, which may be another word for the same."""
NAMED = {
    "number": {"number_changed"}, "unit": {"unit_changed", "number_changed"}, "date": {"date_changed", "number_changed"},
    "sign": {"number_changed"}, "bound": {"number_changed", "modality_changed"},
    "negation": {"negation_changed", "modality_changed"}, "modality": {"modality_changed", "negation_changed"},
    "context": {"part", "negation_changed"}, "relation": {"relation_changed", "modality_changed", "part"},
    "entity": {SHOWN}, "entity+": {SHOWN, "not_judged", "nothing_found"}, "invented": {SHOWN, "not_judged", "nothing_found"}, "another": {SHOWN, "not_judged", "nothing_found"},
}  # fmt: skip
"""The verdicts that name what was changed; of a time of day that is its number, and of an *only* that was left out its part."""
SETS = {"branches": "claims_by_branch.yaml", "last": "claims_last.yaml", "reworded": "claims_reworded.yaml"}


def made(half: str) -> Iterator[tuple[str, str]]:
    """Kind and claim (``true``: reworded with the meaning kept) of one half of the rows or of all."""
    for number, row in enumerate(ROWS):
        if half and (number % 2 == 0) != (half == "tuned"):
            continue
        for filler in row.fillers:
            said = dict(zip("abcdef", filler, strict=False))
            yield from (("true", text.format_map(said)) for text in row.true)
            yield from ((kind, text.format_map(said)) for kind, text in row.false)


def of_set(name: str, half: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The sentences of a set, and kind and claim of one half of its rows or of all."""
    if name == "fillers":
        texts = [row.text.format_map(dict(zip("abcdef", f, strict=False))) for row in ROWS for f in row.fillers]
        return texts, list(made(half))
    rows = yaml.safe_load((Path(__file__).parent / SETS[name]).read_text("utf-8"))
    asked = [row for number, row in enumerate(rows) if not half or (number % 2 == 0) == (half == "tuned")]
    claims = [("true", text) for row in asked for text in row["same"]]
    return [row["text"] for row in rows], claims + [(kind, text) for row in asked for kind, text in row["changed"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("fillers", *SETS), default="")
    parser.add_argument("--half", choices=("tuned", "apart"), default="")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--lang", choices=list(HEADS), default="en")
    given = parser.parse_args()
    found: dict[str, dict[str, Counter[str]]] = {}
    for name in [given.set] if given.set else ["fillers", *SETS]:
        texts, claims = of_set(name, given.half)
        with holding(texts) as library:
            verdicts = _asked(library, [text for _, text in claims])
        of = found[name] = defaultdict(Counter)
        for (kind, text), verdict in zip(claims, verdicts, strict=True):
            of[kind][verdict] += 1
            wrong = verdict in ACCUSED if kind == "true" else verdict not in named(kind)
            if given.show and wrong:
                print(f"{kind}: {verdict}: {text}")
    print(table(found, given.lang))


ACCUSED = (*CHANGED, "stitched")


HEADS = {
    "en": ("claim", {"fillers": "16 sentences, four fillings", "branches": "92 of eight branches", "last": "20 written last", "reworded": "24 reworded"},
           "{n} claims; false ones that are called verbatim: {taken}"),
    "zh": ("句子", {"fillers": "16 句，各填四组内容", "branches": "八个领域 92 句", "last": "最后写的 20 句", "reworded": "换说法的 24 句"}, "共 {n} 句；不实而判为 `verbatim` 的：{taken}"),
}  # fmt: skip
LABELS = {
    "true": ("reworded, the meaning kept: called a change", "换了说法、意思不变：判为有改动"), "number": ("number", "改数字"),
    "unit": ("unit, currency", "改单位、币种"), "date": ("date, time of day", "改日期、时刻"), "sign": ("sign (−, ±)", "改正负号"),
    "bound": ("bound (≥, up to)", "改上下限"), "negation": ("negation", "增减否定"), "modality": ("must, may", "改要求程度"),
    "context": ("condition or exception left out", "略去条件或除外"), "relation": ("before/after, all/some, only, parties exchanged", "前后、全部与部分、仅、双方对调"),
    "entity": ("another name (`not_judged`, both words shown)", "换名称（`not_judged`，列出两处用词）"), "invented": ("invented (`not_judged`)", "无中生有（`not_judged`）"),
    "another": ("of another thing, with its number (`not_judged`)", "说的是别的事物及其数字（`not_judged`）"),
}  # fmt: skip
BESIDES = {"en": ", reworded besides", "zh": "，同时换了说法"}


def table(found: Mapping[str, Mapping[str, Counter[str]]], language: str) -> str:
    """By set and kind: the share that is named, with the number of claims; of those that are true what is called changed."""
    head, names, total = HEADS[language]
    lines = [f"| {head} | {' | '.join(names[name] for name in found)} |", f"|{'---|' * (len(found) + 1)}"]
    kinds = dict.fromkeys(kind for of in found.values() for kind in of)
    for kind in [name for name in KINDS if name in kinds]:
        label = LABELS[kind.removesuffix("+")][language == "zh"] + (BESIDES[language] if kind.endswith("+") else "")
        lines.append(
            f"| {label} | {' | '.join(cell(kind, of.get(kind, Counter()), language) for of in found.values())} |"
        )
    n = sum(sum(counts.values()) for of in found.values() for counts in of.values())
    taken = sum(counts["verbatim"] for of in found.values() for kind, counts in of.items() if kind != "true")
    return "\n".join([*lines, "", total.format(n=n, taken=taken)])


KINDS = ("true", *(name + more for name in NAMED if name[-1] != "+" for more in ("", "+")))


def named(kind: str) -> Collection[str]:
    """The verdicts that name a lie of this kind."""
    return NAMED.get(kind, NAMED[kind.removesuffix("+")])


def cell(kind: str, counts: Counter[str], language: str) -> str:
    """Of true claims the share that is called changed, of others the share whose kind is named, with their number."""
    n = sum(counts.values())
    if not n:
        return "—"
    counted = ACCUSED if kind == "true" else named(kind)
    share = f"{sum(counts[verdict] for verdict in counted) / n:.3f}".removeprefix("0")
    return f"{share} of {n}" if language == "en" else f"{share}（{n}）"


def _asked(library: wenyuan.Library, texts: list[str]) -> list[str]:
    said = []
    for at in range(0, len(texts), 50):
        request = VerifyRequest(claims=tuple(Claim(text) for text in texts[at : at + 50]))
        said += [
            SHOWN if one.verdict == "not_judged" and one.changes else one.verdict
            for one in library.verify(request).claims
        ]
    return said


if __name__ == "__main__":
    main()
