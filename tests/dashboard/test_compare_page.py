"""Several runs side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.dashboard.conftest import open_site, page_of
from tests.support.runs import read_json

from skillopt.report.run_difference import setting_differences, split_difference
from skillopt.report.run_files import RunFiles
from skillopt.wording import simulated_notice


@pytest.fixture(scope="module")
def both(runs: Path, eventful: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the runs `a`, `b` and `c`; `c` is another kind of training."""
    directory = tmp_path_factory.mktemp("both")
    for name, run in (("a", runs / "first" / "run"), ("b", runs / "second" / "run"), ("c", eventful)):
        shutil.copytree(run, directory / name)
    return directory


@pytest.fixture(scope="module")
def browser(both: Path) -> TestClient:
    return open_site(both)


def test_the_settings_that_differ_stand_in_a_column_for_each_run(browser: TestClient, both: Path) -> None:
    page = page_of(browser, "/compare?run=a&run=b&run=c")
    differences = setting_differences(*(RunFiles(both / name) for name in "abc"))
    heads = [one.text for one in page.named("th") if one.attributes.get("scope") == "row"]
    assert [one.key for one in differences] == heads[-len(differences) :]
    assert "train.num_epochs" in heads and "train.seed" in heads and "evaluation.gate_metric" not in heads


def test_the_chart_has_a_line_for_each_run_and_no_word_of_any_data(browser: TestClient, both: Path) -> None:
    page = page_of(browser, "/compare?run=a&run=b&run=c")
    numbers = json.loads(next(one.text for one in page.named("script") if one.attributes.get("id") == "numbers"))
    assert numbers["letters"] == ["A", "B", "C"] and set(numbers) == {"steps", "letters", "current"}
    for name, line in zip("abc", numbers["current"], strict=True):
        records = read_json(both / name / "history.json")
        assert line[: len(records)] == [round(100 * record["current_score"], 1) for record in records]
        assert line[len(records) :] == [None] * (len(numbers["steps"]) - len(records))


def test_a_number_of_a_step_in_a_file_makes_no_page_large(runs: Path, tmp_path: Path) -> None:
    for name in "ab":
        shutil.copytree(runs / "first/run", tmp_path / name)
    records = read_json(tmp_path / "a/history.json")
    records[-1]["step"] = 10**7
    (tmp_path / "a/history.json").write_text(json.dumps(records), "utf-8")
    page = page_of(open_site(tmp_path), "/compare?run=a&run=b")
    numbers = json.loads(next(one.text for one in page.named("script") if one.attributes.get("id") == "numbers"))
    assert numbers["steps"] == [*range(len(records)), 10**7]
    assert [len(line) for line in numbers["current"]] == [len(records) + 1] * 2


def test_runs_without_any_score_have_a_chart_all_the_same(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.jsonl").write_text("", "utf-8")
    page = page_of(open_site(tmp_path), "/compare?run=a&run=b")
    numbers = json.loads(next(one.text for one in page.named("script") if one.attributes.get("id") == "numbers"))
    assert (numbers["steps"], numbers["current"]) == ([0], [[None], [None]])


def test_scores_stand_as_counts_and_flips_lead_to_the_tasks(browser: TestClient, both: Path) -> None:
    """F93."""
    page = page_of(browser, "/compare?run=a&run=c")
    for name in "ac":
        summary = read_json(both / name / "summary.json")
        assert summary["test"]["best"]["shown"] in page.text
    links, seen = [one.attributes["href"] for one in page.named("a")], 0
    for part in ("val", "test"):
        found = split_difference(RunFiles(both / "a"), RunFiles(both / "c"), part)
        assert found is not None
        assert f"B better on {len(found.flips.fixed)}" in page.text
        assert f"p = {found.two_sided_p:.3g}" in page.text
        for flip in (*found.flips.fixed, *found.flips.broken):
            assert f"/runs/c/task?id={flip.task_id}" in links
            seen += 1
    assert seen


def test_simulated_runs_are_told_from_those_of_real_models(browser: TestClient, both: Path, tmp_path: Path) -> None:
    assert simulated_notice() in " ".join(page_of(browser, "/compare?run=a&run=b").text.split())
    for name in "ab":
        shutil.copytree(both / name, tmp_path / name)
    for path in (tmp_path / "a").rglob("*"):
        if path.name in {"run_card.json", "summary.json", "config.yaml", "events.jsonl"}:
            path.write_text(path.read_text("utf-8").replace("simulated", "of_someone"), "utf-8")
    said = " ".join(page_of(open_site(tmp_path), "/compare?run=a&run=b").text.split())
    assert simulated_notice(["B"]) in said


def test_a_run_against_itself_in_another_place_differs_in_nothing(both: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(both / "a", tmp_path / name)
    (tmp_path / "two" / "config.yaml").write_bytes((tmp_path / "one" / "config.yaml").read_bytes())
    page = page_of(open_site(tmp_path), "/compare?run=one&run=two")
    assert "The settings are the same." in page.text
    assert "B better on 0" in page.text and "B worse on 0" in page.text


def test_gates_that_compare_different_things_are_told_apart(both: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(both / "a", tmp_path / name)
    path = tmp_path / "two" / "history.json"
    path.write_text(path.read_text("utf-8").replace('"gate_metric": "hard"', '"gate_metric": "soft"'), "utf-8")
    page = page_of(open_site(tmp_path), "/compare?run=one&run=two")
    assert "compare different things: hard, soft" in page.text


def test_a_run_that_goes_on_is_compared_as_far_as_it_is(both: Path, tmp_path: Path) -> None:
    shutil.copytree(both / "a", tmp_path / "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "events.jsonl").write_text("", "utf-8")
    page = page_of(open_site(tmp_path), "/compare?run=one&run=two")
    assert "They share no task that both measured." in page.text and "not ended" in page.text


@pytest.mark.parametrize("query", ["", "?run=a", "?run=a&run=a"])
def test_with_fewer_than_two_runs_they_are_chosen(browser: TestClient, query: str) -> None:
    page = page_of(browser, f"/compare{query}")
    assert page.named("h1")[0].text == "Compare runs"
    boxes = [one for one in page.named("input") if one.attributes.get("type") == "checkbox"]
    assert [one.attributes["value"] for one in boxes] == ["a", "b", "c"]
    checked = [one.attributes["value"] for one in boxes if "checked" in one.attributes]
    assert checked == (["a"] if query else [])


def test_more_runs_than_can_be_told_apart_are_refused_in_words(both: Path, tmp_path: Path) -> None:
    query = "&".join(f"run=r{number}" for number in range(9))
    page = page_of(open_site(both), f"/compare?{query}")
    assert "9 runs are too many" in page.text
    for number in range(8):
        shutil.copytree(both / "a", tmp_path / f"r{number}")
    eight = page_of(open_site(tmp_path), "/compare?" + "&".join(f"run=r{number}" for number in range(8)))
    assert eight.named("h1")[0].text == "8 runs compared"


def test_a_run_that_is_not_there_is_said_in_words(browser: TestClient) -> None:
    answer = browser.get("/compare?run=a&run=nobody")
    assert answer.status_code == 404 and "One of these runs is not here." in answer.text


@given(st.lists(st.text(max_size=20), min_size=2, max_size=10))
def test_no_names_break_the_page(browser: TestClient, names: list[str]) -> None:
    answer = browser.get("/compare", params={"run": [name.encode("utf-8", "replace") for name in names]})
    assert answer.status_code in (200, 404)
