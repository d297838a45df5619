"""Three epochs of two steps over the simulated models: slow update and meta skill at work, visible, and replayed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import read_json, views, write_run

from skillopt.api import train
from skillopt.simulation.world import World
from skillopt.skill.document import Skill

WORLD = World(3, rules=16, tasks=64)
"""Too many rules for the steps of this training: the guidance has something left to say."""
SETTINGS: dict[str, Any] = {
    "train.num_epochs": 3,
    "train.batch_size": 16,
    "optimizer.learning_rate": 1,
    "optimizer.slow_update_samples": 4,
}


def prompts(directory: Path, role: str) -> Iterator[tuple[str, int, str]]:
    """Stage, epoch and text of every question that a model was asked."""
    with closing(sqlite3.connect(directory / "evidence.sqlite")) as evidence:
        rows = evidence.execute("SELECT stage, epoch, request FROM replies WHERE role = ?", (role,))
        for stage, epoch, request in rows:
            yield stage, epoch, "\n".join(message["content"] for message in json.loads(request)["messages"])


async def test_guidance_and_memory_act_in_epochs_2_and_3_and_a_second_start_writes_the_same(tmp_path: Path) -> None:
    """F35: in a real training and not by unit tests alone."""
    config = write_run(tmp_path, WORLD, settings=SETTINGS)
    outcome = await train(config)
    run = outcome.directory
    history = read_json(run / "history.json")
    assert [record["epoch"] for record in history] == [0, 1, 1, 2, 2, 3, 3]
    at_work = [record["step"] for record in history if "slow_update" in record and "meta_skill" in record]
    assert at_work == [4, 6]
    assert [history[step]["slow_update"]["action"] for step in at_work] == ["accept_new_best"] * 2
    assert [history[step]["meta_skill"]["action"] for step in at_work] == ["updated"] * 2
    assert [history[step]["current_origin"] for step in at_work] == ["slow_update_epoch_02", "slow_update_epoch_03"]

    best = Skill.load(run / "best_skill.md")
    told = read_json(run / "slow_update" / "epoch_03" / "slow_result.json")
    assert best.guidance == told["slow_update_content"].strip() != ""
    assert best.text == (run / "slow_update" / "epoch_03" / "candidate_skill.md").read_text("utf-8")

    memory = read_json(run / "meta_skill" / "epoch_02" / "meta_skill_result.json")["memory"]
    asked = [one for one in prompts(run, "optimizer") if one[0] in ("reflect", "aggregate", "select", "update")]
    assert {memory in text for _, epoch, text in asked if epoch == 3} == {True}
    assert {memory in text for _, epoch, text in asked if epoch < 3} == {False}
    assert not any(memory in path.read_text("utf-8") for path in run.rglob("*skill*.md"))

    before = views(run)
    assert await train(config) == outcome
    assert views(run) == before


@pytest.mark.parametrize("setting", ["use_slow_update", "use_meta_skill"])
async def test_each_of_the_two_can_be_switched_off_by_itself(tmp_path: Path, setting: str) -> None:
    stage = setting.removeprefix("use_")
    outcome = await train(write_run(tmp_path, WORLD, settings={**SETTINGS, f"optimizer.{setting}": False}))
    records = read_json(outcome.directory / "history.json")
    found = {name for record in records for name in ("slow_update", "meta_skill") if name in record}
    assert found == {"slow_update", "meta_skill"} - {stage}
    assert not (outcome.directory / stage).exists()
