"""The course of a training, as its records tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.records import record
from tests.support.runs import SMALL, read_json, write_run

from skillopt.api import train
from skillopt.report.course import Candidate, Course, course, dollars
from skillopt.types import Action


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of three epochs with slow updates."""
    import asyncio

    directory = tmp_path_factory.mktemp("course")
    settings = {"train.num_epochs": 3, "train.batch_size": 8}
    return asyncio.run(train(write_run(directory, SMALL, settings=settings))).directory


def told(run: Path) -> Course:
    return course(read_json(run / "history.json"), name="run")


def test_every_record_is_a_point_with_its_scores(run: Path) -> None:
    records, found = read_json(run / "history.json"), told(run)
    assert [point.step for point in found.points] == [record["step"] for record in records]
    assert [point.current for point in found.points] == [record["current_score"] for record in records]
    assert [point.train for point in found.points] == [None] + [record["train_acc"] for record in records[1:]]
    assert found.metric == "hard"
    last = found.points[-1].spent
    assert last["target"].tokens + last["optimizer"].tokens == sum(
        usage[kind]
        for usage in records[-1]["total_usage"].values()
        for kind in ("fresh_tokens", "cached_tokens", "output_tokens")
    )


def test_an_epoch_ends_where_the_next_one_begins(run: Path) -> None:
    epochs = [point.epoch for point in told(run).points]
    ends = told(run).epoch_ends
    assert ends == tuple(step for step in range(1, len(epochs) - 1) if epochs[step] != epochs[step + 1])
    assert len(ends) == epochs[-1] - 1


def test_a_candidate_has_its_score_or_the_most_it_could_have_reached(run: Path) -> None:
    for entry, point in zip(read_json(run / "history.json"), told(run).points, strict=True):
        exact, bound = entry.get("candidate_gate_score"), entry.get("candidate_gate_score_upper_bound")
        if entry["step"] == 0 or bound is None:
            assert point.candidate is None
        else:
            accepted = entry["action"] in ("accept", "accept_new_best")
            score, is_bound = (bound, True) if exact is None else (exact, False)
            assert point.candidate == Candidate(score, bound=is_bound, accepted=accepted)


def test_a_slow_update_is_a_candidate_of_its_own(run: Path) -> None:
    records = {entry["step"]: entry for entry in read_json(run / "history.json")}
    shown = {point.step: point.slow_update for point in told(run).points if point.slow_update}
    gated = {step for step, record in records.items() if (record.get("slow_update") or {}).get("selection_n")}
    assert set(shown) == gated


def test_a_course_has_at_least_the_baseline(run: Path) -> None:
    records: list[Any] = json.loads((run / "history.json").read_text("utf-8"))
    assert len(course(records[:1], name="only the baseline").points) == 1
    with pytest.raises(ValueError, match="baseline"):
        course([], name="nothing")


def test_a_course_of_unsolved_tasks_shows_all_that_were_seen() -> None:
    """Batches drawn from unsolved tasks are solved less and less often, the better the skill is."""
    seen = {"sampling": "unsolved", "train_known_acc": 0.75}
    found = course([record(0), record(1, train_acc=0.0, **seen)], name="run")
    assert (found.points[1].train, found.trained_on) == (0.75, "seen so far")
    assert found.points[1].trained_on == "seen so far"
    found = course([record(0), record(1, train_acc=0.5, sampling="all", train_known_acc=0.75)], name="run")
    assert (found.points[1].train, found.trained_on) == (0.5, "batch")


def test_steps_that_waited_for_a_gate_have_its_verdict() -> None:
    waiting = [record(0), record(1, action="deferred"), record(2, action="deferred")]
    assert [point.verdict for point in course(waiting, name="run").points] == ["not judged", "waiting", "waiting"]
    for action, verdict in (("accept", "accepted"), ("force_accept", "accepted"), ("reject", "rejected")):
        gated = [*waiting, record(3, action=action, gated_steps=[1, 2, 3]), record(4, gated_steps=[4])]
        found = course(gated, name="run").points
        assert [point.verdict for point in found] == ["not judged", verdict, verdict, verdict, "rejected"]


def test_every_action_has_a_verdict() -> None:
    found = {action: course([record(0), record(1, action=action)], name="r").points[1].verdict for action in Action}
    assert {action for action, verdict in found.items() if verdict == "not judged"} == {
        action for action in Action if action.name.startswith("SKIP_")
    } | {Action.NO_CONTENT}


def test_rewrites_are_counted_as_what_a_step_proposes() -> None:
    taken, left = {"status": "applied"}, {"status": "over_budget"}
    whole = record(1, rewrites=[taken, left], skill_update_mode="full_rewrite_minibatch")
    found = course([record(0), whole], name="run")
    assert (found.points[1].proposed, found.points[1].applied, found.changed_by) == (2, 1, "rewrites")
    suggestions = {"n_edits_proposed": 8, "edits": {"suggested": 4, "over_budget": 4}}
    for status, applied in (("applied", 4), ("invalid", 0)):
        point = course([record(0), record(1, rewrites=[{"status": status}], **suggestions)], name="run").points[1]
        assert (point.proposed, point.applied) == (8, applied)


def test_dollars_are_nothing_where_a_price_is_unknown(run: Path) -> None:
    """F11."""
    usage = {"fresh_tokens": 1, "cached_tokens": 0, "output_tokens": 0}
    used = {"target": {**usage, "dollars": 0.5}, "optimizer": {**usage, "dollars": None}}
    found = course([record(0), record(1, total_usage=used)], name="run")
    assert dollars(found, "target") == (0.0, 0.5)
    assert dollars(found, "optimizer") == ()
    assert dollars(told(run), "target") == (), "what is free is no line"
