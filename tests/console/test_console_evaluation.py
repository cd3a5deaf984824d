"""The console's page of evaluations, its drawings, and forms with files."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from python_multipart.multipart import Field

from console_door import HOSTILE, Browser, Seen, console
from governed_door import key
from wenyuan.console.evaluations import _before
from wenyuan.console.forms import MAX_FIELDS, TooManyFields, form_with_files
from wenyuan.console.plots import reliability, trend
from wenyuan.console.state import ConsoleState
from wenyuan.i18n.translation import texts
from wenyuan.service.search.sufficiency import LEG as JUDGE

GOLDEN = f"问题,来源\n客户投诉几天答复,crm_policy.md\n脚本注入测试 {HOSTILE},wiki.md\n".encode()
PATH = "/console/evaluation"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with console(tmp_path) as found:
        yield found


def settled(browser: Browser, count: int) -> Seen:
    """The page, when so many evaluations are there."""
    for _ in range(200):
        seen = browser.get(PATH)
        if seen.count("table tbody tr") == count:
            return seen
        time.sleep(0.05)
    raise AssertionError(f"never {count} evaluations: {seen.text('main')}")


def test_a_golden_file_is_asked_and_asked_again(opened: tuple[str, Any]) -> None:
    """A file makes the first evaluation, a button the second; then there is a drawing, and a verdict."""
    browser = Browser(opened[0])
    assert "Nothing was evaluated yet" in browser.get(PATH).text("main")
    assert browser.upload(PATH, {}, "golden.csv", GOLDEN).location == PATH
    first = settled(browser, 1)
    assert first.count("svg.plot.square") == 1
    assert first.count("svg .line") == 0
    number = first.tree.css_first("input[name=again]").attributes["value"]
    assert browser.post(PATH, {"again": number}).status == 303
    second = settled(browser, 2)
    assert "No difference" in second.text(".notice h2")
    assert second.count("svg .line") == 4
    assert {a.attributes["href"] for a in second.tree.css("svg.plot a")} == {f"{PATH}/1", f"{PATH}/2"}
    assert "First fragment" in second.text(".places")
    beside = browser.get(second.tree.css_first(".notice a").attributes["href"])
    assert beside.status == 200
    assert HOSTILE in beside.text("tbody")
    assert beside.count("main script") == 0
    assert beside.count("table th") > 0
    assert Browser(opened[0], "zh").get(f"{PATH}/2").text("h1").startswith("第 2 次评测")


@pytest.mark.parametrize(
    ("language", "stop", "said"), [("en", "Stop it", "was stopped"), ("zh", "停止评测", "已停止")]
)
def test_a_running_one_is_stopped_by_its_button(
    opened: tuple[str, Any], monkeypatch: pytest.MonkeyPatch, language: str, stop: str, said: str
) -> None:
    """The page that follows an evaluation stops it, and says so afterwards; a second press finds nothing to stop."""
    url, library = opened
    entered, gate, real = threading.Event(), threading.Event(), library.engine.keyword

    def slow(*args: Any, **named: Any) -> Any:
        entered.set()
        assert gate.wait(60)
        return real(*args, **named)

    monkeypatch.setattr(library.engine, "keyword", slow)
    browser = Browser(url, language)
    assert browser.upload(PATH, {}, "golden.csv", GOLDEN).location == PATH
    assert entered.wait(60)
    assert stop in browser.get(PATH).text("#live button.danger")
    assert browser.post(f"{PATH}/stop").location == PATH
    following = browser.get(PATH)
    assert (following.count("#live progress"), following.count("#live button")) == (1, 0)
    gate.set()
    for _ in range(200):
        seen = browser.get(PATH)
        if not seen.count("#live progress"):
            break
        time.sleep(0.05)
    assert said in seen.text("#live .notice h2")
    assert library.evaluations() == ()
    assert browser.post(f"{PATH}/stop").location == PATH


def test_both_errors_are_listed(opened: tuple[str, Any]) -> None:
    """The page of an evaluation names the questions that should have been refused, and those that should not."""
    browser = Browser(opened[0])
    rows = "客户投诉几天答复,no answer\n木星有几颗卫星,wiki.md\n投诉 客户响应,crm_policy.md\n"
    browser.upload(PATH, {}, "golden.csv", ("问题,来源\n" + rows).encode())
    settled(browser, 1)
    page = browser.get(f"{PATH}/1")
    assert "客户投诉几天答复" in page.text("ul.answered")
    assert "木星有几颗卫星" in page.text("ul.refused")
    assert page.count("svg.plot.square .bin") >= 1


def test_an_evaluation_is_forgotten_when_that_was_said(opened: tuple[str, Any]) -> None:
    """Without the tick nothing goes; a number that there is not is no page."""
    browser = Browser(opened[0])
    browser.upload(PATH, {}, "golden.csv", GOLDEN)
    settled(browser, 1)
    assert browser.post(f"{PATH}/1/remove").location == f"{PATH}/1"
    assert browser.post(f"{PATH}/1/remove", {"sure": "yes"}).location == PATH
    assert browser.get(f"{PATH}/1").status == 404
    assert opened[1].evaluations() == ()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("golden.csv", b"x\n", "no header"),
        ("golden.doc", b"x\n", "no golden file"),
        ("golden.csv", "问题,来源\n甲,nowhere.md\n".encode(), "none of 1 addresses"),
    ],
)
def test_a_file_at_fault_is_told_on_the_page(
    opened: tuple[str, Any], monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, said: str
) -> None:
    """What is wrong with a golden file stands above the form, and nothing is kept."""
    monkeypatch.setattr("wenyuan.console.evaluations._SOON", 20.0)  # however busy the machine is
    seen = Browser(opened[0]).upload(PATH, {}, name, content)
    assert seen.status == 400
    assert said in seen.text(".notice.bad")
    assert opened[1].evaluations() == ()


def test_it_needs_the_right_of_the_api(tmp_path: Path) -> None:
    """A key without the right sees neither questions nor figures, and begins nothing."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search"))
        assert browser.get(PATH).status == 403
        assert browser.upload(PATH, {}, "golden.csv", GOLDEN).status == 403
        assert library.evaluations() == ()


def test_the_last_is_compared_with_that_of_a_month_before() -> None:
    """Where there is one at least four weeks older, that one; else the one before; alone, none."""
    day = 24 * 3600.0
    runs = [{"at": at * day} for at in (100, 99, 90, 71, 50)]
    assert _before(runs) == runs[3]
    assert _before(runs[:3]) == runs[1]
    assert _before(runs[:1]) is None
    assert _before([]) is None


def run(number: int, at: float, ndcg: float, ece: float | None = 0.1) -> dict[str, Any]:
    figures = {"ndcg@10": ndcg, "answered": 1.0, "refused": 0.5, "ece": ece}
    return {"evaluation_id": number, "at": at, "figures": figures}


def test_a_line_runs_from_old_to_new_and_breaks_where_nothing_is_known() -> None:
    """Newest at the right, higher is better, and a missing figure leaves a gap."""
    drawn = trend([run(3, 2e9, 0.9), run(2, 1e9, 0.5, None), run(1, 0.0, 0.1)])
    line, ece = drawn.lines[0], drawn.lines[3]
    assert [number for *_, number in line.dots] == [1, 2, 3]
    xs, ys = [dot[0] for dot in line.dots], [dot[1] for dot in line.dots]
    assert xs == sorted(xs)
    assert ys == sorted(ys, reverse=True)
    assert "0.900" in line.dots[-1][2]
    assert ece.path.count("M") == 2
    assert len(ece.dots) == 2


def test_circles_stand_where_scores_and_shares_are() -> None:
    """A bin whose score is its share stands on the dotted line; more answers make a larger circle."""
    low, high = reliability(
        [{"count": 1, "score": 0.2, "relevant": 0.2}, {"count": 9, "score": 0.8, "relevant": 0.8}]
    ).circles
    side = reliability([]).side
    assert low.x + low.y == pytest.approx(side)
    assert (low.x, low.y) != (high.x, high.y)
    assert high.radius > low.radius


def test_parts_of_a_form_are_taken_as_they_are() -> None:
    """Bytes of a file stay as they are, line ends included; names are UTF-8; plain fields have no file name."""
    raw = b"\x00\r\n--\r\n\xff\r\n"
    body = (
        b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx=1&y\r\n'
        + '--B\r\nContent-Disposition: form-data; name="file"; filename="问题.csv"\r\nContent-Type: x/y\r\n\r\n'.encode()
        + raw
        + b"\r\n--B--\r\n"
    )
    form = form_with_files('multipart/form-data; boundary="B"', body)
    assert form["a"] == "x=1&y"
    assert form.file("file") == ("问题.csv", raw)
    assert "file" not in form


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"--B--\r\n"),
        ("multipart/form-data; boundary=B", b""),
        ("multipart/form-data; boundary=B", b"--B\r\n\r\nx\r\n"),
        (
            "multipart/form-data; boundary=B",
            b'junk\r\n--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--B--',
        ),
        ("multipart/form-data; boundary=B", b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'),
        ("multipart/form-data; boundary=B", b"--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--\r\n"),
        (
            "multipart/form-data; boundary=B",
            b'--B\r\nContent-Disposition: form-data; name="a"\r\nno end\r\n--B--\r\n',
        ),
        (
            "multipart/form-data; boundary=B",
            b'--B\r\nContent-Disposition: form-data; name="\xff"\r\n\r\nx\r\n--B--\r\n',
        ),
    ],
)
def test_what_is_no_such_form_is_refused(opened: tuple[str, Any], kind: str, body: bytes) -> None:
    """Without boundary, beginning, end, name or value a form is broken: 400, never half of it."""
    with pytest.raises(ValueError, match=r"."):
        form_with_files(kind, body)
    browser = Browser(opened[0])
    assert browser.send("POST", PATH, body, Content_Type=kind, Origin=browser.url).status == 400


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data; boundary=B", b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n' * 202),
        ("multipart/form-data; boundary=B", b'--B\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nx\r\n' * 202),
        ("application/x-www-form-urlencoded", b"a=1&" * 202),
    ],
)  # fmt: skip
def test_a_form_of_too_many_fields_is_told_so(opened: tuple[str, Any], kind: str, body: bytes) -> None:
    """More fields or files than a page has are 413, before what comes after them is looked at: broken or not."""
    browser = Browser(opened[0])
    assert browser.send("POST", PATH, body, Content_Type=kind, Origin=browser.url).status == 413


def test_no_more_parts_are_read_than_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a form of ten thousand parts two hundred become fields."""
    made: list[object] = []
    original = Field.finalize

    def finalize(self: Field) -> None:
        made.append(self)
        original(self)

    monkeypatch.setattr(Field, "finalize", finalize)
    part = b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'
    with pytest.raises(TooManyFields):
        form_with_files("multipart/form-data; boundary=B", part * 10_000 + b"--B--\r\n")
    assert len(made) <= MAX_FIELDS + 1


def test_what_a_leg_left_out_is_told() -> None:
    """A source elsewhere that gave what is not in force on the day says how many; nothing is said of none."""
    site = ConsoleState(lambda *_: None)  # type: ignore[arg-type,return-value]
    legs = [{"name": "source x", "state": "ok", "ms": 1.0, "hits": 2, "withheld": 3}]

    def written(leg: dict[str, Any]) -> str:
        said = {"t": lambda key, **values: site.text("en", key, **values), "said": str, "term": lambda _, name: name}
        return str(site.templates.get_template("_parts.html").make_module(said).legs({"degraded": [], "legs": [leg]}))

    assert "3 not in force on the day, left out" in written(legs[0])
    assert "left out" not in written({**legs[0], "withheld": None})


@pytest.mark.parametrize("key", [f"leg_{JUDGE}", "leg_llm", "leg_reranker", "state_timeout", "state_failed"])
def test_parts_and_their_states_have_names(key: str) -> None:
    """In Chinese a Chinese one: what has none is shown as it is called within."""
    assert re.fullmatch(r"[\u4e00-\u9fff]+", texts("console", "zh")[key])
    assert texts("console", "en")[key]
