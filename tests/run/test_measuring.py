"""The evaluator of a training and the one of an evaluation: the same measure, another answer to what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import SMALL, write_run

from skillopt.config.load import load_config
from skillopt.errors import MeasurementError
from skillopt.evaluation.runner import Evaluator
from skillopt.models.prices import Prices
from skillopt.run.accounts import Accounts
from skillopt.run.evidence import EvidenceStore
from skillopt.run.measuring import open_evaluator
from skillopt.run.models import open_models
from skillopt.run.setup import Setup, prepare
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault
from skillopt.types import Place, Rollout


def no_note(place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
    """Take none."""


@asynccontextmanager
async def evaluator(
    directory: Path, server: SimulatedServer, *, part_of_a_run: bool, **settings: Any
) -> AsyncGenerator[tuple[Setup, Evaluator]]:
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    setup = prepare(load_config(write_run(directory, server=server, settings=dotted)))
    accounts = Accounts(Prices(setup.config.model, on=date(2025, 1, 1)))
    with EvidenceStore(directory / "evidence.sqlite") as evidence:
        async with open_models(setup.config, accounts, environment={}, on_retry=lambda *_: None) as models:
            yield setup, open_evaluator(setup, models, evidence, observer=no_note, part_of_a_run=part_of_a_run)


class Outage:
    """Weather in which one task finds no server until it clears up."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.over = False

    def __call__(self, call: Call) -> Fault | None:
        messages: Any = call.body["messages"]
        return Fault("status", 500) if messages[-1]["content"] == self.question and not self.over else None


async def test_a_training_stops_where_too_much_is_missing_and_an_evaluation_reports_it(tmp_path: Path) -> None:
    outage = Outage(SMALL.tasks[0].question)
    async with SimulatedServer(SMALL, weather=outage) as server:
        async with evaluator(tmp_path / "run", server, part_of_a_run=True, evaluation__max_unmeasured=0.0) as opened:
            setup, training = opened
            tasks = (*setup.splits.train, *setup.splits.val, *setup.splits.test)
            with pytest.raises(MeasurementError, match="1 of 32 tasks could not be measured"):
                await training.measure(setup.seed_skill, tasks, Place("rollout", 1, 1))
        async with evaluator(tmp_path / "eval", server, part_of_a_run=False, evaluation__max_unmeasured=0.0) as opened:
            setup, evaluation = opened
            rollouts = await evaluation.measure(setup.seed_skill, tasks, Place("eval"))
    assert [one.task.id for one in rollouts if not one.measured] == [SMALL.tasks[0].id]


async def test_a_training_goes_on_without_a_task_for_good_and_an_evaluation_tries_it_again(tmp_path: Path) -> None:
    outage = Outage(SMALL.tasks[0].question)
    measured: dict[bool, list[int]] = {True: [], False: []}
    async with SimulatedServer(SMALL, weather=outage) as server:
        for outage.over in (False, True):
            for part_of_a_run in (True, False):
                where = tmp_path / str(part_of_a_run)
                async with evaluator(
                    where, server, part_of_a_run=part_of_a_run, evaluation__max_unmeasured=0.5
                ) as opened:
                    setup, either = opened
                    tasks = (*setup.splits.train, *setup.splits.val, *setup.splits.test)
                    rollouts = await either.measure(setup.seed_skill, tasks, Place("rollout", 1, 1))
                    measured[part_of_a_run].append(sum(one.measured for one in rollouts))
    assert measured == {True: [31, 31], False: [31, 32]}


async def test_no_task_waits_for_the_target_on_its_own_deadline(tmp_path: Path) -> None:
    """F1: with fewer slots than workers, tasks in line would time out before they are asked."""
    most = in_flight = 0

    async def delay(call: Call) -> None:
        nonlocal most, in_flight
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.3)
        in_flight -= 1

    async with (
        SimulatedServer(SMALL, delay=delay) as server,
        evaluator(
            tmp_path, server, part_of_a_run=True, env__workers=16, env__exec_timeout=1.5, model__target__concurrency=1
        ) as (setup, training),
    ):
        rollouts = await training.measure(setup.seed_skill, setup.splits.val, Place("baseline"))
    assert all(rollout.measured for rollout in rollouts)
    assert most == 1
