"""A fork shares what another run has paid for, and is in all else the run that it would be by itself."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from tests.support.children import fork_until, fork_until_the_baseline, processes
from tests.support.commands import in_a_process
from tests.support.runs import SMALL, contents, read_json, views, write_run

from skillopt.api import train
from skillopt.config.load import load_config
from skillopt.errors import RunDirectoryError
from skillopt.events import Event, RunEnded, RunStarted
from skillopt.run.evidence import EvidenceStore
from skillopt.run.outcome import Outcome
from skillopt.simulation.server import SimulatedServer

ROLES = ("target", "optimizer")
PRICED = {f"model.{role}.price": {"input": 100.0, "output": 100.0} for role in ROLES}
OTHER = "optimizer.learning_rate=1"
"""What the forks do otherwise: some of the source's replies fit, and some do not."""


def forked_views(directory: Path) -> dict[str, Any]:
    """What a fork shows, but for what it says of the source."""
    shown = views(directory)
    summary = read_json(directory / "summary.json")
    del summary["fork"]
    return {**shown, "summary.json": summary}


def fresh_views(directory: Path) -> dict[str, Any]:
    return {**views(directory), "summary.json": read_json(directory / "summary.json")}


async def test_a_fork_is_byte_for_byte_the_fresh_run_and_pays_for_what_is_new(tmp_path: Path) -> None:
    told: list[Event] = []
    async with SimulatedServer(SMALL) as server:
        config = write_run(tmp_path, server=server, settings=PRICED)
        await train(config)
        source = contents(tmp_path / "run")
        before = len(server.calls)
        fresh = await train(config, [OTHER, f"env.out_root={tmp_path / 'fresh'}"])
        whole = len(server.calls) - before
        before = len(server.calls)
        fork = await train(config, [OTHER], fork=tmp_path / "fork", subscribers=[told.append])
        paid = len(server.calls) - before
        assert forked_views(fork.directory) == fresh_views(fresh.directory)
        assert contents(tmp_path / "run") == source
        again = await train(config, [OTHER], fork=tmp_path / "fork")
        assert len(server.calls) - before == paid, "a second start pays nothing"
    assert again == fork
    (started,) = (event for event in told if isinstance(event, RunStarted))
    assert started.forked_from == "run"
    assert started.shared == {name: fork.summary["fork"][name] for name in ("replies", "trajectories", "rollouts")}
    assert started.matching == {name: started.shared[name] for name in ("replies", "rollouts")}
    assert_it_says_what_it_saved(fork, whole=whole, paid=paid)
    assert 0 < paid < whole


def assert_it_says_what_it_saved(fork: Outcome, *, whole: int, paid: int) -> None:
    """What the run used of the source is what it did not pay."""
    said = fork.summary["fork"]
    assert said["used_calls"] == said["used_records"] == whole - paid
    billed = sum(spent.dollars or 0.0 for spent in fork.bill.values())
    used = sum(spent["dollars"] for spent in fork.summary["total_usage"].values())
    assert said["used_dollars"] == pytest.approx(used - billed)
    assert 0 < billed < used


async def test_the_configuration_in_a_run_directory_is_enough_wherever_it_lies(tmp_path: Path) -> None:
    """And the fork of a fork is a fork."""
    async with SimulatedServer(SMALL) as server:
        await train(write_run(tmp_path, server=server))
        moved = (tmp_path / "run").rename(tmp_path / "moved")
        assert load_config(moved / "config.yaml").config.env.out_root == str(moved)
        await train(moved / "config.yaml", [OTHER], fork=tmp_path / "fork")
        asked = len(server.calls)
        second = await train(tmp_path / "fork" / "config.yaml", fork=tmp_path / "second")
        assert len(server.calls) == asked, "all of it was paid already, by two runs"
    assert second.summary["fork"]["from"] == "fork"
    assert forked_views(second.directory) == forked_views(tmp_path / "fork")


async def test_a_fork_takes_no_failure_no_payment_no_time_and_no_day_of_prices(tmp_path: Path) -> None:
    await train(write_run(tmp_path))
    with EvidenceStore(tmp_path / "run" / "evidence.sqlite") as evidence:
        evidence.put_meta("priced_on", "2024-02-29")
    with closing(sqlite3.connect(tmp_path / "run" / "evidence.sqlite")) as source:
        source.execute("UPDATE replies SET request = 'torn' WHERE rowid = 1")
        source.execute("INSERT INTO given_up VALUES ('k', 'gate', 1, 1, 0, 0, '{}', '', '')")
        source.commit()
    await train(tmp_path / "config.yaml", fork=tmp_path / "fork")
    with closing(sqlite3.connect(tmp_path / "fork" / "evidence.sqlite")) as fork:
        counts = [fork.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("given_up", "payments")]
        (priced_on,) = fork.execute("SELECT value FROM meta WHERE name = 'priced_on'").fetchone()
        origins = {origin for (origin,) in fork.execute("SELECT DISTINCT origin FROM rollouts")}
    assert (counts, origins) == ([0, 0], {"run"})
    assert priced_on != "2024-02-29"


async def test_another_model_shares_nothing_and_says_so(tmp_path: Path) -> None:
    told: list[Event] = []
    await train(write_run(tmp_path))
    other = ["model.target.temperature=0.5", "model.optimizer.temperature=0.5"]
    async with SimulatedServer(SMALL) as server:
        names = [f"model.{role}={{name: compatible:{role}, base_url: {server.base_url}}}" for role in ROLES]
        overrides = [*names, *other, "train.num_epochs=1"]
        fork = await train(tmp_path / "config.yaml", overrides, fork=tmp_path / "fork", subscribers=[told.append])
    assert fork.summary["fork"]["used_records"] == 0
    assert fork.summary["fork"]["rollouts"] > 0
    assert isinstance(told[0], RunStarted)
    assert told[0].matching == {"replies": 0, "rollouts": 0}


async def test_rollouts_of_tasks_that_are_no_more_do_not_match(tmp_path: Path) -> None:
    told: list[Event] = []
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    await train(config)
    await train(config, ["evaluation.sel_env_num=2"], fork=tmp_path / "fork", subscribers=[told.append])
    assert isinstance(told[0], RunStarted)
    assert 0 < told[0].matching["rollouts"] < told[0].shared["rollouts"]
    assert told[0].matching["replies"] == told[0].shared["replies"] > 0


@pytest.mark.parametrize("index", [True, False])
def test_a_killed_run_is_shared_with_what_its_log_holds(tmp_path: Path, *, index: bool) -> None:
    """The write-ahead log that a killed process leaves is read, and nothing is changed, with an index or without."""
    config = write_run(tmp_path)

    def copy_it_as_a_kill_would_leave_it(event: Event) -> None:
        if isinstance(event, RunEnded):
            shutil.copytree(tmp_path / "run", tmp_path / "killed")
            (tmp_path / "killed" / "run.lock.json").unlink()

    asyncio.run(train(config, subscribers=[copy_it_as_a_kill_would_leave_it]))
    if not index:
        (tmp_path / "killed" / "evidence.sqlite-shm").unlink()
    before = contents(tmp_path / "killed")
    assert before["evidence.sqlite-wal"]
    fork = asyncio.run(train(config, [f"env.out_root={tmp_path / 'killed'}"], fork=tmp_path / "fork"))
    assert contents(tmp_path / "killed") == before
    assert not list((tmp_path / "fork").glob("evidence.fork*"))
    assert sum(spent.usage.calls for spent in fork.bill.values()) == 0


async def test_a_running_run_is_shared_as_far_as_it_is(tmp_path: Path) -> None:
    config = write_run(tmp_path)
    done: list[Outcome] = []

    async def fork_it() -> None:
        done.append(await train(config, fork=tmp_path / "fork"))

    started = asyncio.Event()

    def watch(event: Event) -> None:
        if type(event).__name__ == "StepCommitted":
            started.set()

    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(train(config, subscribers=[watch]))
        await started.wait()
        tasks.create_task(fork_it())
    assert done[0].summary["fork"]["rollouts"] > 0
    assert forked_views(tmp_path / "fork") == fresh_views(run.result().directory)


@pytest.mark.parametrize("moment", ["copied", "named"])
def test_killed_while_copying_the_same_command_goes_on(tmp_path: Path, moment: str) -> None:
    config = write_run(tmp_path)
    whole = asyncio.run(train(config)).directory
    process = processes().Process(target=fork_until, args=(config, tmp_path / "fork", moment))
    process.start()
    process.join()
    assert process.exitcode == -SIGKILL
    left = {path.name for path in (tmp_path / "fork").glob("evidence*")}
    assert "evidence.fork.sqlite" in left
    assert "evidence.sqlite" not in left
    fork = asyncio.run(train(config, fork=tmp_path / "fork"))
    assert forked_views(fork.directory) == fresh_views(whole)
    assert not list((tmp_path / "fork").glob("evidence.fork*"))


def test_killed_after_a_baseline_that_was_shared_the_fork_goes_on_as_what_it_is(tmp_path: Path) -> None:
    """It has paid nothing yet, and shows a baseline all the same: neither lost nor anybody's."""
    config = write_run(tmp_path)
    asyncio.run(train(config))
    fresh = asyncio.run(train(config, [OTHER, f"env.out_root={tmp_path / 'fresh'}"])).directory
    process = processes().Process(target=fork_until_the_baseline, args=(config, tmp_path / "fork", [OTHER]))
    process.start()
    process.join()
    assert process.exitcode == -SIGKILL
    with EvidenceStore(tmp_path / "fork" / "evidence.sqlite") as evidence:
        assert evidence.payments() == ()
    with pytest.raises(RunDirectoryError, match=r"optimizer\.learning_rate: 1 -> 2"):
        asyncio.run(train(config, fork=tmp_path / "fork"))
    fork = asyncio.run(train(config, [OTHER], fork=tmp_path / "fork"))
    assert forked_views(fork.directory) == fresh_views(fresh)


async def test_a_fork_that_pays_nothing_starts_as_often_as_one_likes_and_belongs_to_its_settings(
    tmp_path: Path,
) -> None:
    config = write_run(tmp_path)
    await train(config)
    first = await train(config, fork=tmp_path / "fork")
    assert sum(spent.usage.calls for spent in first.bill.values()) == 0
    before = views(tmp_path / "fork")
    assert await train(config, fork=tmp_path / "fork") == first
    assert await train(tmp_path / "fork" / "config.yaml") == first
    with pytest.raises(RunDirectoryError, match=r"optimizer\.learning_rate: 2 -> 1"):
        await train(config, [OTHER], fork=tmp_path / "fork")
    assert views(tmp_path / "fork") == before


def test_the_command_forks_and_says_what_it_saved(tmp_path: Path) -> None:
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    own = asyncio.run(train(config)).directory / "config.yaml"
    code, out, _ = in_a_process("train", own, "train.num_epochs=2", "--fork", "fork", cwd=tmp_path)
    said = " ".join(out.split())
    summary = read_json(tmp_path / "fork" / "summary.json")
    counts = summary["fork"]
    assert code == summary["exit_code"]
    fit = f"{counts['replies']} and {counts['rollouts']}"
    assert (
        f"A fork: it shares {counts['replies']} replies and {counts['rollouts']} rollouts of run; {fit} match" in said
    )
    total = counts["replies"] + counts["rollouts"]
    assert f"Shared: {counts['used_records']} of {total} replies and rollouts of run were used:" in said
    assert f"{counts['used_calls']} calls, $0.00, not paid again" in said
