"""What the disk and the system can refuse: one clear error, nothing paid is lost, and mended the run goes on."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.test_signals import AtCall, Command
from tests.support.commands import SKILLOPT, clean_environment, in_a_process, write_tiny_run
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train
from skillopt.simulation.server import SimulatedServer

GO_ON = "then run the same command again: it goes on with what was recorded."
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
ONE_AT_A_TIME = {f"model.{role}.concurrency": 1 for role in ("target", "optimizer")}


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[Path]:
    """A real disk of a few hundred kilobytes, where this process may mount one."""
    directory.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    if sys.platform != "linux":
        pytest.skip("only Linux mounts a disk in memory")
    with small_disk(tmp_path / "disk", "8m") as directory:
        yield directory


def fill(directory: Path) -> Path:
    """Take all the room that is left on a disk; the file can be removed."""
    filler = directory / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**16, 2**12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler


def one_error(command: Command, *parts: str) -> None:
    assert "Traceback" not in command.out + command.err
    errors = [line for line in command.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, command.err
    for part in parts:
        assert part in command.err


async def whole_run(tmp_path: Path, server: SimulatedServer) -> int:
    """Train without a mishap into `whole`; return the number of calls."""
    await train(write_run(tmp_path, server=server, settings={**ONE_AT_A_TIME, "env.out_root": "whole"}))
    return len(server.calls)


def seen(directory: Path) -> dict[str, object]:
    """What a run directory shows, but for the file that says where its data lies."""
    return {name: content for name, content in views(directory).items() if name != "split_manifest.json"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a tiny run leaves that had no mishap."""
    outcome = asyncio.run(train(write_tiny_run(tmp_path_factory.mktemp("whole"))))
    return seen(outcome.directory)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99], ids=["first call", "middle", "final test"])
async def test_a_disk_that_fills_up_ends_the_run_at_once_and_with_room_it_goes_on(
    tmp_path: Path, full_disk: Path, share: float
) -> None:
    """Whatever is refused first, evidence, event log or page of a step: nothing more is paid."""
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        asked = await whole_run(tmp_path, server)
        config = write_run(tmp_path, server=server, settings={**ONE_AT_A_TIME, "env.out_root": str(full_disk / "run")})
        fillers: list[Path] = []

        async def fill_up() -> None:
            fillers.append(fill(full_disk))

        at.number, at.act = asked + int(share * asked), fill_up
        command = Command("train", config, cwd=tmp_path)
        assert await command.end() == 1
        one_error(command, "full" if "evidence" in command.err else "No space left on device", "again")
        # A write-ahead log has room of its own for a few records.
        unrecorded = len(server.calls) - at.number
        assert unrecorded <= 12, "it ends at the first record that cannot be written"
        fillers[0].unlink()
        at.number = -1
        last = Command("train", config, cwd=tmp_path)
        assert await last.end() == 0, last.err
        assert len(server.calls) <= 2 * asked + 1, "only the call whose record was refused is paid again"
    assert views(full_disk / "run") == views(tmp_path / "whole")


@pytest.mark.parametrize("most", [4096, 60_000, 200_000])
def test_a_limit_of_file_sizes_is_one_error_and_without_it_the_run_goes_on(
    tmp_path: Path, most: int, whole: dict[str, object]
) -> None:
    """The kernel's own refusal, at other files than a full disk's: log, database, its journal."""
    config = write_tiny_run(tmp_path)
    resource = pytest.importorskip("resource")
    code, out, error = limited(config, tmp_path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    assert code == 1
    assert "Traceback" not in out + error
    assert sum(line.startswith("error: ") for line in error.splitlines()) == 1, error
    assert "again" in error
    assert limited(config, tmp_path)[0] == 0
    assert seen(tmp_path / "run") == whole


def test_a_limit_of_open_files_is_one_error_and_without_it_the_run_goes_on(
    tmp_path: Path, whole: dict[str, object]
) -> None:
    config = write_tiny_run(tmp_path)
    resource = pytest.importorskip("resource")
    code, out, error = limited(config, tmp_path, lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)))
    assert (code, "Traceback" in out + error) == (1, False), error
    assert "Too many open files" in error and "ulimit -n" in error
    assert limited(config, tmp_path)[0] == 0
    assert seen(tmp_path / "run") == whole


def limited(
    config: Path, cwd: Path, limit: Callable[[], None] | None = None, *, prefix: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    """Train in a process that the kernel limits."""
    if limit is None and not prefix:
        return in_a_process("train", config, cwd=cwd)
    done = subprocess.run(
        [*prefix, *SKILLOPT, "train", str(config)],
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    return done.returncode, done.stdout, done.stderr


async def test_a_directory_that_is_moved_away_ends_the_run_and_back_in_its_place_it_goes_on(tmp_path: Path) -> None:
    """Files without a name go on living, so what was paid into them would be lost without a word."""
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        asked = await whole_run(tmp_path, server)
        config = write_run(tmp_path, server=server, settings=ONE_AT_A_TIME)

        async def move() -> None:
            (tmp_path / "run").rename(tmp_path / "elsewhere")

        at.number, at.act = asked + 5, move
        command = Command("train", config, cwd=tmp_path)
        assert await command.end() == 1
        one_error(command, "run/evidence.sqlite is gone: the directory was moved or removed", "Put it back")
        assert len(server.calls) == at.number + 1
        assert not (tmp_path / "run").exists(), "nothing was made in its place"
        (tmp_path / "elsewhere").rename(tmp_path / "run")
        at.number = -1
        assert await Command("train", config, cwd=tmp_path).end() == 0
        assert len(server.calls) <= 2 * asked + 1, "only what was in flight may be paid again"
    assert views(tmp_path / "run") == views(tmp_path / "whole")


async def test_a_directory_that_is_removed_ends_the_run_before_more_is_paid(tmp_path: Path) -> None:
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        config = write_run(tmp_path, server=server, settings=ONE_AT_A_TIME)

        async def remove() -> None:
            shutil.rmtree(tmp_path / "run")

        at.number, at.act = 5, remove
        command = Command("train", config, cwd=tmp_path)
        assert await command.end() == 1
        one_error(command, "was moved or removed")
        assert len(server.calls) == 6


def without_privilege(config: Path) -> tuple[int, str, str]:
    """Train as somebody whom permissions bind: root without the privileges that make root what it is."""
    if not ROOT:
        return limited(config, config.parent)
    prefix = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
    if shutil.which(prefix[0]) is None:
        pytest.skip("permissions do not bind root, and there is no setpriv")
    return limited(config, config.parent, prefix=prefix)


@pytest.mark.parametrize(
    ("forbid", "words"),
    [
        ("run", "run/run.lock cannot be locked"),
        ("run/evidence.sqlite", "readonly database"),
        ("run/events.jsonl", "run/events.jsonl cannot be written: Permission denied"),
        ("run/steps/step_0001", "step_0001"),
    ],
)
def test_what_may_not_be_written_is_said_and_mended_it_goes_on(tmp_path: Path, forbid: str, words: str) -> None:
    config = write_tiny_run(tmp_path)
    (tmp_path / "run").mkdir()
    if forbid != "run":
        assert without_privilege(config)[0] == 0
        (tmp_path / "run" / "steps" / "step_0001" / "step_record.json").unlink()
    (tmp_path / forbid).chmod(0o555)
    code, out, error = without_privilege(config)
    assert (code, "Traceback" in out + error) == (1, False), error
    assert error.startswith("error: ") and words in error
    assert "writ" in error.splitlines()[-1]
    for path in tmp_path.glob(f"{forbid}*"):  # the database makes files beside it with its own permissions
        path.chmod(0o755)
    assert without_privilege(config)[0] == 0
    assert read_json(tmp_path / "run" / "summary.json")["state"] == "improved"


@pytest.mark.parametrize(
    ("out_root", "words", "advice"),
    [
        ("config.yaml", "cannot be made: File exists", "A file stands where a directory should be"),
        ("config.yaml/run", "cannot be made: Not a directory", "A file stands where a directory should be"),
        ("x" * 300, "cannot be made: File name too long", "name a shorter one"),
        ("y/" * 2100 + "run", "cannot be made: File name too long", "name a shorter one"),
    ],
    ids=["a file", "below a file", "a long name", "a long path"],
)
def test_a_run_directory_that_cannot_be_is_refused(tmp_path: Path, out_root: str, words: str, advice: str) -> None:
    code, out, error = in_a_process("train", write_tiny_run(tmp_path, env__out_root=out_root), cwd=tmp_path)
    assert (code, out) == (1, "")
    message, hint = error.splitlines()
    assert message.startswith("error: ") and words in message
    assert advice in hint


@pytest.mark.parametrize("name", ["steps", "history.json", "events.jsonl"])
def test_what_stands_in_the_place_of_a_view_is_set_aside_and_the_run_goes_on(
    tmp_path: Path, name: str, whole: dict[str, object]
) -> None:
    """A file where a directory should be, and the other way round."""
    config = write_tiny_run(tmp_path)
    assert in_a_process("train", config, "limits.calls=1", cwd=tmp_path)[0] == 14
    place = tmp_path / "run" / name
    place.unlink(missing_ok=True)
    place.write_text("in the way", "utf-8") if name == "steps" else place.mkdir()
    code, out, _ = in_a_process("train", config, cwd=tmp_path)
    assert (code, f"it was renamed {name}.aside-1" in out) == (0, True)
    aside = place.with_name(f"{name}.aside-1")
    assert aside.exists()
    aside.unlink() if aside.is_file() else aside.rmdir()
    assert seen(tmp_path / "run") == whole


def test_a_directory_in_the_place_of_the_evidence_is_an_error_that_names_it(
    tmp_path: Path, whole: dict[str, object]
) -> None:
    config = write_tiny_run(tmp_path)
    assert in_a_process("train", config, "limits.calls=1", cwd=tmp_path)[0] == 14
    place, kept = tmp_path / "run" / "evidence.sqlite", tmp_path / "kept"
    place.rename(kept)
    place.mkdir()
    code, out, error = in_a_process("train", config, cwd=tmp_path)
    assert (code, "Traceback" in out + error) == (1, False), error
    assert error.startswith("error: ") and "evidence.sqlite" in error
    place.rmdir()
    kept.rename(place)
    assert in_a_process("train", config, cwd=tmp_path)[0] == 0
    assert seen(tmp_path / "run") == whole


def test_without_a_place_for_temporary_files_a_training_runs(tmp_path: Path) -> None:
    nowhere = {name: str(tmp_path / "nowhere") for name in ("TMPDIR", "TEMP", "TMP")}
    assert in_a_process("train", write_tiny_run(tmp_path), cwd=tmp_path, environment=nowhere)[0] == 0


full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")


@full
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_full_standard_output_ends_no_training_and_is_said_at_the_end(tmp_path: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as out:
        done = subprocess.run(
            [*SKILLOPT, "train", str(write_tiny_run(tmp_path)), *words],
            cwd=tmp_path,
            env=clean_environment(),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "error: standard output could not be written (No space left on device), and a part of it is lost\n"
    )
    assert read_json(tmp_path / "run" / "summary.json")["state"] == "improved"


@full
@pytest.mark.parametrize("words", [("--help",), ("--version",), ("check", "config.yaml", "--offline")])
def test_every_command_says_that_its_output_was_lost(tmp_path: Path, words: tuple[str, ...]) -> None:
    write_tiny_run(tmp_path)
    with Path("/dev/full").open("wb") as out:
        done = subprocess.run([*SKILLOPT, *words], cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: standard output could not be written")


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)], ids=["output", "error", "all"])
def test_closed_streams_end_no_training_and_no_evidence_is_printed_into(
    tmp_path: Path, closed: tuple[int, ...], whole: dict[str, object]
) -> None:
    config = write_tiny_run(tmp_path)

    def close() -> None:
        for descriptor in closed:
            os.close(descriptor)

    done = subprocess.run([*SKILLOPT, "train", str(config)], cwd=tmp_path, env=clean_environment(), preexec_fn=close)
    assert done.returncode == 0
    assert seen(tmp_path / "run") == whole


def test_a_reader_that_goes_away_ends_no_training(tmp_path: Path) -> None:
    command = f"{' '.join(map(repr, SKILLOPT))} train config.yaml | head -n 1"
    write_tiny_run(tmp_path)
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True)
    assert done.stderr == ""
    assert read_json(tmp_path / "run" / "summary.json")["state"] == "improved"
