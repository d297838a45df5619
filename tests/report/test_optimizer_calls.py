"""Prompts and replies out of the evidence, which stays as it is."""

from __future__ import annotations

import shutil
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.runs import contents, read_json

from skillopt.errors import RunDirectoryError
from skillopt.report.optimizer_calls import call, calls, sizes
from skillopt.report.run_files import RunFiles
from skillopt.run.evidence import EvidenceStore


def test_every_reply_of_the_run_is_there_by_its_place(eventful: Path) -> None:
    """Those that the ledger counts, step by step and stage by stage."""
    found = calls(eventful)
    told = [line for line in RunFiles(eventful).ledger if line.role == "optimizer"]
    assert sorted((one.place.stage, one.place.step, one.place.index, one.place.attempt) for one in found) == sorted(
        (line.stage, line.step, line.index, line.attempt) for line in told
    )
    assert calls(eventful, step=2) == tuple(one for one in found if one.place.step == 2) != ()
    assert calls(eventful, step=999) == ()


def test_they_stand_in_the_order_of_the_method(eventful: Path) -> None:
    order = ["reflect", "aggregate", "select", "update", "slow_update", "meta_skill"]
    places = [one.place for one in calls(eventful)]
    keys = [(place.epoch, place.step, order.index(place.stage), place.index, place.attempt) for place in places]
    assert keys == sorted(keys)


def test_they_are_counted_from_one_in_their_stage_and_step(eventful: Path) -> None:
    """The index of a merge says where among the merges it stands, and goes into the millions."""
    found = calls(eventful)
    assert any(one.place.index > 1000 for one in found if one.place.stage == "aggregate")
    stages: dict[tuple[int, int, str], dict[int, int]] = {}
    for one in found:
        numbers = stages.setdefault((one.place.epoch, one.place.step, one.place.stage), {})
        assert numbers.setdefault(one.place.index, one.number) == one.number, "asked again, it is the same one"
        assert one.title.startswith(f"{one.place.stage.replace('_', ' ').capitalize()} {one.number}")
    assert all(list(numbers.values()) == list(range(1, len(numbers) + 1)) for numbers in stages.values())


def test_a_reply_is_told_word_for_word_with_what_it_answers(eventful: Path) -> None:
    line = next(one for one in calls(eventful, step=1) if one.place.stage == "reflect")
    found = call(eventful, line.key)
    assert found is not None and found.line == line
    skill = (eventful / "skills" / "skill_v0000.md").read_text("utf-8")
    assert any(skill.strip() in message.content for message in found.messages)
    patch = read_json(next((eventful / "steps" / "step_0001" / "patches").iterdir()))
    assert patch["reasoning"] in found.reply.text


def test_to_list_them_reads_nothing_of_what_was_asked_and_said(eventful: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns: set[str] = set()

    class Watched(sqlite3.Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.set_authorizer(self.note)

        @staticmethod
        def note(action: int, _: str | None, column: str | None, *__: object) -> int:
            if action == sqlite3.SQLITE_READ and column:
                columns.add(column)
            return sqlite3.SQLITE_OK

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    found = calls(eventful)
    assert "key" in columns
    assert not columns & {"request", "reply"}
    long = sizes(eventful, found[:2])
    assert set(long) == {line.key for line in found[:2]}
    with sqlite3.connect(eventful / "evidence.sqlite") as connection:
        for key, size in long.items():
            (texts,) = connection.execute("SELECT request, reply FROM replies WHERE key = ?", (key,))
            assert (size.asked, size.said) == tuple(map(len, texts))
    connection.close()


def alone(eventful: Path, tmp_path: Path) -> Path:
    """A copy of the run without what a reader may have left beside its evidence."""
    return shutil.copytree(eventful, tmp_path / "copy", ignore=shutil.ignore_patterns("*-wal", "*-shm"))


def test_reading_leaves_the_directory_as_it_is(eventful: Path, tmp_path: Path) -> None:
    copy = alone(eventful, tmp_path)
    before = contents(copy)
    line = calls(copy)[0]
    assert call(copy, line.key) is not None
    assert contents(copy) == before


def test_reading_makes_no_file_even_for_a_while(
    eventful: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run on a disk that cannot be written is read as well, and a reader that is killed leaves nothing."""
    copy, seen = alone(eventful, tmp_path), list[set[str]]()

    class Watched(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            found = super().execute(*arguments)
            seen.append({path.name for path in copy.iterdir()})
            return found

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    before = {path.name for path in copy.iterdir()}
    assert calls(copy)
    assert seen == [before]


def test_what_a_run_at_work_or_a_kill_left_in_the_log_is_read_and_left_there(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    path, log = copy / "evidence.sqlite", copy / "evidence.sqlite-wal"
    with EvidenceStore(path):
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE replies SET step = 77 WHERE rowid = 1")
        connection.commit()
        before = (path.read_bytes(), log.read_bytes())
        assert before[1], "the change stands in the log alone"
        assert len(calls(copy, step=77)) == 1
        assert (path.read_bytes(), log.read_bytes()) == before
        killed = shutil.copytree(copy, tmp_path / "killed")
        connection.close()
    assert len(calls(killed, step=77)) == 1
    assert (killed / "evidence.sqlite-wal").read_bytes() == before[1]
    assert (killed / "evidence.sqlite").read_bytes() == before[0]


def test_without_evidence_or_with_a_link_out_there_is_none(eventful: Path, tmp_path: Path) -> None:
    assert calls(tmp_path) == ()
    assert sizes(tmp_path, calls(eventful)) == {}
    (tmp_path / "evidence.sqlite").symlink_to(eventful / "evidence.sqlite")
    assert calls(tmp_path) == () and call(tmp_path, "0" * 64) is None


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to look like one" * 40])
def test_damaged_evidence_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "evidence.sqlite").write_bytes(content)
    with pytest.raises(RunDirectoryError, match=r"evidence\.sqlite cannot be read"):
        calls(tmp_path)


def test_a_damaged_reply_is_named(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    with sqlite3.connect(copy / "evidence.sqlite") as connection:
        connection.execute("UPDATE replies SET reply = '{'")
    connection.close()
    with pytest.raises(RunDirectoryError, match="a reply in it is damaged"):
        call(copy, calls(copy)[0].key)


@given(st.text(max_size=70))
def test_any_other_text_is_no_key(eventful: Path, key: str) -> None:
    assert call(eventful, key) is None
