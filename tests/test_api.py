"""Training and evaluating as a program does that uses the library."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.replays import Whole, play_whole
from tests.support.runs import SMALL, contents, views, write_run

import skillopt
from skillopt import Skill, load_config
from skillopt.api import Evaluation, evaluate, repeat_seed, split_tasks, train
from skillopt.errors import ConfigError, FatalModelError, LimitReached, RunDirectoryError
from skillopt.events import Event, RunEnded, RunStarted, Warned
from skillopt.models.retry import Retry
from skillopt.report.picture import PICTURE_NAME
from skillopt.run.outcome import EndState
from skillopt.run.run import Run
from skillopt.run.setup import Setup, prepare
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault, scripted
from skillopt.simulation.world import World
from skillopt.types import Place, Role, Rollout


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return play_whole(tmp_path_factory.mktemp("whole"))


def set_up(config: Path) -> Setup:
    return prepare(load_config(config))


def test_the_package_offers_both() -> None:
    assert (skillopt.train, skillopt.evaluate) == (train, evaluate)


async def test_a_file_and_overrides_are_enough_to_train(tmp_path: Path) -> None:
    outcome = await train(str(write_run(tmp_path)), ["train.num_epochs=1"])
    assert outcome.state is EndState.IMPROVED
    assert outcome.directory == tmp_path / "run"
    assert outcome.best_skill == Skill.load(tmp_path / "run" / "best_skill.md")
    assert outcome.summary["epoch_stats"][-1]["epoch"] == 1


async def test_a_loaded_configuration_trains_too_and_every_subscriber_is_told(tmp_path: Path) -> None:
    one: list[Event] = []
    other: list[Event] = []
    loaded = load_config(write_run(tmp_path), ["train.num_epochs=1"])
    outcome = await train(loaded, subscribers=[one.append, other.append])
    assert one == other
    assert isinstance(one[0], RunStarted)
    assert one[-1] == RunEnded("improved", outcome.message, outcome.summary)


async def test_a_training_ends_with_its_picture_unless_the_setting_picture_is_false(tmp_path: Path) -> None:
    loaded = load_config(write_run(tmp_path), ["train.num_epochs=1", "report.picture=true"])
    there: list[bool] = []

    def look(event: Event) -> None:
        if isinstance(event, RunEnded):
            there.append((tmp_path / "run" / PICTURE_NAME).read_bytes().startswith(b"\x89PNG"))

    drawn = await train(loaded, subscribers=[look])
    assert drawn.picture == tmp_path / "run" / PICTURE_NAME
    assert there == [True], "those who are told of the end find it"
    first = (tmp_path / "run" / PICTURE_NAME).read_bytes()
    (tmp_path / "run" / PICTURE_NAME).unlink()
    undrawn = await train(load_config(write_run(tmp_path), ["train.num_epochs=1", "report.picture=false"]))
    assert undrawn.picture is None and undrawn == drawn
    assert not (tmp_path / "run" / PICTURE_NAME).exists(), "and it is the same run, whatever it draws"
    await train(loaded)
    assert (tmp_path / "run" / PICTURE_NAME).read_bytes() == first, "the same records are the same picture"


async def test_a_picture_that_cannot_be_drawn_is_one_warning(tmp_path: Path) -> None:
    loaded = load_config(write_run(tmp_path), ["train.num_epochs=1", "report.picture=true"])
    (tmp_path / "run" / PICTURE_NAME).mkdir(parents=True)
    told: list[Event] = []
    outcome = await train(loaded, subscribers=[told.append])
    assert (outcome.state, outcome.picture) == (EndState.IMPROVED, None)
    warnings = [event.message for event in told if isinstance(event, Warned)]
    assert [message.partition(":")[0] for message in warnings if "png" in message] == [
        f"{PICTURE_NAME} could not be drawn"
    ]


async def test_a_picture_that_cannot_be_drawn_nor_warned_of_ends_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may be full by then; the end has been written."""

    tried: list[str] = []

    def warn(self: Run, message: str) -> None:
        tried.append(message)
        if PICTURE_NAME in message:
            raise RunDirectoryError("events.jsonl cannot be written")

    loaded = load_config(write_run(tmp_path), ["train.num_epochs=1", "report.picture=true"])
    (tmp_path / "run" / PICTURE_NAME).mkdir(parents=True)
    monkeypatch.setattr(Run, "warn", warn)
    assert (await train(loaded)).state is EndState.IMPROVED
    assert tried[-1].startswith(f"{PICTURE_NAME} could not be drawn")


async def test_what_is_wrong_with_a_configuration_is_said_before_a_directory_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="skill_init"):
        await train(write_run(tmp_path, settings={"env.skill_init": "nowhere.md"}))
    assert not (tmp_path / "run").exists()


async def test_several_runs_in_one_process_do_not_disturb_each_other(tmp_path: Path) -> None:
    """No global state: other worlds, metrics and seeds at the same time give what each gives alone."""
    worlds = {"a": SMALL, "b": World(4, rules=4, tasks=32), "c": World(8, rules=4, tasks=32)}
    settings = {"b": {"train.seed": 3}, "c": {"evaluation.gate_metric": "mixed", "optimizer.learning_rate": 3}}
    configs = {name: write_run(tmp_path / name, world, settings=settings.get(name)) for name, world in worlds.items()}
    alone = {}
    for name, config in configs.items():
        await train(config, [f"env.out_root={tmp_path / name / 'alone'}"])
        alone[name] = views(tmp_path / name / "alone")
    await asyncio.gather(*(train(config) for config in configs.values()))
    assert {name: views(tmp_path / name / "run") for name in configs} == alone
    assert len({text["best_skill.md"] for text in alone.values()}) == 3


async def test_training_and_evaluation_measure_the_same_thing(tmp_path: Path) -> None:
    """F8: one set-up; what the run measured answers an evaluation by the same configuration, and nothing is paid."""
    async with SimulatedServer(SMALL) as server:
        config = write_run(tmp_path, server=server)
        outcome = await train(config)
        asked, setup = len(server.calls), set_up(config)
        skills = [setup.seed_skill, outcome.best_skill]
        found = await evaluate(setup, skills, setup.splits.test, directory=outcome.directory)
        assert len(server.calls) == asked
        for name, rollouts in zip(("seed", "best"), found.rollouts, strict=True):
            solved = sum(rollout.score.hard for rollout in rollouts if rollout.score)
            assert solved == outcome.summary["test"][name]["solved"]
        assert found.spent.usage.calls == 0
        # A copy of the evidence is as good, and another split, skill or set of settings is asked for.
        await evaluate(setup, [Skill.parse("New.\n")], setup.splits.test, directory=outcome.directory)
        assert len(server.calls) == asked + 8
        other = prepare(load_config(config, ["env.prompt=Please: {question}"]))
        await evaluate(other, [setup.seed_skill], other.splits.test, directory=outcome.directory)
        assert len(server.calls) == asked + 16


async def test_an_evaluation_first_saves_the_training_nothing_but_its_keys_are_the_same(tmp_path: Path) -> None:
    """F8: the very same keys, however the evidence came about."""

    def keys(directory: Path) -> set[str]:
        with closing(sqlite3.connect(directory / "evidence.sqlite")) as evidence:
            return {key for (key,) in evidence.execute("SELECT key FROM rollouts")}

    config = write_run(tmp_path, settings={"train.num_epochs": 1})
    setup = set_up(config)
    await evaluate(setup, [setup.seed_skill], setup.splits.val, directory=tmp_path / "evaluation")
    await train(config)
    assert len(keys(tmp_path / "evaluation")) == 8
    assert keys(tmp_path / "evaluation") < keys(tmp_path / "run")


async def test_an_evaluation_opens_no_optimizer(tmp_path: Path) -> None:
    """Its key, its weights and its server are of no use to it."""
    for name, optimizer in (("hosted", "openai:gpt-5.5"), ("local", "local:missing.gguf")):
        config = write_run(tmp_path / name, settings={"model.optimizer.name": optimizer})
        setup = set_up(config)
        found = await evaluate(setup, [setup.seed_skill], setup.splits.test, directory=tmp_path / "e", environment={})
        assert all(rollout.measured for rollout in found.rollouts[0])
        with pytest.raises(ConfigError):
            await train(config, environment={})


async def test_skills_are_compared_task_by_task_with_the_first(tmp_path: Path) -> None:
    setup = set_up(write_run(tmp_path))
    perfect = Skill.parse(SMALL.perfect_skill())
    found = await evaluate(
        setup, [setup.seed_skill, perfect, setup.seed_skill], setup.splits.test, directory=tmp_path / "e"
    )
    assert [len(rollouts) for rollouts in found.rollouts] == [8, 8, 8]
    assert [rollout.task for rollout in found.rollouts[0]] == list(setup.splits.test)
    better, same = found.differences
    assert better is not None
    assert same is not None
    assert (better.difference, better.sign_test.better, better.sign_test.worse) == (1, 8, 0)
    assert (same.difference, same.sign_test.better) == (0, 0)
    assert found.spent.usage.calls == 16
    assert found.spent.dollars == 0.0


async def test_a_second_skill_in_the_same_directory_makes_its_own_calls(tmp_path: Path) -> None:
    """More 1."""
    setup = set_up(write_run(tmp_path))
    perfect = Skill.parse(SMALL.perfect_skill())

    async def solved(skill: Skill, tasks: int) -> tuple[int, int]:
        found = await evaluate(setup, [skill], setup.splits.test[:tasks], directory=tmp_path / "e")
        return sum(rollout.score.hard for rollout in found.rollouts[0] if rollout.score), found.spent.usage.calls

    assert await solved(setup.seed_skill, 2) == (0, 2)
    assert await solved(perfect, 2) == (2, 2)
    assert await solved(perfect, 8) == (8, 6)


async def test_what_cannot_be_measured_takes_part_in_no_comparison(tmp_path: Path) -> None:
    """F1, F9: and an evaluation does not end for it."""
    setup = set_up(write_run(tmp_path))
    lost = setup.splits.test[0].fields["question"]

    def weather(call: Call) -> Fault | None:
        return Fault("status", 500) if lost in str(call.body["messages"]) else None

    async with SimulatedServer(SMALL, weather=weather) as server:
        setup = set_up(write_run(tmp_path, server=server))
        perfect = Skill.parse(SMALL.perfect_skill())
        found = await evaluate(setup, [setup.seed_skill, perfect], setup.splits.test, directory=tmp_path / "e")
        nothing = await evaluate(setup, [setup.seed_skill, perfect], setup.splits.test[:1], directory=tmp_path / "e")
    assert [rollout.measured for rollout in found.rollouts[1]] == [False] + [True] * 7
    (difference,) = found.differences
    assert difference is not None
    assert (difference.tasks, difference.difference) == (7, 1)
    assert nothing.differences == (None,)


async def test_a_target_that_can_never_answer_ends_an_evaluation(tmp_path: Path) -> None:
    """F2."""
    async with SimulatedServer(SMALL, api_key="needed") as server:
        setup = set_up(write_run(tmp_path, server=server))
        with pytest.raises(FatalModelError, match="Incorrect API key"):
            await evaluate(setup, [setup.seed_skill], setup.splits.test, directory=tmp_path / "e", environment={})


async def test_who_wants_to_watch_an_evaluation_is_told_of_rollouts_and_retries(tmp_path: Path) -> None:
    told: list[tuple[str, str, bool]] = []
    retries: list[tuple[Role, int]] = []

    def observe(place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
        told.append((place.stage, rollout.task.id, recorded))

    def on_retry(role: Role, retry: Retry) -> None:
        retries.append((role, retry.attempt))

    async with SimulatedServer(SMALL, weather=scripted([Fault("status", 503)])) as server:
        setup = set_up(write_run(tmp_path, server=server, settings={"model.target.attempts": 2}))
        tasks = setup.splits.test[:2]
        for _ in range(2):
            found = await evaluate(
                setup, [setup.seed_skill], tasks, directory=tmp_path / "e", observer=observe, on_retry=on_retry
            )
            assert isinstance(found, Evaluation)
    assert retries == [("target", 1)]
    assert sorted(told[:2]) == sorted(("eval", task.id, False) for task in tasks)
    assert sorted(told[2:]) == sorted(("eval", task.id, True) for task in tasks)


async def test_the_gates_metric_is_the_one_of_the_comparison(tmp_path: Path) -> None:
    """A skill that knows half of the rules has more partial credit than solved tasks to show."""
    world = World(5, rules=4, tasks=32, rules_per_task=2)
    half = Skill.parse(world.skill([rule.sentence for rule in world.rules[:2]]))
    found = []
    for metric in ("hard", "soft"):
        scored = {"env.scorer": "f1", "evaluation.gate_metric": metric}
        setup = set_up(write_run(tmp_path, world, settings=scored))
        tasks = split_tasks(setup, "all")
        found.append(await evaluate(setup, [setup.seed_skill, half], tasks, directory=tmp_path / "e"))
    (hard,), (soft,) = (each.differences for each in found)
    assert hard is not None
    assert soft is not None
    assert soft.difference > hard.difference > 0
    assert found[1].spent.usage.calls == 0


def test_all_is_every_split_once_in_order(tmp_path: Path) -> None:
    setup = set_up(write_run(tmp_path))
    assert split_tasks(setup, "all") == setup.splits.train + setup.splits.val + setup.splits.test
    assert split_tasks(setup, "val") == setup.splits.val


async def test_an_evaluation_keeps_to_the_limits_by_itself_and_leaves_the_trainings_bill_alone(tmp_path: Path) -> None:
    """limits.calls: what the training paid does not count for it, nor what it paid for the training."""
    config = write_run(tmp_path)
    outcome = await train(config)
    limited = prepare(load_config(config, ["limits.calls=3"]))
    other = Skill.parse("Another skill.")
    with pytest.raises(LimitReached, match=r"limits\.calls is 3"):
        await evaluate(limited, [other], limited.splits.val, directory=outcome.directory)
    unlimited = set_up(config)
    again = await evaluate(unlimited, [other], unlimited.splits.val, directory=outcome.directory)
    assert again.spent.usage.calls == len(unlimited.splits.val) - 3
    assert (await train(config)).bill == outcome.bill


LOST: dict[str, tuple[str, ...]] = {
    "evidence.sqlite is missing: the run in this directory": ("evidence.sqlite", "evidence.sqlite-wal"),
    "has lost its evidence, all that it paid for": ("evidence.sqlite",),
    "there is a damaged one that was moved aside": ("evidence.sqlite -> evidence.sqlite.damaged-1",),
    "was written by a newer SkillOpt": ("run.json",),
}
"""What is said of a run directory, and what was removed or renamed there, or written by a newer version."""


def spoil(directory: Path, *names: str) -> None:
    for name in names:
        old, _, new = name.partition(" -> ")
        if new:
            (directory / old).rename(directory / new)
        elif old == "run.json":
            (directory / old).write_text('{"formats": {"history.json": 99}}', "utf-8")
        else:
            (directory / old).unlink()


@pytest.mark.parametrize("said", LOST)
@pytest.mark.parametrize("command", ["train", "eval", "noise"])
def test_no_command_makes_new_evidence_where_a_run_has_lost_its_own(
    whole: Whole, tmp_path: Path, said: str, command: str
) -> None:
    """Else the next training would pay for everything again, and write over what the run came to."""
    run = whole.copy(tmp_path / "run", unclosed=True)
    (run / "evidence.sqlite-shm").unlink()
    spoil(run, *LOST[said])
    setup, before = set_up(whole.config), contents(run)

    async def go() -> None:
        if command == "train":
            await train(whole.config, [f"env.out_root={run}"])
        elif command == "eval":
            await evaluate(setup, [setup.seed_skill], setup.splits.test, directory=run)
        else:
            await repeat_seed(setup, passes=2, directory=run)

    with pytest.raises(RunDirectoryError, match=said):
        asyncio.run(go())
    assert contents(run) == before


async def test_an_evaluation_takes_no_directory_with_files_that_a_run_would_write_over(tmp_path: Path) -> None:
    """With evidence in it, it would pass for a run's."""
    setup = set_up(write_run(tmp_path))
    with pytest.raises(RunDirectoryError, match=r"files that a run would write over: config\.yaml.*\n.*--out"):
        await evaluate(setup, [setup.seed_skill], setup.splits.test, directory=tmp_path)
    assert not (tmp_path / "evidence.sqlite").exists()
