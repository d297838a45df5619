"""What the system refuses, as an error for a person."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from skillopt.disk import (
    _BAD_NAMES,  # pyright: ignore[reportPrivateUsage]
    _REMEDIES,  # pyright: ignore[reportPrivateUsage]
    OpenedFile,
    another_directory,
    check_regular,
    is_refusal,
    refusal,
    refused,
)
from skillopt.errors import RunDirectoryError


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Make room"),
        (errno.EDQUOT, "quota"),
        (errno.EFBIG, "size limit"),
        (errno.EACCES, "write permission"),
        (errno.EROFS, "read-only"),
        (errno.ENOENT, "moved or removed"),
        (errno.ENOTDIR, "where a directory should be"),
        (errno.ENAMETOOLONG, "shorter"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EIO, "The disk failed"),
    ],
)
def test_each_kind_of_refusal_says_what_to_do(number: int, advice: str) -> None:
    error = OSError(number, os.strerror(number), "somewhere")
    told = refusal(error, "runs/a/history.json cannot be written")
    assert is_refusal(error)
    assert told.message == f"runs/a/history.json cannot be written: {os.strerror(number)}"
    assert advice in told.hint


NUMBERS = sorted({*_REMEDIES, *_BAD_NAMES, 0})


@pytest.mark.parametrize("number", NUMBERS)
def test_a_place_that_a_person_named_may_be_named_anew_and_nothing_goes_on_there(number: int) -> None:
    told = refusal(OSError(number, "no"), "reports/first.html cannot be written", place="--out")
    assert told.hint.endswith("(--out).")
    assert "name a shorter one" in told.hint or "name another place" in told.hint
    for word in ("recorded", "same command", "env.out_root", "that was there"):
        assert word not in told.hint


@pytest.mark.parametrize("number", NUMBERS)
def test_only_what_records_goes_on_with_what_was_recorded(number: int) -> None:
    assert "recorded" not in refusal(OSError(number, "no"), "x cannot be read", recorded=False).hint
    assert ("recorded" in refusal(OSError(number, "no"), "x cannot be read").hint) == (number not in _BAD_NAMES)


def test_an_error_that_nobody_foresaw_is_still_said() -> None:
    error = OSError("no number at all")
    assert not is_refusal(error)
    told = refusal(error, "x cannot be written")
    assert told.message == "x cannot be written: no number at all"
    assert "same command again" in told.hint


def test_what_is_refused_in_a_block_is_our_error_and_keeps_its_cause(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"^it cannot be read: ") as caught, refused("it cannot be read"):
        (tmp_path / "nothing").read_bytes()
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_what_is_no_regular_file_is_refused_and_a_missing_one_is_not(tmp_path: Path) -> None:
    file, link, directory = tmp_path / "file", tmp_path / "link", tmp_path / "directory"
    check_regular(file)
    file.touch()
    link.symlink_to(file)
    directory.mkdir()
    check_regular(file)
    check_regular(link)
    for path in (directory, Path(os.devnull)):
        with pytest.raises(RunDirectoryError, match="cannot be written: it is no regular file") as caught:
            check_regular(path)
        assert caught.value.hint.startswith("Move it away")


def test_a_file_is_in_place_until_it_or_its_directory_is_moved_or_removed(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    path = directory / "file"
    with path.open("wb"):
        opened = OpenedFile.at(path)
        opened.check_in_place()
        directory.rename(tmp_path / "elsewhere")
        with pytest.raises(RunDirectoryError, match="run/file is gone: the directory was moved or removed"):
            opened.check_in_place()
        directory.mkdir()
        path.touch()
        with pytest.raises(RunDirectoryError, match="is gone"):
            opened.check_in_place()


def test_a_directory_that_a_file_notes_is_another_one_where_it_is_there_and_not_the_same(tmp_path: Path) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir(), other.mkdir()
    (tmp_path / "link").symlink_to(here, target_is_directory=True)
    (tmp_path / "file").write_text("", "utf-8")
    assert another_directory(str(other), than=here) == other
    for noted in (here, tmp_path / "link", tmp_path / "gone", tmp_path / "file", "", "\0", "\udcff", "x" * 10_000):
        assert another_directory(str(noted), than=here) is None
