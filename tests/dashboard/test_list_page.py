"""The list of runs: filtered, sorted, paged, told of as it changes; a damaged run hides no other."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.testclient import TestClient
from tests.dashboard.conftest import Visit
from tests.dashboard.test_following import write
from tests.support.markup import parsed
from tests.support.records import committed, spent, started

from skillopt.dashboard.catalogue import RunEntry
from skillopt.dashboard.glances import Glance, Shares
from skillopt.dashboard.list_page import ORDERS, chosen
from skillopt.events import RunEnded

HOSTILE = "<script>alert(1)<&\"'{{ 7*191 }}"


def rows(html: str) -> list[str]:
    return re.findall(r'<tr id="run-[^"]*">.*?<a [^>]*>(.*?)</a>', html, re.DOTALL)


def glance(name: str, **more: object) -> Glance:
    return Glance(RunEntry(name, name, Path(name)), **{"state": "improved", **more})  # type: ignore[arg-type]


def test_a_run_shows_its_state_its_steps_its_scores_and_its_price(runs: Path, visit: Visit) -> None:
    html = visit(runs).get("/").text
    (row,) = re.findall(r'<tr id="run-first~run">(.*?)</tr>', html, re.DOTALL)
    text = parsed(row).text
    for words in ("first/run", "simulated", "/8", "0/8 (0.0 %)", "+", "$0"):
        assert words in text, words


def test_a_run_whose_gain_is_on_the_selection_split_alone_is_not_marked_as_good(
    runs: Path, tmp_path: Path, visit: Visit
) -> None:
    summary = json.loads((runs / "first/run/summary.json").read_text("utf-8")) | {"state": "improved"}
    for name, gain in (("shown", 0.25), ("doubted", -0.25)):
        write(tmp_path / name, started(), RunEnded("improved", "", {**summary, "test_delta_hard": gain}))
    html = visit(tmp_path).get("/").text
    marks = dict(re.findall(r'<tr id="run-([^"]*)">.*?<span class="badge ([^"]*)">improved<', html, re.DOTALL))
    assert marks == {"shown": "good", "doubted": "doubted"}
    assert html.count("not on held-out tasks") == 1


def test_the_list_is_filtered_by_text_and_by_state(tmp_path: Path, visit: Visit) -> None:
    for number in range(3):
        write(tmp_path / f"good{number}", started(), RunEnded("improved", "", {}))
    write(tmp_path / "Broken", started())
    page = visit(tmp_path)
    assert rows(page.get("/?text=GOOD&sort=name").text) == ["good0", "good1", "good2"]
    assert rows(page.get("/?state=broken+off").text) == ["Broken"]
    assert rows(page.get("/?state=improved&text=1").text) == ["good1"]
    assert "None of the 4 runs fits" in page.get("/?text=nothing").text


def test_an_empty_list_says_how_a_run_gets_into_it_from_wherever_one_is(tmp_path: Path, visit: Visit) -> None:
    (tmp_path / "mine").mkdir()
    said = parsed(visit(tmp_path / "mine").get("/").text).text
    assert "env.out_root=DIR/NAME" in said and "where DIR is the path of mine" in " ".join(said.split())


@pytest.mark.parametrize(
    ("order", "names"),
    [("name", ["a", "b", "c"]), ("-name", ["c", "b", "a"]), ("gain", ["c", "a", "b"]), ("-gain", ["b", "a", "c"]),
     ("cost", ["b", "c", "a"]), ("when", ["a", "b", "c"]), ("state", ["b", "a", "c"])],
)  # fmt: skip
def test_the_list_is_sorted_by_what_was_asked_for(order: str, names: list[str]) -> None:
    everything = [
        glance("c", selection=Shares("1/8", "4/8", 0.375), dollars=1.0, at=1.0, state="starting"),
        glance("a", selection=Shares("1/8", "1/8", 0.0), at=3.0, state="improved"),
        glance("b", dollars=2.0, at=2.0, state="all_rejected"),
    ]
    backwards = order.startswith("-")
    found = chosen(everything, text="", state="", order=order.removeprefix("-"), backwards=backwards)
    assert [one.entry.name for one in found] == names


def test_a_long_list_has_pages_that_keep_the_filter(tmp_path: Path, visit: Visit) -> None:
    for number in range(120):
        write(tmp_path / f"run{number:03d}", started(), RunEnded("improved", "", {}))
    page = visit(tmp_path)
    seen: list[str] = []
    for number in (1, 2, 3):
        html = page.get(f"/?sort=name&text=run&page={number}").text
        seen += rows(html)
        assert re.findall(r'href="([^"]*)" ?[^>]*>(?:Next|Last)<', html) == (
            [f"/?sort=name&amp;text=run&amp;page={number + 1}", "/?sort=name&amp;text=run&amp;page=3"]
            if number < 3
            else []
        )
    assert seen == [f"run{number:03d}" for number in range(120)]


def test_a_damaged_run_says_so_in_its_row(tmp_path: Path, visit: Visit) -> None:
    write(tmp_path / "good", started(), committed(0), spent(1, 1))
    event = committed(0)
    write(tmp_path / "bad", type(event)({key: value for key, value in event.record.items() if key != "val_n"}))
    answer = visit(tmp_path).get("/?sort=name")
    assert answer.status_code == 200
    assert rows(answer.text) == ["bad", "good"]
    assert "lacks what every record has" in answer.text


def test_an_empty_directory_says_how_to_begin(tmp_path: Path, visit: Visit) -> None:
    assert "skillopt train CONFIG" in visit(tmp_path).get("/").text


def test_a_hostile_name_is_text(runs: Path, tmp_path: Path, visit: Visit) -> None:
    shutil.copytree(runs / "first/run", tmp_path / HOSTILE)
    page = visit(tmp_path)
    html = page.get("/?" + urlencode({"text": HOSTILE, "state": HOSTILE, "sort": HOSTILE, HOSTILE: HOSTILE})).text
    assert "<script>alert" not in html
    assert "1337" not in html
    html = page.get("/").text
    (link,) = re.findall(r'<tr id="[^"]*">.*?href="([^"]*)"', html, re.DOTALL)
    assert page.get(link).status_code == 200
    assert "<script>alert" not in page.get(link).text


@given(
    query=some.dictionaries(some.sampled_from(["text", "state", "sort", "page", "token", "x"]), some.text(max_size=20))
)
def test_any_query_is_a_page(pages: TestClient, query: dict[str, str]) -> None:
    assert pages.get("/", params=query).status_code == 200


def test_every_order_is_one_of_a_column(runs: Path, visit: Visit) -> None:
    html = visit(runs).get("/").text
    assert set(re.findall(r"\?sort=-?(\w+)", html)) == set(ORDERS)
    assert html.count("aria-sort") == 1
