"""The three splits of a run."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.env_settings import EnvSettings
from skillopt.data.splits import epoch_batches, load_splits, steps_per_epoch
from skillopt.errors import ConfigError, DataError, SkillOptError
from skillopt.types import Task


def write(path: Path, *ids: int | str, content: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": name, "q": content or f"q{name}"}) + "\n" for name in ids), "utf-8")
    return path


def directory(path: Path, *, train: tuple[str, ...] = ("a", "b"), val: tuple[str, ...] = ("c",)) -> Path:
    write(path / "train.jsonl", *train)
    write(path / "val.jsonl", *val)
    write(path / "test.jsonl", "d")
    return path


def ids(tasks: tuple[Task, ...]) -> list[str]:
    return [task.id for task in tasks]


def test_a_ratio_split_is_the_public_shuffle_cut_in_three(tmp_path: Path) -> None:
    """F80 and F93: the share asked for each split is the share it gets, in an order anyone can work out."""
    path = write(tmp_path / "t.jsonl", *range(177))
    splits = load_splits(EnvSettings(data_path=str(path), split_seed=7))
    expected = [str(number) for number in range(177)]
    random.Random(7).shuffle(expected)
    assert [*ids(splits.train), *ids(splits.val), *ids(splits.test)] == expected
    assert [len(splits[name]) for name in ("train", "val", "test")] == [35, 18, 124]
    manifest = splits.manifest
    assert (manifest.mode, manifest.ratio, manifest.seed) == ("ratio", "2:1:7", 7)
    assert manifest.splits["val"].ids == tuple(ids(splits.val))
    assert manifest.files[0].path == str(path)


def test_the_same_file_and_seed_give_the_same_splits_and_another_seed_others(tmp_path: Path) -> None:
    path = str(write(tmp_path / "t.jsonl", *range(20)))
    digests = [load_splits(EnvSettings(data_path=path, split_seed=seed)).manifest.digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_a_test_share_is_what_was_asked_for(tmp_path: Path) -> None:
    """F80: three tenths of ten tasks are three."""
    path = write(tmp_path / "t.jsonl", *range(10))
    assert len(load_splits(EnvSettings(data_path=str(path), split_ratio="5:2:3")).test) == 3


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_tasks_for_three_splits_are_an_error(tmp_path: Path, count: int) -> None:
    """More 6, F26."""
    path = write(tmp_path / "t.jsonl", *range(count))
    with pytest.raises(DataError, match=rf"t.jsonl holds {count} tasks?, too few"):
        load_splits(EnvSettings(data_path=str(path)))


def test_a_directory_with_one_task_file_can_be_divided(tmp_path: Path) -> None:
    write(tmp_path / "data" / "t.jsonl", *range(10))
    (tmp_path / "data" / "README.md").touch()
    (tmp_path / "data" / ".t.jsonl.swp.json").touch()
    env = EnvSettings(data_path=str(tmp_path / "data"))
    assert len(load_splits(env).train) == 2
    write(tmp_path / "data" / "u.jsonl", 1)
    with pytest.raises(DataError, match=r"exactly one task file .*; it holds t.jsonl, u.jsonl"):
        load_splits(env)


def test_a_directory_that_holds_splits_is_not_divided_again(tmp_path: Path) -> None:
    write(tmp_path / "train" / "t.jsonl", 1)
    write(tmp_path / "t.jsonl", *range(10))
    with pytest.raises(DataError, match=r"holds splits already\nName it in env.split_dir"):
        load_splits(EnvSettings(data_path=str(tmp_path)))


@pytest.mark.parametrize("val", ["val", "valid_seen", "selection"])
@pytest.mark.parametrize("test", ["test", "valid_unseen"])
def test_splits_are_found_in_folders_and_files_by_their_public_names(tmp_path: Path, val: str, test: str) -> None:
    write(tmp_path / "train" / "items.jsonl", "b", "a")
    write(tmp_path / f"{val}.jsonl", "c")
    (tmp_path / test).mkdir()
    (tmp_path / test / "x.csv").write_text("id,q\nd,x\n", "utf-8")
    splits = load_splits(EnvSettings(split_dir=str(tmp_path)))
    assert (ids(splits.train), ids(splits.val), ids(splits.test)) == (["b", "a"], ["c"], ["d"])
    assert (splits.manifest.mode, splits.manifest.ratio, splits.manifest.seed) == ("split_dir", "", None)


def test_a_split_that_is_missing_or_there_twice_is_an_error(tmp_path: Path) -> None:
    directory(tmp_path)
    write(tmp_path / "selection.jsonl", "e")
    with pytest.raises(DataError, match=r"the val split more than once: selection.jsonl, val.jsonl"):
        load_splits(EnvSettings(split_dir=str(tmp_path)))
    (tmp_path / "selection.jsonl").unlink()
    (tmp_path / "val.jsonl").unlink()
    with pytest.raises(DataError, match=r"has no val split\nIt needs a folder val"):
        load_splits(EnvSettings(split_dir=str(tmp_path)))


def test_an_id_in_two_splits_is_an_error_that_names_both_places(tmp_path: Path) -> None:
    """F95, More 6."""
    directory(tmp_path, val=("a",))
    with pytest.raises(DataError, match=r"'a': .*train.jsonl, line 1; .*val.jsonl, line 1"):
        load_splits(EnvSettings(split_dir=str(tmp_path)))


def test_the_same_task_under_two_ids_in_two_splits_is_a_warning(tmp_path: Path) -> None:
    directory(tmp_path)
    write(tmp_path / "test.jsonl", "other", content="qa")
    (warning,) = load_splits(EnvSettings(split_dir=str(tmp_path))).warnings
    assert "'a' (train) and 'other' (test)" in warning


def test_a_manifest_that_does_not_fit_its_directory_is_an_error(tmp_path: Path) -> None:
    """F93."""
    directory(tmp_path)
    (tmp_path / "split_manifest.json").write_text('{"counts": {"train": 2, "val": 5, "test": 1}}', "utf-8")
    with pytest.raises(DataError, match="val has 5 tasks, but it has 1"):
        load_splits(EnvSettings(split_dir=str(tmp_path)))


def test_a_link_that_leads_out_of_the_directory_is_read_and_told(tmp_path: Path) -> None:
    """A cache of data sets is made of such links; one that came with somebody's archive may lead to what is private."""
    path = directory(tmp_path / "data")
    assert load_splits(EnvSettings(split_dir=str(path))).warnings == ()
    elsewhere = write(tmp_path / "elsewhere.jsonl", "e", "f")
    (path / "train.jsonl").unlink()
    (path / "train.jsonl").symlink_to(elsewhere)
    (path / "inside.jsonl").symlink_to("test.jsonl")
    (tmp_path / "link").symlink_to(path)
    splits = load_splits(EnvSettings(split_dir=str(tmp_path / "link")))
    assert ids(splits.train) == ["e", "f"]
    (warning,) = splits.warnings
    assert f"train.jsonl is a link to {elsewhere}, outside of" in warning


def test_a_name_that_is_too_long_for_the_system_is_an_error_of_the_data() -> None:
    for env in (EnvSettings(data_path="x" * 5000 + ".json"), EnvSettings(split_dir="y" * 5000)):
        with pytest.raises(DataError, match=r"cannot be read: File name too long|is no directory"):
            load_splits(env)


def test_the_first_n_tasks_are_used_where_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", *range(30))
    env = EnvSettings(data_path=str(path), split_ratio="1:1:1")
    whole = load_splits(env)
    cut = load_splits(env, train_size=4, sel_env_num=3, test_env_num=2)
    assert (cut.train, cut.val, cut.test) == (whole.train[:4], whole.val[:3], whole.test[:2])
    assert cut.manifest.splits["train"].count == 4
    limited = load_splits(env.model_copy(update={"limit": 5}))
    assert (limited.train, limited.val, limited.test) == (whole.train[:5], whole.val[:5], whole.test[:5])


def test_more_training_tasks_than_there_are_is_an_error_and_more_selection_tasks_a_warning(tmp_path: Path) -> None:
    env = EnvSettings(split_dir=str(directory(tmp_path)))
    with pytest.raises(ConfigError, match=r"train.train_size is 3, but the training split has 2 tasks"):
        load_splits(env, train_size=3)
    assert load_splits(env, train_size=2).warnings == ()
    (warning,) = load_splits(env, sel_env_num=9).warnings
    assert "evaluation.sel_env_num is 9, but val has 1" in warning


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "no data is named"),
        ({"data_path": "a", "split_dir": "b"}, "both set"),
        ({"split_mode": "ratio", "split_dir": "b"}, "needs env.data_path"),
        ({"split_mode": "split_dir", "data_path": "a"}, "needs env.split_dir"),
        ({"split_dir": "/no/such/directory"}, "named by env.split_dir, is no directory"),
        ({"data_path": "/no/such/file.json"}, "does not exist"),
    ],
)
def test_data_that_is_not_there_is_never_a_default(env: dict[str, str], message: str) -> None:
    """F95, F98, More 8."""
    with pytest.raises(SkillOptError, match=message):
        load_splits(EnvSettings.model_validate(env))


TASKS = tuple(Task(str(number), {"q": number}) for number in range(10))


def test_an_epoch_is_the_public_shuffle_cut_into_batches() -> None:
    batches = epoch_batches(TASKS, seed=42, epoch=3, batch_size=4)
    expected = list(TASKS)
    random.Random(42 + 3000).shuffle(expected)
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert [task for batch in batches for task in batch] == expected


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 9), st.integers(1, 5))
def test_an_epoch_is_one_pass(count: int, batch_size: int, seed: int, epoch: int) -> None:
    tasks = tuple(Task(str(number), {"q": number}) for number in range(count))
    batches = epoch_batches(tasks, seed=seed, epoch=epoch, batch_size=batch_size)
    assert len(batches) == steps_per_epoch(count, batch_size)
    assert sorted(task.id for batch in batches for task in batch) == sorted(task.id for task in tasks)
    assert batches == epoch_batches(tasks, seed=seed, epoch=epoch, batch_size=batch_size)


@pytest.mark.parametrize(("tasks", "steps"), [(400, 10), (107, 3), (39, 1), (35, 1), (50, 2), (80, 2)])
def test_the_steps_of_the_released_splits_at_batch_40(tasks: int, steps: int) -> None:
    assert steps_per_epoch(tasks, 40) == steps
