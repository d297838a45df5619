"""ledger.csv of whole runs: a row for each call, and sums that are those of summary.json and of the bill."""

from __future__ import annotations

import csv
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import SMALL, read_json, write_run

from skillopt.api import evaluate, train
from skillopt.config.load import load_config
from skillopt.run.outcome import EndState, Outcome
from skillopt.run.recovery import recover
from skillopt.run.setup import prepare
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault

AMOUNTS = ("calls", "fresh_tokens", "cached_tokens", "output_tokens")
PRICED = {f"model.{role}.price": {"input": 100.0, "output": 100.0} for role in ("target", "optimizer")}


def rows(outcome: Outcome) -> list[dict[str, str]]:
    with (outcome.directory / "ledger.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sums(ledger: list[dict[str, str]], *, role: str = "") -> dict[str, Any]:
    kept = [row for row in ledger if role in ("", row["role"])]
    dollars = sum(float(row["dollars"]) for row in kept)
    return {**{name: sum(int(row[name]) for row in kept) for name in AMOUNTS}, "dollars": pytest.approx(dollars)}


def assert_it_is_what_the_reports_say(outcome: Outcome) -> None:
    """F122: used rows are the totals, also step by step and stage by stage; paid rows are the bill."""
    ledger = rows(outcome)
    used, paid = (
        [row for row in ledger if row[name] == value] for name, value in (("used", "yes"), ("source", "paid"))
    )
    for role in ("target", "optimizer"):
        assert outcome.summary["total_usage"][role] == sums(used, role=role)
        assert outcome.bill[role].usage.calls == sums([r for r in paid if r["stage"] != "eval"], role=role)["calls"]  # type: ignore[index]
    for record in read_json(outcome.directory / "history.json"):
        of_step = [row for row in used if int(row["step"]) == record["step"]]
        for key, amounts in record["usage"].items():
            role, stage = key.split(".")
            if stage not in ("slow_update", "meta_skill"):
                assert amounts == sums([row for row in of_step if (row["role"], row["stage"]) == (role, stage)])


async def test_each_call_has_a_row_and_the_sums_are_the_reports(tmp_path: Path) -> None:
    async with SimulatedServer(SMALL) as server:
        outcome = await train(write_run(tmp_path, server=server, settings=PRICED))
        ledger = rows(outcome)
        assert len(ledger) == len(server.calls)
    assert {(row["source"], row["used"]) for row in ledger} == {("paid", "yes")}
    assert_it_is_what_the_reports_say(outcome)


async def test_blank_replies_and_retries_have_rows_of_their_own(tmp_path: Path) -> None:
    blank, busy = Fault("empty"), Fault("status", 503)

    def weather(call: Call) -> Fault | None:
        return {5: blank, 6: busy}.get(call.number)

    async with SimulatedServer(SMALL, weather=weather) as server:
        settings = {**PRICED, "model.target.attempts": 4, "model.optimizer.attempts": 4}
        outcome = await train(write_run(tmp_path, server=server, settings=settings))
        ledger = rows(outcome)
        assert len(ledger) == len(server.calls) - 1, "an error costs nothing"
    assert sum(row["used"] == "no" for row in ledger) == 1
    assert sum(int(row["retries"]) for row in ledger) == 2
    assert_it_is_what_the_reports_say(outcome)


async def test_what_an_evaluation_paid_is_evidence_for_the_training(tmp_path: Path) -> None:
    config = write_run(tmp_path, settings=PRICED)
    setup = prepare(load_config(config))
    await evaluate(setup, [setup.seed_skill], setup.splits.val, directory=tmp_path / "run")
    outcome = await train(config)
    counts = {
        source: len(list(group))
        for source, group in itertools.groupby(sorted(f"{row['source']} {row['used']}" for row in rows(outcome)))
    }
    assert counts["evidence yes"] == counts["paid no"] == len(setup.splits.val)
    assert_it_is_what_the_reports_say(outcome)


async def test_a_training_that_a_limit_ended_has_its_rows_and_going_on_has_all(tmp_path: Path) -> None:
    stopped = await train(write_run(tmp_path, settings={**PRICED, "limits.calls": 30}))
    assert stopped.state is EndState.LIMIT_REACHED
    assert len(rows(stopped)) == 30
    assert_it_is_what_the_reports_say(stopped)
    gone_on = await train(write_run(tmp_path, settings=PRICED))
    whole = await train(write_run(tmp_path / "whole", settings=PRICED))
    ledgers = [(outcome.directory / "ledger.csv").read_bytes() for outcome in (gone_on, whole)]
    assert ledgers[0] == ledgers[1]


@pytest.mark.parametrize("damaged", ["UPDATE {} SET checksum = ''", "DELETE FROM {}"])
@pytest.mark.parametrize("table", ["replies", "rollouts, trajectories"])
async def test_what_was_lost_and_paid_again_is_used_once(tmp_path: Path, table: str, damaged: str) -> None:
    config = write_run(tmp_path, settings=PRICED)
    whole = await train(config)
    calls = len(rows(whole))
    with closing(sqlite3.connect(whole.directory / "evidence.sqlite")) as evidence:
        for name in table.split(", "):
            evidence.execute(f"{damaged.format(name)} WHERE rowid % 3 = 1")
        evidence.commit()
    recover(whole.directory)
    again = await train(config)
    assert sum(row["used"] == "no" for row in rows(again)) == len(rows(again)) - calls > 0
    assert_it_is_what_the_reports_say(again)


async def test_the_ledger_of_a_run_of_the_oldest_format_lists_each_call_once(tmp_path: Path) -> None:
    """Its payments did not tell what they were for."""
    config = write_run(tmp_path, settings=PRICED)
    whole = await train(config)
    ledger = (whole.directory / "ledger.csv").read_bytes()
    with closing(sqlite3.connect(whole.directory / "evidence.sqlite")) as evidence:
        for table in ("replies", "rollouts", "trajectories", "payments", "given_up", "meta"):
            for column in ("checksum", "origin", *(("key", "useful") if table == "payments" else ())):
                if column in {row[1] for row in evidence.execute(f"PRAGMA table_info({table})")}:
                    evidence.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        evidence.execute("UPDATE meta SET value = '1' WHERE name = 'format'")
        evidence.commit()
    assert ((await train(config)).directory / "ledger.csv").read_bytes() == ledger
