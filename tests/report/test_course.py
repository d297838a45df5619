"""The course of a training, as its records tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import SMALL, read_json, write_run

from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.report.course import Candidate, course, read_course


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of three epochs with slow updates."""
    import asyncio

    directory = tmp_path_factory.mktemp("course")
    settings = {"train.num_epochs": 3, "train.batch_size": 8}
    return asyncio.run(train(write_run(directory, SMALL, settings=settings))).directory


def test_every_record_is_a_point_with_its_scores(run: Path) -> None:
    records, found = read_json(run / "history.json"), read_course(run)
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
    epochs = [point.epoch for point in read_course(run).points]
    ends = read_course(run).epoch_ends
    assert ends == tuple(step for step in range(1, len(epochs) - 1) if epochs[step] != epochs[step + 1])
    assert len(ends) == epochs[-1] - 1


def test_a_candidate_has_its_score_or_the_most_it_could_have_reached(run: Path) -> None:
    for record, point in zip(read_json(run / "history.json"), read_course(run).points, strict=True):
        exact, bound = record.get("candidate_gate_score"), record.get("candidate_gate_score_upper_bound")
        if record["step"] == 0 or bound is None:
            assert point.candidate is None
        else:
            accepted = record["action"] in ("accept", "accept_new_best")
            score, is_bound = (bound, True) if exact is None else (exact, False)
            assert point.candidate == Candidate(score, bound=is_bound, accepted=accepted)


def test_a_slow_update_is_a_candidate_of_its_own(run: Path) -> None:
    records = {record["step"]: record for record in read_json(run / "history.json")}
    shown = {point.step: point.slow_update for point in read_course(run).points if point.slow_update}
    gated = {step for step, record in records.items() if (record.get("slow_update") or {}).get("selection_n")}
    assert set(shown) == gated


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '[{"step": 0}]', "[" * 100_000])
def test_a_history_that_cannot_be_read_is_one_message(tmp_path: Path, text: str) -> None:
    (tmp_path / "history.json").write_text(text, "utf-8")
    with pytest.raises(RunDirectoryError, match=r"history\.json is no history") as caught:
        read_course(tmp_path)
    assert "once more" in caught.value.hint


def test_a_directory_without_a_history_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="cannot be read") as caught:
        read_course(tmp_path)
    assert "skillopt train" in caught.value.hint


def test_a_course_has_at_least_the_baseline(run: Path) -> None:
    records: list[Any] = json.loads((run / "history.json").read_text("utf-8"))
    assert len(course(records[:1], name="only the baseline").points) == 1
    with pytest.raises(ValueError, match="baseline"):
        course([], name="nothing")
