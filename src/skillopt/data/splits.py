"""The three splits of a run: divided by a ratio from one file, or read from a directory; and the batches of an epoch.

Ids are unique over all splits and each split has at least one task; anything else is an error that names file, line
and ids. What one file holds is `task_files.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from skillopt.config.env_settings import EnvSettings
from skillopt.data.manifest import Manifest, SourceFile, SplitMode, check_against_manifest, split_record
from skillopt.data.ratio import split_counts
from skillopt.data.rows import FORMATS, is_task_file
from skillopt.data.split_names import SPLIT_NAMES
from skillopt.data.task_files import TaskFile, content_digest, read_task_file, refuse_duplicate_ids
from skillopt.errors import ConfigError, DataError
from skillopt.types import SplitName, Task
from skillopt.user_files import UnusableFile, entries, is_directory
from skillopt.wording import counted

MANIFEST_NAME = "split_manifest.json"

_EPOCH_STRIDE = 1000
"""Distance between the shuffle seeds of two epochs, as in the public SkillOpt: equal seeds give equal batches."""

_MOST_NAMED = 5
"""Most files or tasks that one message names."""


@dataclass(frozen=True)
class Splits:
    """The tasks of a run.

    Attributes:
        train: Training tasks, in file order (split_dir) or shuffled once (ratio).
        val: Selection tasks.
        test: Held-out tasks.
        manifest: What is in which split.
        warnings: What a person should know about the data, a sentence each.
    """

    train: tuple[Task, ...]
    val: tuple[Task, ...]
    test: tuple[Task, ...]
    manifest: Manifest
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: SplitName) -> tuple[Task, ...]:
        return {"train": self.train, "val": self.val, "test": self.test}[name]


def load_splits(env: EnvSettings, *, train_size: int = 0, sel_env_num: int = 0, test_env_num: int = 0) -> Splits:
    """Read the data of a run and divide it.

    Args:
        env: Where the data is and how it is divided; its paths are absolute.
        train_size: Training tasks to use, the first N; 0 means all.
        sel_env_num: Selection tasks to use, the first N; 0 means all.
        test_env_num: Test tasks to use, the first N; 0 means all.

    Raises:
        ConfigError: If the settings name no data, or contradict each other or the size of the data.
        DataError: If the data is wrong.
    """
    mode = _mode(env)
    parts, files, warnings = _by_ratio(env) if mode == "ratio" else _from_directory(env)
    if 0 < len(parts["train"]) < train_size:
        raise ConfigError(
            f"train.train_size is {train_size}, but the training split has {len(parts['train'])} tasks",
            hint="Lower it, or set it to 0 to use the whole split.",
        )
    cuts: dict[SplitName, tuple[str, int]] = {
        "train": ("train.train_size", train_size),
        "val": ("evaluation.sel_env_num", sel_env_num),
        "test": ("evaluation.test_env_num", test_env_num),
    }
    for name, (key, most) in cuts.items():
        size = len(parts[name])
        if most > size:
            warnings.append(f"{key} is {most}, but {name} has {counted(size, 'task')}; all of them are used")
        parts[name] = _first(_first(parts[name], env.limit), most)
    warnings += _leaks(parts)
    return Splits(
        parts["train"],
        parts["val"],
        parts["test"],
        Manifest(
            mode,
            env.split_ratio if mode == "ratio" else "",
            env.split_seed if mode == "ratio" else None,
            tuple(SourceFile(str(file.path), file.digest) for file in files),
            MappingProxyType({name: split_record(tasks) for name, tasks in parts.items()}),
        ),
        tuple(warnings),
    )


def steps_per_epoch(tasks: int, batch_size: int) -> int:
    """Return the number of batches of an epoch; the last one may be short."""
    return -(-tasks // batch_size)


def epoch_batches(tasks: Sequence[Task], *, seed: int, epoch: int, batch_size: int) -> tuple[tuple[Task, ...], ...]:
    """Return the batches of an epoch: every task once, shuffled by `seed + 1000 * epoch`.

    Args:
        tasks: The training split, in its order.
        seed: `train.seed`.
        epoch: From 1.
        batch_size: Tasks a step, at least 1.
    """
    order = list(tasks)
    random.Random(seed + _EPOCH_STRIDE * epoch).shuffle(order)
    return tuple(tuple(order[start : start + batch_size]) for start in range(0, len(order), batch_size))


_Parts = tuple[dict[SplitName, tuple[Task, ...]], list[TaskFile], list[str]]
"""The splits, the files they came from, and warnings."""


def _mode(env: EnvSettings) -> SplitMode:
    given = {"ratio": env.data_path, "split_dir": env.split_dir}
    keys = {"ratio": "env.data_path", "split_dir": "env.split_dir"}
    if env.split_mode is None:
        if env.data_path and env.split_dir:
            raise ConfigError("env.data_path and env.split_dir are both set", hint="Say which by env.split_mode.")
        if not (env.data_path or env.split_dir):
            raise ConfigError(
                "no data is named", hint="Set env.data_path to a task file, or env.split_dir to a folder."
            )
        return "ratio" if env.data_path else "split_dir"
    if not given[env.split_mode]:
        raise ConfigError(f"env.split_mode is {env.split_mode}, which needs {keys[env.split_mode]}")
    return env.split_mode


def _by_ratio(env: EnvSettings) -> _Parts:
    path = directory = Path(env.data_path or "")
    if is_directory(path):
        if any(is_directory(found) for names in SPLIT_NAMES.values() for found in _candidates(path, names)):
            raise DataError(f"{path} holds splits already", hint="Name it in env.split_dir instead of env.data_path.")
        path = _only_task_file(path)
    file = read_task_file(path, fields=env.fields)
    tasks = list(file.tasks)
    train, val, test = (int(part) for part in env.split_ratio.split(":"))
    try:
        counts = split_counts(len(tasks), (train, val, test))
    except ValueError:
        raise DataError(
            f"{path} holds {counted(len(tasks), 'task')}, too few for train, val and test",
            hint="Training needs at least 3 tasks, and 30 or more to learn from.",
        ) from None
    random.Random(env.split_seed).shuffle(tasks)
    ends = (counts[0], counts[0] + counts[1])
    parts: dict[SplitName, tuple[Task, ...]] = {
        "train": tuple(tasks[: ends[0]]),
        "val": tuple(tasks[ends[0] : ends[1]]),
        "test": tuple(tasks[ends[1] :]),
    }
    return parts, [file], _led_out(directory, [file]) if is_directory(directory) else []


def _from_directory(env: EnvSettings) -> _Parts:
    directory = Path(env.split_dir or "")
    if not is_directory(directory):
        raise DataError(f"{directory}, named by env.split_dir, is no directory")
    files: dict[SplitName, TaskFile] = {
        name: read_task_file(_split_file(directory, name, aliases), fields=env.fields)
        for name, aliases in SPLIT_NAMES.items()
    }
    parts: dict[SplitName, tuple[Task, ...]] = {name: file.tasks for name, file in files.items()}
    refuse_duplicate_ids([task for tasks in parts.values() for task in tasks])
    check_against_manifest(directory / MANIFEST_NAME, {name: split_record(tasks) for name, tasks in parts.items()})
    return parts, list(files.values()), _led_out(directory, files.values())


def _split_file(directory: Path, name: SplitName, aliases: tuple[str, ...]) -> Path:
    found = _candidates(directory, aliases)
    if not found:
        raise DataError(
            f"{directory} has no {name} split",
            hint=f"It needs a folder {name} with one task file, or a file {name}.* ({FORMATS}).",
        )
    if len(found) > 1:
        raise DataError(f"{directory} has the {name} split more than once: " + ", ".join(path.name for path in found))
    return _only_task_file(found[0]) if is_directory(found[0]) else found[0]


def _led_out(directory: Path, files: Iterable[TaskFile]) -> list[str]:
    """Say which files lie elsewhere, by a link: what they hold is sent to the models like any other task."""
    home = directory.resolve()
    led = [(file.path, file.path.resolve()) for file in files if not file.path.resolve().is_relative_to(home)]
    return [
        f"{path} is a link to {real}, outside of {directory}; its tasks are read, and sent to the models"
        for path, real in led
    ]


def _candidates(directory: Path, aliases: Iterable[str]) -> list[Path]:
    return [
        path
        for path in _entries(directory)
        if (path.name in aliases and is_directory(path)) or (path.stem in aliases and is_task_file(path))
    ]


def _entries(directory: Path) -> list[Path]:
    try:
        return entries(directory)
    except UnusableFile as problem:
        raise DataError(f"{directory} {problem.reason}") from None


def _only_task_file(directory: Path) -> Path:
    found = [path for path in _entries(directory) if is_task_file(path) and path.name != MANIFEST_NAME]
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.name for path in found[:_MOST_NAMED]) or "none"
    raise DataError(f"{directory} must hold exactly one task file ({FORMATS}); it holds {names}")


def _first(tasks: tuple[Task, ...], most: int) -> tuple[Task, ...]:
    return tasks[:most] if most else tasks


def _leaks(parts: Mapping[SplitName, tuple[Task, ...]]) -> list[str]:
    """Say which tasks are held out under one id and trained or selected on under another."""
    seen: dict[str, tuple[SplitName, str]] = {}
    same: list[str] = []
    for name, tasks in parts.items():
        for task in tasks:
            split, known = seen.setdefault(content_digest(task), (name, task.id))
            if split != name:
                same.append(f"{known!r} ({split}) and {task.id!r} ({name})")
    if not same:
        return []
    more = f" and {len(same) - _MOST_NAMED} more" if len(same) > _MOST_NAMED else ""
    return [f"the same task stands in two splits: {'; '.join(same[:_MOST_NAMED])}{more}; scores on it prove nothing"]
