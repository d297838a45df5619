"""A run that is killed, as often as one likes, is in the end the run that was never killed."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import SIGKILL

import pytest
from benchmarks.kill.child import KINDS
from benchmarks.kill.harness import trials
from benchmarks.kill.report import report
from tests.support.children import play, play_until_file, processes
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call


def records(directory: Path) -> int:
    """How many calls the evidence of a run holds."""
    with closing(sqlite3.connect(directory / "evidence.sqlite")) as evidence:
        return sum(evidence.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("replies", "rollouts"))


class Executioner:
    """Kills a process at the moment in which a call reaches the server."""

    def __init__(self) -> None:
        self.process: BaseProcess | None = None
        self.at = -1

    async def __call__(self, call: Call) -> None:
        if self.process is not None and call.number == self.at:
            self.process.kill()


async def test_killed_at_five_calls_it_ends_byte_for_byte_the_same_and_pays_nothing_twice(tmp_path: Path) -> None:
    """F82, F83, F122: only what was in flight at a kill is asked again."""
    executioner, in_flight = Executioner(), 2
    limits = {f"model.{role}.concurrency": in_flight for role in ("target", "optimizer")}
    async with SimulatedServer(SMALL, delay=executioner) as server:
        await train(write_run(tmp_path, server=server, settings={**limits, "env.out_root": "whole"}))
        asked = len(server.calls)
        config = write_run(tmp_path, server=server, settings=limits)
        codes: list[int | None] = []
        for share in (0.05, 0.2, 0.45, 0.7, 0.95, 2):
            executioner.at = asked + int(share * asked)
            executioner.process = processes().Process(target=play, args=(config,))
            executioner.process.start()
            await asyncio.to_thread(executioner.process.join)
            codes.append(executioner.process.exitcode)
        asked_again = len(server.calls) - 2 * asked
    assert codes == [-SIGKILL] * 5 + [0]
    assert views(tmp_path / "run") == views(tmp_path / "whole")
    assert records(tmp_path / "run") == records(tmp_path / "whole") == asked
    assert 5 <= asked_again <= 5 * in_flight


@pytest.mark.parametrize(("moment", "number"), [("written", 17), ("named", 25)])
def test_killed_at_every_few_files_it_never_goes_back_and_ends_byte_for_byte_the_same(
    tmp_path: Path, moment: str, number: int
) -> None:
    """F82, F83: among them the moments between the best skill, the history and the record of a step."""
    whole = asyncio.run(train(write_run(tmp_path, settings={"env.out_root": "whole"}))).directory
    config, history = write_run(tmp_path), tmp_path / "run" / "history.json"
    codes: list[int | None] = []
    committed = [0]
    while not codes or codes[-1] == -SIGKILL:
        # What stands on disk already is not written again, so every start gets further than the one before.
        process = processes().Process(target=play_until_file, args=(config, number, moment))
        process.start()
        process.join()
        codes.append(process.exitcode)
        committed.append(len(read_json(history)) if history.exists() else 0)
    assert codes[-1] == 0
    assert len(codes) > 3
    assert committed == sorted(committed)
    assert views(tmp_path / "run") == views(whole)
    assert records(tmp_path / "run") == records(whole)


async def test_runs_that_are_killed_anywhere_end_as_if_they_had_not_been(tmp_path: Path) -> None:
    """F82, F83, F122: a sample of `python -m benchmarks kill`; each kind of moment begins one run, others follow."""
    points = len(KINDS)
    short = {"train.num_epochs": 2, "optimizer.redraw": 0, "evaluation.final_repeats": 0, "evaluation.repeats": 1}
    found = await trials(
        points, seed=11, directory=tmp_path, watch=lambda _: None, most_kills=2, runs_of_one_kind=points, settings=short
    )
    told = "\n".join(report(found))
    assert told.startswith(f"runs equal {points}/{points}, recorded calls asked again: 0\n"), told
    assert sum(len(trial.kills) for trial in found) >= points


async def test_a_second_start_changes_no_file_and_asks_nobody(tmp_path: Path) -> None:
    """Not even the times: each step keeps those of the process that played it first."""
    async with SimulatedServer(SMALL) as server:
        config = write_run(tmp_path, server=server)
        await train(config)
        asked = len(server.calls)
        files = [path for path in (tmp_path / "run").rglob("*") if path.is_file() and path.suffix in (".json", ".md")]
        before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
        await train(config)
        assert len(server.calls) == asked
    assert before == {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    assert len(before) > 50
