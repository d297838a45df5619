"""A start on an existing run, whatever became of machine, place or files: the same bytes, and nothing is paid."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlencode

import pytest
from tests.support.children import play_as_nobody, play_with_a_wild_clock, processes
from tests.support.commands import clean_environment
from tests.support.replays import Whole, play_whole
from tests.support.runs import views

from skillopt.errors import RunDirectoryError
from skillopt.events import Event, Warned
from skillopt.simulation.world import World

Spoiling: TypeAlias = Callable[[Path], Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Three epochs, with so much to learn and such noise that training is not over before what is between them."""
    world = World(5, rules=9, tasks=24)
    noisy = f"simulated:target?{urlencode({**world.identity, 'noise': 0.2})}"
    settings = {"train.num_epochs": 3, "train.batch_size": 6, "optimizer.learning_rate": 1}
    return play_whole(tmp_path_factory.mktemp("whole"), world, {**settings, "model.target.name": noisy})


def child(target: Callable[..., None], *arguments: Any) -> int | None:
    process = processes().Process(target=target, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def test_the_machine_s_time_may_jump_by_years(whole: Whole, tmp_path: Path) -> None:
    """Between two starts and within each of them: the first ends at a limit, the second goes on, the third replays."""
    run = tmp_path / "run"
    for limit in (40, 10_000, 10_000):
        assert child(play_with_a_wild_clock, whole.config, [f"env.out_root={run}", f"limits.calls={limit}"]) == 0
    assert views(run) == views(whole.directory)


ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"},
    {"TZ": "America/St_Johns", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2", "PYTHONUTF8": "0"},
    {"TZ": "nowhere", "LANG": "tr_TR.UTF-8", "PYTHONHASHSEED": "random", "PYTHONOPTIMIZE": "1"},
)
ELSEWHERE = """
import os, sys
number = int(sys.argv.pop(1))
os.umask((0o077, 0o000, 0o027)[number])
if hasattr(os, "sched_setaffinity") and number == 1:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.cpu_count = lambda: (1, 64, None)[number]
from skillopt.cli.main import main
main()
"""


def test_time_zone_locale_hash_seed_directory_umask_and_processors_may_differ(whole: Whole, tmp_path: Path) -> None:
    codes: list[int] = []
    for number, environment in enumerate(ENVIRONMENTS):
        elsewhere = tmp_path / f"cwd {number}"
        elsewhere.mkdir()
        limit = f"limits.calls={40 if number == 0 else 10_000}"
        words = [str(number), "train", str(whole.config), f"env.out_root={tmp_path / 'run'}", limit]
        ended = subprocess.run(
            [sys.executable, "-c", ELSEWHERE, *words],
            cwd=elsewhere,
            env={**clean_environment(), **environment},
            capture_output=True,
        )
        codes.append(ended.returncode)
        assert not list(elsewhere.iterdir())
    assert codes[0] == 14
    assert codes[1] == codes[2] in (0, 10)
    assert views(tmp_path / "run") == views(whole.directory)


@pytest.mark.parametrize("name", ["moved", "Läufe & 実験/run 1 (copy)", "'quoted' #1%20"])
async def test_the_directory_may_be_moved_and_renamed(whole: Whole, tmp_path: Path, name: str) -> None:
    run = whole.copy(tmp_path / name)
    assert await whole.go_on(run) == 0
    assert views(run) == views(whole.directory)


async def test_it_may_be_reached_by_a_link(whole: Whole, tmp_path: Path) -> None:
    run, link = whole.copy(tmp_path / "run"), tmp_path / "link"
    link.symlink_to(run)
    assert await whole.go_on(link) == 0
    assert views(run) == views(whole.directory)


async def test_configuration_and_data_may_be_moved(whole: Whole, tmp_path: Path) -> None:
    run = whole.copy(tmp_path / "run")
    for name in ("config.yaml", "tasks.jsonl", "seed_skill.md"):
        (tmp_path / "Neue Daten").mkdir(exist_ok=True)
        shutil.copy(whole.config.parent / name, tmp_path / "Neue Daten" / name)
    moved = Whole(tmp_path / "Neue Daten" / "config.yaml", whole.directory, whole.unclosed)
    assert await moved.go_on(run) == 0
    # The manifest names the file that the tasks came from.
    apart = {"split_manifest.json"}
    assert {k: v for k, v in views(run).items() if k not in apart} == {
        k: v for k, v in views(whole.directory).items() if k not in apart
    }


async def test_a_log_that_was_left_behind_is_read_also_in_a_copy(whole: Whole, tmp_path: Path) -> None:
    for index_too in (True, False):
        run = whole.copy(tmp_path / f"run {index_too}", unclosed=True)
        if not index_too:
            (run / "evidence.sqlite-shm").unlink()
        assert await whole.go_on(run) == 0
        assert views(run) == views(whole.directory)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble(path: Path) -> None:
    path.write_bytes(b"\xff\x00\xfe[" * 100)


def deep(path: Path) -> None:
    path.write_text("[" * 100_000, "utf-8")


def put_a_directory_there(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "something of mine").write_text("kept", "utf-8")


def put_a_file_there(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("kept", "utf-8")


FILES = (
    "history.json",
    "summary.json",
    "best_skill.md",
    "config.yaml",
    "split_manifest.json",
    "run_card.json",
    "skills/skill_v0001.md",
    "steps/step_0001/step_record.json",
    "steps/step_0002/rollout/results.json",
    "selection_eval_baseline/results.json",
    "slow_update/epoch_02/slow_result.json",
    "meta_skill/epoch_02/meta_skill_result.json",
    "test_eval/results.json",
)
FILE_SPOILINGS: tuple[Spoiling, ...] = (cut, garble, deep, put_a_directory_there, Path.unlink)
DIRECTORIES = ("skills", "steps", "steps/step_0001", "steps/step_0002/rollout/trajectories", "slow_update", "test_eval")


@pytest.mark.parametrize("spoil", FILE_SPOILINGS)
async def test_every_file_but_the_evidence_is_made_anew(whole: Whole, tmp_path: Path, spoil: Spoiling) -> None:
    """F16, F82, F83: all at once; and where one is cut, each alone."""
    run = whole.copy(tmp_path / "run")
    for names in (*((name,) for name in FILES if spoil is cut), FILES):
        for name in names:
            spoil(run / name)
        assert await whole.go_on(run) == 0
        assert in_place(run) == views(whole.directory), names
        kept = [path for path in run.rglob("*.aside-*") if (path / "something of mine").read_text("utf-8") == "kept"]
        assert len(kept) == (len(names) if spoil is put_a_directory_there else 0)
        for path in kept:
            shutil.rmtree(path)


@pytest.mark.parametrize("name", DIRECTORIES)
async def test_every_directory_is_made_anew(whole: Whole, tmp_path: Path, name: str) -> None:
    run = whole.copy(tmp_path / "run")
    for spoil in (shutil.rmtree, put_a_file_there):
        spoil(run / name)
        assert await whole.go_on(run) == 0
        assert in_place(run) == views(whole.directory)
    assert (run / f"{name}.aside-1").read_text("utf-8") == "kept"


def in_place(run: Path) -> dict[str, Any]:
    """What the directory shows, without what was set aside."""
    return {name: content for name, content in views(run).items() if ".aside-" not in name}


@pytest.mark.parametrize("spoil", [cut, garble, Path.unlink, put_a_directory_there])
async def test_the_event_log_may_be_cut_garbled_or_gone(whole: Whole, tmp_path: Path, spoil: Spoiling) -> None:
    run = whole.copy(tmp_path / "run")
    spoil(run / "events.jsonl")
    before = (run / "events.jsonl").read_bytes() if (run / "events.jsonl").is_file() else b""
    assert await whole.go_on(run) == 0
    assert in_place(run) == views(whole.directory)
    after = (run / "events.jsonl").read_bytes()
    assert after.startswith(before), "what it held stays"
    assert b'"RunEnded"' in after.splitlines()[-1]


async def test_what_was_set_aside_is_said(whole: Whole, tmp_path: Path) -> None:
    from skillopt.api import train

    run, told = whole.copy(tmp_path / "run"), list[Event]()
    put_a_directory_there(run / "history.json")
    await train(whole.config, [f"env.out_root={run}"], subscribers=[told.append])
    warnings = [event.message for event in told if isinstance(event, Warned)]
    assert any("it was renamed history.json.aside-1" in warning for warning in warnings)


@pytest.mark.parametrize(
    "names", [("evidence.sqlite",), ("evidence.sqlite", "history.json"), ("evidence.sqlite", "run.lock")]
)
async def test_evidence_that_was_moved_away_is_asked_back(whole: Whole, tmp_path: Path, names: tuple[str, ...]) -> None:
    """Not paid for again, and nothing is written over; once it is back, the run goes on."""
    run, away = whole.copy(tmp_path / "run"), tmp_path / "away"
    away.mkdir()
    for name in names:
        shutil.move(run / name, away / name)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(RunDirectoryError, match=r"evidence\.sqlite is missing") as raised:
        await whole.go_on(run)
    assert "Put evidence.sqlite back" in str(raised.value)
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    shutil.move(away / "evidence.sqlite", run)
    assert await whole.go_on(run) == 0
    assert views(run) == views(whole.directory)


@pytest.mark.parametrize("read_only", ["evidence.sqlite", "."])
def test_evidence_that_cannot_be_written_is_an_error_that_says_so(whole: Whole, read_only: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(whole.config.parent, folder / "all")
        run = folder / "all" / "run"
        for path in (folder / "all", *folder.joinpath("all").rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        (run / read_only).chmod(0o555 if read_only == "." else 0o444)
        said = folder / "said"
        code = child(play_as_nobody, folder / "all" / "config.yaml", [f"env.out_root={run}"], said)
        assert code == 0
        text = said.read_text("utf-8")
        assert str(run) in text
        assert "readonly" in text


def test_pages_of_another_play_do_not_stay(tmp_path: Path) -> None:
    """Another seed of the optimizer makes other patches: what is not this play's goes, to the last page."""
    whole = play_whole(tmp_path / "whole")
    other = play_whole(tmp_path / "other", settings={"train.seed": 7})
    assert views(other.directory).keys() != views(whole.directory).keys()
    for name in ("evidence.sqlite", "events.jsonl"):
        shutil.copy(whole.directory / name, other.directory / name)
    assert asyncio.run(whole.go_on(other.directory)) == 0
    assert views(other.directory) == views(whole.directory)
