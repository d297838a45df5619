"""What was in which split, and whether it still is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.data.manifest import (
    FORMAT_VERSION,
    Manifest,
    SourceFile,
    SplitRecord,
    check_against_manifest,
    split_record,
)
from skillopt.errors import DataError
from skillopt.types import SplitName, Task


def tasks(*ids: str, text: str = "q") -> list[Task]:
    return [Task(name, {"question": text}) for name in ids]


SPLITS: dict[SplitName, SplitRecord] = {
    "train": split_record(tasks("a", "b")),
    "val": split_record(tasks("c")),
    "test": split_record(tasks("d")),
}
MANIFEST = Manifest("ratio", "2:1:1", 42, (SourceFile("/t.jsonl", "00"),), SPLITS)


def test_a_manifest_tells_counts_ids_and_digests() -> None:
    """F93: what was in which split can be looked up, and a score of k/n has its n."""
    written = json.loads(json.dumps(MANIFEST.to_json()))
    assert written["counts"] == {"train": 2, "val": 1, "test": 1}
    assert (written["split_mode"], written["split_ratio"], written["split_seed"]) == ("ratio", "2:1:1", 42)
    assert written["splits"]["train"]["ids"] == ["a", "b"]
    assert written["files"] == [{"path": "/t.jsonl", "sha256": "00"}]


def test_the_digest_follows_the_content_and_not_the_place() -> None:
    moved = Manifest("split_dir", "", None, (SourceFile("/elsewhere", "11"),), SPLITS)
    changed = Manifest("ratio", "2:1:1", 42, (), {**SPLITS, "test": split_record(tasks("d", text="other"))})
    reordered = Manifest("ratio", "2:1:1", 42, (), {**SPLITS, "train": split_record(tasks("b", "a"))})
    assert moved.digest == MANIFEST.digest
    assert len({MANIFEST.digest, changed.digest, reordered.digest}) == 3
    assert changed.splits["test"].ids_digest == SPLITS["test"].ids_digest


def test_a_stored_manifest_that_fits_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "split_manifest.json"
    check_against_manifest(path, SPLITS)
    for stored in (MANIFEST.to_json(), {"counts": {"train": 2, "val": 1, "test": 1}, "split_seed": 42}, {}, []):
        path.write_text(json.dumps(stored), "utf-8")
        check_against_manifest(path, SPLITS)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"counts": {"train": 3}}, "says that train has 3 tasks, but it has 2"),
        ({"splits": {"val": {"digest": "00"}}}, "the tasks of val are not those"),
    ],
)
def test_splits_that_are_not_those_of_their_manifest_are_an_error(tmp_path: Path, stored: object, message: str) -> None:
    """F93: checked at load."""
    path = tmp_path / "split_manifest.json"
    path.write_text(json.dumps(stored), "utf-8")
    with pytest.raises(DataError, match=message):
        check_against_manifest(path, SPLITS)


def test_a_damaged_manifest_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "split_manifest.json"
    path.write_text('{"counts"', "utf-8")
    with pytest.raises(DataError, match="is not valid JSON"):
        check_against_manifest(path, SPLITS)


def test_a_manifest_of_a_newer_version_is_an_error_and_one_without_a_version_is_not(tmp_path: Path) -> None:
    path = tmp_path / "split_manifest.json"
    written = MANIFEST.to_json()
    assert written["version"] == FORMAT_VERSION
    path.write_text(json.dumps({**written, "version": FORMAT_VERSION + 1}), "utf-8")
    with pytest.raises(
        DataError, match=f"has version {FORMAT_VERSION + 1}; .* knows version {FORMAT_VERSION}"
    ) as error:
        check_against_manifest(path, SPLITS)
    assert "remove it" in error.value.hint
    del written["version"]
    path.write_text(json.dumps(written), "utf-8")
    check_against_manifest(path, SPLITS)
