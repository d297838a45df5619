"""A step of a run, stage by stage, and its edits."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.dashboard.conftest import open_site, page_of
from tests.support.markup import Page, parsed
from tests.support.runs import read_json

from skillopt.dashboard.rendering import run_url
from skillopt.report.live_words import said
from skillopt.report.run_files import RunFiles
from skillopt.text_files import write_json_atomically


def links(page: Page) -> list[str]:
    return [one.attributes["href"] or "" for one in page.named("a")]


def test_a_step_says_its_decision_and_why_and_what_each_stage_made(browser: TestClient, eventful: Path) -> None:
    for record in read_json(eventful / "history.json")[1:]:
        page = page_of(browser, f"/runs/run/steps/{record['step']}")
        assert record["reason"] in page.text
        assert said(record["action"]) in page.text
        assert f"{record['rollout_solved']}/{record['rollout_n']} solved" in page.text
        assert f"patches: {record['n_patches']} " in page.text
        heads = [one.text.split(":")[0] for one in page.named("h2")]
        assert heads[:6] == ["Rollout", "Reflect", "Aggregate", "Select", "Update", "Gate"]


def test_the_title_names_the_way_to_it_for_whoever_has_several_open(browser: TestClient) -> None:
    assert page_of(browser, "/runs/run/steps/2/edits/1").named("title")[0].text == "Edit 1 - Step 2 - run - SkillOpt"


def test_an_edit_that_was_applied_looks_good_only_where_its_step_was_accepted(
    browser: TestClient, eventful: Path
) -> None:
    seen: set[tuple[str, str]] = set()
    for record in read_json(eventful / "history.json")[1:]:
        report = read_json(eventful / f"steps/step_{record['step']:04d}/edit_apply_report.json")
        for number, row in enumerate(report["edits"] if isinstance(report, dict) else report, start=1):
            page = page_of(browser, f"/runs/run/steps/{record['step']}/edits/{number}")
            verdict = next(one for one in page.named("span") if "verdict" in (one.attributes.get("class") or ""))
            accepted = record["action"].startswith(("accept", "force_accept"))
            good = "good" in (verdict.attributes["class"] or "")
            assert good == (row["status"] == "applied" and accepted), (record["step"], number)
            seen.add((row["status"], record["action"]))
    assert {("applied", "reject")} < seen


def test_it_leads_to_the_steps_beside_it(browser: TestClient, eventful: Path) -> None:
    steps = [0, *RunFiles(eventful).steps]
    for at, step in enumerate(steps):
        page = page_of(browser, f"/runs/run/steps/{step}")
        found = {
            one.attributes.get("rel"): one.attributes["href"] for one in page.named("a") if "rel" in one.attributes
        }
        assert found.get("prev") == (f"/runs/run/steps/{steps[at - 1]}" if at else None)
        assert found.get("next") == (f"/runs/run/steps/{steps[at + 1]}" if at + 1 < len(steps) else None)


def test_the_flips_lead_to_what_the_target_did(browser: TestClient, eventful: Path) -> None:
    files, seen = RunFiles(eventful), 0
    for step in files.steps:
        found, page = files.flips(step), page_of(browser, f"/runs/run/steps/{step}")
        if found is None:
            assert "Better on" not in page.text or files.records[step]["redraws"]
            continue
        assert f"Better on {len(found.fixed)}" in page.text and f"Worse on {len(found.broken)}" in page.text
        for flip in (*found.fixed, *found.broken):
            link = next(one for one in links(page) if "selection_eval&" in one and one.endswith(f"={flip.task_id}"))
            assert flip.task_id in page_of(browser, link).named("h1")[0].text
            seen += 1
    assert seen > 5


def test_draws_that_lost_are_told_with_their_own_edits(browser: TestClient, eventful: Path) -> None:
    redrawn = [record for record in read_json(eventful / "history.json") if record.get("redraws")]
    assert redrawn, "the run has at least one"
    for record in redrawn:
        step = record["step"]
        page = page_of(browser, f"/runs/run/steps/{step}")
        assert record["redraws"][0]["reason"] in page.text
        own = [one for one in links(page) if one.endswith("?draw=1")]
        report = read_json(eventful / "steps" / f"step_{step:04d}" / "draw_01" / "edit_apply_report.json")
        assert len(own) >= len(report) > 0
        edit = page_of(browser, own[0])
        assert edit.named("h1")[0].text == "Edit 1 of draw 1" and report[0]["content"] in edit.text


def test_what_followed_an_epoch_stands_at_its_last_step(browser: TestClient, eventful: Path) -> None:
    for record in read_json(eventful / "history.json")[1:]:
        page = page_of(browser, f"/runs/run/steps/{record['step']}")
        assert ("What followed" in page.text) == bool(record.get("slow_update"))
        if record.get("slow_update"):
            assert record["slow_update"]["reason"] in page.text


def test_the_baseline_shows_what_the_seed_did(browser: TestClient, eventful: Path) -> None:
    page = page_of(browser, "/runs/run/steps/0")
    rows = read_json(eventful / "selection_eval_baseline" / "results.json")
    assert page.named("h1")[0].text == "Baseline"
    assert sum("selection_eval_baseline&task=" in one.replace("%2F", "/") for one in links(page)) == len(rows)


def test_every_edit_has_a_page_with_its_end_its_origin_and_what_it_changed(browser: TestClient, eventful: Path) -> None:
    states = set[str]()
    for step in RunFiles(eventful).steps:
        place = eventful / "steps" / f"step_{step:04d}"
        rows = read_json(place / "edit_apply_report.json") + read_json(place / "ranked_edits.json")["over_budget"]
        for number, row in enumerate(rows, start=1):
            page = page_of(browser, f"/runs/run/steps/{step}/edits/{number}")
            pres = [one.text for one in page.named("pre")]
            assert [text for text in (row["target"], row["content"]) if text] == pres
            assert row["status"].replace("_", " ") in page.text and row["detail"] in page.text
            assert [f"/runs/run/task?id={task}" for task in row["task_ids"]] == [
                one for one in links(page) if "/task?" in one
            ][: len(row["task_ids"])]
            assert ("Tried alone on" in page.text) == ("vetting" in row)
            assert ("Better on" in page.text) == (
                row["status"] == "applied" and RunFiles(eventful).flips(step) is not None
            )
            states.add(row["status"])
    assert {"applied", "vetted_out", "over_budget"} <= states


def test_an_edit_leads_to_the_trajectories_that_it_came_from(browser: TestClient) -> None:
    page = page_of(browser, "/runs/run/steps/1/edits/1")
    link = next(one for one in links(page) if "/trajectory?" in one and "rollout" in one)
    assert "What was said" in page_of(browser, link).text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("steps/999", "It has the steps 0 to 8 so far."),
        ("steps/-1", "no such step"),
        ("steps/one", "no such step"),
        ("steps/1/edits/99", "Step 1 has no such edit."),
        ("steps/1/edits/0", "Step 1 has no such edit."),
        ("steps/0/edits/1", "Step 0 has no such edit. It has 0."),
        ("steps/1/edits/1?draw=7", "Step 1 has no such draw. It has 0 that lost."),
        ("steps/1/edits/1?draw=x", "Step 1 has no such draw."),
        ("steps/99/edits/1", "no such step"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_in_words(browser: TestClient, path: str, words: str) -> None:
    answer = browser.get(f"/runs/run/{path}")
    assert answer.status_code == 404
    assert words in parsed(answer.text).text


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_no_step_and_no_edit_of_any_name_breaks_a_page(browser: TestClient, step: str, edit: str) -> None:
    for address in (
        run_url("run", "steps", step),
        run_url("run", "steps", "1", "edits", edit),
        run_url("run", "steps", "1", "edits", "1", draw=edit),
    ):
        assert browser.get(address).status_code in (200, 307, 404)


def test_a_step_whose_record_is_not_written_yet_shows_what_is_there(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    records = read_json(copy / "history.json")
    write_json_atomically(copy / "history.json", records[:-1])
    step = records[-1]["step"]
    for left in ("merged_patch.json", "selection_eval", "candidate_skill.md"):
        path = copy / "steps" / f"step_{step:04d}" / left
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    page = page_of(open_site(tmp_path), f"/runs/copy/steps/{step}")
    assert "still at work" in page.text
    assert len([one for one in links(page) if "/trajectory?" in one]) == records[-1]["rollout_n"]


def test_a_record_that_lacks_what_every_record_has_is_an_error_in_words(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    records = read_json(copy / "history.json")
    del records[1]["edits"]
    write_json_atomically(copy / "history.json", records)
    answer = open_site(tmp_path).get("/runs/copy/steps/1")
    assert answer.status_code == 500
    assert "edits: Field required" in parsed(answer.text).text and "Traceback" not in answer.text


def test_a_long_batch_is_shown_in_part_with_a_way_to_all_of_it(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    path = copy / "steps" / "step_0001" / "rollout" / "results.json"
    row = read_json(path)[0]
    write_json_atomically(path, [{**row, "id": f"many-{number}"} for number in range(500)])
    page = page_of(open_site(tmp_path), "/runs/copy/steps/1")
    assert len([one for one in links(page) if "many-" in one]) == 20
    assert "All 500 rollouts" in page.text
    assert re.search(r"of=steps(/|%2F)step_0001(/|%2F)rollout", " ".join(links(page)))
