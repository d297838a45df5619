from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.commands import child
from tests.support.runs import write_run

from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.events import Event, StepCommitted
from skillopt.run.lock import HOLDER_NAME, LOCK_NAME, locked, read_holder
from skillopt.run.processes import beginning

HOLD = """
import sys
from pathlib import Path
from skillopt.run.lock import locked
with locked(Path(sys.argv[1]), command="eval"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_by_another_process(directory: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(directory)]
    with child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder


def try_to_lock(directory: Path) -> None:
    with locked(directory, command="train"):
        pass


def test_a_directory_that_is_worked_in_is_refused_within_one_process_too(tmp_path: Path) -> None:
    with locked(tmp_path, command="train"), pytest.raises(RunDirectoryError, match="in use") as caught:
        try_to_lock(tmp_path)
    assert "`skillopt train` works in it since 20" in caught.value.message
    assert f"(process {os.getpid()} on {socket.gethostname()})" in caught.value.message
    assert "env.out_root" in caught.value.hint and f"kill {os.getpid()}" in caught.value.hint


def test_a_directory_is_free_when_its_run_is_over_also_by_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path, command="train"):
        raise KeyError
    try_to_lock(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_NAME]
    assert (tmp_path / LOCK_NAME).stat().st_size == 0


def test_another_process_is_named_and_kept_out_until_it_is_killed(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as holder:
        with pytest.raises(RunDirectoryError, match=rf"`skillopt eval` works in it .*\(process {holder.pid} on "):
            try_to_lock(tmp_path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert (tmp_path / HOLDER_NAME).exists()
    try_to_lock(tmp_path)
    assert not (tmp_path / HOLDER_NAME).exists()


@pytest.mark.skipif(os.name != "posix", reason="the system removes no file that is held")
@pytest.mark.parametrize("removed", [(LOCK_NAME,), (LOCK_NAME, HOLDER_NAME)], ids=["the lock", "all there is of it"])
def test_a_lock_that_is_removed_while_it_is_held_lets_no_second_process_in(
    tmp_path: Path, removed: tuple[str, ...]
) -> None:
    with held_by_another_process(tmp_path) as holder:
        for name in removed:
            (tmp_path / name).unlink()
        for _ in range(2):
            with pytest.raises(RunDirectoryError, match="in use"):
                try_to_lock(tmp_path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    try_to_lock(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="the system moves no directory that is worked in")
def test_a_directory_that_is_moved_while_it_is_held_stays_held_and_its_old_place_is_free(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    with held_by_another_process(old):
        old.rename(new)
        (new / LOCK_NAME).unlink()
        with pytest.raises(RunDirectoryError, match=r"in use: `skillopt eval` works in it"):
            try_to_lock(new)
        old.mkdir()
        try_to_lock(old)


def test_a_disk_that_locks_no_directory_leaves_the_lock_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path, command="train"), pytest.raises(RunDirectoryError, match="in use"):
        try_to_lock(tmp_path)


def test_what_a_killed_process_left_names_nobody(tmp_path: Path) -> None:
    """Whoever took the lock a moment ago has not said yet who it is: a process that is gone is not it."""
    with held_by_another_process(tmp_path) as holder:
        kept = (tmp_path / HOLDER_NAME).read_bytes()
        assert read_holder(tmp_path) is not None
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert read_holder(tmp_path) is None
    with locked(tmp_path, command="train"):
        (tmp_path / HOLDER_NAME).write_bytes(kept)
        with pytest.raises(RunDirectoryError, match="in use: another process works in it"):
            try_to_lock(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say when a process began")
def test_a_process_that_has_got_the_number_of_a_killed_one_is_not_taken_for_it(tmp_path: Path) -> None:
    """As in a container, whose first process has the same number at every start."""
    with held_by_another_process(tmp_path) as holder:
        note = json.loads((tmp_path / HOLDER_NAME).read_text("utf-8"))
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    for began, is_it in ((note["began"], False), (beginning(os.getpid()), True)):
        (tmp_path / HOLDER_NAME).write_text(json.dumps({**note, "process": os.getpid(), "began": began}), "utf-8")
        assert (read_holder(tmp_path) is not None) == is_it


def test_a_copy_of_a_directory_that_is_worked_in_is_held_by_nobody(tmp_path: Path) -> None:
    run, copy, moved = tmp_path / "run", tmp_path / "copy", tmp_path / "moved"
    run.mkdir()
    with held_by_another_process(run):
        shutil.copytree(run, copy)
        assert read_holder(copy) is None and read_holder(run) is not None
        if os.name == "posix":
            run.rename(moved)
            assert read_holder(moved) is not None, "it goes on being worked in"


def a_note(**changed: object) -> str:
    told = {"command": "train", "process": os.getpid(), "host": socket.gethostname(), "since": "now"}
    return json.dumps({**told, **changed})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"command": "train"}', '{"a": 1}', "[" * 100_000, "null"])
def test_a_damaged_note_names_nobody(tmp_path: Path, text: str) -> None:
    with locked(tmp_path, command="train"):
        (tmp_path / HOLDER_NAME).write_text(text, "utf-8")
        with pytest.raises(RunDirectoryError, match="in use: another process works in it"):
            try_to_lock(tmp_path)


@pytest.mark.parametrize(
    "changed",
    [{"process": 10**30}, {"process": 2**31}, {"process": -1}, {"process": 1e999}, {"command": ["train"]},
     {"host": None}, {"since": 7}, {"began": []}, {"directory": 3}, {"since": "x" * 100_000}],
    ids=["huge", "one too large", "negative", "infinite", "no command", "no host", "no time", "no beginning",
         "no directory", "long"],
)  # fmt: skip
def test_a_note_of_other_values_names_nobody(tmp_path: Path, changed: dict[str, object]) -> None:
    with locked(tmp_path, command="train"):
        (tmp_path / HOLDER_NAME).write_text(a_note(**changed), "utf-8")
        with pytest.raises(RunDirectoryError, match="in use: another process works in it"):
            try_to_lock(tmp_path)


def test_a_process_on_another_machine_cannot_be_asked_and_is_believed(tmp_path: Path) -> None:
    note = {"command": "train", "process": 2**22 + 1, "host": "elsewhere.example", "since": "2026-01-01 00:00:00+00:00"}
    (tmp_path / HOLDER_NAME).write_text(json.dumps(note), "utf-8")
    holder = read_holder(tmp_path)
    assert holder is not None and holder.host == "elsewhere.example"


def test_a_note_of_a_later_version_that_says_more_is_understood(tmp_path: Path) -> None:
    with locked(tmp_path, command="train"):
        (tmp_path / HOLDER_NAME).write_text(a_note(mood="good", directory="\0"), "utf-8")
        holder = read_holder(tmp_path)
    assert holder is not None and holder.process == os.getpid()


def test_a_note_that_cannot_be_written_keeps_nobody_from_working(tmp_path: Path) -> None:
    (tmp_path / HOLDER_NAME).mkdir()
    with locked(tmp_path, command="train"), pytest.raises(RunDirectoryError, match="in use: another process"):
        try_to_lock(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_note_that_is_a_named_pipe_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / HOLDER_NAME)
    assert read_holder(tmp_path) is None


@pytest.mark.parametrize(
    ("prepare", "advice"),
    [
        (lambda lock: lock.parent.rmdir(), "must exist and be writable"),
        (lambda lock: lock.mkdir(), "run.lock in it be a file"),
        (lambda lock: lock.write_text("a diary, and no database" * 100, "utf-8"), "move it away"),
    ],
    ids=["no directory", "a directory in its place", "a foreign file"],
)
def test_what_cannot_be_locked_says_what_to_do(tmp_path: Path, prepare: object, advice: str) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    prepare(directory / LOCK_NAME)  # type: ignore[operator]
    with pytest.raises(RunDirectoryError, match=r"run\.lock cannot be locked") as caught:
        try_to_lock(directory)
    assert advice in caught.value.hint


@pytest.mark.skipif(os.name != "posix", reason="the system moves no directory that is worked in")
async def test_a_run_whose_directory_is_moved_ahead_of_a_commit_makes_nothing_in_its_old_place(tmp_path: Path) -> None:
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    first, second = list[Event](), list[Event]()
    await train(config, subscribers=[first.append])
    shutil.rmtree(run)
    ahead = next(number for number, event in enumerate(first) if isinstance(event, StepCommitted))

    def move(event: Event) -> None:
        second.append(event)
        if len(second) == ahead:
            run.rename(elsewhere)

    with pytest.raises(RunDirectoryError, match="the directory was moved or removed"):
        await train(config, subscribers=[move])
    assert elsewhere.is_dir() and not run.exists()
