"""The page of a run: live part, steps, what it came to; whole also where files are missing, damaged or hostile."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.dashboard.conftest import Visit
from tests.dashboard.test_following import write
from tests.support.bench import OpenBench
from tests.support.markup import parsed
from tests.support.records import committed, edit, started

from skillopt.dashboard.catalogue import stamps_of
from skillopt.events import Warned
from skillopt.report.run_files import RunFiles
from skillopt.report.worth import worth
from skillopt.run.lock import locked

STEPS = 6
"""Of the run, which then had the highest score there is."""

HOSTILE = "<script>alert(1)</script>\x1b[31m<img src=x onerror=alert(1)>"


def test_a_finished_run_shows_what_it_came_to(runs: Path, visit: Visit) -> None:
    html = visit(runs).get("/runs/first~run").text
    page = parsed(html)
    summary = json.loads((runs / "first/run/summary.json").read_text("utf-8"))
    for words in ("What it came to", "Charts", "Steps", "Downloads", summary["selection"]["best"]["shown"]):
        assert words in page.text, words
    assert summary["state"].replace("_", " ") in page.text
    assert re.findall(r'href="/runs/first~run/steps/(\d+)"', html) == [str(step) for step in range(STEPS, -1, -1)]
    numbers = json.loads(re.findall(r'id="numbers">(.*?)</script>', html, re.DOTALL)[0])
    assert numbers["steps"] == list(range(STEPS + 1))


def test_whether_it_is_better_and_can_be_trusted_stands_ahead_of_all_else(
    eventful: Path, tmp_path: Path, visit: Visit
) -> None:
    found = worth(RunFiles(eventful))
    assert found is not None
    text = parsed(visit(eventful.parent).get(f"/runs/{eventful.name}").text).text
    assert text.index(found.headline) < text.index(found.numbers) < text.index("Scores on the selection split")
    log = shutil.copytree(eventful, tmp_path / "run") / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    assert found.headline not in visit(tmp_path).get("/runs/run").text, "it goes on"


def test_a_page_whose_scores_are_damaged_has_its_live_part(eventful: Path, tmp_path: Path, visit: Visit) -> None:
    results = shutil.copytree(eventful, tmp_path / "run") / "test_eval/results.json"
    results.write_text("{", "utf-8")
    text = parsed(visit(tmp_path).get("/runs/run").text).text
    assert "Scores on the selection split" in text and "results.json" in text


def test_what_a_run_came_to_is_shown_once_its_end_is_logged(runs: Path, tmp_path: Path, visit: Visit) -> None:
    log = shutil.copytree(runs / "first/run", tmp_path / "run") / "events.jsonl"
    *lines, end = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines))
    page = visit(tmp_path)
    before = stamps_of(tmp_path / "run")
    assert "What it came to" not in page.get("/runs/run").text
    with log.open("ab") as file:
        file.write(end)
    assert "What it came to" in page.get("/runs/run").text
    assert stamps_of(tmp_path / "run") != before


def test_a_page_has_one_heading_landmarks_and_a_way_past_them(runs: Path, visit: Visit) -> None:
    for path in ("/", "/runs/first~run", "/runs/first~run/epochs", "/runs/first~run/spending", "/runs/first~run/card"):
        page = parsed(visit(runs).get(path).text)
        assert [len(page.named(name)) for name in ("h1", "main", "header", "footer")] == [1, 1, 1, 1], path
        assert any(element.attributes.get("href") == "#main" for element in page.named("a"))
        tables, captions = page.named("table"), page.named("caption")
        assert len(tables) == len(captions), path
        assert not any("style" in element.attributes or any(name.startswith("on") for name in element.attributes)
                       for element in page.elements), path  # fmt: skip


def test_the_zone_of_a_time_is_named(runs: Path, visit: Visit) -> None:
    html = visit(runs).get("/runs/first~run").text
    assert re.search(r"last event <time [^>]*>[\d :-]+</time> \([A-Z+-][\w+-]*\)", html)


def test_the_further_pages_of_a_run_hold_what_their_names_say(runs: Path, visit: Visit) -> None:
    page = visit(runs)
    assert "optimizer" in page.get("/runs/first~run/spending").text
    assert "train.seed" in page.get("/runs/first~run/card").text
    assert "No slow update" in page.get("/runs/first~run/epochs").text


def test_what_followed_each_epoch_has_a_page(eventful: Path, visit: Visit) -> None:
    html = visit(eventful.parent).get(f"/runs/{eventful.name}/epochs").text
    assert "Slow update" in html
    assert "Longitudinal table" in html


def test_where_nothing_is_to_follow_an_epoch_the_page_says_so(runs: Path, tmp_path: Path, visit: Visit) -> None:
    run = shutil.copytree(runs / "first/run", tmp_path / "run")
    config = (run / "config.yaml").read_text("utf-8")
    for slow, meta, said in (
        ("true", "false", "may follow"),
        ("false", "true", "may follow"),
        ("false", "false", "off"),
    ):
        text = re.sub(r"(use_slow_update): \w+", rf"\1: {slow}", config)
        (run / "config.yaml").write_text(re.sub(r"(use_meta_skill): \w+", rf"\1: {meta}", text), "utf-8")
        shown = parsed(visit(tmp_path).get("/runs/run/epochs").text).text
        assert ("may follow" in shown, "both off" in shown) == (said == "may follow", said == "off")
        assert "No epochs" not in shown


def test_a_run_that_has_just_begun_has_a_page(tmp_path: Path, visit: Visit) -> None:
    write(tmp_path / "run")
    page = visit(tmp_path)
    for path in ("", "/epochs", "/spending", "/card"):
        assert page.get(f"/runs/run{path}").status_code == 200
    assert "no score yet" in page.get("/runs/run").text


@pytest.mark.parametrize("damage", [b"{", b"[{}]", b"\xff", b"[1]", b'[{"step": 0}]'])
@pytest.mark.parametrize("name", ["history.json", "summary.json", "config.yaml"])
def test_a_damaged_run_says_so_in_words_and_the_live_part_stays(
    runs: Path, tmp_path: Path, visit: Visit, name: str, damage: bytes
) -> None:
    shutil.copytree(runs / "first/run", tmp_path / "run")
    (tmp_path / "run" / name).write_bytes(damage)
    answer = visit(tmp_path).get("/runs/run")
    assert answer.status_code == 200
    assert f"run/{name}" in answer.text
    assert "Seed skill" in answer.text
    assert "Traceback" not in answer.text


def test_a_page_of_a_damaged_run_alone_says_so_in_words(runs: Path, tmp_path: Path, visit: Visit) -> None:
    shutil.copytree(runs / "first/run", tmp_path / "run")
    (tmp_path / "run/summary.json").write_text("{", "utf-8")
    answer = visit(tmp_path).get("/runs/run/spending")
    assert answer.status_code == 500
    assert "This run cannot be read" in answer.text
    assert "summary.json" in answer.text


def test_a_run_at_work_shows_stages_edits_and_warnings_as_text(tmp_path: Path, visit: Visit) -> None:
    events = (started(models={"target": HOSTILE}), committed(0), committed(1, edit(HOSTILE)), Warned(HOSTILE))
    write(tmp_path / "run", *events)
    with locked(tmp_path / "run", command="train"):
        html = visit(tmp_path).get("/runs/run").text
    assert "running" in html
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "\x1b" not in html
    assert html.count("&lt;script&gt;alert(1)") == 2


async def test_hostile_text_of_a_real_run_is_text_on_every_page(open_bench: OpenBench, visit: Visit) -> None:
    from tests.report.test_html import hostile_run

    run = await hostile_run(open_bench)
    page = visit(run.parent)
    (link,) = re.findall(r'<tr id="[^"]*">.*?href="([^"]*)"', page.get("/").text, re.DOTALL)
    for path in ("/", link, f"{link}/epochs", f"{link}/card"):
        answer = page.get(path)
        assert answer.status_code == 200, path
        found = parsed(answer.text)
        scripts = [element.attributes for element in found.named("script")]
        assert all(
            one.get("src", "").startswith("/static/") or one.get("type") == "application/json" for one in scripts
        )
        assert not found.named("iframe")
        assert not found.named("img")
        assert not [one for one in found.named("a") if not re.match(r"[/#]", one.attributes.get("href") or "/")]
        assert "\x1b" not in answer.text
        assert "7 * 191" in answer.text or path == "/" or path.endswith("card")
