"""`benchmarks/gate_quality` end to end, on worlds so small that a training takes a moment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.gate_quality import __main__ as command
from benchmarks.gate_quality.memory_run import MemoryRun
from benchmarks.gate_quality.rows import ABLATION, BASE, NULL_ROWS, PUBLISHED, ROWS, WHOLE
from benchmarks.gate_quality.training import Job, run_all, run_job
from benchmarks.gate_quality.worlds import GOOD, SETTINGS, Setting
from tests.support.runs import write_run

from skillopt import api
from skillopt.config.load import load_config
from skillopt.run.models import Models
from skillopt.run.setup import prepare
from skillopt.simulation.opening import open_simulated
from skillopt.trainer import train

EVERY = {**ROWS, **ABLATION}
SMALL = Setting("small", 8, noise=0.3, wavering=0.4, optimizer=GOOD)
SHORT: Mapping[str, Any] = {"train.num_epochs": 2, "train.train_size": 16, "train.batch_size": 8}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.gate_quality.training.PUBLISHED", {**PUBLISHED, **SHORT})


def test_a_job_trains_every_row_and_measures_the_base_row_against_itself() -> None:
    found = run_job(Job(SMALL, 3, {"redraw 3": ROWS["redraw 3"], "no gate": ROWS["no gate"]}))
    assert list(found) == [BASE, "redraw 3", "no gate"]
    base, free = found[BASE], found["no gate"]
    assert base["gain 100%"] == base["gain"] > 0
    assert base["target calls"] > 16
    assert base["overstated"] == base["reported"] - base["gain"]
    assert free["useless accepted"] == free["useless judged"]
    assert found["redraw 3"]["optimizer calls"] >= base["optimizer calls"]


def test_the_numbers_do_not_depend_on_how_many_processes_share_the_work() -> None:
    jobs = [Job(replace(SMALL, selection=4), seed, {"constant 8": ROWS["constant 8"]}) for seed in (1, 2)]
    assert [*run_all(jobs, workers=1)] == [run_job(job) for job in jobs]


async def test_a_run_in_memory_comes_to_what_a_run_on_disk_comes_to(tmp_path: Path) -> None:
    config = load_config(write_run(tmp_path))
    on_disk = await api.train(config)
    setup = prepare(config)
    models = {role: _open(config.config.model, role) for role in ("target", "optimizer")}
    with MemoryRun(setup, Models(models)) as run:  # type: ignore[arg-type]
        in_memory = await train(run)
    kept = ("selection", "best_skill_hash", "total_steps", "epoch_stats", "message")
    assert {name: in_memory.summary[name] for name in kept} == {name: on_disk.summary[name] for name in kept}
    assert in_memory.best_skill == on_disk.best_skill
    used = in_memory.summary["total_usage"]["optimizer"]
    assert used == on_disk.summary["total_usage"]["optimizer"]
    assert 0 < run.held[-1][0] <= run.calls("target")
    assert [decision.action.value for *_, decision in run.judged]


def _open(settings: Any, role: str) -> Any:
    return open_simulated(getattr(settings, role).name)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_null_world_has_nothing_to_gain_and_the_others_have(setting: Setting) -> None:
    opened = setting.open(1)
    room = opened.true_score(opened.world.perfect_skill()) - opened.true_score(opened.seed_skill)
    assert room > 30
    assert (setting.optimizer["useful"] == 0.0) == setting.name.startswith("null")
    assert opened.harmful_sentences(opened.seed_skill) == 0
    assert opened.harmful_sentences(opened.world.skill(opened.world.harmful)) == 12


@pytest.mark.parametrize("name", EVERY)
def test_every_row_is_a_configuration_that_loads(name: str, tmp_path: Path) -> None:
    texts = [f"{key}={json.dumps(value)}" for key, value in {**PUBLISHED, **EVERY[name]}.items()]
    load_config(write_run(tmp_path), texts)


def test_the_command_prints_the_tables(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "SETTINGS", (SMALL,))
    command.main(["--seeds", "2", "--rows", BASE, "constant 8", "--workers", "1"])
    said = capsys.readouterr().out
    assert said.count("\n| published | ") == 1
    assert said.count("\n| constant 8 | ") == 2
    assert "What each part" not in said


def test_a_null_world_trains_fewer_rows_and_the_ablation_stands_apart() -> None:
    null, mixed = (next(one for one in SETTINGS if one.null is wanted) for wanted in (True, False))
    assert tuple(command.rows_of(null, None)) == NULL_ROWS
    assert command.rows_of(mixed, None) == EVERY
    assert command.rows_of(mixed, [WHOLE]) == {WHOLE: ABLATION[WHOLE]}
    numbers = run_job(Job(SMALL, 1, {}))[BASE]
    said = command.report([Job(SMALL, 1, EVERY)], [dict.fromkeys(EVERY, numbers)])
    main, _, ablation = said.partition("## What each part of the method adds")
    assert "| without redraw |" in ablation
    assert "| without redraw |" not in main
