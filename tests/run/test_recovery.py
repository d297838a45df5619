"""Damaged evidence: an error that names the file; on request all of it that is whole, and the rest is paid again."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.replays import Whole, play_whole
from tests.support.runs import views

from skillopt.errors import RunDirectoryError
from skillopt.run.evidence_format import PAYMENT_COLUMNS, note
from skillopt.run.lock import locked
from skillopt.run.recovery import Recovery, recover

Damage: TypeAlias = Callable[[Path], None]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return play_whole(tmp_path_factory.mktemp("whole"))


def calls(run: Path) -> set[str]:
    """Return what the evidence answers: each reply by its key, each task of the target by what it did."""
    with closing(sqlite3.connect(run / "evidence.sqlite")) as evidence:
        replies = {key for (key,) in evidence.execute("SELECT key FROM replies")}
        done = [json.loads(text) for (text,) in evidence.execute("SELECT trajectory FROM trajectories")]
        done += [json.loads(text)["trajectory"] for (text,) in evidence.execute("SELECT rollout FROM rollouts")]
    return replies | {json.dumps(trajectory) for trajectory in done}


def shown(run: Path) -> dict[str, Any]:
    """What the directory shows, but for what was paid twice and what was moved aside."""
    apart = ("ledger.csv", "evidence.sqlite.damaged")
    return {name: content for name, content in views(run).items() if not name.startswith(apart)}


def lost(recovery: Recovery) -> int:
    return sum(found.damaged + found.missing for found in recovery.found)


def overwrite(start: int, content: bytes) -> Damage:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        place = start if start >= 0 else len(data) // 2 // 4096 * 4096
        data[place : place + len(content)] = content
        path.write_bytes(data)

    return damage


def cut(share: float) -> Damage:
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)]) and None


def flip_a_bit_in_a_reply(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.rindex(b'"finish_reason":"stop"') + len('"finish_reason":"st')
    data[place] ^= 1
    path.write_bytes(data)


DAMAGES: dict[str, Damage] = {
    "the header is overwritten": overwrite(0, b"x" * 100),
    "the first page is overwritten": overwrite(0, random.Random(1).randbytes(4096)),
    "a page of zeros": overwrite(-1, bytes(4096)),
    "pages of random bytes": overwrite(-1, random.Random(2).randbytes(5 * 4096)),
    "a bit is flipped": flip_a_bit_in_a_reply,
    **{f"cut to {share:.0%}": cut(share) for share in (0.3, 0.45, 0.7, 0.9, 0.995)},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_what_is_whole_is_recovered_and_only_the_rest_is_paid_again(
    whole: Whole, tmp_path: Path, damage: Damage
) -> None:
    """F82, F83: a clear error first, with the file left as it is; never a silent other result."""
    run = whole.copy(tmp_path / "run")
    evidence = run / "evidence.sqlite"
    damage(evidence)
    damaged = evidence.read_bytes()
    with pytest.raises(RunDirectoryError) as raised:
        await whole.go_on(run)
    assert str(evidence) in str(raised.value)
    assert f"skillopt recover {run}`" in str(raised.value)
    assert evidence.read_bytes() == damaged
    recovery = recover(run)
    assert recovery.aside == run / "evidence.sqlite.damaged-1"
    assert recovery.aside.read_bytes() == damaged
    missing = calls(whole.directory) - calls(run)
    assert len(missing) < len(calls(whole.directory)), "something was whole"
    assert await whole.go_on(run) == len(missing)
    assert shown(run) == shown(whole.directory)
    assert calls(run) >= calls(whole.directory) - missing
    assert recover(run).aside is None


async def test_one_flipped_bit_costs_one_record(whole: Whole, tmp_path: Path) -> None:
    run = whole.copy(tmp_path / "run")
    flip_a_bit_in_a_reply(run / "evidence.sqlite")
    recovery = recover(run)
    assert lost(recovery) == 1
    assert sum(found.damaged for found in recovery.found) == 1


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.97])
async def test_a_log_that_is_cut_or_gone_loses_its_end_only(whole: Whole, tmp_path: Path, share: float) -> None:
    """No error: what SQLite cannot read of it was, to it, never written. What is lost is paid again."""
    run = whole.copy(tmp_path / "run", unclosed=True)
    log = run / "evidence.sqlite-wal"
    log.write_bytes(log.read_bytes()[: int(share * log.stat().st_size)])
    (run / "history.json").unlink()
    left = calls(shutil.copytree(run, tmp_path / "copy")) if share else set[str]()
    assert await whole.go_on(run) == len(calls(whole.directory) - left)
    assert shown(run) == shown(whole.directory)


async def test_a_log_whose_file_is_gone_holds_what_it_holds(whole: Whole, tmp_path: Path) -> None:
    run = whole.copy(tmp_path / "run", unclosed=True)
    (run / "evidence.sqlite").write_bytes(b"")
    log = (run / "evidence.sqlite-wal").read_bytes()
    with pytest.raises(RunDirectoryError, match="is empty"):
        await whole.go_on(run)
    assert (run / "evidence.sqlite-wal").read_bytes() == log
    assert recover(run).aside == run / "evidence.sqlite.damaged-1"
    assert (run / "evidence.sqlite.damaged-1-wal").read_bytes() == log
    assert await whole.go_on(run) == len(calls(whole.directory) - calls(run))
    assert shown(run) == shown(whole.directory)


def other_database(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE things (a)")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.write_text("no database at all\n" * 500, "utf-8"), "not a database"),
        (other_database, "no evidence store"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: (path.unlink(), path.mkdir()), "evidence.sqlite"),
    ],
    ids=["text", "another database", "nothing", "a directory"],
)
async def test_a_wrong_file_is_refused_and_left_as_it_is(
    whole: Whole, tmp_path: Path, damage: Damage, told: str
) -> None:
    run = whole.copy(tmp_path / "run")
    evidence = run / "evidence.sqlite"
    damage(evidence)
    before = evidence.read_bytes() if evidence.is_file() else None
    with pytest.raises(RunDirectoryError, match=told):
        await whole.go_on(run)
    with pytest.raises(RunDirectoryError, match=r"recovered|read as evidence|no regular file"):
        recover(run)
    assert (evidence.read_bytes() if evidence.is_file() else None) == before
    assert not list(run.glob("evidence.sqlite.*"))


async def test_a_format_from_the_future_is_refused_damaged_or_not(whole: Whole, tmp_path: Path) -> None:
    run = whole.copy(tmp_path / "run")
    with closing(sqlite3.connect(run / "evidence.sqlite")) as evidence:
        evidence.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
        evidence.commit()
    for _ in range(2):
        with pytest.raises(RunDirectoryError, match="format 99"):
            recover(run)
        overwrite(0, b"x" * 100)(run / "evidence.sqlite")
    assert not list(run.glob("evidence.sqlite.*"))


def files(run: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file but the lock: what it holds, and when it was written."""
    found = (path for path in run.rglob("*") if path.is_file() and not path.name.startswith("run.lock"))
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def test_whole_evidence_stays_as_it_is(whole: Whole, tmp_path: Path) -> None:
    run = whole.copy(tmp_path / "run", unclosed=True)
    before = files(run)
    recovery = recover(run)
    assert recovery.aside is None
    assert lost(recovery) == 0
    assert {found.table for found in recovery.found if found.recovered} >= {"replies", "rollouts", "payments"}
    assert files(run) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("name", ["evidence.sqlite", "evidence.sqlite-wal"])
def test_a_named_pipe_in_the_place_of_evidence_is_said_and_never_waited_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "evidence.sqlite").touch()
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(RunDirectoryError, match=rf"{name} cannot be written: it is no regular file") as caught:
        recover(tmp_path)
    assert caught.value.hint.startswith("Move it away")


def test_evidence_in_use_is_not_recovered(whole: Whole, tmp_path: Path) -> None:
    run = whole.copy(tmp_path / "run")
    overwrite(0, b"x" * 100)(run / "evidence.sqlite")
    with locked(run, command="train"), pytest.raises(RunDirectoryError, match="in use"):
        recover(run)
    assert not list(run.glob("evidence.sqlite.*"))


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_where_there_is_no_evidence_there_is_nothing_to_recover(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunDirectoryError, match=r"has no evidence\.sqlite"):
        recover(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stopped_at", [2, 3, 4])
async def test_a_recovery_that_is_killed_is_finished_by_the_next_one(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_at: int
) -> None:
    """At each of its renames after that of who holds the lock: of the file, of its log, and of the new file."""
    with closing(sqlite3.connect(whole.copy(tmp_path / "open") / "evidence.sqlite")) as opened:
        note(opened, "a note", "in the log")
        opened.commit()
        run = shutil.copytree(tmp_path / "open", tmp_path / "run")
    evidence = run / "evidence.sqlite"
    overwrite(-1, bytes(4096))(evidence)
    reference = shutil.copytree(run, tmp_path / "reference")
    recover(reference)
    left = stopped_at

    class Killed(BaseException):
        pass

    def deadly(real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                raise Killed
            return real(*arguments)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", deadly(Path.rename))
        patch.setattr(Path, "replace", deadly(Path.replace))
        with pytest.raises(Killed):
            recover(run)
    if stopped_at > 2:
        with pytest.raises(RunDirectoryError, match="skillopt recover"):
            await whole.go_on(run)
    recover(run)
    assert calls(run) == calls(reference)
    for end in ("", "-wal"):
        moved = f"evidence.sqlite.damaged-1{end}"
        assert (run / moved).read_bytes() == (reference / moved).read_bytes()


def damage_with_a_log(whole: Whole, folder: Path) -> Path:
    """Return a copy of the run with a damaged record, whose damage lies in the log alone."""
    with closing(sqlite3.connect(whole.copy(folder / "open") / "evidence.sqlite")) as opened:
        opened.execute("UPDATE replies SET reply = replace(reply, 'e', 'f') WHERE rowid = 1")
        opened.commit()
        return shutil.copytree(folder / "open", folder / "run")


@pytest.mark.parametrize("taken", ["damaged-1", "damaged-1-wal", "damaged-3-wal"])
async def test_what_was_moved_aside_has_a_name_that_is_free_for_file_and_log(
    whole: Whole, tmp_path: Path, taken: str
) -> None:
    """And a number above all others, so that the next recovery knows which is the last."""
    run = damage_with_a_log(whole, tmp_path)
    log = (run / "evidence.sqlite-wal").read_bytes()
    (run / f"evidence.sqlite.{taken}").write_bytes(b"another's")
    recovery = recover(run)
    number = int(taken.split("-")[1]) + 1
    assert recovery.aside == run / f"evidence.sqlite.damaged-{number}"
    assert (run / f"evidence.sqlite.damaged-{number}-wal").read_bytes() == log
    assert (run / f"evidence.sqlite.{taken}").read_bytes() == b"another's"
    assert not (run / "evidence.sqlite-wal").exists()
    assert await whole.go_on(run) == 1
    assert recover(run).aside is None


def test_a_log_that_cannot_be_moved_is_an_error_before_anything_is_changed(whole: Whole, tmp_path: Path) -> None:
    run = damage_with_a_log(whole, tmp_path)
    (run / "evidence.sqlite").rename(run / "evidence.sqlite.damaged-1")
    (run / "evidence.sqlite.damaged-1-wal").write_bytes(b"another's")
    before = files(run)
    with pytest.raises(RunDirectoryError, match="damaged-1-wal is there already"):
        recover(run)
    assert files(run) == before


def test_no_note_of_a_long_run_is_lost_with_a_record(whole: Whole, tmp_path: Path) -> None:
    run = whole.copy(tmp_path / "run")
    with closing(sqlite3.connect(run / "evidence.sqlite")) as evidence:
        for step in range(300):
            note(evidence, f"timing of step {step}", "x" * 200)
        evidence.commit()
        notes = evidence.execute("SELECT name, value FROM meta ORDER BY name").fetchall()
    flip_a_bit_in_a_reply(run / "evidence.sqlite")
    assert recover(run).aside
    with closing(sqlite3.connect(run / "evidence.sqlite")) as evidence:
        assert evidence.execute("SELECT name, value FROM meta ORDER BY name").fetchall() == notes


@pytest.mark.parametrize(
    "column", [name for name in PAYMENT_COLUMNS if name not in ("role", "stage", "paid_at", "key")]
)
async def test_a_payment_that_is_not_what_was_written_is_an_error_and_recovery_leaves_it_out(
    whole: Whole, tmp_path: Path, column: str
) -> None:
    """Limits go by it."""
    run = whole.copy(tmp_path / "run")
    with closing(sqlite3.connect(run / "evidence.sqlite")) as evidence:
        evidence.execute(f"UPDATE payments SET {column} = coalesce({column}, 0) + 1000 WHERE rowid = 2")
        evidence.commit()
    with pytest.raises(RunDirectoryError, match="damaged payment") as raised:
        await whole.go_on(run)
    assert f"skillopt recover {run}`" in str(raised.value)
    recovery = recover(run)
    assert [(found.table, found.damaged) for found in recovery.found if found.damaged] == [("payments", 1)]
    assert await whole.go_on(run) == 0
    assert recover(run).aside is None


async def test_the_day_of_the_prices_is_the_first_record_s_where_it_is_lost(whole: Whole, tmp_path: Path) -> None:
    run = whole.copy(tmp_path / "run")
    with closing(sqlite3.connect(run / "evidence.sqlite")) as evidence:
        evidence.execute("DELETE FROM meta WHERE name = 'priced_on'")
        evidence.execute("UPDATE replies SET recorded_at = '2020-02-02T00:00:00+00:00' WHERE rowid = 1")
        evidence.commit()
    overwrite(0, b"x" * 16)(run / "evidence.sqlite")
    recover(run)
    with closing(sqlite3.connect(run / "evidence.sqlite")) as evidence:
        assert evidence.execute("SELECT value FROM meta WHERE name = 'priced_on'").fetchone() == ("2020-02-02",)
