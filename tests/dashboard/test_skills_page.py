"""The skill's versions and the difference between any two."""

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

from skillopt.dashboard.skills_page import name_in_words
from skillopt.report.run_files import RunFiles
from skillopt.report.text_diff import diff
from skillopt.text_files import write_json_atomically


def lines(page: Page) -> list[str]:
    return [one.text for one in page.named("td") if one.attributes.get("class") == "line"]


def test_without_a_choice_it_shows_the_way_from_the_seed_to_the_best(browser: TestClient, eventful: Path) -> None:
    files = RunFiles(eventful)
    seed, best = files.skill(0), files.best_skill
    assert seed is not None and best is not None
    page = page_of(browser, "/runs/run/skills")
    assert lines(page) == [line.text for line in diff(seed, best) if line.kind != "gap"]
    assert "From the seed to the best skill" in page.text
    assert page.named("pre")[0].text.strip() == best.strip()


def test_the_difference_of_any_two_versions_is_that_of_their_texts(browser: TestClient, eventful: Path) -> None:
    files = RunFiles(eventful)
    for old, new in ((1, 4), (4, 1), (3, 3), (0, 8)):
        page = page_of(browser, f"/runs/run/skills?from={old}&to={new}")
        texts = [files.skill(number) or "" for number in (old, new)]
        assert lines(page) == [line.text for line in diff(*texts) if line.kind != "gap"]
        assert ("They are the same." in page.text) == (texts[0] == texts[1])
        chosen = [one.text for one in page.named("option") if "selected" in one.attributes]
        assert chosen == [name_in_words(str(old)), name_in_words(str(new))]


def test_versions_are_those_that_brought_something_new(browser: TestClient, eventful: Path) -> None:
    """A step whose candidate was refused left the skill as it was, and is none."""
    page = page_of(browser, "/runs/run/skills")
    texts = [(eventful / "skills" / f"skill_v{step:04d}.md").read_text("utf-8") for step in range(9)]
    fresh = [step for step in range(1, 9) if texts[step] != texts[step - 1]]
    rows = [one.attributes["href"] for one in page.named("a") if "data-row" in one.attributes]
    before = [0, *fresh]
    assert rows == [f"/runs/run/skills?from={before[at]}&to={step}" for at, step in enumerate(fresh)]
    assert 0 < len(fresh) < 8
    assert f"Versions 1 to {len(fresh) + 1} of {len(fresh) + 1}" in page.text


def test_a_version_of_the_slow_update_names_it(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    records = read_json(copy / "history.json")
    records[4]["current_origin"] = "slow_update_epoch_02"
    write_json_atomically(copy / "history.json", records)
    assert "slow update after epoch 2" in page_of(open_site(tmp_path), "/runs/copy/skills").text


def test_without_records_every_version_is_there(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    (copy / "history.json").unlink()
    page = page_of(open_site(tmp_path), "/runs/copy/skills")
    assert "Versions 1 to 9 of 9" in page.text


@pytest.mark.parametrize("chosen", ["by the gate", "the seed", "another"])
def test_the_best_version_is_the_one_that_was_chosen_in_the_end(eventful: Path, tmp_path: Path, chosen: str) -> None:
    """It may be a skill that the gate rejected and fresh passes chose: then none of the versions."""
    copy = shutil.copytree(eventful, tmp_path / "run")
    records, summary = read_json(copy / "history.json"), read_json(copy / "summary.json")
    rejected = next(one for one in records if one["action"] == "reject")
    rejected |= {"candidate_gate_score": 0.5, "candidate_hash": "another"}
    write_json_atomically(copy / "history.json", records)
    last = {
        "by the gate": {},
        "the seed": {"best_step": 0},
        "another": {
            "best_skill_hash": "another",
            "final": {"finalists": [{"step": 1, "gate_score": 0.5, "fresh_score": 0.5}]},
        },
    }[chosen]
    write_json_atomically(copy / "summary.json", {**summary, "final": None, **last})
    page = page_of(open_site(tmp_path), "/runs/run/skills")
    found = re.findall(r"(After step \d+|The seed) best", " ".join(page.text.split()))
    assert found == {"by the gate": ["After step 8"], "the seed": ["The seed"], "another": []}[chosen]


@pytest.mark.parametrize("query", ["from=99", "to=-1", "from=best&to=worst", "from=../best_skill"])
def test_a_version_that_is_not_there_is_said_in_words(browser: TestClient, query: str) -> None:
    answer = browser.get(f"/runs/run/skills?{query}")
    assert answer.status_code == 404
    assert "This run has no such version of the skill. It has 0 to 8, and best." in parsed(answer.text).text


def test_a_run_without_a_skill_yet_says_so(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "events.jsonl").write_text("", "utf-8")
    answer = open_site(tmp_path).get("/runs/new/skills")
    assert answer.status_code == 404 and "There is no skill yet" in answer.text


@given(st.text(max_size=12), st.text(max_size=12))
def test_no_choice_breaks_the_page(browser: TestClient, old: str, new: str) -> None:
    answer = browser.get(
        "/runs/run/skills", params={"from": old.encode("utf-8", "replace"), "to": new.encode("utf-8", "replace")}
    )
    assert answer.status_code in (200, 404)
