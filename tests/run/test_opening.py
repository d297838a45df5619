"""Opening a run: directory, configuration, manifest, warnings, and what an earlier start left behind."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.replays import play_whole
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train
from skillopt.config.load import load_config
from skillopt.errors import ConfigError, RunDirectoryError
from skillopt.events import Event, RunStarted, Warned
from skillopt.run.evidence import EvidenceStore
from skillopt.run.opening import open_run, run_directory
from skillopt.run.setup import Setup, prepare
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Fault, scripted


def set_up(directory: Path, **settings: Any) -> Setup:
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return prepare(load_config(write_run(directory, settings=dotted)))


def test_the_run_directory_is_the_one_that_is_asked_for(tmp_path: Path) -> None:
    assert run_directory(set_up(tmp_path)) == tmp_path / "run"


def test_the_same_run_finds_its_directory_again_and_another_one_gets_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = run_directory(set_up(tmp_path / "a", env__out_root=None))
    assert first.parent == tmp_path / "outputs"
    assert first == run_directory(set_up(tmp_path / "b", env__out_root=None, env__workers=3)), (
        "moved files, more workers"
    )
    assert first != run_directory(set_up(tmp_path / "c", env__out_root=None, train__seed=7))


async def test_the_configuration_in_the_run_directory_loads_back_as_the_same(tmp_path: Path) -> None:
    setup = set_up(tmp_path, env__prompt="Literally \\${{x}} \\\\. {question}")
    async with open_run(setup, directory=tmp_path / "run", environment={}):
        pass
    again = load_config(tmp_path / "run" / "config.yaml")
    assert again.config == setup.config
    assert read_json(tmp_path / "run" / "split_manifest.json") == setup.splits.manifest.to_json()
    await train(tmp_path / "run" / "config.yaml")


async def test_a_run_says_from_its_beginning_on_what_its_numbers_will_speak_of(tmp_path: Path) -> None:
    async with open_run(set_up(tmp_path), directory=tmp_path / "run", environment={}):
        card = read_json(tmp_path / "run" / "run_card.json")
    assert card["models"]["target"]["provider"] == "simulated" and card["data"]["counts"]["train"]
    await train(tmp_path / "run" / "config.yaml")
    summary = read_json(tmp_path / "run" / "summary.json")
    assert {name: summary[name] for name in card} == card


async def test_a_run_says_how_it_starts_and_what_to_beware_of(tmp_path: Path) -> None:
    """F120, F142: whoever trains without looking at the plan is warned too."""
    told: list[Event] = []
    setup = set_up(tmp_path, train__batch_size=16, train__num_epochs=1, limits__calls=9000)
    async with open_run(setup, directory=tmp_path / "run", subscribers=[told.append], environment={}):
        pass
    started, *warned = told
    assert isinstance(started, RunStarted)
    assert (started.total_steps, started.tasks["val"], started.simulated) == (1, 8, True)
    assert started.limits == {"limits.calls": 9000.0}
    messages = [event.message for event in warned if isinstance(event, Warned)]
    assert any("only 1 proposal will be tried" in message for message in messages)
    assert any("the selection split" in message for message in messages)


async def test_what_a_killed_process_left_half_written_is_swept_away(tmp_path: Path) -> None:
    """F83."""
    left = tmp_path / "run" / "steps" / "step_0001" / ".0123456789abcdef.partial"
    left.parent.mkdir(parents=True)
    left.write_text("half a fi", "utf-8")
    own = left.with_name(".mine.partial")
    own.write_text("not ours", "utf-8")
    EvidenceStore(tmp_path / "run" / "evidence.sqlite").close()
    async with open_run(set_up(tmp_path), directory=tmp_path / "run", environment={}):
        pass
    assert [path.name for path in left.parent.iterdir()] == [own.name]


async def test_a_run_that_is_open_cannot_be_opened_again(tmp_path: Path) -> None:
    setup = set_up(tmp_path)
    async with open_run(setup, directory=tmp_path / "run", environment={}):
        with pytest.raises(RunDirectoryError, match="in use"):
            async with open_run(setup, directory=tmp_path / "run", environment={}):
                pass
    async with open_run(setup, directory=tmp_path / "run", environment={}):
        pass


async def test_prices_are_those_of_the_first_day_for_ever(tmp_path: Path) -> None:
    """A replay on another day names the same dollars."""
    setup = set_up(tmp_path)
    async with open_run(setup, directory=tmp_path / "run", environment={}):
        pass
    with EvidenceStore(tmp_path / "run" / "evidence.sqlite") as evidence:
        assert datetime.fromisoformat(evidence.get_meta("priced_on") or "").replace(tzinfo=UTC).year >= 2025
        evidence.put_meta("priced_on", "2024-02-29")
    async with open_run(setup, directory=tmp_path / "run", environment={}):
        pass
    with EvidenceStore(tmp_path / "run" / "evidence.sqlite") as evidence:
        assert evidence.get_meta("priced_on") == "2024-02-29"


async def test_a_call_that_is_tried_again_is_told_to_those_who_watch(tmp_path: Path) -> None:
    told: list[Event] = []
    async with SimulatedServer(SMALL, weather=scripted([Fault("status", 503, message="busy")])) as server:
        config = write_run(
            tmp_path, server=server, settings={"model.target.attempts": 2, "train.num_epochs": 1, "env.limit": 4}
        )
        await train(config, subscribers=[told.append])
    (again,) = (event.message for event in told if isinstance(event, Warned) and "attempt" in event.message)
    assert again.startswith("target: compatible:simulated-target: busy (HTTP 503); attempt 2 in ")


async def test_a_role_that_is_slowed_down_is_told_to_those_who_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillopt.models.retry.FIRST_BACKOFF", 0.0)
    told: list[Event] = []
    busy = Fault("status", 429, retry_after="0")
    async with SimulatedServer(SMALL, weather=scripted([busy, busy])) as server:
        settings = {"model.target.attempts": 3, "model.target.concurrency": 6, "train.num_epochs": 1, "env.limit": 4}
        await train(write_run(tmp_path, server=server, settings=settings), subscribers=[told.append])
    (slowed,) = (event.message for event in told if isinstance(event, Warned) and "fewer calls" in event.message)
    assert slowed == ("target: the provider asks for fewer calls; at most 3 in flight now, more again as it answers")


async def test_a_model_that_cannot_be_opened_ends_it_before_anything_is_asked(tmp_path: Path) -> None:
    setup = set_up(tmp_path, model__target__name="openai:gpt-5.5")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        async with open_run(setup, directory=tmp_path / "run", environment={}):
            pass


async def test_files_of_somebody_else_are_never_written_over(tmp_path: Path) -> None:
    directory = tmp_path / "mine"
    directory.mkdir()
    (directory / "best_skill.md").write_text("my own", "utf-8")
    with pytest.raises(RunDirectoryError, match=r"best_skill\.md"):
        async with open_run(set_up(tmp_path), directory=directory):
            pass
    assert [path.name for path in directory.iterdir()] == ["best_skill.md"]
    assert (directory / "best_skill.md").read_text("utf-8") == "my own"


async def test_a_start_with_more_epochs_that_is_killed_before_it_took_the_directory_took_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F82: the shorter run plays its views anew, and the longer one can begin again."""
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    directory = (await train(config)).directory
    before = views(directory)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("skillopt.run.opening.extend", killed)
        with pytest.raises(KeyboardInterrupt):
            await train(config, ["train.num_epochs=2"])
    await train(config)
    assert views(directory) == before
    outcome = await train(config, ["train.num_epochs=2"])
    assert outcome.summary["total_steps"] == 2


def test_nothing_is_written_outside_the_run_directory(tmp_path: Path) -> None:
    """Whatever its own files and directories are links to: they are set aside, and what they lead to stays as it is."""
    whole = play_whole(tmp_path / "whole")
    run, elsewhere = whole.copy(tmp_path / "run"), tmp_path / "elsewhere"
    led_to = sorted(path.relative_to(run) for path in run.rglob("*") if path.is_dir() or path.parent == run)
    led_to = [path for path in led_to if not path.name.startswith(("evidence", "run.lock"))]
    # From the bottom up, so that a link stands below each of them once.
    for number, path in enumerate(reversed(led_to)):
        target = elsewhere / str(number)
        target.parent.mkdir(exist_ok=True)
        (run / path).rename(target)
        (run / path).symlink_to(target)
    (run / "history.json").unlink()
    mine = elsewhere / "mine"
    (mine / "config.yaml").mkdir(parents=True)
    for name in ("skills", "results.json"):
        (mine / name).write_text("mine", "utf-8")
    Path(run / "steps").unlink()
    (run / "steps").mkdir()
    (run / "steps" / "step_0099").symlink_to(mine)
    before = everything(elsewhere)
    assert asyncio.run(whole.go_on(run)) == 0
    assert everything(elsewhere) == before
    for aside in run.rglob("*.aside-1"):
        aside.unlink()
    assert views(run) == views(whole.directory)


def everything(directory: Path) -> dict[str, object]:
    return {
        str(path): path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else "directory"
        for path in directory.rglob("*")
    }
