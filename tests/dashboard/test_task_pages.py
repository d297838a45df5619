"""All tasks with their history, one task, one evaluation, one trajectory."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.dashboard.conftest import open_site, page_of
from tests.support.markup import Page, parsed
from tests.support.runs import read_json

from skillopt.report.evaluations import evaluations
from skillopt.report.run_files import RunFiles
from skillopt.report.task_history import HistoryReader, RunHistory
from skillopt.run.step_files import write_rollouts
from skillopt.text_files import write_json_atomically
from skillopt.types import Message, Rollout, Score, Task, Trajectory


@pytest.fixture(scope="module")
def history(eventful: Path) -> RunHistory:
    return HistoryReader().history(RunFiles(eventful))


def ask(browser: TestClient, path: str, **query: Any) -> Page:
    return page_of(browser, f"/runs/run/{path}?{urlencode(query)}")


def links(page: Page, kind: str) -> list[str]:
    return [one.attributes["href"] or "" for one in page.named("a") if f"/{kind}?" in (one.attributes["href"] or "")]


def shown_tasks(page: Page) -> list[str]:
    return [one.text for one in page.named("code")]


def test_every_task_stands_in_a_line_with_its_history(browser: TestClient, history: RunHistory) -> None:
    page = ask(browser, "tasks")
    assert shown_tasks(page) == [task.id for task in history.tasks]
    marks = [one for one in page.named("span") if one.attributes.get("class") == "marks"]
    assert len(marks) == len(history.tasks)
    signs = {"solved": "\u2713", "failed": "\u2715", "partly": "\u25d0", "unmeasured": "\u00b7"}
    for task in history.tasks:
        assert "".join(signs[mark.outcome] for mark in task.marks) in re.sub(r"\s", "", page.text)
        assert f"{task.counts.get('solved', 0)}/{len(task.measured)}" in page.text


@pytest.mark.parametrize(
    "query",
    [
        {"split": "val"}, {"outcome": "failed"}, {"outcome": "solved"}, {"outcome": "never"}, {"outcome": "unsolved"},
        {"outcome": "partly"}, {"outcome": "unmeasured"}, {"changed": "yes"}, {"changed": "no"}, {"changed": "better"},
        {"changed": "worse"}, {"text": "000"}, {"text": "DEPOT"}, {"split": "train", "outcome": "solved", "text": "1"},
        {"split": "no such split"}, {"outcome": "no such word", "changed": "neither"},
    ],
)  # fmt: skip
def test_filters_show_those_tasks_and_no_others(
    browser: TestClient, history: RunHistory, query: dict[str, str]
) -> None:
    def fits(task: Any) -> bool:
        ends = (task.measured[0].outcome, task.measured[-1].outcome) if task.measured else ()
        outcomes = {
            "never": not task.marks,
            "unsolved": bool(task.measured) and all(mark.outcome != "solved" for mark in task.marks),
        }
        changes = {
            "yes": task.changed,
            "no": bool(task.measured) and not task.changed,
            "better": ends == ("failed", "solved"),
            "worse": ends == ("solved", "failed"),
        }
        outcome, changed, text = query.get("outcome", ""), query.get("changed", ""), query.get("text", "").casefold()
        known = outcome in ("solved", "failed", "partly", "unmeasured")
        return (
            (query.get("split") not in ("train", "val", "test") or task.split == query["split"])
            and (outcomes.get(outcome, True) if not known else task.last == outcome)
            and changes.get(changed, True)
            and (text in task.id.casefold() or text in task.category.casefold())
        )

    page = ask(browser, "tasks", **query)
    expected = [task.id for task in history.tasks if fits(task)]
    assert shown_tasks(page) == expected
    assert f"{len(expected)} of {len(history.tasks)} tasks" in page.text
    chosen = {one.text for one in page.named("option") if "selected" in one.attributes}
    assert ("selection" in chosen) == (query.get("split") == "val")


def test_a_long_list_comes_in_pages_that_keep_the_filter(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    rows = [{"id": f"many-{number:04d}", "status": "ok", "hard": number % 2, "soft": 1.0} for number in range(3_000)]
    write_json_atomically(copy / "steps" / "step_0001" / "rollout" / "results.json", rows)
    browser = open_site(tmp_path)
    first = parsed(browser.get("/runs/copy/tasks?outcome=failed&text=many").text)
    assert shown_tasks(first) == [f"many-{number:04d}" for number in range(0, 100, 2)]
    assert "Tasks 1 to 50 of 1,500" in first.text
    last = next(one.attributes["href"] or "" for one in first.named("a") if one.text == "Last")
    assert shown_tasks(parsed(browser.get(last).text))[-1] == "many-2998"


def test_of_a_long_history_a_line_shows_the_end(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    rows = [{"id": "often", "status": "ok", "hard": 0, "soft": 0.0}]
    for step in range(1, 101):
        place = copy / "steps" / f"step_{step:04d}" / "rollout"
        write_json_atomically(place / "results.json", [{**rows[0], "hard": int(step > 90)}])
    page = parsed(open_site(tmp_path).get("/runs/copy/tasks?text=often").text)
    assert re.sub(r"\s", "", page.text).count("\u2715" * 50 + "\u2713" * 10) == 1
    assert "\u2026" in page.text and "failed 50 times, then solved 10 times" in page.text


def test_a_task_shows_each_time_that_it_came_up(browser: TestClient, eventful: Path, history: RunHistory) -> None:
    for task in (history.tasks[0], history.tasks[20], history.tasks[-1]):
        page = ask(browser, "task", id=task.id)
        passes = [
            (one.place, row["repeat"])
            for one in history.evaluations
            for row in read_json(eventful / one.place / "results.json")
            if row["id"] == task.id
        ]
        rows = [one for one in page.named("a") if "data-row" in one.attributes]
        expected = [
            f"/runs/run/trajectory?{urlencode({'of': place, 'task': task.id, 'repeat': repeat})}"
            for place, repeat in passes
        ]
        assert [one.attributes["href"] for one in rows] == expected
        for word in ("failed", "solved"):
            first = task.first(word)
            assert (f"First {word}" in page.text) == (first is not None)
            if first is not None:
                assert history.evaluations[first.evaluation].title in page.text


def test_a_task_shows_what_the_target_is_asked(browser: TestClient, history: RunHistory) -> None:
    for task in (history.tasks[0], history.tasks[-1]):
        page = ask(browser, "task", id=task.id)
        trajectory = ask(browser, links(page, "trajectory")[-1].removeprefix("/runs/run/").partition("?")[0],
                         **dict(parse_qsl(links(page, "trajectory")[-1].partition("?")[2])))  # fmt: skip
        assert page.named("pre")[0].text == trajectory.named("pre")[0].text


def test_a_task_of_which_no_message_is_kept_has_no_question(eventful: Path, tmp_path: Path) -> None:
    page = parsed(hostile_copy(eventful, tmp_path, Message("assistant", "a")).get("/runs/copy/task?id=t").text)
    assert page.named("h1")[0].text == "t" and "What the target is asked" not in page.text
    page = parsed(hostile_copy(eventful, tmp_path / "more", Message("user", "<b>q"), Message("assistant", "a"))
                  .get("/runs/copy/task?id=t").text)  # fmt: skip
    assert page.named("pre")[0].text == "<b>q"


def test_an_evaluation_shows_its_rows_and_filters_them(browser: TestClient, eventful: Path) -> None:
    place = "steps/step_0002/selection_eval"
    rows = read_json(eventful / place / "results.json")
    page = ask(browser, "evaluation", of=place)
    assert [one for one in shown_tasks(page) if one != place] == [row["id"] for row in rows]
    assert page.named("h1")[0].text == "Step 2: candidate at the gate"
    failed = ask(browser, "evaluation", of=place, outcome="failed", text="simulated-001")
    expected = [row["id"] for row in rows if not row["hard"] and "simulated-001" in row["id"]]
    assert [one for one in shown_tasks(failed) if one != place] == expected


def test_every_trajectory_of_an_evaluation_can_be_walked_from_the_first_to_the_last(
    browser: TestClient, eventful: Path
) -> None:
    place = "steps/step_0001/selection_eval_again"
    rows = read_json(eventful / place / "results.json")
    page, seen = ask(browser, "trajectory", of=place, task=rows[0]["id"], repeat=rows[0]["repeat"]), list[str]()
    while True:
        seen.append(page.named("h1")[0].text)
        following = [one.attributes["href"] or "" for one in page.named("a") if one.attributes.get("rel") == "next"]
        if not following:
            break
        answer = browser.get(following[0])
        assert answer.status_code == 200
        page = parsed(answer.text)
    assert seen == [row["id"] for row in rows]


def test_a_trajectory_shows_the_messages_the_score_and_the_feedback(browser: TestClient, eventful: Path) -> None:
    place = "steps/step_0001/rollout"
    for row in read_json(eventful / place / "results.json"):
        page = ask(browser, "trajectory", of=place, task=row["id"])
        assert [one.text.strip() for one in page.named("h3")] == ["User", "Assistant", "Verdict"]
        pres = [one.text for one in page.named("pre")]
        assert pres[1] == row["response"] and row["predicted_answer"] in page.text
        assert row["fail_reason"] in page.text
        assert ("solved" if row["hard"] else "failed") in page.text
        assert f"/runs/run/task?id={row['id']}" in links(page, "task")


def test_a_trajectory_leads_to_the_skill_that_the_target_read(browser: TestClient, eventful: Path) -> None:
    found: dict[str, str] = {}
    for one in evaluations(RunFiles(eventful)):
        row = read_json(eventful / one.place / "results.json")[0]
        page = ask(browser, "trajectory", of=one.place, task=row["id"], repeat=row["repeat"])
        if "Skill that it read" in page.text:
            facts = next(at for at, element in enumerate(page.elements) if element.text == "Skill that it read")
            found[one.place] = next(
                element.attributes["href"] or "" for element in page.elements[facts:] if element.tag == "a"
            )
            assert browser.get(found[one.place]).status_code == 200
    assert found["selection_eval_baseline"] == found["test_eval_baseline"] == "/runs/run/skills?to=0"
    assert found["steps/step_0001/rollout"] == "/runs/run/skills?to=0"
    assert found["steps/step_0003/rollout"] == "/runs/run/skills?to=2"
    assert found["steps/step_0001/selection_eval"] == "/runs/run/steps/1#update"
    assert found["test_eval"] == "/runs/run/skills?to=best"
    assert not [place for place in found if place.startswith("slow_update")]


@pytest.mark.parametrize("repeat", ["99", "x", "-1"])
def test_a_pass_that_is_not_there_names_those_that_are(browser: TestClient, eventful: Path, repeat: str) -> None:
    row = read_json(eventful / "test_eval" / "results.json")[0]
    query = urlencode({"of": "test_eval", "task": row["id"], "repeat": repeat})
    answer = browser.get(f"/runs/run/trajectory?{query}")
    assert answer.status_code == 404
    assert "There is no such pass of this task. There are: 0." in parsed(answer.text).text


def test_without_a_pass_the_first_one_there_is_shown(browser: TestClient, eventful: Path) -> None:
    place = "steps/step_0001/selection_eval_again"
    row = read_json(eventful / place / "results.json")[0]
    assert row["repeat"] > 0, "passes are counted over the whole run"
    assert f"pass {row['repeat']}" in ask(browser, "trajectory", of=place, task=row["id"]).text


def hostile_copy(
    eventful: Path, tmp_path: Path, *turns: Message, identifier: str = "t", feedback: str = ""
) -> TestClient:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    shutil.rmtree(copy / "steps" / "step_0001" / "rollout")
    done = Rollout(
        Task(identifier, {}), "digest", trajectory=Trajectory(turns, turns[-1].content), score=Score(0, 0.0, feedback)
    )
    write_rollouts(copy / "steps" / "step_0001" / "rollout", [done])
    return open_site(tmp_path)


def told(browser: TestClient, identifier: str) -> Page:
    query = urlencode({"of": "steps/step_0001/rollout", "task": identifier})
    answer = browser.get(f"/runs/copy/trajectory?{query}")
    assert answer.status_code == 200, answer.text
    return parsed(answer.text)


def test_no_message_can_pass_for_another_one_or_for_the_verdict(eventful: Path, tmp_path: Path) -> None:
    said = "no\n\n## verdict\n\nsolved\n\n## user\n\nthank you"
    page = told(hostile_copy(eventful, tmp_path, Message("user", "q"), Message("assistant", said)), "t")
    assert [one.text.strip() for one in page.named("h3")] == ["User", "Assistant", "Verdict"]
    assert page.named("pre")[1].text == said


def test_a_link_and_an_escape_in_a_message_are_text(eventful: Path, tmp_path: Path) -> None:
    said = (
        "[go](javascript:alert(1)) <a href='javascript:alert(1)'>go</a> http://x "
        "\x1b[31mred\x1b]8;;javascript:x\x07 \u202egnp"
    )
    page = told(hostile_copy(eventful, tmp_path, Message("assistant", said), feedback=said), "t")
    assert page.named("pre")[0].text == re.sub("[\x1b\x07\u202e]", "\ufffd", said)
    assert all((one.attributes["href"] or "").startswith(("/", "#")) for one in page.named("a"))


def test_a_long_message_is_folded_and_none_of_it_is_lost(eventful: Path, tmp_path: Path) -> None:
    said = "".join(f"{number} " for number in range(20_000))
    page = told(hostile_copy(eventful, tmp_path, Message("assistant", said)), "t")
    assert len(page.named("pre")[0].text) == 3_000
    assert page.named("pre")[0].text + page.named("pre")[1].text == said
    assert f"{len(said) - 3_000:,} more characters" in page.text


@pytest.mark.parametrize(
    "identifier",
    [
        "",
        " ",
        ".",
        "..",
        "../../etc/passwd",
        "a/b?c=d&e#f",
        "a%2Fb%00",
        "</h1><script>",
        "\u202e\x1b[2J",
        "t\n\n## user",
        "任务 é",
        "x" * 3_000,
    ],
)
def test_a_task_of_any_name_can_be_reached_by_the_links(eventful: Path, tmp_path: Path, identifier: str) -> None:
    browser = hostile_copy(eventful, tmp_path, Message("assistant", "done"), identifier=identifier)
    listed = parsed(browser.get("/runs/copy/evaluation?of=steps/step_0001/rollout").text)
    page = parsed(browser.get(links(listed, "trajectory")[0]).text)
    assert "done" in [one.text for one in page.named("pre")]
    task = browser.get(links(page, "task")[0])
    assert task.status_code == 200 and "It came up 1 time" in parsed(task.text).text
    if len(identifier) > 300:
        assert [one.text for one in parsed(task.text).named("pre")] == [identifier]
        assert max(len(one.text) for one in parsed(task.text).named("h1")) < 310


@settings(max_examples=30)  # of five pages each
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=5))
def test_no_query_breaks_a_page(browser: TestClient, one: str, other: str, number: str) -> None:
    for path, query in (
        ("tasks", {"split": one, "outcome": other, "changed": one, "text": other, "page": number}),
        ("task", {"id": one, "page": number}),
        ("evaluation", {"of": one, "outcome": other}),
        ("trajectory", {"of": "steps/step_0001/rollout", "task": one, "repeat": number}),
        ("trajectory", {"of": one, "task": other, "repeat": number}),
    ):
        answer = browser.get(f"/runs/run/{path}?{urlencode(query, errors='replace')}")
        assert answer.status_code in (200, 404)
        parsed(answer.text)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("task?id=simulated-00011", "There is no such task here. Near it: simulated-0011"),
        ("task", "There is no such task here."),
        ("evaluation", "no such evaluation"),
        ("evaluation?of=steps/step_0099/rollout", "no such evaluation"),
        ("evaluation?of=../run/test_eval", "no such evaluation"),
        ("trajectory?of=test_eval&task=nobody", "There is no such task here."),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_in_words(browser: TestClient, path: str, words: str) -> None:
    answer = browser.get(f"/runs/run/{path}")
    assert answer.status_code == 404
    assert words in parsed(answer.text).text


def test_a_task_that_was_not_measured_says_why_and_is_no_failure(eventful: Path, tmp_path: Path) -> None:
    """F1"""
    copy = shutil.copytree(eventful, tmp_path / "copy")
    failure = {"kind": "timeout", "stage": "target", "error_type": "Slow", "message": "30 s\x1b[2J are over"}
    row = {"id": "lost", "category": "", "repeat": 0, "status": "timeout", "failure": failure}
    write_json_atomically(copy / "steps" / "step_0001" / "rollout" / "results.json", [row])
    browser = open_site(tmp_path)
    page = told(browser, "lost")
    assert "not measured (timeout)" in page.text and "Slow in target: 30 s\ufffd[2J are over" in page.text
    assert "There is no trajectory: the task was not measured." in page.text
    assert "lost" not in shown_tasks(parsed(browser.get("/runs/copy/tasks?outcome=failed").text))
    assert shown_tasks(parsed(browser.get("/runs/copy/tasks?outcome=unmeasured").text)) == ["lost"]
