"""One training of the product's real loop in a simulated world, and all trainings of a table on several processes."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.gate_quality.memory_run import MemoryRun
from benchmarks.gate_quality.metrics import Held, Judged, Training, measures
from benchmarks.gate_quality.rows import BASE, PUBLISHED, Overrides
from benchmarks.gate_quality.worlds import TRAINING_TASKS, OpenWorld, Setting
from skillopt.config.load import load_config
from skillopt.run.models import Models
from skillopt.run.outcome import Outcome
from skillopt.run.setup import Setup, prepare
from skillopt.trainer import train
from skillopt.types import Action

Measures = dict[str, float]


@dataclass(frozen=True)
class Job:
    """All rows of a table in one world: they share its data."""

    setting: Setting
    seed: int
    rows: Mapping[str, Overrides]


def run_all(jobs: Sequence[Job], *, workers: int) -> Iterator[dict[str, Measures]]:
    """Yield the measures of each job by row, in the order of the jobs, whatever the number of workers."""
    if workers == 1:
        yield from map(run_job, jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(run_job, jobs)


def run_job(job: Job) -> dict[str, Measures]:
    """Train once for each row, the base row first: its target calls are the call limit of the others."""
    opened = job.setting.open(job.seed)
    with _written(opened) as config:
        setup: Setup | None = None
        found: dict[str, Measures] = {}
        limit = 0
        for name, overrides in {BASE: {}, **job.rows}.items():
            loaded = load_config(config, _texts({**PUBLISHED, "train.seed": job.seed, **overrides}))
            setup = prepare(loaded) if setup is None else replace(setup, loaded=loaded)
            training = asyncio.run(train_once(opened, setup))
            limit = training.target_calls if name == BASE else limit
            found[name] = measures(training, limit)
    return found


async def train_once(opened: OpenWorld, setup: Setup) -> Training:
    """Train and look at what came of it with the world's eyes."""
    with MemoryRun(setup, Models({"target": opened.target(), "optimizer": opened.optimizer()})) as run:
        return observed(opened, run, await train(run))


def observed(opened: OpenWorld, run: MemoryRun, outcome: Outcome) -> Training:
    """Return a finished run in numbers."""
    scores: dict[str, float] = {}

    def true(text: str) -> float:
        if text not in scores:
            scores[text] = opened.true_score(text)
        return scores[text]

    verdict = (Action.ACCEPT, Action.ACCEPT_NEW_BEST, Action.FORCE_ACCEPT, Action.REJECT)
    best, selection = outcome.best_skill.text, outcome.summary["selection"]
    return Training(
        seed_score=true(run.seed_skill.text),
        held=(*(Held(calls, true(text)) for calls, text in run.held), Held(run.calls("target"), true(best))),
        judged=tuple(
            Judged(true(candidate) - true(current), decision.accepted)
            for current, candidate, decision in run.judged
            if decision.action in verdict
        ),
        reported=100 * (selection["best"]["hard"] - selection["seed"]["hard"]),
        target_calls=run.calls("target"),
        optimizer_calls=run.calls("optimizer"),
        harmful=opened.harmful_sentences(best),
    )


@contextmanager
def _written(opened: OpenWorld) -> Iterator[Path]:
    """Write the data, seed skill and configuration of a world for the length of a block; yield the latter's path."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        directory, rows = Path(folder), opened.world.rows()
        splits = {"train": rows[:TRAINING_TASKS], "val": rows[TRAINING_TASKS:-1], "test": rows[-1:]}
        for name, tasks in splits.items():
            text = "".join(json.dumps(row) + "\n" for row in tasks)
            (directory / f"{name}.jsonl").write_text(text, encoding="utf-8")
        (directory / "seed.md").write_text(opened.seed_skill, encoding="utf-8")
        config = {
            "model": {"optimizer": "simulated:optimizer", "target": "simulated:target"},
            "env": {"split_dir": str(directory), "skill_init": str(directory / "seed.md")},
        }
        path = directory / "config.yaml"
        path.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML.
        yield path


def _texts(overrides: Overrides) -> list[str]:
    return [f"{key}={json.dumps(value)}" for key, value in overrides.items()]
