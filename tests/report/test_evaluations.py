"""Every evaluation of a run, in the order in which the method makes them."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.support.runs import EVENTFUL, write_run

from skillopt.api import train
from skillopt.report.evaluations import evaluation, evaluations, evaluations_of_step
from skillopt.report.run_files import RunFiles


def places_on_disk(run: Path) -> set[str]:
    return {path.parent.relative_to(run).as_posix() for path in run.rglob("results.json")}


def test_every_evaluation_on_disk_is_named_once_and_has_rows(eventful: Path) -> None:
    """Training batches, fresh passes, lost draws, gates, second measurements, slow updates and tests."""
    files = RunFiles(eventful)
    found = evaluations(files)
    assert {one.place for one in found} == places_on_disk(eventful)
    assert len({one.place for one in found}) == len({one.title for one in found}) == len(found)
    assert all(files.rollouts(one.place) for one in found)


def test_each_is_on_tasks_of_the_split_it_names(eventful: Path) -> None:
    files = RunFiles(eventful)
    assert files.manifest is not None
    for one in evaluations(files):
        assert {row.id for row in files.rollouts(one.place)} <= set(files.manifest["splits"][one.split]["ids"])


def test_they_stand_in_the_order_of_the_method(eventful: Path) -> None:
    """The baseline first, in a step the batch ahead of the gate, what follows an epoch behind its last step."""
    files = RunFiles(eventful)
    found = evaluations(files)
    assert found[0].place == "selection_eval_baseline" and found[-1].place == "test_eval"
    epoch_of = {record["step"]: record["epoch"] for record in files.records}
    order = [(epoch_of[one.step], 0, one.step) if one.step is not None else (one.epoch or 99, 1, 0) for one in found]
    assert order == sorted(order)
    first = [one.place for one in found if one.step == 1]
    names = ["rollout", "selection_eval", "selection_eval_again"]
    assert first == [f"steps/step_0001/{name}" for name in names]
    redrawn = [one.place for one in found if "draw_01" in one.place]
    assert redrawn, "the run has at least one"
    for place in redrawn:
        step = re.findall(r"\d+", place)[0]
        of_step = [one.place for one in evaluations_of_step(files, int(step))]
        assert of_step.index(place) > of_step.index(f"steps/step_{step}/rollout")


def test_a_step_has_its_own_and_one_that_is_not_there_has_none(eventful: Path) -> None:
    files = RunFiles(eventful)
    whole = evaluations(files)
    for step in (0, *files.steps):
        assert evaluations_of_step(files, step) == tuple(one for one in whole if one.step == step)
    assert evaluations_of_step(files, 999) == evaluations_of_step(files, -1) == ()


def test_a_run_without_records_yet_has_what_is_there(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    (copy / "history.json").unlink()
    assert {one.place for one in evaluations(RunFiles(copy))} == places_on_disk(copy)


def test_the_comparison_of_a_meta_skill_without_a_slow_update_is_among_them(tmp_path: Path) -> None:
    settings = {**EVENTFUL, "train.num_epochs": 2, "optimizer.use_slow_update": False, "evaluation.final_repeats": 2}
    run = asyncio.run(train(write_run(tmp_path, settings=settings))).directory
    found = evaluations(RunFiles(run))
    assert {one.place for one in found} == places_on_disk(run)
    assert "meta_skill/epoch_02/rollout_prev" in {one.place for one in found}


def test_each_is_found_by_its_place_and_nothing_else_is(eventful: Path) -> None:
    files = RunFiles(eventful)
    for one in evaluations(files):
        assert evaluation(files, one.place) == one
    for place in ("", "steps/step_0001", "steps/step_9999/rollout", "steps/step_0001/rollout/../rollout", "/etc",
                  "../run/test_eval", "slow_update/epoch_99/rollout_prev", "steps/step_0001/rollout\n"):  # fmt: skip
        assert evaluation(files, place) is None, place


@given(st.text(max_size=40))
def test_no_other_text_is_a_place(eventful: Path, place: str) -> None:
    files = RunFiles(eventful)
    assert evaluation(files, place) is None or place in places_on_disk(eventful)
