"""What was in which split: counts, ids and digests, so that a score of k/n can be traced to its tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from skillopt.digests import digest
from skillopt.errors import DataError
from skillopt.types import JsonValue, SplitName, Task
from skillopt.user_files import UnusableFile, read_user_text

FORMAT_VERSION = 1
"""Version of `split_manifest.json`; raised with every change that an older reader would misunderstand."""

SplitMode = Literal["ratio", "split_dir"]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that tasks were read from, with the SHA-256 of its bytes."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class SplitRecord:
    """One split.

    Attributes:
        ids: Ids of its tasks, in its order.
        digest: Digest of ids and contents, in its order; equal digests mean equal splits.
    """

    ids: tuple[str, ...]
    digest: str

    @property
    def count(self) -> int:
        """Number of tasks."""
        return len(self.ids)

    @property
    def ids_digest(self) -> str:
        """Digest of the ids alone, in their order."""
        return digest(list(self.ids))


@dataclass(frozen=True)
class Manifest:
    """The splits of a run and where they came from.

    Attributes:
        mode: How they were made.
        ratio: Parts of train, val and test; "" for split_dir.
        seed: Seed of the shuffle; None for split_dir.
        files: The files that were read.
        splits: Train, val and test, as the run uses them.
    """

    mode: SplitMode
    ratio: str
    seed: int | None
    files: tuple[SourceFile, ...]
    splits: Mapping[SplitName, SplitRecord]

    @property
    def digest(self) -> str:
        """Digest of what is in which split; where the files lie does not matter."""
        return digest({name: record.digest for name, record in self.splits.items()})

    def to_json(self) -> dict[str, JsonValue]:
        """Return the content of `split_manifest.json`; the four keys after its version are the public names."""
        return {
            "version": FORMAT_VERSION,
            "split_mode": self.mode,
            "split_ratio": self.ratio,
            "split_seed": self.seed,
            "counts": {name: record.count for name, record in self.splits.items()},
            "digest": self.digest,
            "files": [{"path": file.path, "sha256": file.digest} for file in self.files],
            "splits": {
                name: {"digest": record.digest, "ids_digest": record.ids_digest, "ids": list(record.ids)}
                for name, record in self.splits.items()
            },
        }


def split_record(tasks: Sequence[Task]) -> SplitRecord:
    """Return the record of a split."""
    return SplitRecord(tuple(task.id for task in tasks), digest([task.digest for task in tasks]))


def check_against_manifest(path: Path, splits: Mapping[SplitName, SplitRecord]) -> None:
    """Compare splits with the manifest that came with them, if there is one: counts, and digests where it has them.

    Raises:
        DataError: If the manifest cannot be read or the splits are not the ones it describes.
    """
    if not os.path.lexists(path):
        return
    try:
        stored: object = json.loads(read_user_text(path, most_bytes=_LARGEST).removeprefix("\ufeff"))
    except UnusableFile as problem:
        raise DataError(f"{path} {problem.reason}", hint=problem.hint or "Mend it or remove it.") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}", hint="Mend it or remove it.") from None
    version = _mapping(stored).get("version", FORMAT_VERSION)
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise DataError(
            f"{path} has version {version!r}; this version of SkillOpt knows version {FORMAT_VERSION}",
            hint="Use the version of SkillOpt that wrote it, or remove it: the splits are then taken as they are.",
        )
    counts, records = _mapping(_mapping(stored).get("counts")), _mapping(_mapping(stored).get("splits"))
    for name, record in splits.items():
        told = counts.get(name, record.count)
        if told != record.count:
            raise DataError(f"{path} says that {name} has {told} tasks, but it has {record.count}", hint=_HINT)
        if _mapping(records.get(name)).get("digest", record.digest) != record.digest:
            raise DataError(f"the tasks of {name} are not those that {path} describes", hint=_HINT)


_LARGEST = 100_000_000
"""Most bytes of a manifest: the ids of a million tasks."""

_HINT = "Restore the files, or remove the manifest if the change is meant."


def _mapping(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
