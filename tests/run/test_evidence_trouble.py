"""A file or a disk that refuses is an error for a person, and loses nothing."""

from __future__ import annotations

import resource
import sqlite3
from pathlib import Path

import pytest

from skillopt.errors import RunDirectoryError
from skillopt.run.evidence import EvidenceStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "evidence.sqlite"


def test_a_full_disk_is_an_error_for_a_person_and_loses_nothing(path: Path) -> None:
    with EvidenceStore(path) as store:
        store.put_meta("before", "x")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
        try:
            with pytest.raises(RunDirectoryError, match="cannot be used") as caught:
                store.put_meta("after", "x" * 400_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert "space" in caught.value.hint
        assert store.get_meta("before") == "x"
        assert store.get_meta("after") is None
        store.put_meta("after", "y")
        assert store.get_meta("after") == "y"


def test_a_file_that_another_process_is_writing_is_waited_for_and_then_refused(path: Path) -> None:
    with EvidenceStore(path, busy_seconds=0.01) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RunDirectoryError, match="locked") as caught:
            store.put_meta("m", "1")
        assert "Another process" in caught.value.hint
        other.execute("ROLLBACK")
        other.close()
        store.put_meta("m", "1")


def test_use_after_closing_is_a_mistake_of_the_program(path: Path) -> None:
    store = EvidenceStore(path)
    store.close()
    store.close()
    with pytest.raises(sqlite3.ProgrammingError):
        store.get_meta("m")
