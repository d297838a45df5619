"""Every file of a run has a version, and one of another version is mended or refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.bench import OpenBench, appends, by_stage, rule
from tests.support.runs import read_json, views, write_run

from skillopt import __version__
from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.run import formats
from skillopt.run.formats import FORMATS, check_formats, write_run_file
from skillopt.trainer import train as train_bench

AROUND = {
    "evaluation.remeasure": True,
    "evaluation.final_repeats": 1,
    "optimizer.redraw": 1,
    "optimizer.use_skill_aware_reflection": True,
    "optimizer.lr_control_mode": "autonomous",
}
"""What writes files of its own; the plain loop and what follows an epoch come from a whole run."""
REWRITES = {"optimizer.skill_update_mode": "rewrite_from_suggestions"}
NOTED = by_stage(reflect={**appends(rule(4)), "appendix_notes": [rule(5)]}, budget={"learning_rate": 1})
REWRITTEN = by_stage(reflect=appends(rule(4)), update={"new_skill": f"# Skill\n\n{rule(4)}\n"})
WHILE_OPEN = {"evidence.sqlite-wal", "evidence.sqlite-shm"}


def files_in(run: Path) -> set[Path]:
    """The files of a run, by their place in its directory."""
    return {path.relative_to(run) for path in run.rglob("*") if path.is_file()}


async def test_every_file_that_a_run_writes_has_a_version_and_every_version_a_file(
    tmp_path: Path, open_bench: OpenBench
) -> None:
    settings = {"env.limit": 4, "train.seed": 1, "optimizer.slow_update_samples": 1, "optimizer.learning_rate": 1}
    boards = {"trackers.tensorboard.log_dir": str(tmp_path / "boards")}
    await train(write_run(tmp_path / "whole", settings={**settings, **boards}))
    files = files_in(tmp_path / "whole" / "run")
    for optimizer, more in ((NOTED, AROUND), (REWRITTEN, REWRITES)):
        await train_bench(open_bench(optimizer=optimizer, settings={**more, "train.num_epochs": 2}))
        files |= files_in(tmp_path / "run")
    kinds = {path: [name for name in FORMATS if path.match(name)] for path in files if path.name not in WHILE_OPEN}
    assert {str(path): kind for path, kind in kinds.items() if len(kind) != 1} == {}
    assert [name for name in FORMATS if not any(path.match(name) for path in files)] == []


def test_the_versions_stand_in_the_run_directory(tmp_path: Path) -> None:
    write_run_file(tmp_path)
    assert read_json(tmp_path / "run.json") == {"skillopt_version": __version__, "formats": dict(FORMATS)}
    assert check_formats(tmp_path) == "same"


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"formats": 7}', '{"formats": {"history.json": "two"}}', "\ud800"]
)
def test_a_missing_or_damaged_note_says_nothing(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "run.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert check_formats(tmp_path) == "same"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
NOTES = ANY_JSON | st.fixed_dictionaries(
    {"formats": st.dictionaries(st.sampled_from(sorted(FORMATS)) | st.text(max_size=5), SCALARS, max_size=4)},
    optional={"skillopt_version": ANY_JSON},
)


@given(note=NOTES)
def test_whatever_a_note_holds_it_is_followed_or_refused_in_order(
    tmp_path_factory: pytest.TempPathFactory, note: object
) -> None:
    directory = tmp_path_factory.getbasetemp()
    (directory / "run.json").write_text(json.dumps(note), "utf-8")
    try:
        assert check_formats(directory) in ("same", "older")
    except RunDirectoryError as error:
        assert "not known" in error.message or "known is" in error.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("names", [("run.json", "history.json"), ("events.jsonl",)], ids=["views", "log"])
async def test_a_named_pipe_in_the_place_of_a_file_of_a_run_never_keeps_a_training_waiting(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    directory = (await train(config)).directory
    whole = views(directory)
    for name in names:
        (directory / name).unlink()
        os.mkfifo(directory / name)
    if "events.jsonl" in names:
        with pytest.raises(RunDirectoryError, match="no regular file"):
            await train(config)
    else:
        await train(config)
    (directory / "events.jsonl").unlink()
    assert views(directory) == whole


@pytest.mark.parametrize(
    ("newer", "told"),
    [
        ({"history.json": 99}, "history.json has version 99, known is 1"),
        ({"of_the_future.json": 1}, "of_the_future.json is of a kind that is not known"),
        ({"of_the_future.json": 0}, "of_the_future.json is of a kind that is not known"),
    ],
    ids=["version", "kind", "kind without a version"],
)
async def test_a_directory_of_a_newer_version_is_refused_and_left_as_it_is(
    tmp_path: Path, newer: dict[str, int], told: str
) -> None:
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    directory = (await train(config)).directory
    note = {"skillopt_version": "9.9.9", "formats": {**FORMATS, **newer}}
    (directory / "run.json").write_text(json.dumps(note), "utf-8")
    before = views(directory)
    with pytest.raises(RunDirectoryError, match=r"newer SkillOpt \(9\.9\.9\): ") as refused:
        await train(config)
    assert refused.value.message.endswith(told)
    assert "another directory" in refused.value.hint
    assert views(directory) == before


async def test_files_of_an_older_version_are_written_anew_from_the_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    directory = (await train(config)).directory
    stray = directory / "steps" / "step_0009" / "results.json"
    stray.parent.mkdir()
    stray.write_text("{}", "utf-8")
    notes = directory / "steps" / "my_notes.txt"
    notes.write_text("of the user", "utf-8")
    await train(config)
    assert stray.exists(), "nothing is removed where the versions are the same"
    monkeypatch.setattr(formats, "FORMATS", {**FORMATS, "step_record.json": 2})
    whole = views(directory)
    await train(config)
    del whole["steps/step_0009/results.json"], whole["run.json"]
    now = views(directory)
    assert json.loads(now.pop("run.json"))["formats"]["step_record.json"] == 2
    assert now == whole
