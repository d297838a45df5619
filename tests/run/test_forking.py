"""What a fork takes from its source, and where there can be none."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest
from tests.support.runs import contents, write_run

from skillopt.api import train
from skillopt.errors import ConfigError, RunDirectoryError
from skillopt.run.forking import Shared, fork_record
from skillopt.run.ledger import LedgerRow
from skillopt.types import Place, Usage


def row(key: str, source: Literal["paid", "evidence"], *, used: bool = True, dollars: float | None = 1.0) -> LedgerRow:
    return LedgerRow("target", Place("gate"), source, used, Usage(calls=2), dollars, 0, key)


def test_what_was_used_and_never_paid_for_here_came_from_the_source() -> None:
    shared = Shared("/somewhere/run", replies=1, trajectories=2, rollouts=3)
    rows = [
        row("paid", "paid"),
        row("shared", "evidence"),
        row("shared too", "evidence", dollars=0.5),
        # An evaluation beside the run paid for what the run used later.
        row("evaluated", "evidence"),
        row("evaluated", "paid", used=False),
    ]
    copied = {"from": "run", "replies": 1, "trajectories": 2, "rollouts": 3}
    assert fork_record(shared, rows) == {**copied, "used_records": 2, "used_calls": 4, "used_dollars": 1.5}
    assert fork_record(shared, [])["used_dollars"] == 0.0
    assert fork_record(shared, [*rows, row("unknown", "evidence", dollars=None)])["used_dollars"] is None


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a finished run that no test changes."""
    config = write_run(tmp_path_factory.mktemp("source"), settings={"train.num_epochs": 1, "env.limit": 4})
    asyncio.run(train(config))
    return config


def refused(config: Path, directory: Path, *overrides: str) -> str:
    """What is said to a fork that cannot be; neither the source nor the fork's directory is touched."""
    run = config.parent / "run"
    before = contents(run), contents(directory) if directory.is_dir() else None
    with pytest.raises(RunDirectoryError) as error:
        asyncio.run(train(config, overrides, fork=directory))
    assert (contents(run), contents(directory) if directory.is_dir() else None) == before
    assert error.value.hint
    return error.value.message


def test_a_run_is_no_fork_of_itself(source: Path) -> None:
    assert "the directory of the run itself" in refused(source, source.parent / "run")


def test_a_fork_is_not_kept_inside_its_source(source: Path) -> None:
    assert "inside the directory of the run" in refused(source, source.parent / "run" / "fork")


def test_a_fork_does_not_begin_among_files_of_somebody_else(source: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    assert "is not empty (mine.txt)" in refused(source, tmp_path)


def test_a_file_is_no_directory(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    assert "is no directory" in refused(source, tmp_path / "file")


def test_another_run_or_the_fork_of_another_one_does_not_become_a_fork(source: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    asyncio.run(train(other))
    assert "is a run that is no fork" in refused(source, tmp_path / "run")
    asyncio.run(train(other, fork=tmp_path / "fork"))
    assert f"is a fork of {tmp_path / 'run'}, and not one of" in refused(source, tmp_path / "fork")


def test_there_must_be_something_to_share(source: Path, tmp_path: Path) -> None:
    assert "env.out_root is not set" in refused(source, tmp_path / "fork", "env.out_root=null")
    assert "is no run directory" in refused(source, tmp_path / "fork", f"env.out_root={tmp_path / 'nothing'}")
    assert not (tmp_path / "fork").exists()


@pytest.mark.parametrize("damage", ["record", "pages", "no database"])
def test_a_damaged_source_is_one_clear_error(source: Path, tmp_path: Path, damage: str) -> None:
    shutil.copytree(source.parent / "run", tmp_path / "run")
    path = tmp_path / "run" / "evidence.sqlite"
    if damage == "record":
        with closing(sqlite3.connect(path)) as evidence:
            evidence.execute("UPDATE rollouts SET rollout = replace(rollout, '0', '1') WHERE rowid = 3")
            evidence.commit()
    elif damage == "pages":
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xff" * len(content[4096:])
        path.write_bytes(content)
    else:
        path.write_bytes(b"no database at all" * 1000)
    before = contents(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match=r"the evidence of .*run (is damaged|cannot be shared)") as error:
        asyncio.run(train(source, [f"env.out_root={tmp_path / 'run'}"], fork=tmp_path / "fork"))
    assert error.value.hint.startswith("The source was not changed.")
    assert contents(tmp_path / "run") == before
    assert not (tmp_path / "fork" / "evidence.sqlite").exists()


def test_a_source_of_a_newer_format_is_refused(source: Path, tmp_path: Path) -> None:
    shutil.copytree(source.parent / "run", tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "evidence.sqlite")) as evidence:
        evidence.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
        evidence.commit()
    with pytest.raises(RunDirectoryError, match="has format 99"):
        asyncio.run(train(source, [f"env.out_root={tmp_path / 'run'}"], fork=tmp_path / "fork"))


def test_a_source_of_the_first_format_is_shared(source: Path, tmp_path: Path) -> None:
    shutil.copytree(source.parent / "run", tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "evidence.sqlite")) as evidence:
        for table in ("replies", "trajectories", "rollouts"):
            for column in ("checksum", "origin"):
                evidence.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        evidence.execute("UPDATE meta SET value = '1' WHERE name = 'format'")
        evidence.commit()
    before = contents(tmp_path / "run")
    fork = asyncio.run(train(source, [f"env.out_root={tmp_path / 'run'}"], fork=tmp_path / "fork"))
    assert sum(spent.usage.calls for spent in fork.bill.values()) == 0
    assert contents(tmp_path / "run") == before


def test_a_fork_that_failed_before_its_first_call_may_begin_with_other_settings(source: Path, tmp_path: Path) -> None:
    """What it shares is nothing of its own yet."""
    broken = ["model.optimizer=openai:gpt-5.5", "train.seed=5"]
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        asyncio.run(train(source, broken, fork=tmp_path / "fork", environment={}))
    fork = asyncio.run(train(source, ["train.seed=7"], fork=tmp_path / "fork"))
    assert fork.summary["fork"]["from"] == "run"
